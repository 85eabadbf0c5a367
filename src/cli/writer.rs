//! Where a writing command writes, from its flags and what was named.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Usage;
use super::args::Write;
use super::sources::Items;
use crate::run::{Input, RunError, Target};
use crate::store;

/// Where a writer writes.
pub(super) struct Writer<'a> {
    args: &'a Write,
    /// With `--out-dir`: where the copy of each session goes.
    copies: HashMap<PathBuf, PathBuf>,
}

impl<'a> Writer<'a> {
    /// What the flags mean together, and for these sessions.
    pub(super) fn of(args: &'a Write, items: &Items) -> anyhow::Result<Writer<'a>> {
        if items.several && args.output.is_some() {
            return Err(Usage::new(
                "--output takes the result of one session",
                "change several in place, with --in-place, or copy them with --out-dir",
            ));
        }
        if items.several && !args.in_place && !args.dry_run && args.out_dir.is_none() {
            return Err(Usage::new(
                "several sessions are changed in place only when that is said",
                "add --in-place, or --out-dir DIR for copies, or --dry-run to see the plan",
            ));
        }
        let stdin = items.list.iter().any(|item| item.input == Input::Stdin);
        if stdin && (items.several || args.in_place || args.out_dir.is_some()) {
            return Err(Usage::new(
                "standard input is one session that goes to standard output",
                "name it alone, without --in-place and --out-dir",
            ));
        }
        if let (Some(output), [item]) = (args.output.as_deref(), items.list.as_slice())
            && let Some(input) = item.input.path()
            && let (Ok(a), Ok(b)) = (std::fs::canonicalize(output), std::fs::canonicalize(input))
            && a == b
        {
            return Err(Usage::new("--output names the session itself", "leave --output out to change it in place"));
        }
        let copies = args.out_dir.as_deref().map(|dir| copies(dir, items)).transpose()?.unwrap_or_default();
        Ok(Writer { args, copies })
    }

    /// Whether the resulting session goes to standard output, so that receipts go to standard error.
    pub(super) fn to_stdout(&self, items: &Items) -> bool {
        let dash = self.args.output.as_deref() == Some(Path::new("-"));
        !self.args.dry_run && (dash || (self.args.output.is_none() && items.list.iter().any(|item| item.input == Input::Stdin)))
    }

    /// How many sessions may be changed.
    pub(super) fn limit(&self) -> Option<u64> {
        self.args.limit
    }

    /// The file that the result of one session goes to, when it is another than the session.
    fn file(&self, input: &Input) -> Option<&Path> {
        let named = self.args.output.as_deref().filter(|path| path.as_os_str() != "-");
        named.or_else(|| input.path().and_then(|path| self.copies.get(path)).map(PathBuf::as_path))
    }

    /// What a receipt for people calls the session: its name, and that of the file it went to.
    pub(super) fn name(&self, input: &Input) -> String {
        self.file(input).map_or_else(|| input.name(), |file| format!("{} → {}", input.name(), file.display()))
    }

    /// The same for a receipt as JSON.
    pub(super) fn output(&self, input: &Input) -> serde_json::Value {
        self.file(input).map(|file| file.display().to_string()).into()
    }

    /// Whether a dry run promises a file that could not be created.
    ///
    /// # Errors
    /// Those of creating it.
    pub(super) fn check(&self, input: &Input) -> Result<(), RunError> {
        match self.file(input).filter(|_| self.args.dry_run) {
            // Folders for copies are made on the way.
            Some(file) if self.args.output.is_some() || file.exists() => Ok(store::may_create(file, self.args.overwrite)?),
            _ => Ok(()),
        }
    }

    /// Where the result of one session goes.
    pub(super) fn target(&self, input: &Input) -> Target {
        match (self.file(input), input) {
            _ if self.args.dry_run => Target::Nowhere,
            (Some(file), _) => {
                if self.args.output.is_none() {
                    // Where this fails, so does the copy, which says why.
                    let _ = file.parent().map(std::fs::create_dir_all);
                }
                Target::File { path: file.to_owned(), overwrite: self.args.overwrite }
            }
            (None, Input::File(_)) if self.args.output.is_none() => Target::InPlace,
            // Standard input that goes nowhere else, or a dash.
            (None, _) => Target::Stdout,
        }
    }
}

/// Where the copies of sessions go: below `dir` as they lie below the folders that were named, no two to one place, and none
/// over a session that was named.
fn copies(dir: &Path, items: &Items) -> anyhow::Result<HashMap<PathBuf, PathBuf>> {
    let mut copies: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut taken: HashMap<&Path, &Path> = HashMap::new();
    let sources: HashSet<PathBuf> = items.list.iter().filter_map(|item| std::fs::canonicalize(item.input.path()?).ok()).collect();
    for item in &items.list {
        let Some(source) = item.input.path() else { continue };
        match taken.insert(&item.relative, source) {
            Some(other) if other != source => {
                let (one, two) = (other.display(), source.display());
                return Err(Usage::new(
                    format!("--out-dir: the copies of {one} and {two} would have the same name, {}", item.relative.display()),
                    "name the folder that holds both, or work on them one after the other",
                ));
            }
            _ => {}
        }
        let target = dir.join(&item.relative);
        if std::fs::canonicalize(&target).is_ok_and(|target| sources.contains(&target)) {
            return Err(Usage::new(
                format!("--out-dir: the copy of {} would take the place of a session, {}", source.display(), target.display()),
                "name another folder, or change the sessions in place, with --in-place",
            ));
        }
        copies.insert(source.to_owned(), target);
    }
    Ok(copies)
}
