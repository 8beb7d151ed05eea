//! Runs jobs alternately, round after round, so that a drifting speed of the machine does not matter. A ratio is the
//! median of the ratios of all rounds.
//!
//! The harness does not depend on jobs or peers. Outputs are checked before anything is measured.

use std::hint::black_box;
use std::ops::Deref;
use std::time::Instant;

use crate::data::{self, Shape};

/// The number of readable bytes that simdjson needs after a document. All jobs get them, only simdjson uses them.
pub(crate) const PADDING: usize = 64;

/// A document with padding.
pub(crate) struct Document {
    padded: Vec<u8>,
}

impl Document {
    pub(crate) fn new(shape: Shape, bytes: usize) -> Self {
        let mut padded = shape.document(bytes);
        padded.resize(padded.len() + PADDING, b' ');
        Self { padded }
    }

    /// Returns the document followed by [`PADDING`] bytes that are not part of it.
    #[cfg_attr(not(feature = "bench-simdjson"), allow(dead_code, reason = "for simdjson"))]
    pub(crate) fn padded(&self) -> &[u8] {
        &self.padded
    }
}

impl Deref for Document {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.padded[..self.padded.len() - PADDING]
    }
}

/// Turns a document into an output.
pub(crate) type Run = Box<dyn FnMut(&Document, &mut Vec<u8>)>;

/// How a job's output relates to the output of the first job of its table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Same {
    Bytes,
    /// Equal values; members may be in another order.
    Value,
    /// There is no output: the job only parses.
    ParsedOnly,
}

impl Same {
    fn holds(self, output: &[u8], first: &[u8]) -> bool {
        let value = |text| serde_json::from_slice::<serde_json::Value>(text).ok();
        match self {
            Self::Bytes => output == first,
            Self::Value => value(output).is_some() && value(output) == value(first),
            Self::ParsedOnly => output.is_empty(),
        }
    }
}

/// One row of a table.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) run: Run,
    pub(crate) same: Same,
    pub(crate) floors: Vec<Floor>,
}

/// A required speed. The table shows whether it is reached.
#[derive(Clone, Copy)]
pub(crate) enum Floor {
    /// The row must be this many times as fast as the job.
    Beaten(usize, f64),
    /// The job must have this share of the speed of the row.
    Share(usize, f64),
    /// The job must reach this many GB/s.
    Rate(f64),
    /// The job must take at most this many seconds.
    Time(f64),
}

/// A floor, and the speed that was measured for it.
struct FloorResult {
    text: String,
    is_reached: bool,
}

impl FloorResult {
    /// Compares a job that takes `time`, and `ratio` times as long as a row, with its floor. `names` are those of the rows.
    fn new(
        floor: Floor,
        time: f64,
        bytes: usize,
        ratio: impl Fn(usize) -> f64,
        names: &[&str],
    ) -> Self {
        let (is_reached, text) = match floor {
            Floor::Beaten(row, factor) => {
                let found = ratio(row);
                (found >= factor, format!("{} {found:.2} of {factor} ×", names[row]))
            }
            Floor::Share(row, share) => {
                let found = 1.0 / ratio(row);
                (found >= share, format!("{found:.2} of {share:.2} × {}", names[row]))
            }
            Floor::Rate(rate) => {
                let found = bytes as f64 / time / 1e9;
                (found >= rate, format!("{found:.3} of {rate} GB/s"))
            }
            Floor::Time(limit) => {
                (time <= limit, format!("{} of at most {}", duration(time), duration(limit)))
            }
        };
        Self { text, is_reached }
    }

    /// Returns the text for the table.
    fn cell(&self) -> String {
        let verdict = if self.is_reached { "reached" } else { "**missed**" };
        format!("{}: {verdict}", self.text)
    }
}

/// The floors of all tables that were measured.
#[derive(Default)]
pub(crate) struct FloorSummary {
    reached: usize,
    missed: Vec<String>,
}

impl FloorSummary {
    fn add(&mut self, title: &str, job: &str, floor: &FloorResult) {
        if floor.is_reached {
            self.reached += 1;
        } else {
            self.missed.push(format!("{title}: {job}: {}", floor.text));
        }
    }

    /// Prints how many floors are reached, and which are missed.
    pub(crate) fn print(&self) {
        println!("\nfloors: {} reached, {} missed", self.reached, self.missed.len());
        for missed in &self.missed {
            println!("- {missed}");
        }
    }
}

impl Job {
    pub(crate) fn new(
        name: impl Into<String>,
        run: impl FnMut(&Document, &mut Vec<u8>) + 'static,
    ) -> Self {
        Self { name: name.into(), run: Box::new(run), same: Same::Bytes, floors: Vec::new() }
    }

    /// Requires that row `row` is `factor` times as fast as this job.
    pub(crate) fn floor(self, row: usize, factor: f64) -> Self {
        self.has_to(Floor::Beaten(row, factor))
    }

    /// Sets the floor of [`floor`](Self::floor) if there is one.
    pub(crate) fn floor_if(self, row: usize, factor: Option<f64>) -> Self {
        match factor {
            Some(factor) => self.floor(row, factor),
            None => self,
        }
    }

    pub(crate) fn has_to(mut self, floor: Floor) -> Self {
        self.floors.push(floor);
        self
    }

    /// Declares that the output has equal values in any order.
    pub(crate) fn same_value(mut self) -> Self {
        self.same = Same::Value;
        self
    }

    /// Declares that the job parses and has no output.
    #[cfg_attr(not(feature = "bench-simdjson"), allow(dead_code, reason = "for simdjson"))]
    pub(crate) fn parsed_only(mut self) -> Self {
        self.same = Same::ParsedOnly;
        self
    }
}

/// Jobs that do the same with documents of one shape. The others are compared with the first `references` rows.
pub(crate) struct Table {
    pub(crate) theme: &'static str,
    pub(crate) what: &'static str,
    pub(crate) shape: Shape,
    pub(crate) references: usize,
    pub(crate) jobs: Vec<Job>,
    /// Length and hash of the output for the [`SMALL`](data::SMALL) document.
    pub(crate) expected: (usize, u64),
}

impl Table {
    fn title(&self) -> String {
        format!("{} {}, {}", self.theme, self.shape.name(), self.what)
    }

    /// Returns the differences: all jobs must have the same output, and for a small document the recorded one.
    pub(crate) fn check(&mut self, document: &Document, small: bool) -> Vec<String> {
        let title = self.title();
        let mut wrong = Vec::new();
        let mut first = Vec::new();
        for (row, job) in self.jobs.iter_mut().enumerate() {
            let mut output = Vec::new();
            (job.run)(document, &mut output);
            if row == 0 {
                let made = (output.len(), data::hash(&output));
                if small && made != self.expected {
                    wrong.push(format!("{title}: made ({}, 0x{:016X})", made.0, made.1));
                }
                first = output;
            } else if !job.same.holds(&output, &first) {
                let at = output.iter().zip(&first).take_while(|(a, b)| a == b).count();
                let around = |text: &[u8]| {
                    let range = at.saturating_sub(40)..text.len().min(at + 40);
                    String::from_utf8_lossy(text.get(range).unwrap_or_default()).into_owned()
                };
                let (found, expected) = (around(&output), around(&first));
                let name = &job.name;
                wrong.push(format!("{title}: {name} at byte {at}: {found:?}, not {expected:?}"));
            }
        }
        wrong
    }

    /// Measures the jobs and prints the table. `versions` is a part of its head. Floors are compared if there is a
    /// `summary`, to which they are added.
    pub(crate) fn measure(
        &mut self,
        document: &Document,
        rounds: usize,
        versions: &str,
        mut summary: Option<&mut FloorSummary>,
    ) {
        let mut seconds = vec![Vec::with_capacity(rounds); self.jobs.len()];
        let mut output = Vec::with_capacity(document.len());
        for round in 0..=rounds {
            for (job, seconds) in self.jobs.iter_mut().zip(&mut seconds) {
                output.clear();
                touch(document);
                let begin = Instant::now();
                (job.run)(black_box(document), &mut output);
                black_box(&output);
                let elapsed = begin.elapsed().as_secs_f64();
                // The first round warms up.
                if round > 0 {
                    seconds.push(elapsed);
                }
            }
        }
        println!(
            "\n{}: {} ({}, {} bytes, {rounds} rounds; {versions})\n",
            self.theme,
            self.what,
            self.shape.name(),
            document.len()
        );
        let references = self.references.min(self.jobs.len());
        let title = self.title();
        let names: Vec<_> = self.jobs.iter().map(|job| job.name.as_str()).collect();
        let columns = names.iter().take(references).map(|name| format!(" {name} is |"));
        println!("| | time | GB/s |{} floor |", columns.collect::<String>());
        println!("|---|---|---|{}---|", "---|".repeat(references));
        for (row, job) in self.jobs.iter().enumerate() {
            let time = median(seconds[row].clone());
            let ratio = |reference: usize| {
                let rounds = seconds[row].iter().zip(&seconds[reference]);
                median(rounds.map(|(own, other)| own / other).collect())
            };
            let ratios = (0..references).map(|reference| format!(" {:.2} × |", ratio(reference)));
            let mut cells = Vec::new();
            if let Some(summary) = &mut summary {
                for floor in &job.floors {
                    let result = FloorResult::new(*floor, time, document.len(), ratio, &names);
                    summary.add(&title, &job.name, &result);
                    cells.push(result.cell());
                }
            }
            println!(
                "| {} | {} | {:.2} |{} {} |",
                job.name,
                duration(time),
                document.len() as f64 / time / 1e9,
                ratios.collect::<String>(),
                cells.join("; ")
            );
        }
    }
}

/// Reads the document backwards, so that each job starts with the same caches: the document as far as it fits, its
/// beginning most recently used.
fn touch(document: &[u8]) {
    black_box(document.chunks(64).rev().fold(0u64, |sum, line| sum + u64::from(line[0])));
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}
