//! Separates terminal controls from visible text: escape sequences (ECMA-48, and what xterm adds), C1 controls,
//! carriage returns and backspaces. Sequences that move the cursor or erase text are read as [`ScreenControl`]s.
//!
//! The parser works on bytes and UTF-8, not on lines. The state between chunks is an enum value, two numbers and at most
//! three bytes of a character, so a sequence of any length costs no memory.
//!
//! The crate `vte` reads the same sequences, but is not used here: it replaces bytes that are not UTF-8, and a sequence that
//! is never closed hides all later lines.
//!
//! ```text
//! ESC ─┬─ [ ──▶ Parameters ──▶ Intermediates ──▶ a final byte @…~
//!      ├─ ] ──▶ Osc ──────────▶ BEL, ST
//!      ├─ P X ^ _ ──▶ String ─▶ ST
//!      ├─ space…/ ──▶ Short ──▶ a final byte 0…~
//!      └─ another byte 0…~: that is all
//! ```
//!
//! A C1 control is one character, U+0080 to U+009F, or the raw byte 80 to 9F. It does what ESC and a letter do: U+009B
//! is `ESC [`, U+009D is `ESC ]`, U+0090, U+0098, U+009E and U+009F are `ESC P`, `ESC X`, `ESC ^` and `ESC _`, and
//! U+009C is ST, like `ESC \`. All other C1 controls are removed without further bytes. A raw byte is a control only
//! outside of a character: the bytes of a character, even of an incomplete one, are text. Text in another encoding has such
//! bytes, too (Shift_JIS and GBK, code page 1252). So a raw byte is text if another byte above 7F follows, and everywhere after
//! the first byte that is neither UTF-8 nor a control. This byte also ends a sequence, which may have been one by mistake.
//!
//! CAN and SUB end a sequence and are removed with it. ESC and C1 controls begin another sequence. Any other byte that
//! the sequence cannot contain at its place ends it and is text, so a broken sequence hides little text. A carriage
//! return ends the sequences that contain text (OSC and the like). A line end ends all sequences, see
//! [`Terminal::end_line`].

use std::num::NonZero;

const ESC: u8 = 0x1b;
const CR: u8 = b'\r';
const BS: u8 = 0x08;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// The effect of some bytes on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalEvent<'a> {
    /// The bytes are visible. A character is never split over two of these unless it is incomplete.
    Text(&'a [u8]),
    /// The cursor moves to the beginning of the line.
    Return,
    /// The cursor moves back by one character.
    Backspace,
    /// Another movement, or an erasure.
    Control(ScreenControl),
}

/// A sequence that moves the cursor or changes the text on the screen. Rows and columns are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenControl {
    /// Moves to a column.
    Column(u16),
    /// Moves to a row of the screen.
    Row(u16),
    /// Moves by columns.
    Right(u16),
    /// Moves by columns.
    Left(u16),
    /// Moves by rows, in the same column.
    Up(u16),
    /// Moves by rows, in the same column.
    Down(u16),
    /// Moves up by one row. In the first row of the screen, the rows move down instead.
    ReverseLineFeed,
    /// Sets the scrolling region (DECSTBM) to this number of rows at the top of the screen. `None`: all rows scroll, or the region
    /// does not begin with the first row. Terminals also move to the first row, but programs put the cursor elsewhere at once.
    ScrollingRegion(Option<NonZero<u16>>),
    /// Remembers the place of the cursor.
    Save,
    /// Moves to the remembered place.
    Restore,
    /// Erases text of the row.
    EraseRow(EraseRange),
    /// Erases text of the screen.
    EraseScreen(EraseRange),
    /// Replaces characters by blanks.
    EraseChars(u16),
    /// Removes characters. The text after them moves to the left.
    DeleteChars(u16),
    /// Inserts blanks.
    InsertBlanks(u16),
    /// Hides the cursor: the program is about to repaint lines.
    HideCursor,
    /// Begins an empty screen, with the cursor in its first row.
    NewScreen,
    /// Leaves the alternate screen. The cursor returns to the place in the main screen where it was.
    LeaveScreen,
}

/// The part of a row or screen that is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseRange {
    /// From the cursor to the end.
    After,
    /// From the beginning to the cursor.
    Before,
    /// Everything.
    All,
}

/// The parameters of a control sequence: the first two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SequenceParameters {
    numbers: [u16; 2],
    /// The number that is being read.
    at: usize,
    /// Whether they begin with `?`.
    is_private: bool,
    /// Whether they have another form than numbers separated by semicolons.
    is_other: bool,
}

impl SequenceParameters {
    fn push(&mut self, byte: u8) {
        match byte {
            b'0'..=b'9' => {
                if let Some(number) = self.numbers.get_mut(self.at) {
                    *number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                }
            }
            b';' => self.at = self.at.saturating_add(1),
            b'?' => self.is_private = true,
            _ => self.is_other = true,
        }
    }

    /// Passes on the effect of a control sequence with this final byte.
    fn control(self, last: u8, see: &mut dyn FnMut(TerminalEvent<'_>)) {
        use ScreenControl::{
            Column, DeleteChars, Down, EraseChars, EraseRow, EraseScreen, HideCursor, InsertBlanks,
            LeaveScreen, Left, Restore, Right, Row, Save, ScrollingRegion, Up,
        };
        if self.is_other {
            return;
        }
        let [first, second] = self.numbers;
        // A count that is absent or 0 is 1, and places are counted from 1.
        let (count, place) = (first.max(1), first.saturating_sub(1));
        let mut control = |control| see(TerminalEvent::Control(control));
        if self.is_private {
            match (last, first) {
                (b'l', 25) => control(HideCursor),
                // The alternate screen.
                (b'h', 47 | 1047 | 1049) => control(EraseScreen(EraseRange::All)),
                (b'l', 47 | 1047 | 1049) => control(LeaveScreen),
                _ => {}
            }
            return;
        }
        let range = match first {
            0 => Some(EraseRange::After),
            1 => Some(EraseRange::Before),
            2 => Some(EraseRange::All),
            _ => None,
        };
        match last {
            b'A' => control(Up(count)),
            b'B' | b'e' => control(Down(count)),
            b'C' | b'a' => control(Right(count)),
            b'D' => control(Left(count)),
            b'E' => {
                control(Down(count));
                control(Column(0));
            }
            b'F' => {
                control(Up(count));
                control(Column(0));
            }
            b'G' | b'`' => control(Column(place)),
            b'H' | b'f' => {
                control(Row(place));
                control(Column(second.saturating_sub(1)));
            }
            b'd' => control(Row(place)),
            // The Linux console also erases the screen. Other terminals erase only what has scrolled out of it. So the text
            // before is kept, and the text after is a new screen.
            b'J' if first == 3 => control(EraseScreen(EraseRange::All)),
            b'J' => range.into_iter().for_each(|range| control(EraseScreen(range))),
            b'K' => range.into_iter().for_each(|range| control(EraseRow(range))),
            b'X' => control(EraseChars(count)),
            b'P' => control(DeleteChars(count)),
            b'@' => control(InsertBlanks(count)),
            // The first and the last row of the scrolling region. A region of one row is invalid.
            b'r' if second == 0 || second > count => {
                control(ScrollingRegion(NonZero::new(second).filter(|_| count == 1)));
            }
            b's' => control(Save),
            b'u' => control(Restore),
            _ => {}
        }
    }
}

/// Returns the effect of ESC and one more byte.
fn short_control(last: u8) -> Option<ScreenControl> {
    match last {
        b'7' => Some(ScreenControl::Save),
        b'8' => Some(ScreenControl::Restore),
        b'M' => Some(ScreenControl::ReverseLineFeed),
        b'c' => Some(ScreenControl::NewScreen),
        _ => None,
    }
}

/// The state within a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AnsiState {
    /// Outside of a sequence.
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate bytes.
    Short,
    /// In a control sequence.
    Parameters,
    /// In a control sequence, after its parameters.
    Intermediates,
    /// In an operating system command, which BEL ends as well.
    Osc,
    /// In a device control string, a privacy message, or the like.
    String,
}

/// The role of a byte in an escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SequencePart {
    /// Part of it.
    Inside,
    /// Not part of it.
    Outside,
}

/// The terminal's state at one place of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    state: AnsiState,
    partial: PartialChar,
    parameters: SequenceParameters,
    /// A raw byte that is a control if ASCII follows.
    raw: Option<u8>,
    /// Whether the text is in an encoding other than UTF-8.
    is_legacy: bool,
}

impl Terminal {
    /// Takes the next bytes and passes on their effects. Returns whether some bytes were removed; carriage returns and
    /// backspaces do not count.
    pub fn write(&mut self, mut bytes: &[u8], see: &mut dyn FnMut(TerminalEvent<'_>)) -> bool {
        let mut removed = false;
        while let Some((first, rest)) = bytes.split_first() {
            if let Some(control) = self.raw.take() {
                if first.is_ascii() {
                    removed = true;
                    self.c1(control);
                } else {
                    self.begin_legacy();
                    self.text(&[control], &mut removed, see);
                }
            }
            if self.state == AnsiState::Text && self.partial.is_empty() {
                let (text, control) = bytes.split_at(plain(bytes));
                if !text.is_empty() {
                    see(TerminalEvent::Text(text));
                    bytes = control;
                    continue;
                }
            }
            match self.partial.push(*first) {
                PushResult::More => bytes = rest,
                PushResult::Broken => self.broken_off(&mut removed, see),
                PushResult::Byte => {
                    bytes = rest;
                    match first {
                        0x80..0xA0 if !self.is_legacy => self.raw = Some(*first),
                        0x80.. => {
                            // `FF` begins a unit for a lone surrogate in the text of a JSON string.
                            self.is_legacy |= *first == 0xFF;
                            self.begin_legacy();
                            self.text(&[*first], &mut removed, see);
                        }
                        _ => self.ascii(*first, &mut removed, see),
                    }
                }
                PushResult::Character => {
                    bytes = rest;
                    let character = std::mem::take(&mut self.partial);
                    match character.bytes() {
                        [0xC2, control @ 0x80..0xA0] => {
                            removed = true;
                            self.c1(*control);
                        }
                        character => self.text(character, &mut removed, see),
                    }
                }
            }
        }
        removed
    }

    /// Ends the line, and with it the sequence and the character. Returns whether a byte was removed.
    pub fn end_line(&mut self, see: &mut dyn FnMut(TerminalEvent<'_>)) -> bool {
        let mut removed = false;
        self.broken_off(&mut removed, see);
        // A control without effect.
        removed |= self.raw.take().is_some();
        self.state = AnsiState::Text;
        removed
    }

    /// A byte is neither UTF-8 nor a control. It ends a sequence, which may have been one by mistake.
    fn begin_legacy(&mut self) {
        if !std::mem::replace(&mut self.is_legacy, true) {
            self.state = AnsiState::Text;
        }
    }

    /// Handles an incomplete character.
    fn broken_off(&mut self, removed: &mut bool, see: &mut dyn FnMut(TerminalEvent<'_>)) {
        let partial = std::mem::take(&mut self.partial);
        if !partial.is_empty() {
            self.begin_legacy();
            self.text(partial.bytes(), removed, see);
        }
    }

    /// Handles a character that is not a control, or bytes that are not a character.
    fn text(&mut self, text: &[u8], removed: &mut bool, see: &mut dyn FnMut(TerminalEvent<'_>)) {
        if matches!(self.state, AnsiState::Osc | AnsiState::String) {
            *removed = true;
        } else {
            self.state = AnsiState::Text;
            see(TerminalEvent::Text(text));
        }
    }

    fn c1(&mut self, control: u8) {
        self.state = c1(control);
        self.parameters = SequenceParameters::default();
    }

    fn ascii(&mut self, byte: u8, removed: &mut bool, see: &mut dyn FnMut(TerminalEvent<'_>)) {
        let before = self.state;
        let (state, part) = before.step(byte);
        self.state = state;
        match (part, byte) {
            (SequencePart::Inside, _) => {
                *removed = true;
                match (before, state, byte) {
                    (AnsiState::Escape, AnsiState::Parameters, _) => {
                        self.parameters = SequenceParameters::default();
                    }
                    (AnsiState::Parameters, AnsiState::Parameters, _) => self.parameters.push(byte),
                    (AnsiState::Parameters, AnsiState::Text, b'@'..=b'~') => {
                        self.parameters.control(byte, see);
                    }
                    (AnsiState::Escape, AnsiState::Text, _) => {
                        if let Some(control) = short_control(byte) {
                            see(TerminalEvent::Control(control));
                        }
                    }
                    _ => {}
                }
            }
            (SequencePart::Outside, CR) => see(TerminalEvent::Return),
            (SequencePart::Outside, BS) => see(TerminalEvent::Backspace),
            (SequencePart::Outside, _) => see(TerminalEvent::Text(&[byte])),
        }
    }
}

impl AnsiState {
    /// Returns the state of the sequence after a byte.
    fn step(self, byte: u8) -> (Self, SequencePart) {
        const OUTSIDE: (AnsiState, SequencePart) = (AnsiState::Text, SequencePart::Outside);
        const LAST: (AnsiState, SequencePart) = (AnsiState::Text, SequencePart::Inside);
        let inside = |state| (state, SequencePart::Inside);
        match (self, byte) {
            (_, ESC) => inside(Self::Escape),
            (Self::Text, _) => OUTSIDE,
            (_, CAN | SUB) => LAST,

            (Self::Escape, b'[') => inside(Self::Parameters),
            (Self::Escape, b']') => inside(Self::Osc),
            (Self::Escape, b'P' | b'X' | b'^' | b'_') => inside(Self::String),
            (Self::Escape | Self::Short, b' '..=b'/') => inside(Self::Short),
            (Self::Escape | Self::Short, b'0'..=b'~') => LAST,

            (Self::Parameters, b'0'..=b'?') => inside(Self::Parameters),
            (Self::Parameters | Self::Intermediates, b' '..=b'/') => inside(Self::Intermediates),
            (Self::Parameters | Self::Intermediates, b'@'..=b'~') => LAST,

            (Self::Osc, BEL) => LAST,
            (Self::Osc | Self::String, CR) => OUTSIDE,
            (Self::Osc | Self::String, _) => inside(self),

            (Self::Escape | Self::Short | Self::Parameters | Self::Intermediates, _) => OUTSIDE,
        }
    }
}

/// Returns the kind of sequence that a C1 control begins.
fn c1(control: u8) -> AnsiState {
    match control {
        0x9B => AnsiState::Parameters,
        0x9D => AnsiState::Osc,
        0x90 | 0x98 | 0x9E | 0x9F => AnsiState::String,
        _ => AnsiState::Text,
    }
}

/// The beginning of a character in UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PartialChar {
    bytes: [u8; 4],
    length: u8,
}

/// The result of reading a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PushResult {
    /// The byte is part of a character, and more bytes must follow.
    More,
    /// The byte is the last one of the character in the buffer.
    Character,
    /// The byte does not continue the incomplete character in the buffer. It was not consumed.
    Broken,
    /// A complete unit: ASCII, or a byte outside of valid UTF-8.
    Byte,
}

impl PartialChar {
    fn is_empty(self) -> bool {
        self.length == 0
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) -> PushResult {
        let [lead, ..] = self.bytes;
        let pushed = match (self.length, byte) {
            (0, 0xC2..0xF5) => PushResult::More,
            (0, _) => return PushResult::Byte,
            (1, _) if !second(lead).contains(&byte) => return PushResult::Broken,
            (2.., _) if !(0x80..0xC0).contains(&byte) => return PushResult::Broken,
            (length, _) if length + 1 == width(lead) => PushResult::Character,
            _ => PushResult::More,
        };
        if let Some(place) = self.bytes.get_mut(usize::from(self.length)) {
            *place = byte;
            self.length += 1;
        }
        pushed
    }
}

/// Returns the length of a character with this first byte.
fn width(lead: u8) -> u8 {
    match lead {
        0..0xC2 => 1,
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// Returns the valid range of the second byte after this first byte.
fn second(lead: u8) -> std::ops::Range<u8> {
    match lead {
        0xE0 => 0xA0..0xC0,
        0xED => 0x80..0xA0,
        0xF0 => 0x90..0xC0,
        0xF4 => 0x80..0x90,
        _ => 0x80..0xC0,
    }
}

/// Returns the number of bytes at the beginning that are text, whatever follows: ASCII without ESC, CR and BS, and
/// complete UTF-8 characters other than controls.
pub fn plain(bytes: &[u8]) -> usize {
    /// The number of bytes that are tested together.
    const BLOCK: usize = 32;
    let is_ascii_text = |byte: u8| byte < 0x80 && !matches!(byte, ESC | CR | BS);
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let blocks = rest.chunks_exact(BLOCK);
        let whole = blocks.take_while(|block| {
            // Without a branch per byte, the compiler vectorizes the test.
            block.iter().fold(true, |all, byte| all & is_ascii_text(*byte))
        });
        let ahead = whole.count() * BLOCK;
        let rest = rest.get(ahead..).unwrap_or_default();
        let more = rest.iter().position(|byte| !is_ascii_text(*byte)).unwrap_or(rest.len());
        at += ahead + more;
        match character(rest.get(more..).unwrap_or_default()) {
            0 => return at,
            length => at += length,
        }
    }
}

/// Returns the length of the character at the beginning, or 0 if it is ASCII, a control character or incomplete.
fn character(bytes: &[u8]) -> usize {
    let mut partial = PartialChar::default();
    for byte in bytes.iter().take(4) {
        match partial.push(*byte) {
            PushResult::More => {}
            PushResult::Character => {
                let is_control = matches!(partial.bytes(), [0xC2, 0x80..0xA0]);
                return if is_control { 0 } else { usize::from(partial.length) };
            }
            PushResult::Broken | PushResult::Byte => return 0,
        }
    }
    0
}
