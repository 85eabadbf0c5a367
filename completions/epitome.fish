# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_epitome_global_optspecs
    string join \n h/help V/version
end

function __fish_epitome_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_epitome_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_epitome_using_subcommand
    set -l cmd (__fish_epitome_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c epitome -n "__fish_epitome_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c epitome -n "__fish_epitome_needs_command" -s V -l version -d 'Print version'
complete -c epitome -n "__fish_epitome_needs_command" -f -a "inspect" -d 'Look: the tree, tokens, where a compaction would cut, what is wrong'
complete -c epitome -n "__fish_epitome_needs_command" -f -a "compact" -d 'Append a compaction: older messages are summarized, newer ones stay as they are'
complete -c epitome -n "__fish_epitome_needs_command" -f -a "prune" -d 'Make a session smaller for the model: old, superseded and useless tool results give way to notices'
complete -c epitome -n "__fish_epitome_needs_command" -f -a "branch-summary" -d 'Keep what an abandoned branch learnt, at the entry where the work goes on'
complete -c epitome -n "__fish_epitome_needs_command" -f -a "export" -d 'Write a session for people or programs: transcript or context, secrets masked; or an archived revision'
complete -c epitome -n "__fish_epitome_needs_command" -f -a "snapcompact" -d 'Put older history on pictures that a model with vision reads back; the same as compact --strategy snapcompact'
complete -c epitome -n "__fish_epitome_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l files-from -d 'Read more sessions from FILE, one a line; - for standard input [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l shard -d 'Work on share K of N only, K from 1, or let the job scheduler\'s variables say which: K/N, auto [default: all]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l leaf -d 'The end of the path: an entry\'s id or an unambiguous beginning of one; prune and export also take all, for every branch [default: the last entry of the file]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l jobs -d 'Sessions that are worked on side by side [default: the number of cores]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l color -d 'Colour [default: auto]' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l progress -d 'Progress on standard error: auto, always, never [default: auto, on a terminal]' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l config -d 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l now -d 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l context-window -d 'Tokens of the model\'s window [default: the model\'s, else 200000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l reserve-tokens -d 'Tokens kept free for the answer [default: 16384, or 15 % of the window]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l keep-recent-tokens -d 'Newest tokens that a compaction keeps as they are [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l threshold -d 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l tokenizer -d 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l model -d 'The model, provider/id [default: the session\'s latest]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l enabled -d 'Whether --trigger auto may act [default: true]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l summary-tokens -d 'Most tokens of a summary, 300 to 16384 [default: 4096]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l blob-dir -d 'Folder of externalized image data [default: the agent\'s, beside its sessions]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l archive-dir -d 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l show -d 'What to show, one or more separated by commas [default: overview]' -r -f -a "overview\t'The session at a glance'
tree\t'All entries as a tree'
path\t'The entries of the path'
context\t'What the model sees'
transcript\t'What a person saw, with a divider where each compaction fired'
cut\t'Where a compaction would cut'
sizes\t'Bytes and tokens by kind and tool, and the largest entries'
triggers\t'What asks for a compaction, and what --trigger auto would do'
prune\t'Tool results that pruning would blank'
files\t'Files that a compaction would record'
summary\t'The summary that the offline summarizer would write, with its sources'
frames\t'History on pictures, read back to text'
revisions\t'Archived revisions of the session'
problems\t'Everything that is wrong'
settings\t'Settings and where they come from'
all\t'All of it'"
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l fail-on -d 'The severity from which --check fails: error, warning [default: error]' -r -f -a "error\t'Errors'
warning\t'Warnings too'"
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l allow -d 'A problem code that --check passes over; may be given more than once [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l frames-dir -d 'With --show frames: write the frames as PNG files into DIR [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l keep-from -d 'The message to keep from, one of the cut\'s candidates [default: chosen by --keep-recent-tokens]' -r
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l report -d 'Write a page to FILE that tells how the session stands, masked like an export [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l chart -d 'Write a chart of tokens over time to FILE, as SVG [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -s 0 -l null -d 'Lists are separated by NUL instead of line ends [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l json -d 'One JSON object a session on standard output, one a line [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -s q -l quiet -d 'No notes and warnings [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -s v -l verbose -d 'More detail; twice for still more [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l no-config -d 'Read no config file [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l needs-compaction -d 'Only whether a trigger asks for a compaction, which may still find nothing to gain; exit code 0 when any session asks for it, 3 when none does [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -s l -l list -d 'With --needs-compaction or --check: only the paths of sessions that ask for it, or that fail; see -0 [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l exact -d 'Count every token instead of extrapolating large sessions [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l check -d 'Only what is wrong; exit code 4 when there are errors [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -l overwrite -d 'With --report or --chart: replace a file that is there already; a session is never replaced [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c epitome -n "__fish_epitome_using_subcommand inspect" -s V -l version -d 'Print version'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l files-from -d 'Read more sessions from FILE, one a line; - for standard input [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l shard -d 'Work on share K of N only, K from 1, or let the job scheduler\'s variables say which: K/N, auto [default: all]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l leaf -d 'The end of the path: an entry\'s id or an unambiguous beginning of one; prune and export also take all, for every branch [default: the last entry of the file]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l jobs -d 'Sessions that are worked on side by side [default: the number of cores]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l color -d 'Colour [default: auto]' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l progress -d 'Progress on standard error: auto, always, never [default: auto, on a terminal]' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l config -d 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l now -d 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l context-window -d 'Tokens of the model\'s window [default: the model\'s, else 200000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l reserve-tokens -d 'Tokens kept free for the answer [default: 16384, or 15 % of the window]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l keep-recent-tokens -d 'Newest tokens that a compaction keeps as they are [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l threshold -d 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l tokenizer -d 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l model -d 'The model, provider/id [default: the session\'s latest]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l enabled -d 'Whether --trigger auto may act [default: true]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l summary-tokens -d 'Most tokens of a summary, 300 to 16384 [default: 4096]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l blob-dir -d 'Folder of externalized image data [default: the agent\'s, beside its sessions]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l archive-dir -d 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s o -l output -d 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l out-dir -d 'Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l limit -d 'Stop when N sessions were changed [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l strategy -d 'How to compact: context-full, snapcompact, replace, handoff, off [default: context-full; snapcompact in the command of that name]' -r -f -a "context-full\t'A summary of what is old'
replace\t'Instructions, reminders and one new reminder instead of everything'
snapcompact\t'What is old on pictures'
handoff\t'A new session beside the old one, which begins with a document for who goes on'
off\t'Only report'"
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l trigger -d 'When to compact: manual, auto, idle [default: manual for one session, auto for several]' -r -f -a "manual\t'Now'
auto\t'When the context asks for it'
idle\t'The same, while nobody works on the session'"
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l keep-from -d 'The message to keep from, one of the cut\'s candidates [default: chosen by --keep-recent-tokens]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l instructions -d 'What the summary should look at [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l context-file -d 'Lines from FILE that the summary should carry [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l summarizer -d 'Who writes the summary: offline, truncate, endpoint, openai, openai-compact, anthropic, command [default: offline]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l summarizer-model -d 'The model that writes it [default: none; openai and anthropic need one]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l base-url -d 'Where openai or anthropic is, such as http://localhost:8080/v1 [default: the provider\'s own]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l endpoint -d 'With --summarizer endpoint: where {systemPrompt, prompt} is posted for {summary} [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l summarizer-command -d 'With --summarizer command: a program that gets the prompt on standard input and prints the summary [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l timeout -d 'The longest that one request may take: 120, 90s, 5m [default: 120s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l idle-timeout -d 'The longest that an answer may pause once it has begun [default: 60s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l retries -d 'How often a request is sent again after 408, 429, 5xx or a dropped connection [default: 3]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l max-requests -d 'Most requests of the whole run, those that are sent again included [default: 100]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l max-input-tokens -d 'Most tokens of one request; what is longer is summarized in parts [default: what the model\'s window takes]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l fallback -d 'What may be done when what was asked for fails: offline, context-full [default: nothing, the run fails]' -r -f -a "offline\t'The offline summarizer in place of an online one'
context-full\t'A summary in place of frames'"
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l hook -d 'Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given more than once, and replaces what the config says for that event [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l hook-timeout -d 'The longest that a hook may take [default: 30s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l context-limit -d 'Most tokens of the whole result [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l relevance -d 'Leave out what the summarizer finds irrelevant [default: false]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l relevance-threshold -d 'The score from which messages are relevant, 0 to 1 [default: 0.5]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l retain-custom -d 'Keep an extension\'s messages of this type; may be given more than once [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l shape -d 'The shape of frames: auto (dense), legible, or a name such as 8on16-bw [default: auto]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l api -d 'The interface that carries requests to the model, such as openai-responses [default: the session\'s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l max-frames -d 'Most frames; older ones give way, and what is newest stays text [default: 8, or what the provider takes]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l frame-size -d 'Width and greatest height of a frame, in pixels [default: the shape\'s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l frames-dir -d 'Write the frames that are made as PNG files into DIR, too [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l carrier -d 'How frames reach the model: auto, preserve-data, message [default: auto, by the session\'s owner]' -r -f -a "auto\t'As the owner of the session reads them'
preserve-data\t'In the compaction, as oh-my-pi reads them'
message\t'In a message behind the compaction, which every reader sends'"
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l tool-result-chars -d 'Characters of a tool result that are printed [default: 2000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l tool-arg-chars -d 'Characters of one argument of a call that are printed [default: 500]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l tool-call-chars -d 'Characters of all arguments of a call that are printed [default: 2000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l head-ratio -d 'Share of what is cut that is kept from its start, 0 to 1 [default: 0.6]' -r
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s 0 -l null -d 'Lists are separated by NUL instead of line ends [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l json -d 'One JSON object a session on standard output, one a line [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s q -l quiet -d 'No notes and warnings [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s v -l verbose -d 'More detail; twice for still more [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l no-config -d 'Read no config file [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s n -l dry-run -d 'Write nothing: do everything else and show the plan [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s i -l in-place -d 'Change several sessions in place [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l overwrite -d 'Replace a target that is there already [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l exit-code -d 'Exit code 3 when there was nothing to do [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l auto-continue -d 'When the threshold asked for it: tell the agent to go on with the task on its own [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l prune -d 'Prune old, superseded and useless results first, as prune does with its settings, and compact only what then still asks for it; both in one write, the file as it was archived [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l allow-growth -d 'Write the compaction even when the context does not shrink [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l no-redact -d 'Send keys and tokens of the session as they are, instead of masked [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l strict-hooks -d 'Exit code 1 when a hook fails that was told of what was written [default: off, a warning]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l drop-branches -d 'Leave other branches behind, in the archive [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l plain-zero -d 'Draw zeros without their slash [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l allow-unreadable -d 'Print even when more than 5 % of the text cannot be drawn [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -l no-dim -d 'Print tool results black instead of gray [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c epitome -n "__fish_epitome_using_subcommand compact" -s V -l version -d 'Print version'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l files-from -d 'Read more sessions from FILE, one a line; - for standard input [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l shard -d 'Work on share K of N only, K from 1, or let the job scheduler\'s variables say which: K/N, auto [default: all]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l leaf -d 'The end of the path: an entry\'s id or an unambiguous beginning of one; prune and export also take all, for every branch [default: the last entry of the file]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l jobs -d 'Sessions that are worked on side by side [default: the number of cores]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l color -d 'Colour [default: auto]' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l progress -d 'Progress on standard error: auto, always, never [default: auto, on a terminal]' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l config -d 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l now -d 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l context-window -d 'Tokens of the model\'s window [default: the model\'s, else 200000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l reserve-tokens -d 'Tokens kept free for the answer [default: 16384, or 15 % of the window]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l keep-recent-tokens -d 'Newest tokens that a compaction keeps as they are [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l threshold -d 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l tokenizer -d 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l model -d 'The model, provider/id [default: the session\'s latest]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l enabled -d 'Whether --trigger auto may act [default: true]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l summary-tokens -d 'Most tokens of a summary, 300 to 16384 [default: 4096]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l blob-dir -d 'Folder of externalized image data [default: the agent\'s, beside its sessions]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l archive-dir -d 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s o -l output -d 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l out-dir -d 'Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l limit -d 'Stop when N sessions were changed [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l protect-tokens -d 'Tokens of the newest results that age does not touch, or percent of the window [default: 40000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l min-savings -d 'Tokens that all of it must save, or nothing is pruned, or percent of the window [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l min-result-tokens -d 'Tokens below which age does not touch a result, or percent of the window [default: 50]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l stale-suffix-tokens -d 'With --stale: tokens that may stand after a result [default: 8000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l stale-idle-minutes -d 'With --stale: minutes without a message after which any result may go [default: 30]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l protect -d 'Keep results of a tool (tool:NAME) or of files (path:GLOB); may be given more than once [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l images -d 'Images give way to notes: drop (all), keep-last=N (all but the newest N of the path), extract=DIR (moved to files) [default: they stay]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l custom -d 'Empty the data of an extension\'s entries of this type; their keys stay; may be given more than once [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l max-result -d 'Cut every longer result to its head and tail, the newest too [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l restore -d 'Put an archived revision back as the session, which is archived first [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l repair -d 'Mend damage: all that needs no name, or the problem CODEs that are given (see epitome help repair) [default: off]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l hook -d 'Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given more than once, and replaces what the config says for that event [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l hook-timeout -d 'The longest that a hook may take [default: 30s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s 0 -l null -d 'Lists are separated by NUL instead of line ends [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l json -d 'One JSON object a session on standard output, one a line [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s q -l quiet -d 'No notes and warnings [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s v -l verbose -d 'More detail; twice for still more [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l no-config -d 'Read no config file [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s n -l dry-run -d 'Write nothing: do everything else and show the plan [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s i -l in-place -d 'Change several sessions in place [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l overwrite -d 'Replace a target that is there already [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l exit-code -d 'Exit code 3 when there was nothing to do [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l no-superseded -d 'Keep reads of files that were read again later [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l no-useless -d 'Keep results that their tools called useless [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l stale -d 'Only superseded and useless results, and only where that costs no provider cache [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l protect-last-turn -d 'Keep results after the latest request, whatever their size [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l keep-errors -d 'Old errors keep the ends of their text and the lines that tell what failed [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l append -d 'Append edits that say what results give way to, in place of rewriting; for sessions of pi 1.x, which applies them [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l details -d 'Take details of results out: no model sees them [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l args -d 'Cut long texts in the arguments of writes and edits older than --protect-tokens [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l dead-branches -d 'Remove entries that are on no path to the file\'s last entry or to --leaf [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l summarized -d 'Remove messages that a compaction summarized, where no branch needs them [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l dedupe -d 'A result whose text a later one repeats names that one instead [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l no-archive -d 'Do not archive the file as it was; needs --yes [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l yes -d 'Yes, without an archive [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -l strict-hooks -d 'Exit code 1 when a hook fails that was told of what was written [default: off, a warning]'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c epitome -n "__fish_epitome_using_subcommand prune" -s V -l version -d 'Print version'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l files-from -d 'Read more sessions from FILE, one a line; - for standard input [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l shard -d 'Work on share K of N only, K from 1, or let the job scheduler\'s variables say which: K/N, auto [default: all]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l leaf -d 'The end of the path: an entry\'s id or an unambiguous beginning of one; prune and export also take all, for every branch [default: the last entry of the file]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l jobs -d 'Sessions that are worked on side by side [default: the number of cores]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l color -d 'Colour [default: auto]' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l progress -d 'Progress on standard error: auto, always, never [default: auto, on a terminal]' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l config -d 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l now -d 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l context-window -d 'Tokens of the model\'s window [default: the model\'s, else 200000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l reserve-tokens -d 'Tokens kept free for the answer [default: 16384, or 15 % of the window]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l keep-recent-tokens -d 'Newest tokens that a compaction keeps as they are [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l threshold -d 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l tokenizer -d 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l model -d 'The model, provider/id [default: the session\'s latest]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l enabled -d 'Whether --trigger auto may act [default: true]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l summary-tokens -d 'Most tokens of a summary, 300 to 16384 [default: 4096]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l blob-dir -d 'Folder of externalized image data [default: the agent\'s, beside its sessions]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l archive-dir -d 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s o -l output -d 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l out-dir -d 'Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l limit -d 'Stop when N sessions were changed [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l from -d 'The leaf that was left: an entry\'s id or an unambiguous beginning of one [default: none; needed without --all]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l to -d 'The entry at which the work goes on [default: none; with --all the last entry of the file]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l token-budget -d 'Tokens of messages that the summary sees, the newest first [default: the window less 16384]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l instructions -d 'What the summary should look at [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l summarizer -d 'Who writes the summary: offline, truncate, endpoint, openai, openai-compact, anthropic, command [default: offline]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l summarizer-model -d 'The model that writes it [default: none; openai and anthropic need one]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l base-url -d 'Where openai or anthropic is, such as http://localhost:8080/v1 [default: the provider\'s own]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l endpoint -d 'With --summarizer endpoint: where {systemPrompt, prompt} is posted for {summary} [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l summarizer-command -d 'With --summarizer command: a program that gets the prompt on standard input and prints the summary [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l timeout -d 'The longest that one request may take: 120, 90s, 5m [default: 120s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l idle-timeout -d 'The longest that an answer may pause once it has begun [default: 60s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l retries -d 'How often a request is sent again after 408, 429, 5xx or a dropped connection [default: 3]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l max-requests -d 'Most requests of the whole run, those that are sent again included [default: 100]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l max-input-tokens -d 'Most tokens of one request; what is longer is summarized in parts [default: what the model\'s window takes]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l fallback -d 'What may be done when what was asked for fails: offline, context-full [default: nothing, the run fails]' -r -f -a "offline\t'The offline summarizer in place of an online one'
context-full\t'A summary in place of frames'"
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l hook -d 'Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given more than once, and replaces what the config says for that event [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l hook-timeout -d 'The longest that a hook may take [default: 30s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s 0 -l null -d 'Lists are separated by NUL instead of line ends [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l json -d 'One JSON object a session on standard output, one a line [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s q -l quiet -d 'No notes and warnings [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s v -l verbose -d 'More detail; twice for still more [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l no-config -d 'Read no config file [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s n -l dry-run -d 'Write nothing: do everything else and show the plan [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s i -l in-place -d 'Change several sessions in place [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l overwrite -d 'Replace a target that is there already [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l exit-code -d 'Exit code 3 when there was nothing to do [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l all -d 'Every branch that was left and has no summary on the target\'s path yet [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l no-redact -d 'Send keys and tokens of the session as they are, instead of masked [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -l strict-hooks -d 'Exit code 1 when a hook fails that was told of what was written [default: off, a warning]'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c epitome -n "__fish_epitome_using_subcommand branch-summary" -s V -l version -d 'Print version'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l files-from -d 'Read more sessions from FILE, one a line; - for standard input [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand export" -l shard -d 'Work on share K of N only, K from 1, or let the job scheduler\'s variables say which: K/N, auto [default: all]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l leaf -d 'The end of the path: an entry\'s id or an unambiguous beginning of one; prune and export also take all, for every branch [default: the last entry of the file]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l jobs -d 'Sessions that are worked on side by side [default: the number of cores]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l color -d 'Colour [default: auto]' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand export" -l progress -d 'Progress on standard error: auto, always, never [default: auto, on a terminal]' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand export" -l config -d 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand export" -l now -d 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l context-window -d 'Tokens of the model\'s window [default: the model\'s, else 200000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l reserve-tokens -d 'Tokens kept free for the answer [default: 16384, or 15 % of the window]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l keep-recent-tokens -d 'Newest tokens that a compaction keeps as they are [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l threshold -d 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l tokenizer -d 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l model -d 'The model, provider/id [default: the session\'s latest]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l enabled -d 'Whether --trigger auto may act [default: true]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l summary-tokens -d 'Most tokens of a summary, 300 to 16384 [default: 4096]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l blob-dir -d 'Folder of externalized image data [default: the agent\'s, beside its sessions]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l archive-dir -d 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -l format -d 'How to write it: md, html, text, json, jsonl [default: md]' -r -f -a "md\t'Markdown'
html\t'One HTML page that needs nothing else'
text\t'Plain text'
json\t'One JSON object'
jsonl\t'JSON Lines: the session\'s own records, or one message of the context a line'"
complete -c epitome -n "__fish_epitome_using_subcommand export" -l tool-results -d 'Tool calls and results: full, short (long ones lose their middle), none (calls on one line) [default: full]' -r -f -a "full\t'All'
short\t'The beginning and the end of long ones'
none\t'Calls on one line, no results'"
complete -c epitome -n "__fish_epitome_using_subcommand export" -l revision -d 'An archived revision instead of the session; without --format its bytes as they were, never masked [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand export" -s o -l output -d 'Write to FILE, or - for standard output [default: -]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand export" -s 0 -l null -d 'Lists are separated by NUL instead of line ends [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l json -d 'One JSON object a session on standard output, one a line [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -s q -l quiet -d 'No notes and warnings [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -s v -l verbose -d 'More detail; twice for still more [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l no-config -d 'Read no config file [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l transcript -d 'Everything that was said [default: on]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l context -d 'Only what the model sees; as JSON it can be sent to one [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l thinking -d 'With what the model thought [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l redact -d 'Mask keys, tokens, passwords and home folders [default: on]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l no-redact -d 'Mask nothing [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l redact-email -d 'Mask e-mail addresses too [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l overwrite -d 'Replace a target that is there already; a session is never replaced [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -s n -l dry-run -d 'Write nothing: tell what would be written and masked [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -l exit-code -d 'Exit code 3 when there was nothing to export [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c epitome -n "__fish_epitome_using_subcommand export" -s V -l version -d 'Print version'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l files-from -d 'Read more sessions from FILE, one a line; - for standard input [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l shard -d 'Work on share K of N only, K from 1, or let the job scheduler\'s variables say which: K/N, auto [default: all]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l leaf -d 'The end of the path: an entry\'s id or an unambiguous beginning of one; prune and export also take all, for every branch [default: the last entry of the file]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l jobs -d 'Sessions that are worked on side by side [default: the number of cores]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l color -d 'Colour [default: auto]' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l progress -d 'Progress on standard error: auto, always, never [default: auto, on a terminal]' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l config -d 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l now -d 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l context-window -d 'Tokens of the model\'s window [default: the model\'s, else 200000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l reserve-tokens -d 'Tokens kept free for the answer [default: 16384, or 15 % of the window]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l keep-recent-tokens -d 'Newest tokens that a compaction keeps as they are [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l threshold -d 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l tokenizer -d 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l model -d 'The model, provider/id [default: the session\'s latest]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l enabled -d 'Whether --trigger auto may act [default: true]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l summary-tokens -d 'Most tokens of a summary, 300 to 16384 [default: 4096]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l blob-dir -d 'Folder of externalized image data [default: the agent\'s, beside its sessions]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l archive-dir -d 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s o -l output -d 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l out-dir -d 'Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l limit -d 'Stop when N sessions were changed [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l strategy -d 'How to compact: context-full, snapcompact, replace, handoff, off [default: context-full; snapcompact in the command of that name]' -r -f -a "context-full\t'A summary of what is old'
replace\t'Instructions, reminders and one new reminder instead of everything'
snapcompact\t'What is old on pictures'
handoff\t'A new session beside the old one, which begins with a document for who goes on'
off\t'Only report'"
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l trigger -d 'When to compact: manual, auto, idle [default: manual for one session, auto for several]' -r -f -a "manual\t'Now'
auto\t'When the context asks for it'
idle\t'The same, while nobody works on the session'"
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l keep-from -d 'The message to keep from, one of the cut\'s candidates [default: chosen by --keep-recent-tokens]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l instructions -d 'What the summary should look at [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l context-file -d 'Lines from FILE that the summary should carry [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l summarizer -d 'Who writes the summary: offline, truncate, endpoint, openai, openai-compact, anthropic, command [default: offline]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l summarizer-model -d 'The model that writes it [default: none; openai and anthropic need one]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l base-url -d 'Where openai or anthropic is, such as http://localhost:8080/v1 [default: the provider\'s own]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l endpoint -d 'With --summarizer endpoint: where {systemPrompt, prompt} is posted for {summary} [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l summarizer-command -d 'With --summarizer command: a program that gets the prompt on standard input and prints the summary [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l timeout -d 'The longest that one request may take: 120, 90s, 5m [default: 120s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l idle-timeout -d 'The longest that an answer may pause once it has begun [default: 60s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l retries -d 'How often a request is sent again after 408, 429, 5xx or a dropped connection [default: 3]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l max-requests -d 'Most requests of the whole run, those that are sent again included [default: 100]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l max-input-tokens -d 'Most tokens of one request; what is longer is summarized in parts [default: what the model\'s window takes]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l fallback -d 'What may be done when what was asked for fails: offline, context-full [default: nothing, the run fails]' -r -f -a "offline\t'The offline summarizer in place of an online one'
context-full\t'A summary in place of frames'"
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l hook -d 'Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given more than once, and replaces what the config says for that event [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l hook-timeout -d 'The longest that a hook may take [default: 30s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l context-limit -d 'Most tokens of the whole result [default: 20000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l relevance -d 'Leave out what the summarizer finds irrelevant [default: false]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l relevance-threshold -d 'The score from which messages are relevant, 0 to 1 [default: 0.5]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l retain-custom -d 'Keep an extension\'s messages of this type; may be given more than once [default: none]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l shape -d 'The shape of frames: auto (dense), legible, or a name such as 8on16-bw [default: auto]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l api -d 'The interface that carries requests to the model, such as openai-responses [default: the session\'s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l max-frames -d 'Most frames; older ones give way, and what is newest stays text [default: 8, or what the provider takes]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l frame-size -d 'Width and greatest height of a frame, in pixels [default: the shape\'s]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l frames-dir -d 'Write the frames that are made as PNG files into DIR, too [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l carrier -d 'How frames reach the model: auto, preserve-data, message [default: auto, by the session\'s owner]' -r -f -a "auto\t'As the owner of the session reads them'
preserve-data\t'In the compaction, as oh-my-pi reads them'
message\t'In a message behind the compaction, which every reader sends'"
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l tool-result-chars -d 'Characters of a tool result that are printed [default: 2000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l tool-arg-chars -d 'Characters of one argument of a call that are printed [default: 500]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l tool-call-chars -d 'Characters of all arguments of a call that are printed [default: 2000]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l head-ratio -d 'Share of what is cut that is kept from its start, 0 to 1 [default: 0.6]' -r
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l text -d 'Print FILE, or - for standard input, into --frames-dir instead of compacting a session [default: none]' -r -F
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s 0 -l null -d 'Lists are separated by NUL instead of line ends [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l json -d 'One JSON object a session on standard output, one a line [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s q -l quiet -d 'No notes and warnings [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s v -l verbose -d 'More detail; twice for still more [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l no-config -d 'Read no config file [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s n -l dry-run -d 'Write nothing: do everything else and show the plan [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s i -l in-place -d 'Change several sessions in place [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l overwrite -d 'Replace a target that is there already [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l exit-code -d 'Exit code 3 when there was nothing to do [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l auto-continue -d 'When the threshold asked for it: tell the agent to go on with the task on its own [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l prune -d 'Prune old, superseded and useless results first, as prune does with its settings, and compact only what then still asks for it; both in one write, the file as it was archived [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l allow-growth -d 'Write the compaction even when the context does not shrink [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l no-redact -d 'Send keys and tokens of the session as they are, instead of masked [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l strict-hooks -d 'Exit code 1 when a hook fails that was told of what was written [default: off, a warning]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l drop-branches -d 'Leave other branches behind, in the archive [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l plain-zero -d 'Draw zeros without their slash [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l allow-unreadable -d 'Print even when more than 5 % of the text cannot be drawn [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -l no-dim -d 'Print tool results black instead of gray [default: off]'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c epitome -n "__fish_epitome_using_subcommand snapcompact" -s V -l version -d 'Print version'
complete -c epitome -n "__fish_epitome_using_subcommand help; and not __fish_seen_subcommand_from inspect compact prune branch-summary export snapcompact help" -f -a "inspect" -d 'Look: the tree, tokens, where a compaction would cut, what is wrong'
complete -c epitome -n "__fish_epitome_using_subcommand help; and not __fish_seen_subcommand_from inspect compact prune branch-summary export snapcompact help" -f -a "compact" -d 'Append a compaction: older messages are summarized, newer ones stay as they are'
complete -c epitome -n "__fish_epitome_using_subcommand help; and not __fish_seen_subcommand_from inspect compact prune branch-summary export snapcompact help" -f -a "prune" -d 'Make a session smaller for the model: old, superseded and useless tool results give way to notices'
complete -c epitome -n "__fish_epitome_using_subcommand help; and not __fish_seen_subcommand_from inspect compact prune branch-summary export snapcompact help" -f -a "branch-summary" -d 'Keep what an abandoned branch learnt, at the entry where the work goes on'
complete -c epitome -n "__fish_epitome_using_subcommand help; and not __fish_seen_subcommand_from inspect compact prune branch-summary export snapcompact help" -f -a "export" -d 'Write a session for people or programs: transcript or context, secrets masked; or an archived revision'
complete -c epitome -n "__fish_epitome_using_subcommand help; and not __fish_seen_subcommand_from inspect compact prune branch-summary export snapcompact help" -f -a "snapcompact" -d 'Put older history on pictures that a model with vision reads back; the same as compact --strategy snapcompact'
complete -c epitome -n "__fish_epitome_using_subcommand help; and not __fish_seen_subcommand_from inspect compact prune branch-summary export snapcompact help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
