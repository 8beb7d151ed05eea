//! Compiles `requires`: the paths that identify the shape of a document.

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::path::Path;
use tamis_json::path::trie::Trie;
use tamis_json::regex_budget::RegexBudget;

use super::rule_paths::{read, steps};
use crate::spec::Spec;
use crate::spec::rule_kind::RuleKind;

/// The shape of documents that the rules of a spec are for.
#[derive(Debug)]
pub(in crate::filter) struct RequiredShape {
    /// The required paths.
    pub(in crate::filter) trie: Trie,
    /// By node of the trie: the paths that end at it or below it.
    pub(in crate::filter) below: Vec<Vec<u32>>,
    /// The number of paths.
    pub(in crate::filter) count: usize,
    /// A document of another shape is an error, because a rule that removes for safety could not be applied.
    pub(in crate::filter) is_enforced: bool,
}

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
        let removes = |rule: RuleKind| rule != RuleKind::Redact && rule.traits().removes;
        let is_enforced = spec.is_closed() || spec.rules().any(removes);
        Ok(Some(Self { trie, below, count: spec.requires.len(), is_enforced }))
    }

    /// Returns the error of a document of another shape.
    pub(in crate::filter) fn does_not_fit(spec: &Spec) -> Raise {
        let paths = spec.requires.join(", ");
        let message =
            format!("requires: the document is not of the shape that the rules are for ({paths})");
        Raise::new(ErrorKind::Miss, message)
    }
}
