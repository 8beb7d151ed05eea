//! Groups lines by a key: a heading, and one item per line: `src/a.rs:` and `  12: use std::fmt;`.
//!
//! By default, lines in a row are grouped, and one line is held. With `scattered`, lines in a longer run of matching
//! lines are grouped; up to the limit these are held, and groups are written in the order of their first lines. No
//! line is dropped. Lines are written unchanged if the group would be longer.

use std::collections::HashMap;
use std::sync::Arc;

use regex::bytes::Regex;

use super::entry_stage::{EmitEntry, EntryRole, EntryStage, HeldEntry, LineEntry};
use super::line_end::LineEnd;

pub(super) struct CompiledGroup {
    pub(super) by: Regex,
    pub(super) key: Vec<u8>,
    pub(super) item: Vec<u8>,
    pub(super) scattered: bool,
}

/// Indentation of an item.
const INDENT: &[u8] = b"  ";

/// Estimated memory for a line in addition to its texts, in bytes.
const COST: usize = 128;

/// The lines with one key.
#[derive(Debug, Default)]
struct LineGroup {
    key: Vec<u8>,
    lines: Vec<GroupedLine>,
    raw_bytes: usize,
    item_bytes: usize,
}

/// A line, and its text as an item.
#[derive(Debug)]
struct GroupedLine {
    line: HeldEntry,
    item: Vec<u8>,
}

impl GroupedLine {
    fn new(line: LineEntry<'_>, item: &[u8]) -> Self {
        Self { line: line.into(), item: [INDENT, item].concat() }
    }

    /// Returns the line as an item under a heading.
    fn item(&self) -> LineEntry<'_> {
        let line = self.line.entry();
        LineEntry { text: &self.item, role: EntryRole::Item, shortened: line.lines, ..line }
    }
}

impl LineGroup {
    fn push(&mut self, member: GroupedLine) {
        self.raw_bytes += member.line.text.len();
        self.item_bytes += member.item.len();
        self.lines.push(member);
    }

    fn is_shorter(&self) -> bool {
        let end = self.lines.first().map_or(0, |line| line.line.end.bytes().len());
        self.lines.len() > 1 && self.key.len() + 1 + end + self.item_bytes < self.raw_bytes
    }
}

pub(super) struct GroupStage {
    grouping: Arc<CompiledGroup>,
    /// Not scattered: the key of the open group, and its first line until the second one arrives.
    row: Option<OpenGroup>,
    /// Scattered: the groups in the order of their first lines.
    groups: Vec<LineGroup>,
    places: HashMap<Vec<u8>, usize>,
    /// The group of the last line.
    last: Option<usize>,
    held: usize,
    limit: usize,
    item: Vec<u8>,
    key: Vec<u8>,
}

struct OpenGroup {
    key: Vec<u8>,
    first: Option<GroupedLine>,
    /// Whether items are shorter than the lines. The second line decides.
    grouped: bool,
}

impl GroupStage {
    pub(super) fn new(grouping: Arc<CompiledGroup>, limit: usize) -> Self {
        Self {
            grouping,
            row: None,
            groups: Vec::new(),
            places: HashMap::new(),
            last: None,
            held: 0,
            limit,
            item: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Extracts key and item of a line. Returns whether the line has them.
    fn read(&mut self, text: &[u8]) -> bool {
        let Self { grouping, key, item, .. } = self;
        if !grouping.by.is_match(text) {
            return false;
        }
        let Some(groups) = grouping.by.captures(text) else { return false };
        key.clear();
        item.clear();
        groups.expand(&grouping.key, key);
        groups.expand(&grouping.item, item);
        !key.is_empty()
    }

    fn in_a_row(&mut self, line: LineEntry<'_>, next: EmitEntry<'_>) {
        let Self { row, key, item, .. } = self;
        let end = line.end;
        if let Some(OpenGroup { key: open, first, grouped }) = row
            && open == key
        {
            if let Some(first) = first.take() {
                let before = first.line.text.len() + line.text.len() + end.bytes().len();
                let after = key.len() + 1 + first.item.len() + item.len() + INDENT.len();
                *grouped = after + 2 * end.bytes().len() < before + end.bytes().len();
                if *grouped {
                    let heading = [key.as_slice(), b":"].concat();
                    next(LineEntry::heading(&heading, first.line.end));
                    next(first.item());
                } else {
                    next(first.line.entry());
                }
            }
            // After the heading, each item must be no longer than its line.
            if *grouped && INDENT.len() + item.len() <= line.text.len() {
                next(GroupedLine::new(line, item).item());
            } else {
                next(line);
                // Another item would now appear to belong to the line just written.
                *grouped = false;
            }
            return;
        }
        self.flush(next);
        let first = Some(GroupedLine::new(line, &self.item));
        self.row = Some(OpenGroup { key: self.key.clone(), first, grouped: false });
    }

    fn scattered(&mut self, line: LineEntry<'_>, next: EmitEntry<'_>) {
        if line.end == LineEnd::Missing {
            // The last line of the text must remain the last.
            self.flush(next);
            return next(line);
        }
        let size = line.text.len() + self.item.len() + self.key.len() + COST;
        if self.held + size > self.limit {
            // Over the limit: write everything held, and start new groups.
            self.flush(next);
        }
        self.held += size;
        let Self { groups, places, key, item, .. } = self;
        let place = match places.get(key.as_slice()) {
            Some(place) => *place,
            None => {
                places.insert(key.clone(), groups.len());
                groups.push(LineGroup { key: key.clone(), ..LineGroup::default() });
                groups.len() - 1
            }
        };
        if let Some(lines) = groups.get_mut(place) {
            lines.push(GroupedLine::new(line, item));
        }
        self.last = Some(place);
    }

    /// Removes the last held line from its group.
    fn take_last(&mut self) -> Option<GroupedLine> {
        let lines = self.groups.get_mut(self.last.take()?)?;
        let last = lines.lines.pop()?;
        lines.raw_bytes -= last.line.text.len();
        lines.item_bytes -= last.item.len();
        Some(last)
    }

    /// Writes all groups.
    fn flush_groups(&mut self, next: EmitEntry<'_>) {
        self.places = HashMap::new();
        self.last = None;
        self.held = 0;
        for group in std::mem::take(&mut self.groups) {
            let shorter = group.is_shorter();
            if shorter && let Some(first) = group.lines.first() {
                let text = [group.key.as_slice(), b":"].concat();
                next(LineEntry::heading(&text, first.line.end));
            }
            for member in &group.lines {
                next(if shorter { member.item() } else { member.line.entry() });
            }
        }
    }
}

impl EntryStage for GroupStage {
    fn entry(&mut self, line: LineEntry<'_>, next: EmitEntry<'_>) {
        let is_member = self.read(line.text);
        match (is_member, self.grouping.scattered) {
            (true, true) => self.scattered(line, next),
            (true, false) => self.in_a_row(line, next),
            // A line that does not match refers to the lines before it, so groups end here. If it is indented, it
            // refers to the last line, which has to stay directly before it.
            (false, _) => {
                let goes_on = line.text.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
                let last = if goes_on { self.take_last() } else { None };
                self.flush(next);
                if let Some(GroupedLine { line, .. }) = last {
                    next(line.entry());
                }
                next(line);
            }
        }
    }

    fn flush(&mut self, next: EmitEntry<'_>) {
        if let Some(OpenGroup { first: Some(first), .. }) = self.row.take() {
            next(first.line.entry());
        }
        self.flush_groups(next);
    }

    /// A group whose heading is already written stays open.
    fn release(&mut self, next: EmitEntry<'_>) {
        if let Some(OpenGroup { first: Some(_), .. }) = &self.row {
            self.flush(next);
        }
        self.flush_groups(next);
    }
}
