//! Runs `tamis serve`: reads the file, opens the sockets, and waits for a signal.

use std::sync::Arc;

use tamis_gateway::observe::{Observer, endpoint};
use tamis_gateway::serve::GatewayServer;
use tamis_mcp::gateway_yaml::{GatewayConfig, RecallTarget};
use tamis_mcp::program::ServeArgs;
use tokio::runtime::Builder;

use crate::{Failure, listen, note, open_log, runtime};

/// Runs the server until a signal arrives. Returns the exit code.
pub(crate) fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let observer = Arc::new(Observer::new(Some(open_log(args.log.as_deref())?)));
    let config =
        GatewayConfig::load(&args.config).map_err(|error| Failure::usage(error.to_string()))?;
    for warning in config.warnings() {
        note(format_args!("{warning}"));
    }
    let (address, metrics) = (config.listen(), config.metrics());
    let recall = config.recall().map(RecallTarget::listen);
    let server = GatewayServer::new(config, &args.config, Arc::clone(&observer));
    let server = server.map_err(|error| Failure::usage(error.to_string()))?;
    let runtime = runtime(&mut Builder::new_multi_thread())?;
    let ended = runtime.block_on(async {
        #[cfg(feature = "otel")]
        let _telemetry = crate::telemetry::Telemetry::start()?;
        if let Some(metrics) = metrics {
            let (listener, address) = listen(metrics).await?;
            note(format_args!("metrics at http://{address}/metrics"));
            tokio::spawn(endpoint::serve(listener, observer));
        }
        if let Some(recall) = recall {
            let (listener, address) = listen(recall).await?;
            note(format_args!("stored results at http://{address}/mcp"));
            server.serve_recall(listener);
        }
        let stop = stop()?;
        let (listener, address) = listen(address).await?;
        note(format_args!("listening at {address}"));
        let served = server.serve(listener, stop).await;
        served.map(|()| 0).map_err(|error| Failure::run(error.to_string()))
    });
    runtime.shutdown_background();
    ended
}

/// Returns a future that ends with SIGTERM or SIGINT. SIGHUP reads the file again.
#[cfg(unix)]
fn stop() -> Result<impl Future<Output = ()> + Send, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let fail = |error| Failure::run(format!("cannot receive signals: {error}"));
    let mut term = signal(SignalKind::terminate()).map_err(fail)?;
    let mut int = signal(SignalKind::interrupt()).map_err(fail)?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop() -> Result<impl Future<Output = ()> + Send, Failure> {
    Ok(async {
        // Without a handler, the signal ends the process at once.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
