//! Filters of every kind, as their synchronous drivers run them.

use tamis::{
    CommandLine, FilterStream, Limits, Outcome, OutputFilterRegistry, Prune, PruneProgram,
    TextFilter, TextProgram, Transform, prune_slice,
};

use crate::{chunks, collect, ready};

/// Output and report of a transform over a document in chunks of several sizes, which must agree.
fn through(transform: impl Fn() -> Transform, document: &[u8]) -> (Vec<u8>, Outcome) {
    let mut first = None;
    for size in [1, 7, 1000, 100_000] {
        let outcome = std::sync::Arc::new(std::sync::Mutex::new(None));
        let told = std::sync::Arc::clone(&outcome);
        let transform = transform().on_end(move |outcome, result| {
            result.unwrap();
            *told.lock().unwrap() = Some(outcome.clone());
        });
        let (output, result) = ready(collect(FilterStream::new(transform, chunks(document, size))));
        result.unwrap();
        let outcome = outcome.lock().unwrap().take().expect("the end is told");
        let (before, _) = first.get_or_insert((output.clone(), outcome));
        assert_eq!(*before, output, "chunks of {size} bytes");
    }
    first.unwrap()
}

#[test]
fn texts() {
    let filter = TextFilter::new().strip_ansi(true).strip_lines_matching("^DEBUG").max_lines(3);
    let program = TextProgram::compile(&filter).unwrap();
    let text = "DEBUG a\n\x1b[1mone\x1b[0m\ntwo\nDEBUG b\nthree\nfour\nfive\n".repeat(40);
    let (output, outcome) = through(|| Transform::text(&program, &Limits::new()), text.as_bytes());
    let (wanted, report) = program.apply(text.as_bytes());
    assert_eq!(String::from_utf8(output), String::from_utf8(wanted));
    assert_eq!(outcome, Outcome::Text(report));
}

#[test]
fn outputs_of_commands() {
    let registry = OutputFilterRegistry::builtin();
    let line = CommandLine::parse("cargo build");
    let text = "   Compiling a v1.0.0\n".repeat(300) + "error: no\n";
    let (output, outcome) = through(
        || Transform::command(&registry, &line, Some(101), &Limits::new()),
        text.as_bytes(),
    );
    let mut run = registry.start(&line, &Limits::new(), Vec::new());
    run.write(text.as_bytes());
    let (wanted, report) = run.end(Some(101), None);
    assert_eq!(String::from_utf8(output), String::from_utf8(wanted));
    assert_eq!(outcome, Outcome::Command(report));
}

#[test]
fn histories() {
    let program = PruneProgram::compile(&Prune::new().keep_turns(1).now(7)).unwrap();
    let result = "y".repeat(5000);
    let history = format!(
        r#"{{"messages": [
            {{"role": "assistant", "content": [{{"type": "tool_use", "id": "t", "name": "grep", "input": {{}}}}]}},
            {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "t", "content": "{result}"}}]}},
            {{"role": "user", "content": "and the first?"}}], "model": "m"}}"#
    );
    let (output, outcome) = through(|| Transform::prune(&program), history.as_bytes());
    let (wanted, report) = prune_slice(&program, history.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(output), String::from_utf8(wanted));
    let Outcome::Prune(told) = outcome else { panic!("{outcome:?}") };
    assert_eq!((told.results_pruned, report.results_pruned), (1, 1));
    assert_eq!(told.bytes_saved, report.bytes_saved);
}
