//! What patterns may compile to, all of one spec or one file together.
//!
//! Knows no pattern: whoever compiles one charges what it took, also where that failed. So memory and work for a file do not
//! grow with the number of its patterns. Nothing is global: a file that is read has one, and hands it on.

/// Bytes that patterns of one spec or one file may still compile to.
#[derive(Debug)]
#[cfg_attr(not(feature = "text"), allow(dead_code, reason = "text alone has patterns"))]
pub(crate) struct Allowance {
    left: usize,
    is_spent: bool,
}

#[cfg_attr(not(feature = "text"), allow(dead_code, reason = "text alone has patterns"))]
impl Allowance {
    /// Room for two lists that are as big as one may be, as a spec has, and what reading them takes. What it admits compiles in
    /// about two seconds where nothing is optimised. What comes with tamis takes less than a quarter (tested).
    pub(crate) const BYTES: usize = 24 << 20;

    pub(crate) fn new() -> Self {
        Self { left: Self::BYTES, is_spent: false }
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: usize) -> Self {
        Self { left: bytes, is_spent: false }
    }

    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Whether more was asked for than was left: then nothing is to be compiled any more.
    #[cfg_attr(
        not(any(feature = "manifest", feature = "command")),
        allow(dead_code, reason = "files alone go on behind an error")
    )]
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Charges so many bytes. `false`: they are more than were left, and it is spent.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        self.is_spent |= bytes > self.left;
        self.left = self.left.saturating_sub(bytes);
        !self.is_spent
    }

    /// Nothing is left.
    pub(crate) fn spend(&mut self) {
        *self = Self { left: 0, is_spent: true };
    }
}
