//! Numbers for people, written the same way wherever they read them.

/// A number in groups of three: 1,234,567.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A word with its number: 1 message, 2 messages.
#[must_use]
pub fn counted(n: u64, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n if one.ends_with('y') => format!("{} {}ies", grouped(n), one.trim_end_matches('y')),
        n => format!("{} {one}s", grouped(n)),
    }
}

/// Bytes: 812 B, 88.1 KB, 2.4 MB.
#[must_use]
pub fn bytes(n: u64) -> String {
    let units = [("GB", 1_000_000_000_u64), ("MB", 1_000_000), ("KB", 1_000)];
    match units.into_iter().find(|(_, size)| n >= *size) {
        Some((unit, size)) => format!("{}.{} {unit}", n / size, n % size * 10 / size),
        None => format!("{n} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_bytes_have_a_unit() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 999, 1_000, 88_199, 2_400_000, 3_000_000_000].map(bytes), ["0 B", "999 B", "1.0 KB", "88.1 KB", "2.4 MB", "3.0 GB"]);
    }
}
