//! Input that is not text: memory remains bounded for every input.

use tamis::text::{QuotedTextFilter, TextFilter, TextProgram, TextReport, TextSpec};
use tamis::{Limits, Sink};
use tamis_testkit::effort::{TestEffort, effort};

/// Counts the output and keeps none of it.
#[derive(Default)]
struct Nowhere(u64);

impl Sink for Nowhere {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

/// A filter, how it is called, and whether lines without end pass it.
fn programs() -> Vec<(&'static str, TextSpec, bool)> {
    let all = TextSpec::new()
        .strip_ansi(true)
        .strip_lines_matching("^DEBUG")
        .dedup(true)
        .max_lines(1_000_000_000)
        .on_empty("nothing");
    vec![
        ("none", TextSpec::new(), true),
        ("ansi", TextSpec::new().strip_ansi(true), true),
        ("dedup", TextSpec::new().dedup(true), true),
        ("strip", TextSpec::new().strip_lines_matching("x$"), false),
        ("all", all.clone(), true),
        ("keep", all.keep_lines_matching("^(a|b)*$"), false),
    ]
}

/// The inputs: a name, a piece, and the number of repetitions.
fn inputs() -> Vec<(&'static str, Vec<u8>, usize)> {
    let piece = |unit: &[u8]| unit.repeat((64 << 10) / unit.len());
    vec![
        ("a line without an end", piece(b"x"), 1600),
        ("empty lines", piece(b"\n"), 200),
        ("line ends of the other kind", piece(b"\r\n"), 200),
        ("returns", piece(b"\r"), 200),
        ("progress without a line end", piece(b"12 %\r"), 200),
        ("ESC [", piece(b"\x1b["), 64),
        ("parameters without end", piece(b"\x1b[;;;;;;;;"), 64),
        ("a title without end", [b"\x1b]0;".to_vec(), piece(b"x")].concat(), 64),
        ("lines of different length", piece(b"a\nbb\nccc\n"), 64),
        ("movements out of reach", piece(b"a\x1b[5000A"), 16),
        ("inserted blanks", piece(b"a\r\x1b[999@"), 16),
        ("erased characters", [vec![b'x'; 60_000], piece(b"\x1b[G\x1b[59990X")].concat(), 16),
        ("erased to the left", [vec![b'x'; 60_000], piece(b"\x1b[59990G\x1b[1K")].concat(), 16),
        ("rows of several screens", piece(b"\x1b[9999B\x1b[999Cx\x1b[99A"), 16),
        ("broken characters", piece(b"\xf0\x9f\xff"), 64),
        (
            "long lines",
            [piece(b"long "), b"\n".to_vec(), piece(b"long "), b"\n".to_vec()].concat(),
            64,
        ),
    ]
}

fn feed(program: &TextProgram, piece: &[u8], times: usize) -> (Nowhere, TextReport) {
    let mut run = TextFilter::new(program, Nowhere::default());
    for _ in 0..times {
        run.write(piece).unwrap();
    }
    let report = run.end().unwrap();
    (run.into_sink(), report)
}

#[test]
fn memory_does_not_grow() {
    for (name, filter, passes) in programs() {
        let program = TextProgram::compile(&filter).unwrap();
        // Warm up, so that the caches of the patterns are allocated.
        _ = program.apply(b"a b c x DEBUG \xff\n\nxxxx\n");
        for (what, piece, times) in inputs() {
            // A quarter is still far longer than what may be held.
            let times = if effort() >= TestEffort::Full { times } else { times / 4 };
            let mut ended = None;
            let measured =
                allocation_counter::measure(|| ended = Some(feed(&program, &piece, times)));
            let (sink, report) = ended.unwrap();
            assert!(measured.bytes_max < 1 << 20, "{name}, {what}: {} bytes", measured.bytes_max);
            assert_eq!(report.bytes_in, (piece.len() * times) as u64);
            assert_eq!(report.bytes_out, sink.0);
            if what == "a line without an end" {
                let out = if passes { report.bytes_in } else { 0 };
                let instead = if name == "keep" { "nothing".len() as u64 } else { 0 };
                assert_eq!(report.bytes_out, out + instead, "{name}");
                assert_eq!((report.lines_in, report.lines_too_long), (1, 1), "{name}");
            }
        }
    }
}

#[test]
fn a_string_without_end() {
    let filter = TextSpec::new().strip_ansi(true).dedup(true);
    let program = TextProgram::compile(&filter).unwrap();
    for unit in ["x", r"\u00e9", r"\u001b[1m", r"\ud83d", r"\n", r"\\"] {
        let piece = unit.repeat(10_000);
        let mut report = None;
        let measured = allocation_counter::measure(|| {
            let mut run = QuotedTextFilter::new(&program, Nowhere::default());
            for _ in 0..200 {
                run.write(piece.as_bytes()).unwrap();
            }
            let ended = run.end().unwrap();
            let sink = run.into_sink();
            assert_eq!(sink.0, ended.bytes_out, "{unit}");
            report = Some(ended);
        });
        assert!(measured.bytes_max < 1 << 20, "{unit}: {} bytes", measured.bytes_max);
        assert_eq!(report.unwrap().bytes_in, piece.len() as u64 * 200);
    }
}

#[test]
fn a_warm_run_allocates_nothing() {
    let filter = TextSpec::new().strip_ansi(true).dedup(true).strip_lines_matching("DEBUG");
    let program = TextProgram::compile(&filter).unwrap();
    let text =
        "\x1b[32m12:00 INFO\x1b[0m ready\r\n12:01 DEBUG no\nsame\nsame\nno more\nno more\n10 %\r20 %\n".repeat(500);
    for chunk in [777, 4096, 1 << 20] {
        let mut run = TextFilter::with_limits(&program, &Limits::new(), Nowhere::default());
        let mut feed = || text.as_bytes().chunks(chunk).for_each(|chunk| run.write(chunk).unwrap());
        feed();
        let measured = allocation_counter::measure(&mut feed);
        assert_eq!(measured.count_total, 0, "chunks of {chunk}");
    }
}
