//! The JSON Schema of tamis' own format. It is written by hand; a test compares its keys and words with those of
//! [`Spec`](tamis::Spec).

/// The text of the schema.
pub(super) const NATIVE: &str = include_str!("schema.json");
