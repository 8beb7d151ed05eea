//! The costs of tokens: the recorded usage, prices, and what it costs to carry a result through the turns after it.

mod carried;
mod prices;
mod usage;

pub(crate) use carried::{CarriedCost, Carrier, PromptParts};
pub use prices::{Amount, Price, PriceError, Prices, RELATIVE};
pub use usage::Usage;
