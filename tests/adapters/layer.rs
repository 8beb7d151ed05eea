//! The layer alone, without a connection: what a server would be given to send.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tamis::{FilterLayer, Spec, Transform};
use tower::{ServiceBuilder, ServiceExt};

use crate::{program, ready};

/// The answer to a request, whatever the service behind the layer says.
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
