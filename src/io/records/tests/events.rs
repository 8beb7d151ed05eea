//! Event streams with one document per event.

use std::io::Read;

use super::super::Events;
use super::{Outcome, Pieces, invariant};
use crate::{CallOptions, ErrorKind, FailedRun, Limits, Program, Spec, filter_events};

pub(super) fn run(program: &Program, options: &CallOptions, reader: impl Read) -> Outcome {
    let (mut output, mut bad) = (Vec::new(), Vec::new());
    let (report, result) = FailedRun::split(filter_events(
        program.with_options(options),
        reader,
        &mut output,
        |event, error| {
            bad.push((event, error.to_string()));
        },
    ));
    (output, bad, invariant(report), result.err().map(|error| error.to_string()))
}

fn select_id() -> Program {
    Program::compile(&Spec::new().select("id").root("object")).unwrap()
}

/// A program whose output is held only until the end of its event.
fn retain_id() -> Program {
    Program::compile(&Spec::new().retain("/id")).unwrap()
}

fn limits(held: u64, spill: u64) -> CallOptions {
    CallOptions::new().with_limits(Limits::new().with_held(held).with_spill(spill))
}

/// Returns the result for the whole stream, after checking that all chunks give the same.
fn at_every_split(program: &Program, options: &CallOptions, stream: &[u8]) -> Outcome {
    let whole = run(program, options, stream);
    let shown = String::from_utf8_lossy(stream);
    for cut in 1..stream.len() {
        let reader = Pieces::new(stream, &[cut, stream.len()]);
        assert_eq!(run(program, options, reader), whole, "{shown:?} cut at {cut}");
    }
    for size in [1, 3] {
        let reader = Pieces::new(stream, &[size]);
        assert_eq!(run(program, options, reader), whole, "{shown:?} in pieces of {size}");
    }
    whole
}

/// The calls for bad events.
type Told = &'static [(u64, &'static str)];

/// Streams with their expected outputs and bad events.
const STREAMS: &[(&str, &str, Told)] = &[
    ("", "", &[]),
    ("\n\r\n\r\r", "\n\r\n\r\r", &[]),
    // Boundaries, other fields, line ends.
    ("data: {\"id\":1,\"x\":2}\n\n", "data: {\"id\":1}\n\n", &[]),
    ("data:{\"id\":1}\r\n\r\n", "data: {\"id\":1}\r\n\r\n", &[]),
    ("data:  {\"id\":1}\r\r", "data: {\"id\":1}\r\r", &[]),
    (
        "data: {\"id\":1}\r\n\rdata: {\"id\":2}\n\r\n",
        "data: {\"id\":1}\r\n\rdata: {\"id\":2}\n\r\n",
        &[],
    ),
    ("\u{feff}data: {\"id\":1}\n\n\u{feff}data: 1\n\n", "\u{feff}data: {\"id\":1}\n\n\n", &[]),
    (
        "event: a\ndata: {\"id\":\nid:7\nda: 1\n: c\ndata:1}\ndatax\nDATA: 1\n data: 2\nretry\n\n",
        "event: a\nid:7\n: c\nretry\ndata: {\"id\":1}\n\n",
        &[],
    ),
    (
        "even: 1\nevents: 2\nid\nids\ni: 3\nevent\n ret\nre\nretry :5\ndata: {\"id\":1}\nident",
        "id\nevent\ndata: {\"id\":1}\n",
        &[],
    ),
    // Each line keeps its own line end, whatever precedes it.
    ("data: {\"id\":1}\rfoo: x\n\ndata: 2\n\n", "data: {\"id\":1}\r\rdata: 2\n\n", &[]),
    ("data: [DONE]\rfoo: x\n\ndata: 2\n\n", "data: [DONE]\r\rdata: 2\n\n", &[]),
    ("event: a\rfoo: x\n\ndata: 2\n\n", "event: a\r\rdata: 2\n\n", &[]),
    ("id: 7\rdata: {\"id\":1}\n\ndata: 2\n\n", "id: 7\rdata: {\"id\":1}\r\rdata: 2\n\n", &[]),
    // Not an event stream, and one whose sender forgot a name.
    ("{\"id\": 1,\r\n \"x\": 2}\n", "", &[]),
    ("data: {\"id\": 1}\r  \"x\": 2}\r\rx\r\ndata: 2\n\n", "data: {\"id\":1}\r\rdata: 2\n\n", &[]),
    ("id: 1\r\ndata: {\"id\":1}\n\n", "id: 1\r\ndata: {\"id\":1}\r\n\n", &[]),
    ("data\ndata: {\ndata\ndata:\"id\":1}\ndata\n\n", "data: {\"id\":1}\n\n", &[]),
    ("data: \t\n: c\ndata: \t{\"id\"\ndata: :1}\n\n", ": c\ndata: {\"id\":1}\n\n", &[]),
    // Without a document.
    ("data\n\ndata:\ndata: \t\nid: 1\n data\n\n", "data\n\ndata:\ndata: \t\nid: 1\n\n", &[]),
    ("id: 1\n\n: c\n\nda\n\n", "id: 1\n\n: c\n\n\n", &[]),
    (
        "data: [DONE]\n\ndata:[DONE]\r\nid: 1\r\n\r\n",
        "data: [DONE]\n\ndata:[DONE]\r\nid: 1\r\n\r\n",
        &[],
    ),
    ("data: [1]\n\ndata: [\n: c\ndata: ]\n\n", "data: [1]\n\n: c\ndata: []\n\n", &[]),
    // Bad events.
    (
        "data: 1\n\nid: 3\ndata: {\"id\":,}\nid: 2\n\ndata: 2\n\n",
        "data: 1\n\ndata: 2\n\n",
        &[(2, "byte 27 at /id: expected a value")],
    ),
    (
        ": c\ndata: [DONE]\ndata:\r\n\r\n\r\ndata: [DONE] \n\ndata: [DONE\n\ndata:  [DONE]\n\n",
        ": c\n\r\n",
        &[
            (1, "byte 11: expected a value"),
            (2, "byte 35: expected a value"),
            (3, "byte 50: expected a value"),
            (4, "byte 64: expected a value"),
        ],
    ),
    (
        "data: {\"id\":\ndata: 1,\nid: 1\ndata: oops}\n\n",
        "",
        &[(1, "byte 6: expected a key in double quotes (byte 10 of the event's data)")],
    ),
    ("data: \"a\ndata: b\"\n\n", "", &[(1, "byte 8: unescaped control character in a string")]),
    (
        "data: [1\r\r\n\ndata: x\r\r\ndata: 1\n\n",
        "\ndata: 1\n\n",
        &[(1, "byte 8: the document ends too early"), (2, "byte 18: expected a value")],
    ),
    // The end.
    ("data: {\"id\":1}", "data: {\"id\":1}\n", &[]),
    ("id: 1\r\ndata: {\"id\":1}", "id: 1\r\ndata: {\"id\":1}\r\n", &[]),
    ("data: {\"id\":1}\r", "data: {\"id\":1}\r", &[]),
    ("data: {\"id\":1}\r\nid: 1", "id: 1\r\ndata: {\"id\":1}\r\n", &[]),
    ("data: {\"id\":1}\nda", "data: {\"id\":1}\n", &[]),
    ("data: {\"id\":1}\nretry", "retry\ndata: {\"id\":1}\n", &[]),
    ("data: {\"id\":1}\ndata", "data: {\"id\":1}\n", &[]),
    ("data: [DONE]", "data: [DONE]", &[]),
    ("data: \t", "data: \t", &[]),
    ("data:", "data:", &[]),
    ("dat", "", &[]),
    ("id", "id", &[]),
    (": c", ": c", &[]),
    ("\u{feff}", "\u{feff}", &[]),
    ("id: 1\ndata: {\"id\":", "", &[(1, "byte 18 at /id: the document ends too early")]),
    ("data: [DON", "", &[(1, "byte 7: expected a value")]),
];

#[test]
fn streams_are_the_same_at_every_split() {
    let program = select_id();
    for (stream, expected, told) in STREAMS {
        let options = CallOptions::new();
        let (output, bad, report, error) = at_every_split(&program, &options, stream.as_bytes());
        assert_eq!(String::from_utf8_lossy(&output), *expected, "{stream:?}");
        let told: Vec<_> = told.iter().map(|(event, why)| (*event, (*why).to_owned())).collect();
        assert_eq!(bad, told, "{stream:?}");
        let first = told.first().map(|(event, why)| {
            let (place, why) = why.split_once(": ").unwrap();
            format!("{place}: event {event}: {why}")
        });
        assert_eq!(error, first, "{stream:?}");
        assert_eq!(report.error.is_some(), error.is_some(), "{stream:?}");
    }
}

#[test]
fn an_event_waits_in_memory_then_in_a_file_then_not_at_all() {
    let program = retain_id();
    let told =
        |bytes| format!("buffer limit of {bytes} bytes exceeded (limits `held` and `spill`)");
    // `true`: it passes.
    type Tries = &'static [(u64, bool)];
    let cases: &[(&str, u64, Tries)] = &[
        // The output and the other lines, each with its own limit.
        ("data: {\"id\":1}\n\n", 6, &[(0, false), (7, false), (8, true)]),
        ("id: 1\ndata: {\"id\":1}\n\n", 12, &[(7, false), (8, true)]),
        ("id: 12345\ndata: {\"id\":1}\n\n", 0, &[(9, false), (10, true)]),
        ("data: {\"id\":1}\nid: 12345\n\n", 0, &[(9, false), (10, true)]),
        ("data:\t{\"id\":1}\n\n", 5, &[(7, false), (8, true)]),
        ("data:\t{\"id\":1}\n\n", 0, &[(5, false)]),
        // Events that may have no document.
        ("id: 1\n\n", 0, &[(0, false), (5, false), (6, true)]),
        ("data\ndata: \n\n", 0, &[(0, false), (11, false), (12, true)]),
        ("data: [DONE]\n\n", 0, &[(0, false), (12, false), (13, true)]),
        (": comment\n\n\r\n", 0, &[(0, true)]),
    ];
    for (event, place, tries) in cases {
        for (capacity, passes) in *tries {
            let stream = format!("\n{event}: next\n\n");
            let outcome = at_every_split(&program, &limits(*capacity, 0), stream.as_bytes());
            let by_file = at_every_split(&program, &limits(0, *capacity), stream.as_bytes());
            assert_eq!(outcome, by_file);
            let why = format!("byte {}: {}", place + 1, told(*capacity));
            let bad = if *passes { vec![] } else { vec![(1, why)] };
            assert_eq!(outcome.1, bad, "{stream:?} in {capacity}");
            let bytes = if *passes { stream.len() } else { "\n: next\n\n".len() };
            assert_eq!(outcome.0.len(), bytes, "{stream:?} in {capacity}");
        }
    }
    // An incomplete event is not held any longer.
    let outcome = at_every_split(&program, &limits(0, 0), b"data: [DONE]");
    assert_eq!((outcome.0, outcome.1), (b"data: [DONE]".to_vec(), vec![]));
}

#[test]
fn a_document_does_not_wait() {
    let program = retain_id();
    let long = format!("data: \"{}\",\n", "x".repeat(1000)).repeat(1000);
    let stream = format!("data: {{\"x\": [\n{long}data: 0], \"id\": 1}}\n\n");
    let (output, bad, report, _) = run(&program, &limits(9, 0), stream.as_bytes());
    assert_eq!(
        (String::from_utf8(output).unwrap().as_str(), bad),
        ("data: {\"id\":1}\n\n", vec![])
    );
    assert!(report.original_bytes > 1_000_000);
}

#[test]
fn hostile_streams() {
    let program = select_id();
    let empty = "data:\n".repeat(1_000_000);
    let tight = limits(100, 0);
    let ended = [
        (format!("{empty}\n"), CallOptions::new(), empty.len() + 1, 0),
        (format!("{empty}data: {{\"id\":1}}\n\n"), CallOptions::new(), 16, 0),
        (format!("data: {{\"id\":1\n{empty}data: }}\n\n"), tight.clone(), 16, 0),
        (format!("{empty}\n"), tight.clone(), 0, 1),
        (format!("data: 1\n{}\n", "id: 1\r".repeat(1_000_000)), tight.clone(), 0, 1),
        ("x".repeat(1_000_000), tight.clone(), 0, 0),
        (format!("id:{}", "x".repeat(1_000_000)), tight.clone(), 0, 1),
        (":".repeat(1_000_000), tight.clone(), 1_000_000, 0),
        (format!("data: {}\n\n", "[".repeat(1_000_000)), tight.clone(), 0, 1),
        ("\r".repeat(1_000_000), tight.clone(), 1_000_000, 0),
        ("data: [DONE]\n\n".repeat(100_000), tight.clone(), 1_400_000, 0),
        ("data: x\n\n".repeat(10_000), tight, 0, 10_000),
    ];
    for (stream, options, bytes, bad) in ended {
        let whole = run(&program, &options, stream.as_bytes());
        let shown = &stream[..20];
        assert_eq!((whole.0.len(), whole.1.len()), (bytes, bad), "{shown:?}");
        let mut told = 0;
        let mut events = Events::new(&program.with_options(&options), Vec::new(), |_, _| told += 1);
        for byte in stream.as_bytes() {
            events.write(&[*byte]).unwrap();
        }
        _ = events.end();
        assert_eq!(invariant(events.report()), whole.2, "{shown:?}");
        assert!(*events.sink_mut() == whole.0, "{shown:?}");
        drop(events);
        assert_eq!(told, bad, "{shown:?}");
    }
}

#[test]
fn comments_between_events_and_whole_events_do_not_wait() {
    let program = select_id();
    let mut events = Events::new(&(&program).into(), Vec::new(), |_, _| {});
    for (chunk, left) in [
        (": pi", ": pi"),
        ("ng\n\n", "ng\n\n"),
        ("id: 1\n: held\n", ""),
        ("data: {\"id\":1}\r", ""),
        ("\r", "id: 1\n: held\ndata: {\"id\":1}\n\r"),
        ("\n", "\n"),
        (":", ":"),
    ] {
        events.write(chunk.as_bytes()).unwrap();
        let output = std::mem::take(events.sink_mut());
        assert_eq!(String::from_utf8_lossy(&output), left, "{chunk:?}");
    }
    assert_eq!(events.report().result_bytes, 8);
    assert!(events.end().is_ok());
    assert_eq!(events.write(b"x").unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(events.end().unwrap_err().kind(), ErrorKind::Failed);
}

#[test]
fn the_report_sums_and_tells_the_first_error() {
    let program = Program::compile(&Spec::new().select("id").max_items(1)).unwrap();
    let stream = b"id: 1\ndata: [{\"id\":1},{\"id\":2}]\n\ndata: [DONE]\n\ndata: [{\"x\":1}]\n\ndata: x\n\ndata: yy\n\n";
    let (_, bad, report, error) = at_every_split(&program, &CallOptions::new(), stream);
    assert_eq!(bad.iter().map(|(event, _)| *event).collect::<Vec<_>>(), [4, 5]);
    assert!(error.unwrap().contains(": event 4: "));
    assert_eq!(report.original_bytes, 19 + 9 + 1 + 2);
    assert_eq!(report.items_truncated_from, Some(3));
    assert!(report.fallback.unwrap().starts_with("event 3: "));
    let told = report.error.unwrap();
    assert!(told.message.starts_with("event 4: "));
    assert!(!report.applied);
}

#[test]
fn other_errors_are_placed_where_the_data_begins() {
    let spec = Spec::new().retain("/a").select("id").root("/a");
    let program = Program::compile(&spec).unwrap();
    let stream = b"data: {\"b\": 1,\ndata: \"a\": [{\"x\": 1}]}\n\n";
    let (output, bad, _, _) = at_every_split(&program, &CallOptions::new(), stream);
    assert_eq!((output, bad.len()), (vec![], 1));
    assert!(bad[0].1.starts_with("byte 6") && !bad[0].1.contains("of the event"), "{bad:?}");
}

#[cfg(feature = "content")]
#[test]
fn text_becomes_lines_of_data() {
    let program = Program::compile(&Spec::new().content(crate::content::Content::new())).unwrap();
    let stream = b"id: 1\r\ndata: <p>High water</p>\r\ndata: <p>at noon</p>\r\n\r\ndata: \r\n\r\ndata: [DONE]\r\n\r\n";
    let (output, bad, ..) = at_every_split(&program, &CallOptions::new(), stream);
    let expected = "id: 1\r\ndata: High water\r\ndata: \r\ndata: at noon\r\n\r\ndata: \r\n\r\ndata: [DONE]\r\n\r\n";
    assert_eq!((String::from_utf8(output).unwrap().as_str(), bad), (expected, vec![]));
}

#[test]
fn errors_of_the_reader_end_the_run() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    let reader = (&b"data: {\"id\":1}\n\ndata: {\"id\":2}\n"[..]).chain(Broken);
    let (output, bad, report, error) = run(&select_id(), &CallOptions::new(), reader);
    assert_eq!((output, bad), (b"data: {\"id\":1}\n\n".to_vec(), vec![]));
    assert!(error.unwrap().starts_with("cannot read the input"));
    assert_eq!(report.error.unwrap().kind, ErrorKind::Read);
}
