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

use memchr::memchr;
use tamis_json::sink::Sink;

use super::before::{Before, REACH};
use super::decode::{DecodedText, MOST, after_escape, hex, is_escaped};
use super::fingerprints::{AnchorPlace, BEFORE, Fingerprints, URL_BEFORE};
use super::keys::KeyNames;
use super::kinds::{KINDS, Kind, URL_PASSWORD, has};
use super::resolve::{TextForm, may_be_escape, may_have_escape, next_special, resolved};
use super::search::{AHEAD, Hit, Search};
use super::shape::{Match, RestState, announced, compare, find_at, first_secret, may_follow};
use super::strings::{Around, KEPT, Value, string_around, value_after_key};

/// The number of bytes that are examined at once.
const BLOCK: usize = 16 << 10;
/// The bytes of `:\/\/`, in which a backslash is looked for.
const SLASHES: usize = 5;
/// The most signs `@` of one URL, in the name of the user and the password.
const MOST_SIGNS: usize = 4;
/// The length of the longest escape in JSON.
const ESCAPE: usize = 6;
/// No position of a quote or escape is known.
const UNKNOWN: (usize, usize) = (usize::MAX, 0);

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
    /// The characters before it.
    before_floor: Before,
    /// A position, and that of the next quote or escape from there, or the end.
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

impl SecretFilter {
    pub(crate) fn new(form: TextForm) -> Self {
        Self {
            form,
            search: Search::new(),
            buffer: Vec::new(),
            total: 0,
            odd: false,
            written: 0,
            done: 0,
            floor: 0,
            before_floor: Before::EDGE,
            special: UNKNOWN,
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
        let (mut before, mut decoded) = (self.before(from), DecodedText::default());
        decoded.read(self.form, &self.buffer, from, MOST, false);
        let text = decoded.text();
        for (index, byte) in text.iter().enumerate() {
            if find_at(text, index, before, false).0 == Match::More {
                return decoded.place(index);
            }
            before.push(*byte);
        }
        // An escape that is cut off may be the beginning of one.
        decoded.place(text.len())
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
        (self.floor, self.before_floor, self.special) = (0, Before::EDGE, UNKNOWN);
        (self.rest, self.keys) = (None, KeyNames::default());
    }

    fn is_json(&self) -> bool {
        self.form == TextForm::Json
    }

    /// Examines the buffer from `done` on. `ended`: nothing follows.
    fn examine(&mut self, ended: bool, sink: &mut dyn Sink) {
        self.special = UNKNOWN;
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
            Some(b'\\') if may_be_escape(&self.buffer, self.form, begin - 1) => {
                self.look_around(begin - 1, ended, sink)
            }
            Some(b'/') if memchr(b':', password).is_some() => {
                // The slashes, and the colon before them, may be escaped.
                let slashes = begin.saturating_sub(SLASHES).max(earliest);
                let slashes = self.buffer.get(slashes..begin).unwrap_or_default();
                if memchr(b'\\', slashes).is_some() {
                    return self.look_around(begin - 1, ended, sink);
                }
                let anchor = begin.saturating_sub(3);
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
            if kind.not_after | kind.only_after != 0 && self.may_be_after_escape(begin) {
                return self.look_around(at, ended, sink);
            }
            if !may_follow(kind, self.before(begin)) {
                continue;
            }
            let (stop, is_end) = self.end_of_plain(after, ended);
            if kind.by_name && stop == after && self.is_json() {
                // The value may follow in a string of its own.
                return self.look_around(at, ended, sink);
            }
            let shown = self.buffer.get(..stop).unwrap_or_default();
            match compare(kind, shown, begin, after, is_end) {
                Match::No => {}
                // A string is read as a whole if it is not long: its end shows whether it is a key.
                Match::Found { from, to }
                    if matches!(self.string_around(at, ended), Around::Long(_)) =>
                {
                    self.replace(from, to, kind.name, sink);
                    return self.read_to(to);
                }
                _ if self.is_json() => return self.look_around(at, ended, sink),
                Match::More if stop < self.buffer.len() => {
                    return self.look_around(at, ended, sink);
                }
                Match::More => return Look::Wait(begin),
                Match::Found { .. } => {}
                Match::Long { from, to, rest } => {
                    self.replace(from, to, kind.name, sink);
                    self.rest = Some(RestState::new(rest));
                    return self.read_to(to);
                }
            }
        }
        Look::Nothing
    }

    /// Returns the characters before a position, if none of them is spelled as an escape.
    fn before(&self, at: usize) -> Before {
        let from = self.floor.max(at.saturating_sub(REACH));
        self.before_floor.and(self.buffer.get(from..at).unwrap_or_default())
    }

    /// Returns whether an escape may spell one of the characters before a position.
    fn may_be_after_escape(&self, at: usize) -> bool {
        let from = self.floor.max(at.saturating_sub(REACH + ESCAPE));
        let near = self.buffer.get(from..at).unwrap_or_default();
        match self.form {
            TextForm::Json => memchr(b'\\', near).is_some(),
            TextForm::Plain => may_have_escape(near),
        }
    }

    /// Returns up to where the text after `at` is spelled without quotes of JSON and escapes, and whether it ends there.
    fn end_of_plain(&mut self, at: usize, ended: bool) -> (usize, bool) {
        let end = self.buffer.len();
        let (from, mut special) = self.special;
        if !(from <= at && at <= special) {
            special = next_special(&self.buffer, self.form, at).unwrap_or(end);
            self.special = (at, special);
        }
        let is_quote = self.is_json() && self.buffer.get(special) == Some(&b'"');
        (special, is_quote || (!self.is_json() && special == end && ended))
    }

    /// Decodes the string or the text around a place, or a part of it, and replaces its secrets.
    fn look_around(&mut self, hit: usize, ended: bool, sink: &mut dyn Sink) -> Look {
        match self.string_around(hit, ended) {
            Around::Open(quote) => Look::Wait(quote),
            Around::Whole { begin, close, is_key } => {
                let mut decoded = std::mem::take(&mut self.decoded);
                let contents = self.buffer.get(..close).unwrap_or_default();
                decoded.read(self.form, contents, begin, MOST, true);
                let mut announces = None;
                if !is_key {
                    self.replace_all(&decoded, sink);
                } else if !self.replace_key(&decoded, begin, close, sink) {
                    announces = announced(decoded.text());
                }
                self.decoded = decoded;
                if let Some(kind) = announces {
                    return self.look_at_value(kind, [begin - 1, close], ended, sink);
                }
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
                    if self.is_json() {
                        at = after_escape(&self.buffer, self.odd, at);
                    }
                    // The first character is only what comes before the second.
                    let rest = self.buffer.get(at..).unwrap_or_default();
                    let Some((byte, len)) = resolved(rest, self.form, ended) else {
                        return Look::Nothing;
                    };
                    (before, at) = (Some(Before::EDGE.and(&[byte])), at + len);
                }
                self.read_long(at, before.unwrap_or(Before::EDGE), hit, ended, sink)
            }
        }
    }

    /// Finds the string around a place. All of a text that is not JSON is one long string.
    fn string_around(&self, hit: usize, ended: bool) -> Around {
        match self.form {
            TextForm::Plain => Around::Long(None),
            TextForm::Json => string_around(&self.buffer, self.odd, self.floor, hit, ended),
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

    /// Replaces the value of a key that announces a secret, if it has the form of one. The key has its quotes at `quote` and
    /// `close`.
    fn look_at_value(
        &mut self,
        kind: &'static Kind,
        [quote, close]: [usize; 2],
        ended: bool,
        sink: &mut dyn Sink,
    ) -> Look {
        match value_after_key(&self.buffer, kind, close, ended) {
            Value::Open => return Look::Wait(quote),
            Value::Other => self.set_floor(close + 1, Before::EDGE),
            Value::Secret { from, to, before } => {
                self.replace(from, to, kind.name, sink);
                self.set_floor(to, before);
            }
        }
        Look::Read
    }

    /// Replaces a key if it has a secret. Returns whether it does.
    fn replace_key(
        &mut self,
        decoded: &DecodedText,
        begin: usize,
        close: usize,
        sink: &mut dyn Sink,
    ) -> bool {
        let Some(kind) = first_secret(decoded.text()) else { return false };
        let number = self.keys.number(kind, &self.buffer, begin);
        self.write_to(begin, sink);
        let name = match number {
            1 => format!("[redacted:{kind}]"),
            _ => format!("[redacted:{kind} {number}]"),
        };
        sink.write(name.as_bytes());
        *self.found.entry(kind).or_default() += 1;
        self.written = self.written.max(close);
        true
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
        // Most secrets are short, so little is decoded that is not read.
        let mut most = hit.saturating_sub(at) + AHEAD;
        let look = 'read: loop {
            decoded.read(self.form, &self.buffer, at, most.min(MOST), ended);
            let text = decoded.text();
            let is_end = decoded.is_closed() || (ended && !decoded.is_full());
            let mut index = 0;
            while let Some(byte) = text.get(index) {
                let (found, kind) = find_at(text, index, before, is_end);
                match found {
                    Match::No => {}
                    Match::More if decoded.is_full() && (index > 0 || most < MOST) => {
                        at = decoded.place(index);
                        most = if index > 0 { 8 * AHEAD } else { MOST };
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
                let may_go_on = *byte == b'\\' || Fingerprints::shared().may_be_in_anchor(*byte);
                if decoded.place(index) > hit && !may_go_on {
                    self.set_floor(decoded.place(index), before);
                    break 'read Look::Read;
                }
            }
            at = decoded.place(text.len());
            most = 8 * AHEAD;
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
            match resolved(after, self.form, ended) {
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

    /// Continues after a secret that is spelled without escapes.
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
