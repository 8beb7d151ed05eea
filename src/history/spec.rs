//! What is declared for the pruning of a history.
//!
//! Data alone: `program` compiles it. Field names are those of the methods.

use serde::{Deserialize, Serialize};

/// What a pruned result becomes, unless something else is said.
pub(crate) const PLACEHOLDER: &str = "<tool-output-compacted />";
/// The tool whose results are instructions: they stay.
const SKILL: &str = "skill";

/// Which tool results of a chat history go, and what stands in their place.
///
/// The defaults are those of opencode's documented pruning: what comes before the second-last turn of the user goes, unless
/// the tool is `skill`.
///
/// ```
/// use tamis::{PruneSpec, PruneProgram, prune_slice};
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
/// let same: Prune = serde_json::from_str(r#"{"protected": ["skill", "memory_*"], "now": 1700000000000}"#).unwrap();
/// assert_eq!(&same, program.prune());
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
        }
    }
}

impl PruneSpec {
    /// The defaults that each method names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing is pruned from the last but `turns` messages of the user on. Where the user has spoken less often, nothing is
    /// pruned at all; 0 keeps no turn.
    ///
    /// ### Default
    /// 2: what the user asked for last, and what came of it, with the turn before.
    #[must_use]
    pub fn keep_turns(mut self, turns: u64) -> Self {
        self.keep_turns = turns;
        self
    }

    /// Adds a tool whose results stay: its name, or a pattern with `*` (any text) and `?` (any character).
    ///
    /// ### Default
    /// `skill`, whose results are instructions that the model still needs.
    #[must_use]
    pub fn protect(mut self, name: impl Into<String>) -> Self {
        self.protected.push(name.into());
        self
    }

    /// The tools whose results stay, in place of those said before, `skill` as well.
    ///
    /// ```
    /// use tamis::PruneSpec;
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

    /// What stands in the place of a pruned result. `{tool}` and `{id}` are those of the call (at most 128 characters), `{bytes}`
    /// and `{tokens}` say how long its text was; `{{` and `}}` are braces. At most 1,024 bytes; fields alone are not enough, for
    /// a second run must know a placeholder from a result.
    ///
    /// ### Default
    /// `<tool-output-compacted />`
    #[must_use]
    pub fn placeholder(mut self, text: impl Into<String>) -> Self {
        self.placeholder = text.into();
        self
    }

    /// The time of the run, in milliseconds since 1970: what `compacted` says in the shapes that are marked.
    ///
    /// ### Default
    /// The clock of the system.
    #[must_use]
    pub fn now(mut self, milliseconds: u64) -> Self {
        self.now = Some(milliseconds);
        self
    }

    /// Keeps the newest results that could be pruned, as long as they have no more tokens together; 0 keeps none.
    ///
    /// ### Default
    /// 0. opencode keeps 40,000.
    #[must_use]
    pub fn protect_tokens(mut self, tokens: u64) -> Self {
        self.protect_tokens = tokens;
        self
    }

    /// Changes nothing unless more than this many tokens would be removed; 0 is off.
    ///
    /// ### Default
    /// 0. opencode says 20,000.
    #[must_use]
    pub fn minimum_tokens(mut self, tokens: u64) -> Self {
        self.minimum_tokens = tokens;
        self
    }

    /// Counts tokens as `o200k_base` does, which takes many times as long as the rest; needs the feature `tokens`. Else they are
    /// estimated at four bytes each, and the report says so.
    ///
    /// ### Default
    /// Off.
    #[must_use]
    pub fn count_tokens(mut self, yes: bool) -> Self {
        self.count_tokens = yes;
        self
    }

    /// Leaves alone what comes before the last summary in front of the kept turns: a message of the assistant with `summary: true`,
    /// in itself or in its `info`.
    ///
    /// ### Default
    /// Off.
    #[must_use]
    pub fn stop_at_summary(mut self, yes: bool) -> Self {
        self.stop_at_summary = yes;
        self
    }

    /// Keeps so many characters at the beginning of a pruned text, in front of the placeholder. At most 65,536.
    ///
    /// A text that would not become shorter stays. What is no text, nor a list or an object with one text and nothing else,
    /// is replaced as a whole.
    ///
    /// ### Default
    /// 0.
    #[must_use]
    pub fn keep_head(mut self, characters: u64) -> Self {
        self.keep_head = characters;
        self
    }

    /// Keeps so many characters at the end of a pruned text, behind the placeholder; see [`keep_head`](Self::keep_head).
    ///
    /// ### Default
    /// 0.
    #[must_use]
    pub fn keep_tail(mut self, characters: u64) -> Self {
        self.keep_tail = characters;
        self
    }

    /// Changes nothing if the bytes saved are less than so many percent of the bytes of the result from the first change on.
    /// Those a provider has to read anew, because its cache of the prompt ends there: at 100 a run must save at least as much
    /// as it invalidates.
    ///
    /// ### Default
    /// 0: off.
    #[must_use]
    pub fn min_gain(mut self, percent: u64) -> Self {
        self.min_gain = percent;
        self
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
