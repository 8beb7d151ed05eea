//! Bodies: frames, trailers, lengths.

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use tamis::http::FilterBody;
use tamis::{ErrorKind, Program, Spec};

use super::{program, ready};

fn frames(
    document: &'static [&'static str],
    trailers: &[(&'static str, &'static str)],
) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
    let trailers: HeaderMap = trailers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    let last = (!trailers.is_empty()).then(|| Frame::trailers(trailers));
    let data = document.iter().map(|piece| Frame::data(Bytes::from_static(piece.as_bytes())));
    let frames: Vec<_> = data.chain(last).map(Ok).collect();
    StreamBody::new(tokio_stream::iter(frames))
}

fn ids() -> Program {
    program(&Spec::new().select("id"))
}

#[test]
fn trailers_are_kept_and_digests_go() {
    let body = frames(
        &[r#"[{"id":1,"#, r#""x":2}]"#],
        &[("grpc-status", "0"), ("content-digest", "sha-256=:AA==:"), ("digest", "md5=AA")],
    );
    let collected = ready(FilterBody::new(&ids(), body).collect()).unwrap();
    let trailers = collected.trailers().unwrap();
    assert_eq!(trailers.len(), 1);
    assert_eq!(trailers["grpc-status"], "0");
    assert_eq!(collected.to_bytes(), r#"[{"id":1}]"#);

    let body = frames(&["[]"], &[("repr-digest", "sha-256=:AA==:")]);
    let collected = ready(FilterBody::new(&ids(), body).collect()).unwrap();
    assert!(collected.trailers().is_none(), "a frame without a field is none");
}

#[test]
fn no_trailers_after_an_error() {
    let body = frames(&["[1, 2"], &[("grpc-status", "0")]);
    let mut body = FilterBody::new(&program(&Spec::new()), body);
    assert_eq!(ready(body.frame()).unwrap().unwrap().into_data().unwrap(), "[1,2");
    let error = ready(body.frame()).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEnd);
    assert!(body.is_end_stream());
    assert!(ready(body.frame()).is_none());
}

#[test]
fn a_length_is_said_when_it_is_known() {
    let mut body = FilterBody::new(&ids(), Full::<Bytes>::from(r#"[{"id":1,"x":2}]"#));
    assert_eq!(body.size_hint().exact(), None);
    assert!(!body.is_end_stream());
    let frame = ready(body.frame()).unwrap().unwrap().into_data().unwrap();
    assert_eq!(frame, r#"[{"id":1}]"#, "a body in one frame leaves in one");
    assert_eq!(body.size_hint().exact(), Some(0));
    assert!(body.is_end_stream());
}

#[test]
fn untouched_bodies_and_full_ones() {
    let body = FilterBody::untouched(Full::<Bytes>::from("no JSON"));
    assert_eq!(body.size_hint().exact(), Some(7));
    assert!(body.outcome().is_none());
    assert_eq!(ready(body.collect()).unwrap().to_bytes(), "no JSON");

    let body = frames(&["a", "b"], &[("x-checksum", "1"), ("digest", "md5=AA")]);
    let collected = ready(FilterBody::untouched(body).collect()).unwrap();
    assert_eq!(collected.trailers().unwrap().len(), 2, "what is untouched keeps its digests");

    let body = FilterBody::<Full<Bytes>>::full("text");
    assert_eq!(body.size_hint().exact(), Some(4));
    assert_eq!(ready(body.collect()).unwrap().to_bytes(), "text");
    assert!(FilterBody::<Full<Bytes>>::full("").is_end_stream());
}

#[test]
fn data_that_is_in_pieces_is_one() {
    use bytes::Buf;
    // As http_body_util collects it.
    let data = Bytes::from(r#"[{"id"#).chain(Bytes::from(r#"":1}]"#));
    let body = Full::new(data);
    assert_eq!(ready(FilterBody::new(&ids(), body).collect()).unwrap().to_bytes(), r#"[{"id":1}]"#);
}
