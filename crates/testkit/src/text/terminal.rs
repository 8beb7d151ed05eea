//! The model of a terminal: one line of cells, and the effect of escape sequences on it.

use std::sync::LazyLock;

use regex::bytes::Regex;
use unicode_width::UnicodeWidthChar;

/// The escape sequences of ECMA-48 and xterm, and the beginnings of incomplete ones.
static SEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?sx-u) \x1b (?:
        \[ [0-?]* [\x20-/]* [@-~\x18\x1a]?
        | \] [^\x07\x18\x1a\x1b\r\n]* (?: [\x07\x18\x1a] | \x1b\\ )?
        | [PX^_] [^\x18\x1a\x1b\r\n]* (?: [\x18\x1a] | \x1b\\ )?
        | [\x20-/]* [0-~\x18\x1a]?
    )";
    Regex::new(pattern).unwrap()
});

/// A C1 control has the meaning of ESC and a letter.
pub(super) fn seven_bit(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let escape = |control: u32| [0x1b, control as u8 - 0x40];
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            match u32::from(char) {
                control @ 0x80..0xA0 => out.extend(escape(control)),
                _ => out.extend(char.to_string().bytes()),
            }
        }
        out.extend(chunk.invalid());
    }
    out
}

/// Writes raw bytes that are C1 controls as characters. A text in another encoding has no controls of this kind.
pub(super) fn with_controls(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut is_legacy = false;
    for chunk in text.utf8_chunks() {
        out.extend(chunk.valid().bytes());
        let end = chunk.invalid().as_ptr_range().end as usize - text.as_ptr() as usize;
        match (chunk.invalid(), text.get(end)) {
            ([], _) => {}
            ([control @ 0x80..0xA0], next) if !is_legacy && next.is_none_or(u8::is_ascii) => {
                out.extend(char::from(*control).to_string().bytes());
            }
            (broken, _) => {
                // The first one ends a sequence, but for `FF`: a string terminator.
                if !std::mem::replace(&mut is_legacy, true) && broken != [0xFF] {
                    out.extend("\u{9c}".bytes());
                }
                out.extend(broken);
            }
        }
    }
    out
}

/// Removes escape sequences.
pub(super) fn without_sequences(text: &[u8]) -> Vec<u8> {
    SEQUENCE.replace_all(&seven_bit(text), b"").into_owned()
}

/// Whether the model plays all sequences of a text.
pub(super) fn plays(text: &[u8]) -> bool {
    static OTHER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?-u)\x1b(?:[78Mc]|\[[0-9;?]*[ABE-FHJPXdefhlsu@`]|\[1K)$").unwrap()
    });
    let text = seven_bit(&with_controls(text));
    !SEQUENCE.find_iter(&text).any(|sequence| OTHER.is_match(sequence.as_bytes()))
}

/// A step of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// A character, or a single byte of invalid UTF-8.
    Put(&'a [u8]),
    Return,
    Backspace,
    /// Moves to a column, relative to the cursor or not.
    Column(usize),
    Right(usize),
    Left(usize),
    EraseAfter,
    EraseAll,
    Nothing,
}

pub(super) fn steps(text: &[u8]) -> Vec<Step<'_>> {
    let (mut steps, mut at) = (Vec::new(), 0);
    while at < text.len() {
        if let Some(found) = SEQUENCE.find_at(text, at).filter(|found| found.start() == at) {
            at = found.end();
            steps.push(effect(found.as_bytes()));
            continue;
        }
        let rest = &text[at..];
        let length = match rest.utf8_chunks().next() {
            Some(chunk) if !chunk.valid().is_empty() => {
                chunk.valid().chars().next().map_or(1, char::len_utf8)
            }
            _ => 1,
        };
        steps.push(match rest[0] {
            b'\r' => Step::Return,
            8 => Step::Backspace,
            _ => Step::Put(&rest[..length]),
        });
        at += length;
    }
    steps
}

fn effect(sequence: &[u8]) -> Step<'_> {
    let text = std::str::from_utf8(sequence).unwrap_or_default();
    let Some(body) = text.strip_prefix("\x1b[") else { return Step::Nothing };
    let Some(last) = body.chars().last() else { return Step::Nothing };
    let parameters = &body[..body.len() - last.len_utf8()];
    if !parameters.chars().all(|char| char.is_ascii_digit() || char == ';') {
        return Step::Nothing;
    }
    // Numbers that are too large are the largest one.
    let most = usize::from(u16::MAX);
    let number = match parameters.split(';').next().unwrap_or_default() {
        "" => 0,
        digits => digits.parse().map_or(most, |number: usize| number.min(most)),
    };
    match last {
        'a' | 'C' => Step::Right(number.max(1)),
        'D' => Step::Left(number.max(1)),
        'G' => Step::Column(number.max(1) - 1),
        'K' if number == 0 => Step::EraseAfter,
        'K' if number == 2 => Step::EraseAll,
        _ => Step::Nothing,
    }
}

/// Whether a line that is too long is kept, by its beginning.
type Stays<'a> = &'a dyn Fn(&[u8]) -> bool;

/// The most bytes of a character with its marks.
const CHARACTER: usize = 64;

/// The open line: a plain text until the cursor moves, then cells. An empty cell continues the one before it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) plain: bool,
    pub(super) text: Vec<u8>,
    cells: Vec<Option<Vec<u8>>>,
    column: usize,
    pub(super) returned: bool,
    /// Whether the line is too long, and passed on.
    pub(super) long: Option<bool>,
    /// Text that overwrites what was passed on.
    pub(super) resumed: bool,
    input: usize,
    /// The first cell, if a blank was just written over it.
    blanked: Option<Vec<u8>>,
    /// Whether text was written since the cursor was at the beginning, and the column after it.
    written: bool,
    written_to: usize,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            plain: true,
            text: Vec::new(),
            cells: Vec::new(),
            column: 0,
            returned: false,
            long: None,
            resumed: false,
            input: 0,
            blanked: None,
            written: false,
            written_to: 0,
        }
    }
}

impl Row {
    pub(super) fn take(
        &mut self,
        step: Step<'_>,
        limit: usize,
        stays: Stays<'_>,
        passed: &mut Vec<Vec<u8>>,
    ) {
        if self.long.is_some() {
            match step {
                Step::Put(bytes) => {
                    if std::mem::take(&mut self.returned) {
                        let resumed = self.long == Some(true);
                        if resumed {
                            passed.push(std::mem::take(&mut self.text));
                        }
                        *self = Self { resumed, ..Self::default() };
                        return self.take(step, limit, stays, passed);
                    }
                    self.text.extend(bytes);
                }
                Step::Return | Step::Column(_) => self.returned = true,
                _ => {}
            }
            return;
        }
        match step {
            Step::Put(bytes) => self.put(bytes, limit, stays),
            Step::Return => {
                if let Some(old) = self.blanked.take() {
                    self.cells[0] = Some(old);
                }
                self.written = false;
                self.returned = true;
            }
            Step::Backspace => {
                if !self.returned {
                    self.split();
                    self.column = self.column.saturating_sub(1);
                }
            }
            Step::Nothing => {}
            _ => self.control(step),
        }
    }

    fn control(&mut self, step: Step<'_>) {
        let is_empty = self.plain && self.text.is_empty();
        let skips = match step {
            Step::EraseAfter if !self.returned && self.plain => true,
            Step::EraseAfter | Step::EraseAll | Step::Column(0) | Step::Left(_) => is_empty,
            _ => false,
        };
        if skips {
            return;
        }
        self.split();
        let number = match step {
            Step::Column(to) => to + 1,
            Step::Right(by) => by,
            _ => 1,
        };
        self.input += 2 + if number < 2 { 0 } else { number.to_string().len() };
        if self.returned {
            self.column = 0;
        }
        self.returned &= matches!(step, Step::EraseAfter | Step::EraseAll);
        match step {
            Step::Column(to) => {
                self.column = to.min(self.cells.len().max(1000));
                self.written &= to > 0;
            }
            Step::Right(by) => self.column = (self.column + by).min(self.cells.len().max(1000)),
            Step::Left(by) => {
                self.column = self.column.saturating_sub(by);
                self.written &= self.column > 0;
            }
            Step::EraseAll => {
                self.erase_written(0);
                self.blanked = self.blanked.take().filter(|_| self.cells.is_empty());
                self.cells.clear();
            }
            Step::EraseAfter if self.column < self.cells.len() => {
                self.blanked = None;
                self.erase_written(self.column);
                self.break_up(self.column);
                self.cells.truncate(self.column);
            }
            _ => {}
        }
    }

    /// Text that is erased was complete, unless it is the rest of a longer one.
    fn erase_written(&mut self, from: usize) {
        let is_text = self.cells[from.min(self.cells.len())..].iter().any(Option::is_some);
        self.written &= !is_text || from >= self.written_to;
    }

    /// Makes cells of the text.
    fn split(&mut self) {
        if !std::mem::take(&mut self.plain) {
            return;
        }
        let is_returned = self.returned;
        let text = std::mem::take(&mut self.text);
        (self.input, self.column) = (0, 0);
        for step in steps(&text) {
            if let Step::Put(bytes) = step {
                self.write(bytes);
            }
        }
        self.input = text.len();
        self.written = !text.is_empty() && !is_returned;
    }

    fn length(&self) -> usize {
        self.cells.iter().map(|cell| cell.as_ref().map_or(1, Vec::len)).sum()
    }

    fn put(&mut self, bytes: &[u8], limit: usize, stays: Stays<'_>) {
        let is_control = bytes[0] < 0x20 && bytes != b"\t" || bytes[0] == 0x7f;
        if self.returned && is_control {
            return;
        }
        if self.returned {
            self.split();
            self.returned = false;
            self.column = 0;
        }
        if !self.plain {
            let gap = self.column.saturating_sub(self.cells.len());
            if is_control {
                return;
            }
            if self.length() + gap + bytes.len() <= limit {
                return self.write(bytes);
            }
            self.text = self.whole();
            self.cells.clear();
            self.plain = true;
        }
        self.text.extend(bytes);
        if self.text.len() > limit {
            self.long = Some(self.resumed || stays(&self.text[..limit]));
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input += bytes.len();
        let column = self.column;
        if bytes == b"\t" {
            let next = (column / 8 + 1) * 8;
            if column >= self.cells.len() {
                self.cells.resize(column, None);
                self.cells.push(Some(b"\t".to_vec()));
                self.cells.resize(next, Some(Vec::new()));
                (self.written, self.written_to) = (true, next);
            }
            self.column = next;
            return;
        }
        let blanked = self.blanked.take();
        let before = self.cells[..column.min(self.cells.len())].iter();
        let base = before.take(column).rposition(|cell| !cell.as_ref().is_some_and(Vec::is_empty));
        let width = match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => 1,
            Ok(text) => text.chars().map(|char| char.width().unwrap_or(0)).sum(),
            Err(_) => usize::from(bytes[0] & 0xC0 != 0x80),
        };
        if width == 0
            && let Some(Some(cell)) = base.and_then(|base| self.cells.get_mut(base))
            && cell.len() + bytes.len() <= CHARACTER
        {
            cell.extend(bytes);
            return;
        }
        let is_first = !std::mem::replace(&mut self.written, true);
        let columns = width.max(1);
        let old = self.cells.get(column).cloned().flatten();
        if let Some(old) = old
            && column == 0
            && is_first
            && blanked.is_none()
            && bytes == b" "
            && old != b" "
        {
            self.blanked = Some(old);
        }
        if self.cells.len() < column {
            self.cells.resize(column, None);
        }
        for at in column..column + columns {
            self.break_up(at);
            if at == self.cells.len() {
                self.cells.push(None);
            }
            self.cells[at] = Some(Vec::new());
        }
        self.cells[column] = Some(bytes.to_vec());
        self.column = column + columns;
        self.written_to = self.column;
    }

    /// Turns the character at a column into gaps.
    fn break_up(&mut self, at: usize) {
        if at >= self.cells.len() {
            return;
        }
        let is_more = |cell: &Option<Vec<u8>>| cell.as_ref().is_some_and(Vec::is_empty);
        let mut from = at;
        while from > 0 && is_more(&self.cells[from]) {
            from -= 1;
        }
        self.cells[from] = None;
        for cell in self.cells[from + 1..].iter_mut().take_while(|cell| is_more(cell)) {
            *cell = None;
        }
    }

    fn whole(&self) -> Vec<u8> {
        let narrow = self.length() > self.input;
        let mut text = Vec::new();
        for (at, cell) in self.cells.iter().enumerate() {
            match cell {
                None if narrow && at > 0 && self.cells[at - 1].is_none() => {}
                None => text.push(b' '),
                Some(bytes) => text.extend(bytes),
            }
        }
        text
    }

    pub(super) fn shown(&self) -> Vec<u8> {
        let mut text = self.whole();
        while text.last() == Some(&b' ') {
            text.pop();
        }
        text
    }
}
