//! The check of values against a JSON Schema: arguments, and results with a type. The program brings it: JSON Schema takes many
//! packages, and only the proxy calls it.

use std::fmt;

use serde_json::Value;

/// A violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaViolation {
    /// The place in the value, as a JSON Pointer (RFC 6901).
    pub place: String,
    /// The keyword of the schema, such as `maxLength`.
    pub keyword: String,
}

/// Checks values against one schema.
pub trait SchemaCheck: Send + Sync {
    /// Returns the first violations, at most `most` of them.
    fn violations(&self, value: &Value, most: usize) -> Vec<SchemaViolation>;
}

/// Compiles schemas (JSON Schema, by default 2020-12).
///
/// A schema must not be loaded from another place, and the time of a check must be linear in the value.
#[derive(Clone, Copy)]
pub struct SchemaCompiler(fn(&Value) -> Option<Box<dyn SchemaCheck>>);

impl SchemaCompiler {
    /// Creates a compiler from a function that returns `None` for a schema that it cannot use.
    #[must_use]
    pub fn new(compile: fn(&Value) -> Option<Box<dyn SchemaCheck>>) -> Self {
        Self(compile)
    }

    pub(crate) fn compile(self, schema: &Value) -> Option<Box<dyn SchemaCheck>> {
        (self.0)(schema)
    }
}

impl fmt::Debug for SchemaCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SchemaCompiler")
    }
}
