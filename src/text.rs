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

pub use tamis_text::TextSpec;
#[cfg(feature = "text")]
pub use tamis_text::{
    InvisibleFilter, InvisibleReport, QuotedTextFilter, RedactProgram, TextFilter, TextProgram,
    TextRedactor, TextReport, mark_notices,
};
