//! Filters for the lines of text that is not JSON, such as logs.
//!
//! Use it to remove terminal controls, progress bars and repeated lines from a text, and to limit its length. A
//! [`TextSpec`] declares the operations, a [`TextProgram`] is a compiled spec, and a [`TextFilter`] applies it to a
//! text that arrives in chunks. Filters need the feature `text`; a [`TextSpec`] does not.
//!
//! ```
//! # #[cfg(feature = "text")] {
//! use tamis::text::{TextProgram, TextSpec};
//!
//! let spec = TextSpec::new().strip_lines_matching("^npm warn").dedup(true);
//! let program = TextProgram::compile(&spec)?;
//! let (output, report) = program.apply(b"npm warn deprecated\nadded 3 packages\n");
//! assert_eq!(output, b"added 3 packages\n");
//! assert_eq!((report.lines_in, report.lines_out), (2, 1));
//! # }
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! In a [`Spec`](crate::Spec), [`text_filter`](crate::Spec::text_filter) applies the same operations to a string of the
//! document.

#[cfg(feature = "text")]
mod invisible;
#[cfg(feature = "text")]
mod lines;
#[cfg(feature = "text")]
mod redact;

pub use crate::spec::text::TextSpec;
#[cfg(feature = "text")]
pub use invisible::{InvisibleFilter, InvisibleReport};
#[cfg(feature = "text")]
pub use lines::{QuotedTextFilter, TextFilter, TextProgram, TextReport};
#[cfg(feature = "command")]
pub(crate) use lines::{
    check_pattern, ended, is_zero, line_splitter, line_stage, pending_text, pipeline,
};
#[cfg(feature = "text")]
pub(crate) use lines::{quoted, rule_ops, value_pattern};
#[cfg(feature = "text")]
pub(crate) use redact::secret_rules;
#[cfg(feature = "text")]
pub use redact::{RedactProgram, TextRedactor};

/// Marks the places in a line where a reader would see a notice of tamis begin: `| [tamis …`.
///
/// Use it for text of a tool that is shown together with notices, so that the tool cannot imitate one. The test sees through
/// letter case, white space, escape sequences and characters that are not shown. A place is the beginning of the line,
/// or follows a character that a reader sees as a line break, such as a carriage return. `line` has no newline.
///
/// The result is borrowed if nothing was marked. Time is linear in the line; for most lines only the first visible byte
/// is looked at.
///
/// ```
/// use tamis::text::mark_notices;
///
/// assert_eq!(&*mark_notices(b"[tamis x: 3 lines left out]"), b"| [tamis x: 3 lines left out]");
/// assert_eq!(&*mark_notices(b"3 lines left out"), b"3 lines left out");
/// ```
#[cfg(feature = "text")]
#[must_use]
pub fn mark_notices(line: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    crate::notice::marked(line)
}
