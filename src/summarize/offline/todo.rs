//! The agents' task lists: whole lists, single changes, and lists that a tool prints.

use crate::session::{Ix, Json};

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not begun.
    Open,
    /// Being worked on.
    Active,
    /// Waiting for something.
    Blocked,
    /// Finished.
    Done,
    /// Given up.
    Dropped,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    id: String,
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: State,
    /// The entry that last said so.
    pub entry: Ix,
}

/// The latest list.
#[derive(Debug, Clone, Default)]
pub(super) struct Todo {
    /// Its tasks.
    pub tasks: Vec<Task>,
    /// Tasks that were finished before a list was replaced.
    pub finished: Vec<Task>,
}

/// Tasks that are kept at most.
const MOST_TASKS: usize = 200;

/// Whether a tool keeps a task list.
pub(super) fn is_todo_tool(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains("todo") || matches!(lower.as_str(), "update_plan" | "task_list" | "tasklist" | "taskcreate" | "taskupdate" | "plan")
}

fn state(word: &str) -> Option<State> {
    let lower = word.to_ascii_lowercase();
    match lower.trim() {
        "done" | "completed" | "complete" | "finished" | "x" | "closed" => Some(State::Done),
        "in_progress" | "in-progress" | "in progress" | "active" | "doing" | "started" | "~" | "running" => Some(State::Active),
        "blocked" | "waiting" => Some(State::Blocked),
        "cancelled" | "canceled" | "abandoned" | "dropped" | "skipped" | "deleted" => Some(State::Dropped),
        "pending" | "todo" | "open" | "" | "not_started" | "queued" => Some(State::Open),
        _ => None,
    }
}

impl Todo {
    /// Takes in a call of a task tool.
    pub(super) fn call(&mut self, args: &Json<'_>, entry: Ix) {
        let mut listed = Vec::new();
        let mut changes = Vec::new();
        walk(args, false, entry, 0, &mut listed, &mut changes);
        let op = ["action", "op", "operation", "command"].iter().find_map(|key| args.get(key).str()).unwrap_or_default();
        let adds = op.contains("add")
            || op.contains("append")
            || op.contains("create")
            || args.get("merge").is_true()
            || (listed.len() == 1 && args.get("todos").items().is_empty() && !args.members().iter().any(|(_, v)| !v.items().is_empty()));
        if !listed.is_empty() {
            if adds {
                for task in listed {
                    match self.tasks.iter_mut().find(|known| known.text == task.text || !task.id.is_empty() && known.id == task.id) {
                        Some(known) => *known = Task { text: if task.text.is_empty() { known.text.clone() } else { task.text }, ..task },
                        None => self.tasks.push(task),
                    }
                }
            } else {
                self.replace(listed);
            }
        }
        for (id, new) in changes {
            self.change(&id, new, entry);
        }
        let id = ["id", "taskId", "index", "task"].iter().find_map(|key| scalar(args.get(key)));
        if let Some(id) = id {
            let new = match op {
                _ if op.contains("complete") || op.contains("done") || op.contains("check") || op.contains("toggle") => Some(State::Done),
                _ if op.contains("start") => Some(State::Active),
                _ if op.contains("remove") || op.contains("delete") || op.contains("cancel") => Some(State::Dropped),
                _ => None,
            };
            if let Some(new) = new {
                self.change(&id, new, entry);
            }
        }
        self.tasks.truncate(MOST_TASKS);
    }

    /// Takes in what a task tool printed, when that is a list with check marks.
    pub(super) fn printed(&mut self, output: &str, entry: Ix) {
        let mut listed = Vec::new();
        for line in output.lines().take(MOST_TASKS * 2) {
            let line = line.trim().trim_start_matches(['-', '*', ' ']);
            let marks = [
                ("[x]", State::Done),
                ("[X]", State::Done),
                ("[ ]", State::Open),
                ("[~]", State::Active),
                ("[>]", State::Active),
                ("☑", State::Done),
                ("☒", State::Done),
                ("✓", State::Done),
                ("✔", State::Done),
                ("✅", State::Done),
                ("☐", State::Open),
                ("□", State::Open),
                ("○", State::Open),
                ("◐", State::Active),
                ("●", State::Active),
                ("→", State::Active),
            ];
            for (mark, state) in marks {
                if let Some(text) = line.strip_prefix(mark) {
                    let text = text.trim();
                    let (id, text) = match text.strip_prefix('#').and_then(|t| t.split_once([':', ' '])) {
                        Some((id, text)) if id.bytes().all(|b| b.is_ascii_digit()) => (id.to_owned(), text.trim()),
                        _ => (String::new(), text),
                    };
                    if text.chars().count() > 2 {
                        listed.push(Task { id, text: text.to_owned(), state, entry });
                    }
                    break;
                }
            }
        }
        if listed.len() > 1 || (listed.len() == 1 && self.tasks.len() <= 1) {
            self.replace(listed);
        }
    }

    fn replace(&mut self, listed: Vec<Task>) {
        for old in std::mem::take(&mut self.tasks) {
            if old.state == State::Done && !listed.iter().any(|task| task.text == old.text) {
                self.finished.push(old);
            }
        }
        let excess = self.finished.len().saturating_sub(MOST_TASKS);
        self.finished.drain(..excess);
        self.tasks = listed;
        for (n, task) in self.tasks.iter_mut().enumerate() {
            if task.id.is_empty() {
                task.id = format!("task-{}", n + 1);
            }
        }
    }

    fn change(&mut self, id: &str, new: State, entry: Ix) {
        let bare = id.trim_start_matches("task-").trim_start_matches('#');
        let number = bare.parse::<usize>().ok();
        let by_id = self.tasks.iter().position(|task| task.id == id || task.text == id || task.id.trim_start_matches("task-") == bare);
        let at = by_id.or_else(|| number.and_then(|n| n.checked_sub(1)));
        if let Some(task) = at.and_then(|at| self.tasks.get_mut(at)) {
            task.state = new;
            task.entry = entry;
        }
    }
}

fn scalar(json: &Json<'_>) -> Option<String> {
    match json {
        Json::Str(s) => Some(s.to_string()),
        Json::Int(n) => Some(n.to_string()),
        _ => None,
    }
}

/// Finds tasks, and changes of tasks, anywhere in the arguments.
fn walk(json: &Json<'_>, in_list: bool, entry: Ix, depth: u8, listed: &mut Vec<Task>, changes: &mut Vec<(String, State)>) {
    if depth > 6 || listed.len() >= MOST_TASKS {
        return;
    }
    match json {
        Json::Array(items) => {
            for item in items {
                match item.str() {
                    Some(text) if in_list && text.chars().count() > 2 => {
                        listed.push(Task { id: String::new(), text: text.to_owned(), state: State::Open, entry })
                    }
                    _ => walk(item, in_list, entry, depth + 1, listed, changes),
                }
            }
        }
        Json::Object(members) => {
            let word = ["content", "text", "title", "step", "task", "subject", "description"]
                .iter()
                .find_map(|key| json.get(key).str())
                .filter(|t| t.chars().count() > 2);
            let stated = ["status", "state"].iter().find_map(|key| json.get(key).str());
            let flagged = ["done", "completed", "checked"].iter().find(|key| matches!(json.get(key), Json::Bool(_)));
            let given =
                stated.and_then(state).or_else(|| flagged.map(|key| if json.get(key).is_true() { State::Done } else { State::Open }));
            let id = ["id", "taskId"].iter().find_map(|key| scalar(json.get(key)));
            match (word, given, id) {
                (Some(text), given, id) if given.is_some() || in_list || depth == 0 => {
                    listed.push(Task { id: id.unwrap_or_default(), text: text.to_owned(), state: given.unwrap_or(State::Open), entry });
                }
                (None, Some(given), Some(id)) => changes.push((id, given)),
                _ => {}
            }
            for (key, value) in members {
                let list = matches!(key.as_ref(), "todos" | "tasks" | "items" | "plan" | "phases" | "ops" | "steps" | "todoList");
                if matches!(value, Json::Array(_) | Json::Object(_)) {
                    walk(value, list, entry, depth + 1, listed, changes);
                }
            }
        }
        _ => {}
    }
}
