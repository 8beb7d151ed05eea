//! [`Beginning`]: keeps the beginning of a text, up to the end of a paragraph, else a sentence, else a word (seed: AIOS).
//!
//! The cut depends only on the text: blank lines, list items, fences and indentation show what belongs together. Buffers at most
//! [`WINDOW`] bytes: the beginning of a longer text is written as soon as it is certain to be kept.

use unicode_segmentation::UnicodeSegmentation;

use super::{Measure, Sizes, Unit, tables};

/// How many bytes are buffered until the end of the text, or the place of the cut, is known.
pub(super) const WINDOW: usize = 256 << 10;
/// How many of those stay buffered when the rest is written: enough to go back to the end of a paragraph.
const BACK: usize = 64 << 10;
/// How many characters of a word are inspected if not even one word fits.
const UNIT: usize = 16 << 10;
/// The block size, in bytes, of the search for ends of sentences. After each full stop, and each space or bracket that
/// follows it, the search looks ahead as far as the block goes.
pub(super) const SENTENCE: usize = 2 << 10;
/// How many bytes before a full stop are inspected to decide whether it ends a sentence.
const TAIL: usize = 64;

/// Abbreviations: words whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 48] = [
    "dr", "mr", "mrs", "ms", "prof", "st", "sr", "jr", "rev", "gen", "col", "capt", "lt", "sgt",
    "hon", "gov", "sen", "rep", "vs", "etc", "e.g", "i.e", "cf", "al", "approx", "dept", "est",
    "fig", "figs", "no", "nos", "vol", "vols", "ed", "eds", "pp", "p", "inc", "ltd", "co", "corp",
    "bros", "u.s", "u.k", "z.b", "bzw", "ca", "nr",
];

/// Takes a text in parts and writes the beginning of it that is kept.
#[derive(Debug)]
pub(super) struct Beginning {
    /// The limit in its unit.
    limit: u64,
    unit: Unit,
    held: String,
    /// The number of tokens written so far.
    left: u64,
    /// The number of tokens left out. Once set, all further input is left out.
    out: Option<u64>,
    rest: Measure,
    bytes: u64,
    /// The bytes written last end with a line break.
    newline: bool,
    result: u64,
}

impl Beginning {
    /// Creates a cut at a limit.
    pub(super) fn new(limit: u64, unit: Unit) -> Self {
        Self {
            limit,
            unit,
            held: String::new(),
            left: 0,
            out: None,
            rest: Measure::new(unit),
            bytes: 0,
            newline: true,
            result: 0,
        }
    }

    /// Adds more of the text; the part that is certain to be kept is appended to `to`.
    pub(super) fn push(&mut self, text: &str, to: &mut dyn FnMut(&str)) {
        self.bytes += text.len() as u64;
        let mut rest = text;
        while !rest.is_empty() {
            if self.out.is_some() {
                return self.rest.push(rest);
            }
            // The window is evaluated at the same offsets for every chunking.
            let room = WINDOW.saturating_sub(self.held.len()).max(1);
            let at = floor(rest, room).max(rest.chars().next().map_or(1, char::len_utf8));
            let (now, later) = rest.split_at(at);
            self.held.push_str(now);
            rest = later;
            if self.held.len() + 4 > WINDOW {
                self.let_go(to);
            }
        }
    }

    /// Handles a full window: its beginning is written, or the text is cut inside it.
    fn let_go(&mut self, to: &mut dyn FnMut(&str)) {
        let head = floor(&self.held, WINDOW - BACK);
        let head = self.held.get(..head).unwrap_or_default();
        let at = head.rfind("\n\n").map(|at| at + 2);
        let at = at.or_else(|| head.rfind(char::is_whitespace).map(|at| ceil(head, at + 1)));
        let at = at.filter(|at| *at > 0).unwrap_or(head.len());
        let tokens = self.unit.of(head.get(..at).unwrap_or_default());
        if self.left.saturating_add(tokens) > self.limit {
            return self.cut(to);
        }
        self.left += tokens;
        to(head.get(..at).unwrap_or_default());
        self.held.drain(..at);
    }

    /// Cuts the buffered text, because it, or the input that follows, exceeds the limit.
    fn cut(&mut self, to: &mut dyn FnMut(&str)) {
        let limit = self.limit.saturating_sub(self.left);
        let kept = longest(&self.held, limit, self.unit);
        let (stays, goes) = self.held.split_at(kept);
        let stays = stays.trim_end();
        self.left += self.unit.of(stays);
        self.newline = stays.is_empty() && self.left == 0;
        to(stays);
        self.rest.push(goes);
        self.out = Some(0);
        self.held = String::new();
    }

    /// Ends the text.
    pub(super) fn end(&mut self, to: &mut dyn FnMut(&str)) -> Sizes {
        let mut original = None;
        let mut all = 0;
        if self.out.is_none() {
            let limit = self.limit;
            let held = std::mem::take(&mut self.held);
            let whole = self.unit.of(&held);
            // Trailing white space is not kept if the text exceeds the limit.
            let bare =
                if self.left.saturating_add(whole) > limit { held.trim_end() } else { &held };
            let tokens = if bare.len() < held.len() { self.unit.of(bare) } else { whole };
            all = self.left.saturating_add(tokens);
            if all > limit {
                let narrowed = tables::narrowed(&held, self.unit.bytes(limit));
                if let Some(narrowed) = narrowed.filter(|_| self.left == 0) {
                    original = Some(tokens);
                    self.held = narrowed;
                } else {
                    self.held = held;
                }
                self.cut(to);
            } else {
                self.left += tokens;
                to(bare);
            }
        }
        let Some(_) = self.out else {
            return Sizes { original: self.left, result: self.left, bytes: self.bytes, cut: false };
        };
        let rest = self.rest.finish();
        let out = original.map_or(rest, |original| original.saturating_sub(self.left));
        self.out = Some(out);
        let mark = self.unit.mark(out, self.newline);
        to(&mark);
        self.result = self.left + self.unit.of(&mark);
        // Both parts may have fewer tokens than the text as a whole.
        let original = (self.left + out).max(all);
        Sizes { original, result: self.result, bytes: self.bytes, cut: true }
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the first character boundary at or after `at`.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Returns how much of a text to keep: at most `limit` tokens, up to the end of a paragraph, a sentence or a word.
fn longest(text: &str, limit: u64, unit: Unit) -> usize {
    let blocks = blocks(text);
    let (kept, spent) = take(text, 0, &blocks, limit, unit);
    // If most of the text fits, it ends after a paragraph. If that leaves less than half of it, the next paragraph is
    // cut.
    let end = if spent * 2 >= limit {
        kept
    } else {
        let next = blocks.iter().copied().find(|end| *end > kept).unwrap_or(text.len());
        let block = text.get(kept..next).unwrap_or_default();
        let torn = is_code(block) && kept > 0;
        if torn { kept } else { inside(text, kept, next, limit - spent.min(limit), unit) }
    };
    settle(text, end, limit, unit)
}

/// Returns how much of a block to keep.
fn inside(text: &str, from: usize, to: usize, limit: u64, unit: Unit) -> usize {
    let block = text.get(from..to).unwrap_or_default();
    // White space without text is not kept.
    let says = |kept: usize| !text.get(from..kept).unwrap_or_default().trim().is_empty();
    let sentences = if is_lines(block) { Vec::new() } else { sentences(block) };
    // A line break is not the end of a sentence, but it is better than the end of a word.
    for units in [sentences, lines(block), words(block)] {
        let (kept, _) = take(text, from, &shifted(&units, from), limit, unit);
        if says(kept) {
            return kept;
        }
    }
    // Not even one word fits.
    let chars: Vec<usize> =
        block.char_indices().take(UNIT).map(|(at, char)| at + char.len_utf8()).collect();
    let most = chars.partition_point(|end| unit.of(block.get(..*end).unwrap_or_default()) <= limit);
    from + most.checked_sub(1).and_then(|last| chars.get(last)).copied().unwrap_or(0)
}

fn shifted(ends: &[usize], by: usize) -> Vec<usize> {
    ends.iter().map(|end| end + by).collect()
}

/// Returns the end of the parts that fit, beginning at `from`, and their size; the parts are given by their ends.
/// White space counts with the part after it, as in a tokenizer; trailing white space is not kept.
fn take(text: &str, from: usize, ends: &[usize], limit: u64, unit: Unit) -> (usize, u64) {
    let mut measured = text.get(..from).unwrap_or_default().trim_end().len();
    let (mut at, mut spent) = (from, 0);
    for end in ends {
        // From the last end on, so that white space is not visited repeatedly.
        let part = text.get(at..*end).unwrap_or_default().trim_end();
        if !part.is_empty() {
            let until = at + part.len();
            let size = unit.of(text.get(measured..until).unwrap_or_default());
            if spent + size > limit {
                break;
            }
            spent += size;
            measured = until;
        }
        at = *end;
    }
    (at, spent)
}

/// Moves the end back until the text fits. The parts of a text may have fewer tokens than the text as a whole.
pub(super) fn settle(text: &str, end: usize, limit: u64, unit: Unit) -> usize {
    let fits = |end: usize| unit.of(text.get(..end).unwrap_or_default().trim_end()) <= limit;
    let (mut low, mut high, mut step) = (end, end, 1);
    while low > 0 && !fits(low) {
        high = low;
        for _ in 0..step {
            low = word_before(text, low);
        }
        step *= 2;
    }
    // The steps back grew, so some of the words that were dropped last may fit.
    let passed = text.get(low..high).unwrap_or_default().char_indices();
    let passed: Vec<usize> = passed
        .filter(|(_, char)| char.is_whitespace())
        .map(|(at, char)| low + at + char.len_utf8())
        .collect();
    let fitting = passed.partition_point(|at| fits(*at)).checked_sub(1);
    let last = fitting.and_then(|last| passed.get(last)).copied();
    last.filter(|at| fits(*at)).unwrap_or(low)
}

/// Returns the beginning of the last word before `end`, or the middle of a word that begins the text.
fn word_before(text: &str, end: usize) -> usize {
    let before = text.get(..end).unwrap_or_default().trim_end();
    let word = before.rfind(char::is_whitespace).map(|at| ceil(before, at + 1));
    word.unwrap_or_else(|| floor(before, before.len() / 2))
}

/// Returns the ends of paragraphs, list items and blocks of code.
pub(super) fn blocks(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut at, mut fence, mut code, mut blank) = (0, None, false, false);
    // Leading white space belongs to the first block.
    let mut begun = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        let indented = line.starts_with("    ") || line.starts_with('\t');
        match fence {
            // The line ends the block; the blank line after it belongs to the block.
            Some(open) if ticks >= open && bare.len() == ticks => fence = None,
            Some(_) => {}
            None if bare.is_empty() => {
                blank = begun;
                at += line.len();
                continue;
            }
            None => {
                // A blank line does not end code if more code follows.
                let goes_on = code && indented;
                if begun && ((blank && !goes_on) || (is_item(line) && !indented)) {
                    ends.push(at);
                }
                code = indented;
                if ticks >= 3 {
                    fence = Some(ticks);
                }
            }
        }
        (blank, begun) = (false, true);
        at += line.len();
    }
    ends.push(text.len());
    ends
}

/// Whether a line is a list item with little or no indentation.
fn is_item(line: &str) -> bool {
    let bare = line.trim_start();
    let digits = bare.len() - bare.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let numbered = (1..=9).contains(&digits)
        && bare.get(digits..).is_some_and(|rest| rest.starts_with(". ") || rest.starts_with(") "));
    numbered || ["- ", "* ", "+ ", "• "].iter().any(|bullet| bare.starts_with(bullet))
}

fn is_code(block: &str) -> bool {
    let block = block.trim_start_matches('\n');
    block.starts_with("```") || block.starts_with("    ") || block.starts_with('\t')
}

/// Whether a block consists of lines, such as code or the rows of a table.
fn is_lines(block: &str) -> bool {
    is_code(block)
        || block.trim_start().starts_with("| ")
        || block.lines().take(3).all(|line| line.contains(" | "))
}

fn lines(block: &str) -> Vec<usize> {
    ends(block.split_inclusive('\n').map(str::len))
}

fn ends(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut at = 0;
    lengths
        .map(|length| {
            at += length;
            at
        })
        .collect()
}

/// Returns the ends of sentences (UAX #29), except after an abbreviation or an initial. A line break counts as white
/// space here, since paragraphs are broken into lines.
pub(super) fn sentences(block: &str) -> Vec<usize> {
    let flat = block.replace(['\n', '\r'], " ");
    let (mut ends, mut from) = (Vec::new(), 0);
    while from < flat.len() {
        let rest = flat.get(from..).unwrap_or_default();
        let part = rest.get(..ceil(rest, SENTENCE)).unwrap_or_default();
        let before = ends.len();
        let mut at = from;
        ends.extend(part.split_sentence_bounds().map(|sentence| {
            at += sentence.len();
            at
        }));
        // The last sentence may continue in the next block; one that is longer than a block ends there.
        if part.len() < rest.len() {
            ends.pop();
        }
        from = if ends.len() > before { ends.last().copied().unwrap_or(at) } else { at };
    }
    ends.retain(|end| *end == flat.len() || !ends_short(flat.get(..*end).unwrap_or_default()));
    ends
}

/// Whether a text ends with a full stop that does not end a sentence.
fn ends_short(text: &str) -> bool {
    let tail = text.get(ceil(text, text.len().saturating_sub(TAIL))..).unwrap_or_default();
    let Some(text) = tail.trim_end().strip_suffix('.') else { return false };
    let tail = text.get(ceil(text, text.len().saturating_sub(24))..).unwrap_or_default();
    let word = tail.rsplit(|char: char| char.is_whitespace() || "([\"'“‘".contains(char)).next();
    let word = word.unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    initial || ABBREVIATIONS.iter().any(|short| short.eq_ignore_ascii_case(word))
}

/// Returns the ends of words, including the white space after them.
fn words(block: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = ends(block.split_word_bounds().map(str::len));
    // No word ends before white space or before a closing bracket or quote.
    ends.retain(|end| {
        let next = block.get(*end..).and_then(|rest| rest.chars().next());
        next.is_none_or(|char| !char.is_whitespace() && !char.is_ascii_punctuation())
    });
    ends
}
