//! [`CutSize`]: sizes of parts of a text, in lines and in bytes.

use tamis_json::tokens::{CountTokens, TokenCounter};

/// The unit in which `bytes` of a [`CutSize`] are counted.
#[derive(Clone, Copy, Debug, Default)]
pub enum CutUnit {
    /// Bytes.
    #[default]
    Bytes,
    /// Tokens of a vocabulary, four bytes each.
    Tokens(&'static dyn CountTokens),
}

impl CutUnit {
    /// Returns the size of a part of a text.
    #[must_use]
    pub fn of(self, text: &[u8]) -> u64 {
        match self {
            Self::Bytes => text.len() as u64,
            Self::Tokens(vocabulary) => {
                let mut counter = TokenCounter::new(vocabulary);
                counter.push(text);
                counter.finish().saturating_mul(4)
            }
        }
    }

    /// Returns the sum of the sizes of the lines of a text.
    #[must_use]
    pub fn of_lines(self, text: &[u8]) -> u64 {
        match self {
            Self::Bytes => text.len() as u64,
            Self::Tokens(_) => {
                text.split_inclusive(|byte| *byte == b'\n').map(|line| self.of(line)).sum()
            }
        }
    }
}

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
