//! Select and validate, side by side with the peers, on 10 MB of repositories.
//!
//! `cargo bench --bench first` prints a table of ratios first (interleaved rounds, the median of the ratios of each
//! round), then criterion's own measurements. `-- --test` runs everything once and checks that all results agree.
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench may panic")]
#![allow(clippy::print_stdout, reason = "the table is its output")]

mod data;

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, Throughput};
use serde::{Deserialize, Serialize};
use tamis::{Filter, Program, Sink, Spec, Validation};

const BYTES: usize = 10 << 20;
const ROUNDS: usize = 15;

/// What a typed peer reads of a repository. Strings are borrowed where they can be.
#[derive(Deserialize)]
struct Repository<'a> {
    #[serde(borrow)]
    name: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    full_name: std::borrow::Cow<'a, str>,
    private: bool,
    #[serde(borrow)]
    owner: Owner<'a>,
    #[serde(borrow)]
    html_url: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    description: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    updated_at: std::borrow::Cow<'a, str>,
    stargazers_count: u64,
    #[serde(borrow)]
    language: Option<std::borrow::Cow<'a, str>>,
    open_issues_count: u64,
    #[serde(borrow)]
    default_branch: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct Owner<'a> {
    #[serde(borrow)]
    login: std::borrow::Cow<'a, str>,
}

/// What it writes.
#[derive(Serialize)]
struct Selected<'a> {
    name: &'a str,
    full_name: &'a str,
    private: bool,
    owner_login: &'a str,
    html_url: &'a str,
    description: Option<&'a str>,
    updated_at: &'a str,
    stargazers_count: u64,
    language: Option<&'a str>,
    open_issues_count: u64,
    default_branch: &'a str,
}

impl<'a> From<&'a Repository<'_>> for Selected<'a> {
    fn from(from: &'a Repository<'_>) -> Self {
        Self {
            name: &from.name,
            full_name: &from.full_name,
            private: from.private,
            owner_login: &from.owner.login,
            html_url: &from.html_url,
            description: from.description.as_deref(),
            updated_at: &from.updated_at,
            stargazers_count: from.stargazers_count,
            language: from.language.as_deref(),
            open_issues_count: from.open_issues_count,
            default_branch: &from.default_branch,
        }
    }
}

/// Something that is measured: a name, and a job from the document to an output (empty for validation).
type Job<'a> = (&'static str, Box<dyn FnMut(&[u8], &mut Vec<u8>) + 'a>);

fn spec(validation: Validation) -> Spec {
    let spec = Spec::new().root("object").validation(validation);
    data::SELECT.iter().fold(spec, |spec, (key, path)| spec.select_as(*key, *path))
}

fn tamis(program: &Program, document: &[u8], chunk: usize, output: &mut Vec<u8>) {
    let mut filter = Filter::new(program, output);
    for chunk in document.chunks(chunk) {
        filter.write(chunk).unwrap();
    }
    filter.end().unwrap();
}

fn select_jobs<'a>() -> Vec<Job<'a>> {
    let compile = |validation| Program::compile(&spec(validation)).unwrap();
    let (full, structure) = (compile(Validation::Full), compile(Validation::Structure));
    let chunked = full.clone();
    let small = full.clone();
    vec![
        (
            "tamis full",
            Box::new(move |document, output| tamis(&full, document, usize::MAX, output)),
        ),
        (
            "tamis structure",
            Box::new(move |document, output| tamis(&structure, document, usize::MAX, output)),
        ),
        (
            "tamis full, 64 KiB chunks",
            Box::new(move |document, output| tamis(&chunked, document, 64 << 10, output)),
        ),
        (
            "tamis full, 4 KiB chunks",
            Box::new(move |document, output| tamis(&small, document, 4 << 10, output)),
        ),
        (
            "sonic-rs typed",
            Box::new(|document, output| {
                let list: Vec<Repository<'_>> = sonic_rs::from_slice(document).unwrap();
                let selected: Vec<_> = list.iter().map(Selected::from).collect();
                sonic_rs::to_writer(&mut *output, &selected).unwrap();
            }),
        ),
        (
            "serde_json typed",
            Box::new(|document, output| {
                let list: Vec<Repository<'_>> = serde_json::from_slice(document).unwrap();
                let selected: Vec<_> = list.iter().map(Selected::from).collect();
                serde_json::to_writer(&mut *output, &selected).unwrap();
            }),
        ),
        (
            "simd-json typed",
            Box::new(|document, output| {
                // It unescapes in place, so it needs a copy; the copy is part of its job here.
                let mut copy = document.to_vec();
                let list: Vec<Repository<'_>> = simd_json::from_slice(&mut copy).unwrap();
                let selected: Vec<_> = list.iter().map(Selected::from).collect();
                serde_json::to_writer(&mut *output, &selected).unwrap();
            }),
        ),
    ]
}

/// Takes output and drops it: for validation, which wants none.
struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, bytes: &[u8]) {
        black_box(bytes);
    }
}

fn validate_jobs<'a>() -> Vec<Job<'a>> {
    // Retaining nothing reads everything.
    let program = Program::compile(&Spec::new().retain("/none")).unwrap();
    vec![
        (
            "tamis",
            Box::new(move |document, _| {
                let mut filter = Filter::new(&program, Nowhere);
                filter.write(document).unwrap();
                filter.end().unwrap();
            }),
        ),
        (
            "sonic-rs",
            Box::new(|document, _| {
                sonic_rs::from_slice::<serde::de::IgnoredAny>(document).unwrap();
            }),
        ),
        (
            "serde_json",
            Box::new(|document, _| {
                serde_json::from_slice::<serde::de::IgnoredAny>(document).unwrap();
            }),
        ),
        (
            "simd-json tape",
            Box::new(|document, _| {
                let mut copy = document.to_vec();
                black_box(simd_json::to_tape(&mut copy).unwrap());
            }),
        ),
        (
            "struson",
            Box::new(|document, _| {
                use struson::reader::JsonReader as _;
                let mut reader = struson::reader::JsonStreamReader::new(document);
                reader.skip_value().unwrap();
                reader.consume_trailing_whitespace().unwrap();
            }),
        ),
    ]
}

/// Runs all jobs in turn, `rounds` times, and prints throughput and the median ratio of the first against each.
fn table(title: &str, document: &[u8], jobs: &mut [Job<'_>], rounds: usize) {
    let mut seconds = vec![Vec::with_capacity(rounds); jobs.len()];
    let mut output = Vec::with_capacity(document.len());
    for round in 0..=rounds {
        for ((_, job), seconds) in jobs.iter_mut().zip(&mut seconds) {
            output.clear();
            // Whatever the job before left in the caches, this one finds the document there, as far as it fits.
            black_box(document.iter().fold(0u64, |sum, byte| sum + u64::from(*byte)));
            let begin = Instant::now();
            job(black_box(document), &mut output);
            black_box(&output);
            // The first round warms up.
            if round > 0 {
                seconds.push(begin.elapsed().as_secs_f64());
            }
        }
    }
    println!("\n{title}, {} bytes, {rounds} rounds", document.len());
    for (row, (name, _)) in jobs.iter().enumerate() {
        let mut ratios: Vec<_> =
            (0..rounds).map(|round| seconds[row][round] / seconds[0][round]).collect();
        let mut own = seconds[row].clone();
        let (ratio, time) = (median(&mut ratios), median(&mut own));
        println!(
            "  {name:<28} {:>6.2} GB/s   {} is {ratio:.2} times as fast",
            document.len() as f64 / time / 1e9,
            jobs[0].0
        );
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// All jobs must say the same.
fn check(document: &[u8], jobs: &mut [Job<'_>]) {
    let mut expected = Vec::new();
    jobs[0].1(document, &mut expected);
    for (name, job) in &mut jobs[1..] {
        let mut output = Vec::new();
        job(document, &mut output);
        assert!(output == expected, "{name} says something else");
    }
}

fn main() {
    let document = data::repositories(BYTES);
    let (mut select, mut validate) = (select_jobs(), validate_jobs());
    check(&document, &mut select);
    check(&document, &mut validate);
    assert_eq!(data::repositories(1000), data::repositories(1000), "documents are deterministic");

    let test = std::env::args().any(|argument| argument == "--test");
    let rounds = if test { 1 } else { ROUNDS };
    table("select 11 of about 100 members", &document, &mut select, rounds);
    table("validate", &document, &mut validate, rounds);

    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    for (group, jobs) in [("select", &mut select), ("validate", &mut validate)] {
        let mut group = criterion.benchmark_group(group);
        group.throughput(Throughput::Bytes(document.len() as u64));
        for (name, job) in jobs {
            let mut output = Vec::with_capacity(document.len());
            group.bench_function(*name, |bencher| {
                bencher.iter(|| {
                    output.clear();
                    job(black_box(&document), &mut output);
                });
            });
        }
    }
    criterion.final_summary();
}
