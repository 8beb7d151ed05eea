//! The first lines stay, the last ones too if they are wanted, and one line more says how many were left out.
//!
//! Holds the lines that may be among the last, up to a limit; of those beyond it the earlier ones are left out.

use std::collections::VecDeque;

use super::lines::{End, Line};

/// How much is to stay; 0 lines at the head and at the tail are no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Most {
    pub(super) head: u64,
    pub(super) tail: u64,
    /// A text of no more lines stays whole.
    pub(super) uncut: u64,
    /// Bytes that may be held for the tail.
    pub(super) held: usize,
}

#[derive(Debug, Default)]
pub(super) struct Cut {
    most: Most,
    kept: u64,
    left_out: u64,
    /// How the last line ended that was left out: as the one that speaks of it will.
    end: End,
    last: VecDeque<(Vec<u8>, End)>,
    held: usize,
}

/// Bytes that a held line costs beside its text.
const COST: usize = 32;

impl Cut {
    pub(super) fn new(most: Most) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether there is room for a line at the head.
    pub(super) fn keeps(&mut self) -> bool {
        let Most { head, tail, uncut, .. } = self.most;
        // With a tail alone, no line is at the head.
        let keeps = head == 0 && tail == 0 && uncut == 0 || self.kept < head;
        self.kept += u64::from(keeps);
        keeps
    }

    /// A line for which there was no room, and that may be among the last.
    pub(super) fn line(&mut self, line: Line<'_>) {
        let Most { head, tail, uncut, held } = self.most;
        let room = tail.max(uncut.saturating_sub(head));
        if room == 0 {
            self.left_out += 1;
            self.end = line.end;
            return;
        }
        self.held += line.text.len() + COST;
        self.last.push_back((line.text.to_vec(), line.end));
        // Once a line is left out, the text is longer than what stays whole.
        let room = if self.left_out > 0 { tail } else { room };
        if self.last.len() as u64 > room || self.held > held {
            self.shrink(tail);
        }
    }

    /// A line for which there was no room, and that is too long to be held.
    pub(super) fn long(&mut self, end: End) {
        self.left_out += 1;
        self.end = end;
        self.shrink(self.most.tail);
    }

    fn shrink(&mut self, room: u64) {
        while self.last.len() as u64 > room || self.held > self.most.held {
            let Some((text, end)) = self.last.pop_front() else { return };
            self.held -= text.len() + COST;
            self.left_out += 1;
            self.end = end;
        }
    }

    /// The line that says what was left out, if anything was, and how it ends if nothing comes behind it.
    pub(super) fn note(&self, next: impl FnOnce(Line<'_>)) {
        let text = match self.left_out {
            0 => return,
            1 => "... 1 line left out".to_owned(),
            count => format!("... {count} lines left out"),
        };
        // In front of others it needs an end.
        let end = if self.last.is_empty() || self.end != End::Missing { self.end } else { End::Lf };
        next(Line { text: text.as_bytes(), end });
    }

    /// The last lines.
    pub(super) fn last(&mut self, mut next: impl FnMut(Line<'_>)) {
        for (text, end) in std::mem::take(&mut self.last) {
            next(Line { text: &text, end });
        }
        self.held = 0;
    }
}
