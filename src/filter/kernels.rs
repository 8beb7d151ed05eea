//! Every kernel of the scanner finds the same end of dropped containers, and the same errors.

use tamis_json::scan::Scanner;

use crate::spec::{Spec, Validation};
use crate::{CallOptions, Filter, Limits, Program};

/// Appends nested containers. Short runs of text are between the brackets.
fn nest(text: &mut String, random: &mut u64, levels: usize) {
    *random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
    let (open, close) = if *random >> 40 & 1 == 0 { ("{\"k\":", "}") } else { ("[", "]") };
    text.push_str(open);
    for _ in 0..*random >> 60 {
        if levels == 0 {
            text.push_str("\"}[\"");
        } else {
            nest(text, random, levels - 1);
        }
        text.push_str(if open == "[" { "," } else { ",\"l\":" });
    }
    text.push_str("null");
    text.push_str(close);
}

/// Dropped containers, long and short, with the wrong bracket, too many and too few of them, and too deep: every
/// kernel has the same output and the same error. The scalar kernel handles bracket by bracket.
#[test]
fn every_kernel_finds_the_same_end_and_the_same_errors() {
    let spec = Spec::new().root("object").select("a").validation(Validation::Structure);
    let program = Program::compile(&spec).unwrap();
    let mut random = 1;
    let (mut good, mut bad) = (0, 0);
    for round in 0..120 {
        let mut text = "{\"a\":1,\"b\":".to_owned();
        nest(&mut text, &mut random, 1 + round % 4);
        text.push_str(",\"c\":[");
        text.push_str(&"[".repeat(round % 90));
        for _ in 0..12 {
            nest(&mut text, &mut random, 3);
            text.push(',');
        }
        text.push_str(&"]".repeat(round % 90));
        text.push_str("],\"a2\":0}");
        let brackets = text.match_indices(['{', '[', ']', '}']).map(|(at, _)| at);
        let brackets: Vec<usize> = brackets.collect();
        for change in ["", "}", "]", "{", "[", " "] {
            let mut text = text.clone().into_bytes();
            if let Some(byte) = change.bytes().next() {
                let at = brackets[(random >> 33) as usize % brackets.len()];
                random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                text[at] = byte;
            }
            let depth = [1024, 64, 8, 5][round / 2 % 4];
            for chunk in [text.len(), 4096, 1000, 600] {
                let mut expected = None;
                for (isa, scanner) in Scanner::present() {
                    let limits = Limits::new().with_depth(depth);
                    let options = CallOptions::new().with_limits(limits).scan_with(scanner);
                    let mut filter = Filter::new(program.with_options(&options), Vec::new());
                    let written = text.chunks(chunk).try_for_each(|chunk| filter.write(chunk));
                    let ended = written.and_then(|()| filter.end().map(|_| ()));
                    let error =
                        ended.err().map(|error| (error.kind(), error.offset(), error.to_string()));
                    good += usize::from(error.is_none());
                    bad += usize::from(error.is_some());
                    let found = (filter.into_sink(), error);
                    let expected = expected.get_or_insert_with(|| found.clone());
                    assert_eq!(found, *expected, "{isa:?}, round {round}, {change:?}, {chunk}");
                }
            }
        }
    }
    assert!(good > 300 && bad > 300, "{good} {bad}");
}
