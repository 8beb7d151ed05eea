//! The body combined with other stacks: layers of tower-http, axum, tonic.

use std::convert::Infallible;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes};
use hyper::{Request, Response};
use tamis::http::FilterBody;
use tamis::{Program, Spec};
use tower::{ServiceBuilder, ServiceExt, service_fn};
use tower_http::map_response_body::MapResponseBodyLayer;
use tower_http::timeout::ResponseBodyTimeoutLayer;
use tower_http::trace::TraceLayer;

use crate::servers::{both, by, empty, ids, json};

const DOCUMENT: &str = r#"[{"id": 1, "token": 2}]"#;
const FILTERED: &str = r#"[{"id":1}]"#;

fn program() -> Program {
    Program::compile(&Spec::new().select("id")).unwrap()
}

fn body() -> FilterBody<Full<Bytes>> {
    FilterBody::new(&program(), Full::from(DOCUMENT))
}

/// Returns the filter's error inside the errors of other crates.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> &'e tamis::Error {
    let mut causes =
        std::iter::successors(Some(error), |&error: &&'e (dyn Error + 'static)| error.source());
    causes.find_map(|cause| cause.downcast_ref()).unwrap()
}

#[test]
fn layers_of_tower_http_are_around_and_within() {
    both(async |_| {
        let chunks = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&chunks);
        let trace = TraceLayer::new_for_http().on_body_chunk(
            move |chunk: &Bytes, _: Duration, _: &tracing::Span| {
                seen.lock().unwrap().push(chunk.clone());
            },
        );
        let service = ServiceBuilder::new()
            .layer(MapResponseBodyLayer::new(axum::body::Body::new))
            .layer(ResponseBodyTimeoutLayer::new(Duration::from_secs(5)))
            .layer(trace)
            .layer(ids())
            .layer(TraceLayer::new_for_http())
            .service(service_fn(async |_: Request<_>| Ok::<_, Infallible>(json(DOCUMENT))));
        let answer = service.oneshot(Request::new(empty())).await.unwrap();
        assert_eq!(answer.headers()["content-length"], "10");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), FILTERED);
        assert_eq!(chunks.lock().unwrap().concat(), FILTERED.as_bytes());
    });
}

#[test]
fn a_body_of_axum() {
    both(async |_| {
        let body = axum::body::Body::new(body());
        assert_eq!(axum::body::to_bytes(body, 100).await.unwrap(), FILTERED);
        let failed = FilterBody::new(&program(), Full::<Bytes>::from("[{]"));
        let error = axum::body::to_bytes(axum::body::Body::new(failed), 100).await.unwrap_err();
        assert_eq!(cause(&error).kind(), tamis::ErrorKind::Syntax);
    });
}

#[test]
fn a_layer_of_axum_around_one_route() {
    both(async |_| {
        let answer = async || ([("content-type", "application/json")], DOCUMENT);
        let app = axum::Router::new()
            .route("/filtered", axum::routing::get(answer).layer(by(&Spec::new().select("id"))))
            .route("/open", axum::routing::get(answer));
        for (path, wanted) in [("/filtered", FILTERED), ("/open", DOCUMENT)] {
            let asking = Request::get(path).body(axum::body::Body::empty()).unwrap();
            let answer = app.clone().oneshot(asking).await.unwrap();
            assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), wanted);
        }
    });
}

#[test]
fn a_body_of_tonic() {
    both(async |_| {
        let body = tonic::body::Body::new(body());
        assert!(!body.is_end_stream());
        assert_eq!(body.collect().await.unwrap().to_bytes(), FILTERED);
        // tonic gives every error of a body a status.
        let failed = FilterBody::new(&program(), Full::<Bytes>::from("[{]"));
        let status = tonic::body::Body::new(failed).collect().await.unwrap_err();
        assert_eq!(cause(&status).kind(), tamis::ErrorKind::Syntax);
    });
}

#[test]
fn a_service_of_tonic() {
    both(async |_| {
        // Request and response bodies of tonic pass through the layer.
        let service = ServiceBuilder::new().layer(ids()).service(service_fn(
            async |_: Request<tonic::body::Body>| {
                let mut answer =
                    Response::new(tonic::body::Body::new(Full::<Bytes>::from(DOCUMENT)));
                answer.headers_mut().insert("content-type", "application/json".parse().unwrap());
                Ok::<_, Infallible>(answer)
            },
        ));
        let answer = service.oneshot(Request::new(tonic::body::Body::empty())).await.unwrap();
        let body = tonic::body::Body::new(answer.into_body());
        assert_eq!(body.collect().await.unwrap().to_bytes(), FILTERED);
    });
}
