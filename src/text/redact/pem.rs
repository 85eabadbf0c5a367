//! Private keys in PEM form: whole, torn, on one line, with JSON-escaped line ends, quoted, or
//! with the line numbers that read tools print.

use super::Hit;

/// Shortest line that is taken for one of a torn key's full lines; PEM writes 64 characters,
/// some tools 48 or 76.
const FULL_LINE: usize = 40;

/// Longest label looked at, with the dashes after it: `ENCRYPTED PRIVATE KEY-----` has 26 bytes.
const MAX_LABEL: usize = 48;
/// Shortest only line of a key: that of an Ed25519 seed in its raw form has 44 characters.
const SHORT_KEY: usize = 16;

/// The private key block that starts at `at`.
pub(super) fn find(s: &str, at: usize, _floor: usize) -> Option<Hit> {
    let rest = s.get(at..)?.strip_prefix("-----BEGIN ")?;
    let label = rest.get(..rest.floor_char_boundary(MAX_LABEL))?;
    let label = label.get(..label.find("-----")?)?;
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    let bytes = s.as_bytes();
    let mut end = at + "-----BEGIN ".len() + label.len() + "-----".len();
    let mut pos = end;
    // The markers alone, as code and prose mention them, are no key.
    let mut body = false;
    loop {
        pos = skip_joints(bytes, pos);
        let here = bytes.get(pos..)?;
        if here.starts_with(b"-----END ") {
            let close = here.get(9..)?;
            let len = memchr::memmem::find(close.get(..close.len().min(60))?, b"-----");
            end = pos + 9 + len.map_or(0, |len| len + 5);
            break;
        }
        if let Some(len) = header_len(here) {
            pos += len;
            end = pos;
            continue;
        }
        let len = here.iter().take_while(|b| is_base64(**b)).count();
        let line = here.get(..len)?;
        let after = pos + len;
        let next = bytes.get(skip_joints(bytes, after)..).unwrap_or_default();
        let last_line = next.is_empty() || next.starts_with(b"-----END ");
        let odd = line.iter().any(|b| b.is_ascii_digit() || matches!(b, b'+' | b'/' | b'='));
        let plausible = if body { last_line || odd } else { last_line && len >= SHORT_KEY };
        if len == 0 || (len < FULL_LINE && !plausible) {
            break;
        }
        body = true;
        pos = after;
        end = after;
        if len < FULL_LINE && !last_line {
            // A short line is the last one; what follows is no longer the key.
            let tail = bytes.get(skip_joints(bytes, pos)..).unwrap_or_default();
            let more = tail.iter().take_while(|b| is_base64(**b)).count();
            if more < FULL_LINE {
                break;
            }
        }
    }
    body.then_some(Hit { start: at, end, kind: "private-key" })
}

fn is_base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
}

/// Skips what may stand between the lines of a key.
fn skip_joints(bytes: &[u8], from: usize) -> usize {
    let mut pos = from;
    loop {
        let rest = bytes.get(pos..).unwrap_or_default();
        let slashes = rest.iter().take_while(|b| **b == b'\\').count();
        let len = match rest.first() {
            Some(b' ' | b'\t' | b'\r' | b'"' | b'\'' | b',' | b'>' | b'|' | b'`') => 1,
            // String literals joined by `+`.
            Some(b'+') if matches!(rest.get(1), Some(b' ' | b'\t' | b'\r' | b'\n')) => 1,
            Some(b'\n') => 1 + line_number_len(rest.get(1..).unwrap_or_default()),
            Some(b'\\') => {
                let escaped = matches!(rest.get(slashes), Some(b'n' | b'r' | b't'));
                slashes + usize::from(escaped)
            }
            _ => 0,
        };
        if len == 0 {
            return pos;
        }
        pos += len;
    }
}

/// A line number as read tools print it: blanks, digits, perhaps a short tag, and a separator.
fn line_number_len(line: &[u8]) -> usize {
    let blanks = line.iter().take_while(|b| **b == b' ').count();
    let number = line.get(blanks..).unwrap_or_default();
    let digits = number.iter().take(7).take_while(|b| b.is_ascii_digit()).count();
    let tag = number.get(digits..).unwrap_or_default();
    let tag_len = tag.iter().take(6).take_while(|b| b.is_ascii_alphanumeric() || **b == b'#').count();
    let separator = match tag.get(tag_len..) {
        Some([b'\t' | b':' | b'|', ..]) => 1,
        Some(rest) if rest.starts_with("→".as_bytes()) => "→".len(),
        _ => 0,
    };
    if digits == 0 || separator == 0 { 0 } else { blanks + digits + tag_len + separator }
}

/// An encapsulated header (`Proc-Type: 4,ENCRYPTED`), up to its line end.
fn header_len(here: &[u8]) -> Option<usize> {
    const NAMES: [&str; 5] = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"];
    NAMES.iter().any(|name| here.starts_with(name.as_bytes())).then(|| memchr::memchr3(b'\n', b'\r', b'\\', here).unwrap_or(here.len()))
}
