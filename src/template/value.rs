//! The raw bytes of one item, as values that a template reads.
//!
//! Of an item only the members are made values that its template can name; all of it is validated. An integer past 64 bits and
//! a number past the floats become strings of their text, a lone surrogate becomes U+FFFD, and a container deeper than
//! [`MAX_DEPTH`] a string of its text, since the engine recurses on values. Nothing here does. Of duplicate names the last
//! counts, as in Go. What values take is charged before they are made.

use std::collections::HashMap;
use std::fmt;

use gtmpl_ng::{Number, Value};

use super::reads::Reads;
use crate::error::{ErrorKind, Raise};
use crate::json::key::text_of;
use crate::json::machine;
use crate::json::{Halt, Handler, Interest, Kind, Slot};
use crate::limits::Limits;

/// Containers inside each other that stay containers. The engine copies and prints values by recursion.
pub(super) const MAX_DEPTH: usize = 100;
/// What values may take for each byte that an item may have.
const GROWTH: u64 = 3;
/// What values may take however short an item has to be.
const LEAST: u64 = 64 << 10;
/// What a value takes where it is kept, twice: lists and tables grow by doubling.
const VALUE: u64 = 2 * size_of::<Value>() as u64;
/// What a member takes besides: its name, and its place in a table.
const MEMBER: u64 = 2 * size_of::<String>() as u64 + ALLOCATION;
/// What an allocation takes beside its bytes.
const ALLOCATION: u64 = 32;

/// Why an item was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Not JSON.
    Malformed(String),
    /// The values would take more than this.
    TooLarge(u64),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(message) => write!(f, "the item is not JSON: {message}"),
            Self::TooLarge(most) => write!(
                f,
                "the members of an item that its template reads take more than {most} bytes of memory (limit `item`); select fewer"
            ),
        }
    }
}

/// The members of an object that are in `reads`; nothing, if the value is none. `limit` is the longest that an item may be.
pub(super) fn read_object(
    json: &[u8],
    reads: &Reads,
    limit: u64,
) -> Result<Option<HashMap<String, Value>>, Unread> {
    let first = json.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'{') {
        return Ok(None);
    }
    let most = limit.saturating_mul(GROWTH).saturating_add(LEAST);
    let mut reader =
        ItemReader { reads, open: Vec::new(), text: Vec::new(), left: most, done: None };
    // An item is bounded, and so is what is inside it.
    let limits = Limits::new().with_depth(usize::MAX).with_key(json.len());
    machine::read_within(json, 0, &limits, &mut reader).map_err(|error| match error.kind() {
        ErrorKind::Limit => Unread::TooLarge(most),
        _ => Unread::Malformed(error.to_string()),
    })?;
    Ok(match reader.done {
        Some(Value::Map(members)) => Some(members),
        _ => None,
    })
}

/// A container that is being read.
enum Open {
    Array(Vec<Value>),
    /// And the name of the member that is next.
    Object(HashMap<String, Value>, String),
}

impl Open {
    fn close(self) -> Value {
        match self {
            Self::Array(mut elements) => {
                elements.shrink_to_fit();
                Value::Array(elements)
            }
            Self::Object(members, _) => Value::Map(members),
        }
    }
}

struct ItemReader<'a> {
    reads: &'a Reads,
    open: Vec<Open>,
    /// The text of a scalar, or of a container that is too deep.
    text: Vec<u8>,
    /// What may still be taken.
    left: u64,
    /// The item.
    done: Option<Value>,
}

impl ItemReader<'_> {
    fn charge(&mut self, bytes: u64) -> Result<(), Raise> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Raise::new(ErrorKind::Limit, "the values take too much")),
        }
    }

    /// A value is complete.
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Open::Array(elements)) => elements.push(value),
            Some(Open::Object(members, name)) => {
                members.insert(std::mem::take(name), value);
            }
        }
    }
}

impl Handler for ItemReader<'_> {
    fn value(&mut self, slot: Slot<'_>, kind: Kind, _: u64) -> Result<Interest, Halt> {
        if let Slot::Member(key) = slot {
            let raw = key.raw();
            let of_item = self.open.len() == 1;
            if of_item && !key.with_name(|name| name.is_none_or(|name| self.reads.has(name))) {
                return Ok(Interest::Skip);
            }
            self.charge(MEMBER + raw.len() as u64)?;
            let text = text_of(raw);
            if let Some(Open::Object(_, name)) = self.open.last_mut() {
                *name = text;
            }
        }
        self.charge(VALUE)?;
        let open = match kind {
            Kind::Object => Open::Object(HashMap::new(), String::new()),
            Kind::Array => Open::Array(Vec::new()),
            _ => return Ok(Interest::Copy),
        };
        if self.open.len() >= MAX_DEPTH {
            return Ok(Interest::Copy);
        }
        self.charge(ALLOCATION)?;
        self.open.push(open);
        Ok(Interest::Inspect)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        if let Some(open) = self.open.pop() {
            self.put(open.close());
        }
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        // Nobody asks between the parts of a text: what is over ends at its end. An item is bounded.
        self.left = self.left.saturating_sub(bytes.len() as u64);
        if self.left > 0 {
            self.text.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        let value = scalar(&self.text);
        if matches!(value, Value::String(_)) {
            self.charge(ALLOCATION)?;
        }
        self.text.clear();
        self.put(value);
        Ok(())
    }
}

/// The value of a scalar; of a container that is too deep, its text.
fn scalar(text: &[u8]) -> Value {
    match text.first() {
        Some(b'"') => Value::String(text_of(text)),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') | None => Value::Nil,
        Some(b'-' | b'0'..=b'9') => number(std::str::from_utf8(text).unwrap_or_default()),
        Some(_) => Value::String(String::from_utf8_lossy(text).into_owned()),
    }
}

fn number(text: &str) -> Value {
    if text != "-0" {
        if let Ok(value) = text.parse::<i64>() {
            return Value::from(value);
        }
        if let Ok(value) = text.parse::<u64>() {
            return Value::from(value);
        }
    }
    let is_integer = text != "-0" && !text.contains(['.', 'e', 'E']);
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && !is_integer => {
            // The engine takes a float that is zero for true, and prints both zeros as 0.
            if value == 0.0 && value.is_sign_positive() {
                Value::from(0_u64)
            } else {
                Value::Number(Number::float(value))
            }
        }
        _ => Value::String(text.to_owned()),
    }
}
