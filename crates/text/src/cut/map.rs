//! [`UnitMap`]: the units of a text, with sums, so that any range of them is measured at once.

use super::size::{CutSize, CutUnit};
use super::units::{EarlierGap, Unit};
use crate::notice;

/// Sums over the units before one.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Bytes of the text, earlier gaps included.
    bytes: u64,
    /// Lines that begin, earlier gaps included.
    lines: u64,
    /// The size as the limit counts it, without earlier gaps.
    cost: CutSize,
    /// Earlier gaps, and those that begin or end within a line.
    gaps: u32,
    splits: u32,
}

/// The units of a text.
pub(super) struct UnitMap {
    units: Vec<Unit>,
    sums: Vec<Sums>,
    unit: CutUnit,
}

/// Units that follow each other and are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// How many lines begin in it, and how many bytes it has.
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Whether it begins or ends within a line.
    pub(super) splits_line: bool,
    /// Whether a part of it was given up for lack of room: it stays a gap.
    pub(super) is_final: bool,
}

impl UnitMap {
    pub(super) fn new(units: Vec<Unit>, earlier: &[EarlierGap], unit: CutUnit) -> Self {
        let mut sums = Vec::with_capacity(units.len() + 1);
        let mut sum = Sums::default();
        sums.push(sum);
        for unit in &units {
            match unit.earlier(earlier) {
                Some(gap) => {
                    sum.bytes += gap.size.bytes;
                    sum.lines += gap.size.lines;
                    sum.gaps += 1;
                    sum.splits += u32::from(gap.splits_line);
                }
                None => {
                    sum.bytes += u64::from(unit.len);
                    sum.lines += u64::from(unit.begins_line);
                    sum.cost = sum.cost.plus(unit.cost());
                }
            }
            sums.push(sum);
        }
        Self { units, sums, unit }
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) fn units(&self) -> &[Unit] {
        &self.units
    }

    pub(super) fn get(&self, at: usize) -> Option<&Unit> {
        self.units.get(at)
    }

    fn sums(&self, at: usize) -> Sums {
        self.sums.get(at).copied().unwrap_or_default()
    }

    /// Returns the size of the units from `from` to before `to` in an output. After a gap, the rest of a line is a line.
    pub(super) fn cost(&self, from: usize, to: usize) -> CutSize {
        let cost = self.sums(to).cost.minus(self.sums(from).cost);
        let continues = self.get(from).is_some_and(|unit| !unit.begins_line) && from > 0;
        CutSize { lines: cost.lines + u64::from(continues), ..cost }
    }

    /// Returns the gap of the units from `from` to before `to`. `None`: the range is empty.
    pub(super) fn gap(&self, from: usize, to: usize) -> Option<Gap> {
        let (first, last) = (self.get(from)?, self.get(to.checked_sub(1)?)?);
        if from >= to {
            return None;
        }
        let (before, after) = (self.sums(from), self.sums(to));
        let splits_line = after.splits > before.splits
            || !first.is_gap() && !first.begins_line
            || !last.is_gap() && !last.ends_line;
        Some(Gap {
            lines: after.lines - before.lines,
            bytes: after.bytes - before.bytes,
            splits_line,
            is_final: after.gaps > before.gaps,
        })
    }

    /// Returns the size of the line that reports a gap, in the unit of the limit.
    pub(super) fn mark_size(&self, gap: &Gap) -> CutSize {
        match self.unit {
            CutUnit::Bytes => gap.mark_size(),
            // At most: `[...`, ` `, digits, ` bytes`, ` left`, ` out`, `]`, and two line ends.
            CutUnit::Tokens(_) => {
                CutSize { lines: 1, bytes: 4 * (8 + digits(gap.bytes).div_ceil(3)) }
            }
        }
    }

    /// Returns the number of lines that begin before a unit, and the number of bytes before it.
    pub(super) fn before(&self, at: usize) -> (u64, u64) {
        let sums = self.sums(at);
        (sums.lines, sums.bytes)
    }
}

impl Gap {
    /// Returns the line that reports the gap.
    pub(super) fn mark(&self) -> String {
        match self.splits_line {
            true => notice::text_left_out("", self.bytes, "byte"),
            false => notice::lines_left_out(self.lines),
        }
    }

    /// Returns the size of that line, with its line end, and with one before it that ends a part of a line.
    pub(super) fn mark_size(&self) -> CutSize {
        let bytes = match self.splits_line {
            true => 23 + digits(self.bytes),
            false => 20 + digits(self.lines),
        };
        CutSize { lines: 1, bytes }
    }
}

fn digits(number: u64) -> u64 {
    u64::from(number.max(1).ilog10()) + 1
}

#[cfg(test)]
mod tests {
    use super::Gap;

    #[test]
    fn marks_are_not_longer_than_their_size() {
        for (lines, splits_line) in [(1, false), (12, false), (12_345, false), (99, true)] {
            let gap = Gap { lines, bytes: lines, splits_line, is_final: false };
            let size = gap.mark_size().bytes as usize;
            assert!((size - 2..=size).contains(&(gap.mark().len() + 1)), "{}", gap.mark());
        }
    }
}
