//! Measures what each shortcut is worth: runs a job with it and without it, after checking that both write the same.
//!
//! Optimised builds have the switches only with `cfg(fuzzing)`, so that others do not pay for them:
//!
//! ```sh
//! RUSTFLAGS="--cfg fuzzing" cargo bench --bench paths                    # one line for each path, and every job
//! RUSTFLAGS="--cfg fuzzing" cargo bench --bench paths -- Elements        # paths whose name has one of these words
//! RUSTFLAGS="--cfg fuzzing" cargo bench --bench paths -- --rounds 31
//! RUSTFLAGS="--cfg fuzzing" cargo test --bench paths -- --test           # everything once on 124 KB: is it right?
//! ```
//!
//! `TAMIS_BENCH_KERNEL` chooses the kernel.
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench may panic"
)]
#![allow(clippy::print_stdout, reason = "the table is its output")]

fn main() {
    #[cfg(fuzzing)]
    measured::main();
    #[cfg(not(fuzzing))]
    println!(
        "The bench `paths` needs switches that this build does not have. Build it like this:\n\
         RUSTFLAGS=\"--cfg fuzzing\" cargo bench --bench paths"
    );
}

#[cfg(fuzzing)]
mod measured {
    use std::hint::black_box;

    use tamis::fuzzing::{fast_paths, without_fast_path};
    use tamis::spec::Validation;
    use tamis::{CallOptions, Filter, Program};
    use tamis_testkit::data::{self, Shape, specs};

    /// A job whose time with a path is at least this share longer without it needs the path.
    const MATTERS: f64 = 1.03;

    /// The bytes of one write of the jobs with chunks. Most chunks lie inside one string or end in one.
    const CHUNK: usize = 16;

    /// One spec for one shape of documents.
    struct Job {
        name: String,
        program: Program,
        chunk: usize,
    }

    impl Job {
        fn run(&self, options: &CallOptions, document: &[u8], output: &mut Vec<u8>) {
            output.clear();
            let mut filter = Filter::new(self.program.with_options(options), output);
            for chunk in document.chunks(self.chunk) {
                filter.write(chunk).unwrap();
            }
            filter.end().unwrap();
        }
    }

    fn jobs(shape: Shape) -> Vec<Job> {
        let specs = [
            ("select", shape.selection().spec()),
            ("exclude", specs::exclude(shape)),
            ("validate", specs::validate()),
        ];
        let mut jobs = Vec::new();
        for (theme, spec) in specs {
            for (level, validation) in
                [("full", Validation::Full), ("structure", Validation::Structure)]
            {
                let program = Program::compile(&spec.clone().validation(validation)).unwrap();
                let name = format!("{theme}, {level}, {}", shape.name());
                jobs.push(Job { name, program, chunk: usize::MAX });
            }
            if theme == "select" {
                let program = Program::compile(&spec).unwrap();
                let name = format!("{theme}, full, {}, {CHUNK} B", shape.name());
                jobs.push(Job { name, program, chunk: CHUNK });
            }
        }
        jobs
    }

    /// Returns the CPU time of this process.
    #[cfg(unix)]
    fn now() -> f64 {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }

    /// Returns the time, because the CPU time of a process is not known here.
    #[cfg(not(unix))]
    fn now() -> f64 {
        use std::sync::LazyLock;
        use std::time::Instant;

        static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGIN.elapsed().as_secs_f64()
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    struct Options {
        words: Vec<String>,
        size: usize,
        rounds: usize,
        test: bool,
    }

    impl Options {
        fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
            let mut options =
                Self { words: Vec::new(), size: data::MEDIUM, rounds: 7, test: false };
            while let Some(argument) = arguments.next() {
                match argument.as_str() {
                    "--test" => (options.test, options.size) = (true, data::SMALL),
                    // Cargo passes this to every bench.
                    "--bench" => {}
                    "--rounds" => {
                        let rounds = arguments.next().and_then(|text| text.parse().ok());
                        options.rounds = rounds.filter(|rounds| *rounds > 0).expect("--rounds N");
                    }
                    word if !word.starts_with('-') => options.words.push(word.to_owned()),
                    other => panic!("unknown option {other}: expected --rounds, --test or paths"),
                }
            }
            options
        }

        fn wants(&self, path: &str) -> bool {
            self.words.is_empty() || self.words.iter().any(|word| path.contains(word.as_str()))
        }
    }

    /// The times of a job without each path, divided by the time with all of them.
    struct Row {
        job: String,
        ratios: Vec<f64>,
    }

    /// Runs a job with all paths and without each of them, in turn, round by round.
    fn measure(
        job: &Job,
        paths: &[String],
        options: &CallOptions,
        document: &[u8],
        rounds: usize,
    ) -> Row {
        let mut output = Vec::with_capacity(document.len());
        let mut ratios = vec![Vec::with_capacity(rounds); paths.len()];
        let mut timed = |path: Option<&String>| {
            let begin = now();
            let mut run = || job.run(options, black_box(document), &mut output);
            match path {
                Some(path) => without_fast_path(path, run).unwrap(),
                None => run(),
            }
            black_box(&output);
            now() - begin
        };
        // The first run warms up.
        timed(None);
        for _ in 0..rounds {
            for (path, ratios) in paths.iter().zip(&mut ratios) {
                // A pair, so that a drifting speed of the machine does not matter.
                let with = timed(None);
                ratios.push(timed(Some(path)) / with);
            }
        }
        Row { job: job.name.clone(), ratios: ratios.into_iter().map(median).collect() }
    }

    pub(crate) fn main() {
        let options = Options::parse(std::env::args().skip(1));
        let mut paths = fast_paths();
        paths.retain(|path| options.wants(path));
        assert!(!paths.is_empty(), "no path has one of these names: {:?}", fast_paths());
        let mut call = CallOptions::new();
        if let Ok(name) = std::env::var("TAMIS_BENCH_KERNEL") {
            call = call.with_scan_kernel(&name).expect("a kernel that this CPU runs");
        }
        let mut rows = Vec::new();
        for shape in Shape::ALL {
            let document = shape.document(options.size);
            for job in jobs(shape) {
                let (mut expected, mut found) = (Vec::new(), Vec::new());
                job.run(&call, &document, &mut expected);
                for path in &paths {
                    without_fast_path(path, || job.run(&call, &document, &mut found)).unwrap();
                    assert!(found == expected, "{}: another output without {path}", job.name);
                }
                if !options.test {
                    rows.push(measure(&job, &paths, &call, &document, options.rounds));
                }
            }
        }
        if options.test {
            println!("{} paths: all outputs are the same without them", paths.len());
            return;
        }
        print(&paths, &rows, &call, options.rounds);
    }

    /// Prints every ratio, and then for each path where it matters most and least.
    fn print(paths: &[String], rows: &[Row], call: &CallOptions, rounds: usize) {
        println!("\n| time without ÷ time with | {} |", paths.join(" | "));
        println!("|---|{}", "---|".repeat(paths.len()));
        for row in rows {
            let cells = row.ratios.iter().map(|ratio| format!(" {ratio:.2} |"));
            println!("| {} |{}", row.job, cells.collect::<String>());
        }
        println!("\n{} jobs, {rounds} rounds, {}\n", rows.len(), call.scan_kernel());
        println!(
            "| path | matters most | without ÷ with | matters least | without ÷ with | jobs it matters for |"
        );
        println!("|---|---|---|---|---|---|");
        for (index, path) in paths.iter().enumerate() {
            let mut ratios: Vec<_> = rows.iter().map(|row| (row.ratios[index], &row.job)).collect();
            ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
            let matters = ratios.iter().filter(|(ratio, _)| *ratio >= MATTERS).count();
            let ((least, least_job), (most, most_job)) = (ratios[0], ratios[ratios.len() - 1]);
            println!(
                "| `{path}` | {most_job} | {most:.2} | {least_job} | {least:.2} | {matters} of {} |",
                rows.len()
            );
        }
    }
}
