//! Finds for the page of `tamis look` how much each rule of a filter leaves out of a document.
//!
//! The document is filtered once more for each rule, so only a file that can be read again is explained, and only for a page.

use std::fs::File;

use tamis::{Call, Program};
use tamis_insight::look::{FilterFigures, RuleFigures};
use tamis_insight::why::{RuleEffect, why};

use super::args::LookArgs;
use crate::files;
use crate::files::place::Place;
use crate::job::why::rereadable;

/// The rules that the legend lists.
const LISTED: usize = 5;

/// Returns what a page says of a filter.
pub(super) fn figures(args: &LookArgs, program: &Program, call: Call<'_>) -> FilterFigures {
    let spec = program.spec();
    let name = match &args.selection.tool {
        Some(tool) => tool.clone(),
        None => spec.summary(),
    };
    let select = spec.select.iter().flat_map(|selection| &selection.0);
    let sources = select.filter_map(|one| Some((one.output_key()?, one.path.clone()))).collect();
    FilterFigures { name, rules: rules(args, call).unwrap_or_default(), sources }
}

/// Returns what each rule leaves out, the heaviest first. `None` if the input cannot be explained, so that the page says nothing
/// about rules.
fn rules(args: &LookArgs, call: Call<'_>) -> Option<Vec<RuleFigures>> {
    let [path] = args.files.as_slice() else { return None };
    let place = Place::from(path.clone());
    if args.ndjson || args.chat || place == Place::Standard {
        return None;
    }
    let limits = call.options().limits().clone();
    let file: File = files::open(&place).ok()?;
    let (file, _) = rereadable(file, &limits).ok()?;
    let mut rules = why(call, file, None).ok()?.rules;
    rules.retain(|rule| rule.removed_bytes > 0 && !rule.paths.is_empty());
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.removed_bytes));
    rules.truncate(LISTED);
    Some(rules.into_iter().map(figures_of).collect())
}

fn figures_of(effect: RuleEffect) -> RuleFigures {
    const SHOWN: usize = 40;
    let RuleEffect { rule, text, removed_bytes, paths, .. } = effect;
    let is_short = !text.is_empty() && text.chars().count() <= SHOWN;
    RuleFigures {
        rule: if is_short { format!("{rule}: {text}") } else { rule },
        bytes: removed_bytes,
        paths: paths.into_iter().map(|path| (path.path, path.removed_bytes)).collect(),
    }
}
