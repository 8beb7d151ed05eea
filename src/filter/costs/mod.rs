//! Counts what hostile documents cost: steps of the machines, other work ([`Work`]), and held bytes.
//!
//! The tests count rather than measure time. [`rules`] tests how costs grow with the rules of a program.

mod rules;

use tamis_json::limits::Limits;
use tamis_json::test_work::{WorkDone, done};
use tamis_testkit::effort::{TestEffort, effort};

use super::Filter;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
#[cfg(feature = "template")]
use crate::spec::Compact;
#[cfg(feature = "text")]
use crate::spec::TextSpec;
use crate::spec::{Budget, Condition, OnError, PatchOp, Prefer, Spec, Validation, WhenFallback};

/// The largest number of steps per byte on any input, including the fixed cost of a run and of chunks.
const STEPS_A_BYTE: u64 = 4;
/// The largest number of steps per 100 bytes for programs whose budget or summary reads the filtered document again.
const STEPS: u64 = 700;
/// The largest number of units of work per 100 bytes on any input, including steps. A budget in tokens counts the
/// tokens of each of the 17 shorter forms, and one that prefers information measures up to 150 choices.
const WORK: u64 = 5000;
/// The kinds of work, in the order of [`WorkDone`].
const KINDS: [&str; 5] = ["names", "branches", "tree", "hold", "tail"];

/// The cost of one run.
#[derive(Clone, Copy, Debug)]
struct Cost {
    steps: u64,
    done: WorkDone,
    held: u64,
    /// The run ended without an error.
    ended: bool,
}

impl Cost {
    /// Returns steps and all other work.
    fn work(&self) -> u64 {
        self.steps + self.done.iter().sum::<u64>()
    }

    /// Returns the kind of most of the work.
    fn most(&self) -> &'static str {
        let kinds = KINDS.iter().zip(self.done);
        let most = kinds.max_by_key(|(_, units)| *units);
        most.filter(|(_, units)| *units > self.steps).map_or("steps", |(kind, _)| kind)
    }
}

/// Runs to the end or to an error.
fn run(program: &Program, limits: &Limits, document: &[u8], chunk: usize) -> Cost {
    let options = CallOptions::new().with_limits(limits.clone());
    done();
    let mut filter = Filter::new(program.with_options(&options), Vec::new());
    let fed = document.chunks(chunk).try_for_each(|chunk| filter.write(chunk));
    let ended = fed.and_then(|()| filter.end()).is_ok();
    let steps = filter.run.steps();
    Cost { steps, done: done(), held: filter.report().held_peak_bytes, ended }
}

pub(super) fn programs() -> Vec<(&'static str, Spec)> {
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
        (
            "a payload in a member",
            format!("{{\"x\":1,\"data\":[{}1],\"z\":0}}", repeat(r#"{"a":1,"b":2},"#)),
        ),
        (
            "names that nearly match",
            format!("{{{}\"z\":0}}", numbered(&|number| format!("\"customer_{number:05}\":[],"))),
        ),
        ("log lines", format!("{{\"log\":\"{}\"}}", repeat("error: disk full\\n    at x\\n"))),
        ("prose", format!("{{\"text\":\"{}\"}}", numbered(&|n| format!("word{n} is new. ")))),
        (
            "lines of text",
            format!("{{\"raw\":\"{}\"}}", numbered(&|n| format!("line {}\\n", n / 3))),
        ),
    ]
    .into_iter()
    .map(|(name, text)| (name, text.into_bytes()))
    .collect()
}

#[test]
fn steps_grow_with_the_bytes_and_no_faster() {
    let limits = Limits::new().with_depth(usize::MAX).with_spill(0);
    for (rules, spec) in programs() {
        let program = Program::compile(&spec).unwrap();
        for (shape, document) in shapes(12_000) {
            for chunk in [usize::MAX, 4096, 61, 1] {
                let Cost { steps, held, .. } = run(&program, &limits, &document, chunk);
                let chunks = document.len().div_ceil(chunk) as u64;
                let bound = STEPS_A_BYTE * document.len() as u64 + 4 * chunks + 100;
                assert!(steps <= bound, "{rules}, {shape}, chunks of {chunk}: {steps} > {bound}");
                assert!(held <= 2 * document.len() as u64 + 1000, "{rules}, {shape}: held {held}");
            }
        }
    }
}

fn information(budget: Budget) -> Spec {
    Spec::new().budget(budget).prefer(Prefer::Information)
}

/// Programs that could make a byte expensive by their size or by what they hold.
fn costly() -> Vec<(&'static str, Spec, Limits)> {
    let held = Limits::new().with_depth(usize::MAX);
    let spilled = held.clone().with_held(100);
    let many = |count: usize, rule: fn(Spec, String) -> Spec, name: fn(usize) -> String| {
        (0..count).fold(Spec::new(), |spec, number| rule(spec, name(number)))
    };
    let deep = |number| format!("a{number}.b.c");
    // Names of the same length that only differ in their last byte.
    let alike = |number| format!("customer_{:05}", 3 * number);
    let near = many(
        3000,
        |spec, name| spec.retain(format!("/{name}")).exclude(format!("{name}.a")),
        alike,
    );
    let near = (0..3000).fold(near, |spec, number| spec.select(alike(number)));
    let branches = |path: fn(usize) -> String| {
        let branch = |spec: Spec, number| {
            spec.when(Condition::new(path(number), number as i64), Spec::new().retain("/a"))
        };
        (0..500).fold(Spec::new(), branch).otherwise(WhenFallback::Pass)
    };
    let many_branches = (0..10_000).fold(Spec::new(), |spec, number| {
        spec.when(Condition::new(format!("/a{number}"), number), Spec::new().retain("/a"))
    });
    let last = Spec::new().when(Condition::new("/z", 1), Spec::new().retain("/a"));
    let patched = Spec::new()
        .retain("/a")
        .patch(PatchOp::remove("/a/zz"))
        .patch(PatchOp::add("/a/new", 1))
        .lenient_remove(true);
    let tree = Spec::new().patch(PatchOp::copy_from("/a", "/b")).lenient_remove(true);
    let array = Spec::new()
        .patch(PatchOp::add("/x/0", 1))
        .patch(PatchOp::remove("/x/1"))
        .patch(PatchOp::move_from("/x/2", "/x/0"))
        .patch(PatchOp::test("/x/0/a", 1))
        .patch(PatchOp::copy_from("/x", "/y"))
        .patch(PatchOp::move_from("/y", "/x"))
        .on_error(OnError::Raw);
    let programs = [
        ("10,000 excluded", many(9_999, Spec::exclude, deep).exclude("a.b"), &held),
        (
            "10,000 selected",
            many(9_999, |spec, path| spec.select_as(path.clone(), path), deep),
            &held,
        ),
        ("9,000 names alike", near.root("object"), &held),
        ("500 branches", branches(|number| format!("/a/{number}")), &held),
        ("500 branches of one place", branches(|_| "/a".to_owned()), &held),
        ("10,000 branches", many_branches.otherwise(WhenFallback::Pass), &held),
        ("patches that stream", patched, &held),
        ("patches on a tree", tree, &held),
        ("patches on an array", array, &held),
        ("spilled: select", Spec::new().select("zz").root("object"), &spilled),
        ("spilled: auto", Spec::new().exclude("b").max_items(1), &spilled),
        ("spilled: closed", Spec::new().select("zz").on_error(OnError::Closed), &spilled),
        ("spilled: branch", last.otherwise(WhenFallback::Pass), &spilled),
        ("budget", Spec::new().budget(Budget::Bytes(5000)), &held),
        ("spilled: budget", Spec::new().budget(Budget::Bytes(5000)), &spilled),
        ("budget in tokens", Spec::new().budget(Budget::Tokens(500)), &held),
        ("information", information(Budget::Bytes(5000)), &held),
        ("information, few bytes", information(Budget::Bytes(100)), &held),
        ("information in tokens", information(Budget::Tokens(500)), &held),
        #[cfg(feature = "template")]
        ("compact", Spec::new().root("first").compact(Compact::new("{{.a}} {{.b}}")), &held),
        #[cfg(feature = "template")]
        ("spilled: compact", Spec::new().root("first").compact(Compact::new("{{.a}}")), &spilled),
        #[cfg(feature = "text")]
        ("text", Spec::new().text_filter(TextSpec::new().dedup(true).max_lines(100)), &held),
    ];
    programs.map(|(name, spec, limits)| (name, spec, limits.clone())).into()
}

/// For each of these programs and each shape, twice the bytes cost at most about twice the work, and at most ten times
/// the bytes are held (most by a tree of small pieces). In a document with a million items, an item costs no more.
/// `cargo test --lib -- costs --nocapture` prints the worst shape of each program; the table is in `fuzz/README.md`.
#[test]
#[allow(clippy::print_stdout, reason = "the table is for who asks for it")]
fn costs_are_linear() {
    let plain = programs().into_iter();
    let limits = Limits::new().with_depth(usize::MAX).with_spill(0);
    let programs = plain.map(|(name, spec)| (name, spec, limits.clone())).chain(costly());
    let million = format!("[{}{{}}]", "{},".repeat(999_999)).into_bytes();
    let (smaller, larger) = (shapes(20_000), shapes(40_000));
    let is_full = effort() >= TestEffort::Full;
    for (number, (rules, spec, limits)) in programs.enumerate() {
        let program = Program::compile(&spec).unwrap();
        let mut worst = [(0, String::new()), (0, String::new()), (0, String::new())];
        let mut look = |shape: &str, document: &[u8], chunk: usize| {
            let cost = run(&program, &limits, document, chunk);
            let bytes = document.len() as u64;
            let most = cost.most();
            assert!(cost.held <= 10 * bytes, "{rules}, {shape}: {} held of {bytes}", cost.held);
            let way = match chunk {
                usize::MAX => shape.to_owned(),
                _ => format!("{shape}, by {chunk}"),
            };
            let figures = [(cost.steps, ""), (cost.work(), most), (cost.held, "")];
            for (worst, (figure, of)) in worst.iter_mut().zip(figures) {
                let hundredths = 100 * figure / bytes;
                if hundredths > worst.0 {
                    let of = if of.is_empty() { String::new() } else { format!("{of}: ") };
                    *worst = (hundredths, format!(", {of}{way}"));
                }
            }
            cost
        };
        for (place, ((shape, small), (_, large))) in smaller.iter().zip(&larger).enumerate() {
            for (way, chunk) in [usize::MAX, 61, 1].into_iter().enumerate() {
                // A part of the effort: each shape in one way, which is another for the next program.
                if !is_full && (number + place + way) % 3 != 0 {
                    continue;
                }
                let less = look(shape, small, chunk);
                let more = look(shape, large, chunk);
                if less.ended == more.ended {
                    let (less, more) = (less.work(), more.work());
                    let bound = 5 * less / 2 + 1000;
                    assert!(more <= bound, "{rules}, {shape}, chunks of {chunk}: {less}, {more}");
                }
            }
        }
        for (way, chunk) in [usize::MAX, 61].into_iter().enumerate() {
            if is_full || (number + way) % 2 == 0 {
                look("a million items", &million, chunk);
            }
        }
        let shown = worst.each_ref().map(|(hundredths, way)| match hundredths {
            0 => String::from("0"),
            _ => format!("{:.2}{way}", *hundredths as f64 / 100.0),
        });
        println!("| {rules} | {} |", shown.join(" | "));
        let [(steps, _), (work, _), _] = worst;
        assert!(steps <= STEPS, "{rules}: {steps} steps for 100 bytes");
        assert!(work <= WORK, "{rules}: {work} units of work for 100 bytes");
    }
}
