//! Parses the paths of rules, and reports errors at their place in the spec.

use tamis_json::error::{Error, ErrorKind, RulePlace};
use tamis_json::path::projection::SelectedPath;
use tamis_json::path::{Path, PathError, PathToken};
use tamis_json::regex_budget::RegexBudget;

/// The largest number of paths in one spec, over all rules.
pub(in crate::filter) const MAX_RULES: usize = 10_000;
/// The largest number of steps in one path.
const MAX_STEPS: usize = 1024;

/// Parses a path without wildcards.
pub(in crate::filter) fn one_place(
    rule: &'static str,
    what: &str,
    text: &str,
    foreign: bool,
    allowance: &mut RegexBudget,
) -> Result<Path, Error> {
    let path = steps(read(text, foreign), rule, 0, text, allowance)?;
    if path.0.contains(&PathToken::Any) {
        let message = format!("{rule}: a wildcard cannot locate {what}: {text}");
        return refuse_in(rule, 0, false, message);
    }
    Ok(path)
}

/// Parses a path. In a `foreign` manifest, invalid forms are part of a name, as that manifest's own program reads
/// them. Only `tamis check` warns about them.
pub(in crate::filter) fn read(text: &str, foreign: bool) -> Result<Path, PathError> {
    if foreign { Path::parse_foreign(text).map(|(path, _)| path) } else { Path::parse(text) }
}

/// Parses a select source, as [`read`] parses a path. Foreign manifests have no projections.
pub(in crate::filter) fn read_selected(
    text: &str,
    foreign: bool,
) -> Result<SelectedPath, PathError> {
    match foreign {
        true => Ok(SelectedPath::plain(read(text, true)?, text)),
        false => Path::parse_selected(text),
    }
}

/// Charges the steps of a select source; those of its fields are charged with the projection.
pub(super) fn selected_steps(
    parsed: Result<SelectedPath, PathError>,
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<SelectedPath, Error> {
    let parsed = parsed.map_err(|error| refused(&error, "select", entry, text))?;
    charge(&parsed.path, "select", entry, allowance)?;
    Ok(parsed)
}

/// Returns the error of a path that cannot be parsed.
fn refused(error: &PathError, rule: &'static str, entry: usize, text: &str) -> Error {
    let message = format!("{rule}: {}", error.message);
    let place = RulePlace { rule, entry, is_key: false, at: error.at, message };
    let line = Error::new(ErrorKind::Spec, error.line(rule, text));
    line.with_excerpt(error.excerpt(text)).in_rule(place)
}

pub(in crate::filter) fn steps(
    path: Result<Path, PathError>,
    rule: &'static str,
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<Path, Error> {
    let path = path.map_err(|error| refused(&error, rule, entry, text))?;
    charge(&path, rule, entry, allowance)?;
    Ok(path)
}

/// Charges the steps of a path.
fn charge(
    path: &Path,
    rule: &'static str,
    entry: usize,
    allowance: &mut RegexBudget,
) -> Result<(), Error> {
    if path.0.len() > MAX_STEPS {
        let message = format!("{rule}: a path has {} steps, more than {MAX_STEPS}", path.0.len());
        return refuse_in(rule, entry, false, message);
    }
    let charged = allowance.take_steps(path.0.len());
    charged.or_else(|message| refuse_in(rule, entry, false, format!("{rule}: {message}")))
}

/// Refuses an entry of a rule, or its key.
pub(in crate::filter) fn refuse_in<T>(
    rule: &'static str,
    entry: usize,
    is_key: bool,
    message: String,
) -> Result<T, Error> {
    let place = RulePlace { rule, entry, is_key, at: 0, message: message.clone() };
    Err(Error::new(ErrorKind::Spec, message).in_rule(place))
}

pub(in crate::filter) fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Spec, message))
}
