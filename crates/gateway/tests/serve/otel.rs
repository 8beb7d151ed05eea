//! Traces for OpenTelemetry, with a collector that keeps the spans it gets.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};

use crate::envoy::Exchange;

const RULES: &str = "version: 1
default: refuse
listen: 127.0.0.1:0
drain_seconds: 1
routes:
- name: users
  when: {path: /users}
  spec: {exclude: [ssn], root: object}
";

/// The spans that were sent, with the attributes of their process.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<(String, Span)>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for spans in request.into_inner().resource_spans {
            let resource = format!("{:?}", spans.resource);
            let spans = spans.scope_spans.into_iter().flat_map(|scope| scope.spans);
            self.0.lock().unwrap().extend(spans.map(|span| (resource.clone(), span)));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Starts the server and returns the address at which it listens.
fn start(folder: &std::path::Path, environment: &[(&str, &str)]) -> (Child, String) {
    let config = folder.join("gateway.yaml");
    std::fs::write(&config, RULES).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_tamis-gateway"))
        .args(["serve", "--config"])
        .arg(config)
        .envs(environment.iter().copied())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    // Its further lines must not fail.
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    (server, line.trim_end().replace("tamis: listening at ", ""))
}

#[tokio::test]
async fn spans_go_to_the_collector_that_the_environment_names() {
    let collector = Collector::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let service = TraceServiceServer::new(collector.clone());
    let serving = Server::builder().add_service(service);
    tokio::spawn(serving.serve_with_incoming(TcpIncoming::from(listener)));

    let folder = tempfile::tempdir().unwrap();
    let (mut server, address) = start(
        folder.path(),
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), ("OTEL_SERVICE_NAME", "filters")],
    );
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel = channel.connect().await.unwrap();
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let asked = [("traceparent", parent.as_str())];
    let mut exchange = Exchange::begin(&channel, "GET", "/users", &asked, true).await;
    exchange.request_headers().await;
    exchange.response(&[(":status", "200"), ("content-type", "application/json")], false).await;
    exchange.body(r#"{"id": 1, "ssn": "078-05-1120"}"#, true).await;
    assert_eq!(exchange.received().await.unwrap().body, r#"{"id":1}"#);
    drop((exchange, channel));

    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    let ended = tokio::task::spawn_blocking(move || server.wait().unwrap()).await.unwrap();
    assert!(ended.success());
    let spans = collector.0.lock().unwrap();
    let of = |name: &str| spans.iter().find(|(_, span)| span.name == name).expect(name);
    let (resource, exchange) = of("exchange");
    assert!(resource.contains("filters"), "{resource}");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&exchange.trace_id), trace);
    assert_eq!(hex(&exchange.parent_span_id), "b7ad6b7169203331");
    assert!(format!("{:?}", exchange.attributes).contains("users"));
    assert_eq!(of("filter_response").1.parent_span_id, exchange.span_id);
    assert!(!format!("{spans:?}").contains("078-05-1120"));
}

#[test]
fn other_protocols_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
    ];
    let (mut server, line) = start(folder.path(), &environment);
    assert_eq!(line, "tamis: OTEL_EXPORTER_OTLP_PROTOCOL: only `grpc` is supported");
    assert_eq!(server.wait().unwrap().code(), Some(2));
}
