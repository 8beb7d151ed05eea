//! Figures about the process, with the names that the client libraries of Prometheus give them.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>.

use std::fmt;

use procfs::process::{LimitValue, Process};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Reads the figures from `/proc` when they are asked for, and leaves out the ones that cannot be read.
#[derive(Debug)]
pub(super) struct ProcessFigures;

impl Collector for ProcessFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Ok(process) = Process::myself() else { return Ok(()) };
        let mut add = |name, help, unit: Option<Unit>, metric: &dyn EncodeMetric| {
            let kind = metric.metric_type();
            metric.encode(encoder.encode_descriptor(name, help, unit.as_ref(), kind)?)
        };
        if let Ok(stat) = process.stat() {
            let cpu = ConstCounter::new(seconds(stat.utime.saturating_add(stat.stime)));
            add("process_cpu", "CPU time of the process", Some(Unit::Seconds), &cpu)?;
            let resident = ConstGauge::new(stat.rss.saturating_mul(procfs::page_size()));
            let help = "Resident memory of the process";
            add("process_resident_memory", help, Some(Unit::Bytes), &resident)?;
            let help = "Virtual memory of the process";
            add("process_virtual_memory", help, Some(Unit::Bytes), &ConstGauge::new(stat.vsize))?;
            if let Ok(boot) = procfs::boot_time_secs() {
                #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
                let start = ConstGauge::new(boot as f64 + seconds(stat.starttime));
                let help = "When the process was started, since 1970";
                add("process_start_time", help, Some(Unit::Seconds), &start)?;
            }
        }
        if let Ok(open) = process.fd_count() {
            add("process_open_fds", "Open file descriptors", None, &ConstGauge::new(open))?;
        }
        if let Ok(limits) = process.limits()
            && let LimitValue::Value(most) = limits.max_open_files.soft_limit
        {
            let help = "The limit for open file descriptors";
            add("process_max_fds", help, None, &ConstGauge::new(most))?;
        }
        Ok(())
    }
}

/// Converts ticks of the clock of the kernel.
#[expect(clippy::cast_precision_loss, reason = "a float of Prometheus has this precision")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}
