//! Compiles `json_strings`: a program for the JSON in the strings at each pointer.

use std::sync::Arc;

use tamis_json::error::Error;
use tamis_json::path::trie::Trie;
use tamis_json::path::{Path, PathToken};
use tamis_json::regex_budget::RegexBudget;

use super::call::Skips;
use super::nested::{JsonStringEntry, JsonStringRules};
use super::program::Program;
use super::rule_paths::{refuse_in, steps};
use crate::spec::{InnerRules, JsonStringFallback, JsonStrings, Spec};

/// Largest number of entries of one spec. Each has a program of its own.
const MAX_ENTRIES: usize = 100;
/// Largest number of specs inside one another. Programs are compiled and run by recursion over them.
const MAX_NESTED: usize = 8;

impl JsonStringRules {
    /// Compiles the entries of a spec, if it has any.
    pub(in crate::filter) fn compile(
        spec: &Spec,
        allowance: &mut RegexBudget,
    ) -> Result<Option<Self>, Error> {
        let entries = &spec.json_strings;
        if entries.is_empty() {
            return Ok(None);
        }
        if entries.len() > MAX_ENTRIES {
            let message = format!(
                "json_strings: {} entries exceed the limit of {MAX_ENTRIES}",
                entries.len()
            );
            return refuse_in("json_strings", MAX_ENTRIES, false, message);
        }
        if nested(spec) > MAX_NESTED {
            let message = format!("json_strings: more than {MAX_NESTED} inside one another");
            return refuse_in("json_strings", 0, false, message);
        }
        let mut paths: Vec<Path> = Vec::with_capacity(entries.len());
        let mut compiled = Vec::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            let JsonStrings { at, apply, otherwise } = entry;
            let path = steps(Path::pointer(at), "json_strings", number, at, allowance)?;
            let other = paths.iter().position(|other| may_meet(&other.0, &path.0));
            if let Some(other) = other.and_then(|other| entries.get(other)) {
                let (other, at) = (&other.at, at);
                let message = format!("json_strings: `{other}` and `{at}` may be the same string");
                return refuse_in("json_strings", number, false, message);
            }
            paths.push(path);
            let (rules, same) = match apply {
                InnerRules::Same => (
                    Spec { json_strings: Vec::new(), test: None, factor: false, ..spec.clone() },
                    true,
                ),
                // Text in a string is not factored.
                InnerRules::Spec(rules) => (Spec { factor: false, ..(**rules).clone() }, false),
            };
            let program = Program::compile_within(&rules, allowance)
                .map_err(|error| error.in_json_string(number, at))?;
            let is_closed = spec.is_closed() || rules.is_closed();
            let default =
                if is_closed { JsonStringFallback::Error } else { JsonStringFallback::Keep };
            compiled.push(JsonStringEntry {
                at: at.clone(),
                program,
                same,
                otherwise: otherwise.unwrap_or(default),
            });
        }
        let mut trie = Trie::new(&paths);
        trie.sharpen(allowance);
        Ok(Some(Self { trie: Arc::new(trie), entries: compiled }))
    }

    /// Returns the rules for the response of a failed call.
    pub(in crate::filter) fn failed(&self) -> Self {
        let entries = self.entries.iter().map(|entry| JsonStringEntry {
            program: entry.program.for_call(Some(Skips::Failed)).clone(),
            ..entry.clone()
        });
        Self { trie: self.trie.clone(), entries: entries.collect() }
    }
}

/// Returns how deep specs are inside one another, through `json_strings` and branches. Stops counting above the limit.
fn nested(spec: &Spec) -> usize {
    let mut deepest = 0;
    // A stack instead of recursion: the depth of the spec is not known to be bounded.
    let mut open = vec![(spec, 1)];
    while let Some((spec, depth)) = open.pop() {
        deepest = deepest.max(depth);
        if depth > MAX_NESTED {
            break;
        }
        for entry in &spec.json_strings {
            if let InnerRules::Spec(inner) = &entry.apply {
                open.push((inner, depth + 1));
            }
        }
        open.extend(spec.when.iter().flatten().map(|branch| (branch, depth)));
    }
    deepest
}

/// Whether two pointers may lead to one value.
///
/// Names reach through arrays, so that an index in one pointer may be passed over by a name of the other. Names must
/// agree, and where both have an index, so must the indices.
fn may_meet(mut one: &[PathToken], mut other: &[PathToken]) -> bool {
    loop {
        let (first, second) = (one.split_first(), other.split_first());
        match (first, second) {
            (Some((a, one_rest)), Some((b, other_rest))) if a == b => {
                (one, other) = (one_rest, other_rest);
            }
            (Some((a, _)), Some((b, _))) if a.index().is_some() && b.index().is_some() => {
                return false;
            }
            (Some((a, rest)), _) if a.index().is_some() => one = rest,
            (_, Some((b, rest))) if b.index().is_some() => other = rest,
            (None, None) => return true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use tamis_json::path::Path;

    use super::may_meet;

    #[test]
    fn pointers_may_meet_through_arrays() {
        let cases = [
            ("/a", "/a", true),
            ("", "", true),
            ("/a/t", "/a/0/t", true),
            ("/0/a/t", "/a/t", true),
            ("/a/0/t", "/0/a/t", true),
            ("/a/0/t", "/a/1/t", false),
            ("/a/0/0/t", "/a/0/t", true),
            ("/a/0", "/a", true),
            ("/a/t", "/a/u", false),
            ("/a", "/a/t", false),
            ("", "/a", false),
            ("/a/1/t/0/u", "/a/t/2/u", false),
        ];
        for (one, other, meet) in cases {
            let (one, other) = (Path::pointer(one).unwrap(), Path::pointer(other).unwrap());
            assert_eq!(may_meet(&one.0, &other.0), meet, "{one} {other}");
            assert_eq!(may_meet(&other.0, &one.0), meet, "{other} {one}");
        }
    }
}
