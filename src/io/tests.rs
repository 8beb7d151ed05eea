//! Lenient input, and what is read ahead: at every split, under tight limits, and with hostile text.

use std::io::Read;

use crate::{CallOptions, ErrorKind, FailedRun, Limits, Program, Report, Spec};

/// Gives `data` in pieces of the given sizes, the last one over and over.
pub(super) struct Pieces<'a> {
    data: &'a [u8],
    sizes: Vec<usize>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(data: &'a [u8], sizes: &[usize]) -> Self {
        Self { data, sizes: sizes.to_vec() }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = if self.sizes.len() > 1 { self.sizes.remove(0) } else { self.sizes[0] };
        let count = size.max(1).min(self.data.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.data[..count]);
        self.data = &self.data[count..];
        Ok(count)
    }
}

/// Returns the report without what depends on the chunks.
pub(super) fn invariant(mut report: Report) -> Report {
    report.held_peak_bytes = 0;
    report.plan.clear();
    report
}

mod ahead {
    use std::io::{Seek, Write};

    use super::*;
    use crate::spec::{Condition, PatchOp, RawJson};
    use crate::{filter_file, filter_slice};

    /// Nothing is held for a document that is read ahead, even if no branch applies.
    #[test]
    fn a_known_branch_holds_no_bytes() {
        let branch = Spec::new().patch(PatchOp::add("/b", RawJson::from(1)));
        let program =
            Program::compile(&Spec::new().when(Condition::new("/t", RawJson::from(1)), branch))
                .unwrap();
        let options = CallOptions::new().with_limits(Limits::new().with_held(5).with_spill(0));
        let document = br#"{"pad": "which is longer than what may wait", "t": 2}"#;
        let told = filter_slice(program.with_options(&options), document).unwrap_err().error;
        assert_eq!(told.kind(), ErrorKind::Miss, "{told}");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(document).unwrap();
        file.rewind().unwrap();
        let (_, result) =
            FailedRun::split(filter_file(program.with_options(&options), file, Vec::new()));
        assert_eq!(result.unwrap_err().to_string(), told.to_string());
    }
}

#[cfg(feature = "lenient")]
mod lenient {
    use super::*;
    use crate::filter_lenient;

    type Outcome = (String, Report, Option<(ErrorKind, String)>);

    fn run(spec: &Spec, options: &CallOptions, reader: impl Read) -> Outcome {
        let program = Program::compile(spec).unwrap();
        let mut output = Vec::new();
        let (report, result) =
            FailedRun::split(filter_lenient(program.with_options(options), reader, &mut output));
        let told = |error: crate::Error| (error.kind(), error.to_string());
        (String::from_utf8(output).unwrap(), invariant(report), result.err().map(told))
    }

    fn minified(text: &[u8]) -> Outcome {
        run(&Spec::new(), &CallOptions::new(), text)
    }

    #[test]
    fn comments_and_trailing_commas_go_at_every_split() {
        let text = "\u{feff}// a\n{\"a\": /* b **/ 1.10, \"é\\u00e9\\n\": [1E400, -0, [ ], {},],// c\r\n} /**/ // d";
        let whole = minified(text.as_bytes());
        assert_eq!(whole.0, "{\"a\":1.10,\"éé\\n\":[1E400,-0,[],{}]}");
        assert_eq!(whole.2, None);
        for cut in 0..text.len() {
            let reader = Pieces::new(text.as_bytes(), &[cut, text.len()]);
            assert_eq!(run(&Spec::new(), &CallOptions::new(), reader), whole, "cut at {cut}");
        }
        let reader = Pieces::new(text.as_bytes(), &[1]);
        assert_eq!(run(&Spec::new(), &CallOptions::new(), reader), whole);
    }

    #[test]
    fn errors_of_the_text_have_line_and_column() {
        let cases = [
            ("", ErrorKind::UnexpectedEnd, "line 1, column 1: unexpected end of the document"),
            (
                "\u{feff}",
                ErrorKind::UnexpectedEnd,
                "line 1, column 1: unexpected end of the document",
            ),
            (
                "[1,\n 2 3]",
                ErrorKind::Syntax,
                "line 2, column 4: expected `,` or a closing bracket",
            ),
            (
                "[1, /* x",
                ErrorKind::UnexpectedEnd,
                "line 1, column 9: unterminated comment, expected `*/`",
            ),
            ("[,]", ErrorKind::Syntax, "line 1, column 2: unexpected `,`"),
            ("[1,,]", ErrorKind::Syntax, "line 1, column 4: unexpected `,`"),
            ("{a: 1}", ErrorKind::Syntax, "line 1, column 2: expected a key in quotes or `}`"),
            ("[01]", ErrorKind::Syntax, "line 1, column 2: invalid number"),
            (
                "[1]\n]",
                ErrorKind::Syntax,
                "line 2, column 1: trailing characters after the document",
            ),
            ("[1],", ErrorKind::Syntax, "line 1, column 4: trailing characters after the document"),
            ("\"\\x\"", ErrorKind::Syntax, "line 1, column 2: invalid escape sequence"),
        ];
        for (text, kind, message) in cases {
            assert_eq!(minified(text.as_bytes()).2, Some((kind, message.to_owned())), "{text}");
        }
        let (_, _, error) = minified(b"[\"a\xff\"]");
        assert_eq!(
            error,
            Some((ErrorKind::Encoding, "line 1, column 4: invalid UTF-8".to_owned()))
        );
        let (_, _, error) = minified(br#"["\ud800"]"#);
        assert_eq!(error.map(|error| error.0), Some(ErrorKind::Syntax));
    }

    #[test]
    fn errors_of_the_engine_say_which_text_they_are_of() {
        let spec = Spec::new().retain("/a").select("id").root("/a");
        let (output, report, error) =
            run(&spec, &CallOptions::new(), &b"{/* no */ \"a\": [{\"x\": 1},], }"[..]);
        assert_eq!(output, "");
        let (kind, message) = error.unwrap();
        assert_eq!(kind, ErrorKind::Miss);
        let told = report.error.unwrap();
        assert!(message.ends_with(&told.message), "{message}");
        if told.offset.is_some() {
            assert!(message.ends_with("(in the text without comments)"), "{message}");
        }
    }

    #[test]
    fn an_early_stop_is_no_error() {
        let spec = Spec::new().max_items(1).stop_early(true);
        for text in ["[1, 2, /* never closed", "[1, 2, oops", "[1, 2"] {
            for size in [1, 3, 100] {
                let reader = Pieces::new(text.as_bytes(), &[size]);
                let (output, report, error) = run(&spec, &CallOptions::new(), reader);
                assert_eq!((output.as_str(), error), ("[1]", None), "{text}");
                assert!(report.tail_unread);
            }
        }
    }

    #[test]
    fn depth_has_the_limit_of_the_engine() {
        let limits = CallOptions::new().with_limits(Limits::new().with_depth(3));
        assert_eq!(run(&Spec::new(), &limits, &b"[[[1,],],]"[..]).2, None);
        let (_, _, error) = run(&Spec::new(), &limits, &b"[[/**/[[1]]]]"[..]);
        let (kind, message) = error.unwrap();
        assert_eq!(kind, ErrorKind::Limit);
        assert!(message.starts_with("byte 3 at /0/0/0: "), "{message}");
        for brackets in ["[", "{\"a\":", "[{\"a\":"] {
            let text = brackets.repeat(100_000);
            let (_, _, error) = minified(text.as_bytes());
            assert_eq!(error.unwrap().0, ErrorKind::Limit);
            let deep = CallOptions::new().with_limits(Limits::new().with_depth(1_000_000));
            let (_, _, error) = run(&Spec::new(), &deep, text.as_bytes());
            assert_eq!(error.unwrap().0, ErrorKind::UnexpectedEnd);
        }
    }

    #[test]
    fn names_and_numbers_have_limits() {
        let limits = Limits::new().with_key(10).with_item(20);
        let options = CallOptions::new().with_limits(limits);
        let long = |what: &str, count: usize| what.repeat(count);
        let cases = [
            (format!("{{\"{}\": 1}}", long("a", 10)), None),
            (format!("{{\"{}\": 1}}", long("a", 11)), Some("name")),
            (format!("{{\"{}\": 1}}", long("a", 100_000)), Some("name")),
            (format!("{{\"{}\": 1}}", long("\\u0061", 10)), None),
            (format!("{{\"{}\": 1}}", long("\\u0061", 11)), Some("name")),
            (format!("[{}]", long("1", 20)), None),
            (format!("[{}]", long("1", 21)), Some("number")),
            (format!("[{}]", long("1", 100_000)), Some("number")),
        ];
        for (text, expected) in cases {
            let mut outcomes = Vec::new();
            for size in [1, 100, 1000, 100_000] {
                let reader = Pieces::new(text.as_bytes(), &[size]);
                outcomes.push(run(&Spec::new(), &options, reader).2);
            }
            let shown = &text[..text.len().min(40)];
            assert!(outcomes.windows(2).all(|two| two[0] == two[1]), "{shown}: {outcomes:?}");
            match (&outcomes[0], expected) {
                (None, None) => {}
                (Some((ErrorKind::Limit, message)), Some(what)) => {
                    assert!(message.contains(what), "{message}");
                }
                (found, _) => panic!("{shown}: {found:?}"),
            }
        }
        // Comments and strings are not held.
        let text = format!("[\"{}\", /*{}*/ 1]", long("a", 100_000), long("b", 100_000));
        assert_eq!(run(&Spec::new(), &options, text.as_bytes()).2, None);
    }

    #[test]
    fn an_error_of_the_reader_is_told_as_such() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::InvalidData.into())
            }
        }
        for begin in ["", "[1, ", "[\"abc", "{\"na", "[12", "[1 /* "] {
            let reader = begin.as_bytes().chain(Broken);
            let (_, _, error) = run(&Spec::new(), &CallOptions::new(), reader);
            assert_eq!(error.unwrap().0, ErrorKind::Read, "{begin}");
        }
    }

    #[test]
    fn hostile_text_never_panics_and_what_is_strict_is_the_same() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % below as u64) as usize
        };
        let tokens = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"\\u00e9\\\"\"",
            "1",
            "-0.5",
            "true",
            "nul",
            "//",
            "/*",
            "*/",
            "\n",
            " ",
            "\"",
            "\\",
            "\u{1}",
            "é",
            "\r",
            "null",
            "0",
            "/",
        ];
        let program = Program::compile(&Spec::new()).unwrap();
        for _ in 0..20_000 {
            let text: String = (0..random(12)).map(|_| tokens[random(tokens.len())]).collect();
            let (output, _, error) = minified(text.as_bytes());
            let size = 1 + random(3);
            let pieces = Pieces::new(text.as_bytes(), &[size]);
            let again = run(&Spec::new(), &CallOptions::new(), pieces);
            assert_eq!((&again.0, &again.2), (&output, &error), "{text:?} in pieces of {size}");
            if let Ok((strict, _)) = crate::filter_slice(&program, text.as_bytes()) {
                let same = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
                assert_eq!(error, None, "{text:?}");
                assert_eq!(same(output.as_bytes()), same(&strict), "{text:?}");
            }
        }
    }
}
