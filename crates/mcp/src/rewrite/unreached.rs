//! Structured results that only wrap the texts of the result.
//!
//! Frameworks wrap what a tool returns if it is not an object. The Python SDK sends a string that holds JSON as a text,
//! and again as `{"result": "…"}`; a list is sent as one text for each element, and again as `{"result": […]}`. The rules
//! of a filter are written for the text, and do not reach into the wrapper. So where a filter removes for safety, the
//! wrapper is not sent, and clients read the texts.

use super::block_text::BlockText;
use super::copies::same_bytes;
use super::digest::Digest;
use super::result_parts::{ResultRewrite, StructuredRun};
use super::run::{RunError, Source, read};
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::ResultPart;
use crate::jsonrpc::members::{Member, members};
use crate::policy::failure::Failure;
use crate::spool::Spool;

/// The member in which frameworks wrap values that are not objects.
const WRAPPER: &str = "result";

impl ResultRewrite<'_> {
    /// Returns the only member of `structuredContent`.
    fn only_member(&self) -> Result<Option<Member>, Failure> {
        let found = self.parts.last(ResultPart::Structured);
        let Some(found) = found.filter(|found| found.kind == ValueKind::Object) else {
            return Ok(None);
        };
        let mut all = members(self.message, &found.span, 2)?;
        Ok(all.pop().filter(|_| all.is_empty()))
    }

    /// Returns whether `structuredContent` only wraps characters that a block has as its text, too: as a string, or as
    /// strings in an array. The rules for text decide about them, and they are sent in the block only.
    pub(crate) fn wraps_text(&self) -> Result<bool, Failure> {
        if !self.filter.removes_for_safety {
            return Ok(false);
        }
        let Some(Member { found, .. }) = self.only_member()? else { return Ok(false) };
        let wrapped = match found.kind {
            ValueKind::String => vec![found],
            ValueKind::Array => {
                let all = members(self.message, &found.span, usize::MAX)?;
                all.into_iter().map(|member| member.found).collect()
            }
            _ => return Ok(false),
        };
        let is_string = |found: &&Found| found.kind == ValueKind::String;
        if !wrapped.iter().any(|found| is_string(&found)) {
            return Ok(false);
        }
        let mut blocks = Vec::new();
        for text in self.blocks.iter().filter_map(|block| block.text) {
            blocks.push(self.digest(text)?);
        }
        for string in wrapped.iter().filter(is_string) {
            if blocks.contains(&self.digest(string)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether `structuredContent` wraps values whose rules are written for the texts: these have other values
    /// than `structuredContent` itself.
    pub(crate) fn wraps_values(
        &self,
        structured: &StructuredRun<'_>,
        texts: &[Option<BlockText>],
        scratch: &Spool,
    ) -> Result<bool, Failure> {
        if !self.filter.removes_for_safety {
            return Ok(false);
        }
        let Some(Member { name, found }) = self.only_member()? else { return Ok(false) };
        let holds_json = match found.kind {
            ValueKind::Object | ValueKind::Array => name.as_deref() == Some(WRAPPER),
            ValueKind::String => self.holds_json(&found)?,
            _ => false,
        };
        if !holds_json {
            return Ok(false);
        }
        let mut has_text = false;
        for text in texts.iter().flatten() {
            if let BlockText::Json(copy) = text {
                has_text = true;
                if !same_bytes(scratch, &structured.run.output, &copy.output)? {
                    return Ok(true);
                }
            }
        }
        let has_rules_inside = !structured.run.report.inner.is_empty();
        if found.kind == ValueKind::String && !has_text && !has_rules_inside {
            return Err(Failure::JSON_IN_STRING);
        }
        Ok(false)
    }

    /// Returns whether a string is one JSON object or array.
    fn holds_json(&self, string: &Found) -> Result<bool, Failure> {
        let source = Source::characters(string);
        if !super::run::looks_like_json(self.texts, &source) {
            return Ok(false);
        }
        match super::run::is_json(self.texts, &source) {
            Ok(()) => Ok(true),
            Err(RunError::NotJson) => Ok(false),
            Err(RunError::Failed(failure)) => Err(failure),
        }
    }

    /// Returns the length and a hash of the characters of a string. Characters that cannot be told apart by it are
    /// treated as equal, which only removes a copy too many. A string with a lone surrogate is compared by its spelling.
    fn digest(&self, string: &Found) -> Result<Digest, Failure> {
        let mut digest = Digest::default();
        let read = read(self.texts, &Source::characters(string), |chunk| {
            digest.add(chunk);
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(RunError::NotJson) => {
                digest = Digest::default();
                self.message.each_chunk(string.span.clone(), |chunk| {
                    digest.add(chunk);
                    Ok::<_, Failure>(())
                })?;
            }
            Err(RunError::Failed(failure)) => return Err(failure),
        }
        Ok(digest)
    }
}
