//! Applies the operations of `patches` to a tree, one after the other.

use crate::error::{ErrorKind, Raise};
use crate::filter::compile::patches::Patches;
use crate::spec::OnTestFailure;
use crate::tree::Tree;
use crate::tree::patch::EditOutcome;

/// The reasons for a failed test.
const DIFFERS: &str = "test failed: the value is different";
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
