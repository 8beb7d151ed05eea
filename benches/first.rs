//! Measures only tamis, to find regressions: criterion keeps the last measurement of each job and reports changes. The bench
//! `peers` measures ratios to other parsers.
//!
//! `cargo bench --bench first`, with `-- select` for jobs with that name; `-- --test` runs every job once.
//! `TAMIS_BENCH_KERNEL` chooses the kernel.
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use tamis::spec::{PatchOp, Validation};
use tamis::{Call, CallOptions, Filter, Program, Spec};
use tamis_testkit::data::{self, Shape};

/// The whole document in one chunk.
const SLICE: usize = usize::MAX;

/// Returns group, shape, chunk size and spec of each job. The output must be neither empty nor the whole document, except
/// for `validate` and `minify`. `patches` adds changes in the first hundredth of a document to `minify` and `retain`, so that
/// the three can be compared.
fn jobs() -> Vec<(&'static str, Shape, usize, Spec)> {
    use Shape::{Graphql, Issues, Numbers, Pretty, Repositories, Unicode};
    let spec = || Spec::new().root("object");
    let select = || {
        let paths = ["name", "full_name", "private", "owner.login", "html_url", "description"];
        let spec = paths.into_iter().fold(spec(), Spec::select);
        let paths = ["updated_at", "stargazers_count", "language", "default_branch"];
        paths.into_iter().fold(spec, Spec::select)
    };
    let patches = |at: &str, spec: Spec| {
        spec.patch(PatchOp::remove(format!("{at}/owner/login")))
            .patch(PatchOp::replace(format!("{at}/name"), "x"))
            .patch(PatchOp::add(format!("{at}/seen"), true))
    };
    let structure = |spec: Spec| spec.validation(Validation::Structure);
    let login = "/data/organization/repositories/nodes/issues/nodes/author/login";
    vec![
        ("select", Repositories, SLICE, select()),
        ("select", Pretty, SLICE, select()),
        ("select", Issues, SLICE, spec().select("number").select("title")),
        ("select", Numbers, SLICE, spec().select("id").select("at")),
        ("select", Unicode, SLICE, spec().select("id").select("ts")),
        ("structure", Repositories, SLICE, structure(select())),
        ("structure", Issues, SLICE, structure(spec().select("number").select("title"))),
        ("chunks of 256 B", Repositories, 256, select()),
        ("chunks of 4 KiB", Repositories, 4 << 10, select()),
        ("exclude", Repositories, SLICE, spec().exclude("owner").exclude("license")),
        ("exclude", Issues, SLICE, spec().exclude("body")),
        ("retain", Graphql, SLICE, Spec::new().retain(login)),
        ("minify", Repositories, SLICE, Spec::new()),
        ("patches", Repositories, SLICE, patches("/0", Spec::new())),
        ("retain", Repositories, SLICE, Spec::new().retain("/name").retain("/owner")),
        (
            "retain and patches",
            Repositories,
            SLICE,
            patches("/0", Spec::new().retain("/name").retain("/owner")),
        ),
        ("drop_nulls", Repositories, SLICE, spec().drop_nulls(true)),
        ("drop_nulls", Issues, SLICE, spec().drop_nulls(true)),
        ("validate", Repositories, SLICE, Spec::new().retain("/none")),
        ("validate", Unicode, SLICE, Spec::new().retain("/none")),
    ]
}

fn run(call: Call<'_>, document: &[u8], chunk: usize, output: &mut Vec<u8>) {
    output.clear();
    let mut filter = Filter::new(call, output);
    for chunk in document.chunks(chunk) {
        filter.write(chunk).unwrap();
    }
    filter.end().unwrap();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    let mut options = CallOptions::new();
    if let Ok(name) = std::env::var("TAMIS_BENCH_KERNEL") {
        options = options.with_scan_kernel(&name).expect("a kernel that this CPU runs");
    }
    let mut made: Option<(Shape, Vec<u8>)> = None;
    for (group, shape, chunk, spec) in jobs() {
        let document = match made.take() {
            Some((last, document)) if last == shape => document,
            _ => shape.document(data::MEDIUM),
        };
        let program = Program::compile(&spec).unwrap();
        let mut output = Vec::with_capacity(document.len());
        run(program.with_options(&options), &document, chunk, &mut output);
        let expected = match group {
            "validate" => 0..=2,
            "minify" => document.len()..=document.len(),
            _ => 3..=document.len() - 1,
        };
        assert!(expected.contains(&output.len()), "{group}: {} bytes", output.len());

        let mut group = criterion.benchmark_group(group);
        group.throughput(Throughput::Bytes(document.len() as u64));
        group.bench_function(shape.name(), |bencher| {
            bencher.iter(|| {
                run(program.with_options(&options), black_box(&document), chunk, &mut output);
            });
        });
        group.finish();
        made = Some((shape, document));
    }
    criterion.final_summary();
}
