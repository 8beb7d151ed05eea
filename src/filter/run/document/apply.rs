//! Applies the operations of `patches` to a tree, one after the other.
//!
//! Used for sequences that cannot be resolved from their paths, for example with a `test` or an index of an array. The
//! document is complete when the operations run. Each operation reads the result of the previous one:
//!
//! ```text
//! document   {"v":1,"list":[1,2]}
//! test       /v = 1               holds, counted as applied
//! remove     /list/0              {"v":1,"list":[2]}
//! test       /v = 2               fails: an error, or with `on_test_failure: stop` the end of the sequence
//! ```

use tamis_json::error::{ErrorKind, Raise};
use tamis_json::tree::Tree;
use tamis_json::tree::patch::EditOutcome;

use crate::filter::compile::patches::Patches;
use crate::spec::OnTestFailure;

/// The reason for a failed test of a value that exists.
const DIFFERS: &str = "test failed: the value is different";
/// The reason for a failed test of a value that does not exist.
const LACKS: &str = "test failed: no value at this path";

/// The result of a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Applied {
    /// Operations that succeeded, including tests.
    pub(super) operations: u64,
    /// Removals of missing values.
    pub(super) without_effect: u64,
    /// The failed test that ended the sequence.
    pub(super) stopped_at: Option<String>,
}

impl Patches {
    /// Returns the error of a test that did not hold, with the name of its operation.
    fn test_failed(&self, operation: usize, why: &'static str) -> Raise {
        self.named(operation, &Raise::new(ErrorKind::Patch, why))
    }

    /// Applies the operations to a tree.
    ///
    /// # Errors
    /// The first operation that cannot be applied, a failed test (unless that only ends the sequence), or a limit.
    /// The tree is not usable after an error.
    pub(super) fn apply(&self, tree: &mut Tree) -> Result<Applied, Raise> {
        let mut applied = Applied::default();
        for (operation, edit) in self.sequence.iter().enumerate() {
            // The effects of the operations before a failed one are in the tree, which the caller then discards.
            let did = tree.apply(edit, self.lenient);
            match did.map_err(|raise| self.named(operation, &raise))? {
                EditOutcome::Apply => applied.operations += 1,
                EditOutcome::Nothing => applied.without_effect += 1,
                EditOutcome::Differs | EditOutcome::Lacks
                    if self.on_test_failure == OnTestFailure::Stop =>
                {
                    applied.stopped_at = Some(self.name(operation).to_owned());
                    break;
                }
                EditOutcome::Differs => return Err(self.test_failed(operation, DIFFERS)),
                EditOutcome::Lacks => return Err(self.test_failed(operation, LACKS)),
            }
        }
        Ok(applied)
    }
}
