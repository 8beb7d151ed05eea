//! `loop_vs_walk`: the loops of the JSON machine over members and elements do what its walk does token by token.
//!
//! The walk on its own is not part of the library's interface, so the comparison is implemented in `src/filter/loop_diff.rs`.

use tamis::fuzzing::loop_diff;
use tamis::{Limits, Spec};

use crate::loops::LoopTrial;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let trial = LoopTrial::from_bytes(data);
    let spec: Spec = serde_json::from_str(&trial.spec).expect("the generator makes specs");
    let mut limits = Limits::new();
    if let Some(key) = trial.key {
        limits = limits.with_key(key);
    }
    if let Some(depth) = trial.depth {
        limits = limits.with_depth(depth);
    }
    let options = crate::call_options().with_limits(limits);
    for cuts in &trial.cuts {
        if loop_diff(&spec, &options, &trial.document, cuts).is_none() {
            return;
        }
    }
}
