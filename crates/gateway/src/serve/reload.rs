//! Reads the configuration again when it changes: it is checked first, and replaced only if it is valid.
//!
//! A file that is being written may be valid before it is complete: `version: 1` and `default: pass` are. So a change is
//! read only after the files have stayed the same for one more interval. SIGHUP reads them at once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use tamis_mcp::gateway_yaml::{GatewayConfig, RecallTarget};

use super::ext_proc::CurrentTable;
use super::table::{Shared, Table};
use crate::report::report;

/// How often the times of the files are compared. A change is read after one to two intervals.
const INTERVAL: Duration = Duration::from_secs(1);

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
    let started = current();
    let mut seen = times(started.config.files());
    // The times of files that have changed, until they stay the same.
    let mut changing = None;
    loop {
        let forced = wake.next().await;
        let files = current().config.files().to_vec();
        let now = times(&files);
        if !forced {
            if now == seen {
                changing = None;
                continue;
            }
            if changing.as_ref() != Some(&now) {
                changing = Some(now);
                continue;
            }
        }
        let (file, shared) = (path.clone(), shared.clone());
        let metrics = Arc::clone(&shared.metrics);
        let read = tokio::task::spawn_blocking(move || compile(&file, &shared)).await;
        if !forced && times(&files) != now {
            // They changed while they were read.
            changing = None;
            continue;
        }
        changing = None;
        match read {
            Ok(Ok(new)) => {
                let changed = new.config.version() != current().config.version();
                // The times are older than what was read, so a change in between is not missed. Times of other files
                // are not known yet, so these are read once more.
                seen = if new.config.files() == files { now } else { Vec::new() };
                if changed {
                    for warning in new.config.warnings() {
                        report(format_args!("{warning}"));
                    }
                    report(format_args!("rules replaced: version {}", new.config.version()));
                    let keys = keys_of_start(&started.config, &new.config);
                    if !keys.is_empty() {
                        let keys = keys.join(", ");
                        report(format_args!(
                            "restart the server to apply changes of these keys: {keys}"
                        ));
                    }
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

/// Returns the keys that differ from those with which the server started, and that are only read then.
fn keys_of_start(started: &GatewayConfig, new: &GatewayConfig) -> Vec<&'static str> {
    let recall = |config: &GatewayConfig| config.recall().map(RecallTarget::listen);
    let keys = [
        ("`listen`", started.listen() != new.listen()),
        ("`metrics`", started.metrics() != new.metrics()),
        ("`store`", started.store_settings() != new.store_settings()),
        ("`pool`", started.pool() != new.pool()),
        ("`drain_seconds`", started.drain() != new.drain()),
        ("`recall.listen`", recall(started) != recall(new)),
    ];
    keys.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{GatewayConfig, keys_of_start};

    #[test]
    fn keys_that_need_a_restart_are_named() {
        let config = |text: &str| {
            let text = format!("version: 1\ndefault: refuse\n{text}");
            GatewayConfig::parse(Path::new("gateway.yaml"), &text).unwrap()
        };
        let started = config("listen: 127.0.0.1:1\nrecall: {listen: '127.0.0.1:2', target: t}\n");
        for (text, expected) in [
            (
                "listen: 127.0.0.1:1\nidle_seconds: 5\nroutes: [{action: pass}]\n\
                 recall: {listen: '127.0.0.1:2', target: u}\n",
                "",
            ),
            ("listen: 127.0.0.1:1\n", "`recall.listen`"),
            (
                "metrics: 127.0.0.1:3\nstore: off\npool: {spill: 1G}\ndrain_seconds: 1\n\
                 recall: {listen: '127.0.0.1:2', target: t}\n",
                "`listen` `metrics` `store` `pool` `drain_seconds`",
            ),
        ] {
            assert_eq!(keys_of_start(&started, &config(text)).join(" "), expected, "{text}");
        }
    }
}
