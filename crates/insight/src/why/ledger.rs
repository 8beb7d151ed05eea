//! The account of one rule: removed and added bytes per path, merged over elements, and what became of one value.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use tamis_json::path::{Path, PathToken};

use super::spool::Cursor;
use tamis::tokens::TokenCounter;

/// The largest number of distinct paths. The names of further members are merged, like elements.
const MAX_PATHS: usize = 10_000;
/// The largest number of bytes of a name, and of a path, that are kept.
const MAX_NAME: usize = 256;
const MAX_TEXT: usize = 1024;
/// An estimate, for bytes that are not counted.
const BYTES_PER_TOKEN: u64 = 4;

/// The number of a path.
pub(super) type PathId = u32;

/// The distinct paths of all documents of a run.
#[derive(Debug)]
pub(super) struct Paths {
    /// Each with its parent. The first is the document.
    nodes: Vec<(PathId, PathToken)>,
    children: HashMap<(PathId, PathToken), PathId>,
}

impl Paths {
    /// The document itself.
    pub(super) const DOCUMENT: PathId = 0;

    pub(super) fn new() -> Self {
        Self { nodes: vec![(0, PathToken::Any)], children: HashMap::new() }
    }

    /// Returns the path of the elements of an array.
    pub(super) fn element(&mut self, parent: PathId) -> PathId {
        self.child(parent, PathToken::Any)
    }

    /// Returns the path of a member.
    pub(super) fn member(&mut self, parent: PathId, name: &str) -> PathId {
        if self.nodes.len() >= MAX_PATHS {
            let known = self.children.get(&(parent, token(name)));
            return known.copied().unwrap_or_else(|| self.child(parent, PathToken::Any));
        }
        self.child(parent, token(name))
    }

    fn child(&mut self, parent: PathId, token: PathToken) -> PathId {
        let step = (parent, token);
        if let Some(known) = self.children.get(&step) {
            return *known;
        }
        if self.nodes.len() >= 2 * MAX_PATHS {
            return parent;
        }
        let id = self.nodes.len() as PathId;
        self.nodes.push(step.clone());
        self.children.insert(step, id);
        id
    }

    /// Returns a path as text: `items[].owner.url`. The document is the empty text.
    pub(super) fn text(&self, id: PathId) -> String {
        let (mut steps, mut id, mut bytes) = (Vec::new(), id, 0);
        while id != Self::DOCUMENT && bytes < MAX_TEXT {
            let Some((parent, token)) = self.nodes.get(id as usize) else { break };
            bytes += token.len() + 2;
            steps.push(token);
            id = *parent;
        }
        let mut text = if id == Self::DOCUMENT { String::new() } else { "…".to_owned() };
        for step in steps.into_iter().rev() {
            match step {
                PathToken::Any => text.push_str("[]"),
                PathToken::Name(_) => {
                    let name = Path(vec![step.clone()]).to_string();
                    if !text.is_empty() && !name.starts_with('[') {
                        text.push('.');
                    }
                    text.push_str(&name);
                }
            }
        }
        text
    }
}

/// Returns the step of a name, shortened if it is long.
fn token(name: &str) -> PathToken {
    if name.len() <= MAX_NAME {
        return PathToken::Name(name.into());
    }
    let end = (0..=MAX_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or_default();
    PathToken::Name(format!("{}…", name.get(..end).unwrap_or_default()).into())
}

/// The account of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// The number of values that were removed as a whole.
    pub(super) count: u64,
    pub(super) removed: u64,
    pub(super) added: u64,
    pub(super) tokens: u64,
    /// Keys, brackets and commas around kept values, in the document before and in the document after. The bytes that both
    /// have are unchanged.
    around: [u64; 2],
}

/// The effect of a rule on the traced value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is at this offset of the document after the rule.
    Kept(u64),
    /// It is at this offset, and it is a scalar with another text.
    Changed(u64),
    /// Only values inside it are kept.
    InPart,
    Removed,
}

/// The account of one rule.
#[derive(Debug)]
pub(super) struct Ledger<'p> {
    pub(super) paths: &'p mut Paths,
    lines: BTreeMap<PathId, Tally>,
    counter: Counter,
    /// The offset of the traced value in the document before the rule.
    traced: Option<u64>,
    pub(super) fate: Option<Fate>,
}

impl<'p> Ledger<'p> {
    /// Creates an empty account. `counts`: tokens are counted, otherwise estimated.
    pub(super) fn new(paths: &'p mut Paths, counts: bool, traced: Option<u64>) -> Self {
        Self { paths, lines: BTreeMap::new(), counter: Counter::new(counts), traced, fate: None }
    }

    fn line(&mut self, path: PathId) -> &mut Tally {
        self.lines.entry(path).or_default()
    }

    /// Removes a value, with its key, and a comma if `comma` is 1.
    pub(super) fn remove(
        &mut self,
        path: PathId,
        before: &mut Cursor<'_>,
        range: Range<u64>,
        comma: u64,
    ) {
        if self.traced.is_some_and(|at| range.contains(&at)) {
            self.fate.get_or_insert(Fate::Removed);
        }
        let end = before.pos();
        let tokens = self.counter.count(before, range.clone());
        before.seek(end);
        let line = self.line(path);
        line.count += 1;
        line.removed += range.end - range.start + comma;
        line.tokens += tokens;
    }

    /// Adds removed bytes that are not a value of their own.
    pub(super) fn lose(&mut self, path: PathId, bytes: u64) {
        if bytes > 0 {
            let line = self.line(path);
            line.removed += bytes;
            line.tokens += bytes / BYTES_PER_TOKEN;
        }
    }

    /// Adds bytes that only the document after the rule has.
    pub(super) fn add(&mut self, path: PathId, bytes: u64) {
        if bytes > 0 {
            self.line(path).added += bytes;
        }
    }

    /// Adds bytes around kept values, of the document before the rule and of the document after it.
    pub(super) fn around(&mut self, path: PathId, before: u64, after: u64) {
        if before + after > 0 {
            let [lost, gained] = &mut self.line(path).around;
            *lost += before;
            *gained += after;
        }
    }

    /// Records where a value is that begins at `before`.
    pub(super) fn meet(&mut self, before: u64, fate: Fate) {
        if self.traced == Some(before) {
            self.fate = Some(fate);
        }
    }

    /// Records that the bytes of a range are at `after`.
    pub(super) fn keep(&mut self, before: &Range<u64>, after: u64) {
        if let Some(at) = self.traced.filter(|at| before.contains(at)) {
            self.fate = Some(Fate::Kept(after + (at - before.start)));
        }
    }

    /// Returns the account, with the paths.
    pub(super) fn finish(self) -> (&'p Paths, BTreeMap<PathId, Tally>) {
        let mut lines = self.lines;
        for line in lines.values_mut() {
            let [lost, gained] = std::mem::take(&mut line.around);
            let same = lost.min(gained);
            line.removed += lost - same;
            line.tokens += (lost - same) / BYTES_PER_TOKEN;
            line.added += gained - same;
        }
        lines.retain(|_, line| line.removed + line.added > 0);
        (self.paths, lines)
    }
}

/// Counts the tokens of removed values.
#[derive(Debug)]
struct Counter {
    counter: Option<TokenCounter>,
}

impl Counter {
    fn new(counts: bool) -> Self {
        Self { counter: counts.then(tamis_tokens::counter) }
    }

    /// Returns the number of tokens of a range. Does not keep the position.
    fn count(&mut self, document: &mut Cursor<'_>, range: Range<u64>) -> u64 {
        if let Some(counter) = &mut self.counter {
            document.visit(range, |bytes| counter.push(bytes));
            return counter.finish();
        }
        (range.end - range.start).div_ceil(BYTES_PER_TOKEN)
    }
}
