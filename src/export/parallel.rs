//! Batches of entries made side by side and taken in order.
//!
//! Each thread makes every n-th batch and may be two ahead, so the result does not depend on who was faster, and no more than
//! a few batches are in memory.

use std::io;
use std::ops::Range;
use std::sync::mpsc;

use crate::threads;

/// Bytes of records in a batch: large enough that handing over costs nothing, small enough that a few fit in memory.
const BATCH: u64 = 256 * 1024;
/// More threads would wait for the one that writes.
const MOST_THREADS: usize = 8;

/// Cuts a list of sizes in bytes into ranges of about [`BATCH`].
pub(super) fn batches(sizes: &[u64]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, size) in sizes.iter().enumerate() {
        bytes += size;
        if bytes >= BATCH {
            out.push(start..at + 1);
            (start, bytes) = (at + 1, 0);
        }
    }
    if start < sizes.len() {
        out.push(start..sizes.len());
    }
    out
}

/// Makes each range with `make` and passes the results to `take` in order.
pub(super) fn in_order<T: Send>(
    ranges: &[Range<usize>],
    make: impl Fn(Range<usize>) -> io::Result<T> + Sync,
    take: &mut dyn FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    let threads = threads::cores().min(MOST_THREADS).min(ranges.len());
    if threads < 2 {
        return ranges.iter().try_for_each(|range| take(make(range.clone())?));
    }
    std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        for first in 0..threads {
            let (sender, receiver) = mpsc::sync_channel(2);
            let make = &make;
            let work = move || {
                for range in ranges.iter().skip(first).step_by(threads) {
                    // Whoever takes has failed and wants no more.
                    if sender.send(make(range.clone())).is_err() {
                        break;
                    }
                }
            };
            std::thread::Builder::new().name(format!("export {first}")).spawn_scoped(scope, work)?;
            receivers.push(receiver);
        }
        for at in 0..ranges.len() {
            let receiver = receivers.get(at % threads).ok_or_else(|| io::Error::other("a thread is missing"))?;
            let made = receiver.recv().map_err(|_| io::Error::other("a thread failed"))?;
            take(made?)?;
        }
        Ok(())
    })
}
