//! Measures how the cost of a filter grows: with the size and the depth of a document, with the number of rules, of names in a
//! `select` and of conditions in `where`, with filters that run at once, and for `factor` and its inverse.
//!
//! `cargo bench --bench scaling` prints a table; `-- --svg FOLDER` also draws a plot for each series; `-- --large` continues the sizes
//! from 16 MB to 1 GB; a further word chooses the series with it in their name; `-- --test` runs everything once on the smallest
//! values.
//!
//! The slope of a series is that of the line through the logarithms of its costs: 1 means that twice as much costs twice as much, 0 that
//! the cost stays the same. It is taken from the upper half of the values, where fixed costs matter least. The work of a filter is
//! linear in the bytes of its input, whatever its rules say, so no slope may be steeper than that of the bytes by more than
//! [`TOLERANCE`].
#![allow(missing_docs, reason = "a bench has no users")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]
#![allow(clippy::print_stdout, reason = "the table is the output")]

mod chart;
mod series;

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much steeper than expected a slope may be: caches are smaller than documents, and machines are noisy.
const TOLERANCE: f64 = 0.15;
/// The time for which a value is measured. The fastest run counts.
const PATIENCE: Duration = Duration::from_millis(300);

/// A measured value: how much there was, and the seconds that it took.
#[derive(Clone, Copy)]
struct Point {
    amount: f64,
    seconds: f64,
}

fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut svg, mut is_large, mut is_test, mut chosen) = (None, false, false, String::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--svg" => svg = Some(PathBuf::from(words.next().expect("a folder after --svg"))),
            "--large" => is_large = true,
            "--test" => is_test = true,
            _ => chosen = word,
        }
    }
    println!("| series | amounts | first | last | slope | at most | |");
    println!("|---|---|---|---|---|---|---|");
    let mut steeper = Vec::new();
    for series in series::all(is_large).iter().filter(|series| series.name.contains(&chosen)) {
        let most = if is_test { 2 } else { usize::MAX };
        let points: Vec<Point> = series
            .amounts
            .iter()
            .take(most)
            .map(|amount| {
                let mut run = (series.prepare)(*amount);
                let seconds = if is_test { once(&mut *run) } else { fastest(&mut *run) };
                Point { amount: *amount as f64, seconds }
            })
            .collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
        let (slope, expected) = (slope(&points), series.grows.slope());
        let is_reached = slope <= expected + TOLERANCE;
        println!(
            "| {} | {} to {} {} | {} | {} | {slope:.2} | {expected:.2} | {} |",
            series.name,
            first.amount,
            last.amount,
            series.unit,
            duration(first.seconds),
            duration(last.seconds),
            if is_test {
                "not measured"
            } else if is_reached {
                ""
            } else {
                "**steeper**"
            },
        );
        if !is_reached && !is_test {
            steeper.push(series.name);
        }
        if let Some(folder) = &svg {
            chart::draw(folder, series, &points, slope).expect("a plot");
        }
    }
    println!(
        "\nsteeper than expected: {}",
        if steeper.is_empty() { "none".to_owned() } else { steeper.join(", ") }
    );
}

fn once(run: &mut dyn FnMut()) -> f64 {
    let begun = Instant::now();
    run();
    begun.elapsed().as_secs_f64()
}

/// Returns the seconds of the fastest run, which is the one with the least noise of the machine.
fn fastest(run: &mut dyn FnMut()) -> f64 {
    run();
    let begun = Instant::now();
    let mut best = f64::INFINITY;
    let mut count = 0;
    while count < 3 || begun.elapsed() < PATIENCE {
        best = best.min(once(run));
        count += 1;
    }
    best
}

/// Returns the slope of the least squares line through the logarithms of the upper half of the points.
fn slope(points: &[Point]) -> f64 {
    let upper = points.iter().skip((points.len() / 2).min(points.len().saturating_sub(2)));
    let logarithms: Vec<(f64, f64)> =
        upper.map(|point| (point.amount.ln(), point.seconds.ln())).collect();
    let count = logarithms.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logarithms.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|it| it.0), mean(|it| it.1));
    let covariance: f64 = logarithms.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if variance == 0.0 { 0.0 } else { covariance / variance }
}

/// Returns a duration with its unit.
fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}
