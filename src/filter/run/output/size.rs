//! The size of a text, in bytes or tokens.
//!
//! [`OutputSize`] is a sink that only counts. The bytes that pass the budget are also written to it, for the report. A
//! summary is written to it before it is written to the sink, to find out whether it fits.

use tamis_json::sink::Sink;
use tamis_json::tokens::TokenCounter;

use crate::filter::compile::size_policy::SizePolicy;

/// The number of bytes processed at once. Bounds the bytes that are held above a budget.
pub(in crate::filter::run) const PIECE: usize = 64 << 10;

/// The size of a text, in the unit of its budget. Tokens are only counted for a budget in tokens, because counting them
/// takes time.
#[derive(Debug, Default)]
pub(in crate::filter::run) struct OutputSize {
    /// The bytes so far.
    pub(in crate::filter::run) bytes: u64,
    /// Counts the tokens of a text that arrives in parts.
    counter: Option<TokenCounter>,
    /// The number of tokens, set by [`end`](Self::end) if they are counted.
    pub(in crate::filter::run) counted: Option<u64>,
}

impl OutputSize {
    /// Creates the size of an empty text.
    pub(in crate::filter::run) fn new(policy: &SizePolicy) -> Self {
        let counter = policy.token_limit().map(|limit| limit.counter());
        Self { bytes: 0, counter, counted: None }
    }

    /// Finishes the text, so that its tokens are known.
    pub(in crate::filter::run) fn end(&mut self) {
        self.counted = self.counter.as_mut().map(TokenCounter::finish);
    }

    /// Returns whether the text exceeds its budget. Call [`end`](Self::end) first.
    pub(in crate::filter::run) fn exceeds(&self, policy: &SizePolicy) -> bool {
        match policy.token_limit() {
            Some(limit) => self.counted.is_some_and(|tokens| tokens > limit.most),
            None => self.bytes > policy.most_bytes(),
        }
    }
}

impl Sink for OutputSize {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Some(counter) = &mut self.counter {
            counter.push(bytes);
        }
    }
}
