//! The form in which a gateway stores a result: no value that `exclude` removes from the output, and everything that
//! limits cut.
//!
//! Each scalar of a random document is replaced by a number of its own, so that a value can be recognised wherever it is
//! written. A value is removed by `exclude` if the output without `exclude` has it and the output does not.

use std::collections::BTreeSet;

use tamis::spec::Retrieve;
use tamis::{Program, Spec, filter_slice};
use tamis_testkit::effort::share;
use tamis_testkit::model::dom::{Node, Value};
use tamis_testkit::model::generate;
use tamis_testkit::model::rules::Rules;
use tamis_testkit::prng::Prng;

const PAIRS: u64 = 20_000;
/// The number of the first scalar. No generated document has digits like these.
const FIRST: usize = 7_000_000;

#[test]
fn excluded_values_are_not_stored() {
    let (mut removed, mut cut) = (0, 0);
    let pairs = share(PAIRS);
    for seed in 0..pairs {
        let mut prng = Prng::new(9 << 32 | seed);
        let mut document = Node::parse(&generate::document(&mut prng));
        number(&mut prng, &mut document, &mut FIRST.clone());
        let text = document.minified();
        let rules = generate::rules(&mut prng, &document);
        let Some(found) = compare(&rules, &text) else { continue };
        removed += u64::from(found.removed);
        cut += u64::from(found.cut);
    }
    assert!(removed > pairs / 50, "{removed} pairs in which a value is removed");
    assert!(cut > pairs / 50, "{cut} pairs in which a value is cut");
}

/// The properties that a pair of rules and document has.
struct Found {
    removed: bool,
    cut: bool,
}

/// Compares the stored forms of a spec with its output. `None` if there is no output.
fn compare(rules: &Rules, text: &str) -> Option<Found> {
    let spec = rules.spec();
    let output = values(&run(&spec, text)?);
    // The first item may be one that `exclude` leaves nothing of, but that has a hit: the same items are compared.
    let unlimited = Rules { max_items: 0, stop_early: false, ..rules.clone() };
    let included = Rules { exclude: Vec::new(), ..unlimited.clone() };
    let shown = values(&run(&unlimited.spec(), text)?);
    let all = stored(&spec, Retrieve::All, text)?;
    let mut removed = &values(&run(&included.spec(), text)?) - &shown;
    // A total miss among the first items only: nothing was selected, and `exclude` was read against the source.
    let missed = !output.is_subset(&shown);
    if missed {
        let limited = Rules { exclude: Vec::new(), ..rules.clone() };
        removed = &values(&run(&limited.spec(), text)?) - &output;
    }
    let context = || format!("{}\n{text}", serde_json::to_string(&spec).expect("a spec is JSON"));
    let leaked: Vec<_> = removed.intersection(&values(&all)).copied().collect();
    assert!(leaked.is_empty(), "stored: {leaked:?} in {all}\n{}", context());
    let cut = stored(&spec, Retrieve::Cut, text)?;
    if !missed {
        // Values that `omit` leaves out can be fetched.
        let whole = Rules { omit: Vec::new(), ..unlimited };
        assert_eq!(values(&cut), values(&run(&whole.spec(), text)?), "{}", context());
    }
    Some(Found { removed: !removed.is_empty(), cut: values(&cut).len() > output.len() })
}

fn stored(spec: &Spec, retrieve: Retrieve, text: &str) -> Option<String> {
    run(&spec.stored_form(retrieve).expect("few paths"), text)
}

fn run(spec: &Spec, text: &str) -> Option<String> {
    let program = Program::compile(spec).ok()?;
    let (output, _) = filter_slice(&program, text.as_bytes()).ok()?;
    Some(String::from_utf8(output).expect("the output is UTF-8"))
}

/// Gives each scalar a number, some of them as strings. A few empty values stay, because rules depend on them.
fn number(prng: &mut Prng, node: &mut Node, next: &mut usize) {
    match &mut node.value {
        Value::Scalar(text) => {
            *next += 1;
            *text = match prng.below(8) {
                0 => "null".to_owned(),
                1 => format!("\"{next}\""),
                _ => next.to_string(),
            };
        }
        Value::Array(elements) => {
            elements.iter_mut().for_each(|element| number(prng, element, next));
        }
        Value::Object(members) => {
            members.iter_mut().for_each(|member| number(prng, &mut member.node, next));
        }
    }
}

/// The numbers in a text.
fn values(text: &str) -> BTreeSet<usize> {
    let words = text.split(|char: char| !char.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).filter(|number| *number > FIRST).collect()
}
