
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'epitome' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'epitome'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'epitome' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Look: the tree, tokens, where a compaction would cut, what is wrong')
            [CompletionResult]::new('compact', 'compact', [CompletionResultType]::ParameterValue, 'Append a compaction: older messages are summarized, newer ones stay as they are')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Make a session smaller for the model: old, superseded and useless tool results give way to notices')
            [CompletionResult]::new('branch-summary', 'branch-summary', [CompletionResultType]::ParameterValue, 'Keep what an abandoned branch learnt, at the entry where the work goes on')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'epitome;inspect' {
            [CompletionResult]::new('--files-from', '--files-from', [CompletionResultType]::ParameterName, 'Read more sessions from FILE, one a line; - for standard input [default: none]')
            [CompletionResult]::new('--shard', '--shard', [CompletionResultType]::ParameterName, 'Work on share K of N only, K from 1, or let the job scheduler''s variables say which: K/N, auto [default: all]')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The end of the path: an entry''s id or an unambiguous beginning of one [default: the last entry of the file]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Sessions that are worked on side by side [default: the number of cores]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour [default: auto]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Progress on standard error: auto, always, never [default: auto, on a terminal]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]')
            [CompletionResult]::new('--now', '--now', [CompletionResultType]::ParameterName, 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'Tokens of the model''s window [default: the model''s, else 200000]')
            [CompletionResult]::new('--reserve-tokens', '--reserve-tokens', [CompletionResultType]::ParameterName, 'Tokens kept free for the answer [default: 16384, or 15 % of the window]')
            [CompletionResult]::new('--keep-recent-tokens', '--keep-recent-tokens', [CompletionResultType]::ParameterName, 'Newest tokens that a compaction keeps as they are [default: 20000]')
            [CompletionResult]::new('--threshold', '--threshold', [CompletionResultType]::ParameterName, 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]')
            [CompletionResult]::new('--tokenizer', '--tokenizer', [CompletionResultType]::ParameterName, 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model, provider/id [default: the session''s latest]')
            [CompletionResult]::new('--enabled', '--enabled', [CompletionResultType]::ParameterName, 'Whether --trigger auto may act [default: true]')
            [CompletionResult]::new('--summary-tokens', '--summary-tokens', [CompletionResultType]::ParameterName, 'Most tokens of a summary, 300 to 16384 [default: 4096]')
            [CompletionResult]::new('--blob-dir', '--blob-dir', [CompletionResultType]::ParameterName, 'Folder of externalized image data [default: the agent''s, beside its sessions]')
            [CompletionResult]::new('--archive-dir', '--archive-dir', [CompletionResultType]::ParameterName, 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]')
            [CompletionResult]::new('--show', '--show', [CompletionResultType]::ParameterName, 'What to show, one or more separated by commas [default: overview]')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'The severity from which --check fails: error, warning [default: error]')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'A problem code that --check passes over; may be given more than once [default: none]')
            [CompletionResult]::new('--keep-from', '--keep-from', [CompletionResultType]::ParameterName, 'The message to keep from, one of the cut''s candidates [default: chosen by --keep-recent-tokens]')
            [CompletionResult]::new('-0', '-0', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--null', '--null', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON object a session on standard output, one a line [default: off]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--no-config', '--no-config', [CompletionResultType]::ParameterName, 'Read no config file [default: off]')
            [CompletionResult]::new('--needs-compaction', '--needs-compaction', [CompletionResultType]::ParameterName, 'Only whether an automatic compaction would act; exit code 0 when any session asks for it, 3 when none does [default: off]')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'With --needs-compaction or --check: only the paths of sessions that ask for it, or that fail; see -0 [default: off]')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'With --needs-compaction or --check: only the paths of sessions that ask for it, or that fail; see -0 [default: off]')
            [CompletionResult]::new('--exact', '--exact', [CompletionResultType]::ParameterName, 'Count every token instead of extrapolating large sessions [default: off]')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Only what is wrong; exit code 4 when there are errors [default: off]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'epitome;compact' {
            [CompletionResult]::new('--files-from', '--files-from', [CompletionResultType]::ParameterName, 'Read more sessions from FILE, one a line; - for standard input [default: none]')
            [CompletionResult]::new('--shard', '--shard', [CompletionResultType]::ParameterName, 'Work on share K of N only, K from 1, or let the job scheduler''s variables say which: K/N, auto [default: all]')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The end of the path: an entry''s id or an unambiguous beginning of one [default: the last entry of the file]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Sessions that are worked on side by side [default: the number of cores]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour [default: auto]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Progress on standard error: auto, always, never [default: auto, on a terminal]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]')
            [CompletionResult]::new('--now', '--now', [CompletionResultType]::ParameterName, 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'Tokens of the model''s window [default: the model''s, else 200000]')
            [CompletionResult]::new('--reserve-tokens', '--reserve-tokens', [CompletionResultType]::ParameterName, 'Tokens kept free for the answer [default: 16384, or 15 % of the window]')
            [CompletionResult]::new('--keep-recent-tokens', '--keep-recent-tokens', [CompletionResultType]::ParameterName, 'Newest tokens that a compaction keeps as they are [default: 20000]')
            [CompletionResult]::new('--threshold', '--threshold', [CompletionResultType]::ParameterName, 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]')
            [CompletionResult]::new('--tokenizer', '--tokenizer', [CompletionResultType]::ParameterName, 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model, provider/id [default: the session''s latest]')
            [CompletionResult]::new('--enabled', '--enabled', [CompletionResultType]::ParameterName, 'Whether --trigger auto may act [default: true]')
            [CompletionResult]::new('--summary-tokens', '--summary-tokens', [CompletionResultType]::ParameterName, 'Most tokens of a summary, 300 to 16384 [default: 4096]')
            [CompletionResult]::new('--blob-dir', '--blob-dir', [CompletionResultType]::ParameterName, 'Folder of externalized image data [default: the agent''s, beside its sessions]')
            [CompletionResult]::new('--archive-dir', '--archive-dir', [CompletionResultType]::ParameterName, 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]')
            [CompletionResult]::new('--out-dir', '--out-dir', [CompletionResultType]::ParameterName, 'Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Stop when N sessions were changed [default: none]')
            [CompletionResult]::new('--strategy', '--strategy', [CompletionResultType]::ParameterName, 'How to compact: context-full, off [default: context-full]')
            [CompletionResult]::new('--trigger', '--trigger', [CompletionResultType]::ParameterName, 'When to compact: manual, auto, idle [default: manual for one session, auto for several]')
            [CompletionResult]::new('--keep-from', '--keep-from', [CompletionResultType]::ParameterName, 'The message to keep from, one of the cut''s candidates [default: chosen by --keep-recent-tokens]')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should look at [default: none]')
            [CompletionResult]::new('--context-file', '--context-file', [CompletionResultType]::ParameterName, 'Lines from FILE that the summary should carry [default: none]')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'Who writes the summary: offline, truncate, endpoint, openai, openai-compact, anthropic, command [default: offline]')
            [CompletionResult]::new('--summarizer-model', '--summarizer-model', [CompletionResultType]::ParameterName, 'The model that writes it [default: none; openai and anthropic need one]')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'Where openai or anthropic is, such as http://localhost:8080/v1 [default: the provider''s own]')
            [CompletionResult]::new('--endpoint', '--endpoint', [CompletionResultType]::ParameterName, 'With --summarizer endpoint: where {systemPrompt, prompt} is posted for {summary} [default: none]')
            [CompletionResult]::new('--summarizer-command', '--summarizer-command', [CompletionResultType]::ParameterName, 'With --summarizer command: a program that gets the prompt on standard input and prints the summary [default: none]')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'The longest that one request may take: 120, 90s, 5m [default: 120s]')
            [CompletionResult]::new('--idle-timeout', '--idle-timeout', [CompletionResultType]::ParameterName, 'The longest that an answer may pause once it has begun [default: 60s]')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'How often a request is sent again after 408, 429, 5xx or a dropped connection [default: 3]')
            [CompletionResult]::new('--max-requests', '--max-requests', [CompletionResultType]::ParameterName, 'Most requests of the whole run, those that are sent again included [default: 100]')
            [CompletionResult]::new('--max-input-tokens', '--max-input-tokens', [CompletionResultType]::ParameterName, 'Most tokens of one request; what is longer is summarized in parts [default: what the model''s window takes]')
            [CompletionResult]::new('--fallback', '--fallback', [CompletionResultType]::ParameterName, 'What may be done when what was asked for fails: offline, context-full [default: nothing, the run fails]')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given more than once, and replaces what the config says for that event [default: none]')
            [CompletionResult]::new('--hook-timeout', '--hook-timeout', [CompletionResultType]::ParameterName, 'The longest that a hook may take [default: 30s]')
            [CompletionResult]::new('-0', '-0', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--null', '--null', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON object a session on standard output, one a line [default: off]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--no-config', '--no-config', [CompletionResultType]::ParameterName, 'Read no config file [default: off]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing: do everything else and show the plan [default: off]')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing: do everything else and show the plan [default: off]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Change several sessions in place [default: off]')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Change several sessions in place [default: off]')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace a target that is there already [default: off]')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'Exit code 3 when there was nothing to do [default: off]')
            [CompletionResult]::new('--auto-continue', '--auto-continue', [CompletionResultType]::ParameterName, 'When the threshold asked for it: tell the agent to go on with the task on its own [default: off]')
            [CompletionResult]::new('--allow-growth', '--allow-growth', [CompletionResultType]::ParameterName, 'Write the compaction even when the context does not shrink [default: off]')
            [CompletionResult]::new('--no-redact', '--no-redact', [CompletionResultType]::ParameterName, 'Send keys and tokens of the session as they are, instead of masked [default: off]')
            [CompletionResult]::new('--strict-hooks', '--strict-hooks', [CompletionResultType]::ParameterName, 'Exit code 1 when a hook fails that was told of what was written [default: off, a warning]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'epitome;prune' {
            [CompletionResult]::new('--files-from', '--files-from', [CompletionResultType]::ParameterName, 'Read more sessions from FILE, one a line; - for standard input [default: none]')
            [CompletionResult]::new('--shard', '--shard', [CompletionResultType]::ParameterName, 'Work on share K of N only, K from 1, or let the job scheduler''s variables say which: K/N, auto [default: all]')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The end of the path: an entry''s id or an unambiguous beginning of one [default: the last entry of the file]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Sessions that are worked on side by side [default: the number of cores]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour [default: auto]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Progress on standard error: auto, always, never [default: auto, on a terminal]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]')
            [CompletionResult]::new('--now', '--now', [CompletionResultType]::ParameterName, 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'Tokens of the model''s window [default: the model''s, else 200000]')
            [CompletionResult]::new('--reserve-tokens', '--reserve-tokens', [CompletionResultType]::ParameterName, 'Tokens kept free for the answer [default: 16384, or 15 % of the window]')
            [CompletionResult]::new('--keep-recent-tokens', '--keep-recent-tokens', [CompletionResultType]::ParameterName, 'Newest tokens that a compaction keeps as they are [default: 20000]')
            [CompletionResult]::new('--threshold', '--threshold', [CompletionResultType]::ParameterName, 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]')
            [CompletionResult]::new('--tokenizer', '--tokenizer', [CompletionResultType]::ParameterName, 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model, provider/id [default: the session''s latest]')
            [CompletionResult]::new('--enabled', '--enabled', [CompletionResultType]::ParameterName, 'Whether --trigger auto may act [default: true]')
            [CompletionResult]::new('--summary-tokens', '--summary-tokens', [CompletionResultType]::ParameterName, 'Most tokens of a summary, 300 to 16384 [default: 4096]')
            [CompletionResult]::new('--blob-dir', '--blob-dir', [CompletionResultType]::ParameterName, 'Folder of externalized image data [default: the agent''s, beside its sessions]')
            [CompletionResult]::new('--archive-dir', '--archive-dir', [CompletionResultType]::ParameterName, 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]')
            [CompletionResult]::new('--out-dir', '--out-dir', [CompletionResultType]::ParameterName, 'Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Stop when N sessions were changed [default: none]')
            [CompletionResult]::new('--protect-tokens', '--protect-tokens', [CompletionResultType]::ParameterName, 'Tokens of the newest results that age does not touch [default: 40000]')
            [CompletionResult]::new('--min-savings', '--min-savings', [CompletionResultType]::ParameterName, 'Tokens that all of it must save, or nothing is pruned [default: 20000]')
            [CompletionResult]::new('--min-result-tokens', '--min-result-tokens', [CompletionResultType]::ParameterName, 'Tokens below which age does not touch a result [default: 50]')
            [CompletionResult]::new('--stale-suffix-tokens', '--stale-suffix-tokens', [CompletionResultType]::ParameterName, 'With --stale: tokens that may stand after a result [default: 8000]')
            [CompletionResult]::new('--stale-idle-minutes', '--stale-idle-minutes', [CompletionResultType]::ParameterName, 'With --stale: minutes without a message after which any result may go [default: 30]')
            [CompletionResult]::new('--protect', '--protect', [CompletionResultType]::ParameterName, 'Keep results of a tool (tool:NAME) or of files (path:GLOB); may be given more than once [default: none]')
            [CompletionResult]::new('--restore', '--restore', [CompletionResultType]::ParameterName, 'Put an archived revision back as the session, which is archived first [default: none]')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given more than once, and replaces what the config says for that event [default: none]')
            [CompletionResult]::new('--hook-timeout', '--hook-timeout', [CompletionResultType]::ParameterName, 'The longest that a hook may take [default: 30s]')
            [CompletionResult]::new('-0', '-0', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--null', '--null', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON object a session on standard output, one a line [default: off]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--no-config', '--no-config', [CompletionResultType]::ParameterName, 'Read no config file [default: off]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing: do everything else and show the plan [default: off]')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing: do everything else and show the plan [default: off]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Change several sessions in place [default: off]')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Change several sessions in place [default: off]')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace a target that is there already [default: off]')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'Exit code 3 when there was nothing to do [default: off]')
            [CompletionResult]::new('--no-superseded', '--no-superseded', [CompletionResultType]::ParameterName, 'Keep reads of files that were read again later [default: off]')
            [CompletionResult]::new('--no-useless', '--no-useless', [CompletionResultType]::ParameterName, 'Keep results that their tools called useless [default: off]')
            [CompletionResult]::new('--stale', '--stale', [CompletionResultType]::ParameterName, 'Only superseded and useless results, and only where that costs no provider cache [default: off]')
            [CompletionResult]::new('--protect-last-turn', '--protect-last-turn', [CompletionResultType]::ParameterName, 'Keep results after the latest request, whatever their size [default: off]')
            [CompletionResult]::new('--no-archive', '--no-archive', [CompletionResultType]::ParameterName, 'Do not archive the file as it was; needs --yes [default: off]')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Yes, without an archive [default: off]')
            [CompletionResult]::new('--strict-hooks', '--strict-hooks', [CompletionResultType]::ParameterName, 'Exit code 1 when a hook fails that was told of what was written [default: off, a warning]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'epitome;branch-summary' {
            [CompletionResult]::new('--files-from', '--files-from', [CompletionResultType]::ParameterName, 'Read more sessions from FILE, one a line; - for standard input [default: none]')
            [CompletionResult]::new('--shard', '--shard', [CompletionResultType]::ParameterName, 'Work on share K of N only, K from 1, or let the job scheduler''s variables say which: K/N, auto [default: all]')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The end of the path: an entry''s id or an unambiguous beginning of one [default: the last entry of the file]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Sessions that are worked on side by side [default: the number of cores]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour [default: auto]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Progress on standard error: auto, always, never [default: auto, on a terminal]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]')
            [CompletionResult]::new('--now', '--now', [CompletionResultType]::ParameterName, 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'Tokens of the model''s window [default: the model''s, else 200000]')
            [CompletionResult]::new('--reserve-tokens', '--reserve-tokens', [CompletionResultType]::ParameterName, 'Tokens kept free for the answer [default: 16384, or 15 % of the window]')
            [CompletionResult]::new('--keep-recent-tokens', '--keep-recent-tokens', [CompletionResultType]::ParameterName, 'Newest tokens that a compaction keeps as they are [default: 20000]')
            [CompletionResult]::new('--threshold', '--threshold', [CompletionResultType]::ParameterName, 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]')
            [CompletionResult]::new('--tokenizer', '--tokenizer', [CompletionResultType]::ParameterName, 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model, provider/id [default: the session''s latest]')
            [CompletionResult]::new('--enabled', '--enabled', [CompletionResultType]::ParameterName, 'Whether --trigger auto may act [default: true]')
            [CompletionResult]::new('--summary-tokens', '--summary-tokens', [CompletionResultType]::ParameterName, 'Most tokens of a summary, 300 to 16384 [default: 4096]')
            [CompletionResult]::new('--blob-dir', '--blob-dir', [CompletionResultType]::ParameterName, 'Folder of externalized image data [default: the agent''s, beside its sessions]')
            [CompletionResult]::new('--archive-dir', '--archive-dir', [CompletionResultType]::ParameterName, 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]')
            [CompletionResult]::new('--out-dir', '--out-dir', [CompletionResultType]::ParameterName, 'Write the results into folders below DIR, as the sessions lie below the folders that were named [default: in place]')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Stop when N sessions were changed [default: none]')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The leaf that was left: an entry''s id or an unambiguous beginning of one (required)')
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'The entry at which the work goes on (required)')
            [CompletionResult]::new('--token-budget', '--token-budget', [CompletionResultType]::ParameterName, 'Tokens of messages that the summary sees, the newest first [default: the window less 16384]')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should look at [default: none]')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'Who writes the summary: offline, truncate, endpoint, openai, openai-compact, anthropic, command [default: offline]')
            [CompletionResult]::new('--summarizer-model', '--summarizer-model', [CompletionResultType]::ParameterName, 'The model that writes it [default: none; openai and anthropic need one]')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'Where openai or anthropic is, such as http://localhost:8080/v1 [default: the provider''s own]')
            [CompletionResult]::new('--endpoint', '--endpoint', [CompletionResultType]::ParameterName, 'With --summarizer endpoint: where {systemPrompt, prompt} is posted for {summary} [default: none]')
            [CompletionResult]::new('--summarizer-command', '--summarizer-command', [CompletionResultType]::ParameterName, 'With --summarizer command: a program that gets the prompt on standard input and prints the summary [default: none]')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'The longest that one request may take: 120, 90s, 5m [default: 120s]')
            [CompletionResult]::new('--idle-timeout', '--idle-timeout', [CompletionResultType]::ParameterName, 'The longest that an answer may pause once it has begun [default: 60s]')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'How often a request is sent again after 408, 429, 5xx or a dropped connection [default: 3]')
            [CompletionResult]::new('--max-requests', '--max-requests', [CompletionResultType]::ParameterName, 'Most requests of the whole run, those that are sent again included [default: 100]')
            [CompletionResult]::new('--max-input-tokens', '--max-input-tokens', [CompletionResultType]::ParameterName, 'Most tokens of one request; what is longer is summarized in parts [default: what the model''s window takes]')
            [CompletionResult]::new('--fallback', '--fallback', [CompletionResultType]::ParameterName, 'What may be done when what was asked for fails: offline, context-full [default: nothing, the run fails]')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Run CMD at an event: session_before_compact, session.compacting, session_compact, session_before_tree; may be given more than once, and replaces what the config says for that event [default: none]')
            [CompletionResult]::new('--hook-timeout', '--hook-timeout', [CompletionResultType]::ParameterName, 'The longest that a hook may take [default: 30s]')
            [CompletionResult]::new('-0', '-0', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--null', '--null', [CompletionResultType]::ParameterName, 'Lists are separated by NUL instead of line ends [default: off]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'One JSON object a session on standard output, one a line [default: off]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'No notes and warnings [default: off]')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'More detail; twice for still more [default: off]')
            [CompletionResult]::new('--no-config', '--no-config', [CompletionResultType]::ParameterName, 'Read no config file [default: off]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing: do everything else and show the plan [default: off]')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing: do everything else and show the plan [default: off]')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Change several sessions in place [default: off]')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Change several sessions in place [default: off]')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace a target that is there already [default: off]')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'Exit code 3 when there was nothing to do [default: off]')
            [CompletionResult]::new('--no-redact', '--no-redact', [CompletionResultType]::ParameterName, 'Send keys and tokens of the session as they are, instead of masked [default: off]')
            [CompletionResult]::new('--strict-hooks', '--strict-hooks', [CompletionResultType]::ParameterName, 'Exit code 1 when a hook fails that was told of what was written [default: off, a warning]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'epitome;help' {
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Look: the tree, tokens, where a compaction would cut, what is wrong')
            [CompletionResult]::new('compact', 'compact', [CompletionResultType]::ParameterValue, 'Append a compaction: older messages are summarized, newer ones stay as they are')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Make a session smaller for the model: old, superseded and useless tool results give way to notices')
            [CompletionResult]::new('branch-summary', 'branch-summary', [CompletionResultType]::ParameterValue, 'Keep what an abandoned branch learnt, at the entry where the work goes on')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'epitome;help;inspect' {
            break
        }
        'epitome;help;compact' {
            break
        }
        'epitome;help;prune' {
            break
        }
        'epitome;help;branch-summary' {
            break
        }
        'epitome;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
