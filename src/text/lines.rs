//! Bytes to lines: where they end, what of them a terminal would show, and what becomes of those that are too long.
//!
//! Knows no rule: a [`Take`] gets the lines. What is kept between chunks is the line that is open, at most `limit` bytes of
//! it, without escape sequences and what was written over; so the limit and everything else depend on the bytes alone,
//! never on the chunks. A line that lies whole in a chunk, with nothing in it to be removed, is handed on as it lies there.
//!
//! **Backspaces** move the cursor back by one character each, and text that follows is written over what stands there, as
//! a terminal does it. A line that has been handed on in part cannot be changed: there backspaces are removed, and a carriage
//! return begins a new line.

use memchr::memchr_iter;

use super::CR;
use super::clean::Clean;
use crate::ansi::{Terminal, TerminalEvent, plain};

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

    /// The same for a line of which more may come, but for which nobody waits any longer: a question, perhaps. If it does not
    /// pass now, it waits for its end.
    fn begin_early(&mut self, head: &[u8]) -> bool;

    /// Whether it is not certain yet that a line that begins so gets no mark: it waits for more.
    fn is_undecided(&self, head: &[u8]) -> bool;

    /// More of a line that passes in parts: its head, too.
    fn long(&mut self, bytes: &[u8]);

    /// A line that passes in parts goes on where a reader sees a new line. `whole`: up to its end.
    fn resume(&mut self, text: &[u8], whole: bool);

    /// The end of a line that passes in parts.
    fn end_long(&mut self, end: End);

    /// A line has ended that begins so that it does not pass.
    fn lost(&mut self);
}

/// What becomes of the open line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    /// It is held.
    #[default]
    Held,
    /// It passes as it comes.
    Passes,
    /// It does not pass.
    Lost,
}

#[derive(Debug)]
pub(super) struct Lines {
    /// Whether a terminal is played.
    terminal: bool,
    limit: usize,
    /// The open line so far, up to the cursor.
    text: Vec<u8>,
    /// What stands after the cursor, the last byte first.
    after: Vec<u8>,
    /// Bytes of it have come.
    begun: bool,
    /// A carriage return has come after the text: the line's end, or the text will be written over.
    returned: bool,
    /// A part of the line has been handed on, and what is held is written over it.
    resumed: bool,
    /// Text of the line was written over.
    erased: bool,
    /// It was longer than the limit, or is.
    is_long: bool,
    ansi: Terminal,
    fate: Fate,
    /// All that a terminal shows, while it is short.
    pub(super) clean: Clean,
    /// Something was removed within a line.
    rewrote: bool,
    /// Line ends, and a last line without one.
    seen: u64,
    too_long: u64,
    overwritten: u64,
    /// Bytes that were looked at, each time they were.
    steps: u64,
}

impl Lines {
    pub(super) fn new(terminal: bool, limit: usize, marks: bool) -> Self {
        Self {
            terminal,
            limit,
            text: Vec::new(),
            after: Vec::new(),
            begun: false,
            returned: false,
            resumed: false,
            erased: false,
            is_long: false,
            ansi: Terminal::default(),
            fate: Fate::Held,
            clean: Clean::new(marks),
            rewrote: false,
            seen: 0,
            too_long: 0,
            overwritten: 0,
            steps: 0,
        }
    }

    /// Whether something was removed within a line.
    pub(super) fn rewrote(&self) -> bool {
        self.rewrote
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn too_long(&self) -> u64 {
        self.too_long
    }

    /// Lines of which some text was written over.
    pub(super) fn overwritten(&self) -> u64 {
        self.overwritten
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
                self.clean.line(text, end);
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
        if !self.terminal {
            return usize::MAX;
        }
        from + plain(chunk.get(from..).unwrap_or_default())
    }

    /// The text is complete.
    pub(super) fn end(&mut self, take: &mut impl Take) {
        self.end_sequence(take);
        if self.returned && self.fate != Fate::Lost {
            self.returned = false;
            if self.terminal {
                self.rewrote = true;
            } else {
                self.text(b"\r", take);
            }
        }
        // Where a terminal shows nothing after the last line end, there is no line.
        let shows = !self.text.is_empty() || !self.after.is_empty() || self.resumed;
        if self.begun && (shows || self.fate != Fate::Held) {
            self.close(End::Missing, take);
        }
    }

    /// Nobody waits for the rest of the open line: it is handed on as far as it has come, if it may be.
    pub(super) fn release(&mut self, take: &mut impl Take) {
        self.join();
        if self.fate != Fate::Held || self.text.is_empty() || take.is_undecided(&self.text) {
            return;
        }
        if self.resumed {
            take.resume(&self.text, false);
        } else if take.begin_early(&self.text) {
            take.long(&self.text);
        } else {
            return;
        }
        self.fate = Fate::Passes;
        self.text.clear();
    }

    /// Some bytes of the open line.
    fn part(&mut self, bytes: &[u8], take: &mut impl Take) {
        if bytes.is_empty() {
            return;
        }
        self.steps += bytes.len() as u64;
        self.begun = true;
        if self.terminal {
            let mut ansi = self.ansi;
            self.rewrote |= ansi.write(bytes, &mut |seen| match seen {
                TerminalEvent::Text(text) => self.put(text, take),
                TerminalEvent::Return => {
                    self.rewrote |= self.returned;
                    self.returned = true;
                }
                TerminalEvent::Backspace => self.backspace(),
            });
            self.ansi = ansi;
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

    /// Text that a terminal shows: if the carriage has returned, what is there goes.
    fn put(&mut self, text: &[u8], take: &mut impl Take) {
        if self.returned {
            self.returned = false;
            self.rewrote = true;
            if self.fate == Fate::Passes {
                // What has passed stays, on a line of its own.
                take.long(b"\n");
                self.clean.break_line();
                self.resumed = true;
            } else {
                let was_lost = self.fate == Fate::Lost;
                self.erased |= was_lost || !self.text.is_empty() || !self.after.is_empty();
                self.clean.erase_line();
                self.is_long = false;
            }
            self.fate = Fate::Held;
            self.text.clear();
            self.after.clear();
        }
        self.text(text, take);
    }

    /// The cursor goes back by one character.
    fn backspace(&mut self) {
        self.rewrote = true;
        if self.fate != Fate::Held || self.returned {
            return;
        }
        while let Some(byte) = self.text.pop() {
            self.after.push(byte);
            if !is_continuation(byte) {
                return;
            }
        }
    }

    /// Text of the open line.
    fn text(&mut self, bytes: &[u8], take: &mut impl Take) {
        let bytes = if self.after.is_empty() { bytes } else { self.write_over(bytes) };
        match self.fate {
            Fate::Held => {}
            Fate::Passes => {
                self.clean.part(bytes);
                return take.long(bytes);
            }
            Fate::Lost => return self.clean.part(bytes),
        }
        let room = self.limit - self.text.len().min(self.limit);
        let (now, later) = bytes.split_at(bytes.len().min(room));
        self.text.extend_from_slice(now);
        if later.is_empty() {
            return;
        }
        self.steps += self.text.len() as u64;
        self.is_long = true;
        self.clean.begin_part(&self.text, false);
        self.clean.part(later);
        if self.resumed {
            take.resume(&self.text, false);
            take.long(later);
            self.fate = Fate::Passes;
        } else if take.begin_long(&self.text) {
            self.fate = Fate::Passes;
            take.long(&self.text);
            take.long(later);
        } else {
            self.fate = Fate::Lost;
        }
        self.text.clear();
    }

    /// Writes over what stands after the cursor, one character for each; what is left of the text.
    fn write_over<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            if !is_continuation(*byte) {
                // Nothing is left, or no room: the rest stands at the end.
                if self.after.is_empty() || self.text.len() + self.after.len() >= self.limit {
                    self.join();
                    return bytes.get(at..).unwrap_or_default();
                }
                let old = self.after.pop();
                while self.after.last().is_some_and(|byte| is_continuation(*byte)) {
                    self.after.pop();
                }
                // Struck twice it is bold, and nothing is lost.
                self.erased |= old.is_some_and(|old| old != *byte && old != b' ');
            } else if self.text.len() + self.after.len() >= self.limit {
                self.join();
                return bytes.get(at..).unwrap_or_default();
            }
            self.text.push(*byte);
        }
        &[]
    }

    /// The cursor goes to the end of the line.
    fn join(&mut self) {
        self.text.extend(self.after.drain(..).rev());
    }

    /// A line feed came.
    fn end_line(&mut self, take: &mut impl Take) {
        self.end_sequence(take);
        let end = if self.returned { End::CrLf } else { End::Lf };
        self.close(end, take);
    }

    fn end_sequence(&mut self, take: &mut impl Take) {
        let mut ansi = self.ansi;
        ansi.end_line(&mut |seen| {
            if let TerminalEvent::Text(text) = seen {
                self.put(text, take);
            }
        });
        self.ansi = ansi;
    }

    fn close(&mut self, end: End, take: &mut impl Take) {
        self.seen += 1;
        self.join();
        match self.fate {
            Fate::Held => {
                self.steps += self.text.len() as u64;
                if self.resumed {
                    self.clean.begin_part(&self.text, true);
                    self.clean.end(end);
                    take.resume(&self.text, true);
                    take.end_long(end);
                } else {
                    self.clean.line(&self.text, end);
                    take.line(Line { text: &self.text, end });
                }
            }
            Fate::Passes => {
                self.clean.end(end);
                take.end_long(end);
            }
            Fate::Lost => {
                self.clean.end(end);
                take.lost();
            }
        }
        self.too_long += u64::from(self.is_long);
        self.overwritten += u64::from(self.erased);
        self.text.clear();
        (self.begun, self.returned, self.resumed) = (false, false, false);
        (self.erased, self.is_long) = (false, false);
        self.fate = Fate::Held;
    }
}

/// Whether a byte goes on with a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
