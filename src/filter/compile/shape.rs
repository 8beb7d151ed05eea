//! Compiles `requires`: the paths that identify the shape of a document, and the program for documents of another shape.

use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::path::Path;
use tamis_json::path::trie::Trie;
use tamis_json::regex_budget::RegexBudget;

use super::nested::RequiredShape;
use super::program::Program;
use super::rule_paths::{read, steps};
use crate::spec::Spec;
use crate::spec::rule_kind::RuleKind;

impl RequiredShape {
    pub(super) fn compile(spec: &Spec, allowance: &mut RegexBudget) -> Result<Option<Self>, Error> {
        if spec.requires.is_empty() {
            return Ok(None);
        }
        let paths = spec.requires.iter().enumerate().map(|(entry, text)| {
            let path = if spec.envelope { read(text, true) } else { Path::of_document(text) };
            steps(path, "requires", entry, text, allowance)
        });
        let mut trie = Trie::new(&paths.collect::<Result<Vec<_>, _>>()?);
        trie.sharpen(allowance);
        let mut below = vec![Vec::new(); trie.len()];
        // Children come after their parents.
        for node in (0..trie.len()).rev() {
            let mut paths = trie.ends(node as u32).to_vec();
            for (_, child) in trie.children(node as u32) {
                paths.extend(below.get(*child as usize).into_iter().flatten());
            }
            if let Some(place) = below.get_mut(node) {
                *place = paths;
            }
        }
        let other = if spec.needs_its_shape() {
            None
        } else {
            Some(Program::compile_within(&spec.for_any_shape(), allowance)?)
        };
        let count = spec.requires.len();
        Ok(Some(Self { trie: Arc::new(trie), below: Arc::new(below), count, other }))
    }

    /// Returns the rule with another program for documents of another shape.
    pub(super) fn map(&self, to: impl Fn(&Program) -> Program) -> Self {
        Self { other: self.other.as_ref().map(to), ..self.clone() }
    }

    /// Returns the error of a document of another shape.
    pub(in crate::filter) fn does_not_fit(&self, spec: &Spec) -> Raise {
        let paths = spec.requires.join(", ");
        let message =
            format!("requires: the document is not of the shape that the rules are for ({paths})");
        Raise::new(ErrorKind::Miss, message)
    }
}

impl Spec {
    /// Returns whether a rule that removes for safety would not apply to a document of another shape.
    fn needs_its_shape(&self) -> bool {
        self.is_closed()
            || self.rules().any(|rule| rule != RuleKind::Redact && rule.traits().removes)
    }

    /// Returns the rules that apply to a document of any shape.
    fn for_any_shape(&self) -> Self {
        self.only(RuleKind::is_for_any_shape)
    }
}
