//! A model of event streams, which has the whole stream, splits it into lines, and filters each document as a slice.

use tamis_testkit::effort::share;

use super::Pieces;
use super::events::run;
use crate::spec::{OnError, PatchOp, Whitespace};
use crate::{CallOptions, ErrorKind, FailedRun, Program, Spec, filter_events, filter_slice};

/// Lines of a stream, without and with their ends.
fn lines_of(mut stream: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut lines = Vec::new();
    while !stream.is_empty() {
        let length = stream.iter().position(|byte| b"\r\n".contains(byte));
        let (text, rest) = stream.split_at(length.unwrap_or(stream.len()));
        let end = if rest.starts_with(b"\r\n") { 2 } else { rest.len().min(1) };
        lines.push((text, &rest[..end]));
        stream = &rest[end..];
    }
    lines
}

#[derive(Default)]
struct Model {
    output: Vec<u8>,
    bad: Vec<(u64, Option<u64>, ErrorKind)>,
    original: u64,
    result: u64,
    number: u64,
}

impl Model {
    fn of(program: &Program, stream: &[u8]) -> Self {
        let mut model = Self::default();
        let inside = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
        let mut offset = stream.len() - inside.len();
        model.output.extend_from_slice(&stream[..offset]);
        let mut event = Vec::new();
        for (text, end) in lines_of(inside) {
            let name = text.split(|byte| *byte == b':').next().unwrap();
            if ![&b""[..], b"data", b"event", b"id", b"retry"].contains(&name) {
                // Removed.
            } else if event.is_empty() && (text.is_empty() || text.starts_with(b":")) {
                model.output.extend([text, end].concat());
            } else if text.is_empty() {
                model.event(program, &event, end);
                event.clear();
            } else {
                event.push((offset, text, end));
            }
            offset += text.len() + end.len();
        }
        if !event.is_empty() {
            model.event(program, &event, b"");
        }
        model
    }

    /// `lines` have offsets, texts and ends.
    fn event(&mut self, program: &Program, lines: &[(usize, &[u8], &[u8])], end: &[u8]) {
        self.number += 1;
        let blank = |last: &[u8]| if last == b"\r" && end == b"\n" { b"\r" } else { end };
        let line_end = lines[0].2;
        let line_end = if line_end.is_empty() { b"\n" } else { line_end };
        let (mut values, mut others) = (Vec::new(), Vec::new());
        let mut begin = None;
        for (offset, text, end) in lines {
            match text.strip_prefix(b"data") {
                Some(rest) if rest.is_empty() || rest[0] == b':' => {
                    let value = rest.strip_prefix(b":").unwrap_or(rest);
                    let value = value.strip_prefix(b" ").unwrap_or(value);
                    begin.get_or_insert(offset + text.len() - value.len());
                    values.push(value);
                }
                _ => others.extend([*text, if end.is_empty() { line_end } else { end }].concat()),
            }
        }
        let data = values.join(&b'\n');
        if data.trim_ascii().is_empty() || data == b"[DONE]" {
            let raw: Vec<u8> =
                lines.iter().flat_map(|(_, text, end)| [*text, end].concat()).collect();
            self.output.extend(raw);
            self.output.extend(blank(lines.last().unwrap().2));
            return;
        }
        match filter_slice(program, &data) {
            Ok((filtered, report)) => {
                self.output.extend(others);
                for line in filtered.split(|byte| *byte == b'\n') {
                    self.output.extend([b"data: ", line, line_end].concat());
                }
                self.output.extend(blank(line_end));
                self.original += report.original_bytes;
                self.result += report.result_bytes;
            }
            Err(FailedRun { error, .. }) => {
                let at = error.offset().unwrap_or(0);
                let begin = begin.unwrap() as u64;
                let within = at <= values[0].len() as u64;
                let offset = if within { begin + at } else { begin };
                self.bad.push((self.number, Some(offset), error.kind()));
                self.original += data.len() as u64;
            }
        }
    }
}

/// Returns the events that a client dispatches according to WHATWG HTML §9.2: types and data.
fn dispatched(stream: &[u8]) -> Vec<[Vec<u8>; 2]> {
    let inside = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let mut events = Vec::new();
    let (mut kind, mut data) = (Vec::new(), None::<Vec<u8>>);
    for (text, _) in lines_of(inside) {
        if text.is_empty() {
            let kind = std::mem::take(&mut kind);
            events.extend(data.take().map(|data| [kind, data]));
            continue;
        }
        let mut halves = text.splitn(2, |byte| *byte == b':');
        let (name, value) = (halves.next().unwrap(), halves.next().unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => kind = value.to_vec(),
            b"data" => match &mut data {
                Some(data) => data.extend([b"\n", value].concat()),
                None => data = Some(value.to_vec()),
            },
            _ => {}
        }
    }
    events
}

/// A client sees the same events in the output as in the input, filtered, if they are good and complete.
fn assert_same_events(program: &Program, stream: &[u8], output: &[u8]) {
    let filtered = |data: &[u8]| {
        if data.trim_ascii().is_empty() || data == b"[DONE]" {
            return Some(data.to_vec());
        }
        Some(filter_slice(program, data).ok()?.0)
    };
    let expected = dispatched(stream).into_iter();
    let expected = expected.filter_map(|[kind, data]| Some([kind, filtered(&data)?]));
    let shown = String::from_utf8_lossy(stream);
    assert_eq!(dispatched(output), expected.collect::<Vec<_>>(), "{shown:?}");
}

#[test]
fn streams_are_what_a_model_makes_of_them() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let parts = [
        "data: {\"id\":1,\"x\":[2]}",
        "data: {\"id\":",
        "data:2}",
        "data",
        "data:",
        "data:  ",
        "data: \t",
        "data: [DONE]",
        "data: [",
        "data: ]",
        "data: [D",
        "id: 3",
        ": c",
        "da",
        "datax: 1",
        "event",
        "events: 1",
        "even",
        "retry: 5",
        "{\"id\":1}",
        "data: \"a",
        "b\"",
        " ",
        "data:{\"x\":\"\u{e9}\"}",
        "\u{feff}",
        "d",
        ":",
        "data: {\"id\" :",
        "data:  \t 4",
        "data:,",
        "data:}",
    ];
    let programs = [
        Spec::new().select("id").root("object"),
        Spec::new().whitespace(Whitespace::Keep),
        Spec::new().select("id").root("object").on_error(OnError::Closed),
        Spec::new().patch(PatchOp::remove("/x")),
    ]
    .map(|spec| Program::compile(&spec).unwrap());
    let options = CallOptions::new();
    let (mut good, mut bad_ones) = (0, 0);
    let rounds = share(12_000) as usize;
    for round in 0..rounds {
        let mut stream = String::new();
        let usual = ["\n", "\r\n", "\r"][random(3)];
        for _ in 0..random(10) {
            if random(4) > 0 {
                stream.push_str(parts[random(parts.len())]);
            }
            let mixed = ["\n", "\r", "\r\n", "\n\n", ""];
            stream.push_str(if random(4) == 0 { mixed[random(5)] } else { usual });
        }
        let program = &programs[round % programs.len()];
        let model = Model::of(program, stream.as_bytes());
        let (mut output, mut bad) = (Vec::new(), Vec::new());
        let (report, result) = FailedRun::split(filter_events(
            program.with_options(&options),
            stream.as_bytes(),
            &mut output,
            |event, error| {
                bad.push((event, error.offset(), error.kind()));
            },
        ));
        let shown = |output: &[u8]| String::from_utf8_lossy(output).into_owned();
        assert_eq!(shown(&output), shown(&model.output), "{stream:?}");
        assert_eq!(bad, model.bad, "{stream:?}");
        assert_same_events(program, stream.as_bytes(), &output);
        assert_eq!(result.is_err(), !bad.is_empty());
        let bytes = (report.original_bytes, report.result_bytes);
        assert_eq!(bytes, (model.original, model.result), "{stream:?}");
        good += u64::from(model.result > 0);
        bad_ones += bad.len();
        let whole = run(program, &options, stream.as_bytes());
        for sizes in [[1, 1], [random(8), 1 + random(8)]] {
            let reader = Pieces::new(stream.as_bytes(), &sizes);
            assert_eq!(run(program, &options, reader), whole, "{stream:?} in {sizes:?}");
        }
    }
    assert!(good as usize > rounds / 12 && bad_ones > rounds / 12, "{good} and {bad_ones}");
}
