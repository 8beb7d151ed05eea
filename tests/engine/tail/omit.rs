//! `omit_base64_over` against a model that reads the whole text.

use tamis::{Program, Spec};
use tamis_testkit::drivers::{Effort, Subject, agree};
use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;
use tamis_testkit::tail::generate::generate;
use tamis_testkit::tail::omit::omit;

const DOCUMENTS: u64 = 4000;
/// Parts of strings: whole groups of base64 and everything that can go wrong.
const PARTS: [&str; 24] = [
    "QUxM",
    "QUxM",
    "QUxMQUxM",
    "eHh4",
    "0123",
    "abcdef01",
    "ABCDEF",
    "+/+/",
    "-_-_",
    r"\/\/AA",
    r"\u0051UxM",
    "Q",
    "QQ==",
    "QUI=",
    "=",
    r"\n",
    r"\r\n",
    r"\r",
    " ",
    "é",
    r"\ud83d",
    r"\\",
    "data:image/png;base64,",
    "data:,",
];

/// The inside of a string that is nearly base64.
fn nearly(prng: &mut Prng) -> String {
    let line = prng
        .pick(&["QUxM", "ab12", "0123", "-_aZ", r"A\/BC"])
        .repeat(prng.pick(&[15, 16, 19, 20, 3]));
    let mut text = match prng.below(5) {
        0 => vec![line; 1 + prng.below(3)].join(prng.pick(&[r"\n", r"\r\n"])),
        1 => format!(
            "data:{},",
            prng.pick(&["", "image/png;base64", "a/b;c=d", "a", "a/b;", "a/b/c"])
        ),
        _ => String::new(),
    };
    for _ in 0..prng.below(4) {
        let part = prng.pick(&PARTS);
        text.push_str(&part.repeat(if prng.one_in(3) { 1 } else { prng.below(40) }));
    }
    if prng.one_in(4) {
        text.push_str(prng.pick(&["QQ==", r"\n", "x", "="]));
    }
    text
}

#[test]
fn random_strings() {
    let mut omitted = 0;
    let documents = share(DOCUMENTS);
    for seed in 0..documents {
        let mut prng = Prng::new(11 << 32 | seed);
        let generated = generate(&mut prng);
        let mut document = generated.document;
        // Strings of the document become candidates.
        while let Some(at) = document.find("\"k").filter(|_| prng.below(8) > 0) {
            document.replace_range(at..at + 2, &format!("\"{}", nearly(&mut prng)));
        }
        let strings: Vec<String> =
            (0..1 + prng.below(4)).map(|_| format!("\"{}\"", nearly(&mut prng))).collect();
        let document = format!(r#"{{"a/~":[{}],"b":{document}}}"#, strings.join(", "));
        omitted += check(&document, prng.pick(&[1, 20, 60, 256]), seed);
    }
    assert!(omitted > documents / 5, "{omitted} strings were left out");
}

/// Compares the rule with the model, through every driver. Returns how many strings were left out.
fn check(document: &str, over: u64, seed: u64) -> u64 {
    let spec = Spec::new().root("object");
    let plain = Program::compile(&spec.clone().budget(tamis::spec::Budget::Bytes(u64::MAX)))
        .expect("a budget compiles");
    let rule = Program::compile(&spec.omit_base64_over(over)).expect("the rule compiles");
    let options = tamis_testkit::call_options();
    let subject = |program| Subject { program, options: &options, document: document.as_bytes() };
    let before = subject(&plain).slice();
    let Some(before) = before.output else { return 0 };
    let before = String::from_utf8(before).expect("the output is UTF-8");
    let expected = omit(&before, over);
    let run = agree(subject(&rule), seed, Effort::Splits(2))
        .unwrap_or_else(|why| panic!("{why}\n{document}"));
    let output =
        String::from_utf8(run.output.clone().expect("an output")).expect("the output is UTF-8");
    assert_eq!(output, expected.text, "over {over}: {document}");
    let report = run.report.expect("a report");
    assert_eq!(
        (report.base64_omitted, report.base64_omitted_bytes),
        (expected.omitted, expected.omitted_bytes)
    );
    expected.omitted
}

/// Ten million characters with one that does not fit at the end are written unchanged, and memory stays bounded.
#[test]
fn almost_base64() {
    let text = "QUxM".repeat(2_500_000);
    for (end, is_base64) in
        [("", true), ("QQ==", true), (" ", false), ("=", false), (r"\u00e9", false)]
    {
        let document = format!("[\"{text}{end}\"]");
        let program =
            Program::compile(&Spec::new().omit_base64_over(256)).expect("the rule compiles");
        let (output, report) =
            tamis::filter_slice(&program, document.as_bytes()).expect("the document is valid");
        assert_eq!(report.base64_omitted, u64::from(is_base64), "{end}");
        assert_eq!(output == document.as_bytes(), !is_base64, "{end}");
        assert!(report.held_peak_bytes <= document.len() as u64, "{}", report.held_peak_bytes);
    }
}
