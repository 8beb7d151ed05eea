//! Writes once what the items of a JSON document share, and restores the document.
//!
//! **Internal: no stable API.** `tamis::factor` exports what programs may rely on.
//!
//! ```text
//! document ─▶ Hold ─▶ collect (pass 1): which arrays, which members ─▶ write (pass 2) ─▶ Hold ─▶ references ─▶ sink
//! ```
//!
//! | module | for |
//! |---|---|
//! | `reader` | tokens of held, minified JSON |
//! | `names` | names that are reserved, and names that an object has twice |
//! | `collect` | pass 1: the paths of the items, constants, templates, and which arrays are factored |
//! | `write` | pass 2: the factored text, and the containers that were written before |
//! | [`restore`] | the way back |
//!
//! No tree of the document is built. Memory is bounded by the number of paths and of remembered containers, and nothing
//! recurses on the depth of the document.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "internal: its documentation is for those who change it"
)]

mod collect;
mod hash;
mod names;
mod reader;
pub mod restore;
#[cfg(test)]
mod tests;
mod write;

use tamis_json::error::Raise;
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};

pub use collect::Survey;
pub use write::FactoredText;

/// The contents of a factored document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Factored {
    /// The members in `_all`.
    pub all: u64,
    /// The members in `_made`.
    pub made: u64,
    /// The references.
    pub refs: u64,
    /// The bytes that the document is shorter.
    pub bytes: u64,
}

impl Factored {
    /// Adds the counts of another document.
    #[doc(hidden)]
    pub fn add(&mut self, other: Self) {
        let Self { all, made, refs, bytes } = other;
        self.all += all;
        self.made += made;
        self.refs += refs;
        self.bytes += bytes;
    }
}

/// The reason why a document was not factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorSkip {
    /// It has a member with a name that factored documents use.
    Names,
    /// It would not be shorter by at least 3 %.
    Gain,
    /// It, or one of its scalars, is too long.
    Size,
}

/// Returns whether a document that is `after` bytes long instead of `before` is shorter by the least gain.
fn is_gain(before: u64, after: u64) -> bool {
    u128::from(after) * 100 <= u128::from(before) * 97
}

/// Factors a held document, which is valid and minified. Returns the factored text, or the reason for not factoring it. The
/// document stays held. `mark`: the length of the mark that is the last element of an array which is the document, with
/// its comma, or 0. It becomes a member of the object around the items.
///
/// # Errors
/// The temporary file cannot be read or written.
pub fn factor(
    document: &mut Hold,
    mark: u64,
    limits: &Limits,
    meter: &mut Meter,
) -> Result<Result<FactoredText, FactorSkip>, Raise> {
    let survey = survey(document, mark)?;
    factor_by(document, mark, survey, limits, meter)
}

/// Finds out what the items of a held document share; see [`factor`].
///
/// # Errors
/// The temporary file cannot be read.
pub fn survey(document: &mut Hold, mark: u64) -> Result<Survey, Raise> {
    let end = end_of_items(document, mark);
    collect::survey(document, end)
}

/// Factors a held document by a survey of it, or of one from which it was [shortened](Survey::shortened); see [`factor`].
///
/// # Errors
/// The temporary file cannot be read or written.
pub fn factor_by(
    document: &mut Hold,
    mark: u64,
    survey: Survey,
    limits: &Limits,
    meter: &mut Meter,
) -> Result<Result<FactoredText, FactorSkip>, Raise> {
    if let Some(skip) = survey.skip() {
        return Ok(Err(skip));
    }
    let mut first = Vec::new();
    document.read_part(0, 1, &mut first)?;
    match first.as_slice() {
        [b'{' | b'['] => write::write(document, mark, survey, limits, meter),
        // A scalar has nothing to share.
        _ => Ok(Err(FactorSkip::Gain)),
    }
}

/// Returns the offset at which the items of an array end that is the document, or that of the document's end.
fn end_of_items(document: &Hold, mark: u64) -> u64 {
    if mark == 0 { document.len() } else { document.len().saturating_sub(mark + 1) }
}

/// Factors a document in memory, which is valid and minified. Returns the factored text, or the reason for not factoring it.
///
/// # Errors
/// The temporary file of a long document cannot be read or written.
pub fn factor_slice(document: &[u8]) -> Result<Result<(Vec<u8>, Factored), FactorSkip>, Raise> {
    let limits = Limits::new().with_held(u64::MAX / 4).with_spill(0);
    let mut meter = Meter::default();
    let mut hold = Hold::default();
    hold.push(document, &limits, &mut meter)?;
    match factor(&mut hold, 0, &limits, &mut meter)? {
        Err(skip) => Ok(Err(skip)),
        Ok(mut text) => {
            let mut out = Vec::new();
            text.write(&mut meter, |bytes| {
                out.extend_from_slice(bytes);
                true
            })?;
            Ok(Ok((out, text.factored())))
        }
    }
}
