//! A text that `structuredContent` repeats as its only member.
//!
//! Tools that return text but declare an `outputSchema` write the text twice: as a block, and wrapped in an object.
//!
//! ```text
//! {"content":[{"type":"text","text":"TEXT"}],"structuredContent":{"content":"TEXT"}}
//! ```
//!
//! Both are one text for every filter. It is filtered once, as a block, and the output takes both places. JSON rules for
//! `structuredContent` would not reach into its string, and would keep much less of it than a limit allows. A filter that removes
//! for safety sends the block only (`unreached`).
//!
//! The name of the member shows what the text is. FastMCP wraps each result that is not an object in `result`: such a text
//! is JSON if it looks like JSON. Under another name, such as `content` of `@modelcontextprotocol/server-filesystem`, it may
//! be a file: such a text stays what it is, since an edit of the file must find it.

use super::block_text::BlockText;
use super::copies::same_bytes;
use super::notice::{self, NoticeFacts};
use super::result_parts::{ResultRewrite, Wrapped};
use crate::jsonrpc::find::ValueKind;
use crate::jsonrpc::head::ResultPart;
use crate::jsonrpc::splice::{Piece, Splice, end_of};
use crate::policy::clients::ClientReads;
use crate::policy::failure::Failure;
use crate::policy::tool_call::ListedSchema;
use crate::rules::Structured;

/// The most bytes before the string: the name of the member, and white space.
const LONGEST_PREFIX: u64 = 1 << 10;

impl ResultRewrite<'_> {
    /// Looks for a `structuredContent` that is treated as the text that it repeats.
    pub(crate) fn wrapped(&self) -> Result<Option<Wrapped<'_>>, Failure> {
        // Where results get a type, `structuredContent` is replaced as a whole.
        if self.filter.removes_for_safety || self.listed == ListedSchema::Ours {
            return Ok(None);
        }
        self.repeated_text()
    }

    /// Looks for a `structuredContent` that only repeats the text of the only block with one.
    pub(crate) fn repeated_text(&self) -> Result<Option<Wrapped<'_>>, Failure> {
        let mut texts = self.blocks.iter().filter_map(|block| block.text);
        let (Some(text), None) = (texts.next(), texts.next()) else { return Ok(None) };
        let ([found], [_]) =
            (self.parts.all(ResultPart::Structured), self.parts.all(ResultPart::Content))
        else {
            return Ok(None);
        };
        if found.kind != ValueKind::Object {
            return Ok(None);
        }
        let prefix = found.span.start..found.span.end.min(found.span.start + LONGEST_PREFIX);
        let prefix = self.message.to_vec(prefix, LONGEST_PREFIX as usize)?;
        let Some((name, length)) = before_first_value(&prefix) else { return Ok(None) };
        let is_file = name != b"result";
        let start = found.span.start + length as u64;
        let string = start..start + (text.span.end - text.span.start);
        // A string that begins where the value begins and ends where the object ends is its only member.
        let ends_object = end_of(self.message, &found.span)?.0 == string.end;
        if !ends_object || !same_bytes(self.message, &text.span, &string)? {
            return Ok(None);
        }
        Ok(Some(Wrapped { found, string, is_file }))
    }

    /// Whether `structuredContent` is removed: with the text, for an image, or because the filter asks for it.
    pub(crate) fn drops_wrapped(&self, text: &BlockText) -> bool {
        self.filter.structured == Structured::Drop
            || matches!(text, BlockText::Dropped { .. } | BlockText::Image(_))
    }

    /// Whether the block is dropped, because the client shows only `structuredContent`.
    pub(crate) fn drops_wrapped_block(&self) -> bool {
        self.filter.drops_copies && self.context.reads == ClientReads::Structured
    }

    /// Writes the output for the text to `structuredContent`, with our member at its end. Returns whether it has one.
    pub(crate) fn replace_wrapped(
        &self,
        wrapped: &Wrapped<'_>,
        text: &BlockText,
        facts: NoticeFacts,
        splice: &mut Splice,
    ) -> Result<bool, Failure> {
        if let Some(piece) = text.piece() {
            splice.replace(wrapped.string.start + 1..wrapped.string.end - 1, piece);
        }
        let start = wrapped.found.span.start;
        let name = notice::member_name(self.message, start..wrapped.string.start)?;
        let member = facts.member(&name).filter(|_| !self.has_closed_schema());
        let Some(member) = member else { return Ok(false) };
        splice.replace(
            wrapped.string.end..wrapped.found.span.end,
            Piece::Bytes(format!(",{member}}}").into_bytes()),
        );
        Ok(true)
    }
}

/// Returns the name of the first member of an object, and the number of bytes before its value. `None`: it has no members,
/// or the name has escapes or is too long.
fn before_first_value(object: &[u8]) -> Option<(&[u8], usize)> {
    let rest = object.strip_prefix(b"{")?.trim_ascii_start().strip_prefix(b"\"")?;
    let (name, rest) = rest.split_at_checked(memchr::memchr2(b'"', b'\\', rest)?)?;
    let rest = rest.strip_prefix(b"\"")?.trim_ascii_start();
    let value = rest.strip_prefix(b":")?.trim_ascii_start();
    Some((name, object.len() - value.len()))
}

#[cfg(test)]
mod tests {
    use super::before_first_value;

    #[test]
    fn values_of_first_members_are_found() {
        for (object, expected) in [
            (r#"{"result":"a"}"#, Some(r#""a"}"#)),
            ("{ \"\" \n:\t[1] }", Some("[1] }")),
            (r#"{"a":1,"b":2}"#, Some(r#"1,"b":2}"#)),
            ("{}", None),
            (r#"{"a\u0062":1}"#, None),
            (r#"{"a"#, None),
            (r#"{"a""#, None),
        ] {
            let value = before_first_value(object.as_bytes());
            assert_eq!(value.map(|(_, start)| &object[start..]), expected, "{object}");
        }
    }
}
