//! An axum application with a filter for each tenant. The filters are in a manifest, which is read again when it changes,
//! and there are figures for Prometheus.
//!
//! ```sh
//! cargo run --release -p tamis-interop --example tenants -- tenants.yaml
//! ```
//!
//! ```yaml
//! version: 1
//! filters:
//!   acme: {exclude: [ssn], root: object}
//!   globex: {select: [id, name], root: object}
//! ```

mod signals;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode, request, response};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tamis::http::{Choice, DecodeOptions, FilterLayer, HeldPool, Transform};
use tamis::{CallOptions, Limits};
use tamis_manifest::Manifest;
use tokio::net::TcpListener;
use tower::{Layer, ServiceExt};

/// The header with the name of the tenant. Here clients set it. In a real application, a layer that authenticates them
/// does, after it has removed what the client sent.
pub(crate) const TENANT: HeaderName = HeaderName::from_static("x-tenant");

/// A response of the API.
const USER: &str = r#"{"id": 1, "name": "Ann", "ssn": "078-05-1120"}"#;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let file = std::env::args_os().nth(1).ok_or("expected the path of a manifest")?;
    let tenants = Arc::new(Tenants::load(file)?);
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    // Figures are for operators, so they are at another address.
    let figures = TcpListener::bind("127.0.0.1:9464").await?;
    writeln!(io::stdout(), "curl -i -H 'x-tenant: acme' http://127.0.0.1:8080/user")?;
    writeln!(io::stdout(), "curl http://127.0.0.1:9464/metrics")?;
    tokio::spawn(watch(Arc::clone(&tenants), Duration::from_secs(2)));
    let (app, metrics) = (app(&tenants), metrics(&tenants));
    tokio::try_join!(
        axum::serve(listener, app).with_graceful_shutdown(signals::stop()).into_future(),
        axum::serve(figures, metrics).with_graceful_shutdown(signals::stop()).into_future()
    )?;
    Ok(())
}

/// The rules of all tenants and their figures.
pub(crate) struct Tenants {
    file: PathBuf,
    rules: RwLock<Arc<Rules>>,
    /// The limit for the bytes that all responses together hold.
    pool: HeldPool,
    responses: Family<Vec<(&'static str, String)>, Counter>,
    bytes: Family<Vec<(&'static str, String)>, Counter>,
    registry: Registry,
}

/// The rules of one version of the file. They never change.
struct Rules {
    manifest: Manifest,
    version: String,
}

impl Rules {
    fn read(file: &Path) -> Result<Self, AnyError> {
        let text = std::fs::read_to_string(file)?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let version = format!("{:x}", hasher.finish());
        // Everything is checked here: an error names the line and the column.
        Ok(Self { manifest: Manifest::parse(&file.display().to_string(), &text)?, version })
    }
}

impl Tenants {
    /// Reads the manifest.
    pub(crate) fn load(file: impl Into<PathBuf>) -> Result<Self, AnyError> {
        let file = file.into();
        let rules = RwLock::new(Arc::new(Rules::read(&file)?));
        let (responses, bytes) = (Family::default(), Family::default());
        let mut registry = Registry::default();
        registry.register("responses", "Responses by tenant and outcome", responses.clone());
        registry.register("response_bytes", "Bytes before and after the filter", bytes.clone());
        let pool = HeldPool::new(256 << 20, 4 << 30);
        Ok(Self { file, rules, pool, responses, bytes, registry })
    }

    /// Reads the manifest again, and returns whether it has changed. If it is not valid, the old rules stay in force.
    pub(crate) fn reload(&self) -> Result<bool, AnyError> {
        let new = Rules::read(&self.file)?;
        let changed = new.version != self.rules().version;
        if changed {
            // Responses that have begun keep the rules with which they began.
            *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        }
        Ok(changed)
    }

    fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decides about one response. A tenant without a filter gets nothing.
    fn choose(&self, rules: &Rules, asked: &request::Parts, head: &response::Parts) -> Choice {
        let tenant = asked.headers.get(TENANT).and_then(|value| value.to_str().ok());
        let program = tenant.and_then(|tenant| rules.manifest.program(tenant).ok());
        let (Some(tenant), Some(program)) = (tenant, program) else {
            self.count("unknown", "refused");
            return Choice::Refuse(StatusCode::FORBIDDEN);
        };
        let options = CallOptions::new()
            .with_token_counter(tamis_tokens::o200k_base())
            .with_limits(Limits::new().with_pool(&self.pool));
        let call = || program.with_options(&options);
        let media_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        // Other types are read as JSON, and refused if they are not.
        let transform = Transform::for_media_type(media_type.unwrap_or_default(), call())
            .unwrap_or_else(|| Transform::json(call()));
        let (tenant, bytes, responses) =
            (tenant.to_owned(), self.bytes.clone(), self.responses.clone());
        // It is called for aborted and refused responses as well.
        Choice::Filter(transform.with_on_end(move |outcome, result| {
            let outcome_name = result.map_or_else(|error| error.kind().as_str(), |()| "filtered");
            responses.get_or_create(&labels(&tenant, "outcome", outcome_name)).inc();
            if let Some(report) = outcome.report() {
                let read = report.original_bytes;
                bytes.get_or_create(&labels(&tenant, "stage", "in")).inc_by(read);
                let written = report.output_bytes.unwrap_or(report.result_bytes);
                bytes.get_or_create(&labels(&tenant, "stage", "out")).inc_by(written);
            }
        }))
    }

    fn count(&self, tenant: &str, outcome: &str) {
        self.responses.get_or_create(&labels(tenant, "outcome", outcome)).inc();
    }
}

/// Only tenants of the manifest become labels, so their number is bounded.
fn labels(tenant: &str, name: &'static str, value: &str) -> Vec<(&'static str, String)> {
    vec![("tenant", tenant.to_owned()), (name, value.to_owned())]
}

/// Filters a response with the rules that are in force when the request arrives. The layer is made for each request,
/// because its version is a part of every `ETag`. That costs two allocations.
async fn filtered(State(tenants): State<Arc<Tenants>>, request: Request, next: Next) -> Response {
    let rules = tenants.rules();
    let version = rules.version.clone();
    let layer =
        FilterLayer::deciding(move |asked: &_, head: &_| tenants.choose(&rules, asked, head))
            .with_version(&version)
            .with_vary([TENANT])
            .with_decoding(DecodeOptions::new());
    match layer.layer(next).oneshot(request).await {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    }
}

/// Builds the application: a handler that knows nothing of tenants, and the filter over it.
pub(crate) fn app(tenants: &Arc<Tenants>) -> Router {
    Router::new()
        .route("/user", get(user))
        .layer(from_fn_with_state(Arc::clone(tenants), filtered))
        // It is added after the layer, so it is not filtered.
        .route("/health", get(async || "ok"))
}

async fn user(headers: HeaderMap) -> Response {
    let known = headers.get_all(IF_NONE_MATCH).iter().any(|tags| tags == "W/\"1\"");
    let status = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let body = if known { "" } else { USER };
    (status, [(CONTENT_TYPE, "application/json"), (ETAG, "\"1\"")], body).into_response()
}

/// Builds the page for Prometheus.
pub(crate) fn metrics(tenants: &Arc<Tenants>) -> Router {
    Router::new().route("/metrics", get(figures)).with_state(Arc::clone(tenants))
}

async fn figures(State(tenants): State<Arc<Tenants>>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &tenants.registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Reads the manifest again from time to time. Never ends.
pub(crate) async fn watch(tenants: Arc<Tenants>, interval: Duration) {
    let mut reported = String::new();
    loop {
        tokio::time::sleep(interval).await;
        let tenants = Arc::clone(&tenants);
        let message = match tokio::task::spawn_blocking(move || tenants.reload()).await {
            Ok(Ok(true)) => "the rules were replaced".to_owned(),
            Ok(Ok(false)) => String::new(),
            Ok(Err(error)) => format!("the old rules stay in force: {error}"),
            Err(error) => error.to_string(),
        };
        // The same mistake is reported once.
        if !message.is_empty() && message != reported {
            _ = writeln!(io::stderr(), "{message}");
        }
        reported = message;
    }
}
