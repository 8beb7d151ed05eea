//! [`Layout`]: a choice of parts as a document: its size, and its text.
//!
//! Both are made by the same pass over the entries. A container that would not become shorter by its mark is written whole.

use std::fmt::Write as _;

use tamis_json::sink::Sink;
use tamis_json::test_work::{WorkKind, count, words};

use super::super::omission::{MarkNames, Omission, element};
use super::document::{Entry, EntryKind, ValueList, fact};
use super::ranking::Ranking;
use crate::report::{BudgetCuts, CutPlace, CutPlaceUnit};

/// The text in place of what is left out of a string.
const GAP: &[u8] = b"...";

/// Facts about the payload that the document does not show.
#[derive(Clone, Copy, Debug)]
pub(super) struct PayloadFacts {
    /// Whether a mark says how many of its items are left out.
    pub(super) has_mark: bool,
    /// Whether it says so if `max_items` left them out.
    pub(super) marks_earlier: bool,
    /// The number of items of the response, and whether there are more.
    pub(super) of: u64,
    pub(super) more: bool,
}

/// Facts about a document that was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// The number of items of the payload, if it is an array.
    pub(super) items: Option<u64>,
    /// The text of the payload's mark.
    pub(super) mark: Option<String>,
    /// The place of the payload: the index of the child in each container on the path.
    pub(super) steps: Vec<u64>,
    pub(super) cuts: BudgetCuts,
    /// The entry with the most bytes left out, with these bytes, how much of it is shown, and what is left out.
    largest: Option<LargestCut>,
}

#[derive(Clone, Copy, Debug)]
struct LargestCut {
    number: u32,
    bytes: u64,
    shown: u64,
    gap: (u64, u64),
}

/// Lays out choices of one document.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) list: &'a ValueList,
    pub(super) ranking: Ranking,
    pub(super) has_marks: bool,
    pub(super) payload: PayloadFacts,
    /// The choice for which each container is written whole, although parts of it are not in the choice.
    whole_for: Vec<u32>,
    open: Vec<OpenEntry>,
}

/// A container or long string of which a part is written.
#[derive(Debug)]
struct OpenEntry {
    number: u32,
    size: u64,
    /// The number of children that are written.
    kept: u64,
    names: MarkNames,
    ranges: Ranges,
    /// The end of the last segment.
    text_end: u32,
    /// The first and the last child, or byte of the document, that is left out. Others between them may be written.
    gap: Option<(u64, u64)>,
    /// The mark of the payload in it.
    payload_mark: Option<String>,
}

impl OpenEntry {
    /// Adds the children, or bytes, of a gap after all others.
    fn leave_out(&mut self, first: u64, last: u64) {
        self.gap = Some((self.gap.map_or(first, |(first, _)| first), last));
    }
}

/// The numbers of the children that are kept, as `0-1,80,160`.
#[derive(Debug, Default)]
struct Ranges {
    text: String,
    from: u64,
    to: u64,
}

impl Ranges {
    fn add(&mut self, first: u64, count: u64) {
        if first == self.to {
            self.to += count;
            return;
        }
        self.end();
        (self.from, self.to) = (first, first + count);
    }

    fn end(&mut self) {
        let Self { text, from, to } = self;
        let (from, to) = (*from, *to);
        if from == to {
            return;
        }
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        _ = match to - from {
            1 => write!(text, "{comma}{from}"),
            _ => write!(text, "{comma}{from}-{}", to - 1),
        };
    }

    /// Returns the text, unless the children are the first ones.
    fn finish(&mut self) -> Option<&str> {
        if self.text.is_empty() && self.from == 0 {
            return None;
        }
        self.end();
        Some(&self.text)
    }
}

/// Receives a choice. Only its size is needed while choices are compared.
enum Output<'a> {
    Measure,
    Write(&'a mut dyn Sink),
}

impl Output<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if let Self::Write(sink) = self {
            count(WorkKind::Tail, words(bytes.len()));
            sink.write(bytes);
        }
    }
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        list: &'a ValueList,
        ranking: Ranking,
        has_marks: bool,
        payload: PayloadFacts,
    ) -> Self {
        let whole_for = vec![u32::MAX; list.entries.len()];
        Self { list, ranking, has_marks, payload, whole_for, open: Vec::new() }
    }

    /// Returns the size of the document with the first `parts`.
    pub(super) fn size(&mut self, parts: u32) -> u64 {
        self.pass(parts, &mut Output::Measure, &mut Shown::default())
    }

    /// Writes the document with the first `parts`.
    pub(super) fn write(&mut self, parts: u32, sink: &mut dyn Sink) -> Shown {
        // Which containers are whole.
        self.size(parts);
        let mut shown = Shown::default();
        self.pass(parts, &mut Output::Write(sink), &mut shown);
        shown.cuts.largest = shown.largest.and_then(|largest| self.place(largest, parts));
        shown.cuts.kept = self.ranking.reasons(self.list, parts);
        shown
    }

    fn pass(&mut self, parts: u32, out: &mut Output<'_>, shown: &mut Shown) -> u64 {
        let mut at = 0;
        let mut total = 0;
        loop {
            while let Some(open) = self.open.last()
                && self.list.entry(open.number).is_none_or(|entry| entry.next <= at)
            {
                total = self.close(parts, out, shown);
            }
            let Some(entry) = self.list.entry(at).copied() else { return total };
            count(WorkKind::Tail, 1);
            let next = entry.next.max(at + 1);
            if !self.ranking.is_shown(at, parts) {
                at = next;
                continue;
            }
            self.begin_child(&entry, out);
            let is_written_whole =
                matches!(out, Output::Write(_)) && self.whole_for.get(at as usize) == Some(&parts);
            if self.ranking.is_whole(at, parts) || is_written_whole {
                total = self.whole(at, &entry, out, shown);
                at = next;
            } else {
                self.enter(at, &entry, out, shown);
                at += 1;
            }
        }
    }

    /// Begins a child of the innermost container: writes its comma, or the gap before a segment.
    fn begin_child(&mut self, entry: &Entry, out: &mut Output<'_>) {
        let Some(open) = self.open.last_mut() else { return };
        if entry.kind == EntryKind::Segment {
            if entry.start > open.text_end {
                open.size += GAP.len() as u64;
                out.write(GAP);
                open.leave_out(u64::from(open.text_end), u64::from(entry.start) - 1);
            }
            open.text_end = entry.end;
        } else {
            if open.kept > 0 {
                open.size += 1;
                out.write(b",");
            }
            self.list.add_names(entry, &mut open.names);
            let first = u64::from(entry.first);
            if first > open.ranges.to {
                open.leave_out(open.ranges.to, first - 1);
            }
            open.ranges.add(first, u64::from(entry.count));
        }
    }

    /// Adds to the innermost container what a complete child has. Returns the size of the document, if it is that.
    fn end_child(&mut self, count: u64, size: u64) -> u64 {
        match self.open.last_mut() {
            Some(open) => {
                open.kept += count;
                open.size += size;
                0
            }
            None => size,
        }
    }

    /// Writes an entry as it is.
    fn whole(&mut self, at: u32, entry: &Entry, out: &mut Output<'_>, shown: &mut Shown) -> u64 {
        out.write(self.list.spelled(entry));
        if let Some(payload) = self.list.payload.filter(|_| entry.has(fact::ON_PATH)) {
            self.add_step(entry, shown);
            // The containers in it that lead to the payload.
            count(WorkKind::Tail, payload.saturating_sub(at) as usize);
            let inside = (at + 1..=payload).filter_map(|at| self.list.entry(at));
            let inside = inside.filter(|entry| entry.has(fact::ON_PATH));
            shown.steps.extend(inside.map(|entry| u64::from(entry.first)));
            if let Some(payload) = self.list.entry(payload) {
                shown.items = Some(u64::from(payload.children));
            }
        }
        self.end_child(u64::from(entry.count), entry.bytes())
    }

    /// Adds the place of a container on the path.
    fn add_step(&self, entry: &Entry, shown: &mut Shown) {
        if let Some(open) = self.open.last().filter(|_| entry.has(fact::ON_PATH)) {
            shown.steps.push(open.kept);
        }
    }

    /// Begins an entry of which a part is written.
    fn enter(&mut self, number: u32, entry: &Entry, out: &mut Output<'_>, shown: &mut Shown) {
        self.add_step(entry, shown);
        let begin = self.list.text.get(entry.start as usize..entry.value as usize + 1);
        let begin = begin.unwrap_or_default();
        out.write(begin);
        self.open.push(OpenEntry {
            number,
            size: begin.len() as u64,
            kept: 0,
            names: MarkNames::default(),
            ranges: Ranges::default(),
            text_end: entry.value + 1,
            gap: None,
            payload_mark: None,
        });
    }

    /// Ends the innermost entry. Returns the size of the document, if it is that.
    fn close(&mut self, parts: u32, out: &mut Output<'_>, shown: &mut Shown) -> u64 {
        let Some(mut open) = self.open.pop() else { return 0 };
        let Some(entry) = self.list.entry(open.number).copied() else { return 0 };
        let mut end = Vec::new();
        let closing = match entry.kind {
            EntryKind::Object => b'}',
            EntryKind::Array => b']',
            _ => b'"',
        };
        if entry.kind == EntryKind::Text {
            if open.text_end + 1 < entry.end {
                end.extend_from_slice(GAP);
            }
        } else {
            self.end_container(&entry, &mut open, &mut end, shown);
        }
        end.push(closing);
        out.write(&end);
        let size = open.size + end.len() as u64;
        let is_forced = entry.has(fact::ON_PATH) && self.payload.marks_earlier;
        if size >= entry.bytes() && !is_forced && matches!(out, Output::Measure) {
            if let Some(whole_for) = self.whole_for.get_mut(open.number as usize) {
                *whole_for = parts;
            }
            if entry.has(fact::PAYLOAD)
                && let Some(outer) = self.open.last_mut()
            {
                outer.payload_mark = None;
            }
            return self.end_child(1, entry.bytes());
        }
        if matches!(out, Output::Write(_)) {
            self.count(&entry, &mut open, size, shown);
        }
        self.end_child(1, size)
    }

    /// Counts what is left out of an entry.
    fn count(&self, entry: &Entry, open: &mut OpenEntry, size: u64, shown: &mut Shown) {
        let (from, end) = match entry.kind {
            EntryKind::Text => (u64::from(open.text_end), u64::from(entry.end) - 1),
            _ => (open.ranges.to, u64::from(entry.children)),
        };
        if from < end {
            open.leave_out(from, end - 1);
        }
        let missing = u64::from(entry.children).saturating_sub(open.kept);
        match entry.kind {
            EntryKind::Text => shown.cuts.strings += u64::from(open.gap.is_some()),
            EntryKind::Object => shown.cuts.members += missing,
            _ => shown.cuts.items += missing,
        }
        let bytes = entry.bytes().saturating_sub(size);
        if let Some(gap) = open.gap
            && shown.largest.is_none_or(|largest| largest.bytes < bytes)
        {
            shown.largest = Some(LargestCut { number: open.number, bytes, shown: open.kept, gap });
        }
    }

    /// Describes the place of the largest cut.
    fn place(&self, largest: LargestCut, parts: u32) -> Option<CutPlace> {
        let entry = self.list.entry(largest.number)?;
        let pointer = self.list.pointer(largest.number);
        let LargestCut { mut shown, mut gap, .. } = largest;
        let mut of = u64::from(entry.children);
        let unit = match entry.kind {
            EntryKind::Object => CutPlaceUnit::Members,
            EntryKind::Array => CutPlaceUnit::Items,
            _ => {
                // In bytes of the text, as its reader counts.
                let length = |from: u64, to: u64| self.list.unescaped_bytes(from, to);
                let (start, end) = (u64::from(entry.value) + 1, u64::from(entry.end) - 1);
                of = length(start, end);
                let segments = self.list.children(largest.number, entry);
                let kept = segments.filter(|at| self.ranking.is_shown(*at, parts));
                let kept = kept.filter_map(|at| self.list.entry(at));
                shown = kept.map(|part| length(part.start.into(), part.end.into())).sum();
                gap = (length(start, gap.0), length(start, gap.1 + 1).saturating_sub(1));
                CutPlaceUnit::Bytes
            }
        };
        Some(CutPlace { pointer, unit, shown, of, gap })
    }

    /// Ends a container that is not whole with its marks, the one of the payload first.
    fn end_container(
        &mut self,
        entry: &Entry,
        open: &mut OpenEntry,
        end: &mut Vec<u8>,
        shown: &mut Shown,
    ) {
        let of = u64::from(entry.children);
        let is_object = entry.kind == EntryKind::Object;
        if entry.has(fact::PAYLOAD) {
            shown.items = Some(open.kept);
            let is_cut = open.kept < of || self.payload.marks_earlier;
            if !self.payload.has_mark || !is_cut {
                return;
            }
            let PayloadFacts { of, more, .. } = self.payload;
            let omission = Omission { omitted: of.saturating_sub(open.kept), of, more };
            let body = omission.items_among(open.ranges.finish());
            shown.mark = Some(body.clone());
            match self.open.last_mut() {
                Some(outer)
                    if self
                        .list
                        .entry(outer.number)
                        .is_some_and(|outer| outer.kind == EntryKind::Object) =>
                {
                    outer.payload_mark = Some(body);
                }
                _ => end.extend_from_slice(element(&body, open.kept == 0).as_bytes()),
            }
            return;
        }
        if let Some(body) = &open.payload_mark {
            end.extend_from_slice(open.names.member(body, open.kept == 0).as_bytes());
        }
        if self.has_marks && open.kept < of {
            let omission = Omission { omitted: of - open.kept, of, more: false };
            let is_first = open.kept == 0 && end.is_empty();
            let text = match is_object {
                true => open.names.member(&omission.members(), is_first),
                false => element(&omission.items_among(open.ranges.finish()), is_first),
            };
            end.extend_from_slice(text.as_bytes());
        }
    }
}
