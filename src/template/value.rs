//! The raw bytes of one item, as values that a template reads.
//!
//! The whole item is validated, but only the members that its template can name become values. One reading copies these, and
//! charges what their values will take; simd-json reads the copy. What simd-json cannot read, or would round, is respelled in
//! the copy: an integer past 64 bits and a number past the floats become strings of their text, a lone surrogate becomes
//! U+FFFD, and a container deeper than [`MAX_DEPTH`] becomes a string of its text, since the engine recurses on values. Nothing
//! here does. Of duplicate names the last counts, as in Go.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use gtmpl_ng::{Number, Value};
use memchr::memchr;
use simd_json::{Node, StaticNode};

use super::reads::Reads;
use crate::error::{ErrorKind, Raise};
use crate::json::key::{quote, text_of};
use crate::json::machine;
use crate::json::{Halt, Handler, Interest, ValueKind, ValueSlot};
use crate::limits::Limits;

/// Containers inside each other that stay containers. The engine copies and prints values by recursion.
pub(super) const MAX_DEPTH: usize = 100;
/// What values may take for each byte that an item may have.
const GROWTH: u64 = 3;
/// What values may take however short an item has to be.
const LEAST: u64 = 64 << 10;
/// What a value takes: its place in a list or a table, of which up to half is empty, and on simd-json's tape.
const VALUE: u64 = (2 * size_of::<Value>() + size_of::<Node<'_>>()) as u64;
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
                "the members of an item that its template reads take more than {most} bytes of memory; name the members that it prints in place of `.` or `$`, or select fewer"
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
    let mut narrow =
        Narrow { reads, out: Vec::new(), open: Vec::new(), scalar: Vec::new(), left: most };
    // An item is bounded, and so is what is inside it.
    let limits = Limits::new().with_depth(usize::MAX).with_key(json.len());
    machine::read_within(json, 0, &limits, &mut narrow).map_err(|error| match error.kind() {
        ErrorKind::Limit => Unread::TooLarge(most),
        _ => Unread::Malformed(error.to_string()),
    })?;
    let tape = simd_json::to_tape(&mut narrow.out)
        .map_err(|error| Unread::Malformed(error.to_string()))?;
    Ok(match build(&tape.0) {
        Some(Value::Map(members)) => Some(members),
        _ => None,
    })
}

/// A container of the copy that is not complete.
#[derive(Clone, Copy)]
struct Level {
    end: u8,
    has_children: bool,
}

/// Copies the members of an item that are in `reads`.
struct Narrow<'a> {
    reads: &'a Reads,
    /// The copy.
    out: Vec<u8>,
    open: Vec<Level>,
    /// The text of a scalar, or of a container that is too deep.
    scalar: Vec<u8>,
    /// The memory that values may still take.
    left: u64,
}

impl Narrow<'_> {
    fn charge(&mut self, bytes: u64) -> Result<(), Raise> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Raise::new(ErrorKind::Limit, "the values take too much")),
        }
    }
}

impl Handler for Narrow<'_> {
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Halt> {
        let depth = self.open.len();
        if let ValueSlot::Member(key) = &slot
            && depth == 1
            && !key.with_name(|name| name.is_none_or(|name| self.reads.has(name)))
        {
            return Ok(Interest::Skip);
        }
        if let Some(level) = self.open.last_mut()
            && std::mem::replace(&mut level.has_children, true)
        {
            self.out.push(b',');
        }
        if let ValueSlot::Member(key) = slot {
            self.charge(MEMBER + key.raw().len() as u64)?;
            self.out.extend_from_slice(&quote(&text_of(key.raw())));
            self.out.push(b':');
        }
        self.charge(VALUE)?;
        let (begin, end) = match kind {
            ValueKind::Object if depth < MAX_DEPTH => (b'{', b'}'),
            ValueKind::Array if depth < MAX_DEPTH => (b'[', b']'),
            _ => return Ok(Interest::Copy),
        };
        self.charge(ALLOCATION)?;
        self.out.push(begin);
        self.open.push(Level { end, has_children: false });
        Ok(Interest::Inspect)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        self.out.extend(self.open.pop().map(|level| level.end));
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        // The machine does not ask between the parts of a text, so that an exceeded limit is noticed at the end. The item is
        // bounded.
        self.left = self.left.saturating_sub(bytes.len() as u64);
        if self.left > 0 {
            self.scalar.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        if matches!(self.scalar.first(), Some(b'"' | b'{' | b'[')) {
            self.charge(ALLOCATION)?;
        }
        self.out.extend_from_slice(&respelled(&self.scalar));
        self.scalar.clear();
        Ok(())
    }
}

/// A scalar as simd-json reads it exactly; a container as a string of its text.
fn respelled(text: &[u8]) -> Cow<'_, [u8]> {
    match text.first() {
        Some(b'"') if memchr(b'\\', text).is_some() => quote(&text_of(text)).into(),
        Some(b'{' | b'[') => quote(&String::from_utf8_lossy(text)).into(),
        Some(b'-' | b'0'..=b'9') => number(std::str::from_utf8(text).unwrap_or_default()),
        _ => text.into(),
    }
}

fn number(text: &str) -> Cow<'_, [u8]> {
    // Its sign is part of it.
    if text == "-0" {
        return b"-0.0".into();
    }
    if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        return text.as_bytes().into();
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && text.contains(['.', 'e', 'E']) => {
            // The shortest text of the same float: simd-json refuses exponents that it need not read.
            let shortest = format!("{value:e}");
            let point = if shortest.contains('.') { "e" } else { ".0e" };
            shortest.replacen('e', point, 1).into_bytes().into()
        }
        _ => quote(text).into(),
    }
}

/// A container whose values are being read, and how many are left.
enum Open {
    Array(usize, Vec<Value>),
    /// And the name of the member that is next.
    Object(usize, HashMap<String, Value>, Option<String>),
}

/// The value that a tape spells.
fn build(tape: &[Node<'_>]) -> Option<Value> {
    let mut open: Vec<Open> = Vec::new();
    for node in tape {
        // The name of a member is no value.
        if let (Node::String(name), Some(Open::Object(_, _, key @ None))) = (node, open.last_mut())
        {
            *key = Some((*name).to_owned());
            continue;
        }
        let mut value = match node {
            Node::String(text) => Value::String((*text).to_owned()),
            Node::Static(value) => scalar(*value),
            Node::Array { len: 0, .. } => Value::Array(Vec::new()),
            Node::Object { len: 0, .. } => Value::Map(HashMap::new()),
            Node::Array { len, .. } => {
                open.push(Open::Array(*len, Vec::with_capacity(*len)));
                continue;
            }
            Node::Object { len, .. } => {
                open.push(Open::Object(*len, HashMap::with_capacity(*len), None));
                continue;
            }
        };
        loop {
            let left = match open.last_mut() {
                None => return Some(value),
                Some(Open::Array(left, elements)) => {
                    elements.push(value);
                    left
                }
                Some(Open::Object(left, members, key)) => {
                    members.insert(key.take()?, value);
                    left
                }
            };
            *left = left.saturating_sub(1);
            if *left > 0 {
                break;
            }
            value = match open.pop()? {
                Open::Array(_, elements) => Value::Array(elements),
                Open::Object(_, members, _) => Value::Map(members),
            };
        }
    }
    None
}

fn scalar(value: StaticNode) -> Value {
    match value {
        StaticNode::Null => Value::Nil,
        StaticNode::Bool(value) => Value::Bool(value),
        StaticNode::I64(value) => Value::from(value),
        StaticNode::U64(value) => Value::from(value),
        // The engine takes a float that is zero for true, and prints both zeros as 0.
        StaticNode::F64(value) if value == 0.0 && value.is_sign_positive() => Value::from(0u64),
        StaticNode::F64(value) => Value::Number(Number::float(value)),
    }
}
