//! The findings of the first pass over a history, a few bytes each: turns, summaries, and the results that may be pruned.
//!
//! They are kept in a [`Hold`], so that memory does not grow with the history, and can be read from the beginning repeatedly.
//! This module knows no JSON.

use smallvec::SmallVec;
use tamis_json::error::Raise;
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::test_work::{WorkKind, count};

use super::placeholder::Facts;

/// A kind of change to a part of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditKind {
    /// Replaces the inside of a string, or a part of it, with the placeholder.
    Inside,
    /// Replaces a value with a string.
    Text,
    /// Replaces a list of parts with a list of one text.
    TextList,
    /// Replaces a list of parts with a list of one text, as spelled in OpenAI's Responses.
    InputTextList,
    /// Replaces a list of parts with a list of one text without a type, as in Bedrock.
    BareTextList,
    /// Replaces an object with one that has the member `output`.
    Output,
    /// Replaces a value with an output of the AI SDK: an object with `type` and `value`.
    ToolOutput,
    /// Replaces a list with an empty one.
    EmptyList,
    /// Replaces a value with the time.
    Now,
    /// Replaces a null with `{"compacted": …}`.
    NowInTime,
    /// Replaces a null with `{"time": {"compacted": …}}`.
    NowInMetadata,
    /// Inserts `"compacted": …` before a closing bracket, as the only member or after others.
    AddCompacted,
    AddFirstCompacted,
    /// Inserts `"time": {"compacted": …}` before a closing bracket.
    AddTime,
    AddFirstTime,
    /// Inserts `"metadata": {"time": {"compacted": …}}` before a closing bracket.
    AddMetadata,
}

const ACTS: [EditKind; 16] = [
    EditKind::Inside,
    EditKind::Text,
    EditKind::TextList,
    EditKind::InputTextList,
    EditKind::BareTextList,
    EditKind::Output,
    EditKind::ToolOutput,
    EditKind::EmptyList,
    EditKind::Now,
    EditKind::NowInTime,
    EditKind::NowInMetadata,
    EditKind::AddCompacted,
    EditKind::AddFirstCompacted,
    EditKind::AddTime,
    EditKind::AddFirstTime,
    EditKind::AddMetadata,
];

impl EditKind {
    /// Returns whether it inserts before a closing bracket.
    pub(super) fn adds(self) -> bool {
        matches!(
            self,
            Self::AddCompacted
                | Self::AddFirstCompacted
                | Self::AddTime
                | Self::AddFirstTime
                | Self::AddMetadata
        )
    }

    /// Returns whether it removes the text of a result, which a placeholder may describe.
    pub(super) fn removes(self) -> bool {
        matches!(
            self,
            Self::Inside
                | Self::Text
                | Self::TextList
                | Self::InputTextList
                | Self::BareTextList
                | Self::Output
                | Self::ToolOutput
        )
    }
}

/// A change of the bytes from offset `from` to offset `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) act: EditKind,
}

/// A result that may be pruned, with all its changes in document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The number of its tool.
    pub(super) tool: u32,
    /// The id of its call, if a rule or a placeholder needs it.
    pub(super) id: String,
    pub(super) tokens: u64,
    pub(super) edits: SmallVec<[Edit; 2]>,
}

impl Entry {
    /// Returns the offset of its first change.
    pub(super) fn offset(&self) -> u64 {
        self.edits.first().map_or(0, |edit| edit.from)
    }

    /// Returns what a placeholder may say about it. Visits every edit, so call it once per result.
    pub(super) fn facts<'a>(&'a self, tool: &'a str) -> Facts<'a> {
        count(WorkKind::History, self.edits.len());
        let removed = self.edits.iter().filter(|edit| edit.act.removes());
        let bytes = removed.map(|edit| edit.to - edit.from).sum();
        Facts { tool, id: &self.id, bytes, tokens: self.tokens }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The start of another history, in a member of the same name.
    History(u64),
    /// The start of a user's message.
    Turn(u64),
    /// The end of a summary.
    Summary(u64),
    Result(Entry),
}

const TURN: u64 = 0;
const SUMMARY: u64 = 1;
const HISTORY: u64 = 2;
const RESULT: u64 = 3;

#[derive(Debug, Default)]
pub(super) struct Findings {
    hold: Hold,
    meter: Meter,
    scratch: Vec<u8>,
    framed: Vec<u8>,
}

impl Findings {
    pub(super) fn push(&mut self, record: &Finding, limits: &Limits) -> Result<(), Raise> {
        let Self { hold, meter, scratch, framed } = self;
        scratch.clear();
        match record {
            Finding::Turn(offset) => numbers(scratch, &[TURN, *offset]),
            Finding::Summary(offset) => numbers(scratch, &[SUMMARY, *offset]),
            Finding::History(offset) => numbers(scratch, &[HISTORY, *offset]),
            Finding::Result(Entry { tool, id, tokens, edits }) => {
                let (edited, named) = (edits.len() as u64, id.len() as u64);
                numbers(scratch, &[RESULT, u64::from(*tool), *tokens, edited, named]);
                scratch.extend_from_slice(id.as_bytes());
                count(WorkKind::History, edits.len());
                for Edit { from, to, act } in edits {
                    numbers(scratch, &[*act as u64, *from, to - from]);
                }
            }
        }
        framed.clear();
        numbers(framed, &[scratch.len() as u64]);
        framed.extend_from_slice(scratch);
        hold.push(framed, limits, meter)
    }

    /// Returns the largest number of bytes held so far.
    pub(super) fn peak(&self) -> u64 {
        self.meter.peak()
    }
}

/// Appends numbers in base 128, low digits first.
fn numbers(into: &mut Vec<u8>, numbers: &[u64]) {
    for number in numbers {
        let mut rest = *number;
        while rest >= 0x80 {
            into.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        into.push(rest as u8);
    }
}

/// Reads the findings from their beginning.
#[derive(Debug, Default)]
pub(super) struct FindingsReader {
    /// The offset of the current piece, and how much of it has been read.
    at: u64,
    read: usize,
    piece: Vec<u8>,
    record: Vec<u8>,
}

impl FindingsReader {
    pub(super) fn next(&mut self, findings: &mut Findings) -> Result<Option<Finding>, Raise> {
        let mut length = 0;
        let mut shift = 0;
        loop {
            let Some(byte) = self.byte(findings)? else { return Ok(None) };
            length |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        let mut missing = usize::try_from(length).unwrap_or(usize::MAX);
        let end = self.read.saturating_add(missing);
        if let Some(record) = self.piece.get(self.read..end) {
            self.read = end;
            return Ok(decode(record));
        }
        self.record.clear();
        while missing > 0 {
            if self.read >= self.piece.len() && !self.fill(findings)? {
                return Ok(None);
            }
            let rest = self.piece.get(self.read..).unwrap_or_default();
            let now = rest.get(..missing).unwrap_or(rest);
            self.record.extend_from_slice(now);
            self.read += now.len();
            missing -= now.len();
        }
        Ok(decode(&self.record))
    }

    fn byte(&mut self, findings: &mut Findings) -> Result<Option<u8>, Raise> {
        if self.read >= self.piece.len() && !self.fill(findings)? {
            return Ok(None);
        }
        let byte = self.piece.get(self.read).copied();
        self.read += 1;
        Ok(byte)
    }

    fn fill(&mut self, findings: &mut Findings) -> Result<bool, Raise> {
        self.at += self.piece.len() as u64;
        self.read = 0;
        findings.hold.read_at(self.at, &mut self.piece)?;
        Ok(!self.piece.is_empty())
    }
}

fn decode(mut bytes: &[u8]) -> Option<Finding> {
    let rest = &mut bytes;
    match number(rest)? {
        TURN => Some(Finding::Turn(number(rest)?)),
        SUMMARY => Some(Finding::Summary(number(rest)?)),
        HISTORY => Some(Finding::History(number(rest)?)),
        _ => {
            let tool = u32::try_from(number(rest)?).ok()?;
            let tokens = number(rest)?;
            let edited = number(rest)?;
            let named = usize::try_from(number(rest)?).ok()?;
            let (id, after) = rest.split_at_checked(named)?;
            *rest = after;
            let id = std::str::from_utf8(id).ok()?.to_owned();
            let mut edits = SmallVec::new();
            for _ in 0..edited {
                let act = *ACTS.get(usize::try_from(number(rest)?).ok()?)?;
                let from = number(rest)?;
                let to = from + number(rest)?;
                edits.push(Edit { from, to, act });
            }
            Some(Finding::Result(Entry { tool, id, tokens, edits }))
        }
    }
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use tamis_json::limits::Limits;

    use super::{ACTS, Edit, EditKind, Entry, Finding, Findings, FindingsReader};

    #[test]
    fn findings_can_be_read_repeatedly() {
        for (number, act) in ACTS.into_iter().enumerate() {
            assert_eq!(act as usize, number);
        }
        // In memory, in a file, and across both.
        for held in [0, 1, 1000, 1 << 20] {
            let limits = Limits::new().with_held(held);
            let mut findings = Findings::default();
            let edit = |from, to, act| Edit { from, to, act };
            let records: Vec<Finding> = (0..20_000_u64)
                .map(|n| match n % 4 {
                    0 => Finding::Turn(n << (n % 50)),
                    1 if n % 8 == 1 => Finding::History(n),
                    1 => Finding::Summary(n),
                    _ => Finding::Result(Entry {
                        tool: n as u32,
                        id: "é".repeat(n as usize % 7),
                        tokens: n * n,
                        edits: smallvec![
                            edit(n, n + 300, ACTS[n as usize % ACTS.len()]),
                            edit(u64::MAX - n, u64::MAX, EditKind::Inside)
                        ],
                    }),
                })
                .collect();
            records.iter().for_each(|record| findings.push(record, &limits).unwrap());
            for _ in 0..2 {
                let mut reader = FindingsReader::default();
                for record in &records {
                    assert_eq!(reader.next(&mut findings).unwrap().as_ref(), Some(record));
                }
                assert_eq!(reader.next(&mut findings).unwrap(), None);
            }
        }
    }

    #[test]
    fn a_log_has_its_limit() {
        let limits = Limits::new().with_held(3).with_spill(2);
        let mut findings = Findings::default();
        findings.push(&Finding::Turn(1), &limits).unwrap();
        let error = findings.push(&Finding::Turn(2), &limits).unwrap_err();
        assert!(error.message.contains("5 bytes"), "{}", error.message);
    }
}
