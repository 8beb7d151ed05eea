//! Replacements within a line: the first match of each pattern, where what stands instead makes the line shorter.
//!
//! One match a pattern, so that the work is linear in the line.

use std::sync::Arc;

use super::entry::{Entry, EntryStage, Pass};
use super::more::Pattern;

#[derive(Debug)]
pub(super) struct Replacement {
    pub(super) pattern: Pattern,
    /// `$1` and `${name}` are what groups of the pattern matched.
    pub(super) with: Vec<u8>,
}

pub(super) struct Replace {
    list: Arc<[Replacement]>,
    line: Vec<u8>,
    other: Vec<u8>,
}

impl Replace {
    pub(super) fn new(list: Arc<[Replacement]>) -> Self {
        Self { list, line: Vec::new(), other: Vec::new() }
    }
}

impl EntryStage for Replace {
    fn entry(&mut self, entry: Entry<'_>, next: Pass<'_>) {
        let Self { list, line: now, other } = self;
        let mut changed = false;
        for Replacement { pattern, with } in list.iter() {
            let text = if changed { now.as_slice() } else { entry.text };
            // Cheaper than to ask for the groups of a line that has none.
            if !pattern.is_match(text) {
                continue;
            }
            let Some(groups) = pattern.captures(text) else { continue };
            let Some(all) = groups.get(0) else { continue };
            other.clear();
            other.extend_from_slice(text.get(..all.start()).unwrap_or_default());
            groups.expand(with, other);
            other.extend_from_slice(text.get(all.end()..).unwrap_or_default());
            if other.len() < text.len() {
                std::mem::swap(now, other);
                changed = true;
            }
        }
        next(if changed { Entry { text: now, shortened: entry.lines, ..entry } } else { entry });
    }

    fn flush(&mut self, _: Pass<'_>) {}
}
