//! [`Profile`]: how the room is divided, by the kind of text.

use super::kind::TextKind;

/// How the room for a text is divided. Parts are in thousandths of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    /// The parts for the first and the last lines.
    pub(super) head: u64,
    pub(super) tail: u64,
    /// The most that failures take, before anything else is chosen.
    pub(super) failures: u64,
    /// Gaps with at most this many bytes are closed.
    pub(super) fill: u64,
    /// Passages with fewer bytes are not worth a gap.
    pub(super) shortest: u64,
    /// The most gaps.
    pub(super) gaps: usize,
    /// Whether lines that repeat a shape are left out before others.
    pub(super) folds: bool,
}

/// Failures of a text that is neither of tests nor a log: they get a part of the room, so that one error among the lines of
/// an unknown program is kept, but the words of code and documents do not crowd out the rest.
const FEW: u64 = 400;
const MOST: u64 = 625;

impl Profile {
    /// `has_failed`: whether the command that printed the text failed.
    pub(super) fn of(kind: TextKind, has_failed: bool) -> Self {
        let code = Self {
            head: 250,
            tail: 200,
            failures: if has_failed { FEW } else { 0 },
            fill: 200,
            shortest: 250,
            gaps: 40,
            folds: false,
        };
        match kind {
            TextKind::Log => Self {
                tail: 125,
                failures: MOST,
                fill: 0,
                shortest: 0,
                gaps: usize::MAX,
                folds: true,
                ..code
            },
            TextKind::Prose => {
                Self { head: 150, tail: 150, fill: 100, shortest: 300, folds: true, ..code }
            }
            TextKind::Listing => Self { head: 100, tail: 100, fill: 60, shortest: 0, ..code },
            TextKind::Json => Self { head: 150, tail: 50, fill: 60, shortest: 0, ..code },
            TextKind::Other => {
                Self { failures: if has_failed { MOST } else { FEW }, folds: true, ..code }
            }
            TextKind::Code | TextKind::Diff | TextKind::Table | TextKind::Snapshot => code,
        }
    }
}
