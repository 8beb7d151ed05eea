//! The rules that have programs of their own: the branches of `when`, the JSON inside strings, the fields of a response.
//!
//! A program contains these rules and they contain programs, so their types are apart from the files that compile them.

use std::sync::Arc;

use tamis_json::path::trie::Trie;

use super::program::Program;
use crate::spec::Budget;
use crate::spec::{JsonStringFallback, RawJson};

/// The branches of a spec.
#[derive(Debug)]
pub(crate) struct When {
    pub(in crate::filter) tests: Vec<TestRule>,
    /// The paths of all tests.
    pub(in crate::filter) trie: Trie,
    /// Indexed by node of the trie: the tests of this node and below it.
    pub(in crate::filter) below: Vec<Vec<u32>>,
    pub(in crate::filter) branches: Vec<Program>,
    /// `None`: a document that matches no branch is an error.
    pub(in crate::filter) otherwise: Option<Program>,
}

/// The test of a branch.
#[derive(Clone, Debug)]
pub(in crate::filter) struct TestRule {
    pub(in crate::filter) value: RawJson,
}

/// The rules for strings that hold JSON.
#[derive(Clone, Debug)]
pub(in crate::filter) struct JsonStringRules {
    /// The pointers of all entries.
    pub(in crate::filter) trie: Arc<Trie>,
    pub(in crate::filter) entries: Vec<JsonStringEntry>,
}

#[derive(Clone, Debug)]
pub(in crate::filter) struct JsonStringEntry {
    /// The pointer as written.
    pub(in crate::filter) at: String,
    pub(in crate::filter) program: Program,
    /// `program` has the rules of the spec itself.
    pub(in crate::filter) same: bool,
    pub(in crate::filter) otherwise: JsonStringFallback,
}

/// The compiled rules of a spec that takes the document as a whole.
#[derive(Debug)]
pub(in crate::filter) enum WholeRules {
    /// The document passes. `warns`: report that no filter applies.
    Pass {
        warns: bool,
    },
    Content(Box<ContentRules>),
}

/// The compiled `content` of a spec.
#[derive(Debug)]
pub(in crate::filter) struct ContentRules {
    pub(in crate::filter) markdown: bool,
    pub(in crate::filter) budget: Option<Budget>,
    /// Selects the fields named by `extract`. If there are none, `usual` selects the usual fields.
    pub(in crate::filter) extract: Option<Program>,
    pub(in crate::filter) usual: Program,
}
