//! Shorter forms of a text that is too long (SPEC §6, steps 2 to 4; seed: kimbap's budget).
//!
//! ```text
//! strings of at most N/2 characters ─▶ N/4 ─▶ … ─▶ 10 ─▶ and containers of at most 64 children ─▶ 32 ─▶ … ─▶ 1
//! ```
//!
//! Each form is a part of the one before. The text so far is held in the first form that still fits. When that gets too
//! long, it is read again and becomes the next form, which gives what the whole text would have given. When the last form
//! is too long, it streams.
//!
//! In a container that is cut, the children behind the first ones are a *run*. A run that is not longer than a mark stays
//! whole. The child on the way to the payload stays, with a run before it and one behind it; the payload itself is not cut
//! here.

use super::chars::Read;
use super::lexer::{Level, Lexer, Next, Run, Short, State};
use super::mark::{self, Omission};
use super::notes::{self, Note};
use crate::error::Raise;
use crate::filter::hold::Hold;
use crate::limits::{Limits, Meter};
use crate::sink::Sink;
use crate::test_work::{WorkKind, count};

/// Strings are not cut below this.
const LOWEST: u64 = 10;
/// Thresholds that are tried.
const PASSES: u32 = 10;
/// Children of a container in the first form that has fewer of them.
const MOST: u64 = 64;
/// The text that replaces the rest of a string.
const REST: &[u8] = b"...";

/// The handling of a text of which no form fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// It streams in its last form.
    Stream,
    /// Nothing of it is written.
    Drop,
}

#[derive(Debug)]
pub(super) struct Forms {
    limit: u64,
    over: Over,
    /// Whether a mark stands where children are left out.
    marks: bool,
    /// Characters of a string; three more are no reason to cut it.
    threshold: u64,
    /// Thresholds that are left.
    passes: u32,
    /// Children of a container.
    most: u64,
    held: Hold,
    /// Bytes of what is held, and of `made`, without notes.
    size: u64,
    /// The result of the last bytes.
    made: Vec<u8>,
    exceeded: bool,
    cut: bool,
    /// Where the payload is: the number of the child, of each container on the way.
    steps: Vec<u64>,
    lexer: Lexer,
    /// The part of a note that was seen in the streamed text.
    hidden: notes::Hidden,
    /// Bytes that were looked at.
    #[cfg(test)]
    pub(super) work: u64,
}

impl Forms {
    /// Forms of at most `limit` bytes, if that can be; strings have at most half of `budget` characters at first.
    pub(super) fn new(limit: u64, budget: u64, marks: bool, over: Over) -> Self {
        Self {
            limit,
            over,
            marks,
            threshold: (budget / 2).max(LOWEST),
            passes: PASSES,
            most: u64::MAX,
            held: Hold::default(),
            size: 0,
            made: Vec::new(),
            exceeded: false,
            cut: false,
            steps: Vec::new(),
            lexer: Lexer::new(),
            hidden: notes::Hidden::default(),
            #[cfg(test)]
            work: 0,
        }
    }

    /// Whether no form fits.
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    /// Whether something was left out.
    pub(super) fn has_cut(&self) -> bool {
        self.cut
    }

    /// Where the payload is in the form: the number of the child, of each container on the way.
    #[cfg(feature = "template")]
    pub(super) fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// Takes more of the text, which may have notes in it.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Raise> {
        if self.exceeded && self.over == Over::Drop {
            return Ok(());
        }
        self.lex(bytes);
        while !self.exceeded && self.size > self.limit {
            if !self.shorten(limits, meter)? {
                self.exceeded = true;
                self.end(meter, sink)?;
            }
        }
        if !self.exceeded {
            self.held.push(&self.made, limits, meter)?;
        } else if self.over == Over::Stream {
            self.hidden.write(&self.made, |piece| sink.write(piece));
        }
        self.made.clear();
        Ok(())
    }

    /// The text is complete.
    pub(super) fn end(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Raise> {
        if self.exceeded && self.over == Over::Drop {
            self.held.clear(meter);
            return Ok(());
        }
        let Self { held, hidden, .. } = self;
        let take = |_: &mut Meter, piece: &[u8]| {
            hidden.write(piece, |piece| sink.write(piece));
            Ok(!sink.is_closed())
        };
        held.drain(meter, take, |raise| raise)
    }

    /// The text that is held is complete: shortens it until it has no more than `tokens`, if that can be.
    #[cfg(feature = "tokens")]
    pub(super) fn fit_tokens(
        &mut self,
        tokens: u64,
        limits: &Limits,
        meter: &mut Meter,
    ) -> Result<(), Raise> {
        while !self.exceeded && self.tokens()? > tokens {
            if self.shorten(limits, meter)? {
                self.held.push(&self.made, limits, meter)?;
                self.made.clear();
            } else {
                self.exceeded = true;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tokens")]
    fn tokens(&mut self) -> Result<u64, Raise> {
        let mut counter = crate::tokens::TokenCounter::default();
        let mut hidden = notes::Hidden::default();
        let take = |piece: &[u8]| {
            hidden.write(piece, |piece| counter.push(piece));
            Ok(true)
        };
        self.held.visit(take, |raise| raise)?;
        Ok(counter.finish())
    }

    /// Goes on to the next form. False if there is none.
    fn shorten(&mut self, limits: &Limits, meter: &mut Meter) -> Result<bool, Raise> {
        if self.most == u64::MAX && self.passes > 1 && self.threshold / 2 >= LOWEST {
            self.passes -= 1;
            self.threshold /= 2;
        } else if self.most == u64::MAX {
            self.most = MOST;
        } else if self.most > 1 {
            self.most /= 2;
        } else {
            return Ok(false);
        }
        self.again(limits, meter)?;
        Ok(true)
    }

    /// Makes the next form of what is held.
    fn again(&mut self, limits: &Limits, meter: &mut Meter) -> Result<(), Raise> {
        let mut held = std::mem::take(&mut self.held);
        let made = std::mem::take(&mut self.made);
        let open = std::mem::replace(&mut self.lexer, Lexer::new());
        self.size = 0;
        held.drain(
            meter,
            |meter, piece| {
                self.lex(piece);
                self.held.push(&self.made, limits, meter)?;
                self.made.clear();
                Ok(true)
            },
            |raise| raise,
        )?;
        self.lex(&made);
        match open.run {
            Run::None => self.lex(&open.rest),
            Run::Short => {
                self.lex(&open.short.text);
                self.lex(&open.rest);
            }
            Run::Dropped(children) => {
                let mut gap = Vec::new();
                notes::gap(&mut gap, children);
                self.lex(&gap);
            }
        }
        // All that is held is complete: a high surrogate at its end waits for no other half.
        if !self.lexer.character.is_empty() {
            let last = self.lexer.character.take();
            self.chars(&last, 1);
        }
        // Text that was left out is not held.
        let Lexer { levels, run, short, rest, .. } = std::mem::replace(&mut self.lexer, open);
        (self.lexer.levels, self.lexer.run) = (levels, run);
        (self.lexer.short, self.lexer.rest) = (short, rest);
        Ok(())
    }

    fn lex(&mut self, mut bytes: &[u8]) {
        #[cfg(test)]
        {
            self.work += bytes.len() as u64;
        }
        count(WorkKind::Tail, bytes.len());
        while let Some((first, behind)) = bytes.split_first() {
            match self.lexer.state {
                State::Outside => bytes = self.outside(bytes),
                State::Note(kind) => {
                    bytes = behind;
                    if *first == kind {
                        self.lexer.state = State::Outside;
                        self.note(kind);
                    } else {
                        self.lexer.note.push(*first);
                    }
                }
                State::Key | State::Value => {
                    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0x80..);
                    let plain = bytes.iter().position(special).unwrap_or(bytes.len());
                    if self.lexer.character.is_empty() && plain > 0 {
                        let (now, later) = bytes.split_at(plain);
                        self.chars(now, plain as u64);
                        bytes = later;
                    } else {
                        bytes = behind;
                        self.byte(*first);
                    }
                }
            }
        }
    }

    /// Takes what begins with a byte that is outside strings. Returns the rest.
    fn outside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some((first, behind)) = bytes.split_first() else { return bytes };
        if let Some(note) = Note::of(*first) {
            match note {
                Note::Way => self.lexer.next = Next::Way,
                Note::Payload => self.lexer.next = Next::Payload,
                Note::Span(kind) => {
                    self.lexer.state = State::Note(kind);
                    return behind;
                }
            }
            return behind;
        }
        match first {
            b'}' | b']' => self.close(*first),
            b',' => {
                self.child();
                self.lexer.key = self.lexer.kinds.in_object();
                self.put(b",");
            }
            _ => {
                if std::mem::take(&mut self.lexer.fresh) {
                    self.child();
                }
                return self.token(*first, bytes, behind);
            }
        }
        behind
    }

    /// Takes an opening bracket or quote, a colon, or a part of another scalar. Returns the rest.
    fn token<'a>(&mut self, first: u8, bytes: &'a [u8], behind: &'a [u8]) -> &'a [u8] {
        match first {
            b'{' | b'[' => {
                let object = first == b'{';
                if self.lexer.levels.is_empty() {
                    self.keep_note();
                }
                self.put(&[first]);
                if !self.lexer.is_inside_run() && self.lexer.run == Run::None {
                    let payload = self.lexer.next == Next::Payload;
                    self.lexer.levels.push(Level { payload, ..Level::default() });
                }
                self.lexer.next = Next::Any;
                self.lexer.kinds.push(object);
                (self.lexer.key, self.lexer.fresh) = (object, true);
            }
            b'"' => {
                self.lexer.state = if self.lexer.key { State::Key } else { State::Value };
                self.lexer.chars = 0;
                self.lexer.name.clear();
                self.put(b"\"");
            }
            _ => {
                self.lexer.key &= first != b':';
                let special = |byte: &u8| {
                    *byte < b' ' || matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b'"' | b':')
                };
                let end = behind.iter().position(special).unwrap_or(behind.len()) + 1;
                let (now, later) = bytes.split_at(end.min(bytes.len()));
                self.put(now);
                return later;
            }
        }
        behind
    }

    /// A child of the innermost container begins.
    fn child(&mut self) {
        if self.lexer.is_inside_run() {
            return;
        }
        let Self { lexer, most, marks, .. } = self;
        let wanted = lexer.next != Next::Any;
        let Some(level) = lexer.levels.last_mut() else { return };
        level.count += 1;
        if wanted || level.payload || level.count <= *most {
            self.end_run();
            if let Some(level) = self.lexer.levels.last_mut() {
                let here = level.kept;
                level.kept += 1;
                if wanted {
                    self.steps.truncate(self.lexer.levels.len() - 1);
                    self.steps.push(here);
                }
            }
            return self.keep_note();
        }
        match &mut lexer.run {
            Run::Short => lexer.short.children += 1,
            Run::Dropped(children) => *children += 1,
            none if *marks => {
                *none = Run::Short;
                lexer.short = Short { children: 1, ..Short::default() };
            }
            none => *none = Run::Dropped(1),
        }
    }

    /// Keeps what was noted of the child that comes next.
    fn keep_note(&mut self) {
        match self.lexer.next {
            Next::Any => {}
            Next::Way => self.made.push(notes::WAY),
            Next::Payload => self.made.push(notes::PAYLOAD),
        }
    }

    /// A run ends, if there is one: before the child on the way to the payload, or with its container.
    fn end_run(&mut self) {
        match std::mem::replace(&mut self.lexer.run, Run::None) {
            Run::None => {}
            Run::Short => {
                let short = std::mem::take(&mut self.lexer.short);
                if let Some(level) = self.lexer.levels.last_mut() {
                    level.kept += short.children;
                    level.taken.join(short.taken);
                }
                self.put(&short.text);
            }
            Run::Dropped(children) => {
                self.cut = true;
                notes::gap(&mut self.made, children);
            }
        }
    }

    /// A container ends.
    fn close(&mut self, bracket: u8) {
        self.lexer.fresh = false;
        self.lexer.key = false;
        let inside = self.lexer.is_inside_run();
        self.lexer.kinds.pop();
        if inside {
            return self.put(&[bracket]);
        }
        self.end_run();
        let level = self.lexer.levels.pop().unwrap_or_default();
        let Level { count, kept, mut taken, items, .. } = level;
        let mut mark = |body: &str| match bracket {
            b'}' => taken.member(body, kept == 0),
            _ => mark::element(body, kept == 0),
        };
        if !items.is_empty() {
            let text = mark(&String::from_utf8_lossy(&items));
            notes::span(&mut self.made, notes::ITEMS, &items);
            self.mark(&text);
        }
        if self.marks && kept < count {
            let omission = Omission { omitted: count - kept, of: count, more: false };
            let body = if bracket == b'}' { omission.members() } else { omission.items() };
            let text = mark(&body);
            self.mark(&text);
        }
        self.put(&[bracket]);
    }

    /// Adds the text of a mark; it is made anew in the next form.
    fn mark(&mut self, text: &str) {
        notes::span(&mut self.made, notes::MARK, text.as_bytes());
        self.size += text.len() as u64;
    }

    /// A note is complete.
    fn note(&mut self, kind: u8) {
        let text = std::mem::take(&mut self.lexer.note);
        match kind {
            notes::GAP => {
                self.drop_run();
                let children = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
                if !self.lexer.is_inside_run()
                    && let (Some(level), Some(children)) = (self.lexer.levels.last_mut(), children)
                {
                    level.count += children;
                    match &mut self.lexer.run {
                        Run::Dropped(dropped) => *dropped += children,
                        run => *run = Run::Dropped(children),
                    }
                }
            }
            notes::ITEMS if !self.lexer.is_inside_run() => {
                if let Some(level) = self.lexer.levels.last_mut() {
                    level.items = text;
                }
            }
            _ => {}
        }
    }

    /// The run is too long to stay.
    fn drop_run(&mut self) {
        if self.lexer.run == Run::Short {
            self.lexer.run = Run::Dropped(self.lexer.short.children);
        }
    }

    /// Adds to the form.
    fn put(&mut self, bytes: &[u8]) {
        let Self { lexer, made, size, .. } = self;
        match &mut lexer.run {
            Run::None => {
                *size += bytes.len() as u64;
                made.extend_from_slice(bytes);
            }
            Run::Dropped(_) => {}
            Run::Short => {
                let of = lexer.levels.last().map_or(0, |level| level.count);
                let omission = Omission { omitted: lexer.short.children, of, more: false };
                if lexer.short.text.len() + bytes.len() > omission.length() {
                    return self.drop_run();
                }
                lexer.short.text.extend_from_slice(bytes);
            }
        }
    }

    /// A byte of a string, its closing quote, or a part of a character.
    fn byte(&mut self, byte: u8) {
        if byte == b'"' && self.lexer.character.is_empty() {
            return self.end_string();
        }
        match self.lexer.character.add(byte) {
            Read::Open => {}
            Read::Complete(character) => self.chars(&character, 1),
            Read::Before(character, next) => {
                self.chars(&character, 1);
                for byte in next {
                    self.byte(byte);
                }
            }
        }
    }

    /// Characters of a string: one of `bytes`, or as many as bytes.
    fn chars(&mut self, bytes: &[u8], count: u64) {
        if self.lexer.state == State::Key {
            if self.lexer.name.len() <= mark::LONGEST {
                let few = bytes.get(..mark::LONGEST + 1).unwrap_or(bytes);
                self.lexer.name.extend_from_slice(few);
            }
            return self.put(bytes);
        }
        let room = self.threshold.saturating_sub(self.lexer.chars);
        self.lexer.chars += count;
        if room >= count {
            return self.put(bytes);
        }
        let room = if count > 1 { usize::try_from(room).unwrap_or(usize::MAX) } else { 0 };
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        self.put(now);
        if self.is_cut() {
            self.lexer.rest.clear();
        } else {
            self.lexer.rest.extend_from_slice(later);
        }
    }

    /// Whether dots make the open string shorter.
    fn is_cut(&self) -> bool {
        self.threshold + (REST.len() as u64) < self.lexer.chars
    }

    fn end_string(&mut self) {
        let key = self.lexer.state == State::Key;
        if key && !self.lexer.is_inside_run() {
            let Lexer { levels, run, name, short, .. } = &mut self.lexer;
            match (run, levels.last_mut()) {
                (Run::None, Some(level)) => level.taken.add(name),
                (Run::Short, _) => short.taken.add(name),
                _ => {}
            }
        }
        if !key && self.is_cut() {
            self.cut = true;
            self.put(REST);
        } else {
            let rest = std::mem::take(&mut self.lexer.rest);
            self.put(&rest);
        }
        self.put(b"\"");
        self.lexer.state = State::Outside;
    }
}
