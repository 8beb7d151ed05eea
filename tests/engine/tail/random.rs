//! Budgets over the corpus, and over random documents.

use tamis::spec::Omitted;

use super::corpus::{documents, specs, way};
use tamis_testkit::drivers::Effort;
use tamis_testkit::effort::{TestEffort, effort, share};
use tamis_testkit::prng::Prng;
use tamis_testkit::tail::budget::{Asked, Ground, Tries, check, keep};
use tamis_testkit::tail::generate::generate;
use tamis_testkit::tail::text::cut;

const DOCUMENTS: u64 = 3000;

#[test]
fn the_model_is_the_page_of_examples() {
    let way = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let silent = |limit, min_items| Asked { limit, min_items, omitted: Some(Omitted::Silent) };
    let marked = |limit| Asked { limit, min_items: 1, omitted: None };
    let items = Some(way(&["items"]));
    let kept = keep(r#"{"items":[1,2,3],"z":"abc"}"#, items.as_deref(), silent(25, 0), 3);
    assert_eq!((kept.text.as_str(), kept.items), (r#"{"items":[1,2],"z":"abc"}"#, Some(2)));
    let kept = keep(r#"["a","bbbbbbbb","c"]"#, Some(&[]), silent(12, 0), 3);
    assert_eq!((kept.text.as_str(), kept.items), (r#"["a"]"#, Some(1)));
    let long = format!(r#"{{"items":["{}","{}"]}}"#, "x".repeat(15), "x".repeat(30));
    let kept = keep(&long, items.as_deref(), marked(62), 5);
    assert_eq!(kept.text, r#"{"items":["xxxxxxxxxxxxxxx","xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]}"#);
    let long = format!(r#"{{"items":["{}","{}"]}}"#, "x".repeat(15), "x".repeat(40));
    let kept = keep(&long, items.as_deref(), marked(62), 5);
    assert_eq!(kept.text, r#"{"items":["xxxxxxxxxxxxxxx"],"_omitted":{"items":4,"of":5}}"#);
    let numbers: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let object = format!(r#"{{"a":[{}],"b":{{}}}}"#, numbers.join(","));
    let kept = keep(&object, None, marked(60), 0);
    assert_eq!(kept.text, r#"{"a":[0,1,2,3,{"_omitted":{"items":36,"of":40}}],"b":{}}"#);
    assert_eq!(
        cut(r#"{"key that stays":"0123456789abcd"}"#, 10),
        r#"{"key that stays":"0123456789..."}"#
    );
    assert_eq!(cut(r#"["0123456789abc"]"#, 10), r#"["0123456789abc"]"#);
    assert_eq!(cut(r#""\ud83d\ude00\ud83d\n\"é😀xyz""#, 2), r#""\ud83d\ude00\ud83d...""#);
}

#[test]
fn the_corpus_at_budgets_of_every_size() {
    for (number, (name, document)) in documents().iter().enumerate() {
        for spec in specs() {
            let ground = Ground::new(spec, document);
            let way = ground.report.root.as_ref().map(|root| way(root.as_str()));
            let size = ground.filtered.len();
            let mut prng = Prng::named(name);
            // From 10 bytes on, each about 2.6 times the one before, and the sizes at which something changes.
            let mut limits = vec![size - 1, size];
            let mut limit = 10;
            while limit < size {
                limits.push(limit + prng.below(3));
                limit = limit * 26 / 10;
            }
            // A tenth of the effort: some sizes of each document, others for each spec.
            limits.retain(|_| effort() >= TestEffort::Full || prng.one_in(4));
            for (at, limit) in limits.into_iter().enumerate() {
                let asked = Asked {
                    limit,
                    min_items: [0, 1, 3][(at + number) % 3],
                    omitted: [None, Some(Omitted::Silent), Some(Omitted::Mark)][at % 3],
                };
                let tries = Tries {
                    asked,
                    seed: prng.next_u64(),
                    effort: Effort::Splits(1),
                    spill: at % 4 == 0,
                };
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
        let ground = Ground::new(generated.spec, generated.document.as_bytes());
        let size = ground.filtered.len();
        for _ in 0..2 {
            let asked = Asked {
                limit: 1 + prng.below(size + 2),
                min_items: prng.pick(&[0, 1, 1, 3]),
                omitted: prng.pick(&[None, None, Some(Omitted::Silent), Some(Omitted::Mark)]),
            };
            let tries = Tries {
                asked,
                seed: prng.next_u64(),
                effort: if prng.one_in(16) { Effort::Full } else { Effort::Splits(3) },
                spill: prng.one_in(8),
            };
            check(&ground, generated.way.as_deref(), tries);
        }
    }
}
