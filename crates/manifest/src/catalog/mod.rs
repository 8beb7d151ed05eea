//! The built-in catalog: manifests that are part of the program, and the names of their tools.
//!
//! The catalog consists of manifests only. Invariant, tested: each file parses, and all names in `github.yaml` begin with
//! `github.`.

pub(super) mod files;
pub(super) mod names;
