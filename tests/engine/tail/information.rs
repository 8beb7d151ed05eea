//! `prefer: information`: the output is JSON, a selection of the document in its order with marks that count exactly, and within
//! the limit, for random documents and limits.

use serde_json::Value as Json;
use tamis::spec::{Budget, Omitted, Prefer, Query};
use tamis::{PreferSkip, Program, Report, Spec, filter_slice};

use tamis_testkit::drivers::{Effort, Subject, agree};
use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;
use tamis_testkit::tail::generate::generate;
use tamis_testkit::tail::text::{Child, children};

const DOCUMENTS: u64 = 1500;

/// A mark of items: how many are missing, of how many, and the numbers of those that are there.
struct ItemsMark {
    missing: usize,
    of: usize,
    kept: Option<Vec<usize>>,
}

fn items_mark(mark: &Json) -> Option<ItemsMark> {
    let number = |key: &str| usize::try_from(mark.get(key)?.as_u64()?).ok();
    let kept = mark.get("kept").map(|text| {
        let ranges = text.as_str().expect("a text").split(',').filter(|range| !range.is_empty());
        let ends = ranges.map(|range| range.split_once('-').unwrap_or((range, range)));
        ends.flat_map(|(from, to)| from.parse().unwrap()..=to.parse().unwrap()).collect()
    });
    Some(ItemsMark { missing: number("items")?, of: number("of")?, kept })
}

/// The body of a mark, if a child is one: a member, or an element.
fn mark_of(child: &Child<'_>) -> Option<Json> {
    let value: Json = serde_json::from_str(child.value).ok()?;
    match child.name() {
        Some(name) => {
            let digits = name.strip_prefix("_omitted")?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(value)
        }
        None => value.as_object().filter(|mark| mark.len() == 1)?.get("_omitted").cloned(),
    }
}

/// Whether `shown` is a selection of `whole`. `outer`: the mark of an array that is in the object around it.
fn selects(whole: &str, shown: &str, outer: Option<&ItemsMark>) -> bool {
    if whole == shown && outer.is_none() {
        return true;
    }
    match (whole.as_bytes()[0], shown.as_bytes()[0]) {
        (b'"', b'"') => selects_text(whole, shown),
        (b'{', b'{') => selects_members(&children(whole), &children(shown)),
        (b'[', b'[') => selects_elements(&children(whole), &children(shown), outer),
        _ => false,
    }
}

/// Whether the parts between dots are in the text, in order, and something is missing at each place with dots. No text of these
/// tests has dots of its own.
fn selects_text(whole: &str, shown: &str) -> bool {
    let (whole, shown) = (&whole[1..whole.len() - 1], &shown[1..shown.len() - 1]);
    let parts: Vec<&str> = shown.split("...").collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    if parts.len() < 2 || !whole.starts_with(first) || !whole.ends_with(last) {
        return false;
    }
    let mut from = first.len();
    for part in &parts[1..parts.len() - 1] {
        let Some(found) = whole.get(from..).and_then(|rest| rest.find(part)) else { return false };
        from += found + part.len();
    }
    from + last.len() < whole.len()
}

fn selects_members(whole: &[Child<'_>], shown: &[Child<'_>]) -> bool {
    // At most two marks at the end; the rest are members.
    (0..=shown.len().min(2)).any(|marks| {
        let (members, marks) = shown.split_at(shown.len() - marks);
        let Some(marks) = marks.iter().map(mark_of).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let missing = whole.len() - members.len().min(whole.len());
        let counts = |mark: &Json| mark.get("members").is_some();
        let says = marks
            .iter()
            .filter(|mark| counts(mark))
            .all(|mark| mark["members"] == missing && mark["of"] == whole.len() && missing > 0);
        let items: Vec<_> = marks.iter().filter(|mark| !counts(mark)).map(items_mark).collect();
        let is_complete = missing == 0 || marks.iter().any(counts);
        if !says || !is_complete || items.len() > 1 || items.iter().any(Option::is_none) {
            return false;
        }
        let items = items.into_iter().flatten().next();
        pair(whole, members, items.as_ref())
    })
}

/// Whether each member is one of the whole, in order. Exactly one array has the mark.
fn pair(whole: &[Child<'_>], members: &[Child<'_>], mark: Option<&ItemsMark>) -> bool {
    let Some((member, rest)) = members.split_first() else { return mark.is_none() };
    whole.iter().enumerate().any(|(at, child)| {
        if child.key != member.key {
            return false;
        }
        let later = &whole[at + 1..];
        selects(child.value, member.value, None) && pair(later, rest, mark)
            || mark.is_some()
                && child.value.starts_with('[')
                && selects(child.value, member.value, mark)
                && pair(later, rest, None)
    })
}

fn selects_elements(whole: &[Child<'_>], shown: &[Child<'_>], outer: Option<&ItemsMark>) -> bool {
    let inner = if outer.is_some() { None } else { shown.last().and_then(mark_of) };
    let inner = inner.as_ref().and_then(items_mark);
    let elements = if inner.is_some() { &shown[..shown.len() - 1] } else { shown };
    let Some(mark) = outer.or(inner.as_ref()) else {
        return whole.len() == shown.len()
            && whole.iter().zip(shown).all(|(one, other)| selects(one.value, other.value, None));
    };
    let numbers = mark.kept.clone().unwrap_or_else(|| (0..elements.len()).collect());
    mark.of == whole.len()
        && mark.missing + elements.len() == whole.len()
        && numbers.len() == elements.len()
        && numbers.iter().zip(elements).all(|(number, element)| {
            whole.get(*number).is_some_and(|child| selects(child.value, element.value, None))
        })
}

fn check(spec: &Spec, document: &[u8], limit: usize, seed: u64) {
    let filtered = filter_slice(&Program::compile(spec).unwrap(), document).unwrap().0;
    let spec = spec.clone().budget(Budget::Bytes(limit as u64)).prefer(Prefer::Information);
    let program = Program::compile(&spec).unwrap();
    let options = tamis_testkit::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let whole = String::from_utf8(filtered).unwrap();
    let run = agree(subject, seed, Effort::Splits(2)).unwrap_or_else(|differs| {
        panic!("{limit} bytes of {whole}: {differs}");
    });
    let report: Report = run.report.clone().expect("a report");
    let output = String::from_utf8(run.output.unwrap()).unwrap();
    let said = format!("{limit} bytes of {whole}:\n{output}\n{report:?}");
    // Strings may have lone surrogates.
    let plain = Program::compile(&Spec::new()).unwrap();
    assert!(filter_slice(&plain, output.as_bytes()).is_ok(), "{said}");
    assert!(output.len() <= limit || report.budget_exceeded, "{said}");
    if report.prefer_skipped.is_some() {
        return;
    }
    assert_eq!(report.budget_applied, whole.len() > limit, "{said}");
    assert!(whole == output || selects(&whole, &output, None), "{said}");
}

#[test]
fn random_documents_at_random_limits() {
    for number in 0..share(DOCUMENTS) {
        let mut prng = Prng::new(number);
        let generated = generate(&mut prng);
        let spec = generated.spec;
        let document = generated.document.into_bytes();
        let size = document.len();
        let seed = prng.next_u64();
        check(&spec, &document, 1 + prng.below(size + 2), seed);
    }
}

/// A document with everything that is cut: many items, maps, nested lists, long strings.
fn large(prng: &mut Prng) -> String {
    let words = [
        "tide",
        "harbour",
        "mast",
        "keel",
        "anchor",
        "rope",
        "sail",
        "wind_speed",
        "é€",
        "\\n",
        "x9",
    ];
    let text = |prng: &mut Prng, most: usize| {
        let count = prng.below(most);
        let words: Vec<&str> = (0..count).map(|_| prng.pick(&words)).collect();
        format!("\"{}\"", words.join(" "))
    };
    let items: Vec<String> = (0..prng.below(60))
        .map(|id| {
            let tags: Vec<String> = (0..prng.below(5)).map(|_| text(prng, 3)).collect();
            let body = if prng.one_in(9) { text(prng, 300) } else { text(prng, 20) };
            format!(
                "{{\"id\":{id},\"body\":{body},\"tags\":[{}],\"user\":{{\"name\":{}}}}}",
                tags.join(","),
                text(prng, 4)
            )
        })
        .collect();
    let map: Vec<String> =
        (0..prng.below(40)).map(|key| format!("\"k{key}\":{}", text(prng, 12))).collect();
    let mut parts = [
        format!("\"items\":[{}]", items.join(",")),
        format!("\"map\":{{{}}}", map.join(",")),
        format!("\"log\":{}", text(prng, 400)),
        "\"_omitted\":1".to_owned(),
    ];
    let last = parts.len() - 1;
    parts.swap(prng.below(last + 1), last);
    let from = prng.below(parts.len());
    format!("{{{}}}", parts[from..].join(","))
}

#[test]
fn large_documents_at_random_limits() {
    for number in 0..share(300) {
        let mut prng = Prng::new(number);
        let document = large(&mut prng);
        let spec = Spec::new();
        let limit = 60 + prng.below(document.len());
        check(&spec, document.as_bytes(), limit, prng.next_u64());
    }
}

#[test]
fn silent_budgets_write_no_marks() {
    for number in 0..share(100) {
        let mut prng = Prng::new(number);
        let document = large(&mut prng);
        let spec = Spec::new().omitted(Omitted::Silent).prefer(Prefer::Information);
        let limit = 60 + prng.below(document.len());
        let spec = spec.budget(Budget::Bytes(limit as u64));
        let (output, report) =
            filter_slice(&Program::compile(&spec).unwrap(), document.as_bytes()).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert!(output.len() <= limit || report.budget_exceeded);
        assert!(!output.contains("\"members\":") && !output.contains("\"kept\":"), "{output}");
    }
}

#[test]
fn hostile_documents_are_cut_in_time() {
    let deep = format!("{}\"{}\"{}", "[".repeat(1000), "tide ".repeat(900), "]".repeat(1000));
    let wide: Vec<String> = (0..100_000).map(|key| format!("\"{key}\":1")).collect();
    let long = format!("[\"{}\"]", "harbour ".repeat(400_000));
    let empty = format!("[{}1]", "[],{},".repeat(50_000));
    let different: Vec<String> =
        (0..40_000).map(|at| format!("error {} in x{at}\\n", at * 7919)).collect();
    let log = |text: String| format!("{{\"code\":1,\"log\":\"{text}\"}}");
    // One line of 100 MB with all effort.
    let line = log("a line that does not end ".repeat(share(100) as usize * 40_000));
    let strings = [
        line,
        log("\\n".repeat(400_000)),
        log("error: disk full\\n".repeat(50_000)),
        log(different.concat()),
        log("\\u0000\\u001b\\ud800\\\\\\u00ff".repeat(40_000)),
        log("caf\\u00e9 café \\ud83d\\ude00 中文 caf\\u00c3\\u00a9 \u{1F600}\\r\\n".repeat(20_000)),
    ];
    let shapes = [deep, format!("{{{}}}", wide.join(",")), long, empty];
    for document in shapes.into_iter().chain(strings) {
        let spec = Spec::new().budget(Budget::Bytes(2_500)).prefer(Prefer::Information);
        let program = Program::compile(&spec).unwrap();
        let (output, report) = filter_slice(&program, document.as_bytes()).unwrap();
        assert!(output.len() <= 2_500, "{}", output.len());
        // A document that is too long to be held is left to the other budget.
        if document.len() > 4 << 20 {
            assert_eq!(report.prefer_skipped, Some(PreferSkip::Size));
            assert!(output.len() > 1_000 && report.held_peak_bytes < 5 << 20);
            continue;
        }
        assert!(output.len() > 2_300, "{}", output.len());
        assert_eq!(report.prefer_skipped, None);
        let output = std::str::from_utf8(&output).unwrap();
        assert!(document.starts_with("[[") || selects(&document, output, None));
    }
}

#[test]
fn words_of_the_call_are_kept_first() {
    let about = |name: &str| format!("the {name} of port {} is closed tonight. ", name.len());
    let names = ["harbour", "bridge", "market"];
    let texts: Vec<String> = (0..40)
        .map(|at| about(names[at % 3]) + if at == 20 { "a lighthouse burns. " } else { "" })
        .collect();
    let document = format!("{{\"text\":\"{}\"}}", texts.concat());
    let spec = Spec::new().budget(Budget::Bytes(600)).prefer(Prefer::Information);
    let program = Program::compile(&spec).unwrap();
    let options = tamis_testkit::call_options().with_query(Query::of("where is the lighthouse"));
    let (output, _) = filter_slice(program.with_options(&options), document.as_bytes()).unwrap();
    assert!(String::from_utf8(output).unwrap().contains("a lighthouse burns"));
}

/// The failures in a log of a JSON document are kept like those in a text: different ones before equal ones.
#[test]
fn failures_in_long_strings_come_first() {
    let line = |at: usize| match at {
        1200 | 2400 => format!("2026-01-01 ERROR disk full at block {at}\\n    at write\\n"),
        at if at % 3 == 0 => "2026-01-01 ERROR retry failed\\n".to_owned(),
        _ => format!("2026-01-01 INFO step {at} of harbour_{at} is done\\n"),
    };
    let log: String = (0..4_000).map(line).collect();
    for (document, limit) in [
        (format!("{{\"log\":\"{log}\",\"exit_code\":1}}"), 2_000),
        (format!("{{\"results\":[{{\"id\":7,\"stdout\":\"{log}\"}}]}}"), 2_000),
        (format!("[\"{log}\"]"), 8_000),
    ] {
        let spec = Spec::new().budget(Budget::Bytes(limit)).prefer(Prefer::Information);
        let (output, report) =
            filter_slice(&Program::compile(&spec).unwrap(), document.as_bytes()).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert!(output.len() as u64 > limit * 9 / 10 && output.len() as u64 <= limit);
        assert!(selects(&document, &output, None), "{output}");
        for block in [1200, 2400] {
            let failure = format!("ERROR disk full at block {block}\\n    at write");
            assert!(output.contains(&failure), "{output}");
        }
        let last = "step 3998 of harbour_3998 is done\\n2026-01-01 ERROR retry failed\\n";
        assert!(output.contains(last), "{output}");
        // Equal failures leave room for the rest.
        assert!(output.contains("ERROR retry failed") && output.contains("INFO step"), "{output}");
        assert_eq!(report.budget_cuts.map(|cuts| cuts.strings), Some(1));
    }
}
