//! Lines that are equal or alike become one, wherever they stand in the text: the first of them stays, and says how often
//! they came (`line (x3)`, `12:00:01 retrying (x3 alike)`).
//!
//! A line and the indented lines after it are one: a stack trace goes with its error, or stays with it, and the number stands
//! at the first line. Short lines (`}`) and a last line without its end stay where they are.
//!
//! A line that may come again waits until the text ends, no input comes for a while, or more lines wait than `most` or the
//! limit of bytes allows. Then the first waiting line is written with its count, and its count starts anew if it comes again.
//! Lines are written in the order in which they first came, and all counts are exact.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::Arc;

use super::alike::Likeness;
use super::entry::{Entry, EntryStage, Held, Pass};
use super::lines::End;

/// Lines that wait, each with those that are indented under it, unless a rule says otherwise.
pub(crate) const MOST: u64 = 10_000;
/// A block with fewer bytes stays where it is: it would hardly become shorter.
const LEAST: usize = 16;
/// The same where a rule says which lines are alike: no number is longer than the lines of this length that it stands for.
const LEAST_DECLARED: usize = 11;
/// Bytes and lines that one block may have; a longer one stays where it is.
const BLOCK: usize = 16 << 10;
const LINES: usize = 200;
/// Bytes that a block and a line cost beside their texts.
const COST: usize = 192;

/// A line, and those that are indented under it.
#[derive(Debug, Default)]
struct Block {
    lines: Vec<Held>,
    /// How often it came.
    count: u64,
    /// The same each time.
    equal: bool,
    /// `None`: it is not looked for.
    key: Option<Arc<[u8]>>,
    cost: usize,
}

#[derive(Debug)]
pub(super) struct Distinct {
    likeness: Arc<Likeness>,
    most: usize,
    limit: usize,
    /// The block that is open: its lines, what they are compared by, and how many bytes they have.
    open: Vec<Held>,
    key: Vec<u8>,
    bytes: usize,
    /// The open block is longer than one may be: its lines leave one by one.
    too_long: bool,
    /// The lines that wait, in their order.
    waiting: VecDeque<Block>,
    held: usize,
    /// The number of the first that waits, and where those are that may come again.
    first: u64,
    places: HashMap<Arc<[u8]>, u64>,
}

impl Distinct {
    pub(super) fn new(likeness: Arc<Likeness>, most: u64, limit: usize) -> Self {
        Self {
            likeness,
            most: usize::try_from(most).unwrap_or(usize::MAX),
            limit,
            open: Vec::new(),
            key: Vec::new(),
            bytes: 0,
            too_long: false,
            waiting: VecDeque::new(),
            held: 0,
            first: 0,
            places: HashMap::new(),
        }
    }

    /// The open block is complete.
    fn close(&mut self, is_last: bool, next: Pass<'_>) {
        if self.open.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.open);
        let bytes = std::mem::take(&mut self.bytes);
        let key = std::mem::take(&mut self.key);
        let least = if self.likeness.normalize.is_empty() { LEAST } else { LEAST_DECLARED };
        let is_sought = !self.too_long && !is_last && bytes >= least;
        if is_sought
            && let Some(place) = self.places.get(key.as_slice())
            && let Some(block) = usize::try_from(place - self.first)
                .ok()
                .and_then(|place| self.waiting.get_mut(place))
            && block.lines.len() == lines.len()
        {
            block.count += 1;
            let same = |(one, other): (&Held, &Held)| one.text == other.text;
            block.equal &= block.lines.iter().zip(&lines).all(same);
            for (one, other) in block.lines.iter_mut().zip(lines) {
                one.lines += other.lines;
                one.shortened += other.shortened;
            }
            return;
        }
        let cost = bytes + (lines.len() + 1) * COST + if is_sought { key.len() } else { 0 };
        let key: Option<Arc<[u8]>> = is_sought.then(|| key.into());
        if let Some(key) = &key {
            let place = self.first + self.waiting.len() as u64;
            self.places.insert(Arc::clone(key), place);
        }
        self.held += cost;
        self.waiting.push_back(Block { lines, count: 1, equal: true, key, cost });
        self.shrink(next);
    }

    /// Hands on the first that wait, as long as there are too many, and those that need not wait.
    fn shrink(&mut self, next: Pass<'_>) {
        while let Some(first) = self.waiting.front() {
            let too_much = self.waiting.len() > self.most || self.held > self.limit;
            if first.key.is_some() && !too_much {
                return;
            }
            self.leave(next);
        }
    }

    /// Hands on the first that waits.
    fn leave(&mut self, next: Pass<'_>) {
        let Some(mut block) = self.waiting.pop_front() else { return };
        self.first += 1;
        self.held -= block.cost;
        if let Some(key) = &block.key {
            self.places.remove(key);
        }
        if block.count > 1
            && let Some(head) = block.lines.first_mut()
        {
            let word = if block.equal { "" } else { " alike" };
            // Writing to memory does not fail.
            _ = write!(head.text, " (x{}{word})", block.count);
        }
        block.lines.iter().for_each(|line| next(line.entry()));
    }
}

impl EntryStage for Distinct {
    fn entry(&mut self, entry: Entry<'_>, next: Pass<'_>) {
        let goes_on = entry.text.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if !goes_on {
            self.close(false, next);
            self.too_long = false;
        }
        self.bytes += entry.length();
        self.likeness.key(entry.text, &mut self.key);
        self.key.extend_from_slice(if entry.end == End::CrLf { b"\r\n" } else { b"\n" });
        self.open.push(entry.into());
        if self.too_long || self.bytes > BLOCK || self.open.len() > LINES {
            self.too_long = true;
            self.close(false, next);
        } else if entry.end == End::Missing {
            self.close(true, next);
        }
    }

    fn flush(&mut self, next: Pass<'_>) {
        self.close(false, next);
        while !self.waiting.is_empty() {
            self.leave(next);
        }
        self.too_long = false;
    }
}
