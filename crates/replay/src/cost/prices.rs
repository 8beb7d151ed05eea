//! The prices of tokens, by model.
//!
//! Prices are whole numbers of millionths, so that sums are exact.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Usage;

/// An amount in millionths of a token's unit: of a dollar for a million tokens, or of an uncached input token.
pub type Amount = i128;

/// The prices of one token, in millionths of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Price {
    /// An input token that the cache neither had nor keeps.
    pub input: u64,
    /// An input token that is written to the cache.
    pub cache_write: u64,
    /// An input token that the cache had.
    pub cache_read: u64,
    /// An output token.
    pub output: u64,
}

/// Without a table, costs are in uncached input tokens: writing to the cache costs a quarter more, reading from it a tenth, and
/// output five times as much. These are the proportions of most models with a prompt cache.
pub const RELATIVE: Price =
    Price { input: 1_000_000, cache_write: 1_250_000, cache_read: 100_000, output: 5_000_000 };

impl Price {
    /// Returns the price of this usage.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Amount {
        let parts = [
            (self.input, usage.input),
            (self.cache_write, usage.cache_write),
            (self.cache_read, usage.cache_read),
            (self.output, usage.output),
        ];
        parts.into_iter().map(|(price, tokens)| i128::from(price) * i128::from(tokens)).sum()
    }
}

/// A table of prices.
///
/// ```
/// use tamis_replay::cost::{Prices, Usage};
///
/// let prices = Prices::parse(r#"{"unit": "USD", "models": {
///   "claude-opus-*": {"input": 5, "cache_write": 6.25, "cache_read": 0.5, "output": 25}
/// }}"#)?;
/// let usage = Usage { input: 1000, cache_write: 0, cache_read: 1_000_000, output: 10 };
/// let price = prices.of_model("claude-opus-5").unwrap();
/// assert_eq!(prices.shown(price.of(&usage)), "0.505250 USD");
/// assert!(prices.of_model("gpt-6").is_none());
/// # Ok::<(), tamis_replay::cost::PriceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    unit: Option<String>,
    models: Vec<(String, Price)>,
}

impl Default for Prices {
    /// The same [proportions](RELATIVE) for all models.
    fn default() -> Self {
        Self { unit: None, models: vec![("*".to_owned(), RELATIVE)] }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    unit: Option<String>,
    models: BTreeMap<String, Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    input: Decimal,
    cache_write: Option<Decimal>,
    cache_read: Option<Decimal>,
    output: Decimal,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Decimal {
    Whole(u32),
    Fraction(f64),
}

impl Decimal {
    /// Returns the number in millionths. Prices have few digits, which a float keeps.
    fn millionths(&self) -> Option<u64> {
        match self {
            Self::Whole(number) => Some(u64::from(*number) * 1_000_000),
            Self::Fraction(number) => {
                let millionths = (number * 1e6).round();
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the number is within the range"
                )]
                (0.0..1e12).contains(&millionths).then_some(millionths as u64)
            }
        }
    }
}

impl Prices {
    /// Reads a table in JSON: for each model, or pattern with `*`, the prices of a million tokens. A name comes before patterns, a longer
    /// pattern before shorter ones. Tokens of the cache without a price cost as much as input.
    ///
    /// # Errors
    /// The text is not such a table.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let wrong = |message: String| Err(PriceError(message));
        let table: Table =
            serde_json::from_str(text).map_err(|error| PriceError(error.to_string()))?;
        let mut prices =
            Self { unit: Some(table.unit.unwrap_or("USD".to_owned())), models: Vec::new() };
        for (name, row) in table.models {
            let number = |value: &Decimal| {
                let error = || PriceError(format!("{name}: expected a price from 0 to 1,000,000"));
                value.millionths().ok_or_else(error)
            };
            let input = number(&row.input)?;
            let other = |value: &Option<Decimal>| value.as_ref().map_or(Ok(input), number);
            let price = Price {
                input,
                cache_write: other(&row.cache_write)?,
                cache_read: other(&row.cache_read)?,
                output: number(&row.output)?,
            };
            prices.models.push((name, price));
        }
        if prices.models.is_empty() {
            return wrong("no model has a price".to_owned());
        }
        prices.models.sort_by_key(|(name, _)| (name.contains('*'), usize::MAX - name.len()));
        Ok(prices)
    }

    /// Returns the prices of a model.
    #[must_use]
    pub fn of_model(&self, model: &str) -> Option<Price> {
        let fits = |pattern: &str| match pattern.split_once('*') {
            None => pattern == model,
            Some((start, end)) => {
                model.len() >= start.len() + end.len()
                    && model.starts_with(start)
                    && model.ends_with(end)
            }
        };
        self.models.iter().find(|(pattern, _)| fits(pattern)).map(|(_, price)| *price)
    }

    /// Returns the unit of amounts.
    #[must_use]
    pub fn unit(&self) -> &str {
        self.unit.as_deref().unwrap_or("input tokens")
    }

    /// Returns whether costs are in input tokens, because no prices were given.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        self.unit.is_none()
    }

    /// Returns an amount as people read it.
    #[must_use]
    pub fn shown(&self, amount: Amount) -> String {
        let sign = if amount < 0 { "-" } else { "" };
        let amount = amount.unsigned_abs();
        match &self.unit {
            // The table has prices of a million tokens.
            Some(unit) => {
                let micro = amount / 1_000_000;
                format!("{sign}{}.{:06} {unit}", micro / 1_000_000, micro % 1_000_000)
            }
            None => {
                format!("{sign}{} input tokens", crate::figures::grouped(amount / 1_000_000))
            }
        }
    }
}

/// A table of prices that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceError(String);

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl std::error::Error for PriceError {}
