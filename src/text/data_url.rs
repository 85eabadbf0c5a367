//! Where base64 data URLs lie in a text: the cleaner replaces them, the cutter must not split
//! them.

/// Longest `data:` header looked at. Real ones have a media type and perhaps a charset.
const MAX_HEADER: usize = 256;
/// The end of the header. Upper-case spellings are legal but no writer makes them.
const MARKER: &[u8] = b";base64,";

/// A data URL as byte offsets: `start..payload` is `data:…;base64,`, `payload..end` the base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataUrl {
    pub(super) start: usize,
    pub(super) payload: usize,
    pub(super) end: usize,
}

impl DataUrl {
    /// The media type; `text/plain` when the URL leaves it out (its meaning in RFC 2397).
    pub(super) fn media_type<'a>(&self, s: &'a str) -> &'a str {
        let header = s.get(self.start + "data:".len()..self.payload).unwrap_or_default();
        match header.split(';').next() {
            Some(media) if !media.is_empty() => media,
            _ => "text/plain",
        }
    }

    /// Bytes that the payload decodes to.
    pub(super) fn decoded_len(&self, bytes: &[u8]) -> usize {
        let payload = bytes.get(self.payload..self.end).unwrap_or_default();
        payload.iter().filter(|b| **b != b'=').count() * 3 / 4
    }
}

/// The first data URL that starts at or after `from`.
pub(super) fn next(bytes: &[u8], from: usize) -> Option<DataUrl> {
    let mut search = from;
    loop {
        let marker = search + memchr::memmem::find(bytes.get(search..)?, MARKER)?;
        let payload = marker + MARKER.len();
        if let Some(start) = header_start(bytes, from, marker) {
            let body = bytes.get(payload..)?;
            let len = body.iter().take_while(|b| is_payload(**b)).count();
            return Some(DataUrl { start, payload, end: payload + len });
        }
        search = payload;
    }
}

/// The data URL that starts before `at` and ends after it.
pub(super) fn around(bytes: &[u8], at: usize) -> Option<DataUrl> {
    let run = bytes.get(..at)?.iter().rev();
    let mut from = at - run.take_while(|b| is_payload(**b) || is_header(**b) || is_joint(**b)).count();
    // A header that holds `at` ends within its longest length; further on nothing can.
    let limit = bytes.len().min(at + MAX_HEADER + MARKER.len());
    loop {
        let url = next(bytes.get(..limit)?, from)?;
        if url.start >= at {
            return None;
        }
        let rest = bytes.get(url.end..)?;
        let end = url.end + rest.iter().take_while(|b| is_payload(**b)).count();
        if at < end {
            return Some(DataUrl { end, ..url });
        }
        from = url.payload;
    }
}

fn header_start(bytes: &[u8], from: usize, marker: usize) -> Option<usize> {
    let lowest = from.max(marker.saturating_sub(MAX_HEADER));
    let region = bytes.get(lowest..marker)?;
    let header = region.iter().rev().take_while(|b| is_header(**b)).count();
    let scheme = region.get(..region.len() - header)?;
    let (name, _) = scheme.split_last_chunk::<5>()?.1.split_at_checked(5)?;
    name.eq_ignore_ascii_case(b"data:").then(|| marker - header - 5)
}

fn is_payload(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_')
}

fn is_header(b: u8) -> bool {
    b.is_ascii_alphanumeric()
        || matches!(b, b'!' | b'#' | b'$' | b'%' | b'&' | b'^' | b'_' | b'.' | b'+' | b'-')
        || matches!(b, b'/' | b';' | b'=' | b'"')
}

fn is_joint(b: u8) -> bool {
    matches!(b, b':' | b',')
}
