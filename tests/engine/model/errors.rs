//! Invalid documents: the verdict, the offset of the error, and the output before it.

use serde_json::value::RawValue;
use tamis::spec::{Validation, Whitespace};
use tamis::{ErrorKind, Program, Spec};

use tamis_testkit::drivers::{Effort, Run, Subject, agree};
use tamis_testkit::effort::share;
use tamis_testkit::model::complete::{completion, longest_beginning};
use tamis_testkit::model::dom::Node;
use tamis_testkit::model::{generate, runs};
use tamis_testkit::prng::Prng;

const DOCUMENTS: u64 = 30_000;
/// Pairs with a compact document.
const COMPACT: u64 = 3_000;
/// Pairs with a document of runs.
const RUNS: u64 = 2_000;

/// Cuts a document off, or changes a few bytes of it.
fn broken(prng: &mut Prng, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    if prng.one_in(2) {
        bytes.truncate(prng.below(bytes.len()));
        return bytes;
    }
    for _ in 0..1 + prng.below(2) {
        let at = prng.below(bytes.len());
        let byte = if prng.one_in(8) { prng.below(256) as u8 } else { prng.pick(BYTES) };
        match prng.below(4) {
            0 => bytes.insert(at, byte),
            1 if bytes.len() > 1 => _ = bytes.remove(at),
            2 => {
                let other = prng.below(bytes.len());
                bytes.swap(at, other);
            }
            _ => bytes[at] = byte,
        }
    }
    bytes
}

/// Bytes that have a meaning in JSON.
const BYTES: &[u8] =
    b"{}[]:,\"\\ \n0123456789-+.eEtrufalsn/bdx\x00\x1f\x7f\x80\xbf\xc0\xc3\xe0\xa0\xed\xf0\xf4\xff";

fn check(spec: &Spec, document: &[u8], seed: u64) -> Result<(), String> {
    let program = Program::compile(spec).map_err(|error| error.to_string())?;
    let options = tamis_testkit::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let run = agree(subject, seed, Effort::Splits(3))?;
    let valid = serde_json::from_slice::<&RawValue>(document).is_ok();
    if valid != completion(document).is_some_and(|end| end.is_empty()) {
        return Err(format!("the oracles do not agree; serde_json accepts: {valid}"));
    }
    match &run.fault {
        None if !valid => return Err("accepted what serde_json refuses".to_owned()),
        None => return structure(spec, document, &run),
        Some(fault) if matches!(fault.kind, ErrorKind::Miss | ErrorKind::Duplicate) => {
            return Ok(());
        }
        Some(_) if valid => return Err(format!("{:?}, but serde_json accepts", run.fault)),
        Some(_) => {}
    }
    place(document, &run)?;
    prefix(&program, document, &run)?;
    structure(spec, document, &run)
}

/// The error is at the first byte after which no valid document is possible, or at the end of a document that is cut off.
fn place(document: &[u8], run: &Run) -> Result<(), String> {
    let fault = run.fault.as_ref().expect("a run that failed");
    let good = longest_beginning(document);
    let whole = good == document.len();
    let (kind, offset) = (whole.then_some(ErrorKind::UnexpectedEnd), good);
    let kind_fits = match kind {
        Some(kind) => fault.kind == kind,
        None => matches!(fault.kind, ErrorKind::Syntax | ErrorKind::Encoding),
    };
    if !kind_fits || fault.offset != Some(offset as u64) {
        return Err(format!("expected {kind:?} at {offset}, got {fault:?}"));
    }
    Ok(())
}

/// The emitted bytes are a prefix of the output of some completion of the bytes read: the shortest one; one with an object where
/// that has a number, because nothing can be selected from a scalar; or one with another member in the document's object, which
/// may decide the place of the payload.
fn prefix(program: &Program, document: &[u8], run: &Run) -> Result<(), String> {
    let emitted = run.output.as_deref().unwrap_or_default();
    if emitted.is_empty() {
        return Ok(());
    }
    let fault = run.fault.as_ref().expect("a run that failed");
    let read = &document[..fault.offset.expect("a place") as usize];
    let end = completion(read).expect("a beginning of a document");
    let mut completions = vec![[read, &end].concat()];
    if let Some(end) = end.strip_prefix(b"0") {
        completions.push([read, b"{}", end].concat());
    }
    for mut completed in completions.clone() {
        while completed.last().is_some_and(u8::is_ascii_whitespace) {
            completed.pop();
        }
        if completed.pop() == Some(b'}') {
            for member in [&br#","another":0}"#[..], br#","raw":0}"#] {
                completions.push([&completed, member].concat());
            }
        }
    }
    let mut why = String::new();
    for completed in completions {
        let options = tamis_testkit::call_options();
        let whole = Subject { program, options: &options, document: &completed }.push([]);
        let output = whole.output.as_deref().unwrap_or_default();
        // Every completion of this beginning may be refused for a duplicate.
        let refused = whole.fault.as_ref().is_some_and(|fault| fault.kind != ErrorKind::Duplicate);
        if !refused && output.starts_with(emitted) {
            return Ok(());
        }
        why.push_str(&format!(
            "\n{} gives {} {:?}",
            String::from_utf8_lossy(&completed),
            String::from_utf8_lossy(output),
            whole.fault,
        ));
    }
    Err(format!("emitted {}, but{why}", String::from_utf8_lossy(emitted)))
}

/// `validation: structure` accepts every document that full validation accepts, with the same output. Its output of any other
/// document is valid JSON, too.
fn structure(spec: &Spec, document: &[u8], full: &Run) -> Result<(), String> {
    let spec = spec.clone().validation(Validation::Structure);
    let program = Program::compile(&spec).map_err(|error| error.to_string())?;
    let options = tamis_testkit::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let run = agree(subject, 1, Effort::Splits(1))
        .map_err(|why| format!("validation: structure: {why}"))?;
    match (&full.fault, &run.fault) {
        (None, None) if full.output == run.output => Ok(()),
        (None, _) => Err(format!("validation: structure makes it {run:?}")),
        // The invalid part may be skipped, so that a rule fails later.
        (Some(_), Some(two)) if matches!(two.kind, ErrorKind::Miss | ErrorKind::Duplicate) => {
            Ok(())
        }
        (Some(one), Some(two)) if two.offset < one.offset => {
            Err(format!("validation: structure is stricter: {two:?}, not {one:?}"))
        }
        (Some(_), Some(_)) => Ok(()),
        (Some(_), None) => {
            let output = run.output.unwrap_or_default();
            match serde_json::from_slice::<&RawValue>(&output) {
                Ok(_) => Ok(()),
                Err(error) => Err(format!(
                    "validation: structure emits no JSON ({error}): {}",
                    String::from_utf8_lossy(&output)
                )),
            }
        }
    }
}

#[test]
fn broken_documents() {
    break_each(0xb0b0, share(DOCUMENTS), generate::document);
}

/// The invalid part is next to members that the fast loops read.
#[test]
fn broken_compact_documents() {
    break_each(0xb0b1, share(COMPACT), generate::compact_document);
}

/// The invalid part is in a long array, in white space, or many levels down.
#[test]
fn broken_documents_of_runs() {
    break_each(0xb0b2, share(RUNS), runs::document);
}

fn break_each(number: u64, documents: u64, document: fn(&mut Prng) -> String) {
    let mut failures = Vec::new();
    let mut refused = 0;
    for seed in 0..documents {
        let mut prng = Prng::new(number << 32 | seed);
        let text = document(&mut prng);
        let mut rules = generate::rules(&mut prng, &Node::parse(&text));
        // Bytes after the stop are not read, so they cannot be rejected.
        rules.stop_early = false;
        let white = if prng.one_in(4) { Whitespace::Keep } else { Whitespace::Minify };
        let spec = rules.spec().whitespace(white);
        let document = broken(&mut prng, &text);
        if document.first() == Some(&0xef) {
            // The oracle does not handle a byte order mark; `tests/cases/filter/document.toml` has cases with one.
            continue;
        }
        refused += u64::from(completion(&document).is_none_or(|end| !end.is_empty()));
        let run = || {
            std::panic::catch_unwind(|| check(&spec, &document, seed))
                .unwrap_or_else(|_| Err("a panic, see above".to_owned()))
        };
        if let Err(why) = run() {
            failures.push(format!(
                "seed {seed}: {why}\ndocument: {:?}\nspec: {}",
                String::from_utf8_lossy(&document),
                serde_json::to_string(&spec).expect("a spec is JSON"),
            ));
            if failures.len() == 5 {
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(refused > documents / 2, "only {refused} documents were broken");
}

/// One rich document, cut off everywhere, under rules of every kind.
#[test]
fn every_truncation() {
    let text = r#" {"total":-1.50e+7,"a":[{"id":"\ud83d\ude00é😀\n","x":[null,true,[]]},{}],
        "items":[{"\u0069d":1,"x":{"id":2}},[{"id":3}],{"id":false,"n":null,"e":{"f":""}},7],"z":{"\\":"\""}} "#;
    let specs = [
        Spec::new(),
        Spec::new().whitespace(Whitespace::Keep),
        Spec::new().select("id"),
        Spec::new().select("x").select("x.id").root("items"),
        Spec::new().select("x[].id").root("a"),
        Spec::new().select("nowhere"),
        Spec::new().select("nowhere").root("items").exclude("x.id").max_items(1),
        Spec::new().exclude("id").root("object"),
        Spec::new().exclude("x").drop_nulls(true).drop_empty(true).root("items"),
        Spec::new().retain("/items/id").retain("/z"),
        Spec::new().retain("/items").retain("/a/0/x").select("id").max_items(2),
        Spec::new().extract("items[1]"),
        Spec::new().extract("a").select("id"),
        Spec::new().extract("items").retain("/id").retain("/x").exclude("x.id"),
    ];
    for (number, spec) in specs.iter().enumerate() {
        for cut in 0..text.len() {
            if let Err(why) = check(spec, &text.as_bytes()[..cut], cut as u64) {
                panic!("spec {number}, cut at {cut}: {why}");
            }
        }
    }
}
