//! Random programs on random documents, compared with a model that applies the rules to a tree.

mod errors;
mod stored;
mod values;

use std::collections::BTreeMap;

use tamis_testkit::drivers;
use tamis_testkit::effort::share;
use tamis_testkit::model::check::{check, shrink};
use tamis_testkit::model::dom::Node;
use tamis_testkit::model::{eval, generate, runs};
use tamis_testkit::prng::Prng;

/// Pairs of program and document with full effort, in blocks that run in parallel.
const PAIRS: u64 = 60_000;
/// Pairs with a long document.
const LONG: u64 = 300;
/// Pairs with a compact document, in which few values are unusual.
const COMPACT: u64 = 3_000;
/// Pairs with a document of runs.
const RUNS: u64 = 2_000;
/// Pairs under tight limits.
const LIMITED: u64 = 6_000;
/// The number of differences after which a block stops.
const SHOWN: usize = 5;

fn block(number: u64) {
    compare(number, PAIRS, generate::document);
}

/// Documents that are longer than any buffer or scan window.
#[test]
fn long_documents() {
    compare(4, LONG, generate::long_document);
}

/// Documents for the fast loops over members.
#[test]
fn compact_documents() {
    compare(5, COMPACT, generate::compact_document);
}

/// Documents with white space, long arrays and many levels, for the loops that skip and copy.
#[test]
fn documents_of_runs() {
    compare(6, RUNS, runs::document);
}

fn compare(number: u64, pairs: u64, document: fn(&mut Prng) -> String) {
    let mut compared = 0;
    let mut silent = BTreeMap::<&str, u64>::new();
    let mut failures = Vec::new();
    // Fewer would not show that the model has a verdict on most pairs.
    let pairs = share(pairs).max(100);
    for seed in 0..pairs {
        let mut prng = Prng::new(number << 32 | seed);
        let text = document(&mut prng);
        let rules = generate::rules(&mut prng, &Node::parse(&text));
        match check(&rules, &text, seed) {
            Ok(None) => compared += 1,
            Ok(Some(why)) => *silent.entry(why).or_default() += 1,
            Err(_) => {
                let (rules, text, why) = shrink(rules, text, seed);
                failures.push(format!(
                    "block {number}, seed {seed}, made smaller:\n{why}\ndocument: {text}\nspec: {}\nmodel: {:?}",
                    serde_json::to_string(&rules.spec()).expect("a spec is JSON"),
                    eval::run(&rules, &Node::parse(&text)),
                ));
                if failures.len() == SHOWN {
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // The model must have a verdict on most pairs.
    assert!(compared > pairs * 4 / 5, "{compared} of {pairs} compared; not decided: {silent:?}");
}

#[test]
fn random_pairs_1() {
    block(1);
}

#[test]
fn random_pairs_2() {
    block(2);
}

#[test]
fn random_pairs_3() {
    block(3);
}

/// Limits that almost nothing fits into: the result is the same or a limit error, in any chunks.
fn limited(tight: drivers::Tight) {
    let mut failures = Vec::new();
    for seed in 0..share(LIMITED) {
        let mut prng = Prng::new(0x717 << 32 | seed);
        let text = generate::document(&mut prng);
        let spec = generate::rules(&mut prng, &Node::parse(&text)).spec();
        let program = tamis::Program::compile(&spec).expect("a generated spec compiles");
        let options = tamis_testkit::call_options();
        let document = text.as_bytes();
        let subject = drivers::Subject { program: &program, options: &options, document };
        let whole = subject.push([]);
        let base = tamis::Limits::new();
        if let Err(why) = drivers::agree_tight(subject, seed, &whole, None, &base, tight) {
            let spec = serde_json::to_string(&spec).expect("a spec is JSON");
            failures.push(format!("seed {seed}: {why}\ndocument: {text}\nspec: {spec}"));
        }
        if failures.len() >= SHOWN {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn little_held() {
    limited(drivers::Tight::Held);
}

#[test]
fn short_keys() {
    limited(drivers::Tight::Keys);
}
