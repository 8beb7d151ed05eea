//! [`CutSize`]: sizes of parts of a text, in lines and in bytes.

/// A number of lines and of bytes. Where tokens are counted, `bytes` is four times their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutSize {
    /// Number of lines.
    pub lines: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl CutSize {
    /// No limit.
    pub const MAX: Self = Self { lines: u64::MAX, bytes: u64::MAX };

    /// Returns the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            lines: self.lines.saturating_add(other.lines),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns what is left of the size. No limit stays none.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let minus = |number: u64, other: u64| {
            if number == u64::MAX { number } else { number.saturating_sub(other) }
        };
        Self { lines: minus(self.lines, other.lines), bytes: minus(self.bytes, other.bytes) }
    }

    /// Returns a part of the size, in thousandths. No limit stays none.
    #[must_use]
    pub fn part(self, thousandths: u64) -> Self {
        let part = |number: u64| {
            if number == u64::MAX {
                return number;
            }
            let part = u128::from(number) * u128::from(thousandths) / 1000;
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        Self { lines: part(self.lines), bytes: part(self.bytes) }
    }

    /// Whether there is room for lines that report gaps. Of two lines, the last one reports everything.
    pub(super) fn has_marks(self) -> bool {
        self.lines > 1
    }

    /// Returns whether both numbers are within those of `room`.
    #[must_use]
    pub fn fits(self, room: Self) -> bool {
        self.lines <= room.lines && self.bytes <= room.bytes
    }
}
