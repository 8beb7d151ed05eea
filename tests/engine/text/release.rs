//! Text that is held leaves when nobody waits for more: at the same places, whatever the chunks.

use tamis::Limits;
use tamis::text::{TextFilter, TextProgram, TextReport, TextSpec};

use tamis_testkit::prng::Prng;
use tamis_testkit::text::generate::{declared, text};

/// Runs with a release after each of these bytes, in chunks that end there and at `cuts`.
fn push(
    program: &TextProgram,
    text: &[u8],
    releases: &[usize],
    cuts: &[usize],
) -> (Vec<u8>, TextReport) {
    let mut run = TextFilter::with_limits(program, &Limits::new(), Vec::new());
    let mut ends: Vec<usize> = releases.iter().chain(cuts).copied().collect();
    ends.sort_unstable();
    ends.dedup();
    let mut begin = 0;
    for end in ends {
        run.write(&text[begin..end]).unwrap();
        if releases.contains(&end) {
            run.release();
        }
        begin = end;
    }
    run.write(&text[begin..]).unwrap();
    let report = run.end().unwrap();
    (run.into_sink(), report)
}

#[test]
fn only_the_places_of_releases_matter() {
    let mut prng = Prng::named("releases");
    for _ in 0..3_000 {
        let declared = declared(&mut prng);
        let program = TextProgram::compile(&declared.filter()).unwrap();
        let text = text(&mut prng);
        let releases = prng.cuts(text.len());
        let whole = push(&program, &text, &releases, &[]);
        let bytes: Vec<usize> = (1..text.len()).collect();
        for cuts in [bytes, prng.cuts(text.len()), prng.cuts(text.len())] {
            let found = push(&program, &text, &releases, &cuts);
            assert_eq!(found, whole, "{} {releases:?} {cuts:?} {declared:?}", text.escape_ascii());
        }
        assert_eq!(whole.1.bytes_out, whole.0.len() as u64);
    }
}

/// Where no operation removes anything all has left.
#[test]
fn a_release_writes_all_lines() {
    let program = TextProgram::compile(&TextSpec::new().dedup(true)).unwrap();
    let text = "first line\nfirst line\nfirst line\nsecond line\nContinue? [Y/n] ";
    let mut run = TextFilter::new(&program, Vec::new());
    run.write(text.as_bytes()).unwrap();
    assert!(run.sink().is_empty());
    run.release();
    let shown = "first line (x3)\nsecond line\nContinue? [Y/n] ";
    assert_eq!(String::from_utf8_lossy(run.sink()), shown);
    // Once is enough.
    run.release();
    run.write(b"yes\nsecond line\n").unwrap();
    let report = run.end().unwrap();
    let out = run.into_sink();
    assert_eq!(String::from_utf8(out).unwrap(), format!("{shown}yes\nsecond line\n"));
    assert_eq!((report.lines_in, report.lines_out, report.lines_folded), (6, 4, 2));
}

/// A line of progress that was written in part is written again when it is overwritten.
#[test]
fn progress_goes_on_in_another_line() {
    let program = TextProgram::compile(&TextSpec::new().strip_ansi(true)).unwrap();
    let mut run = TextFilter::new(&program, Vec::new());
    run.write(b"10 %").unwrap();
    run.release();
    run.write(b"\r20 %\r[tamis x: 30 %]\r").unwrap();
    assert_eq!(run.sink(), b"10 %\n");
    run.write(b"100 %\x08\x08\x08\x08\x08[tamis x: done]\nnext\n").unwrap();
    let report = run.end().unwrap();
    let out = run.into_sink();
    assert_eq!(String::from_utf8(out).unwrap(), "10 %\n| [tamis x: done]\nnext\n");
    assert_eq!((report.lines_in, report.lines_marked, report.lines_overwritten), (2, 1, 1));
}

/// An imitation that leaves in part is marked where it begins.
#[test]
fn the_beginning_of_a_notice_is_marked() {
    let program = TextProgram::compile(&TextSpec::new().dedup(true)).unwrap();
    let mut run = TextFilter::new(&program, Vec::new());
    run.write(b"a\n[ta").unwrap();
    run.release();
    assert_eq!(run.sink(), b"a\n");
    run.write(b"mis x: 3").unwrap();
    run.release();
    assert_eq!(run.sink(), b"a\n| [tamis x: 3");
    run.write(b" of 5 lines left out]\n").unwrap();
    run.end().unwrap();
    assert_eq!(run.into_sink(), b"a\n| [tamis x: 3 of 5 lines left out]\n");
}

/// A line that may still become a notice waits, so that another line gets no mark.
#[test]
fn a_beginning_of_a_notice_is_not_marked() {
    let program = TextProgram::compile(&TextSpec::new().strip_ansi(true)).unwrap();
    for pieces in [
        &[".", "..", "\n"][..],
        &["..", "....", " done", "\n"],
        &["  ", " \t", "a", "\n"],
        &["[ta", "mbourine]", "\n"],
        &["10 %", "\r[ta", "ble]", "\n"],
        &[".."],
    ] {
        let mut run = TextFilter::new(&program, Vec::new());
        for piece in pieces {
            run.write(piece.as_bytes()).unwrap();
            run.release();
        }
        let expected = pieces.concat().replace('\r', "\n");
        run.end().unwrap();
        assert_eq!(String::from_utf8(run.into_sink()).unwrap(), expected);
    }
}

/// A line of which it is not certain that it stays waits for its end.
#[test]
fn a_line_that_may_be_removed_is_not_released() {
    let program = TextProgram::compile(&TextSpec::new().strip_lines_matching("secret")).unwrap();
    for (begin, end, left) in [
        ("the secret ", "is out\n", ""),
        ("the sec", "ret\n", ""),
        ("the sec", "ond\n", "the second\n"),
    ] {
        let mut run = TextFilter::new(&program, Vec::new());
        run.write(begin.as_bytes()).unwrap();
        run.release();
        assert!(run.sink().is_empty(), "{begin}");
        run.write(end.as_bytes()).unwrap();
        run.write(b"last\n").unwrap();
        run.end().unwrap();
        assert_eq!(String::from_utf8(run.into_sink()).unwrap(), format!("{left}last\n"));
    }
}
