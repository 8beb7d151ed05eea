//! Patterns that choose lines: compiled once, with the place of what is wrong in them, and asked for a line.
//!
//! Knows text without line ends. Time is linear in the text for any pattern (crate `regex`); what a list compiles to is
//! bounded, and so is what all lists of a file do together: each is charged to an [`RegexBudget`], also if it is refused. As
//! the crate does not tell a size, limits are tried that double, from a guess on; the last one is charged, so that the work is
//! at most twice of what is charged.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use regex_syntax::ast::parse::Parser;
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, Look};

use super::weigh::{self, Weight};
use crate::error::{Error, ErrorKind, RulePlace};
use crate::excerpt::Excerpt;
use crate::regex_budget::RegexBudget;

/// Patterns in one list.
const MAX_PATTERNS: usize = 10_000;
/// Bytes that a list may compile to: what the crate allows by default.
const COMPILED: usize = 10 << 20;
/// Characters inside repetitions, in one list: each may cost a few nanoseconds for each byte of text, where a text is made for it.
const REPEATED: usize = 1024;
/// The first limit that is tried, where nothing says that it takes a larger one.
const LEAST: usize = 4 << 10;
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
    pub(super) fn compile(
        rule: &'static str,
        texts: &[String],
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        if texts.len() > MAX_PATTERNS {
            let message = format!("{rule}: {} patterns are more than {MAX_PATTERNS}", texts.len());
            return Err(refuse(rule, MAX_PATTERNS, message));
        }
        let mut heads = Vec::with_capacity(texts.len());
        let mut weights = Vec::with_capacity(texts.len());
        let mut all = Weight::default();
        for (entry, text) in texts.iter().enumerate() {
            if text.is_empty() {
                let message = format!("{rule}: an empty pattern matches every line");
                return Err(refuse(rule, entry, message));
            }
            let (pattern, weight) = parse(rule, entry, text, allowance)?;
            heads.push(Head::of(&pattern));
            weights.push(weight);
            all = all.and(weight);
            if all.read > COMPILED {
                return Err(too_big(rule, entry, "together, "));
            }
        }
        let matcher = match texts {
            [text] => one(text, all, allowance).map(Matcher::One),
            _ => many(texts, all, allowance).map(Matcher::Many),
        };
        let refusal = match matcher {
            Ok(matcher) => {
                repeats(rule, &weights)?;
                return Ok(Self { matcher, heads });
            }
            Err(refusal) => refusal,
        };
        if let (Refusal::TooBig, [_, _, ..]) = (&refusal, texts) {
            // The first that is too big alone, as far as the allowance goes.
            for (entry, (text, weight)) in texts.iter().zip(weights).enumerate() {
                match one(text, weight, allowance) {
                    Ok(_) => {}
                    Err(Refusal::Spent) => break,
                    Err(refusal) => return Err(refusal.error(rule, entry, text)),
                }
            }
            return Err(too_big(rule, 0, "together, "));
        }
        Err(refusal.error(rule, 0, texts.first().map_or("", |text| text)))
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

/// Why something was not compiled.
enum Refusal {
    /// It is more than a list may be.
    TooBig,
    /// It is more than is left.
    Spent,
    Other(regex::Error),
}

impl Refusal {
    fn error(self, rule: &'static str, entry: usize, text: &str) -> Error {
        let what = match self {
            Self::TooBig => too_many_bytes(),
            Self::Spent => return spent(rule, entry),
            Self::Other(error) => error.to_string().lines().last().unwrap_or_default().to_owned(),
        };
        let message = format!("{rule}: {what}");
        let place = RulePlace { rule, entry, is_key: false, at: 0, message };
        Error::new(ErrorKind::Spec, Excerpt::new(text, 0).line(rule, &what)).in_rule(place)
    }
}

/// Reads a pattern, whose size is charged before it is spelled out.
fn parse(
    rule: &'static str,
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<(Hir, Weight), Error> {
    if text.len() > COMPILED / weigh::CHARACTER {
        return Err(too_big(rule, entry, ""));
    }
    let wrong = |at, what: String| {
        let message = format!("{rule}: {what}");
        let excerpt = Excerpt::new(text, at);
        let place = RulePlace { rule, entry, is_key: false, at, message };
        Error::new(ErrorKind::Spec, excerpt.line(rule, &what))
            .with_excerpt(excerpt.caret())
            .in_rule(place)
    };
    let ast = Parser::new()
        .parse(text)
        .map_err(|error| wrong(error.span().start.offset, error.kind().to_string()))?;
    let weight = Weight::of(text, &ast);
    if weight.read > COMPILED {
        return Err(too_big(rule, entry, ""));
    }
    if !allowance.take(weight.read) {
        return Err(spent(rule, entry));
    }
    let hir = TranslatorBuilder::new()
        .utf8(false)
        .build()
        .translate(text, &ast)
        .map_err(|error| wrong(error.span().start.offset, error.kind().to_string()))?;
    Ok((hir, weight))
}

/// Compiles a pattern that stands alone: the part `part` of entry `entry` of `rule`.
pub(super) fn single(
    rule: &'static str,
    part: &'static str,
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<Regex, Error> {
    if text.is_empty() {
        return Err(refuse(part, entry, format!("{rule}: an empty pattern matches every line")));
    }
    let (_, weight) = parse(part, entry, text, allowance)?;
    let regex = one(text, weight, allowance).map_err(|refusal| refusal.error(part, entry, text))?;
    if weight.repeated > REPEATED {
        return Err(refuse(part, entry, format!("{rule}: {}", too_many_repeated())));
    }
    Ok(regex)
}

/// What is wrong with a pattern, if anything is.
#[cfg(feature = "command")]
pub(crate) fn check(text: &str, allowance: &mut RegexBudget) -> Result<(), Error> {
    single("pattern", "pattern", 0, text, allowance).map(|_| ())
}

fn one(text: &str, weight: Weight, allowance: &mut RegexBudget) -> Result<Regex, Refusal> {
    within(weight, allowance, |limit| {
        RegexBuilder::new(text).size_limit(limit).dfa_size_limit(CACHE).build()
    })
}

fn many(
    texts: &[String],
    weight: Weight,
    allowance: &mut RegexBudget,
) -> Result<RegexSet, Refusal> {
    within(weight, allowance, |limit| {
        RegexSetBuilder::new(texts).size_limit(limit).dfa_size_limit(CACHE).build()
    })
}

/// Builds with the least of the limits that suffices, and charges it, or the last that did not.
fn within<T>(
    weight: Weight,
    allowance: &mut RegexBudget,
    build: impl Fn(usize) -> Result<T, regex::Error>,
) -> Result<T, Refusal> {
    // Each attempt reads the patterns once more: the limits are no less than that takes.
    let mut limit = weight.read.max(weight.guess).clamp(LEAST, COMPILED);
    loop {
        let tried = limit.min(COMPILED).min(allowance.left());
        if tried == 0 {
            allowance.spend();
            return Err(Refusal::Spent);
        }
        let refusal = match build(tried) {
            Ok(built) => {
                allowance.take(tried);
                return Ok(built);
            }
            Err(regex::Error::CompiledTooBig(_)) if tried == COMPILED => Refusal::TooBig,
            Err(regex::Error::CompiledTooBig(_)) if tried == allowance.left() => {
                allowance.spend();
                return Err(Refusal::Spent);
            }
            Err(regex::Error::CompiledTooBig(_)) => {
                limit *= 2;
                continue;
            }
            Err(error) => Refusal::Other(error),
        };
        allowance.take(tried);
        return Err(refusal);
    }
}

/// Refuses the first pattern with which a list repeats too much.
fn repeats(rule: &'static str, weights: &[Weight]) -> Result<(), Error> {
    let mut all = 0_usize;
    for (entry, weight) in weights.iter().enumerate() {
        all = all.saturating_add(weight.repeated);
        if all > REPEATED {
            let together = if weight.repeated > REPEATED { "" } else { "together, " };
            let message = format!("{rule}: {together}{}", too_many_repeated());
            return Err(refuse(rule, entry, message));
        }
    }
    Ok(())
}

fn too_many_repeated() -> String {
    format!(
        "more than {REPEATED} characters inside repetitions, counted as often as they may come; repeat less"
    )
}

fn too_many_bytes() -> String {
    format!("more than {COMPILED} bytes when compiled; repeat less, or narrower classes")
}

fn too_big(rule: &'static str, entry: usize, together: &str) -> Error {
    refuse(rule, entry, format!("{rule}: {together}{}", too_many_bytes()))
}

fn spent(rule: &'static str, entry: usize) -> Error {
    let message = format!(
        "{rule}: with the patterns in front of it, more than {} bytes when compiled; repeat less, or narrower classes",
        RegexBudget::BYTES
    );
    refuse(rule, entry, message)
}

fn refuse(rule: &'static str, entry: usize, message: String) -> Error {
    let place = RulePlace { rule, entry, is_key: false, at: 0, message: message.clone() };
    Error::new(ErrorKind::Spec, message).in_rule(place)
}
