//! The series that are measured: each does the same work for more and more of something.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;

use tamis::spec::{ItemCondition, ValueTest};
use tamis::{Filter, Limits, Program, Spec};
use tamis_testkit::data::Shape;

/// A kind of work, for growing amounts of something.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    /// The name of what grows, in the plural.
    pub(crate) unit: &'static str,
    pub(crate) grows: Grows,
    pub(crate) amounts: Vec<usize>,
    /// Prepares the work for an amount.
    pub(crate) prepare: Box<dyn Fn(usize) -> Box<dyn FnMut()>>,
}

/// How much the bytes of the work grow with the amount.
#[derive(Clone, Copy)]
pub(crate) enum Grows {
    /// As the amount does.
    Linearly,
    /// Not at all.
    Not,
}

impl Grows {
    pub(crate) fn slope(self) -> f64 {
        match self {
            Self::Linearly => 1.0,
            Self::Not => 0.0,
        }
    }
}

/// About the bytes of documents whose size stays the same.
const FIXED: usize = 1 << 20;
/// The longest document in memory. A longer one consists of its items, time after time.
const LONGEST: usize = 16 << 20;

/// Returns all series. `is_large`: with the sizes that take minutes.
pub(crate) fn all(is_large: bool) -> Vec<Series> {
    let sizes =
        |last: u32| (10..=last).step_by(2).map(|power| 1_usize << power).collect::<Vec<_>>();
    let rules = || vec![1, 10, 100, 1_000, 10_000];
    vec![
        series("size", "bytes", Grows::Linearly, sizes(if is_large { 30 } else { 24 }), |bytes| {
            let program = Program::compile(&select()).unwrap();
            let (document, times) = document(bytes);
            Box::new(move || run_repeated(&program, &document, times))
        }),
        series("depth", "levels", Grows::Not, vec![1, 4, 16, 64, 256, 1_000], |levels| {
            let program = Program::compile(&Spec::new().root("items").select("id")).unwrap();
            filtering(program, nested(levels))
        }),
        series("rules", "rules", Grows::Not, rules(), |count| {
            let spec = (0..count).fold(Spec::new().root("object"), |spec, number| {
                spec.exclude(format!("owner.name{number}"))
            });
            filtering(Program::compile(&spec).unwrap(), Shape::Repositories.document(FIXED))
        }),
        series("rules with wildcards", "rules", Grows::Not, rules(), |count| {
            let spec = (0..count).fold(Spec::new().root("object"), |spec, number| {
                spec.exclude(format!("*.name{number}"))
            });
            filtering(Program::compile(&spec).unwrap(), Shape::Repositories.document(FIXED))
        }),
        series("names in a select", "names", Grows::Not, rules(), |count| {
            let spec = (1..count)
                .fold(Spec::new().root("object").select("name"), |spec, number| {
                    spec.select(format!("name{number}"))
                });
            filtering(Program::compile(&spec).unwrap(), Shape::Repositories.document(FIXED))
        }),
        series("conditions", "conditions", Grows::Not, vec![1, 10, 100, 1_000], |count| {
            let exists = ValueTest::new().exists(true);
            let spec = (1..count).fold(Spec::new().root("items").select("id"), |spec, number| {
                spec.keep_where(ItemCondition::not(format!("name{number}"), exists.clone()))
            });
            filtering(Program::compile(&spec).unwrap(), nested(1))
        }),
        series("compilation", "rules", Grows::Linearly, rules(), |count| {
            let spec = (0..count)
                .fold(Spec::new(), |spec, number| spec.exclude(format!("member{number}.name")));
            Box::new(move || drop(black_box(Program::compile(black_box(&spec)).unwrap())))
        }),
        series(
            "filters at once",
            "filters",
            Grows::Linearly,
            vec![1, 2, 4, 8, 16, 32, 64],
            |count| {
                let program = Program::compile(&select()).unwrap();
                let document: Arc<[u8]> = Shape::Repositories.document(FIXED).into();
                Box::new(move || {
                    thread::scope(|scope| {
                        for _ in 0..count {
                            scope.spawn(|| drop(black_box(output(&program, &document))));
                        }
                    });
                })
            },
        ),
        series("factor", "bytes", Grows::Linearly, sizes(22), |bytes| {
            let program = Program::compile(&Spec::new().factor(true)).unwrap();
            filtering(program, Shape::Repositories.document(bytes))
        }),
        series("restore", "bytes of the restored document", Grows::Linearly, sizes(22), |bytes| {
            let program = Program::compile(&Spec::new().factor(true)).unwrap();
            let factored = output(&program, &Shape::Repositories.document(bytes));
            Box::new(move || {
                drop(black_box(tamis::factor::restore(black_box(&factored), &Limits::new())));
            })
        }),
    ]
}

fn series(
    name: &'static str,
    unit: &'static str,
    grows: Grows,
    amounts: Vec<usize>,
    prepare: impl Fn(usize) -> Box<dyn FnMut()> + 'static,
) -> Series {
    Series { name, unit, grows, amounts, prepare: Box::new(prepare) }
}

fn select() -> Spec {
    let paths = ["name", "full_name", "owner.login", "html_url", "description"];
    paths.into_iter().fold(Spec::new().root("object"), Spec::select)
}

fn filtering(program: Program, document: Vec<u8>) -> Box<dyn FnMut()> {
    Box::new(move || drop(black_box(output(&program, &document))))
}

fn output(program: &Program, document: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(document.len());
    let mut filter = Filter::new(program, &mut output);
    filter.write(black_box(document)).unwrap();
    // Without a report, which lists every name that was not found.
    filter.finish().unwrap();
    output
}

/// Returns a list of repositories, and how often its items have to be written for a document of about `bytes` bytes.
fn document(bytes: usize) -> (Vec<u8>, usize) {
    (Shape::Repositories.document(bytes.min(LONGEST)), bytes.div_ceil(LONGEST))
}

/// Filters a list whose items are those of `document`, `times` times.
fn run_repeated(program: &Program, document: &[u8], times: usize) {
    let items = document.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    let items = items.expect("the document is a list");
    let mut output = Vec::new();
    let mut filter = Filter::new(program, &mut output);
    filter.write(b"[").unwrap();
    for time in 0..times {
        if time > 0 {
            filter.write(b",").unwrap();
        }
        filter.write(black_box(items)).unwrap();
    }
    filter.write(b"]").unwrap();
    filter.end().unwrap();
    black_box(&output);
}

/// Returns a document of about [`FIXED`] bytes with this many levels in each item.
fn nested(levels: usize) -> Vec<u8> {
    let item = format!("{{\"id\":1,\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
    let items = vec![item.as_str(); FIXED / item.len()].join(",");
    format!("{{\"items\":[{items}]}}").into_bytes()
}
