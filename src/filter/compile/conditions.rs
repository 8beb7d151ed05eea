//! Compiles `where`: the conditions of items as tests at the nodes of a trie.
//!
//! A condition has a test that must hold for one of the values at its path, a test that must hold for none of them, or
//! both. `exists: false` is a test that must hold for none.

use std::borrow::Cow;
use std::collections::HashSet;

use tamis_json::error::Error;
use tamis_json::key::unescape_any;
use tamis_json::path::trie::Trie;
use tamis_json::path::{Path, PathToken};
use tamis_json::regex_budget::RegexBudget;
use tamis_json::tree::{canonical_number, compare_numbers};

use super::rule_paths::{MAX_RULES, read, refuse_in, steps};
use crate::filter::patterns::Pattern;
use crate::spec::{ItemCondition, RawJson, ValueTest};

const RULE: &str = "where";

/// The compiled conditions.
#[derive(Clone, Debug)]
pub(in crate::filter) struct ItemConditions {
    /// The paths. A path ends with the numbers of its requirements.
    pub(in crate::filter) trie: Trie,
    pub(in crate::filter) requirements: Vec<Requirement>,
    /// The number of requirements that a value must meet: all that are not negative.
    pub(in crate::filter) needed: usize,
    /// Whether all paths lead through members with names.
    pub(in crate::filter) names_only: bool,
}

/// A test, and for which of the values at a path it must hold.
#[derive(Clone, Debug)]
pub(in crate::filter) struct Requirement {
    /// Whether it must hold for no value, instead of for one.
    pub(in crate::filter) is_negative: bool,
    /// Whether the path leads to one value at most.
    pub(in crate::filter) is_single: bool,
    pub(in crate::filter) test: CompiledTest,
}

/// The parts of a test of one value.
#[derive(Clone, Debug, Default)]
pub(in crate::filter) struct CompiledTest {
    /// Sets of scalars. The value must be in each.
    sets: Vec<ScalarSet>,
    matches: Option<Pattern>,
    less: Option<Bound>,
    greater: Option<Bound>,
}

/// Scalars, sorted by kind.
#[derive(Clone, Debug, Default)]
struct ScalarSet {
    /// `null`, `true` and `false`.
    literals: Vec<String>,
    /// As [`canonical_number`] writes them.
    numbers: HashSet<Vec<u8>>,
    /// Unescaped.
    strings: HashSet<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Bound {
    Number(String),
    /// Unescaped.
    String(Vec<u8>),
}

impl ItemConditions {
    /// Compiles the conditions of a spec, if it has any.
    pub(in crate::filter) fn compile(
        written: &[ItemCondition],
        envelope: bool,
        allowance: &mut RegexBudget,
    ) -> Result<Option<Self>, Error> {
        if written.is_empty() {
            return Ok(None);
        }
        let (mut paths, mut requirements) = (Vec::new(), Vec::new());
        let mut scalars = 0;
        for (entry, condition) in written.iter().enumerate() {
            let ItemCondition { path: text, test, not } = condition;
            let path = steps(read(text, envelope), RULE, entry, text, allowance)?;
            if test.is_empty() && not.is_empty() {
                return refuse(entry, "a condition requires a test, such as `equals`");
            }
            for (test, is_negative) in [(test, false), (not, true)] {
                scalars += test.one_of.as_ref().map_or(1, Vec::len);
                if scalars > MAX_RULES {
                    return refuse(entry, &format!("more than {MAX_RULES} values to compare with"));
                }
                let Some(requirement) = requirement(entry, &path, test, is_negative, allowance)?
                else {
                    continue;
                };
                requirements.push(requirement);
                paths.push(path.clone());
            }
        }
        let mut trie = Trie::new(&paths);
        trie.sharpen(allowance);
        let names_only = paths.iter().flat_map(|path| &path.0).all(|token| match token {
            PathToken::Name(_) => token.index().is_none(),
            PathToken::Any => false,
        });
        let needed = requirements.iter().filter(|one| !one.is_negative).count();
        Ok(Some(Self { trie, requirements, needed, names_only }))
    }
}

fn refuse<T>(entry: usize, message: &str) -> Result<T, Error> {
    refuse_in(RULE, entry, false, format!("{RULE}: {message}"))
}

/// Compiles a test. `None` if it has no parts.
fn requirement(
    entry: usize,
    path: &Path,
    written: &ValueTest,
    is_negative: bool,
    allowance: &mut RegexBudget,
) -> Result<Option<Requirement>, Error> {
    // Every part is named: a new one does not compile until it is part of the compiled test.
    let ValueTest { equals, one_of, matches, less, greater, exists } = written;
    if written.is_empty() {
        return Ok(None);
    }
    let is_single = !path.0.contains(&PathToken::Any);
    if *exists == Some(false) {
        let alone = ValueTest { exists: None, ..written.clone() };
        if !alone.is_empty() {
            return refuse(
                entry,
                "`exists: false` cannot be combined with other tests of the same value",
            );
        }
        // That no value exists, and its opposite.
        let (is_negative, test) = (!is_negative, CompiledTest::default());
        return Ok(Some(Requirement { is_negative, is_single, test }));
    }
    let mut test = CompiledTest::default();
    if let Some(value) = equals {
        test.sets.push(ScalarSet::new(entry, std::slice::from_ref(value))?);
    }
    if let Some(values) = one_of {
        if values.is_empty() {
            return refuse(entry, "`in` is empty, so that no value passes");
        }
        test.sets.push(ScalarSet::new(entry, values)?);
    }
    test.less = less.as_ref().map(|value| Bound::new(entry, value)).transpose()?;
    test.greater = greater.as_ref().map(|value| Bound::new(entry, value)).transpose()?;
    if let Some(pattern) = matches {
        test.matches = Some(Pattern::compile(entry, pattern, allowance)?);
    }
    Ok(Some(Requirement { is_negative, is_single, test }))
}

impl CompiledTest {
    /// Returns whether the test can hold for a container.
    pub(in crate::filter) fn takes_containers(&self) -> bool {
        let Self { sets, matches, less, greater } = self;
        sets.is_empty() && matches.is_none() && less.is_none() && greater.is_none()
    }

    /// Returns whether the test holds for a scalar. `text` is its valid JSON text.
    pub(in crate::filter) fn holds(&self, text: &[u8]) -> bool {
        let string = match text {
            [b'"', inside @ .., b'"'] => Some(content(inside)),
            _ => None,
        };
        let string = string.as_deref();
        if let Some(pattern) = &self.matches
            && !string.is_some_and(|string| pattern.is_match(string))
        {
            return false;
        }
        self.sets.iter().all(|set| set.contains(text, string))
            && self
                .less
                .as_ref()
                .is_none_or(|bound| bound.compare(text, string).is_some_and(|order| order.is_lt()))
            && self
                .greater
                .as_ref()
                .is_none_or(|bound| bound.compare(text, string).is_some_and(|order| order.is_gt()))
    }
}

/// Returns the content of a string, given without its quotes.
fn content(inside: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr(b'\\', inside) {
        None => Cow::Borrowed(inside),
        Some(_) => Cow::Owned(unescape_any(inside).0),
    }
}

impl ScalarSet {
    fn new(entry: usize, values: &[RawJson]) -> Result<Self, Error> {
        let mut set = Self::default();
        for value in values {
            let text = value.as_str();
            match text.as_bytes() {
                [b'"', inside @ .., b'"'] => {
                    set.strings.insert(content(inside).into_owned());
                }
                [b'{' | b'[', ..] => {
                    return refuse(
                        entry,
                        &format!("cannot compare with {text}: it is not a scalar"),
                    );
                }
                [b'n' | b't' | b'f', ..] => set.literals.push(text.to_owned()),
                _ => {
                    set.numbers.insert(canonical_number(text.as_bytes()));
                }
            }
        }
        Ok(set)
    }

    fn contains(&self, text: &[u8], string: Option<&[u8]>) -> bool {
        if let Some(string) = string {
            // Most sets are small, and a comparison is cheaper than a hash.
            return match self.strings.len() {
                0..=4 => self.strings.iter().any(|one| one == string),
                _ => self.strings.contains(string),
            };
        }
        match text {
            [b'n' | b't' | b'f', ..] => {
                self.literals.iter().any(|literal| literal.as_bytes() == text)
            }
            _ => !self.numbers.is_empty() && self.numbers.contains(&canonical_number(text)),
        }
    }
}

impl Bound {
    fn new(entry: usize, value: &RawJson) -> Result<Self, Error> {
        match value.as_bytes() {
            [b'"', inside @ .., b'"'] => Ok(Self::String(content(inside).into_owned())),
            [b'-' | b'0'..=b'9', ..] => Ok(Self::Number(value.as_str().to_owned())),
            _ => {
                let message = format!(
                    "`less` and `greater` compare with a number or a string, not with {value}"
                );
                refuse(entry, &message)
            }
        }
    }

    /// Returns how a scalar compares with the bound, if it is of the same kind. UTF-8 sorts as code points do.
    fn compare(&self, text: &[u8], string: Option<&[u8]>) -> Option<std::cmp::Ordering> {
        match (self, string) {
            (Self::String(bound), Some(string)) => Some(string.cmp(bound)),
            (Self::Number(bound), None) if matches!(text, [b'-' | b'0'..=b'9', ..]) => {
                Some(compare_numbers(text, bound.as_bytes()))
            }
            _ => None,
        }
    }
}
