//! Compares tamis with other parsers in one run, after checking that all results are equal.
//!
//! ```sh
//! cargo bench --bench peers                           # everything, 10 MB
//! cargo bench --bench peers -- select issues          # tables whose title has all of these words
//! cargo bench --bench peers -- stop_early --size 200m --rounds 31
//! cargo bench --bench peers -- --test                 # everything once, on small documents, to check the results
//! ```
//!
//! `TAMIS_BENCH_KERNEL` chooses the kernel of tamis, and of simdjson while it is compiled. Floors apply to SIMD kernels.
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench may panic"
)]
#![allow(clippy::print_stdout, reason = "the tables are its output")]

mod harness;
mod jobs;

use harness::{Document, FloorSummary};
use tamis_testkit::data;

/// The options of the command line.
struct Options {
    words: Vec<String>,
    size: usize,
    rounds: usize,
    test: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self { words: Vec::new(), size: data::MEDIUM, rounds: 15, test: false };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--test" => options.test = true,
                // Cargo passes this to every bench.
                "--bench" => {}
                "--size" => {
                    options.size = match arguments.next().as_deref() {
                        Some("124k") => data::SMALL,
                        Some("10m") => data::MEDIUM,
                        Some("200m") => data::LARGE,
                        other => panic!("--size is 124k, 10m or 200m, not {other:?}"),
                    }
                }
                "--rounds" => {
                    let rounds = arguments.next().and_then(|text| text.parse().ok());
                    options.rounds = rounds.filter(|rounds| *rounds > 0).expect("--rounds N");
                }
                word if !word.starts_with('-') => options.words.push(word.to_owned()),
                other => panic!(
                    "unknown option {other}: expected --size, --rounds, --test or words of titles"
                ),
            }
        }
        if options.test {
            options.size = data::SMALL;
        }
        options
    }

    fn wants(&self, table: &harness::Table) -> bool {
        let title = format!("{} {} {}", table.theme, table.shape.name(), table.what);
        self.words.iter().all(|word| title.contains(word))
    }
}

fn main() {
    let options = Options::parse(std::env::args().skip(1));
    if options.test {
        for shape in data::Shape::ALL {
            // Length and hash are known for this document, and are checked.
            let _ = shape.document(data::MEDIUM);
        }
    }
    let options_of_calls = jobs::call_options();
    let versions = jobs::versions(&options_of_calls);
    let mut summary = (options_of_calls.scan_kernel() != "scalar").then(FloorSummary::default);
    let mut tables = jobs::tables();
    tables.retain(|table| options.wants(table));
    assert!(!tables.is_empty(), "no table has all of these words in its title");
    let (mut count, mut wrong) = (0, Vec::new());
    // Only one document is in memory at a time.
    for shape in data::Shape::ALL {
        let mut of_shape = tables.iter_mut().filter(|table| table.shape == shape).peekable();
        if of_shape.peek().is_none() {
            continue;
        }
        let document = Document::new(shape, options.size);
        for table in of_shape {
            let failures = table.check(&document, options.size == data::SMALL);
            wrong.extend(failures);
            count += table.jobs.len();
            if !options.test && wrong.is_empty() {
                table.measure(&document, options.rounds, &versions, summary.as_mut());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if let Some(summary) = summary.filter(|_| !options.test) {
        summary.print();
    }
    println!("\n{} tables, {count} jobs: all results are as expected.", tables.len());
}
