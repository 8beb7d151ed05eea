//! The extension module `tamis._tamis`: programs, streams, manifests, texts, chats and command output for Python.
//!
//! Options are dictionaries, which Python's `json` writes and `tamis_bindings` reads. The GIL is released while the engine
//! works. The folder `tamis` has the part that is written in Python.

mod command;
mod error;
mod files;
mod history;
mod input;
mod manifest;
mod program;
mod restore;
mod stream;
mod text;

use pyo3::prelude::pymodule;

#[pymodule]
mod _tamis {
    #[pymodule_export]
    use crate::command::OutputFilters;
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::history::prune_with_report;
    #[pymodule_export]
    use crate::manifest::Manifest;
    #[pymodule_export]
    use crate::program::Program;
    #[pymodule_export]
    use crate::restore::restore_bytes;
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::text::TextProgram;

    /// The version of the package, as that of its metadata.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name of Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
