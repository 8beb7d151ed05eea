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
//! **The cursor.** Text that follows a carriage return, a backspace or a sequence that moves the cursor overwrites what is
//! there, as in a terminal: a `TerminalScreen` has the open line, and the lines before it if the text repaints them. Text
//! that was already passed on cannot be changed: then such a movement begins a new line.

use memchr::memchr_iter;

use super::line_end::LineEnd;
use super::line_sink::{LineSink, TextLine};
use super::rendered_text::RenderedText;
use super::terminal_row::{FrameMode, TerminalRow};
use super::terminal_screen::{TerminalScreen, WrittenRows};
use crate::ansi::{EraseRange, ScreenControl, Terminal, TerminalEvent, plain};

const CR: u8 = b'\r';

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
    /// The overwritten texts that become lines.
    frames: FrameMode,
    limit: usize,
    /// The open line, if no screen has it.
    text: Vec<u8>,
    /// The open line, if the cursor has moved in it, and lines that may be repainted.
    screen: Option<Box<TerminalScreen>>,
    /// A screen that is not in use, and a buffer for the text of a row: lines with carriage returns allocate nothing.
    spare: Option<Box<TerminalScreen>>,
    shown: Vec<u8>,
    /// The last lines, which the text may repaint.
    written: WrittenRows,
    /// Whether any bytes of the line have arrived.
    begun: bool,
    /// A carriage return has arrived after the text. It is part of the line end, or the text will be overwritten.
    returned: bool,
    /// Parts of the line were passed on, and the held text overwrites them.
    resumed: bool,
    /// Whether text of the line was overwritten.
    erased: bool,
    /// Whether lines are held on a screen, because the text repaints them.
    repaints: bool,
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
    pub(super) fn new(terminal: bool, frames: FrameMode, limit: usize, marks: bool) -> Self {
        Self {
            terminal,
            frames,
            limit,
            text: Vec::new(),
            screen: None,
            spare: None,
            shown: Vec::new(),
            written: WrittenRows::default(),
            begun: false,
            returned: false,
            resumed: false,
            erased: false,
            repaints: false,
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
            let is_plain = !self.begun && self.screen.is_none() && !self.repaints;
            if is_plain && text.len() <= self.limit && control >= begin + text.len() {
                self.seen += 1;
                if self.terminal {
                    self.written.push(text);
                }
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
        if self.resumed {
            self.leave_screen(true, take);
        }
        if let Some(mut screen) = self.screen.take() {
            screen.end();
            self.settle(&mut screen, take);
            (self.begun, self.returned) = (false, false);
        }
        let shows = !self.text.is_empty() || self.resumed;
        if self.begun && (shows || self.fate != OpenLineState::Held) {
            self.close(LineEnd::Missing, take);
        }
    }

    /// Passes on the lines of the screen, and the beginning of the open line, if the sink accepts it.
    pub(super) fn release(&mut self, take: &mut impl LineSink) {
        self.leave_screen(false, take);
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
                TerminalEvent::Text(text) => {
                    self.put(text, take);
                    self.pass_on_done(take);
                }
                TerminalEvent::Return => {
                    self.rewrote |= self.returned;
                    if let Some(screen) = &mut self.screen {
                        screen.carriage_return();
                    }
                    self.returned = true;
                }
                TerminalEvent::Backspace => self.backspace(),
                TerminalEvent::Control(control) => {
                    self.control(control);
                    self.pass_on_done(take);
                }
            });
            if let Some(mut screen) = self.screen.take() {
                self.settle(&mut screen, take);
                self.screen = Some(screen);
            }
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
        if self.fate == OpenLineState::Held {
            if self.returned && text.iter().all(|byte| byte.is_ascii_control() && *byte != b'\t') {
                // Nothing that a terminal shows.
                self.rewrote = true;
                return;
            }
            if self.returned || self.screen.is_some() || self.repaints {
                return self.put_on_screen(text, take);
            }
        } else if std::mem::take(&mut self.returned) {
            self.rewrote = true;
            match self.fate {
                OpenLineState::Passes => {
                    // Text already passed on remains, as a separate line.
                    take.long(b"\n");
                    self.clean.break_line();
                    self.resumed = true;
                }
                OpenLineState::Lost | OpenLineState::Held => {
                    self.erased = true;
                    self.clean.erase_line();
                    self.is_long = false;
                }
            }
            self.fate = OpenLineState::Held;
            self.text.clear();
        }
        self.text(text, take);
    }

    /// Adds text at the cursor of the screen. A line that gets too long leaves the screen.
    fn put_on_screen(&mut self, text: &[u8], take: &mut impl LineSink) {
        let returned = std::mem::take(&mut self.returned);
        self.rewrote |= returned;
        let limit = self.limit;
        let screen = self.screen();
        if returned {
            screen.carriage_return();
        }
        let done = screen.write(text, limit);
        let rest = text.get(done..).unwrap_or_default();
        if !rest.is_empty() {
            self.leave_screen(false, take);
            self.text(rest, take);
        }
    }

    /// Returns the screen. If there is none, it is made of the open line.
    fn screen(&mut self) -> &mut TerminalScreen {
        let Self { screen, spare, text, frames, seen, repaints, erased, .. } = self;
        screen.get_or_insert_with(|| {
            let mut screen = spare.take().unwrap_or_else(|| Box::new(TerminalScreen::new(*frames)));
            screen.begin(text, *seen, *repaints);
            if std::mem::take(erased) {
                screen.set_erased();
            }
            screen
        })
    }

    /// Passes on the lines of the screen, and takes the open line from it.
    fn leave_screen(&mut self, ends: bool, take: &mut impl LineSink) {
        let Some(mut screen) = self.screen.take() else { return };
        let mut last = screen.take_last();
        self.settle(&mut screen, take);
        if ends {
            last.text(&mut self.text);
        } else {
            last.whole_text(&mut self.text);
        }
        for frame in last.take_frames(&self.text) {
            self.pass_on(&frame, LineEnd::Lf, take);
        }
        self.erased |= last.erased;
        screen.recycle(last);
        self.spare = Some(screen);
    }

    /// Passes on the lines that no later text can change.
    fn settle(&mut self, screen: &mut TerminalScreen, take: &mut impl LineSink) {
        self.repaints = screen.holds;
        screen.limit_frames();
        while let Some(row) = screen.done.pop_front() {
            screen.recycle(self.pass_on_row(row, take));
        }
        if std::mem::take(&mut screen.forgets) {
            self.written.clear();
        }
        for frame in screen.take_frames() {
            self.pass_on(&frame, LineEnd::Lf, take);
        }
    }

    /// Passes on lines as soon as they are done: they do not pile up, and their order does not depend on the chunks.
    fn pass_on_done(&mut self, take: &mut impl LineSink) {
        if let Some(mut screen) = self.screen.take_if(|screen| screen.has_done()) {
            self.settle(&mut screen, take);
            self.screen = Some(screen);
        }
    }

    /// Passes on a row and the lines that precede it, and returns the row.
    fn pass_on_row(&mut self, mut row: TerminalRow, take: &mut impl LineSink) -> TerminalRow {
        let mut text = std::mem::take(&mut self.shown);
        row.text(&mut text);
        for frame in row.take_frames(&text) {
            self.pass_on(&frame, LineEnd::Lf, take);
        }
        self.overwritten += u64::from(row.erased);
        // Movements of the cursor count rows without text, too.
        self.written.push(&text);
        let is_line = row.end.is_some() || !text.is_empty();
        if is_line && !row.is_known(&text) {
            self.pass_on(&text, row.end.unwrap_or_default(), take);
        }
        self.shown = text;
        row
    }

    /// Passes on a complete line: a row, or a frame, which is on no row of the terminal.
    fn pass_on(&mut self, text: &[u8], end: LineEnd, take: &mut impl LineSink) {
        self.steps += text.len() as u64;
        self.seen += 1;
        self.clean.line(text, end);
        take.line(TextLine { text, end });
    }

    /// Moves the cursor back by one column.
    fn backspace(&mut self) {
        self.rewrote = true;
        if self.fate == OpenLineState::Held && !self.returned {
            self.screen().backspace();
        }
    }

    /// Applies a sequence.
    fn control(&mut self, control: ScreenControl) {
        use ScreenControl::{
            Column, Down, EraseRow, HideCursor, LeaveScreen, Left, NewScreen, Restore,
            ReverseLineFeed, Row, ScrollingRegion, Up,
        };
        if let ScrollingRegion(_) = control {
            // It moves nothing, and concerns rows that sequences can name. Other screens may begin with any chunk.
            if let Some(screen) = self.screen.as_mut().filter(|screen| screen.has_page()) {
                screen.control(control, &mut self.written);
            }
            return;
        }
        let leaves = matches!(
            control,
            Row(_) | Up(_) | Down(_) | ReverseLineFeed | Restore | NewScreen | LeaveScreen
        );
        if self.fate != OpenLineState::Held || self.resumed && leaves {
            // Text that was passed on remains. The cursor returns or leaves the line: what follows is another one.
            self.returned |= leaves || matches!(control, Column(_));
            return;
        }
        let is_empty = self.text.is_empty() && self.screen.is_none();
        let is_at_end =
            !self.returned && self.screen.as_ref().is_none_or(|screen| screen.is_at_end());
        match control {
            // Nothing is there to be erased, or the cursor does not move. Programs that print colours erase the rest of
            // the line.
            EraseRow(EraseRange::After) if is_at_end => return,
            EraseRow(_) | Column(0) | Left(_) if is_empty => return,
            HideCursor if is_empty || self.resumed => {
                self.repaints = true;
                return;
            }
            _ => {}
        }
        let returned = self.returned;
        // An erased line may still end with CR LF.
        self.returned &= matches!(control, EraseRow(_));
        let mut written = std::mem::take(&mut self.written);
        let screen = self.screen();
        if returned {
            screen.carriage_return();
        }
        screen.control(control, &mut written);
        self.written = written;
    }

    /// Adds text to the open line, up to the limit.
    fn text(&mut self, bytes: &[u8], take: &mut impl LineSink) {
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

    /// Ends the line at a line feed.
    fn end_line(&mut self, take: &mut impl LineSink) {
        self.end_sequence(take);
        let end = if self.returned { LineEnd::CrLf } else { LineEnd::Lf };
        if self.resumed {
            self.leave_screen(true, take);
        } else if self.repaints && self.fate == OpenLineState::Held {
            self.screen();
        }
        let Some(mut screen) = self.screen.take() else { return self.close(end, take) };
        screen.line_feed(end);
        if !screen.holds {
            screen.finish_above();
        }
        self.settle(&mut screen, take);
        if screen.holds {
            self.screen = Some(screen);
        } else {
            self.spare = Some(screen);
        }
        (self.begun, self.returned) = (false, false);
    }

    fn end_sequence(&mut self, take: &mut impl LineSink) {
        let mut ansi = self.ansi;
        self.rewrote |= ansi.end_line(&mut |seen| {
            if let TerminalEvent::Text(text) = seen {
                self.put(text, take);
            }
        });
        self.ansi = ansi;
    }

    fn close(&mut self, end: LineEnd, take: &mut impl LineSink) {
        self.seen += 1;
        match self.fate {
            OpenLineState::Held => {
                self.steps += self.text.len() as u64;
                if self.terminal {
                    self.written.push(&self.text);
                }
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
                self.written.clear();
                self.clean.end(end);
                take.end_long(end);
            }
            OpenLineState::Lost => {
                self.written.clear();
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
