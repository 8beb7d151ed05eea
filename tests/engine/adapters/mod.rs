//! Asynchronous adapters: when they wait, where their steps run, and what remains of a dropped run. Their output is compared with
//! that of all other drivers by the cases.

mod body;
mod cancel;
mod kinds;
mod layer;
mod steps;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tamis::http::FilterStream;
use tamis::{Error, Program, Spec};
use tokio_stream::Stream;

/// Polls a future without a runtime until it is ready.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut cx) {
            return done;
        }
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn program(spec: &Spec) -> Program {
    Program::compile(spec).unwrap()
}

/// A document of `megabytes` whose only selected item is the last, so that a select has to hold output until then.
pub(crate) fn late(megabytes: usize) -> Vec<u8> {
    let filler = format!(r#"{{"x":"{}"}},"#, "y".repeat(1000)).repeat(megabytes << 10);
    format!(r#"[{filler}{{"id":1}}]"#).into_bytes()
}

/// Chunks of a document, none of which fails.
pub(crate) fn chunks(
    document: &[u8],
    size: usize,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Unpin + Send + 'static {
    let document = Bytes::copy_from_slice(document);
    let begins: Vec<usize> = (0..document.len()).step_by(size).collect();
    let piece = move |begin: usize| Ok(document.slice(begin..document.len().min(begin + size)));
    tokio_stream::iter(begins.into_iter().map(piece))
}

/// Collects the output of a stream.
pub(crate) async fn collect<S>(mut stream: FilterStream<S>) -> (Vec<u8>, Result<(), Error>)
where
    FilterStream<S>: Stream<Item = Result<Bytes, Error>> + Unpin,
{
    let mut output = Vec::new();
    while let Some(item) = tokio_stream::StreamExt::next(&mut stream).await {
        match item {
            Ok(piece) => output.extend_from_slice(&piece),
            Err(error) => return (output, Err(error)),
        }
    }
    (output, Ok(()))
}
