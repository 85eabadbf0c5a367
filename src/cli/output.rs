//! Printing: data to standard output, everything else to standard error.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};

use super::args::{Color, Common};
pub(super) use crate::text::{bytes, counted, grouped as number};

/// Standard output, with colour only where it is wanted.
pub(super) fn stdout(common: &Common) -> AutoStream<io::Stdout> {
    AutoStream::new(io::stdout(), choice(common))
}

/// Standard error, by the same choice.
pub(super) fn stderr(common: &Common) -> AutoStream<io::Stderr> {
    AutoStream::new(io::stderr(), choice(common))
}

fn choice(common: &Common) -> ColorChoice {
    match common.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
}

/// Prints text of ours.
///
/// # Errors
/// When standard output cannot be written; a reader that went away is no error.
pub(super) fn print(text: &str) -> io::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints an error: the one place that does.
pub(super) fn complain(common: &Common, message: &str, hint: Option<&str>) {
    let mut err = stderr(common).lock();
    let _ = writeln!(err, "{}", error_text(message, hint));
}

/// An error and its hint as they are printed; text of a session or a path in it cannot reach the terminal's controls.
pub(super) fn error_text(message: &str, hint: Option<&str>) -> String {
    let masked = |text: &str| crate::text::masked(&crate::text::strip(text)).into_owned();
    let mut text = format!("epitome: {}", masked(message));
    if let Some(hint) = hint {
        text.push_str("\nhint: ");
        text.push_str(&masked(hint));
    }
    text
}

/// A heading or a name that stands out.
pub(super) fn bold(text: &str) -> String {
    format!("\x1b[1m{text}\x1b[0m")
}

/// What is of less weight.
pub(super) fn dim(text: &str) -> String {
    format!("\x1b[2m{text}\x1b[0m")
}

/// What is wrong.
pub(super) fn red(text: &str) -> String {
    format!("\x1b[31m{text}\x1b[0m")
}

/// What deserves a look.
pub(super) fn yellow(text: &str) -> String {
    format!("\x1b[33m{text}\x1b[0m")
}
