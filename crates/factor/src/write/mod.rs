//! The second pass: writes the document without the members that are written once, and finds containers that were
//! written before.
//!
//! The text is held, because it must be known to be shorter before it is written, and because containers are compared with
//! it. References take their places when the held text is written.

mod refs;

use std::sync::Arc;

use tamis_json::error::{ErrorKind, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::strings::StringEscaper;

use crate::collect::{Action, ArrayPlan, ITEM, NONE, PlacedPlan, Survey};
use crate::hash::{hash, mix};
use crate::reader::{Reader, Span, Token, unescape};
use crate::{FactorSkip, Factored, end_of_items, is_gain};
use refs::{Container, Marks, Refs};

/// The elements that are hashed at once.
const RUN: u64 = 64;
/// Bytes that are gathered before they are held.
const GATHERED: usize = 32 << 10;

/// A factored document.
#[derive(Debug)]
pub struct FactoredText {
    text: Hold,
    refs: Refs,
    factored: Factored,
}

impl FactoredText {
    /// Returns what the text has.
    #[must_use]
    pub fn factored(&self) -> Factored {
        self.factored
    }

    /// Passes the text on, and releases it. Ends early when `take` returns `false`.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn write(
        &mut self,
        meter: &mut Meter,
        take: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Raise> {
        self.visit(take)?;
        self.clear(meter);
        Ok(())
    }

    /// Passes the text on, and keeps it. Ends early when `take` returns `false`.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn visit(&mut self, take: impl FnMut(&[u8]) -> bool) -> Result<(), Raise> {
        self.refs.write(&mut self.text, take)
    }

    /// Releases the text.
    pub fn clear(&mut self, meter: &mut Meter) {
        self.text.clear(meter);
    }
}

/// An open container.
#[derive(Debug)]
struct OpenContainer {
    object: bool,
    /// The members or elements that were written.
    written: u64,
    /// It had members or elements.
    filled: bool,
    /// The offset of its bracket in the text.
    at: u64,
    /// The offset in the text to which it vanishes if no member of it is written. `None`: it stays.
    vanishes: Option<u64>,
    hash: u64,
    /// The hash of its name.
    name: u64,
    marks: Marks,
    /// The length of the pointer to the container around it.
    pointer: usize,
    /// The node of an object of an item.
    node: u32,
    /// The member that is probable.
    hint: u32,
    /// It is an array that is factored.
    factored: bool,
}

/// The writer.
struct Writer<'a> {
    reader: Reader<'a>,
    limits: &'a Limits,
    meter: &'a mut Meter,
    plans: std::iter::Peekable<std::vec::IntoIter<PlacedPlan>>,
    /// The plan of the array that is open.
    plan: Option<Arc<ArrayPlan>>,
    open: Vec<OpenContainer>,
    text: Hold,
    out: Vec<u8>,
    /// The place in the reader of bytes that are written next, and end with the bytes that were read.
    run: Option<usize>,
    refs: Refs,
    /// The pointer to the innermost container.
    pointer: Vec<u8>,
    /// The last name, as a place of the reader.
    name: Span,
    /// The node of the last member, if members of its value are left out.
    member: u32,
    factored: Factored,
}

/// Writes a document. Returns the reason if it is not shorter.
///
/// # Errors
/// The temporary file cannot be read or written.
pub(crate) fn write(
    document: &mut Hold,
    mark: u64,
    survey: Survey,
    limits: &Limits,
    meter: &mut Meter,
) -> Result<Result<FactoredText, FactorSkip>, Raise> {
    let length = document.len();
    let end = end_of_items(document, mark);
    let mut mark_text = Vec::new();
    if mark > 0 {
        document.read_part(end, usize::try_from(mark).unwrap_or(0), &mut mark_text)?;
    }
    let mut writer = Writer {
        reader: Reader::new(document, 0, end),
        limits,
        meter,
        plans: survey.plans.into_iter().peekable(),
        plan: None,
        open: Vec::new(),
        text: Hold::default(),
        out: Vec::new(),
        run: None,
        refs: Refs::new(!survey.repeated),
        pointer: b"#".to_vec(),
        name: Span::default(),
        member: NONE,
        factored: Factored::default(),
    };
    let result = writer.document(&mark_text);
    let Writer { mut text, refs, mut factored, .. } = writer;
    match result {
        Ok(()) => {}
        Err(raise) if is_limit(&raise) => {
            text.clear(meter);
            return Ok(Err(FactorSkip::Size));
        }
        Err(raise) => return Err(raise),
    }
    let after = text.len() - refs.saved;
    if !is_gain(length, after) {
        text.clear(meter);
        return Ok(Err(FactorSkip::Gain));
    }
    factored.refs = refs.count;
    factored.bytes = length - after;
    Ok(Ok(FactoredText { text, refs, factored }))
}

fn is_limit(raise: &Raise) -> bool {
    raise.kind == ErrorKind::Limit
}

impl Writer<'_> {
    /// Returns the offset in the text of what is written next.
    fn at(&self) -> u64 {
        let run = self.run.map_or(0, |run| self.reader.pos - run);
        self.text.len() + (self.out.len() + run) as u64
    }

    /// Writes the bytes of the run up to a place.
    fn end_run(&mut self, place: usize) {
        if let Some(run) = self.run.take() {
            self.out.extend_from_slice(self.reader.bytes().get(run..place).unwrap_or_default());
        }
    }

    /// Moves gathered bytes to the held ones, and forgets those that were read.
    fn flush(&mut self) -> Result<(), Raise> {
        let runs = self.run.is_some();
        self.end_run(self.reader.pos);
        self.reader.trim();
        self.run = runs.then_some(self.reader.pos);
        self.hold_gathered()
    }

    fn hold_gathered(&mut self) -> Result<(), Raise> {
        // A container that may vanish is not held yet.
        let mut end = self.out.len();
        let mut inner = 0;
        for open in self.open.iter().rev() {
            // The container inside it was counted, and may vanish.
            let Some(at) = open.vanishes.filter(|_| open.written == inner) else { break };
            end = usize::try_from(at - self.text.len()).unwrap_or(0).min(end);
            inner = 1;
        }
        self.text.push(self.out.get(..end).unwrap_or_default(), self.limits, self.meter)?;
        self.out.drain(..end);
        Ok(())
    }

    /// Makes all of the text comparable.
    fn settle(&mut self) -> Result<(), Raise> {
        let runs = self.run.is_some();
        self.end_run(self.reader.pos);
        self.run = runs.then_some(self.reader.pos);
        if self.out.len() > GATHERED {
            self.hold_gathered()?;
        }
        Ok(())
    }

    /// Writes the document. `mark`: a comma and an element.
    fn document(&mut self, mark: &[u8]) -> Result<(), Raise> {
        loop {
            if self.reader.is_full() {
                self.flush()?;
            }
            let mut token = self.reader.next()?;
            let mut vanishes = None;
            let has_name = token == Token::Key;
            if has_name {
                if !self.key(&mut vanishes) {
                    self.skip_value()?;
                    continue;
                }
                token = self.reader.next()?;
            }
            match token {
                Token::Open { object } => self.open(object, has_name, vanishes),
                Token::Close => self.close()?,
                Token::End => break,
                _ if has_name => {
                    // The name and the value at once.
                    let member = Span { start: self.name.start, end: self.reader.pos };
                    let member = hash(member.of(self.reader.bytes()));
                    if let Some(open) = self.open.last_mut() {
                        open.hash = mix(open.hash, member);
                    }
                }
                _ => {
                    // Runs of elements depend only on the elements, not on what is in memory.
                    let count = self.reader.scalar_run(RUN)?;
                    let elements = hash(self.reader.token());
                    if let Some(open) = self.open.last_mut() {
                        open.hash = mix(open.hash, elements);
                        open.written += count;
                    }
                }
            }
        }
        if let Some(closed) = self.open.pop() {
            self.settle()?;
            self.refs.verify(closed.marks, &self.text, &self.out)?;
            self.end_run(self.reader.pos);
            // The member of the element becomes one of the object around the items.
            let member = mark.strip_prefix(b",{").unwrap_or_default();
            self.out.extend_from_slice(b"],");
            self.out.extend_from_slice(member);
        }
        self.end_run(self.reader.pos);
        self.text.push(&self.out, self.limits, self.meter)?;
        self.out.clear();
        self.refs.end();
        Ok(())
    }

    /// Begins a member. Returns `false` if it is left out.
    #[inline]
    fn key(&mut self, vanishes: &mut Option<u64>) -> bool {
        let (place, before) = (self.reader.text.start - 1, self.reader.before);
        let escaped = self.reader.escaped;
        // Not `text`, which was written in two parts: the processor would wait until both can be read as one.
        self.name = Span { start: place + 1, end: self.reader.pos - 2 };
        self.member = NONE;
        let Some(open) = self.open.last_mut() else { return false };
        open.filled = true;
        let mut action = Action::Keep;
        let mut node = NONE;
        if open.node != NONE
            && let Some(plan) = &self.plan
        {
            node = plan.trie.find(open.node, open.hint, self.reader.token(), escaped);
            if let Some(found) = plan.trie.node(node) {
                open.hint = found.next;
                action = plan.actions.get(node as usize).copied().unwrap_or(Action::Keep);
            }
        }
        if action == Action::Omit {
            self.end_run(before);
            return false;
        }
        let first = open.written == 0;
        open.written += 1;
        if action == Action::Enter {
            self.member = node;
            self.end_run(before);
            let at = self.at();
            // Only an object can vanish. Another value of that path is kept.
            *vanishes = Some(at);
        }
        if self.run.is_none() {
            if !first {
                self.out.push(b',');
            }
            self.run = Some(place);
        }
        if let Some(plan) = self.plans.peek()
            && plan.start == self.reader.offset(self.reader.pos)
            && self.plan.is_none()
        {
            self.end_run(place);
            self.write_shared();
            self.run = Some(place);
        }
        true
    }

    /// Writes `_all` and `_made` of the next array.
    fn write_shared(&mut self) {
        let Some(PlacedPlan { plan, .. }) = self.plans.peek() else { return };
        for (name, text) in [(&b"\"_all\":"[..], &plan.all), (&b"\"_made\":"[..], &plan.made)] {
            if !text.is_empty() {
                self.out.extend_from_slice(name);
                self.out.extend_from_slice(text);
                self.out.push(b',');
            }
        }
        self.factored.all += plan.all_members;
        self.factored.made += plan.made_members;
    }

    /// Reads the value of a member that is left out.
    fn skip_value(&mut self) -> Result<(), Raise> {
        let depth = self.reader.depth();
        loop {
            match self.reader.next()? {
                Token::End => return Ok(()),
                _ if self.reader.depth() <= depth => return Ok(()),
                _ => {}
            }
            if self.reader.is_full() {
                self.reader.trim();
            }
        }
    }

    fn open(&mut self, object: bool, has_name: bool, vanishes: Option<u64>) {
        let start = self.reader.offset(self.reader.text.start);
        let is_plan = !object && self.plans.peek().is_some_and(|plan| plan.start == start);
        let name = if has_name { hash(self.name.of(self.reader.bytes())) } else { 0 };
        let mut opened = OpenContainer {
            object,
            written: 0,
            filled: false,
            at: 0,
            vanishes: vanishes.filter(|_| object),
            hash: u64::from(object),
            name,
            marks: self.refs.marks(),
            pointer: self.pointer.len(),
            node: NONE,
            hint: NONE,
            factored: is_plan,
        };
        let Some(around) = self.open.last_mut() else {
            // The document.
            if object {
                self.out.extend_from_slice(b"{\"_factored\":1");
                opened.written = 1;
            } else {
                self.out.extend_from_slice(b"{\"_factored\":1,");
                if is_plan {
                    self.write_shared();
                }
                self.out.extend_from_slice(b"\"_items\":");
                self.pointer.extend_from_slice(b"/_items");
                self.run = Some(self.reader.text.start);
            }
            if is_plan {
                self.plan = self.plans.next().map(|placed| placed.plan);
            }
            self.open.push(opened);
            return;
        };
        self.pointer.push(b'/');
        if around.object {
            pointer_name(self.name.of(self.reader.bytes()), &mut self.pointer);
            if let Some(plan) = &self.plan
                && let Some(node) = plan.trie.node(self.member)
            {
                opened.node = self.member;
                opened.hint = node.first;
            }
        } else {
            let mut digits = [0; 20];
            self.pointer.extend_from_slice(decimal(around.written, &mut digits));
            around.written += 1;
            if around.factored && object {
                opened.node = ITEM;
                if let Some(plan) = &self.plan {
                    opened.hint = plan.trie.node(ITEM).map_or(NONE, |node| node.first);
                }
            }
        }
        if is_plan {
            self.plan = self.plans.next().map(|placed| placed.plan);
        }
        self.open.push(opened);
        let at = self.at() - 1;
        if let Some(open) = self.open.last_mut() {
            open.at = at;
        }
    }

    fn close(&mut self) -> Result<(), Raise> {
        let Some(closed) = self.open.pop() else { return Ok(()) };
        if self.run.is_none() {
            self.run = Some(self.reader.pos - 1);
        }
        if closed.factored {
            self.plan = None;
        }
        if let Some(at) = closed.vanishes
            && closed.written == 0
            && closed.filled
        {
            self.run = None;
            let end = usize::try_from(at - self.text.len()).unwrap_or(0);
            self.out.truncate(end);
            self.pointer.truncate(closed.pointer);
            if let Some(around) = self.open.last_mut() {
                around.written -= 1;
            }
            return Ok(());
        }
        if self.open.is_empty() {
            // The end of the document.
            self.settle()?;
            self.refs.verify(closed.marks, &self.text, &self.out)?;
            if !closed.object {
                self.end_run(self.reader.pos);
                self.out.push(b'}');
            }
            return Ok(());
        }
        let end = self.at();
        let length = end - closed.at;
        if length >= refs::LEAST {
            let container = Container { at: closed.at, length, hash: closed.hash };
            if !self.refs.find(container, closed.marks) {
                if self.refs.has_pending(closed.marks) {
                    self.settle()?;
                    self.refs.verify(closed.marks, &self.text, &self.out)?;
                }
                self.refs.remember(container, &self.pointer);
            }
        }
        self.pointer.truncate(closed.pointer);
        if let Some(around) = self.open.last_mut() {
            around.hash = mix(around.hash, mix(closed.hash, closed.name));
        }
        Ok(())
    }
}

/// Appends the name of a member, as spelled, to a pointer in a JSON string.
fn pointer_name(spelled: &[u8], pointer: &mut Vec<u8>) {
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'~' | b'/');
    if !spelled.iter().any(is_special) {
        return pointer.extend_from_slice(spelled);
    }
    let mut text = Vec::new();
    unescape(spelled, &mut text);
    let mut escaped = Vec::new();
    for byte in text {
        match byte {
            b'~' => escaped.extend_from_slice(b"~0"),
            b'/' => escaped.extend_from_slice(b"~1"),
            byte => escaped.push(byte),
        }
    }
    let mut escaper = StringEscaper::default();
    escaper.spell_units(&escaped);
    pointer.extend_from_slice(&escaper.out);
}

/// Returns a number in decimal.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        start = place;
        if number == 0 {
            break;
        }
    }
    digits.get(start..).unwrap_or_default()
}
