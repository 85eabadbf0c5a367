
use builtin;
use str;

set edit:completion:arg-completer[epitome] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'epitome'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'epitome'= {
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand inspect 'Look: the tree, tokens, where a compaction would cut, what is wrong'
            cand compact 'Append a compaction: older messages are summarized, newer ones stay as they are'
            cand prune 'Make a session smaller for the model: old, superseded and useless tool results give way to notices'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'epitome;inspect'= {
            cand --files-from 'Read more sessions from FILE, one a line; - for standard input [default: none]'
            cand --leaf 'The end of the path: an entry''s id or an unambiguous beginning of one [default: the last entry of the file]'
            cand --jobs 'Sessions that are worked on side by side [default: the number of cores]'
            cand --color 'Colour [default: auto]'
            cand --progress 'Progress on standard error: auto, always, never [default: auto, on a terminal]'
            cand --config 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]'
            cand --now 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]'
            cand --context-window 'Tokens of the model''s window [default: the model''s, else 200000]'
            cand --reserve-tokens 'Tokens kept free for the answer [default: 16384, or 15 % of the window]'
            cand --keep-recent-tokens 'Newest tokens that a compaction keeps as they are [default: 20000]'
            cand --threshold 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]'
            cand --tokenizer 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]'
            cand --model 'The model, provider/id [default: the session''s latest]'
            cand --enabled 'Whether --trigger auto may act [default: true]'
            cand --summary-tokens 'Most tokens of a summary, 300 to 16384 [default: 4096]'
            cand --blob-dir 'Folder of externalized image data [default: the agent''s, beside its sessions]'
            cand --archive-dir 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]'
            cand --show 'What to show, one or more separated by commas [default: overview]'
            cand --fail-on 'The severity from which --check fails: error, warning [default: error]'
            cand --allow 'A problem code that --check passes over; may be given more than once [default: none]'
            cand --keep-from 'The message to keep from, one of the cut''s candidates [default: chosen by --keep-recent-tokens]'
            cand -0 'Lists are separated by NUL instead of line ends [default: off]'
            cand --null 'Lists are separated by NUL instead of line ends [default: off]'
            cand --json 'One JSON object a session on standard output, one a line [default: off]'
            cand -q 'No notes and warnings [default: off]'
            cand --quiet 'No notes and warnings [default: off]'
            cand -v 'More detail; twice for still more [default: off]'
            cand --verbose 'More detail; twice for still more [default: off]'
            cand --no-config 'Read no config file [default: off]'
            cand --exact 'Count every token instead of extrapolating large sessions [default: off]'
            cand --check 'Only what is wrong; exit code 4 when there are errors [default: off]'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'epitome;compact'= {
            cand --files-from 'Read more sessions from FILE, one a line; - for standard input [default: none]'
            cand --leaf 'The end of the path: an entry''s id or an unambiguous beginning of one [default: the last entry of the file]'
            cand --jobs 'Sessions that are worked on side by side [default: the number of cores]'
            cand --color 'Colour [default: auto]'
            cand --progress 'Progress on standard error: auto, always, never [default: auto, on a terminal]'
            cand --config 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]'
            cand --now 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]'
            cand --context-window 'Tokens of the model''s window [default: the model''s, else 200000]'
            cand --reserve-tokens 'Tokens kept free for the answer [default: 16384, or 15 % of the window]'
            cand --keep-recent-tokens 'Newest tokens that a compaction keeps as they are [default: 20000]'
            cand --threshold 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]'
            cand --tokenizer 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]'
            cand --model 'The model, provider/id [default: the session''s latest]'
            cand --enabled 'Whether --trigger auto may act [default: true]'
            cand --summary-tokens 'Most tokens of a summary, 300 to 16384 [default: 4096]'
            cand --blob-dir 'Folder of externalized image data [default: the agent''s, beside its sessions]'
            cand --archive-dir 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]'
            cand -o 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]'
            cand --output 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]'
            cand --strategy 'How to compact: context-full, off [default: context-full]'
            cand --trigger 'When to compact: manual, auto, idle [default: manual for one session, auto for several]'
            cand --keep-from 'The message to keep from, one of the cut''s candidates [default: chosen by --keep-recent-tokens]'
            cand --instructions 'What the summary should look at [default: none]'
            cand --context-file 'Lines from FILE that the summary should carry [default: none]'
            cand --summarizer 'Who writes the summary: offline, truncate [default: offline]'
            cand -0 'Lists are separated by NUL instead of line ends [default: off]'
            cand --null 'Lists are separated by NUL instead of line ends [default: off]'
            cand --json 'One JSON object a session on standard output, one a line [default: off]'
            cand -q 'No notes and warnings [default: off]'
            cand --quiet 'No notes and warnings [default: off]'
            cand -v 'More detail; twice for still more [default: off]'
            cand --verbose 'More detail; twice for still more [default: off]'
            cand --no-config 'Read no config file [default: off]'
            cand -n 'Write nothing: do everything else and show the plan [default: off]'
            cand --dry-run 'Write nothing: do everything else and show the plan [default: off]'
            cand -i 'Change several sessions in place [default: off]'
            cand --in-place 'Change several sessions in place [default: off]'
            cand --overwrite 'Replace FILE of --output when it is there [default: off]'
            cand --allow-growth 'Write the compaction even when the context does not shrink [default: off]'
            cand --exit-code 'Exit code 3 when there was nothing to do [default: off]'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'epitome;prune'= {
            cand --files-from 'Read more sessions from FILE, one a line; - for standard input [default: none]'
            cand --leaf 'The end of the path: an entry''s id or an unambiguous beginning of one [default: the last entry of the file]'
            cand --jobs 'Sessions that are worked on side by side [default: the number of cores]'
            cand --color 'Colour [default: auto]'
            cand --progress 'Progress on standard error: auto, always, never [default: auto, on a terminal]'
            cand --config 'Read settings from FILE [default: $EPITOME_CONFIG, else epitome/config.toml in $XDG_CONFIG_HOME]'
            cand --now 'The time of the run, RFC 3339 [default: $SOURCE_DATE_EPOCH, else the clock]'
            cand --context-window 'Tokens of the model''s window [default: the model''s, else 200000]'
            cand --reserve-tokens 'Tokens kept free for the answer [default: 16384, or 15 % of the window]'
            cand --keep-recent-tokens 'Newest tokens that a compaction keeps as they are [default: 20000]'
            cand --threshold 'When a context is to be compacted: tokens, or percent of the window [default: the window less the reserve]'
            cand --tokenizer 'How tokens are counted: o200k, cl100k, heuristic [default: o200k]'
            cand --model 'The model, provider/id [default: the session''s latest]'
            cand --enabled 'Whether --trigger auto may act [default: true]'
            cand --summary-tokens 'Most tokens of a summary, 300 to 16384 [default: 4096]'
            cand --blob-dir 'Folder of externalized image data [default: the agent''s, beside its sessions]'
            cand --archive-dir 'Folder of archives of rewritten sessions [default: SESSION.archive beside each session]'
            cand -o 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]'
            cand --output 'Write the result to FILE, or - for standard output, instead of into the session [default: in place]'
            cand --protect-tokens 'Tokens of the newest results that age does not touch [default: 40000]'
            cand --min-savings 'Tokens that all of it must save, or nothing is pruned [default: 20000]'
            cand --min-result-tokens 'Tokens below which age does not touch a result [default: 50]'
            cand --stale-suffix-tokens 'With --stale: tokens that may stand after a result [default: 8000]'
            cand --stale-idle-minutes 'With --stale: minutes without a message after which any result may go [default: 30]'
            cand --protect 'Keep results of a tool (tool:NAME) or of files (path:GLOB); may be given more than once [default: none]'
            cand --restore 'Put an archived revision back as the session, which is archived first [default: none]'
            cand -0 'Lists are separated by NUL instead of line ends [default: off]'
            cand --null 'Lists are separated by NUL instead of line ends [default: off]'
            cand --json 'One JSON object a session on standard output, one a line [default: off]'
            cand -q 'No notes and warnings [default: off]'
            cand --quiet 'No notes and warnings [default: off]'
            cand -v 'More detail; twice for still more [default: off]'
            cand --verbose 'More detail; twice for still more [default: off]'
            cand --no-config 'Read no config file [default: off]'
            cand -n 'Write nothing: show what would be pruned [default: off]'
            cand --dry-run 'Write nothing: show what would be pruned [default: off]'
            cand -i 'Change several sessions in place [default: off]'
            cand --in-place 'Change several sessions in place [default: off]'
            cand --overwrite 'Replace FILE of --output when it is there [default: off]'
            cand --no-superseded 'Keep reads of files that were read again later [default: off]'
            cand --no-useless 'Keep results that their tools called useless [default: off]'
            cand --stale 'Only superseded and useless results, and only where that costs no provider cache [default: off]'
            cand --protect-last-turn 'Keep results after the latest request, whatever their size [default: off]'
            cand --no-archive 'Do not archive the file as it was; needs --yes [default: off]'
            cand --yes 'Yes, without an archive [default: off]'
            cand --exit-code 'Exit code 3 when there was nothing to do [default: off]'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'epitome;help'= {
            cand inspect 'Look: the tree, tokens, where a compaction would cut, what is wrong'
            cand compact 'Append a compaction: older messages are summarized, newer ones stay as they are'
            cand prune 'Make a session smaller for the model: old, superseded and useless tool results give way to notices'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'epitome;help;inspect'= {
        }
        &'epitome;help;compact'= {
        }
        &'epitome;help;prune'= {
        }
        &'epitome;help;help'= {
        }
    ]
    $completions[$command]
}
