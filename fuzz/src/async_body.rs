//! `async_body`: asynchronous readers and writers, streams and bodies do what the synchronous drivers do.
//!
//! The source gives pieces of any size, has nothing yet, is interrupted, or fails; the receiver takes little, or goes after so
//! many polls. Then nothing is left of the run, and what came out is the beginning of what would have.

use std::collections::VecDeque;
use std::io::{Error as IoError, ErrorKind as IoKind, Write};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tamis::{
    CallOptions, Coding, Decoding, Error, ErrorKind, Filter, FilterBody, FilterStream, Outcome,
    Program, Transform, filter_events, filter_ndjson, transform_async,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::{Stream, StreamExt};

use super::input::{Choose, Input, node};
use super::programs;
use crate::drivers::{Run, Subject, same};
use crate::model::dom::Node;
use crate::prng::Choices;

/// What a run leaves when it ends.
type Told = Arc<Mutex<Option<Outcome>>>;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let raw = input.rest;
    let document = input.document();
    let guide = node(&document).unwrap_or_else(|| Node::parse("{\"a\":[{\"b\":1}]}"));
    let choices = &mut input.choices;
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
        Transform::json_with(self.program, self.options)
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
        let mut filter = Filter::with_options(self.program, self.options, Vec::new());
        let written = pieces.iter().try_for_each(|piece| filter.write(piece));
        let done = filter.is_done();
        let emitted = filter.into_sink();
        let (source, most) = (Script::new(choices, &pieces, true), patience(choices));
        let end = through(choices, self.transform(), source, most);
        end.begins(&emitted);
        let Some(result) = &end.result else { return };
        match (written, result) {
            // Where no more is needed, the source is not asked.
            (Ok(()), Ok(())) => assert!(done, "{self:?}: the source's error is lost"),
            (Ok(()), Err(error)) => assert_eq!(error.kind(), ErrorKind::Read, "{self:?}: {error}"),
            (Err(own), Err(error)) => assert_eq!(own.to_string(), error.to_string(), "{self:?}"),
            (Err(own), Ok(())) => panic!("{self:?}: {own} is lost"),
        }
        assert!(end.output == emitted || done, "{self:?}: {}", end.output.escape_ascii());
    }

    /// Lines, or events.
    fn records(self, choices: &mut Choose<'_>, document: &[u8], events: bool) {
        let Self { program, options } = self;
        let mut output = Vec::new();
        let (report, result) = if events {
            filter_events(program, options, document, &mut output, |_, _| {})
        } else {
            filter_ndjson(program, options, document, &mut output, |_, _| {})
        };
        let whole = Run::new(Some(output), result.map(|()| report.clone()), Some(report));
        let pieces = cut(choices, document);
        let transform = |_| {
            if events {
                Transform::events_with(program, options)
            } else {
                Transform::ndjson_with(program, options)
            }
        };
        self.agrees(choices, &whole, transform, &pieces);
    }

    /// A body that is decoded first. Cut off, it is an error behind a beginning of the output.
    fn encoded(self, choices: &mut Choose<'_>, document: &[u8]) {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(document).expect("memory takes it");
        let mut body = encoder.finish().expect("memory takes it");
        let whole = self.whole(document);
        let decoding = Decoding::new();
        let transform = |coding| self.transform().decoded(coding, &decoding);
        if !choices.one_in(4) {
            let pieces = cut(choices, &body);
            return self.agrees(choices, &whole, transform, &pieces);
        }
        body.truncate(choices.below(body.len()));
        let pieces = cut(choices, &body);
        let (source, most) = (Script::new(choices, &pieces, false), patience(choices));
        let end = through(choices, transform(Coding::Gzip), source, most);
        let emitted = whole.output.as_deref().unwrap_or_default();
        // Nothing at all is an empty text.
        if !body.is_empty() && self.reads_all(document) && emitted.starts_with(&end.output) {
            assert!(!matches!(end.result, Some(Ok(()))), "{self:?}: cut off, and no error");
        }
    }

    /// Whether a run has to see the end.
    fn reads_all(self, document: &[u8]) -> bool {
        let mut filter = Filter::with_options(self.program, self.options, Vec::new());
        filter.write(document).is_ok() && !filter.is_done()
    }

    /// Bytes that are hardly a body. How far it is decoded before the error may depend on its pieces; that there is one does not.
    fn undecodable(self, choices: &mut Choose<'_>, body: &[u8]) {
        let coding = choices.pick(&[Coding::Gzip, Coding::Brotli, Coding::Zstd]);
        let decoding = Decoding::new().with_max_bytes(1 << 20);
        let mut ends = Vec::new();
        for _ in 0..2 {
            let pieces = cut(choices, body);
            let source = Script::new(choices, &pieces, false);
            let transform = self.transform().decoded(coding, &decoding);
            ends.push(through(choices, transform, source, usize::MAX));
        }
        let [one, two] = ends.as_slice() else { return };
        let is_fine = |end: &End| matches!(end.result, Some(Ok(())));
        assert_eq!(is_fine(one), is_fine(two), "{self:?}: {:?} {:?}", one.result, two.result);
        assert!(!is_fine(one) || one.output == two.output, "{self:?}");
    }

    /// A transform over pieces does what `whole` did, unless its receiver goes.
    fn agrees(
        self,
        choices: &mut Choose<'_>,
        whole: &Run,
        transform: impl Fn(Coding) -> Transform,
        pieces: &[Bytes],
    ) {
        let (source, most) = (Script::new(choices, pieces, false), patience(choices));
        let end = through(choices, transform(Coding::Gzip), source, most);
        let emitted = whole.output.as_deref().unwrap_or_default();
        end.begins(emitted);
        if let Some(result) = end.result {
            let told = end.report.clone().expect("a run that ended says so");
            let run = Run::new(Some(end.output), result.map(|()| told.clone()), Some(told));
            let about = format!("{} pieces, {self:?}", pieces.len());
            same("asynchronous", whole, &run, true)
                .unwrap_or_else(|why| panic!("{why}\n  {about}"));
        }
    }
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

/// How often a receiver asks before it goes.
fn patience(choices: &mut Choose<'_>) -> usize {
    if choices.one_in(3) { choices.below(12) } else { usize::MAX }
}

/// What a source does when it is asked.
#[derive(Debug)]
enum Step {
    Piece(Bytes),
    NotYet,
    /// Of a reader alone.
    Interrupted,
    Fail,
}

#[derive(Debug)]
struct Script(VecDeque<Step>);

impl Script {
    fn new(choices: &mut Choose<'_>, pieces: &[Bytes], fails: bool) -> Self {
        let mut steps = VecDeque::new();
        for piece in pieces {
            for _ in 0..choices.below(3) {
                steps.push_back(if choices.one_in(4) { Step::Interrupted } else { Step::NotYet });
            }
            steps.push_back(Step::Piece(piece.clone()));
        }
        if fails {
            steps.push_back(Step::Fail);
        }
        Self(steps)
    }

    /// The next step, for sources that are not interrupted. `None`: it is over.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, IoError>>> {
        match self.0.pop_front() {
            Some(Step::Piece(piece)) => Poll::Ready(Some(Ok(piece))),
            Some(Step::NotYet | Step::Interrupted) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Fail) => Poll::Ready(Some(Err(IoKind::ConnectionReset.into()))),
            None => Poll::Ready(None),
        }
    }
}

impl Stream for Script {
    type Item = Result<Bytes, IoError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.step(cx)
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = IoError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, IoError>>> {
        self.step(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        loop {
            if matches!(self.0.front(), Some(Step::Interrupted)) {
                self.0.pop_front();
                return Poll::Ready(Err(IoKind::Interrupted.into()));
            }
            match std::task::ready!(self.step(cx)).transpose()? {
                // To a reader an empty piece would be the end.
                Some(piece) if piece.is_empty() => {}
                Some(mut piece) => {
                    into.put_slice(&piece.split_to(piece.len().min(into.remaining())));
                    if !piece.is_empty() {
                        self.0.push_front(Step::Piece(piece));
                    }
                    return Poll::Ready(Ok(()));
                }
                None => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// Takes so much at once, and nothing every now and then.
struct Slow<'a> {
    output: &'a mut Vec<u8>,
    takes: usize,
    waits: bool,
}

impl AsyncWrite for Slow<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.waits = !self.waits;
        if self.waits {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let count = self.takes.min(bytes.len());
        self.output.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// How a run ended.
struct End {
    output: Vec<u8>,
    /// `None`: its receiver went.
    result: Option<Result<(), Error>>,
    report: Option<tamis::Report>,
}

impl End {
    /// Where its receiver went, it has emitted the beginning of `whole`.
    fn begins(&self, whole: &[u8]) {
        let is_over = self.result.is_some();
        assert!(is_over || whole.starts_with(&self.output), "{}", self.output.escape_ascii());
    }
}

/// Runs a transform through one of the adapters, for at most so many polls.
fn through(choices: &mut Choose<'_>, transform: Transform, source: Script, most: usize) -> End {
    let told = Told::default();
    let tell = Arc::clone(&told);
    let transform = transform.on_end(move |outcome, _| {
        *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.clone());
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let adapter = choices.below(3);
    let takes = 1 + choices.below(100);
    let mut output = Vec::new();
    let result = runtime.block_on(async {
        let into = &mut output;
        match adapter {
            0 => for_so_long(streamed(transform, source, into), most).await,
            1 => for_so_long(framed(transform, source, into), most).await,
            _ => {
                let writer = Slow { output: into, takes, waits: false };
                let run = async { transform_async(transform, source, writer).await.1 };
                for_so_long(run, most).await
            }
        }
    });
    assert_eq!(runtime.metrics().num_alive_tasks(), 0, "a task is left");
    // Waits for a step that is still under way on another thread.
    drop(runtime);
    assert_eq!(Arc::strong_count(&told), 1, "something of the run is left");
    let outcome = told.lock().unwrap_or_else(PoisonError::into_inner).take();
    let report = outcome.and_then(|outcome| outcome.report().cloned());
    assert!(report.is_some() || result.is_none(), "the end is not told");
    End { output, result, report }
}

/// Polls a future so often at most; `None` if it was not ready then.
async fn for_so_long<T>(future: impl Future<Output = T>, most: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut left = most;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(cx).map(Some)
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
    let mut body = FilterBody::new(transform, source);
    let mut result = Ok(());
    while let Some(frame) = body.frame().await {
        assert!(result.is_ok(), "an error is the last frame");
        match frame {
            Ok(frame) => output.extend_from_slice(frame.data_ref().expect("no trailers")),
            Err(error) => result = Err(error),
        }
    }
    assert!(body.is_end_stream(), "a body is over behind its last frame");
    result
}
