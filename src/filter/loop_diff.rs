//! Compares runs of a program with and without the shortcuts of the JSON machine, for tests and for a fuzzer.
//!
//! The walk of the machine is the reference: see `fast_paths.rs`.

#![allow(clippy::indexing_slicing, reason = "a panic is what is looked for")]

use tamis_json::error::ErrorKind;
use tamis_json::fast_paths::{FastPath, plain_walk, without};

use super::{CallOptions, Filter, Program};
use crate::report::Report;
use crate::spec::Spec;

/// The result of a run.
#[derive(Debug, PartialEq)]
struct RunRecord {
    /// The output, up to the error if there was one.
    output: Vec<u8>,
    /// Kind, offset, path and message.
    error: Option<(ErrorKind, Option<u64>, String, String)>,
    report: Report,
}

/// Filters a document in chunks that end at `cuts`, and a last one.
fn run(program: &Program, options: &CallOptions, document: &[u8], cuts: &[usize]) -> RunRecord {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    let mut begin = 0;
    let mut fed = Ok(());
    for end in cuts.iter().copied().chain([document.len()]) {
        fed = filter.write(&document[begin..end]);
        if fed.is_err() {
            break;
        }
        begin = end;
    }
    let error = fed.and_then(|()| filter.end().map(drop)).err().map(|error| {
        let message = error.message().to_owned();
        (error.kind(), error.offset(), error.path().to_owned(), message)
    });
    // How much is held depends on the pieces of the output.
    let report = Report { held_peak_bytes: 0, ..filter.report() };
    RunRecord { output: filter.into_sink(), error, report }
}

/// Filters a document with all shortcuts, without any, and without one of them, in chunks that end at `cuts`. Returns
/// whether the run failed, and `None` if the spec cannot be compiled. Panics if the results differ.
pub(crate) fn compare(
    spec: &Spec,
    options: &CallOptions,
    document: &[u8],
    cuts: &[usize],
) -> Option<bool> {
    let program = Program::compile(spec).ok()?;
    let fast = run(&program, options, document, cuts);
    let plain = plain_walk(|| run(&program, options, document, cuts));
    // A few bytes of the trial choose the path, so that a crash file repeats the same run.
    let path = FastPath::cycle(document.len() + cuts.first().copied().unwrap_or(0));
    let other = without(path, || run(&program, options, document, cuts));
    assert!(
        other == plain,
        "without {path:?}, the result differs from the walk\n  {spec:?}\n  {:?}\n  cuts: {cuts:?}\n  \
         document: {}\n  found: {other:?}\n  walk:  {plain:?}",
        options.limits(),
        document.escape_ascii(),
    );
    assert!(
        fast == plain,
        "the loops differ from the walk\n  {spec:?}\n  {:?}\n  cuts: {cuts:?}\n  document: {}\n  \
         loops: {} {:?}\n  walk:  {} {:?}\n  loops: {:?}\n  walk:  {:?}",
        options.limits(),
        document.escape_ascii(),
        fast.output.escape_ascii(),
        fast.error,
        plain.output.escape_ascii(),
        plain.error,
        fast.report,
        plain.report,
    );
    Some(plain.error.is_some())
}

#[cfg(test)]
mod tests {
    use tamis_testkit::effort::share;
    use tamis_testkit::loops::{Focus, LoopTrial, documents, specs};
    use tamis_testkit::prng::Prng;

    use tamis_json::limits::Limits;

    use super::compare;
    use crate::filter::CallOptions;
    use crate::spec::{JsonStrings, Spec};

    fn spec(text: &str) -> Spec {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn options(key: Option<usize>, depth: Option<usize>) -> CallOptions {
        let mut limits = Limits::new();
        if let Some(key) = key {
            limits = limits.with_key(key);
        }
        if let Some(depth) = depth {
            limits = limits.with_depth(depth);
        }
        CallOptions::new().with_limits(limits)
    }

    /// Returns for each run whether it failed, and nothing if the spec cannot be compiled.
    fn compare_trial(trial: &LoopTrial) -> Vec<bool> {
        let options = options(trial.key, trial.depth);
        let spec = spec(&trial.spec);
        let run = |cuts: &Vec<usize>| compare(&spec, &options, &trial.document, cuts);
        trial.cuts.iter().map_while(run).collect()
    }

    /// Generated documents, specs and cuts, with and without errors.
    #[test]
    fn loops_do_what_the_walk_does() {
        let (mut compared, mut failed) = (0, 0);
        let trials = share(12_000);
        for seed in 0..trials {
            for error in compare_trial(&LoopTrial::new(&mut Prng::new(seed))) {
                compared += 1;
                failed += u64::from(error);
            }
        }
        assert!(compared > 3 * trials, "{compared} comparisons");
        assert!((0.3..0.7).contains(&(failed as f64 / compared as f64)), "{failed} errors");
    }

    /// The same documents and rules after `json_strings`, at pointers that the documents often have.
    #[test]
    fn loops_do_what_the_walk_does_around_strings() {
        let pointers = ["/a", "/items/a", "/b/c", "/items/0"];
        let mut compared = 0;
        let trials = share(1_500);
        for seed in 0..trials {
            let trial = LoopTrial::new(&mut Prng::new(seed));
            let rules = spec(&trial.spec);
            let at = pointers[seed as usize % pointers.len()];
            let spec = rules.clone().json_strings(JsonStrings::new(at, rules));
            let options = options(trial.key, trial.depth);
            for cuts in &trial.cuts {
                compared += u64::from(compare(&spec, &options, &trial.document, cuts).is_some());
            }
        }
        assert!(compared > 2 * trials, "{compared} comparisons");
    }

    /// The seeds of the fuzzer and its earlier findings: `fuzz/README.md`.
    #[test]
    fn loops_do_what_the_walk_does_on_what_is_fuzzed() {
        let fuzz = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
        let mut count = 0;
        for kind in ["seeds", "regressions"] {
            let entries = std::fs::read_dir(fuzz.join(kind).join("loop_vs_walk"));
            for entry in entries.into_iter().flatten() {
                let data = std::fs::read(entry.unwrap().path()).unwrap();
                compare_trial(&LoopTrial::from_bytes(&data));
                count += 1;
            }
        }
        // A published package contains no seeds.
        assert!(count >= 100 || !fuzz.exists(), "only {count} inputs");
    }

    /// Small documents, cut at every byte.
    #[test]
    fn loops_do_what_the_walk_does_at_every_cut() {
        for seed in 0..share(400) {
            let mut prng = Prng::new(seed);
            let key = prng.pick(&[None, None, Some(4), Some(9)]);
            let focus = Focus::new(&mut prng);
            let limit = key.unwrap_or(documents::LONG_KEY);
            let document = documents::small_document(&mut prng, focus, limit);
            let options = options(key, None);
            for _ in 0..3 {
                let spec = spec(&specs::spec(&mut prng, focus));
                let every: Vec<usize> = (1..document.len()).collect();
                if compare(&spec, &options, &document, &every).is_none() {
                    continue;
                }
                for cut in 1..document.len().min(400) {
                    compare(&spec, &options, &document, &[cut]);
                }
            }
        }
    }
}
