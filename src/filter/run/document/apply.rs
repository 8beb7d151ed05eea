//! Applies the operations of `patches` to a tree, one after the other.

use crate::error::{ErrorKind, Raise};
use crate::filter::compile::patches::Patches;
use crate::spec::OnTestFailure;
use crate::tree::Tree;
use crate::tree::patch::EditOutcome;

/// Why a test fails.
const DIFFERS: &str = "the test failed: the value there is another one";
const LACKS: &str = "the test failed: nothing is there";

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
