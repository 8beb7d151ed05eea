//! The filter of an HTTP route, for bodies of any type.

use tamis::text::{TextProgram, TextSpec};
use tamis::{Error, Program, Spec};

use super::Action;

/// A compiled filter, and what happens to bodies that it cannot read.
#[derive(Clone, Debug)]
pub struct HttpFilter {
    /// The rules for JSON, lines and events.
    pub program: Program,
    /// The rules for bodies of the type `text/…`.
    pub text: Option<TextProgram>,
    /// Whether pages and other texts are read as a document.
    pub reads_pages: bool,
    /// The action for a body of another type.
    pub on_unknown: Action,
}

impl HttpFilter {
    /// Compiles a spec.
    pub(super) fn compile(spec: &Spec, on_unknown: Action) -> Result<Self, Error> {
        Self::new(Program::compile(spec)?, spec, on_unknown)
    }

    /// Takes a program that was compiled from a spec.
    pub(super) fn new(program: Program, spec: &Spec, on_unknown: Action) -> Result<Self, Error> {
        let keys = serde_json::to_value(spec).unwrap_or_default();
        let rules = keys.get("text_filter");
        let rules: Option<TextSpec> =
            rules.and_then(|rules| serde_json::from_value(rules.clone()).ok());
        let text = rules.as_ref().map(TextProgram::compile).transpose()?;
        let reads_pages = keys.get("content").is_some();
        Ok(Self { program, text, reads_pages, on_unknown })
    }
}
