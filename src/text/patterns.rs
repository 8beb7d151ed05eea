//! Patterns that choose lines: compiled once, with the place of what is wrong in them, and asked for a line.
//!
//! Knows text without line ends. Time is linear in the text for any pattern (crate `regex`); what a pattern compiles to is
//! bounded.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use regex_syntax::hir::{Hir, Look};

use crate::error::{Error, ErrorKind, RulePlace};
use crate::excerpt::Excerpt;

/// Patterns in one list.
const MAX_PATTERNS: usize = 10_000;
/// Bytes that a list may compile to: what the crate allows by default.
const COMPILED: usize = 10 << 20;
/// Bytes of a list's automaton that are kept while it runs. It is built as the text needs it, and begins anew when full.
const CACHE: usize = 1 << 20;
/// Bytes of the character behind a match that a pattern may look at.
const AHEAD: usize = 4;

/// A list of patterns: a line matches if one of them does.
#[derive(Debug)]
pub(super) struct Patterns {
    matcher: Matcher,
    /// What each says of a line of which it sees the head alone.
    heads: Vec<Head>,
}

#[derive(Debug)]
enum Matcher {
    One(Regex),
    Many(RegexSet),
}

/// How a pattern reads the head of a line.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// If it matches the head it matches the line: it does not look at what is behind a match.
    looks_back: bool,
    /// It matches a head of this length, or longer, exactly if it matches the line: it starts where the line does.
    exact_from: Option<usize>,
}

/// What is known of a line from its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Matches,
    MatchesNot,
    Unknown,
}

impl Patterns {
    /// Compiles the entries of `rule`, at least one.
    pub(super) fn compile(rule: &'static str, texts: &[String]) -> Result<Self, Error> {
        if texts.len() > MAX_PATTERNS {
            let message = format!("{rule}: {} patterns are more than {MAX_PATTERNS}", texts.len());
            return Err(refuse(rule, MAX_PATTERNS, message));
        }
        let mut heads = Vec::with_capacity(texts.len());
        for (entry, text) in texts.iter().enumerate() {
            if text.is_empty() {
                let message = format!("{rule}: an empty pattern matches every line");
                return Err(refuse(rule, entry, message));
            }
            heads.push(Head::of(&parse(rule, entry, text)?));
        }
        let matcher = match texts {
            [text] => one(text).map(Matcher::One),
            _ => many(texts).map(Matcher::Many),
        };
        match matcher {
            Ok(matcher) => Ok(Self { matcher, heads }),
            Err(error) => Err(too_big(rule, texts, &error)),
        }
    }

    #[inline]
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        match &self.matcher {
            Matcher::One(regex) => regex.is_match(text),
            Matcher::Many(set) => set.is_match(text),
        }
    }

    /// What is known of a line that begins with `head` and is longer.
    pub(super) fn judge(&self, head: &[u8]) -> Verdict {
        let mut matched = vec![false; self.heads.len()];
        match &self.matcher {
            Matcher::One(regex) => matched.fill(regex.is_match(head)),
            Matcher::Many(set) => {
                for entry in set.matches(head) {
                    matched.get_mut(entry).into_iter().for_each(|matched| *matched = true);
                }
            }
        }
        let mut verdict = Verdict::MatchesNot;
        for (reads, matched) in self.heads.iter().zip(matched) {
            let exact = reads.exact_from.is_some_and(|length| head.len() >= length);
            if matched && (exact || reads.looks_back) {
                return Verdict::Matches;
            }
            if !exact {
                verdict = Verdict::Unknown;
            }
        }
        verdict
    }
}

impl Head {
    fn of(pattern: &Hir) -> Self {
        let properties = pattern.properties();
        let start = |look| matches!(look, Look::Start | Look::StartLF | Look::StartCRLF);
        // Within a line, its start alone is behind a line feed; of carriage returns there may be several.
        let prefix = properties.look_set_prefix();
        let at_start = prefix.contains(Look::Start) || prefix.contains(Look::StartLF);
        Self {
            looks_back: properties.look_set().iter().all(start),
            exact_from: properties
                .maximum_len()
                .filter(|_| at_start)
                .map(|longest| longest + AHEAD),
        }
    }
}

fn parse(rule: &'static str, entry: usize, text: &str) -> Result<Hir, Error> {
    let parsed = regex_syntax::ParserBuilder::new().utf8(false).build().parse(text);
    parsed.map_err(|error| {
        let (at, what) = match &error {
            regex_syntax::Error::Parse(error) => {
                (error.span().start.offset, error.kind().to_string())
            }
            regex_syntax::Error::Translate(error) => {
                (error.span().start.offset, error.kind().to_string())
            }
            error => (0, error.to_string()),
        };
        let message = format!("{rule}: {what}");
        let excerpt = Excerpt::new(text, at);
        let place = RulePlace { rule, entry, is_key: false, at, message };
        Error::new(ErrorKind::Spec, excerpt.line(rule, &what))
            .with_excerpt(excerpt.caret())
            .in_rule(place)
    })
}

/// Compiles a pattern that stands alone: the part `part` of entry `entry` of `rule`.
pub(super) fn single(
    rule: &'static str,
    part: &'static str,
    entry: usize,
    text: &str,
) -> Result<Regex, Error> {
    if text.is_empty() {
        return Err(refuse(part, entry, format!("{rule}: an empty pattern matches every line")));
    }
    parse(part, entry, text)?;
    one(text).map_err(|error| too_big(part, &[text.to_owned()], &error))
}

/// What is wrong with a pattern, if anything is.
#[cfg(feature = "command")]
pub(crate) fn check(text: &str) -> Result<(), Error> {
    single("pattern", "pattern", 0, text).map(|_| ())
}

fn one(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(COMPILED).dfa_size_limit(CACHE).build()
}

fn many(texts: &[String]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(texts).size_limit(COMPILED).dfa_size_limit(CACHE).build()
}

/// The error of patterns that can be parsed and not compiled: the first that is too big alone, else all of them.
fn too_big(rule: &'static str, texts: &[String], error: &regex::Error) -> Error {
    let alone = texts.iter().map(|text| one(text).err()).enumerate();
    let what = |error: &regex::Error| match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("more than {limit} bytes when compiled; repeat less, or narrower classes")
        }
        error => error.to_string().lines().last().unwrap_or_default().to_owned(),
    };
    for (entry, error) in alone {
        if let (Some(error), Some(text)) = (error, texts.get(entry)) {
            let line = Excerpt::new(text, 0).line(rule, &what(&error));
            let place = RulePlace {
                rule,
                entry,
                is_key: false,
                at: 0,
                message: format!("{rule}: {}", what(&error)),
            };
            return Error::new(ErrorKind::Spec, line).in_rule(place);
        }
    }
    refuse(rule, 0, format!("{rule}: together, {}", what(error)))
}

fn refuse(rule: &'static str, entry: usize, message: String) -> Error {
    let place = RulePlace { rule, entry, is_key: false, at: 0, message: message.clone() };
    Error::new(ErrorKind::Spec, message).in_rule(place)
}
