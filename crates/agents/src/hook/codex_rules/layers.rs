//! [`RuleLayers`]: the rules of all layers.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::managed;
use super::places::RulePlaces;
use super::prefix_rule::{PrefixRule, RuleDecision};
use super::starlark;

/// The folder of rules in a layer, and the ending of its files.
const RULES: &str = "rules";
/// The longest file of rules, in bytes, and the most files of a layer.
const LONGEST_FILE: u64 = 1 << 20;
const MOST_FILES: usize = 1_000;

/// It is not known which rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RulesUnknown;

/// The rules of each layer.
#[derive(Clone, Debug, Default)]
pub struct RuleLayers(Vec<Vec<PrefixRule>>);

impl RuleLayers {
    /// Reads the rules of all layers that may be active: of the system, of the user, and of the working directory and
    /// all folders around it.
    ///
    /// # Errors
    /// A file cannot be read or is not understood, or an administrator manages the rules.
    pub fn read(places: &RulePlaces) -> Result<Self, RulesUnknown> {
        if !places.working.is_absolute() || managed::is_managed(places) {
            return Err(RulesUnknown);
        }
        let mut folders = vec![places.system.clone(), places.home.clone()];
        let around = places.working.ancestors().map(|folder| folder.join(".codex"));
        folders.extend(around.filter(|folder| *folder != places.home));
        let read = |folder: &PathBuf| layer(&folder.join(RULES)).transpose();
        Ok(Self(folders.iter().filter_map(read).collect::<Result<_, _>>()?))
    }

    /// Returns whether each layer judges two commands equally, and neither asks nor forbids.
    #[must_use]
    pub fn judge_equally(&self, before: &[String], after: &[String]) -> bool {
        let is_path = after.first().is_some_and(|program| program.contains('/'));
        self.0.iter().all(|rules| {
            let strictest = |words: &[String], by_name| {
                let matching = rules.iter().filter(|rule| rule.matches(words, by_name));
                matching.map(|rule| rule.decision).max()
            };
            match (strictest(before, false), strictest(after, is_path)) {
                (None, None) => true,
                // Whether a rule for the name of a program covers its path depends on other rules.
                (Some(RuleDecision::Allow), Some(RuleDecision::Allow)) => {
                    strictest(after, false) == Some(RuleDecision::Allow)
                }
                _ => false,
            }
        })
    }
}

/// Reads the rules in a folder, if it exists.
fn layer(folder: &Path) -> Result<Option<Vec<PrefixRule>>, RulesUnknown> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(RulesUnknown),
    };
    let mut rules = Vec::new();
    for (count, entry) in entries.enumerate() {
        let path = entry.map_err(|_error| RulesUnknown)?.path();
        if count >= MOST_FILES {
            return Err(RulesUnknown);
        }
        if path.extension().is_none_or(|ending| ending != RULES) {
            continue;
        }
        let metadata = path.metadata().map_err(|_error| RulesUnknown)?;
        if metadata.is_dir() {
            continue;
        }
        if !metadata.is_file() || metadata.len() > LONGEST_FILE {
            return Err(RulesUnknown);
        }
        let text = fs::read_to_string(&path).map_err(|_error| RulesUnknown)?;
        rules.extend(starlark::parse(&text).map_err(|_error| RulesUnknown)?);
    }
    Ok(Some(rules))
}
