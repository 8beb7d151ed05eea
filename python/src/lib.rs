//! The extension module `tamis._tamis`: programs, streams, manifests, chats and command output for Python.
//!
//! Options are dictionaries, which Python's `json` writes and `tamis_bindings` reads. The GIL is released while the engine
//! works. The folder `tamis` has the part that is written in Python.

mod error;
mod files;
mod input;
mod manifest;
mod program;
mod stream;
mod text;

use pyo3::prelude::pymodule;

#[pymodule]
mod _tamis {
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::manifest::Manifest;
    #[pymodule_export]
    use crate::program::Program;
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::text::{filter_output_with_report, prune_with_report};
}
