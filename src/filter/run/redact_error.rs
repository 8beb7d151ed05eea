//! Keeps what `redact` looks for out of errors and reports, which name keys of the document.

use tamis_json::error::Error;
use tamis_text::secrets::{SecretRules, TextForm};

use crate::filter::compile::program::Program;
use crate::report::{PayloadPath, Report};

/// The longest name in a path that is searched. Longer ones are shortened, so a part of a credential may be at their end.
const LONGEST: usize = 250;

/// Returns the error without anything that the program, or one of its branches, looks for.
pub(super) fn redacted_error(program: &Program, error: Error) -> Error {
    let rules = rules_of(program);
    if rules.is_empty() {
        return error;
    }
    let path = redacted_path(&rules, error.path());
    // A message may contain the path to a place in a string.
    let message = redacted_text(&rules, &error.message().replace("~1", "/"));
    error.rephrased(path, message)
}

/// Removes from a report what the program, or one of its branches, looks for.
pub(super) fn redact_report(program: &Program, report: &mut Report) {
    let rules = rules_of(program);
    if rules.is_empty() {
        return;
    }
    if let Some(root) = &mut report.root {
        *root = PayloadPath::new(redacted_path(&rules, root.as_str()));
    }
    for text in [&mut report.fallback, &mut report.compact_error].into_iter().flatten() {
        if let Some(redacted) = redacted_text(&rules, text) {
            *text = redacted;
        }
    }
}

/// Returns what the output of a program or of its branches is searched for.
fn rules_of(program: &Program) -> Vec<&SecretRules> {
    let compiled = program.compiled();
    let branches = compiled.when.iter().flat_map(|when| when.programs());
    let outputs = branches.map(|(_, program)| &program.compiled().output).chain([&compiled.output]);
    outputs.filter_map(|output| output.redact.as_ref()?.secrets.as_ref()).collect()
}

/// Returns the text if something was replaced in it.
fn redacted_text(rules: &[&SecretRules], text: &str) -> Option<String> {
    let mut redacted = None;
    for rules in rules {
        let (mut search, mut output) = (rules.filter(TextForm::Plain), Vec::new());
        search.write(redacted.as_deref().unwrap_or(text).as_bytes(), &mut output);
        search.end(&mut output);
        if !search.found().is_empty() {
            redacted = Some(String::from_utf8_lossy(&output).into_owned());
        }
    }
    redacted
}

/// Returns a JSON Pointer whose names have nothing that is looked for.
fn redacted_path(rules: &[&SecretRules], path: &str) -> String {
    let name = |name: &str| {
        if name.len() > LONGEST {
            return "…".to_owned();
        }
        match redacted_text(rules, &name.replace("~1", "/").replace("~0", "~")) {
            Some(redacted) => redacted.replace('~', "~0").replace('/', "~1"),
            None => name.to_owned(),
        }
    };
    path.split('/').map(name).collect::<Vec<_>>().join("/")
}
