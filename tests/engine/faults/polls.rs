//! Asynchronous drivers whose source and receiver wait at every other poll and move one byte at each of the rest: what
//! they do is what the blocking drivers do.

use std::collections::VecDeque;
use std::io::{Error as IoError, ErrorKind as IoKind, Result as IoResult, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tamis::http::{
    ContentCoding, DecodeOptions, FilterBody, FilterStream, Transform, transform_async,
};
use tamis::text::TextProgram;
use tamis::{Error, ErrorKind, FailedRun, Limits, Spec};
use tamis_chat::{PruneProgram, PruneSpec};
use tamis_command::{CommandLine, OutputFilterRegistry};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::{Stream, StreamExt};

use super::drivers::{
    Driver, EVENTS, LINES, TEXT, build, command, compiled, document, histories, history, json,
    plain, programs, records, terminal, text,
};

/// A source, or a receiver, of a few bytes at every second poll.
struct Slowly {
    bytes: VecDeque<u8>,
    size: usize,
    polls: usize,
}

impl Slowly {
    fn new(bytes: &[u8], size: usize) -> Self {
        Self { bytes: bytes.iter().copied().collect(), size, polls: 0 }
    }

    fn piece(&mut self) -> Vec<u8> {
        self.bytes.drain(..self.size.min(self.bytes.len())).collect()
    }

    fn waits(&mut self, cx: &Context<'_>) -> bool {
        self.polls += 1;
        let now = self.polls % 2 == 1;
        if now {
            cx.waker().wake_by_ref();
        }
        now
    }
}

impl Stream for Slowly {
    type Item = IoResult<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.waits(cx) {
            return Poll::Pending;
        }
        let piece = self.piece();
        Poll::Ready((!piece.is_empty()).then(|| Ok(Bytes::from(piece))))
    }
}

impl Body for Slowly {
    type Data = Bytes;
    type Error = IoError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<IoResult<Frame<Bytes>>>> {
        self.poll_next(cx).map(|byte| byte.map(|byte| byte.map(Frame::data)))
    }
}

impl AsyncRead for Slowly {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<IoResult<()>> {
        if self.waits(cx) {
            return Poll::Pending;
        }
        // Every second time that it is ready.
        if self.polls % 4 == 2 {
            return Poll::Ready(Err(IoKind::Interrupted.into()));
        }
        // The buffer is larger than what this test gives at once.
        into.put_slice(&self.piece());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Slowly {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<IoResult<usize>> {
        if self.waits(cx) {
            return Poll::Pending;
        }
        let count = bytes.len().min(self.size);
        self.bytes.extend(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<IoResult<()>> {
        if self.waits(cx) { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<IoResult<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A receiver that fails from one of its calls on; flushes are calls, too.
struct Failing {
    inner: Slowly,
    /// Calls until then.
    calls: usize,
    /// A failing write accepts no bytes instead; a flush fails in either case.
    takes_nothing: bool,
    met: bool,
}

impl Failing {
    fn fails(&mut self) -> bool {
        self.met |= self.calls == 0;
        self.calls = self.calls.saturating_sub(1);
        self.met
    }
}

impl AsyncWrite for Failing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<IoResult<usize>> {
        match (self.fails(), self.takes_nothing) {
            (false, _) => Pin::new(&mut self.inner).poll_write(cx, bytes),
            (true, true) => Poll::Ready(Ok(0)),
            (true, false) => Poll::Ready(Err(IoKind::StorageFull.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<IoResult<()>> {
        if self.fails() {
            return Poll::Ready(Err(IoKind::StorageFull.into()));
        }
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<IoResult<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The output and the result of a run.
pub(crate) type End = (Vec<u8>, Result<(), Error>);

pub(crate) const ADAPTERS: [&str; 3] = ["a writer", "a stream", "a body"];

/// Runs a transform through one of the adapters with chunks of `size` bytes.
pub(crate) async fn through(adapter: &str, transform: Transform, input: &[u8], size: usize) -> End {
    let source = Slowly::new(input, size);
    let (mut output, mut result) = (Vec::new(), Ok(()));
    match adapter {
        "a writer" => {
            let mut writer = Slowly::new(&[], size);
            result = transform_async(transform, source, &mut writer)
                .await
                .map(drop)
                .map_err(Error::from);
            output.extend(writer.bytes);
        }
        "a stream" => {
            let mut stream = FilterStream::new(transform, source);
            while let Some(item) = stream.next().await {
                match item {
                    Ok(piece) => output.extend_from_slice(&piece),
                    Err(error) => result = Err(error),
                }
            }
        }
        _ => {
            let mut body = FilterBody::new(transform, source);
            while let Some(frame) = body.frame().await {
                match frame {
                    Ok(frame) => output.extend_from_slice(frame.data_ref().expect("no trailers")),
                    Err(error) => result = Err(error),
                }
            }
        }
    }
    (output, result)
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
}

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A driver that blocks, and the transform that is to do the same.
type Pair = (Driver, Box<dyn Fn(&Limits) -> Transform>);

fn pairs() -> Vec<Pair> {
    let options = |limits: &Limits| tamis_testkit::call_options().with_limits(limits.clone());
    let mut pairs: Vec<Pair> = Vec::new();
    for (name, program) in programs() {
        let driver = json(name, &program, &document()).swap_remove(0);
        let make = move |limits: &Limits| Transform::json(program.with_options(&options(limits)));
        pairs.push((driver, Box::new(make)));
    }
    let select = compiled(&Spec::new().select("id"));
    let [lines, _, events] =
        records("select", &select, LINES, EVENTS).try_into().ok().expect("three");
    let program = select.clone();
    let make = move |limits: &Limits| Transform::ndjson(program.with_options(&options(limits)));
    pairs.push((lines, Box::new(make)));
    let make = move |limits: &Limits| Transform::events(select.with_options(&options(limits)));
    pairs.push((events, Box::new(make)));
    let prune = PruneProgram::compile(&PruneSpec::new().keep_turns(1)).expect("it compiles");
    let make = move |limits: &Limits| Transform::from(&prune.clone().with_limits(limits.clone()));
    pairs.push((histories(&history()).swap_remove(0), Box::new(make)));
    let lines = TextProgram::compile(&terminal()).expect("it compiles");
    let make = move |limits: &Limits| Transform::text(&lines, limits);
    pairs.push((text("terminal", &terminal(), TEXT), Box::new(make)));
    let make = move |limits: &Limits| {
        let line = CommandLine::parse("cargo build");
        OutputFilterRegistry::builtin().transform(&line, Some(0), limits)
    };
    pairs.push((command("cargo build", OutputFilterRegistry::builtin(), &build()), Box::new(make)));
    pairs
}

#[test]
fn every_other_poll_waits_and_the_rest_move_a_byte() {
    let runtime = runtime();
    for (driver, transform) in pairs() {
        let mut right = Vec::new();
        let (ended, _) = driver.run(&plain, &mut right);
        let words = |end: &Result<(), Error>| end.as_ref().err().map(ToString::to_string);
        for adapter in ADAPTERS {
            let check = |what: &str, (output, result): End| {
                let said = format!("{}, {adapter}{what}", driver.name);
                assert_eq!(words(&result), words(&ended), "{said}");
                assert!(output == right, "{said}: {}", output.escape_ascii());
            };
            let limits = Limits::new();
            check("", runtime.block_on(through(adapter, transform(&limits), &driver.input, 1)));
            let body = gzip(&driver.input);
            let decoded =
                transform(&limits).with_decoding(ContentCoding::Gzip, &DecodeOptions::new());
            check(", decoded", runtime.block_on(through(adapter, decoded, &body, 1)));
            // The names of a chat's tools wait too, and never in a file.
            let held = if driver.name.starts_with("prune") { 1_000 } else { 0 };
            let spilled = transform(&limits.with_held(held));
            check(", spilled", runtime.block_on(through(adapter, spilled, &driver.input, 1)));
        }
    }
}

#[test]
fn a_receiver_fails_at_any_call() {
    let runtime = runtime();
    for (driver, transform) in pairs() {
        let mut right = Vec::new();
        let (ended, _) = driver.run(&plain, &mut right);
        for takes_nothing in [false, true] {
            for calls in 0.. {
                let said = format!("{}: at call {calls}", driver.name);
                let inner = Slowly::new(&[], 40);
                let mut writer = Failing { inner, calls, takes_nothing, met: false };
                let run = transform_async(
                    transform(&Limits::new()),
                    Slowly::new(&driver.input, 200),
                    &mut writer,
                );
                let (_, result) = FailedRun::split(runtime.block_on(run));
                let output: Vec<u8> = writer.inner.bytes.into();
                assert!(right.starts_with(&output), "{said}: {}", output.escape_ascii());
                let kind = |result: &Result<(), Error>| result.as_ref().err().map(Error::kind);
                // A failed run reports its own error.
                if writer.met && ended.is_ok() {
                    assert_eq!(kind(&result), Some(ErrorKind::Write), "{said}");
                } else {
                    assert_eq!(kind(&result), kind(&ended), "{said}");
                }
                if !writer.met {
                    assert!(output == right && calls > 0, "{said}");
                    break;
                }
            }
        }
    }
}
