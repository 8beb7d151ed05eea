//! The filter that replaces secrets in a stream of bytes.
//!
//! The input is examined in blocks that end at multiples of [`BLOCK`] bytes, so what is written never depends on how the
//! input was cut. A part of each block is held until the next one:
//!
//! ```text
//! buffer   ........|.....................|........................|..........
//!                  ^ written             ^ floor: decoded or      ^ done: examined
//!                                          replaced
//! ```
//!
//! In JSON, [`KEPT`] bytes before the examined end are held, so that the beginning of the string around a secret is in the
//! buffer. A string with a secret waits for its end, because a key is replaced as a whole. A string of more than [`KEPT`]
//! bytes is not awaited: its secrets are replaced one by one, also if it is a key.

use std::collections::BTreeMap;

use memchr::{memchr, memchr2, memrchr};

use super::before::{Before, REACH};
use super::decode::{DecodedText, after_escape, character, hex, is_escaped};
use super::fingerprints::{AnchorPlace, BEFORE, Fingerprints, URL_BEFORE};
use super::keys::KeyNames;
use super::kinds::{KINDS, URL_PASSWORD, has};
use super::search::{AHEAD, Hit, Search};
use super::shape::{Match, RestState, compare, find_at, may_follow};
use crate::sink::Sink;

/// The form of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextForm {
    /// A valid JSON text, with or without white space.
    Json,
    /// Any other text.
    Plain,
}

/// The number of bytes that are examined at once.
const BLOCK: usize = 16 << 10;
/// The number of examined bytes that are held in JSON, and the length up to which the end of a string is awaited.
pub(super) const KEPT: usize = 4096;
/// The most bytes of `://` if no character is written by its number: `:\/\/`.
const SLASHES: usize = 5;
/// The most signs `@` of one URL, in the name of the user and the password.
const MOST_SIGNS: usize = 4;
/// The length of the longest escape in JSON.
const ESCAPE: usize = 6;

/// Replaces secrets in one text after the other. The sink is an argument of each call.
#[derive(Debug)]
pub(crate) struct SecretFilter {
    form: TextForm,
    search: Search,
    /// Input that is not written yet, after some that later bytes are compared with.
    buffer: Vec<u8>,
    /// The number of bytes of the text.
    total: u64,
    /// An odd number of backslashes came directly before the buffer.
    odd: bool,
    /// Everything before is written.
    written: usize,
    /// Everything before is examined.
    done: usize,
    /// No secret that is still to be found begins before. The byte here begins a character.
    floor: usize,
    /// The characters before `floor`.
    before_floor: Before,
    /// A position, and that of the next quote or backslash from there.
    special: (usize, usize),
    /// The progress in a secret whose end is not known.
    rest: Option<RestState>,
    keys: KeyNames<&'static str>,
    decoded: DecodedText,
    found: BTreeMap<&'static str, u64>,
}

/// The result of looking at a place.
enum Look {
    /// Nothing is there.
    Nothing,
    /// More input decides. Everything before this position is examined.
    Wait(usize),
    /// The text was read up to the new `floor`, where the search goes on.
    Read,
}

/// The string around a place.
enum Around {
    /// Its contents, and whether it is a key.
    Whole { begin: usize, close: usize, is_key: bool },
    /// It is long. Its contents begin here, if that is known.
    Long(Option<usize>),
    /// Its quote is here. More input shows where it ends, or whether it is a key.
    Open(usize),
}

impl SecretFilter {
    pub(crate) fn new(form: TextForm) -> Self {
        Self {
            form,
            search: Search::new(form),
            buffer: Vec::new(),
            total: 0,
            odd: false,
            written: 0,
            done: 0,
            floor: 0,
            before_floor: Before::EDGE,
            special: (0, 0),
            rest: None,
            keys: KeyNames::default(),
            decoded: DecodedText::default(),
            found: BTreeMap::new(),
        }
    }

    /// Returns how many secrets of each kind were replaced.
    pub(crate) fn found(&self) -> &BTreeMap<&'static str, u64> {
        &self.found
    }

    /// Reads the next bytes of the text.
    pub(crate) fn write(&mut self, mut bytes: &[u8], sink: &mut dyn Sink) {
        while !bytes.is_empty() {
            let room = BLOCK - (self.total % BLOCK as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            self.total += now.len() as u64;
            if now.len() == room {
                self.examine(false, sink);
                self.write_examined(sink);
            }
            bytes = later;
        }
    }

    /// Writes what is held, except for a secret that may have begun: no input has arrived for a while. Plain text only.
    #[cfg(feature = "text")]
    pub(crate) fn release(&mut self, sink: &mut dyn Sink) {
        self.examine(false, sink);
        self.write_to(self.done.min(self.first_begun()), sink);
        self.write_examined(sink);
    }

    /// Returns where the first secret near the end begins that more text may complete, or the end. Plain text only.
    #[cfg(feature = "text")]
    fn first_begun(&self) -> usize {
        let from = self.floor.max(self.buffer.len().saturating_sub(URL_BEFORE));
        let mut before = self.before(from);
        for (at, byte) in self.buffer.iter().enumerate().skip(from) {
            if find_at(&self.buffer, at, before, false).0 == Match::More {
                return at;
            }
            before.push(*byte);
        }
        self.buffer.len()
    }

    /// Ends the text and writes everything. The next text may follow.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        self.examine(true, sink);
        self.write_to(self.buffer.len(), sink);
        self.restart();
    }

    /// Forgets the text. The next one may follow.
    pub(crate) fn restart(&mut self) {
        self.buffer.clear();
        (self.total, self.odd, self.written, self.done) = (0, false, 0, 0);
        (self.floor, self.before_floor, self.special) = (0, Before::EDGE, (0, 0));
        (self.rest, self.keys) = (None, KeyNames::default());
    }

    fn is_json(&self) -> bool {
        self.form == TextForm::Json
    }

    /// Examines the buffer from `done` on. `ended`: nothing follows.
    fn examine(&mut self, ended: bool, sink: &mut dyn Sink) {
        self.special = (0, 0);
        self.search.restart();
        loop {
            if self.rest.is_some() && !self.skip_rest(ended) {
                return;
            }
            match self.look(ended, sink) {
                Look::Read => self.done = self.done.max(self.floor),
                Look::Wait(at) => {
                    self.done = at.max(self.floor);
                    return;
                }
                Look::Nothing => {
                    self.done = self.buffer.len();
                    return;
                }
            }
        }
    }

    /// Looks at each place where a secret may begin.
    fn look(&mut self, ended: bool, sink: &mut dyn Sink) -> Look {
        let end = self.buffer.len();
        let mut from = self.floor.max(self.done.saturating_sub(AHEAD));
        while from < end {
            let Some(found) = self.search.find(&self.buffer, from) else { break };
            let look = match found.hit {
                Hit::Text(text) => {
                    let places = Fingerprints::shared().places(text);
                    self.look_at_places(places, found.at, ended, sink)
                }
                Hit::At => self.look_at_url(found.at, ended, sink),
                Hit::Escape => self.look_at_escape(found.at, ended, sink),
            };
            match look {
                Look::Nothing => from = found.noticed,
                other => return other,
            }
        }
        Look::Nothing
    }

    /// Looks at the text around an escape, if the search may miss a secret because of it.
    fn look_at_escape(&mut self, at: usize, ended: bool, sink: &mut dyn Sink) -> Look {
        match self.buffer.get(at + 4..at + 6) {
            Some([high, low]) => {
                let byte = (hex(*high) << 4 | hex(*low)) as u8;
                if !Fingerprints::shared().may_hide(byte) {
                    return Look::Nothing;
                }
            }
            _ if ended => return Look::Nothing,
            _ => return Look::Wait(at),
        }
        self.look_around(at, ended, sink)
    }

    /// Looks at the URL whose password ends before the sign `@`, if there is one.
    fn look_at_url(&mut self, at: usize, ended: bool, sink: &mut dyn Sink) -> Look {
        let earliest = self.floor.max(at.saturating_sub(URL_BEFORE));
        let before = self.buffer.get(earliest..at).unwrap_or_default();
        let mut signs = 0;
        let is_of_url = |byte: &&u8| {
            signs += usize::from(**byte == b'@');
            signs < MOST_SIGNS && (has(URL_PASSWORD, **byte) || **byte == b'@' || !byte.is_ascii())
        };
        let len = before.iter().rev().take_while(is_of_url).count();
        let begin = at - len;
        let password = self.buffer.get(begin..at).unwrap_or_default();
        match self.buffer.get(earliest..begin).and_then(<[u8]>::last) {
            Some(b'\\') if self.is_json() => self.look_around(begin - 1, ended, sink),
            Some(b'/') if memchr(b':', password).is_some() => {
                // The slashes, and the colon before them, may be escaped.
                let slashes = begin.saturating_sub(SLASHES).max(earliest);
                let slashes = self.buffer.get(slashes..begin).unwrap_or_default();
                if self.is_json() && memchr(b'\\', slashes).is_some() {
                    return self.look_around(begin - 1, ended, sink);
                }
                let Some(anchor) = begin.checked_sub(3) else { return Look::Nothing };
                self.look_at_places(Fingerprints::shared().url(), anchor, ended, sink)
            }
            _ => Look::Nothing,
        }
    }

    /// Compares the text at a place with the shapes of the kinds that may be there, as far as it has no escapes.
    fn look_at_places(
        &mut self,
        places: &[AnchorPlace],
        at: usize,
        ended: bool,
        sink: &mut dyn Sink,
    ) -> Look {
        for place in places {
            let begin = at.checked_sub(place.offset).filter(|begin| *begin >= self.floor);
            let (Some(begin), Some(kind)) = (begin, KINDS.get(place.kind)) else { continue };
            let after = begin + place.anchor.len();
            let shown = self.buffer.get(begin..self.buffer.len().min(after)).unwrap_or_default();
            if !place.anchor.starts_with(shown) || (shown.len() < place.anchor.len() && ended) {
                continue;
            }
            if shown.len() < place.anchor.len() {
                return Look::Wait(begin);
            }
            if self.may_be_after_escape(begin) {
                return self.look_around(at, ended, sink);
            }
            if !may_follow(kind, self.before(begin)) {
                continue;
            }
            let (stop, is_end) = self.end_of_plain(after, ended);
            let shown = self.buffer.get(..stop).unwrap_or_default();
            match compare(kind, shown, begin, after, is_end) {
                Match::No => {}
                // A string is read as a whole: its end shows whether it is a key.
                _ if self.is_json() => return self.look_around(at, ended, sink),
                Match::More => return Look::Wait(begin),
                Match::Found { from, to } => {
                    self.replace(from, to, kind.name, sink);
                    return self.read_to(to);
                }
                Match::Long { from, to, rest } => {
                    self.replace(from, to, kind.name, sink);
                    self.rest = Some(RestState::new(rest));
                    return self.read_to(to);
                }
            }
        }
        Look::Nothing
    }

    /// Returns the characters before a position, if none of them is spelled as an escape of JSON.
    fn before(&self, at: usize) -> Before {
        let from = self.floor.max(at.saturating_sub(REACH));
        self.before_floor.and(self.buffer.get(from..at).unwrap_or_default())
    }

    /// Returns whether an escape of JSON may spell one of the characters before a position.
    fn may_be_after_escape(&self, at: usize) -> bool {
        let from = self.floor.max(at.saturating_sub(REACH + ESCAPE));
        let near = self.buffer.get(from..at).unwrap_or_default();
        self.is_json() && memchr(b'\\', near).is_some()
    }

    /// Returns up to where the text after `at` is spelled without quotes and escapes, and whether it ends there.
    fn end_of_plain(&mut self, at: usize, ended: bool) -> (usize, bool) {
        let end = self.buffer.len();
        if !self.is_json() {
            return (end, ended);
        }
        let (from, mut special) = self.special;
        if !(from <= at && at <= special && special < end) {
            let rest = self.buffer.get(at..).unwrap_or_default();
            special = memchr2(b'"', b'\\', rest).map_or(end, |len| at + len);
            self.special = (at, special);
        }
        (special, self.buffer.get(special) == Some(&b'"'))
    }

    /// Decodes the string around a place in JSON, or a part of it, and replaces its secrets.
    fn look_around(&mut self, hit: usize, ended: bool, sink: &mut dyn Sink) -> Look {
        match self.string_around(hit, ended) {
            Around::Open(quote) => Look::Wait(quote),
            Around::Whole { begin, close, is_key } => {
                let mut decoded = std::mem::take(&mut self.decoded);
                decoded.read(&self.buffer, begin, close);
                if is_key {
                    self.replace_key(&decoded, begin, close, sink);
                } else {
                    self.replace_all(&decoded, sink);
                }
                self.decoded = decoded;
                self.set_floor(close + 1, Before::EDGE);
                Look::Read
            }
            Around::Long(begin) => {
                let near = hit.saturating_sub(BEFORE).max(self.floor);
                let (mut at, mut before) = match begin {
                    Some(begin) if begin >= near => (begin, Some(Before::EDGE)),
                    _ => (near, (near == self.floor).then_some(self.before_floor)),
                };
                if before.is_none() {
                    at = after_escape(&self.buffer, self.odd, at);
                    // The first character is only what comes before the second.
                    let rest = self.buffer.get(at..).unwrap_or_default();
                    let Some((byte, len)) = character(rest) else { return Look::Nothing };
                    (before, at) = (Some(Before::EDGE.and(&[byte])), at + len);
                }
                self.read_long(at, before.unwrap_or(Before::EDGE), hit, ended, sink)
            }
        }
    }

    /// Finds the string around a place.
    fn string_around(&self, hit: usize, ended: bool) -> Around {
        let earliest = self.floor.max(hit.saturating_sub(KEPT));
        let Some(quote) = self.open_quote(earliest, hit) else { return Around::Long(None) };
        let begin = quote + 1;
        let end = self.buffer.len();
        let is_cut = !ended && end - begin <= KEPT;
        let Some(close) = self.close_quote(begin, end.min(begin + KEPT)) else {
            return if is_cut { Around::Open(quote) } else { Around::Long(Some(begin)) };
        };
        let after = self.buffer.get(close + 1..end.min(close + 1 + KEPT)).unwrap_or_default();
        let next = after.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        if next.is_none() && !ended && after.len() < KEPT {
            return Around::Open(quote);
        }
        Around::Whole { begin, close, is_key: next == Some(&b':') }
    }

    /// Returns the position of the quote that opens the string around `at`, if it is not before `earliest`.
    fn open_quote(&self, earliest: usize, at: usize) -> Option<usize> {
        let mut to = at;
        loop {
            let quote = earliest + memrchr(b'"', self.buffer.get(earliest..to)?)?;
            if !is_escaped(&self.buffer, self.odd, quote) {
                return Some(quote);
            }
            to = quote;
        }
    }

    /// Returns the position of the quote before `to` that closes the string whose contents begin at `at`.
    fn close_quote(&self, mut at: usize, to: usize) -> Option<usize> {
        loop {
            let special = at + memchr2(b'"', b'\\', self.buffer.get(at..to)?)?;
            if self.buffer.get(special) == Some(&b'"') {
                return Some(special);
            }
            at = special + 2;
        }
    }

    /// Replaces the secrets of a whole string.
    fn replace_all(&mut self, decoded: &DecodedText, sink: &mut dyn Sink) {
        let (text, mut index, mut before) = (decoded.text(), 0, Before::EDGE);
        while index < text.len() {
            let (found, kind) = find_at(text, index, before, true);
            let to = match found {
                Match::No | Match::More => index + 1,
                Match::Found { from, to } => {
                    self.replace(decoded.place(from), decoded.place(to), kind, sink);
                    to
                }
                Match::Long { from, to, rest } => {
                    let mut rest = RestState::new(rest);
                    let more = text.get(to..).unwrap_or_default();
                    let to = to + more.iter().take_while(|byte| rest.takes(**byte)).count();
                    self.replace(decoded.place(from), decoded.place(to), kind, sink);
                    to
                }
            };
            let next = to.max(index + 1);
            before = before.and(text.get(index..next).unwrap_or_default());
            index = next;
        }
    }

    /// Replaces a key if it has a secret.
    fn replace_key(
        &mut self,
        decoded: &DecodedText,
        begin: usize,
        close: usize,
        sink: &mut dyn Sink,
    ) {
        let (text, mut before) = (decoded.text(), Before::EDGE);
        for (index, byte) in text.iter().enumerate() {
            let (found, kind) = find_at(text, index, before, true);
            if matches!(found, Match::Found { .. } | Match::Long { .. }) {
                let number = self.keys.number(kind, &self.buffer, begin);
                self.write_to(begin, sink);
                let name = match number {
                    1 => format!("[redacted:{kind}]"),
                    _ => format!("[redacted:{kind} {number}]"),
                };
                sink.write(name.as_bytes());
                *self.found.entry(kind).or_default() += 1;
                self.written = self.written.max(close);
                return;
            }
            before.push(*byte);
        }
    }

    /// Decodes a long string from `at` on and replaces its secrets, until a character after `hit` that no anchor has.
    fn read_long(
        &mut self,
        mut at: usize,
        mut before: Before,
        hit: usize,
        ended: bool,
        sink: &mut dyn Sink,
    ) -> Look {
        let mut decoded = std::mem::take(&mut self.decoded);
        let look = 'read: loop {
            decoded.read(&self.buffer, at, self.buffer.len());
            let text = decoded.text();
            let is_end = decoded.is_closed() || (ended && !decoded.is_full());
            let mut index = 0;
            while let Some(byte) = text.get(index) {
                let (found, kind) = find_at(text, index, before, is_end);
                match found {
                    Match::No => {}
                    Match::More if decoded.is_full() && index > 0 => {
                        at = decoded.place(index);
                        continue 'read;
                    }
                    Match::More => {
                        self.set_floor(decoded.place(index), before);
                        break 'read Look::Wait(self.floor);
                    }
                    Match::Found { from, to } => {
                        self.replace(decoded.place(from), decoded.place(to), kind, sink);
                        before = before.and(text.get(index..to).unwrap_or_default());
                        index = to;
                        continue;
                    }
                    Match::Long { from, to, rest } => {
                        self.replace(decoded.place(from), decoded.place(to), kind, sink);
                        self.rest = Some(RestState::new(rest));
                        let before = before.and(text.get(index..to).unwrap_or_default());
                        self.set_floor(decoded.place(to), before);
                        break 'read Look::Read;
                    }
                }
                before.push(*byte);
                index += 1;
                if decoded.place(index) > hit && !Fingerprints::shared().may_be_in_anchor(*byte) {
                    self.set_floor(decoded.place(index), before);
                    break 'read Look::Read;
                }
            }
            at = decoded.place(text.len());
            if decoded.is_closed() {
                self.set_floor(at + 1, Before::EDGE);
                break Look::Read;
            }
            if !decoded.is_full() {
                self.set_floor(at, before);
                break if ended { Look::Read } else { Look::Wait(at) };
            }
        };
        self.decoded = decoded;
        look
    }

    /// Reads the rest of a secret without an end. Returns whether its end was found.
    fn skip_rest(&mut self, ended: bool) -> bool {
        let Some(mut rest) = self.rest else { return true };
        let (mut at, mut before) = (self.floor, self.before_floor);
        let is_over = loop {
            let after = self.buffer.get(at..).unwrap_or_default();
            let next = match self.form {
                TextForm::Json => character(after),
                TextForm::Plain => after.first().map(|byte| (*byte, 1)),
            };
            match next {
                Some((byte, len)) if rest.takes(byte) => {
                    at += len;
                    before.push(byte);
                }
                Some(_) => break true,
                None => break ended || (self.is_json() && after.first() == Some(&b'"')),
            }
        };
        self.written = self.written.max(at);
        self.done = self.done.max(at);
        self.set_floor(at, before);
        self.rest = (!is_over).then_some(rest);
        is_over
    }

    fn set_floor(&mut self, floor: usize, before: Before) {
        (self.floor, self.before_floor) = (floor, before);
    }

    /// Continues after a secret in plain text.
    fn read_to(&mut self, to: usize) -> Look {
        let before = self.before(to);
        self.set_floor(to, before);
        Look::Read
    }

    /// Writes a mark instead of a part of the buffer.
    fn replace(&mut self, from: usize, to: usize, kind: &'static str, sink: &mut dyn Sink) {
        self.write_to(from, sink);
        sink.write(format!("[redacted:{kind}]").as_bytes());
        *self.found.entry(kind).or_default() += 1;
        self.written = self.written.max(to);
    }

    /// Writes the buffer up to a position.
    fn write_to(&mut self, to: usize, sink: &mut dyn Sink) {
        let bytes = self.buffer.get(self.written..to).unwrap_or_default();
        if !bytes.is_empty() {
            sink.write(bytes);
        }
        self.written = self.written.max(to);
    }

    /// Writes what no later byte changes, and forgets what no later byte is compared with.
    fn write_examined(&mut self, sink: &mut dyn Sink) {
        let kept = if self.is_json() { KEPT + BEFORE } else { URL_BEFORE };
        let to = self.done.saturating_sub(kept).max(self.floor);
        self.write_to(to, sink);
        // The characters before a secret may be written.
        let bytes = self.written.min(to.saturating_sub(REACH + ESCAPE));
        if self.keys.is_active() {
            self.keys.read_to(&self.buffer, bytes);
            self.keys.forget(bytes);
        }
        self.odd = is_escaped(&self.buffer, self.odd, bytes);
        self.buffer.drain(..bytes);
        for place in [&mut self.written, &mut self.done, &mut self.floor] {
            *place = place.saturating_sub(bytes);
        }
    }
}
