//! Tests of the cut: selections, limits, chunks, hostile texts.

use tamis_testkit::effort::share;

use super::{CutOptions, CutReport, CutSize, CutUnit, Query, TextCutter, TextKind};
use crate::estimate::Estimate;

/// Cuts a text in chunks of this length.
fn cut_in(text: &[u8], room: CutSize, options: &CutOptions, chunk: usize) -> (Vec<u8>, CutReport) {
    let mut out = Vec::new();
    let mut cutter = TextCutter::new(CutOptions { room, ..options.clone() });
    for chunk in text.chunks(chunk.max(1)) {
        cutter.write(chunk, &mut out);
    }
    let fits = cutter.size().is_some_and(|size| size.fits(room));
    let report = cutter.end((!fits).then_some(room), false, CutUnit::Bytes, &mut out);
    (out, report)
}

fn options() -> CutOptions {
    CutOptions {
        kind: None,
        query: Query::default(),
        held: 4 << 20,
        marks: false,
        room: CutSize::MAX,
        unit: CutUnit::Bytes,
    }
}

fn bytes(bytes: u64) -> CutSize {
    CutSize { bytes, ..CutSize::MAX }
}

/// Returns the count of a mark, and whether it counts lines.
fn mark(line: &str) -> Option<(u64, bool)> {
    let line = line.strip_prefix("[... ").unwrap_or(line);
    let line = line.strip_prefix("... ").unwrap_or(line);
    let line = line.strip_suffix(']').unwrap_or(line).strip_suffix(" left out")?;
    let (count, unit) = line.split_once(' ')?;
    Some((count.parse().ok()?, unit.starts_with("line")))
}

/// Checks that an output is the text without the parts that its marks count.
fn check_selection(text: &str, out: &str, report: &CutReport) {
    let (mut rest, mut left_out) = (text, 0);
    let mut range: Option<(u64, u64)> = None;
    for piece in out.split_inclusive('\n') {
        let Some((count, is_lines)) = mark(piece.trim_end_matches('\n')) else {
            // Before a mark, a part of a line gets a line end.
            let kept = rest.strip_prefix(piece);
            let kept = kept.or_else(|| rest.strip_prefix(piece.strip_suffix('\n')?));
            rest = kept.unwrap_or_else(|| panic!("{piece:?} is not next in {rest:.100?}"));
            continue;
        };
        let length = match is_lines {
            true => rest.split_inclusive('\n').take(count as usize).map(str::len).sum(),
            false => count as usize,
        };
        left_out += length as u64;
        let start = text.len() - rest.len();
        let first = range.map_or(start as u64, |(first, _)| first);
        range = Some((first, (start + length) as u64 - 1));
        rest = &rest[length..];
    }
    assert_eq!((rest, report.byte_range), ("", range));
    assert_eq!((report.bytes_left_out, report.bytes), (left_out, text.len() as u64));
    assert_eq!(report.lines, text.lines().count() as u64);
}

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most.max(1)
    }
}

fn random_text(numbers: &mut Numbers) -> String {
    const LINES: [&str; 14] = [
        "error: cannot open file_{}.rs\n",
        "    at frame {} of the stack\n",
        "2026-01-01 10:00:{} INFO request handled\n",
        "test case_{} ... ok\n",
        "fn name_{}(value: u32) -> u32 {\n",
        "A sentence with some words, and the number {}.\n",
        "src/file{}.rs:12: let value = other;\n",
        "\n",
        "}\n",
        "é\u{20ac}x\u{1F600}{}\r\n",
        "- item {}\n",
        "    return {};\n",
        "the same line\n",
        "word{} ",
    ];
    let kinds = 1 + numbers.below(LINES.len());
    let mut text = String::new();
    for _ in 0..1 + numbers.below(400) {
        let line = LINES[numbers.below(kinds)];
        text.push_str(&line.replace("{}", &numbers.below(3000).to_string()));
    }
    if numbers.below(3) == 0 {
        text.push_str("the end");
    }
    text
}

#[test]
fn an_output_is_the_text_without_what_its_marks_count() {
    let kinds = [
        None,
        Some(TextKind::Log),
        Some(TextKind::Code),
        Some(TextKind::Prose),
        Some(TextKind::Listing),
        Some(TextKind::Json),
        Some(TextKind::Table),
    ];
    let mut numbers = Numbers(7);
    for round in 0..600 {
        let text = random_text(&mut numbers);
        let options = CutOptions {
            kind: kinds[round % kinds.len()],
            query: Query::of(if round % 3 == 0 { "file_12 handled" } else { "" }),
            held: [4 << 20, 2_000, 9_000][round % 3],
            ..options()
        };
        let room = match round % 5 {
            0 => CutSize { lines: 3 + numbers.below(60) as u64, ..CutSize::MAX },
            1 => CutSize {
                lines: 3 + numbers.below(60) as u64,
                bytes: 200 + numbers.below(4_000) as u64,
            },
            _ => bytes(200 + numbers.below(6_000) as u64),
        };
        let (out, report) = cut_in(text.as_bytes(), room, &options, usize::MAX);
        let out = String::from_utf8(out).unwrap();
        check_selection(&text, &out, &report);
        let size = CutSize { lines: out.lines().count() as u64, bytes: out.len() as u64 };
        assert!(size.fits(room), "{size:?} of {room:?}, round {round}: {out}");
        for chunk in [1, 7, 1000] {
            let other = cut_in(text.as_bytes(), room, &options, chunk);
            assert_eq!(other.0, out.as_bytes(), "round {round}, chunk {chunk}");
            assert_eq!(other.1, report);
        }
    }
}

#[test]
fn most_of_the_room_is_used() {
    let mut numbers = Numbers(3);
    let (mut used, mut all) = (0, 0);
    for _ in 0..200 {
        let text = random_text(&mut numbers).repeat(3);
        let most = 500 + numbers.below(4_000);
        if text.len() > 2 * most {
            let (out, report) = cut_in(text.as_bytes(), bytes(most as u64), &options(), 4096);
            // Lines that repeat a shape are not used to fill the room.
            if report.kind.is_some_and(|kind| kind == TextKind::Code) {
                used += out.len();
                all += most;
            }
        }
    }
    assert!(used * 100 >= all * 97, "{used} of {all}");
}

#[test]
fn failures_come_first_and_different_ones_before_equal_ones() {
    let noise = |from: usize| -> String {
        (from..from + 2000).map(|number| format!("test case_{number} ... ok\n")).collect()
    };
    let retries: String =
        (0..3000).map(|number| format!("error: retry {number} failed\n")).collect();
    for needle in [
        "a.c:3:5: Fehler: nicht deklariert",
        "a.c:3:5: erreur : non déclaré",
        "a.c:3:5: エラー: 宣言されていません",
        "a.c:3:5: 错误：未声明",
        "a.c:3:5: ошибка: не описан",
        "npm ERR! code E404",
        "SEVERE: no connection",
        "error: another thing",
        "  ✕ adds numbers",
    ] {
        let text = format!("{}{retries}{needle}\n{}", noise(0), noise(5000));
        let (out, _) = cut_in(text.as_bytes(), bytes(2_000), &options(), 4096);
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains(needle), "{needle}: {out}");
    }
}

#[test]
fn words_of_the_query_are_kept() {
    let text: String = (0..3000)
        .map(|number| format!("fn name_{number}(value: u32) -> u32 {{ value + {number} }}\n"))
        .collect();
    let query = Query::of(r#"{"pattern":"name_1777"}"#);
    let (out, report) =
        cut_in(text.as_bytes(), bytes(4_000), &CutOptions { query, ..options() }, 4096);
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("fn name_1777("), "{out}");
    assert!(report.kept.iter().any(|kept| kept.reasons().contains("words of the query")));
    assert!(
        !String::from_utf8(cut_in(text.as_bytes(), bytes(4_000), &options(), 4096).0)
            .unwrap()
            .contains("fn name_1777(")
    );
}

/// Each line with a rare word of the query is kept, even if it repeats the shape of others or is a short passage.
#[test]
fn lines_of_the_query_are_neither_folded_nor_too_short() {
    let log = |number: usize| {
        format!("2026-01-01 10:00:00 INFO request {} handled in 5 ms\n", 10_000 + number)
    };
    let code = |number: usize| match number {
        1700 => "        wanted_name();\n".to_owned(),
        1650..1750 => {
            "        the value of the value is the value of the value, and so on\n".to_owned()
        }
        _ => format!("    a line that calls the function name_{number} once\n"),
    };
    for (kind, query, wanted, text) in [
        (TextKind::Log, "grep 11777", "request 11777", (0..3000).map(log).collect::<String>()),
        (TextKind::Other, "grep 11777", "request 11777", (0..3000).map(log).collect()),
        (TextKind::Code, "wanted_name", "wanted_name();", (0..3000).map(code).collect()),
        (TextKind::Diff, "wanted_name", "wanted_name();", (0..3000).map(code).collect()),
    ] {
        for room in [bytes(4_000), CutSize { lines: 60, ..CutSize::MAX }] {
            for held in [4 << 20, 20_000] {
                let query = Query::of(query);
                let options = CutOptions { kind: Some(kind), query, held, ..options() };
                let (out, report) = cut_in(text.as_bytes(), room, &options, 4096);
                let out = String::from_utf8(out).unwrap();
                assert!(out.contains(wanted), "{kind:?}, {room:?}, {held}: {out}");
                assert!(
                    report.kept.iter().any(|kept| kept.reasons().contains("words of the query"))
                );
            }
        }
    }
}

/// A word that most lines have does not say which of them are looked for.
#[test]
fn lines_with_a_common_word_of_the_query_are_folded() {
    let line = |number: usize| match number {
        1500 => "INFO server: the certificate was replaced\n".to_owned(),
        _ => format!("INFO server: request {number} handled\n"),
    };
    let text: String = (0..3000).map(line).collect();
    let options = CutOptions {
        kind: Some(TextKind::Log),
        query: Query::of("grep server app.log"),
        ..options()
    };
    let (out, _) = cut_in(text.as_bytes(), bytes(2_000), &options, 4096);
    assert!(String::from_utf8(out).unwrap().contains("the certificate was replaced"));
}

/// Tokens of numbers have two bytes, and those of words four.
#[test]
fn what_is_written_early_leaves_room_for_the_end() {
    let numbers: String = (1..=8000).map(|number| format!("{number}\n")).collect();
    let words = "the harbour was quiet when another ship arrived\n".repeat(2000);
    for (name, first, second) in
        [("numbers", &numbers, &numbers), ("words", &words, &numbers), ("both", &numbers, &words)]
    {
        for tokens in [260, 1_000, 3_000] {
            let room = bytes(4 * tokens);
            let mut cutter = TextCutter::new(CutOptions { room, ..options() });
            let mut out = Vec::new();
            cutter.write(first.as_bytes(), &mut out);
            cutter.release(&mut out);
            let early = out.len();
            assert!(early > 0 && first.as_bytes().starts_with(&out), "{name}, {tokens}");
            cutter.write(second.as_bytes(), &mut out);
            cutter.release(&mut out);
            cutter.write(b"error: boom\nthe last line\n", &mut out);
            let limit = cutter.limit(room);
            let report = cutter.end(Some(limit), true, CutUnit::Bytes, &mut out);
            let all = Estimate::of(&out).tokens();
            let out = String::from_utf8(out).unwrap();
            assert!(out.ends_with("error: boom\nthe last line\n"), "{name}, {tokens}: {out}");
            assert!(all <= tokens * 3 / 2, "{name}: {all} of {tokens} tokens");
            assert!(report.is_cut() && out.len() as u64 <= limit.bytes);
        }
    }
}

/// Texts that a tool may print by accident, or to do harm.
#[test]
fn hostile_texts_are_cut_within_the_limit() {
    let mut numbers = Numbers(1);
    let size = 3 << 20;
    let binary: Vec<u8> = (0..size).map(|_| numbers.below(256) as u8).collect();
    let different: Vec<u8> = (0..size / 12)
        .flat_map(|number| format!("{:011}\n", number * 7_919_777 % 99_999_999_977).into_bytes())
        .collect();
    let mixed: Vec<u8> = "caf\u{e9} \u{4e2d}\u{6587}\n"
        .repeat(9000)
        .into_bytes()
        .into_iter()
        .chain("caf\u{e9}\n".encode_utf16().flat_map(u16::to_le_bytes).cycle().take(size / 2))
        .collect();
    for (name, text) in [
        ("no line ends", vec![b'x'; size]),
        ("only line ends", vec![b'\n'; size]),
        ("words without line ends", b"some words ".repeat(size / 11)),
        ("equal lines", b"the same line again\n".repeat(size / 20)),
        ("equal failures", b"error: the same\n".repeat(size / 16)),
        ("all different", different),
        ("binary", binary),
        ("mixed encodings", mixed),
        ("carriage returns", b"progress 10%\r".repeat(size / 13)),
    ] {
        for held in [4 << 20, 100_000] {
            for room in [bytes(4_000), CutSize { lines: 50, bytes: 8_000 }] {
                let (out, report) = cut_in(&text, room, &CutOptions { held, ..options() }, 1 << 16);
                assert!(out.len() as u64 <= room.bytes, "{name}: {}", out.len());
                let lines = out.split_inclusive(|byte| *byte == b'\n').count() as u64;
                assert!(lines <= room.lines, "{name}: {lines}");
                assert!(report.is_cut() && report.bytes == text.len() as u64, "{name}");
                // A small part of the beginning is kept, however long the lines are.
                let shown = out[..out.len().min(80)].escape_ascii();
                assert!(out.starts_with(&text[..4]), "{name}, {held} held: {shown}");
            }
        }
    }
}

/// A line of 100 MB, with all effort.
#[test]
fn one_endless_line_is_cut_in_linear_time() {
    let piece = "part of a line that does not end ".repeat(2_000);
    let pieces = share(100) as usize * 1_000_000 / piece.len();
    let options = CutOptions { room: bytes(4_000), ..options() };
    let (mut cutter, mut out) = (TextCutter::new(options.clone()), Vec::new());
    for _ in 0..pieces {
        cutter.write(piece.as_bytes(), &mut out);
        assert!(out.is_empty() && cutter.held().len() <= options.held + piece.len());
    }
    let report = cutter.end(Some(bytes(4_000)), false, CutUnit::Bytes, &mut out);
    assert!(out.len() <= 4_000 && out.len() > 3_600, "{}", out.len());
    assert_eq!((report.lines, report.bytes), (1, (pieces * piece.len()) as u64));
}
