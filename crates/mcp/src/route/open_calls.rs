//! Requests of the client that wait for their responses, and those that nobody waits for any more.
//!
//! ```text
//!          request             response
//! (none) ─────────▶  open  ──────────────▶ (none)     over HTTP: closed, since a stream may be resumed and replayed
//!                     │ cancelled             ▲
//!                     ▼                       │
//!                   closed ───────────────────┘ a late response is filtered like any other
//! ```
//!
//! A response to a cancelled request still arrives, and must not pass unfiltered. So a cancelled request stays known
//! until its response has arrived, or until 4,096 newer ones were closed.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use smallvec::SmallVec;

use crate::jsonrpc::Id;
use crate::policy::tool_call::ToolCall;

/// The kind of response that a request will get.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// Who the server is.
    Greeting,
    /// A page of the list of tools.
    Listing {
        /// Whether it is the page that the request without a cursor asks for.
        is_first: bool,
        /// Whether tools may be hidden, so that nobody may see the list that was not looked at.
        hides: bool,
    },
    /// The result of a tool, from `tools/call` or `tasks/result`.
    ToolResult(ToolCall),
    /// A task, which holds the result of a tool when it is complete.
    Task(ToolCall),
    /// The tasks of the client, some of which may be of tools whose filter removes for safety.
    TaskList,
    /// The contents of a resource that a filtered result named.
    Resource(ToolCall),
    /// Nothing: the request was `tamis_retrieve` in a batch, and a ping was sent in its place.
    Retrieved {
        /// The JSON text of its arguments.
        arguments: Vec<u8>,
    },
    /// A prompt, or a resource that no filtered result named: a model may read it, and no filter applies.
    Shown,
    /// Something that is not read.
    Other,
}

impl Expected {
    /// Returns whether a response may be sent that nobody has looked at.
    pub(crate) fn only_saves(&self) -> bool {
        match self {
            Self::ToolResult(call) | Self::Task(call) | Self::Resource(call) => {
                !call.filter.removes_for_safety
            }
            Self::Listing { hides, .. } => !hides,
            Self::Greeting | Self::Shown | Self::Other => true,
            Self::TaskList | Self::Retrieved { .. } => false,
        }
    }

    /// Returns whether a late response to `self` may be treated as one to `other`.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::ToolResult(own), Self::ToolResult(other))
            | (Self::Task(own), Self::Task(other))
            | (Self::Resource(own), Self::Resource(other)) => own.tool == other.tool,
            (Self::Listing { is_first, .. }, Self::Listing { is_first: other, .. }) => {
                is_first == other
            }
            (Self::Greeting, Self::Greeting)
            | (Self::TaskList, Self::TaskList)
            | (Self::Shown, Self::Shown)
            | (Self::Other, Self::Other) => true,
            _ => false,
        }
    }
}

/// A request that a response may come to.
#[derive(Clone, Debug)]
pub(crate) struct OpenCall {
    /// The JSON text of its id.
    pub(crate) raw_id: Box<[u8]>,
    pub(crate) expected: Expected,
    pub(crate) is_modern: bool,
    pub(crate) arrived: Instant,
}

/// Why a request is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A request with this id is open.
    Open,
    /// A request with this id was cancelled, and a late response to it would be mistaken for the response to this one.
    Closed,
    /// Too many requests are open.
    Full,
}

/// The requests of one client.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    open: HashMap<Id, OpenCall>,
    closed: HashMap<Id, (u64, OpenCall)>,
    /// The ids of `closed`, oldest first, each with a number that distinguishes entries of the same id.
    order: VecDeque<(Id, u64)>,
    next: u64,
    /// For open ids that are strings of digits, the number that lenient peers take them for.
    by_number: HashMap<Id, SmallVec<[Id; 1]>>,
}

impl OpenCalls {
    /// Adds a request.
    pub(crate) fn add(&mut self, id: Id, call: OpenCall, most: usize) -> Result<(), Refused> {
        if self.open.contains_key(&id) {
            return Err(Refused::Open);
        }
        if self.closed.get(&id).is_some_and(|(_, closed)| !closed.expected.is_like(&call.expected))
        {
            return Err(Refused::Closed);
        }
        if self.open.len() >= most {
            return Err(Refused::Full);
        }
        if let Some(number) = as_number(&id) {
            self.by_number.entry(number).or_default().push(id.clone());
        }
        self.open.insert(id, call);
        Ok(())
    }

    /// Notes that the client does not wait for a request any more.
    pub(crate) fn cancel(&mut self, id: &Id, most_closed: usize) {
        if let Some((id, call)) = self.remove_open(id) {
            self.close(id, call, most_closed);
        }
    }

    /// Removes and returns the request that a response belongs to. `keep`: the response may come again.
    pub(crate) fn take(&mut self, id: &Id, keep: Option<usize>) -> Option<OpenCall> {
        let open = self.open.contains_key(id);
        if !open && let Some((_, call)) = self.closed.get(id) {
            let call = call.clone();
            if keep.is_none() {
                self.closed.remove(id);
            }
            return Some(call);
        }
        let own = if open { id.clone() } else { self.of_other_kind(id)? };
        let (own, call) = self.remove_open(&own)?;
        // Since 2026-07-28, streams are not resumed, and ids are used again.
        if let Some(most_closed) = keep.filter(|_| !call.is_modern) {
            self.close(own, call.clone(), most_closed);
        }
        Some(call)
    }

    /// Returns the one open id that a lenient peer may mean by this one.
    fn of_other_kind(&self, id: &Id) -> Option<Id> {
        match id {
            Id::Number(_) => match self.by_number.get(id)?.as_slice() {
                [one] => Some(one.clone()),
                _ => None,
            },
            Id::Text(_) => id.other_kind().filter(|other| self.open.contains_key(other)),
        }
    }

    fn remove_open(&mut self, id: &Id) -> Option<(Id, OpenCall)> {
        let (id, call) = self.open.remove_entry(id)?;
        if let Some(number) = as_number(&id)
            && let Some(same) = self.by_number.get_mut(&number)
        {
            same.retain(|other| *other != id);
            if same.is_empty() {
                self.by_number.remove(&number);
            }
        }
        Some((id, call))
    }

    fn close(&mut self, id: Id, mut call: OpenCall, most: usize) {
        // Nobody knows what the client has of a result that comes late or again.
        if let Expected::ToolResult(call) = &mut call.expected {
            call.delta = None;
        }
        self.next += 1;
        self.order.push_back((id.clone(), self.next));
        self.closed.insert(id, (self.next, call));
        // The place of a removed entry in `order` remains, so both are bounded.
        while self.order.len() > most {
            let Some((oldest, number)) = self.order.pop_front() else { break };
            if self.closed.get(&oldest).is_some_and(|(own, _)| *own == number) {
                self.closed.remove(&oldest);
            }
        }
    }

    /// Returns whether a request is open.
    pub(crate) fn is_open(&self, id: &Id) -> bool {
        self.open.contains_key(id)
    }

    /// Iterates over all requests that a response may come to.
    pub(crate) fn all(&self) -> impl Iterator<Item = &OpenCall> {
        self.open.values().chain(self.closed.values().map(|(_, call)| call))
    }

    /// Returns the number of open requests.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Removes and returns all open requests, in the order of their arrival.
    pub(crate) fn drain(&mut self) -> Vec<OpenCall> {
        self.by_number.clear();
        let mut calls: Vec<OpenCall> = self.open.drain().map(|(_, call)| call).collect();
        calls.sort_by_key(|call| call.arrived);
        calls
    }
}

/// Returns the number that lenient peers take a string for.
fn as_number(id: &Id) -> Option<Id> {
    matches!(id, Id::Text(_)).then(|| id.other_kind()).flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Expected, OpenCall, OpenCalls, Refused};
    use crate::jsonrpc::Id;

    fn id(json: &str) -> Id {
        Id::parse(json.as_bytes()).unwrap()
    }

    fn call(json: &str, expected: Expected) -> OpenCall {
        let raw_id = json.as_bytes().into();
        OpenCall { raw_id, expected, is_modern: false, arrived: Instant::now() }
    }

    fn calls(ids: &[&str]) -> OpenCalls {
        let mut calls = OpenCalls::default();
        for json in ids {
            calls.add(id(json), call(json, Expected::Other), 100).unwrap();
        }
        calls
    }

    #[test]
    fn responses_find_their_requests() {
        for (open, response, expected) in [
            (&["1", "2"][..], "1.0", Some("1")),
            (&["1"], "\"1\"", Some("1")),
            (&["1"], "\" 1 \"", Some("1")),
            (&["\"1\""], "1", Some("\"1\"")),
            (&["\"1\"", "1"], "1", Some("1")),
            (&["\"1\"", "1"], "\"1\"", Some("\"1\"")),
            // Two may be meant.
            (&["\"1\"", "\"1.0\""], "1", None),
            (&["\"1\"", "\"1.0\""], "\"1.0\"", Some("\"1.0\"")),
            (&["1"], "\"x\"", None),
            (&["1"], "2", None),
            (&["9007199254740993"], "9007199254740992", None),
        ] {
            let mut calls = calls(open);
            let taken = calls.take(&id(response), None);
            let taken = taken.map(|call| String::from_utf8(call.raw_id.to_vec()).unwrap());
            assert_eq!(taken.as_deref(), expected, "{open:?} {response}");
            if taken.is_some() {
                assert_eq!(calls.len(), open.len() - 1);
                assert!(calls.by_number.len() <= calls.len());
            }
        }
    }

    #[test]
    fn late_responses_find_their_requests() {
        let mut calls = calls(&["1", "2"]);
        calls.cancel(&id("1"), 10);
        calls.cancel(&id("3"), 10);
        assert_eq!(calls.len(), 1);
        assert!(calls.take(&id("1"), None).is_some());
        assert!(calls.take(&id("1"), None).is_none());
        // Over HTTP, the response may be replayed.
        assert!(calls.take(&id("2"), Some(10)).is_some());
        assert!(calls.take(&id("2"), Some(10)).is_some());
    }

    #[test]
    fn tables_are_bounded() {
        let mut calls = OpenCalls::default();
        for number in 0..5_000 {
            let json = number.to_string();
            calls.add(id(&json), call(&json, Expected::Other), 10).unwrap();
            calls.cancel(&id(&json), 4_096);
        }
        assert!(calls.closed.len() == 4_096 && calls.order.len() == 4_096);
        assert!(calls.take(&id("903"), None).is_none());
        assert!(calls.take(&id("904"), None).is_some());
        let mut calls = self::calls(&["1", "2"]);
        assert_eq!(calls.add(id("3"), call("3", Expected::Other), 2), Err(Refused::Full));
        assert_eq!(calls.add(id("2.0"), call("2.0", Expected::Other), 9), Err(Refused::Open));
    }

    #[test]
    fn an_id_is_not_reused_for_something_else() {
        let mut calls = calls(&["1"]);
        calls.cancel(&id("1"), 10);
        let listing = call("1", Expected::Listing { is_first: true, hides: false });
        assert_eq!(calls.add(id("1"), listing, 10), Err(Refused::Closed));
        assert_eq!(calls.add(id("1"), call("1", Expected::Other), 10), Ok(()));
    }
}
