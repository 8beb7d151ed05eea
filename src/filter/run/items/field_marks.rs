//! [`FieldMarks`]: what a run has found of the fields of projections.

use tamis_json::policy::Action;

/// The state of the fields of projections, by node of their trie.
#[derive(Clone, Debug)]
pub(super) struct FieldMarks {
    /// The serial number of the container in which the field was last seen.
    pub(super) met: Vec<u64>,
    /// The action of the machine for a member of that name.
    pub(super) actions: Vec<Action>,
    /// The field was null where an object is kept, or its leaves count as found for another reason.
    pub(super) were_null: Vec<bool>,
}

impl FieldMarks {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            met: vec![0; nodes],
            actions: vec![Action::Ask; nodes],
            were_null: vec![false; nodes],
        }
    }

    /// Begins a new document. Serial numbers are never reused, so `met` is kept.
    pub(super) fn reset(&mut self) {
        self.actions.fill(Action::Ask);
        self.were_null.fill(false);
    }

    /// Takes over what another run of the same program has found. `met` belongs to the serial numbers of a run.
    pub(super) fn copy_from(&mut self, from: &Self) {
        let Self { met: _, actions, were_null } = from;
        self.actions.clone_from(actions);
        self.were_null.clone_from(were_null);
    }
}
