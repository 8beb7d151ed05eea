//! Budgets over the corpus, and over random documents.

use crate::budget::{Ground, Tries, check, keep};
use crate::corpus::{documents, specs, way};
use crate::drivers::Effort;
use crate::generate::generate;
use crate::prng::Prng;
use crate::text::cut;

const DOCUMENTS: u64 = 3000;

#[test]
fn the_model_is_the_page_of_examples() {
    let way = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let kept = keep(r#"{"items":[1,2,3],"z":"abc"}"#, Some(&way(&["items"])), 25, 0);
    assert_eq!((kept.text.as_str(), kept.items), (r#"{"items":[1,2],"z":"abc"}"#, Some(2)));
    let kept = keep(r#"["a","bbbbbbbb","c"]"#, Some(&[]), 12, 0);
    assert_eq!((kept.text.as_str(), kept.items), (r#"["a"]"#, Some(1)));
    assert_eq!(
        cut(r#"{"key that stays":"0123456789abcd"}"#, 10),
        r#"{"key that stays":"0123456789..."}"#
    );
    assert_eq!(cut(r#"["0123456789abc"]"#, 10), r#"["0123456789"]"#);
    assert_eq!(cut(r#""\ud83d\ude00\ud83d\n\"é😀xyz""#, 2), r#""\ud83d\ude00\ud83d...""#);
}

#[test]
fn the_corpus_at_budgets_of_every_size() {
    for (number, (name, document)) in documents().iter().enumerate() {
        for spec in specs() {
            let ground = Ground::new(spec, document);
            let way = ground.report.root.as_deref().map(way);
            let size = ground.filtered.len();
            let mut prng = Prng::named(name);
            // From 10 bytes on, each about 2.6 times the one before, and the sizes at which something changes.
            let mut limits = vec![size - 1, size];
            let mut limit = 10;
            while limit < size {
                limits.push(limit + prng.below(3));
                limit = limit * 26 / 10;
            }
            for (at, limit) in limits.into_iter().enumerate() {
                let tries = Tries {
                    limit,
                    min_items: [0, 1, 3][(at + number) % 3],
                    seed: prng.next(),
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
    for number in 0..DOCUMENTS {
        let mut prng = Prng::new(number);
        let generated = generate(&mut prng);
        let ground = Ground::new(generated.spec, generated.document.as_bytes());
        let size = ground.filtered.len();
        for _ in 0..2 {
            let tries = Tries {
                limit: 1 + prng.below(size + 2),
                min_items: prng.pick(&[0, 0, 1, 3]),
                seed: prng.next(),
                effort: if prng.one_in(16) { Effort::Full } else { Effort::Splits(3) },
                spill: prng.one_in(8),
            };
            check(&ground, generated.way.as_deref(), tries);
        }
    }
}
