//! Lists of patterns that select lines. Problems are reported with their place in the pattern.
//!
//! Matching takes linear time in the text for any pattern (crate `regex`). The size of a compiled list is bounded,
//! and so is the total of all lists of a file: every list is charged to an [`RegexBudget`], even if it is refused.
//! Since the crate does not report the size of a program, increasing size limits are tried, from an estimate on and
//! doubling. The last one is charged, so that the work is at most twice the charge.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use regex_syntax::ast::parse::Parser;
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, Look};
use tamis_json::error::{Error, ErrorKind, RulePlace};
use tamis_json::excerpt::Excerpt;
use tamis_json::regex_budget::RegexBudget;

use super::pattern_cost::{self, PatternCost};

/// Maximum number of patterns in a list.
const MAX_PATTERNS: usize = 10_000;
/// Maximum size of a compiled list in bytes: the default of the crate.
const COMPILED: usize = 10 << 20;
/// Maximum number of characters inside repetitions in a list. On a hostile text, each may cost a few nanoseconds per
/// byte.
const REPEATED: usize = 1024;
/// The first size limit that is tried if no larger one is estimated.
const LEAST: usize = 4 << 10;
/// Size of a list's lazily built automaton, in bytes. It is rebuilt from scratch when full.
const CACHE: usize = 1 << 20;
/// Length of the character after a match, which a pattern may look at.
const AHEAD: usize = 4;

/// A list of patterns. A line matches if one of them does.
#[derive(Debug)]
pub(super) struct PatternList {
    matcher: PatternMatcher,
    /// For each pattern, what a match of the beginning of a line implies.
    heads: Vec<PrefixCheck>,
}

#[derive(Debug)]
enum PatternMatcher {
    One(Regex),
    Many(RegexSet),
}

/// The conclusions from a match of a pattern with the beginning of a line.
#[derive(Clone, Copy, Debug)]
struct PrefixCheck {
    /// Whether a match remains a match: the pattern has no assertions about the text after the match.
    looks_back: bool,
    /// If the beginning is at least this long, the pattern matches it exactly if it matches the line: the pattern is
    /// anchored at the start and has a maximum length.
    exact_from: Option<usize>,
}

/// A conclusion from the beginning of a line about the whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrefixMatch {
    Matches,
    MatchesNot,
    Unknown,
}

impl PatternList {
    /// Compiles the entries of `rule`; there must be at least one.
    pub(super) fn compile(
        rule: &'static str,
        texts: &[String],
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        if texts.len() > MAX_PATTERNS {
            let message =
                format!("{rule}: {} patterns exceed the maximum of {MAX_PATTERNS}", texts.len());
            return Err(refuse(rule, MAX_PATTERNS, message));
        }
        let mut heads = Vec::with_capacity(texts.len());
        let mut weights = Vec::with_capacity(texts.len());
        let mut all = PatternCost::default();
        for (entry, text) in texts.iter().enumerate() {
            if text.is_empty() {
                let message = format!("{rule}: an empty pattern matches every line");
                return Err(refuse(rule, entry, message));
            }
            let (pattern, weight) = parse(rule, entry, text, allowance)?;
            heads.push(PrefixCheck::of(&pattern));
            weights.push(weight);
            all = all.and(weight);
            if all.read > COMPILED {
                return Err(too_big(rule, entry, "together, "));
            }
        }
        let matcher = match texts {
            [text] => one(text, all, allowance).map(PatternMatcher::One),
            _ => many(texts, all, allowance).map(PatternMatcher::Many),
        };
        let refusal = match matcher {
            Ok(matcher) => {
                repeats(rule, &weights)?;
                return Ok(Self { matcher, heads });
            }
            Err(refusal) => refusal,
        };
        if let (PatternError::TooBig, [_, _, ..]) = (&refusal, texts) {
            // Report the first pattern that is too big on its own, as far as the allowance permits.
            for (entry, (text, weight)) in texts.iter().zip(weights).enumerate() {
                match one(text, weight, allowance) {
                    Ok(_) => {}
                    Err(PatternError::Spent) => break,
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
            PatternMatcher::One(regex) => regex.is_match(text),
            PatternMatcher::Many(set) => set.is_match(text),
        }
    }

    /// Returns what is known of a longer line that begins with `head`.
    pub(super) fn match_prefix(&self, head: &[u8]) -> PrefixMatch {
        let mut matched = vec![false; self.heads.len()];
        match &self.matcher {
            PatternMatcher::One(regex) => matched.fill(regex.is_match(head)),
            PatternMatcher::Many(set) => {
                for entry in set.matches(head) {
                    matched.get_mut(entry).into_iter().for_each(|matched| *matched = true);
                }
            }
        }
        let mut verdict = PrefixMatch::MatchesNot;
        for (reads, matched) in self.heads.iter().zip(matched) {
            let exact = reads.exact_from.is_some_and(|length| head.len() >= length);
            if matched && (exact || reads.looks_back) {
                return PrefixMatch::Matches;
            }
            if !exact {
                verdict = PrefixMatch::Unknown;
            }
        }
        verdict
    }
}

impl PrefixCheck {
    fn of(pattern: &Hir) -> Self {
        let properties = pattern.properties();
        let start = |look| matches!(look, Look::Start | Look::StartLF | Look::StartCRLF);
        // A line contains no line feed, so `(?m)^` matches only at its start. It may contain carriage returns, so
        // `(?mR)^` may match anywhere.
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

/// Why patterns were not compiled.
enum PatternError {
    /// They exceed the size of a list.
    TooBig,
    /// They exceed the rest of the allowance.
    Spent,
    Other(regex::Error),
}

impl PatternError {
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

/// Parses a pattern. Its cost is charged before it is expanded.
fn parse(
    rule: &'static str,
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<(Hir, PatternCost), Error> {
    if text.len() > COMPILED / pattern_cost::CHARACTER {
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
    let weight = PatternCost::of(text, &ast);
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

/// Compiles a single pattern: the part `part` of entry `entry` of `rule`.
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

/// Compiles the pattern `matches` of a condition of `where`.
pub fn value_pattern(
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<Regex, Error> {
    single("matches", "matches", entry, text, allowance)
}

/// Compiles a pattern of `redact`.
pub fn redact_pattern(
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<Regex, Error> {
    if text.is_empty() {
        return Err(refuse("patterns", entry, "patterns: an empty pattern matches nothing".into()));
    }
    single("patterns", "patterns", entry, text, allowance)
}

/// Returns the problem of a pattern, if it has one.
pub fn check(text: &str, allowance: &mut RegexBudget) -> Result<(), Error> {
    single("pattern", "pattern", 0, text, allowance).map(|_| ())
}

fn one(
    text: &str,
    weight: PatternCost,
    allowance: &mut RegexBudget,
) -> Result<Regex, PatternError> {
    within(weight, allowance, |limit| {
        RegexBuilder::new(text).size_limit(limit).dfa_size_limit(CACHE).build()
    })
}

fn many(
    texts: &[String],
    weight: PatternCost,
    allowance: &mut RegexBudget,
) -> Result<RegexSet, PatternError> {
    within(weight, allowance, |limit| {
        RegexSetBuilder::new(texts).size_limit(limit).dfa_size_limit(CACHE).build()
    })
}

/// Builds with the smallest sufficient size limit. Charges that limit, or the largest one tried.
fn within<T>(
    weight: PatternCost,
    allowance: &mut RegexBudget,
    build: impl Fn(usize) -> Result<T, regex::Error>,
) -> Result<T, PatternError> {
    // Every attempt parses the patterns again, so a limit below the cost of parsing would save nothing.
    let mut limit = match allowance.is_charged() {
        true => COMPILED,
        false => weight.read.max(weight.guess).clamp(LEAST, COMPILED),
    };
    loop {
        let tried = limit.min(COMPILED).min(allowance.left());
        if tried == 0 {
            allowance.spend();
            return Err(PatternError::Spent);
        }
        let refusal = match build(tried) {
            Ok(built) => {
                allowance.take(tried);
                return Ok(built);
            }
            Err(regex::Error::CompiledTooBig(_)) if tried == COMPILED => PatternError::TooBig,
            Err(regex::Error::CompiledTooBig(_)) if tried == allowance.left() => {
                allowance.spend();
                return Err(PatternError::Spent);
            }
            Err(regex::Error::CompiledTooBig(_)) => {
                limit *= 2;
                continue;
            }
            Err(error) => PatternError::Other(error),
        };
        allowance.take(tried);
        return Err(refusal);
    }
}

/// Refuses the first pattern with which the list exceeds [`REPEATED`].
fn repeats(rule: &'static str, weights: &[PatternCost]) -> Result<(), Error> {
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
        "more than {REPEATED} characters inside repetitions, each counted as often as it may repeat; use fewer repetitions"
    )
}

fn too_many_bytes() -> String {
    format!("more than {COMPILED} bytes when compiled; use fewer repetitions or narrower classes")
}

fn too_big(rule: &'static str, entry: usize, together: &str) -> Error {
    refuse(rule, entry, format!("{rule}: {together}{}", too_many_bytes()))
}

fn spent(rule: &'static str, entry: usize) -> Error {
    let message = format!(
        "{rule}: with the patterns before it, more than {} bytes when compiled; use fewer repetitions or narrower classes",
        RegexBudget::BYTES
    );
    refuse(rule, entry, message)
}

fn refuse(rule: &'static str, entry: usize, message: String) -> Error {
    let place = RulePlace { rule, entry, is_key: false, at: 0, message: message.clone() };
    Error::new(ErrorKind::Spec, message).in_rule(place)
}
