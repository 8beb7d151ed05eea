//! [`CallLine`]: a line of a log, as it is written and read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::shown_by::{ShownBy, TextSize};

/// A line of a log: one call of a tool, or one run of a command.
///
/// Tokens are estimated: bytes divided by four.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallLine<'a> {
    /// When the result was handled, in UTC.
    #[serde(default)]
    pub time: String,
    /// The name of the tool, or of the command's program.
    pub tool: Cow<'a, str>,
    /// Which kind of rule applied, or the name of the command's filter.
    #[serde(default)]
    pub rule: Cow<'a, str>,
    /// The outcome: `filtered`, `unchanged`, `failed_open`, `failed_closed` or `retrieved`; `listed` if no tool was called.
    pub outcome: Cow<'a, str>,
    /// The agent that shows the output to its model, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Cow<'a, str>>,
    /// Why, if a filter failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// Bytes before the filter.
    #[serde(default)]
    pub bytes_in: u64,
    /// Bytes after the filter.
    #[serde(default)]
    pub bytes_out: u64,
    /// Bytes that the agent would have shown without the filter, if that is not `bytes_in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_without: Option<u64>,
    /// Bytes that the agent shows, if that is not `bytes_out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_with: Option<u64>,
    /// Tokens before the filter.
    #[serde(default)]
    pub tokens_in: u64,
    /// Tokens after the filter.
    #[serde(default)]
    pub tokens_out: u64,
    /// The handle under which the full result is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Cow<'a, str>>,
    /// The number of invisible characters that were removed or made visible.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub invisible: u64,
    /// How many values of each kind were replaced, such as credentials. Never a value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<Cow<'a, str>, u64>,
    /// How long the filter ran.
    #[serde(default)]
    pub duration_ms: f64,
    /// From the request to the response, or from the start of the command to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// The exit code of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The tools of a list, with the bytes of their descriptions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listed: BTreeMap<Cow<'a, str>, u64>,
}

/// The longest name of a tool, in characters.
const LONGEST: usize = 128;

impl<'a> CallLine<'a> {
    /// Creates the line of a call that ends now. `bytes` are those before and after the filter.
    ///
    /// `tool` is shortened to 128 characters, and loses control characters.
    #[must_use]
    pub fn new(tool: &'a str, rule: &'a str, bytes: [u64; 2]) -> Self {
        let [bytes_in, bytes_out] = bytes;
        let is_plain = tool.len() <= LONGEST && !tool.chars().any(char::is_control);
        let tool = match is_plain {
            true => Cow::Borrowed(tool),
            false => tool.chars().filter(|char| !char.is_control()).take(LONGEST).collect(),
        };
        Self {
            time: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            tool,
            rule: rule.into(),
            outcome: if bytes_in == bytes_out { "unchanged" } else { "filtered" }.into(),
            reason: None,
            agent: None,
            bytes_in,
            bytes_out,
            shown_without: None,
            shown_with: None,
            tokens_in: bytes_in.div_ceil(4),
            tokens_out: bytes_out.div_ceil(4),
            handle: None,
            invisible: 0,
            redacted: BTreeMap::new(),
            duration_ms: 0.0,
            latency_ms: None,
            exit_code: None,
            listed: BTreeMap::new(),
        }
    }

    /// Returns the time of the call, if it has one.
    #[must_use]
    pub fn system_time(&self) -> Option<SystemTime> {
        humantime::parse_rfc3339(&self.time).ok()
    }

    /// Returns the line with texts of its own.
    #[must_use]
    pub fn into_owned(self) -> CallLine<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        CallLine {
            time: self.time,
            tool: owned(self.tool),
            rule: owned(self.rule),
            outcome: owned(self.outcome),
            reason: self.reason.map(owned),
            agent: self.agent.map(owned),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            shown_without: self.shown_without,
            shown_with: self.shown_with,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            handle: self.handle.map(owned),
            invisible: self.invisible,
            redacted: self.redacted.into_iter().map(|(kind, count)| (owned(kind), count)).collect(),
            duration_ms: self.duration_ms,
            latency_ms: self.latency_ms,
            exit_code: self.exit_code,
            listed: self.listed.into_iter().map(|(tool, bytes)| (owned(tool), bytes)).collect(),
        }
    }

    /// Sets the name of the tool.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<Cow<'a, str>>) -> Self {
        self.tool = tool.into();
        self
    }

    /// Sets what happened, if it was not simply filtered.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &'a str, reason: Option<&'a str>) -> Self {
        self.outcome = outcome.into();
        self.reason = reason.map(Into::into);
        self
    }

    /// Sets the agent, and how many bytes it shows of the output without and with the filter.
    #[must_use]
    pub fn with_shown(mut self, agent: Option<ShownBy>, [without, with]: [u64; 2]) -> Self {
        self.agent = agent.map(|agent| agent.as_str().into());
        self.shown_without = Some(without).filter(|bytes| *bytes != self.bytes_in);
        self.shown_with = Some(with).filter(|bytes| *bytes != self.bytes_out);
        self
    }

    /// Sets the agent of a command's output. `sizes` are those of the whole output and of the filtered one, and `failed` says
    /// whether the agent takes the command for one that failed.
    #[must_use]
    pub fn with_command_shown(
        self,
        agent: Option<ShownBy>,
        failed: bool,
        sizes: [TextSize; 2],
    ) -> Self {
        let shown =
            |size: TextSize| agent.map_or(size.bytes, |agent| agent.of_command(size, failed));
        let shown = sizes.map(shown);
        self.with_shown(agent, shown)
    }

    /// Returns how many bytes the agent would have shown without the filter, and how many it shows. An output that was read
    /// again, in part or as a whole, would not have been shown.
    #[must_use]
    pub fn shown(&self) -> [u64; 2] {
        let with = self.shown_with.unwrap_or(self.bytes_out);
        match &*self.outcome {
            "retrieved" => [0, with],
            _ => [self.shown_without.unwrap_or(self.bytes_in), with],
        }
    }

    /// Sets the tools of a list, with the bytes of their descriptions.
    #[must_use]
    pub fn with_listed(mut self, tools: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        self.outcome = "listed".into();
        self.listed = tools.into_iter().map(|(tool, bytes)| (tool.into(), bytes)).collect();
        self
    }

    /// Sets the handle of the full result.
    #[must_use]
    pub fn with_handle(mut self, handle: Option<&'a str>) -> Self {
        self.handle = handle.map(Into::into);
        self
    }

    /// Sets the number of invisible characters that were removed or made visible.
    #[must_use]
    pub fn with_invisible(mut self, count: u64) -> Self {
        self.invisible = count;
        self
    }

    /// Sets how many values of each kind were replaced.
    #[must_use]
    pub fn with_redacted(mut self, kinds: &'a BTreeMap<String, u64>) -> Self {
        self.redacted = kinds.iter().map(|(kind, count)| (kind.as_str().into(), *count)).collect();
        self
    }

    /// Sets how long the filter ran, and how long the whole call took.
    #[must_use]
    pub fn with_times(mut self, filter: Duration, call: Option<Duration>) -> Self {
        self.duration_ms = milliseconds(filter);
        self.latency_ms = call.map(milliseconds);
        self
    }

    /// Sets the exit code of the command.
    #[must_use]
    pub fn with_exit_code(mut self, code: Option<i32>) -> Self {
        self.exit_code = code;
        self
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Milliseconds with three digits: microseconds.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
