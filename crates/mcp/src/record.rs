//! The record of one result after it was filtered: sizes and names, never data.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tamis_store::calls::TextSize;

/// One call of a tool, for the log, the metrics and `tamis savings`.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// The name of the tool, shortened to 128 bytes and without control characters.
    pub tool: String,
    /// The name that the client gave itself.
    pub client: Option<Arc<str>>,
    /// The sizes of what the client would have shown of the unfiltered result, before its own cut, and of what it shows.
    /// `None` for clients of which that is not known.
    pub shown: Option<[TextSize; 2]>,
    /// Whether a script made the call, whose output the client shows instead of the result.
    pub in_script: bool,
    /// The origin of the filter.
    pub source: RuleSource,
    /// Bytes of the unfiltered result.
    pub bytes_in: u64,
    /// Bytes of the result as it is sent.
    pub bytes_out: u64,
    /// The handle under which the result is stored.
    pub handle: Option<String>,
    /// The outcome.
    pub outcome: CallOutcome,
    /// Why, if a filter failed, or if the result was not shortened. Never contains data of the result.
    pub reason: Option<&'static str>,
    /// The number of invisible characters that were removed or made visible.
    pub invisible: u64,
    /// How many values of each kind were replaced, such as credentials. Never a value.
    pub redacted: BTreeMap<String, u64>,
    /// The tools of a page of the list of tools, with the bytes of their descriptions.
    pub listed: Vec<(String, u64)>,
    /// The time that filtering took.
    pub duration: Duration,
    /// The time between the request and its response.
    pub latency: Option<Duration>,
}

impl CallRecord {
    /// Returns the number of tokens of the unfiltered result, estimated at four bytes each.
    #[must_use]
    pub fn tokens_in(&self) -> u64 {
        self.bytes_in.div_ceil(4)
    }

    /// Returns the number of tokens of the result as it is sent, estimated at four bytes each.
    #[must_use]
    pub fn tokens_out(&self) -> u64 {
        self.bytes_out.div_ceil(4)
    }
}

/// The origin of the filter of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleSource {
    /// A manifest of the user.
    Manifest,
    /// The built-in catalog.
    Catalog,
    /// The profile.
    Profile,
}

impl RuleSource {
    /// Returns the word for this origin in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Catalog => "catalog",
            Self::Profile => "profile",
        }
    }
}

/// The outcome for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallOutcome {
    /// It was filtered.
    Filtered,
    /// It was forwarded unchanged: there was nothing to filter.
    Unchanged,
    /// A filter that only saves failed, and the result was forwarded unchanged.
    FailedOpen,
    /// A filter that removes for safety failed, and the result was withheld.
    FailedClosed,
    /// It was read from the store.
    Retrieved,
    /// It is a page of the list of tools. No tool was called.
    Listed,
    /// It is a call with a stored value in its arguments. Its result is still to come.
    Inserted,
    /// The call was not sent: clients may not call the tool, or its arguments have a handle or a notice that is refused.
    Refused,
}

impl CallOutcome {
    /// Returns the word for this outcome in logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filtered => "filtered",
            Self::Unchanged => "unchanged",
            Self::FailedOpen => "failed_open",
            Self::FailedClosed => "failed_closed",
            Self::Retrieved => "retrieved",
            Self::Listed => "listed",
            Self::Inserted => "inserted",
            Self::Refused => "refused",
        }
    }
}
