//! Where texts are cut (measured in bytes, so that the places are obvious), and invariants on random texts.

use super::beginning::{Beginning, SENTENCE, WINDOW, blocks, ceil, sentences, settle};
use super::{Cut, Sizes, TextLimit, Unit};

fn vocabulary() -> Option<&'static dyn tamis_json::tokens::CountTokens> {
    Some(tamis_tokens::o200k_base())
}

fn cut_in(text: &str, limit: TextLimit, size: usize) -> (String, Sizes) {
    let mut out = String::new();
    let mut cut = Cut::new(Some(limit));
    let mut rest = text;
    while !rest.is_empty() {
        let at = ceil(rest, size.min(rest.len()));
        let (now, later) = rest.split_at(at);
        cut.push(now, &mut |text| out.push_str(text));
        rest = later;
    }
    let sizes = cut.end(&mut |text| out.push_str(text));
    (out, sizes)
}

fn bytes(text: &str, limit: u64) -> String {
    cut_in(text, TextLimit::Bytes(limit), usize::MAX).0
}

#[test]
fn cuts_where_something_ends() {
    let two = "First one here.\n\nSecond one, longer.\n\nThird.";
    let prose = "One is short. Two came by boat, at noon. Three did not come at all.";
    let list = "Do this:\n\n- one thing to do\n- another thing to do\n- a third thing to do";
    let code = "Intro to it.\n\n```sh\nmake all\nmake install\n```\n\nAfter the code.";
    let indented = "Intro to it.\n\n    make all\n\n    make install\n\nAfter.";
    for (text, limit, expected) in [
        // The whole text.
        (two, 44, two),
        ("short  \n\n\n", 5, "short"),
        // After a paragraph.
        (two, 43, "First one here.\n\nSecond one, longer.\n\n[... 6 bytes left out]"),
        (two, 20, "First one here.\n\n[... 27 bytes left out]"),
        // After a sentence, if a paragraph would leave less than half.
        (prose, 45, "One is short. Two came by boat, at noon.\n\n[... 26 bytes left out]"),
        // After a word.
        (prose, 11, "One is\n\n[... 60 bytes left out]"),
        // Inside a word.
        ("abcdefghij", 4, "abcd\n\n[... 6 bytes left out]"),
        ("日本語の文", 7, "日本\n\n[... 9 bytes left out]"),
        // White space is not kept.
        ("    abcdefghij", 8, "    abcd\n\n[... 6 bytes left out]"),
        // Not even one character fits.
        ("日本語", 2, "[... 9 bytes left out]"),
        // Items and code are not split.
        (
            list,
            50,
            "Do this:\n\n- one thing to do\n- another thing to do\n\n[... 21 bytes left out]",
        ),
        (code, 44, "Intro to it.\n\n[... 48 bytes left out]"),
        (code, 52, "Intro to it.\n\n```sh\nmake all\nmake install\n```\n\n[... 15 bytes left out]"),
        (indented, 40, "Intro to it.\n\n[... 38 bytes left out]"),
        // Unless there is nothing else: then the cut is after a line.
        (
            "```\nline one\nline two\nline three\n```",
            22,
            "```\nline one\nline two\n\n[... 14 bytes left out]",
        ),
        // Rows of a table.
        ("| a | b |\n| c | d |\n| e | f |", 22, "| a | b |\n| c | d |\n\n[... 9 bytes left out]"),
    ] {
        assert_eq!(bytes(text, limit), expected, "{text:?} at {limit}");
    }
}

#[test]
fn abbreviations_end_no_sentence() {
    let count = |text: &str| sentences(text).len();
    assert_eq!(count("Dr. Okafor came. She left."), 2);
    assert_eq!(count("See e.g. Fig. 3 in the annex. It is new."), 2);
    assert_eq!(count("It was J. R. Brandt. He won."), 2);
    assert_eq!(count("これは文です。次の文です。"), 2);
    assert_eq!(count("Is it? Yes! It is."), 3);
}

#[test]
fn lines_end_no_sentence() {
    let lines = "One came by boat,\nat noon. Dr.\nOkafor did not\ncome at all.";
    let at = |limit| bytes(lines, limit).split("\n\n[").next().unwrap().to_owned();
    assert_eq!(at(40), "One came by boat,\nat noon.");
    // After a line, if no sentence fits, rather than after a word.
    assert_eq!(at(24), "One came by boat,");
    // A sentence that is longer than a block ends at its own end.
    let long = format!("Short. A {}end of it. Another one. ", "word ".repeat(SENTENCE));
    let ends = sentences(&long);
    assert_eq!(ends, [7, long.len() - 13, long.len()]);
    let many = "It is a sentence. ".repeat(1000);
    assert_eq!(sentences(&many), (1..=1000).map(|count| 18 * count).collect::<Vec<_>>());
}

/// Within one window, the work is not quadratic.
#[test]
fn no_text_is_looked_at_again_and_again() {
    for (begin, part) in [
        ("a.", ")"),
        ("a.", " "),
        ("a.", "\""),
        ("Dr.", "\n"),
        ("Dr.", "\u{85}"),
        ("```\n", "\n"),
        ("a ", "\t"),
        ("a", "."),
        ("a. ", "1 "),
        ("a:", "\u{301}"),
    ] {
        let text = format!("{begin}{} b c", part.repeat((250 << 10) / part.len()));
        let text = text + &" b c".repeat(5000);
        for limit in [1, 3, 1000, 100_000] {
            let start = tamis_testkit::clock::cpu_time();
            let (out, _) = cut_in(&text, TextLimit::Bytes(limit), usize::MAX);
            // Quadratic work would take minutes.
            let took = tamis_testkit::clock::cpu_time() - start;
            assert!(took.as_secs() < 10, "{begin:?} {part:?} {limit}");
            assert!(out.starts_with(begin.get(..1).unwrap()), "{begin:?} {part:?} {limit}: {out}");
        }
    }
}

/// The cut removes as much as necessary, and not more.
#[test]
fn goes_back_no_further_than_it_has_to() {
    let text = format!("x{}y z. y z.", "\n".repeat(100_000));
    assert_eq!(bytes(&text, 50).split("\n\n[").next(), Some("x"));
    assert!(settle(&text, text.len(), 1, Unit::Bytes) > 0);
    let words = "ab ".repeat(1000);
    assert_eq!(settle(&words, 3000, 1000, Unit::Bytes), 999);
}

#[test]
fn blocks_are_paragraphs_items_and_code() {
    let parts = |text: &str| {
        let mut at = 0;
        blocks(text)
            .into_iter()
            .map(|end| {
                let part = text[at..end].trim_end().to_owned();
                at = end;
                part
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(parts("a\nb\n\nc"), ["a\nb", "c"]);
    assert_eq!(parts("- a\n  b\n- c\n\n1. d\n2. e"), ["- a\n  b", "- c", "1. d", "2. e"]);
    assert_eq!(parts("```\na\n\nb\n```\n\nc"), ["```\na\n\nb\n```", "c"]);
    assert_eq!(parts("````\n```\n\nb\n````\nc"), ["````\n```\n\nb\n````\nc"]);
    assert_eq!(parts("a\n\n    b\n\n    - c\n\nd"), ["a", "    b\n\n    - c", "d"]);
    assert_eq!(parts("\n\na"), ["\n\na"]);
}

/// A long text is written while it arrives, and cut at the same place as if it had been there at once.
#[test]
fn beginnings_of_long_texts_are_written_early() {
    let paragraph = "Tides rise and fall, and the almanac says when. So do prices, but there is no almanac.\n\n";
    let text = paragraph.repeat(20_000);
    assert!(text.len() > 4 * WINDOW);
    let cut_in = |limit: u64, size: usize| {
        let mut out = String::new();
        let mut cut = Beginning::new(limit, Unit::Bytes);
        for chunk in text.as_bytes().chunks(size) {
            cut.push(std::str::from_utf8(chunk).unwrap(), &mut |text| out.push_str(text));
        }
        let sizes = cut.end(&mut |text| out.push_str(text));
        (out, sizes)
    };
    let limit = 1_000_000;
    let (out, sizes) = cut_in(limit, 4096);
    let (kept, mark) = out.rsplit_once("\n\n").unwrap();
    assert!(text.starts_with(kept) && kept.ends_with("almanac."));
    assert!(kept.len() as u64 <= limit && kept.len() as u64 > limit - 200, "{}", kept.len());
    assert_eq!(mark, format!("[... {} bytes left out]", text.len() - kept.len() - 2));
    assert_eq!((sizes.bytes, sizes.cut), (text.len() as u64, true));
    assert_eq!(cut_in(limit, usize::MAX), (out, sizes));
    assert_eq!(cut_in(text.len() as u64, 70_000).0, text);
}

/// With more room, the end and passages with new names are kept, too.
#[test]
fn passages_are_kept_with_their_beginning_and_end() {
    let paragraph =
        "Tides rise and fall, and the almanac says when. So do prices, and people say why.\n\n";
    let middle = "Dr. Mirela Okafor opened the lock at 6.42 with 410 tonnes of steel.\n\n";
    for (times, limit) in [(100, 2_000), (10_000, 2_000), (20_000, 500_000)] {
        let half = paragraph.repeat(times);
        let text = format!("A title\n\n{half}{middle}{half}The end.\n");
        for limit in [TextLimit::Bytes(limit), TextLimit::Tokens(limit / 4, vocabulary())] {
            let (out, sizes) = cut_in(&text, limit, usize::MAX);
            assert!(
                out.starts_with("A title\n\nTides") && out.contains("The end.\n\n[... "),
                "{out}"
            );
            assert!(out.contains(middle.trim()) || times > 100, "{out}");
            assert!(out.ends_with(" left out]"), "{out}");
            assert_eq!((sizes.cut, sizes.bytes), (true, text.len() as u64));
            assert_eq!(cut_in(&text, limit, 4096), (out.clone(), sizes));
            let (kept, mark) = out.rsplit_once("\n\n").unwrap();
            let (TextLimit::Bytes(most) | TextLimit::Tokens(most, _)) = limit;
            let unit = match limit {
                TextLimit::Bytes(_) => Unit::Bytes,
                TextLimit::Tokens(_, vocabulary) => Unit::Tokens(vocabulary),
            };
            assert!(unit.of(kept) <= most && unit.of(kept) * 10 > most * 9, "{}", unit.of(kept));
            let marks =
                kept.lines().filter(|line| line.starts_with("... ")).map(|line| line.len() + 1);
            if let TextLimit::Bytes(_) = limit {
                let shown = kept.len() - marks.sum::<usize>();
                let left_out = text.trim_end().len() - shown;
                assert!(
                    mark.starts_with(&format!("[... {left_out} bytes")) || text.len() > 1 << 20,
                    "{mark} {left_out}"
                );
            }
        }
        let all = TextLimit::Bytes(text.len() as u64);
        assert_eq!(cut_in(&text, all, 70_000).0, text);
        let bare = TextLimit::Bytes(text.len() as u64 - 1);
        assert_eq!(cut_in(&text, bare, 70_000).0, text.trim_end());
    }
}

struct Prng(u64);

impl Prng {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        usize::try_from(self.0 >> 33).unwrap() % count
    }
}

#[test]
fn never_too_long_never_empty_however_it_comes() {
    const PARTS: [&str; 24] = [
        "word",
        " ",
        "\n",
        "\n\n",
        "Dr. ",
        "A sentence. ",
        "Another one! ",
        "- item\n",
        "1. item\n",
        "```\n",
        "    code\n",
        "| a | b |\n",
        "日本語。",
        "مرحبا ",
        "\u{1f600}",
        "é",
        "x-y-z ",
        "https://example.com/a?b=c ",
        "0123456789",
        "\t",
        "\r\n",
        "…",
        "\u{301}",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    let mut prng = Prng(7);
    for round in 0..3000 {
        let text: String =
            (0..1 + prng.below(60)).map(|_| PARTS[prng.below(PARTS.len())]).collect();
        let limit = 1 + prng.below(40) as u64;
        let (budget, unit) = match round % 2 {
            0 => (TextLimit::Bytes(limit), Unit::Bytes),
            _ => (TextLimit::Tokens(limit, vocabulary()), Unit::Tokens(vocabulary())),
        };
        let (out, sizes) = cut_in(&text, budget, usize::MAX);
        let context = format!("{text:?} at {budget:?}: {out:?}");
        assert_eq!(cut_in(&text, budget, 1 + prng.below(9)), (out.clone(), sizes), "{context}");
        assert_eq!(sizes.bytes, text.len() as u64, "{context}");
        if text.trim().is_empty() {
            assert!(!sizes.cut || !out.trim().is_empty(), "{context}");
            continue;
        }
        assert!(!out.trim().is_empty(), "{context}");
        let mark = out.rfind("[... ").filter(|_| sizes.cut).unwrap_or(out.len());
        let (kept, mark) = out.split_at(mark);
        assert_eq!(mark.is_empty(), !sizes.cut, "{context}");
        assert!(unit.of(kept.trim_end()) <= limit, "{context}");
        assert!(unit.of(&out) <= limit + unit.of(&format!("\n\n{mark}")), "{context}");
        assert!(text.starts_with(kept.trim_end()), "{context}");
        if sizes.cut {
            let left = text.len() - kept.trim_end().len();
            assert!(left > 0, "{context}");
        } else {
            assert_eq!(text.trim_end(), kept.trim_end(), "{context}");
        }
    }
}
