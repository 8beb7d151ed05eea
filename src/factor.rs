//! Restores documents in which what items share is written once.
//!
//! [`Spec::factor`](crate::Spec::factor) writes such documents. They say so themselves: the first member of the outermost
//! object is `"_factored":1`. Three names have what was written once:
//!
//! | name | meaning |
//! |---|---|
//! | `_all` | members that each item of the array after it has |
//! | `_made` | strings of each item that follow from other members of it: `{path}` stands for the text there |
//! | `$ref` | the object or array at this place of the factored document, a JSON Pointer after `#` |
//!
//! If the document is an array, it is the member `_items` of that object.
//!
//! ```
//! use tamis::{Limits, factor};
//!
//! let factored = br#"{"_factored":1,"_all":{"open":true},"_made":{"url":"/issues/{id}"},"_items":[{"id":1},{"id":2}]}"#;
//! assert!(factor::is_factored(factored));
//! let document = factor::restore(factored, &Limits::new())?;
//! assert_eq!(
//!     document,
//!     br#"[{"id":1,"open":true,"url":"/issues/1"},{"id":2,"open":true,"url":"/issues/2"}]"#,
//! );
//! # Ok::<(), tamis::Error>(())
//! ```

use tamis_json::error::Error;
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;

use crate::filter::{CallOptions, Filter, Program};
use crate::spec::rules::Spec;

pub use tamis_factor::Factored;
pub use tamis_factor::restore::is_factored;

/// A sink for the output of a run that only validates.
struct Discarded;

impl Sink for Discarded {
    fn write(&mut self, _: &[u8]) {}
}

/// Returns the document that was factored. It has the same values, but members of objects may have another order. A
/// document that is not factored is returned unchanged.
///
/// # Errors
/// The document is not valid JSON ([`ErrorKind::Syntax`](crate::ErrorKind::Syntax) and others), is not one that was
/// factored ([`ErrorKind::Restore`](crate::ErrorKind::Restore)), or the restored document exceeds
/// [`Limits::held`] and [`Limits::spill`] together.
pub fn restore(document: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    restore_with(document, limits, |bytes| out.extend_from_slice(bytes))?;
    Ok(out)
}

/// Like [`restore`], but passes the document on in pieces. After an error what was passed on is incomplete.
///
/// # Errors
/// As for [`restore`].
pub fn restore_with(
    document: &[u8],
    limits: &Limits,
    take: impl FnMut(&[u8]),
) -> Result<(), Error> {
    let program = Program::compile(&Spec::new())?;
    let options = CallOptions::new().with_limits(limits.clone());
    let mut filter = Filter::new(program.with_options(&options), Discarded);
    filter.write(document)?;
    filter.end()?;
    tamis_factor::restore::restore(document, limits, take)
}
