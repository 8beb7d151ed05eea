//! Splits bytes into lines. Applies what a terminal would show, and handles lines that are too long to be held.
//!
//! The receiver of the lines is a `LineSink`. Memory: the open line, at most `limit` bytes, without escape
//! sequences and without overwritten text. So the limit, like everything else, depends only on the bytes and never on
//! the chunks. A line that lies completely in a chunk and has nothing to remove is passed on as a slice of the chunk.
//!
//! ```text
//!        limit exceeded, sink refuses       limit exceeded or released, sink accepts
//! Lost ◀────────────────────────────── Held ──────────────────────────────▶ Passes
//!   └── carriage return, new text: Held ──┘└── carriage return, new text: Held, `resumed`
//! ```
//!
//! **Backspaces** move the cursor back by one character, and text that follows overwrites what is there, as in a
//! terminal. Text that was already passed on cannot be changed: then backspaces are removed, and a carriage return
//! begins a new line.

use memchr::memchr_iter;

use super::rendered_text::RenderedText;
use crate::ansi::{Terminal, TerminalEvent, plain};

const CR: u8 = b'\r';

/// How a line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// The text ends without a line end.
    #[default]
    Missing,
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
}

impl LineEnd {
    /// Returns its spelling.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Missing => b"",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// A complete line.
#[derive(Clone, Copy, Debug)]
pub struct TextLine<'a> {
    /// Without the line end.
    pub text: &'a [u8],
    /// How it ends.
    pub end: LineEnd,
}

/// Receives the lines of a [`LineSplitter`].
pub(super) trait LineSink {
    fn line(&mut self, line: TextLine<'_>);

    /// Begins a line that exceeds the limit. Returns whether its parts are wanted. If not, the only further call for
    /// this line is [`lost`](Self::lost), unless it is overwritten.
    fn begin_long(&mut self, head: &[u8]) -> bool;

    /// Begins a line on release, before it has ended, because a reader may wait for it. Returns whether its parts are
    /// wanted. If not, the line is held on.
    fn begin_early(&mut self, head: &[u8]) -> bool;

    /// Whether more of the line is needed to decide whether it looks like a notice.
    fn is_undecided(&self, head: &[u8]) -> bool;

    /// A part of a line, including its beginning.
    fn long(&mut self, bytes: &[u8]);

    /// Text that overwrites a line of which parts were passed on; a reader sees it as a new line. `whole` is true if
    /// it is the rest of the line.
    fn resume(&mut self, text: &[u8], whole: bool);

    /// The end of a line that was passed on in parts.
    fn end_long(&mut self, end: LineEnd);

    /// The end of a line that was refused.
    fn lost(&mut self);
}

/// Treatment of the open line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OpenLineState {
    /// The line is held.
    #[default]
    Held,
    /// Its parts are passed on as they arrive.
    Passes,
    /// Its parts are dropped.
    Lost,
}

#[derive(Debug)]
pub(super) struct LineSplitter {
    /// Whether escape sequences, carriage returns and backspaces are applied.
    terminal: bool,
    limit: usize,
    /// The open line up to the cursor.
    text: Vec<u8>,
    /// The text after the cursor, in reverse order.
    after: Vec<u8>,
    /// Whether any bytes of the line have arrived.
    begun: bool,
    /// A carriage return has arrived after the text. It is part of the line end, or the text will be overwritten.
    returned: bool,
    /// Parts of the line were passed on, and the held text overwrites them.
    resumed: bool,
    /// Whether text of the line was overwritten.
    erased: bool,
    /// Whether the line has ever exceeded the limit.
    is_long: bool,
    ansi: Terminal,
    fate: OpenLineState,
    /// The text as a terminal shows it, while it is short.
    pub(super) clean: RenderedText,
    /// Whether anything within a line was removed.
    rewrote: bool,
    /// Number of lines, including a last one without a line end.
    seen: u64,
    too_long: u64,
    overwritten: u64,
    /// Number of bytes examined, counted each time.
    steps: u64,
}

impl LineSplitter {
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
            fate: OpenLineState::Held,
            clean: RenderedText::new(marks),
            rewrote: false,
            seen: 0,
            too_long: 0,
            overwritten: 0,
            steps: 0,
        }
    }

    /// Whether anything within a line was removed.
    pub(super) fn rewrote(&self) -> bool {
        self.rewrote
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn too_long(&self) -> u64 {
        self.too_long
    }

    /// Number of lines with overwritten text.
    pub(super) fn overwritten(&self) -> u64 {
        self.overwritten
    }

    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn write(&mut self, chunk: &[u8], take: &mut impl LineSink) {
        self.steps += chunk.len() as u64;
        let mut begin = 0;
        let mut control = self.next_control(chunk, 0);
        for at in memchr_iter(b'\n', chunk) {
            let line = chunk.get(begin..at).unwrap_or_default();
            let (text, end) = match line.split_last() {
                Some((&CR, text)) => (text, LineEnd::CrLf),
                _ => (line, LineEnd::Lf),
            };
            if !self.begun && text.len() <= self.limit && control >= begin + text.len() {
                self.seen += 1;
                self.clean.line(text, end);
                take.line(TextLine { text, end });
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

    /// Position of the next byte that a terminal does not show as text.
    fn next_control(&self, chunk: &[u8], from: usize) -> usize {
        if !self.terminal {
            return usize::MAX;
        }
        from + plain(chunk.get(from..).unwrap_or_default())
    }

    /// Ends the text.
    pub(super) fn end(&mut self, take: &mut impl LineSink) {
        self.end_sequence(take);
        if self.returned && self.fate != OpenLineState::Lost {
            self.returned = false;
            if self.terminal {
                self.rewrote = true;
            } else {
                self.text(b"\r", take);
            }
        }
        // If a terminal shows nothing after the last line end, there is no further line.
        let shows = !self.text.is_empty() || !self.after.is_empty() || self.resumed;
        if self.begun && (shows || self.fate != OpenLineState::Held) {
            self.close(LineEnd::Missing, take);
        }
    }

    /// Passes on the beginning of the open line, if the sink accepts it.
    pub(super) fn release(&mut self, take: &mut impl LineSink) {
        self.join();
        if self.fate != OpenLineState::Held || self.text.is_empty() || take.is_undecided(&self.text)
        {
            return;
        }
        if self.resumed {
            take.resume(&self.text, false);
        } else if take.begin_early(&self.text) {
            take.long(&self.text);
        } else {
            return;
        }
        self.fate = OpenLineState::Passes;
        self.text.clear();
    }

    /// Adds bytes to the open line.
    fn part(&mut self, bytes: &[u8], take: &mut impl LineSink) {
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

    /// Adds text that a terminal shows. After a carriage return, it overwrites the line.
    fn put(&mut self, text: &[u8], take: &mut impl LineSink) {
        if self.returned {
            self.returned = false;
            self.rewrote = true;
            if self.fate == OpenLineState::Passes {
                // Text already passed on remains, as a separate line.
                take.long(b"\n");
                self.clean.break_line();
                self.resumed = true;
            } else {
                let was_lost = self.fate == OpenLineState::Lost;
                self.erased |= was_lost || !self.text.is_empty() || !self.after.is_empty();
                self.clean.erase_line();
                self.is_long = false;
            }
            self.fate = OpenLineState::Held;
            self.text.clear();
            self.after.clear();
        }
        self.text(text, take);
    }

    /// Moves the cursor back by one character.
    fn backspace(&mut self) {
        self.rewrote = true;
        if self.fate != OpenLineState::Held || self.returned {
            return;
        }
        while let Some(byte) = self.text.pop() {
            self.after.push(byte);
            if !is_continuation(byte) {
                return;
            }
        }
    }

    /// Adds text to the open line, up to the limit.
    fn text(&mut self, bytes: &[u8], take: &mut impl LineSink) {
        let bytes = if self.after.is_empty() { bytes } else { self.write_over(bytes) };
        match self.fate {
            OpenLineState::Held => {}
            OpenLineState::Passes => {
                self.clean.part(bytes);
                return take.long(bytes);
            }
            OpenLineState::Lost => return self.clean.part(bytes),
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
            self.fate = OpenLineState::Passes;
        } else if take.begin_long(&self.text) {
            self.fate = OpenLineState::Passes;
            take.long(&self.text);
            take.long(later);
        } else {
            self.fate = OpenLineState::Lost;
        }
        self.text.clear();
    }

    /// Overwrites the text after the cursor, character by character. Returns the bytes that are to be appended.
    fn write_over<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            if !is_continuation(*byte) {
                // Nothing is left to overwrite, or the line is full. The rest is appended.
                if self.after.is_empty() || self.text.len() + self.after.len() >= self.limit {
                    self.join();
                    return bytes.get(at..).unwrap_or_default();
                }
                let old = self.after.pop();
                while self.after.last().is_some_and(|byte| is_continuation(*byte)) {
                    self.after.pop();
                }
                // A character printed twice is bold; nothing is lost.
                self.erased |= old.is_some_and(|old| old != *byte && old != b' ');
            } else if self.text.len() + self.after.len() >= self.limit {
                self.join();
                return bytes.get(at..).unwrap_or_default();
            }
            self.text.push(*byte);
        }
        &[]
    }

    /// Moves the cursor to the end of the line.
    fn join(&mut self) {
        self.text.extend(self.after.drain(..).rev());
    }

    /// Ends the line at a line feed.
    fn end_line(&mut self, take: &mut impl LineSink) {
        self.end_sequence(take);
        let end = if self.returned { LineEnd::CrLf } else { LineEnd::Lf };
        self.close(end, take);
    }

    fn end_sequence(&mut self, take: &mut impl LineSink) {
        let mut ansi = self.ansi;
        ansi.end_line(&mut |seen| {
            if let TerminalEvent::Text(text) = seen {
                self.put(text, take);
            }
        });
        self.ansi = ansi;
    }

    fn close(&mut self, end: LineEnd, take: &mut impl LineSink) {
        self.seen += 1;
        self.join();
        match self.fate {
            OpenLineState::Held => {
                self.steps += self.text.len() as u64;
                if self.resumed {
                    self.clean.begin_part(&self.text, true);
                    self.clean.end(end);
                    take.resume(&self.text, true);
                    take.end_long(end);
                } else {
                    self.clean.line(&self.text, end);
                    take.line(TextLine { text: &self.text, end });
                }
            }
            OpenLineState::Passes => {
                self.clean.end(end);
                take.end_long(end);
            }
            OpenLineState::Lost => {
                self.clean.end(end);
                take.lost();
            }
        }
        self.too_long += u64::from(self.is_long);
        self.overwritten += u64::from(self.erased);
        self.text.clear();
        (self.begun, self.returned, self.resumed) = (false, false, false);
        (self.erased, self.is_long) = (false, false);
        self.fate = OpenLineState::Held;
    }
}

/// Whether a byte is a continuation byte of UTF-8.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
