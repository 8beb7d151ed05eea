//! The report of the pruning of a history.

use std::collections::BTreeMap;

use serde::Serialize;

use tamis::FailureReport;

/// The report of one pruning run. Serializes to keys of the same names; keys whose condition does not hold are omitted.
///
/// ```
/// use tamis_chat::{PruneProgram, PruneSpec, prune_slice};
///
/// let program = PruneProgram::compile(&PruneSpec::new().keep_turns(1).placeholder("gone"))?;
/// let history = br#"[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"read"}}]},
///     {"role":"tool","tool_call_id":"c1","content":"a long text"},{"role":"user","content":"go on"}]"#;
/// let (_, report) = prune_slice(&program, history)?;
/// assert_eq!((report.messages, report.user_turns, report.results_pruned), (3, 1, 1));
/// assert_eq!(report.bytes_saved, 7);
/// assert_eq!(report.tools["read"].results, 1);
/// assert_eq!(report.first_changed, history.windows(6).position(|six| six == b"a long").map(|at| at as u64));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PruneReport {
    /// The document has a list in the place of messages, also if it is empty.
    #[serde(skip)]
    pub has_history: bool,
    /// Number of messages in the history.
    pub messages: u64,
    /// Number of user messages that count as turns. Messages with nothing but results do not.
    pub user_turns: u64,
    /// Number of tool results in the whole history.
    pub results: u64,
    /// Number of results that were pruned.
    pub results_pruned: u64,
    /// Number of results of protected tools.
    pub results_protected: u64,
    /// Number of results that had been pruned before.
    pub results_compacted: u64,
    /// Size of the document in bytes.
    pub bytes: u64,
    /// Bytes by which the output is shorter; negative if placeholders and marks are longer than what they replace.
    pub bytes_saved: i64,
    /// Tokens of the pruned results, not reduced by those of the placeholders.
    pub tokens_saved: u64,
    /// Tokens were not counted but estimated at four bytes each.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tokens_estimated: bool,
    /// Offset of the first change, in the document and in the output. A provider's prompt cache stays valid up to here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_changed: Option<u64>,
    /// Bytes of the output from there on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_invalidated: Option<u64>,
    /// The rule that prevented pruning, if there was something to prune.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<PruneRefusal>,
    /// Numbers of pruned results for each tool. The name of an unknown tool is empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, PrunedTool>,
    /// Largest number of bytes held at once, in memory and in temporary files. Depends on the driver.
    pub held_peak_bytes: u64,
    /// The error, if the run failed. Nothing was written then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureReport>,
}

/// Numbers of pruned results of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PrunedTool {
    /// Number of its results that were pruned.
    pub results: u64,
    /// Bytes saved, after subtracting the replacements; negative if those are longer.
    pub bytes_saved: i64,
    /// Tokens of the pruned results.
    pub tokens_saved: u64,
}

/// A rule that prevents pruning if it would remove too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PruneRefusal {
    /// [`PruneSpec::minimum_tokens`](crate::PruneSpec).
    MinimumTokens,
    /// [`PruneSpec::min_gain`](crate::PruneSpec).
    MinGain,
}

impl PruneRefusal {
    /// Returns the word for this rule in a report.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MinimumTokens => "minimum_tokens",
            Self::MinGain => "min_gain",
        }
    }
}
