//! `async_body`: asynchronous readers and writers, streams and bodies do what the synchronous drivers do.
//!
//! The source returns pieces of any size, is not ready, is interrupted, fails, or has trailers. The receiver takes few bytes,
//! fails, or is dropped after some polls. A dropped run leaves nothing behind, and its output is a prefix of the full output.
//! Filters of chats, texts and outputs of commands run through the same adapters.

mod ends;

use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tamis::http::{
    ContentCoding, DecodeOptions, FilterBody, FilterStream, Outcome, Transform, transform_async,
};
use tamis::text::{TextFilter, TextProgram};
use tamis::{
    CallOptions, Error, ErrorKind, FailedRun, Filter, Limits, Program, Report, filter_events,
    filter_ndjson,
};
use tamis_chat::{PruneFilter, PruneProgram, PruneReport};
use tamis_command::CommandLine;
use tokio_stream::StreamExt;

use self::ends::{KEPT, Script, Slow};
use super::input::{Choose, Input, node};
use super::{programs, text};
use crate::drivers::{Run, Subject, same};
use crate::model::dom::Node;
use crate::prng::Choices;

/// The result that a run reports at its end.
type SharedOutcome = Arc<Mutex<Option<Outcome>>>;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let raw = input.rest;
    let document = input.document();
    let guide = node(&document).unwrap_or_else(|| Node::parse("{\"a\":[{\"b\":1}]}"));
    let choices = &mut input.choices;
    if choices.one_in(4) {
        return match choices.below(3) {
            0 => pruned(choices, raw),
            1 => text_filtered(choices, raw),
            _ => command_filtered(choices, raw),
        };
    }
    let spec = programs::spec(choices, &guide);
    let Some(program) = programs::compile(&spec) else { return };
    let options = programs::options(choices);
    let call = Call { program: &program, options: &options };
    match choices.below(8) {
        0 => call.records(choices, &document, false),
        1 => call.records(choices, &document, true),
        2 | 3 => call.encoded(choices, &document),
        4 => call.undecodable(choices, raw),
        _ => call.json(choices, &document),
    }
}

#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    program: &'a Program,
    options: &'a CallOptions,
}

impl Call<'_> {
    fn transform(self) -> Transform {
        Transform::json(self.program.with_options(self.options))
    }

    fn whole(self, document: &[u8]) -> Run {
        Subject { program: self.program, options: self.options, document }.push([])
    }

    fn json(self, choices: &mut Choose<'_>, document: &[u8]) {
        let mut pieces = cut(choices, document);
        let fails = choices.one_in(4);
        if !fails {
            return self.agrees(choices, &self.whole(document), |_| self.transform(), &pieces);
        }
        pieces.truncate(choices.below(pieces.len() + 1));
        let mut filter = Filter::new(self.program.with_options(self.options), Vec::new());
        let written = pieces.iter().try_for_each(|piece| filter.write(piece));
        let done = filter.is_done();
        let emitted = filter.into_sink();
        let (source, leaving) = (Script::new(choices, &pieces, true), Leaving::new(choices));
        let end = through(choices, self.transform(), source, leaving);
        end.begins(&emitted);
        let Some(result) = &end.result else { return };
        match (written, result) {
            // A run that needs no more bytes does not poll the source.
            (Ok(()), Ok(())) => assert!(done, "{self:?}: the source's error is lost"),
            (Ok(()), Err(error)) => assert_eq!(error.kind(), ErrorKind::Read, "{self:?}: {error}"),
            (Err(own), Err(error)) => assert_eq!(own.to_string(), error.to_string(), "{self:?}"),
            (Err(own), Ok(())) => panic!("{self:?}: {own} is lost"),
        }
        assert!(end.output == emitted || done, "{self:?}: {}", end.output.escape_ascii());
    }

    /// Runs lines or events.
    fn records(self, choices: &mut Choose<'_>, document: &[u8], events: bool) {
        let Self { program, options } = self;
        let mut output = Vec::new();
        let result = if events {
            filter_events(program.with_options(options), document, &mut output, |_, _| {})
        } else {
            filter_ndjson(program.with_options(options), document, &mut output, |_, _| {})
        };
        let (report, result) = FailedRun::split(result);
        let whole = Run::new(Some(output), result.map(|()| report.clone()), Some(report));
        let pieces = cut(choices, document);
        let transform = |_| {
            if events {
                Transform::events(program.with_options(options))
            } else {
                Transform::ndjson(program.with_options(options))
            }
        };
        self.agrees(choices, &whole, transform, &pieces);
    }

    /// Runs a body that is decoded first. If it is cut off, there is an error after a prefix of the output.
    fn encoded(self, choices: &mut Choose<'_>, document: &[u8]) {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(document).expect("memory takes it");
        let mut body = encoder.finish().expect("memory takes it");
        let whole = self.whole(document);
        let decoding = DecodeOptions::new();
        let transform = |coding| self.transform().with_decoding(coding, &decoding);
        if !choices.one_in(4) {
            let pieces = cut(choices, &body);
            return self.agrees(choices, &whole, transform, &pieces);
        }
        body.truncate(choices.below(body.len()));
        let pieces = cut(choices, &body);
        let (source, leaving) = (Script::new(choices, &pieces, false), Leaving::new(choices));
        let end = through(choices, transform(ContentCoding::Gzip), source, leaving);
        let emitted = whole.output.as_deref().unwrap_or_default();
        // No bytes are an empty text.
        if !body.is_empty() && self.reads_all(document) && emitted.starts_with(&end.output) {
            assert!(!matches!(end.result, Some(Ok(()))), "{self:?}: cut off, and no error");
        }
    }

    /// Whether a run has to see the end.
    fn reads_all(self, document: &[u8]) -> bool {
        let mut filter = Filter::new(self.program.with_options(self.options), Vec::new());
        filter.write(document).is_ok() && !filter.is_done()
    }

    /// Runs bytes that are hardly ever a valid body. The output before the error may depend on the pieces; the error does not.
    fn undecodable(self, choices: &mut Choose<'_>, body: &[u8]) {
        let coding =
            choices.pick(&[ContentCoding::Gzip, ContentCoding::Brotli, ContentCoding::Zstd]);
        let decoding = DecodeOptions::new().with_max_bytes(1 << 20);
        let mut ends = Vec::new();
        for _ in 0..2 {
            let pieces = cut(choices, body);
            let source = Script::new(choices, &pieces, false);
            let transform = self.transform().with_decoding(coding, &decoding);
            ends.push(through(choices, transform, source, Leaving::NEVER));
        }
        let [one, two] = ends.as_slice() else { return };
        if one.result.is_none() || two.result.is_none() {
            return;
        }
        let is_fine = |end: &End| matches!(end.result, Some(Ok(())));
        assert_eq!(is_fine(one), is_fine(two), "{self:?}: {:?} {:?}", one.result, two.result);
        assert!(!is_fine(one) || one.output == two.output, "{self:?}");
    }

    /// Checks that a transform over pieces has the result of `whole`, unless its receiver is dropped.
    fn agrees(
        self,
        choices: &mut Choose<'_>,
        whole: &Run,
        transform: impl Fn(ContentCoding) -> Transform,
        pieces: &[Bytes],
    ) {
        let (source, leaving) = (Script::new(choices, pieces, false), Leaving::new(choices));
        let end = through(choices, transform(ContentCoding::Gzip), source, leaving);
        let emitted = whole.output.as_deref().unwrap_or_default();
        end.begins(emitted);
        let reported = end.report();
        if let Some(result) = end.result {
            let reported = reported.expect("a run that ended says so");
            let run = Run::new(Some(end.output), result.map(|()| reported.clone()), Some(reported));
            let about = format!("{} pieces, {self:?}", pieces.len());
            same("asynchronous", whole, &run, true)
                .unwrap_or_else(|why| panic!("{why}\n  {about}"));
        }
    }
}

/// A chat: a generated one, or any bytes.
fn pruned(choices: &mut Choose<'_>, raw: &[u8]) {
    let prune = crate::history::generate::prune_of(&crate::history::generate::rules(choices));
    let program = PruneProgram::compile(&prune).expect("the rules compile");
    let history = if choices.one_in(3) {
        raw.to_vec()
    } else {
        crate::history::generate::history(&mut Choose::new(raw)).into_bytes()
    };
    let mut run = PruneFilter::new(&program, Vec::new());
    let result = run.write(&history).and_then(|()| run.end());
    let reported = Outcome::other(run.report());
    let whole = (run.into_sink(), result.map(|_| ()), reported);
    is_alike(choices, &whole, Transform::from(&program), &history);
}

fn text_filtered(choices: &mut Choose<'_>, raw: &[u8]) {
    let declared = crate::text::generate::declared(choices);
    let program = TextProgram::compile(&declared.filter()).expect("the filter compiles");
    let limits = Limits::new().with_line(choices.pick(&[64 << 10, 0, 9]));
    let mut run = TextFilter::with_limits(&program, &limits, Vec::new());
    let reported = run.write(raw).and_then(|()| run.end()).expect("no text is an error");
    let output = run.into_sink();
    let reported = Outcome::other(reported);
    is_alike(choices, &(output, Ok(()), reported), Transform::text(&program, &limits), raw);
}

fn command_filtered(choices: &mut Choose<'_>, raw: &[u8]) {
    let (_, command) = choices.pick(&crate::commands::drivers::COMMANDS);
    let command = CommandLine::parse(command);
    let limits = Limits::new().with_held(choices.pick(&[4 << 20, 3000, 0]));
    let code = choices.pick(&[None, Some(0), Some(1)]);
    let mut run = text::BUILTIN.start(&command, &limits, Vec::new());
    run.set_exit_code(code);
    let reported = run.write(raw).and_then(|()| run.end()).expect("no output is an error");
    let output = run.into_sink();
    let transform = text::BUILTIN.transform(&command, code, &limits);
    is_alike(choices, &(output, Ok(()), Outcome::other(reported)), transform, raw);
}

/// Checks that a transform has the output, the end and the report of a run that got the whole input at once.
fn is_alike(
    choices: &mut Choose<'_>,
    whole: &(Vec<u8>, Result<(), Error>, Outcome),
    transform: Transform,
    input: &[u8],
) {
    let (output, result, reported) = whole;
    let pieces = cut(choices, input);
    let (source, leaving) = (Script::new(choices, &pieces, false), Leaving::new(choices));
    let end = through(choices, transform, source, leaving);
    end.begins(output);
    let Some(ended) = &end.result else { return };
    let words = |result: &Result<(), Error>| result.as_ref().err().map(ToString::to_string);
    let about = || format!("{} pieces of {}", pieces.len(), input.escape_ascii());
    assert_eq!(words(ended), words(result), "{}", about());
    assert!(end.output == *output, "{}\n  {}", end.output.escape_ascii(), about());
    // The number of held bytes depends on the pieces.
    let comparable = |reported: &Outcome| match reported.downcast_ref::<PruneReport>() {
        Some(report) => {
            let mut report = report.clone();
            report.held_peak_bytes = 0;
            Outcome::other(report)
        }
        None => reported.clone(),
    };
    assert_eq!(end.outcome.as_ref().map(comparable), Some(comparable(reported)), "{}", about());
}

/// In pieces, some of them empty.
fn cut(choices: &mut Choose<'_>, document: &[u8]) -> Vec<Bytes> {
    let document = Bytes::copy_from_slice(document);
    let mut cuts = choices.cuts(document.len());
    if choices.one_in(6) {
        let size = 1 + choices.below(40);
        cuts = (0..document.len()).step_by(size).take(400).collect();
    }
    let mut begin = 0;
    let ends = cuts.into_iter().chain([document.len()]);
    ends.map(|end| document.slice(std::mem::replace(&mut begin, end)..end)).collect()
}

/// The time at which a receiver is dropped.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    /// The number of polls before that.
    most: usize,
    /// Whether the step that the last poll sent to a thread is done by then. Otherwise it never begins.
    after_step: bool,
}

impl Leaving {
    const NEVER: Self = Self { most: usize::MAX, after_step: false };

    fn new(choices: &mut Choose<'_>) -> Self {
        if !choices.one_in(3) {
            return Self::NEVER;
        }
        Self { most: choices.below(12), after_step: choices.one_in(2) }
    }
}

/// How a run ended.
struct End {
    output: Vec<u8>,
    /// `None` if its receiver was dropped, or failed.
    result: Option<Result<(), Error>>,
    outcome: Option<Outcome>,
}

impl End {
    fn report(&self) -> Option<Report> {
        self.outcome.as_ref()?.report().cloned()
    }

    /// Checks that a run whose receiver was dropped emitted a prefix of `whole`.
    fn begins(&self, whole: &[u8]) {
        let is_over = self.result.is_some();
        assert!(is_over || whole.starts_with(&self.output), "{}", self.output.escape_ascii());
    }
}

/// Runs a transform through one of the adapters, for at most `polls` polls.
fn through(
    choices: &mut Choose<'_>,
    transform: Transform,
    source: Script,
    leaving: Leaving,
) -> End {
    let reported = SharedOutcome::default();
    let tell = Arc::clone(&reported);
    let transform = transform.with_on_end(move |outcome, _| {
        *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.clone());
    });
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build();
    let runtime = runtime.expect("a runtime");
    let adapter = choices.below(3);
    let takes = 1 + choices.below(100);
    let fails = choices.one_in(4);
    let room = if fails { choices.below(200) } else { usize::MAX };
    let fails_at_flush = fails && choices.one_in(3);
    let mut output = Vec::new();
    let result = runtime.block_on(async {
        let into = &mut output;
        match adapter {
            0 => for_so_long(streamed(transform, source, into), leaving).await,
            1 => for_so_long(framed(transform, source, into), leaving).await,
            _ => {
                let writer = Slow { output: into, takes, waits: false, room, fails_at_flush };
                let run = async {
                    transform_async(transform, source, writer).await.map(drop).map_err(Error::from)
                };
                for_so_long(run, leaving).await
            }
        }
    });
    assert_eq!(runtime.metrics().num_alive_tasks(), 0, "a task is left");
    // Waits for a step that still runs on another thread.
    drop(runtime);
    assert_eq!(Arc::strong_count(&reported), 1, "something of the run is left");
    let outcome = reported.lock().unwrap_or_else(PoisonError::into_inner).take();
    assert!(outcome.is_some() || result.is_none(), "the end is not reported");
    if let Some(Err(error)) = &result
        && error.kind() == ErrorKind::Write
    {
        assert!(adapter == 2 && fails, "there is no writer that fails: {error}");
        // The output is a prefix, as if the receiver had been dropped.
        return End { output, result: None, outcome };
    }
    let lost = adapter == 2 && fails_at_flush && output.len() >= room;
    assert!(!lost || !matches!(result, Some(Ok(()))), "the error of a flush is lost");
    End { output, result, outcome }
}

/// One poll, during which the only thread for blocking work is occupied. A step that the poll sends to that thread has not begun
/// when the poll returns, and is done before the next poll, on a machine of any speed.
struct Turn {
    /// Dropping it ends the turn.
    _gate: Sender<()>,
}

impl Turn {
    /// Begins a turn when all steps are done.
    fn begin() -> Self {
        let (begun, waiting) = channel();
        let (gate, end) = channel::<()>();
        tokio::task::spawn_blocking(move || {
            _ = begun.send(());
            // The receiver returns an error when the turn is over.
            _ = end.recv();
        });
        waiting.recv().expect("the thread is there");
        Self { _gate: gate }
    }
}

/// Polls a future up to a number of times. `None` if it was not ready: it is dropped with a step that has not begun, or is done.
async fn for_so_long<T>(future: impl Future<Output = T>, leaving: Leaving) -> Option<T> {
    let mut future = Some(Box::pin(future));
    let mut left = leaving.most;
    std::future::poll_fn(|cx| {
        let turn = Turn::begin();
        let Some(running) = future.as_mut().filter(|_| left > 0) else {
            drop(future.take());
            return Poll::Ready(None);
        };
        left -= 1;
        let polled = running.as_mut().poll(cx);
        if polled.is_pending() && left == 0 {
            if leaving.after_step {
                drop(turn);
                drop(Turn::begin());
            }
            drop(future.take());
            return Poll::Ready(None);
        }
        polled.map(Some)
    })
    .await
}

async fn streamed(transform: Transform, source: Script, output: &mut Vec<u8>) -> Result<(), Error> {
    let mut stream = FilterStream::new(transform, source);
    let mut result = Ok(());
    while let Some(item) = stream.next().await {
        assert!(result.is_ok(), "an error is the last item");
        match item {
            Ok(piece) => output.extend_from_slice(&piece),
            Err(error) => result = Err(error),
        }
    }
    result
}

async fn framed(transform: Transform, source: Script, output: &mut Vec<u8>) -> Result<(), Error> {
    let taken = Arc::clone(&source.taken);
    let mut body = FilterBody::new(transform, source);
    let mut result = Ok(());
    let mut has_trailers = false;
    while let Some(frame) = body.frame().await {
        assert!(result.is_ok() && !has_trailers, "an error, or trailers, are the last frame");
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => output.extend_from_slice(&data),
            Ok(Err(frame)) => {
                let names = frame.into_trailers().expect("trailers");
                assert!(names.len() == 1 && names.contains_key(KEPT), "{names:?}");
                has_trailers = true;
            }
            Err(error) => result = Err(error),
        }
    }
    assert_eq!(has_trailers, taken.load(Ordering::Relaxed) && result.is_ok(), "trailers");
    assert!(body.is_end_stream(), "a body is over behind its last frame");
    result
}
