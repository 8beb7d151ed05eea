//! The members of one item of a factored array.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use tamis_json::strings::StringEscaper;

use super::tokens::Tokens;
use super::{Fault, name_of};
use crate::hash::HashedMap;
use crate::names::is_reserved;
use crate::reader::{Span, Token, push, unescape};

/// The bytes of the longest string that a template may make. Templates of the library make up to 2 KiB.
const LONGEST: usize = 16 << 10;
/// The object of the item itself.
const ITEM: usize = 0;

/// The value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Object,
    /// A range of the texts.
    Text(Span),
}

/// A member of an object.
#[derive(Debug)]
struct Member {
    parent: usize,
    /// With quotes.
    spelled: Span,
    value: Value,
    first: Option<usize>,
    last: Option<usize>,
    next: Option<usize>,
}

/// Objects and their members. Arrays are values as a whole.
#[derive(Debug, Default)]
pub(super) struct Item {
    members: Vec<Member>,
    by_name: HashedMap<usize>,
    state: RandomState,
    texts: Vec<u8>,
    scratch: Vec<u8>,
}

/// The members that the items of an array share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    all: Item,
    made: Item,
    /// The templates of the members of `made`.
    templates: HashMap<usize, Vec<Segment>>,
}

/// A part of a template.
#[derive(Debug)]
enum Segment {
    Literal(Vec<u8>),
    Path(Vec<Vec<u8>>),
}

impl Item {
    /// Reads an object. Reserved names have no place in it.
    pub(super) fn read(&mut self, tokens: &mut Tokens<'_>) -> Result<(), Fault> {
        self.members.clear();
        self.by_name.clear();
        self.texts.clear();
        tokens.next();
        let depth = tokens.depth();
        self.add(ITEM, Span::default(), Value::Object);
        let mut around = ITEM;
        loop {
            match tokens.next() {
                Token::Key => {}
                Token::End => return Ok(()),
                _ => {
                    if tokens.depth() < depth {
                        return Ok(());
                    }
                    around = self.members.get(around).map_or(ITEM, |member| member.parent);
                    continue;
                }
            }
            let at = tokens.range().start;
            let name = name_of(tokens.text());
            if is_reserved(&name) {
                return Err(Fault::new(at, "this member has no place in an item"));
            }
            let spelled = push(&mut self.texts, tokens.token());
            let place = tokens.peek();
            if tokens.is_at(b'{') {
                tokens.next();
                around = self.insert(around, &name, spelled, Value::Object);
                continue;
            }
            let value = if tokens.is_at(b'[') {
                self.array(tokens)?;
                tokens.between(place)
            } else {
                tokens.next();
                tokens.token()
            };
            let text = push(&mut self.texts, value);
            self.insert(around, &name, spelled, Value::Text(text));
        }
    }

    /// Reads an array, in which reserved names have no place.
    fn array(&mut self, tokens: &mut Tokens<'_>) -> Result<(), Fault> {
        let depth = tokens.depth();
        loop {
            let token = tokens.next();
            let name = tokens.text();
            if token == Token::Key
                && (is_reserved(name) || name.contains(&b'\\') && is_reserved(&name_of(name)))
            {
                return Err(Fault::new(
                    tokens.range().start,
                    "this member has no place in an item",
                ));
            }
            if token == Token::End || tokens.depth() <= depth {
                return Ok(());
            }
        }
    }

    fn add(&mut self, parent: usize, spelled: Span, value: Value) -> usize {
        let id = self.members.len();
        self.members.push(Member { parent, spelled, value, first: None, last: None, next: None });
        if id == ITEM {
            return id;
        }
        let last = self.members.get(parent).and_then(|parent| parent.last);
        if let Some(last) = last.and_then(|last| self.members.get_mut(last)) {
            last.next = Some(id);
        }
        if let Some(parent) = self.members.get_mut(parent) {
            parent.first.get_or_insert(id);
            parent.last = Some(id);
        }
        id
    }

    fn insert(&mut self, parent: usize, name: &[u8], spelled: Span, value: Value) -> usize {
        let id = self.add(parent, spelled, value);
        let hash = self.hash_of(parent, name);
        self.by_name.entry(hash).or_insert(id);
        id
    }

    /// Returns the hash of a member's name. It has a secret key, so that names with the same hash are rare.
    fn hash_of(&self, parent: usize, name: &[u8]) -> u64 {
        self.state.hash_one((parent, name))
    }

    /// Returns the member of an object with a name.
    fn find(&self, parent: usize, name: &[u8]) -> Option<usize> {
        let is_same = |id: usize| {
            let member = self.members.get(id)?;
            let spelled = self.name(member);
            let same = spelled == name || spelled.contains(&b'\\') && name_of(spelled) == name;
            (member.parent == parent && same).then_some(id)
        };
        let id = *self.by_name.get(&self.hash_of(parent, name))?;
        is_same(id).or_else(|| {
            // Names with one hash.
            let mut next = self.members.get(parent)?.first;
            while let Some(id) = next {
                if is_same(id).is_some() {
                    return Some(id);
                }
                next = self.members.get(id)?.next;
            }
            None
        })
    }

    /// Returns the name of a member, as spelled between its quotes.
    fn name(&self, member: &Member) -> &[u8] {
        let spelled = member.spelled.of(&self.texts);
        spelled.get(1..spelled.len().saturating_sub(1)).unwrap_or_default()
    }

    /// Adds what the items share, at most `most` bytes. `at`: the place of the item.
    pub(super) fn share(&mut self, shared: &Shared, at: usize, most: usize) -> Result<(), Fault> {
        let most = self.texts.len().saturating_add(most);
        let check = |texts: &Vec<u8>| {
            if texts.len() <= most {
                return Ok(());
            }
            let message = "the members that the items share make the document too long";
            Err(Fault::new(at, message))
        };
        self.merge(&shared.all, at, |item, parent, id| {
            let Some(member) = shared.all.members.get(id) else { return Ok(()) };
            let Value::Text(value) = member.value else { return Ok(()) };
            let name = name_of(shared.all.name(member));
            let spelled = push(&mut item.texts, member.spelled.of(&shared.all.texts));
            let value = push(&mut item.texts, value.of(&shared.all.texts));
            item.insert(parent, &name, spelled, Value::Text(value));
            check(&item.texts)
        })?;
        self.merge(&shared.made, at, |item, parent, id| {
            let Some(member) = shared.made.members.get(id) else { return Ok(()) };
            let mut text = std::mem::take(&mut item.scratch);
            text.clear();
            for segment in shared.templates.get(&id).map(Vec::as_slice).unwrap_or_default() {
                match segment {
                    Segment::Literal(literal) => text.extend_from_slice(literal),
                    Segment::Path(path) => item.read_path(path, &mut text, at)?,
                }
                if text.len() > LONGEST {
                    let message = format!("`_made` makes a string of more than {LONGEST} bytes");
                    return Err(Fault::new(at, message));
                }
            }
            let mut escaper = StringEscaper::default();
            escaper.out.push(b'"');
            escaper.spell_text(&text);
            escaper.out.push(b'"');
            item.scratch = text;
            let name = name_of(shared.made.name(member));
            let spelled = push(&mut item.texts, member.spelled.of(&shared.made.texts));
            let value = push(&mut item.texts, &escaper.out);
            item.insert(parent, &name, spelled, Value::Text(value));
            check(&item.texts)
        })
    }

    /// Visits the members of `shared` in order, and creates the objects that an item does not have.
    fn merge(
        &mut self,
        shared: &Self,
        at: usize,
        mut add: impl FnMut(&mut Self, usize, usize) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // The next member of each open object, and that object in the item.
        let mut open = vec![(shared.members.first().and_then(|item| item.first), ITEM)];
        while let Some((next, parent)) = open.last_mut() {
            let Some((id, member)) = next.and_then(|id| Some((id, shared.members.get(id)?))) else {
                open.pop();
                continue;
            };
            *next = member.next;
            let parent = *parent;
            let name = name_of(shared.name(member));
            let known = self.find(parent, &name);
            let is_object = member.value == Value::Object;
            let known_object = known.filter(|known| {
                self.members.get(*known).is_some_and(|known| known.value == Value::Object)
            });
            match (known, is_object) {
                (None, false) => add(self, parent, id)?,
                (None, true) => {
                    let spelled = push(&mut self.texts, member.spelled.of(&shared.texts));
                    let object = self.insert(parent, &name, spelled, Value::Object);
                    open.push((member.first, object));
                }
                (Some(_), true) if known_object.is_some() => {
                    open.push((member.first, known_object.unwrap_or(ITEM)));
                }
                _ => {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    let message = format!("the item has a member `{name}`, which its array shares");
                    return Err(Fault::new(at, message));
                }
            }
        }
        Ok(())
    }

    /// Appends the text of the value at a path.
    fn read_path(&self, path: &[Vec<u8>], text: &mut Vec<u8>, at: usize) -> Result<(), Fault> {
        let mut parent = Some(ITEM);
        for name in path {
            parent = parent.and_then(|parent| self.find(parent, name));
        }
        let value = match parent.and_then(|id| self.members.get(id)).map(|member| member.value) {
            Some(Value::Text(value)) => value.of(&self.texts),
            _ => b"",
        };
        match value.first() {
            Some(b'"') => {
                let inside = value.get(1..value.len() - 1).unwrap_or_default();
                if unescape(inside, text) {
                    return Ok(());
                }
            }
            Some(b'-' | b'0'..=b'9') => {
                text.extend_from_slice(value);
                return Ok(());
            }
            _ => {}
        }
        let path = path.join(&b'.');
        let path = String::from_utf8_lossy(&path);
        Err(Fault::new(
            at,
            format!("`_made` uses `{path}`, but the item has no string or number there"),
        ))
    }

    /// Writes the item.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut open = vec![self.members.first().and_then(|item| item.first)];
        while let Some(next) = open.last_mut() {
            let Some(member) = next.and_then(|id| self.members.get(id)) else {
                out.push(b'}');
                open.pop();
                continue;
            };
            *next = member.next;
            if out.last() != Some(&b'{') {
                out.push(b',');
            }
            out.extend_from_slice(member.spelled.of(&self.texts));
            out.push(b':');
            match member.value {
                Value::Text(value) => out.extend_from_slice(value.of(&self.texts)),
                Value::Object => {
                    out.push(b'{');
                    open.push(member.first);
                }
            }
        }
    }
}

impl Shared {
    /// Reads `_all` and `_made`, as ranges of a text.
    pub(super) fn new(
        text: &[u8],
        all: Option<Range<usize>>,
        made: Option<Range<usize>>,
    ) -> Result<Self, Fault> {
        let mut shared = Self::default();
        if let Some(all) = all {
            shared.all.read(&mut Tokens::new(text, all.start))?;
        }
        if let Some(made) = made {
            shared.made.read(&mut Tokens::new(text, made.start))?;
            for (id, member) in shared.made.members.iter().enumerate() {
                let Value::Text(value) = member.value else { continue };
                let value = value.of(&shared.made.texts);
                let Some(b'"') = value.first() else {
                    return Err(Fault::new(made.start, "expected strings and objects in `_made`"));
                };
                let spelled = value.get(1..value.len() - 1).unwrap_or_default();
                let template = template(&name_of(spelled)).ok_or_else(|| {
                    Fault::new(made.start, "expected `{path}`, `{{` or `}}` in a string of `_made`")
                })?;
                shared.templates.insert(id, template);
            }
        }
        Ok(shared)
    }
}

/// Parses a template.
fn template(text: &[u8]) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'}' if after.first() == Some(byte) => {
                literal.push(*byte);
                rest = after.get(1..).unwrap_or_default();
            }
            b'{' => {
                let end = after.iter().position(|byte| *byte == b'}')?;
                let path = after.get(..end)?;
                let names: Vec<Vec<u8>> =
                    path.split(|byte| *byte == b'.').map(<[u8]>::to_vec).collect();
                if !names.iter().all(|name| crate::names::is_plain(name)) {
                    return None;
                }
                segments.push(Segment::Literal(std::mem::take(&mut literal)));
                segments.push(Segment::Path(names));
                rest = after.get(end + 1..)?;
            }
            b'}' => return None,
            byte => literal.push(*byte),
        }
    }
    segments.push(Segment::Literal(literal));
    Some(segments)
}
