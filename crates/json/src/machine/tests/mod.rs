//! Tests of the machine on its own, with handlers that look names up in a table and record what they receive.
//!
//! The tests use only [`Machine::feed`] and [`Handler`], so they do not depend on how the shortcuts work.

mod chunks;
mod loops;
mod skip_modes;
mod stop;
mod table_handler;
mod walk;

use super::{FeedResult, Machine, MachineConfig};
use crate::error::{Error, ErrorKind, Raise};
use crate::scan::Scanner;
use crate::{Handler, Interest, ValueKind, ValueSlot};

/// Full validation, no limits that matter, white space is dropped.
const FULL: MachineConfig = MachineConfig {
    depth: 1024,
    key: 65_536,
    longest_key: 65_536,
    structure: false,
    keep_white: false,
    detect_empty_strings: false,
};

/// Dropped values are checked only for brackets and strings.
const STRUCTURE: MachineConfig = MachineConfig { structure: true, ..FULL };

/// Both kinds of validation.
const BOTH: [MachineConfig; 2] = [FULL, STRUCTURE];

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RunEnd {
    Complete,
    /// The handler stopped the run at this offset.
    Stopped(u64),
    /// Message, offset and path.
    Error(ErrorKind, String, Option<u64>, String),
}

impl RunEnd {
    fn of(error: &Error) -> Self {
        Self::Error(
            error.kind(),
            error.message().to_owned(),
            error.offset(),
            error.path().to_owned(),
        )
    }
}

/// Feeds a document in chunks that end at `cuts`, and a last one, and ends it.
fn run(config: &MachineConfig, document: &[u8], cuts: &[usize], h: &mut impl Handler) -> RunEnd {
    let mut machine = Machine::new(config.clone());
    let scanner = Scanner::new();
    let mut begin = 0;
    for end in cuts.iter().copied().chain([document.len()]) {
        match machine.feed(scanner, &document[begin..end], h) {
            Ok(FeedResult::All) => {}
            Ok(FeedResult::Stopped) => return RunEnd::Stopped(machine.offset()),
            Err(failure) => return RunEnd::of(&failure),
        }
        begin = end;
    }
    machine.end(h).map_or_else(|error| RunEnd::of(&error), |()| RunEnd::Complete)
}

/// A handler that looks up the interest in a name, and records every event as a line of text.
///
/// The name of an element is its index, that of the document is empty. Without an entry, containers are inspected and
/// scalars are copied.
#[derive(Clone, Debug, Default)]
struct EventRecorder {
    interests: Vec<(&'static str, Interest)>,
    takes_long_keys: bool,
    events: Vec<String>,
    /// Bytes of the value that is being copied. Their pieces depend on the chunks.
    copied: Vec<u8>,
}

impl EventRecorder {
    fn new(interests: &[(&'static str, Interest)]) -> Self {
        Self { interests: interests.to_vec(), ..Self::default() }
    }

    /// Runs over a document and returns the events and the end.
    fn run(mut self, config: &MachineConfig, document: &[u8], cuts: &[usize]) -> (String, RunEnd) {
        let end = run(config, document, cuts, &mut self);
        if !self.copied.is_empty() {
            self.events.push(format!("raw {}", self.copied.escape_ascii()));
        }
        (self.events.join("\n"), end)
    }
}

impl Handler for EventRecorder {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let name = match slot {
            ValueSlot::Top => String::new(),
            ValueSlot::Member(key) => key.with_name(|name| {
                name.map_or_else(|| "?".to_owned(), |name| String::from_utf8_lossy(name).into())
            }),
            ValueSlot::Element(index) => index.to_string(),
        };
        let found = self.interests.iter().find(|(known, _)| *known == name);
        let usual = if kind.is_container() { Interest::Inspect } else { Interest::Copy };
        let interest = found.map_or(usual, |(_, interest)| *interest);
        self.events.push(format!("value '{name}' {kind:?} at {offset}: {interest:?}"));
        Ok(interest)
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        self.events.push(format!("close at {offset}"));
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        let copied = std::mem::take(&mut self.copied);
        self.events.push(format!("copied {} until {offset}", copied.escape_ascii()));
        Ok(())
    }

    fn lead(&mut self, bytes: &[u8]) {
        self.events.push(format!("lead '{}'", bytes.escape_ascii()));
    }

    fn gap(&mut self, bytes: &[u8]) {
        self.events.push(format!("gap '{}'", bytes.escape_ascii()));
    }

    fn takes_long_keys(&self, _: usize) -> bool {
        self.takes_long_keys
    }
}
