//! Values that are held because more than one output needs them, and the machines that read them again.

use tamis_json::path::trie::NodeId;
use tamis_json::test_work::{WorkKind, count, words};

use crate::filter::run::stage::StageMachine;

/// A value that is held because more than one output needs it.
#[derive(Clone, Debug)]
pub(super) struct CapturedValue {
    pub(super) node: NodeId,
    pub(super) item: bool,
    /// Its text, as the machine passes it on.
    pub(super) bytes: Vec<u8>,
    /// The value exceeds the limit, and its bytes are not held any more.
    pub(super) over: bool,
}

/// The use of a held value for one output.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplayTask {
    /// For a source that begins with the value, at this token of its path.
    Source { source: u32, token: usize },
    /// For the sources inside the value.
    Inside(NodeId),
    /// For a source that keeps the value, which is of another kind than this token of its path needs.
    Kept { source: u32, token: usize },
}

/// Machines that read held values, one for each level of nesting. A copy of a stage has its own.
#[derive(Debug, Default)]
pub(super) struct ReplayMachines(pub(super) Vec<StageMachine>);

impl ReplayMachines {
    /// Returns the steps of all machines.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.0.iter().map(StageMachine::steps).sum()
    }
}

impl Clone for ReplayMachines {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl CapturedValue {
    /// Appends bytes. After the limit was exceeded, only that fact is kept, and `replay` returns the error.
    pub(super) fn push(&mut self, bytes: &[u8], limit: u64) {
        if self.over || (self.bytes.len() + bytes.len()) as u64 > limit {
            self.over = true;
            self.bytes = Vec::new();
        } else {
            count(WorkKind::Hold, words(bytes.len()));
            self.bytes.extend_from_slice(bytes);
        }
    }
}
