//! Counts the work of the output stages on expensive shapes.

use crate::filter::Filter;
use crate::filter::compile::program::Program;
#[cfg(feature = "template")]
use crate::spec::Compact;
#[cfg(feature = "text")]
use crate::spec::TextSpec;
use crate::spec::{Budget, Spec};

/// Steps per byte in one machine and in the stages after the items: one each for text and budget, two for compact.
const STEPS_A_BYTE: u64 = 4;
/// How often a byte may be read to make shorter forms: once when it arrives, and once for each form except the first.
/// Ten forms have shorter strings and seven have fewer children.
const LOOKS_A_BYTE: u64 = 17;

const SIZE: usize = 1 << 19;

fn shapes() -> Vec<(&'static str, String)> {
    let repeat = |text: &str| text.repeat(SIZE / text.len());
    let long_keys: String =
        (0..10_000).map(|number| format!("\"{number}{}\":\"\",", "k".repeat(100))).collect();
    vec![
        ("one string", format!("{{\"raw\":\"{}\"}}", "a".repeat(SIZE))),
        ("half a million items", format!("{{\"items\":[{}{{}}]}}", "{},".repeat(SIZE))),
        ("strings as items", format!("[{}1]", repeat("\"0123456789abcdef\","))),
        ("long keys", format!("{{{long_keys}\"n\":[]}}")),
        ("backslashes", format!("{{\"raw\":\"{}\"}}", repeat("\\\\"))),
        ("escapes", format!("{{\"raw\":\"{}\"}}", repeat("\\u0061"))),
        ("lone surrogates", format!("[\"{}\",[]]", repeat("\\ud83d"))),
        ("pairs", format!("{{\"raw\":[[\"{}\"]]}}", repeat("\\ud83d\\ude00"))),
        ("characters", format!("{{\"raw\":\"{}\"}}", repeat("é😀"))),
        ("lines", format!("{{\"raw\":\"{}\"}}", repeat("line\\nline\\n\\n"))),
        ("empty strings", format!("{{\"a\":{{\"b\":[{}1]}}}}", repeat("\"\","))),
        ("members", format!("{{{}\"a\":1}}", repeat("\"a\":\"0123456789abcd\","))),
    ]
}

fn specs() -> Vec<(String, Spec)> {
    let mut specs = Vec::new();
    for limit in [1, 4096, 100_000, u64::MAX] {
        for min_items in [0, u64::MAX] {
            let spec = Spec::new().budget(Budget::Bytes(limit)).min_items(min_items);
            specs.push((format!("budget {limit}, min_items {min_items}"), spec.root("first")));
        }
    }
    #[cfg(feature = "template")]
    specs.push(("compact".into(), Spec::new().root("first").compact(Compact::new("{{.a}}"))));
    #[cfg(feature = "text")]
    specs.push((
        "text".into(),
        Spec::new().text_filter(TextSpec::new().dedup(true)).budget(Budget::Bytes(1000)),
    ));
    specs
}

#[test]
fn work_grows_with_the_bytes_and_no_faster() {
    let mut most = 0;
    for (rules, spec) in specs() {
        let program = Program::compile(&spec).unwrap();
        for (shape, document) in shapes() {
            let length = document.len() as u64;
            for chunk in [usize::MAX, 61] {
                let chunks = length.div_ceil(chunk as u64);
                let mut filter = Filter::new(&program, Vec::new());
                for chunk in document.as_bytes().chunks(chunk) {
                    filter.write(chunk).unwrap();
                }
                filter.end().unwrap();
                let (steps, looks) = filter.run.output_steps();
                let bound = 2 * (STEPS_A_BYTE * length + 4 * chunks + 100);
                let said = format!("{rules}, {shape}, chunks of {chunk}");
                assert!(steps > 0, "{said}");
                assert!(steps <= bound, "{said}: {steps} > {bound}");
                assert!(looks <= LOOKS_A_BYTE * length, "{said}: {looks} > 17 * {length}");
                most = most.max(looks / length);
            }
        }
    }
    assert!(most > 1, "something was cut more than once");
}

#[test]
fn cutting_allocates_for_no_character() {
    let spec = Spec::new().root("object").budget(Budget::Bytes(10));
    let program = Program::compile(&spec).unwrap();
    for part in ["\\u0061", "é", "\\ud83d", "\\ud83d\\ude00", "\\n", "\",\"", "a"] {
        let part = part.repeat(1000);
        let mut filter = Filter::new(&program, Vec::with_capacity(1 << 20));
        filter.write(b"{\"a\":[\"").unwrap();
        filter.write(part.as_bytes()).unwrap();
        let measured = allocation_counter::measure(|| filter.write(part.as_bytes()).unwrap());
        assert_eq!(measured.count_total, 0, "{}", &part[..12]);
    }
}

#[cfg(not(all(feature = "template", feature = "text")))]
#[test]
fn rules_of_disabled_features_are_refused() {
    let refused = |spec: Spec, feature: &str| {
        let error = Program::compile(&spec).unwrap_err().to_string();
        assert!(
            error.contains(&format!("needs tamis built with the feature `{feature}`")),
            "{error}"
        );
    };
    #[cfg(not(feature = "template"))]
    refused(Spec::new().compact(crate::spec::Compact::new("x")), "template");
    #[cfg(not(feature = "text"))]
    refused(Spec::new().text_filter(crate::text::TextSpec::new()), "text");
}
