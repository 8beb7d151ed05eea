//! Random filters on random texts: the engine against the model, through every cut.

use tamis::Limits;
use tamis::text::TextProgram;

use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;
use tamis_testkit::text::drivers::{Form, Subject, agree};
use tamis_testkit::text::generate::{declared, text};
use tamis_testkit::text::model::{Dedup, run};
use tamis_testkit::text::spelling::{Units, read, spell};

const PAIRS: u64 = 6_000;

fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[test]
fn texts() {
    let mut prng = Prng::named("texts");
    let (mut changed, mut longer) = (0, 0);
    let pairs = share(PAIRS);
    for number in 0..pairs {
        let declared = declared(&mut prng);
        let text = text(&mut prng);
        let line = if prng.one_in(3) { prng.below(9) } else { 64 << 10 };
        let program = TextProgram::compile(&declared.filter()).unwrap();
        let limits = Limits::new().with_line(line);
        let subject =
            Subject { program: &program, limits: &limits, form: Form::Plain, text: &text };
        let found = agree(subject, number);
        let (found, report) =
            found.unwrap_or_else(|why| panic!("{}: {declared:?}, {line}\n{why}", show(&text)));
        let expected = run(&declared, &text, line);
        assert_eq!(show(&found), show(&expected), "{}: {declared:?}, line {line}", show(&text));

        assert_eq!(report.bytes_in, text.len() as u64);
        assert_eq!(report.bytes_out, found.len() as u64);
        assert!(report.changed || found == text, "{}: {report:?}", show(&text));
        if let (Ok(text), Ok(found)) = (std::str::from_utf8(&text), std::str::from_utf8(&found)) {
            assert_eq!(report.chars_in, text.chars().count() as u64);
            assert_eq!(report.chars_out, found.chars().count() as u64);
        }
        if !report.was_empty {
            // Marks come on top; and of a line that cannot be held it is not known whether its gap is longer.
            // A line may have several.
            let marks = found.windows(2).filter(|two| two == b"| ").count();
            let most = text.len() + if report.lines_marked > 0 { 2 * marks } else { 0 };
            let unknown = report.lines_left_out > 0 && report.lines_too_long > 0;
            assert!(unknown || found.len() <= most, "{}: {declared:?}", show(&text));
            assert_eq!(report.changed, found != text, "{}: {declared:?}", show(&text));
        }
        changed += u64::from(report.changed);
        longer += u64::from(report.lines_too_long > 0);
    }
    assert!(changed > pairs / 2 && changed < pairs, "{changed} changed");
    assert!(longer > pairs / 10, "{longer} with long lines");
}

/// Characters, and lone surrogates, which the model takes for characters that no pattern knows.
#[test]
fn insides_of_strings() {
    const UNITS: [u32; 29] = [
        8,
        8,
        0x9b,
        0x9d,
        0x85,
        0x1b,
        0x1b,
        '[' as u32,
        'm' as u32,
        ']' as u32,
        7,
        '\\' as u32,
        '"' as u32,
        '/' as u32,
        'a' as u32,
        'a' as u32,
        'b' as u32,
        '\n' as u32,
        '\n' as u32,
        '\r' as u32,
        ' ' as u32,
        0,
        0xE9,
        0xE9,
        0x2028,
        0x1F600,
        0xD83D,
        0xDE00,
        0xDBFF,
    ];
    /// A character for a lone surrogate.
    fn stand_in(unit: u32) -> char {
        char::from_u32(unit).unwrap_or_else(|| char::from_u32(0xE000 + unit - 0xD800).unwrap())
    }
    fn unmasked(unit: u32) -> u32 {
        if (0xE000..0xE800).contains(&unit) { unit - 0xE000 + 0xD800 } else { unit }
    }
    let mut prng = Prng::named("insides of strings");
    let (mut kept, mut lone) = (0, 0);
    let pairs = share(PAIRS);
    for number in 0..pairs {
        let mut declared = declared(&mut prng);
        // A replacement is a character, but a lone surrogate is not.
        declared.strip.retain(|pattern| !pattern.text.contains("[^"));
        declared.keep.retain(|pattern| !pattern.text.contains("[^"));
        let mut units: Units = Vec::new();
        for _ in 0..prng.below(40) {
            let next = prng.pick(&UNITS);
            // A pair is one character.
            let high = units.last().is_some_and(|last| matches!(last, 0xD83D | 0xDBFF));
            if high && next == 0xDE00 {
                continue;
            }
            units.push(next);
        }
        if units.iter().any(|unit| char::from_u32(*unit).is_none()) {
            // Equal ones that are spelled otherwise are others, and the model does not see the spelling.
            declared.dedup = Dedup::Off;
        }
        let spelled = spell(&units, &mut prng);
        let program = TextProgram::compile(&declared.filter()).unwrap();
        let limits = Limits::new();
        let subject =
            Subject { program: &program, limits: &limits, form: Form::Quoted, text: &spelled };
        let (found, report) = agree(subject, number)
            .unwrap_or_else(|why| panic!("{}: {declared:?}\n{why}", show(&spelled)));
        let text: String = units.iter().map(|unit| stand_in(*unit)).collect();
        let expected = String::from_utf8(run(&declared, text.as_bytes(), limits.line())).unwrap();
        // Two that were apart may be a pair when what was between them is gone.
        let expected: Vec<u16> = expected
            .chars()
            .flat_map(|char| {
                let unit = unmasked(char.into());
                match char::from_u32(unit) {
                    Some(char) => char.encode_utf16(&mut [0; 2]).to_vec(),
                    None => vec![unit as u16],
                }
            })
            .collect();
        let read: Option<Vec<u16>> = read(&found).map(|units| {
            let codes = units.into_iter().flat_map(|unit| match char::from_u32(unit) {
                Some(char) => char.encode_utf16(&mut [0; 2]).to_vec(),
                None => vec![unit as u16],
            });
            codes.collect()
        });
        assert_eq!(read, Some(expected), "{}: {declared:?}: {}", show(&spelled), show(&found));
        assert_eq!(report.bytes_in, spelled.len() as u64);
        assert_eq!(report.bytes_out, found.len() as u64);
        assert_eq!(report.chars_in, units.len() as u64);
        if !report.changed {
            assert_eq!(show(&found), show(&spelled), "what is not changed stays as it is spelled");
            kept += 1;
        }
        lone += u64::from(units.iter().any(|unit| char::from_u32(*unit).is_none()));
    }
    assert!(kept > pairs / 20, "{kept} kept");
    assert!(lone > pairs / 4, "{lone} with lone surrogates");
}
