//! The events of a document do not depend on where it is cut: keys, white space and copied bytes cross the ends of
//! chunks.

use super::{EventRecorder, FULL, MachineConfig, RunEnd, run};
use crate::error::{ErrorKind, Raise};
use crate::{Handler, Interest, ValueKind, ValueSlot};

/// Tokens of every kind, all of which a cut may divide.
const DOCUMENT: &str = "\u{20}{ \"kéy\\u0041\" : [ -12.5e+3 , true,null ,\"\\ud83d\\ude00\\\\\" ] ,\r\n\"b\"\t:{\"é\":\"\"},\
     \"\": \"日本\" , \"copy\" : { \"x\" : [ 1 , 2 ] } ,\"skip\" : [ \"a\\\"]\" ] , \"z\":0 } ";

/// Runs without cuts, then with each cut, and with all of them.
fn same_at_every_cut(handler: &EventRecorder, config: &MachineConfig, text: &str) -> String {
    let text = text.as_bytes();
    let whole = handler.clone().run(config, text, &[]);
    for cut in 0..=text.len() {
        assert_eq!(handler.clone().run(config, text, &[cut]), whole, "cut at {cut}");
    }
    let every: Vec<usize> = (1..text.len()).collect();
    assert_eq!(handler.clone().run(config, text, &every), whole, "cut at every byte");
    assert_eq!(whole.1, RunEnd::Complete);
    whole.0
}

#[test]
fn events_do_not_depend_on_cuts() {
    let interests = [
        &[][..],
        &[("copy", Interest::Copy), ("skip", Interest::Skip)],
        &[("copy", Interest::CopyMember), ("b", Interest::CopyMember), ("z", Interest::CopyMember)],
        &[("kéyA", Interest::CopyMember), ("é", Interest::CopyMember)],
        &[("copy", Interest::SkipRest)],
        &[("", Interest::Copy)],
        &[("", Interest::Skip)],
    ];
    for interests in interests {
        for number in 0..8 {
            let config = MachineConfig {
                structure: number & 1 != 0,
                keep_white: number & 2 != 0,
                detect_empty_strings: number & 4 != 0,
                ..FULL
            };
            same_at_every_cut(&EventRecorder::new(interests), &config, DOCUMENT);
        }
    }
}

#[test]
fn a_member_is_copied_with_its_key_as_spelled() {
    let handler = EventRecorder::new(&[("kA", Interest::CopyMember)]);
    let text = "{ \"k\\u0041\" : [ 1 , 2 ] }";
    let events = same_at_every_cut(&handler, &FULL, text);
    assert!(events.contains("copied \\\"k\\\\u0041\\\":[1,2] until"), "{events}");
    let keep = MachineConfig { keep_white: true, ..FULL };
    let events = same_at_every_cut(&handler, &keep, text);
    assert!(events.contains("copied \\\"k\\\\u0041\\\" : [ 1 , 2 ] until"), "{events}");
    assert!(events.contains("gap ' : '") && events.contains("lead ' '"), "{events}");
}

#[test]
fn an_empty_string_is_known_from_its_second_byte() {
    let config = MachineConfig { detect_empty_strings: true, ..FULL };
    for interest in [Interest::Copy, Interest::CopyMember, Interest::Skip] {
        let handler = EventRecorder::new(&[("a", interest), ("b", interest)]);
        let events = same_at_every_cut(&handler, &config, "{\"a\": \"\" ,\"b\":\"x\"}");
        assert!(events.contains("value 'a' EmptyString at 7"), "{events}");
        assert!(events.contains("value 'b' String at 15"), "{events}");
    }
    // Without the setting, the first byte decides.
    let events = same_at_every_cut(&EventRecorder::default(), &FULL, "{\"a\": \"\"}");
    assert!(events.contains("value 'a' String at 6"), "{events}");
}

/// The error is at the first byte over the limit, wherever the key is cut.
#[test]
fn keys_over_the_limit() {
    let config = MachineConfig { key: 4, longest_key: 4, ..FULL };
    same_at_every_cut(&EventRecorder::default(), &config, "{\"four\" : 1, \"a\":2}");
    let five = "{\"a\":1, \"fives\"    : 1}";
    // A key that the handler needs is held, up to a limit of its own.
    let needed = MachineConfig { longest_key: 5, ..config };
    same_at_every_cut(&EventRecorder::default(), &needed, five);
    for (config, text) in [(&config, five), (&needed, "{\"a\":1, \"sixsix\"    : 1}")] {
        let longest = config.longest_key;
        for cut in 0..text.len() {
            let (_, end) = EventRecorder::default().run(config, text.as_bytes(), &[cut]);
            let message = format!("key longer than {longest} bytes");
            let at = Some(9 + longest as u64);
            let expected = RunEnd::Error(ErrorKind::Limit, message, at, String::new());
            assert_eq!(end, expected, "cut at {cut}");
        }
    }
    // A handler that needs no key is asked about a key without a name. Copied containers have no limit.
    let handler = EventRecorder {
        takes_long_keys: true,
        ..EventRecorder::new(&[("?", Interest::Skip), ("a", Interest::Copy)])
    };
    let events = same_at_every_cut(&handler, &config, "{\"fives\" :[1],\"a\":{\"sixsix\":1}}");
    assert!(events.contains("value '?' Array at 10: Skip"), "{events}");
}

/// White space that has to be kept is limited like keys.
#[test]
fn white_space_over_the_limit() {
    let config = MachineConfig { key: 4, keep_white: true, ..FULL };
    let fits = "{    \"a\"  : 1    ,    \"b\":[    2    ]    }";
    same_at_every_cut(&EventRecorder::default(), &config, fits);
    for (text, at) in [("{     \"a\":1}", 6), ("{\"a\":     1}", 10), ("[1     ]", 7)] {
        for cut in 0..text.len() {
            let (_, end) = EventRecorder::default().run(&config, text.as_bytes(), &[cut]);
            let RunEnd::Error(ErrorKind::Limit, message, offset, _) = end else {
                panic!("{text}, cut at {cut}: {end:?}");
            };
            let expected = "more than 4 bytes of white space to keep";
            assert_eq!((message.as_str(), offset), (expected, Some(at)), "{text}, cut at {cut}");
        }
    }
}

/// Errors have the same place and the same events before them, wherever the document is cut.
#[test]
fn errors_do_not_depend_on_cuts() {
    let wrong = [
        "{\"a\":tru }",
        "{\"a\":[01]}",
        "{\"a\":\"\\u00g0\"}",
        "{\"a\":\"\u{1}\"}",
        "{\"a\\x\":1}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "[1,2}",
        "{\"copy\":{\"b\":[1 2]}}",
        "{\"skip\":{\"b\":[1 2]}}",
        "1 2",
    ];
    let interests = [("copy", Interest::CopyMember), ("skip", Interest::Skip)];
    for text in wrong {
        for number in 0..4 {
            let config = MachineConfig {
                keep_white: number & 1 != 0,
                detect_empty_strings: number & 2 != 0,
                ..FULL
            };
            let whole = EventRecorder::new(&interests).run(&config, text.as_bytes(), &[]);
            assert!(matches!(whole.1, RunEnd::Error(..)), "{text}");
            for cut in 1..text.len() {
                let cut_run = EventRecorder::new(&interests).run(&config, text.as_bytes(), &[cut]);
                assert_eq!(cut_run, whole, "{text}, cut at {cut}");
            }
        }
    }
    // A character that is cut is not an error before its last byte.
    let text = b"{\"a\":\"\xe6\x97\xff\"}";
    let whole = EventRecorder::default().run(&FULL, text, &[]);
    for cut in 1..text.len() {
        assert_eq!(EventRecorder::default().run(&FULL, text, &[cut]), whole, "cut at {cut}");
    }
}

/// A handler that fails ends the run.
#[test]
fn handlers_that_fail() {
    struct Ending(Raise);
    impl Handler for Ending {
        fn value(&mut self, _: ValueSlot<'_>, _: ValueKind, _: u64) -> Result<Interest, Raise> {
            Err(self.0.clone())
        }
        fn close(&mut self, _: u64) -> Result<(), Raise> {
            Ok(())
        }
        fn raw(&mut self, _: &[u8]) {}
    }
    let raise = Raise::new(ErrorKind::Miss, "no");
    let end = run(&FULL, b" []", &[1], &mut Ending(raise));
    assert_eq!(end, RunEnd::Error(ErrorKind::Miss, "no".to_owned(), Some(1), String::new()));
}
