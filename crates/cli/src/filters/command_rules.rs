//! Loads rules for the output of commands: files of the user and the built-in rules.
//!
//! This module must not depend on what a rule does.

use std::path::{Path, PathBuf};

use tamis_command::{CommandRules, OutputFilterRegistry};
use tamis_manifest::ManifestError;

use crate::console::{Console, Usage};
use crate::files;
use crate::files::place::called;

/// Returns a registry with the rules of these files, followed by the built-in rules.
pub(crate) fn registry(manifests: &[PathBuf]) -> Result<OutputFilterRegistry, ManifestError> {
    let mut registry = OutputFilterRegistry::new();
    for path in manifests {
        registry = registry.register_rules(load(path)?);
    }
    Ok(registry.register_rules(CommandRules::builtin()))
}

/// Reads a file of rules; `-` is standard input.
pub(crate) fn load(path: &Path) -> Result<CommandRules, ManifestError> {
    if path.as_os_str() != "-" {
        return CommandRules::load(path);
    }
    let name = called(path);
    let input = files::standard_input().map_err(|error| ManifestError::read(&name, &error))?;
    CommandRules::read(&name, input)
}

/// Prints each problem of a manifest or of a file of rules.
pub(crate) fn print_problems(console: &Console, error: &ManifestError) {
    for problem in error.problems() {
        console.usage(&Usage::new(problem.to_string()));
    }
    if error.more() > 0 {
        console.usage(&Usage::new(format!("{} more problems", error.more())));
    }
}
