//! Work is linear: counted, not timed.

use super::engine::Engine;
use super::program::TextProgram;
use super::quoted::Quoted;
use crate::limits::Limits;
use crate::sink::Sink;
use crate::spec::TextFilter;

/// How often a byte of the text is looked at, at most: as it comes, in a line that is held, when that is complete, and
/// beside the line before.
const STEPS: u64 = 4;

struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, _: &[u8]) {}
}

/// A unit that makes up a text, and how often it comes.
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
        let filter = TextFilter::new().strip_ansi(true).dedup(true).max_lines(5);
        let length = (unit.len() * count) as u64;
        for chunk in [unit.len(), 1, 64 << 10] {
            // Every byte alone is the same work for the long one, and takes a while.
            if chunk < 64 << 10 && count > 4 << 20 {
                continue;
            }
            let piece = unit.repeat((chunk / unit.len()).max(1));
            for filter in [filter.clone(), TextFilter::new()] {
                let program = TextProgram::compile(&filter).unwrap();
                let mut engine = Engine::new(&program, &limits);
                let mut fed = 0;
                while fed < length {
                    for chunk in piece.chunks(chunk) {
                        engine.write(chunk, &mut Nowhere);
                    }
                    fed += piece.len() as u64;
                }
                engine.end(&mut Nowhere);
                let steps = engine.steps();
                assert!(steps >= fed, "{what}: every byte is looked at");
                assert!(steps <= STEPS * fed, "{what}, chunks of {chunk}: {steps} of {fed}");
            }
        }
    }
}

/// The head of a line that is lost is looked at once for each time that it is written over.
#[test]
fn long_lines_that_are_written_over() {
    let filter = TextFilter::new().strip_ansi(true).strip_lines_matching("x$");
    let program = TextProgram::compile(&filter).unwrap();
    let limits = Limits::new().with_line(64);
    for over in [64, 65, 66, 1000] {
        let progress = [vec![b'-'; over], b"\r".to_vec()].concat();
        let mut engine = Engine::new(&program, &limits);
        for _ in 0..1000 {
            engine.write(&progress, &mut Nowhere);
        }
        engine.end(&mut Nowhere);
        let fed = 1000 * progress.len() as u64;
        assert!(engine.steps() <= STEPS * fed, "{over}: {} of {fed}", engine.steps());
    }
}

/// Escapes and pairs of them, cut at every byte, far beyond what is held of a string.
#[test]
fn escapes_that_chunks_cut() {
    let program = TextProgram::compile(&TextFilter::new().strip_ansi(true)).unwrap();
    let limits = Limits::new();
    let mut all = Vec::new();
    let mut quoted = Quoted::new(&program, &limits);
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
