//! Failures in long strings, such as the log in the response of a shell: they are kept before anything else, as in a text,
//! with both ends of the string.

use tamis_json::test_work::{WorkKind, count, words};
#[cfg(feature = "text")]
use tamis_text::cut::failure_lines;

use super::document::{Entry, EntryKind, ValueList, fact};

/// A string with fewer bytes, or fewer lines, is not a log.
const SHORTEST: u64 = 1000;
const FEWEST: usize = 5;
/// The bytes of the gap before a segment.
const GAP: u64 = 3;

/// Without the feature `text`, the words of failures are not known.
#[cfg(not(feature = "text"))]
fn failure_lines(_: &[u8]) -> NoFailures {
    NoFailures::default()
}

#[cfg(not(feature = "text"))]
#[derive(Default)]
struct NoFailures {
    lines: Vec<u32>,
    part: u64,
}

/// Marks the segments with failures. In each string they take a part of its share of the room. Returns whether there are any.
pub(super) fn mark(list: &mut ValueList, room: u64) -> bool {
    let ValueList { text, entries, long_bytes, .. } = list;
    let long = u128::from(*long_bytes).max(1);
    let mut lines = Lines::default();
    let (mut at, mut any) = (0, false);
    while let Some(entry) = entries.get(at).copied() {
        let next = (entry.next as usize).max(at + 1);
        if entry.kind != EntryKind::Text || entry.bytes() < SHORTEST {
            at += 1;
            continue;
        }
        let content = entry.value as usize + 1..(entry.end as usize).saturating_sub(1);
        lines.read(text.get(content.clone()).unwrap_or_default(), content.start);
        if lines.starts.len() >= FEWEST {
            let found = failure_lines(&lines.text);
            let share = u128::from(room) * u128::from(entry.bytes()) / long;
            let most = share * u128::from(found.part) / 1000;
            let mut most = u64::try_from(most).unwrap_or(u64::MAX);
            let segments = entries.get_mut(at + 1..next).unwrap_or_default();
            // As in a text, the first and the last lines come with them, unless they take more than half of the part.
            any |= !found.lines.is_empty();
            if !found.lines.is_empty() {
                let ends = segments.iter().filter(|segment| segment.has(fact::END));
                let size: u64 = ends.map(|segment| segment.bytes() + GAP).sum();
                if size <= most / 2 {
                    most -= size;
                    let ends = segments.iter_mut().filter(|segment| segment.has(fact::END));
                    ends.for_each(|segment| segment.facts |= fact::FAILURE);
                }
            }
            for line in found.lines {
                let ends = lines.ends(line as usize, content.end);
                mark_line(segments, ends, &mut most);
            }
        }
        at = next;
    }
    any
}

/// Marks the segments with a line, if there is room for all of them.
fn mark_line(segments: &mut [Entry], (start, end): (u32, u32), most: &mut u64) {
    let from = segments.partition_point(|segment| segment.end <= start);
    let to = segments.partition_point(|segment| segment.start < end);
    let Some(segments) = segments.get_mut(from..to) else { return };
    count(WorkKind::Tail, 1 + segments.len());
    let new = segments.iter().filter(|segment| !segment.has(fact::FAILURE));
    let Some(left) = most.checked_sub(new.map(|segment| segment.bytes() + GAP).sum()) else {
        return;
    };
    *most = left;
    for segment in segments {
        segment.facts |= fact::FAILURE;
    }
}

/// The lines of a string, without escapes.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// Where each begins in the document.
    starts: Vec<u32>,
}

impl Lines {
    /// Reads the content of a string, which begins at an offset of the document.
    fn read(&mut self, content: &[u8], offset: usize) {
        self.text.clear();
        self.starts.clear();
        let (mut from, mut at) = (0, 0);
        loop {
            let rest = content.get(at..).unwrap_or_default();
            let escape = memchr::memchr(b'\\', rest).map(|found| at + found);
            let (is_end, next) = match escape.and_then(|at| content.get(at + 1..)) {
                None => (true, content.len()),
                Some([b'n', ..]) => (true, 2),
                Some([b'u', b'0', b'0', b'0', b'a' | b'A', ..]) => (true, 6),
                Some(_) => (false, 2),
            };
            let end = escape.unwrap_or(content.len());
            count(WorkKind::Tail, 1 + words(end.saturating_sub(at)));
            at = escape.map_or(next, |escape| escape + next);
            if !is_end {
                continue;
            }
            self.starts.push((offset + from) as u32);
            let line = content.get(from..end).unwrap_or_default();
            if memchr::memchr(b'\\', line).is_some() {
                self.text.extend_from_slice(&tamis_json::key::unescape_any(line).0);
            } else {
                self.text.extend_from_slice(line);
            }
            if escape.is_none() {
                return;
            }
            self.text.push(b'\n');
            from = at;
        }
    }

    /// Returns where a line begins, and where the next one does. `end`: where the string ends.
    fn ends(&self, line: usize, end: usize) -> (u32, u32) {
        let of = |line: usize| self.starts.get(line).copied().unwrap_or(end as u32);
        (of(line), of(line + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_are_found_in_every_spelling() {
        let mut lines = Lines::default();
        lines.read(br#"a\\n\nb\u000ac\t\"d\r\n"#, 10);
        assert_eq!(lines.text, b"a\\n\nb\nc\t\"d\r\n");
        assert_eq!(lines.starts, [10, 16, 23, 33]);
        assert_eq!((lines.ends(1, 33), lines.ends(3, 33)), ((16, 23), (33, 33)));
    }
}
