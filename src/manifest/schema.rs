//! The JSON Schema of tamis' own format. Written by hand; a test compares its keys and words with those that specs read.

/// The schema, as it is shipped.
pub(super) const NATIVE: &str = include_str!("schema.json");
