//! An event, and how it was written.

use tamis_mcp::OverflowScan;
use tamis_mcp::spool::Spool;

use crate::transport::lines::Collecting;

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    Lf,
    Cr,
    CrLf,
}

impl LineEnd {
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Cr => b"\r",
            Self::CrLf => b"\r\n",
        }
    }
}

/// How the name of a data line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataName {
    /// `data`, without a value.
    Bare,
    /// `data:`
    Colon,
    /// `data: `
    Space,
}

impl DataName {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match bytes {
            b"data" => Self::Bare,
            b"data:" => Self::Colon,
            _ => Self::Space,
        }
    }

    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Bare => b"data",
            Self::Colon => b"data:",
            Self::Space => b"data: ",
        }
    }
}

/// Lines of an event, as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventLines {
    /// Bytes to repeat, with the end of their line.
    Raw(Vec<u8>),
    /// Data lines in the same style. Their values are in the data of the event.
    Data { name: DataName, end: LineEnd, count: u64 },
}

/// An event of a stream, complete.
#[derive(Debug)]
pub struct SseEvent {
    pub(super) lines: Vec<EventLines>,
    pub(super) data: Option<Collecting>,
    /// The value of the last `id` field.
    pub(super) id: Option<Vec<u8>>,
    /// The value of the last `retry` field: milliseconds.
    pub(super) retry: Option<u64>,
    /// Whether clients read the data as a message: the type is `message` or missing.
    pub(super) message: bool,
}

/// The data of an event.
#[derive(Debug)]
pub enum EventData<'a> {
    /// No data, or empty data, as in the priming event of a resumable stream; or an event of another type.
    NotMessage,
    /// The values of all data lines, joined by LF.
    Message(&'a Spool),
    /// The data was beyond the limits and is lost.
    TooLong,
}

impl SseEvent {
    pub(super) fn empty() -> Self {
        Self { lines: Vec::new(), data: None, id: None, retry: None, message: true }
    }

    /// Creates the LF of an event whose empty line ended with CR at the end of a piece.
    pub(super) fn of_rest() -> Self {
        Self { lines: vec![EventLines::Raw(b"\n".to_vec())], ..Self::empty() }
    }

    /// Creates an event that carries a message.
    #[must_use]
    pub fn of_message(message: Vec<u8>) -> Self {
        let one = EventLines::Data { name: DataName::Space, end: LineEnd::Lf, count: 1 };
        let name = EventLines::Raw(b"event: message\n".to_vec());
        Self {
            lines: vec![name, one, EventLines::Raw(b"\n".to_vec())],
            data: Some(Collecting::Message(Spool::from_vec(message))),
            ..Self::empty()
        }
    }

    /// Returns the data as a message, if it is one.
    #[must_use]
    pub fn data(&self) -> EventData<'_> {
        match &self.data {
            Some(Collecting::TooLong(_)) => EventData::TooLong,
            Some(Collecting::Message(spool)) if self.message && !spool.is_empty() => {
                EventData::Message(spool)
            }
            _ => EventData::NotMessage,
        }
    }

    /// Returns the value of the `id` field. The stream can be resumed after an event that has one.
    #[must_use]
    pub fn id(&self) -> Option<&[u8]> {
        self.id.as_deref()
    }

    /// Returns the value of the `retry` field: how many milliseconds to wait before resuming.
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Takes the data out, for a filter in another thread. [`SseEvent::restore_data`] puts it back.
    pub(crate) fn take_data(&mut self) -> Spool {
        match self.data.take() {
            Some(Collecting::Message(spool)) => spool,
            _ => Spool::from_vec(Vec::new()),
        }
    }

    /// Puts the data back that [`SseEvent::take_data`] took out.
    #[must_use]
    pub(crate) fn restore_data(mut self, data: Spool) -> Self {
        self.data = Some(Collecting::Message(data));
        self
    }

    /// Returns the scan of data that is beyond the limits, and an event with what may be forwarded of this one.
    #[must_use]
    pub fn into_scan(mut self) -> Option<(OverflowScan, Self)> {
        match self.data.take() {
            Some(Collecting::TooLong(scan)) => Some((scan, self.without_data())),
            _ => None,
        }
    }

    /// Replaces the data. The new data becomes one line, at the place of the first data line.
    ///
    /// `data` must not have line ends in it.
    #[must_use]
    pub fn with_data(mut self, data: Spool) -> Self {
        let mut written = false;
        self.lines.retain_mut(|lines| match lines {
            EventLines::Raw(_) => true,
            EventLines::Data { name, count, .. } => {
                if *name == DataName::Bare {
                    *name = DataName::Space;
                }
                *count = 1;
                !std::mem::replace(&mut written, true)
            }
        });
        self.data = Some(Collecting::Message(data));
        self
    }

    /// Removes the data. The place in the stream and the time for reconnecting are kept, since clients need them.
    /// Otherwise nothing is left.
    #[must_use]
    pub fn without_data(mut self) -> Self {
        self.data = None;
        if self.id.is_some() || self.retry.is_some() {
            self.lines.retain(|lines| matches!(lines, EventLines::Raw(_)));
        } else {
            self.lines.clear();
        }
        self
    }
}
