//! The size of a text, in bytes or tokens.

use crate::sink::Sink;
use crate::spec::Budget;
#[cfg(feature = "tokens")]
use crate::tokens::TokenCounter;

/// The number of bytes processed at once.
pub(super) const PIECE: usize = 64 << 10;
/// The estimated number of bytes of a token, if tokens are not counted.
#[cfg(not(feature = "tokens"))]
pub(super) const BYTES_PER_TOKEN: u64 = 4;

/// The size of a text, in the unit of its budget.
#[derive(Debug)]
pub(super) struct OutputSize {
    pub(super) bytes: u64,
    /// Counts the tokens. `counted`: the result.
    #[cfg(feature = "tokens")]
    counter: Option<TokenCounter>,
    #[cfg(feature = "tokens")]
    pub(super) counted: Option<u64>,
}

impl OutputSize {
    pub(super) fn new(budget: Option<Budget>) -> Self {
        #[cfg(not(feature = "tokens"))]
        let _ = budget;
        Self {
            bytes: 0,
            #[cfg(feature = "tokens")]
            counter: matches!(budget, Some(Budget::Tokens(_))).then(TokenCounter::default),
            #[cfg(feature = "tokens")]
            counted: None,
        }
    }

    /// Finishes the text.
    #[cfg_attr(not(feature = "tokens"), expect(clippy::unused_self, reason = "bytes are counted"))]
    pub(super) fn end(&mut self) {
        #[cfg(feature = "tokens")]
        {
            self.counted = self.counter.as_mut().map(TokenCounter::finish);
        }
    }

    /// Returns whether the text exceeds its budget.
    #[cfg(feature = "template")]
    pub(super) fn exceeds(&self, budget: Budget) -> bool {
        match budget {
            Budget::Bytes(limit) => self.bytes > limit,
            #[cfg(feature = "tokens")]
            Budget::Tokens(limit) => self.counted.is_some_and(|tokens| tokens > limit),
            #[cfg(not(feature = "tokens"))]
            Budget::Tokens(limit) => self.bytes.div_ceil(BYTES_PER_TOKEN) > limit,
        }
    }
}

impl Sink for OutputSize {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        #[cfg(feature = "tokens")]
        if let Some(counter) = &mut self.counter {
            counter.push(bytes);
        }
    }
}
