//! The declaration of how a history is pruned.
//!
//! Only data: `program` compiles it. Field names are those of the methods.

use serde::{Deserialize, Serialize};

/// The default placeholder.
pub(crate) const PLACEHOLDER: &str = "<tool-output-compacted />";
/// The tool whose results are instructions, which are kept by default.
const SKILL: &str = "skill";

/// Declares which tool results of a chat history are pruned, and what replaces them.
///
/// The defaults are those of opencode's documented pruning: results before the second-to-last user turn are pruned,
/// except those of the tool `skill`.
///
/// ```
/// use tamis_chat::{PruneProgram, PruneSpec, prune_slice};
///
/// let program = PruneProgram::compile(&PruneSpec::new().protect("memory_*").now(1_700_000_000_000))?;
/// let history = br#"[{"role": "user", "content": "read it"},
///   {"role": "tool", "content": "500 lines", "metadata": {"toolName": "read_file"}},
///   {"role": "user", "content": "and now?"}, {"role": "user", "content": "well?"}]"#;
/// let (pruned, report) = prune_slice(&program, history)?;
/// assert_eq!(pruned, br#"[{"role": "user", "content": "read it"},
///   {"role": "tool", "content": "<tool-output-compacted />", "metadata": {"toolName": "read_file","time":{"compacted":1700000000000}}},
///   {"role": "user", "content": "and now?"}, {"role": "user", "content": "well?"}]"#);
/// assert_eq!(report.results_pruned, 1);
///
/// let same: PruneSpec = serde_json::from_str(r#"{"protected": ["skill", "memory_*"], "now": 1700000000000}"#).unwrap();
/// assert_eq!(&same, program.spec());
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PruneSpec {
    pub(crate) keep_turns: u64,
    pub(crate) protected: Vec<String>,
    pub(crate) placeholder: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) now: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) protect_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) minimum_tokens: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) count_tokens: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) stop_at_summary: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) keep_head: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) keep_tail: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) min_gain: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) only_shorter: bool,
}

impl Default for PruneSpec {
    fn default() -> Self {
        Self {
            keep_turns: 2,
            protected: vec![SKILL.to_owned()],
            placeholder: PLACEHOLDER.to_owned(),
            now: None,
            protect_tokens: 0,
            minimum_tokens: 0,
            count_tokens: false,
            stop_at_summary: false,
            keep_head: 0,
            keep_tail: 0,
            min_gain: 0,
            only_shorter: false,
        }
    }
}

impl PruneSpec {
    /// Creates rules with the defaults documented at each method.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps all results from the last `turns` user messages on. If the history has fewer turns, nothing is pruned; 0
    /// keeps no turn.
    ///
    /// ### Default
    /// 2: the user's last request with everything after it, and the turn before.
    #[must_use]
    pub fn keep_turns(mut self, turns: u64) -> Self {
        self.keep_turns = turns;
        self
    }

    /// Protects the results of a tool: its name, or a pattern with `*` (any text) and `?` (any character).
    ///
    /// ### Default
    /// `skill`, whose results are instructions that the model still needs.
    #[must_use]
    pub fn protect(mut self, name: impl Into<String>) -> Self {
        self.protected.push(name.into());
        self
    }

    /// Replaces the list of protected tools, including `skill`.
    ///
    /// ```
    /// use tamis_chat::PruneSpec;
    ///
    /// let none = PruneSpec::new().protected([""; 0]);
    /// assert_ne!(none, PruneSpec::new());
    /// assert_eq!(none.protect("skill"), PruneSpec::new());
    /// ```
    #[must_use]
    pub fn protected(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.protected = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the text that replaces a pruned result, at most 1,024 bytes.
    ///
    /// `{tool}` and `{id}` are those of the call (at most 128 characters), `{bytes}` and `{tokens}` the size of the
    /// removed text, and `{{` and `}}` are braces. The text must not consist only of fields, because a second run must
    /// distinguish a placeholder from a result.
    ///
    /// ### Default
    /// `<tool-output-compacted />`
    #[must_use]
    pub fn placeholder(mut self, text: impl Into<String>) -> Self {
        self.placeholder = text.into();
        self
    }

    /// Sets the time of the run in milliseconds since 1970: the value of `compacted` in message shapes that have it.
    ///
    /// ### Default
    /// The system clock.
    #[must_use]
    pub fn now(mut self, milliseconds: u64) -> Self {
        self.now = Some(milliseconds);
        self
    }

    /// Keeps the newest prunable results as long as they have at most this many tokens together; 0 keeps none.
    ///
    /// ### Default
    /// 0. opencode keeps 40,000.
    #[must_use]
    pub fn protect_tokens(mut self, tokens: u64) -> Self {
        self.protect_tokens = tokens;
        self
    }

    /// Changes nothing unless more than this many tokens would be removed; 0 disables the rule.
    ///
    /// ### Default
    /// 0. opencode uses 20,000.
    #[must_use]
    pub fn minimum_tokens(mut self, tokens: u64) -> Self {
        self.minimum_tokens = tokens;
        self
    }

    /// Counts tokens as `o200k_base` does instead of estimating them at four bytes each. Takes many times as long as
    /// everything else. The report contains which of both was done.
    ///
    /// ### Default
    /// Off.
    #[must_use]
    pub fn count_tokens(mut self, yes: bool) -> Self {
        self.count_tokens = yes;
        self
    }

    /// Keeps all results before the last summary that precedes the kept turns. A summary is a message of the assistant
    /// with `summary: true`, in itself or in its `info`.
    ///
    /// ### Default
    /// Off.
    #[must_use]
    pub fn stop_at_summary(mut self, yes: bool) -> Self {
        self.stop_at_summary = yes;
        self
    }

    /// Keeps the first `characters` of a pruned text before the placeholder. At most 65,536.
    ///
    /// A text that would not become shorter is kept. A result that is neither a text, nor a list or an object with one
    /// text and nothing else, is replaced as a whole.
    ///
    /// ### Default
    /// 0.
    #[must_use]
    pub fn keep_head(mut self, characters: u64) -> Self {
        self.keep_head = characters;
        self
    }

    /// Keeps the last `characters` of a pruned text after the placeholder; see [`keep_head`](Self::keep_head).
    ///
    /// ### Default
    /// 0.
    #[must_use]
    pub fn keep_tail(mut self, characters: u64) -> Self {
        self.keep_tail = characters;
        self
    }

    /// Changes nothing if fewer bytes are saved than this percentage of the output from the first change on.
    ///
    /// A provider has to read those bytes again, because its prompt cache ends at the first change. At 100, a run must
    /// save at least as much as it invalidates.
    ///
    /// ### Default
    /// 0, which disables the rule.
    #[must_use]
    pub fn min_gain(mut self, percent: u64) -> Self {
        self.min_gain = percent;
        self
    }

    /// Keeps the results that the placeholder would not make shorter.
    ///
    /// ### Default
    /// Off, as in opencode: every result before the kept turns is replaced.
    #[must_use]
    pub fn only_shorter(mut self, yes: bool) -> Self {
        self.only_shorter = yes;
        self
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
