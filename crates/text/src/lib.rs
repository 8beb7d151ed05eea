//! Filters for the lines of text, and the search for credentials, for [tamis](https://docs.rs/tamis).
//!
//! **Internal: no stable API**, but for what `tamis::text` and `tamis::spec` export. This crate knows nothing of JSON but
//! how strings are escaped, and of no tool and no command.
//!
//! - [`secrets`]: finds credentials in text and in JSON, and replaces them. It searches without regular expressions.
//! - [`lines`]: removes, keeps, folds and cuts lines.
//! - [`estimate`]: estimates tokens. [`cut`]: chooses what is kept of a text that is too long, by its [`words`].
//! - [`invisible`]: removes characters that nobody sees.
//! - [`controls`]: characters that are not shown. [`ansi`]: what a terminal would show. [`notice`]: the notices of tamis, and text that looks like one.
//! - [`failures`]: the words that announce a failure.
//! - [`TextSpec`] and [`Redact`] are what a user declares.
//!
//! The feature `filters` has all that runs regular expressions: `lines`, `quoted` (the contents of JSON strings), `invisible` and [`TextRedactor`].

pub mod ansi;
pub mod controls;
#[cfg(feature = "cut")]
pub mod cut;
pub mod data_urls;
pub mod estimate;
#[cfg(feature = "cut")]
pub mod failures;
pub mod fields;
pub mod grouped;
#[cfg(feature = "filters")]
pub mod invisible;
pub mod line_rules;
#[cfg(feature = "filters")]
pub mod lines;
pub mod notice;
#[cfg(feature = "filters")]
pub mod quoted;
mod redact;
#[cfg(feature = "filters")]
mod redactor;
pub mod secrets;
pub mod words;

#[cfg(feature = "filters")]
pub use invisible::{InvisibleFilter, InvisibleReport};
pub use line_rules::TextSpec;
#[cfg(feature = "filters")]
pub use lines::{TextFilter, TextProgram, TextReport};
pub use notice::marked as mark_notices;
#[cfg(feature = "filters")]
pub use quoted::QuotedTextFilter;
pub use redact::Redact;
#[cfg(feature = "filters")]
pub use redactor::{RedactProgram, TextRedactor, secret_rules};
pub use secrets::{MarkTable, SecretLevel};
