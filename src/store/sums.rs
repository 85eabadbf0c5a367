//! Sums of what is written, for a look at what then stands in the file.

/// Bytes that have a sum of their own.
const PIECE: usize = 128 * 1024;

/// A checksum for every [`PIECE`] of a file. What they tell apart are bytes that were meant and bytes that a disk, or the
/// memory on the way to it, made of them; nobody wants to deceive them. A digest would tell no more and take ten times as long.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    done: Vec<u32>,
    open: crc32fast::Hasher,
    len: usize,
}

impl Sums {
    /// Takes the next bytes of the file.
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at_checked(PIECE - self.len).unwrap_or((bytes, &[]));
            self.open.update(now);
            self.len += now.len();
            if self.len == PIECE {
                self.done.push(std::mem::take(&mut self.open).finalize());
                self.len = 0;
            }
            bytes = later;
        }
    }

    /// Those of the whole pieces, that of the rest, and how long that is.
    pub(super) fn all(&self) -> (&[u32], u32, usize) {
        (&self.done, self.open.clone().finalize(), self.len)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn sums_tell_bytes_apart_however_they_come() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        let of = |bytes: &[u8], step: usize| {
            let mut sums = Sums::default();
            bytes.chunks(step).for_each(|chunk| sums.update(chunk));
            let (done, rest, len) = sums.all();
            (done.to_vec(), rest, len)
        };
        let whole = of(&bytes, bytes.len());
        assert_eq!((whole.0.len(), whole.2), (2, 300_000 - 2 * PIECE));
        for step in [1, 1_000, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE] {
            assert_eq!(of(&bytes, step), whole, "{step}");
        }
        for at in [0, 1, PIECE - 1, PIECE, 2 * PIECE, 299_999] {
            let mut other = bytes.clone();
            other[at] ^= 4;
            assert_ne!(of(&other, 1_000), whole, "{at}");
        }
        assert_ne!(of(&bytes[..299_999], 1_000), whole);
        assert_ne!(of(&[&bytes[..], b"\0"].concat(), 1_000), whole);
    }
}
