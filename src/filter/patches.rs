//! The sequence of operations of a spec (RFC 6902; SPEC §8), ready to run: while the document streams, or on a tree.
//!
//! Knows no document. Reads the operations as they are declared, and says of each what is wrong with it. How this differs from
//! what reShapr ships is in `tests/engine/patch/reshapr.rs`, each difference a test:
//!
//! - reShapr lets the response pass when an operation fails; here nothing leaves then, unless the spec says `on_error: raw`. A
//!   `test` that fails is such a failure as well (RFC 6902, 5); in reShapr's artifacts it ends the sequence, as its text says.
//! - There, of two retained paths into one array one is lost; here a union is exact.
//! - There, `~0` and `~1` stay as they are in a path, so that a member `a/b` cannot be named.

use std::cell::RefCell;
use std::sync::Arc;

use super::document::edits::{Edits, Reason};
use super::program::steps;
use crate::allowance::Allowance;
use crate::error::{Error, ErrorKind, Raise, RulePlace};
use crate::path::Path;
use crate::spec::{OnTestFailure, Op, Operation, Spec, Whitespace};
use crate::tree::Tree;
use crate::tree::patch::{Did, Edit};

/// Why a test fails.
const DIFFERS: &str = "the test failed: the value there is another one";
const LACKS: &str = "the test failed: nothing is there";

#[derive(Debug)]
pub(crate) struct Patches {
    sequence: Vec<Edit>,
    /// What the operations are called.
    names: Vec<String>,
    lenient: bool,
    on_test_failure: OnTestFailure,
    way: Result<Edits, Reason>,
}

/// What a sequence did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Applied {
    /// Operations that did what they say; tests that held are among them.
    pub(super) operations: u64,
    /// Removes that had nothing to remove.
    pub(super) without_effect: u64,
    /// The test that failed, where that ends the sequence.
    pub(super) stopped_at: Option<String>,
}

impl Patches {
    /// Those of a spec. `None`: it has none.
    pub(super) fn compile(
        spec: &Spec,
        allowance: &mut Allowance,
    ) -> Result<Option<Arc<Self>>, Error> {
        let operations = spec.patches.as_deref().unwrap_or_default();
        if operations.is_empty() {
            return Ok(None);
        }
        if spec.whitespace == Whitespace::Keep {
            let message = "`whitespace: keep` goes with no patches: what they write is minified";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        let mut sequence = Vec::with_capacity(operations.len());
        for (entry, operation) in operations.iter().enumerate() {
            sequence.push(edit(entry, operation, allowance)?);
        }
        let names = operations.iter().enumerate();
        let names = names.map(|(entry, operation)| format!("patches[{entry}], {operation}"));
        let lenient = spec.lenient_remove;
        let way = Edits::new(&sequence, lenient, allowance);
        let on_test_failure = spec.on_test_failure.unwrap_or_default();
        let names = names.collect();
        Ok(Some(Arc::new(Self { names, sequence, lenient, on_test_failure, way })))
    }

    /// What they do to a document that streams, if it needs no tree.
    pub(super) fn edits(&self) -> Option<&Edits> {
        self.way.as_ref().ok()
    }

    /// Why they need a tree, if they do.
    pub(super) fn needs_tree(&self) -> Option<String> {
        let reason = self.way.as_ref().err()?;
        Some(format!("{}: {}", self.name(reason.operation), reason.why))
    }

    /// Whether an operation can fail, or its test.
    pub(super) fn can_fail(&self) -> bool {
        self.edits().is_none_or(|edits| edits.checks > 0)
    }

    /// What an operation is called.
    fn name(&self, operation: usize) -> &str {
        self.names.get(operation).map_or("patches", |name| name)
    }

    /// The error of an operation, with its name.
    pub(super) fn named(&self, operation: usize, raise: &Raise) -> Raise {
        let message = format!("{}: {}", self.name(operation), raise.message);
        Raise::new(raise.kind, message)
    }

    fn test_failed(&self, operation: usize, why: &'static str) -> Raise {
        self.named(operation, &Raise::new(ErrorKind::Patch, why))
    }

    /// Applies the operations to a tree.
    ///
    /// # Errors
    /// The first that cannot be applied, a test that fails (unless that ends the sequence), or a limit. The tree is of no use then.
    pub(super) fn apply(&self, tree: &mut Tree) -> Result<Applied, Raise> {
        let mut applied = Applied::default();
        for (operation, edit) in self.sequence.iter().enumerate() {
            let did = tree.apply(edit, self.lenient);
            match did.map_err(|raise| self.named(operation, &raise))? {
                Did::Apply => applied.operations += 1,
                Did::Nothing => applied.without_effect += 1,
                Did::Differs | Did::Lacks if self.on_test_failure == OnTestFailure::Stop => {
                    applied.stopped_at = Some(self.name(operation).to_owned());
                    break;
                }
                Did::Differs => return Err(self.test_failed(operation, DIFFERS)),
                Did::Lacks => return Err(self.test_failed(operation, LACKS)),
            }
        }
        Ok(applied)
    }
}

/// An operation as it is declared, checked.
fn edit(entry: usize, operation: &Operation, allowance: &mut Allowance) -> Result<Edit, Error> {
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
        None => Err(refuse(&format!("`{op}` wants a `value`"))),
    };
    let from = || match &operation.from {
        Some(from) => pointer(from),
        None => Err(refuse(&format!("`{op}` wants a `from`"))),
    };
    Ok(match operation.op {
        Op::Add => Edit::Add { path, value: value()? },
        Op::Remove if path.0.is_empty() => {
            return Err(refuse("the document itself cannot be removed"));
        }
        Op::Remove => Edit::Remove { path },
        Op::Replace => Edit::Replace { path, value: value()? },
        Op::Copy => Edit::Copy { from: from()?, path },
        Op::Test => Edit::Test { path, value: value()? },
        Op::Move => {
            let from = from()?;
            if path.0.len() > from.0.len() && path.0.starts_with(&from.0) {
                return Err(refuse("a value cannot be moved into itself"));
            }
            Edit::Move { from, path }
        }
    })
}
