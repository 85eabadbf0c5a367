//! Commands that a person has set: hooks, and programs that write summaries.
//!
//! They are run by `sh -c` in a process group of their own, with a limit on their time and on what they may print, because
//! a command that hangs or floods must not take the run with it. When the time is over, or this program is interrupted, the
//! whole group is killed, so that nothing of it stays behind.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Bytes of standard error that are passed on at most; a flood of notes helps nobody.
const MOST_NOTES: usize = 64 * 1024;

/// How long output of a command that has ended is waited for: a grandchild may hold the pipe.
const LINGER: Duration = Duration::from_millis(500);

/// Why a command gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("it could not be started: {0}")]
    Start(#[source] io::Error),
    /// It took too long.
    #[error("it took longer than {}", seconds(*.0))]
    Timeout(Duration),
    /// It printed too much.
    #[error("it printed more than {0} bytes")]
    TooMuch(usize),
    /// It failed.
    #[error("it ended with exit code {0}")]
    Exit(i32),
    /// It was killed.
    #[error("signal {0} ended it")]
    Signal(i32),
}

/// A time for people: seconds, with their fraction where there is one.
#[must_use]
pub fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The groups that run now; `None` once the program is being stopped and starts no more.
static GROUPS: Mutex<Option<Vec<Pid>>> = Mutex::new(Some(Vec::new()));

/// Kills every command that is running, and lets none start any more: for the end of the program.
pub fn stop() {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner).take();
    for group in groups.into_iter().flatten() {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A running command; whatever happens, its group is killed in the end.
struct Running {
    child: Child,
    group: Option<Pid>,
}

impl Running {
    fn start(command: &mut Command) -> Result<Running, CommandError> {
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(groups) = groups.as_mut() else {
            return Err(CommandError::Start(io::Error::other("the program is being stopped")));
        };
        let child = command.process_group(0).spawn().map_err(CommandError::Start)?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        groups.extend(group);
        Ok(Running { child, group })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = self.group {
            // Also after a good end: what it left in the background ends with it.
            let _ = kill_process_group(group, Signal::KILL);
            if let Some(groups) = groups.as_mut() {
                groups.retain(|known| *known != group);
            }
        }
        drop(groups);
        let _ = self.child.wait();
    }
}

enum Event {
    Out(Vec<u8>),
    OutEnded,
}

/// Runs `command` by `sh -c` with `input` on standard input and gives what it printed.
///
/// `most` is in bytes. Each line of standard error goes to `note`, without control sequences.
///
/// # Errors
/// When it cannot be started, fails, takes longer than `time`, or prints more than `most`.
pub fn run(command: &str, input: &[u8], time: Duration, most: usize, note: &dyn Fn(&str)) -> Result<Vec<u8>, CommandError> {
    let deadline = Instant::now() + time;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::start(&mut shell)?;
    let (stdin, stdout, stderr) = (running.child.stdin.take(), running.child.stdout.take(), running.child.stderr.take());
    if let Some(mut stdin) = stdin {
        let input = input.to_vec();
        // A command that does not read its input is no error.
        thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
    }
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noted = stderr.map(|stderr| {
        let notes = Arc::clone(&notes);
        let (done, ended) = channel::<()>();
        thread::spawn(move || {
            collect(stderr, &notes);
            drop(done);
        });
        ended
    });
    let (send, events) = channel();
    if let Some(mut stdout) = stdout {
        thread::spawn(move || {
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = stdout.read(&mut chunk) {
                if send.send(Event::Out(chunk.get(..read).unwrap_or_default().to_vec())).is_err() {
                    return;
                }
            }
            let _ = send.send(Event::OutEnded);
        });
    }
    let result = wait(&mut running, &events, deadline, time, most);
    drop(running);
    if let Some(ended) = noted {
        let _ = ended.recv_timeout(LINGER);
    }
    let notes = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
    for line in String::from_utf8_lossy(&notes).lines().filter(|line| !line.trim().is_empty()) {
        note(&crate::text::strip(line));
    }
    result
}

fn wait(running: &mut Running, events: &Receiver<Event>, deadline: Instant, time: Duration, most: usize) -> Result<Vec<u8>, CommandError> {
    let mut out = Vec::new();
    let mut ended: Option<(ExitStatus, Instant)> = None;
    let mut open = true;
    loop {
        if ended.is_none()
            && let Ok(Some(status)) = running.child.try_wait()
        {
            ended = Some((status, Instant::now()));
        }
        match ended {
            Some((status, at)) if !open || at.elapsed() > LINGER => return judge(status).map(|()| out),
            None if Instant::now() >= deadline => return Err(CommandError::Timeout(time)),
            _ => {}
        }
        let pause = Duration::from_millis(if open { 20 } else { 5 });
        match events.recv_timeout(pause) {
            Ok(Event::Out(bytes)) => out.extend(bytes),
            Ok(Event::OutEnded) => open = false,
            Err(RecvTimeoutError::Disconnected) => {
                open = false;
                thread::sleep(pause);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if out.len() > most {
            return Err(CommandError::TooMuch(most));
        }
    }
}

fn judge(status: ExitStatus) -> Result<(), CommandError> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(CommandError::Exit(code)),
        (None, signal) => Err(CommandError::Signal(signal.unwrap_or_default())),
    }
}

/// Reads to the end, so that the writer is never held up, and keeps the beginning.
fn collect(mut from: impl Read, into: &Mutex<Vec<u8>>) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_NOTES.saturating_sub(into.len()).min(read);
        into.extend(chunk.get(..room).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn go(command: &str, input: &str, time: Duration) -> (Result<String, String>, Vec<String>) {
        let notes = Mutex::new(Vec::new());
        let result = run(command, input.as_bytes(), time, 100_000, &|line| notes.lock().unwrap().push(line.to_owned()));
        let result = result.map(|out| String::from_utf8(out).unwrap()).map_err(|e| e.to_string());
        (result, notes.into_inner().unwrap())
    }

    #[test]
    fn input_output_and_notes_go_their_ways() {
        let (result, notes) = go("cat; printf 'a\\033[31mb\\n\\nc\\n' >&2", "hello", LONG);
        assert_eq!((result, notes), (Ok("hello".to_owned()), vec!["ab".to_owned(), "c".to_owned()]));
        // More than a pipe holds, and a command that reads none of it.
        let much = "x".repeat(90_000);
        assert_eq!(go("cat", &much, LONG).0, Ok(much.clone()));
        assert_eq!(go("true", &"x".repeat(1_000_000), LONG).0, Ok(String::new()));
    }

    #[test]
    fn failures_are_told_apart() {
        assert_eq!(go("exit 7", "", LONG).0, Err("it ended with exit code 7".to_owned()));
        assert_eq!(go("kill -9 $$", "", LONG).0, Err("signal 9 ended it".to_owned()));
        assert_eq!(go("yes", "", LONG).0, Err("it printed more than 100000 bytes".to_owned()));
        assert_eq!(go("yes >&2 & sleep 0.2; kill $!; echo ok", "", LONG).0, Ok("ok\n".to_owned()));
        assert_eq!(go("exec >&-; sleep 60", "", Duration::from_millis(200)).0, Err("it took longer than 0.2 s".to_owned()));
    }

    #[test]
    fn the_whole_group_ends_with_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("late");
        let late = format!("(sleep 1; echo late > {}) & sleep 60", mark.display());
        let begun = Instant::now();
        assert_eq!(go(&late, "", Duration::from_millis(200)).0, Err("it took longer than 0.2 s".to_owned()));
        assert!(begun.elapsed() < Duration::from_secs(10));
        // What a command leaves behind ends with it too, and holds nobody up.
        assert_eq!(go(&format!("(sleep 1; echo late > {}) & echo done", mark.display()), "", LONG).0, Ok("done\n".to_owned()));
        thread::sleep(Duration::from_millis(1_300));
        assert!(!mark.exists());
    }
}
