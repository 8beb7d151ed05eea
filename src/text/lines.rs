//! Bytes to lines: where they end, what of them a terminal would show, and what becomes of those that are too long.
//!
//! Knows no rule: a [`Take`] gets the lines. What is kept between chunks is the line that is open, at most `limit` bytes of
//! it, without escape sequences and what was written over; so the limit and everything else depend on the bytes alone,
//! never on the chunks. A line that lies whole in a chunk, with nothing in it to be removed, is handed on as it lies there.

use memchr::{memchr_iter, memchr2};

use super::ansi::Ansi;
use super::{CR, ESC};

/// How a line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    /// With the text.
    #[default]
    Missing,
    Lf,
    CrLf,
}

impl End {
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Missing => b"",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// A line, ready to be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Without its end.
    pub(crate) text: &'a [u8],
    pub(crate) end: End,
}

/// Takes the lines.
pub(super) trait Take {
    fn line(&mut self, line: Line<'_>);

    /// A line is longer than the limit, and begins so. Whether it passes; if not, nothing more is said of it unless the
    /// terminal writes it over, but that it is [`lost`](Self::lost).
    fn begin_long(&mut self, head: &[u8]) -> bool;

    /// More of a long line that passes: its head, too.
    fn long(&mut self, bytes: &[u8]);

    /// The end of a long line that passes.
    fn end_long(&mut self, end: End);

    /// A long line that does not pass has ended.
    fn lost(&mut self);
}

/// What becomes of the open line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    /// It is not too long yet.
    #[default]
    Held,
    /// It is, and passes.
    Passes,
    /// It is, and goes.
    Lost,
}

#[derive(Debug)]
pub(super) struct Lines {
    /// Whether a terminal is played.
    terminal: bool,
    limit: usize,
    /// The open line so far.
    text: Vec<u8>,
    /// Bytes of it have come.
    begun: bool,
    /// A carriage return has come behind the text: the line's end, or the text will be written over.
    returned: bool,
    ansi: Ansi,
    fate: Fate,
    /// Something was removed within a line.
    rewrote: bool,
    /// Line ends, and a last line without one.
    seen: u64,
    too_long: u64,
    /// Bytes that were looked at, each time they were.
    steps: u64,
}

impl Lines {
    pub(super) fn new(terminal: bool, limit: usize) -> Self {
        Self {
            terminal,
            limit,
            text: Vec::new(),
            begun: false,
            returned: false,
            ansi: Ansi::Text,
            fate: Fate::Held,
            rewrote: false,
            seen: 0,
            too_long: 0,
            steps: 0,
        }
    }

    pub(super) fn rewrote(&self) -> bool {
        self.rewrote
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn too_long(&self) -> u64 {
        self.too_long
    }

    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn write(&mut self, chunk: &[u8], take: &mut impl Take) {
        self.steps += chunk.len() as u64;
        let mut begin = 0;
        let mut control = self.next_control(chunk, 0);
        for at in memchr_iter(b'\n', chunk) {
            let line = chunk.get(begin..at).unwrap_or_default();
            let (text, end) = match line.split_last() {
                Some((&CR, text)) => (text, End::CrLf),
                _ => (line, End::Lf),
            };
            if !self.begun && text.len() <= self.limit && control >= begin + text.len() {
                self.seen += 1;
                take.line(Line { text, end });
            } else {
                self.part(line, take);
                self.end_line(take);
            }
            begin = at + 1;
            if control < begin {
                control = self.next_control(chunk, begin);
            }
        }
        self.part(chunk.get(begin..).unwrap_or_default(), take);
    }

    /// Where the next byte is that is no text for a terminal.
    fn next_control(&self, chunk: &[u8], from: usize) -> usize {
        let rest = chunk.get(from..).filter(|_| self.terminal);
        rest.and_then(|rest| memchr2(ESC, CR, rest)).map_or(usize::MAX, |at| from + at)
    }

    /// The text is complete.
    pub(super) fn end(&mut self, take: &mut impl Take) {
        if self.returned && self.fate != Fate::Lost {
            self.returned = false;
            if self.terminal {
                self.rewrote = true;
            } else {
                self.text(b"\r", take);
            }
        }
        // Where a terminal shows nothing behind the last line end, there is no line.
        if !self.begun || (self.fate == Fate::Held && self.text.is_empty()) {
            return;
        }
        self.close(End::Missing, take);
    }

    /// Some bytes of the open line.
    fn part(&mut self, bytes: &[u8], take: &mut impl Take) {
        if bytes.is_empty() {
            return;
        }
        self.steps += bytes.len() as u64;
        self.begun = true;
        if self.terminal {
            self.shown(bytes, take);
            return;
        }
        if self.returned {
            self.text(b"\r", take);
        }
        let (text, returned) = match bytes.split_last() {
            Some((&CR, text)) => (text, true),
            _ => (bytes, false),
        };
        self.text(text, take);
        self.returned = returned;
    }

    /// The same for a terminal.
    fn shown(&mut self, mut rest: &[u8], take: &mut impl Take) {
        while !rest.is_empty() {
            if self.ansi.is_open() {
                let eaten = self.ansi.eat(rest);
                rest = rest.get(eaten..).unwrap_or_default();
                continue;
            }
            let at = memchr2(ESC, CR, rest).unwrap_or(rest.len());
            let (text, control) = rest.split_at(at);
            if !text.is_empty() {
                self.write_over(take);
                self.text(text, take);
            }
            let Some((control, behind)) = control.split_first() else { return };
            if *control == ESC {
                self.ansi.begin();
                self.rewrote = true;
            } else {
                self.rewrote |= self.returned;
                self.returned = true;
            }
            rest = behind;
        }
    }

    /// Text comes: if the carriage has returned, what is there goes. What has passed cannot; there the return passes, too.
    fn write_over(&mut self, take: &mut impl Take) {
        if !self.returned {
            return;
        }
        self.returned = false;
        if self.fate == Fate::Passes {
            take.long(b"\r");
        } else {
            self.rewrote = true;
            self.fate = Fate::Held;
            self.text.clear();
        }
    }

    /// Text of the open line.
    fn text(&mut self, bytes: &[u8], take: &mut impl Take) {
        match self.fate {
            Fate::Held => {}
            Fate::Passes => return take.long(bytes),
            Fate::Lost => return,
        }
        let room = self.limit - self.text.len().min(self.limit);
        let (now, later) = bytes.split_at(bytes.len().min(room));
        self.text.extend_from_slice(now);
        if later.is_empty() {
            return;
        }
        self.steps += self.text.len() as u64;
        if take.begin_long(&self.text) {
            self.fate = Fate::Passes;
            take.long(&self.text);
            take.long(later);
        } else {
            self.fate = Fate::Lost;
        }
        self.text.clear();
    }

    /// A line feed came.
    fn end_line(&mut self, take: &mut impl Take) {
        let end = if self.returned { End::CrLf } else { End::Lf };
        self.close(end, take);
    }

    fn close(&mut self, end: End, take: &mut impl Take) {
        self.seen += 1;
        match self.fate {
            Fate::Held => {
                self.steps += self.text.len() as u64;
                take.line(Line { text: &self.text, end });
            }
            Fate::Passes => take.end_long(end),
            Fate::Lost => take.lost(),
        }
        self.too_long += u64::from(self.fate != Fate::Held);
        self.text.clear();
        (self.begun, self.returned) = (false, false);
        self.fate = Fate::Held;
        self.ansi.reset();
    }
}
