//! What tells who somebody is: the name of a home folder, and addresses.
//!
//! Agents write absolute paths into almost every call, so a session tells its owner's account hundreds of times; the folder
//! is replaced by `~`, which reads the same.

use super::Hit;

/// The kind whose mask is `~`.
pub(super) const HOME: &str = "home";

/// Longest account name looked at, in bytes; Linux allows 32, Windows 20 letters, a display name may be longer.
const MAX_NAME: usize = 64;

/// Folders beside home folders that are nobody's, and the names that examples use for anybody's.
const NOBODY: &str = "Shared Public Default All linuxbrew user username you me name USER USERNAME runner node app vscode";

/// The home folder whose middle is at `at`: `/home/NAME`, `/Users/NAME`, `C:\Users\NAME`, and the spellings that agents make
/// folder names of (`--home-NAME-project--`).
pub(super) fn home(s: &str, at: usize, floor: usize) -> Option<Hit> {
    let rest = s.get(at..)?;
    let first = rest.chars().next()?;
    let before = s.get(floor..at)?;
    let (start, skip, stop): (usize, usize, fn(char) -> bool) = match first {
        '-' => {
            // Only at the start of a folder's name, where agents put it.
            let dashes = before.len() - before.trim_end_matches('-').len();
            let outer = before.trim_end_matches('-');
            if !(outer.is_empty() || outer.ends_with(['/', '\\', ' ', '"', '\'', '`', '\n'])) || dashes > 1 {
                return None;
            }
            (at, rest.get(1..)?.find('-')? + 2, |c| !(c.is_alphanumeric() || matches!(c, '_' | '.')))
        }
        '%' => {
            let last = before.chars().next_back();
            if last.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_')) {
                return None;
            }
            (at, rest.get(3..)?.find("%2F")? + 6, |c| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')))
        }
        '\\' => {
            let drive = before.trim_end_matches('\\');
            let letter = drive.strip_suffix(':').and_then(|d| d.chars().next_back()).filter(char::is_ascii_alphabetic)?;
            let start = floor + drive.len() - 1 - letter.len_utf8();
            let name = rest.trim_start_matches('\\').strip_prefix("Users")?;
            let slashes = name.len() - name.trim_start_matches('\\').len();
            (start, rest.len() - name.len() + slashes, ends_windows)
        }
        _ => {
            let mut start = at;
            // A drive before it belongs to it: `C:/Users`, `/mnt/c/Users`.
            if let Some(outer) = before.strip_suffix(':').filter(|o| o.ends_with(|c: char| c.is_ascii_alphabetic())) {
                start = floor + outer.len() - 1;
            } else if let Some(outer) = before.get(before.len().saturating_sub(6)..).filter(|o| o.starts_with("/mnt/")) {
                start = at - outer.len();
            } else if before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | ']' | '}' | ')' | '$')) {
                // The page `/home/…` of a site, or a folder of that name inside of another.
                return None;
            }
            (start, rest.get(1..)?.find('/')? + 2, ends_unix)
        }
    };
    let name = rest.get(skip..)?;
    let name = name.get(..name.floor_char_boundary(MAX_NAME))?;
    let len = name.find(stop).unwrap_or(name.len());
    let name = name.get(..len)?.trim_end_matches(['.', '-', ' ']);
    let someone = name.starts_with(|c: char| c.is_alphanumeric() || c == '_') && !NOBODY.split(' ').any(|nobody| nobody == name);
    someone.then_some(Hit { start, end: at + skip + name.len(), kind: HOME })
}

fn ends_unix(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@'))
}

fn ends_windows(c: char) -> bool {
    ends_unix(c)
}

/// The address whose `@` is at `at`; example domains and the names of packages and hosts are none.
pub(super) fn email(s: &str, at: usize, floor: usize) -> Option<Hit> {
    let before = s.get(floor..at)?;
    let local = before.len() - before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c)).len();
    let after = s.get(at + 1..)?;
    let domain = after.get(..after.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))).unwrap_or(after.len()))?;
    let domain = domain.trim_end_matches(['.', '-']);
    let (host, top) = domain.rsplit_once('.')?;
    let known = host.split('.').all(|part| !part.is_empty()) && top.len() >= 2 && top.bytes().all(|b| b.is_ascii_alphabetic());
    let example = domain.ends_with("example.com") || domain.ends_with("example.org") || domain.ends_with("example.net") || top == "test";
    // `git@github.com:owner/repository` is an address of a service.
    let service = after.get(domain.len()..)?.starts_with(':') && before.ends_with("git");
    (local > 0 && known && !example && !service).then_some(Hit { start: at - local, end: at + 1 + domain.len(), kind: "email" })
}
