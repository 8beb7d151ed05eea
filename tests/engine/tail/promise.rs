//! Guarantees of a budget for every document: the output fits or the run reports that it does not, items remain items,
//! and omissions are marked.

use serde_json::Value as Json;
use tamis::spec::Budget;
use tamis::{Program, Spec, filter_slice};

use super::corpus::documents;

/// Checks that every omission from `input` is marked in `output`. With `beside`, this is the payload, whose mark is
/// next to it.
fn check_marked(input: &Json, output: &Json, has_siblings: bool, place: &str) {
    match (input, output) {
        (Json::String(input), Json::String(output)) if input != output => {
            let kept = output.strip_suffix("...");
            assert!(kept.is_some_and(|kept| input.starts_with(kept)), "{place}: {output}");
        }
        (Json::Array(input), Json::Array(output)) => {
            let is_mark = |last: Option<&Json>| {
                last.and_then(|last| last.get("_omitted")?.get("items")).is_some()
            };
            let whole = has_siblings || !is_mark(output.last()) || is_mark(input.last());
            let kept = if whole { output.len() } else { output.len() - 1 };
            if !whole {
                let mark = output.last().and_then(|last| last.get("_omitted")).expect(place);
                assert_eq!(mark["items"], input.len() - kept, "{place}");
                assert_eq!(mark["of"], input.len(), "{place}");
            }
            for (at, (input, output)) in input.iter().zip(&output[..kept]).enumerate() {
                check_marked(input, output, false, &format!("{place}/{at}"));
            }
        }
        (Json::Object(input), Json::Object(output)) => {
            let marks: Vec<&Json> = output
                .iter()
                .filter(|(name, _)| name.starts_with("_omitted") && !input.contains_key(*name))
                .map(|(_, mark)| mark)
                .collect();
            let items = marks.iter().any(|mark| mark.get("items").is_some());
            let missing = input.keys().filter(|name| !output.contains_key(*name)).count();
            if missing > 0 {
                let mark = marks.iter().find_map(|mark| mark.get("members")).expect(place);
                assert_eq!(*mark, missing, "{place}");
            }
            for (name, output) in output.iter().filter(|(name, _)| input.contains_key(*name)) {
                check_marked(&input[name], output, items, &format!("{place}/{name}"));
            }
        }
        _ => assert_eq!(input, output, "{place}"),
    }
}

#[test]
fn the_corpus_at_the_budgets_of_models() {
    let (mut met, mut missed) = (0, 0);
    for (name, document) in documents() {
        let input: Json = serde_json::from_slice(&document).unwrap();
        for tokens in [200, 500, 1500] {
            for budget in [Budget::Tokens(tokens), Budget::Bytes(4 * tokens)] {
                for root in ["auto", "object"] {
                    let said = format!("{name}, root {root}, {budget}");
                    let spec = Spec::new().root(root).budget(budget);
                    let program = Program::compile(&spec).unwrap();
                    let options = tamis_testkit::call_options();
                    let call = program.with_options(&options);
                    let (output, report) = filter_slice(call, &document).unwrap();
                    let fits = match budget {
                        Budget::Tokens(limit) => {
                            tiktoken::get_encoding("o200k_base")
                                .unwrap()
                                .count(std::str::from_utf8(&output).unwrap())
                                as u64
                                <= limit
                        }
                        Budget::Bytes(limit) => output.len() as u64 <= limit,
                        _ => unreachable!(),
                    };
                    assert!(fits || report.budget_exceeded, "{said}: {report:?}");
                    if fits {
                        met += 1
                    } else {
                        missed += 1
                    };
                    if report.items_seen.is_some_and(|seen| seen > 0) {
                        assert!(report.items_kept.is_some_and(|kept| kept > 0), "{said}");
                    }
                    let output: Json = serde_json::from_slice(&output).expect(&said);
                    check_marked(&input, &output, false, &said);
                    assert_eq!(report.budget_applied, input != output, "{said}");
                }
            }
        }
    }
    assert!(met > 20 * missed, "{met} fit, {missed} do not");
}
