//! What fits: candidates with a value and a cost, taken section by section until the budget is spent.

use crate::engine::tokens::Tokenizer;
use crate::session::Ix;
use crate::summarize::{Line, Purpose};

/// The sections in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Section {
    /// What was asked.
    Goal,
    /// Rules.
    Rules,
    /// What is finished.
    Done,
    /// What is being worked on.
    Active,
    /// What stands in the way.
    Blocked,
    /// Decisions and reasons.
    Decisions,
    /// What comes next.
    Next,
    /// Names and facts.
    Context,
}

/// Every section.
pub(super) const SECTIONS: [Section; 8] =
    [Section::Goal, Section::Rules, Section::Done, Section::Active, Section::Blocked, Section::Decisions, Section::Next, Section::Context];

impl Section {
    /// The headings that stand before its items; `first` says whether a part of the progress stands before it already.
    pub(super) fn heading(self, purpose: Purpose, in_progress: bool) -> Vec<&'static str> {
        let sub = |name: &'static str| if in_progress { vec![name] } else { vec!["## Progress", name] };
        match self {
            Section::Goal if purpose == Purpose::TurnPrefix => vec!["## Request"],
            Section::Goal => vec!["## Goal"],
            Section::Rules => vec!["## Constraints & Preferences"],
            Section::Done => sub("### Done"),
            Section::Active => sub("### In Progress"),
            Section::Blocked => sub("### Blocked"),
            Section::Decisions => vec!["## Key Decisions"],
            Section::Next => vec!["## Next Steps"],
            Section::Context => vec!["## Critical Context"],
        }
    }

    pub(super) fn is_progress(self) -> bool {
        matches!(self, Section::Done | Section::Active | Section::Blocked)
    }

    /// Percent of the budget that the section may take while others still want some. What the user said and what is
    /// unfinished comes first; the shares were set by reading summaries of real sessions at 300 to 4,096 tokens.
    fn share(self, purpose: Purpose) -> u64 {
        match (self, purpose) {
            (Section::Goal, Purpose::TurnPrefix) => 40,
            (Section::Goal, _) => 22,
            (Section::Rules, _) => 18,
            (Section::Done, Purpose::TurnPrefix) => 30,
            (Section::Done, Purpose::Handoff) => 14,
            (Section::Done, _) => 12,
            (Section::Active, Purpose::TurnPrefix) => 25,
            (Section::Active, _) => 10,
            (Section::Blocked, Purpose::Branch) => 16,
            (Section::Blocked, _) => 7,
            (Section::Decisions, _) => 4,
            (Section::Next, Purpose::Handoff) => 18,
            (Section::Next, _) => 10,
            (Section::Context, _) => 45,
        }
    }
}

/// Percent of the budget that what was done gets whatever else there is.
const LEAST_DONE: u64 = 5;

/// The order in which sections choose.
const CHOOSING: [Section; 7] =
    [Section::Goal, Section::Rules, Section::Blocked, Section::Active, Section::Next, Section::Decisions, Section::Done];

/// Something that may stand in the summary.
#[derive(Debug, Clone, Default)]
pub(super) struct Item {
    /// Its lines.
    pub text: String,
    /// How much it is worth; only compared within a section.
    pub value: u64,
    /// Where it stands in its section.
    pub order: u64,
    /// Where it comes from.
    pub sources: Vec<Ix>,
    /// Tokens, once counted.
    pub cost: u64,
    /// When it may be left out, how many of these were chosen before it, and it; else nothing.
    pub spare: u64,
}

/// Order of the first item that is new; carried ones stand before it.
pub(super) const NEW: u64 = 1 << 40;

/// What was chosen.
#[derive(Debug)]
pub(super) struct Chosen {
    purpose: Purpose,
    tokenizer: Tokenizer,
    budget: u64,
    used: u64,
    /// Tokens that spare items may take, and how many there are.
    spare: (u64, u64),
    sections: [Vec<Item>; 8],
}

impl Chosen {
    pub(super) fn new(purpose: Purpose, tokenizer: Tokenizer, budget: u64, spare: u64) -> Self {
        Chosen { purpose, tokenizer, budget, used: 0, spare: (spare, 0), sections: Default::default() }
    }

    /// Tokens that are left.
    pub(super) fn left(&self) -> u64 {
        self.budget.saturating_sub(self.used)
    }

    /// Tokens of a text and its line end, which most tokenizers take together with the full stop before it.
    pub(super) fn cost(&self, text: &str) -> u64 {
        self.tokenizer.count(&format!("{text}\n"))
    }

    fn slot(&mut self, section: Section) -> &mut Vec<Item> {
        let [goal, rules, done, active, blocked, decisions, next, context] = &mut self.sections;
        match section {
            Section::Goal => goal,
            Section::Rules => rules,
            Section::Done => done,
            Section::Active => active,
            Section::Blocked => blocked,
            Section::Decisions => decisions,
            Section::Next => next,
            Section::Context => context,
        }
    }

    /// Tokens of the headings that the section's first item brings.
    fn opening(&mut self, section: Section) -> u64 {
        if !self.slot(section).is_empty() {
            return 0;
        }
        let progress = section.is_progress() && SECTIONS.iter().any(|s| s.is_progress() && !self.slot(*s).is_empty());
        let headings = section.heading(self.purpose, progress);
        headings.iter().map(|h| self.cost(h) + 1).sum()
    }

    /// Takes an item when it fits into `room` and into what is left.
    pub(super) fn take(&mut self, section: Section, mut item: Item, room: u64) -> bool {
        if item.cost == 0 {
            item.cost = self.cost(&item.text);
        }
        let cost = item.cost + self.opening(section);
        if cost > room.min(self.left()) {
            return false;
        }
        self.used += cost;
        self.slot(section).push(item);
        true
    }

    /// Takes an item for the case that there is more room than `budget`. None opens a section.
    pub(super) fn take_spare(&mut self, section: Section, mut item: Item) -> bool {
        let cost = self.cost(&item.text);
        let (room, known) = self.spare;
        if cost > room || self.slot(section).is_empty() {
            return false;
        }
        self.spare = (room - cost, known + 1);
        item.spare = known + 1;
        self.slot(section).push(item);
        true
    }

    /// Fills all sections but the context by their shares, and keeps `reserve` tokens back for the context.
    pub(super) fn fill(&mut self, candidates: &mut [(Section, Vec<Item>)], reserve: u64) {
        let keep = self.budget.saturating_sub(reserve);
        for section in CHOOSING {
            let share = self.budget * section.share(self.purpose) / 100;
            let mut room = share.min(keep.saturating_sub(self.used));
            if section == Section::Done {
                room = room.max(self.budget * LEAST_DONE / 100);
            }
            match section {
                Section::Done | Section::Decisions => self.fill_mixed(section, candidates, room, 45),
                _ => self.fill_one(section, candidates, room),
            }
        }
    }

    /// Fills a section up to `room` tokens, of which `share` percent go to items that are carried over when there are any:
    /// what happened before is told in few words already, and would lose to what is new line by line.
    fn fill_mixed(&mut self, section: Section, candidates: &mut [(Section, Vec<Item>)], room: u64, share: u64) {
        let Some((_, items)) = candidates.iter_mut().find(|(s, _)| *s == section) else { return };
        let (carried, fresh): (Vec<Item>, Vec<Item>) = std::mem::take(items).into_iter().partition(|item| item.order < NEW);
        let before = self.used;
        let mut lists = [(section, carried)];
        self.fill_one(section, &mut lists, if fresh.is_empty() { room } else { room * share / 100 });
        let [(_, mut rest)] = lists;
        rest.extend(fresh);
        *items = rest;
        self.fill_one(section, candidates, room.saturating_sub(self.used - before));
    }

    /// Fills a section by value up to `room` tokens; what does not fit stays a candidate.
    pub(super) fn fill_one(&mut self, section: Section, candidates: &mut [(Section, Vec<Item>)], room: u64) {
        let Some((_, items)) = candidates.iter_mut().find(|(s, _)| *s == section) else { return };
        items.sort_by(|a, b| b.value.cmp(&a.value).then(b.order.cmp(&a.order)).then_with(|| a.text.cmp(&b.text)));
        let before = self.used;
        let mut rest = Vec::new();
        let mut misses = 0;
        for mut item in std::mem::take(items) {
            if misses > 12 {
                rest.push(item);
                continue;
            }
            if item.cost == 0 {
                item.cost = self.cost(&item.text);
            }
            let left = room.saturating_sub(self.used - before);
            if !self.take(section, item.clone(), left) {
                misses += 1;
                rest.push(item);
            }
        }
        *items = rest;
    }

    /// All chosen text, for looking up what it says.
    pub(super) fn told(&self) -> String {
        let mut told = String::new();
        for item in self.sections.iter().flatten() {
            told.push_str(&item.text);
            told.push('\n');
        }
        told
    }

    /// The lines, and as a last step the check of the whole text against the budget; and the spare ones with their places.
    pub(super) fn lines(mut self) -> (Vec<Line>, Vec<(usize, Line)>) {
        loop {
            let lines = self.render();
            let text: Vec<&str> = lines.iter().filter(|(spare, _)| *spare == 0).map(|(_, l)| l.text.as_str()).collect();
            if self.tokenizer.count(text.join("\n").trim_end()) <= self.budget || !self.drop_least() {
                let mut spare = Vec::new();
                let mut firm = Vec::new();
                for (at, (chosen, line)) in lines.into_iter().enumerate() {
                    if chosen == 0 { firm.push(line) } else { spare.push((chosen, at, line)) }
                }
                spare.sort_by_key(|(chosen, _, _)| *chosen);
                return (firm, spare.into_iter().map(|(_, at, line)| (at, line)).collect());
            }
        }
    }

    /// Drops the item that is missed least.
    fn drop_least(&mut self) -> bool {
        for section in [
            Section::Context,
            Section::Decisions,
            Section::Done,
            Section::Next,
            Section::Active,
            Section::Blocked,
            Section::Rules,
            Section::Goal,
        ] {
            let items = self.slot(section);
            let least = items
                .iter()
                .enumerate()
                .filter(|(_, item)| item.spare == 0)
                .min_by_key(|(_, item)| (item.value, item.order))
                .map(|(n, _)| n);
            if let Some(least) = least {
                items.remove(least);
                return true;
            }
        }
        false
    }

    /// All lines; those of spare items with when they were chosen.
    fn render(&mut self) -> Vec<(u64, Line)> {
        let mut lines: Vec<(u64, Line)> = Vec::new();
        let mut progress = false;
        let purpose = self.purpose;
        for section in SECTIONS {
            let items = self.slot(section);
            if items.iter().all(|item| item.spare > 0) {
                continue;
            }
            items.sort_by(|a, b| a.order.cmp(&b.order).then_with(|| a.text.cmp(&b.text)));
            for heading in section.heading(purpose, progress) {
                if !lines.is_empty() {
                    lines.push((0, Line::default()));
                }
                lines.push((0, Line { text: heading.to_owned(), sources: Vec::new() }));
            }
            progress |= section.is_progress();
            for item in items.iter() {
                let line = |text: &str| (item.spare, Line { text: text.to_owned(), sources: item.sources.clone() });
                lines.extend(item.text.lines().map(line));
            }
        }
        lines
    }
}
