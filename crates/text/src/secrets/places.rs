//! Looks at a place that the search has found, and replaces the secret there.
//!
//! Most places are compared as they are spelled. A text with escapes around a place is decoded first: a short string of JSON
//! as a whole, because it may be a key, and others in pieces.

use memchr::memchr;
use tamis_json::sink::Sink;

use super::before::{Before, REACH};
use super::before_text::{CONTEXT_BYTES, Earlier, has_context};
use super::decode::{DecodedText, MOST, after_escape, hex, is_escaped};
use super::encoded::hides_any;
use super::filter::{ESCAPE, Look, SecretFilter};
use super::fingerprints::{AnchorPlace, BEFORE, Fingerprints, URL_BEFORE};
use super::kinds::{Kind, URL_PASSWORD, has};
use super::names::announced_by;
use super::percent::{Beginning, beginning, places_before};
use super::resolve::{TextForm, may_be_escape, may_have_escape, next_special, resolved};
use super::rest::RestState;
use super::search::AHEAD;
use super::shape::{
    Match, announced, compare_after_anchor, compare_named, find_at, first_secret, may_follow,
};
use super::strings::{Around, Value, open_quote, string_around, value_after_key};
use super::table::KINDS;

/// The bytes of `:\/\/`, in which a backslash is looked for.
const SLASHES: usize = 5;
/// The characters of the rest of a secret that are decoded first. More than those that decide about its end.
const FIRST_OF_REST: usize = 256;
/// The most signs `@` of one URL, in the name of the user and the password.
const MOST_SIGNS: usize = 4;

/// A secret of a string.
struct Secret {
    from: usize,
    to: usize,
    kind: &'static str,
    /// The rest of a private key may follow, and whether more than its first line was read.
    key_lines: Option<bool>,
}

impl SecretFilter {
    /// Looks at the text around an escape, if the search may miss a secret because of it.
    pub(super) fn look_at_escape(&mut self, at: usize, ended: bool, sink: &mut dyn Sink) -> Look {
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
    pub(super) fn look_at_url(&mut self, at: usize, ended: bool, sink: &mut dyn Sink) -> Look {
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

    /// Compares the text at a place as [`look_at_places`](Self::look_at_places) does, where an escape may spell a part of the
    /// anchor.
    pub(super) fn look_at_signs(
        &mut self,
        places: &[AnchorPlace],
        at: usize,
        ended: bool,
        sink: &mut dyn Sink,
    ) -> Look {
        let begin = self.buffer.get(at..self.buffer.len().min(at + ESCAPE)).unwrap_or_default();
        if at >= self.floor && memchr(b'\\', begin).is_some() {
            return self.look_around(at, ended, sink);
        }
        self.look_at_places(places, at, ended, sink)
    }

    /// Looks at a sign after a name that may announce a secret.
    pub(super) fn look_at_name(&mut self, at: usize, ended: bool, sink: &mut dyn Sink) -> Look {
        if self.is_json() {
            let before = self.buffer.get(..at).unwrap_or_default();
            let close = before.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'));
            if let Some(close) = close
                && before.get(close) == Some(&b'"')
                && !is_escaped(&self.buffer, self.odd, close)
            {
                // The name is a key, which may have been read.
                let is_read = close < self.floor || self.announces_nothing(close);
                return if is_read { Look::Nothing } else { self.look_around(close, ended, sink) };
            }
        }
        if at < self.floor {
            return Look::Nothing;
        }
        if self.may_be_after_escape(at) {
            let is_encoded = self.has_encoded_value(at);
            let look =
                if is_encoded { self.look_at_encoded(at, ended, sink) } else { Look::Nothing };
            return match look {
                Look::Nothing => self.look_around(at, ended, sink),
                look => look,
            };
        }
        let kinds = announced_by(&self.buffer, at, self.before(at), self.level);
        if kinds.is_empty() {
            return Look::Nothing;
        }
        let (stop, is_end) = self.end_of_plain(at, ended);
        for kind in kinds {
            let shown = self.buffer.get(..stop).unwrap_or_default();
            let found = compare_named(kind, shown, at, is_end);
            if matches!(found, Match::No | Match::Found { .. }) && self.has_encoded_value(at) {
                match self.look_at_encoded(at, ended, sink) {
                    Look::Nothing => {}
                    look => return look,
                }
            }
            if let Some(look) = self.look_at_match(found, kind, [at, at, stop], ended, sink) {
                return look;
            }
        }
        Look::Nothing
    }

    /// Returns whether the key whose last quote is at a position is spelled without escapes and announces no secret, as
    /// `"key"` and `"next_page_token"` do.
    fn announces_nothing(&self, close: usize) -> bool {
        let earliest = self.floor.max(close.saturating_sub(BEFORE));
        let quote = open_quote(&self.buffer, self.odd, earliest, close);
        let name = quote.and_then(|quote| self.buffer.get(quote + 1..close));
        name.is_some_and(|name| {
            memchr(b'\\', name).is_none() && announced(name, self.level).is_empty()
        })
    }

    /// Compares the text at a place with the shapes of the kinds that may be there, as far as it has no escapes.
    pub(super) fn look_at_places(
        &mut self,
        places: &[AnchorPlace],
        at: usize,
        ended: bool,
        sink: &mut dyn Sink,
    ) -> Look {
        for place in places {
            let begin = places_before(&self.buffer, at, place.offset);
            let begin = begin.filter(|begin| *begin >= self.floor);
            let (Some(begin), Some(kind)) = (begin, KINDS.get(place.kind)) else { continue };
            let (after, spelling) = match beginning(&self.buffer, begin, place.anchor, ended) {
                Beginning::Other => continue,
                Beginning::Cut => return Look::Wait(begin),
                Beginning::Anchor(after, spelling) => (after, spelling),
            };
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
            let found = compare_after_anchor(kind, shown, [begin, after], spelling, is_end);
            if kind.by_name && found == Match::No && self.has_encoded_value(after) {
                match self.look_at_encoded(begin, ended, sink) {
                    Look::Nothing => {}
                    look => return look,
                }
            }
            if let Some(look) = self.look_at_match(found, kind, [at, begin, stop], ended, sink) {
                return look;
            }
        }
        Look::Nothing
    }

    /// Replaces what was found at a place, if it is known. `begin`: the anchor begins there. `stop`: only the text before it was
    /// compared.
    fn look_at_match(
        &mut self,
        found: Match,
        kind: &'static Kind,
        [at, begin, stop]: [usize; 3],
        ended: bool,
        sink: &mut dyn Sink,
    ) -> Option<Look> {
        match found {
            Match::No => None,
            // A string is read as a whole if it is not long: its end shows whether it is a key.
            Match::Found { from, to }
                if matches!(self.string_around(at, ended), Around::Long(_)) =>
            {
                if !has_context(kind.context, self.earlier(begin), b"") {
                    return None;
                }
                self.replace(from, to, kind.name, sink);
                Some(self.read_to(to))
            }
            _ if self.is_json() => Some(self.look_around(at, ended, sink)),
            Match::More if stop < self.buffer.len() => Some(self.look_around(at, ended, sink)),
            Match::More => Some(Look::Wait(begin)),
            Match::Found { .. } => None,
            Match::Long { from, to, rest } => {
                self.replace(from, to, kind.name, sink);
                self.rest = Some(RestState::new(rest));
                Some(self.read_to(to))
            }
        }
    }

    /// Returns the characters before a position, if none of them is spelled as an escape.
    pub(super) fn before(&self, at: usize) -> Before {
        let from = self.floor.max(at.saturating_sub(REACH));
        self.before_floor.and(self.buffer.get(from..at).unwrap_or_default())
    }

    /// Returns the bytes before a position that may be the context of a secret, from the beginning of its string on.
    fn earlier(&self, at: usize) -> Earlier<'_> {
        let mut from = at.saturating_sub(CONTEXT_BYTES);
        if self.is_json() {
            from = open_quote(&self.buffer, self.odd, from, at).map_or(from, |quote| quote + 1);
        }
        Earlier { bytes: self.buffer.get(from..at).unwrap_or_default(), form: self.form }
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
    pub(super) fn look_around(&mut self, hit: usize, ended: bool, sink: &mut dyn Sink) -> Look {
        match self.string_around(hit, ended) {
            Around::Open(quote) => Look::Wait(quote),
            Around::Whole { begin, close, is_key } => {
                let mut decoded = std::mem::take(&mut self.decoded);
                let contents = self.buffer.get(..close).unwrap_or_default();
                decoded.read(self.form, contents, begin, MOST, true);
                let mut announces = Vec::new();
                if !is_key {
                    self.replace_all(&decoded, close, sink);
                } else if !self.replace_key(&decoded, begin, close, sink) {
                    announces = announced(decoded.text(), self.level);
                }
                self.decoded = decoded;
                if !announces.is_empty() {
                    return self.look_at_value(&announces, [begin - 1, close], ended, sink);
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
    pub(super) fn string_around(&self, hit: usize, ended: bool) -> Around {
        match self.form {
            TextForm::Plain => Around::Long(None),
            TextForm::Json => string_around(&self.buffer, self.odd, self.floor, hit, ended),
        }
    }

    /// Replaces the secrets of a whole string.
    fn replace_all(&mut self, decoded: &DecodedText, close: usize, sink: &mut dyn Sink) {
        let mut secrets = self.secrets_of(decoded);
        self.key_lines = secrets.last().and_then(|last| last.key_lines);
        if hides_any(decoded.text()) {
            let mut encoded = DecodedText::default();
            let contents = self.buffer.get(..close).unwrap_or_default();
            encoded.read_url(self.form, contents, decoded.place(0), MOST, true);
            secrets.extend(self.secrets_of(&encoded));
            secrets.sort_by_key(|secret| secret.from);
        }
        for Secret { from, to, kind, .. } in secrets {
            match from < self.written {
                true => self.written = self.written.max(to),
                false => self.replace(from, to, kind, sink),
            }
        }
    }

    /// Returns the secrets of a whole string, in their order.
    fn secrets_of(&self, decoded: &DecodedText) -> Vec<Secret> {
        let (text, mut index, mut before) = (decoded.text(), 0, Before::EDGE);
        let mut secrets = Vec::new();
        while index < text.len() {
            let (found, kind) = find_at(Earlier::NONE, text, index, before, true, self.level);
            let mut key_lines = None;
            let found = match found {
                Match::No | Match::More => None,
                Match::Found { from, to } => {
                    Some((from, self.value_end(decoded, kind, [from, to])))
                }
                Match::Long { from, to, rest } => {
                    let more = text.get(to..).unwrap_or_default();
                    let mut state = RestState::new(rest);
                    let to = to + state.take(more, true).0;
                    // The rest of a key may follow in strings of their own.
                    key_lines = (state.is_open_key() && to == text.len()).then(|| state.is_begun());
                    Some((from, to))
                }
            };
            if let Some((from, to)) = found {
                let (from, to) = (decoded.place(from), decoded.place(to));
                secrets.push(Secret { from, to, kind, key_lines });
            }
            let next = found.map_or(0, |(_, to)| to).max(index + 1);
            before = before.and(text.get(index..next).unwrap_or_default());
            index = next;
        }
        secrets
    }

    /// Replaces the value of a key that announces secrets of these kinds, if it has the form of one. The key has its quotes at `quote` and
    /// `close`.
    fn look_at_value(
        &mut self,
        kinds: &[&'static Kind],
        [quote, close]: [usize; 2],
        ended: bool,
        sink: &mut dyn Sink,
    ) -> Look {
        match value_after_key(&self.buffer, kinds, close, ended) {
            Value::Open => return Look::Wait(quote),
            Value::Other => self.set_floor(close + 1, Before::EDGE),
            Value::Secret { kind, from, to, before } => {
                self.replace(from, to, kind, sink);
                self.set_floor(to, before);
            }
        }
        Look::Read
    }

    /// Replaces a key if it has a secret. Returns whether it does.
    pub(super) fn replace_key(
        &mut self,
        decoded: &DecodedText,
        begin: usize,
        close: usize,
        sink: &mut dyn Sink,
    ) -> bool {
        let Some(kind) = first_secret(decoded.text(), self.level) else { return false };
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
            let start = at;
            decoded.read(self.form, &self.buffer, start, most.min(MOST), ended);
            let text = decoded.text();
            let is_end = decoded.is_closed() || (ended && !decoded.is_full());
            let mut index = 0;
            while let Some(byte) = text.get(index) {
                let earlier = self.earlier(start);
                let (found, kind) = find_at(earlier, text, index, before, is_end, self.level);
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
    pub(super) fn skip_rest(&mut self, ended: bool) -> bool {
        let Some(mut rest) = self.rest else { return true };
        let (mut at, mut before) = (self.floor, self.before_floor);
        let mut decoded = std::mem::take(&mut self.decoded);
        // Many end at once, so little is decoded that is not read.
        let mut most = FIRST_OF_REST;
        let is_over = loop {
            decoded.read(self.form, &self.buffer, at, most, ended);
            let text = decoded.text();
            let is_end = decoded.is_closed() || (ended && !decoded.is_full());
            let (len, is_over) = rest.take(text, is_end);
            before = before.and(text.get(..len).unwrap_or_default());
            at = decoded.place(len);
            if is_over || !decoded.is_full() {
                break is_over;
            }
            most = MOST;
        };
        self.decoded = decoded;
        self.written = self.written.max(at);
        self.done = self.done.max(at);
        self.set_floor(at, before);
        self.rest = (!is_over).then_some(rest);
        is_over
    }
}
