//! Restores a factored document: references first, then `_all`, then `_made`.
//!
//! The document is in memory, valid, and may have white space. Each step is linear in the text that it writes, which is
//! limited, because few references or templates may stand for much text.
//!
//! | module | for |
//! |---|---|
//! | `tokens` | tokens of a valid document |
//! | `references` | the text without references, minified |
//! | `items` | the members of one item, with those of `_all` and `_made` |

mod items;
mod references;
mod tokens;

use std::ops::Range;

use tamis_json::error::{Error, ErrorKind, LimitName, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::Limits;

use crate::names::is_reserved;
use crate::reader::{Token, unescape};
use items::{Item, Shared};
use references::{Resolved, resolve, source_offset};
use tokens::Tokens;

/// Bytes that are gathered before they are passed on.
const GATHERED: usize = 64 << 10;

/// An error in the text without references.
#[derive(Debug)]
struct Fault {
    raise: Raise,
    at: usize,
    path: Vec<u8>,
}

impl Fault {
    fn new(at: usize, message: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Self { raise: Raise::new(ErrorKind::Restore, message), at, path: Vec::new() }
    }

    fn too_long(at: usize, limits: &Limits) -> Self {
        let most = Hold::capacity(limits);
        let message = format!("the restored document exceeds {most} bytes");
        Self { raise: Raise::limit(LimitName::HeldAndSpill, message), at, path: Vec::new() }
    }

    fn into_error(self, offset: u64) -> Error {
        Error::at(self.raise, offset, String::from_utf8_lossy(&self.path).into_owned())
    }
}

/// Returns whether a valid document begins as a factored one does.
#[must_use]
pub fn is_factored(document: &[u8]) -> bool {
    let mut tokens = Tokens::new(document, 0);
    let is_object = matches!(tokens.next(), Token::Open { object: true });
    is_object && tokens.next() == Token::Key && name_of(tokens.text()) == b"_factored"
}

/// Restores a valid document, and passes it on in pieces. One that is not factored is passed on unchanged.
///
/// # Errors
/// The document is not one that was factored, or the restored one exceeds the limits `held` and `spill` together. The text
/// that was passed on is then incomplete.
pub fn restore(document: &[u8], limits: &Limits, mut take: impl FnMut(&[u8])) -> Result<(), Error> {
    if !is_factored(document) {
        take(document);
        return Ok(());
    }
    let most = usize::try_from(Hold::capacity(limits)).unwrap_or(usize::MAX);
    let Resolved { text, fault, pointers } = resolve(document, most, usize::MAX, limits);
    if let Some(fault) = fault {
        let offset = fault.at as u64;
        return Err(fault.into_error(offset));
    }
    let mut writer = Writer {
        text: &text,
        out: Vec::new(),
        written: 0,
        most,
        limits,
        take: &mut take,
        item: Item::default(),
    };
    let result = writer.document();
    writer.flush();
    result.map_err(|fault| {
        let offset = source_offset(document, &pointers, fault.at, limits);
        fault.into_error(offset as u64)
    })
}

/// Returns the text of a name as spelled.
fn name_of(spelled: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    unescape(spelled, &mut text);
    text
}

/// An open container around the arrays.
struct OpenContainer {
    object: bool,
    /// The members or elements so far.
    count: u64,
    written: bool,
    all: Option<Range<usize>>,
    made: Option<Range<usize>>,
    path: usize,
}

/// Writes the restored document.
struct Writer<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    written: usize,
    most: usize,
    limits: &'a Limits,
    take: &'a mut dyn FnMut(&[u8]),
    item: Item,
}

impl Writer<'_> {
    fn flush(&mut self) {
        self.written += self.out.len();
        (self.take)(&self.out);
        self.out.clear();
    }

    /// Passes gathered bytes on.
    fn check(&mut self, at: usize) -> Result<(), Fault> {
        if self.out.len() >= GATHERED {
            self.flush();
        }
        if self.written + self.out.len() > self.most {
            return Err(Fault::too_long(at, self.limits));
        }
        Ok(())
    }

    /// Writes the document.
    fn document(&mut self) -> Result<(), Fault> {
        let mut tokens = Tokens::new(self.text, 0);
        let mut path = Vec::new();
        self.value(&mut tokens, &mut path).map_err(|fault| Fault { path, ..fault })
    }

    fn value(&mut self, tokens: &mut Tokens<'_>, path: &mut Vec<u8>) -> Result<(), Fault> {
        let mut open: Vec<OpenContainer> = Vec::new();
        // The document is the array in `_items`.
        let mut items = false;
        loop {
            let token = tokens.next();
            let at = tokens.range().start;
            let depth = open.len();
            let around = open.last_mut();
            if let Some(around) = &around {
                path.truncate(around.path);
            }
            match token {
                Token::End => return Ok(()),
                Token::Close => {
                    let Some(closed) = open.pop() else { continue };
                    if closed.all.is_some() || closed.made.is_some() {
                        return Err(Fault::new(at, "expected an array after `_all` and `_made`"));
                    }
                    match open.last_mut() {
                        // The document, to which the mark of left-out elements is added, ends later.
                        Some(document) if items && depth == 2 => document.written = closed.written,
                        None if items => self.out.push(b']'),
                        _ => self.out.push(if closed.object { b'}' } else { b']' }),
                    }
                    continue;
                }
                Token::Key => {
                    let Some(around) = around else { continue };
                    let name = name_of(tokens.text());
                    path.push(b'/');
                    path.extend_from_slice(&pointer_segment(&name));
                    if is_reserved(&name) {
                        let is_first = around.count == 0;
                        around.count += 1;
                        match name.as_slice() {
                            b"_factored" if depth == 1 && is_first => {
                                if tokens.next() != Token::Number || tokens.text() != b"1" {
                                    let message = "expected 1: this form of `_factored` is unknown";
                                    return Err(Fault::new(tokens.range().start, message));
                                }
                            }
                            b"_all" | b"_made" => {
                                let start = tokens.peek();
                                let range = tokens.skip_value();
                                if self.text.get(start) != Some(&b'{') {
                                    return Err(Fault::new(start, "expected an object"));
                                }
                                let slot = if name == b"_all" {
                                    &mut around.all
                                } else {
                                    &mut around.made
                                };
                                if slot.replace(range).is_some() {
                                    return Err(Fault::new(at, "this member is there twice"));
                                }
                            }
                            b"_items" if depth == 1 && !around.written => {
                                let start = tokens.peek();
                                if self.text.get(start) != Some(&b'[') {
                                    return Err(Fault::new(start, "expected an array"));
                                }
                                // The document is the array instead.
                                self.out.clear();
                                items = true;
                                let (all, made) = (around.all.take(), around.made.take());
                                if all.is_some() || made.is_some() {
                                    self.out.push(b'[');
                                    around.written = self.array(tokens, all, made, path)?;
                                }
                            }
                            _ => return Err(Fault::new(at, "this member has no place here")),
                        }
                        continue;
                    }
                    around.count += 1;
                    if items && depth == 1 {
                        // The mark of elements that were left out.
                        if !name.starts_with(b"_omitted") {
                            return Err(Fault::new(at, "unexpected member after `_items`"));
                        }
                        if around.written {
                            self.out.push(b',');
                        }
                        around.written = true;
                        self.out.extend_from_slice(b"{\"");
                        self.out.extend_from_slice(tokens.text());
                        self.out.extend_from_slice(b"\":");
                        let range = tokens.skip_value();
                        self.out.extend_from_slice(self.text.get(range).unwrap_or_default());
                        self.out.push(b'}');
                        continue;
                    }
                    if around.written {
                        self.out.push(b',');
                    }
                    around.written = true;
                    self.out.push(b'"');
                    self.out.extend_from_slice(tokens.text());
                    self.out.extend_from_slice(b"\":");
                    let (all, made) = (around.all.take(), around.made.take());
                    if all.is_some() || made.is_some() {
                        let start = tokens.peek();
                        if self.text.get(start) != Some(&b'[') {
                            let message = "expected an array after `_all` and `_made`";
                            return Err(Fault::new(start, message));
                        }
                        self.out.push(b'[');
                        self.array(tokens, all, made, path)?;
                        self.out.push(b']');
                    }
                    continue;
                }
                _ => {}
            }
            if let Some(around) = around
                && !around.object
            {
                if around.written {
                    self.out.push(b',');
                }
                around.written = true;
                path.push(b'/');
                path.extend_from_slice(around.count.to_string().as_bytes());
                around.count += 1;
            }
            if let Token::Open { object } = token {
                self.out.push(if object { b'{' } else { b'[' });
                open.push(OpenContainer {
                    object,
                    count: 0,
                    written: false,
                    all: None,
                    made: None,
                    path: path.len(),
                });
            } else {
                self.out.extend_from_slice(tokens.token());
            }
            self.check(at)?;
        }
    }

    /// Writes the items of a factored array, without brackets. Returns whether there is one.
    fn array(
        &mut self,
        tokens: &mut Tokens<'_>,
        all: Option<Range<usize>>,
        made: Option<Range<usize>>,
        path: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let shared = Shared::new(self.text, all, made)?;
        let length = path.len();
        tokens.next();
        let mut index = 0_u64;
        loop {
            let start = tokens.peek();
            if self.text.get(start) == Some(&b']') {
                tokens.next();
                path.truncate(length);
                return Ok(index > 0);
            }
            path.truncate(length);
            path.push(b'/');
            path.extend_from_slice(index.to_string().as_bytes());
            if self.text.get(start) != Some(&b'{') {
                return Err(Fault::new(
                    start,
                    "expected an object: the items of this array share members",
                ));
            }
            if index > 0 {
                self.out.push(b',');
            }
            index += 1;
            self.item.read(tokens)?;
            let left = self.most.saturating_sub(self.written + self.out.len());
            let most = left.min(usize::try_from(self.limits.item()).unwrap_or(usize::MAX));
            self.item.share(&shared, start, most)?;
            self.item.write(&mut self.out);
            self.check(start)?;
        }
    }
}

/// Returns a name as a part of a JSON Pointer.
fn pointer_segment(name: &[u8]) -> Vec<u8> {
    let mut segment = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'~' => segment.extend_from_slice(b"~0"),
            b'/' => segment.extend_from_slice(b"~1"),
            byte => segment.push(*byte),
        }
    }
    segment
}
