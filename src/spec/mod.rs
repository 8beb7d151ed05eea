//! The rules that a [`Spec`] takes: paths, patches, conditions, budgets and summaries.
//!
//! Most specs need only the methods of [`Spec`] and no type of this module. Use the module for rules with
//! settings of their own, such as a [`Budget`], a [`PatchOp`] or the [`Root`] of the items.
//!
//! ```
//! use tamis::spec::{Budget, Root};
//! use tamis::{Program, Spec, filter_slice};
//!
//! let spec = Spec::new().root(Root::At("items".into())).select("id").budget(Budget::Bytes(20));
//! let program = Program::compile(&spec)?;
//! let (output, report) = filter_slice(&program, br#"{"items": [{"id": 1, "x": 2}]}"#)?;
//! assert_eq!(output, br#"{"items":[{"id":1}]}"#);
//! assert_eq!(report.items_truncated_from, None);
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! The rules for lines of text are in [`text`](crate::text), those for pages in [`content`](crate::content).

// The single representation that every format is read into and every program is compiled from. It knows no document. It
// provides a builder for code, and serde for files and other formats.

mod choices;
pub(crate) mod content;
mod groups;
mod item_conditions;
mod json;
mod json_strings;
mod output;
mod output_rules;
mod patch;
mod redact;
pub(crate) mod rule_kind;
pub(crate) mod rules;
mod safety;
mod select;
mod stored;
mod summary;

pub use choices::{DuplicateKeys, OnError, OnKind, Root, Siblings, Validation, Whitespace};
pub(crate) use content::Content;
pub(crate) use content::ContentFormat;
pub use item_conditions::{ItemCondition, ValueTest};
pub use json::RawJson;
#[doc(hidden)]
pub use json::TEXT as JSON_TEXT;
pub use json_strings::{InnerRules, JsonStringFallback, JsonStrings};
pub use output::{Budget, Compact, Encode, Omitted, OnOver, Prefer};
pub use patch::{Condition, OnTestFailure, PatchOp, WhenFallback};
#[doc(hidden)]
pub use patch::{PatchOpKind, named};
pub(crate) use rules::Spec;

pub use safety::Retrieve;
pub use select::{SOURCE, SelectPath, Selection};
pub(crate) use tamis_text::TextSpec;
pub use tamis_text::words::Query;
pub use tamis_text::{Redact, SecretLevel};
