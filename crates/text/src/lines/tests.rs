//! Counts work instead of timing it: filtering is linear, and the cost of patterns is bounded.

use tamis_json::limits::Limits;
use tamis_json::regex_budget::RegexBudget;

use super::pipeline::TextPipeline;
use super::program::TextProgram;
use super::rule_ops::RuleOperations;
use crate::TextSpec;
use crate::quoted::{DiscardSink, QuotedPipeline};

/// How often a byte is examined at most: on arrival, in a held line, at the end of that line, and in comparison with
/// the line before.
const STEPS: u64 = 4;

/// A unit that the text repeats, and how often.
fn inputs() -> Vec<(&'static str, &'static [u8], usize)> {
    vec![
        ("100 MB without a line end", b"x", 100 << 20),
        ("millions of empty lines", b"\n", 4 << 20),
        ("line ends of the other kind", b"\r\n", 1 << 20),
        ("returns", b"\r", 1 << 20),
        ("progress", b"12 %\r", 1 << 18),
        ("ESC [", b"\x1b[", 1 << 20),
        ("titles that are not closed", b"\x1b]0;", 1 << 18),
        ("strings that are", b"\x1bPx\x1b\\", 1 << 18),
        ("equal lines", b"equal\n", 1 << 18),
        ("lines that only begin alike", b"equal\nequal.\n", 1 << 18),
    ]
}

#[test]
fn work_is_linear() {
    let limits = Limits::new();
    for (what, unit, count) in inputs() {
        let filter = TextSpec::new().strip_ansi(true).dedup(true).max_lines(5);
        let length = (unit.len() * count) as u64;
        for chunk in [unit.len(), 1, 64 << 10] {
            // One-byte chunks of the long input take too long, and are tested with the others.
            if chunk < 64 << 10 && count > 4 << 20 {
                continue;
            }
            let piece = unit.repeat((chunk / unit.len()).max(1));
            for filter in [filter.clone(), TextSpec::new()] {
                let program = TextProgram::compile(&filter).unwrap();
                let mut engine = TextPipeline::new(&program, &limits);
                let mut fed = 0;
                while fed < length {
                    for chunk in piece.chunks(chunk) {
                        engine.write(chunk, &mut DiscardSink);
                    }
                    fed += piece.len() as u64;
                }
                engine.end(&mut DiscardSink);
                let steps = engine.steps();
                assert!(steps >= fed, "{what}: every byte is looked at");
                assert!(steps <= STEPS * fed, "{what}, chunks of {chunk}: {steps} of {fed}");
            }
        }
    }
}

/// The beginning of a refused line is examined once for each time the line is overwritten.
#[test]
fn long_lines_that_are_written_over() {
    let filter = TextSpec::new().strip_ansi(true).strip_lines_matching("x$");
    let program = TextProgram::compile(&filter).unwrap();
    let limits = Limits::new().with_line(64);
    for over in [64, 65, 66, 1000] {
        let progress = [vec![b'-'; over], b"\r".to_vec()].concat();
        let mut engine = TextPipeline::new(&program, &limits);
        for _ in 0..1000 {
            engine.write(&progress, &mut DiscardSink);
        }
        engine.end(&mut DiscardSink);
        let fed = 1000 * progress.len() as u64;
        assert!(engine.steps() <= STEPS * fed, "{over}: {} of {fed}", engine.steps());
    }
}

/// Escapes and surrogate pairs, cut at every byte, in a string much longer than what is held.
#[test]
fn escapes_that_chunks_cut() {
    let program = TextProgram::compile(&TextSpec::new().strip_ansi(true)).unwrap();
    let limits = Limits::new();
    let mut all = Vec::new();
    let mut quoted = QuotedPipeline::new(&program, &limits);
    let unit = br"\ud83d\ud83d\ude00\u001b[0m\n";
    for _ in 0..1000 {
        for byte in unit {
            quoted.write(std::slice::from_ref(byte), &mut all);
        }
    }
    let report = quoted.end(&mut all);
    let expected = r"\ud83d😀\n".repeat(1000);
    assert_eq!(all, expected.as_bytes());
    assert_eq!(report.chars_in, 7 * 1000);
    assert_eq!(report.chars_out, 3 * 1000);
}

const MIB: usize = 1 << 20;
/// Maximum size of a compiled list, in bytes.
const LIST: usize = 10 * MIB;

fn compile(patterns: &[String], allowance: &mut RegexBudget) -> Result<(), String> {
    let filter =
        patterns.iter().fold(TextSpec::new(), |filter, text| filter.strip_lines_matching(text));
    let compiled = TextProgram::compile_with(&filter, &RuleOperations::default(), allowance);
    compiled.map(|_| ()).map_err(|error| {
        let place = error.rule().unwrap();
        format!("{}: {}", place.entry, place.message)
    })
}

/// Returns the charge for a list, and checks that exactly this much suffices.
fn charged(what: &str, patterns: &[String]) -> usize {
    let mut allowance = RegexBudget::of(RegexBudget::BYTES);
    compile(patterns, &mut allowance).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(!allowance.is_spent(), "{what}");
    let charge = RegexBudget::BYTES - allowance.left();
    let mut exact = RegexBudget::of(charge);
    assert_eq!(compile(patterns, &mut exact), Ok(()), "{what}");
    assert_eq!((exact.left(), exact.is_spent()), (0, false), "{what}");
    // Nothing is left, not even for the smallest pattern.
    assert!(compile(&["a".to_owned()], &mut exact).unwrap_err().contains("before it"));
    assert!(exact.is_spent(), "{what}");
    charge
}

/// The charge is the compiled size up to a small factor, so that it grows with the number of copies.
#[test]
fn patterns_are_charged_for_what_they_compile_to() {
    for (what, pattern, least, most) in [
        ("a word", "^error", 4 << 10, 5 << 10),
        ("digits", r"^\d+ passed", 4 << 10, 12 << 10),
        ("a class of hundreds of ranges", r"\w", 32 << 10, 128 << 10),
        ("one that is repeated", r"\w{50}", 50 * (32 << 10), 50 * (72 << 10)),
        ("repetitions in repetitions", r"(\w{9}|x){5}", 45 * (32 << 10), 45 * (72 << 10)),
        ("a repetition of a character", "a{1000}", 1000 * 16, 1000 * 100),
        ("without case", "(?i)[a-z]{100}", 4 << 10, 256 << 10),
        // Each character is looked up, whatever it compiles to.
        ("any character without case", r"(?i)[\x{0}-\x{10ffff}]", 2 * MIB, 5 * MIB),
        ("a property without case", r"(?i)\p{Lu}", 128 << 10, MIB),
    ] {
        let one = charged(what, &[pattern.to_owned()]);
        assert!((least..=most).contains(&one), "{what}: {one}");
    }
    let words: Vec<String> = (0..1000).map(|number| format!("^word {number:04}$")).collect();
    let all = charged("a thousand", &words);
    assert!((1000 * 300..1000 * 3000).contains(&all), "{all}");
}

/// The cost of matching is bounded by the repetitions in the patterns, not by the lengths of patterns.
#[test]
fn repetitions_are_bounded() {
    let many = |count: usize, pattern: &dyn Fn(usize) -> String| (0..count).map(pattern).collect();
    let refused: [(Vec<String>, &str); 5] = [
        (vec![r"(?:.?){2000}\d\d".into()], "0: strip_lines_matching: more than 1024 characters"),
        (vec!["x".into(), "a{1025}".into()], "1: strip_lines_matching: more than 1024 characters"),
        (vec!["(a.{20}){50}".into()], "0: strip_lines_matching: more than 1024 characters"),
        (many(100, &|n| format!(".*a.{{{n}}}bI")), "44: strip_lines_matching: together, more than"),
        (many(300, &|n| format!("{n}.*x+y?[a-c]*")), "256: strip_lines_matching: together, more"),
    ];
    for (patterns, error) in refused {
        let message = compile(&patterns, &mut RegexBudget::new()).unwrap_err();
        assert!(message.starts_with(error), "{message}");
    }
    let fits: [Vec<String>; 4] = [
        vec![r"(?:.?){1024}\d\d".into()],
        vec!["^.{1000,}$".into()],
        many(2000, &|n| format!("^word {n}[0-9]$")),
        many(256, &|n| format!("{n}.*x+y?[a-c]*")),
    ];
    for patterns in fits {
        compile(&patterns, &mut RegexBudget::new()).unwrap();
    }
}

/// A refused list is charged, too, and not much more than an accepted one.
#[test]
fn refused_patterns_are_charged_and_bounded() {
    let big = || r"(\w{90}|xN){9}".to_owned();
    let copies = |pattern: &str, count| vec![pattern.to_owned(); count];
    let alone = "more than 10485760 bytes when compiled";
    for (what, patterns, error, most) in [
        ("one too big", vec![big()], format!("0: strip_lines_matching: {alone}"), LIST),
        (
            "the second",
            vec!["x".into(), big(), big()],
            format!("1: strip_lines_matching: {alone}"),
            2 * LIST,
        ),
        ("all", copies(&big(), 40), format!("0: strip_lines_matching: {alone}"), 2 * LIST),
        (
            "together",
            copies(r"\w{60}", 40),
            format!("0: strip_lines_matching: together, {alone}"),
            RegexBudget::BYTES,
        ),
        // Refused before parsing.
        ("a long one", vec!["a".repeat(MIB)], format!("0: strip_lines_matching: {alone}"), 0),
        (
            "many classes",
            vec![r"[\w&&\d]".repeat(2000)],
            format!("0: strip_lines_matching: {alone}"),
            0,
        ),
        (
            "many classes together",
            copies(&r"[\w&&\d]".repeat(500), 4),
            format!("2: strip_lines_matching: together, {alone}"),
            LIST,
        ),
        (
            "a long class",
            vec![format!(
                "[{}]",
                ('\u{4e00}'..'\u{9e00}')
                    .step_by(2)
                    .chain('\u{10000}'..'\u{12000}')
                    .collect::<String>()
            )],
            format!("0: strip_lines_matching: {alone}"),
            0,
        ),
    ] {
        let mut allowance = RegexBudget::new();
        let message = compile(&patterns, &mut allowance).unwrap_err();
        assert!(message.starts_with(&error), "{what}: {message}");
        let charge = RegexBudget::BYTES - allowance.left();
        // Parsing costs something in addition.
        assert!((most.min(LIST)..=most + most / 4).contains(&charge), "{what}: {charge}");
        // If it was not spent, a few more such lists spend it.
        for _ in 0..RegexBudget::BYTES / LIST {
            let _ = compile(&[big()], &mut allowance);
        }
        assert!(allowance.is_spent() || most == 0, "{what}");
    }
}

/// After the end, every call is an error and writes nothing.
#[test]
fn a_filter_that_has_ended_refuses_further_text() {
    use tamis_json::error::{Error, ErrorKind};
    let is_refused = |result: Result<(), Error>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Failed);
    };
    let program = TextProgram::compile(&TextSpec::new().dedup(true)).unwrap();
    let mut plain = super::TextFilter::new(&program, Vec::new());
    plain.write(b"a\na\nb").unwrap();
    let report = plain.end().unwrap();
    assert_eq!((report.lines_in, report.bytes_out), (3, 5));
    is_refused(plain.write(b"c"));
    is_refused(plain.end().map(|_| ()));
    plain.release();
    assert_eq!(plain.into_sink(), b"a\na\nb");
    let mut quoted = crate::QuotedTextFilter::new(&program, Vec::new());
    quoted.write(br"a\nb").unwrap();
    quoted.end().unwrap();
    is_refused(quoted.write(b"c"));
    is_refused(quoted.end().map(|_| ()));
    assert_eq!(quoted.into_sink(), br"a\nb");
}
