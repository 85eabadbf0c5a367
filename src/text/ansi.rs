//! Extents of terminal control sequences (ECMA-48), shared by the cleaner, which removes them
//! whole, and the cutter, which must not split them.

const ESC: u8 = 0x1b;
/// First byte of the UTF-8 form of the 8-bit controls U+0080..=U+009F.
const C1_LEAD: u8 = 0xc2;

/// Bytes of the control sequence that `bytes` begins with; 0 when they begin with neither ESC nor
/// an 8-bit control. No sequence reaches over a line end, so a torn one costs at most its line.
pub(super) fn sequence_len(bytes: &[u8]) -> usize {
    match bytes {
        [ESC, rest @ ..] => 1 + after_escape(rest),
        [C1_LEAD, c1 @ 0x80..=0x9f, rest @ ..] => {
            2 + match c1 {
                0x9b => control_len(rest),
                // Text decoded with the wrong charset is full of these code points. The whole
                // sequence is only believed when it has its end (and a command, for OSC);
                // without the introducer the rest is harmless text anyhow.
                0x9d if !matches!(rest.first(), Some(b'0'..=b'9' | b'I' | b'L' | b'l')) => 0,
                0x90 | 0x98 | 0x9d | 0x9e | 0x9f => match string_len(rest) {
                    (len, true) => len,
                    (_, false) => 0,
                },
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// The sequence that starts before `at` and ends after it, as byte offsets.
pub(super) fn sequence_around(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let before = bytes.get(..at)?;
    let mut pos = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |i| i + 1);
    while let Some(offset) = memchr::memchr2(ESC, C1_LEAD, before.get(pos..)?) {
        let start = pos + offset;
        let end = start + sequence_len(bytes.get(start..)?).max(1);
        if end > at {
            return Some((start, end));
        }
        pos = end;
    }
    None
}

fn after_escape(rest: &[u8]) -> usize {
    match rest {
        [b'[', body @ ..] => 1 + control_len(body),
        [b']' | b'P' | b'X' | b'^' | b'_', body @ ..] => 1 + string_len(body).0,
        [0x30..=0x7e, ..] => 1,
        _ => {
            let intermediates = count(rest, |b| matches!(b, 0x20..=0x2f));
            let last = rest.get(intermediates);
            intermediates + usize::from(intermediates > 0 && matches!(last, Some(0x30..=0x7e)))
        }
    }
}

/// Length of a control sequence's parameters, intermediates and final byte.
fn control_len(body: &[u8]) -> usize {
    let parameters = count(body, |b| matches!(b, 0x30..=0x3f));
    let rest = body.get(parameters..).unwrap_or_default();
    let intermediates = count(rest, |b| matches!(b, 0x20..=0x2f));
    let last = rest.get(intermediates);
    parameters + intermediates + usize::from(matches!(last, Some(0x40..=0x7e)))
}

/// Length of a control string with its terminator (ST or BEL), and whether it has one.
fn string_len(body: &[u8]) -> (usize, bool) {
    let mut i = 0;
    while let Some(&byte) = body.get(i) {
        let next = body.get(i + 1).copied();
        match byte {
            0x07 => return (i + 1, true),
            ESC if next == Some(b'\\') => return (i + 2, true),
            C1_LEAD if next == Some(0x9c) => return (i + 2, true),
            // Any other control aborts the string, as terminals do. It also keeps a run of
            // introducers linear.
            ESC | b'\n' | b'\r' | 0x18 | 0x1a => return (i, false),
            C1_LEAD if matches!(next, Some(0x80..=0x9f)) => return (i, false),
            _ => i += 1,
        }
    }
    (i, false)
}

fn count(bytes: &[u8], accept: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|b| accept(**b)).count()
}
