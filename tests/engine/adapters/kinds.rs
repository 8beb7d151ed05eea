//! Filters of every kind, compared with their synchronous drivers.

use tamis::http::{ContentCoding, DecodeOptions, FilterStream, Outcome, Transform};
use tamis::text::{TextProgram, TextSpec};
use tamis::{
    Call, CallOptions, Error, ErrorKind, FailedRun, Limits, Program, Report, Spec, filter_events,
    filter_ndjson, filter_slice,
};
use tamis_chat::{PruneProgram, PruneReport, PruneSpec, prune_slice};
use tamis_command::{CommandLine, OutputFilterRegistry};
use tokio_stream::StreamExt;

use super::{chunks, collect, ready, runtime};

/// The output and the report of a transform. Chunks of several sizes must agree on them.
fn through(transform: impl Fn() -> Transform, document: &[u8]) -> (Vec<u8>, Outcome) {
    let mut first = None;
    for size in [1, 7, 1000, 100_000] {
        let outcome = std::sync::Arc::new(std::sync::Mutex::new(None));
        let reported = std::sync::Arc::clone(&outcome);
        let transform = transform().with_on_end(move |outcome, result| {
            result.unwrap();
            *reported.lock().unwrap() = Some(outcome.clone());
        });
        let (output, result) = ready(collect(FilterStream::new(transform, chunks(document, size))));
        result.unwrap();
        let outcome = outcome.lock().unwrap().take().expect("the end is reported");
        let (before, _) = first.get_or_insert((output.clone(), outcome));
        assert_eq!(*before, output, "chunks of {size} bytes");
    }
    first.unwrap()
}

#[test]
fn texts() {
    let filter = TextSpec::new().strip_ansi(true).strip_lines_matching("^DEBUG").max_lines(3);
    let program = TextProgram::compile(&filter).unwrap();
    let text = "DEBUG a\n\x1b[1mone\x1b[0m\ntwo\nDEBUG b\nthree\nfour\nfive\n".repeat(40);
    let (output, outcome) = through(|| Transform::text(&program, &Limits::new()), text.as_bytes());
    let (wanted, report) = program.apply(text.as_bytes());
    assert_eq!(String::from_utf8(output), String::from_utf8(wanted));
    assert_eq!(outcome, Outcome::other(report));
}

#[test]
fn outputs_of_commands() {
    let registry = OutputFilterRegistry::builtin();
    let line = CommandLine::parse("cargo build");
    let text = "   Compiling a v1.0.0\n".repeat(300) + "error: no\n";
    let (output, outcome) =
        through(|| registry.transform(&line, Some(101), &Limits::new()), text.as_bytes());
    let mut run = registry.start(&line, &Limits::new(), Vec::new());
    run.write(text.as_bytes()).unwrap();
    run.set_exit_code(Some(101));
    let report = run.end().unwrap();
    let wanted = run.into_sink();
    assert_eq!(String::from_utf8(output), String::from_utf8(wanted));
    assert_eq!(outcome, Outcome::other(report));
}

#[test]
fn histories() {
    let program = PruneProgram::compile(&PruneSpec::new().keep_turns(1).now(7)).unwrap();
    let result = "y".repeat(5000);
    let history = format!(
        r#"{{"messages": [
            {{"role": "assistant", "content": [{{"type": "tool_use", "id": "t", "name": "grep", "input": {{}}}}]}},
            {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "t", "content": "{result}"}}]}},
            {{"role": "user", "content": "and the first?"}}], "model": "m"}}"#
    );
    let (output, outcome) = through(|| Transform::from(&program), history.as_bytes());
    let (wanted, report) = prune_slice(&program, history.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(output), String::from_utf8(wanted));
    let Some(reported) = outcome.downcast_ref::<PruneReport>() else { panic!("{outcome:?}") };
    assert_eq!((reported.results_pruned, report.results_pruned), (1, 1));
    assert_eq!(reported.bytes_saved, report.bytes_saved);
}

/// The result of the synchronous driver of records.
type Drive = fn(&Program, &CallOptions, &[u8]) -> (Vec<u8>, Report, Result<(), Error>);

fn records(transform: fn(Call<'_>) -> Transform, drive: Drive, stream: &[u8]) {
    let program = Program::compile(&Spec::new().select("id")).unwrap();
    for held in [0, 20, 1 << 20] {
        let options = tamis_testkit::call_options().with_limits(Limits::new().with_held(held));
        let (wanted, report, bad) = drive(&program, &options, stream);
        for size in [1, 7, 1000] {
            let source = chunks(stream, size);
            let mut filtered = FilterStream::new(transform(program.with_options(&options)), source);
            let mut output = Vec::new();
            let mut result = Ok(());
            runtime().block_on(async {
                while let Some(piece) = filtered.next().await {
                    match piece {
                        Ok(piece) => output.extend_from_slice(&piece),
                        Err(error) => result = Err(error),
                    }
                }
            });
            assert_eq!(String::from_utf8_lossy(&output), String::from_utf8_lossy(&wanted));
            let message =
                |result: &Result<(), Error>| result.as_ref().err().map(ToString::to_string);
            assert_eq!(message(&result), message(&bad));
            let outcome = filtered.outcome().unwrap();
            let mut reported = outcome.report().unwrap().clone();
            reported.held_peak_bytes = report.held_peak_bytes;
            assert_eq!(reported, report);
        }
    }
}

#[test]
fn lines() {
    let drive: Drive = |program, options, stream| {
        let mut output = Vec::new();
        let (report, result) = FailedRun::split(filter_ndjson(
            program.with_options(options),
            stream,
            &mut output,
            |_, _| {},
        ));
        (output, report, result)
    };
    let good = r#"{"id": 1, "x": 2}"#.to_owned()
        + "\n\n[{\"id\": 2}, {\"x\": [\"yyyyyyyyyyyyyyyy\"]}]\r\n{\"id\":3}";
    let transform = |call: Call<'_>| Transform::ndjson(call);
    records(transform, drive, good.as_bytes());
    records(transform, drive, (good.clone() + "\n{oops\n" + &good).as_bytes());
}

#[test]
fn events() {
    let drive: Drive = |program, options, stream| {
        let mut output = Vec::new();
        let (report, result) = FailedRun::split(filter_events(
            program.with_options(options),
            stream,
            &mut output,
            |_, _| {},
        ));
        (output, report, result)
    };
    let good = "event: a\ndata: {\"id\": 1,\ndata: \"x\": 2}\n\n: ping\n\ndata: [DONE]\n\n";
    let transform = |call: Call<'_>| Transform::events(call);
    records(transform, drive, good.as_bytes());
    let bad = [good, "data: oops\nid: 2\n\n", good].concat();
    records(transform, drive, bad.as_bytes());
}

#[test]
fn encoded() {
    use std::io::Write;
    let program = Program::compile(&Spec::new().select("id")).unwrap();
    let document = format!("[{}]", r#"{"id": 1, "x": [1.10, "y"]},"#.repeat(20_000) + "{}");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(document.as_bytes()).unwrap();
    let encoded = encoder.finish().unwrap();
    let (wanted, _) = filter_slice(&program, document.as_bytes()).unwrap();
    let decoding = DecodeOptions::new();
    let transform = || Transform::json(&program).with_decoding(ContentCoding::Gzip, &decoding);
    let (output, _) = through(transform, &encoded);
    assert!(output == wanted);
    let cut = FilterStream::new(transform(), chunks(&encoded[..encoded.len() - 9], 1000));
    let (output, result) = ready(collect(cut));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::UnexpectedEnd);
    assert!(wanted.starts_with(&output));
}
