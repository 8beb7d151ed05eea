//! The tokens that an API reports for a request.

use std::ops::{AddAssign, SubAssign};

use serde::Serialize;

/// The tokens of one request, or of several. No token is counted twice: the input has neither written nor read ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens of the prompt that the cache neither had nor keeps.
    pub input: u64,
    /// Tokens of the prompt that were written to the cache.
    pub cache_write: u64,
    /// Tokens of the prompt that the cache had.
    pub cache_read: u64,
    /// Tokens that the model wrote, with its reasoning.
    pub output: u64,
}

impl Usage {
    /// Returns the tokens of the prompt.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_write).saturating_add(self.cache_read)
    }

    /// Returns whether nothing was reported.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.output = self.output.saturating_add(other.output);
    }
}

impl SubAssign for Usage {
    fn sub_assign(&mut self, other: Self) {
        self.input = self.input.saturating_sub(other.input);
        self.cache_write = self.cache_write.saturating_sub(other.cache_write);
        self.cache_read = self.cache_read.saturating_sub(other.cache_read);
        self.output = self.output.saturating_sub(other.output);
    }
}
