//! Tests the members of an item while the machine selects them, so that an item that `where` drops is not read twice.
//!
//! The item is written before its verdict is known, into the buffer of the writer. If it is dropped, its output is taken
//! back. There is nothing else to undo: the item counts only at its end. An item that the machine cannot handle as a
//! whole is taken back, too, and then decided by a look ahead ([`tester.rs`](super::tester)).
//!
//! ```text
//! {"id":7,"state":"closed","name":"a"}      `where` state = open
//!  written  fails: taken back, and the rest of the item is only validated
//! ```

use std::sync::Arc;

use tamis_json::path::trie::NodeId;
use tamis_json::policy::MemberTest;
use tamis_json::scan::WINDOW;
use tamis_json::writer::WriterMark;

use crate::filter::compile::program::CompiledProgram;

/// The tests of one item at a time.
#[derive(Debug)]
pub(super) struct MemberTester {
    program: Arc<CompiledProgram>,
    /// The requirements of the item that are not known to hold.
    unknown: usize,
    /// The number of those that a value must meet.
    needed: usize,
    /// Where the output of the item begins.
    mark: Option<WriterMark>,
    /// The item must be looked at ahead.
    pub(super) gave_up: bool,
    /// Items have containers before the members that decide, so looking ahead is faster for all of them.
    pub(super) is_off: bool,
    /// The conditions only test members of the item itself.
    can_test: bool,
}

impl MemberTester {
    pub(super) fn new(program: &Arc<CompiledProgram>, limit: u64) -> Self {
        let has_tests = program.items.member_tests.is_some();
        // An item in a window is never too large.
        let can_test = has_tests && limit >= WINDOW as u64;
        Self {
            program: program.clone(),
            unknown: 0,
            needed: 0,
            mark: None,
            gave_up: false,
            is_off: !can_test,
            can_test,
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        (self.mark, self.gave_up, self.is_off) = (None, false, !self.can_test);
    }

    /// Whether the next item is tested by its members.
    pub(super) fn is_ready(&self) -> bool {
        !self.is_off && !self.gave_up
    }

    /// Begins an item, whose output begins at a mark.
    pub(super) fn begin(&mut self, mark: WriterMark) {
        let conditions = self.program.items.conditions.as_ref();
        self.unknown = conditions.map_or(0, |conditions| conditions.requirements.len());
        self.needed = conditions.map_or(0, |conditions| conditions.needed);
        (self.mark, self.gave_up) = (Some(mark), false);
    }

    /// Takes the beginning of the item's output.
    pub(super) fn take_mark(&mut self) -> Option<WriterMark> {
        self.mark.take()
    }

    /// Whether every requirement is known to hold, whatever follows.
    pub(super) fn is_kept(&self) -> bool {
        self.unknown == 0
    }

    /// Whether an item that ends here is kept: what was not found does not exist.
    pub(super) fn is_kept_at_end(&self) -> bool {
        self.needed == 0
    }
}

impl MemberTest for MemberTester {
    #[inline]
    fn passes(&mut self, entry: NodeId, value: &[u8]) -> bool {
        let Self { program, unknown, needed, .. } = self;
        let (Some(tests), Some(conditions)) =
            (&program.items.member_tests, &program.items.conditions)
        else {
            return true;
        };
        let Some(node) = tests.node(entry) else { return true };
        for number in conditions.trie.ends(node) {
            let Some(requirement) = conditions.requirements.get(*number as usize) else { continue };
            if requirement.test.holds(value) == requirement.is_negative {
                return false;
            }
            *unknown = unknown.saturating_sub(1);
            *needed = needed.saturating_sub(usize::from(!requirement.is_negative));
        }
        true
    }
}
