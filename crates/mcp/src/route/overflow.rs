//! Messages that are too long to be collected.

use std::fmt;
use std::ops::Range;

use super::exchange::Exchange;
use super::open_calls::OpenCall;
use super::session::{Session, withheld};
use crate::jsonrpc::{Id, LONGEST_ID, reply};
use crate::policy::failure::Failure;
use crate::spool::{Spool, SpoolError};

/// Finds the id of a message while it streams past, in constant memory.
///
/// A message that outgrows the limits is not collected, but somebody waits for it. Feed all of it to this scan, and
/// give the scan to [`Session::from_server_overflow`] or [`Session::from_client_overflow`].
#[derive(Default)]
pub struct OverflowScan {
    depth: u64,
    state: ScanState,
    /// The key or the id that is being read, with its quotes.
    token: Vec<u8>,
    /// The ids at the top level, as JSON texts.
    ids: Vec<Vec<u8>>,
    has_method: bool,
    /// Whether it has a result or an error.
    has_outcome: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScanState {
    /// Between tokens. `value`: a value follows, of a member that matters or not.
    #[default]
    Start,
    /// In a string; `escaped`: after a backslash.
    String {
        escaped: bool,
        is_key: bool,
        is_id: bool,
    },
    AfterKey {
        is_id: bool,
    },
    BeforeValue {
        is_id: bool,
    },
    /// In a number or a word.
    Word {
        is_id: bool,
    },
}

impl OverflowScan {
    /// Creates a scan at the beginning of a message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Scans a message that is not valid JSON, whose id may be readable all the same.
    pub(crate) fn of(message: &Spool, span: Range<u64>) -> Self {
        let mut scan = Self::default();
        // After an error of the temporary file, the scan knows less.
        _ = message.each_chunk(span, |chunk| {
            scan.write(chunk);
            Ok::<_, SpoolError>(())
        });
        scan
    }

    /// Reads the next bytes of the message.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.byte(*byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        match self.state {
            ScanState::String { escaped, is_key, is_id } => {
                self.keep(byte, is_key || is_id);
                let escaped = !escaped && byte == b'\\';
                let was_escaped = matches!(self.state, ScanState::String { escaped: true, .. });
                self.state = if byte == b'"' && !was_escaped {
                    self.end_string(is_key, is_id)
                } else {
                    ScanState::String { escaped, is_key, is_id }
                };
            }
            ScanState::Word { is_id } if !matches!(byte, b',' | b'}' | b']') && byte > b' ' => {
                self.keep(byte, is_id);
            }
            state => {
                if let ScanState::Word { is_id: true } = state {
                    self.end_id();
                }
                self.between(state, byte);
            }
        }
    }

    /// Reads a byte between tokens.
    fn between(&mut self, state: ScanState, byte: u8) {
        let is_id = matches!(
            state,
            ScanState::AfterKey { is_id: true } | ScanState::BeforeValue { is_id: true }
        );
        self.state = match byte {
            b' ' | b'\t' | b'\n' | b'\r' if !matches!(state, ScanState::Word { .. }) => state,
            b'{' | b'[' => {
                self.depth += 1;
                ScanState::Start
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                ScanState::Start
            }
            b':' => ScanState::BeforeValue { is_id },
            b'"' => {
                let is_value = matches!(state, ScanState::BeforeValue { .. });
                let is_key = self.depth == 1 && !is_value;
                self.token.clear();
                self.keep(byte, is_key || is_id);
                ScanState::String { escaped: false, is_key, is_id: is_id && is_value }
            }
            _ if matches!(state, ScanState::BeforeValue { .. }) => {
                self.token.clear();
                self.keep(byte, is_id);
                ScanState::Word { is_id }
            }
            _ => ScanState::Start,
        };
    }

    fn keep(&mut self, byte: u8, wanted: bool) {
        // One byte more than an id may have makes it invalid.
        if wanted && self.token.len() <= LONGEST_ID {
            self.token.push(byte);
        }
    }

    fn end_string(&mut self, is_key: bool, is_id: bool) -> ScanState {
        if is_id {
            self.end_id();
            return ScanState::Start;
        }
        if !is_key {
            return ScanState::Start;
        }
        let name = crate::jsonrpc::text::decode(&self.token);
        self.has_method |= name.as_deref() == Some("method");
        self.has_outcome |= matches!(name.as_deref(), Some("result" | "error"));
        ScanState::AfterKey { is_id: name.as_deref() == Some("id") }
    }

    fn end_id(&mut self) {
        if self.ids.len() < 2 {
            self.ids.push(std::mem::take(&mut self.token));
        }
    }

    /// Returns whether the message is a response, as far as that can be seen.
    pub(crate) fn is_response(&self) -> bool {
        self.has_outcome && !self.has_method
    }

    /// Returns whether the message is a request or a notification, as far as that can be seen.
    pub(crate) fn is_request(&self) -> bool {
        self.has_method && !self.has_outcome
    }

    /// Returns the id, if there is exactly one.
    pub(crate) fn id(&mut self) -> Option<(Id, Vec<u8>)> {
        if let ScanState::Word { is_id: true } = self.state {
            self.end_id();
        }
        match self.ids.as_slice() {
            [raw] => Id::parse(raw).map(|id| (id, raw.clone())),
            _ => None,
        }
    }
}

/// Shows sizes only.
impl fmt::Debug for OverflowScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OverflowScan").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Session {
    /// Notes a message of the server that was too long to be looked at. Returns what the client gets instead, unless
    /// the message was forwarded. `None`: nothing is owed.
    pub fn from_server_overflow(
        &mut self,
        mut scan: OverflowScan,
        exchange: &Exchange,
        was_forwarded: bool,
    ) -> Option<Vec<u8>> {
        if scan.has_method {
            return None;
        }
        let own = exchange.requests.iter().filter_map(|raw| Id::parse(raw));
        let ids = scan.id().map(|(id, _)| id).into_iter().chain(own.filter(|_| exchange.is_http));
        let ids: Vec<Id> = ids.collect();
        let call: Option<OpenCall> = ids.iter().find_map(|id| self.calls.take(id, None));
        call.filter(|_| !was_forwarded).map(|call| withheld(&call, Failure::TOO_LONG))
    }

    /// Returns the error for a message of the client that was too long.
    pub fn from_client_overflow(&mut self, mut scan: OverflowScan) -> Vec<u8> {
        let id = scan.id().map(|(_, raw)| raw);
        reply::error(id.as_deref(), reply::INVALID_REQUEST, "tamis: the message is too long")
    }
}

#[cfg(test)]
mod tests {
    use super::OverflowScan;

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for (message, id) in [
            (r#"{"id":1,"result":{"id":2}}"#, Some("1")),
            (
                r#"{"result":{"id":2,"a":["id",{"id":3}]},"jsonrpc":"2.0","id":"x\"y"}"#,
                Some("\"x\\\"y\""),
            ),
            (r#"{ "i\u0064" : -1.5e3 , "result" : "id" }"#, Some("-1.5e3")),
            (r#"{"result":"\\","id":7}"#, Some("7")),
            (r#"{"result":"{\"id\":1}","id":8"#, Some("8")),
            (r#"{"id":1,"id":2}"#, None),
            (r#"{"result":{"id":2}}"#, None),
            (r#"{"a":"id","b":5}"#, None),
            (r#"{"id":{"id":5}}"#, None),
            (r#"{"id":null}"#, None),
        ] {
            for chunk in [1, 3, 1000] {
                let mut scan = OverflowScan::new();
                message.as_bytes().chunks(chunk).for_each(|chunk| scan.write(chunk));
                let found = scan.id().map(|(_, raw)| String::from_utf8(raw).unwrap());
                assert_eq!(found.as_deref(), id, "{message}");
            }
        }
    }

    #[test]
    fn requests_are_distinguished_from_responses() {
        for (message, has_method) in
            [(r#"{"method":"x","id":1}"#, true), (r#"{"result":{"method":"x"},"id":1}"#, false)]
        {
            let mut scan = OverflowScan::new();
            scan.write(message.as_bytes());
            assert_eq!(scan.has_method, has_method);
        }
    }
}
