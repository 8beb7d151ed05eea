//! Finds where a `select` writes the values at a path of the source.
//!
//! A filter removes values for safety by the names of its careful level, which has the names of the source. The `select` of its
//! tight level may write such a value under another name. So the paths of both are removed there.

use std::collections::BTreeSet;

use tamis::Spec;
use tamis_json::path::{Path, PathToken};

/// Returns the paths at which the output of a `select` has what is at a path of the source, as pointers. In doubt it has it.
pub(super) fn output_places(spec: &Spec, removed: &str) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    let Ok(removed) = Path::parse(removed) else { return places };
    for source in spec.select.iter().flat_map(|select| &select.0) {
        let (Ok(selected), Some(key)) = (Path::parse_selected(&source.path), source.output_key())
        else {
            continue;
        };
        for own in readings(&selected.path) {
            for removed in readings(&removed) {
                let is_same = |(one, other): (&PathToken, &PathToken)| {
                    one == other || *one == PathToken::Any || *other == PathToken::Any
                };
                if !own.iter().zip(&removed).all(is_same) {
                    continue;
                }
                // The names in braces may be others.
                let inside = removed.get(own.len()..).filter(|_| selected.fields.is_empty());
                let key = PathToken::Name(key.as_str().into());
                let steps = std::iter::once(key).chain(inside.unwrap_or_default().iter().cloned());
                places.insert(Path(steps.collect()).to_pointer());
            }
        }
    }
    places
}

/// Returns a path without the steps to elements of arrays. Each `*` may be one, or a member.
fn readings(path: &Path) -> [Vec<PathToken>; 2] {
    let names = |is_kept: fn(&PathToken) -> bool| {
        path.0.iter().filter(|step| step.index().is_none() && is_kept(step)).cloned().collect()
    };
    [names(|_| true), names(|step| *step != PathToken::Any)]
}

#[cfg(test)]
mod tests {
    use super::output_places;
    use tamis::Spec;

    #[test]
    fn values_are_found_under_the_keys_of_a_select() {
        let spec = Spec::new()
            .select("id")
            .select("user.ssn")
            .select_as("who", "user.login")
            .select_as("teams", "teams[]{t=name,id}")
            .select_as("data", "data.user")
            .select("*.pin");
        for (removed, expected) in [
            ("ssn", &["/pin"][..]),
            ("user.ssn", &["/ssn"]),
            ("/user/login", &["/who"]),
            ("user", &["/pin", "/ssn", "/who"]),
            ("user.*", &["/pin", "/ssn", "/who"]),
            ("teams.name", &["/teams"]),
            ("teams[].name", &["/pin/name", "/teams"]),
            ("data.user.card.number", &["/data/card/number"]),
            ("other", &["/pin"]),
            ("other.name", &[]),
        ] {
            let found = output_places(&spec, removed);
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{removed}");
        }
    }
}
