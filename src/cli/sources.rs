//! What was named on the command line, as a list of sessions: files, folders, lists, standard input, and which share of them
//! this run works on.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Usage;
use super::args::Common;
use crate::run::Input;

/// A session to work on.
pub(super) struct Item {
    pub input: Input,
    /// Found in a folder: if it is no session it is passed over.
    pub found: bool,
    /// The path below the folder that was named; of a file that was named its name.
    pub relative: PathBuf,
}

/// What was named on the command line, as a list.
pub(super) struct Items {
    pub list: Vec<Item>,
    /// More than one session may be meant: folders, lists, several names.
    pub several: bool,
}

/// Makes the list.
pub(super) fn items(common: &Common) -> anyhow::Result<Items> {
    let shard = common.shard.as_deref().map(|text| Shard::of(text, &|name| std::env::var(name).ok())).transpose()?;
    let dash = |path: &Path| path.as_os_str() == "-";
    let stdin = common.sessions.iter().filter(|p| dash(p)).count() + usize::from(common.files_from.as_deref().is_some_and(dash));
    if stdin > 1 {
        return Err(Usage::new("standard input can be read once only", "name - once, or in --files-from"));
    }
    let listed = match &common.files_from {
        Some(list) => read_list(list, common.null)?,
        None => Vec::new(),
    };
    if common.sessions.is_empty() && common.files_from.is_none() {
        return Err(Usage::new("no session was named", "name a session file, a folder, or - for standard input"));
    }
    let mut several = common.sessions.len() > 1 || common.files_from.is_some();
    let mut list = Vec::new();
    // A line of a list is always a path.
    let named = common.sessions.iter().map(|path| (path, dash(path))).chain(listed.iter().map(|path| (path, false)));
    for (path, is_stdin) in named {
        if is_stdin {
            list.push(Item { input: Input::Stdin, found: false, relative: path.clone() });
        } else if path.is_dir() {
            several = true;
            list.extend(below(path));
        } else {
            let relative = path.file_name().map_or_else(|| path.clone(), PathBuf::from);
            list.push(Item { input: Input::File(path.clone()), found: false, relative });
        }
    }
    // In one folder no file has two names but by a link.
    if common.sessions.len() + listed.len() > 1 || list.iter().any(|item| item.input.path().is_some_and(Path::is_symlink)) {
        once_each(&mut list);
    }
    if let Some(shard) = shard {
        list.retain(|item| shard.has(&item.relative));
    }
    Ok(Items { list, several })
}

/// The sessions in a folder, and folders in it that cannot be read: what is in those nobody knows, and opening them will say
/// so.
fn below(folder: &Path) -> impl Iterator<Item = Item> {
    let is_session = |entry: &walkdir::DirEntry| {
        let is_file = entry.file_type().is_file() || (entry.path_is_symlink() && entry.path().is_file());
        is_file && entry.path().extension().is_some_and(|extension| extension == "jsonl")
    };
    walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(move |entry| {
        let (file, found) = match entry {
            Ok(entry) if is_session(&entry) => (entry.into_path(), true),
            Ok(_) => return None,
            Err(error) => (error.path().unwrap_or(folder).to_owned(), false),
        };
        let relative = file.strip_prefix(folder).unwrap_or(&file).to_owned();
        Some(Item { input: Input::File(file), found, relative })
    })
}

/// A session that was named in several ways is worked on once, under its first name: two that work on one file get in each
/// other's way.
fn once_each(list: &mut Vec<Item>) {
    let mut seen = HashSet::new();
    list.retain(|item| match &item.input {
        Input::File(path) => std::fs::canonicalize(path).map_or(true, |real| seen.insert(real)),
        Input::Stdin => true,
    });
}

fn read_list(list: &Path, null: bool) -> anyhow::Result<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::new();
    let from = |error: io::Error| anyhow::Error::new(error).context(format!("{}: cannot read the list", list.display()));
    if list.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map_err(from)?;
    } else {
        std::fs::File::open(list).and_then(|mut f| f.read_to_end(&mut bytes)).map_err(from)?;
    }
    let end = if null { b'\0' } else { b'\n' };
    let lines = bytes.split(|b| *b == end).map(|line| if null { line } else { line.strip_suffix(b"\r").unwrap_or(line) });
    Ok(lines.filter(|line| !line.is_empty()).map(|line| PathBuf::from(std::ffi::OsString::from_vec(line.to_vec()))).collect())
}

/// One of so many shares of the sessions. Which share a session is in depends on its path below its folder alone, so that it
/// stays there when others come and go.
#[derive(Debug, PartialEq, Eq)]
struct Shard {
    /// From 0.
    index: u64,
    count: u64,
}

/// A variable that numbers the jobs of a group, and what its number has to be read with.
struct Scheduler {
    index: &'static str,
    count: &'static str,
    /// The number of the first job: fixed, or a variable's.
    first: (u64, Option<&'static str>),
    step: Option<&'static str>,
}

const SCHEDULERS: &[Scheduler] = &[
    Scheduler {
        index: "SLURM_ARRAY_TASK_ID",
        count: "SLURM_ARRAY_TASK_COUNT",
        first: (0, Some("SLURM_ARRAY_TASK_MIN")),
        step: Some("SLURM_ARRAY_TASK_STEP"),
    },
    // Kubernetes tells a pod its index and nothing else; the number of completions has to be handed on to it.
    Scheduler { index: "JOB_COMPLETION_INDEX", count: "JOB_COMPLETIONS", first: (0, None), step: None },
    Scheduler { index: "CI_NODE_INDEX", count: "CI_NODE_TOTAL", first: (1, None), step: None },
    Scheduler { index: "CIRCLE_NODE_INDEX", count: "CIRCLE_NODE_TOTAL", first: (0, None), step: None },
    Scheduler { index: "BUILDKITE_PARALLEL_JOB", count: "BUILDKITE_PARALLEL_JOB_COUNT", first: (0, None), step: None },
];

impl Shard {
    /// `K/N` with K from 1, or `auto`.
    fn of(text: &str, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Shard> {
        if text == "auto" {
            return Shard::from_scheduler(env);
        }
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse::<u64>().ok()?, n.parse::<u64>().ok()?)));
        match parts {
            Some((k, n)) if (1..=n).contains(&k) => Ok(Shard { index: k - 1, count: n }),
            _ => Err(Usage::new(format!("--shard: '{text}' is no share"), "use K/N with K from 1 to N, such as 1/8, or auto")),
        }
    }

    fn from_scheduler(env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Shard> {
        let Some(scheduler) = SCHEDULERS.iter().find(|s| env(s.index).is_some_and(|value| !value.is_empty())) else {
            let names: Vec<&str> = SCHEDULERS.iter().map(|s| s.index).collect();
            return Err(Usage::new(
                format!("--shard auto: none of {} is set", names.join(", ")),
                "say which share this is, such as --shard 1/8",
            ));
        };
        let number = |name: &str| {
            let value = env(name).filter(|value| !value.is_empty());
            let wrong = || {
                let found = value.as_ref().map_or_else(|| "is not set".to_owned(), |value| format!("is '{value}', no number"));
                Usage::new(
                    format!("--shard auto: {} is set, but {name} {found}", scheduler.index),
                    format!("set {name}, or say which share this is, such as --shard 1/8"),
                )
            };
            value.as_ref().and_then(|value| value.trim().parse::<u64>().ok()).ok_or_else(wrong)
        };
        let known = |name: &str| env(name).is_some_and(|value| !value.is_empty());
        let (index, count) = (number(scheduler.index)?, number(scheduler.count)?);
        let first = scheduler.first.1.filter(|name| known(name)).map_or(Ok(scheduler.first.0), number)?;
        let step = scheduler.step.filter(|name| known(name)).map_or(Ok(1), number)?.max(1);
        let place = index.checked_sub(first).map(|n| n / step).filter(|place| *place < count);
        let wrong = || {
            Usage::new(
                format!("--shard auto: {} is {index}, which is none of {count}", scheduler.index),
                "say which share this is, such as --shard 1/8",
            )
        };
        Ok(Shard { index: place.ok_or_else(wrong)?, count })
    }

    fn has(&self, relative: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let digest = Sha256::digest(relative.as_os_str().as_bytes());
        let number = digest.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        number % self.count == self.index
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn auto(set: &[(&str, &str)]) -> Result<(u64, u64), String> {
        let env = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Shard::of("auto", &env).map(|shard| (shard.index + 1, shard.count)).map_err(|error| error.to_string())
    }

    #[test]
    fn folders_that_cannot_be_read_are_not_passed_over() {
        let items: Vec<Item> = below(Path::new("/no/such/folder")).collect();
        assert_eq!(
            items.iter().map(|item| (&item.input, item.found)).collect::<Vec<_>>(),
            [(&Input::File("/no/such/folder".into()), false)]
        );
    }

    #[test]
    fn shares_are_counted_from_one() {
        let of = |text: &str| Shard::of(text, &|_| None).ok().map(|shard| (shard.index, shard.count));
        assert_eq!(of("1/1"), Some((0, 1)));
        assert_eq!(of("8/8"), Some((7, 8)));
        for wrong in ["0/8", "9/8", "1", "1/0", "/", "-1/3", "a/b", "1/2/3", ""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_session_is_in_one_share() {
        let mut sizes = [0; 7];
        for n in 0..2_000 {
            let path = PathBuf::from(format!("project-{}/2026-01-0{}_{n}.jsonl", n % 13, n % 9));
            let shares: Vec<usize> = (0..7).filter(|index| Shard { index: *index as u64, count: 7 }.has(&path)).collect();
            assert_eq!(shares.len(), 1, "{path:?}");
            *sizes.get_mut(*shares.first().unwrap()).unwrap() += 1;
        }
        assert!(sizes.iter().all(|size| (220..360).contains(size)), "{sizes:?}");
        // The shares of other releases must be the same, or a list that is worked on by several gets holes.
        for (path, shares) in [("a/b.jsonl", [(0, 8), (84, 100)]), ("s.jsonl", [(6, 8), (30, 100)])] {
            assert!(shares.into_iter().all(|(index, count)| Shard { index, count }.has(Path::new(path))), "{path}");
        }
    }

    #[test]
    fn schedulers_number_their_jobs_each_in_its_way() {
        assert_eq!(auto(&[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "4")]), Ok((1, 4)));
        assert_eq!(auto(&[("CI_NODE_INDEX", "4"), ("CI_NODE_TOTAL", "4")]), Ok((4, 4)));
        assert_eq!(auto(&[("CIRCLE_NODE_INDEX", "0"), ("CIRCLE_NODE_TOTAL", "4")]), Ok((1, 4)));
        assert_eq!(auto(&[("BUILDKITE_PARALLEL_JOB", "3"), ("BUILDKITE_PARALLEL_JOB_COUNT", "4")]), Ok((4, 4)));
        assert_eq!(auto(&[("JOB_COMPLETION_INDEX", "2"), ("JOB_COMPLETIONS", "3")]), Ok((3, 3)));
        assert_eq!(auto(&[("SLURM_ARRAY_TASK_ID", "2"), ("SLURM_ARRAY_TASK_COUNT", "3")]), Ok((3, 3)));
        let slurm =
            [("SLURM_ARRAY_TASK_ID", "15"), ("SLURM_ARRAY_TASK_COUNT", "3"), ("SLURM_ARRAY_TASK_MIN", "5"), ("SLURM_ARRAY_TASK_STEP", "5")];
        assert_eq!(auto(&slurm), Ok((3, 3)));
    }

    #[test]
    fn a_scheduler_that_tells_too_little_is_an_error() {
        assert!(auto(&[]).unwrap_err().contains("none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, CI_NODE_INDEX"));
        assert!(auto(&[("CI_NODE_INDEX", "")]).unwrap_err().contains("none of"));
        assert!(auto(&[("JOB_COMPLETION_INDEX", "2")]).unwrap_err().contains("JOB_COMPLETIONS is not set"));
        assert!(auto(&[("CI_NODE_INDEX", "0"), ("CI_NODE_TOTAL", "4")]).unwrap_err().contains("none of 4"));
        assert!(auto(&[("CIRCLE_NODE_INDEX", "4"), ("CIRCLE_NODE_TOTAL", "4")]).unwrap_err().contains("none of 4"));
        assert!(auto(&[("CI_NODE_INDEX", "one"), ("CI_NODE_TOTAL", "4")]).unwrap_err().contains("'one', no number"));
    }
}
