//! `epitome help TOPIC`: what is not about one flag.

use std::ffi::OsString;

/// What stands under the list of commands.
pub(super) const SHORT: &str = "Topics: epitome help exit-codes, config, hooks, json, sessions, repair";

/// The text of a topic, when the command line asks for one.
pub(super) fn asked(args: &[OsString]) -> Option<&'static str> {
    match args.get(1..).unwrap_or_default() {
        [help, topic] if help == "help" => TOPICS.iter().find(|(name, _)| topic == name).map(|(_, text)| *text),
        _ => None,
    }
}

/// The topics by name.
pub(super) const TOPICS: &[(&str, &str)] =
    &[("exit-codes", EXIT_CODES), ("config", CONFIG), ("hooks", HOOKS), ("json", JSON), ("sessions", SESSIONS), ("repair", REPAIR)];

const EXIT_CODES: &str = "\
Exit codes

  0        done, or nothing to do
  1        failed; also: a file that was named is missing or no session
  2        the command line makes no sense
  3        nothing to do, only with --exit-code; inspect --needs-compaction: no session does
  4        inspect --check found errors (or warnings, with --fail-on warning)
  5        conflict: the session is locked, or changed while it was worked on
  130, 143 interrupted by INT, TERM

Of several sessions: the first of 130/143, 1, 5, 4 that occurs; 3 only if every session was 3.
A context that would not shrink is nothing to do: \"action\":\"refused\",\"reason\":\"no_gain\".
Whatever goes wrong, the session file is byte for byte what it was.
";

const CONFIG: &str = "\
Settings

Each setting is a flag, an environment variable and a key of the config file; in this order the first counts.
The file is --config FILE, $EPITOME_CONFIG, or epitome/config.toml in $XDG_CONFIG_HOME (else ~/.config).
epitome inspect --show settings prints every value with the place it came from.

  context_window      --context-window      EPITOME_CONTEXT_WINDOW      tokens; the model's, else 200000
  reserve_tokens      --reserve-tokens      EPITOME_RESERVE_TOKENS      tokens; 16384, or 15 % of the window
  keep_recent_tokens  --keep-recent-tokens  EPITOME_KEEP_RECENT_TOKENS  tokens; 20000
  threshold           --threshold           EPITOME_THRESHOLD           tokens or 1% to 99%; window less reserve
  tokenizer           --tokenizer           EPITOME_TOKENIZER           o200k, cl100k, heuristic; o200k
  model               --model               EPITOME_MODEL               provider/id; the session's latest
  enabled             --enabled             EPITOME_ENABLED             true, false; true
  summary_tokens      --summary-tokens      EPITOME_SUMMARY_TOKENS      300 to 16384; 4096
  blob_dir            --blob-dir            EPITOME_BLOB_DIR            folder; blobs beside the agent's sessions
  archive_dir         --archive-dir         EPITOME_ARCHIVE_DIR         folder; SESSION.archive beside each session

  branch.token_budget        --token-budget         EPITOME_BRANCH_TOKEN_BUDGET        tokens; window less 16384
  replace.context_limit        --context-limit        EPITOME_REPLACE_CONTEXT_LIMIT        tokens; 20000
  replace.relevance            --relevance            EPITOME_REPLACE_RELEVANCE            true, false; false
  replace.relevance_threshold  --relevance-threshold  EPITOME_REPLACE_RELEVANCE_THRESHOLD  0 to 1; 0.5
  prune.protect_tokens       --protect-tokens       EPITOME_PRUNE_PROTECT_TOKENS       tokens, or percent of the window; 40000
  prune.min_savings          --min-savings          EPITOME_PRUNE_MIN_SAVINGS          tokens, or percent of the window; 20000
  prune.min_result_tokens    --min-result-tokens    EPITOME_PRUNE_MIN_RESULT_TOKENS    tokens, or percent of the window; 50
  prune.stale_suffix_tokens  --stale-suffix-tokens  EPITOME_PRUNE_STALE_SUFFIX_TOKENS  tokens; 8000
  prune.stale_idle_minutes   --stale-idle-minutes   EPITOME_PRUNE_STALE_IDLE_MINUTES   minutes; 30

  snapcompact.shape       --shape       EPITOME_SNAPCOMPACT_SHAPE       auto, legible, or a shape's name; auto
  snapcompact.max_frames  --max-frames  EPITOME_SNAPCOMPACT_MAX_FRAMES  frames; 8, or what the provider takes

  online.summarizer        --summarizer          EPITOME_SUMMARIZER              offline, truncate, endpoint, openai,
                                                                                 openai-compact, anthropic, command; offline
  online.model             --summarizer-model    EPITOME_SUMMARIZER_MODEL        the provider's name of a model
  online.base_url          --base-url            EPITOME_BASE_URL                address; the provider's own
  online.endpoint          --endpoint            EPITOME_ENDPOINT                address
  online.command           --summarizer-command  EPITOME_SUMMARIZER_COMMAND      for sh -c
  online.timeout           --timeout             EPITOME_ONLINE_TIMEOUT          time of one request; 120s
  online.idle_timeout      --idle-timeout        EPITOME_ONLINE_IDLE_TIMEOUT     pause of an answer; 60s
  online.retries           --retries             EPITOME_ONLINE_RETRIES          3
  online.max_requests      --max-requests        EPITOME_ONLINE_MAX_REQUESTS     of the whole run; 100
  online.max_input_tokens  --max-input-tokens    EPITOME_ONLINE_MAX_INPUT_TOKENS tokens of one request; the model's window

  hooks.timeout                 --hook-timeout  EPITOME_HOOKS_TIMEOUT                time of one hook; 30s
  hooks.session_before_compact  --hook          EPITOME_HOOK_SESSION_BEFORE_COMPACT  for sh -c
  hooks.session.compacting      --hook          EPITOME_HOOK_SESSION_COMPACTING      for sh -c
  hooks.session_compact         --hook          EPITOME_HOOK_SESSION_COMPACT         for sh -c
  hooks.session_before_tree     --hook          EPITOME_HOOK_SESSION_BEFORE_TREE     for sh -c

  export.redact_email  --redact-email  EPITOME_EXPORT_REDACT_EMAIL  true, false; false

Amounts take units: 20k, 1.5M. In the file:

  keep_recent_tokens = \"20k\"
  threshold = \"80%\"

  [prune]
  protect_tokens = \"60k\"

What is known about models can be added to; a row is for the ids that begin with its pattern (the longest counts), and
what it leaves out stays as it is known.

  [[models]]
  pattern = \"mine/\"      # or an id without its provider
  window = \"1M\"          # tokens
  vision = true           # whether it reads pictures
  api = \"openai\"         # who carries requests: anthropic, openai, google
  images = 20             # pictures of one request

  [[promotion]]           # --trigger auto: instead of compacting, switch to a model with a larger window
  from = \"gpt-5\"         # for these models; for all when left out
  to = \"openai/gpt-4.1\"

What exports mask besides, each with the name that stands in the mask:

  [[redact]]
  kind = \"ticket\"
  pattern = 'ACME-[0-9]+'

Also read: SOURCE_DATE_EPOCH (the time of the run), NO_COLOR, EPITOME_CONFIG.
";

const HOOKS: &str = "\
Hooks

Commands that are asked before something is written, and told after it: --hook EVENT=CMD, or in the config

  [hooks]
  session_before_compact = \"~/bin/not-now.py 10\"
  \"session.compacting\" = \"~/bin/git-context.sh\"

A hook is run by sh -c, gets one JSON object on standard input, and answers with one on standard output, or with nothing.

  session_before_compact  before a compaction, a replaced history or a handoff
                          {\"cancel\":true}, or the compaction itself:
                          {\"compaction\":{\"summary\",\"shortSummary\"?,\"firstKeptEntryId\"?,\"details\"?,\"preserveData\"?}}
  session.compacting      before its summary    {\"prompt\"?,\"context\"?:[lines],\"preserveData\"?}
  session_before_tree     before the summary of a branch
                          {\"cancel\":true}, or {\"summary\":{\"summary\",\"details\"?}}
  session_compact         after a compaction, as \"kind\":\"handoff\" after a handoff, and as
                          \"kind\":\"history_replaced\" after a session was written anew

Before a write, a hook that fails, takes longer than --hook-timeout, or answers anything else stops the run, with nothing
written. After it, that is a warning, and exit code 1 with --strict-hooks. What a hook gives is stored with
\"fromExtension\":true after the same checks as a summary of ours: it must shrink the context, and cut where a cut is safe.
Standard error of a hook is passed on. No hook runs in a dry run, and nothing is locked while one runs.
Schemas of what each gets and may answer are in assets/schemas of the source (hook-*), two examples in assets/hooks.
";

const JSON: &str = "\
JSON

--json prints one object for every session, in order, one a line; failures too:
  {\"schema\":1,\"path\":…,\"error\":{\"code\",\"message\",\"line\",\"hint\"}}
A key that was not asked for is absent; asked for and none is null. Keys may be added, none is renamed.

inspect   overview:   session, leaf, path_entries, reachable, total, tokens, compactions, cut, cut_reason, problems
          tree, path: tree, path_list       context:  context       transcript: transcript
          cut:        cut, cut_reason       files:    files         summary:    summary
          sizes:      sizes                 problems: problems      settings:   settings
          prune:      prune                 revisions: revisions    triggers: triggers
          frames:     frames
compact   action (compacted, promoted, pruned, nothing, refused), reason, entry_id, continue_id, strategy, summarizer,
          counted_before, counted_after, tokens_before, tokens_after, estimated, bytes_before, bytes_after, summarized_messages, kept_messages, dropped,
          pruned_results, output, archive_revision, frames, requests, dry_run, warnings, cut, cut_reason, files, triggers, summary,
          replacement (instructions, reminders, tokens, limit, other_branches), new_session (id, path)
snapcompact     as compact; with --text: frames, written, dry_run, warnings
prune     action (pruned, repaired, nothing), reason, bytes_before, bytes_after, pruned_results, output, archive_revision,
          restored_revision, dropped, dry_run, warnings, prune (would_prune, saved_tokens, saved_bytes, kept_image_tokens, results,
          and with measures for the file's size: size (measure, entries, bytes, tokens, changes (id, bytes, tokens))); with --repair: mended (code, line, id, what);
          with --append: entry_id (the last edit, which is the new leaf), entry_ids
branch-summary  branches, with --all (from_id, entry_id, branch, files, summary), else branch (common_ancestor_id, entry_ids,
          messages, tokens), files, action (summarized, nothing, refused), reason,
          entry_id, bytes_before, bytes_after, summarized_messages, output, archive_revision, requests, dry_run, warnings, summary
export    action (exported, nothing), reason, format, view, output, revision, entries, images, bytes_before, bytes_after,
          redacted, redactions, dry_run, warnings; on standard error when the export goes to standard output

\"estimated\":true says that a number was extrapolated from the part that was counted; inspect --exact counts everything.
Schemas of every object are in assets/schemas of the source.
";

const SESSIONS: &str = "\
Sessions

SESSION is a file, a folder (every *.jsonl below it; what is no session is passed over), or - for standard input,
whose result goes to standard output. --files-from FILE reads more names, one a line; -0 for NUL.

The path is what an agent would go on from: from the last entry of the file, or --leaf ID, up to its root.
Ids may be shortened as long as one entry only begins so.

One session is changed in place. Several need --in-place, and then are compacted only when their context is above the
threshold, overflowed, or ended in a cut-off answer (--trigger auto). A running agent may go on meanwhile: a session is
locked only for the moment of the write, and when it grew in between, the plan is made again.

--limit N stops when N sessions were changed: the first ones, whatever the number of threads. --out-dir DIR writes copies
that lie below DIR as the sessions lie below the folders that were named; a file that was named goes by its name.
--shard K/N works on one share of N; what decides is a session's path below its folder, so it stays in its share when others
come and go. --shard auto reads these, each number with the one that counts all:

  SLURM_ARRAY_TASK_ID     SLURM_ARRAY_TASK_COUNT (and _MIN, _STEP)
  JOB_COMPLETION_INDEX    JOB_COMPLETIONS, which a Kubernetes job has to hand on to its pods
  CI_NODE_INDEX           CI_NODE_TOTAL (GitLab)
  CIRCLE_NODE_INDEX       CIRCLE_NODE_TOTAL
  BUILDKITE_PARALLEL_JOB  BUILDKITE_PARALLEL_JOB_COUNT
";

const REPAIR: &str = "\
Repair

epitome prune --repair mends what inspect --check finds; the file as it was is archived first, and lines that are not
mended stay byte for byte. --repair=CODE,… mends only what is named. What a mend takes out is in the archive.

Always mended
  torn-line        the last line, which is no whole record, is taken out
  malformed-line   a record that raw line breaks in a string spread over lines is joined again; other lines are taken out
  glued-lines      each record gets a line of its own
  nul-bytes        NUL bytes are taken out
  invalid-utf8     bytes that are not UTF-8 become U+FFFD
  lone-surrogate   halves of surrogate pairs become U+FFFD
  missing-header   a new header: what the broken one still says, else the id in the file's name or one made from the content
  duplicate-id     copies are taken out; of entries that differ the later keeps the id, as readers take it
  parent-cycle     the entry at which the active path is cut becomes a root
  orphan-result    the result is taken out, its children move up; one that a compaction cut off gets its call back
  missing-kept-id  the compaction names itself: it keeps nothing, as readers read it
  bad-image        the right media type; a PNG or JPEG that is too large is made smaller; else a text that says what it was
  stray-temp       a file that a killed run of epitome left over is removed; those of other programs stay

Mended when they are named
  dangling-parent  the entry goes on from the one before it in the file
  stray-leaf       the path of the last entry goes on from the entry before it in the file
  missing-blob     a text with the type and hash takes the place of the image
  missing-archive  the reference to the archive is taken out
  bad-archive      the same; the archive stays where it is

Never mended
  unknown-version, unanswered-call, huge-line, unreferenced-archive
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Code;
    use crate::session::repair::Mending;

    #[test]
    fn the_repair_topic_tells_of_every_problem_what_becomes_of_it() {
        let mut part = None;
        let mut told = Vec::new();
        for line in REPAIR.lines() {
            part = match line {
                "Always mended" => Some("always"),
                "Mended when they are named" => Some("named"),
                "Never mended" => Some("never"),
                _ => part,
            };
            let names: Vec<&str> = line.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
            let names = if part == Some("never") { names } else { names.into_iter().take(1).collect() };
            told.extend(names.into_iter().filter(|_| line.starts_with("  ")).map(|name| (name, part)));
        }
        for code in Code::ALL {
            let want = match code.mending() {
                Mending::Always => "always",
                Mending::WhenNamed => "named",
                Mending::Never(_) => "never",
            };
            assert_eq!(told.iter().filter(|told| told.0 == code.name()).collect::<Vec<_>>(), [&(code.name(), Some(want))]);
        }
    }

    #[test]
    fn the_config_topic_names_every_setting() {
        for name in crate::settings::NAMES {
            let row = CONFIG.lines().find(|line| line.trim_start().starts_with(&format!("{} ", name.key)));
            assert!(row.is_some_and(|row| row.contains(name.flag) && row.contains(name.env)), "{}", name.key);
        }
    }
}
