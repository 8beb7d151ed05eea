//! A progress bar for slow inputs.
//!
//! This module must not depend on what is read. The bar appears after one second, and only on a terminal that shows no
//! other output.

use std::io::{IsTerminal, Read};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time after which the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar, which may be hidden. Clones share the bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar(Option<ProgressBar>);

impl Default for Bar {
    /// Returns a bar that never appears.
    fn default() -> Self {
        Self(None)
    }
}

impl Bar {
    /// Creates a bar for an input of `total` bytes, if known. It never appears if standard error is not a terminal, or
    /// if the output is a terminal, which it would garble.
    pub(crate) fn new(total: Option<u64>, output_is_terminal: bool) -> Self {
        if output_is_terminal || !std::io::stderr().is_terminal() {
            return Self::default();
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = match total {
            Some(_) => "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    /// Wraps `reader` to count the bytes that are read.
    pub(crate) fn around(&self, reader: Box<dyn Read>) -> Box<dyn Read> {
        match &self.0 {
            None => reader,
            Some(bar) => Box::new(Counted {
                reader,
                bar: bar.clone(),
                since: Instant::now(),
                visible: false,
            }),
        }
    }

    /// Hides the bar while `write` runs.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        match &self.0 {
            None => write(),
            Some(bar) => bar.suspend(write),
        }
    }
}

struct Counted {
    reader: Box<dyn Read>,
    bar: ProgressBar,
    since: Instant,
    visible: bool,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bar.inc(count as u64);
        if !self.visible && self.since.elapsed() >= PATIENCE {
            self.visible = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Ok(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
