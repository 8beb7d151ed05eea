//! Texts that only repeat the structured result.
//!
//! Servers write a structured result twice: as `structuredContent`, and as JSON in a text for older clients. Clients
//! that show the former do not show the latter.

use std::ops::Range;

use super::block_text::BlockText;
use super::result_parts::{ResultRewrite, StructuredRun};
use super::run::JsonRun;
use crate::policy::clients::ClientReads;
use crate::policy::failure::Failure;
use crate::spool::Spool;

impl ResultRewrite<'_> {
    /// Drops texts that only repeat the structured result, if the client does not show them.
    pub(crate) fn drop_copies(
        &self,
        structured: &StructuredRun<'_>,
        texts: &mut [Option<BlockText>],
        scratch: &Spool,
    ) -> Result<(), Failure> {
        let reads_structured = self.context.reads == ClientReads::Structured;
        if !self.filter.drops_copies || !reads_structured || self.drops(structured) {
            return Ok(());
        }
        for text in texts {
            if let Some(BlockText::Json(copy)) = text
                && is_copy(scratch, &structured.run, copy)?
            {
                *text = Some(BlockText::Dropped { is_cut: false });
            }
        }
        Ok(())
    }
}

/// Returns whether an output repeats the structured one, or its only member `result`, in which servers wrap values that
/// are not objects.
pub(super) fn is_copy(
    scratch: &Spool,
    structured: &JsonRun,
    copy: &JsonRun,
) -> Result<bool, Failure> {
    const BEFORE: &[u8] = b"{\"result\":";
    if structured.report.factored.is_some() || copy.report.factored.is_some() {
        let (Some(structured), Some(copy)) =
            (restored(scratch, structured)?, restored(scratch, copy)?)
        else {
            return Ok(false);
        };
        let inner = structured.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(b"}"));
        return Ok(structured == copy || inner == Some(&copy));
    }
    if structured.len() == copy.len() {
        return same_bytes(scratch, &structured.output, &copy.output);
    }
    let before = BEFORE.len() as u64;
    if structured.len() != copy.len() + before + 1 {
        return Ok(false);
    }
    let start = structured.output.start;
    let inner = start + before..structured.output.end - 1;
    let is_wrapped = scratch.to_vec(start..start + before, BEFORE.len())? == BEFORE;
    Ok(is_wrapped && same_bytes(scratch, &inner, &copy.output)?)
}

/// The longest factored output that is compared with another one.
const LONGEST_FACTORED: usize = 4 << 20;

/// Returns the document of an output. `None`: it is too long.
fn restored(scratch: &Spool, run: &JsonRun) -> Result<Option<Vec<u8>>, Failure> {
    let Ok(length) = usize::try_from(run.len()) else { return Ok(None) };
    if length > LONGEST_FACTORED {
        return Ok(None);
    }
    let output = scratch.to_vec(run.output.clone(), LONGEST_FACTORED)?;
    Ok(tamis::factor::restore(&output, &tamis::Limits::new()).ok())
}

/// Returns whether two ranges have the same bytes.
pub(crate) fn same_bytes(
    spool: &Spool,
    first: &Range<u64>,
    second: &Range<u64>,
) -> Result<bool, Failure> {
    const WINDOW: u64 = 64 << 10;
    let length = first.end - first.start;
    if length != second.end - second.start {
        return Ok(false);
    }
    let mut at = 0;
    while at < length {
        let end = (at + WINDOW).min(length);
        let [one, other] = [first, second]
            .map(|range| spool.to_vec(range.start + at..range.start + end, WINDOW as usize));
        if one? != other? {
            return Ok(false);
        }
        at = end;
    }
    Ok(true)
}
