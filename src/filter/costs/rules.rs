//! Counts how the cost of a document, and of compiling, grows with the rules of a program.
//!
//! | rules of a program | cost on a document |
//! |---|---|
//! | names of `select`, `exclude`, `retain`, patches that stream | independent of the number of names |
//! | branches that test different paths | one evaluation of each test, in addition to the document |
//! | branches that test the same path | the value is compared with each test |
//! | patches on a tree | for each operation, the members passed, the elements moved and the value tested on its path |
//! | names and wildcards that lead to the same value | one lookup per rule position at each value, at most one per rule |

use tamis_json::limits::Limits;
use tamis_json::test_work::done;

use super::run;
use crate::filter::compile::program::Program;
use crate::spec::{Condition, PatchOp, RawJson, Spec, WhenFallback};

/// Units per byte, including steps, if rules cost nothing.
const A_BYTE: u64 = 12;
/// Units for a branch whose test is evaluated.
const A_BRANCH: u64 = 8;
/// Units to compile a rule with few siblings. Hash tables for names are searched for up to a bound.
const A_RULE: u64 = 6000;

/// Returns the name with this number.
type Name = fn(usize) -> String;
/// Adds a rule for a path.
type Add = fn(Spec, &[String]) -> Spec;
/// Returns the path to a name with this number.
type Nest = fn(usize, String) -> Vec<String>;

/// Patterns of numbered names.
const NAMINGS: [(&str, Name); 4] = [
    ("short", |number| format!("a{number}")),
    ("one length, one beginning", |number| format!("customer_{number:05}")),
    ("long beginnings", |number| format!("{}{number:05}", "n".repeat(60))),
    ("numbers", |number| number.to_string()),
];

/// Rules with one path each.
const RULES: [(&str, Add); 4] = [
    ("exclude", |spec, path| spec.exclude(path.join("."))),
    ("retain", |spec, path| spec.retain(format!("/{}", path.join("/")))),
    ("select", |spec, path| spec.select_as(path.join("."), path.join("."))),
    ("patches", |spec, path| spec.patch(PatchOp::remove(format!("/{}/x", path.join("/"))))),
];

/// Returns the total cost of a document.
fn work(spec: &Spec, document: &[u8], chunk: usize) -> u64 {
    let program = Program::compile(spec).unwrap();
    run(&program, &Limits::new(), document, chunk).work()
}

/// Returns the cost of compiling.
fn compiling(spec: &Spec) -> u64 {
    done();
    Program::compile(spec).unwrap();
    done().iter().sum()
}

/// Ten times the names do not make the same document more expensive. Half of its members have one of the names, the
/// others have similar ones.
#[test]
fn more_names_cost_no_more() {
    for (rule, add) in RULES {
        for (naming, name) in NAMINGS {
            let spec = |count: usize| {
                let spec = Spec::new().root("object").lenient_remove(true);
                (0..count).fold(spec, |spec, number| add(spec, &[name(2 * number)]))
            };
            let members: Vec<String> = (0..2000)
                .map(|number| format!("\"{}\":{{\"x\":1,\"y\":2}}", name(number)))
                .collect();
            let document = format!("{{{}}}", members.join(",")).into_bytes();
            for chunk in [usize::MAX, 61, 1] {
                let few = work(&spec(1000), &document, chunk);
                let many = work(&spec(10_000), &document, chunk);
                assert!(many <= 5 * few / 4 + 1000, "{rule}, {naming}, by {chunk}: {few}, {many}");
                let bound = A_BYTE * document.len() as u64;
                assert!(many <= bound, "{rule}, {naming}, by {chunk}: {many} > {bound}");
            }
        }
    }
}

/// Branches that test different paths are evaluated once each, however many there are.
#[test]
fn branches_cost_one_look_each() {
    let members: Vec<String> = (0..5000).map(|number| format!("\"k{number}\":null")).collect();
    let flat = format!("{{{}}}", members.join(",")).into_bytes();
    let captured = format!("{{\"a\":{{{}}}}}", members.join(",")).into_bytes();
    for count in [500, 1000, 5000] {
        let branches = |place: &str, spec: Spec| {
            let branch = |spec: Spec, number| {
                let test = Condition::new(format!("{place}/k{number}"), number as i64);
                spec.when(test, Spec::new().retain("/a"))
            };
            (0..count).fold(spec, branch).otherwise(WhenFallback::Pass)
        };
        let object: RawJson = r#"{"z":1}"#.parse().unwrap();
        // The first test needs the whole value, so the value is held and compared at once.
        let first = Spec::new().when(Condition::new("/a", object), Spec::new().retain("/a"));
        let cases = [
            ("places of their own", branches("", Spec::new()), &flat),
            ("in a value that is held", branches("/a", first), &captured),
        ];
        for (name, spec, document) in cases {
            for chunk in [usize::MAX, 61] {
                let units = work(&spec, document, chunk);
                let bound = A_BYTE * document.len() as u64 + A_BRANCH * count;
                assert!(units <= bound, "{count} {name}, by {chunk}: {units} > {bound}");
            }
        }
    }
}

/// Tests of the same path are each compared with the value there. Comparing a scalar costs at most its length,
/// comparing an object one pass over it.
#[test]
fn branches_for_one_place_compare_its_value() {
    let members: Vec<String> = (0..500).map(|number| format!("\"k{number}\":null")).collect();
    let object = format!("{{{}}}", members.join(","));
    for (value, literal) in [("7", "1"), ("\"text\"", "\"other\""), (&object, r#"{"z":1}"#)] {
        let document = format!("{{\"a\":{value}}}").into_bytes();
        let literal: RawJson = literal.parse().unwrap();
        for count in [500, 1000] {
            let branch = |spec: Spec, _| {
                spec.when(Condition::new("/a", literal.clone()), Spec::new().retain("/a"))
            };
            let spec = (0..count).fold(Spec::new(), branch).otherwise(WhenFallback::Pass);
            let units = work(&spec, &document, usize::MAX);
            let bound =
                A_BYTE * document.len() as u64 + count * (A_BRANCH + 4 * value.len() as u64);
            assert!(units <= bound, "{count} of {value:.10}: {units} > {bound}");
        }
    }
}

/// A patch on a tree only costs the members and elements on its path: the bound is their number times that of the
/// operations.
#[test]
fn patches_on_a_tree_cost_what_is_on_their_way() {
    const SIZE: u64 = 2000;
    let numbers: Vec<String> = (0..SIZE).map(|number| number.to_string()).collect();
    let members: Vec<String> = (0..SIZE).map(|number| format!("\"k{number}\":{number}")).collect();
    let document =
        format!("{{\"x\":[{}],\"o\":{{{}}}}}", numbers.join(","), members.join(",")).into_bytes();
    let large = |number: u64| {
        let other = (0..SIZE).map(|other| if other + 1 < SIZE { other } else { number });
        format!("[{}]", other.map(|other| other.to_string()).collect::<Vec<_>>().join(","))
    };
    let array = large(SIZE - 1).parse::<RawJson>().unwrap();
    // Each with the maximum cost of an element or member on the path.
    type Make<'a> = &'a dyn Fn(u64) -> PatchOp;
    let operations: [(&str, u64, Make<'_>); 10] = [
        ("insert in front", 2, &|_| PatchOp::add("/x/0", 1)),
        ("append", 1, &|_| PatchOp::add("/x/-", 1)),
        ("remove the first", 2, &|_| PatchOp::remove("/x/0")),
        ("move the last", 2, &|_| PatchOp::move_from(format!("/x/{}", SIZE - 1), "/x/0")),
        ("replace the last member", 8, &|_| PatchOp::replace(format!("/o/k{}", SIZE - 1), 1)),
        ("copy the last member", 4, &|_| PatchOp::copy_from(format!("/o/k{}", SIZE - 1), "/x/-")),
        ("test the last member", 4, &|_| {
            PatchOp::test(format!("/o/k{}", SIZE - 1), SIZE as i64 - 1)
        }),
        ("move a large value", 1, &|number| match number % 2 {
            0 => PatchOp::move_from("/x", "/y"),
            _ => PatchOp::move_from("/y", "/x"),
        }),
        ("copy a large value", 6, &|_| PatchOp::copy_from("/x", "/y")),
        ("test a large value", 16, &|_| PatchOp::test("/x", array.clone())),
    ];
    let bytes = document.len() as u64;
    for (name, each, operation) in operations {
        let cost = |count: u64| {
            // Forces a tree that is split at the containers of the other operations.
            let spec = Spec::new().patch(PatchOp::test("/x/0", 0)).patch(PatchOp::test("/o/k0", 0));
            work(&(0..count).map(operation).fold(spec, Spec::patch), &document, usize::MAX)
        };
        let [none, some, many] = [0, 100, 1000].map(cost);
        assert!(none <= A_BYTE * bytes, "{name}: {none} for {bytes} bytes");
        let (some, many) = (some - none, many - none);
        for (count, units) in [(100, some), (1000, many)] {
            let bound = count * each * (SIZE + count);
            assert!(units <= bound, "{count}, {name}: {units} > {bound}");
        }
        // Ten times the operations, each of which may add an element.
        assert!(many <= 13 * some + 1000, "{name}: {some}, {many}");
    }
}

/// If both names and wildcards match, a value is at many positions of the rules at once. Each member is looked up at
/// each position; there are at most as many positions as rules.
#[test]
fn wildcards_cost_the_places_that_they_lead_to() {
    const DEPTH: usize = 8;
    let members: Vec<String> = (0..500).map(|number| format!("\"k{number}\":0")).collect();
    let (open, close) = ("{\"a\":".repeat(DEPTH), "}".repeat(DEPTH));
    let document = format!("{open}{{{}}}{close}", members.join(",")).into_bytes();
    for levels in [2, 4, DEPTH] {
        let rules = 1 << levels;
        let path = |ways: usize| {
            let step = |level| if ways >> level & 1 == 0 && level < levels { "a" } else { "*" };
            (0..DEPTH).map(step).chain(["no"]).collect::<Vec<_>>().join(".")
        };
        let spec = (0..rules).fold(Spec::new().root("object"), |spec, way| spec.exclude(path(way)));
        let units = work(&spec, &document, usize::MAX);
        let bound = A_BYTE * document.len() as u64 + 4 * 500 * rules as u64;
        assert!(units <= bound, "{rules} rules: {units} > {bound}");
    }
}

/// Compiling twice the rules costs twice the work.
#[test]
fn compiling_is_linear_in_the_rules() {
    for (rule, add) in RULES {
        for (naming, name) in NAMINGS {
            // All rules in one object; sixty rules in each object, for which the search for a sifting table takes
            // longest.
            let nestings: [(&str, Nest); 2] = [
                ("flat", |_, name| vec![name]),
                ("sixty", |number, name| vec![format!("p{}", number / 60), name]),
            ];
            for (nesting, path) in nestings {
                let spec = |count: usize| {
                    let add = |spec, number| add(spec, &path(number, name(number)));
                    (0..count).fold(Spec::new().lenient_remove(true), add)
                };
                let (few, many) = (compiling(&spec(5000)), compiling(&spec(10_000)));
                assert!(many <= 5 * few / 2 + 1000, "{rule}, {naming}, {nesting}: {few}, {many}");
                assert!(many <= 10_000 * A_RULE, "{rule}, {naming}, {nesting}: {many}");
            }
        }
    }
}
