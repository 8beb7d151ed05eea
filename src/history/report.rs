//! What the pruning of a history did.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Failed;

/// What one pruning did. Serialises to keys of the same names; those whose condition does not hold are left out.
///
/// ```
/// use tamis::{PruneSpec, PruneProgram, prune_slice};
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
    /// Elements of the history.
    pub messages: u64,
    /// Messages of the user that are turns: those that bring nothing but results are none.
    pub user_turns: u64,
    /// Results of tools, in the whole history.
    pub results: u64,
    /// Those that were pruned.
    pub results_pruned: u64,
    /// Those of protected tools.
    pub results_protected: u64,
    /// Those that had been pruned before.
    pub results_compacted: u64,
    /// Bytes of the document.
    pub bytes: u64,
    /// Bytes by which the output is shorter; negative where placeholders and marks are longer than what went.
    pub bytes_saved: i64,
    /// Tokens of what was pruned, without those of the placeholders.
    pub tokens_saved: u64,
    /// Tokens were not counted but estimated, at four bytes each.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tokens_estimated: bool,
    /// Where the first change is, in the document and in the output alike: up to there a provider's cache of the prompt holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_changed: Option<u64>,
    /// Bytes of the output from there on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_invalidated: Option<u64>,
    /// Why nothing was pruned, where something could have been: `minimum_tokens` or `min_gain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<&'static str>,
    /// What was pruned of each tool. The name of a tool that is not known is empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, PrunedTool>,
    /// The most bytes that waited at once, in memory and in temporary files. Depends on the driver.
    pub held_peak_bytes: u64,
    /// Why the run failed. Then nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failed>,
}

/// What was pruned of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PrunedTool {
    /// Its results that were pruned.
    pub results: u64,
    /// Bytes of them, without what came in their place; negative where that is longer.
    pub bytes_saved: i64,
    /// Tokens of them.
    pub tokens_saved: u64,
}
