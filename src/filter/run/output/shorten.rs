//! Shorter forms of a text that is too long (SPEC §6, steps 2 to 4; seed: kimbap's budget).
//!
//! ```text
//! strings of at most N/2 characters ─▶ N/4 ─▶ … ─▶ 10 ─▶ and containers of at most 64 children ─▶ 32 ─▶ … ─▶ 1
//! ```
//!
//! Each form is a part of the previous one. The text so far is held in the first form that fits. When it becomes too
//! long, it is read again and turned into the next form. The result is the same as for the whole text at once. If the
//! last form is too long, it streams. At most 17 forms are made, whatever the text.
//!
//! In a shortened container, the children after the first ones are a *run*. A run that is not longer than a mark is
//! kept. The child on the path to the payload is kept, with a run before it and one after it. The payload itself is
//! not shortened here. Example with strings of at most 10 characters, then with at most one child:
//!
//! ```text
//! {"id":1,"text":"abcdefghijklmnop","tags":["first-tag","second-tag","third-tag"]}
//! {"id":1,"text":"abcdefghij...","tags":["first-tag","second-tag","third-tag"]}
//! {"id":1,"_omitted":{"members":2,"of":3}}
//! ```

use tamis_json::error::Raise;
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;
use tamis_json::test_work::{WorkKind, count};

use super::chars::CharRead;
use super::notes;
use super::notes::Note;
use super::omission::{self, Omission};
use super::shorten_lexer::{ChildRun, FormLevel, FormLexer, LexState, NextChild, ShortRun};
use crate::filter::compile::size_policy::TokenLimit;

/// Strings are never shortened below this many characters.
const LOWEST: u64 = 10;
/// The number of thresholds that are tried.
const PASSES: u32 = 10;
/// The number of children in the first form that limits them.
const MOST: u64 = 64;
/// The replacement for the rest of a string.
const REST: &[u8] = b"...";

/// The treatment of a text if none of its forms fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverflowMode {
    /// Stream it in its last form.
    Stream,
    /// Write nothing.
    Drop,
}

/// The held form of one text. The next bytes of the text are turned into this form as they arrive.
#[derive(Debug)]
pub(super) struct ShorterForms {
    /// The largest size of a form in bytes.
    limit: u64,
    over: OverflowMode,
    /// Whether omitted children are replaced by a mark.
    marks: bool,
    /// The largest number of characters of a string. Strings with up to three more are not cut.
    threshold: u64,
    /// The number of thresholds left.
    passes: u32,
    /// The largest number of children of a container. `u64::MAX` until the lowest threshold did not fit.
    most: u64,
    /// The text so far in the current form, with notes.
    held: Hold,
    /// The size of the held text and of `made`, without notes.
    size: u64,
    /// The output for the last bytes, not yet in `held`.
    made: Vec<u8>,
    /// No form fits, so the last one is written as it is made, or nothing is.
    exceeded: bool,
    /// Something was left out. Never reset, because a later form leaves out more.
    cut: bool,
    /// The position of the payload: the index of the child in each container on the path.
    steps: Vec<u64>,
    lexer: FormLexer,
    /// Removes notes from the streamed text.
    hidden: notes::NoteStripper,
    /// The number of bytes read.
    #[cfg(test)]
    pub(super) work: u64,
}

impl ShorterForms {
    /// Creates forms of at most `limit` bytes if possible. Strings first have at most half of `budget` characters.
    pub(super) fn new(limit: u64, budget: u64, marks: bool, over: OverflowMode) -> Self {
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
            lexer: FormLexer::new(),
            hidden: notes::NoteStripper::default(),
            #[cfg(test)]
            work: 0,
        }
    }

    /// Returns whether no form fits. The output is then too long, or empty with [`OverflowMode::Drop`].
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    /// Returns whether something was left out.
    pub(super) fn has_cut(&self) -> bool {
        self.cut
    }

    /// Returns the position of the payload in the form: the index of the child in each container on the path.
    pub(super) fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// Reads more of the text, which may contain notes. Makes as many shorter forms as necessary to hold it.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Raise> {
        if self.exceeded && self.over == OverflowMode::Drop {
            return Ok(());
        }
        self.lex(bytes);
        while !self.exceeded && self.size > self.limit {
            if !self.shorten(limits, meter)? {
                self.exceeded = true;
                self.end(meter, sink)?;
            }
        }
        // A form that fits is held, because the rest of the text may require a shorter one.
        if !self.exceeded {
            self.held.push(&self.made, limits, meter)?;
        } else if self.over == OverflowMode::Stream {
            self.hidden.write(&self.made, |piece| sink.write(piece));
        }
        self.made.clear();
        Ok(())
    }

    /// Finishes the text: writes the held form without its notes. Called twice if no form fits, the second time with
    /// nothing left to write.
    pub(super) fn end(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Raise> {
        if self.exceeded && self.over == OverflowMode::Drop {
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

    /// Shortens the complete held text until it has few enough tokens, if possible.
    pub(super) fn fit_tokens(
        &mut self,
        limit: TokenLimit,
        limits: &Limits,
        meter: &mut Meter,
    ) -> Result<(), Raise> {
        while !self.exceeded && self.tokens(limit)? > limit.most {
            if self.shorten(limits, meter)? {
                self.held.push(&self.made, limits, meter)?;
                self.made.clear();
            } else {
                self.exceeded = true;
            }
        }
        Ok(())
    }

    /// Counts the tokens of the held form without its notes. Reads all of it.
    fn tokens(&mut self, limit: TokenLimit) -> Result<u64, Raise> {
        let mut counter = limit.counter();
        let mut hidden = notes::NoteStripper::default();
        let take = |piece: &[u8]| {
            hidden.write(piece, |piece| counter.push(piece));
            Ok(true)
        };
        self.held.visit(take, |raise| raise)?;
        Ok(counter.finish())
    }

    /// Switches to the next form. Returns `false` if there is none.
    fn shorten(&mut self, limits: &Limits, meter: &mut Meter) -> Result<bool, Raise> {
        // First strings, down to the lowest threshold, and then containers.
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

    /// Turns the held text into the next form.
    ///
    /// The lexer starts over, then takes over the position of the old one: which string and character is open does not
    /// depend on the form. The containers, the run and the rest of a string are those of the new form.
    fn again(&mut self, limits: &Limits, meter: &mut Meter) -> Result<(), Raise> {
        let mut held = std::mem::take(&mut self.held);
        let made = std::mem::take(&mut self.made);
        let open = std::mem::replace(&mut self.lexer, FormLexer::new());
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
        // After `made` come the bytes that the old form keeps back, or the number of children that it leaves out.
        match open.run {
            ChildRun::None => self.lex(&open.rest),
            ChildRun::Short => {
                self.lex(&open.short.text);
                self.lex(&open.rest);
            }
            ChildRun::Dropped(children) => {
                let mut gap = Vec::new();
                notes::gap(&mut gap, children);
                self.lex(&gap);
            }
        }
        // The held text is complete, so a high surrogate at its end is unpaired.
        if !self.lexer.character.is_empty() {
            let last = self.lexer.character.take();
            self.chars(&last, 1);
        }
        // Text that was left out is not held.
        let FormLexer { levels, run, short, rest, .. } = std::mem::replace(&mut self.lexer, open);
        (self.lexer.levels, self.lexer.run) = (levels, run);
        (self.lexer.short, self.lexer.rest) = (short, rest);
        Ok(())
    }

    /// Turns bytes of the text into the current form, and appends it to `made`.
    fn lex(&mut self, mut bytes: &[u8]) {
        #[cfg(test)]
        {
            self.work += bytes.len() as u64;
        }
        count(WorkKind::Tail, bytes.len());
        while let Some((first, rest)) = bytes.split_first() {
            match self.lexer.state {
                LexState::Outside => bytes = self.outside(bytes),
                LexState::Note(kind) => {
                    bytes = rest;
                    if *first == kind {
                        self.lexer.state = LexState::Outside;
                        self.note(kind);
                    } else {
                        self.lexer.note.push(*first);
                    }
                }
                LexState::Key | LexState::Value => {
                    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0x80..);
                    // Plain characters are handled at once, all others byte by byte.
                    let plain = bytes.iter().position(special).unwrap_or(bytes.len());
                    if self.lexer.character.is_empty() && plain > 0 {
                        let (now, later) = bytes.split_at(plain);
                        self.chars(now, plain as u64);
                        bytes = later;
                    } else {
                        bytes = rest;
                        self.byte(*first);
                    }
                }
            }
        }
    }

    /// Handles the start of `bytes`, which is outside strings. Returns the rest. A child begins with its comma. The
    /// first child of a container begins with its own first byte.
    fn outside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some((first, rest)) = bytes.split_first() else { return bytes };
        if let Some(note) = Note::of(*first) {
            match note {
                Note::OnPath => self.lexer.next = NextChild::OnPath,
                Note::Payload => self.lexer.next = NextChild::Payload,
                Note::Span(kind) => {
                    self.lexer.state = LexState::Note(kind);
                    return rest;
                }
            }
            return rest;
        }
        match first {
            b'}' | b']' => self.close(*first),
            b',' => {
                self.child();
                self.lexer.key = self.lexer.kinds.in_object();
                self.put(b",");
            }
            _ => {
                // The first child of a container.
                if std::mem::take(&mut self.lexer.fresh) {
                    self.child();
                }
                return self.token(*first, bytes, rest);
            }
        }
        rest
    }

    /// Handles an opening bracket or quote, a colon, or a part of another scalar. Returns the rest.
    fn token<'a>(&mut self, first: u8, bytes: &'a [u8], rest: &'a [u8]) -> &'a [u8] {
        match first {
            b'{' | b'[' => {
                let object = first == b'{';
                // The root is not a child, so its note is kept here.
                if self.lexer.levels.is_empty() {
                    self.keep_note();
                }
                self.put(&[first]);
                // The children of a container inside a run are not counted: it is kept or dropped as a whole.
                if !self.lexer.is_inside_run() && self.lexer.run == ChildRun::None {
                    let payload = self.lexer.next == NextChild::Payload;
                    self.lexer.levels.push(FormLevel { payload, ..FormLevel::default() });
                }
                self.lexer.next = NextChild::Any;
                self.lexer.kinds.push(object);
                (self.lexer.key, self.lexer.fresh) = (object, true);
            }
            b'"' => {
                self.lexer.state = if self.lexer.key { LexState::Key } else { LexState::Value };
                self.lexer.chars = 0;
                self.lexer.name.clear();
                self.put(b"\"");
            }
            _ => {
                // After a colon the next string is a value.
                self.lexer.key &= first != b':';
                let special = |byte: &u8| {
                    *byte < b' ' || matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b'"' | b':')
                };
                let end = rest.iter().position(special).unwrap_or(rest.len()) + 1;
                let (now, later) = bytes.split_at(end.min(bytes.len()));
                self.put(now);
                return later;
            }
        }
        rest
    }

    /// Handles the start of a child of the innermost container: keeps it, or adds it to a run.
    fn child(&mut self) {
        if self.lexer.is_inside_run() {
            return;
        }
        let Self { lexer, most, marks, .. } = self;
        let wanted = lexer.next != NextChild::Any;
        let Some(level) = lexer.levels.last_mut() else { return };
        level.count += 1;
        // Children of the payload were chosen by the budget on items.
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
            ChildRun::Short => lexer.short.children += 1,
            ChildRun::Dropped(children) => *children += 1,
            none if *marks => {
                *none = ChildRun::Short;
                lexer.short = ShortRun { children: 1, ..ShortRun::default() };
            }
            none => *none = ChildRun::Dropped(1),
        }
    }

    /// Keeps the note for the next child.
    fn keep_note(&mut self) {
        match self.lexer.next {
            NextChild::Any => {}
            NextChild::OnPath => self.made.push(notes::WAY),
            NextChild::Payload => self.made.push(notes::PAYLOAD),
        }
    }

    /// Ends a run, if there is one, before the child on the path to the payload or at the end of the container.
    fn end_run(&mut self) {
        match std::mem::replace(&mut self.lexer.run, ChildRun::None) {
            ChildRun::None => {}
            ChildRun::Short => {
                let short = std::mem::take(&mut self.lexer.short);
                if let Some(level) = self.lexer.levels.last_mut() {
                    level.kept += short.children;
                    level.taken.join(short.taken);
                }
                self.put(&short.text);
            }
            ChildRun::Dropped(children) => {
                self.cut = true;
                notes::gap(&mut self.made, children);
            }
        }
    }

    /// Handles the end of a container: ends its run and adds its marks, the one of the payload first.
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
        let FormLevel { count, kept, mut taken, items, .. } = level;
        let mut mark = |body: &str| match bracket {
            b'}' => taken.member(body, kept == 0),
            _ => omission::element(body, kept == 0),
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

    /// Adds the text of a mark. The next form makes its own.
    fn mark(&mut self, text: &str) {
        notes::span(&mut self.made, notes::MARK, text.as_bytes());
        self.size += text.len() as u64;
    }

    /// Handles a complete note: children that an earlier form left out, or the content of the payload's mark. The text
    /// of a mark is dropped, because each form writes its own.
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
                        ChildRun::Dropped(dropped) => *dropped += children,
                        run => *run = ChildRun::Dropped(children),
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

    /// Drops a run that is too long to be kept.
    fn drop_run(&mut self) {
        if self.lexer.run == ChildRun::Short {
            self.lexer.run = ChildRun::Dropped(self.lexer.short.children);
        }
    }

    /// Adds to the form, or to the run. A run that becomes longer than its mark is dropped.
    fn put(&mut self, bytes: &[u8]) {
        let Self { lexer, made, size, .. } = self;
        match &mut lexer.run {
            ChildRun::None => {
                *size += bytes.len() as u64;
                made.extend_from_slice(bytes);
            }
            ChildRun::Dropped(_) => {}
            ChildRun::Short => {
                let of = lexer.levels.last().map_or(0, |level| level.count);
                let omission = Omission { omitted: lexer.short.children, of, more: false };
                if lexer.short.text.len() + bytes.len() > omission.length() {
                    return self.drop_run();
                }
                lexer.short.text.extend_from_slice(bytes);
            }
        }
    }

    /// Handles a byte of a string: its closing quote, or a part of a character.
    fn byte(&mut self, byte: u8) {
        if byte == b'"' && self.lexer.character.is_empty() {
            return self.end_string();
        }
        match self.lexer.character.add(byte) {
            CharRead::Open => {}
            CharRead::Complete(character) => self.chars(&character, 1),
            CharRead::Before(character, next) => {
                self.chars(&character, 1);
                for byte in next {
                    self.byte(byte);
                }
            }
        }
    }

    /// Handles characters of a string: a single one, or as many as there are bytes. `count`: their number.
    fn chars(&mut self, bytes: &[u8], count: u64) {
        if self.lexer.state == LexState::Key {
            if self.lexer.name.len() <= omission::LONGEST {
                // Keys are kept in full. The beginning is enough to know whether it is the name of a mark.
                let few = bytes.get(..omission::LONGEST + 1).unwrap_or(bytes);
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
        // The dots replace everything after the threshold, so it need not be kept.
        if self.is_cut() {
            self.lexer.rest.clear();
        } else {
            self.lexer.rest.extend_from_slice(later);
        }
    }

    /// Returns whether the open string becomes shorter with dots.
    fn is_cut(&self) -> bool {
        self.threshold + (REST.len() as u64) < self.lexer.chars
    }

    /// Handles the closing quote. Characters after the threshold are written if they are no longer than the dots.
    fn end_string(&mut self) {
        let key = self.lexer.state == LexState::Key;
        if key && !self.lexer.is_inside_run() {
            let FormLexer { levels, run, name, short, .. } = &mut self.lexer;
            match (run, levels.last_mut()) {
                (ChildRun::None, Some(level)) => level.taken.add(name),
                (ChildRun::Short, _) => short.taken.add(name),
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
        self.lexer.state = LexState::Outside;
    }
}
