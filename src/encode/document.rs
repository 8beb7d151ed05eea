//! A JSON document as a flat list of values, with decoded strings.
//!
//! A value takes 24 bytes. Names and scalars are parts of the text, except for strings with escapes and numbers with another
//! spelling, which are kept in one buffer.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use tamis_json::StringDecoder;

use crate::report::EncodeSkip;

/// The number of values of the largest document.
const MOST_VALUES: usize = 1 << 20;
/// The number of members of an object whose names are compared one by one.
const FEW_NAMES: usize = 8;

/// The number of a value in its document.
pub(super) type ValueId = u32;

/// A value, and its name if it is a member of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocumentValue<'d> {
    pub(super) name: &'d str,
    pub(super) content: Content<'d>,
}

/// The content of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'d> {
    /// A number, `true`, `false` or `null`, as it is written.
    Literal(&'d str),
    Text(&'d str),
    Array(&'d [ValueId]),
    Object(&'d [ValueId]),
}

/// A document. Its root is value 0.
#[derive(Debug)]
pub(super) struct Document<'t> {
    text: &'t str,
    /// Strings and numbers that are not parts of the text.
    decoded: String,
    values: Vec<StoredValue>,
    /// The children of the containers, one container after the other.
    children: Vec<ValueId>,
}

#[derive(Debug)]
struct StoredValue {
    name: Part,
    content: Part,
    kind: StoredKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredKind {
    Literal,
    Text,
    Array,
    Object,
}

/// A part of the text, of the decoded strings, or of the list of children.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    start: u32,
    /// Its highest bit says that the part is decoded.
    length: u32,
}

const DECODED: u32 = 1 << 31;

impl Part {
    fn new(start: usize, end: usize) -> Result<Self, EncodeSkip> {
        let length = u32::try_from(end.saturating_sub(start)).ok().filter(|len| *len < DECODED);
        match (u32::try_from(start), length) {
            (Ok(start), Some(length)) => Ok(Self { start, length }),
            _ => Err(EncodeSkip::Size),
        }
    }

    fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + (self.length & !DECODED) as usize
    }
}

/// A container that is not complete.
struct OpenContainer<'t> {
    id: ValueId,
    /// The position of its first child among the children of all open containers.
    first: usize,
    /// The names of its members, if they are many.
    names: HashSet<Cow<'t, str>>,
}

impl<'t> Document<'t> {
    /// Parses a valid JSON text. `spell` returns the spelling of a number, or `None` if it is kept.
    pub(super) fn parse(
        text: &'t [u8],
        spell: impl Fn(&str) -> Result<Option<String>, EncodeSkip>,
    ) -> Result<Self, EncodeSkip> {
        let text = std::str::from_utf8(text).map_err(|_error| EncodeSkip::LoneSurrogate)?;
        let bytes = text.as_bytes();
        // Each value but the first one comes after one of these, so that no list has to grow.
        let most = bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count() + 1;
        let room = most.min(MOST_VALUES);
        let mut document = Self {
            text,
            decoded: String::new(),
            values: Vec::with_capacity(room),
            children: Vec::with_capacity(room),
        };
        let mut open: Vec<OpenContainer<'t>> = Vec::new();
        // The children of the open containers.
        let mut waiting: Vec<ValueId> = Vec::new();
        let mut name: Option<Part> = None;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let (kind, content) = match byte {
                b'{' => (StoredKind::Object, Part::default()),
                b'[' => (StoredKind::Array, Part::default()),
                b'"' => {
                    let end = end_of_string(bytes, at);
                    let string = document.string(at + 1, end - 1)?;
                    at = end;
                    if name.is_none()
                        && let Some(parent) = open.last_mut()
                        && document.is_object(parent.id)
                    {
                        let siblings = waiting.get(parent.first..).unwrap_or_default();
                        document.add_name(parent, siblings, string)?;
                        name = Some(string);
                        continue;
                    }
                    at -= 1;
                    (StoredKind::Text, string)
                }
                b'}' | b']' => {
                    if let Some(OpenContainer { id, first, .. }) = open.pop() {
                        document.close(id, waiting.drain(first..))?;
                    }
                    at += 1;
                    continue;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    at += 1;
                    continue;
                }
                _ => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let is_end = |byte: &u8| {
                        matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
                    };
                    let end = at + rest.iter().position(is_end).unwrap_or(rest.len());
                    let literal = text.get(at..end).unwrap_or_default();
                    let spelled = match byte {
                        b't' | b'f' | b'n' => None,
                        _ => spell(literal)?,
                    };
                    let part = match spelled {
                        None => Part::new(at, end)?,
                        Some(spelled) => document.keep(&spelled)?,
                    };
                    at = end - 1;
                    (StoredKind::Literal, part)
                }
            };
            at += 1;
            let id = document.values.len();
            if id >= MOST_VALUES {
                return Err(EncodeSkip::Size);
            }
            let id = ValueId::try_from(id).map_err(|_error| EncodeSkip::Size)?;
            let name = name.take().unwrap_or_default();
            document.values.push(StoredValue { name, content, kind });
            if !open.is_empty() {
                waiting.push(id);
            }
            if matches!(kind, StoredKind::Array | StoredKind::Object) {
                let first = waiting.len();
                open.push(OpenContainer { id, first, names: HashSet::new() });
            }
        }
        Ok(document)
    }

    /// Returns the string between these places of the text.
    fn string(&mut self, start: usize, end: usize) -> Result<Part, EncodeSkip> {
        let spelled = self.text.get(start..end).unwrap_or_default().as_bytes();
        if memchr::memchr(b'\\', spelled).is_none() {
            return Part::new(start, end);
        }
        let (mut decoder, mut text) = (StringDecoder::new(), Vec::new());
        let decoded = decoder.write(spelled, &mut text).and_then(|()| decoder.end());
        decoded.map_err(|_error| EncodeSkip::LoneSurrogate)?;
        let text = String::from_utf8(text).map_err(|_error| EncodeSkip::LoneSurrogate)?;
        self.keep(&text)
    }

    /// Keeps a text that is not a part of the document's.
    fn keep(&mut self, text: &str) -> Result<Part, EncodeSkip> {
        let start = self.decoded.len();
        self.decoded.push_str(text);
        let part = Part::new(start, self.decoded.len())?;
        Ok(Part { length: part.length | DECODED, ..part })
    }

    /// Notes the name of the next member of an object. Fails if it is a duplicate.
    fn add_name(
        &self,
        parent: &mut OpenContainer<'t>,
        siblings: &[ValueId],
        name: Part,
    ) -> Result<(), EncodeSkip> {
        let is_new = if siblings.len() < FEW_NAMES {
            siblings.iter().all(|sibling| self.name(*sibling) != self.part(name))
        } else {
            if parent.names.is_empty() {
                let names = siblings.iter().filter_map(|id| self.values.get(*id as usize));
                parent.names.extend(names.map(|value| self.owned(value.name)));
            }
            parent.names.insert(self.owned(name))
        };
        if is_new { Ok(()) } else { Err(EncodeSkip::DuplicateKey) }
    }

    /// Ends a container.
    fn close(
        &mut self,
        id: ValueId,
        children: impl Iterator<Item = ValueId>,
    ) -> Result<(), EncodeSkip> {
        let start = self.children.len();
        self.children.extend(children);
        let part = Part::new(start, self.children.len())?;
        if let Some(value) = self.values.get_mut(id as usize) {
            value.content = part;
        }
        Ok(())
    }

    fn part(&self, part: Part) -> &str {
        let text = if part.length & DECODED == 0 { self.text } else { &self.decoded };
        text.get(part.range()).unwrap_or_default()
    }

    /// Returns a part that outlives the document.
    fn owned(&self, part: Part) -> Cow<'t, str> {
        if part.length & DECODED == 0 {
            return self.text.get(part.range()).unwrap_or_default().into();
        }
        self.part(part).to_owned().into()
    }

    pub(super) fn get(&self, id: ValueId) -> Option<DocumentValue<'_>> {
        let StoredValue { name, content, kind } = self.values.get(id as usize)?;
        let children = || self.children.get(content.range()).unwrap_or_default();
        let content = match kind {
            StoredKind::Literal => Content::Literal(self.part(*content)),
            StoredKind::Text => Content::Text(self.part(*content)),
            StoredKind::Array => Content::Array(children()),
            StoredKind::Object => Content::Object(children()),
        };
        Some(DocumentValue { name: self.part(*name), content })
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn name(&self, id: ValueId) -> &str {
        self.values.get(id as usize).map_or("", |value| self.part(value.name))
    }

    pub(super) fn is_scalar(&self, id: ValueId) -> bool {
        let kind = self.values.get(id as usize).map(|value| value.kind);
        matches!(kind, Some(StoredKind::Literal | StoredKind::Text))
    }

    fn is_object(&self, id: ValueId) -> bool {
        self.values.get(id as usize).is_some_and(|value| value.kind == StoredKind::Object)
    }

    /// Returns the members of an object.
    pub(super) fn members(&self, id: ValueId) -> Option<&[ValueId]> {
        match self.get(id)?.content {
            Content::Object(members) => Some(members),
            _ => None,
        }
    }
}

/// Returns the end of the string whose opening quote is at `at`.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut here = at + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(here..).unwrap_or_default()) {
        here += found;
        if text.get(here) == Some(&b'"') {
            return here + 1;
        }
        here += 2;
    }
    text.len()
}
