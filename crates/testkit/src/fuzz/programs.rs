//! Programs of every kind and call options, generated from choices and a document that their paths may lead into.
//!
//! The generator of the tests makes `retain` and the rules on items; everything else is added here. Rules that cannot
//! be combined must be refused by the compiler with an error about the spec.

use tamis::content::{Content, ContentFormat};
use tamis::spec::{
    Budget, Compact, Condition, Encode, OnError, OnTestFailure, PatchOp, Prefer, RawJson,
    Validation, WhenFallback, Whitespace,
};
use tamis::text::TextSpec;
use tamis::{CallOptions, Error, ErrorKind, Limits, Program, Spec};

use super::input::Choose;
use crate::model::dom::Node;
use crate::model::generate;
use crate::prng::Choices;

const VALUES: [&str; 10] = [
    "null",
    "true",
    "0",
    "1.10",
    "-0",
    "\"x\"",
    "\"\\u0061\"",
    "[1,{\"a\":null}]",
    "{\"a\":{\"b\":[]},\"a\":2}",
    "12345678901234567890123",
];
const TEMPLATES: [&str; 9] = [
    "{{.a}} {{.b}}",
    "#{{.id}}",
    "{{range .a}}{{.}},{{end}}",
    "{{if .a}}{{.a.b}}{{else}}-{{end}}",
    "{{.Total}} {{.Omitted}}",
    "{{printf \"%v %d %q\" .a .b .c}}",
    "{{index .a 0}}",
    "{{len .a}}",
    "plain",
];
const PATTERNS: [&str; 6] = ["a", "^$", "^x", "[0-9]+", "null", "é"];

/// A spec; `document` is what its paths may lead into.
pub(crate) fn spec(choices: &mut Choose<'_>, document: &Node) -> Spec {
    if choices.one_in(12) {
        return Spec::new().content(content(choices));
    }
    if choices.one_in(6) {
        return branches(choices, document);
    }
    let mut spec = rules(choices, document);
    if choices.one_in(8) {
        spec = spec.whitespace(Whitespace::Keep);
    }
    tail(choices, spec)
}

/// The program of a spec, if it is one. Nothing else may be wrong with a spec than the spec.
pub(crate) fn compile(spec: &Spec) -> Option<Program> {
    let compiled: Result<Program, Error> = Program::compile(spec);
    match compiled {
        Ok(program) => Some(program),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Spec, "{error:?} of {spec:?}");
            None
        }
    }
}

/// Returns call options, sometimes with tight limits.
pub(crate) fn options(choices: &mut Choose<'_>) -> CallOptions {
    let mut options = crate::call_options().with_limits(limits(choices));
    if choices.one_in(12) {
        options = options.with_raw(true);
    }
    if choices.one_in(12) {
        options = options.with_is_error(true);
    }
    if choices.one_in(8) {
        options = options.with_budget(budget(choices));
    }
    if choices.one_in(12) {
        options = options.with_min_items(choices.below(4) as u64);
    }
    options
}

pub(crate) fn limits(choices: &mut Choose<'_>) -> Limits {
    let mut limits = Limits::new();
    if !choices.one_in(3) {
        // On the disk too, but no more of it than a fuzzer may use.
        return limits.with_spill(1 << 20);
    }
    let few = |choices: &mut Choose<'_>| choices.pick(&[0, 1, 2, 3, 7, 20, 40, 100, 1000]);
    if choices.one_in(2) {
        limits = limits.with_held(few(choices) as u64);
    }
    if choices.one_in(2) {
        limits = limits.with_spill(few(choices) as u64);
    }
    if choices.one_in(3) {
        limits = limits.with_item(few(choices) as u64);
    }
    if choices.one_in(3) {
        limits = limits.with_key(few(choices));
    }
    if choices.one_in(4) {
        limits = limits.with_depth(few(choices));
    }
    if choices.one_in(4) {
        limits = limits.with_line(few(choices));
    }
    limits
}

/// Rules on items, `retain`, patches.
fn rules(choices: &mut Choose<'_>, document: &Node) -> Spec {
    let mut spec =
        if choices.one_in(10) { Spec::new() } else { generate::rules(choices, document).spec() };
    if choices.one_in(3) {
        for _ in 0..1 + choices.below(3) {
            spec = spec.patch(operation(choices, document));
        }
        if choices.one_in(3) {
            spec = spec.lenient_remove(true);
        }
        if choices.one_in(3) {
            spec = spec.on_test_failure(OnTestFailure::Stop);
        }
        if choices.one_in(3) {
            spec = spec.on_error(OnError::Raw);
        }
    }
    if choices.one_in(5) {
        spec = spec.validation(Validation::Structure);
    }
    if choices.one_in(10) {
        spec = spec.allow_raw(choices.one_in(2));
    }
    spec
}

/// One operation of a patch.
pub(crate) fn operation(choices: &mut Choose<'_>, document: &Node) -> PatchOp {
    let mut path = generate::pointer_into(choices, document);
    if choices.one_in(8) {
        path.push_str("/-");
    }
    match choices.below(8) {
        0 | 1 => PatchOp::remove(path),
        2 | 3 => PatchOp::replace(path, value(choices)),
        4 => PatchOp::add(path, value(choices)),
        5 => PatchOp::move_from(generate::pointer_into(choices, document), path),
        6 => PatchOp::copy_from(generate::pointer_into(choices, document), path),
        _ => PatchOp::test(path, value(choices)),
    }
}

fn value(choices: &mut Choose<'_>) -> RawJson {
    choices.pick(&VALUES).parse().expect("a value is JSON")
}

fn branches(choices: &mut Choose<'_>, document: &Node) -> Spec {
    let mut spec = Spec::new();
    for _ in 0..1 + choices.below(3) {
        let path = generate::pointer_into(choices, document);
        let rules = rules(choices, document);
        let branch = tail(choices, rules);
        spec = spec.when(Condition::new(path, value(choices)), branch);
    }
    if choices.one_in(2) {
        let otherwise = [WhenFallback::Pass, WhenFallback::Drop, WhenFallback::Error];
        spec = spec.otherwise(choices.pick(&otherwise));
    }
    spec
}

/// Adds the stages after the rules on items.
fn tail(choices: &mut Choose<'_>, mut spec: Spec) -> Spec {
    if choices.one_in(8) {
        spec = spec.text_filter(text_filter(choices));
    }
    if choices.one_in(4) {
        spec = spec.budget(budget(choices));
        if choices.one_in(3) {
            spec = spec.min_items(choices.below(4) as u64);
        }
    }
    if choices.one_in(6) {
        let mut compact = Compact::new(choices.pick(&TEMPLATES));
        if choices.one_in(2) {
            compact = compact.header(choices.pick(&TEMPLATES));
        }
        if choices.one_in(2) {
            compact = compact.footer(choices.pick(&TEMPLATES));
        }
        spec = spec.compact(compact);
    } else if choices.one_in(6) {
        spec = spec.encode(choices.pick(&[Encode::Toon, Encode::Csv, Encode::Markdown]));
    }
    if spec.budget.is_some() && choices.one_in(3) {
        spec = spec.prefer(Prefer::Information);
    }
    spec
}

fn budget(choices: &mut Choose<'_>) -> Budget {
    let most = choices.pick(&[10, 50, 300, 5000]);
    let count = 1 + choices.below(most) as u64;
    if choices.one_in(4) { Budget::Tokens(count) } else { Budget::Bytes(count) }
}

fn text_filter(choices: &mut Choose<'_>) -> TextSpec {
    let mut filter = TextSpec::new().strip_ansi(choices.one_in(2)).dedup(choices.one_in(2));
    if choices.one_in(4) {
        filter = filter.dedup_everywhere(true);
    }
    if choices.one_in(3) {
        filter = filter.strip_lines_matching(choices.pick(&PATTERNS));
    }
    if choices.one_in(3) {
        filter = filter.keep_lines_matching(choices.pick(&PATTERNS));
    }
    if choices.one_in(3) {
        filter = filter.max_lines(choices.below(4) as u64);
    }
    if choices.one_in(3) {
        filter = filter.on_empty("nothing \"left\"");
    }
    filter
}

fn content(choices: &mut Choose<'_>) -> Content {
    let mut content = Content::new();
    for name in ["a", "b.a", "items[0].a", "data"] {
        if choices.one_in(3) {
            content = content.extract(name);
        }
    }
    if choices.one_in(2) {
        content = content.max_tokens(1 + choices.below(60) as u64);
    }
    if choices.one_in(2) {
        content = content.format(ContentFormat::Markdown);
    }
    content
}
