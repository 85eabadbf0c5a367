//! Parents, leaves and paths.
//!
//! Every walk is linear and stops at the first repeat: damaged files hold cycles, duplicate ids and parents that are gone.

use super::entry::{Ix, Parent, Sym};
use super::index::Session;

/// A path through the tree: from a root down to a leaf.
#[derive(Debug, Clone, Default)]
pub struct Path {
    /// The entries, root first.
    pub entries: Vec<Ix>,
    /// The path begins at an entry whose parent is not in the file.
    pub dangling: bool,
    /// The path begins at an entry whose parent chain leads back into it.
    pub cycle: bool,
}

impl Path {
    /// The leaf.
    #[must_use]
    pub fn leaf(&self) -> Option<Ix> {
        self.entries.last().copied()
    }
}

/// Shape of the whole tree.
#[derive(Debug, Default)]
pub struct Shape {
    /// Entries without children, in file order.
    pub leaves: Vec<Leaf>,
    /// Entries of the tree.
    pub total: usize,
    /// Entries that hang together with the active path through their parents.
    pub reachable: usize,
}

/// An entry without children.
#[derive(Debug, Clone, Copy)]
pub struct Leaf {
    /// The entry.
    pub entry: Ix,
    /// Entries on its path.
    pub depth: usize,
}

/// What stands below each entry, in file order.
#[derive(Debug, Default)]
pub struct Children {
    roots: Vec<Ix>,
    /// The children of all entries, one entry's after the other's.
    all: Vec<Ix>,
    /// Where those of each entry end in `all`; they begin where those of the entry before it end.
    ends: Vec<u32>,
}

impl Children {
    /// Entries without a parent in the file.
    #[must_use]
    pub fn roots(&self) -> &[Ix] {
        &self.roots
    }

    /// The entries whose parent is this one.
    #[must_use]
    pub fn of(&self, ix: Ix) -> &[Ix] {
        let end = |n: usize| self.ends.get(n).map_or(self.all.len(), |end| *end as usize);
        let at = ix.0 as usize;
        self.all.get(at.checked_sub(1).map_or(0, end)..end(at)).unwrap_or_default()
    }
}

/// What stands above an entry, while a tree is walked.
#[derive(Debug)]
pub struct Above {
    /// Who made each call last, by the number of its id.
    callers: Vec<Option<Ix>>,
    /// Whom the callers on the path took the place of, the latest last.
    replaced: Vec<Option<Ix>>,
    on_path: Vec<bool>,
}

impl Above {
    /// The entry that made a call, the nearest where several did.
    #[must_use]
    pub fn caller(&self, call: Sym) -> Option<Ix> {
        self.callers.get(call.0 as usize).copied().flatten()
    }

    /// Whether an entry is the one that is looked at, or above it.
    #[must_use]
    pub fn holds(&self, ix: Ix) -> bool {
        self.on_path.get(ix.0 as usize) == Some(&true)
    }

    fn step(&mut self, ix: Ix, inside: bool) {
        if let Some(place) = self.on_path.get_mut(ix.0 as usize) {
            *place = inside;
        }
    }

    fn call(&mut self, call: Sym, ix: Ix) {
        if let Some(caller) = self.callers.get_mut(call.0 as usize) {
            self.replaced.push(caller.replace(ix));
        }
    }

    fn hang_up(&mut self, call: Sym) {
        if let (Some(caller), Some(before)) = (self.callers.get_mut(call.0 as usize), self.replaced.pop()) {
            *caller = before;
        }
    }
}

impl Session {
    /// Shows every entry of the tree with what stands above it, each after its parent and siblings in file order: all paths
    /// at once. Entries of cycles are on no path.
    pub fn walk(&self, visit: &mut dyn FnMut(Ix, &Above)) {
        let children = self.children();
        let mut above = Above { callers: vec![None; self.names()], replaced: Vec::new(), on_path: vec![false; self.all().len()] };
        let mut next: Vec<(Ix, bool)> = children.roots().iter().rev().map(|ix| (*ix, true)).collect();
        while let Some((ix, enters)) = next.pop() {
            above.step(ix, enters);
            if !enters {
                self.calls(ix).iter().rev().for_each(|call| above.hang_up(*call));
                continue;
            }
            visit(ix, &above);
            self.calls(ix).iter().for_each(|call| above.call(*call, ix));
            next.push((ix, false));
            next.extend(children.of(ix).iter().rev().map(|child| (*child, true)));
        }
    }

    /// The leaf that readers take: the last entry of the file.
    #[must_use]
    pub fn leaf(&self) -> Option<Ix> {
        self.nodes().next_back().map(|(ix, _)| ix)
    }

    /// The parent of an entry, when it is in the file.
    #[must_use]
    pub fn parent(&self, ix: Ix) -> Option<Ix> {
        match self[ix].parent {
            Parent::Root => None,
            Parent::Id(id) => self.find(id),
        }
    }

    /// Whether an entry names a parent that is not in the file.
    #[must_use]
    pub fn is_dangling(&self, ix: Ix) -> bool {
        matches!(self[ix].parent, Parent::Id(id) if self.find(id).is_none())
    }

    /// The entries below each entry and the roots: what a walk over the whole tree needs. Entries of cycles are below no root.
    #[must_use]
    pub fn children(&self) -> Children {
        let mut roots = Vec::new();
        let mut ends = vec![0; self.all().len()];
        let mut below = Vec::new();
        for (ix, _) in self.nodes() {
            match self.parent(ix) {
                Some(parent) => below.push((parent, ix)),
                None => roots.push(ix),
            }
        }
        // Stable: children of one parent stay in file order.
        below.sort_by_key(|(parent, _)| *parent);
        for (parent, _) in &below {
            if let Some(count) = ends.get_mut(parent.0 as usize) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        Children { roots, all: below.into_iter().map(|(_, ix)| ix).collect(), ends }
    }

    /// The path from a root down to `leaf`.
    #[must_use]
    pub fn path(&self, leaf: Ix) -> Path {
        let mut path = Path::default();
        let mut seen = vec![false; self.all().len()];
        let mut next = Some(leaf);
        while let Some(ix) = next {
            match seen.get_mut(ix.0 as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    path.cycle = true;
                    break;
                }
            }
            path.entries.push(ix);
            path.dangling = self.is_dangling(ix);
            next = self.parent(ix);
        }
        path.entries.reverse();
        path
    }

    /// The path that readers take.
    #[must_use]
    pub fn active_path(&self) -> Path {
        self.leaf().map(|leaf| self.path(leaf)).unwrap_or_default()
    }

    /// Leaves, their depths, and what hangs together with `path`.
    #[must_use]
    pub fn shape(&self, path: &Path) -> Shape {
        let count = self.all().len();
        let mut has_child = vec![false; count];
        for (ix, _) in self.nodes() {
            if let Some(place) = self.parent(ix).and_then(|parent| has_child.get_mut(parent.0 as usize)) {
                *place = true;
            }
        }
        let walk = Roots::of(self);
        let home = path.entries.first().and_then(|ix| walk.root(*ix));
        let mut shape = Shape::default();
        for (ix, _) in self.nodes() {
            shape.total += 1;
            if home.is_some() && walk.root(ix) == home {
                shape.reachable += 1;
            }
            if has_child.get(ix.0 as usize) == Some(&false) {
                shape.leaves.push(Leaf { entry: ix, depth: walk.depth(ix) });
            }
        }
        shape
    }

    /// Entries at which a parent chain closes into a cycle: one for each cycle, in file order.
    #[must_use]
    pub fn cycles(&self) -> Vec<Ix> {
        Roots::of(self).cycles
    }
}

/// For each entry the root that its parents lead to, and how far it is.
struct Roots {
    of: Vec<Option<(Ix, u32)>>,
    cycles: Vec<Ix>,
}

impl Roots {
    fn of(session: &Session) -> Roots {
        let mut roots = Roots { of: vec![None; session.all().len()], cycles: Vec::new() };
        let mut on_chain = vec![false; roots.of.len()];
        let mut chain = Vec::new();
        for (start, _) in session.nodes() {
            chain.clear();
            let mut next = Some(start);
            // Up to something known, a root, or an entry of this very chain.
            let (mut root, mut depth) = loop {
                match next {
                    None => break (chain.last().copied().unwrap_or(start), 0),
                    Some(ix) => {
                        if let Some(known) = roots.get(ix) {
                            break known;
                        }
                        if on_chain.get(ix.0 as usize) == Some(&true) {
                            roots.cycles.push(ix);
                            break (ix, 0);
                        }
                        if let Some(place) = on_chain.get_mut(ix.0 as usize) {
                            *place = true;
                        }
                        chain.push(ix);
                        next = session.parent(ix);
                    }
                }
            };
            for ix in chain.iter().rev() {
                depth += 1;
                if let Some(place) = roots.of.get_mut(ix.0 as usize) {
                    *place = Some((root, depth));
                }
                root = roots.get(*ix).map_or(root, |(root, _)| root);
                if let Some(place) = on_chain.get_mut(ix.0 as usize) {
                    *place = false;
                }
            }
        }
        roots
    }

    fn get(&self, ix: Ix) -> Option<(Ix, u32)> {
        self.of.get(ix.0 as usize).copied().flatten()
    }

    fn root(&self, ix: Ix) -> Option<Ix> {
        self.get(ix).map(|(root, _)| root)
    }

    fn depth(&self, ix: Ix) -> usize {
        self.get(ix).map_or(0, |(_, depth)| depth as usize)
    }
}
