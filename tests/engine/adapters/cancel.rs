//! Futures that are dropped at every await point, after which nothing of the run is left.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tamis::http::{FilterBody, FilterStream, Transform, transform_async};
use tamis::{Limits, Program, Spec};

use super::{chunks, late, program, runtime};

/// Open files are counted for the whole process, so these tests run in one of their own.
#[test]
fn in_a_process_of_their_own() {
    crate::run_ignored("adapters::cancel::", 3);
}

/// The number of open temporary files.
#[cfg(target_os = "linux")]
fn files() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let deleted = |path: &std::path::Path| path.to_string_lossy().ends_with("(deleted)");
    open.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|path| deleted(&path))).count()
}

#[cfg(not(target_os = "linux"))]
fn files() -> usize {
    0
}

/// Waits for a step that runs on another thread. It must not take long.
fn until(what: &str, done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A transform that owns a reference to `mark`.
fn marked(program: &Program, mark: &Arc<()>) -> Transform {
    let mark = Arc::clone(mark);
    let options = tamis_testkit::call_options().with_limits(Limits::new().with_held(200_000));
    Transform::json(program.with_options(&options)).with_on_end(move |_, _| drop(mark))
}

#[test]
#[ignore = "run by `in_a_process_of_their_own`"]
fn at_every_await_point() {
    let program = program(&Spec::new().select("id"));
    let document = late(1);
    let mark = Arc::new(());
    let runtime = runtime();
    let mut points = 0;
    let mut spilled = 0;
    for stop in 0.. {
        let ended = runtime.block_on(async {
            // Both sides are small, so the future waits for them many times.
            let (mut input, reader) = tokio::io::duplex(20_000);
            let (writer, mut output) = tokio::io::duplex(4_000);
            let mut run = pin!(transform_async(marked(&program, &mark), reader, writer));
            let mut cx = Context::from_waker(Waker::noop());
            let mut rest = &document[..];
            let mut taken = Vec::new();
            for _ in 0..stop {
                if run.as_mut().poll(&mut cx).is_ready() {
                    return true;
                }
                points += 1;
                feed(&mut input, &mut rest, &mut output, &mut taken).await;
            }
            spilled += files();
            false
        });
        until("the run is gone", || Arc::strong_count(&mark) == 1);
        until("its file is gone", || files() == 0);
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
        if ended {
            break;
        }
    }
    assert!(points > 1000, "{points} points");
    assert!(spilled > 10 || cfg!(not(target_os = "linux")), "{spilled} with a file");
}

/// Lets the other sides write and read a few bytes between two polls.
async fn feed(
    input: &mut tokio::io::DuplexStream,
    rest: &mut &[u8],
    output: &mut tokio::io::DuplexStream,
    taken: &mut Vec<u8>,
) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    tokio::task::yield_now().await;
    let give = async {
        if rest.is_empty() {
            return;
        }
        let count = input.write(&rest[..rest.len().min(15_000)]).await.unwrap();
        *rest = &rest[count..];
        if rest.is_empty() {
            input.shutdown().await.unwrap();
        }
    };
    _ = tokio::time::timeout(Duration::from_micros(100), give).await;
    let take = output.read_buf(taken);
    _ = tokio::time::timeout(Duration::from_micros(100), take).await;
}

#[test]
#[ignore = "run by `in_a_process_of_their_own`"]
fn streams_and_bodies_that_are_dropped() {
    let program = program(&Spec::new().select("id"));
    let document = late(1);
    let mark = Arc::new(());
    let runtime = runtime();
    for stop in (0..60).chain([200, 1000]) {
        runtime.block_on(async {
            let mut stream =
                pin!(FilterStream::new(marked(&program, &mark), chunks(&document, 7000)));
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..stop {
                _ = tokio_stream::Stream::poll_next(stream.as_mut(), &mut cx);
                tokio::task::yield_now().await;
            }
        });
        runtime.block_on(async {
            let source = http_body_util::StreamBody::new(tokio_stream::StreamExt::map(
                chunks(&document, 7000),
                |chunk| chunk.map(http_body::Frame::data),
            ));
            let mut body = pin!(FilterBody::new(marked(&program, &mark), source));
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..stop {
                _ = http_body::Body::poll_frame(body.as_mut(), &mut cx);
                tokio::task::yield_now().await;
            }
        });
        until("the runs are gone", || Arc::strong_count(&mark) == 1);
        until("their files are gone", || files() == 0);
    }
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[test]
#[ignore = "run by `in_a_process_of_their_own`"]
fn a_runtime_that_ends_in_the_middle_is_an_error() {
    let program = program(&Spec::new().select("id"));
    let mark = Arc::new(());
    let document = late(1);
    let mut stream = FilterStream::new(marked(&program, &mark), chunks(&document, 7000));
    let mut cx = Context::from_waker(Waker::noop());
    let first = runtime();
    let guard = first.enter();
    for _ in 0..40 {
        _ = tokio_stream::Stream::poll_next(std::pin::Pin::new(&mut stream), &mut cx);
    }
    drop(guard);
    first.shutdown_background();
    // The stream continues on another runtime, or reports that it cannot.
    let (output, result) = runtime().block_on(super::collect(stream));
    match result {
        Ok(()) => assert!(output.ends_with(br#"{"id":1}]"#)),
        Err(error) => assert_eq!(error.kind(), tamis::ErrorKind::Internal),
    }
    until("the run is gone", || Arc::strong_count(&mark) == 1);
}
