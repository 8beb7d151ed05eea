//! Replaces the first match of each pattern in a line, if that makes the line shorter.
//!
//! Only one match per pattern is replaced, so that the work is linear in the line.

use std::sync::Arc;

use regex::bytes::Regex;

use super::entry_stage::{EmitEntry, EntryStage, LineEntry};

#[derive(Debug)]
pub(super) struct CompiledReplacement {
    pub(super) pattern: Regex,
    /// May refer to groups of the pattern as `$1` and `${name}`.
    pub(super) with: Vec<u8>,
}

pub(super) struct ReplaceStage {
    list: Arc<[CompiledReplacement]>,
    line: Vec<u8>,
    other: Vec<u8>,
}

impl ReplaceStage {
    pub(super) fn new(list: Arc<[CompiledReplacement]>) -> Self {
        Self { list, line: Vec::new(), other: Vec::new() }
    }
}

impl EntryStage for ReplaceStage {
    fn entry(&mut self, entry: LineEntry<'_>, next: EmitEntry<'_>) {
        let Self { list, line: now, other } = self;
        let mut changed = false;
        for CompiledReplacement { pattern, with } in list.iter() {
            let text = if changed { now.as_slice() } else { entry.text };
            // Cheaper than extracting groups, and most lines do not match.
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
        next(if changed {
            LineEntry { text: now, shortened: entry.lines, ..entry }
        } else {
            entry
        });
    }

    fn flush(&mut self, _: EmitEntry<'_>) {}
}
