//! The common part of the packages for Python and Node.
//!
//! Both languages hand over options as JSON text with the names of native specs, and documents as bytes. This crate
//! compiles, runs, and turns every failure into one [`BindingError`], whose members become attributes of an exception.
//! It knows neither Python nor Node: `python/` and `node/` only convert values.
//!
//! - `error`: the error with kind, offset and path.
//! - `options`: JSON text to a spec, to the options of a call, and to the rules for a history.
//! - `program`: a compiled filter; `plain_text`: what it does with a text that is not JSON; `idle_run`: its run for small
//!   documents.
//! - `stream`: a run that bytes are pushed into.
//! - `manifest`: files with the filters of many tools.
//! - `text`: lines of text that is not JSON.
//! - `command`: the output of commands.
//! - `history`: old tool results in chats.
//!
//! ```
//! use tamis_bindings::{BindingCall, BindingProgram};
//!
//! let program = BindingProgram::compile(r#"{"select": ["id"], "max_items": 1}"#)?;
//! let run = program.filter(&BindingCall::default(), br#"[{"id": 1, "x": 2}, {"id": 3}]"#)?;
//! assert_eq!(run.output, br#"[{"id":1}]"#);
//!
//! let error = BindingProgram::compile(r#"{"slect": ["id"]}"#).unwrap_err();
//! assert_eq!(error.kind, "spec");
//! assert!(error.message.starts_with("unknown field `slect`"));
//! # Ok::<(), tamis_bindings::BindingError>(())
//! ```

mod command;
mod error;
mod history;
mod idle_run;
mod manifest;
mod options;
mod plain_text;
mod program;
mod stream;
mod text;

#[cfg(test)]
mod tests;

pub use command::{BindingCommands, CommandOutput};
pub use error::{BindingError, ErrorMembers, ManifestProblem};
pub use history::BindingPrune;
pub use manifest::BindingManifest;
pub use options::BindingCall;
pub use program::{BindingProgram, BindingRun};
pub use stream::BindingStream;
pub use text::BindingText;

/// Returns the document that was factored, or a document that is not factored unchanged.
///
/// # Errors
/// It is not valid, or cannot be restored.
pub fn restore(document: &[u8]) -> Result<Vec<u8>, BindingError> {
    tamis::factor::restore(document, &tamis::Limits::new())
        .map_err(|error| BindingError::from(&error))
}
