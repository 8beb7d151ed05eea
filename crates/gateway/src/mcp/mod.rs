//! Stand-in for the protocol until that branch is merged: the types of the seam, and a session that forwards everything.
#![allow(missing_docs, clippy::needless_pass_by_value, reason = "replaced by the real module")]

use std::time::Duration;

use crate::transport::spool::Spool;

pub struct Exchange;
impl Exchange {
    pub fn stdio() -> Self {
        Self
    }
    pub fn http() -> Self {
        Self
    }
    pub fn with_session_id(self, _: bool) -> Self {
        self
    }
    pub fn with_method_header(self, _: Option<&str>) -> Self {
        self
    }
    pub fn with_name_header(self, _: Option<&str>) -> Self {
        self
    }
    pub fn with_version_header(self, _: Option<&str>) -> Self {
        self
    }
    pub fn with_event_stream(self, _: bool) -> Self {
        self
    }
    pub fn is_modern(&self) -> bool {
        false
    }
    pub fn request_id(&self) -> Option<&[u8]> {
        None
    }
}

pub enum Route {
    Forward,
    Run(Box<Job>),
    Answer(Vec<u8>),
    Reject { status: u16, body: Vec<u8> },
    Drop(DropReason),
}

pub struct Job;
impl Job {
    pub fn run(self: Box<Self>, _: &Spool) -> Outcome {
        Outcome { action: Action::Original, records: Vec::new() }
    }
    pub fn is_slow(&self) -> bool {
        false
    }
}

pub struct Outcome {
    pub action: Action,
    pub records: Vec<CallRecord>,
}

pub enum Action {
    Original,
    Send(Spool),
    Answer(Spool),
    Drop(DropReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    NotJson,
    UnknownAnswer,
    Ambiguous,
    FailedClosed,
}
impl DropReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::UnknownAnswer => "unknown_answer",
            Self::Ambiguous => "ambiguous",
            Self::FailedClosed => "failed_closed",
        }
    }
}

#[derive(Debug, Default)]
pub struct OverflowScan;
impl OverflowScan {
    pub fn new() -> Self {
        Self
    }
    pub fn write(&mut self, _: &[u8]) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleSource {
    Manifest,
    Catalog,
    Profile,
    None,
}
impl RuleSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Catalog => "catalog",
            Self::Profile => "profile",
            Self::None => "none",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    Filtered,
    Unchanged,
    FailedOpen,
    FailedClosed,
    Retrieved,
}
impl CallOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filtered => "filtered",
            Self::Unchanged => "unchanged",
            Self::FailedOpen => "failed_open",
            Self::FailedClosed => "failed_closed",
            Self::Retrieved => "retrieved",
        }
    }
}

#[derive(Clone, Debug)]
pub struct CallRecord {
    pub tool: String,
    pub rule: RuleSource,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub handle: Option<String>,
    pub outcome: CallOutcome,
    pub reason: Option<&'static str>,
    pub duration: Duration,
    pub latency: Option<Duration>,
}
