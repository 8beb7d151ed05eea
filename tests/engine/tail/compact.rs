//! The model of a summary (SPEC §7): the items as `Templates` render them, in the payload's place.

use serde_json::{Value as Json, json};
use tamis::spec::{Compact, Omitted, OnOver};
use tamis::template::{Templates, Totals};
use tamis::{ErrorKind, Limits, Program, Report};

use super::corpus::{documents, specs, way};
use tamis_testkit::drivers::{Effort, Run, Subject, agree};
use tamis_testkit::effort::{TestEffort, effort, share};
use tamis_testkit::prng::Prng;
use tamis_testkit::tail::budget::{Asked, Ground, Kept, keep};
use tamis_testkit::tail::generate::generate;
use tamis_testkit::tail::text::{children, walk};

const DOCUMENTS: u64 = 3000;
const ROOM: usize = 64 << 20;
const OURS: [&str; 3] = ["summary", "_compact", "_original_items"];

/// Header, item, footer. The last ones fail: on some items, always in the header, always in the footer.
const TEMPLATES: [(Option<&str>, &str, Option<&str>); 8] = [
    (None, "{{.id}} {{.t}}", None),
    (
        Some("{{.Total}} of {{.Original}}:"),
        " - {{.id}}\t{{printf \"%q\" .t}}",
        Some("{{.Omitted}} left, {{.Remaining}}"),
    ),
    (Some(""), "", None),
    (
        None,
        "{{.Original}}/{{.Omitted}} {{range $key, $value := .}}{{$key}}={{$value}};{{end}}",
        Some("\n"),
    ),
    (Some("\"\\\u{1}\u{7f}"), "{{.title}} {{.user.login}}", None),
    (None, "{{if .id}}{{index .t 0}}{{end}}", None),
    (Some("{{index .Total 1}}"), "{{.id}}", None),
    (None, "{{.id}}", Some("{{slice .Total 1 2}}")),
];

struct Rendered {
    text: Result<String, String>,
    items: usize,
}

/// Renders the items with the templates.
fn render(templates: &Templates, payload: &str, kept: Option<usize>, original: u64) -> Rendered {
    let mut items = children(payload);
    // An element after the items is their mark.
    items.truncate(kept.unwrap_or(usize::MAX));
    let totals = Totals::new(items.len() as u64, original);
    let text = || {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut line =
            |write: &dyn Fn(&mut Vec<u8>) -> Result<bool, tamis::template::TemplateError>| {
                let mut line = Vec::new();
                if write(&mut line).map_err(|error| error.to_string())? {
                    lines.push(line);
                }
                Ok::<(), String>(())
            };
        line(&|out| templates.header(&totals, ROOM, out))?;
        for item in items.iter().map(|item| item.value).filter(|item| item.starts_with('{')) {
            line(&|out| templates.item(item.as_bytes(), &totals, ROOM, out))?;
        }
        line(&|out| templates.footer(&totals, ROOM, out))?;
        Ok(String::from_utf8(lines.join(&b'\n')).expect("rendered text is text"))
    };
    Rendered { text: text(), items: items.len() }
}

/// Returns a container with `replaced` in place of its child `part`. With `summary`, members with reserved names are
/// removed.
fn rebuild(container: &str, part: &str, replaced: &str, summary: bool) -> String {
    let mut parts = Vec::new();
    for child in children(container) {
        let here = std::ptr::eq(child.value.as_ptr(), part.as_ptr());
        let ours = child.name().is_some_and(|name| OURS.contains(&name.as_str()));
        match child.key {
            Some(_) if here && summary => parts.push(replaced.to_owned()),
            Some(key) if here => parts.push(format!("{key}:{replaced}")),
            None if here && summary => parts.push(format!("{{{replaced}}}")),
            None if here => parts.push(replaced.to_owned()),
            Some(_) if summary && ours => {}
            Some(key) => parts.push(format!("{key}:{}", child.value)),
            None => parts.push(child.value.to_owned()),
        }
    }
    let inside = parts.join(",");
    if container.starts_with('{') { format!("{{{inside}}}") } else { format!("[{inside}]") }
}

/// Stands for the text of the summary until that is compared.
const MARK: &str = "the text is here: 4c1d";

/// `text` with a summary in place of its payload. `mark` is what the mark of the items says.
fn replace(values: &[&str], items: usize, mark: Option<&str>) -> String {
    let mut members = format!("\"summary\":{MARK},\"_compact\":true,\"_original_items\":{items}");
    let alone = values.len() == 1 || values[values.len() - 2].starts_with('[');
    if let Some(mark) = mark.filter(|_| alone) {
        members += &format!(",\"_omitted\":{mark}");
    }
    let mut values = values.iter().rev();
    let mut part = values.next().expect("there is a payload");
    let mut made: Option<String> = None;
    for container in values {
        made = Some(match made {
            None => rebuild(container, part, &members, true),
            Some(made) => rebuild(container, part, &made, false),
        });
        part = container;
    }
    made.unwrap_or_else(|| format!("{{{members}}}"))
}

/// Tests of one set of templates: with and without a budget, with and without a mark for items removed by `max_items`.
#[derive(Clone, Copy)]
struct Tries {
    set: usize,
    limit: Option<usize>,
    marks: bool,
    seed: u64,
    effort: Effort,
}

fn check(ground: &Ground<'_>, way: Option<&[String]>, tries: Tries) {
    let Tries { set, limit, marks, seed, effort } = tries;
    let (header, item, footer) = TEMPLATES[set];
    let templates = Templates::compile(header, item, footer).expect("the templates compile");
    let Ground { spec, document, filtered, report } = ground;
    let omitted = marks.then_some(Omitted::Mark);
    let asked = Asked { limit: limit.unwrap_or(usize::MAX), min_items: 1, omitted };
    let budget = (limit.is_some() || marks).then(|| keep(filtered, way, asked, ground.original()));
    let kept = budget.as_ref().map_or_else(|| filtered.clone(), |budget| budget.text.clone());
    let mut compact = Compact::new(item);
    compact = header.map_or(compact.clone(), |header| compact.header(header));
    compact = footer.map_or(compact.clone(), |footer| compact.footer(footer));
    let mut spec = spec.clone().compact(compact);
    if let Some(limit) = limit {
        spec = spec.budget(tamis::spec::Budget::Bytes(limit as u64));
    }
    if marks {
        spec = spec.omitted(Omitted::Mark);
    }
    let said = format!(
        "{spec:?}\n  document: {}\n  payload: {way:?}",
        String::from_utf8_lossy(&document[..document.len().min(2000)])
    );
    let values = way
        .and_then(|way| walk(&kept, way))
        .filter(|values| values.last().is_some_and(|payload| payload.starts_with('[')));
    let original = report.items_seen.unwrap_or(0);
    let count = budget.as_ref().and_then(|budget| budget.items);
    let rendered =
        values.as_ref().map(|values| render(&templates, values[values.len() - 1], count, original));
    let mut error = None;
    let expected = match (&values, &rendered) {
        (Some(values), Some(Rendered { text: Ok(_), items })) => {
            let mark = budget.as_ref().and_then(|budget| budget.mark.as_deref());
            replace(values, *items, mark)
        }
        (_, Some(Rendered { text: Err(message), .. })) => {
            error = Some(message.clone());
            kept.clone()
        }
        _ => kept.clone(),
    };
    let program = Program::compile(&spec).expect("the spec compiles");
    let options = tamis_testkit::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let run = agree(subject, seed, effort).unwrap_or_else(|differs| panic!("{said}\n  {differs}"));
    let spilling = tamis_testkit::call_options().with_limits(Limits::new().with_held(3));
    let spilled = Subject { options: &spilling, ..subject }.push([document.len() / 3]);
    let text = rendered.as_ref().and_then(|rendered| rendered.text.as_deref().ok());
    let items = rendered.as_ref().map(|rendered| rendered.items);
    let mut exceeded = false;
    for run in [run, spilled] {
        compare(&said, &run, &expected, text);
        let written = run.output.as_ref().map_or(0, Vec::len);
        exceeded = limit.is_some_and(|limit| written > limit);
        let mut wanted = budgeted(report, budget.as_ref(), filtered, limit, items);
        if budget.as_ref().is_some_and(|kept| kept.cut) && limit.is_some() {
            wanted["budget_result_bytes"] = json!(written);
        }
        if exceeded {
            wanted["budget_exceeded"] = json!(true);
        }
        if let Some(error) = &error {
            wanted["compact_error"] = json!(error);
        }
        if written != filtered.len() {
            wanted["output_bytes"] = json!(written);
        }
        assert_eq!(run.comparable(), Some(wanted), "{said}");
    }
    if limit.is_some() {
        let strict = tamis_testkit::call_options().with_on_over(OnOver::Error);
        let run = Subject { options: &strict, ..subject }.push([document.len() / 2]);
        if exceeded {
            let fault = run.fault.as_ref().unwrap_or_else(|| panic!("{said}: no error"));
            assert_eq!(fault.kind, ErrorKind::Budget, "{said}: {fault:?}");
            assert_eq!(run.output.as_deref().unwrap_or_default(), b"", "{said}");
        } else {
            compare(&said, &run, &expected, text);
        }
    }
}

fn budgeted(
    base: &Report,
    budget: Option<&Kept>,
    filtered: &str,
    limit: Option<usize>,
    items: Option<usize>,
) -> Json {
    let run = Run { report: Some(base.clone()), fault: None, output: None };
    let mut wanted = run.comparable().expect("there is a report");
    if let (Some(items), Some(_)) = (items, limit) {
        wanted["items_kept"] = json!(items);
    }
    if limit.is_some() && budget.is_some_and(|kept| kept.cut) {
        wanted["budget_applied"] = json!(true);
        wanted["budget_limit"] = json!(limit);
        wanted["budget_original_bytes"] = json!(filtered.len());
    }
    wanted
}

fn compare(said: &str, run: &Run, expected: &str, text: Option<&str>) {
    assert_eq!(run.fault, None, "{said}");
    let output = std::str::from_utf8(run.output.as_deref().expect("there is output"));
    let output = output.expect("the output is text");
    let raw = serde_json::from_str::<&serde_json::value::RawValue>(output);
    assert!(raw.is_ok(), "{said}: {output}");
    let Some(text) = text else { return assert_eq!(output, expected, "{said}") };
    let (before, after) = expected.split_once(MARK).expect("the text has its place");
    let inside = output
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after))
        .unwrap_or_else(|| panic!("{said}\n  expected: {expected}\n  got: {output}"));
    let inside: String = serde_json::from_str(inside).expect("the summary is one string");
    assert_eq!(inside, text, "{said}");
}

#[test]
fn the_corpus_in_every_template() {
    let mut random = Prng::named("templates");
    for (name, document) in documents() {
        for (number, spec) in specs().into_iter().enumerate() {
            let ground = Ground::new(spec, &document);
            let way = ground.report.root.as_ref().map(|root| way(root.as_str()));
            for set in 0..TEMPLATES.len() {
                // A tenth of the effort: some templates for each document and spec.
                if effort() < TestEffort::Full && !random.one_in(5) {
                    continue;
                }
                let seed = Prng::named(&name).next_u64();
                let limit = (set % 3 == number).then_some(ground.filtered.len() / 3);
                let marks = set % 2 == 1;
                let tries = Tries { set, limit, marks, seed, effort: Effort::Splits(1) };
                check(&ground, way.as_deref(), tries);
            }
        }
    }
}

#[test]
fn random_documents() {
    for number in 0..share(DOCUMENTS) {
        let mut prng = Prng::new(number);
        let generated = generate(&mut prng);
        let spec = generated.spec.max_items(prng.pick(&[0, 0, 1, 3]));
        let ground = Ground::new(spec, generated.document.as_bytes());
        let set = prng.below(TEMPLATES.len());
        let limit = prng.one_in(3).then(|| 1 + prng.below(ground.filtered.len() + 2));
        let effort = if prng.one_in(16) { Effort::Full } else { Effort::Splits(2) };
        let marks = prng.one_in(3);
        let tries = Tries { set, limit, marks, seed: prng.next_u64(), effort };
        check(&ground, generated.way.as_deref(), tries);
    }
}
