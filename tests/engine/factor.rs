//! `factor`, against the slow model of restoring; and together with budgets.

use serde_json::Value;
use tamis::spec::Budget;
use tamis::{CallOptions, ErrorKind, Limits, Program, Spec, factor, filter_slice};
use tamis_testkit::effort::share;
use tamis_testkit::fuzz::factor::check;
use tamis_testkit::model::dom::Node;
use tamis_testkit::model::factor::{Factored, random_document};
use tamis_testkit::model::generate;
use tamis_testkit::paths;
use tamis_testkit::prng::Prng;

#[test]
fn random_documents_are_restored() {
    let (mut factored, runs) = (0, share(100_000));
    for seed in 0..runs {
        let mut random = Prng::new(seed);
        let document = random_document(&mut random);
        factored += u64::from(check(document.as_bytes(), &mut random));
    }
    assert!(factored > runs / 5, "{factored}");
}

#[test]
fn the_corpus_is_restored() {
    let mut factored = 0;
    for name in paths::names("corpus", "json") {
        let document = std::fs::read(paths::path(&format!("corpus/{name}"))).unwrap();
        factored += u32::from(check(&document, &mut Prng::named(&name)));
    }
    assert!(factored > 40, "{factored}");
}

/// Returns the items of a document.
fn list(document: &Value) -> &[Value] {
    document.get("items").unwrap_or(document).as_array().unwrap()
}

/// Members are written once if all items of the document share them, also those left out. The next item would not fit.
#[test]
fn a_budget_takes_the_longest_prefix_that_fits() {
    let items: Vec<String> = (0..300)
        .map(|id| {
            let state = if id < 150 { "open" } else { "shut" };
            let text = "x".repeat(id * 37 % 90);
            format!(
                r#"{{"id":{id},"state":"{state}","kind":"a kind that all have","text":"{text}"}}"#
            )
        })
        .collect();
    let document = format!("[{}]", items.join(","));
    let program = Program::compile(&Spec::new().factor(true)).unwrap();
    let expected = |count: usize| {
        let shared = r#"{"_factored":1,"_all":{"kind":"a kind that all have"},"_items":["#;
        let items = items[..count].join(",").replace(r#""kind":"a kind that all have","#, "");
        format!(r#"{shared}{items}],"_omitted":{{"items":{},"of":300}}}}"#, 300 - count)
    };
    for budget in (400..14_000).step_by(1357) {
        let options = CallOptions::new().with_budget(Budget::Bytes(budget));
        let (output, report) =
            filter_slice(program.with_options(&options), document.as_bytes()).unwrap();
        let kept = report.items_kept.unwrap() as usize;
        assert_eq!(String::from_utf8(output).unwrap(), expected(kept), "{budget}");
        assert!(expected(kept).len() as u64 <= budget, "{budget}");
        assert!(expected(kept + 1).len() as u64 > budget, "{budget}");
    }
}

#[test]
fn a_budget_shows_no_fewer_items_than_without() {
    let (mut more, mut cut) = (0, 0);
    for seed in 0..400 {
        let mut random = Prng::new(seed);
        let items: Vec<String> = (0..4 + random.below(20))
            .map(|id| {
                let text = "x".repeat(random.below(90));
                format!(
                    r#"{{"id":{id},"state":"open","kind":"a kind that all have","text":"{text}"}}"#
                )
            })
            .collect();
        let people: Vec<String> = (0..3 + random.below(3))
            .map(|id| format!(r#"{{"id":{id},"team":"a team that all people have"}}"#))
            .collect();
        let document = match random.below(3) {
            0 => format!("[{}]", items.join(",")),
            1 => {
                let (items, people) = (items.join(","), people.join(","));
                format!(r#"{{"items":[{items}],"related":{{"people":[{people}]}},"next":null}}"#)
            }
            _ => {
                format!(r#"{{"total":{},"items":[{}],"next":null}}"#, items.len(), items.join(","))
            }
        };
        let budget = 120 + random.below(document.len()) as u64;
        let run = |spec: &Spec| {
            let program = Program::compile(spec).unwrap();
            let options = CallOptions::new().with_budget(Budget::Bytes(budget));
            filter_slice(program.with_options(&options), document.as_bytes()).unwrap()
        };
        let (plain, plain_report) = run(&Spec::new());
        let (output, report) = run(&Spec::new().factor(true));
        let about = || format!("{budget}\n{document}\n{}", String::from_utf8_lossy(&output));
        assert!(output.len() as u64 <= budget || report.budget_exceeded, "{}", about());
        assert!(plain_report.budget_exceeded || !report.budget_exceeded, "{}", about());
        assert!(report.items_kept >= plain_report.items_kept, "{}", about());
        let restored = factor::restore(&output, &Limits::new())
            .unwrap_or_else(|error| panic!("{error}\n{}", about()));
        let parsed: Value = serde_json::from_slice(&restored).unwrap();
        assert_eq!(parsed.is_array(), document.starts_with('['), "{}", about());
        if report.factored.is_none() {
            assert_eq!(output, plain, "{}", about());
        }
        let whole: Value = serde_json::from_slice(document.as_bytes()).unwrap();
        let kept = report.items_kept.unwrap() as usize;
        // Only whole items are left out, and the others keep their values.
        if kept > 1 {
            assert_eq!(&list(&parsed)[..kept], &list(&whole)[..kept], "{}", about());
            assert_eq!(parsed.get("related"), whole.get("related"), "{}", about());
            let written: Value = serde_json::from_slice(&output).unwrap();
            if let Some(shared) = written.get("_all").and_then(Value::as_object) {
                let has_all =
                    |item: &Value| shared.iter().all(|(name, value)| item[name] == *value);
                assert!(list(&whole).iter().all(has_all), "{}", about());
            }
        }
        more += u32::from(report.items_kept > plain_report.items_kept);
        cut += u32::from(report.budget_applied);
    }
    assert!(more > 20 && cut > 20, "{more} {cut}");
}

/// Any rules and any document: restoring the factored output gives the output without `factor`.
#[test]
fn outputs_of_random_rules_are_restored() {
    let (mut compared, mut factored) = (0, 0);
    for seed in 0..share(6_000).max(300) {
        let mut random = Prng::new(0xFAC << 32 | seed);
        let document = match random.below(3) {
            0 => generate::document(&mut random),
            _ => random_document(&mut random),
        };
        let rules = generate::rules(&mut random, &Node::parse(&document));
        let spec = rules.spec();
        let program = Program::compile(&spec).unwrap();
        let run = |factor| {
            let options = tamis_testkit::call_options().with_factor(factor);
            filter_slice(program.with_options(&options), document.as_bytes())
        };
        let about =
            || format!("seed {seed}: {document}\n{}", serde_json::to_string(&spec).unwrap());
        let (plain, output) = match (run(false), run(true)) {
            (Ok((plain, report)), Ok((output, with_factor))) if !report.budget_applied => {
                assert_eq!(report.redacted, with_factor.redacted, "{}", about());
                factored += u32::from(with_factor.factored.is_some());
                if with_factor.factored.is_none() {
                    assert_eq!(plain, output, "{}", about());
                    assert!(with_factor.factor_skipped.is_some(), "{}", about());
                    continue;
                }
                (plain, output)
            }
            (Err(plain), Err(with_factor)) => {
                assert_eq!(plain.error.kind(), with_factor.error.kind(), "{}", about());
                continue;
            }
            // More fits.
            (Err(plain), Ok(_)) if plain.error.kind() == ErrorKind::Budget => continue,
            (Ok((_, report)), Ok(_)) if report.budget_applied => continue,
            (plain, output) => panic!("{}: {plain:?} {output:?}", about()),
        };
        compared += 1;
        let restored = factor::restore(&output, &Limits::new())
            .unwrap_or_else(|error| panic!("{error}\n{}", about()));
        let parse = |text: &[u8]| Node::parse(std::str::from_utf8(text).unwrap());
        let is_same = Factored::is_same(&parse(&restored), &parse(&plain));
        assert!(is_same, "{}\n{}", about(), String::from_utf8_lossy(&output));
    }
    assert!(factored > 20 && compared > 20, "{factored} {compared}");
}

/// Rules read the document, not its factored form: nothing hides in `_all`, `_made` or under a reference.
#[test]
fn rules_read_the_restored_document() {
    let factoring = Program::compile(&Spec::new().factor(true)).unwrap();
    let mut compared = 0;
    for seed in 0..share(6_000).max(300) {
        let mut random = Prng::new(0xCA9A << 32 | seed);
        let document = random_document(&mut random);
        let (factored, report) = filter_slice(&factoring, document.as_bytes()).unwrap();
        if report.factored.is_none() {
            continue;
        }
        let restored = factor::restore(&factored, &Limits::new()).unwrap();
        let text = String::from_utf8(restored.clone()).unwrap();
        let spec = generate::rules(&mut random, &Node::parse(&text)).spec();
        let program = Program::compile(&spec).unwrap();
        let options = tamis_testkit::call_options();
        let run = |input: &[u8]| filter_slice(program.with_options(&options), input);
        let about = || format!("seed {seed}: {text}\n{}", serde_json::to_string(&spec).unwrap());
        match (run(&restored), run(&factored)) {
            // A program without rules keeps the factored form.
            (_, Ok((output, _))) if !spec.has_rules() && output == factored => {}
            (Ok((expected, _)), Ok((output, _))) => {
                compared += 1;
                assert_eq!(
                    String::from_utf8_lossy(&output),
                    String::from_utf8_lossy(&expected),
                    "{}",
                    about()
                );
            }
            (Err(expected), Err(error)) => {
                assert_eq!(expected.error.kind(), error.error.kind(), "{}", about());
            }
            (expected, output) => panic!("{}: {expected:?} {output:?}", about()),
        }
    }
    assert!(compared > 50, "{compared}");
}

/// The budget of a call cuts the items, and leaves what they share alone.
#[test]
fn the_budget_of_a_call_reads_the_restored_document() {
    let document = br#"{"_factored":1,"_all":{"state":"open","kind":"a kind that all issues have"},"_items":[{"id":7},{"id":8},{"id":9}]}"#;
    let program = Program::compile(&Spec::new()).unwrap();
    let options = CallOptions::new().with_budget(Budget::Bytes(130));
    let (output, _) = filter_slice(program.with_options(&options), document).unwrap();
    let expected = r#"[{"id":7,"state":"open","kind":"a kind that all issues have"},{"_omitted":{"items":2,"of":3}}]"#;
    assert_eq!(String::from_utf8(output).unwrap(), expected);
}

/// A few bytes of references may stand for gigabytes. Nothing is restored that is longer than an item may be.
#[test]
fn a_document_that_would_be_too_long_is_not_restored() {
    let mut document = format!("{{\"_factored\":1,\"b0\":[\"{}\"]", "y".repeat(100));
    for level in 1..40 {
        let reference = format!("{{\"$ref\":\"#/b{}\"}}", level - 1);
        document.push_str(&format!(",\"b{level}\":[{reference},{reference}]"));
    }
    document.push('}');
    let limits = Limits::new().with_item(1 << 20);
    let options = CallOptions::new().with_limits(limits);
    let run = |spec: Spec| {
        let program = Program::compile(&spec).unwrap();
        filter_slice(program.with_options(&options), document.as_bytes())
    };
    // A rule that only saves does not apply to it.
    let (output, _) = run(Spec::new().drop_nulls(true)).unwrap();
    assert_eq!(String::from_utf8(output).unwrap(), document);
    let error = run(Spec::new().root("object").exclude("ssn")).unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::Limit);
}
