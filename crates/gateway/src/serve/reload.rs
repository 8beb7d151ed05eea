//! Reads the configuration again when it changes: it is checked first, and replaced only if it is valid.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use super::ext_proc::CurrentTable;
use super::table::{Shared, Table};
use crate::routes::GatewayConfig;
use crate::transport::report;

/// How often the times of the files are compared.
const INTERVAL: Duration = Duration::from_secs(2);

/// Waits for SIGHUP, or for the next look at the files.
struct Wake {
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Wake {
    fn new() -> Self {
        #[cfg(unix)]
        {
            let kind = tokio::signal::unix::SignalKind::hangup();
            Self { hangup: tokio::signal::unix::signal(kind).ok() }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// Returns whether the files have to be read even if they look unchanged.
    async fn next(&mut self) -> bool {
        #[cfg(unix)]
        if let Some(hangup) = &mut self.hangup {
            tokio::select! {
                _ = hangup.recv() => return true,
                () = tokio::time::sleep(INTERVAL) => return false,
            }
        }
        tokio::time::sleep(INTERVAL).await;
        false
    }
}

/// Replaces the rules whenever the files change. A file that is not valid is reported, and the old rules stay in force.
pub(super) async fn watch(path: PathBuf, table: CurrentTable, shared: Shared) {
    let mut wake = Wake::new();
    let current = || Arc::clone(&*table.read().unwrap_or_else(PoisonError::into_inner));
    let mut seen = times(current().config.files());
    loop {
        let forced = wake.next().await;
        let files = current().config.files().to_vec();
        let now = times(&files);
        if !forced && now == seen {
            continue;
        }
        let (file, shared) = (path.clone(), shared.clone());
        let metrics = Arc::clone(&shared.metrics);
        let read = tokio::task::spawn_blocking(move || compile(&file, &shared)).await;
        match read {
            Ok(Ok(new)) => {
                let changed = new.config.version() != current().config.version();
                // The times are older than what was read, so a change in between is not missed. Times of other files
                // are not known yet, so these are read once more.
                seen = if new.config.files() == files { now } else { Vec::new() };
                if changed {
                    report(format_args!("rules replaced: version {}", new.config.version()));
                    metrics.event("reloaded");
                    *table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                }
            }
            Ok(Err(why)) => {
                seen = now;
                metrics.event("refused_reload");
                report(format_args!("the old rules stay in force: {why}"));
            }
            Err(_) => metrics.event("refused_reload"),
        }
    }
}

fn compile(path: &Path, shared: &Shared) -> Result<Table, String> {
    let config = GatewayConfig::load(path).map_err(|error| error.to_string())?;
    Table::new(config, shared).map_err(|error| error.to_string())
}

/// Returns when each file was changed, and its length.
fn times(files: &[PathBuf]) -> Vec<Option<(SystemTime, u64)>> {
    let time = |path: &PathBuf| {
        let data = std::fs::metadata(path).ok()?;
        Some((data.modified().ok()?, data.len()))
    };
    files.iter().map(time).collect()
}
