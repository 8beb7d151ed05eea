//! What a text filter must do, read off the whole text, operation by operation.
//!
//! Slow and plain: each operation is a function over all lines, escape sequences are a regular expression, and nothing
//! knows of chunks.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::bytes::Regex;
use serde_json::{Value as Json, json};
use tamis::TextFilter;

/// How the model knows a pattern: it cannot see from a long line's beginning what the engine may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: &'static str,
    /// For lines of which the head alone is looked at: whether a match there is one of the line.
    pub(crate) sure: bool,
    /// The same, and that no match is none, from this length on.
    pub(crate) exact_from: usize,
}

/// What is declared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    pub(crate) strip_ansi: bool,
    pub(crate) strip: Vec<Pattern>,
    pub(crate) keep: Vec<Pattern>,
    pub(crate) dedup: bool,
    pub(crate) max_lines: usize,
    pub(crate) on_empty: Option<&'static str>,
}

impl Declared {
    pub(crate) fn filter(&self) -> TextFilter {
        let texts = |patterns: &[Pattern]| -> Option<Vec<&str>> {
            (!patterns.is_empty()).then(|| patterns.iter().map(|pattern| pattern.text).collect())
        };
        let mut json = json!({"strip_ansi": self.strip_ansi, "dedup": self.dedup});
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
    /// Too long to be looked at as a whole.
    long: bool,
}

impl Line {
    fn bytes(&self) -> Vec<u8> {
        [&self.text, self.end.as_bytes()].concat()
    }
}

/// The escape sequences of ECMA-48 and xterm, and the beginnings of those that are broken off.
static SEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"\x1b\[[0-?]*[ -/]*[@-~\x18\x1a]?",
        r"\x1b\][^\x07\x18\x1a\x1b\r\n]*(?:[\x07\x18\x1a]|\x1b\\)?",
        r"\x1b[PX^_][^\x18\x1a\x1b\r\n]*(?:[\x18\x1a]|\x1b\\)?",
        r"\x1b[ -/]*[0-~\x18\x1a]?",
    ];
    Regex::new(&format!("(?s-u){}", forms.join("|"))).unwrap()
});

/// What comes out, and whether that is because an operation did something.
pub(crate) fn run(declared: &Declared, text: &[u8], limit: usize) -> Vec<u8> {
    let mut lines = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        lines.extend(clean(declared, line, limit));
    }
    let mut folded = Vec::new();
    for run in lines.chunk_by(|a, b| declared.dedup && are_equal(a, b)) {
        folded.extend(fold(run));
    }
    let mut out: Vec<u8> = Vec::new();
    let max = if declared.max_lines == 0 { usize::MAX } else { declared.max_lines };
    for line in folded.iter().take(max) {
        out.extend(line.bytes());
    }
    if let Some(rest) = folded.get(max..)
        && let Some(last) = rest.last()
    {
        let noun = if rest.len() == 1 { "line" } else { "lines" };
        out.extend(format!("... {} {noun} left out{}", rest.len(), last.end).bytes());
        return out;
    }
    if out.is_empty() {
        out.extend(declared.on_empty.unwrap_or_default().bytes());
    }
    out
}

/// The line that patterns are to see, if it stays.
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
    let text = SEQUENCE.replace_all(text, b"");
    let end = if text.ends_with(b"\r") && end == "\n" { "\r\n" } else { end };
    let shown: Vec<&[u8]> =
        text.split(|byte| *byte == b'\r').filter(|text| !text.is_empty()).collect();
    if shown.is_empty() && end.is_empty() {
        return None;
    }
    // Each text writes over the one before; but what is long and passes is out already.
    for (place, text) in shown.iter().enumerate() {
        if text.len() > limit && stays_long(declared, &text[..limit]) {
            let text = shown[place..].join(&b'\r');
            return Some(Line { text, end, long: true });
        }
    }
    judge(declared, shown.last().copied().unwrap_or_default(), end, limit)
}

fn judge(declared: &Declared, text: &[u8], end: &'static str, limit: usize) -> Option<Line> {
    let long = text.len() > limit;
    let stays = if long { stays_long(declared, &text[..limit]) } else { stays(declared, text) };
    stays.then(|| Line { text: text.to_vec(), end, long })
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

/// A line that is too long stays only if that is certain.
fn stays_long(declared: &Declared, head: &[u8]) -> bool {
    let exact = |pattern: Pattern| head.len() >= pattern.exact_from;
    declared.strip.iter().all(|pattern| exact(*pattern) && !matches(*pattern, head))
        && (declared.keep.is_empty()
            || declared
                .keep
                .iter()
                .any(|pattern| (pattern.sure || exact(*pattern)) && matches(*pattern, head)))
}

/// Only the last line of a text has no end; it may be like those before it.
fn are_equal(a: &Line, b: &Line) -> bool {
    !a.long && !b.long && a.text == b.text && (a.end == b.end || b.end.is_empty())
}

fn fold(run: &[Line]) -> Vec<Line> {
    let last = run.last().unwrap();
    let text = format!(" (x{})", run.len());
    let one = Line { text: [&last.text, text.as_bytes()].concat(), end: last.end, long: false };
    let length = |lines: &[Line]| lines.iter().map(|line| line.bytes().len()).sum::<usize>();
    if run.len() > 1 && one.bytes().len() < length(run) { vec![one] } else { run.to_vec() }
}
