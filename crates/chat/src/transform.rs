//! Filters of chats as transforms of bodies.

use tamis::http::parts::{BodyFilter, GatherSink, Pace};
use tamis::http::{Outcome, Transform};
use tamis_json::limits::SpillGate;

use crate::{PruneFilter, PruneProgram};

impl From<&PruneProgram> for Transform {
    /// Prunes a chat history: the body of a request to a model.
    fn from(program: &PruneProgram) -> Self {
        let gate = SpillGate::default();
        let program = program.with_spill_gate(&gate);
        Self::of(PruneFilter::new(&program, GatherSink::default()), Pace::Scan, gate)
    }
}

impl BodyFilter for PruneFilter<GatherSink> {
    fn held_peak(&self) -> u64 {
        Self::held_peak(self)
    }

    fn outcome(&self) -> Outcome {
        Outcome::other(self.report())
    }

    fn sink(&self) -> &GatherSink {
        Self::sink(self)
    }
}
