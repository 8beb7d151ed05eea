//! The paths that were found: a tree of names, whose size is bounded.
//!
//! Objects that are used as maps would give a path for each key. Their members are merged into one path named `*`: at
//! once if there are very many, and otherwise at the end, or when the table is full. If the table is still full then,
//! new names are summed in a `*` without any paths inside it.

use std::collections::{HashMap, VecDeque};
use std::ops::AddAssign;

use tamis_json::ValueKind;
use tamis_json::key::RawKey;
use tamis_json::path::PathToken;

/// The position of a path in the table.
pub(crate) type PathId = usize;

/// The path of the document.
pub(crate) const DOCUMENT: PathId = 0;

/// More names than this in one object are those of a map.
const MOST_NAMES: usize = 1000;
/// As many members of one kind are those of a map: containers, and scalars.
const MAP_OF_CONTAINERS: usize = 32;
const MAP_OF_SCALARS: usize = 100;
/// A longer name is not kept, in bytes.
const LONGEST_NAME: usize = 128;
/// Containers at this level are counted as a whole. It also bounds the length of a path.
pub(super) const MOST_LEVELS: usize = 32;
/// An object with more names has a table of them.
const FEW_NAMES: usize = 8;

/// The last step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Document,
    Name(Box<str>),
    /// The elements of an array.
    Elements,
    /// The members of a map, or those for which there was no room.
    Others,
}

impl Step {
    /// Returns the step as it is written after another step.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Document => String::new(),
            Self::Elements => "[]".to_owned(),
            Self::Others => "*".to_owned(),
            Self::Name(name) => PathToken::Name(name.clone()).to_string(),
        }
    }
}

/// The values at a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Number of values.
    pub(crate) count: u64,
    /// Bytes and tokens that are not those of a path below: the name, brackets, commas, the scalar itself.
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.tokens += other.tokens;
    }
}

/// A path and its figures.
#[derive(Debug)]
pub(crate) struct PathNode {
    pub(crate) parent: PathId,
    pub(super) step: Step,
    pub(crate) figures: Figures,
    /// The figures of the document before this one, to compare them.
    pub(crate) earlier: Figures,
    /// One bit for each kind of value.
    pub(super) kinds: u8,
    level: usize,
    /// The name has no backslash, so that a key with the same bytes spells it.
    is_plain: bool,
    /// Children with a name, in the order of their first appearance.
    names: Vec<PathId>,
    /// Each with its position in `names`; used if there are more than a few.
    by_name: HashMap<Box<str>, (PathId, usize)>,
    elements: Option<PathId>,
    others: Option<PathId>,
    /// All its members are merged into `others`.
    is_map: bool,
    /// There was no room for it: containers are counted as a whole.
    is_rest: bool,
}

impl PathNode {
    fn new(parent: PathId, step: Step, level: usize) -> Self {
        let is_plain = matches!(&step, Step::Name(name) if !name.contains('\\'));
        Self {
            parent,
            step,
            figures: Figures::default(),
            earlier: Figures::default(),
            kinds: 0,
            level,
            is_plain,
            names: Vec::new(),
            by_name: HashMap::new(),
            elements: None,
            others: None,
            is_map: false,
            is_rest: false,
        }
    }
}

/// Returns the bit of a kind.
pub(super) fn kind_bit(kind: ValueKind) -> u8 {
    match kind {
        ValueKind::Object => 1,
        ValueKind::Array => 2,
        ValueKind::String | ValueKind::EmptyString => 4,
        ValueKind::Number => 8,
        ValueKind::Bool => 16,
        ValueKind::Null => 32,
    }
}

/// The bits of objects and of arrays.
const CONTAINERS: [u8; 2] = [1, 2];

/// New positions of the paths, by their old ones, after paths were merged.
pub(super) type Moved = Vec<PathId>;

/// All paths that were found.
#[derive(Debug)]
pub(crate) struct PathTable {
    nodes: Vec<PathNode>,
    most: usize,
    /// Merging maps has not made enough room, so it is not tried again.
    is_full: bool,
}

impl PathTable {
    pub(super) fn new(most: usize) -> Self {
        let nodes = vec![PathNode::new(DOCUMENT, Step::Document, 0)];
        Self { nodes, most: most.max(1), is_full: false }
    }

    pub(crate) fn nodes(&self) -> &[PathNode] {
        &self.nodes
    }

    /// Makes the figures those of an earlier document. `keep`: otherwise they are dropped.
    pub(super) fn next_document(&mut self, keep: bool) {
        for node in &mut self.nodes {
            let figures = std::mem::take(&mut node.figures);
            if keep {
                node.earlier = figures;
            }
        }
    }

    /// Returns the path that a step of a path leads to.
    pub(super) fn child(&self, parent: PathId, token: &PathToken) -> Option<PathId> {
        let node = self.nodes.get(parent)?;
        let named = match token {
            PathToken::Name(name) => self.find(node, name).map(|(id, _)| id),
            PathToken::Any => None,
        };
        let is_element = token.index().is_some() || *token == PathToken::Any;
        named.or_else(|| node.elements.filter(|_| is_element)).or(node.others)
    }

    /// Returns a path as text, without its first steps.
    pub(crate) fn text(&self, path: PathId, skipped: usize) -> String {
        let mut steps = Vec::new();
        let mut at = path;
        while let Some(node) = self.nodes.get(at).filter(|_| at != DOCUMENT) {
            steps.push(node.step.text());
            at = node.parent;
        }
        joined(steps.iter().rev().skip(skipped).map(String::as_str))
    }

    #[inline]
    pub(super) fn node_mut(&mut self, id: PathId) -> Option<&mut PathNode> {
        self.nodes.get_mut(id)
    }

    /// Whether a container at the path is counted as a whole.
    #[inline]
    pub(super) fn is_whole(&self, id: PathId) -> bool {
        self.nodes.get(id).is_none_or(|node| node.is_rest || node.level >= MOST_LEVELS)
    }

    /// Returns the path of the elements of an array.
    #[inline]
    pub(super) fn elements(&mut self, parent: PathId) -> PathId {
        match self.nodes.get(parent).and_then(|node| node.elements) {
            Some(id) => id,
            None if self.nodes.len() >= self.most => self.others(parent, true),
            None => {
                let id = self.add(parent, Step::Elements);
                if let Some(node) = self.nodes.get_mut(parent) {
                    node.elements = Some(id);
                }
                id
            }
        }
    }

    /// Returns the path of a member, if it is the child at this position, where it was in the object before.
    #[inline]
    pub(super) fn expected(&self, parent: PathId, key: &RawKey<'_>, at: usize) -> Option<PathId> {
        let id = *self.nodes.get(parent)?.names.get(at)?;
        let node = self.nodes.get(id)?;
        match &node.step {
            Step::Name(name) if node.is_plain && name.as_bytes() == key.raw() => Some(id),
            _ => None,
        }
    }

    /// Returns the path of a member, and its position among the children. Also returns the new positions of all paths if
    /// some were merged; the path is one of the new ones.
    pub(super) fn member(
        &mut self,
        parent: PathId,
        key: &RawKey<'_>,
    ) -> (PathId, usize, Option<Moved>) {
        let Some(node) = self.nodes.get(parent) else { return (DOCUMENT, 0, None) };
        if node.is_map {
            return (self.others(parent, false), 0, None);
        }
        key.with_name(|name| {
            let name = name.and_then(|name| std::str::from_utf8(name).ok());
            match name.filter(|name| name.len() <= LONGEST_NAME) {
                Some(name) => self.named(parent, name),
                None => (self.others(parent, true), 0, None),
            }
        })
    }

    fn named(&mut self, parent: PathId, name: &str) -> (PathId, usize, Option<Moved>) {
        let found = self.nodes.get(parent).and_then(|node| self.find(node, name));
        if let Some((id, at)) = found {
            return (id, at, None);
        }
        let names = self.nodes.get(parent).map_or(0, |node| node.names.len());
        if names >= MOST_NAMES {
            if let Some(node) = self.nodes.get_mut(parent) {
                node.is_map = true;
            }
            let moved = self.merge_maps();
            let parent = moved.get(parent).copied().unwrap_or(DOCUMENT);
            return (self.others(parent, false), 0, Some(moved));
        }
        if self.nodes.len() < self.most {
            return (self.add_named(parent, name), names, None);
        }
        if self.is_full {
            return (self.others(parent, true), 0, None);
        }
        let moved = self.merge_maps();
        // Merging must make room for many names, so that it takes little time for each.
        self.is_full = self.nodes.len() > self.most / 2;
        let parent = moved.get(parent).copied().unwrap_or(DOCUMENT);
        let (id, at, _) = match self.nodes.get(parent) {
            Some(node) if node.is_map => (self.others(parent, false), 0, None),
            _ => self.named(parent, name),
        };
        (id, at, Some(moved))
    }

    fn find(&self, node: &PathNode, name: &str) -> Option<(PathId, usize)> {
        if node.names.len() > FEW_NAMES {
            return node.by_name.get(name).copied();
        }
        let is_it = |id: &PathId| match self.nodes.get(*id).map(|node| &node.step) {
            Some(Step::Name(other)) => **other == *name,
            _ => false,
        };
        let at = node.names.iter().position(is_it)?;
        node.names.get(at).map(|id| (*id, at))
    }

    fn add(&mut self, parent: PathId, step: Step) -> PathId {
        let level = self.nodes.get(parent).map_or(0, |node| node.level + 1);
        self.nodes.push(PathNode::new(parent, step, level));
        self.nodes.len() - 1
    }

    fn add_named(&mut self, parent: PathId, name: &str) -> PathId {
        let id = self.add(parent, Step::Name(name.into()));
        let Self { nodes, .. } = self;
        let Some(node) = nodes.get_mut(parent) else { return id };
        node.names.push(id);
        if node.names.len() > FEW_NAMES {
            node.by_name.insert(name.into(), (id, node.names.len() - 1));
        }
        if node.names.len() == FEW_NAMES + 1 {
            let names = node.names.clone();
            let named =
                names.iter().enumerate().filter_map(|(at, id)| match &nodes.get(*id)?.step {
                    Step::Name(name) => Some((name.clone(), (*id, at))),
                    _ => None,
                });
            let by_name: HashMap<_, _> = named.collect();
            if let Some(node) = nodes.get_mut(parent) {
                node.by_name = by_name;
            }
        }
        id
    }

    /// Returns the path of all other members. `is_rest`: the limit of paths is reached, so paths
    /// inside it are not counted on their own.
    fn others(&mut self, parent: PathId, is_rest: bool) -> PathId {
        if let Some(id) = self.nodes.get(parent).and_then(|node| node.others) {
            return id;
        }
        // Each path has at most one, so the table has at most twice as many paths as it should.
        let id = self.add(parent, Step::Others);
        if let Some(node) = self.nodes.get_mut(id) {
            node.is_rest = is_rest;
        }
        if let Some(node) = self.nodes.get_mut(parent) {
            node.others = Some(id);
        }
        id
    }

    /// Merges the members of all objects that are maps. Afterwards each path comes after its parent.
    pub(super) fn merge_maps(&mut self) -> Moved {
        let old = std::mem::take(&mut self.nodes);
        let mut moved = vec![DOCUMENT; old.len()];
        self.nodes.push(PathNode::new(DOCUMENT, Step::Document, 0));
        let mut waiting = VecDeque::from([(DOCUMENT, vec![DOCUMENT])]);
        while let Some((id, merged)) = waiting.pop_front() {
            for before in &merged {
                if let Some(place) = moved.get_mut(*before) {
                    *place = id;
                }
            }
            let merged: Vec<&PathNode> = merged.iter().filter_map(|id| old.get(*id)).collect();
            if let Some(node) = self.nodes.get_mut(id) {
                for before in &merged {
                    node.figures += before.figures;
                    node.earlier += before.earlier;
                    node.kinds |= before.kinds;
                    node.is_map |= before.is_map;
                }
                node.is_rest = merged.iter().all(|before| before.is_rest);
            }
            let mut names: Vec<(&str, Vec<PathId>)> = Vec::new();
            let mut places: HashMap<&str, usize> = HashMap::new();
            for child in merged.iter().flat_map(|before| &before.names) {
                let Some(Step::Name(name)) = old.get(*child).map(|node| &node.step) else {
                    continue;
                };
                let at = *places.entry(name).or_insert(names.len());
                match names.get_mut(at) {
                    Some((_, children)) => children.push(*child),
                    None => names.push((name, vec![*child])),
                }
            }
            let mut others: Vec<PathId> = merged.iter().filter_map(|node| node.others).collect();
            let elements: Vec<PathId> = merged.iter().filter_map(|node| node.elements).collect();
            if self.nodes.get(id).is_some_and(|node| node.is_map) || is_map(&names, &old) {
                others.extend(names.drain(..).flat_map(|(_, children)| children));
                if let Some(node) = self.nodes.get_mut(id) {
                    node.is_map = true;
                }
            }
            for (name, children) in names {
                waiting.push_back((self.add_named(id, name), children));
            }
            if !elements.is_empty() {
                let child = self.add(id, Step::Elements);
                waiting.push_back((child, elements));
                if let Some(node) = self.nodes.get_mut(id) {
                    node.elements = Some(child);
                }
            }
            if !others.is_empty() {
                waiting.push_back((self.others(id, false), others));
            }
        }
        moved
    }
}

/// Joins the steps of a path.
pub(super) fn joined<'a>(steps: impl Iterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for step in steps {
        if !path.is_empty() && !step.starts_with('[') {
            path.push('.');
        }
        path.push_str(step);
    }
    path
}

/// Returns whether the members of an object look like those of a map: many, and all of one kind.
fn is_map(names: &[(&str, Vec<PathId>)], nodes: &[PathNode]) -> bool {
    if names.len() > MOST_NAMES {
        return true;
    }
    if names.len() < MAP_OF_CONTAINERS {
        return false;
    }
    let children = names.iter().flat_map(|(_, children)| children);
    let kinds = children.filter_map(|id| nodes.get(*id)).fold(0, |kinds, node| kinds | node.kinds);
    CONTAINERS.contains(&kinds) || (names.len() >= MAP_OF_SCALARS && kinds.count_ones() == 1)
}
