//! Spans and events of the layer, for the crate `tracing`.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode};
use tamis::http::{Choice, FilterLayer, Transform};
use tamis::{Program, Spec};
use tower::{Layer, ServiceExt, service_fn};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::servers::SECRET;

/// A subscriber that records spans and events of the layer as lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Lines {
    fn push(&self, head: &str, visit: impl FnOnce(&mut Fields)) {
        let mut fields = Fields(head.to_owned());
        visit(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tamis::http"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.push(&format!("span {}", span.metadata().name()), |fields| span.record(fields));
        Id::from_u64(7)
    }

    fn event(&self, event: &Event<'_>) {
        let level = event.metadata().level();
        let parent = event.parent().map_or(0, Id::into_u64);
        self.push(&format!("{level} in {parent}"), |fields| event.record(fields));
    }

    fn try_close(&self, _: Id) -> bool {
        self.push("closed", |_| {});
        true
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Sends a body through the layer and returns what was recorded.
async fn recorded(path: &'static str, body: &str) -> Vec<String> {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let program = Program::compile(&Spec::new().select("id")).unwrap();
    let layer = FilterLayer::deciding(move |asked, _| match asked.uri.path() {
        "/filtered" => Transform::json(&program).into(),
        "/passed" => Choice::Pass,
        _ => Choice::Refuse(StatusCode::FORBIDDEN),
    });
    let body = Bytes::from(body.to_owned());
    let service = layer.layer(service_fn(move |_: Request<()>| {
        let body = body.clone();
        async { Response::builder().body(Full::new(body)) }
    }));
    let response = service.oneshot(Request::get(path).body(()).unwrap()).await.unwrap();
    _ = response.into_body().collect().await;
    let lines = lines.0.lock().unwrap();
    assert!(lines.iter().all(|line| !line.contains(SECRET)), "{lines:?}");
    lines.clone()
}

#[tokio::test]
async fn responses_have_spans_and_events_without_data() {
    let body = format!(r#"[{{"id": 1, "token": "{SECRET}"}}]"#);
    let span = r#"span filter_response method="GET" status=200"#;
    let read = body.len();
    assert_eq!(
        recorded("/filtered", &body).await,
        [
            span.to_owned(),
            format!("DEBUG in 7 message=response filtered read={read} written=10"),
            "closed".to_owned(),
        ]
    );
    // The key that is cut off must not be in an event.
    let broken = recorded("/filtered", &format!(r#"[{{"{SECRET}": tru]"#)).await;
    let [first, event, last] = broken.as_slice() else { panic!("{broken:?}") };
    assert_eq!([first.as_str(), last], [span, "closed"]);
    assert!(event.starts_with("WARN in 7 message=response not filtered"), "{event}");
    assert!(event.contains(r#"kind="syntax""#), "{event}");
    assert_eq!(recorded("/passed", &body).await, [""; 0]);
    assert_eq!(
        recorded("/refused", &body).await,
        [r#"DEBUG in 0 message=response refused method="GET" status=403"#]
    );
}
