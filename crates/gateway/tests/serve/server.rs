//! A server in this process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tamis_gateway::observe::Observer;
use tamis_gateway::observe::log::CallLog;
use tamis_gateway::serve::GatewayServer;
use tamis_mcp::gateway_yaml::GatewayConfig;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

/// The file of the log.
const LOG: &str = "log.jsonl";

pub(crate) struct TestServer {
    pub(crate) channel: Channel,
    pub(crate) observer: Arc<Observer>,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) ended: JoinHandle<()>,
    pub(crate) folder: TempDir,
    /// The address of the MCP server that reads stored results.
    pub(crate) recall: SocketAddr,
}

impl TestServer {
    /// Starts a server with this configuration.
    pub(crate) async fn start(yaml: &str) -> Self {
        Self::start_with(yaml, &[]).await
    }

    /// Starts a server with further files in the folder of its configuration.
    pub(crate) async fn start_with(yaml: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let path: PathBuf = folder.path().join("gateway.yaml");
        std::fs::write(&path, yaml).unwrap();
        let config = GatewayConfig::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let log = CallLog::open(&folder.path().join(LOG)).unwrap();
        let observer = Arc::new(Observer::new(Some(log)));
        let server = GatewayServer::new(config, &path, Arc::clone(&observer)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let reader = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let recall = reader.local_addr().unwrap();
        server.serve_recall(reader);
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(async move {
            let stop = async {
                _ = stopped.await;
            };
            server.serve(listener, stop).await.unwrap();
        });
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.connect().await.unwrap();
        Self { channel, observer, stop: Some(stop), ended, folder, recall }
    }

    /// Returns the lines of the log.
    pub(crate) fn log(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.path().join(LOG)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}
