//! Every state of the grammar with every token.

use super::{BOTH, EventRecorder, FULL, MachineConfig, RunEnd, STRUCTURE};
use crate::Interest;
use crate::error::ErrorKind;

/// The first bytes of the tokens: a string, the brackets, the separators, a scalar, and a byte that begins no token.
const TOKENS: [&str; 9] = ["\"", "{", "}", "[", "]", ":", ",", "1", "?"];

const VALUE: &str = "expected a value";
const KEY: &str = "expected a key in double quotes";
const COMMA_IN_ARRAY: &str = "expected a value (a comma before `]`?)";
const COMMA_IN_OBJECT: &str = "expected a key in double quotes (a comma before `}`?)";
const COLON: &str = "expected `:` after the key";
const AFTER: &str = "expected `,` or the end of the container";
const OBJECT: &str = "expected `}` to close the object";
const ARRAY: &str = "expected `]` to close the array";
const TRAILING: &str = "trailing characters after the document (newline-delimited JSON?)";

/// A text that leads to a state, and for each token its error; empty if the token may follow.
type StateRow = (&'static str, [&'static str; 9]);

const STATES: [StateRow; 9] = [
    // Expect::Value: the document, a member, an element.
    ("", ["", "", VALUE, "", VALUE, VALUE, VALUE, "", VALUE]),
    ("{\"a\":", ["", "", VALUE, "", VALUE, VALUE, VALUE, "", VALUE]),
    ("[1,", ["", "", VALUE, "", COMMA_IN_ARRAY, VALUE, VALUE, "", VALUE]),
    // Expect::ValueOrEnd
    ("[", ["", "", VALUE, "", "", VALUE, VALUE, "", VALUE]),
    // Expect::KeyOrEnd, Expect::Key
    ("{", ["", KEY, "", KEY, KEY, KEY, KEY, KEY, KEY]),
    ("{\"a\":1,", ["", KEY, COMMA_IN_OBJECT, KEY, KEY, KEY, KEY, KEY, KEY]),
    // Expect::Colon
    ("{\"a\" ", [COLON, COLON, COLON, COLON, COLON, "", COLON, COLON, COLON]),
    // Expect::After
    ("{\"a\":1 ", [AFTER, AFTER, "", AFTER, OBJECT, AFTER, "", AFTER, AFTER]),
    ("[1 ", [AFTER, AFTER, ARRAY, AFTER, "", AFTER, "", AFTER, AFTER]),
];

/// Checks the error after `text`. An error of the next token must be at its first byte.
fn check(handler: &EventRecorder, config: &MachineConfig, text: &str, expected: &str) {
    let at = text.len() - 1;
    for cuts in [&[][..], &[at], &(1..text.len()).collect::<Vec<_>>()] {
        let (_, end) = handler.clone().run(config, text.as_bytes(), cuts);
        match end {
            RunEnd::Complete => assert_eq!(expected, "", "{text}, cut at {cuts:?}"),
            RunEnd::Error(kind, message, offset, _) if !expected.is_empty() => {
                let found = (kind, message.as_str(), offset);
                let expected = (ErrorKind::Syntax, expected, Some(at as u64));
                assert_eq!(found, expected, "{text}, cut at {cuts:?}");
            }
            // The token may follow, and the document ends after it.
            RunEnd::Error(_, message, offset, _) => {
                assert_eq!(offset, Some(text.len() as u64), "{text}, cut at {cuts:?}: {message}");
            }
            _ => panic!("{text}, cut at {cuts:?}: {end:?}"),
        }
    }
}

/// Checks all states after `before`, in which the handler inspects, copies or drops the values.
fn check_states(handler: &EventRecorder, config: &MachineConfig, before: &str) {
    for (text, errors) in STATES {
        for (token, error) in TOKENS.into_iter().zip(errors) {
            check(handler, config, &format!("{before}{text}{token}"), error);
        }
    }
}

#[test]
fn inspected_containers() {
    check_states(&EventRecorder::default(), &FULL, "");
}

#[test]
fn copied_containers() {
    for config in BOTH {
        check_states(&EventRecorder::new(&[("v", Interest::Copy)]), &config, "{\"v\":");
    }
}

#[test]
fn dropped_containers_under_full_validation() {
    check_states(&EventRecorder::new(&[("v", Interest::Skip)]), &FULL, "{\"v\":");
}

#[test]
fn the_rest_of_a_container_under_full_validation() {
    check_states(&EventRecorder::new(&[("v", Interest::SkipRest)]), &FULL, "{\"v\":");
}

#[test]
fn after_the_document() {
    for document in ["1 ", "{}", "[]", "\"a\"", "null\n"] {
        for token in TOKENS {
            check(&EventRecorder::default(), &FULL, &format!("{document}{token}"), TRAILING);
        }
    }
}

/// The path includes the current member or element if the error is in its value.
#[test]
fn paths_of_errors() {
    let cases = [
        ("{\"a\":[1,{\"b\":?", "/a/1/b", 13),
        ("{\"a\":[1,{\"b\":1?", "/a/1/b", 14),
        ("{\"a\":[1,{\"b\":1 ?", "/a/1", 15),
        ("{\"a\":[1,{\"b\" ?", "/a/1", 13),
        ("{\"a\":[1,{\"b\":1,?", "/a/1", 15),
        ("{\"a\":[1,{\"b\":1}?", "/a", 15),
        ("{\"a\":[1,?", "/a/1", 8),
        ("{\"a\":[1,{}}", "/a", 10),
        ("{\"a\":[1,\"\\x", "/a/1", 10),
        ("{\"a\":{\"b/c~\":tru?", "/a/b~1c~0", 16),
    ];
    let handlers = [&[][..], &[("a", Interest::Copy)], &[("a", Interest::Skip)]];
    for (text, path, at) in cases {
        for interests in handlers {
            let every: Vec<usize> = (1..text.len()).collect();
            for cuts in [&[][..], &every] {
                let (_, end) = EventRecorder::new(interests).run(&FULL, text.as_bytes(), cuts);
                let RunEnd::Error(_, message, offset, found) = end else { panic!("{text}") };
                assert_eq!((found.as_str(), offset), (path, Some(at)), "{text}: {message}");
            }
        }
    }
}

#[test]
fn early_ends() {
    let cases = [
        ("", "the document is empty", ""),
        (" \n", "the document is empty", ""),
        ("-", "the document ends too early", ""),
        ("{\"a\"", "the document ends too early", ""),
        ("{\"a\":", "the document ends too early", "/a"),
        ("{\"a\":[1,", "the document ends too early", "/a/1"),
        ("{\"a\":[1", "the document ends too early", "/a"),
        ("[\"x", "the document ends too early", "/0"),
        ("[tru", "the document ends too early", "/0"),
    ];
    for (text, message, path) in cases {
        let (_, end) = EventRecorder::default().run(&FULL, text.as_bytes(), &[]);
        let expected = RunEnd::Error(
            ErrorKind::UnexpectedEnd,
            message.to_owned(),
            Some(text.len() as u64),
            path.to_owned(),
        );
        assert_eq!(end, expected, "{text}");
    }
}

/// Under `structure` a dropped value may be any text of strings, brackets and other bytes.
#[test]
fn dropped_values_under_structure() {
    let handler = EventRecorder::new(&[("v", Interest::Skip)]);
    for value in ["?", "01", "[1 2,,:]", "{]\"\\x\":?[}", "\"\\x\"", "{\"a\" 1}"] {
        let text = format!("{{\"v\":{value},\"w\":1}}");
        let (events, end) = handler.clone().run(&STRUCTURE, text.as_bytes(), &[]);
        if value.starts_with("{]") {
            assert!(matches!(end, RunEnd::Error(_, ref message, Some(6), _) if message == OBJECT));
        } else {
            assert_eq!(end, RunEnd::Complete, "{text}");
            let w = format!("value 'w' Number at {}: Copy", text.len() - 2);
            assert!(events.contains(&w), "{text}: {events}");
        }
    }
    // Kept values are checked in full.
    for value in ["?", "01", "\"\\x\"", "[1 2]"] {
        let text = format!("{{\"w\":{value}}}");
        let (_, end) = handler.clone().run(&STRUCTURE, text.as_bytes(), &[]);
        assert!(matches!(end, RunEnd::Error(..)), "{text}");
    }
}

#[test]
fn the_depth_limit() {
    let config = MachineConfig { depth: 2, ..FULL };
    for interests in [&[][..], &[("a", Interest::Copy)], &[("a", Interest::Skip)]] {
        let handler = EventRecorder::new(interests);
        let (_, end) = handler.clone().run(&config, b"{\"a\":[1,{}]}", &[]);
        let RunEnd::Error(kind, message, offset, path) = end else { panic!("{interests:?}") };
        assert_eq!((kind, offset, path.as_str()), (ErrorKind::Limit, Some(8), "/a/1"));
        assert_eq!(message, "more than 2 nested containers");
        assert_eq!(handler.run(&config, b"{\"a\":[1,2]}", &[]).1, RunEnd::Complete);
    }
}
