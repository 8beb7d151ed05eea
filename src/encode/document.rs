//! A JSON document as a flat list of values, with decoded strings.

use std::collections::HashSet;

use super::SkipReason;
use crate::json::StringDecoder;

/// The number of values of the largest document. Each takes about 100 bytes in addition to its text.
const MOST_VALUES: usize = 1 << 20;

/// The number of a value in its document.
pub(super) type ValueId = u32;

/// A value, and its name if it is a member of an object.
#[derive(Debug, Default)]
pub(super) struct DocumentValue {
    pub(super) name: String,
    pub(super) content: Content,
}

/// The content of a value.
#[derive(Debug)]
pub(super) enum Content {
    /// A number, `true`, `false` or `null`, as it is written.
    Literal(String),
    Text(String),
    Array(Vec<ValueId>),
    Object(Vec<ValueId>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Literal(String::new())
    }
}

impl DocumentValue {
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self.content, Content::Literal(_) | Content::Text(_))
    }
}

/// A document. Its root is value 0.
#[derive(Debug, Default)]
pub(super) struct Document {
    values: Vec<DocumentValue>,
}

impl Document {
    /// Parses a valid JSON text. `spell` returns the spelling of a number.
    pub(super) fn parse(
        text: &[u8],
        spell: impl Fn(String) -> Result<String, SkipReason>,
    ) -> Result<Self, SkipReason> {
        let mut document = Self::default();
        // The open containers, each with the names of its members.
        let mut open: Vec<(ValueId, HashSet<String>)> = Vec::new();
        let mut name: Option<String> = None;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let content = match byte {
                b'{' => Content::Object(Vec::new()),
                b'[' => Content::Array(Vec::new()),
                b'"' => {
                    let end = end_of_string(text, at);
                    let string = unescape(text.get(at + 1..end - 1).unwrap_or_default())?;
                    at = end;
                    let is_member = open.last().is_some_and(|(id, _)| document.is_object(*id));
                    if is_member && name.is_none() {
                        let names = open.last_mut().map(|(_, names)| names);
                        if names.is_some_and(|names| !names.insert(string.clone())) {
                            return Err(SkipReason::DuplicateKey);
                        }
                        name = Some(string);
                        continue;
                    }
                    at -= 1;
                    Content::Text(string)
                }
                b'}' | b']' => {
                    open.pop();
                    at += 1;
                    continue;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    at += 1;
                    continue;
                }
                _ => {
                    let rest = text.get(at..).unwrap_or_default();
                    let is_end = |byte: &u8| {
                        matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
                    };
                    let len = rest.iter().position(is_end).unwrap_or(rest.len());
                    at += len - 1;
                    let literal = String::from_utf8_lossy(rest.get(..len).unwrap_or_default());
                    Content::Literal(match byte {
                        b't' | b'f' | b'n' => literal.into_owned(),
                        _ => spell(literal.into_owned())?,
                    })
                }
            };
            at += 1;
            let is_container = matches!(content, Content::Array(_) | Content::Object(_));
            let id = document.values.len();
            if id >= MOST_VALUES {
                return Err(SkipReason::Size);
            }
            let id = ValueId::try_from(id).map_err(|_error| SkipReason::Size)?;
            document.values.push(DocumentValue { name: name.take().unwrap_or_default(), content });
            if let Some((parent, _)) = open.last() {
                document.add_child(*parent, id);
            }
            if is_container {
                open.push((id, HashSet::new()));
            }
        }
        Ok(document)
    }

    pub(super) fn get(&self, id: ValueId) -> Option<&DocumentValue> {
        self.values.get(id as usize)
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn name(&self, id: ValueId) -> &str {
        self.get(id).map_or("", |value| &value.name)
    }

    pub(super) fn is_scalar(&self, id: ValueId) -> bool {
        self.get(id).is_some_and(DocumentValue::is_scalar)
    }

    fn is_object(&self, id: ValueId) -> bool {
        self.get(id).is_some_and(|value| matches!(value.content, Content::Object(_)))
    }

    /// Returns the members of an object.
    pub(super) fn members(&self, id: ValueId) -> Option<&[ValueId]> {
        match &self.get(id)?.content {
            Content::Object(members) => Some(members),
            _ => None,
        }
    }

    fn add_child(&mut self, parent: ValueId, child: ValueId) {
        if let Some(value) = self.values.get_mut(parent as usize)
            && let Content::Array(children) | Content::Object(children) = &mut value.content
        {
            children.push(child);
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

fn unescape(spelled: &[u8]) -> Result<String, SkipReason> {
    let (mut decoder, mut text) = (StringDecoder::new(), Vec::new());
    let decoded = decoder.write(spelled, &mut text).and_then(|()| decoder.end());
    decoded.map_err(|_error| SkipReason::LoneSurrogate)?;
    String::from_utf8(text).map_err(|_error| SkipReason::LoneSurrogate)
}
