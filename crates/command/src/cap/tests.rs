//! Tests of the cap: limits, chunks, failures, memory.

use tamis_json::limits::Limits;
use tamis_text::estimate::Estimate;
use tamis_text::notice;

use super::{CapHints, CapReport, CapRun, OutputCap};

/// Runs a cap over a text in chunks of this length.
fn capped(cap: &OutputCap, text: &[u8], chunk: usize, limits: &Limits) -> (String, CapReport) {
    let mut out = Vec::new();
    let mut run = CapRun::new(cap, CapHints::default(), limits, true);
    for chunk in text.chunks(chunk) {
        run.write(chunk, &mut out);
    }
    let report =
        run.end(false, None, &mut out, |report| Some(notice::cut("", &report.said(), None)));
    let written = run.written();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(written, (out.len() as u64, out.chars().count() as u64, out.lines().count() as u64));
    (out, report)
}

fn in_all_chunks(cap: &OutputCap, text: &[u8]) -> (String, CapReport) {
    let whole = capped(cap, text, usize::MAX, &Limits::new());
    for chunk in [1, 7, 100, 70_000] {
        assert_eq!(capped(cap, text, chunk, &Limits::new()), whole, "{chunk}");
    }
    whole
}

fn numbers(count: u64) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn a_text_within_the_limits_is_unchanged() {
    for text in ["", "a", "a\n", "\n\n", "a\r\nb", "é\nü", "1\n2\n3\n4\n"] {
        for cap in [
            OutputCap::new(),
            OutputCap::new().with_max_lines(text.lines().count().max(1) as u64),
            OutputCap::new().with_max_tokens((text.len() as u64).div_ceil(4).max(1)),
        ] {
            let (out, report) = in_all_chunks(&cap, text.as_bytes());
            assert_eq!((out.as_str(), report.is_cut()), (text, false), "{cap:?}");
        }
    }
}

#[test]
fn no_output_has_more_lines_than_the_limit() {
    let text = numbers(300).replace("line 150\n", "error: x\n  at a\n  at b\nline 153\n");
    for lines in 1..320 {
        let (out, report) = in_all_chunks(&OutputCap::new().with_max_lines(lines), text.as_bytes());
        assert!(out.lines().count() as u64 <= lines, "{lines}: {out}");
        assert_eq!(report.is_cut(), lines < 303);
        assert!(lines < 2 || out.contains("line 300\n"), "{lines}");
        assert!(lines < 8 || out.contains("\nerror: x\n"), "{lines}: {out}");
        assert!(lines < 4 || out.starts_with("line 1\n"), "{lines}: {out}");
    }
}

#[test]
fn no_output_has_more_tokens_than_the_limit() {
    let text = numbers(3000);
    for tokens in [70, 100, 101, 500, 2000, 7000] {
        let (out, _) = in_all_chunks(&OutputCap::new().with_max_tokens(tokens), text.as_bytes());
        assert!(out.len() as u64 <= 4 * tokens, "{tokens}: {}", out.len());
        assert!(out.len() as u64 > tokens, "{tokens}: {}", out.len());
        assert!(out.starts_with("line 1\n") && out.contains("\nline 3000\n"), "{tokens}: {out}");
    }
}

#[test]
fn tokens_are_counted_if_asked_for() {
    let text = "word ".repeat(20).trim_end().to_owned() + "\n";
    let text = text.repeat(100);
    let cap = OutputCap::new().with_max_tokens(1000);
    let exact = in_all_chunks(&cap.with_exact_tokens(true), text.as_bytes()).0;
    let mut counter = tamis_tokens::counter();
    counter.push(exact.as_bytes());
    let tokens = counter.end().tokens;
    assert!((800..=1000).contains(&tokens), "{tokens}");
    // Here, a token has five bytes.
    assert!(exact.len() > capped(&cap, text.as_bytes(), 1000, &Limits::new()).0.len());
}

#[test]
fn failures_are_kept_with_their_lines() {
    let text = [
        numbers(200),
        "error[E1]: one\n  --> a.rs\n   |\nplain\n".into(),
        numbers(200),
        "FAILED two\n".into(),
        numbers(200),
    ]
    .concat();
    let (out, report) = in_all_chunks(&OutputCap::new().with_max_lines(20), text.as_bytes());
    assert_eq!(
        out,
        "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n... 191 lines left out\n\
         error[E1]: one\n  --> a.rs\n   |\n... 201 lines left out\nFAILED two\n... 197 lines left out\n\
         line 198\nline 199\nline 200\n[tamis: 589 of 605 lines left out]\n"
    );
    assert_eq!(report.range, Some((10, 602)));
}

#[test]
fn the_first_of_many_failures_are_kept() {
    let text: String =
        (0..1000).map(|number| format!("error {number}\nnoise {number}\n")).collect();
    let (out, _) = in_all_chunks(&OutputCap::new().with_max_lines(40), text.as_bytes());
    assert!(out.matches("\nerror ").count() >= 12, "{out}");
    assert!(out.contains("noise 999\n") && out.lines().count() <= 40, "{out}");
}

#[test]
fn a_gap_is_not_longer_than_its_lines() {
    let text = ["x\n".repeat(100), "error: a\nx\nerror: b\n".into(), "x\n".repeat(100)].concat();
    let (out, _) = in_all_chunks(&OutputCap::new().with_max_lines(20), text.as_bytes());
    assert!(out.contains("\nerror: a\nx\nerror: b\n"), "{out}");
}

#[test]
fn long_lines_are_cut_between_characters() {
    for text in
        ["é\u{20ac}x\u{1F600}".repeat(20_000), "é\u{20ac}x\u{1F600}".repeat(20_000) + "\nend\n"]
    {
        let cap = OutputCap::new().with_max_tokens(2500);
        let (out, report) = in_all_chunks(&cap, text.as_bytes());
        assert!(out.len() <= 10_000 && out.contains(" bytes left out]\n"), "{}", out.len());
        assert!(report.splits_line);
    }
    // A limit of lines does not cut a line.
    let text = "x".repeat(10_000_000);
    let (out, report) =
        capped(&OutputCap::new().with_max_lines(8), text.as_bytes(), 65_536, &Limits::new());
    assert_eq!((out.len(), report.is_cut()), (text.len(), false));
}

#[test]
fn held_memory_is_bounded() {
    let limits = Limits::new().with_held(10_000);
    let text = numbers(100_000);
    for cap in [
        OutputCap::new().with_max_lines(50_000),
        OutputCap::new().with_max_tokens(100_000),
        OutputCap::new().with_max_lines(1_000_000),
    ] {
        let mut out = Vec::new();
        let mut run = CapRun::new(&cap, CapHints::default(), &limits, true);
        for chunk in text.as_bytes().chunks(1000) {
            run.write(chunk, &mut out);
            assert!(run.held() <= 10_000, "{}", run.held());
        }
        let report = run.end(false, None, &mut out, |_| Some(String::from("[tamis]")));
        assert_eq!(report.is_cut(), cap.max_lines != Some(1_000_000));
        assert!(out.ends_with(if report.is_cut() {
            b"line 100000\n[tamis]\n"
        } else {
            b"line 99999\nline 100000\n"
        }));
    }
}

#[test]
fn a_silent_command_shows_its_lines_as_long_as_there_is_room() {
    let mut out = Vec::new();
    let mut run = CapRun::new(
        &OutputCap::new().with_max_lines(12),
        CapHints::default(),
        &Limits::new(),
        true,
    );
    run.write(b"1\n2\n3\n4\nname? ", &mut out);
    run.release(&mut out);
    assert_eq!(out, b"1\n2\n3\n4\nname? ");
    run.write(b"x\n", &mut out);
    for number in 5..=100 {
        run.write(format!("{number}\n").as_bytes(), &mut out);
        run.release(&mut out);
    }
    run.end(false, None, &mut out, |report| Some(report.said()));
    let out = String::from_utf8(out).unwrap();
    assert!(out.starts_with("1\n2\n3\n4\nname? x\n5\n"), "{out}");
    assert!(out.ends_with("\n100\n91 of 101 lines left out\n"), "{out}");
    assert_eq!(out.lines().count(), 12);
}

#[test]
fn imitated_notices_are_marked() {
    let (out, _) =
        in_all_chunks(&OutputCap::new().with_max_lines(9), b"a\n[tamis: all is well]\nb");
    assert_eq!(out, "a\n| [tamis: all is well]\nb");
}

#[test]
fn an_output_that_is_cut_may_have_a_limit_of_its_own() {
    let cap = OutputCap::new().with_max_tokens(2000).with_max_tokens_if_cut(100);
    let text = numbers(720);
    let (out, report) = in_all_chunks(&cap, text.as_bytes());
    assert_eq!((out.as_str(), report.is_cut()), (text.as_str(), false));
    for lines in [1000, 30_000] {
        let text = numbers(lines).replace("line 300\n", "error: x\n");
        let (out, report) = in_all_chunks(&cap, text.as_bytes());
        assert!(report.is_cut() && out.len() <= 400, "{out}");
        assert!(out.contains("\nerror: x\n") && out.contains(&format!("line {lines}\n")), "{out}");
    }
}

/// Text of many short tokens has more tokens than a quarter of its bytes.
#[test]
fn outputs_that_the_reader_shows_whole_are_not_cut() {
    let text: String =
        (0..900).map(|n| format!(" {{\n  \"id\": {n},\n  \"x\": []\n }},\n")).collect();
    let cap = OutputCap::new().with_max_tokens(7_500).with_max_tokens_if_cut(500);
    let size = text.len() as u64;
    assert!(size < 7_500 * 4);
    assert!(cap.apply(text.as_bytes(), "full.log").1.is_cut());
    for (whole, is_cut) in [(size, false), (size - 1, true)] {
        let (_, report) = cap.with_whole(whole, 0).apply(text.as_bytes(), "full.log");
        assert_eq!(report.is_cut(), is_cut, "{whole} of {size}");
    }
}

#[test]
fn exit_codes_that_say_what_was_found_are_no_failures() {
    let cap = OutputCap::new();
    for (cap, code, expected) in [
        (cap, Some(0), false),
        (cap, Some(1), true),
        (cap, Some(-1), true),
        (cap, None, false),
        (cap.with_least_failure(2), Some(1), false),
        (cap.with_least_failure(2), Some(2), true),
    ] {
        assert_eq!(cap.is_failure(code), expected, "{cap:?} {code:?}");
    }
}

/// The limits of an agent that shows 30,000 bytes of a success, 10,000 characters of a failure, and a preview of the rest.
#[test]
fn failures_have_limits_of_their_own() {
    let cap = OutputCap::new()
        .with_max_tokens(7_500)
        .with_max_tokens_if_cut(500)
        .with_max_chars_if_failed(10_000);
    let error = "error: the needle\n";
    let long = |lines: u64| format!("{}{error}{}", numbers(lines), numbers(lines));
    // Text, whether the command failed, the most bytes of the output. 0: it is complete.
    for (text, has_failed, most) in [
        (numbers(900), true, 0),
        ("語".repeat(9_000) + "\n", true, 0),
        (numbers(1_500), false, 0),
        (long(1_100), false, 0),
        (long(1_100), true, 10_000),
        (long(9_000), true, 10_000),
        // Numbers have two to three bytes a token.
        (long(9_000), false, 1_350),
        (long(90_000), true, 10_000),
        ("語".repeat(30_000), true, 10_000),
    ] {
        for chunk in [1_000, 70_000] {
            let mut out = Vec::new();
            let mut run = CapRun::new(&cap, CapHints::default(), &Limits::new(), true);
            for chunk in text.as_bytes().chunks(chunk) {
                run.write(chunk, &mut out);
            }
            let report = run.end(has_failed, None, &mut out, |report| {
                Some(notice::cut("", &report.said(), None))
            });
            let out = String::from_utf8(out).unwrap();
            assert_eq!(report.is_cut(), most > 0, "{} bytes", text.len());
            if most == 0 {
                assert_eq!(out, text);
                continue;
            }
            assert!(out.len() <= most && out.len() * 5 > most * 4, "{} of {most} bytes", out.len());
            assert_eq!(out.contains(error), text.contains(error), "{out}");
            assert_eq!(report.bytes, text.len() as u64);
        }
    }
}

/// Texts whose tokens have other lengths than four bytes, and the files of the corpus.
#[test]
fn estimates_are_close_to_the_vocabulary() {
    let is_close = |text: &[u8]| {
        let mut counter = tamis_tokens::counter();
        counter.push(text);
        let tokens = counter.end().tokens;
        let estimate = Estimate::of(text).tokens();
        (estimate.abs_diff(tokens) * 5 <= tokens, estimate, tokens)
    };
    let rows = |row: &dyn Fn(u64) -> String| (0..500).map(row).collect::<String>();
    let lock = include_str!("../../../../Cargo.lock");
    for (name, text) in [
        ("digits", rows(&|number| format!("{number}\n"))),
        ("lock file", lock.chars().take(40_000).collect()),
        (
            "snapshot",
            rows(&|number| {
                format!(
                    "  - row \"{number} x\" [ref=e{number}]:\n    - button \"Edit\" [ref=e{number}1]\n"
                )
            }),
        ),
        (
            "hexadecimal",
            rows(&|number| format!("{:016x}\n", number.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
        ),
        ("Chinese", "这个函数返回一个新的列表，其中包含所有满足条件的元素。\n".repeat(50)),
        (
            "Korean",
            "이 함수는 조건을 만족하는 모든 요소를 포함하는 새 목록을 반환합니다.\n".repeat(50),
        ),
        ("Russian", "Эта функция возвращает новый список, содержащий все элементы.\n".repeat(50)),
        ("emoji", "\u{1F600}\u{1F389} done \u{1F680}\n".repeat(50)),
        (
            "minified",
            "function a(b,c){return b.map(d=>d.e+c).filter(f=>!!f&&f>0)}var g=a([1,2],3);"
                .repeat(50),
        ),
        (
            "prose",
            "The harbour was quiet when the ship arrived, and nobody expected the letters.\n"
                .repeat(50),
        ),
    ] {
        let (close, estimate, tokens) = is_close(text.as_bytes());
        assert!(close, "{name}: {estimate} for {tokens}");
    }
    let (mut close, mut files) = (0, 0);
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");
    let mut folders = vec![std::path::PathBuf::from(corpus)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read(path).unwrap();
            if text.len() > 1500 {
                files += 1;
                close += u64::from(is_close(&text[..text.len().min(20_000)]).0);
            }
        }
    }
    assert!(files > 100 && close * 100 >= files * 90, "{close} of {files}");
}
