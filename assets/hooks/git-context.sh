#!/bin/sh
# A hook for session.compacting: tells the summary on which branch the work stands and which files are not committed yet.
# Needs git and jq. In the config: [hooks] "session.compacting" = "/path/to/git-context.sh"
folder=$(jq -r '.cwd // "."')
branch=$(git -C "$folder" rev-parse --abbrev-ref HEAD 2> /dev/null) || exit 0
changed=$(git -C "$folder" status --porcelain | head -n 20 | cut -c 4- | paste -s -d , - | sed 's/,/, /g')
jq -n --arg branch "$branch" --arg changed "$changed" \
  '{context: (["The work is on branch \($branch)."] + if $changed == "" then [] else ["Not committed yet: \($changed)."] end)}'
