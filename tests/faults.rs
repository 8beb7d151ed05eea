//! What is around a filter fails: readers and writers, at every call, in every way; limits of nothing. Never a wrong success.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test states what must hold, also in its helpers"
)]

use std::io::{Error as IoError, ErrorKind as IoKind, Read, Write};

use tamis::{
    Budget, CallOptions, Error, ErrorKind, Fault, Limits, OnError, Operation, Program, Prune,
    PruneProgram, Spec, Tee, filter_events, filter_file, filter_ndjson, filter_reader,
    filter_slice_with, prune_reader,
};

/// What goes wrong at one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// It fails, once and for all.
    Fails(IoKind),
    /// It was interrupted, and goes on.
    Interrupted,
    /// It does less than it was asked for.
    Short,
    /// It takes nothing; for a reader that is the end of the input, in the middle.
    Nothing,
}

const TROUBLES: [Trouble; 6] = [
    Trouble::Fails(IoKind::BrokenPipe),
    Trouble::Fails(IoKind::WouldBlock),
    Trouble::Fails(IoKind::Other),
    Trouble::Interrupted,
    Trouble::Short,
    Trouble::Nothing,
];

/// A reader or a writer that is in trouble at one of its calls.
struct Troubled<T> {
    inner: T,
    trouble: Trouble,
    /// Calls until then.
    calls: usize,
    /// Bytes that a call moves at most.
    size: usize,
    met: bool,
    over: bool,
}

impl<T> Troubled<T> {
    fn new(inner: T, trouble: Trouble, calls: usize, size: usize) -> Self {
        Self { inner, trouble, calls, size, met: false, over: false }
    }

    /// Whether this call is the one, or behind one that fails.
    fn meets(&mut self) -> bool {
        let now = self.calls == 0;
        self.calls = self.calls.wrapping_sub(1);
        self.met |= now;
        self.over |= now && matches!(self.trouble, Trouble::Fails(_) | Trouble::Nothing);
        now || self.over
    }

    /// How many bytes the call moves, or its error.
    fn call(&mut self, asked: usize) -> std::io::Result<usize> {
        let usual = asked.min(self.size);
        if !self.meets() {
            return Ok(usual);
        }
        match self.trouble {
            Trouble::Fails(kind) => Err(kind.into()),
            Trouble::Interrupted => Err(IoKind::Interrupted.into()),
            Trouble::Short => Ok(usual.min(1)),
            Trouble::Nothing => Ok(0),
        }
    }
}

impl Read for Troubled<&[u8]> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.call(buffer.len().min(self.inner.len()))?;
        self.inner.read(&mut buffer[..count])
    }
}

impl Write for Troubled<&mut Vec<u8>> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.call(bytes.len())?;
        self.inner.write(&bytes[..count])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let met = self.meets();
        match self.trouble {
            Trouble::Fails(kind) if met => Err(IoError::from(kind)),
            _ => Ok(()),
        }
    }
}

fn document() -> Vec<u8> {
    let item =
        |number: usize| format!(r#"{{"id": {number}, "x": [1.10, "text \u00e9"], "y": null}}"#);
    let items: Vec<String> = (0..40).map(item).collect();
    format!(r#"{{"total": 40, "items": [{}]}}"#, items.join(", ")).into_bytes()
}

fn programs() -> Vec<(&'static str, Program)> {
    let specs = [
        ("minified", Spec::new()),
        ("select", Spec::new().select("id").select("x[]")),
        ("stopped early", Spec::new().select("id").max_items(3).stop_early(true)),
        ("closed", Spec::new().select("zz").on_error(OnError::Closed)),
        ("patches", Spec::new().patch(Operation::remove("/total")).patch(Operation::add("/a", 1))),
        ("budget", Spec::new().budget(Budget::Bytes(300))),
    ];
    let compile = |(name, spec): (_, Spec)| (name, Program::compile(&spec).expect("it compiles"));
    specs.into_iter().map(compile).collect()
}

/// What a driver did in trouble: whether the trouble was met, the result, and what was written.
type Run = (bool, Result<(), Error>, Vec<u8>);

/// Tries every trouble at every call. `right` is what comes out without any.
fn try_all(name: &str, right: &Result<Vec<u8>, ErrorKind>, run: impl Fn(Trouble, usize) -> Run) {
    for trouble in TROUBLES {
        for calls in 0.. {
            let said = format!("{name}: {trouble:?} at call {calls}");
            let (met, result, output) = run(trouble, calls);
            match (&result, right) {
                (Ok(()), Ok(right)) => {
                    assert!(output == *right, "{said}: a wrong success");
                    let failed = met && matches!(trouble, Trouble::Fails(_));
                    assert!(!failed, "{said}: it was overlooked");
                }
                (Ok(()), Err(_)) => panic!("{said}: a wrong success"),
                (Err(error), right) => {
                    assert!(right.is_err() || met, "{said}: {error}");
                    let whole = right.as_deref().unwrap_or_default();
                    assert!(
                        right.is_err() || whole.starts_with(&output),
                        "{said}: not a beginning"
                    );
                    let wanted = match trouble {
                        Trouble::Fails(_) | Trouble::Nothing => true,
                        Trouble::Interrupted | Trouble::Short => right.is_err(),
                    };
                    assert!(wanted, "{said}: {error}");
                }
            }
            if !met {
                assert!(calls > 0, "{said}: nothing was tried");
                break;
            }
        }
    }
}

#[test]
fn readers_in_trouble() {
    let document = document();
    for (name, program) in programs() {
        let right = filter_slice_with(&program, &CallOptions::new(), &document);
        let right = right.map(|(output, _)| output).map_err(|error| error.kind());
        try_all(name, &right, |trouble, calls| {
            let mut output = Vec::new();
            let mut reader = Troubled::new(&document[..], trouble, calls, 100);
            let result = filter_reader(&program, &mut reader, &mut output).map(|_| ());
            if let Err(error) = &result
                && reader.met
                && matches!(trouble, Trouble::Fails(_))
            {
                assert_eq!((error.kind(), error.fault()), (ErrorKind::Read, Fault::Input));
            }
            (reader.met, result, output)
        });
    }
}

#[test]
fn writers_in_trouble() {
    let document = document();
    for (name, program) in programs() {
        let right = filter_slice_with(&program, &CallOptions::new(), &document);
        let right = right.map(|(output, _)| output).map_err(|error| error.kind());
        try_all(name, &right, |trouble, calls| {
            let mut output = Vec::new();
            let mut writer = Troubled::new(&mut output, trouble, calls, 50);
            let reader = Troubled::new(&document[..], Trouble::Short, usize::MAX, 100);
            let result = filter_reader(&program, reader, &mut writer).map(|_| ());
            let met = writer.met;
            (met, result, output)
        });
    }
}

#[test]
fn records_in_trouble() {
    let lines = b"{\"id\": 1, \"x\": 2}\n{\"id\": 2}\n\n{\"id\": 3, \"y\": [1]}\n".repeat(5);
    let events = b"event: a\ndata: {\"id\": 1,\ndata: \"x\": 2}\n\n: ping\n\ndata: {\"id\": 2}\n\n"
        .repeat(5);
    let program = Program::compile(&Spec::new().select("id")).expect("it compiles");
    let options = CallOptions::new();
    type Drive = fn(&Program, &CallOptions, &mut dyn Read, &mut dyn Write) -> Result<(), Error>;
    let ndjson: Drive = |program, options, reader, writer| {
        filter_ndjson(program, options, reader, writer, |_, _| {}).1
    };
    let event: Drive = |program, options, reader, writer| {
        filter_events(program, options, reader, writer, |_, _| {}).1
    };
    for (name, drive, stream) in [("lines", ndjson, &lines), ("events", event, &events)] {
        let mut right = Vec::new();
        drive(&program, &options, &mut &stream[..], &mut right).expect("nothing is wrong");
        let right = Ok(right);
        try_all(name, &right, |trouble, calls| {
            let mut output = Vec::new();
            let mut writer = Troubled::new(&mut output, trouble, calls, 9);
            let mut reader = Troubled::new(&stream[..], Trouble::Short, usize::MAX, 31);
            let result = drive(&program, &options, &mut reader, &mut writer);
            (writer.met, result, output)
        });
        for trouble in [Trouble::Fails(IoKind::Other), Trouble::Interrupted, Trouble::Short] {
            for calls in 0..stream.len() / 31 {
                let mut output = Vec::new();
                let mut reader = Troubled::new(&stream[..], trouble, calls, 31);
                let result = drive(&program, &options, &mut reader, &mut output);
                assert!(right.as_ref().is_ok_and(|right| right.starts_with(&output)));
                assert_eq!(
                    result.is_err(),
                    matches!(trouble, Trouble::Fails(_)),
                    "{name}: {trouble:?}"
                );
            }
        }
    }
}

#[test]
fn histories_in_trouble() {
    let history =
        br#"[{"type":"function_call_output","call_id":"c","output":"long long"},{"role":"user"}]"#;
    let program = PruneProgram::compile(&Prune::new().keep_turns(1)).expect("it compiles");
    let mut right = Vec::new();
    prune_reader(&program, &history[..], &mut right).expect("nothing is wrong");
    let right = Ok(right);
    try_all("prune, reader", &right, |trouble, calls| {
        let mut output = Vec::new();
        let mut reader = Troubled::new(&history[..], trouble, calls, 10);
        let result = prune_reader(&program, &mut reader, &mut output).map(|_| ());
        (reader.met, result, output)
    });
    try_all("prune, writer", &right, |trouble, calls| {
        let mut output = Vec::new();
        let mut writer = Troubled::new(&mut output, trouble, calls, 10);
        let result = prune_reader(&program, &history[..], &mut writer).map(|_| ());
        (writer.met, result, output)
    });
}

#[test]
fn a_record_in_trouble_fails_the_run() {
    let document = document();
    let program = Program::compile(&Spec::new().select("id")).expect("it compiles");
    let right = filter_slice_with(&program, &CallOptions::new(), &document).expect("it passes").0;
    try_all("tee", &Ok(right), |trouble, calls| {
        let (mut output, mut record) = (Vec::new(), Vec::new());
        let mut writer = Troubled::new(&mut record, trouble, calls, 50);
        let reader = Troubled::new(&document[..], Trouble::Short, usize::MAX, 100);
        let result =
            filter_reader(&program, Tee::new(reader, &mut writer), &mut output).map(|_| ());
        let met = writer.met;
        if result.is_ok() {
            assert!(record == document, "the record is not the document");
        }
        (met, result, output)
    });
}

/// With limits of 0 and 1 a run gives what it gives without, or says which limit it met.
#[test]
fn limits_of_nothing() {
    let document = document();
    let mut limited = 0;
    for (name, program) in programs() {
        let right = filter_slice_with(&program, &CallOptions::new(), &document);
        let right = right.map(|(output, _)| output).map_err(|error| error.kind());
        for bound in [0, 1] {
            let small = usize::try_from(bound).expect("it is small");
            let all = [
                ("depth", Limits::new().with_depth(small)),
                ("key", Limits::new().with_key(small)),
                ("held", Limits::new().with_held(bound).with_spill(0)),
                ("spill", Limits::new().with_held(bound).with_spill(bound)),
                ("item", Limits::new().with_item(bound)),
                ("line", Limits::new().with_line(small)),
                (
                    "all",
                    Limits::new()
                        .with_depth(small)
                        .with_key(small)
                        .with_held(bound)
                        .with_spill(bound)
                        .with_item(bound)
                        .with_line(small),
                ),
            ];
            for (limit, limits) in all {
                let options = CallOptions::new().limits(limits);
                let said = format!("{name}, {limit} {bound}");
                let mut file = tempfile::tempfile().expect("a file");
                file.write_all(&document).expect("it takes the document");
                std::io::Seek::rewind(&mut file).expect("it goes back");
                let mut output = Vec::new();
                let (_, filed) =
                    filter_file(&program, &options, file, &mut output, |reader| reader);
                let sliced = filter_slice_with(&program, &options, &document);
                let mut filter = tamis::Filter::with_options(&program, &options, Vec::new());
                let fed = document.chunks(7).try_for_each(|chunk| filter.write(chunk));
                let pushed = fed.and_then(|()| filter.end()).map(|_| filter.into_sink());
                for result in [filed.map(|()| output), sliced.map(|(output, _)| output), pushed] {
                    match (result.map_err(|error| error.kind()), &right) {
                        (Ok(output), Ok(right)) => {
                            assert!(output == *right, "{said}: a wrong success")
                        }
                        (Ok(_), Err(_)) => panic!("{said}: a wrong success"),
                        (Err(ErrorKind::Limit), _) => limited += 1,
                        (Err(kind), right) => assert_eq!(Err(kind), *right, "{said}"),
                    }
                }
            }
        }
    }
    assert!(limited > 50, "{limited} limits were met");
}
