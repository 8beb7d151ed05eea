//! `factor`, against the slow model of restoring; and together with budgets.

use tamis::spec::Budget;
use tamis::{CallOptions, Limits, Program, Spec, factor, filter_slice};
use tamis_testkit::fuzz::factor::check;
use tamis_testkit::model::factor::random_document;
use tamis_testkit::paths;
use tamis_testkit::prng::Prng;

#[test]
fn random_documents_are_restored() {
    let mut factored = 0;
    for seed in 0..1500 {
        let mut random = Prng::new(seed);
        let document = random_document(&mut random);
        factored += u32::from(check(document.as_bytes(), &mut random));
    }
    assert!(factored > 300, "{factored}");
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

#[test]
fn a_budget_shows_no_fewer_items_than_without() {
    let (mut more, mut cut) = (0, 0);
    for seed in 0..150 {
        let mut random = Prng::new(seed);
        let items: Vec<String> = (0..4 + random.below(20))
            .map(|id| {
                let text = "x".repeat(random.below(90));
                format!(
                    r#"{{"id":{id},"state":"open","kind":"a kind that all have","text":"{text}"}}"#
                )
            })
            .collect();
        let document = match random.below(2) {
            0 => format!("[{}]", items.join(",")),
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
        let restored = factor::restore(&output, &Limits::new()).unwrap();
        let parsed: serde_json::Value = serde_json::from_slice(&restored).unwrap();
        assert_eq!(parsed.is_array(), document.starts_with('['), "{}", about());
        if report.factored.is_none() {
            assert_eq!(output, plain, "{}", about());
        }
        more += u32::from(report.items_kept > plain_report.items_kept);
        cut += u32::from(report.budget_applied);
    }
    assert!(more > 20 && cut > 20, "{more} {cut}");
}
