//! A stopped run continues as if it had not stopped.

use super::super::{FeedResult, Machine, MachineConfig};
use crate::error::Raise;
use crate::scan::Scanner;
use crate::{Handler, Interest, ValueKind, ValueSlot};

/// Records the events. With `stops` it stops before each container once.
#[derive(Default)]
struct Recorder {
    stops: bool,
    stopped_at: Option<u64>,
    log: Vec<String>,
}

impl Handler for Recorder {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        if self.stops && kind.is_container() && self.stopped_at != Some(offset) {
            self.stopped_at = Some(offset);
            return Ok(Interest::Stop);
        }
        let slot = match slot {
            ValueSlot::Top => "top".to_owned(),
            ValueSlot::Member(key) => String::from_utf8_lossy(key.raw()).into_owned(),
            ValueSlot::Element(index) => index.to_string(),
        };
        self.log.push(format!("{slot} {kind:?} at {offset}"));
        Ok(if kind.is_container() { Interest::Inspect } else { Interest::Skip })
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        self.log.push(format!("close at {offset}"));
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}

    fn lead(&mut self, bytes: &[u8]) {
        self.log.push(format!("lead of {}", bytes.len()));
    }

    fn gap(&mut self, bytes: &[u8]) {
        self.log.push(format!("gap of {}", bytes.len()));
    }
}

/// Returns the events and the error, if there is one.
fn events(text: &[u8], chunk: usize, keep_white: bool, stops: bool) -> (Vec<String>, String) {
    let mut machine = Machine::new(MachineConfig {
        depth: 9,
        key: 99,
        longest_key: 99,
        structure: false,
        keep_white,
        detect_empty_strings: false,
    });
    let mut recorder = Recorder { stops, ..Recorder::default() };
    for (number, chunk_bytes) in text.chunks(chunk).enumerate() {
        let begin = number * chunk;
        let mut rest = chunk_bytes;
        loop {
            match machine.feed(Scanner::new(), rest, &mut recorder) {
                Ok(FeedResult::All) => break,
                Ok(FeedResult::Stopped) => {
                    rest = &chunk_bytes[machine.offset() as usize - begin..];
                }
                Err(error) => return (recorder.log, error.to_string()),
            }
        }
    }
    let ended = machine.end(&mut recorder);
    (recorder.log, ended.err().map_or(String::new(), |error| error.to_string()))
}

#[test]
fn a_stopped_run_continues() {
    let texts: [&[u8]; 3] = [
        br#" { "a" : [ 1, {}, [ ], "x" ], "b\u0020" : { "c" : [ {"d":1} ] } , "e":2 } "#,
        br#"[[],{"key":{"key":["#,
        br#"[1, [2], {"a" : { "b" : [ ?"#,
    ];
    for text in texts {
        for keep_white in [false, true] {
            for chunk in 1..=text.len() {
                let (mut stopped, error) = events(text, chunk, keep_white, true);
                let (mut through, expected) = events(text, chunk, keep_white, false);
                // White space before a value is reported again with the value.
                stopped.dedup();
                through.dedup();
                let shown = String::from_utf8_lossy(text);
                assert_eq!(stopped, through, "{shown} in chunks of {chunk}");
                assert_eq!(error, expected, "{shown} in chunks of {chunk}");
            }
        }
    }
}
