//! Work for several threads, where more of them make it faster and one is enough.
//!
//! A thread that cannot be had (a limit on memory or tasks) is no error: the others do its part.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A thread ended in the middle of its work: a fault of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a thread failed")]
pub(crate) struct Failed;

impl From<Failed> for io::Error {
    fn from(failed: Failed) -> io::Error {
        io::Error::other(failed)
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `work` on this thread and beside it on up to `threads - 1` others; gives what each of them made, in no order that
/// means anything.
///
/// # Errors
/// When one of the others panicked.
pub(crate) fn crew<R: Send>(threads: usize, work: impl Fn() -> R + Sync) -> Result<Vec<R>, Failed> {
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, &work).ok()).collect();
        let mut made = vec![work()];
        for helper in helpers {
            made.push(helper.join().map_err(|_| Failed)?);
        }
        Ok(made)
    })
}

/// Runs `other` on another thread while `here` runs on this one.
///
/// # Errors
/// When the other thread panicked.
pub(crate) fn beside<A: Send, B>(other: impl Fn() -> A + Sync, here: impl FnOnce() -> B) -> Result<(A, B), Failed> {
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().spawn_scoped(scope, &other).ok();
        let here = here();
        let other = started.map_or_else(|| Ok(other()), |thread| thread.join().map_err(|_| Failed))?;
        Ok((other, here))
    })
}

/// Makes something of each item on all cores, in the order of the items. No thread gets fewer than `fewest` of them, and
/// each has a `room` of its own.
///
/// # Errors
/// When a thread panicked.
pub(crate) fn map<T: Sync, S, R: Send>(
    items: &[T],
    fewest: usize,
    room: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize, &T) -> R + Sync,
) -> Result<Vec<R>, Failed> {
    map_on(cores().min(items.len().div_ceil(fewest.max(1))), items, room, make)
}

/// The same on so many threads, whatever cores there are: for what waits more than it computes.
///
/// # Errors
/// As [`map`].
pub(crate) fn map_on<T: Sync, S, R: Send>(
    threads: usize,
    items: &[T],
    room: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize, &T) -> R + Sync,
) -> Result<Vec<R>, Failed> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut room, mut done) = (room(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, make(&mut room, at, item)));
        }
    };
    let made = crew(threads.min(items.len()), work)?;
    let mut all: Vec<(usize, R)> = made.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, made)| made).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn what_is_made_stands_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1_000).collect();
        for fewest in [0, 1, 400, 5_000] {
            let made = map(&items, fewest, || 1, |room, at, item| *item * 2 + at as u64 + *room);
            assert_eq!(made, Ok(items.iter().map(|item| item * 3 + 1).collect::<Vec<u64>>()));
            assert_eq!(map_on(fewest, &items, || 1, |room, at, item| *item * 2 + at as u64 + *room), made);
        }
        assert_eq!(map(&[], 1, || (), |(), _, item: &u8| *item), Ok(Vec::new()));
    }

    #[test]
    fn two_things_are_made_side_by_side() {
        let mut here = 0;
        assert_eq!(beside(|| 7, || here += 1), Ok((7, ())));
        assert_eq!(here, 1);
    }

    #[test]
    fn a_thread_that_panics_is_an_error() {
        let here = std::thread::current().id();
        let made = crew(2, || {
            assert!(std::thread::current().id() == here, "as asked");
        });
        assert_eq!(made, Err(Failed));
    }
}
