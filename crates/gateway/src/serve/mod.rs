//! `tamis serve`: servers for gateways, which distribute the work of a fleet.
//!
//! | service | for |
//! |---|---|
//! | `envoy.service.ext_proc.v3.ExternalProcessor` | Envoy, and gateways that are built on it |
//! | `agentgateway.dev.ext_mcp.ExtMcp` | agentgateway |
//! | `grpc.health.v1.Health` | probes |
//!
//! All are on one port, without TLS: the gateway is on the same machine, or a mesh is between them. A server keeps
//! nothing of a request after its end, except stored results. So a load balancer can use any number of servers.

mod choose;
pub mod ext_mcp;
mod ext_proc;
mod failures;
mod metrics;
mod outcome;
mod recall;
mod reload;
mod table;
mod trace;
#[cfg(feature = "otel")]
mod trace_context;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::ExternalProcessorServer;
use tamis::http::HeldPool;
use tamis_mcp::config::{ConfigError, ConfigPlaces, open_store};
use tamis_mcp::gateway_yaml::GatewayConfig;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::observe::Observer;
use ext_mcp::ExtMcpServer;
use ext_mcp::pb::ext_mcp_server::ExtMcpServer as ExtMcpService;
use ext_proc::{CurrentTable, ExtProc};
use failures::FailureLog;
use metrics::RouteMetrics;
use table::{Shared, Table};

/// The window of one stream. A slow client leaves as much unread here.
const STREAM_WINDOW: u32 = 128 << 10;

/// The window of a connection. It must not be used up by slow streams, or they would stop the others.
const CONNECTION_WINDOW: u32 = 1 << 30;

/// How often an unused connection is checked.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The longest time in which a server that ends still accepts streams. Gateways ask for its health every few seconds, and
/// until then they send it requests.
const LONGEST_NOTICE: Duration = Duration::from_secs(10);

/// The part of the time for open streams in which new ones are accepted.
const NOTICE_PART: u32 = 3;

/// A server that is ready to run.
pub struct GatewayServer {
    table: CurrentTable,
    shared: Shared,
    path: PathBuf,
    drain: Duration,
}

impl fmt::Debug for GatewayServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayServer").field("path", &self.path).finish_non_exhaustive()
    }
}

impl GatewayServer {
    /// Compiles the rules of a configuration and opens its store. `path` is the file that is read again when it changes.
    ///
    /// # Errors
    /// The rules or the store cannot be used.
    pub fn new(
        config: GatewayConfig,
        path: impl Into<PathBuf>,
        observer: Arc<Observer>,
    ) -> Result<Self, ConfigError> {
        let path = path.into();
        let store = open_store(config.store_settings(), &ConfigPlaces::of_process(), Some(&path))?;
        let [memory, spill] = config.pool();
        let pool = HeldPool::new(memory, spill);
        let metrics = Arc::new(RouteMetrics::new());
        observer.metrics().extend(|registry| metrics.register(registry, &pool));
        let failures = Arc::new(FailureLog::new(Arc::clone(&observer)));
        let shared = Shared { store, observer, metrics, failures, pool };
        let drain = config.drain();
        let table = Arc::new(RwLock::new(Arc::new(Table::new(config, &shared)?)));
        Ok(Self { table, shared, path, drain })
    }

    /// Serves the MCP server that reads stored results at `listener`, in addition. It ends with the runtime.
    ///
    /// The address in the configuration is [`GatewayConfig::recall`]; without one, requests get status 404.
    pub fn serve_recall(&self, listener: TcpListener) {
        tokio::spawn(recall::serve(listener, Arc::clone(&self.table)));
    }

    /// Accepts connections until `stop` ends. Then the health service reports `NOT_SERVING`. New streams are accepted for a
    /// third of the time that the configuration gives open ones, at most ten seconds, because gateways have not asked for the
    /// health yet. Open streams may continue for the rest of that time; connections that remain are closed, which gateways
    /// notice.
    ///
    /// # Errors
    /// The error of the connection.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<ExternalProcessorServer<ExtProc>>().await;
        health.set_serving::<ExtMcpService<ExtMcpServer>>().await;
        let ext_mcp = ExtMcpService::new(ExtMcpServer::new(Arc::clone(&self.table)))
            .max_decoding_message_size(ext_mcp::MOST)
            .max_encoding_message_size(ext_mcp::MOST);
        let reloading = tokio::spawn(reload::watch(
            self.path.clone(),
            Arc::clone(&self.table),
            self.shared.clone(),
        ));
        let (stopping, mut stopped) = tokio::sync::watch::channel(false);
        let drained = async move {
            // An error means that the sender is gone, which is an end as well.
            _ = stopped.wait_for(|stop| *stop).await;
        };
        let server = Server::builder()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(KEEPALIVE))
            .tcp_nodelay(true)
            .add_service(health_service)
            .add_service(ext_mcp)
            .add_service(ExternalProcessorServer::new(ExtProc::new(Arc::clone(&self.table))))
            .serve_with_incoming_shutdown(
                TcpIncoming::from(listener).with_nodelay(Some(true)),
                drained,
            );
        let mut server = std::pin::pin!(server);
        tokio::select! {
            ended = &mut server => return ended.map_err(ServeError),
            () = stop => {}
        }
        self.shared.observer.stop();
        health.set_not_serving::<ExternalProcessorServer<ExtProc>>().await;
        health.set_not_serving::<ExtMcpService<ExtMcpServer>>().await;
        // A gateway that has not seen it would get an error for each new stream.
        let notice = (self.drain / NOTICE_PART).min(LONGEST_NOTICE);
        if let Ok(ended) = tokio::time::timeout(notice, &mut server).await {
            return ended.map_err(ServeError);
        }
        _ = stopping.send(true);
        let ended = tokio::time::timeout(self.drain.saturating_sub(notice), server).await;
        reloading.abort();
        ended.unwrap_or(Ok(())).map_err(ServeError)
    }
}

/// The server has ended because of an error of its socket.
#[derive(Debug)]
pub struct ServeError(tonic::transport::Error);

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server has failed: {}", self.0)
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Returns the addresses of a configuration: for gateways, and for metrics.
#[must_use]
pub fn addresses(config: &GatewayConfig) -> (SocketAddr, Option<SocketAddr>) {
    (config.listen(), config.metrics())
}
