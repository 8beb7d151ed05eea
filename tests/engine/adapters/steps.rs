//! Steps of a run: they are short, in order and on the right thread. Backpressure.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::ThreadId;

use bytes::Bytes;
use tamis::http::{FilterStream, Transform, transform_async};
use tamis::{ErrorKind, FailedRun, Limits, Spec, filter_async, filter_slice};
use tamis_command::{CommandLine, FilterResult, OutputFilter, OutputFilterRegistry};
use tokio_stream::{Stream, StreamExt};

use super::{chunks, collect, late, program, ready, runtime};

/// Counts its polls.
struct Asked<S>(S, Arc<AtomicUsize>);

impl<S: Stream + Unpin> Stream for Asked<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).poll_next(cx)
    }
}

#[test]
fn one_poll_does_not_read_a_large_chunk() {
    let program = program(&Spec::new().max_items(1));
    let document = Bytes::from(late(8));
    let source = tokio_stream::once(Ok::<_, std::io::Error>(document.clone()));
    let mut stream = FilterStream::new(&program, source);
    let mut cx = Context::from_waker(Waker::noop());
    let (mut polls, mut output) = (0, Vec::new());
    while let next = Pin::new(&mut stream).poll_next(&mut cx)
        && !matches!(next, Poll::Ready(None))
    {
        polls += 1;
        if let Poll::Ready(Some(piece)) = next {
            output.extend_from_slice(&piece.unwrap());
        }
    }
    assert_eq!(output, filter_slice(&program, &document).unwrap().0);
    assert!(polls >= document.len() / (512 << 10), "{polls} polls of {} bytes", document.len());
}

/// Polls a future until it is ready, and returns the number of polls.
fn polls<T>(future: impl Future<Output = T>) -> (usize, T) {
    let mut future = std::pin::pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    let mut polls = 1;
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(done) => return (polls, done),
            Poll::Pending => polls += 1,
        }
    }
}

#[test]
fn others_have_their_turn_whatever_is_ready() {
    let program = program(&Spec::new().max_items(1));
    let document = late(4);
    let wanted = filter_slice(&program, &document).unwrap().0;
    let least = document.len() / (256 << 10);
    for size in [100, 5000, 64 << 10, document.len()] {
        let stream = FilterStream::new(&program, chunks(&document, size));
        let (polls, (output, result)) = polls(collect(stream));
        result.unwrap();
        assert_eq!(output, wanted);
        assert!(polls >= least, "{polls} polls, in chunks of {size} bytes");
    }
    let mut output = Vec::new();
    let (polls, result) = polls(filter_async(&program, &document[..], &mut output));
    result.unwrap();
    assert_eq!(output, wanted);
    assert!(polls >= least, "{polls} polls of a reader that is always ready");
}

#[test]
fn chunks_of_nothing_without_end_are_not_one_poll() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let nothing = std::iter::repeat_with(move || {
        assert!(count.fetch_add(1, Ordering::Relaxed) < 10_000, "others have no turn");
        Ok::<_, std::io::Error>(Bytes::new())
    });
    let mut stream = FilterStream::new(&program(&Spec::new()), tokio_stream::iter(nothing));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut stream).poll_next(&mut cx).is_pending());
    assert!(asked.load(Ordering::Relaxed) > 0);
}

#[test]
fn the_source_is_asked_when_little_output_waits() {
    let program = program(&Spec::new());
    let asked = Arc::new(AtomicUsize::new(0));
    let document = late(4);
    let source = Asked(chunks(&document, 32 << 10), Arc::clone(&asked));
    let mut stream = FilterStream::new(&program, source);
    let mut taken = 0;
    ready(async {
        while let Some(piece) = stream.next().await {
            taken += piece.unwrap().len();
            let read = asked.load(Ordering::Relaxed) * (32 << 10);
            assert!(read <= taken + (160 << 10), "{read} bytes read, {taken} taken");
        }
    });
    assert_eq!(taken, document.len());
}

#[test]
fn a_source_that_is_not_needed_any_more_is_dropped() {
    let program = program(&Spec::new().max_items(1).stop_early(true));
    let asked = Arc::new(AtomicUsize::new(0));
    let source = Asked(chunks(&late(4), 4 << 10), Arc::clone(&asked));
    let mut stream = FilterStream::new(&program, source);
    let (mut output, mut last) = (Vec::new(), None);
    while let Some(piece) = ready(stream.next()) {
        output.extend_from_slice(&piece.unwrap());
        last = stream.outcome();
    }
    assert!(output.ends_with(b"}]") && output.len() < 2000);
    assert!(asked.load(Ordering::Relaxed) < 10, "{asked:?} chunks for one item of a kilobyte");
    assert_eq!(Arc::strong_count(&asked), 1, "the source is gone before the stream");
    assert!(last.unwrap().report().unwrap().tail_unread);
}

/// The thread of the last step of a run.
fn last_thread(transform: Transform, document: &[u8]) -> (ThreadId, Vec<u8>) {
    let thread = Arc::new(Mutex::new(None));
    let reported = Arc::clone(&thread);
    let transform = transform.with_on_end(move |_, result| {
        result.unwrap();
        *reported.lock().unwrap() = Some(std::thread::current().id());
    });
    let (output, result) =
        runtime().block_on(collect(FilterStream::new(transform, chunks(document, 5000))));
    result.unwrap();
    let thread = thread.lock().unwrap().expect("the end is reported");
    (thread, output)
}

#[test]
fn long_steps_run_on_another_thread() {
    let here = std::thread::current().id();
    let options = tamis_testkit::call_options();
    let select = program(&Spec::new().select("id"));

    let (thread, _) = last_thread(Transform::json(&program(&Spec::new())), &late(1));
    assert_eq!(thread, here, "nothing waits");

    let document = late(1);
    let (thread, output) = last_thread(Transform::json(&select), &document);
    assert_ne!(thread, here, "a megabyte waits");
    assert_eq!(output, filter_slice(&select, &document).unwrap().0);

    let spilling = options.with_limits(Limits::new().with_held(10));
    let small = &document[document.len() - 40_000..];
    let small = [b"[1", &small[small.iter().position(|byte| *byte == b',').unwrap()..]].concat();
    let (thread, output) = last_thread(Transform::json(select.with_options(&spilling)), &small);
    assert_ne!(thread, here, "the disk is elsewhere");
    assert_eq!(output, filter_slice(&select, &small).unwrap().0);

    /// Keeps all output.
    struct Whole;
    impl OutputFilter for Whole {
        fn matches(&self, _: &str) -> bool {
            true
        }
        fn filter(&self, _: &str, raw: &str, _: i32) -> FilterResult {
            FilterResult::new(raw, raw)
        }
    }
    let command = CommandLine::parse("make");
    let on = |registry: OutputFilterRegistry| registry.transform(&command, None, &Limits::new());
    let (thread, _) = last_thread(on(OutputFilterRegistry::new()), b"text");
    assert_eq!(thread, here, "no filter");
    let (thread, output) = last_thread(on(OutputFilterRegistry::new().register(Whole)), b"text");
    assert_ne!(thread, here, "a user's filter takes as long as it takes");
    assert_eq!(output, b"text");

    let counted = program(&Spec::new().budget(tamis::spec::Budget::Tokens(10_000)));
    let (thread, _) = last_thread(Transform::json(&counted), b"[1]");
    assert_ne!(thread, here, "tokens are counted");
}

#[test]
fn without_a_runtime_all_steps_are_here() {
    let select = program(&Spec::new().select("id"));
    let options = tamis_testkit::call_options().with_limits(Limits::new().with_held(1 << 10));
    let document = late(1);
    let mut output = Vec::new();
    let transform = Transform::json(select.with_options(&options));
    let run = ready(transform_async(transform, &document[..], &mut output));
    let (outcome, result) = FailedRun::split(run);
    result.unwrap();
    assert_eq!(output, filter_slice(&select, &document).unwrap().0);
    assert!(outcome.report().unwrap().held_peak_bytes > 900_000);
}

#[test]
fn a_long_run_that_is_kept_is_not_copied() {
    let program = program(&Spec::new().exclude("drop"));
    let text = "x".repeat(30 << 10);
    let document = Bytes::from(format!(r#"{{"drop": 1, "keep": "{text}"}}"#));
    let inside = document.as_ptr_range();
    let source = tokio_stream::once(Ok::<_, std::io::Error>(document));
    let mut stream = FilterStream::new(&program, source);
    let (mut shared, mut output) = (0, Vec::new());
    while let Some(piece) = ready(stream.next()) {
        let piece = piece.unwrap();
        shared += if inside.contains(&piece.as_ptr()) { piece.len() } else { 0 };
        output.extend_from_slice(&piece);
    }
    assert_eq!(output, format!(r#"{{"keep":"{text}"}}"#).as_bytes());
    // But for its ends, which lie in parts of the scanner's windows.
    assert!(shared + 8192 >= text.len(), "{shared} bytes of {}", text.len());
}

#[test]
fn errors_are_reported_once_after_what_was_emitted() {
    let program = program(&Spec::new());
    let document = format!("[{}1,]", "123456,".repeat(20_000));
    let mut stream = FilterStream::new(&program, chunks(document.as_bytes(), 10_000));
    let mut output = Vec::new();
    let error = loop {
        match ready(stream.next()).expect("an error comes") {
            Ok(piece) => output.extend_from_slice(&piece),
            Err(error) => break error,
        }
    };
    assert_eq!(error.offset(), Some(document.len() as u64 - 1));
    assert_eq!(output.len() + 1, document.len(), "another element has to follow the comma");
    assert!(document.as_bytes().starts_with(&output));
    assert!(ready(stream.next()).is_none(), "nothing is behind an error");
    let reported = stream.outcome().unwrap().report().unwrap().error.clone().unwrap();
    assert_eq!(reported.kind, ErrorKind::Syntax);
}

#[test]
fn the_errors_of_the_source_are_its_own() {
    let program = program(&Spec::new());
    let reset = std::io::ErrorKind::ConnectionReset;
    let source = tokio_stream::iter([Ok(Bytes::from("[1, 2")), Err(std::io::Error::from(reset))]);
    let mut stream = FilterStream::new(&program, source);
    assert_eq!(ready(stream.next()).unwrap().unwrap(), "[1,2");
    let error = ready(stream.next()).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Read);
    let kind = error.io_error().map(std::io::Error::kind);
    assert_eq!(kind, Some(reset));
    assert!(ready(stream.next()).is_none());

    let other = tokio_stream::once(Err::<Bytes, _>("the cable is cut"));
    let error = ready(FilterStream::new(&program, other).next()).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "cannot read the input: the cable is cut");
}

#[test]
fn a_writer_that_fails_ends_the_run() {
    /// Accepts no bytes.
    struct Full;
    impl tokio::io::AsyncWrite for Full {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            Poll::Ready(Err(std::io::ErrorKind::StorageFull.into()))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    let program = program(&Spec::new());
    let reported = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reported);
    let transform = Transform::json(&program).with_on_end(move |outcome, result| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Write);
        assert_eq!(outcome.report().unwrap().error.as_ref().unwrap().kind, ErrorKind::Write);
        count.fetch_add(1, Ordering::Relaxed);
    });
    // More than one write, so that the writer fails in the middle of the run.
    let document = late(1);
    let (outcome, result) =
        FailedRun::split(ready(transform_async(transform, &document[..], Full)));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Write);
    assert!(!outcome.report().unwrap().applied);
    assert_eq!(reported.load(Ordering::Relaxed), 1, "the end is reported once");
}

#[test]
fn output_leaves_while_the_reader_waits() {
    let program = program(&Spec::new());
    runtime().block_on(async {
        let (mut input, reader) = tokio::io::duplex(64);
        let (writer, mut output) = tokio::io::duplex(64);
        let run = async { filter_async(&program, reader, tokio::io::BufWriter::new(writer)).await };
        let talk = async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            input.write_all(b"[1, ").await.unwrap();
            let mut begun = [0; 2];
            output.read_exact(&mut begun).await.unwrap();
            assert_eq!(&begun, b"[1");
            input.write_all(b"2]").await.unwrap();
            drop(input);
            let mut rest = Vec::new();
            output.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest, b",2]");
        };
        let (report, ()) = tokio::join!(run, talk);
        assert_eq!(report.unwrap().original_bytes, 6);
    });
}

/// Keeps the output, and counts the flushes.
struct Counted(Arc<Mutex<(Vec<u8>, usize)>>);

impl tokio::io::AsyncWrite for Counted {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.0.lock().unwrap().0.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.0.lock().unwrap().1 += 1;
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_writer_is_flushed_when_the_reader_pauses() {
    let program = program(&Spec::new());
    let document = late(1);
    let (head, tail) = document.split_at(document.len() / 2);
    let expected = filter_slice(&program, &document).unwrap().0;
    runtime().block_on(async {
        let seen = Arc::new(Mutex::default());
        filter_async(&program, &document[..], Counted(Arc::clone(&seen))).await.unwrap();
        assert!(*seen.lock().unwrap() == (expected.clone(), 1), "a reader without a pause");

        let seen = Arc::new(Mutex::new((Vec::new(), 0)));
        // A half fits into the buffer, so there is no pause within it.
        let (mut input, reader) = tokio::io::duplex(document.len());
        let talk = async {
            use tokio::io::AsyncWriteExt;
            for (half, flushes) in [(head, 1), (tail, 2)] {
                input.write_all(half).await.unwrap();
                while seen.lock().unwrap().1 < flushes {
                    tokio::task::yield_now().await;
                }
            }
            let waiting = seen.lock().unwrap().0.len();
            assert!(expected.len() - waiting <= 1, "{waiting} of {}", expected.len());
            drop(input);
        };
        let run = filter_async(&program, reader, Counted(Arc::clone(&seen)));
        let (report, ()) = tokio::join!(run, talk);
        report.unwrap();
        assert!(*seen.lock().unwrap() == (expected.clone(), 3), "two pauses and the end");
    });
}

#[test]
fn little_output_does_not_wait_for_ever() {
    let program = program(&Spec::new().exclude("drop").max_items(1));
    // A source that is always ready. Everything except its first chunk is dropped.
    let mut turn = 0;
    let source = Turns(move |_: &mut Context<'_>| {
        turn += 1;
        let chunk = if turn == 1 { r#"[{"id":1},"# } else { r#"{"drop":1},{"drop":1},"# };
        if turn % 2 == 0 {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok::<_, std::io::Error>(Bytes::from(chunk))))
    });
    let mut stream = FilterStream::new(&program, source);
    let mut cx = Context::from_waker(Waker::noop());
    let polls = (0..50).position(|_| Pin::new(&mut stream).poll_next(&mut cx).is_ready());
    assert!(polls.is_some_and(|polls| polls <= 10), "{polls:?}");
}

/// A stream from a function.
struct Turns<F>(F);

impl<T, F: FnMut(&mut Context<'_>) -> Poll<Option<T>> + Unpin> Stream for Turns<F> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0(cx)
    }
}

#[test]
fn a_reader_that_is_always_interrupted_is_not_one_poll() {
    struct Interrupted(Arc<AtomicUsize>);
    impl tokio::io::AsyncRead for Interrupted {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut tokio::io::ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(Err(std::io::ErrorKind::Interrupted.into()))
        }
    }
    let program = program(&Spec::new());
    let asked = Arc::new(AtomicUsize::new(0));
    let mut run =
        Box::pin(filter_async(&program, Interrupted(Arc::clone(&asked)), tokio::io::sink()));
    let mut cx = Context::from_waker(Waker::noop());
    for polls in 1..10 {
        assert!(run.as_mut().poll(&mut cx).is_pending());
        assert!(asked.load(Ordering::Relaxed) <= polls * 300, "{asked:?}");
    }
}
