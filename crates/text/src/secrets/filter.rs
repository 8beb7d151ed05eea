//! The filter that replaces secrets in a stream of bytes.
//!
//! The input is examined in blocks that end at multiples of [`BLOCK`] or [`LARGE_BLOCK`] bytes, so what is written never depends on how the
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

use tamis_json::sink::Sink;

use super::before::{Before, REACH};
use super::before_text::Earlier;
use super::decode::MOST;
use super::decode::{DecodedText, is_escaped};
use super::fingerprints::{BEFORE, Fingerprints, URL_BEFORE};
use super::keys::KeyNames;
use super::kinds::SecretLevel;
use super::resolve::TextForm;
use super::rest::RestState;
use super::search::{AHEAD, Hit, Search};
use super::shape::{Match, find_at};
use super::strings::KEPT;

/// The number of bytes that are examined at once, at the beginning of a text.
const BLOCK: usize = 16 << 10;
/// The number of bytes that are examined at once after the first [`LARGE_BLOCK`] bytes of a text. About 5 KiB before each block are moved, and in part examined again.
const LARGE_BLOCK: usize = 4 * BLOCK;
/// The length of the longest escape in JSON.
pub(super) const ESCAPE: usize = 6;
/// No position of a quote or escape is known.
const UNKNOWN: (usize, usize) = (usize::MAX, 0);

/// Replaces secrets in one text after the other. The sink is an argument of each call.
#[derive(Debug)]
pub(super) struct SecretFilter {
    pub(super) form: TextForm,
    pub(super) level: SecretLevel,
    search: Search,
    /// Input that is not written yet, after some that later bytes are compared with.
    pub(super) buffer: Vec<u8>,
    /// The number of bytes of the text.
    total: u64,
    /// An odd number of backslashes came directly before the buffer.
    pub(super) odd: bool,
    /// Everything before is written.
    pub(super) written: usize,
    /// Everything before is examined.
    pub(super) done: usize,
    /// No secret that is still to be found begins before. The byte here begins a character.
    pub(super) floor: usize,
    /// The characters before it.
    pub(super) before_floor: Before,
    /// No secret whose percent-encoding is resolved begins before.
    pub(super) decoded_to: usize,
    /// A position, and that of the next quote or escape from there, or the end.
    pub(super) special: (usize, usize),
    /// The progress in a secret whose end is not known.
    pub(super) rest: Option<RestState>,
    /// The last string has the first lines of a private key, and perhaps more than the first one.
    pub(super) key_lines: Option<bool>,
    pub(super) keys: KeyNames<&'static str>,
    pub(super) decoded: DecodedText,
    pub(super) found: BTreeMap<&'static str, u64>,
}

/// The result of looking at a place.
pub(super) enum Look {
    /// Nothing is there.
    Nothing,
    /// More input decides. Everything before this position is examined.
    Wait(usize),
    /// The text was read up to the new `floor`, where the search goes on.
    Read,
}

impl SecretFilter {
    pub(super) fn new(form: TextForm) -> Self {
        Self {
            form,
            level: SecretLevel::Known,
            search: Search::new(),
            buffer: Vec::new(),
            total: 0,
            odd: false,
            written: 0,
            done: 0,
            floor: 0,
            before_floor: Before::EDGE,
            decoded_to: 0,
            special: UNKNOWN,
            rest: None,
            key_lines: None,
            keys: KeyNames::default(),
            decoded: DecodedText::default(),
            found: BTreeMap::new(),
        }
    }

    /// Sets which kinds are looked for.
    pub(super) fn with_level(mut self, level: SecretLevel) -> Self {
        self.level = level;
        self
    }

    /// Returns how many secrets of each kind were replaced.
    pub(super) fn found(&self) -> &BTreeMap<&'static str, u64> {
        &self.found
    }

    /// Reads the next bytes of the text.
    pub(super) fn write(&mut self, mut bytes: &[u8], sink: &mut dyn Sink) {
        while !bytes.is_empty() {
            let block = if self.total < LARGE_BLOCK as u64 { BLOCK } else { LARGE_BLOCK };
            let room = block - (self.total % block as u64) as usize;
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
    pub(super) fn release(&mut self, sink: &mut dyn Sink) {
        self.examine(false, sink);
        self.write_to(self.done.min(self.first_begun()), sink);
        self.write_examined(sink);
    }

    /// Returns where the first secret near the end begins that more text may complete, or the end. Plain text only.
    fn first_begun(&self) -> usize {
        let from = self.floor.max(self.buffer.len().saturating_sub(URL_BEFORE));
        let (mut before, mut decoded) = (self.before(from), DecodedText::default());
        decoded.read(self.form, &self.buffer, from, MOST, false);
        let text = decoded.text();
        for (index, byte) in text.iter().enumerate() {
            if find_at(Earlier::NONE, text, index, before, false, self.level).0 == Match::More {
                return decoded.place(index);
            }
            before.push(*byte);
        }
        // An escape that is cut off may be the beginning of one.
        decoded.place(text.len())
    }

    /// Ends the text and writes everything. The next text may follow.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) {
        self.examine(true, sink);
        self.write_to(self.buffer.len(), sink);
        self.restart();
    }

    /// Forgets the text. The next one may follow.
    pub(super) fn restart(&mut self) {
        self.buffer.clear();
        (self.total, self.odd, self.written, self.done) = (0, false, 0, 0);
        (self.floor, self.before_floor, self.special) = (0, Before::EDGE, UNKNOWN);
        self.decoded_to = 0;
        (self.rest, self.key_lines, self.keys) = (None, None, KeyNames::default());
    }

    pub(super) fn is_json(&self) -> bool {
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
            if self.key_lines.is_some() && !self.skip_key_lines(ended, sink) {
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
                Hit::EncodedUrl => {
                    self.look_at_signs(Fingerprints::shared().url(), found.at, ended, sink)
                }
                Hit::Tilde => {
                    self.look_at_places(Fingerprints::shared().tilde(), found.at, ended, sink)
                }
                Hit::Long => {
                    self.look_at_signs(Fingerprints::shared().long(), found.at, ended, sink)
                }
                Hit::Option => {
                    self.look_at_places(Fingerprints::shared().options(), found.at, ended, sink)
                }
                Hit::EscapedName if found.at < self.floor => Look::Nothing,
                Hit::EscapedName => self.look_around(found.at, ended, sink),
                Hit::Name => self.look_at_name(found.at, ended, sink),
                Hit::Encoded => self.look_at_encoded(found.at, ended, sink),
                Hit::Escape => self.look_at_escape(found.at, ended, sink),
            };
            match look {
                Look::Nothing => from = found.noticed,
                other => return other,
            }
        }
        Look::Nothing
    }

    pub(super) fn set_floor(&mut self, floor: usize, before: Before) {
        (self.floor, self.before_floor) = (floor, before);
    }

    /// Continues after a secret that is spelled without escapes.
    pub(super) fn read_to(&mut self, to: usize) -> Look {
        let before = self.before(to);
        self.set_floor(to, before);
        Look::Read
    }

    /// Writes a mark instead of a part of the buffer.
    pub(super) fn replace(
        &mut self,
        from: usize,
        to: usize,
        kind: &'static str,
        sink: &mut dyn Sink,
    ) {
        self.write_to(from, sink);
        sink.write(format!("[redacted:{kind}]").as_bytes());
        *self.found.entry(kind).or_default() += 1;
        self.written = self.written.max(to);
    }

    /// Writes the buffer up to a position.
    pub(super) fn write_to(&mut self, to: usize, sink: &mut dyn Sink) {
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
        let bytes = self.written.min(self.done.saturating_sub(kept + REACH + ESCAPE));
        if self.keys.is_active() {
            self.keys.read_to(&self.buffer, bytes);
            self.keys.forget(bytes);
        }
        self.odd = is_escaped(&self.buffer, self.odd, bytes);
        self.buffer.drain(..bytes);
        let places = [&mut self.written, &mut self.done, &mut self.floor, &mut self.decoded_to];
        for place in places {
            *place = place.saturating_sub(bytes);
        }
    }
}
