//! Sizes of parts of an output, in lines and in bytes.

/// A number of lines and of bytes. Where tokens are counted, `bytes` is four times their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CapSize {
    pub(super) lines: u64,
    pub(super) bytes: u64,
}

impl CapSize {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            lines: self.lines.saturating_add(other.lines),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns what is left of the size. No limit stays none.
    pub(super) fn minus(self, other: Self) -> Self {
        let minus = |number: u64, other: u64| {
            if number == u64::MAX { number } else { number.saturating_sub(other) }
        };
        Self { lines: minus(self.lines, other.lines), bytes: minus(self.bytes, other.bytes) }
    }

    /// Returns a part of the size. No limit stays none.
    pub(super) fn part(self, divisor: u64) -> Self {
        let part = |number| if number == u64::MAX { number } else { number / divisor };
        Self { lines: part(self.lines), bytes: part(self.bytes) }
    }

    pub(super) fn at_least(self, other: Self) -> Self {
        Self { lines: self.lines.max(other.lines), bytes: self.bytes.max(other.bytes) }
    }

    pub(super) fn fits(self, room: Self) -> bool {
        self.lines <= room.lines && self.bytes <= room.bytes
    }
}
