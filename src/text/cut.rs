//! The first lines stay, and one more says how many were left out.

use super::lines::{End, Line};

#[derive(Debug, Default)]
pub(super) struct Cut {
    kept: u64,
    left_out: u64,
    /// How the last line ended that was left out: as the one that speaks of it will.
    end: End,
}

impl Cut {
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether there is room for a line; `max` 0 is no limit.
    pub(super) fn keeps(&mut self, max: u64) -> bool {
        let keeps = max == 0 || self.kept < max;
        if keeps {
            self.kept += 1;
        } else {
            self.left_out += 1;
        }
        keeps
    }

    /// A line that was left out ended so.
    pub(super) fn ended(&mut self, end: End) {
        self.end = end;
    }

    /// The line that says what was left out, if anything was.
    pub(super) fn note(&self, next: impl FnOnce(Line<'_>)) {
        let text = match self.left_out {
            0 => return,
            1 => "... 1 line left out".to_owned(),
            count => format!("... {count} lines left out"),
        };
        next(Line { text: text.as_bytes(), end: self.end });
    }
}
