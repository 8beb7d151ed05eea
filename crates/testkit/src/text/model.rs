//! The model of text filters. It applies each operation to the whole text.
//!
//! It is slow and plain: each operation is a function over all lines, escape sequences are a regular expression, and there are no
//! chunks. It knows only the plain forms of imitated notices.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::bytes::Regex;
use serde_json::{Value as Json, json};
use tamis::text::TextSpec;

/// A pattern in the model, which cannot derive what the engine can conclude from the beginning of a long line.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub text: &'static str,
    /// For lines of which only the beginning is matched: whether a match there is a match of the line.
    pub sure: bool,
    /// The length from which a beginning without a match means that the line has none.
    pub exact_from: usize,
}

/// The equal lines that are joined into one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dedup {
    #[default]
    Off,
    Neighbours,
    Everywhere,
}

/// The declared operations.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    pub strip_ansi: bool,
    pub strip: Vec<Pattern>,
    pub keep: Vec<Pattern>,
    pub dedup: Dedup,
    pub max_lines: usize,
    pub on_empty: Option<&'static str>,
}

impl Declared {
    pub fn filter(&self) -> TextSpec {
        let texts = |patterns: &[Pattern]| -> Option<Vec<&str>> {
            (!patterns.is_empty()).then(|| patterns.iter().map(|pattern| pattern.text).collect())
        };
        let dedup = match self.dedup {
            Dedup::Off => json!(false),
            Dedup::Neighbours => json!(true),
            Dedup::Everywhere => json!({"scope": "all"}),
        };
        let mut json = json!({"strip_ansi": self.strip_ansi, "dedup": dedup});
        json["max_lines"] = self.max_lines.into();
        if let Some(texts) = texts(&self.strip) {
            json["strip_lines_matching"] = texts.into();
        }
        if let Some(texts) = texts(&self.keep) {
            json["keep_lines_matching"] = texts.into();
        }
        if let Some(text) = self.on_empty {
            json["on_empty"] = Json::from(text);
        }
        serde_json::from_value(json).expect("a filter")
    }
}

/// A line and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    text: Vec<u8>,
    end: &'static str,
    /// Whether the line is too long to be matched as a whole.
    long: bool,
    /// The number of lines of the text that it represents.
    lines: usize,
}

impl Line {
    fn length(&self) -> usize {
        self.text.len() + self.end.len()
    }

    /// The length inside a JSON string, where a lone surrogate counts as five bytes. A character of three bytes represents it here.
    fn spelled_length(&self) -> usize {
        let text = String::from_utf8_lossy(&self.text);
        let lone = text.chars().filter(|char| ('\u{e000}'..'\u{e800}').contains(char)).count();
        self.length() + 2 * lone
    }
}

/// The escape sequences of ECMA-48 and xterm, and the beginnings of incomplete ones.
static SEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"\x1b\[[0-?]*[ -/]*[@-~\x18\x1a]?",
        r"\x1b\][^\x07\x18\x1a\x1b\r\n]*(?:[\x07\x18\x1a]|\x1b\\)?",
        r"\x1b[PX^_][^\x18\x1a\x1b\r\n]*(?:[\x18\x1a]|\x1b\\)?",
        r"\x1b[ -/]*[0-~\x18\x1a]?",
    ];
    Regex::new(&format!("(?s-u){}", forms.join("|"))).unwrap()
});

/// A C1 control has the meaning of ESC and a letter.
fn seven_bit(text: &[u8]) -> Vec<u8> {
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
fn with_controls(text: &[u8]) -> Vec<u8> {
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
                is_legacy = true;
                out.extend(broken);
            }
        }
    }
    out
}

/// Removes escape sequences.
fn without_sequences(text: &[u8]) -> Vec<u8> {
    SEQUENCE.replace_all(&seven_bit(text), b"").into_owned()
}

/// Returns the output, and whether an operation changed the text.
pub fn run(declared: &Declared, text: &[u8], limit: usize) -> Vec<u8> {
    let marks = declared.filter() != TextSpec::new();
    let text = if declared.strip_ansi { with_controls(text) } else { text.to_vec() };
    let mut lines = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        lines.extend(clean(declared, line, limit));
    }
    let mut folded = Vec::new();
    if declared.dedup == Dedup::Everywhere {
        folded = everywhere(&lines);
    } else {
        let folds = declared.dedup == Dedup::Neighbours;
        for run in lines.chunk_by(|a, b| folds && are_equal(a, b)) {
            folded.extend(fold(run));
        }
    }
    let mut out: Vec<u8> = Vec::new();
    let mut write = |lines: &[Line]| {
        for line in lines {
            out.extend(if marks { marked(line, limit) } else { line.text.clone() });
            out.extend(line.end.bytes());
        }
    };
    let max = if declared.max_lines == 0 { usize::MAX } else { declared.max_lines };
    if let Some(rest) = folded.get(max..)
        && let Some(last) = rest.last()
    {
        let count: usize = rest.iter().map(|line| line.lines).sum();
        let noun = if count == 1 { "line" } else { "lines" };
        let note = format!("... {count} {noun} left out{}", last.end);
        let length: usize = rest.iter().map(Line::spelled_length).sum();
        if length > note.len() || rest.iter().any(|line| line.long) {
            write(&folded[..max]);
            out.extend(note.bytes());
            return out;
        }
    }
    write(&folded);
    if out.is_empty() {
        out.extend(declared.on_empty.unwrap_or_default().bytes());
    }
    out
}

/// Marks the places in a line at which a notice begins.
fn marked(line: &Line, limit: usize) -> Vec<u8> {
    static BREAK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?-u)[\r\x0b\x0c]|\xc2\x85|\xe2\x80[\xa8\xa9]").unwrap());
    let whole = |part: &[u8]| if is_notice(part) { [b"| ", part].concat() } else { part.to_vec() };
    if line.long {
        let parts = line.text.split(|byte| *byte == b'\n').map(|part| {
            let begins = part.len() > limit && may_begin(&part[..limit]);
            if begins {
                [b"| ", part].concat()
            } else if part.len() > limit {
                part.to_vec()
            } else {
                whole(part)
            }
        });
        return parts.collect::<Vec<_>>().join(&b'\n');
    }
    let (mut out, mut begin) = (Vec::new(), 0);
    for at in BREAK.find_iter(&line.text) {
        out.extend(whole(&line.text[begin..at.start()]));
        out.extend(at.as_bytes());
        begin = at.end();
    }
    out.extend(whole(&line.text[begin..]));
    out
}

/// The beginning of a line that the engine matches.
fn seen(head: &[u8]) -> Vec<u8> {
    let text = without_sequences(head);
    text.into_iter().filter(|byte| !byte.is_ascii_control() || *byte == b'\t').collect()
}

fn is_notice(line: &[u8]) -> bool {
    static NOTICE: LazyLock<Regex> = LazyLock::new(|| {
        let own = r"\[ *tamis(?:[^a-z0-9_]|$)";
        let left_out = r"\[? *\.\.+ *(?:about |at least |~)*[0-9,._']+ +[a-z]+ +left out";
        Regex::new(&format!(r"(?si-u)^[ \t]*(?:{own}|{left_out})")).unwrap()
    });
    NOTICE.is_match(&seen(line))
}

/// Whether a line longer than this beginning may be a notice: it is one if the end of some notice follows.
fn may_begin(head: &[u8]) -> bool {
    let whole = [
        "[tamis ",
        "[... about 3 lines left out",
        "at least 3 lines left out",
        "~3 lines left out",
    ];
    let seen = seen(head);
    whole.iter().any(|text| {
        (0..=text.len()).any(|from| is_notice(&[&seen, &text.as_bytes()[from..]].concat()))
    })
}

/// The line that is matched by patterns, if it is kept.
fn clean(declared: &Declared, line: &[u8], limit: usize) -> Option<Line> {
    let (text, end) = match line {
        [text @ .., b'\n'] => (text, "\n"),
        text => (text, ""),
    };
    if !declared.strip_ansi {
        let (text, end) = match text {
            [text @ .., b'\r'] if end == "\n" => (text, "\r\n"),
            text => (text, end),
        };
        return judge(declared, text, end, limit);
    }
    let mut row = Row::default();
    let mut passed: Vec<Vec<u8>> = Vec::new();
    for step in steps(&seven_bit(text)) {
        row.take(step, declared, limit, &mut passed);
    }
    let end = if row.returned && end == "\n" { "\r\n" } else { end };
    let shown = if row.plain { row.text.clone() } else { row.shown() };
    if !passed.is_empty() || row.long == Some(true) {
        let last = if row.long == Some(true) { row.text } else { shown };
        if row.long == Some(true) || row.resumed {
            passed.push(last);
        }
        return Some(Line { text: passed.join(&b'\n'), end, long: true, lines: 1 });
    }
    if row.long == Some(false) || shown.is_empty() && end.is_empty() {
        return None;
    }
    judge(declared, &shown, end, limit)
}

/// A step of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
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

fn steps(text: &[u8]) -> Vec<Step<'_>> {
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
    let number: usize = parameters.split(';').next().unwrap_or_default().parse().unwrap_or(0);
    match last {
        'a' | 'C' => Step::Right(number.max(1)),
        'D' => Step::Left(number.max(1)),
        'G' => Step::Column(number.max(1) - 1),
        'K' if number == 0 => Step::EraseAfter,
        'K' if number >= 2 => Step::EraseAll,
        _ => Step::Nothing,
    }
}

/// The open line: a plain text until the cursor moves, then cells. An empty cell continues the one before it.
#[derive(Debug)]
struct Row {
    plain: bool,
    text: Vec<u8>,
    cells: Vec<Option<Vec<u8>>>,
    column: usize,
    returned: bool,
    /// Whether the line is too long, and passed on.
    long: Option<bool>,
    /// Text that overwrites what was passed on.
    resumed: bool,
    input: usize,
    /// The first cell, if a blank was just written over it.
    blanked: Option<Vec<u8>>,
    fresh: bool,
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
            fresh: false,
        }
    }
}

impl Row {
    fn take(
        &mut self,
        step: Step<'_>,
        declared: &Declared,
        limit: usize,
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
                        return self.take(step, declared, limit, passed);
                    }
                    self.text.extend(bytes);
                }
                Step::Return | Step::Column(_) => self.returned = true,
                _ => {}
            }
            return;
        }
        match step {
            Step::Put(bytes) => self.put(bytes, declared, limit),
            Step::Return => {
                if let Some(old) = self.blanked.take() {
                    self.cells[0] = Some(old);
                }
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
            Step::Column(to) => self.column = to.min(self.cells.len().max(1000)),
            Step::Right(by) => self.column = (self.column + by).min(self.cells.len().max(1000)),
            Step::Left(by) => self.column = self.column.saturating_sub(by),
            Step::EraseAll => {
                self.blanked = self.blanked.take().filter(|_| self.cells.is_empty());
                self.cells.clear();
            }
            Step::EraseAfter if self.column < self.cells.len() => {
                self.blanked = None;
                self.break_up(self.column);
                self.cells.truncate(self.column);
            }
            _ => {}
        }
    }

    /// Makes cells of the text.
    fn split(&mut self) {
        if !std::mem::take(&mut self.plain) {
            return;
        }
        let text = std::mem::take(&mut self.text);
        (self.input, self.column) = (0, 0);
        for step in steps(&text) {
            if let Step::Put(bytes) = step {
                self.write(bytes);
            }
        }
        self.input = text.len();
        self.fresh = false;
    }

    fn length(&self) -> usize {
        self.cells.iter().map(|cell| cell.as_ref().map_or(1, Vec::len)).sum()
    }

    fn put(&mut self, bytes: &[u8], declared: &Declared, limit: usize) {
        let is_control = bytes[0] < 0x20 && bytes != b"\t" || bytes[0] == 0x7f;
        if self.returned && is_control {
            return;
        }
        if self.returned {
            self.split();
            self.returned = false;
            self.column = 0;
            self.fresh = true;
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
            self.plain = true;
        }
        self.text.extend(bytes);
        if self.text.len() > limit {
            self.long = Some(self.resumed || stays_long(declared, &self.text[..limit]));
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
            }
            self.column = next;
            return;
        }
        let blanked = self.blanked.take();
        let before = self.cells[..column.min(self.cells.len())].iter();
        let base = before.take(column).rposition(|cell| !cell.as_ref().is_some_and(Vec::is_empty));
        if bytes[0] & 0xC0 == 0x80
            && let Some(Some(cell)) = base.and_then(|base| self.cells.get_mut(base))
        {
            cell.extend(bytes);
            return;
        }
        let fresh = std::mem::take(&mut self.fresh);
        let columns = match std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next()) {
            Some('あ') => 2,
            _ => 1,
        };
        let old = self.cells.get(column).cloned().flatten();
        if let Some(old) = old
            && column == 0
            && fresh
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

    fn shown(&self) -> Vec<u8> {
        let mut text = self.whole();
        while text.last() == Some(&b' ') {
            text.pop();
        }
        text
    }
}

fn judge(declared: &Declared, text: &[u8], end: &'static str, limit: usize) -> Option<Line> {
    let long = text.len() > limit;
    let stays = if long { stays_long(declared, &text[..limit]) } else { stays(declared, text) };
    stays.then(|| Line { text: text.to_vec(), end, long, lines: 1 })
}

fn matches(pattern: Pattern, text: &[u8]) -> bool {
    static COMPILED: LazyLock<Mutex<HashMap<&str, Regex>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let regex = compiled.entry(pattern.text).or_insert_with(|| Regex::new(pattern.text).unwrap());
    regex.is_match(text)
}

fn stays(declared: &Declared, text: &[u8]) -> bool {
    !declared.strip.iter().any(|pattern| matches(*pattern, text))
        && (declared.keep.is_empty() || declared.keep.iter().any(|pattern| matches(*pattern, text)))
}

/// A line that is too long is kept only if the decision is certain.
fn stays_long(declared: &Declared, head: &[u8]) -> bool {
    let exact = |pattern: Pattern| head.len() >= pattern.exact_from;
    declared.strip.iter().all(|pattern| exact(*pattern) && !matches(*pattern, head))
        && (declared.keep.is_empty()
            || declared
                .keep
                .iter()
                .any(|pattern| (pattern.sure || exact(*pattern)) && matches(*pattern, head)))
}

/// Only the last line of a text may lack a line end. It still can be equal to lines before it.
fn are_equal(a: &Line, b: &Line) -> bool {
    !a.long && !b.long && a.text == b.text && (a.end == b.end || b.end.is_empty())
}

fn fold(run: &[Line]) -> Vec<Line> {
    let last = run.last().unwrap();
    let text = format!(" (x{})", run.len());
    let text = [&last.text, text.as_bytes()].concat();
    let one = Line { text, end: last.end, long: false, lines: run.len() };
    let length = |lines: &[Line]| lines.iter().map(Line::length).sum::<usize>();
    if run.len() > 1 && one.length() < length(run) { vec![one] } else { run.to_vec() }
}

/// Keeps the first of equal groups, each a line with the lines indented below it. A line that is too long to be held starts the
/// comparison again.
fn everywhere(lines: &[Line]) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for part in lines.chunk_by(|a, b| !a.long && !b.long) {
        if part[0].long {
            out.extend_from_slice(part);
            continue;
        }
        let is_indented = |line: &Line| matches!(line.text.first(), Some(b' ' | b'\t'));
        let mut blocks: Vec<(&[Line], usize)> = Vec::new();
        for block in part.chunk_by(|_, next| is_indented(next)) {
            let length: usize = block.iter().map(Line::length).sum();
            let is_last = block.last().unwrap().end.is_empty();
            let same = |known: &&mut (&[Line], usize)| known.0 == block;
            let sought = length >= 16 && !is_last;
            match blocks.iter_mut().filter(|_| sought).find(same) {
                Some(known) => known.1 += 1,
                None => blocks.push((block, 1)),
            }
        }
        for (block, count) in blocks {
            for (place, line) in block.iter().enumerate() {
                let mut line = Line { lines: count, ..line.clone() };
                if place == 0 && count > 1 {
                    line.text.extend(format!(" (x{count})").bytes());
                }
                out.push(line);
            }
        }
    }
    out
}
