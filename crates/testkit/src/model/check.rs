//! Compares tamis, run by several drivers, with the model on one program and one document.

use serde_json::Value as Json;
use tamis::spec::Whitespace;
use tamis::{
    CallOptions, Error, ExecutionMode, Filter, Program, Report, SkipReason, Spec, filter_slice,
};

use super::dom::{Node, Value};
use super::eval::{self, Expected, Verdict};
use super::rules::Rules;
use crate::prng::Prng;

/// The output and the report, or the error and the output before it.
pub type Run = Result<(Vec<u8>, Report), (Error, Vec<u8>)>;

/// Returns what the rules leave open about this pair, if anything, and the first difference. A panic counts as a difference.
pub fn check(rules: &Rules, text: &str, seed: u64) -> Result<Option<&'static str>, String> {
    std::panic::catch_unwind(|| compare(rules, text, seed))
        .unwrap_or_else(|_| Err("a panic, see above".to_owned()))
}

fn compare(rules: &Rules, text: &str, seed: u64) -> Result<Option<&'static str>, String> {
    let spec = rules.spec();
    let json = serde_json::to_string(&spec).map_err(|error| error.to_string())?;
    let read: Spec = serde_json::from_str(&json).map_err(|error| format!("{json}: {error}"))?;
    if read != spec {
        return Err(format!("the spec changes on its way through {json}"));
    }
    let program = Program::compile(&spec).map_err(|error| format!("no program: {error}"))?;
    let verdict = eval::run(rules, &Node::parse(text));

    let slice = filter_slice(&program, text.as_bytes()).map_err(|run| (run.error, Vec::new()));
    judge("slice", &verdict, &slice)?;
    let mut cuts = Prng::new(seed).cuts(text.len());
    cuts.push(text.len());
    let split = push(&program, &crate::call_options(), text.as_bytes(), &cuts);
    judge(&format!("chunks that end at {cuts:?}"), &verdict, &split)?;
    same(&slice, &split)?;
    let mode = program.explain(&crate::call_options()).mode();
    if let Ok((_, report)) = &split
        && mode == ExecutionMode::Stream
        && report.held_peak_bytes > 0
    {
        return Err(format!("explained as a stream, {} bytes held", report.held_peak_bytes));
    }
    if seed.is_multiple_of(3) {
        failed_call(rules, &program, text, &cuts)?;
    }
    if let Ok((minified, _)) = &slice {
        keep_white(&spec, text, minified)?;
    }
    Ok(if let Verdict::Silent(why) = verdict { Some(why) } else { None })
}

/// Compares the document as the response of a failed call.
fn failed_call(rules: &Rules, program: &Program, text: &str, cuts: &[usize]) -> Result<(), String> {
    let options = crate::call_options().with_is_error(true);
    let verdict = eval::run_failed(rules, &Node::parse(text));
    let slice = filter_slice(program.with_options(&options), text.as_bytes());
    let slice = slice.map_err(|run| (run.error, Vec::new()));
    judge("slice, a failed call", &verdict, &slice)?;
    let split = push(program, &options, text.as_bytes(), cuts);
    judge("chunks, a failed call", &verdict, &split)?;
    same(&slice, &split)?;
    let mode = program.explain(&options).mode();
    match &split {
        Ok((_, report)) if mode == ExecutionMode::Stream && report.held_peak_bytes > 0 => {
            Err(format!("explained as a stream, {} bytes held", report.held_peak_bytes))
        }
        _ => Ok(()),
    }
}

fn push(program: &Program, options: &CallOptions, text: &[u8], ends: &[usize]) -> Run {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    let mut begin = 0;
    for end in ends {
        if let Err(error) = filter.write(&text[begin..*end]) {
            return Err((error, filter.into_sink()));
        }
        begin = *end;
    }
    match filter.end() {
        Ok(report) => Ok((filter.into_sink(), report)),
        Err(error) => Err((error, filter.into_sink())),
    }
}

/// Compares chunkings of the document. This needs no verdict of the model.
fn same(slice: &Run, split: &Run) -> Result<(), String> {
    match (slice, split) {
        (Ok((one, _)), Ok((two, _))) if one != two => {
            Err(format!("whole: {}\nsplit: {}", show(one), show(two)))
        }
        (Ok((_, one)), Ok((_, two))) if comparable(one) != comparable(two) => {
            Err(format!("whole: {}\nsplit: {}", comparable(one), comparable(two)))
        }
        (Err((one, _)), Err((two, _))) if format!("{one:?}") != format!("{two:?}") => {
            Err(format!("whole: {one:?}\nsplit: {two:?}"))
        }
        (Ok(_), Err((error, _))) => Err(format!("whole: passes\nsplit: {error:?}")),
        (Err((error, _)), Ok(_)) => Err(format!("whole: {error:?}\nsplit: passes")),
        _ => Ok(()),
    }
}

fn comparable(report: &Report) -> Json {
    let mut json = serde_json::to_value(report).expect("a report is JSON");
    let keys = json.as_object_mut().expect("a report is an object");
    keys.remove("plan");
    keys.remove("held_peak_bytes");
    json
}

pub fn judge(driver: &str, verdict: &Verdict, run: &Run) -> Result<(), String> {
    match (verdict, run) {
        (Verdict::Silent(_), Ok((output, _))) => valid(driver, output),
        (Verdict::Silent(_), Err(_)) => Ok(()),
        (Verdict::Fails(kind), Err((error, emitted))) => {
            if kind.is_some_and(|kind| kind != error.kind()) {
                return Err(format!("{driver}: expected {kind:?}\ngot {error:?}"));
            }
            if error.kind() == tamis::ErrorKind::Miss && !emitted.is_empty() {
                return Err(format!("{driver}: emitted before a miss: {}", show(emitted)));
            }
            Ok(())
        }
        (Verdict::Breaks(kind), Err((error, _))) => match kind {
            Some(kind) if *kind != error.kind() => {
                Err(format!("{driver}: expected {kind:?}\ngot {error:?}"))
            }
            _ => Ok(()),
        },
        (Verdict::Fails(kind) | Verdict::Breaks(kind), Ok((output, _))) => {
            Err(format!("{driver}: expected an error ({kind:?})\ngot {}", show(output)))
        }
        (Verdict::Passes { output, .. }, Err((error, _))) => {
            Err(format!("{driver}: expected {output}\ngot {error:?}"))
        }
        (Verdict::Passes { output, report }, Ok((bytes, got))) => {
            if output.as_bytes() != bytes {
                return Err(format!("{driver}: expected {output}\ngot      {}", show(bytes)));
            }
            valid(driver, bytes)?;
            let got = reported(got, report);
            if got != **report {
                return Err(format!("{driver}: expected {report:?}\ngot      {got:?}"));
            }
            Ok(())
        }
    }
}

fn valid(driver: &str, output: &[u8]) -> Result<(), String> {
    let parsed = serde_json::from_slice::<&serde_json::value::RawValue>(output);
    match parsed {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{driver}: no JSON text ({error}): {}", show(output))),
    }
}

/// The keys of the report that the model has.
fn reported(report: &Report, expected: &Expected) -> Expected {
    let number = |value: Option<u64>| value.map(|value| value as usize);
    Expected {
        applied: report.applied,
        missed: report.fallback.is_some(),
        skipped: report.skipped.map(SkipReason::as_str),
        partial_miss: report.partial_miss.clone(),
        root: expected.root.is_some().then(|| report.root.clone().map(String::from)).flatten(),
        dropped: report.where_dropped as usize,
        seen: expected.seen.and(number(report.items_seen)),
        kept: expected.kept.and(number(report.items_kept)),
        truncated_from: number(report.items_truncated_from),
        at_least: number(report.items_at_least),
        duplicates: expected.duplicates.map(|_| report.duplicates_dropped as usize),
        kind_kept: expected.kind_kept.map(|_| report.kind_kept as usize),
        omitted: expected.omitted.map(|_| report.omitted_members as usize),
        projection_skipped: expected.projection_skipped.map(|_| report.projection_skipped as usize),
    }
}

/// Checks that `whitespace: keep` keeps the same tokens.
fn keep_white(spec: &Spec, text: &str, minified: &[u8]) -> Result<(), String> {
    let spec = spec.clone().whitespace(Whitespace::Keep);
    let program = Program::compile(&spec).map_err(|error| error.to_string())?;
    let (kept, _) = filter_slice(&program, text.as_bytes())
        .map_err(|error| format!("only `whitespace: keep` fails: {error:?}"))?;
    valid("whitespace: keep", &kept)?;
    if Node::parse(&show(&kept)).minified().as_bytes() != minified {
        return Err(format!("with white space: {}\nwithout: {}", show(&kept), show(minified)));
    }
    Ok(())
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a smaller pair that differs as well, from which nothing more can be removed.
pub fn shrink(mut rules: Rules, mut text: String, seed: u64) -> (Rules, String, String) {
    let mut why = check(&rules, &text, seed).expect_err("only what differs is made smaller");
    'again: loop {
        for smaller in rules.smaller() {
            if let Err(new) = check(&smaller, &text, seed) {
                (rules, why) = (smaller, new);
                continue 'again;
            }
        }
        let document = Node::parse(&text);
        let mut candidates = Vec::new();
        candidates.push(document.clone());
        smaller_documents(&document, &mut |node| candidates.push(node));
        for smaller in candidates {
            let smaller = smaller.minified();
            if smaller.len() >= text.len() {
                continue;
            }
            if let Err(new) = check(&rules, &smaller, seed) {
                (text, why) = (smaller, new);
                continue 'again;
            }
        }
        return (rules, text, why);
    }
}

/// Each document that has one child less, or a 0 in place of one child's value.
fn smaller_documents(node: &Node, give: &mut dyn FnMut(Node)) {
    let zero = || Node { at: 0, value: Value::Scalar("0".to_owned()) };
    match &node.value {
        Value::Scalar(_) => {}
        Value::Array(elements) => {
            for number in 0..elements.len() {
                let with = |new: Option<Node>| {
                    let mut elements = elements.clone();
                    match new {
                        Some(new) => elements[number] = new,
                        None => _ = elements.remove(number),
                    }
                    Node { at: node.at, value: Value::Array(elements) }
                };
                give(with(None));
                give(with(Some(zero())));
                smaller_documents(&elements[number], &mut |new| give(with(Some(new))));
            }
        }
        Value::Object(members) => {
            for number in 0..members.len() {
                let with = |new: Option<Node>| {
                    let mut members = members.clone();
                    match new {
                        Some(new) => members[number].node = new,
                        None => _ = members.remove(number),
                    }
                    Node { at: node.at, value: Value::Object(members) }
                };
                give(with(None));
                give(with(Some(zero())));
                smaller_documents(&members[number].node, &mut |new| give(with(Some(new))));
            }
        }
    }
}
