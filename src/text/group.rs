//! Lines with a common key become a header and items below it: `src/a.rs:` and `  12: use std::fmt;`.
//!
//! Those in a row, holding one line; or, if the group is scattered, in the order of their keys: then a run of lines that have
//! one is held up to a limit, and groups stand in the order of their first lines. No line is lost, and no group is longer than its lines
//! were: where it would be, they stay as they came.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{Entry, EntryStage, Held, Pass, Role};
use super::lines::End;
use super::more::Pattern;

pub(super) struct Grouping {
    pub(super) by: Pattern,
    pub(super) key: Vec<u8>,
    pub(super) item: Vec<u8>,
    pub(super) scattered: bool,
}

/// In front of an item.
const INDENT: &[u8] = b"  ";

/// Bytes that a line costs beside its texts.
const COST: usize = 128;

/// Lines of one key.
#[derive(Debug, Default)]
struct Lines {
    key: Vec<u8>,
    lines: Vec<Member>,
    raw_bytes: usize,
    item_bytes: usize,
}

/// A line as it came, and as an item.
#[derive(Debug)]
struct Member {
    line: Held,
    item: Vec<u8>,
}

impl Member {
    fn new(line: Entry<'_>, item: &[u8]) -> Self {
        Self { line: line.into(), item: [INDENT, item].concat() }
    }

    /// The line under a heading.
    fn item(&self) -> Entry<'_> {
        let line = self.line.entry();
        Entry { text: &self.item, role: Role::Item, shortened: line.lines, ..line }
    }
}

impl Lines {
    fn push(&mut self, member: Member) {
        self.raw_bytes += member.line.text.len();
        self.item_bytes += member.item.len();
        self.lines.push(member);
    }

    fn is_shorter(&self) -> bool {
        let end = self.lines.first().map_or(0, |line| line.line.end.bytes().len());
        self.lines.len() > 1 && self.key.len() + 1 + end + self.item_bytes < self.raw_bytes
    }
}

pub(super) struct Group {
    grouping: Arc<Grouping>,
    /// In a row: the key, and the first line while it is alone; its items have gone out once it is not.
    row: Option<Row>,
    /// Scattered: the groups in the order of their first lines.
    groups: Vec<Lines>,
    places: HashMap<Vec<u8>, usize>,
    /// The group of the last line.
    last: Option<usize>,
    held: usize,
    limit: usize,
    item: Vec<u8>,
    key: Vec<u8>,
}

struct Row {
    key: Vec<u8>,
    first: Option<Member>,
    /// Items are shorter than their lines; decided with the second line.
    grouped: bool,
}

impl Group {
    pub(super) fn new(grouping: Arc<Grouping>, limit: usize) -> Self {
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

    /// The key and the item of a line, if it has them.
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

    fn in_a_row(&mut self, line: Entry<'_>, next: Pass<'_>) {
        let Self { row, key, item, .. } = self;
        let end = line.end;
        if let Some(Row { key: open, first, grouped }) = row
            && open == key
        {
            if let Some(first) = first.take() {
                let before = first.line.text.len() + line.text.len() + end.bytes().len();
                let after = key.len() + 1 + first.item.len() + item.len() + INDENT.len();
                *grouped = after + 2 * end.bytes().len() < before + end.bytes().len();
                if *grouped {
                    let heading = [key.as_slice(), b":"].concat();
                    next(Entry::heading(&heading, first.line.end));
                    next(first.item());
                } else {
                    next(first.line.entry());
                }
            }
            // Beside its heading, an item has to be shorter than its line.
            if *grouped && INDENT.len() + item.len() <= line.text.len() {
                next(Member::new(line, item).item());
            } else {
                next(line);
                // An item would stand under another line now.
                *grouped = false;
            }
            return;
        }
        self.flush(next);
        let first = Some(Member::new(line, &self.item));
        self.row = Some(Row { key: self.key.clone(), first, grouped: false });
    }

    fn scattered(&mut self, line: Entry<'_>, next: Pass<'_>) {
        if line.end == End::Missing {
            // It is the last of the text, and stays so.
            self.flush(next);
            return next(line);
        }
        let size = line.text.len() + self.item.len() + self.key.len() + COST;
        if self.held + size > self.limit {
            // What is held goes, and grouping begins anew.
            self.flush(next);
        }
        self.held += size;
        let Self { groups, places, key, item, .. } = self;
        let place = match places.get(key.as_slice()) {
            Some(place) => *place,
            None => {
                places.insert(key.clone(), groups.len());
                groups.push(Lines { key: key.clone(), ..Lines::default() });
                groups.len() - 1
            }
        };
        if let Some(lines) = groups.get_mut(place) {
            lines.push(Member::new(line, item));
        }
        self.last = Some(place);
    }

    /// The last line that is held, out of its group.
    fn take_last(&mut self) -> Option<Member> {
        let lines = self.groups.get_mut(self.last.take()?)?;
        let last = lines.lines.pop()?;
        lines.raw_bytes -= last.line.text.len();
        lines.item_bytes -= last.item.len();
        Some(last)
    }

    /// Hands on the groups.
    fn flush_groups(&mut self, next: Pass<'_>) {
        self.places = HashMap::new();
        self.last = None;
        self.held = 0;
        for group in std::mem::take(&mut self.groups) {
            let shorter = group.is_shorter();
            if shorter && let Some(first) = group.lines.first() {
                let text = [group.key.as_slice(), b":"].concat();
                next(Entry::heading(&text, first.line.end));
            }
            for member in &group.lines {
                next(if shorter { member.item() } else { member.line.entry() });
            }
        }
    }
}

impl EntryStage for Group {
    fn entry(&mut self, line: Entry<'_>, next: Pass<'_>) {
        let is_member = self.read(line.text);
        match (is_member, self.grouping.scattered) {
            (true, true) => self.scattered(line, next),
            (true, false) => self.in_a_row(line, next),
            // What stands between is about the lines before it; if it is indented, about the last of them.
            (false, _) => {
                let goes_on = line.text.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
                let last = if goes_on { self.take_last() } else { None };
                self.flush(next);
                if let Some(Member { line, .. }) = last {
                    next(line.entry());
                }
                next(line);
            }
        }
    }

    fn flush(&mut self, next: Pass<'_>) {
        if let Some(Row { first: Some(first), .. }) = self.row.take() {
            next(first.line.entry());
        }
        self.flush_groups(next);
    }

    /// A row whose heading is written goes on.
    fn release(&mut self, next: Pass<'_>) {
        if let Some(Row { first: Some(_), .. }) = &self.row {
            self.flush(next);
        }
        self.flush_groups(next);
    }
}
