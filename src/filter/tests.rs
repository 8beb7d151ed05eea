//! Work and memory on adversarial shapes, counted inside: steps of the machine, not seconds.

use super::{CallOptions, Filter, Program};
use crate::limits::Limits;
use crate::scan::tests::scanners;
use crate::spec::{Budget, OnError, Operation, Otherwise, Spec, Test, Validation, Whitespace};

/// Steps a byte that no input may exceed, with what a run and a chunk cost at most.
const STEPS_A_BYTE: u64 = 4;

fn programs() -> Vec<(&'static str, Spec)> {
    vec![
        ("whole", Spec::new()),
        ("structure", Spec::new().retain("/none").validation(Validation::Structure)),
        ("retain", Spec::new().retain("/a/b").retain("/c/0").retain("/a/0/a")),
        ("select", Spec::new().root("object").select("b").select("a.c").select("d[].e")),
        ("shared", Spec::new().root("object").select("a").select("a.b").select("a.c")),
        ("first hit late", Spec::new().select("zz").root("object")),
        ("exclude", Spec::new().root("object").exclude("a.b").exclude("*.c").exclude("c[0]")),
        ("drops", Spec::new().root("object").drop_nulls(true).drop_empty(true)),
        ("auto", Spec::new().select("a")),
    ]
}

/// Shapes of about `size` bytes, valid and not.
fn shapes(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let repeat = |text: &str| text.repeat(size / text.len());
    let list = |item: &str| format!("[{}{item}]", repeat(&format!("{item},")));
    let object = |member: &str| format!("{{{}{member}}}", repeat(&format!("{member},")));
    let nested = size / 2;
    let numbered = |each: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for number in 0.. {
            text += &each(number);
            if text.len() >= size {
                break;
            }
        }
        text
    };
    [
        ("open brackets", "[".repeat(size)),
        ("nested arrays", "[".repeat(nested) + &"]".repeat(nested)),
        ("nested objects", repeat(r#"{"a":"#)),
        ("one long string", format!("\"{}\"", "a".repeat(size))),
        ("one long key", format!("{{\"{}\":1}}", "a".repeat(size))),
        ("backslashes", format!("[\"{}\"]", "\\\\".repeat(nested))),
        ("unicode escapes", format!("[\"{}\"]", repeat("\\u0061"))),
        ("bad escapes", format!("{{\"x\":\"{}\"}}", repeat("\\x"))),
        ("quotes", repeat("\"\"")),
        ("numbers", list("1")),
        ("a long number", "1".repeat(size)),
        ("empty objects", list("{}")),
        ("members", object(r#""a":1"#)),
        ("wanted members", object(r#""a":{"b":null,"c":[]}"#)),
        ("escaped keys", object(r#""\u0061":{"\u0062":[]}"#)),
        ("white space", format!("[1{}]", " \n".repeat(nested))),
        ("two-byte characters", format!("[\"{}\"]", "é".repeat(nested))),
        ("commas", ",".repeat(size)),
        (
            "members of many names",
            format!(
                "{{{}\"z\":0}}",
                numbered(&|number| format!("\"a{number}\":{{\"b\":{{\"c\":1}}}},"))
            ),
        ),
        ("numbers in a", format!("{{\"a\":[{}0]}}", numbered(&|number| format!("{number},")))),
        ("items", format!("{{\"x\":[{}1]}}", repeat(r#"{"a":1,"b":2},"#))),
    ]
    .into_iter()
    .map(|(name, text)| (name, text.into_bytes()))
    .collect()
}

/// Runs to the end or an error; returns the steps and the peak of what was held.
fn run(spec: &Spec, document: &[u8], chunk: usize) -> (u64, u64) {
    let program = Program::compile(spec).unwrap();
    let options = CallOptions::new().limits(Limits::new().with_depth(usize::MAX).with_spill(0));
    let mut filter = Filter::with_options(&program, &options, Vec::new());
    for chunk in document.chunks(chunk) {
        if filter.write(chunk).is_err() {
            break;
        }
    }
    _ = filter.end();
    (filter.core.steps(), filter.report().held_peak_bytes)
}

/// A key over the limit that matches nothing is no white space, and what stands behind it is not kept, however it is cut.
#[test]
fn long_keys_are_passed_where_white_space_is_kept() {
    let spec = Spec::new().root("object").select("a").whitespace(Whitespace::Keep);
    let program = Program::compile(&spec).unwrap();
    let options = CallOptions::new().limits(Limits::new().with_key(8));
    let document = br#"{"a": 1, "longer than eight"          :           2}"#;
    for first in 0..document.len() {
        for second in first..document.len() {
            let mut filter = Filter::with_options(&program, &options, Vec::new());
            for chunk in [&document[..first], &document[first..second], &document[second..]] {
                filter.write(chunk).unwrap();
            }
            filter.end().unwrap();
            assert_eq!(filter.into_sink(), br#"{"a": 1}"#, "cut at {first} and {second}");
        }
    }
}

#[test]
fn steps_grow_with_the_bytes_and_no_faster() {
    for (rules, spec) in programs() {
        for (shape, document) in shapes(12_000) {
            for chunk in [usize::MAX, 4096, 61, 1] {
                let (steps, held) = run(&spec, &document, chunk);
                let chunks = document.len().div_ceil(chunk) as u64;
                let bound = STEPS_A_BYTE * document.len() as u64 + 4 * chunks + 100;
                assert!(steps <= bound, "{rules}, {shape}, chunks of {chunk}: {steps} > {bound}");
                assert!(held <= 2 * document.len() as u64 + 1000, "{rules}, {shape}: held {held}");
            }
        }
    }
}

/// Programs whose size, or whose way of waiting, could make a byte dear.
fn costly() -> Vec<(&'static str, Spec, Limits)> {
    let held = Limits::new().with_depth(usize::MAX);
    let spilled = held.clone().with_held(100);
    let many = |rule: fn(Spec, String) -> Spec| {
        (0..9_999).fold(Spec::new(), |spec, number| rule(spec, format!("a{number}.b.c")))
    };
    let branches = (0..500).fold(Spec::new(), |spec, number| {
        spec.when(Test::new(format!("/a/{number}"), number), Spec::new().retain("/a"))
    });
    let patched = Spec::new()
        .retain("/a")
        .patch(Operation::remove("/a/zz"))
        .patch(Operation::add("/a/new", 1))
        .lenient_remove(true);
    let tree = Spec::new().patch(Operation::copy_from("/a", "/b")).lenient_remove(true);
    vec![
        ("10,000 excluded", many(|spec, path| spec.exclude(path)).exclude("a.b"), held.clone()),
        ("10,000 selected", many(|spec, path| spec.select_as(path.clone(), path)), held.clone()),
        ("500 branches", branches.otherwise(Otherwise::Pass), held.clone()),
        ("patches that stream", patched, held.clone()),
        ("patches on a tree", tree, held.clone()),
        ("spilled: select", Spec::new().select("zz").root("object"), spilled.clone()),
        ("spilled: root", Spec::new().root("first").max_items(1), spilled.clone()),
        ("spilled: closed", Spec::new().select("zz").on_error(OnError::Closed), spilled.clone()),
        ("budget", Spec::new().budget(Budget::Bytes(5000)), held),
        ("spilled: budget", Spec::new().budget(Budget::Bytes(5000)), spilled),
    ]
}

/// Twice the bytes are at most about twice the steps, and what waits (a tree of small pieces is the most) at most ten times the
/// bytes: for each of these programs, and each shape; a million items cost no more each. `cargo test --lib -- costs --nocapture`
/// prints the table, the worst shape of each program, which `fuzz/README.md` has.
#[test]
#[allow(clippy::print_stdout, reason = "the table is for who asks for it")]
fn costs_are_linear() {
    let run = |program: &Program, limits: &Limits, document: &[u8], chunk: usize| {
        let options = CallOptions::new().limits(limits.clone());
        let mut filter = Filter::with_options(program, &options, Vec::new());
        let fed = document.chunks(chunk).try_for_each(|chunk| filter.write(chunk));
        let ended = fed.and_then(|()| filter.end()).is_ok();
        let steps = filter.core.steps() + filter.core.tail_steps().0;
        (steps, filter.report().held_peak_bytes, ended)
    };
    let plain = programs().into_iter();
    let limits = Limits::new().with_depth(usize::MAX).with_spill(0);
    let programs = plain.map(|(name, spec)| (name, spec, limits.clone())).chain(costly());
    let million = format!("[{}{{}}]", "{},".repeat(999_999)).into_bytes();
    for (rules, spec, limits) in programs {
        let program = Program::compile(&spec).unwrap();
        let (mut dearest, mut fullest) = ((0, "", 0), (0, "", 0));
        for ((shape, small), (_, large)) in shapes(20_000).into_iter().zip(shapes(40_000)) {
            for chunk in [usize::MAX, 61, 1] {
                let (less, _, one) = run(&program, &limits, &small, chunk);
                let (more, held, two) = run(&program, &limits, &large, chunk);
                let bytes = large.len() as u64;
                if one == two {
                    let bound = 5 * less / 2 + 1000;
                    assert!(more <= bound, "{rules}, {shape}, chunks of {chunk}: {less}, {more}");
                }
                assert!(held <= 10 * bytes, "{rules}, {shape}: {held} held of {bytes}");
                dearest = dearest.max((100 * more / bytes, shape, chunk));
                fullest = fullest.max((100 * held / bytes, shape, chunk));
            }
        }
        for chunk in [usize::MAX, 61] {
            let (steps, held, _) = run(&program, &limits, &million, chunk);
            let bytes = million.len() as u64;
            assert!(held <= 10 * bytes, "{rules}, a million items: {held} held of {bytes}");
            dearest = dearest.max((100 * steps / bytes, "a million items", chunk));
            fullest = fullest.max((100 * held / bytes, "a million items", chunk));
        }
        let shown = |(hundredths, shape, chunk): (u64, &str, usize)| match (hundredths, chunk) {
            (0, _) => String::from("0"),
            (_, usize::MAX) => format!("{:.2}, {shape}", hundredths as f64 / 100.0),
            _ => format!("{:.2}, {shape}, by {chunk}", hundredths as f64 / 100.0),
        };
        println!("| {rules} | {} | {} |", shown(dearest), shown(fullest));
        let (steps, ..) = dearest;
        // A budget's stage reads what the rules left once more.
        assert!(steps <= 700, "{rules}: {steps} steps for 100 bytes");
    }
}

#[test]
fn depth_is_an_error_and_not_a_stack_overflow() {
    for (rules, spec) in programs() {
        let program = Program::compile(&spec).unwrap();
        for open in ["[", r#"{"a":"#] {
            let mut filter = Filter::new(&program, Vec::new());
            let error = filter.write(open.repeat(100_000).as_bytes()).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Limit, "{rules}");
            let deepest = 1024 * open.len() + open.len() - 1;
            let at = if open == "[" { 1024 } else { 1024 * open.len() };
            assert!(error.offset() == Some(at as u64), "{rules}: {error} {deepest}");
        }
    }
}

#[test]
fn every_kernel_filters_alike() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for name in ["github-list-repos.json", "github-list-repos.pretty.json", "wrapped-pages.json"] {
        let document = std::fs::read(corpus.join(name)).unwrap();
        for (rules, spec) in programs() {
            let program = Program::compile(&spec).unwrap();
            let mut expected = None;
            for (isa, scanner) in scanners() {
                for chunk in [document.len(), 1000] {
                    let options = CallOptions::new().scan_with(scanner);
                    let mut filter = Filter::with_options(&program, &options, Vec::new());
                    let written = document.chunks(chunk).try_for_each(|chunk| filter.write(chunk));
                    let ended =
                        written.and_then(|()| filter.end()).map_err(|error| error.to_string());
                    let said =
                        (filter.sink().clone(), ended.map(|report| report.filter_original_bytes));
                    let expected = expected.get_or_insert_with(|| said.clone());
                    assert!(*expected == said, "{name}, {rules}, {isa:?}, chunks of {chunk}");
                }
            }
        }
    }
}
