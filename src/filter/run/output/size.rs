//! The size of a text, in bytes or tokens.
//!
//! [`OutputSize`] is a sink that only counts. The bytes that pass the budget are also written to it, for the report. A
//! summary is written to it before it is written to the sink, to find out whether it fits.

use tamis_json::sink::Sink;

use crate::spec::Budget;
#[cfg(feature = "tokens")]
use crate::tokens::TokenCounter;

/// The number of bytes processed at once. Bounds the bytes that are held above a budget.
pub(in crate::filter::run) const PIECE: usize = 64 << 10;
/// The estimated number of bytes of a token, if tokens are not counted.
#[cfg(not(feature = "tokens"))]
pub(in crate::filter::run) const BYTES_PER_TOKEN: u64 = 4;

/// The size of a text, in the unit of its budget. Tokens are only counted for a budget in tokens, because counting them
/// takes time.
#[derive(Debug, Default)]
pub(in crate::filter::run) struct OutputSize {
    /// The bytes so far.
    pub(in crate::filter::run) bytes: u64,
    /// Counts the tokens of a text that arrives in parts.
    #[cfg(feature = "tokens")]
    counter: Option<TokenCounter>,
    /// The number of tokens, set by [`end`](Self::end).
    #[cfg(feature = "tokens")]
    pub(in crate::filter::run) counted: Option<u64>,
}

impl OutputSize {
    /// Creates the size of an empty text.
    pub(in crate::filter::run) fn new(budget: Option<Budget>) -> Self {
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

    /// Finishes the text, so that its tokens are known.
    #[cfg_attr(not(feature = "tokens"), expect(clippy::unused_self, reason = "bytes are counted"))]
    pub(in crate::filter::run) fn end(&mut self) {
        #[cfg(feature = "tokens")]
        {
            self.counted = self.counter.as_mut().map(TokenCounter::finish);
        }
    }

    /// Returns whether the text exceeds its budget. Call [`end`](Self::end) first.
    pub(in crate::filter::run) fn exceeds(&self, budget: Budget) -> bool {
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
