//! The members of the items of one array, by path.

use std::collections::hash_map::Entry;

use tamis_json::strings::StringEscaper;
use tamis_json::test_work::{WorkKind, count, words};

use super::template::Template;
use crate::hash::{HashedMap, hash, mix};
use crate::names::{is_plain, is_reserved};
use crate::reader::{Span, Token, push, unescape};

/// No node.
pub(crate) const NONE: u32 = u32::MAX;
/// The node of the item itself.
pub(crate) const ITEM: u32 = 0;
/// The most paths. Members beyond stay in the items.
const PATHS: usize = 10_000;
/// The longest string that a template makes, or uses.
const LONGEST_TEXT: usize = 2 << 10;
/// The most items that templates are derived from.
pub(super) const SAMPLES: usize = 8;

/// A path through objects.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) parent: u32,
    pub(crate) first: u32,
    last: u32,
    pub(crate) next: u32,
    /// The name as the first item spells it, and unescaped.
    pub(crate) spelled: Span,
    pub(crate) name: Span,
    /// A template may use the path.
    pub(super) plain: bool,
    /// The number of the item that had the member last, counted from 1, and of those that had it.
    seen: u32,
    pub(super) items: u32,
    /// The value of all items so far, as spelled.
    pub(super) constant: Option<Box<[u8]>>,
    /// The length of all values that are strings.
    pub(super) bytes: u64,
    /// The text of the value in the current item is read.
    pub(super) wanted: bool,
    /// The text, in the item of a number.
    pub(super) text: Span,
    pub(super) text_of: u32,
    /// The last item in which a template may make the value.
    pub(super) string_of: u32,
    /// The texts of the first items, and how many of the first items have one, or one that a template may make.
    pub(super) samples: [Span; SAMPLES],
    pub(super) texts: u32,
    pub(super) strings: u32,
    /// In the order in which they are preferred.
    pub(super) templates: Vec<Template>,
}

/// A member of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Path(u32),
    /// It has no path.
    Beyond,
    /// The object has it twice.
    Repeated,
}

/// The paths.
#[derive(Debug)]
pub(crate) struct Trie {
    pub(crate) nodes: Vec<Node>,
    pub(crate) names: Vec<u8>,
    by_name: HashedMap<u32>,
    /// Texts of the first items, and then of the current one.
    pub(super) texts: Vec<u8>,
    kept_texts: usize,
    /// The number of the current item.
    pub(super) item: u32,
    /// A member has a name that factored documents use.
    pub(super) reserved: bool,
    /// A name has a lone surrogate, which has more than one spelling.
    pub(super) has_lone: bool,
    scratch: Vec<u8>,
    escaper: StringEscaper,
    /// The bytes of all constants, and the most that they may have.
    held: usize,
    most_held: usize,
}

impl Trie {
    pub(super) fn new(most_held: usize) -> Self {
        let mut trie = Self {
            nodes: Vec::new(),
            names: Vec::new(),
            by_name: HashedMap::default(),
            texts: Vec::new(),
            kept_texts: 0,
            item: 0,
            reserved: false,
            has_lone: false,
            scratch: Vec::new(),
            escaper: StringEscaper::default(),
            held: 0,
            most_held,
        };
        trie.add(NONE, Span::default(), Span::default());
        trie
    }

    #[inline]
    pub(crate) fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    #[inline]
    pub(super) fn node_mut(&mut self, node: u32) -> Option<&mut Node> {
        self.nodes.get_mut(node as usize)
    }

    pub(super) fn begin_item(&mut self) {
        self.item += 1;
        if self.item as usize <= SAMPLES {
            self.kept_texts = self.texts.len();
        }
        self.texts.truncate(self.kept_texts);
    }

    /// Keeps the texts of the current item.
    pub(super) fn keep_texts(&mut self) {
        self.kept_texts = self.texts.len();
    }

    /// Returns the member of an object with a name as spelled. `hint`: the member that is probable.
    #[inline]
    pub(crate) fn find(&self, parent: u32, hint: u32, name: &[u8], escaped: bool) -> u32 {
        if let Some(node) = self.node(hint)
            && node.spelled.of(&self.names) == name
        {
            return hint;
        }
        count(WorkKind::Names, 1);
        let mut text = Vec::new();
        let name = if escaped {
            unescape(name, &mut text);
            &text
        } else {
            name
        };
        let node = self.by_name.get(&mix(hash(name), u64::from(parent))).copied();
        let is_same = |node: &u32| {
            let node = self.node(*node);
            node.is_some_and(|node| node.parent == parent && node.name.of(&self.names) == name)
        };
        node.filter(is_same).unwrap_or(NONE)
    }

    /// Adds a member of an item, and returns its node.
    #[inline]
    pub(super) fn member(&mut self, parent: u32, hint: u32, name: &[u8], escaped: bool) -> Member {
        let mut found = self.find(parent, hint, name, escaped);
        if found == NONE {
            found = self.create(parent, name, escaped);
        }
        let item = self.item;
        let Some(node) = self.node_mut(found) else { return Member::Beyond };
        if node.seen == item {
            return Member::Repeated;
        }
        node.seen = item;
        node.items += 1;
        Member::Path(found)
    }

    #[cold]
    fn create(&mut self, parent: u32, spelled: &[u8], escaped: bool) -> u32 {
        self.scratch.clear();
        if escaped {
            self.has_lone |= !unescape(spelled, &mut self.scratch);
        } else {
            self.scratch.extend_from_slice(spelled);
        }
        self.reserved |= is_reserved(&self.scratch);
        if self.nodes.len() > PATHS {
            return NONE;
        }
        let key = mix(hash(&self.scratch), u64::from(parent));
        let Entry::Vacant(slot) = self.by_name.entry(key) else { return NONE };
        slot.insert(u32::try_from(self.nodes.len()).unwrap_or(NONE));
        let spelled = push(&mut self.names, spelled);
        let name = if escaped { push(&mut self.names, &self.scratch) } else { spelled };
        self.add(parent, spelled, name)
    }

    fn add(&mut self, parent: u32, spelled: Span, name: Span) -> u32 {
        let id = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let around = self.node(parent);
        let plain = around.is_none_or(|around| around.plain && is_plain(name.of(&self.names)));
        let last = around.map_or(NONE, |around| around.last);
        self.nodes.push(Node {
            parent,
            first: NONE,
            last: NONE,
            next: NONE,
            spelled,
            name,
            plain,
            seen: 0,
            items: 0,
            constant: None,
            bytes: 0,
            wanted: true,
            text: Span::default(),
            text_of: 0,
            string_of: 0,
            samples: [Span::default(); SAMPLES],
            texts: 0,
            strings: 0,
            templates: Vec::new(),
        });
        if let Some(last) = self.node_mut(last) {
            last.next = id;
        }
        if let Some(around) = self.node_mut(parent) {
            if around.first == NONE {
                around.first = id;
            }
            around.last = id;
        }
        id
    }

    /// Sets the constant of a member of the first item.
    pub(super) fn set_constant(&mut self, node: u32, value: &[u8]) {
        if self.held.saturating_add(value.len()) > self.most_held {
            return;
        }
        count(WorkKind::Tree, words(value.len()));
        self.held += value.len();
        if let Some(node) = self.node_mut(node) {
            node.constant = Some(value.into());
        }
    }

    /// Takes the constant of a member.
    #[inline]
    pub(super) fn take_constant(&mut self, node: u32) -> Option<Box<[u8]>> {
        self.node_mut(node)?.constant.take()
    }

    /// Returns the constant of a member, which the current item has again.
    #[inline]
    pub(super) fn constant_again(&mut self, node: u32, constant: Box<[u8]>) {
        let item = self.item;
        let Some(node) = self.node_mut(node) else { return };
        node.bytes += constant.len() as u64;
        node.constant = Some(constant);
        if node.wanted && node.texts > 0 {
            // The text of the first item.
            let text = node.samples.first().copied().unwrap_or_default();
            let is_string = node.strings > 0;
            Self::record(node, text, is_string, item);
        }
    }

    /// Forgets a constant that an item does not have.
    #[inline]
    pub(super) fn forget(&mut self, constant: &[u8]) {
        self.held = self.held.saturating_sub(constant.len());
    }

    #[inline]
    fn record(node: &mut Node, text: Span, is_string: bool, item: u32) {
        node.text = text;
        node.text_of = item;
        node.string_of = if is_string { item } else { 0 };
        // Only the first items that follow each other from the first one on are samples.
        let index = item as usize - 1;
        if node.texts as usize == index
            && let Some(sample) = node.samples.get_mut(index)
        {
            *sample = text;
            node.texts += 1;
            node.strings += u32::from(is_string && node.strings as usize == index);
        }
    }

    /// Reads the text of a scalar value of the current item.
    #[inline]
    pub(super) fn scalar(&mut self, id: u32, kind: Token, spelled: &[u8], escaped: bool) {
        let item = self.item;
        let Some(node) = self.nodes.get_mut(id as usize) else { return };
        node.bytes += spelled.len() as u64;
        if !node.wanted || spelled.len() > LONGEST_TEXT + 2 {
            return;
        }
        match kind {
            Token::Number => {
                let text = push(&mut self.texts, spelled);
                Self::record(node, text, false, item);
            }
            Token::String => {
                let spelled = spelled.get(1..spelled.len() - 1).unwrap_or_default();
                if !escaped {
                    let text = push(&mut self.texts, spelled);
                    return Self::record(node, text, true, item);
                }
                let start = self.texts.len();
                if unescape(spelled, &mut self.texts) {
                    let text = Span { start, end: self.texts.len() };
                    self.escaper.out.clear();
                    self.escaper.spell_text(text.of(&self.texts));
                    Self::record(node, text, self.escaper.out == spelled, item);
                }
            }
            _ => {}
        }
    }

    /// Appends a path, as in a template.
    pub(super) fn write_path(&self, node: u32, out: &mut Vec<u8>) {
        let mut path = Vec::new();
        let mut at = node;
        while at != ITEM
            && let Some(node) = self.node(at)
        {
            path.push(node.name);
            at = node.parent;
        }
        for (index, name) in path.iter().rev().enumerate() {
            if index > 0 {
                out.push(b'.');
            }
            out.extend_from_slice(name.of(&self.names));
        }
    }
}
