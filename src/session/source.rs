//! Where the bytes of a session are: a file that stays open, or memory, with lines of ours behind them.
//!
//! Sessions are live files of any size. They are read by position from one handle, never mapped (a truncation would be a
//! fatal signal) and never loaded whole. What is read is pinned to the length the file had when it was opened; lines that
//! a command means to append follow as if they stood there already, so a planned session is read by the same code as a
//! written one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The bytes of a session.
#[derive(Debug, Clone)]
pub struct Source {
    base: Base,
    base_len: u64,
    appended: Arc<Vec<u8>>,
}

#[derive(Debug, Clone)]
enum Base {
    File(Arc<File>),
    Memory(Arc<[u8]>),
}

impl Source {
    /// The first `len` bytes of an open file.
    #[must_use]
    pub fn file(file: File, len: u64) -> Self {
        Source { base: Base::File(Arc::new(file)), base_len: len, appended: Arc::default() }
    }

    /// Bytes in memory: standard input, or a test.
    #[must_use]
    pub fn memory(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Source { base_len: bytes.len() as u64, base: Base::Memory(bytes), appended: Arc::default() }
    }

    /// How many bytes there are, appended ones included.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.base_len + self.appended.len() as u64
    }

    /// Whether there are no bytes at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same bytes with more behind them; nothing is copied but what was appended before.
    #[must_use]
    pub fn with_appended(&self, bytes: &[u8]) -> Self {
        let mut appended = Vec::with_capacity(self.appended.len() + bytes.len());
        appended.extend_from_slice(&self.appended);
        appended.extend_from_slice(bytes);
        Source { base: self.base.clone(), base_len: self.base_len, appended: Arc::new(appended) }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// When the file cannot be read, or has become shorter than it was when it was opened.
    pub fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from_base = self.base_len.saturating_sub(offset).min(buffer.len() as u64);
        let (first, second) = buffer.split_at_mut(usize::try_from(from_base).unwrap_or(usize::MAX).min(buffer.len()));
        if !first.is_empty() {
            match &self.base {
                Base::File(file) => file.read_exact_at(first, offset)?,
                Base::Memory(bytes) => copy(bytes, offset, first)?,
            }
        }
        if second.is_empty() { Ok(()) } else { copy(&self.appended, offset.max(self.base_len) - self.base_len, second) }
    }
}

fn copy(from: &[u8], offset: u64, to: &mut [u8]) -> io::Result<()> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    match start.checked_add(to.len()).and_then(|end| from.get(start..end)) {
        Some(bytes) => {
            to.copy_from_slice(bytes);
            Ok(())
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn appended_bytes_follow_the_base() {
        let source = Source::memory(*b"abc").with_appended(b"de").with_appended(b"f");
        assert_eq!(source.len(), 6);
        for start in 0..6_usize {
            for end in start..=6 {
                let mut buffer = vec![0; end - start];
                source.read_exact(start as u64, &mut buffer).unwrap();
                assert_eq!(buffer, b"abcdef".get(start..end).unwrap());
            }
        }
        assert!(source.read_exact(4, &mut [0; 3]).is_err());
    }
}
