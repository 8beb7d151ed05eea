//! Reads the members of one item that its template can name.
//!
//! The whole item is validated, but only the members in [`Reads`] become values. The first pass copies these members and
//! charges the memory that their values will take; simd-json then parses the copy. The copy respells what simd-json cannot
//! read or would round: an integer beyond 64 bits and a number beyond the floats become strings of their text, and a lone
//! surrogate becomes U+FFFD. A container deeper than [`MAX_DEPTH`] becomes a string of its text, because values are printed
//! and dropped by recursion. Nothing in this file recurses. If a name occurs twice, its last value is used, as in Go.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;
use simd_json::{Node, StaticNode};
use tamis_json::error::{ErrorKind, Raise};
use tamis_json::key::{quote, text_of};
use tamis_json::limits::Limits;
use tamis_json::machine;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::reads::Reads;
use super::value::{Datum, Record};

/// The greatest depth at which a container stays a container.
const MAX_DEPTH: usize = 100;
/// Bytes of memory that values may take for each byte that an item may have.
const GROWTH: u64 = 3;
/// Bytes of memory that values may take even if items have to be short.
const LEAST: u64 = 64 << 10;
/// Bytes that a value takes, with its node on simd-json's tape.
const VALUE: u64 = (size_of::<Datum>() + size_of::<Node<'_>>()) as u64;
/// Bytes that the name of a member takes besides its text.
const MEMBER: u64 = (size_of::<Box<str>>() + size_of::<Node<'_>>()) as u64 + ALLOCATION;
/// Bytes that an allocation takes besides its content.
const ALLOCATION: u64 = 32;

/// Why an item was not read.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
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

/// Returns the members of an object that are in `reads`, or `None` if the value is not an object.
///
/// `limit` is the length that an item may have. Values take at most a small multiple of it.
pub(super) fn read_object(
    json: &[u8],
    reads: &Reads,
    limit: u64,
) -> Result<Option<Record>, Unread> {
    let first = json.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'{') {
        return Ok(None);
    }
    let most = limit.saturating_mul(GROWTH).saturating_add(LEAST);
    let mut narrow =
        Narrow { reads, out: Vec::new(), open: Vec::new(), scalar: Vec::new(), left: most };
    // The length of the item bounds depth and keys.
    let limits = Limits::new().with_depth(usize::MAX).with_key(json.len());
    machine::read_within(json, 0, &limits, &mut narrow).map_err(|error| match error.kind() {
        ErrorKind::Limit => Unread::TooLarge(most),
        _ => Unread::Malformed(error.to_string()),
    })?;
    let tape = simd_json::to_tape(&mut narrow.out)
        .map_err(|error| Unread::Malformed(error.to_string()))?;
    Ok(match build(&tape.0) {
        Some(Datum::Map(members)) => Some(members),
        _ => None,
    })
}

/// An open container of the copy.
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
    /// The text so far of a scalar, or of a container that is too deep.
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
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
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

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        self.out.extend(self.open.pop().map(|level| level.end));
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        // An exceeded limit is reported by the next charge: this function cannot fail.
        self.left = self.left.saturating_sub(bytes.len() as u64);
        if self.left > 0 {
            self.scalar.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        if matches!(self.scalar.first(), Some(b'"' | b'{' | b'[')) {
            self.charge(ALLOCATION)?;
        }
        self.out.extend_from_slice(&respelled(&self.scalar));
        self.scalar.clear();
        Ok(())
    }
}

/// Respells a scalar so that simd-json reads it exactly, and a container as a string of its text.
fn respelled(text: &[u8]) -> Cow<'_, [u8]> {
    match text.first() {
        Some(b'"') if memchr(b'\\', text).is_some() => quote(&text_of(text)).into(),
        Some(b'{' | b'[') => quote(&String::from_utf8_lossy(text)).into(),
        Some(b'-' | b'0'..=b'9') => number(std::str::from_utf8(text).unwrap_or_default()),
        _ => text.into(),
    }
}

fn number(text: &str) -> Cow<'_, [u8]> {
    // As an integer it would lose its sign.
    if text == "-0" {
        return b"-0.0".into();
    }
    if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        return text.as_bytes().into();
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && text.contains(['.', 'e', 'E']) => {
            // The shortest text of the same float. simd-json refuses some long exponents.
            let shortest = format!("{value:e}");
            let point = if shortest.contains('.') { "e" } else { ".0e" };
            shortest.replacen('e', point, 1).into_bytes().into()
        }
        _ => quote(text).into(),
    }
}

/// A container whose values are being read, with the number of values that are missing.
enum OpenDatum {
    List(usize, Vec<Datum>),
    /// Also has the name of the next member.
    Map(usize, Vec<(Box<str>, Datum)>, Option<Box<str>>),
}

/// Returns the value that a tape spells.
fn build(tape: &[Node<'_>]) -> Option<Datum> {
    let mut open: Vec<OpenDatum> = Vec::new();
    for node in tape {
        if let (Node::String(name), Some(OpenDatum::Map(_, _, key @ None))) =
            (node, open.last_mut())
        {
            *key = Some((*name).into());
            continue;
        }
        let mut value = match node {
            Node::String(text) => Datum::Text((*text).into()),
            Node::Static(value) => scalar(*value),
            Node::Array { len: 0, .. } => Datum::List(Box::default()),
            Node::Object { len: 0, .. } => Datum::Map(Record::default()),
            Node::Array { len, .. } => {
                open.push(OpenDatum::List(*len, Vec::with_capacity(*len)));
                continue;
            }
            Node::Object { len, .. } => {
                open.push(OpenDatum::Map(*len, Vec::with_capacity(*len), None));
                continue;
            }
        };
        loop {
            let left = match open.last_mut() {
                None => return Some(value),
                Some(OpenDatum::List(left, elements)) => {
                    elements.push(value);
                    left
                }
                Some(OpenDatum::Map(left, members, key)) => {
                    members.push((key.take()?, value));
                    left
                }
            };
            *left = left.saturating_sub(1);
            if *left > 0 {
                break;
            }
            value = match open.pop()? {
                OpenDatum::List(_, elements) => Datum::List(elements.into_boxed_slice()),
                OpenDatum::Map(_, members, _) => Datum::Map(Record::new(members)),
            };
        }
    }
    None
}

fn scalar(value: StaticNode) -> Datum {
    match value {
        StaticNode::Null => Datum::Null,
        StaticNode::Bool(value) => Datum::Bool(value),
        StaticNode::I64(value) => Datum::Int(value),
        StaticNode::U64(value) => i64::try_from(value).map_or(Datum::Uint(value), Datum::Int),
        StaticNode::F64(value) => Datum::Float(value),
    }
}
