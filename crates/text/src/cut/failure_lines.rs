//! [`failure_lines`]: the failures in a text that is cut by others, in the order in which the cut keeps them.

use memchr::memchr;

use super::choose::SHORTEST_SHAPE;
use super::fixed::CONTEXT;
use super::kind::TextKind;
use super::profile::Profile;
use super::shapes::FailureRanks;
use crate::failures;
use crate::words::{Query, Words};

/// The lines of a text that report failures, and what belongs to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailureLines {
    /// The numbers of the lines, counted from 0, the most important first: different failures, then the indented lines after
    /// each, then failures that are equal to others.
    pub lines: Vec<u32>,
    /// The most that they take of the room, in thousandths.
    pub part: u64,
}

/// Finds the failures in a text of a kind in which they come first. Other kinds have no lines.
#[must_use]
pub fn failure_lines(text: &[u8]) -> FailureLines {
    let part = Profile::of(TextKind::of(text), false).failures;
    if part == 0 {
        return FailureLines::default();
    }
    let count = memchr::memchr_iter(b'\n', text).count() + 1;
    let mut ranks = FailureRanks::new(count);
    let mut words = Words::new(text.len());
    let has_escapes = memchr(0x1b, text).is_some();
    let (mut different, mut context, mut equal) = (Vec::new(), Vec::new(), Vec::new());
    let query = Query::default();
    // How many of the next lines may belong to a failure.
    let mut after = 0;
    for (number, line) in (0u32..).zip(text.split(|byte| *byte == b'\n')) {
        let shape = words.add(number + 1, line, &query, true);
        let may_fail = has_escapes || shape.may_fail || failures::may_begin_failure(line);
        if may_fail && failures::is_failure(line.trim_ascii_end()) {
            let is_shape = shape.template_bytes >= SHORTEST_SHAPE;
            let rank = ranks.rank(if is_shape { shape.template | 1 } else { 0 }, line);
            after = if rank < 2 { CONTEXT } else { 0 };
            if rank < 2 {
                different.push((rank, number))
            } else {
                equal.push(number)
            }
            continue;
        }
        let is_indented = line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        let is_context = after > 0 && is_indented && !line.trim_ascii().is_empty();
        after = if is_context { after - 1 } else { 0 };
        if is_context {
            context.push(number);
        }
    }
    // The first of each shape, in order, then the others.
    different.sort_by_key(|(rank, _)| *rank);
    let mut lines: Vec<u32> = different.into_iter().map(|(_, number)| number).collect();
    lines.append(&mut context);
    lines.append(&mut equal);
    FailureLines { lines, part }
}

#[cfg(test)]
mod tests {
    use super::failure_lines;

    #[test]
    fn different_failures_come_first() {
        let mut log: Vec<String> =
            (0..40).map(|line| format!("2026-01-01 10:00:{line:02} INFO step {line}")).collect();
        for at in [3, 5, 7] {
            log[at] = "2026-01-01 10:00:03 ERROR retry failed".to_owned();
        }
        log[20] = "2026-01-01 10:00:20 ERROR disk full".to_owned();
        log[21] = "    at write".to_owned();
        let found = failure_lines(log.join("\n").as_bytes());
        assert_eq!((found.lines, found.part), (vec![3, 20, 21, 5, 7], 625));
    }

    #[test]
    fn code_and_prose_have_none() {
        for text in [
            "fn a() {\n    error();\n}\n".repeat(9),
            "# Errors\n\nAn error may be fatal.\n\n- one\n- two\n".repeat(9),
        ] {
            assert!(failure_lines(text.as_bytes()).lines.is_empty(), "{text}");
        }
    }
}
