//! Compiles the sequence of operations of a spec (RFC 6902; SPEC §8), to be applied to a stream or to a tree.
//!
//! The differences from what reShapr ships, each with a test in `tests/engine/patch/reshapr.rs`:
//!
//! - reShapr forwards the response if an operation fails. Here nothing is emitted then, unless the spec sets
//!   `on_error: raw`. A failed `test` counts as such a failure (RFC 6902, 5). In reShapr's artifacts it ends the
//!   sequence, as their text says.
//! - reShapr loses one of two retained paths into the same array. Here the union is exact.
//! - reShapr does not decode `~0` and `~1` in a path, so that a member `a/b` cannot be named.

use std::cell::RefCell;
use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind, Raise, RulePlace};
use tamis_json::path::Path;
use tamis_json::regex_budget::RegexBudget;
use tamis_json::tree::patch::TreeEdit;

use super::edits::{StreamingEdits, TreeReason};
use super::rule_paths::steps;
use crate::spec::{OnTestFailure, PatchOp, PatchOpKind, Spec, Whitespace};

#[derive(Debug)]
pub(crate) struct Patches {
    pub(in crate::filter) sequence: Vec<TreeEdit>,
    /// The names of the operations in messages.
    pub(in crate::filter) names: Vec<String>,
    pub(in crate::filter) lenient: bool,
    pub(in crate::filter) on_test_failure: OnTestFailure,
    pub(in crate::filter) way: Result<StreamingEdits, TreeReason>,
}

impl Patches {
    /// Compiles the operations of a spec, if it has any.
    pub(in crate::filter) fn compile(
        spec: &Spec,
        allowance: &mut RegexBudget,
    ) -> Result<Option<Arc<Self>>, Error> {
        let operations = spec.patches.as_deref().unwrap_or_default();
        if operations.is_empty() {
            return Ok(None);
        }
        if spec.whitespace == Whitespace::Keep {
            let message =
                "`whitespace: keep` cannot be combined with `patches`, whose output is minified";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        let mut sequence = Vec::with_capacity(operations.len());
        for (entry, operation) in operations.iter().enumerate() {
            sequence.push(edit(entry, operation, allowance)?);
        }
        let names = operations.iter().enumerate();
        let names = names.map(|(entry, operation)| format!("patches[{entry}], {operation}"));
        let lenient = spec.lenient_remove;
        let way = StreamingEdits::new(&sequence, lenient, allowance);
        let on_test_failure = spec.on_test_failure.unwrap_or_default();
        let names = names.collect();
        Ok(Some(Arc::new(Self { names, sequence, lenient, on_test_failure, way })))
    }

    /// Returns the edits of a document that streams, or `None` if the operations need a tree.
    pub(in crate::filter) fn edits(&self) -> Option<&StreamingEdits> {
        self.way.as_ref().ok()
    }

    /// Returns why the operations need a tree, if they do.
    pub(in crate::filter) fn needs_tree(&self) -> Option<String> {
        let reason = self.way.as_ref().err()?;
        Some(format!("{}: {}", self.name(reason.operation), reason.why))
    }

    /// Returns whether an operation or a test can fail.
    pub(in crate::filter) fn can_fail(&self) -> bool {
        self.edits().is_none_or(|edits| edits.checks > 0)
    }

    /// Returns the name of an operation.
    pub(in crate::filter) fn name(&self, operation: usize) -> &str {
        self.names.get(operation).map_or("patches", |name| name)
    }

    /// Prefixes the error of an operation with its name.
    pub(in crate::filter) fn named(&self, operation: usize, raise: &Raise) -> Raise {
        raise.clone().named(self.name(operation))
    }
}

/// Checks an operation and parses its paths.
fn edit(entry: usize, operation: &PatchOp, allowance: &mut RegexBudget) -> Result<TreeEdit, Error> {
    let refuse = |message: &str| {
        let message = format!("patches[{entry}], {operation}: {message}");
        let place =
            RulePlace { rule: "patches", entry, is_key: false, at: 0, message: message.clone() };
        Error::new(ErrorKind::Spec, message).in_rule(place)
    };
    let op = operation.op.as_str();
    let allowance = RefCell::new(allowance);
    let pointer = |text: &str| {
        let mut allowance = allowance.borrow_mut();
        steps(Path::pointer(text), "patches", entry, text, &mut allowance)
    };
    let path = pointer(&operation.path)?;
    let value = || match &operation.value {
        Some(value) => Ok(Box::from(value.as_bytes())),
        None => Err(refuse(&format!("`{op}` requires a `value`"))),
    };
    let from = || match &operation.from {
        Some(from) => pointer(from),
        None => Err(refuse(&format!("`{op}` requires a `from`"))),
    };
    Ok(match operation.op {
        PatchOpKind::Add => TreeEdit::Add { path, value: value()? },
        PatchOpKind::Remove if path.0.is_empty() => {
            return Err(refuse("the document itself cannot be removed"));
        }
        PatchOpKind::Remove => TreeEdit::Remove { path },
        PatchOpKind::Replace => TreeEdit::Replace { path, value: value()? },
        PatchOpKind::Copy => TreeEdit::Copy { from: from()?, path },
        PatchOpKind::Test => TreeEdit::Test { path, value: value()? },
        PatchOpKind::Move => {
            let from = from()?;
            if path.0.len() > from.0.len() && path.0.starts_with(&from.0) {
                return Err(refuse("a value cannot be moved into itself"));
            }
            TreeEdit::Move { from, path }
        }
    })
}
