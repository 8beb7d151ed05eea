//! Cuts a text at about a number of tokens: behind a paragraph, else a sentence, else a word (seed: AIOS; SPEC §10).
//!
//! Knows text alone: blank lines, items of lists, fences and indentation tell what belongs together. What is left is never
//! more than asked for, but for the mark that says how much was left out. Holds at most [`WINDOW`] bytes: a text that is
//! longer leaves while it is certain to stay.

use unicode_segmentation::UnicodeSegmentation;

use crate::notice;
use crate::spec::Budget;
#[cfg(feature = "tokens")]
use crate::tokens::TokenCounter;

/// Bytes that wait for the end of the text, or for the place where it is cut.
const WINDOW: usize = 256 << 10;
/// Of those, what stays when the rest leaves: enough to go back to the end of a paragraph.
const BACK: usize = 64 << 10;
/// Characters of a word that are looked at, where not even one fits.
const UNIT: usize = 16 << 10;
/// Bytes in which the ends of sentences are looked for together: behind each full stop, and each space or bracket that
/// follows it, the search looks ahead as far as it may.
const SENTENCE: usize = 2 << 10;
/// Bytes in front of the end of a sentence that tell whether it is one.
const TAIL: usize = 64;

/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: [&str; 48] = [
    "dr", "mr", "mrs", "ms", "prof", "st", "sr", "jr", "rev", "gen", "col", "capt", "lt", "sgt",
    "hon", "gov", "sen", "rep", "vs", "etc", "e.g", "i.e", "cf", "al", "approx", "dept", "est",
    "fig", "figs", "no", "nos", "vol", "vols", "ed", "eds", "pp", "p", "inc", "ltd", "co", "corp",
    "bros", "u.s", "u.k", "z.b", "bzw", "ca", "nr",
];

/// How much a text is: tokens, counted with the feature `tokens`, else estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The whole text.
    pub(crate) original: u64,
    /// What is left, with the mark.
    pub(crate) result: u64,
    /// Bytes of the whole text.
    pub(crate) bytes: u64,
    /// Something was left out.
    pub(crate) cut: bool,
}

/// Takes a text in parts, and gives what is left of it.
#[derive(Debug)]
pub(crate) struct Cut {
    /// `None`: there is no limit.
    limit: Option<u64>,
    unit: Unit,
    held: String,
    /// Tokens that have left.
    left: u64,
    /// Tokens that were left out; from then on everything is.
    out: Option<u64>,
    rest: Measure,
    bytes: u64,
    /// What left last ends a line.
    newline: bool,
    result: u64,
}

impl Cut {
    /// At most so much of it; `None` is no limit.
    pub(crate) fn new(budget: Option<Budget>) -> Self {
        let (limit, unit) = match budget {
            None => (None, Unit::Tokens),
            Some(Budget::Tokens(tokens)) => (Some(tokens), Unit::Tokens),
            Some(Budget::Bytes(bytes)) => (Some(bytes), Unit::Bytes),
        };
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

    /// Takes more of the text; what is certain to stay goes to `to`.
    pub(crate) fn push(&mut self, text: &str, to: &mut dyn FnMut(&str)) {
        self.bytes += text.len() as u64;
        if self.limit.is_none() {
            return to(text);
        }
        let mut rest = text;
        while !rest.is_empty() {
            if self.out.is_some() {
                return self.rest.push(rest);
            }
            // The same places, however the text comes.
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

    /// The window is full: its beginning leaves, or the text is cut in it.
    fn let_go(&mut self, to: &mut dyn FnMut(&str)) {
        let head = floor(&self.held, WINDOW - BACK);
        let head = self.held.get(..head).unwrap_or_default();
        let at = head.rfind("\n\n").map(|at| at + 2);
        let at = at.or_else(|| head.rfind(char::is_whitespace).map(|at| ceil(head, at + 1)));
        let at = at.filter(|at| *at > 0).unwrap_or(head.len());
        let tokens = self.unit.of(head.get(..at).unwrap_or_default());
        let limit = self.limit.unwrap_or(u64::MAX);
        if self.left.saturating_add(tokens) > limit {
            return self.cut(to);
        }
        self.left += tokens;
        to(head.get(..at).unwrap_or_default());
        self.held.drain(..at);
    }

    /// Cuts what is held: it is too much, or what comes is.
    fn cut(&mut self, to: &mut dyn FnMut(&str)) {
        let limit = self.limit.unwrap_or(u64::MAX).saturating_sub(self.left);
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

    /// The text is complete.
    pub(crate) fn end(&mut self, to: &mut dyn FnMut(&str)) -> Sizes {
        if let Some(limit) = self.limit
            && self.out.is_none()
        {
            let held = std::mem::take(&mut self.held);
            let whole = self.unit.of(&held);
            // White space at the end is no part of what is left, where there is too much.
            let bare =
                if self.left.saturating_add(whole) > limit { held.trim_end() } else { &held };
            let tokens = if bare.len() < held.len() { self.unit.of(bare) } else { whole };
            if self.left.saturating_add(tokens) > limit {
                self.held = held;
                self.cut(to);
            } else {
                self.left += tokens;
                to(bare);
            }
        }
        let Some(_) = self.out else {
            return Sizes { original: self.left, result: self.left, bytes: self.bytes, cut: false };
        };
        let out = self.rest.finish();
        self.out = Some(out);
        let mark = self.unit.mark(out, self.newline);
        to(&mark);
        self.result = self.left + self.unit.of(&mark);
        Sizes { original: self.left + out, result: self.result, bytes: self.bytes, cut: true }
    }
}

/// What a text is measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unit {
    #[default]
    Tokens,
    Bytes,
}

impl Unit {
    /// How much a text is.
    fn of(self, text: &str) -> u64 {
        let mut measure = Measure::new(self);
        measure.push(text);
        measure.finish()
    }

    /// What stands for the rest.
    fn mark(self, out: u64, alone: bool) -> String {
        let gap = if alone { "" } else { "\n\n" };
        let (about, unit) = match self {
            Self::Bytes => ("", "byte"),
            Self::Tokens if cfg!(feature = "tokens") => ("", "token"),
            Self::Tokens => ("about ", "token"),
        };
        format!("{gap}{}", notice::text_left_out(about, out, unit))
    }
}

/// How much a text is that comes in parts.
#[derive(Debug)]
struct Measure {
    unit: Unit,
    bytes: u64,
    #[cfg(feature = "tokens")]
    counter: TokenCounter,
}

impl Measure {
    fn new(unit: Unit) -> Self {
        Self {
            unit,
            bytes: 0,
            #[cfg(feature = "tokens")]
            counter: TokenCounter::default(),
        }
    }

    fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        #[cfg(feature = "tokens")]
        if self.unit == Unit::Tokens {
            self.counter.push(text.as_bytes());
        }
    }

    fn finish(&mut self) -> u64 {
        match self.unit {
            Unit::Bytes => self.bytes,
            #[cfg(feature = "tokens")]
            Unit::Tokens => self.counter.finish(),
            #[cfg(not(feature = "tokens"))]
            Unit::Tokens => self.bytes.div_ceil(4),
        }
    }
}

/// The last place of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first place of a character at or behind `at`.
fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// How much of a text has at most `limit` tokens, and ends where something ends.
fn longest(text: &str, limit: u64, unit: Unit) -> usize {
    let blocks = blocks(text);
    let (kept, spent) = take(text, 0, &blocks, limit, unit);
    // A text that is mostly there ends behind a paragraph; one of which more than half is missing goes on in the next.
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

/// How far into a block a text may go.
fn inside(text: &str, from: usize, to: usize, limit: u64, unit: Unit) -> usize {
    let block = text.get(from..to).unwrap_or_default();
    // White space alone is nothing.
    let says = |kept: usize| !text.get(from..kept).unwrap_or_default().trim().is_empty();
    let sentences = if is_lines(block) { Vec::new() } else { sentences(block) };
    // A line that is broken ends no sentence, and is better than a word.
    for units in [sentences, lines(block), words(block)] {
        let (kept, _) = take(text, from, &shifted(&units, from), limit, unit);
        if says(kept) {
            return kept;
        }
    }
    // Not even a word.
    let chars: Vec<usize> =
        block.char_indices().take(UNIT).map(|(at, char)| at + char.len_utf8()).collect();
    let most = chars.partition_point(|end| unit.of(block.get(..*end).unwrap_or_default()) <= limit);
    from + most.checked_sub(1).and_then(|last| chars.get(last)).copied().unwrap_or(0)
}

fn shifted(ends: &[usize], by: usize) -> Vec<usize> {
    ends.iter().map(|end| end + by).collect()
}

/// The parts, told by their ends, that fit from `from` on: where they end, and how much they are. White space counts with
/// what is behind it, as tokens have it; what is at the end is none of what is left.
fn take(text: &str, from: usize, ends: &[usize], limit: u64, unit: Unit) -> (usize, u64) {
    let mut measured = text.get(..from).unwrap_or_default().trim_end().len();
    let (mut at, mut spent) = (from, 0);
    for end in ends {
        // From the last end on, so that white space is not gone through again and again.
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

/// Parts of a text may be fewer tokens than the text: goes back until it fits, and no further than it has to.
fn settle(text: &str, end: usize, limit: u64, unit: Unit) -> usize {
    let fits = |end: usize| unit.of(text.get(..end).unwrap_or_default().trim_end()) <= limit;
    let (mut low, mut high, mut step) = (end, end, 1);
    while low > 0 && !fits(low) {
        high = low;
        for _ in 0..step {
            low = word_before(text, low);
        }
        step *= 2;
    }
    // More and more words were passed at once: some of them may fit.
    let passed = text.get(low..high).unwrap_or_default().char_indices();
    let passed: Vec<usize> = passed
        .filter(|(_, char)| char.is_whitespace())
        .map(|(at, char)| low + at + char.len_utf8())
        .collect();
    let fitting = passed.partition_point(|at| fits(*at)).checked_sub(1);
    let last = fitting.and_then(|last| passed.get(last)).copied();
    last.filter(|at| fits(*at)).unwrap_or(low)
}

/// Where the last word before `end` begins; of one that begins the text, its middle.
fn word_before(text: &str, end: usize) -> usize {
    let before = text.get(..end).unwrap_or_default().trim_end();
    let word = before.rfind(char::is_whitespace).map(|at| ceil(before, at + 1));
    word.unwrap_or_else(|| floor(before, before.len() / 2))
}

/// The ends of paragraphs, items of lists and blocks of code.
fn blocks(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut at, mut fence, mut code, mut blank) = (0, None, false, false);
    // White space in front of everything is part of the first.
    let mut begun = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        let indented = line.starts_with("    ") || line.starts_with('\t');
        match fence {
            // The line ends the block, and the blank one behind it comes with it.
            Some(open) if ticks >= open && bare.len() == ticks => fence = None,
            Some(_) => {}
            None if bare.is_empty() => {
                blank = begun;
                at += line.len();
                continue;
            }
            None => {
                // Code goes on behind a blank line that more of it follows.
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

/// Whether a line is an item of a list that is at the margin, or a little beside it.
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

/// Whether the lines of a block are what it is made of: code, rows of a table.
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

/// The ends of sentences (UAX #29), but for those behind an abbreviation or an initial. The end of a line is white space
/// here: what is broken into lines are paragraphs.
fn sentences(block: &str) -> Vec<usize> {
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
        // The last one may go on in the next part; one that is longer than that has its end there.
        if part.len() < rest.len() {
            ends.pop();
        }
        from = if ends.len() > before { ends.last().copied().unwrap_or(at) } else { at };
    }
    ends.retain(|end| *end == flat.len() || !ends_short(flat.get(..*end).unwrap_or_default()));
    ends
}

/// Whether a text ends with a full stop that ends no sentence.
fn ends_short(text: &str) -> bool {
    let tail = text.get(ceil(text, text.len().saturating_sub(TAIL))..).unwrap_or_default();
    let Some(text) = tail.trim_end().strip_suffix('.') else { return false };
    let tail = text.get(ceil(text, text.len().saturating_sub(24))..).unwrap_or_default();
    let word = tail.rsplit(|char: char| char.is_whitespace() || "([\"'“‘".contains(char)).next();
    let word = word.unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    initial || ABBREVIATIONS.iter().any(|short| short.eq_ignore_ascii_case(word))
}

/// The ends of words, white space behind them included.
fn words(block: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = ends(block.split_word_bounds().map(str::len));
    // No end in front of white space or of what closes a word.
    ends.retain(|end| {
        let next = block.get(*end..).and_then(|rest| rest.chars().next());
        next.is_none_or(|char| !char.is_whitespace() && !char.is_ascii_punctuation())
    });
    ends
}

#[cfg(test)]
mod tests;
