//! What the program says about itself.

use crate::run::Run;

#[test]
fn the_program_and_every_command_explain_themselves() {
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_short", &["-h"]),
        ("help_inspect", &["inspect", "--help"]),
        ("help_compact", &["compact", "--help"]),
        ("help_prune", &["prune", "--help"]),
        ("help_branch_summary", &["branch-summary", "--help"]),
    ] {
        insta::assert_snapshot!(name, Run::new().go_bare(args).to_string());
    }
}

#[test]
fn topics_are_there() {
    for topic in ["exit-codes", "config", "json", "sessions", "repair"] {
        insta::assert_snapshot!(format!("topic_{topic}"), Run::new().go_bare(&["help", topic]).to_string());
    }
}

#[test]
fn help_of_a_command_is_its_help() {
    let run = Run::new();
    for command in ["inspect", "compact", "prune", "branch-summary"] {
        assert_eq!(run.go_bare(&["help", command]), run.go_bare(&[command, "--help"]), "{command}");
    }
}

/// A flag's help that does not say what happens without the flag sends people to the source.
#[test]
fn every_flag_names_its_default() {
    let mut commands: Vec<_> = epitome::cli::command().get_subcommands().cloned().collect();
    commands.retain(|command| command.get_name() != "help");
    for command in commands {
        for flag in command.get_arguments().filter(|arg| !arg.is_positional() && !["help", "version"].contains(&arg.get_id().as_str())) {
            let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
            let says = if flag.is_required_set() { "(required)" } else { "[default: " };
            assert!(help.contains(says), "{} --{}", command.get_name(), flag.get_id());
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let out = Run::new().go_bare(&["--version"]).ok();
    assert_eq!(out.stdout(), format!("epitome {}\n", env!("CARGO_PKG_VERSION")));
}
