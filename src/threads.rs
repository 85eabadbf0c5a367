//! Work for several threads, where more of them make it faster and one is enough.
//!
//! A thread that cannot be had (a limit on memory or tasks) is no error: the others do its part.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

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

/// Makes something for each number below `count` on up to so many threads, and hands it on in the order of the numbers: what
/// is made stays in the `room` of its thread until it is its turn. The first error in that order ends it.
///
/// # Errors
/// That of `make` or `take`, within [`Failed`] when a thread panicked.
pub(crate) fn in_turn<S, E: Send>(
    threads: usize,
    count: usize,
    room: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize) -> Result<(), E> + Sync,
    take: impl FnMut(&mut S, usize) -> Result<(), E> + Send,
) -> Result<Result<(), E>, Failed> {
    let next = AtomicUsize::new(0);
    let turns = Turns { turn: Mutex::new((0, take)), moved: Condvar::new() };
    let work = || {
        let _stop = turns.stop_on_panic();
        let mut room = room();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(());
            }
            let made = make(&mut room, at);
            let waits = |turn: &mut (usize, _)| turn.0 < at;
            let mut turn = turns.moved.wait_while(turns.turn.lock().unwrap_or_else(PoisonError::into_inner), waits);
            let turn = turn.as_deref_mut().unwrap_or_else(|poisoned| poisoned.get_mut());
            if turn.0 != at {
                return Ok(());
            }
            let taken = made.and_then(|()| (turn.1)(&mut room, at));
            turn.0 = if taken.is_ok() { at + 1 } else { STOPPED };
            turns.moved.notify_all();
            taken?;
        }
    };
    let ended = crew(threads.min(count), work)?;
    Ok(ended.into_iter().collect())
}

/// The turn after which there is none.
const STOPPED: usize = usize::MAX;

/// Whose turn it is, and what is done then.
struct Turns<T> {
    turn: Mutex<(usize, T)>,
    moved: Condvar,
}

impl<T> Turns<T> {
    /// Lets nobody wait for a thread that panics.
    fn stop_on_panic(&self) -> impl Drop + '_ {
        struct Stop<'a, T>(&'a Turns<T>);
        impl<T> Drop for Stop<'_, T> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.turn.lock().unwrap_or_else(PoisonError::into_inner).0 = STOPPED;
                    self.0.moved.notify_all();
                }
            }
        }
        Stop(self)
    }
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
    fn what_is_made_is_taken_in_turn() {
        for threads in [0, 1, 2, 5] {
            for count in [0, 1, 2, 300] {
                let mut taken = Vec::new();
                let make = |room: &mut usize, at: usize| {
                    if at % 7 == 3 {
                        std::thread::sleep(std::time::Duration::from_micros(200));
                    }
                    *room = at * 2;
                    Ok::<_, usize>(())
                };
                let ended = in_turn(
                    threads,
                    count,
                    || 0,
                    make,
                    |room, at| {
                        taken.push((at, *room));
                        Ok(())
                    },
                );
                assert_eq!(ended, Ok(Ok(())));
                assert_eq!(taken, (0..count).map(|at| (at, at * 2)).collect::<Vec<_>>(), "{threads}");
            }
        }
    }

    #[test]
    fn the_first_error_in_turn_ends_it() {
        for threads in [1, 2, 5] {
            for (wrong, full) in [(4, 9), (9, 4), (0, 1)] {
                let mut taken = 0;
                let make = |(): &mut (), at: usize| if at == wrong || at == wrong + 2 { Err(at) } else { Ok(()) };
                let ended = in_turn(
                    threads,
                    50,
                    || (),
                    make,
                    |(), at| {
                        taken += 1;
                        if at == full { Err(at) } else { Ok(()) }
                    },
                );
                assert_eq!((ended, taken), (Ok(Err(wrong.min(full))), wrong.min(full + 1)), "{threads}");
            }
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panics() {
        let here = std::thread::current().id();
        let make = |(): &mut (), _: usize| {
            assert!(std::thread::current().id() == here, "as asked");
            std::thread::sleep(std::time::Duration::from_millis(2));
            Ok::<_, ()>(())
        };
        assert_eq!(in_turn(2, 100, || (), make, |(), _| Ok(())), Err(Failed));
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
