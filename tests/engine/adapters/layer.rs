//! The layer without a connection: the responses that a server would send.

use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use tamis::http::{ContentCoding, DecodeOptions, FilterBody, FilterLayer, Transform};
use tamis::spec::Budget;
use tamis::text::{TextProgram, TextSpec};
use tamis::{ErrorKind, Limits, Spec};
use tamis_chat::{PruneProgram, PruneSpec};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use super::{program, ready};

/// The response to a request, for any response of the inner service.
fn through(method: Method, status: u16, body: &'static str) -> (StatusCode, Option<String>, Bytes) {
    let program = program(&Spec::new().select("id"));
    let layer = FilterLayer::new(move |_, _| Some(Transform::json(&program)));
    let service = ServiceBuilder::new().layer(layer).service_fn(async |_: Request<()>| {
        let answer = Response::builder().status(status).header("content-length", body.len());
        answer.body(Full::<Bytes>::from(body))
    });
    let asked = Request::builder().method(method).body(()).unwrap();
    let answer = ready(service.oneshot(asked)).unwrap();
    let length = answer.headers().get("content-length");
    let length = length.map(|length| length.to_str().unwrap().to_owned());
    let status = answer.status();
    (status, length, ready(answer.into_body().collect()).unwrap().to_bytes())
}

#[test]
fn a_body_that_must_not_be_there_does_not_leave() {
    let secret = r#"{"id": 1, "secret": "canary"}"#;
    for (method, status) in
        [(Method::HEAD, 200), (Method::GET, 204), (Method::GET, 205), (Method::GET, 304)]
    {
        let (_, length, body) = through(method.clone(), status, secret);
        assert_eq!((length, body), (None, Bytes::new()), "{method} {status}");
    }
    let (status, length, body) = through(Method::GET, 200, secret);
    assert_eq!((status.as_u16(), length.as_deref()), (200, Some("8")));
    assert_eq!(body, r#"{"id":1}"#);
}

#[test]
fn an_empty_body_stays_one() {
    assert_eq!(through(Method::DELETE, 200, ""), (StatusCode::OK, None, Bytes::new()));
}

#[test]
fn errors_of_the_service_are_filtered_too() {
    let (status, _, body) = through(Method::GET, 500, r#"{"id": 1, "trace": "canary"}"#);
    assert_eq!((status.as_u16(), body), (500, Bytes::from(r#"{"id":1}"#)));
    let (status, _, body) = through(Method::GET, 500, "<h1>canary</h1>");
    assert_eq!(status.as_u16(), 502);
    assert!(!String::from_utf8_lossy(&body).contains("canary"));
}

const SECRET: &str = "hunter2-9f3c51";

fn document() -> String {
    format!(r#"[{{"id": 1, "token": "{SECRET}"}}]"#)
}

/// A layer with the same filter for all responses.
fn layer(
    spec: &Spec,
) -> FilterLayer<impl use<> + Fn(&http::request::Parts, &http::response::Parts) -> Option<Transform>>
{
    let program = program(spec);
    FilterLayer::new(move |_, _| Some(Transform::json(&program)))
}

async fn asked<S, B>(service: S, method: &str) -> Response<FilterBody<B>>
where
    S: Service<Request<()>, Response = Response<FilterBody<B>>, Error = Infallible>,
{
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    service.oneshot(Request::builder().method(method).body(()).unwrap()).await.unwrap()
}

#[test]
fn a_response_without_a_body_has_no_length() {
    let layer = layer(&Spec::new().select("id"));
    let service = layer.layer(service_fn(async |_| Ok(Response::new(Full::from(document())))));
    let answer: Response<FilterBody<Full<Bytes>>> = ready(asked(service, "HEAD"));
    assert!(answer.body().is_end_stream());
    assert_eq!(answer.body().size_hint().exact(), None, "axum would make a content-length of it");
}

#[test]
fn a_body_that_says_that_it_is_over_gives_nothing_more() {
    struct Liar(Full<Bytes>);
    impl Body for Liar {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Pin::new(&mut self.0).poll_frame(cx)
        }
        fn is_end_stream(&self) -> bool {
            true
        }
    }
    let service = layer(&Spec::new().select("id"))
        .layer(service_fn(async |_| Ok(Response::new(Liar(Full::from(document()))))));
    let answer = ready(asked(service, "GET"));
    assert_eq!(ready(answer.into_body().collect()).unwrap().to_bytes(), "");
}

#[test]
fn protocol_switches_are_refused() {
    let layer = layer(&Spec::new().select("id"));
    for (method, status) in [("GET", 101), ("CONNECT", 200)] {
        let service = layer.layer(service_fn(async |_| {
            let answer = Response::builder().status(status).header("upgrade", "websocket");
            Ok(answer.body(Full::<Bytes>::default()).unwrap())
        }));
        let answer = ready(asked(service, method));
        assert_eq!(answer.status(), 502, "{method} {status}");
        assert!(!answer.headers().contains_key("upgrade"));
    }
}

#[test]
fn no_length_is_said_in_front_of_trailers() {
    // The whole output is emitted at the end, before the trailers.
    let layer = layer(&Spec::new().budget(Budget::Bytes(1000)));
    for trailers in [true, false] {
        let service = layer.layer(service_fn(async |_| {
            let sum = [("x-sum".parse().unwrap(), "1".parse().unwrap())].into_iter().collect();
            let frames = [Frame::data(Bytes::from("[1, 2]")), Frame::trailers(sum)];
            let frames = frames.into_iter().take(1 + usize::from(trailers));
            let frames = frames.map(Ok::<_, Infallible>);
            Ok(Response::new(StreamBody::new(tokio_stream::iter(frames.collect::<Vec<_>>()))))
        }));
        let answer = ready(asked(service, "GET"));
        let known = (!trailers).then_some(5);
        assert_eq!(answer.body().size_hint().exact(), known);
        assert_eq!(answer.headers().contains_key("content-length"), !trailers);
        let all = ready(answer.into_body().collect()).unwrap();
        assert_eq!(all.trailers().map(|it| it["x-sum"].to_str().unwrap()), trailers.then_some("1"));
        assert_eq!(all.to_bytes(), "[1,2]");
    }
}

#[test]
fn a_layer_that_was_cloned_can_be_changed() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(document().as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let first = layer(&Spec::new().select("id"));
    let second = first.clone().with_decoding(DecodeOptions::new());
    let third = first
        .clone()
        .with_on_error(|_, _| Some(Response::builder().status(418).body(Bytes::new()).unwrap()));
    for (layer, status) in [(first, 502), (second, 200), (third, 418)] {
        let service = layer.layer(service_fn(async |_| {
            let answer = Response::builder().header("content-encoding", "gzip");
            Ok(answer.body(Full::<Bytes>::from(gzip.clone())).unwrap())
        }));
        assert_eq!(ready(asked(service, "GET")).status(), status);
    }
}

/// The response of a layer to a body of these frames, and the ends of its runs.
fn answered(
    transform: impl Fn() -> Transform,
    frames: &[&'static [u8]],
    known: bool,
) -> (u16, String, Vec<bool>) {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&reported);
    let layer = FilterLayer::new(move |_, _| {
        let tell = Arc::clone(&tell);
        Some(transform().with_on_end(move |_, result| tell.lock().unwrap().push(result.is_ok())))
    });
    let service = layer.layer(service_fn(|_: Request<()>| {
        let body = match known {
            true => Full::<Bytes>::default().boxed_unsync(),
            false => {
                let frame = |data| Ok::<_, Infallible>(Frame::data(Bytes::from_static(data)));
                let frames: Vec<_> = frames.iter().copied().map(frame).collect();
                StreamBody::new(tokio_stream::iter(frames)).boxed_unsync()
            }
        };
        std::future::ready(Ok::<_, Infallible>(Response::new(body)))
    }));
    let answer = ready(service.oneshot(Request::new(()))).unwrap();
    let status = answer.status().as_u16();
    let body = ready(answer.into_body().collect()).unwrap().to_bytes();
    let reported = reported.lock().unwrap().clone();
    (status, String::from_utf8(body.to_vec()).unwrap(), reported)
}

#[test]
fn a_body_without_a_byte_is_no_document() {
    let program = program(&Spec::new().select("id"));
    let mut nothing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    nothing.flush().unwrap();
    let nothing: &'static [u8] = nothing.finish().unwrap().leak();
    let plain = || Transform::json(&program);
    let gzip =
        || Transform::json(&program).with_decoding(ContentCoding::Gzip, &DecodeOptions::new());
    let none = (200, String::new(), vec![true]);
    assert_eq!(answered(plain, &[], true), none);
    assert_eq!(answered(plain, &[], false), none);
    assert_eq!(answered(plain, &[b"", b""], false), none);
    assert_eq!(
        answered(
            || Transform::from(&PruneProgram::compile(&PruneSpec::new()).unwrap()),
            &[],
            false
        ),
        none
    );
    assert_eq!(answered(gzip, &[], false), none);
    assert_eq!(answered(gzip, &[nothing], false), none, "as many encoders send it");
    assert_eq!(answered(gzip, &[&nothing[..5]], false).0, 502, "cut off");
    let (status, _, reported) = answered(plain, &[b" "], false);
    assert_eq!((status, reported), (502, vec![false]), "white space is a byte");
}

#[test]
fn empty_text_is_replaced_by_on_empty() {
    let filter: TextSpec = serde_json::from_str(r#"{"on_empty": "nothing was found"}"#).unwrap();
    let filter = TextProgram::compile(&filter).unwrap();
    let text = || Transform::text(&filter, &Limits::new());
    for known in [true, false] {
        let expected = (200, "nothing was found".to_owned(), vec![true]);
        assert_eq!(answered(text, &[], known), expected, "known: {known}");
    }
}

/// hyper sends what it has when a body is not ready, and drops it when a body fails.
#[test]
fn an_error_of_a_later_line_waits_until_the_lines_before_it_are_sent() {
    for (lines, good) in [
        (
            "{\"id\":1,\"x\":2}\n{\"id\":2}\nno JSON\n{\"id\":3}\n",
            "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n",
        ),
        ("no JSON\n", ""),
    ] {
        let program = program(&Spec::new().select("id"));
        let layer = FilterLayer::new(move |_, _| Some(Transform::ndjson(&program)));
        let service =
            layer.layer(service_fn(async |_| Ok(Response::new(Full::<Bytes>::from(lines)))));
        let answer = ready(asked(service, "GET"));
        assert_eq!(answer.status(), 200);
        let mut body = answer.into_body();
        let mut cx = Context::from_waker(Waker::noop());
        let mut sent = Vec::new();
        // An error loses the frames since the body was last not ready.
        let mut waiting = Vec::new();
        let error = loop {
            assert!(!body.is_end_stream());
            match Pin::new(&mut body).poll_frame(&mut cx) {
                Poll::Pending => sent.append(&mut waiting),
                Poll::Ready(Some(Ok(frame))) => waiting.extend(frame.into_data().unwrap()),
                Poll::Ready(Some(Err(error))) => break error,
                Poll::Ready(None) => panic!("no error after {sent:?}"),
            }
        };
        assert_eq!(error.kind(), ErrorKind::Syntax);
        assert_eq!((String::from_utf8(sent).unwrap().as_str(), waiting.len()), (good, 0));
        assert!(body.is_end_stream());
    }
}
