//! The filter of an HTTP route, for bodies of any type.

use tamis::text::{RedactProgram, TextProgram};
use tamis::{Error, Program, Spec};

use super::action::Action;

/// A compiled filter, and what happens to bodies that it cannot read.
#[derive(Clone, Debug)]
pub struct HttpFilter {
    /// The name in its manifest. `None`: the route has the rules itself.
    pub name: Option<String>,
    /// The rules for JSON, lines and events.
    pub program: Program,
    /// The rules for bodies of the type `text/…`. `None` also if the filter has rules that remove for safety and cannot
    /// read such a body.
    pub text: Option<TextRules>,
    /// The action for a body of another type.
    pub on_unknown: Action,
}

/// The rules for a body that is not JSON.
#[derive(Clone, Debug)]
pub struct TextRules {
    /// The rules for its lines.
    pub lines: TextProgram,
    /// The search for credentials before they apply.
    pub redact: Option<RedactProgram>,
}

impl HttpFilter {
    /// Compiles a spec.
    pub(super) fn compile(spec: &Spec, on_unknown: Action) -> Result<Self, Error> {
        Self::new(Program::compile(spec)?, spec, on_unknown)
    }

    /// Takes a program that was compiled from a spec.
    pub(super) fn new(program: Program, spec: &Spec, on_unknown: Action) -> Result<Self, Error> {
        let rules = spec.text_rules().filter(|_| !spec.removes_values_for_safety());
        let redact = spec.searched().map(|redact| RedactProgram::compile(&redact)).transpose()?;
        let text =
            rules.map(|rules| TextProgram::compile(rules).map(|lines| TextRules { lines, redact }));
        Ok(Self { name: None, program, text: text.transpose()?, on_unknown })
    }

    /// Gives it the name in its manifest.
    pub(super) fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }
}
