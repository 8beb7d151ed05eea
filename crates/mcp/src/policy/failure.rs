//! The messages that replace a result that is withheld.
//!
//! A model reads the result of a tool, and may never see an error of the protocol. So a result that is withheld is
//! replaced by a failed result that says that the tool did run: calling it again repeats its side effects.

use crate::jsonrpc::{reply, text};

/// Why a filter failed. The words are fixed: an error of the engine may name keys of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) &'static str);

impl Failure {
    pub(crate) const AMBIGUOUS: Self = Self("a member that has to be unique occurs twice in it");
    pub(crate) const UNKNOWN_FORM: Self = Self("it has a form that the filter does not know");
    pub(crate) const TEXT: Self =
        Self("it has text that is not JSON, which the rules do not cover");
    pub(crate) const JSON_IN_STRING: Self =
        Self("its structured content holds JSON in a string, which the rules do not reach");
    pub(crate) const NOT_JSON: Self = Self("it is not valid JSON");
    pub(crate) const TOO_LONG: Self = Self("it is too long for one message");
    pub(crate) const TOO_COMPLEX: Self = Self("it is too long, too deep, or has too many parts");
    pub(crate) const UNKNOWN_CALL: Self = Self("it is not known which call it belongs to");
    pub(crate) const IO: Self = Self("a temporary file cannot be used");

    /// Returns the failure for an error of the engine.
    pub(crate) fn of(error: &tamis::Error) -> Self {
        use tamis::ErrorKind as Kind;
        Self(match error.kind() {
            Kind::Syntax | Kind::UnexpectedEnd | Kind::Encoding => return Self::NOT_JSON,
            Kind::Limit => return Self::TOO_COMPLEX,
            Kind::Miss => "it does not have the expected members",
            Kind::Duplicate => return Self::AMBIGUOUS,
            Kind::Patch => "a patch of the filter does not apply to it",
            Kind::Budget => "it does not fit its budget",
            Kind::Read | Kind::Write | Kind::Spill => return Self::IO,
            _ => "the filter failed",
        })
    }
}

impl From<crate::spool::SpoolError> for Failure {
    fn from(error: crate::spool::SpoolError) -> Self {
        match error {
            crate::spool::SpoolError::Full { .. } => Self::TOO_COMPLEX,
            crate::spool::SpoolError::Io(_) => Self::IO,
        }
    }
}

/// The sentence in place of the message of a failed call.
pub(crate) const MESSAGE_WITHHELD: &str = "[tamis: the call failed; its message is withheld, because the rules for this tool do not cover text]";

/// The sentence in place of what a server says about the state of a task.
pub(crate) const STATUS_WITHHELD: &str = "[tamis: the message of this task is withheld, because the rules for this tool do not cover text]";

/// Returns the result of a call that was not sent: `why` is a clause.
pub(crate) fn not_sent(id: &[u8], why: &str, is_modern: bool) -> Vec<u8> {
    let kind = if is_modern { "\"resultType\":\"complete\"," } else { "" };
    let text = text::quoted(&format!("[tamis: the call was not sent: {why}]"));
    let content = format!("\"content\":[{{\"type\":\"text\",\"text\":{text}}}]");
    reply::result(id, &format!("{{{kind}{content},\"isError\":true}}"))
}

/// Returns the JSON text of a result that says that the tool's output is withheld.
pub(crate) fn withheld_result(tool: &str, failure: Failure, is_modern: bool) -> String {
    let name = named(tool);
    let sentence = format!(
        "[tamis: {name} did run, but its output is withheld: {}. Calling it again repeats what it did.]",
        failure.0
    );
    let kind = if is_modern { "\"resultType\":\"complete\"," } else { "" };
    format!(
        "{{{kind}\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"isError\":true}}",
        text::quoted(&sentence)
    )
}

/// Returns a response that says that a result of a tool is withheld.
pub(crate) fn withheld(id: &[u8], tool: &str, failure: Failure, is_modern: bool) -> Vec<u8> {
    reply::result(id, &withheld_result(tool, failure, is_modern))
}

/// A response that is longer than clients accept, whatever its filter.
pub(crate) struct TooLong<'a> {
    pub(crate) tool: &'a str,
    /// Whether it is the result of a tool.
    pub(crate) is_result: bool,
    /// Whether it would be forwarded without the profile.
    pub(crate) is_by_profile: bool,
    pub(crate) size: u64,
    pub(crate) limit: u64,
}

impl TooLong<'_> {
    /// Returns what is sent in its place.
    pub(crate) fn response(&self, raw_id: &[u8], is_modern: bool) -> Vec<u8> {
        let (size, limit) = (readable(self.size), readable(self.limit));
        let size = format!("{size}, and clients refuse messages of more than {limit}");
        if !self.is_result {
            let message = format!("tamis: the response has {size}");
            return reply::error(Some(raw_id), reply::INTERNAL_ERROR, &message);
        }
        let name = named(self.tool);
        let mut sentence = format!(
            "[tamis: {name} did run, but its result has {size}. Ask for a smaller part; calling it again repeats what it did."
        );
        if self.is_by_profile {
            sentence.push_str(" With `tamis mcp --profile off` the result is sent as it is.");
        }
        sentence.push(']');
        let kind = if is_modern { "\"resultType\":\"complete\"," } else { "" };
        let text = text::quoted(&sentence);
        let result = format!(
            "{{{kind}\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"isError\":true}}"
        );
        reply::result(raw_id, &result)
    }
}

/// Returns a size for people.
fn readable(bytes: u64) -> String {
    match bytes.saturating_mul(10) >> 20 {
        0..10 => format!("{bytes} bytes"),
        tenths => format!("{}.{} MiB", tenths / 10, tenths % 10),
    }
}

/// Names a tool in a sentence.
fn named(tool: &str) -> String {
    match tool {
        "" => "the tool".to_owned(),
        tool => format!("the tool {}", text::short(tool, 128)),
    }
}

/// Returns an error response in place of a message that is not a result of a tool.
pub(crate) fn refused(id: &[u8], what: &str, failure: Failure) -> Vec<u8> {
    let message = format!("tamis: {what} is withheld: {}", failure.0);
    reply::error(Some(id), reply::INTERNAL_ERROR, &message)
}

#[cfg(test)]
mod tests {
    use super::{Failure, withheld};

    #[test]
    fn a_withheld_result_is_a_failed_result() {
        for is_modern in [false, true] {
            let bytes = withheld(b"\"7\"", "delete_\"x\"\n", Failure::TEXT, is_modern);
            let message: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(message["id"], "7");
            let result = &message["result"];
            assert_eq!(result["isError"], true);
            assert!(result["content"][0]["text"].as_str().unwrap().contains("did run"));
            assert_eq!(result.get("resultType").is_some(), is_modern);
            assert!(result.get("structuredContent").is_none());
        }
    }
}
