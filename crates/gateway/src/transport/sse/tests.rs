//! Events at every split, and with every line end.

use tamis_mcp::spool::{Spool, SpoolLimits};

use super::{EventData, EventLines, SseEvent, SseFramer};

const LIMITS: SpoolLimits = SpoolLimits { held: 1 << 20, spill: 0 };

/// Limits that keep only a byte in memory, so that all data is read back from a file.
const ON_DISK: SpoolLimits = SpoolLimits { held: 1, spill: 1 << 20 };

fn events(pieces: &[&[u8]], limits: SpoolLimits) -> Vec<SseEvent> {
    let mut framer = SseFramer::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = framer.next_event(&mut input) {
            events.push(event);
        }
        assert!(input.is_empty());
    }
    events
}

/// The messages of a stream; `None` for an event without one that clients see.
fn messages(pieces: &[&[u8]], limits: SpoolLimits) -> Vec<Option<String>> {
    let events = events(pieces, limits);
    // Empty lines are not events for clients. The LF after the CR of one is separate if the stream was split there.
    let events = events.iter().filter(|event| event.data.is_some() || !event.is_blank());
    let described = events.map(|event| match event.data() {
        EventData::Message(spool) => {
            Some(String::from_utf8(spool.to_vec(0..u64::MAX, 1 << 20).unwrap()).unwrap())
        }
        EventData::NotMessage => None,
        EventData::TooLong => Some(String::from("too long")),
    });
    described.collect()
}

impl SseEvent {
    fn is_blank(&self) -> bool {
        let blank = |lines: &EventLines| matches!(lines, EventLines::Raw(raw) if raw.trim_ascii().is_empty());
        self.lines.iter().all(blank)
    }
}

fn encoded(event: SseEvent) -> Vec<u8> {
    let mut encoder = event.encode();
    let mut all = Vec::new();
    while let Some(piece) = encoder.next_piece().unwrap() {
        all.extend_from_slice(&piece);
    }
    all
}

/// Calls `check` with the whole stream, with single bytes, and with every cut into two pieces.
fn at_every_split(stream: &[u8], mut check: impl FnMut(&[&[u8]])) {
    check(&[stream]);
    check(&stream.chunks(1).collect::<Vec<_>>());
    for cut in 0..=stream.len() {
        let (one, other) = stream.split_at(cut);
        check(&[one, other]);
    }
}

/// A stream and the events in it: the message of each, or `None`.
const STREAMS: &[(&str, &[Option<&str>])] = &[
    ("", &[]),
    ("data: {}\n\n", &[Some("{}")]),
    ("data:{}\r\n\r\n", &[Some("{}")]),
    ("data: {}\r\rdata: 2\r\r", &[Some("{}"), Some("2")]),
    // An event ends with the stream only if its empty line was read.
    ("data: whole\n\ndata: part\n", &[Some("whole")]),
    ("data: whole\n\ndata: {\"complete\":1}", &[Some("whole")]),
    // Lines are joined by LF, however they end.
    ("data: a\ndata: b\r\ndata:c\rdata\ndata:  d\n\n", &[Some("a\nb\nc\n\n d")]),
    // Only CR and LF end lines.
    ("data: a\u{85}b\u{2028}c\u{b}d\u{c}e\n\n", &[Some("a\u{85}b\u{2028}c\u{b}d\u{c}e")]),
    // A priming event: an id and no data.
    ("id: 1\ndata:\n\ndata: x\n\n", &[None, Some("x")]),
    ("id: 1\ndata\n\n", &[None]),
    ("id: 7\nretry: 500\n\n", &[None]),
    ("event: message\nid: 3\ndata: x\n\n", &[Some("x")]),
    ("event\ndata: x\n\n", &[Some("x")]),
    ("event:endpoint\ndata: /messages\n\n", &[None]),
    ("event: endpoint\nevent: message\ndata: x\n\n", &[Some("x")]),
    // Comments between events are returned at once; those inside are kept in place.
    (": ping\n\n: ping\r\ndata: x\n: inside\ndata: y\n\n", &[None, None, Some("x\ny")]),
    ("unknown: 1\ndata: x\ndata2: y\n datas: z\nda\n\n", &[Some("x")]),
    ("\u{feff}data: x\n\n", &[Some("x")]),
    ("\u{feff}\n\u{feff}data: x\n\n", &[None, None]),
    ("\n\n\r\r\n\r\n", &[]),
    ("data: x\r\n\r\n\r\n", &[Some("x")]),
    ("data: x\r\r\n\ndata: y\r\n\r\ndata: z\n\r", &[Some("x"), Some("y"), Some("z")]),
    ("data: \u{feff}x\n\n", &[Some("\u{feff}x")]),
];

#[test]
fn events_are_the_same_at_every_split() {
    for (stream, expected) in STREAMS {
        let expected: Vec<_> = expected.iter().map(|data| data.map(String::from)).collect();
        for limits in [LIMITS, ON_DISK] {
            at_every_split(stream.as_bytes(), |pieces| {
                assert_eq!(messages(pieces, limits), expected, "{stream:?} {pieces:?}");
            });
        }
    }
}

#[test]
fn an_event_is_encoded_as_it_was_read() {
    for (stream, _) in STREAMS {
        for limits in [LIMITS, ON_DISK] {
            at_every_split(stream.as_bytes(), |pieces| {
                let written: Vec<u8> =
                    events(pieces, limits).into_iter().flat_map(encoded).collect();
                // The part of an event without its end is missing, and nothing else.
                assert!(stream.as_bytes().starts_with(&written), "{stream:?} {pieces:?}");
                let rest = stream.get(written.len()..).unwrap();
                let without = rest.trim_start_matches('\n');
                assert!(without.is_empty() || without.starts_with("data: "), "{stream:?} {rest:?}");
            });
        }
    }
}

/// A stream, and what it becomes with the data `new`, and without data.
const CHANGED: &[(&str, &str, &str)] = &[
    ("data: x\n\n", "data: new\n\n", ""),
    (
        ": c\nid: 1\ndata: x\ndata: y\nretry: 5\ndata: z\n\n",
        ": c\nid: 1\ndata: new\nretry: 5\n\n",
        ": c\nid: 1\nretry: 5\n\n",
    ),
    (
        "event: message\r\ndata:x\r\nid: 4\r\n\r\n",
        "event: message\r\ndata:new\r\nid: 4\r\n\r\n",
        "event: message\r\nid: 4\r\n\r\n",
    ),
    ("data\ndata: x\n\n", "data: new\n\n", ""),
    ("data:x\rfoo\r\r", "data:new\rfoo\r\r", ""),
];

#[test]
fn changed_data_is_one_line_in_its_place() {
    for (stream, with, without) in CHANGED {
        at_every_split(stream.as_bytes(), |pieces| {
            // A comment before the event is an event of its own.
            let changed = |change: &dyn Fn(SseEvent) -> SseEvent| {
                let events = events(pieces, LIMITS).into_iter();
                let changed = events.map(|event| match event.data() {
                    EventData::Message(_) => change(event),
                    _ => event,
                });
                String::from_utf8(changed.flat_map(encoded).collect()).unwrap()
            };
            let new = || Spool::from_vec(b"new".to_vec());
            assert_eq!(changed(&|event| event.with_data(new())), *with, "{stream:?}");
            assert_eq!(changed(&SseEvent::without_data), *without, "{stream:?}");
        });
    }
}

#[test]
fn data_beyond_the_limits_is_one_event_and_the_next_is_read() {
    let stream = b"id: 1\ndata: 123456789\ndata: 1\n\ndata: 1234567\n\ndata: 1234\ndata: 5678\n\n";
    let limits = SpoolLimits { held: 4, spill: 4 };
    let expected = [Some("too long"), Some("1234567"), Some("too long")];
    let expected: Vec<_> = expected.iter().map(|data| data.map(String::from)).collect();
    at_every_split(stream, |pieces| {
        assert_eq!(messages(pieces, limits), expected, "{pieces:?}");
        let first = events(pieces, limits).into_iter().next().unwrap();
        let (_, rest) = first.into_scan().unwrap();
        assert_eq!(encoded(rest), b"id: 1\n\n");
    });
}

#[test]
fn long_data_is_written_in_pieces() {
    let long = "x".repeat(200_000);
    for stream in [format!("data: {long}\n\n"), format!("data: {long}\r\ndata: {long}\r\n\r\n")] {
        for limits in [LIMITS, SpoolLimits { held: 70_000, spill: 1 << 20 }] {
            let mut events = events(&[stream.as_bytes()], limits);
            assert_eq!(events.len(), 1);
            let mut encoder = events.remove(0).encode();
            let mut written = Vec::new();
            while let Some(piece) = encoder.next_piece().unwrap() {
                assert!(piece.len() <= 3 * super::encoder::PIECE);
                written.extend_from_slice(&piece);
            }
            assert!(written == stream.as_bytes(), "{} {}", written.len(), stream.len());
        }
    }
}

#[test]
fn other_fields_are_bounded() {
    let name = "x".repeat(super::OTHER);
    let stream = format!("{name}y: 1\n{name}: 2\ndata: x\n\ndata: next\n\n");
    let found = messages(&[stream.as_bytes()], LIMITS);
    assert_eq!(found, [Some(String::from("too long")), Some(String::from("next"))]);
    let mut groups = String::new();
    for _ in 0..super::GROUPS {
        groups.push_str("data: x\ndata:x\n");
    }
    groups.push('\n');
    assert_eq!(messages(&[groups.as_bytes()], LIMITS), [Some(String::from("too long"))]);
}

#[test]
fn only_the_fields_of_the_protocol_are_left() {
    let cases = [
        ("data: 1\n\n", "data: 1\n\n"),
        (
            "\u{feff}event: message\r\nid: 7\nretry: 5\ndata: 1\n\n",
            "event: message\r\nid: 7\nretry: 5\ndata: 1\n\n",
        ),
        (": CANARY\n", ":\n"),
        ("event: result\nid: 7\ndata: CANARY\n\n", "id: 7\n\n"),
        ("event: message \ndata: CANARY\n\n", "\n"),
        ("event: CANARY\nevent: message\ndata: 1\n\n", "event: message\ndata: 1\n\n"),
        ("DATA: CANARY\rdata : CANARY\rdata: 1\rCANARY\r\r\n", "data: 1\r\r\n"),
        ("data: 1\n:CANARY\nretry: CANARY\n\n", "data: 1\n:\n\n"),
        ("\n\u{feff}data: CANARY\n\n", "\n\n"),
    ];
    for (stream, expected) in cases {
        at_every_split(stream.as_bytes(), |pieces| {
            let events = events(pieces, LIMITS).into_iter();
            let left: Vec<u8> =
                events.flat_map(|event| encoded(event.without_other_fields())).collect();
            assert_eq!(String::from_utf8(left).unwrap(), expected, "{stream:?}");
        });
    }
}
