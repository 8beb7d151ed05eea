//! Replaces equal or similar lines anywhere in the text by the first of them and a count: `line (x3)`, `12:00:01
//! retrying (x3 alike)`.
//!
//! A line and the indented lines after it form one block, so that a stack trace is kept or dropped together with its
//! error. The count is appended to the first line of the block. Short blocks (`}`) and a last line without a line end
//! are kept in place. A heading (`==> a.log <==`) is kept, too, and counting starts over after it.
//!
//! A block waits for repetitions until the text ends, the pipeline is released, or the limits of blocks or bytes are
//! exceeded. In the last case the first waiting block is written with its count, and counting starts over if it
//! occurs again. Blocks are written in the order of their first occurrence, and all counts are exact.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::entry_stage::{EmitEntry, EntryStage, HeldEntry, LineEntry};
use super::headings::is_heading;
use super::line_end::LineEnd;
use super::similarity::{FOLD_MARK, FoldReach, Similarity, add_fold_mark};

/// Default number of blocks that wait.
pub(super) const MAX_WAITING: u64 = 10_000;
/// Minimum size of a block in bytes. A count would hardly make a shorter block shorter.
const LEAST: usize = 16;
/// Minimum size if a rule declares which lines are similar. A count is never longer than the lines of this size that
/// it replaces.
const LEAST_DECLARED: usize = 11;
/// Maximum size of a block, in bytes and in lines. Longer blocks are not counted.
const BLOCK: usize = 16 << 10;
const LINES: usize = 200;
/// Estimated memory for a block or a line in addition to its text, in bytes.
const COST: usize = 192;

/// A line and the indented lines after it.
#[derive(Debug, Default)]
struct DedupBlock {
    lines: Vec<HeldEntry>,
    /// Number of occurrences.
    count: u64,
    /// Whether all occurrences are equal.
    equal: bool,
    /// The time of the last occurrence, if it has one.
    time: Vec<u8>,
    /// How many failures were before the last occurrence.
    failures: u64,
    /// `None` if no repetitions are looked for.
    key: Option<Arc<[u8]>>,
    cost: usize,
}

#[derive(Debug)]
pub(super) struct DedupAnywhere {
    similarity: Arc<Similarity>,
    most: usize,
    limit: usize,
    /// The open block: its lines, its key so far, and its size in bytes.
    open: Vec<HeldEntry>,
    key: Vec<u8>,
    bytes: usize,
    /// Whether the open block exceeds the maximum size; its lines are then written one by one.
    too_long: bool,
    /// The waiting blocks, in the order of their first occurrences.
    waiting: VecDeque<DedupBlock>,
    held: usize,
    /// The number of the first waiting block, and the numbers of the blocks by their keys.
    first: u64,
    places: HashMap<Arc<[u8]>, u64>,
    /// The number of the block that occurred last.
    last: Option<u64>,
    /// Blocks about failures so far.
    failures: u64,
    /// The block that last had a state, by its key without the state.
    states: HashMap<Vec<u8>, u64>,
}

impl DedupAnywhere {
    pub(super) fn new(similarity: Arc<Similarity>, most: u64, limit: usize) -> Self {
        Self {
            similarity,
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
            last: None,
            failures: 0,
            states: HashMap::new(),
        }
    }

    /// Ends the open block: counts it if an equal or similar block waits, or else lets it wait.
    fn close(&mut self, is_last: bool, next: EmitEntry<'_>) {
        if self.open.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.open);
        let bytes = std::mem::take(&mut self.bytes);
        let key = std::mem::take(&mut self.key);
        let least = if self.similarity.normalize.is_empty() { LEAST } else { LEAST_DECLARED };
        let head = lines.first().map_or(&b""[..], |head| &head.text);
        let is_grave = self.similarity.is_grave(head);
        // The mark must be shorter than the lines that it replaces.
        let time = self.similarity.time(head, is_grave).map(<[u8]>::to_vec).unwrap_or_default();
        let least = if time.is_empty() { least } else { least.max(FOLD_MARK + time.len()) };
        let is_sought = !self.too_long && !is_last && bytes >= least;
        let reach = self.similarity.reach(is_grave, &key);
        if reach == FoldReach::Neighbours {
            self.failures += 1;
        }
        let place = self.places.get(key.as_slice()).copied().filter(|_| is_sought);
        let place = place.filter(|place| self.may_fold(*place, &reach));
        if let Some(place) = place
            && let Some(block) = usize::try_from(place - self.first)
                .ok()
                .and_then(|place| self.waiting.get_mut(place))
            && block.lines.len() == lines.len()
        {
            self.last = Some(place);
            if let FoldReach::SameState(state) = reach {
                self.states.insert(state, place);
            }
            block.count += 1;
            block.time = time;
            block.failures = self.failures;
            let same = |(one, other): (&HeldEntry, &HeldEntry)| one.text == other.text;
            block.equal &= block.lines.iter().zip(&lines).all(same);
            for (one, other) in block.lines.iter_mut().zip(lines) {
                one.lines += other.lines;
                one.shortened += other.shortened;
            }
            return;
        }
        let cost = bytes + (lines.len() + 1) * COST + if is_sought { key.len() } else { 0 };
        let key: Option<Arc<[u8]>> = is_sought.then(|| key.into());
        let place = self.first + self.waiting.len() as u64;
        self.last = Some(place);
        if let FoldReach::SameState(state) = reach {
            if self.states.len() >= self.most {
                self.states.clear();
            }
            self.states.insert(state, place);
        }
        if let Some(key) = &key {
            self.places.insert(Arc::clone(key), place);
        }
        self.held += cost;
        let failures = self.failures;
        self.waiting.push_back(DedupBlock {
            lines,
            count: 1,
            equal: true,
            time,
            failures,
            key,
            cost,
        });
        self.shrink(next);
    }

    /// Whether a block may be counted at the place of an earlier one.
    fn may_fold(&self, place: u64, reach: &FoldReach) -> bool {
        match reach {
            FoldReach::Anywhere => true,
            FoldReach::Neighbours => self.last == Some(place),
            FoldReach::SameState(state) => {
                let block = usize::try_from(place - self.first).ok();
                let block = block.and_then(|place| self.waiting.get(place));
                self.states.get(state) == Some(&place)
                    && block.is_some_and(|block| block.failures == self.failures)
            }
        }
    }

    /// Writes the first waiting blocks while there are too many, and blocks that need not wait.
    fn shrink(&mut self, next: EmitEntry<'_>) {
        while let Some(first) = self.waiting.front() {
            let too_much = self.waiting.len() > self.most || self.held > self.limit;
            if first.key.is_some() && !too_much {
                return;
            }
            self.leave(next);
        }
    }

    /// Writes the first waiting block.
    fn leave(&mut self, next: EmitEntry<'_>) {
        let Some(mut block) = self.waiting.pop_front() else { return };
        self.first += 1;
        self.held -= block.cost;
        if let Some(key) = &block.key
            && self.places.get(key).is_some_and(|place| *place < self.first)
        {
            self.places.remove(key);
        }
        if block.count > 1
            && let Some(head) = block.lines.first_mut()
        {
            let is_grave = self.similarity.is_grave(&head.text);
            let first = self.similarity.time(&head.text, is_grave);
            let last = Some(block.time.as_slice()).filter(|time| !time.is_empty());
            let mut mark = Vec::new();
            add_fold_mark(&mut mark, block.count, block.equal, first, last);
            head.text.extend_from_slice(&mark);
        }
        block.lines.iter().for_each(|line| next(line.entry()));
    }
}

impl EntryStage for DedupAnywhere {
    fn entry(&mut self, entry: LineEntry<'_>, next: EmitEntry<'_>) {
        let goes_on = entry.text.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if !goes_on {
            self.close(false, next);
            self.too_long = false;
            if is_heading(entry.text) {
                self.flush(next);
                return next(entry);
            }
        }
        self.bytes += entry.length();
        self.similarity.key(entry.text, &mut self.key);
        self.key.extend_from_slice(if entry.end == LineEnd::CrLf { b"\r\n" } else { b"\n" });
        self.open.push(entry.into());
        if self.too_long || self.bytes > BLOCK || self.open.len() > LINES {
            self.too_long = true;
            self.close(false, next);
        } else if entry.end == LineEnd::Missing {
            self.close(true, next);
        }
    }

    fn flush(&mut self, next: EmitEntry<'_>) {
        self.close(false, next);
        self.states.clear();
        while !self.waiting.is_empty() {
            self.leave(next);
        }
        self.too_long = false;
    }
}
