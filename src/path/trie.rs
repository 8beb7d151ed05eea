//! Many paths as one trie, and cursors that walk it along a document.
//!
//! Two ways to walk: [`Trie::member`] and [`Trie::element`] take one exact step (`select`, `root`); a [`Cursor`] follows
//! every path at once, with names that reach through arrays (`exclude`, `retain`; SPEC of both: a name met by an array
//! applies to each of its elements, recursively).

use std::collections::HashMap;

use smallvec::SmallVec;

use super::{Path, Token};

pub(crate) type NodeId = u32;

/// Paths that share their beginnings. Node 0 is where all begin.
#[derive(Clone, Debug)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
    longest: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Every child by its token, in the order of insertion.
    children: Vec<(Token, NodeId)>,
    names: Names,
    /// The children whose names are indices, ascending.
    indices: Vec<(u64, NodeId)>,
    any: Option<NodeId>,
    /// The rules whose paths end here.
    ends: Vec<u32>,
}

/// Whether a name is an index too.
fn is_index(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| super::index(name).is_some())
}

impl Trie {
    /// The trie of `paths`; the rule of a path is its position.
    pub(crate) fn new<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut nodes = vec![Node::default()];
        let mut longest = 0;
        // Children by token while building, so that ten thousand siblings are no quadratic work.
        let mut known = HashMap::<(NodeId, Token), NodeId>::new();
        for (rule, path) in paths.into_iter().enumerate() {
            let mut at: NodeId = 0;
            for token in &path.0 {
                longest = longest.max(token.len());
                let next = nodes.len() as NodeId;
                let child = *known.entry((at, token.clone())).or_insert(next);
                if child == next {
                    nodes.push(Node::default());
                    if let Some(node) = nodes.get_mut(at as usize) {
                        node.children.push((token.clone(), child));
                    }
                }
                at = child;
            }
            if let Some(node) = nodes.get_mut(at as usize) {
                node.ends.push(rule as u32);
            }
        }
        for node in &mut nodes {
            node.seal();
        }
        Self { nodes, longest }
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Bytes of the longest name on any path.
    pub(crate) fn longest_name(&self) -> usize {
        self.longest
    }

    /// Whether no path passes through here or ends here beyond the root.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.iter().all(|node| node.ends.is_empty())
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id as usize)
    }

    pub(crate) fn children(&self, id: NodeId) -> &[(Token, NodeId)] {
        self.node(id).map_or(&[], |node| &node.children)
    }

    pub(crate) fn ends(&self, id: NodeId) -> &[u32] {
        self.node(id).map_or(&[], |node| &node.ends)
    }

    /// The child for a member called `name`, by name alone.
    #[inline]
    pub(crate) fn member(&self, id: NodeId, name: &[u8]) -> Option<NodeId> {
        self.node(id)?.names.get(name)
    }

    /// The names of the children of a node.
    #[inline]
    pub(crate) fn names(&self, id: NodeId) -> Option<&Names> {
        Some(&self.node(id)?.names)
    }

    /// The child for the element at `index`, by index alone.
    pub(crate) fn element(&self, id: NodeId, index: u64) -> Option<NodeId> {
        let indices = &self.node(id)?.indices;
        let at = indices.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        indices.get(at).map(|(_, child)| *child)
    }

    /// A cursor where all paths begin.
    pub(crate) fn start(&self) -> Cursor {
        let mut cursor = Cursor::default();
        cursor.enter(self, 0);
        cursor
    }
}

impl Node {
    fn seal(&mut self) {
        let mut names = Vec::new();
        for (token, child) in &self.children {
            match token {
                Token::Any => self.any = Some(*child),
                Token::Name(name) => {
                    names.push((name.clone(), *child));
                    if let Some(index) = token.index() {
                        self.indices.push((index, *child));
                    }
                }
            }
        }
        self.indices.sort_unstable();
        self.names = Names::new(names);
    }
}

/// All the places of a trie at which one value of a document is.
///
/// Usually one; more where an index or a wildcard and a name both lead to a value. Empty: no path goes on from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    places: SmallVec<[Place; 2]>,
    /// A path ends at this value.
    hit: bool,
}

/// Places that are compared with one another.
const FEW: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    node: NodeId,
    /// Reached through an array: its names still apply, an index does not apply twice.
    names_only: bool,
}

impl Cursor {
    /// A path ends at this value.
    #[inline]
    pub(crate) fn is_hit(&self) -> bool {
        self.hit
    }

    /// No path goes on below this value.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.places.is_empty()
    }

    /// The cursor for a member called `name`; `None` stands for a name that no path can spell.
    #[inline]
    pub(crate) fn member(&self, trie: &Trie, name: Option<&[u8]>) -> Self {
        let mut next = Self::default();
        for place in &self.places {
            let Some(node) = trie.node(place.node) else { continue };
            if let Some(name) = name
                && let Some(child) = node.names.get(name)
                && (!place.names_only || !is_index(name))
            {
                next.enter(trie, child);
            }
            if let Some(child) = node.any
                && !place.names_only
            {
                next.enter(trie, child);
            }
        }
        next.tidy()
    }

    /// The names of all members that are on a path, if one table has them.
    #[inline]
    pub(crate) fn names<'a>(&self, trie: &'a Trie) -> Option<&'a Names> {
        let [place] = self.places.as_slice() else { return None };
        let node = trie.node(place.node)?;
        node.any.is_none().then_some(&node.names)
    }

    /// The cursor for the element at `index`.
    pub(crate) fn element(&self, trie: &Trie, index: u64) -> Self {
        let mut next = Self::default();
        for place in &self.places {
            let Some(node) = trie.node(place.node) else { continue };
            if !place.names_only {
                if let Some(child) = trie.element(place.node, index) {
                    next.enter(trie, child);
                }
                if let Some(child) = node.any {
                    next.enter(trie, child);
                }
            }
            if node.children.len() > node.indices.len() + usize::from(node.any.is_some()) {
                next.add(Place { node: place.node, names_only: true });
            }
        }
        next.tidy()
    }

    fn enter(&mut self, trie: &Trie, node: NodeId) {
        self.hit |= !trie.ends(node).is_empty();
        if !trie.children(node).is_empty() {
            self.add(Place { node, names_only: false });
        }
    }

    fn add(&mut self, place: Place) {
        // Few are compared as they come, many once at the end.
        if self.places.len() >= FEW || !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    /// The cursor without places that came twice.
    #[inline]
    fn tidy(mut self) -> Self {
        if self.places.len() > FEW {
            self.places.sort_unstable();
            self.places.dedup();
        }
        self
    }
}

/// The names of a node's children, looked up by the bytes of a key.
///
/// Open addressing over a mark of eight bytes, made of the first eight and the length: nearly every key that no child
/// has is told by one comparison with one slot, in one branch that hardly ever goes the other way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    slots: Vec<Slot>,
    names: Vec<(Box<str>, NodeId)>,
    shift: u32,
    /// All names, if too many of them have the same mark. Then `more` is all that the slots say.
    crowd: Option<HashMap<Box<[u8]>, NodeId>>,
}

/// Slots that one look-up may visit.
const LONGEST_CHAIN: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Slot {
    mark: u64,
    /// Position in `names`, plus one; 0 is a free slot.
    name: u32,
    /// A name that belongs here or before stands further on.
    more: bool,
}

impl Default for Slot {
    fn default() -> Self {
        // No name has this mark, for no text has such a byte.
        Self { mark: u64::MAX, name: 0, more: false }
    }
}

impl Names {
    fn new(names: Vec<(Box<str>, NodeId)>) -> Self {
        let size = (names.len() * 8).next_power_of_two().max(2);
        let mut table = Self {
            slots: vec![Slot::default(); size],
            shift: u64::BITS - size.trailing_zeros(),
            names: Vec::new(),
            crowd: None,
        };
        if !names.iter().zip(1..).all(|((name, _), number)| table.place(name.as_bytes(), number)) {
            table.slots.fill(Slot::default());
            for (name, _) in &names {
                let home = table.home(mark(name.as_bytes()));
                if let Some(slot) = table.slots.get_mut(home) {
                    slot.more = true;
                }
            }
            let all = names.iter().map(|(name, child)| (name.as_bytes().into(), *child));
            table.crowd = Some(all.collect());
        }
        table.names = names;
        table
    }

    /// Puts a name into a free slot; false if that is too far from its home.
    fn place(&mut self, name: &[u8], number: u32) -> bool {
        let mark = mark(name);
        let mut at = self.home(mark);
        for _ in 0..LONGEST_CHAIN {
            let next = (at + 1) % self.slots.len();
            let Some(slot) = self.slots.get_mut(at) else { return false };
            if slot.name == 0 {
                *slot = Slot { mark, name: number, more: slot.more };
                return true;
            }
            slot.more = true;
            at = next;
        }
        false
    }

    #[inline(always)]
    fn home(&self, mark: u64) -> usize {
        (mark.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// The child called `key`.
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Option<NodeId> {
        self.find(mark(key), key)
    }

    /// The child called by the `len` bytes of `text` at `from`.
    #[inline(always)]
    pub(crate) fn get_in(&self, text: &[u8], from: usize, len: usize) -> Option<NodeId> {
        let bytes = text.get(from..).and_then(<[u8]>::first_chunk::<8>);
        // Eight bytes are there, even if the key has fewer, but for the last keys of a text.
        let Some(bytes) = bytes else { return self.get(text.get(from..from + len)?) };
        let mark = mark_of(u64::from_le_bytes(*bytes), len);
        let slot = self.slots.get(self.home(mark))?;
        if (slot.mark != mark) & !slot.more {
            return None;
        }
        let key = text.get(from..from.wrapping_add(len))?;
        match self.names.get((slot.name as usize).wrapping_sub(1)) {
            Some((name, child)) if slot.mark == mark && is_same(name.as_bytes(), key) => {
                Some(*child)
            }
            _ => self.find(mark, key),
        }
    }

    #[inline(never)]
    fn find(&self, mark: u64, key: &[u8]) -> Option<NodeId> {
        if let Some(crowd) = &self.crowd {
            return crowd.get(key).copied();
        }
        let mut at = self.home(mark);
        loop {
            let slot = self.slots.get(at)?;
            if slot.mark == mark && slot.name != 0 {
                let (name, child) = self.names.get(slot.name as usize - 1)?;
                if is_same(name.as_bytes(), key) {
                    return Some(*child);
                }
            }
            if !slot.more {
                return None;
            }
            at = (at + 1) % self.slots.len();
        }
    }
}

/// Whether two names are the same, given that their marks are: their lengths and first eight bytes.
#[inline(always)]
fn is_same(name: &[u8], key: &[u8]) -> bool {
    // Up to sixteen bytes the last eight decide: no loop, no call.
    match (name.last_chunk::<8>(), key.last_chunk::<8>()) {
        (Some(last), Some(end)) if key.len() <= 16 && name.len() == key.len() => last == end,
        _ => name == key,
    }
}

/// The mark of a key of `len` bytes, of which `bytes` has the first eight; what it has behind a shorter key is cut.
#[inline(always)]
fn mark_of(bytes: u64, len: usize) -> u64 {
    // Neither a branch nor a shift that depends on the length.
    const KEEP: [u64; 9] = [
        0,
        0xFF,
        0xFFFF,
        0xFF_FFFF,
        0xFFFF_FFFF,
        0xFF_FFFF_FFFF,
        0xFFFF_FFFF_FFFF,
        0xFF_FFFF_FFFF_FFFF,
        u64::MAX,
    ];
    let keep = KEEP.get(len.min(8)).copied().unwrap_or(u64::MAX);
    bytes & keep ^ (len as u64) << 56
}

fn mark(key: &[u8]) -> u64 {
    let bytes = match key.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => key.iter().rev().fold(0, |head, byte| head << 8 | u64::from(*byte)),
    };
    mark_of(bytes, key.len())
}

#[cfg(test)]
mod tests {
    use super::{Names, Trie, mark, mark_of};
    use crate::path::Path;

    fn trie(paths: &[&str]) -> Trie {
        let paths: Vec<_> = paths.iter().map(|path| Path::parse(path).unwrap()).collect();
        Trie::new(&paths)
    }

    #[test]
    fn names_are_found_and_others_are_not() {
        let names: Vec<String> =
            (0..500).map(|n| format!("{}{n}", "abcdefghijkl".repeat(n % 3))).collect();
        let table = Names::new(
            names.iter().enumerate().map(|(n, name)| (name.as_str().into(), n as u32)).collect(),
        );
        for (n, name) in names.iter().enumerate() {
            assert_eq!(table.get(name.as_bytes()), Some(n as u32));
            assert_eq!(table.get(format!("{name}x").as_bytes()), None);
            for behind in ["", "\":1", "\":\"0123456789\""] {
                let text = format!("{{\"{name}{behind}");
                assert_eq!(table.get_in(text.as_bytes(), 2, name.len()), Some(n as u32));
                assert_eq!(
                    table.get_in(text.as_bytes(), 2, name.len() - 1),
                    table.get(&name.as_bytes()[..name.len() - 1])
                );
            }
        }
        let crowd: Vec<String> = (0..2000).map(|n| format!("customer_{n:05}")).collect();
        let table = Names::new(
            crowd.iter().enumerate().map(|(n, name)| (name.as_str().into(), n as u32)).collect(),
        );
        assert!(table.crowd.is_some(), "the same first bytes and lengths");
        for (n, name) in crowd.iter().enumerate() {
            assert_eq!(table.get(name.as_bytes()), Some(n as u32));
            let text = format!("{name}\":\"{name}");
            assert_eq!(table.get_in(text.as_bytes(), 0, name.len()), Some(n as u32));
            assert_eq!(table.get_in(text.as_bytes(), 0, name.len() - 1), None);
        }
        assert_eq!(table.get(b""), None);
        assert_eq!(Names::new(vec![("".into(), 7)]).get(b""), Some(7));
        assert_eq!(Names::new(vec![("a\0".into(), 7)]).get(b"a"), None);
    }

    #[test]
    fn a_mark_does_not_depend_on_what_follows_the_key() {
        let text = b"abcdefghij";
        for len in 0..=text.len() {
            for behind in [0, 0x0101_0101_0101_0101, u64::MAX] {
                let mut bytes = u64::to_le_bytes(behind);
                let short = len.min(8);
                bytes[..short].copy_from_slice(&text[..short]);
                assert_eq!(mark_of(u64::from_le_bytes(bytes), len), mark(&text[..len]), "{len}");
            }
        }
    }

    #[test]
    fn names_reach_through_arrays() {
        let trie = trie(&["items.id", "items.tags.name"]);
        let items = trie.start().member(&trie, Some(b"items"));
        let nested = items.element(&trie, 3).element(&trie, 0);
        assert!(nested.member(&trie, Some(b"id")).is_hit());
        assert!(!nested.member(&trie, Some(b"name")).is_hit());
        assert!(nested.member(&trie, None).is_dead());
    }

    #[test]
    fn what_is_no_index_is_a_name() {
        for name in ["", "99999999999999999999", "01"] {
            let trie = trie(&[&format!("/a/{name}")]);
            let a = trie.start().member(&trie, Some(b"a"));
            assert!(a.element(&trie, 1).member(&trie, Some(name.as_bytes())).is_hit(), "{name:?}");
        }
    }

    #[test]
    fn many_places_are_each_there_once() {
        // Every way through twelve levels of a name or a wildcard ends at another node.
        let paths: Vec<String> = (0..1 << 10)
            .map(|ways| {
                let level = |level| if ways >> level & 1 == 0 { "a" } else { "*" };
                (0..10).map(level).collect::<Vec<_>>().join(".")
            })
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let trie = trie(&paths);
        let mut cursor = trie.start();
        for depth in 1..10 {
            cursor = cursor.member(&trie, Some(b"a"));
            assert_eq!(cursor.places.len(), 1 << depth);
        }
        assert!(cursor.member(&trie, Some(b"b")).is_hit());
    }

    #[test]
    fn an_index_applies_to_one_array_only() {
        let trie = trie(&["a[0]", "a.b"]);
        let a = trie.start().member(&trie, Some(b"a"));
        assert!(a.element(&trie, 0).is_hit());
        assert!(!a.element(&trie, 1).is_hit());
        assert!(!a.element(&trie, 1).element(&trie, 0).is_hit());
        assert!(!a.element(&trie, 1).member(&trie, Some(b"0")).is_hit());
        assert!(a.element(&trie, 1).member(&trie, Some(b"b")).is_hit());
        assert!(a.member(&trie, Some(b"0")).is_hit());
    }

    #[test]
    fn a_wildcard_takes_elements_and_members() {
        let trie = trie(&["a[].x", "*.y"]);
        let a = trie.start().member(&trie, Some(b"a"));
        assert!(a.element(&trie, 7).member(&trie, Some(b"x")).is_hit());
        assert!(a.member(&trie, Some(b"k")).member(&trie, Some(b"x")).is_hit());
        assert!(a.member(&trie, Some(b"y")).is_hit());
        assert!(a.element(&trie, 1).member(&trie, Some(b"y")).is_hit());
    }
}
