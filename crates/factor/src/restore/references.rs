//! Replaces references by the text that they refer to.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use tamis_json::limits::Limits;

use super::tokens::Tokens;
use super::{Fault, name_of, pointer_segment};
use crate::hash::{HashedMap, mix};
use crate::reader::Token;

/// The pointers of a document, by the hash of their segments. The hash has a secret key, so that no document can be made whose
/// pointers have the same.
#[derive(Default)]
pub(super) struct Pointers {
    by_hash: HashedMap<Vec<u8>>,
    state: RandomState,
}

impl Pointers {
    /// Returns the hash of the pointer that has one more segment than that with the hash `around`.
    fn hash_below(&self, around: u64, segment: &[u8]) -> u64 {
        mix(around, self.state.hash_one(segment))
    }

    fn hash_of(&self, pointer: &[u8]) -> u64 {
        let segments = pointer.split(|byte| *byte == b'/').skip(1);
        segments.fold(0, |hashed, segment| self.hash_below(hashed, segment))
    }

    fn insert(&mut self, pointer: Vec<u8>) {
        self.by_hash.insert(self.hash_of(&pointer), pointer);
    }

    /// Returns whether the pointer with this hash is the same.
    fn has(&self, hash: u64, pointer: &[u8]) -> bool {
        self.by_hash.get(&hash).is_some_and(|known| known == pointer)
    }
}

/// A document without references, minified.
pub(super) struct Resolved {
    pub(super) text: Vec<u8>,
    pub(super) fault: Option<Fault>,
    pub(super) pointers: Pointers,
}

/// An open container.
struct OpenContainer {
    object: bool,
    count: u64,
    /// The place in the text.
    start: usize,
    /// The length and the hash of its pointer.
    path: usize,
    hash: u64,
    is_target: bool,
}

/// Replaces the references of a valid document. Ends when the text has `end` bytes.
pub(super) fn resolve(document: &[u8], most: usize, end: usize, limits: &Limits) -> Resolved {
    let mut pointers = Pointers::default();
    let fault = collect(document, &mut pointers).err();
    if fault.is_some() {
        return Resolved { text: Vec::new(), fault, pointers };
    }
    let (text, fault, _) = write(document, &pointers, most, end, limits);
    Resolved { text, fault, pointers }
}

/// Returns the offset in the document of a place in the text without references.
pub(super) fn source_offset(
    document: &[u8],
    pointers: &Pointers,
    place: usize,
    limits: &Limits,
) -> usize {
    let (_, _, offset) = write(document, pointers, usize::MAX, place, limits);
    offset
}

/// Reads the pointer of the reference whose name was read last.
fn pointer_of(tokens: &mut Tokens<'_>) -> Result<Vec<u8>, Fault> {
    let at = tokens.range().start;
    let is_string = tokens.next() == Token::String;
    let text = if is_string { name_of(tokens.text()) } else { Vec::new() };
    let pointer = text.strip_prefix(b"#").filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
    let Some(pointer) = pointer else {
        return Err(Fault::new(at, "expected a pointer that begins with `#/` in `$ref`"));
    };
    if tokens.next() != Token::Close {
        return Err(Fault::new(at, "expected `$ref` to be the only member"));
    }
    Ok(pointer.to_vec())
}

/// Collects the pointers of all references.
fn collect(document: &[u8], pointers: &mut Pointers) -> Result<(), Fault> {
    let mut tokens = Tokens::new(document, 0);
    let mut is_first = false;
    loop {
        match tokens.next() {
            Token::End => return Ok(()),
            Token::Key if is_first && is_ref(tokens.text()) => {
                let pointer = pointer_of(&mut tokens)?;
                pointers.insert(pointer);
                is_first = false;
            }
            Token::Key if is_ref(tokens.text()) => {
                let message = "expected `$ref` to be the only member";
                return Err(Fault::new(tokens.range().start, message));
            }
            Token::Open { object } => is_first = object,
            _ => is_first = false,
        }
    }
}

fn is_ref(name: &[u8]) -> bool {
    name == b"$ref" || name.contains(&b'\\') && name_of(name) == b"$ref"
}

/// Writes the document without references and white space. Returns the text, and the offset at which it ended.
fn write(
    document: &[u8],
    pointers: &Pointers,
    most: usize,
    end: usize,
    limits: &Limits,
) -> (Vec<u8>, Option<Fault>, usize) {
    let mut tokens = Tokens::new(document, 0);
    let mut text = Vec::new();
    let mut targets: HashedMap<Range<usize>> = HashedMap::default();
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut path: Vec<u8> = Vec::new();
    let mut path_hash = 0;
    let mut after_key = false;
    let mut before = 0;
    loop {
        let token = tokens.next();
        let at = tokens.range().start;
        if token == Token::End || text.len() > end {
            return (text, None, before);
        }
        before = at;
        if text.len() > most {
            let fault = Fault { path, ..Fault::too_long(at, limits) };
            return (text, Some(fault), at);
        }
        if token == Token::Close {
            text.push(if document.get(at) == Some(&b'}') { b'}' } else { b']' });
            if let Some(closed) = open.pop() {
                if closed.is_target {
                    targets.entry(closed.hash).or_insert(closed.start..text.len());
                }
                path.truncate(closed.path);
            }
            continue;
        }
        if let Some(around) = open.last_mut()
            && !std::mem::take(&mut after_key)
        {
            path.truncate(around.path);
            let is_key = token == Token::Key;
            let number = around.count.to_string();
            let segment =
                if is_key { pointer_segment(&name_of(tokens.text())) } else { number.into_bytes() };
            path.push(b'/');
            path.extend_from_slice(&segment);
            path_hash = pointers.hash_below(around.hash, &segment);
            if around.count > 0 {
                text.push(b',');
            }
            around.count += 1;
            if is_key {
                text.extend_from_slice(tokens.token());
                text.push(b':');
                after_key = true;
                if around.object && around.count == 1 && is_ref(tokens.text()) {
                    // The container becomes that to which it refers.
                    after_key = false;
                    let Some(replaced) = open.pop() else { continue };
                    path.truncate(replaced.path);
                    let pointer = pointer_of(&mut tokens).unwrap_or_default();
                    let hash = pointers.hash_of(&pointer);
                    let target = targets.get(&hash).filter(|_| pointers.has(hash, &pointer));
                    let target = target.cloned();
                    let Some(target) = target else {
                        let name = String::from_utf8_lossy(&pointer);
                        let message =
                            format!("`#{name}` is not an object or array that was written before");
                        return (text, Some(Fault { path, ..Fault::new(at, message) }), at);
                    };
                    text.truncate(replaced.start);
                    if text.len() + target.len() > most {
                        let fault = Fault { path, ..Fault::too_long(at, limits) };
                        return (text, Some(fault), at);
                    }
                    text.extend_from_within(target);
                }
                continue;
            }
        }
        if let Token::Open { object } = token {
            let is_target = pointers.has(path_hash, &path);
            open.push(OpenContainer {
                object,
                count: 0,
                start: text.len(),
                path: path.len(),
                hash: path_hash,
                is_target: is_target && !open.is_empty(),
            });
        }
        text.extend_from_slice(tokens.token());
    }
}
