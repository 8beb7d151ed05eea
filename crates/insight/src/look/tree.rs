//! The result of a look: a tree of paths with their figures, the heaviest first.

use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};

use super::paths::{PathTable, joined};

/// The kind of nodes in a [`LookTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookKind {
    /// Paths of JSON documents.
    Json,
    /// Tools and roles of a chat.
    Chat,
    /// Kinds of lines of a text.
    Lines,
}

impl LookKind {
    /// Returns its name in machine-readable output: `json`, `chat` or `lines`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Chat => "chat",
            Self::Lines => "lines",
        }
    }
}

/// A tree of paths with their figures. The children of a node are in descending order of their bytes.
///
/// The bytes of a node are the sum of those of its children and of [`own_bytes`](LookNode::own_bytes). Serializes to the
/// keys `kind`, `bytes`, `tokens`, `tokens_estimated` and `paths`, a list of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookTree {
    kind: LookKind,
    tokens: TokenFigures,
    /// Each node after its parent, the heaviest subtree first.
    nodes: Vec<Entry>,
}

/// Where the tokens of a tree are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenFigures {
    Estimated,
    /// Counted, but some may be counted twice.
    Counted,
    Exact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    part: Part,
    level: usize,
    /// The position after the last node below it.
    end: usize,
    bytes: u64,
    tokens: u64,
}

/// A node before it has a place in a tree. Its parent is the position of a part before it; the first one is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) parent: usize,
    /// The last step of its path, as it is written after another step.
    pub(super) step: String,
    pub(super) count: u64,
    /// Without those of the parts below it.
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    /// One bit for each kind of JSON value.
    pub(super) kinds: u8,
}

impl LookTree {
    pub(super) fn of_paths(paths: &PathTable, tokens: TokenFigures) -> Self {
        let parts = paths.nodes().iter().map(|node| Part {
            parent: node.parent,
            step: node.step.text(),
            count: node.figures.count,
            bytes: node.figures.bytes,
            tokens: node.figures.tokens,
            kinds: node.kinds,
        });
        Self::new(LookKind::Json, tokens, parts.collect())
    }

    /// Sums up the parts and sorts them.
    pub(super) fn new(kind: LookKind, figures: TokenFigures, parts: Vec<Part>) -> Self {
        let mut sums: Vec<(u64, u64)> =
            parts.iter().map(|part| (part.bytes, part.tokens)).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
        for (at, part) in parts.iter().enumerate().skip(1).rev() {
            let (bytes, tokens) = sums.get(at).copied().unwrap_or_default();
            if let Some(sum) = sums.get_mut(part.parent) {
                *sum = (sum.0 + bytes, sum.1 + tokens);
            }
            if let Some(children) = children.get_mut(part.parent) {
                children.push(at);
            }
        }
        let sum = |at: usize| sums.get(at).copied().unwrap_or_default();
        for children in &mut children {
            // They are in reverse order, and the sort is stable.
            children.reverse();
            children.sort_by_key(|at| std::cmp::Reverse(sum(*at).0));
        }
        let mut parts: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
        let mut nodes: Vec<Entry> = Vec::with_capacity(parts.len());
        // The position of a part, and that of its parent among the nodes.
        let mut waiting = vec![(0, 0)];
        while let Some((at, parent)) = waiting.pop() {
            let Some(part) = parts.get_mut(at).and_then(Option::take) else { continue };
            let place = nodes.len();
            let level = nodes.get(parent).map_or(0, |entry| entry.level + 1);
            let (bytes, counted) = sum(at);
            let tokens = match figures {
                TokenFigures::Estimated => bytes.div_ceil(4),
                TokenFigures::Counted | TokenFigures::Exact => counted,
            };
            nodes.push(Entry { part: Part { parent, ..part }, level, end: 0, bytes, tokens });
            let children = children.get(at).into_iter().flatten().rev();
            waiting.extend(children.map(|child| (*child, place)));
        }
        let mut ends: Vec<usize> = (1..=nodes.len()).collect();
        for (at, entry) in nodes.iter_mut().enumerate().rev() {
            entry.end = ends.get(at).copied().unwrap_or(at + 1);
            if let Some(end) = ends.get_mut(entry.part.parent).filter(|_| at > 0) {
                *end = (*end).max(entry.end);
            }
        }
        Self { kind, tokens: figures, nodes }
    }

    /// Returns what its nodes are.
    #[must_use]
    pub fn kind(&self) -> LookKind {
        self.kind
    }

    /// Whether tokens were counted instead of estimated. `false` also if a count may be too large by a few.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.tokens == TokenFigures::Exact
    }

    /// Returns the bytes of everything, without white space between the tokens of JSON.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.nodes.first().map_or(0, |root| root.bytes)
    }

    /// Returns the tokens of everything.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.nodes.first().map_or(0, |root| root.tokens)
    }

    /// Returns all nodes, each after its parent. The first one is the document.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = LookNode<'_>> {
        (0..self.nodes.len()).map(|at| LookNode { tree: self, at })
    }

    /// Returns a node by its position in [`nodes`](Self::nodes).
    #[must_use]
    pub fn node(&self, at: usize) -> Option<LookNode<'_>> {
        (at < self.nodes.len()).then_some(LookNode { tree: self, at })
    }
}

/// A node of a [`LookTree`]: a path, and the figures of all values at it.
#[derive(Clone, Copy, Debug)]
pub struct LookNode<'a> {
    tree: &'a LookTree,
    at: usize,
}

impl<'a> LookNode<'a> {
    fn entry(&self) -> Option<&'a Entry> {
        self.tree.nodes.get(self.at)
    }

    /// Returns its position among the nodes of the tree.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the node above it.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let parent = self.entry()?.part.parent;
        (self.at > 0).then_some(Self { at: parent, ..*self })
    }

    /// Returns the nodes directly below it, the heaviest first.
    pub fn children(&self) -> impl Iterator<Item = Self> {
        let tree = self.tree;
        let end = self.end();
        let mut next = self.at + 1;
        std::iter::from_fn(move || {
            let child = tree.node(next).filter(|_| next < end)?;
            next = child.end();
            Some(child)
        })
    }

    /// Returns the position after the last node below it.
    #[must_use]
    pub fn end(&self) -> usize {
        self.entry().map_or(self.at + 1, |entry| entry.end)
    }

    /// Returns the number of nodes above it.
    #[must_use]
    pub fn level(&self) -> usize {
        self.entry().map_or(0, |entry| entry.level)
    }

    /// Returns the last step of its path: a name, `[]`, or `*`. Empty for the document.
    #[must_use]
    pub fn step(&self) -> &'a str {
        self.entry().map_or("", |entry| entry.part.step.as_str())
    }

    /// Returns its path, for JSON in the form of `--select`. Empty for the document.
    #[must_use]
    pub fn path(&self) -> String {
        let mut steps = Vec::with_capacity(self.level());
        let mut node = Some(*self);
        while let Some(step) = node.filter(|node| node.at > 0) {
            steps.push(step.step());
            node = step.parent();
        }
        let steps = steps.into_iter().rev();
        if self.tree.kind == LookKind::Json {
            return joined(steps);
        }
        steps.collect::<Vec<_>>().join(" / ")
    }

    /// Returns how often there is something at this path.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.entry().map_or(0, |entry| entry.part.count)
    }

    /// Returns the bytes of all values at this path, with their names.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.entry().map_or(0, |entry| entry.bytes)
    }

    /// Returns the bytes that are not those of a child: names, brackets, commas.
    #[must_use]
    pub fn own_bytes(&self) -> u64 {
        self.entry().map_or(0, |entry| entry.part.bytes)
    }

    /// Returns the tokens of all values at this path: counted, or a quarter of their bytes, rounded up.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.entry().map_or(0, |entry| entry.tokens)
    }

    /// Returns its part of the tokens of the tree in tenths of a percent, rounded down.
    #[must_use]
    pub fn share(&self) -> u64 {
        let (part, all) = match self.tree.tokens {
            TokenFigures::Estimated => (self.bytes(), self.tree.bytes()),
            TokenFigures::Counted | TokenFigures::Exact => (self.tokens(), self.tree.tokens()),
        };
        let share = u128::from(part) * 1000 / u128::from(all.max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Whether nothing is below it.
    pub(super) fn is_leaf(&self) -> bool {
        self.end() == self.at + 1
    }

    /// Returns the figure that areas are proportional to.
    pub(super) fn weight(&self) -> f64 {
        let weight = match self.tree.tokens {
            TokenFigures::Estimated => self.bytes(),
            TokenFigures::Counted | TokenFigures::Exact => self.tokens(),
        };
        weight as f64
    }

    /// Returns the types of the values at this path. Empty if the tree is not one of JSON.
    #[must_use]
    pub fn types(&self) -> Vec<&'static str> {
        let kinds = self.entry().map_or(0, |entry| entry.part.kinds);
        let names = ["object", "array", "string", "number", "boolean", "null"];
        let names = names.into_iter().enumerate();
        names.filter(|(bit, _)| kinds >> bit & 1 == 1).map(|(_, name)| name).collect()
    }
}

impl Serialize for LookTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tree = serializer.serialize_struct("LookTree", 5)?;
        tree.serialize_field("kind", self.kind.name())?;
        tree.serialize_field("bytes", &self.bytes())?;
        tree.serialize_field("tokens", &self.tokens())?;
        tree.serialize_field("tokens_estimated", &!self.is_exact())?;
        tree.serialize_field("paths", &Paths(self))?;
        tree.end()
    }
}

/// The nodes as a list.
struct Paths<'a>(&'a LookTree);

impl Serialize for Paths<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.nodes.len()))?;
        for node in self.0.nodes() {
            list.serialize_element(&node)?;
        }
        list.end()
    }
}

impl Serialize for LookNode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_json = self.tree.kind == LookKind::Json;
        let mut node = serializer.serialize_struct("LookNode", 5 + usize::from(is_json))?;
        node.serialize_field("path", &self.path())?;
        node.serialize_field("count", &self.count())?;
        node.serialize_field("bytes", &self.bytes())?;
        node.serialize_field("own_bytes", &self.own_bytes())?;
        node.serialize_field("tokens", &self.tokens())?;
        if is_json {
            node.serialize_field("types", &self.types())?;
        }
        node.end()
    }
}
