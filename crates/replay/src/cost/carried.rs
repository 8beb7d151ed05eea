//! The cost of a token of a result: once when it is new, then in every request that sends it again.
//!
//! ```text
//! request     k         k+1       k+2      …  end, or a summary
//! result r       ▲ new at k+1: price of new tokens
//!                          then: price of tokens that were sent before, in each request
//! ```
//!
//! Both prices follow from the usage of the request. The new tokens of a request are those beyond the prompt of the request before it,
//! which the cache cannot have had. The cache had the reported number of the others, and the rest was paid for again.
//! The sums over all requests are kept, so that a result costs two lookups however many turns carry it.

use super::{Price, Usage};

/// The cost of one token, in millionths of the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CarriedCost {
    /// The sum over the requests so far, for a token that was in all of them.
    sum: f64,
    /// The number of requests so far.
    requests: u64,
}

/// The prompt of a request in two parts: what was sent before, and what is new. Tokens and their cost, in millionths of the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PromptParts {
    pub(crate) old_tokens: u64,
    pub(crate) old_cost: f64,
    pub(crate) new_tokens: u64,
    pub(crate) new_cost: f64,
}

/// Follows the requests of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carrier {
    now: CarriedCost,
    /// The price of a new token in the last request.
    fresh: f64,
    /// The prompt of the last request.
    prompt: u64,
}

#[allow(clippy::cast_precision_loss, reason = "shares and prices of tokens")]
impl Carrier {
    /// Adds a request. Returns the parts of its prompt; nothing for the first one, whose prompt is all of one kind.
    pub(crate) fn request(&mut self, usage: &Usage, price: &Price) -> PromptParts {
        let paid = usage.input + usage.cache_write;
        let fresh = match paid {
            0 => price.input as f64,
            _ => {
                let sum = usage.input as f64 * price.input as f64
                    + usage.cache_write as f64 * price.cache_write as f64;
                sum / paid as f64
            }
        };
        // The part of the old prompt that the cache had.
        let old = self.prompt.min(usage.prompt());
        let hit = match old {
            0 => 0.0,
            _ => usage.cache_read.min(old) as f64 / old as f64,
        };
        let again = hit * price.cache_read as f64 + (1.0 - hit) * fresh;
        self.now.sum += again;
        self.now.requests += 1;
        self.fresh = fresh;
        self.prompt = usage.prompt();
        if old == 0 {
            return PromptParts::default();
        }
        let new = usage.prompt() - old;
        PromptParts {
            old_tokens: old,
            old_cost: old as f64 * again,
            new_tokens: new,
            new_cost: new as f64 * fresh,
        }
    }

    /// Returns the state for a result that arrives now, which is new in the next request.
    pub(crate) fn now(&self) -> CarriedCost {
        self.now
    }

    /// Returns the prompt of the last request.
    pub(crate) fn prompt(&self) -> u64 {
        self.prompt
    }

    /// Returns the price of a new token in the last request.
    pub(crate) fn fresh(&self) -> f64 {
        self.fresh
    }
}

impl CarriedCost {
    /// Returns the number of requests since then.
    pub(crate) fn turns_until(&self, end: &Self) -> u64 {
        end.requests.saturating_sub(self.requests)
    }

    /// Returns the cost of one token that was new in the first request after this state and was sent until `end`. `first` is the
    /// state after that request, with the price of its new tokens.
    pub(crate) fn of_token(&self, first: Option<(Self, f64)>, end: &Self) -> f64 {
        let Some((first, fresh)) = first else { return 0.0 };
        fresh + (end.sum - first.sum).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::RELATIVE;
    use super::*;

    /// The tokens of a result are written once and read in each later request, if the cache holds.
    #[test]
    fn a_token_is_written_once_and_read_later() {
        let mut carrier = Carrier::default();
        carrier.request(&Usage { cache_write: 1000, ..Usage::default() }, &RELATIVE);
        let result = carrier.now();
        let parts = carrier
            .request(&Usage { cache_write: 500, cache_read: 1000, ..Usage::default() }, &RELATIVE);
        assert_eq!((parts.old_tokens, parts.new_tokens), (1_000, 500));
        assert!((parts.old_cost - 1e8).abs() < 1.0 && (parts.new_cost - 6.25e8).abs() < 1.0);
        let first = Some((carrier.now(), carrier.fresh()));
        for read in [1500, 1600, 1700] {
            carrier.request(
                &Usage { cache_write: 100, cache_read: read, ..Usage::default() },
                &RELATIVE,
            );
        }
        let end = carrier.now();
        assert_eq!(result.turns_until(&end), 4);
        let cost = result.of_token(first, &end);
        assert!((cost - (1_250_000.0 + 3.0 * 100_000.0)).abs() < 1.0, "{cost}");
    }

    /// A request that misses the cache pays for the whole prompt again.
    #[test]
    fn a_missed_cache_is_paid_again() {
        let mut carrier = Carrier::default();
        carrier.request(&Usage { cache_write: 1000, ..Usage::default() }, &RELATIVE);
        let result = carrier.now();
        carrier
            .request(&Usage { cache_write: 100, cache_read: 1000, ..Usage::default() }, &RELATIVE);
        let first = Some((carrier.now(), carrier.fresh()));
        carrier.request(&Usage { cache_write: 1200, ..Usage::default() }, &RELATIVE);
        let cost = result.of_token(first, &carrier.now());
        assert!((cost - 2.0 * 1_250_000.0).abs() < 1.0, "{cost}");
    }
}
