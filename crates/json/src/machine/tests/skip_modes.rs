//! The ends of skipped, copied and abandoned containers: the handler is asked again at the right place.

use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;

use super::super::MachineConfig;
use super::{BOTH, EventRecorder, FULL, RunEnd, STRUCTURE};
use crate::Interest;
use crate::error::ErrorKind;
use crate::fast_paths::{FastPath, without};

/// Containers of every kind, with brackets inside strings.
const CONTAINERS: [&str; 8] = [
    "{}",
    "[]",
    "[[],{}]",
    "{\"x\":{\"y\":[]}}",
    "[\"]}\",\"\\\"]\"]",
    "{\"}\":\"{\"}",
    "[ 1 , 2 ]",
    "[1,[2,[3,[4]]],{\"x\":null}]",
];

/// The cuts of a run: none, one at each byte, and all of them.
fn cuts(length: usize) -> impl Iterator<Item = Vec<usize>> {
    let every = (1..length).collect();
    [vec![], every].into_iter().chain((1..length).map(|cut| vec![cut]))
}

#[test]
fn skipped_and_copied_containers() {
    for value in CONTAINERS {
        let text = format!("{{\"a\":{value} ,\"b\":2}}");
        let solid: String = value.split(' ').collect();
        let (after, b) = (5 + value.len(), text.len() - 2);
        let kind = if value.starts_with('{') { "Object" } else { "Array" };
        let copied = |text: &str| format!("\ncopied {} until {after}", text.escape_default());
        for (interest, copied) in [
            (Interest::Skip, String::new()),
            (Interest::Copy, copied(&solid)),
            (Interest::CopyMember, copied(&format!("\"a\":{solid}"))),
        ] {
            let expected = format!(
                "value '' Object at 0: Inspect\nvalue 'a' {kind} at 5: {interest:?}{copied}\n\
                 value 'b' Number at {b}: Copy\ncopied 2 until {}\nclose at {}",
                b + 1,
                b + 1
            );
            for (config, cuts) in
                BOTH.iter().flat_map(|config| cuts(text.len()).map(move |cuts| (config, cuts)))
            {
                let handler = EventRecorder::new(&[("a", interest)]);
                let (events, end) = handler.run(config, text.as_bytes(), &cuts);
                assert_eq!((events.as_str(), end), (expected.as_str(), RunEnd::Complete), "{text}");
            }
        }
    }
}

/// `SkipRest` ends before the closing bracket of its container, which is reported.
#[test]
fn the_rest_of_a_container() {
    for value in CONTAINERS {
        let text = format!("[{{\"a\":{value},\"b\":[2] }},3]");
        let close = text.len() - 4;
        let kind = if value.starts_with('{') { "Object" } else { "Array" };
        let expected = format!(
            "value '' Array at 0: Inspect\nvalue '0' Object at 1: Inspect\n\
             value 'a' {kind} at 6: SkipRest\nclose at {close}\nvalue '1' Number at {}: Copy\n\
             copied 3 until {}\nclose at {}",
            close + 2,
            close + 3,
            close + 3
        );
        for (config, cuts) in
            BOTH.iter().flat_map(|config| cuts(text.len()).map(move |cuts| (config, cuts)))
        {
            let handler = EventRecorder::new(&[("a", Interest::SkipRest)]);
            let (events, end) = handler.run(config, text.as_bytes(), &cuts);
            assert_eq!(
                (events.as_str(), end),
                (expected.as_str(), RunEnd::Complete),
                "{text}, cut at {cuts:?}"
            );
        }
    }
}

#[test]
fn the_rest_of_an_array() {
    let text = b"{\"a\":[1,2,[3]],\"b\":4}";
    for config in BOTH {
        let handler = EventRecorder::new(&[("1", Interest::SkipRest)]);
        let (events, end) = handler.run(&config, text, &[]);
        assert_eq!(end, RunEnd::Complete);
        let expected = "value '' Object at 0: Inspect\nvalue 'a' Array at 5: Inspect\n\
                        value '0' Number at 6: Copy\ncopied 1 until 7\n\
                        value '1' Number at 8: SkipRest\nclose at 13\n\
                        value 'b' Number at 19: Copy\ncopied 4 until 20\nclose at 20";
        assert_eq!(events, expected);
    }
}

/// The index of an element does not depend on how the elements before it were handled.
#[test]
fn indices_after_skipped_elements() {
    let text = b"[1,[2,[3]],{\"x\":[4]},\"5\",6]";
    for interest in [Interest::Skip, Interest::Copy] {
        let interests: Vec<_> = ["0", "1", "2", "3"].map(|index| (index, interest)).into();
        for (config, cuts) in
            BOTH.iter().flat_map(|config| cuts(text.len()).map(move |cuts| (config, cuts)))
        {
            let (events, _) = EventRecorder::new(&interests).run(config, text, &cuts);
            assert!(events.contains("value '4' Number at 25: Copy"), "{events}");
        }
    }
}

#[test]
fn stops() {
    let text = b"{\"a\":[1,2],\"b\":{}}";
    let every: Vec<usize> = (1..text.len()).collect();
    for (name, offset) in [("a", 5), ("0", 6), ("1", 8), ("b", 15)] {
        for cuts in [&[][..], &every] {
            let handler = EventRecorder::new(&[(name, Interest::Stop)]);
            let (events, end) = handler.run(&FULL, text, cuts);
            assert_eq!(end, RunEnd::Stopped(offset), "{name}: {events}");
        }
    }
}

/// Brackets must match in every mode. The path of an error inside a container that is skipped by its brackets ends at
/// the container.
#[test]
fn brackets_that_do_not_match() {
    let cases = [
        ("[{\"a\":[1}", 8, "/0/a", "/0/a", "expected `]` to close the array"),
        ("[{\"a\":{\"x\":1]", 12, "/0/a", "/0/a", "expected `}` to close the object"),
        ("[{\"a\":[[[1}", 10, "/0/a/0/0", "/0/a", "expected `]` to close the array"),
    ];
    for (text, at, path, brackets, message) in cases {
        for interest in [Interest::Inspect, Interest::Copy, Interest::Skip] {
            for config in BOTH {
                let skips = interest == Interest::Skip && config.structure;
                let path = if skips { brackets } else { path };
                for cuts in cuts(text.len()) {
                    let handler = EventRecorder::new(&[("a", interest)]);
                    let (_, end) = handler.run(&config, text.as_bytes(), &cuts);
                    let expected = RunEnd::Error(
                        ErrorKind::Syntax,
                        message.to_owned(),
                        Some(at),
                        path.to_owned(),
                    );
                    assert_eq!(end, expected, "{text}, {interest:?}, cut at {cuts:?}");
                }
            }
        }
    }
    // The closing bracket of the container itself.
    for config in BOTH {
        let (_, end) =
            EventRecorder::new(&[("a", Interest::SkipRest)]).run(&config, b"{\"a\":1]", &[]);
        assert!(matches!(end, RunEnd::Error(_, _, Some(6), _)), "{end:?}");
    }
}

/// A container that is skipped by its brackets may be longer than windows and deeper than a word of levels.
#[test]
fn long_and_deep_containers() {
    let deep = format!("{}1{}", "[{\"x\":".repeat(100), "}]".repeat(100));
    let long = format!("[{}\"{}\"]", "{\"x\":[1,2]},".repeat(800), "[".repeat(5000));
    for value in [deep, long] {
        let text = format!("{{\"a\":{value},\"b\":2}}");
        for interest in [Interest::Skip, Interest::Copy] {
            for config in [FULL, STRUCTURE] {
                let handler = EventRecorder::new(&[("a", interest)]);
                let (events, end) = handler.run(&config, text.as_bytes(), &[]);
                assert_eq!(end, RunEnd::Complete);
                let b = format!("value 'b' Number at {}: Copy", text.len() - 2);
                assert!(events.contains(&b), "{interest:?}");
            }
        }
    }
}

/// Long containers that are skipped by rows, with errors at any place: the same events and errors as without that path.
#[test]
fn rows_of_skipped_containers() {
    const PARTS: [&str; 10] = [
        "{\"id\":123456,\"name\":\"a name\",\"tags\":[true,null]},",
        "[[[[]]],{},[{}]],",
        "\"text with brackets ]}]} and \\\"quotes\\\" and \\\\\",",
        "\"\u{e9}\u{65e5}\u{672c}\u{1f600}\",",
        "\"\\u00e9\\n\\x\",",
        "\"a long string, which no bracket interrupts: it takes more than a block of a row, and nothing in it matters\",",
        "{\"a\":{\"b\":{\"c\":[{\"d\":[0,1,2]}]}}},",
        "1.25e-7, 0, ",
        "\r\n\t  ",
        "[{\"x\":\"{\"}],",
    ];
    const ERRORS: [&[u8]; 7] = [b"[[[[[[[[]]]]]]]]", b"]", b"}", b"\x01", b"\xff", b"\"", b"\\\""];
    let (mut failed, trials) = (0, share(20_000));
    for seed in 0..trials {
        let mut prng = Prng::new(seed);
        let parts: Vec<&str> = (0..1 + prng.below(4)).map(|_| prng.pick(&PARTS)).collect();
        let deep = prng.pick(&[0, 0, 3, 62, 70]);
        let mut text = b"{\"a\":[".to_vec();
        text.extend(b"{\"k\":[".repeat(deep));
        let length = text.len() + prng.pick(&[200, 600, 5_000, 12_000, 30_000]);
        while text.len() < length {
            text.extend_from_slice(prng.pick(&parts).as_bytes());
        }
        text.extend(b"0".iter().chain(&b"]}".repeat(deep)));
        // Enough after the container that its end is inside a row.
        text.extend(b"],\"b\":2,\"c\":[0");
        text.extend(b",[],{}".repeat(prng.below(300)));
        text.extend(b"]}");
        text.extend(b" ".repeat(prng.below(1500)));
        for _ in 0..prng.pick(&[0, 0, 1, 3]) {
            let at = prng.below(text.len());
            text.splice(at..at, prng.pick(&ERRORS).iter().copied());
        }
        let config = MachineConfig {
            depth: prng.pick(&[2 * deep + 7, 2 * deep + 10, 1024]),
            keep_white: prng.one_in(3),
            ..STRUCTURE
        };
        let mut cuts: Vec<usize> =
            (0..prng.pick(&[0, 0, 1, 4])).map(|_| prng.below(text.len())).collect();
        cuts.sort_unstable();
        let run = || {
            let interest = if seed % 2 == 0 { Interest::Skip } else { Interest::SkipRest };
            EventRecorder::new(&[("a", interest)]).run(&config, &text, &cuts)
        };
        let found = run();
        let expected = without(FastPath::BracketRows, run);
        assert_eq!(found, expected, "{}, cut at {cuts:?}", text.escape_ascii());
        failed += u64::from(expected.1 != RunEnd::Complete);
    }
    assert!((trials / 5..trials * 4 / 5).contains(&failed), "{failed} of {trials} runs failed");
}
