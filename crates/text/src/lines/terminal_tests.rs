//! Compares the terminal with `vt100`, a model of a whole terminal, on random sequences and on recorded sessions.
//!
//! The sessions in `corpus/terminal` were recorded with `script`, in a terminal of 200 columns: npm 9, pnpm 10, yarn 4, pip 23,
//! cargo 1.9x, vitest 4, node 20, jest 30 and playwright 1.6x (tests), turbo 2, nx, pre-commit 4, shellcheck,
//! docker 28, docker-compose 1.29, podman 4.3, Maven 3.8, terraform 1.11, gradle 4.4, bazel 4.2, and `clear` of ncurses 6.4.

use std::num::NonZero;

use regex::Regex;
use tamis_testkit::effort::share;
use tamis_testkit::paths;
use tamis_testkit::prng::Prng;

use super::TextProgram;
use crate::TextSpec;
use crate::failures::says_what_failed;

/// The rows that a terminal of this height shows at the end, without blank ones and with single blanks.
fn model(text: &[u8], height: u16) -> Vec<String> {
    let size = |cells| NonZero::new(cells).unwrap();
    let mut parser = vt100::Parser::new(size(height), size(1000), 0);
    parser.process(text);
    rows(&parser.screen().contents())
}

/// The lines that the terminal writes, in the same form.
fn found(text: &[u8]) -> Vec<String> {
    let program = TextProgram::compile(&TextSpec::new().strip_ansi(true)).unwrap();
    rows(&String::from_utf8(program.apply(text).0).unwrap())
}

fn rows(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).filter(|line| !line.is_empty()).collect()
}

/// A random text for an empty screen. It moves the cursor only to rows that it has.
fn screen(prng: &mut Prng) -> String {
    const PIECES: [&str; 37] = [
        "ab",
        "c",
        "de f",
        "日本",
        "é",
        "x\u{301}",
        "12345678",
        "\t",
        "\r",
        "\r",
        "\r\n",
        "\r\n",
        "\x08",
        "\x1b[K",
        "\x1b[1K",
        "\x1b[2K",
        "\x1b[G",
        "\x1b[5G",
        "\x1b[3C",
        "\x1b[2D",
        "\x1b[A",
        "\x1b[2A",
        "\x1b[F",
        "\x1b[B",
        "\x1b[E",
        "\x1b[J",
        "\x1b7",
        "\x1b8",
        "\x1b[2P",
        "\x1b[@",
        "\x1b[2X",
        "\x1b[31m",
        "\x1b[0m",
        "\x1b[30G",
        "\x1b[H",
        "\x1b[2;5H",
        "\x1b[3d",
    ];
    let (mut row, mut saved) = (0, 0);
    // The cursor is hidden first, so that no row is written too early.
    let mut text = "\x1b[?25l\x1b7".to_owned();
    for _ in 0..prng.below(40) {
        let piece = prng.pick(&PIECES);
        match piece {
            "\x1b[A" | "\x1b[F" if row < 1 => continue,
            "\x1b[2A" if row < 2 => continue,
            "\x1b[A" | "\x1b[F" => row -= 1,
            "\x1b[2A" => row -= 2,
            "\r\n" | "\x1b[B" | "\x1b[E" => row += 1,
            "\x1b[H" => row = 0,
            "\x1b[2;5H" => row = 1,
            "\x1b[3d" => row = 2,
            "\x1b7" => saved = row,
            "\x1b8" => row = saved,
            _ => {}
        }
        text += piece;
    }
    text
}

#[test]
fn random_sequences() {
    let mut prng = Prng::named("terminals");
    for _ in 0..share(4_000) {
        let (mut text, mut expected) = (String::new(), Vec::new());
        for _ in 0..1 + prng.below(3) {
            let screen = screen(&mut prng);
            expected.append(&mut model(screen.as_bytes(), 100));
            // All screens are kept, one after the other.
            text += prng.pick(&["\x1bc", "\x1b[H\x1b[2J", "\x1b[2J\x1b[H"]);
            text += &screen;
        }
        assert_eq!(found(text.as_bytes()), expected, "{text:?}");
    }
}

/// `clear` (ncurses 6.4), the watchers of tsc 5.9, jest 30 and vite 8, and `watch` (procps 4.0) begin a screen with some of these
/// sequences. The others are parts of them, and the reset of a terminal.
const NEW_SCREENS: [&str; 10] = [
    "\x1bc",
    "\x1b[2J",
    "\x1b[H\x1b[2J",
    "\x1b[H\x1b[2J\x1b[3J",
    "\x1b[2J\x1b[H",
    "\x1b[2J\x1b[3J\x1b[H",
    "\x1b[2J\x1b[0f",
    "\n\n\n\n\n\n\n\n\n\n\n\n\x1b[1;1H\x1b[0J",
    "\x1b[?1049h",
    "\x1b[?1049h\x1b[22;0;0t\x1b[H\x1b[2J",
];

#[test]
fn a_new_screen_keeps_the_text_before_and_after_it() {
    for begin in NEW_SCREENS {
        for before in ["", "old", "old\n", "older\nold", "old\r", "older\r\nold\r\n", "\x1b[?25l"] {
            let text = format!("{before}{begin}one\ntwo\rsix\r\n{begin}three\n");
            let old = before.split(['\r', '\n']).filter(|line| line.starts_with("old"));
            let kept: Vec<_> = old.chain(["one", "six", "three"]).collect();
            assert_eq!(found(text.as_bytes()), kept, "{text:?}");
        }
    }
}

#[test]
fn an_earlier_screen_is_out_of_reach() {
    for (text, expected) in [
        ("old 1\r\nold 2\r\n\x1bc\x1b[2Anew 1\r\n2\r\n", &["old 1", "old 2", "new 1", "2"][..]),
        ("one two\n\x1b[2J\x1b[Aab\n", &["one two", "ab"]),
        ("one\r\ntwo\r\n\x1b7\x1b[2J\x1b[Hfull\r\n\x1b8X\r\n", &["one", "two", "full", "X"]),
        ("a\r\nb\x1b7\x1b[?1049h\x1b[H1\r\n2\x1b[?1049l\x1b8c\n", &["a", "b", "1", "2", "c"]),
        ("x\n\x1b[HA one\n\x1b[2JDone: 3\n\x1b[HBye\n", &["x", "A one", "Done: 3", "Bye"]),
        ("a\nb\n\x1b[2Jtext\x1b[Hother\n", &["a", "b", "text", "other"]),
    ] {
        assert_eq!(found(text.as_bytes()), expected, "{text:?}");
    }
}

/// apt 2.6 limits the rows that scroll to the first 23 of 24. Then it saves the cursor, writes a bar into the last row and
/// restores the cursor.
#[test]
fn a_bar_at_the_bottom_is_one_row_apart_from_the_text() {
    for (begin, rows) in [
        ("", 0),
        ("\x1bc", 5),
        ("\x1b[H\x1b[2J", 0),
        ("\x1b[H\x1b[2J", 21),
        ("\x1b[H\x1b[2J", 22),
        ("\x1b[H\x1b[2J", 23),
        ("\x1b[H\x1b[2J", 60),
        ("\x1b[H\x1b[2J", 300),
        ("\x1b[2J\x1b[H", 30),
        ("\x1b[?1049h\x1b[22;0;0t\x1b[?1049l", 0),
    ] {
        let mut expected: Vec<String> = (0..rows).map(|row| format!("read {row}")).collect();
        let before: String = expected.iter().map(|row| format!("{row}\r\n")).collect();
        let mut text = format!("{begin}{before}begin\r\n\n\x1b7\x1b[0;23r\x1b8\x1b[1A");
        expected.push("begin".to_owned());
        for number in 0..200 {
            let line = format!("Setting up package-{number} (1.{number}) ...");
            text += &format!(
                "{line}\r\n\x1b7\x1b[24;0f\x1b[42mProgress: [{number:3}%]\x1b[49m [###...] \x1b8"
            );
            expected.push(line);
        }
        let stopped = format!("{text}\r\n\x1b7\x1b[0;24r\x1b8\x1b[1A\x1b[J");
        assert_eq!(found(stopped.as_bytes()), expected, "{begin:?} {rows}");
        expected.push("Progress: [199%] [###...]".to_owned());
        assert_eq!(found(text.as_bytes()), expected, "{begin:?} {rows}");
    }
}

/// apt leaves the text by `ESC 7` and returns by `ESC 8`, so the text of a row is what follows its last carriage return and
/// `ESC 8`.
#[test]
fn a_recorded_bar_is_one_row_apart_from_the_text() {
    let session = paths::read("corpus/terminal/24-rows/apt.raw");
    let sequence = Regex::new(r"\x1b\[[0-9;]*[A-Za-z]").unwrap();
    let text = sequence.replace_all(str::from_utf8(&session).unwrap(), "");
    let last = |row: &str, by| row.rsplit(by).next().unwrap_or_default().trim_end().to_owned();
    let lines: Vec<String> =
        text.split("\r\n").map(|row| last(&last(row, "\x1b8"), "\r")).collect();
    assert_eq!(found(&session), rows(&lines.join("\n")));
}

/// `gh run watch` repaints the screen in the first of these ways (`iostreams.go` of cli/cli). Zig repaints its tree of tasks in the
/// second (`std/Progress.zig`).
#[test]
fn a_repainted_screen_leaves_its_last_state() {
    for (repaint, end) in [("\x1b[0;0H\x1b[J", ""), ("\x1b[J", "\r\x1bM"), ("\x1b[J", "\x1b[F")] {
        let frames: String =
            (0..50).map(|frame| format!("{repaint}tasks:\r\n  task {frame}{end}")).collect();
        let text = format!("\x1b[H\x1b[2J{frames}\n\n");
        assert_eq!(found(text.as_bytes()), ["tasks:", "task 49"], "{repaint:?}, {end:?}");
    }
}

#[test]
fn rows_before_the_page_do_not_run_into_it() {
    let last = format!("\x1b[127BLAST\x1b[151A{}", "\n".repeat(151));
    let rows: String = (1..=24).map(|row| format!("{row}\n")).collect();
    assert_eq!(found(format!("{rows}{last}").as_bytes()).last().unwrap(), "LAST");
    for (text, expected) in [
        ("x\nkept\n\x1b[HT\n\x1b[3Anew\nsecond\n", &["x", "kept", "new", "second"][..]),
        ("old\n\x1b[Hnew\x1b[A\x1b[J\n", &["old", "new"]),
        ("old\n\x1b[Hone\x1b[H\x1bMtwo\n", &["old", "one", "two"]),
        (
            "a\nb\n\x1b7\x1b[3;1HBAR\x1b8c\x1b[Ed\x1b[Ee\x1b[Ef\n",
            &["a", "b", "c", "d", "e", "f", "BAR"],
        ),
        ("a\n\x1b7\x1b[2;1HBAR\x1b8b\x1b[9Ec\x1b[A\x1b[Fd\n", &["a", "b", "d", "c", "BAR"]),
        ("Fetch a... \x1b7\x1b[24;1HBAR\x1b8done\nb\n", &["Fetch a... done", "b", "BAR"]),
        ("a\x1b[Hold\x1b[24;1H\x1b[Hnew\x1b[24;1H\n", &["a", "new"]),
        ("a\x1b[2;1H\x1b7b\x1b[1;4r\x1b[4;1Hc\nd\ne\x1b8f\n", &["a", "b", "f", "d", "e"]),
        (
            "\x1b[?1049h\x1b[HA\x1b[?1049lb\n\x1b7\x1b[2;1HBAR\x1b8c\nd\n",
            &["A", "b", "c", "d", "BAR"],
        ),
    ] {
        assert_eq!(found(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn recorded_sessions() {
    let mut sessions = 0;
    for session in paths::names("corpus/terminal", "raw") {
        let text = paths::read(&format!("corpus/terminal/{session}"));
        let (mut shown, found) = (model(&text, 2000), found(&text));
        shown.reverse();
        let mut others = Vec::new();
        for line in found {
            match shown.last() {
                Some(next) if *next == line => _ = shown.pop(),
                _ => others.push(line),
            }
        }
        assert!(shown.is_empty(), "{session}: {:?} is missing", shown.last());
        // All other lines say what failed, or were written before the session began to repaint.
        let kept = others.iter().filter(|line| !says_what_failed(line.as_bytes())).count();
        assert!(kept <= 12, "{session}: {others:#?}");
        sessions += 1;
    }
    assert!(sessions >= 27, "{sessions}");
}

/// A program may write parts of a long row again and again, each time with other letters.
#[test]
fn parts_of_a_row_do_not_multiply_it() {
    let letters = |number: u32| char::from(b'a' + u8::try_from(number % 26).unwrap());
    let mut text = format!("error: {}", "w ".repeat(2000));
    for number in 0..5000 {
        text += &format!("\r\x1b[{}C{}", 300 + number % 7, letters(number));
    }
    let lines = found(text.as_bytes());
    let length: usize = lines.iter().map(String::len).sum();
    assert!(length <= 6 * text.len(), "{length} of {}", text.len());
    assert!(lines.first().is_some_and(|first| first.starts_with("error: w w w")));
}

#[test]
fn rows_that_are_written_as_a_whole_are_all_kept() {
    let names: Vec<String> = (b'a'..=b'z').map(|letter| char::from(letter).to_string()).collect();
    let frames: Vec<String> = names.iter().map(|name| format!("error: {name} failed")).collect();
    assert_eq!(found(frames.join("\r").as_bytes()), frames);
    assert_eq!(found(frames.join("\x1b[2K\r").as_bytes()), frames);
}

#[test]
fn rows_of_other_lengths_are_all_kept() {
    let name = |number: u8| [b'a' + number / 26, b'a' + number % 26].map(char::from);
    let frame = |number: u8| {
        let [first, second] = name(number);
        let rest = " is not there".repeat(1 + usize::from(number) * 5 % 8);
        format!("error: {first}{second}{rest}")
    };
    let frames: Vec<String> = (0..200).map(frame).collect();
    let written: Vec<String> = frames.iter().map(|frame| format!("{frame}\x1b[K")).collect();
    let lines = found(written.join("\r").as_bytes());
    for frame in &frames {
        assert!(lines.contains(frame), "{frame}");
    }
}

#[test]
fn a_changed_sign_makes_a_frame() {
    let row = format!("- installing left-pad from the registry{}", ".".repeat(40));
    let text = format!("{row}\r✗\rdone: {}", "all was installed ".repeat(6));
    assert!(found(text.as_bytes()).iter().any(|line| line.starts_with("✗ installing")));
    let bar = "━".repeat(70);
    let text =
        format!("RUN  pkg-a {bar}\rFAIL\rRUN  pkg-b {bar}\rPASS\rall {}", "done ".repeat(30));
    assert!(found(text.as_bytes()).iter().any(|line| line.starts_with("FAIL pkg-a")));
}
