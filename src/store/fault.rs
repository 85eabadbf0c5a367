//! "Any failure leaves the session as it was" can only be tested by failing everywhere. Every write, sync and rename of a
//! rewrite passes through here under a name, and a test makes the n-th of a name fail, run out of space, or end the
//! process.
//!
//! Builds without debug assertions have no switch: there, every call is empty.
//!
//! A test arms its own thread with [`arm`]; for a process of its own the environment says the same, as
//! `EPITOME_TEST_FAULT=session-write:2:kill` ([`VARIABLE`]).

use std::io::{self, Write};

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident $name:literal)+) => {
        /// A step of a rewrite that can be made to fail, in the order in which they come.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Step { $($(#[$doc])* $step),+ }

        impl Step {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$step),+];

            /// Its name in the environment variable.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$step => $name),+ }
            }
        }
    };
}

steps! {
    /// Making the folder of the archives.
    ArchiveFolder "archive-folder"
    /// Creating the archive under a temporary name.
    ArchiveCreate "archive-create"
    /// One write of the archive.
    ArchiveWrite "archive-write"
    /// Reading the archive back.
    ArchiveRead "archive-read"
    /// Making the archive durable.
    ArchiveSync "archive-sync"
    /// Creating the new session under a temporary name.
    SessionCreate "session-create"
    /// One write of the new session.
    SessionWrite "session-write"
    /// Giving the new session the owner and mode of the old one.
    SessionAttributes "session-attributes"
    /// Making the new session durable.
    SessionSync "session-sync"
    /// Reading the new session back.
    SessionRead "session-read"
    /// Taking the lock.
    Lock "lock"
    /// Putting a title into the new session that was set meanwhile.
    Title "title"
    /// Giving the archive its name.
    ArchiveRename "archive-rename"
    /// Making that name durable.
    ArchiveFolderSync "archive-folder-sync"
    /// Making the name of the archives' new folder durable.
    ArchiveParentSync "archive-parent-sync"
    /// Giving the new session its name: the commit.
    SessionRename "session-rename"
    /// Making that name durable.
    SessionFolderSync "session-folder-sync"
}

/// What happens at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error of the disk.
    Fail,
    /// No space is left.
    Full,
    /// The process ends at once, without any destructor.
    Kill,
}

impl Fault {
    /// Ends the process, or gives the error.
    #[cfg_attr(not(any(test, debug_assertions)), allow(dead_code))]
    fn happen(self) -> io::Error {
        match self {
            Self::Fail => rustix::io::Errno::IO.into(),
            Self::Full => rustix::io::Errno::NOSPC.into(),
            Self::Kill => std::process::abort(),
        }
    }
}

#[cfg(any(test, debug_assertions))]
mod switch {
    use super::{Fault, Step};
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

    /// The environment variable: `STEP:N`, or with `:fail`, `:full` or `:kill` behind it.
    pub const VARIABLE: &str = "EPITOME_TEST_FAULT";

    thread_local! {
        static ARMED: RefCell<Shared> = RefCell::default();
    }

    /// What is armed, for a thread and for those that work for it.
    #[derive(Debug, Clone, Default)]
    pub(super) struct Shared(Arc<Mutex<Option<(Step, u32, Fault)>>>);

    impl Shared {
        /// This thread's.
        pub(super) fn here() -> Self {
            ARMED.with_borrow(Self::clone)
        }

        pub(super) fn adopt(self) {
            ARMED.replace(self);
        }

        fn armed(&self) -> MutexGuard<'_, Option<(Step, u32, Fault)>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// Keeps a fault armed for this thread while it lives.
    #[derive(Debug)]
    #[must_use = "the fault is disarmed when this is dropped"]
    pub struct Armed(());

    /// Lets `fault` happen when this thread comes to `step` for the `nth` time, counted from 1.
    pub fn arm(step: Step, nth: u32, fault: Fault) -> Armed {
        *Shared::here().armed() = Some((step, nth, fault));
        Armed(())
    }

    impl Armed {
        /// Whether it has happened.
        #[must_use]
        pub fn happened(&self) -> bool {
            Shared::here().armed().is_none()
        }
    }

    impl Drop for Armed {
        fn drop(&mut self) {
            *Shared::here().armed() = None;
        }
    }

    pub(super) fn due(step: Step) -> Option<Fault> {
        let shared = Shared::here();
        let mut armed = shared.armed();
        match armed.as_mut() {
            Some((at, 1, fault)) if *at == step => {
                let fault = *fault;
                *armed = None;
                Some(fault)
            }
            Some((at, left, _)) if *at == step => {
                *left = left.saturating_sub(1);
                None
            }
            _ => due_by_environment(step),
        }
    }

    fn due_by_environment(step: Step) -> Option<Fault> {
        static ASKED: OnceLock<Option<(String, u32, Fault)>> = OnceLock::new();
        static SEEN: AtomicU32 = AtomicU32::new(0);
        let asked = ASKED.get_or_init(|| parse(&std::env::var(VARIABLE).ok()?));
        let (name, nth, fault) = asked.as_ref()?;
        (name == step.name() && SEEN.fetch_add(1, Ordering::Relaxed) + 1 == *nth).then_some(*fault)
    }

    pub(super) fn parse(text: &str) -> Option<(String, u32, Fault)> {
        let mut parts = text.split(':');
        let (step, nth) = (parts.next()?, parts.next()?.parse().ok()?);
        let fault = match parts.next() {
            None | Some("fail") => Fault::Fail,
            Some("full") => Fault::Full,
            Some("kill") => Fault::Kill,
            Some(_) => return None,
        };
        Some((step.to_owned(), nth, fault))
    }
}

#[cfg(any(test, debug_assertions))]
pub use switch::{Armed, VARIABLE, arm};

#[cfg(any(test, debug_assertions))]
fn due(step: Step) -> Option<Fault> {
    switch::due(step)
}

#[cfg(not(any(test, debug_assertions)))]
#[inline]
fn due(_: Step) -> Option<Fault> {
    None
}

/// What is armed for a thread, to be handed to those that work for it.
#[derive(Debug, Clone)]
pub(crate) struct Inherited {
    #[cfg(any(test, debug_assertions))]
    shared: switch::Shared,
}

impl Inherited {
    /// What is armed for this thread.
    pub(crate) fn here() -> Self {
        Self {
            #[cfg(any(test, debug_assertions))]
            shared: switch::Shared::here(),
        }
    }

    /// Arms this thread alike, for as long as it lives.
    pub(crate) fn adopt(self) {
        #[cfg(any(test, debug_assertions))]
        self.shared.adopt();
    }
}

/// Fails when a fault is armed for this step.
#[inline]
pub(crate) fn at(step: Step) -> io::Result<()> {
    match due(step) {
        None => Ok(()),
        Some(fault) => Err(fault.happen()),
    }
}

/// Passes writes on; the one at which a fault happens is cut short first, as on a real disk.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    pub(crate) inner: W,
    pub(crate) step: Step,
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(fault) = due(self.step) else {
            return self.inner.write(bytes);
        };
        if let Some(half) = bytes.get(..bytes.len() / 2) {
            self.inner.write_all(half)?;
        }
        Err(fault.happen())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_nth_time_fails_and_no_other() {
        let armed = arm(Step::ArchiveWrite, 3, Fault::Full);
        let mut writer = Writer { inner: Vec::new(), step: Step::ArchiveWrite };
        writer.write_all(b"one").unwrap();
        at(Step::ArchiveSync).unwrap();
        writer.write_all(b"two").unwrap();
        assert!(!armed.happened());
        assert_eq!(writer.write_all(b"three!").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(armed.happened());
        writer.write_all(b"four").unwrap();
        assert_eq!(writer.inner, b"onetwothrfour");
        drop(arm(Step::Lock, 1, Fault::Fail));
        at(Step::Lock).unwrap();
    }

    #[test]
    fn a_thread_that_works_for_another_meets_its_fault() {
        let armed = arm(Step::ArchiveSync, 2, Fault::Fail);
        at(Step::ArchiveSync).unwrap();
        let inherited = Inherited::here();
        let met = std::thread::spawn(move || {
            at(Step::ArchiveSync).unwrap();
            inherited.adopt();
            at(Step::ArchiveSync).is_err()
        });
        assert!(met.join().unwrap());
        assert!(armed.happened());
        at(Step::ArchiveSync).unwrap();
    }

    #[test]
    fn the_variable_names_step_number_and_fault() {
        assert_eq!(switch::parse("lock:2"), Some(("lock".to_owned(), 2, Fault::Fail)));
        assert_eq!(switch::parse("session-write:1:kill"), Some(("session-write".to_owned(), 1, Fault::Kill)));
        assert_eq!(switch::parse("session-write:1:burn"), None);
        assert_eq!(switch::parse("session-write"), None);
    }
}
