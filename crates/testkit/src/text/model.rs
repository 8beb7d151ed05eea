//! The model of text filters. It applies each operation to the whole text.
//!
//! It is slow and plain: each operation is a function over all lines, escape sequences are a regular expression, and there are no
//! chunks. It knows only the plain forms of imitated notices.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::bytes::Regex;
use serde_json::{Value as Json, json};
use tamis::text::TextSpec;

use super::terminal::{Row, plays, seven_bit, steps, with_controls, without_sequences};

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

/// Whether the model knows what happens to a text: it plays all movements of the cursor, nothing is written over what may be a
/// failure, and no line may be a heading, after which equal lines have a count of their own.
pub fn knows(declared: &Declared, text: &[u8]) -> bool {
    static HEADING: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?-u)[=#*~<>|\]]|--|:::::|::group").unwrap());
    let may_count_anew = declared.dedup == Dedup::Everywhere && HEADING.is_match(text);
    !may_count_anew && (!declared.strip_ansi || knows_screen(text))
}

fn knows_screen(text: &[u8]) -> bool {
    static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
        let words = r"err|fail|fatal|panic|except|abort|crit|severe|kill|denied|refused|cannot|unable|warn|not |time|out of|space|disk|quota|lock|race|overflow|heap|segm|bus|illegal|dump|assert|undef|no such|directory|symbol|oom|unhealthy|exit|rc=|rc:|unre|could|can't|reject|conflict|broken|corrupt|crash|connection|fehl|fall|falh|hata|fel|feil|fejl|fout";
        let more = r"alert|emerg|evicted|back|sig|caused|terminated|fault|unhandled|uncaught|trace|: |:\d|E |E/|\[[EFW]";
        let signs = "[✗✖✘✕❌⨯🔴💥×✱：]|エラー|警告|致命|错误|錯誤|오류|경고";
        Regex::new(&format!("(?i-u:{words}|{more})|{signs}")).unwrap()
    });
    let overwrites = text.iter().any(|byte| matches!(byte, 8 | b'\r' | 0x1b | 0x80..));
    plays(text) && !(overwrites && FAILURE.is_match(text))
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
    let text = without_sequences(&with_controls(head));
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
    let decide = |head: &[u8]| stays_long(declared, head);
    for step in steps(&seven_bit(text)) {
        row.take(step, limit, &decide, &mut passed);
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
    // A broken tab may make a row longer than the limit.
    stays(declared, &shown).then_some(Line { text: shown, end, long: false, lines: 1 })
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
