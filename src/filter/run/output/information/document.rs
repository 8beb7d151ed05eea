//! [`ValueList`]: the values of a document in the parts that a choice keeps or leaves out.
//!
//! ```text
//! {"id":7,"state":"open","body":"a long text …","labels":[…]}
//!  └─ Part (two members) ┘ └─ Text ─ Segment, Segment … ┘ └─ Array ─ its children, or a Part if it is short ┘
//! ```
//!
//! The list has each container before what is in it, so a container and its contents are one range. Short containers are one
//! part, and so are short scalars that follow each other: a document of `n` bytes has fewer than `n / 16` entries, except for
//! objects with many short names of their own. Nothing recurses.

use std::ops::Range;

use tamis_json::key::RawKey;
use tamis_json::test_work::{WorkKind, count, words};
use tamis_json::{ValueKind, ValueSlot};

use super::super::omission::MarkNames;
use super::segments;
use crate::filter::run::root_path::{RootPath, RootStep, RootTracker};

/// How small parts are, in bytes. With little room they are smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartSizes {
    /// A container with at most this many bytes, its key included, is one part.
    container: u64,
    /// Scalars that follow each other are one part if they have at most this many bytes together.
    scalars: u64,
    /// A string with more bytes is divided, into segments of this size.
    string: usize,
    segment: usize,
}

impl PartSizes {
    /// Returns the sizes for a choice that has about `room` bytes.
    pub(super) fn of(room: u64) -> Self {
        let small = usize::try_from(room / 8).unwrap_or(usize::MAX);
        Self {
            container: (room / 10).min(160),
            scalars: (room / 16).min(32),
            string: small.saturating_mul(2).clamp(24, 240),
            segment: small.clamp(12, 160),
        }
    }
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Object,
    Array,
    /// A long string, whose segments follow.
    Text,
    /// A part of a long string.
    Segment,
    /// Anything that is kept or left out as a whole.
    Part,
}

/// Facts about an entry, as bits.
pub(super) mod fact {
    /// A member whose name says what it is about: `id`, `name`, `url`.
    pub(in super::super) const IDENTITY: u8 = 1;
    /// A member has the name of a mark.
    pub(in super::super) const NAMED: u8 = 2;
    /// The payload, or a container around it.
    pub(in super::super) const ON_PATH: u8 = 4;
    /// The payload, an array.
    pub(in super::super) const PAYLOAD: u8 = 8;
    /// The first or the last segment of a string.
    pub(in super::super) const END: u8 = 16;
    /// The text of an address, or one without spaces: data rather than words.
    pub(in super::super) const DATA: u8 = 32;
    /// A segment with a line that reports a failure, or an end of a text with such lines.
    pub(in super::super) const FAILURE: u8 = 64;
    /// A word of the call is in it.
    pub(in super::super) const ASKED: u8 = 128;
}

/// One entry of the list. Offsets are those of the document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Where it begins: at its key, if it is a member.
    pub(super) start: u32,
    pub(super) value: u32,
    pub(super) end: u32,
    /// The entry of the container, and the first entry after the contents of this one.
    pub(super) parent: u32,
    pub(super) next: u32,
    /// The number of its first child in the container, and how many children of the container it has.
    pub(super) first: u32,
    pub(super) count: u32,
    /// The number of its own children.
    pub(super) children: u32,
    pub(super) kind: EntryKind,
    pub(super) facts: u8,
}

impl Entry {
    pub(super) fn has(&self, fact: u8) -> bool {
        self.facts & fact != 0
    }

    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.end - self.start)
    }

    /// Whether it is kept or left out as a whole.
    pub(super) fn is_leaf(&self) -> bool {
        matches!(self.kind, EntryKind::Part | EntryKind::Segment)
    }

    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A document and the list of its values.
#[derive(Debug)]
pub(super) struct ValueList {
    pub(super) text: Vec<u8>,
    pub(super) entries: Vec<Entry>,
    /// The entry of the payload, if it is an array.
    pub(super) payload: Option<u32>,
    /// The bytes of long strings.
    pub(super) long_bytes: u64,
}

/// A container that is open.
#[derive(Clone, Copy, Debug)]
struct OpenContainer {
    entry: u32,
    is_object: bool,
    children: u32,
    /// The last child, if it is a part of short scalars.
    scalars: Option<u32>,
}

struct Reader<'a> {
    sizes: PartSizes,
    text: &'a [u8],
    entries: Vec<Entry>,
    payload: Option<u32>,
    long_bytes: u64,
    open: Vec<OpenContainer>,
    place: RootTracker,
}

impl ValueList {
    /// Reads a valid and minified document of less than 4 GiB.
    pub(super) fn read(text: Vec<u8>, place: &RootPath, sizes: PartSizes) -> Self {
        let mut reader = Reader {
            sizes,
            text: &text,
            entries: Vec::new(),
            payload: None,
            long_bytes: 0,
            open: Vec::new(),
            place: RootTracker::new(place.clone()),
        };
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            count(WorkKind::Tail, 1);
            at = match byte {
                b',' => at + 1,
                b'}' | b']' => reader.close(at + 1),
                _ => reader.value(at),
            };
        }
        let Reader { entries, payload, long_bytes, .. } = reader;
        Self { text, entries, payload, long_bytes }
    }

    pub(super) fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)
    }

    /// Returns the entries of the children of a container.
    pub(super) fn children<'b>(
        &'b self,
        number: u32,
        container: &Entry,
    ) -> impl Iterator<Item = u32> + 'b {
        let end = container.next;
        let mut at = number + 1;
        std::iter::from_fn(move || {
            let child = self.entry(at).filter(|_| at < end)?;
            let number = at;
            at = child.next.max(at + 1);
            Some(number)
        })
    }

    /// Returns the text of an entry, with its key.
    pub(super) fn spelled(&self, entry: &Entry) -> &[u8] {
        self.text.get(entry.range()).unwrap_or_default()
    }

    /// Returns the place of an entry as a JSON Pointer.
    pub(super) fn pointer(&self, number: u32) -> String {
        let mut tokens = Vec::new();
        let mut at = number;
        while let Some(entry) = self.entry(at).filter(|_| at > 0) {
            let is_member =
                self.entry(entry.parent).is_some_and(|outer| outer.kind == EntryKind::Object);
            tokens.push(if is_member {
                let key = entry.start as usize + 1..(entry.value as usize).saturating_sub(2);
                let key = tamis_json::key::unescape_any(self.text.get(key).unwrap_or_default()).0;
                String::from_utf8_lossy(&key).replace('~', "~0").replace('/', "~1")
            } else {
                entry.first.to_string()
            });
            at = entry.parent;
        }
        tokens.iter().rev().map(|token| format!("/{token}")).collect()
    }

    /// Returns the length of a part of a string without its escapes.
    pub(super) fn unescaped_bytes(&self, from: u64, to: u64) -> u64 {
        let range = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0);
        let text = self.text.get(range).unwrap_or_default();
        count(WorkKind::Tail, words(text.len()));
        tamis_json::key::unescape_any(text).0.len() as u64
    }

    /// Adds the names in an entry to those that a mark cannot have.
    pub(super) fn add_names(&self, entry: &Entry, names: &mut MarkNames) {
        if entry.has(fact::NAMED)
            && let Some(b'"') = self.text.get(entry.start as usize)
        {
            let end = string_end(&self.text, entry.start as usize);
            names.add(self.text.get(entry.start as usize + 1..end - 1).unwrap_or_default());
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads the child that begins here: all of it, or the bracket that opens it. Returns where the rest begins.
    fn value(&mut self, start: usize) -> usize {
        let text = self.text;
        let is_member = self.open.last().is_some_and(|open| open.is_object);
        let (mut value, mut facts) = (start, 0);
        let mut key: &'a [u8] = &[];
        if is_member {
            let end = string_end(text, start);
            key = text.get(start + 1..end.saturating_sub(1)).unwrap_or_default();
            facts = facts_of_key(key);
            value = end + 1;
        }
        let first = text.get(value).copied().unwrap_or_default();
        let kind = match first {
            b'{' => ValueKind::Object,
            b'[' => ValueKind::Array,
            b'"' => ValueKind::String,
            _ => ValueKind::Number,
        };
        let slot = match self.open.last() {
            None => ValueSlot::Top,
            Some(_) if is_member => ValueSlot::Member(RawKey::new(key, false)),
            Some(open) => ValueSlot::Element(u64::from(open.children)),
        };
        // Only children of containers on the path are looked at.
        let is_looked_at = self.parent_has(fact::ON_PATH) && !self.parent_has(fact::PAYLOAD);
        let step = match is_looked_at || self.open.is_empty() {
            true => self.place.step(slot, kind),
            false => RootStep::Outside,
        };
        let entry = Entry {
            start: start as u32,
            value: value as u32,
            end: 0,
            parent: self.open.last().map_or(0, |open| open.entry),
            next: 0,
            first: self.open.last().map_or(0, |open| open.children),
            count: 1,
            children: 0,
            kind: EntryKind::Part,
            facts,
        };
        if let Some(open) = self.open.last_mut() {
            open.children += 1;
        }
        match kind {
            ValueKind::Object => self.enter(entry, EntryKind::Object, step),
            ValueKind::Array => self.enter(entry, EntryKind::Array, step),
            ValueKind::String => self.string(entry),
            _ => {
                let rest = text.get(value..).unwrap_or_default();
                let end = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']'));
                let end = value + end.unwrap_or(rest.len()).max(1);
                count(WorkKind::Tail, words(end - value));
                self.scalar(Entry { end: end as u32, ..entry });
                end
            }
        }
    }

    fn parent_has(&self, wanted: u8) -> bool {
        let entry = self.open.last().and_then(|open| self.entries.get(open.entry as usize));
        entry.is_some_and(|entry| entry.has(wanted))
    }

    fn enter(&mut self, entry: Entry, kind: EntryKind, step: RootStep) -> usize {
        let number = self.entries.len() as u32;
        let mut facts = entry.facts;
        if step != RootStep::Outside {
            facts |= fact::ON_PATH;
            self.place.enter(if kind == EntryKind::Object {
                ValueKind::Object
            } else {
                ValueKind::Array
            });
        }
        if step == RootStep::Items {
            facts |= fact::PAYLOAD;
            self.payload = Some(number);
        }
        self.entries.push(Entry { kind, facts, ..entry });
        let is_object = kind == EntryKind::Object;
        self.open.push(OpenContainer { entry: number, is_object, children: 0, scalars: None });
        entry.value as usize + 1
    }

    /// Ends the innermost container.
    fn close(&mut self, end: usize) -> usize {
        let Some(open) = self.open.pop() else { return end };
        let next = self.entries.len() as u32;
        let Some(entry) = self.entries.get_mut(open.entry as usize) else { return end };
        (entry.end, entry.next, entry.children) = (end as u32, next, open.children);
        let is_on_path = entry.has(fact::ON_PATH);
        if is_on_path {
            self.place.leave();
        }
        let is_short = !is_on_path && entry.bytes() <= self.sizes.container;
        if open.children == 0 || is_short && open.entry > 0 {
            entry.kind = EntryKind::Part;
            entry.next = open.entry + 1;
            self.entries.truncate(open.entry as usize + 1);
        }
        if let Some(outer) = self.open.last_mut() {
            outer.scalars = None;
        }
        end
    }

    fn string(&mut self, entry: Entry) -> usize {
        let (text, value) = (self.text, entry.value as usize);
        let end = string_end(text, value);
        let content = text.get(value + 1..end.saturating_sub(1)).unwrap_or_default();
        let is_data = content.starts_with(b"http") || content.starts_with(b"data:");
        let entry = Entry {
            end: end as u32,
            facts: entry.facts | if is_data { fact::DATA } else { 0 },
            ..entry
        };
        if content.len() <= self.sizes.string {
            self.scalar(entry);
            return end;
        }
        self.long_bytes += entry.bytes();
        let number = self.entries.len() as u32;
        self.entries.push(Entry { kind: EntryKind::Text, ..entry });
        let mut children = 0;
        segments::divide(content, self.sizes.segment, &mut |segment: Range<usize>| {
            let is_end = segment.start == 0 || segment.end == content.len();
            let next = self.entries.len() as u32 + 1;
            let start = (value + 1 + segment.start) as u32;
            self.entries.push(Entry {
                start,
                value: start,
                end: (value + 1 + segment.end) as u32,
                parent: number,
                next,
                first: children,
                count: 1,
                children: 0,
                kind: EntryKind::Segment,
                facts: (entry.facts & fact::DATA) | if is_end { fact::END } else { 0 },
            });
            children += 1;
        });
        let next = self.entries.len() as u32;
        if let Some(text) = self.entries.get_mut(number as usize) {
            (text.next, text.children) = (next, children);
        }
        if let Some(open) = self.open.last_mut() {
            open.scalars = None;
        }
        end
    }

    /// Adds a short scalar: to the scalars before it, if they are short together.
    fn scalar(&mut self, entry: Entry) {
        let number = self.entries.len() as u32;
        let may_join = !entry.has(fact::NAMED | fact::DATA);
        let before = self.open.last().and_then(|open| open.scalars).filter(|_| may_join);
        if let Some(part) = before.and_then(|before| self.entries.get_mut(before as usize))
            && u64::from(entry.end - part.start) <= self.sizes.scalars
        {
            part.end = entry.end;
            part.count += 1;
            part.facts |= entry.facts;
            return;
        }
        self.entries.push(Entry { next: number + 1, ..entry });
        if let Some(open) = self.open.last_mut() {
            open.scalars = may_join.then_some(number);
        }
    }
}

/// Returns the end of the string that begins at an offset, after its closing quote.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        count(WorkKind::Tail, 1 + words(found));
        at += found;
        if text.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

/// Names of members by which people refer to a thing.
const IDENTITIES: &[&[u8]] = &[
    b"full_name",
    b"id",
    b"identifier",
    b"iid",
    b"key",
    b"name",
    b"number",
    b"path",
    b"sha",
    b"slug",
    b"title",
    b"url",
    b"uuid",
];

fn facts_of_key(key: &[u8]) -> u8 {
    let is_identity = || IDENTITIES.iter().any(|name| name.eq_ignore_ascii_case(key));
    match key.first() {
        // The name of a mark, perhaps with escapes.
        Some(b'_' | b'\\') => fact::NAMED,
        _ if key.len() < 12 && is_identity() => fact::IDENTITY,
        _ => 0,
    }
}
