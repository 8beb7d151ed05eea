//! Writes an event as it was read, in pieces.

use tamis_mcp::spool::{Spool, SpoolError};

use super::event::{DataName, EventLines, LineEnd, SseEvent};
use crate::transport::lines::Collecting;

/// Bytes of an event that are written at once.
pub(super) const PIECE: usize = 64 << 10;

impl SseEvent {
    /// Returns the encoder that writes the event as it was read.
    #[must_use]
    pub fn encode(self) -> SseEncoder {
        let data = match self.data {
            Some(Collecting::Message(spool)) => spool,
            _ => Spool::from_vec(Vec::new()),
        };
        SseEncoder::new(self.lines, data)
    }
}

/// Writes an event in pieces.
#[derive(Debug)]
pub struct SseEncoder {
    lines: std::vec::IntoIter<EventLines>,
    /// Data lines that are being written, and whether the name of the current one was written.
    current: Option<(DataName, LineEnd, u64, bool)>,
    data: Spool,
    /// Bytes of `data` that were written.
    at: u64,
}

impl SseEncoder {
    fn new(lines: Vec<EventLines>, data: Spool) -> Self {
        Self { lines: lines.into_iter(), current: None, data, at: 0 }
    }

    /// Returns the next piece, of about 64 KiB, or `None` at the end.
    ///
    /// # Errors
    /// The error of the temporary file of the data.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, SpoolError> {
        let mut piece = Vec::new();
        while piece.len() < PIECE {
            match self.current {
                Some((.., 0, _)) => self.current = None,
                Some(lines) => self.write_data(lines, &mut piece)?,
                None => match self.lines.next() {
                    Some(EventLines::Raw(bytes)) => piece.extend_from_slice(&bytes),
                    Some(EventLines::Data { name, end, count }) => {
                        self.current = Some((name, end, count, false));
                    }
                    None => break,
                },
            }
        }
        Ok(if piece.is_empty() { None } else { Some(piece) })
    }

    /// Writes a part of a data line.
    fn write_data(
        &mut self,
        (name, end, count, named): (DataName, LineEnd, u64, bool),
        piece: &mut Vec<u8>,
    ) -> Result<(), SpoolError> {
        if !named {
            piece.extend_from_slice(name.bytes());
        }
        let mut rest = (name, end, count, true);
        if count == 1
            && self.lines.as_slice().iter().all(|lines| matches!(lines, EventLines::Raw(_)))
        {
            // The last line: no LF in it, whatever its length.
            let until = self.data.len().min(self.at + PIECE as u64);
            piece.extend_from_slice(&self.data.to_vec(self.at..until, PIECE)?);
            self.at = until;
            if until == self.data.len() {
                piece.extend_from_slice(end.bytes());
                rest.2 = 0;
            }
        } else {
            let until = self.at + PIECE as u64;
            let next = self.data.to_vec(self.at..until, PIECE)?;
            let found = memchr::memchr(b'\n', &next);
            let line = found.map_or(&*next, |at| next.split_at(at).0);
            piece.extend_from_slice(line);
            self.at += line.len() as u64;
            if found.is_some() {
                self.at += 1;
                piece.extend_from_slice(end.bytes());
                rest = (name, end, count - 1, false);
            } else if next.is_empty() {
                // Not reached: the data has as many lines as were counted.
                rest.2 = 0;
            }
        }
        self.current = Some(rest);
        Ok(())
    }
}
