//! The raw bytes of one item, as values that a template reads.
//!
//! simd-json reads them. What it cannot, or would round, is respelled in front of it: an integer past 64 bits and a
//! number past the floats become strings of their text, a lone surrogate becomes U+FFFD, and a container deeper than
//! [`MAX_DEPTH`] a string of its text, since the engine recurses on values. Nothing here does. Of duplicate names the last
//! counts, as in Go.

use std::collections::HashMap;

use gtmpl_ng::{Number, Value};
use memchr::memchr2;
use simd_json::{Node, StaticNode};

use super::meter::NODE;

/// Containers inside each other that stay containers. The engine copies and prints values by recursion.
pub(super) const MAX_DEPTH: usize = 100;
/// What the values of an item may take, in the meter's units: about twice the bytes of memory.
const MAX_UNITS: u64 = 256 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// Not JSON.
    Malformed(String),
    /// More values than a template may be given.
    TooLarge,
}

/// The members of an object; nothing, if the value is none.
pub(super) fn read_object(json: &[u8]) -> Result<Option<HashMap<String, Value>>, Unread> {
    let first = json.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'{') {
        return Ok(None);
    }
    let mut respelled = Respell::new(json).run()?;
    let tape =
        simd_json::to_tape(&mut respelled).map_err(|error| Unread::Malformed(error.to_string()))?;
    Ok(match build(&tape.0) {
        Some(Value::Map(members)) => Some(members),
        _ => None,
    })
}

struct Respell<'j> {
    json: &'j [u8],
    pos: usize,
    out: Vec<u8>,
    depth: usize,
    units: u64,
}

impl<'j> Respell<'j> {
    fn new(json: &'j [u8]) -> Self {
        Self { json, pos: 0, out: Vec::with_capacity(json.len() + 64), depth: 0, units: 0 }
    }

    fn rest(&self) -> &'j [u8] {
        self.json.get(self.pos..).unwrap_or_default()
    }

    fn run(mut self) -> Result<Vec<u8>, Unread> {
        self.units = self.json.len() as u64;
        while let Some(byte) = self.rest().first().copied() {
            match byte {
                b'"' => self.string(),
                b'-' | b'0'..=b'9' => self.number(),
                b'{' | b'[' if self.depth == MAX_DEPTH => self.too_deep(),
                _ => {
                    match byte {
                        b'{' | b'[' => self.depth += 1,
                        b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                    if matches!(byte, b'{' | b'[' | b',') {
                        self.units += NODE;
                        if self.units > MAX_UNITS {
                            return Err(Unread::TooLarge);
                        }
                    }
                    self.out.push(byte);
                    self.pos += 1;
                }
            }
        }
        Ok(self.out)
    }

    /// Copies as many bytes.
    fn copy(&mut self, count: usize) {
        let rest = self.rest();
        let count = count.min(rest.len());
        self.out.extend_from_slice(rest.get(..count).unwrap_or_default());
        self.pos += count;
    }

    fn string(&mut self) {
        self.copy(1);
        while let Some(at) = memchr2(b'"', b'\\', self.rest()) {
            self.copy(at);
            if self.rest().first() == Some(&b'"') {
                self.copy(1);
                return;
            }
            match (surrogate(self.rest()), self.rest().get(6..).and_then(surrogate)) {
                (Some(Half::High), Some(Half::Low)) => self.copy(12),
                (Some(_), _) => {
                    self.out.extend_from_slice(b"\\ufffd");
                    self.pos += 6;
                }
                (None, _) => self.copy(2),
            }
        }
        self.copy(usize::MAX);
    }

    fn number(&mut self) {
        let rest = self.rest();
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let text = std::str::from_utf8(rest.get(..length).unwrap_or_default()).unwrap_or_default();
        self.pos += length;
        let is_integer = !text.contains(['.', 'e', 'E']);
        if text == "-0" {
            // Its sign is part of it.
            self.out.extend_from_slice(b"-0.0");
        } else if is_integer && (text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()) {
            self.out.extend_from_slice(text.as_bytes());
        } else if is_integer && is_json_number(text) {
            self.quote(text.as_bytes());
        } else if let Ok(value) = text.parse::<f64>()
            && is_json_number(text)
        {
            if value.is_infinite() {
                self.quote(text.as_bytes());
            } else {
                // The shortest text of the same float: simd-json refuses exponents that it need not read.
                let shortest = format!("{value:e}");
                let has_point = shortest.contains('.');
                let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
                self.out.extend_from_slice(digits.as_bytes());
                self.out.extend_from_slice(if has_point { b"e" } else { b".0e" });
                self.out.extend_from_slice(exponent.as_bytes());
            }
        } else {
            // Not JSON: simd-json says what is wrong.
            self.out.extend_from_slice(text.as_bytes());
        }
    }

    /// A container, as a string of its text.
    fn too_deep(&mut self) {
        let mut depth = 0usize;
        let mut in_string = false;
        let mut escaped = false;
        let rest = self.rest();
        let mut length = rest.len();
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                length = at + 1;
                break;
            }
        }
        self.quote(rest.get(..length).unwrap_or_default());
        self.pos += length;
    }

    fn quote(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for byte in text {
            match byte {
                b'"' | b'\\' => self.out.extend_from_slice(&[b'\\', *byte]),
                0..0x20 => self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                byte => self.out.push(*byte),
            }
        }
        self.out.push(b'"');
    }
}

/// The grammar of RFC 8259, which is narrower than what Rust parses.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent
            .is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

enum Half {
    High,
    Low,
}

/// Which half of a pair this escape is, if any.
fn surrogate(text: &[u8]) -> Option<Half> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

enum Open {
    Array(usize, Vec<Value>),
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
            Node::Array { len, .. } => {
                open.push(Open::Array(*len, Vec::with_capacity(*len)));
                if *len > 0 {
                    continue;
                }
                close(open.pop()?)
            }
            Node::Object { len, .. } => {
                open.push(Open::Object(*len, HashMap::with_capacity(*len), None));
                if *len > 0 {
                    continue;
                }
                close(open.pop()?)
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
            value = close(open.pop()?);
        }
    }
    None
}

fn close(open: Open) -> Value {
    match open {
        Open::Array(_, elements) => Value::Array(elements),
        Open::Object(_, members, _) => Value::Map(members),
    }
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
