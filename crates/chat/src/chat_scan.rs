//! One run that measures a chat instead of pruning it.

use std::fmt;

use tamis_json::error::Error;

use super::program::PruneProgram;
use super::run::PruneScan;
use super::sizes::ChatSizes;

/// Measures the messages and tool results of a chat while its bytes arrive.
///
/// A history is recognised as pruning recognises it. Memory is bounded by the limits of the program, and
/// by 10,000 messages; the others are counted by role only.
///
/// ```
/// use tamis_chat::{ChatScan, PruneProgram, PruneSpec};
///
/// let program = PruneProgram::compile(&PruneSpec::new().keep_turns(1))?;
/// let mut scan = ChatScan::new(&program);
/// scan.write(br#"[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"read"}}]},"#)?;
/// scan.write(br#"{"role":"tool","tool_call_id":"c","content":"a text of some length, which is pruned"},"#)?;
/// scan.write(br#"{"role":"user","content":"go on"}]"#)?;
/// let sizes = scan.end()?;
/// assert_eq!((sizes.tools["read"].count, sizes.tools["read"].bytes), (1, 40));
/// assert_eq!(sizes.tools["read"].removed, 13);
/// assert_eq!(sizes.messages[1].role, "tool");
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct ChatScan {
    scan: PruneScan,
}

impl ChatScan {
    /// Creates a run over one chat, which would be pruned by these rules.
    #[must_use]
    pub fn new(program: &PruneProgram) -> Self {
        Self { scan: PruneScan::with_sizes(program) }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Malformed input, a reached limit.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.scan.write(chunk)
    }

    /// Ends the chat and returns its sizes.
    ///
    /// # Errors
    /// The document is not complete, or an earlier call failed.
    pub fn end(self) -> Result<ChatSizes, Error> {
        self.scan.end_with_sizes()
    }
}

impl fmt::Debug for ChatScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatScan").finish_non_exhaustive()
    }
}
