//! Runs fuzz targets under libFuzzer, one after another, each for a number of seconds, and prints a table of the
//! results.
//!
//! Targets are known only by their names in `fuzz_targets/`. Most of the time of a run is spent on short inputs, many
//! of which fit into a second. The rest is spent on longer inputs, which cross the library's windows. Findings are
//! written to `artifacts/NAME/`; inputs that reach new code are written to `corpus/NAME/`, with which the next run
//! begins. A finding ends a run of libFuzzer. Another run begins for the rest of the time, unless the limit of findings
//! is reached; unused time is reported. Exit codes: 0 nothing found; 1 something found; 2 usage error, or a target that
//! does not run.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const USAGE: &str = "usage: campaign [--seconds N] [--max-len BYTES] [--sanitizer address|none] [--target-dir DIR] [NAME…]";
/// One of this many seconds is spent on longer inputs.
const LONG_TIME: u64 = 5;
/// How many times longer those inputs are.
const LONGER: u64 = 5;
/// How often a run is continued after a finding. A finding in a seed is found again at once.
const FINDINGS: usize = 20;

/// Work that the fuzzer skips: names of new functions (a symbolizer takes seconds for them), weights of features (there
/// are tens of thousands, which would cost more than the targets) and the leak check after every input.
const QUICK: [&str; 3] = ["-print_funcs=0", "-entropic=0", "-detect_leaks=0"];

/// The parsed arguments.
struct Plan {
    seconds: u64,
    max_len: u64,
    sanitizer: String,
    target_dir: Option<String>,
    names: Vec<String>,
}

/// The result of one run.
struct Row {
    name: String,
    executions: u64,
    seconds: u64,
    coverage: u64,
    features: u64,
    /// New files, in which the same finding counts once.
    findings: usize,
    /// Whether a run ended with a finding, new or old.
    failed: bool,
}

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|argument| argument == "--help" || argument == "-h") {
        println!("Runs targets under libfuzzer, one after another.\n{USAGE}");
        return ExitCode::SUCCESS;
    }
    let plan = match plan(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut rows = Vec::new();
    for (number, name) in plan.names.iter().enumerate() {
        eprintln!("== {name} ({} of {}), {} s", number + 1, plan.names.len(), plan.seconds);
        match run(&plan, name) {
            Ok(row) => rows.push(row),
            Err(why) => {
                print!("{}", table(&rows));
                eprintln!("{name}: {why}");
                return ExitCode::from(2);
            }
        }
    }
    print!("{}", table(&rows));
    ExitCode::from(u8::from(rows.iter().any(|row| row.findings_count() > 0)))
}

fn plan(mut arguments: impl Iterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan {
        seconds: 60,
        max_len: 1024,
        sanitizer: "none".to_owned(),
        target_dir: None,
        names: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} requires a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
        match argument.as_str() {
            // libFuzzer takes 0 for no limit.
            "--seconds" => {
                let seconds = number(value()?)?;
                plan.seconds = Some(seconds).filter(|seconds| *seconds > 0).ok_or("0 seconds?")?;
            }
            "--max-len" => plan.max_len = number(value()?)?,
            "--sanitizer" => plan.sanitizer = value()?,
            "--target-dir" => plan.target_dir = Some(value()?),
            flag if flag.starts_with('-') => return Err(format!("there is no {flag}")),
            name => plan.names.push(name.to_owned()),
        }
    }
    let all = targets().map_err(|error| format!("fuzz_targets: {error}"))?;
    if let Some(unknown) = plan.names.iter().find(|name| !all.contains(name)) {
        return Err(format!("unknown target {unknown}; expected one of {}", all.join(", ")));
    }
    if plan.names.is_empty() {
        plan.names = all;
    }
    Ok(plan)
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the names of all targets.
fn targets() -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(here().join("fuzz_targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort_unstable();
    Ok(names)
}

/// Fuzzes a target with short and with long inputs, and returns one row for both.
fn run(plan: &Plan, name: &str) -> std::io::Result<Row> {
    let long = plan.seconds / LONG_TIME;
    let mut row = part(plan, name, plan.seconds - long, plan.max_len)?;
    // libFuzzer takes 0 for no limit.
    if long > 0 {
        row.add(part(plan, name, long, plan.max_len.saturating_mul(LONGER))?);
    }
    Ok(row)
}

/// Fuzzes a target for a number of seconds with inputs of one length. Continues after findings.
fn part(plan: &Plan, name: &str, seconds: u64, max_len: u64) -> std::io::Result<Row> {
    let begun = Instant::now();
    let mut row = Row::new(name);
    for _ in 0..FINDINGS {
        let left = seconds.saturating_sub(begun.elapsed().as_secs());
        // libFuzzer takes 0 for no limit.
        if left == 0 {
            return Ok(row);
        }
        let one = once(plan, name, left, max_len)?;
        let failed = one.failed;
        row.add(one);
        if !failed {
            return Ok(row);
        }
        eprintln!("== {name}: {} findings, in artifacts/{name}", row.findings_count());
    }
    let left = seconds.saturating_sub(begun.elapsed().as_secs());
    eprintln!("== {name}: {FINDINGS} runs ended in findings; {left} of {seconds} s are not used");
    Ok(row)
}

/// Runs libFuzzer once, until its time is over or it finds something.
fn once(plan: &Plan, name: &str, seconds: u64, max_len: u64) -> std::io::Result<Row> {
    // libFuzzer writes new inputs to the first folder.
    let corpus = here().join("corpus").join(name);
    std::fs::create_dir_all(&corpus)?;
    let before = artifacts(name);
    let mut command = Command::new("cargo");
    // The profile of the workspace strips binaries; a finding needs its stack trace.
    command.env("CARGO_PROFILE_RELEASE_STRIP", "none");
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    command.args(["+nightly", "fuzz", "run", "--no-trace-compares", "--sanitizer"]);
    command.arg(&plan.sanitizer).arg("--fuzz-dir").arg(here());
    if let Some(folder) = &plan.target_dir {
        command.args(["--target-dir", folder]);
    }
    command.arg(name).arg(&corpus);
    for kind in ["seeds", "regressions"] {
        let folder = here().join(kind).join(name);
        if folder.is_dir() {
            command.arg(folder);
        }
    }
    command.args(["--", "-print_final_stats=1", "-timeout=20", "-rss_limit_mb=4096"]);
    command.args(QUICK);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-max_len={max_len}"));
    let dictionary = here().join("json.dict");
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut row = Row::new(name);
    let mut last = Vec::new();
    if let Some(output) = child.stderr.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            row.read(&line);
            if line.starts_with('#') {
                eprint!("\r{line:<100.100}");
                std::io::stderr().flush()?;
            } else {
                last.push(line);
            }
        }
    }
    eprintln!();
    let status = child.wait()?;
    row.findings = artifacts(name).saturating_sub(before);
    if !status.success() {
        eprintln!("{}", last.join("\n"));
        if row.findings == 0 && row.executions == 0 {
            return Err(std::io::Error::other("it did not run"));
        }
        row.failed = true;
        // The last line of the output is missing.
        row.seconds = begun.elapsed().as_secs();
    }
    Ok(row)
}

/// Returns the files of findings that a target has written.
fn artifacts(name: &str) -> usize {
    std::fs::read_dir(here().join("artifacts").join(name)).map_or(0, Iterator::count)
}

impl Row {
    fn new(name: &str) -> Self {
        let name = name.to_owned();
        Self {
            name,
            executions: 0,
            seconds: 0,
            coverage: 0,
            features: 0,
            findings: 0,
            failed: false,
        }
    }

    /// Adds the results of another run of the same target.
    fn add(&mut self, more: Self) {
        self.executions += more.executions;
        self.seconds += more.seconds;
        self.coverage = self.coverage.max(more.coverage);
        self.features = self.features.max(more.features);
        self.findings += more.findings;
        self.failed |= more.failed;
    }

    /// Returns the number of findings. If only known ones were found again, it is 1.
    fn findings_count(&self) -> usize {
        self.findings.max(usize::from(self.failed))
    }

    /// Takes the figures from a line of libFuzzer: `#123 NEW cov: 4 ft: 5 …`, `Done 123 runs in 61 second(s)`,
    /// `stat::number_of_executed_units: 123`.
    fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let figure = |text: &str| text.parse::<u64>().ok();
        for pair in words.windows(2) {
            let Some(figure) = figure(pair[1]) else { continue };
            match pair[0] {
                "cov:" => self.coverage = self.coverage.max(figure),
                "ft:" => self.features = self.features.max(figure),
                "stat::number_of_executed_units:" => self.executions = figure,
                "in" if words.first() == Some(&"Done") => self.seconds = figure,
                _ => {}
            }
        }
    }
}

/// Formats the rows as in `README.md`.
fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| target | executions | seconds | coverage | features | findings | date |\n|---|---|---|---|---|---|---|\n",
    );
    let date = date();
    for row in rows {
        let Row { name, executions, seconds, coverage, features, .. } = row;
        let findings = row.findings_count();
        let row = format!(
            "| `{name}` | {executions} | {seconds} | {coverage} | {features} | {findings} | {date} |"
        );
        _ = writeln!(table, "{row}");
    }
    table
}

/// Returns today's date in UTC.
fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (mut days, mut year, mut month) = (seconds / 86400, 1970, 0);
    loop {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let february = if leap { 29 } else { 28 };
        let length = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month];
        if days < length {
            return format!("{year:04}-{:02}-{:02}", month + 1, days + 1);
        }
        days -= length;
        month = (month + 1) % 12;
        year += u64::from(month == 0);
    }
}
