//! Every driver that blocks, over a document that is its own: one shape, so that all meet the same trouble.

use std::fs::File;
use std::io::{Cursor, ErrorKind as IoKind, Read, Seek, Write};

use serde_json::Value as Json;
use tamis::spec::{Budget, OnError, PatchOp};
use tamis::text::{TextFilter, TextProgram, TextSpec};
use tamis::{
    Error, FailedRun, FileReader, Filter, Limits, PrettyWriter, Program, Report, RunResult, Spec,
    TeeReader, WriteSink, filter_documents, filter_events, filter_file, filter_lenient,
    filter_ndjson, filter_reader,
};
use tamis_chat::{PruneProgram, PruneSpec, prune_file, prune_reader};
use tamis_command::{CommandLine, OutputFilterRegistry};

/// The input of a driver.
pub(crate) type Source = Box<dyn Read>;

/// Puts another reader around the driver's.
pub(crate) type Around<'a> = &'a dyn Fn(Source) -> Source;

/// The result and the report of a run.
pub(crate) type Ended = (Result<(), Error>, Json);

type Drive = Box<dyn Fn(&Limits, &[u8], Around<'_>, &mut dyn Write) -> Ended>;

pub(crate) struct Driver {
    pub(crate) name: String,
    pub(crate) input: Vec<u8>,
    /// Whether the input says where it ends, so that one that is cut off is an error.
    pub(crate) ends: bool,
    drive: Drive,
}

impl Driver {
    pub(crate) fn new(
        name: impl Into<String>,
        input: impl Into<Vec<u8>>,
        ends: bool,
        drive: impl Fn(&Limits, &[u8], Around<'_>, &mut dyn Write) -> Ended + 'static,
    ) -> Self {
        Self { name: name.into(), input: input.into(), ends, drive: Box::new(drive) }
    }

    pub(crate) fn run(&self, around: Around<'_>, writer: &mut dyn Write) -> Ended {
        self.run_within(&Limits::new(), around, writer)
    }

    pub(crate) fn run_within(
        &self,
        limits: &Limits,
        around: Around<'_>,
        writer: &mut dyn Write,
    ) -> Ended {
        (self.drive)(limits, &self.input, around, writer)
    }
}

/// As it is.
pub(crate) fn plain(reader: Source) -> Source {
    reader
}

pub(crate) fn source(input: &[u8]) -> Source {
    Box::new(Cursor::new(input.to_vec()))
}

/// A report, without what depends on how the input came.
pub(crate) fn told(report: &impl serde::Serialize) -> Json {
    let mut json = serde_json::to_value(report).expect("a report is JSON");
    if let Some(keys) = json.as_object_mut() {
        keys.remove("plan");
        keys.remove("held_peak_bytes");
    }
    json
}

/// A file, and a reader around it.
pub(crate) struct AroundFile(File, Source);

impl AroundFile {
    pub(crate) fn new(file: File, around: impl FnOnce(Source) -> Source) -> Self {
        let same = file.try_clone().expect("the file opens again");
        Self(file, around(Box::new(same)))
    }
}

impl Read for AroundFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1.read(buffer)
    }
}

impl FileReader for AroundFile {
    fn file(&mut self) -> &mut File {
        &mut self.0
    }
}

fn file(input: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(input).expect("it takes the document");
    file.rewind().expect("it goes back");
    file
}

pub(crate) fn document() -> Vec<u8> {
    let item =
        |number: usize| format!(r#"{{"id": {number}, "x": [1.10, "text \u00e9"], "y": null}}"#);
    let items: Vec<String> = (0..40).map(item).collect();
    format!(r#"{{"total": 40, "items": [{}]}}"#, items.join(", ")).into_bytes()
}

pub(crate) fn compiled(spec: &Spec) -> Program {
    Program::compile(spec).expect("it compiles")
}

pub(crate) fn programs() -> Vec<(&'static str, Program)> {
    let specs = [
        ("minified", Spec::new()),
        ("select", Spec::new().select("id").select("x[]")),
        ("stopped early", Spec::new().select("id").max_items(3).stop_early(true)),
        ("closed", Spec::new().select("zz").on_error(OnError::Closed)),
        ("patches", Spec::new().patch(PatchOp::remove("/total")).patch(PatchOp::add("/a", 1))),
        ("budget", Spec::new().budget(Budget::Bytes(300))),
    ];
    specs.into_iter().map(|(name, spec)| (name, compiled(&spec))).collect()
}

pub(crate) const LINES: &[u8] =
    b"{\"id\": 1, \"x\": 2}\n{\"id\": 2}\r\n\n{\"id\": 3, \"y\": [1]}\n{\"id\": {\"id\": 4}}\n";
pub(crate) const EVENTS: &[u8] =
    b"event: a\ndata: {\"id\": 1,\ndata: \"x\": 2}\n\n: ping\n\ndata: {\"id\": 2}\r\n\r\ndata: [DONE]\n\n";
/// Returns a chat with a result that is pruned.
pub(crate) fn history() -> Vec<u8> {
    let output = "two words ".repeat(150);
    let call = r#"{"type":"function_call","call_id":"c","name":"grep"}"#;
    let result = r#"{"type":"function_call_output","call_id":"c","output":"#;
    format!(r#"[{call}, {result}"{output}"}}, {{"role":"user","content":"so?"}}]"#).into_bytes()
}

pub(crate) const TEXT: &[u8] =
    b"secret 1\nready\nready\nready\n\x1b[1mdone\x1b[0m\nsecret 2\n10 %\r100 %\nlast";

/// The output of a command whose filter removes lines of it.
pub(crate) fn build() -> Vec<u8> {
    let mut output = String::new();
    for number in 0..60 {
        output.push_str(&format!("   Compiling crate{number} v0.1.{number}\n"));
    }
    output.push_str("    Finished `dev` profile [unoptimized] target(s) in 2.10s\n");
    output.into_bytes()
}

/// One program over documents.
pub(crate) fn json(name: &str, program: &Program, input: &[u8]) -> Vec<Driver> {
    let (one, two) = (program.clone(), program.clone());
    let reader =
        move |limits: &Limits, input: &[u8], around: Around<'_>, writer: &mut dyn Write| {
            let reader = around(source(input));
            // With default limits, use the function that most callers use.
            if *limits == Limits::new() {
                return driven(filter_reader(&one, reader, writer));
            }
            let options = tamis_testkit::call_options().with_limits(limits.clone());
            let mut filter = Filter::new(one.with_options(&options), WriteSink::new(writer));
            reported(filter.read_from(reader))
        };
    let from_file =
        move |limits: &Limits, input: &[u8], around: Around<'_>, writer: &mut dyn Write| {
            let options = tamis_testkit::call_options().with_limits(limits.clone());
            let (report, result) = FailedRun::split(filter_file(
                two.with_options(&options),
                AroundFile::new(file(input), around),
                writer,
            ));
            (result, told(&report))
        };
    vec![
        Driver::new(format!("{name}, reader"), input, true, reader),
        Driver::new(format!("{name}, file"), input, true, from_file),
    ]
}

fn driven(result: RunResult<Report>) -> Ended {
    let (report, result) = FailedRun::split(result);
    (result, told(&report))
}

fn reported(result: Result<Report, Error>) -> Ended {
    match result {
        Ok(report) => (Ok(()), told(&report)),
        Err(error) => (Err(error), Json::Null),
    }
}

pub(crate) fn records(name: &str, program: &Program, lines: &[u8], events: &[u8]) -> Vec<Driver> {
    let (one, two, three) = (program.clone(), program.clone(), program.clone());
    vec![
        Driver::new(
            format!("{name}, lines"),
            lines,
            false,
            move |limits, input, around, writer| {
                let options = tamis_testkit::call_options().with_limits(limits.clone());
                let reader = around(source(input));
                let (report, result) = FailedRun::split(filter_ndjson(
                    one.with_options(&options),
                    reader,
                    writer,
                    |_, _| {},
                ));
                (result, told(&report))
            },
        ),
        Driver::new(
            format!("{name}, documents"),
            lines,
            false,
            move |limits, input, around, writer| {
                let options = tamis_testkit::call_options().with_limits(limits.clone());
                let reader = around(source(input));
                let (report, result) = FailedRun::split(filter_documents(
                    three.with_options(&options),
                    reader,
                    writer,
                    |_, _| {},
                ));
                (result, told(&report))
            },
        ),
        Driver::new(
            format!("{name}, events"),
            events,
            false,
            move |limits, input, around, writer| {
                let options = tamis_testkit::call_options().with_limits(limits.clone());
                let reader = around(source(input));
                let (report, result) = FailedRun::split(filter_events(
                    two.with_options(&options),
                    reader,
                    writer,
                    |_, _| {},
                ));
                (result, told(&report))
            },
        ),
    ]
}

pub(crate) fn lenient(name: &str, program: &Program, input: &[u8]) -> Driver {
    let program = program.clone();
    Driver::new(format!("{name}, lenient"), input, true, move |limits, input, around, writer| {
        let options = tamis_testkit::call_options().with_limits(limits.clone());
        let (report, result) = FailedRun::split(filter_lenient(
            program.with_options(&options),
            around(source(input)),
            writer,
        ));
        (result, told(&report))
    })
}

pub(crate) fn histories(input: &[u8]) -> Vec<Driver> {
    let program = || PruneProgram::compile(&PruneSpec::new().keep_turns(1)).expect("it compiles");
    let (one, two) = (program(), program());
    vec![
        Driver::new("prune, reader", input, true, move |limits, input, around, writer| {
            let program = one.clone().with_limits(limits.clone());
            match prune_reader(&program, around(source(input)), writer) {
                Ok(report) => (Ok(()), told(&report)),
                Err(FailedRun { error, .. }) => (Err(error), Json::Null),
            }
        }),
        Driver::new("prune, file", input, true, move |limits, input, around, writer| {
            let program = two.clone().with_limits(limits.clone());
            let (report, result) = FailedRun::split(prune_file(
                &program,
                AroundFile::new(file(input), around),
                writer,
            ));
            (result, told(&report))
        }),
    ]
}

/// Feeds a push run that writes to a writer; both fail as they fail.
fn feed(mut reader: Source, mut take: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
    let mut chunk = [0; 64];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&chunk[..count])?,
            Err(error) if error.kind() == IoKind::Interrupted => {}
            Err(error) => return Err(Error::read(error)),
        }
    }
}

pub(crate) fn text(name: &str, filter: &TextSpec, input: &[u8]) -> Driver {
    let program = TextProgram::compile(filter).expect("it compiles");
    Driver::new(format!("{name}, text"), input, false, move |limits, input, around, writer| {
        let mut run = TextFilter::with_limits(&program, limits, WriteSink::new(writer));
        let fed = feed(around(source(input)), |bytes| {
            run.write(bytes)?;
            run.sink_mut().flush()
        });
        if fed.is_err() {
            return (fed, Json::Null);
        }
        match run.end() {
            Ok(report) => (run.sink_mut().flush(), told(&report)),
            Err(error) => (Err(error), Json::Null),
        }
    })
}

pub(crate) fn command(line: &str, registry: OutputFilterRegistry, input: &[u8]) -> Driver {
    let command = CommandLine::parse(line);
    Driver::new(line, input, false, move |limits, input, around, writer| {
        let mut run = registry.start(&command, limits, WriteSink::new(writer));
        let fed = feed(around(source(input)), |bytes| {
            run.write(bytes)?;
            run.sink_mut().flush()
        });
        if fed.is_err() {
            return (fed, Json::Null);
        }
        run.set_exit_code(Some(0));
        match run.end() {
            Ok(report) => (run.sink_mut().flush(), told(&report)),
            Err(error) => (Err(error), Json::Null),
        }
    })
}

pub(crate) fn terminal() -> TextSpec {
    TextSpec::new().strip_ansi(true).strip_lines_matching("^secret").dedup(true)
}

/// All of them.
pub(crate) fn all() -> Vec<Driver> {
    let mut all = Vec::new();
    for (name, program) in programs() {
        all.extend(json(name, &program, &document()));
    }
    let select = compiled(&Spec::new().select("id"));
    all.extend(records("select", &select, &LINES.repeat(3), &EVENTS.repeat(3)));
    let commented = b"// what follows\n[{\"id\": 1.10, \"x\": 2,}, /* all */ {\"id\": 2}]";
    all.push(lenient("select", &select, commented));
    all.extend(histories(&history()));
    all.push(text("terminal", &terminal(), TEXT));
    all.push(command("cargo build", OutputFilterRegistry::builtin(), &build()));
    let program = select.clone();
    all.push(Driver::new("pretty", document(), true, move |_, input, around, writer| {
        driven(filter_reader(&program, around(source(input)), PrettyWriter::new(writer)))
    }));
    let program = select.clone();
    // The record is what is written.
    all.push(Driver::new("a record", document(), true, move |_, input, around, writer| {
        let mut output = Vec::new();
        let reader = TeeReader::new(around(source(input)), writer);
        let (result, _) = driven(filter_reader(&program, reader, &mut output));
        (result, Json::from(output))
    }));
    all.push(Driver::new("recorded", document(), true, move |_, input, around, writer| {
        let mut record = Vec::new();
        let reader = TeeReader::new(around(source(input)), &mut record);
        let (result, told) = driven(filter_reader(&select, reader, writer));
        assert!(result.is_err() || record == input, "the record is not the document");
        (result, told)
    }));
    all
}
