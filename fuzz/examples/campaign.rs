//! Runs targets under libfuzzer, one after another, each for so many seconds, and prints a table of what it did.
//!
//! Knows no target but by its name in `fuzz_targets/`. Most of a run's time goes to short inputs, of which there are many a
//! second; a part of it to longer ones, which cross the library's windows. What a run finds stays in `artifacts/NAME/`; inputs that reach
//! something new are kept in `corpus/NAME/`, which the next run begins with. A finding ends a run of libfuzzer: another begins, for the
//! rest of the time, unless there were so many that one stands in the way of all else; the time that is not used is said. Exit: 0
//! nothing found; 1 something was; 2 usage, or a target that does not run.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const USAGE: &str = "usage: campaign [--seconds N] [--max-len BYTES] [--sanitizer address|none] [--target-dir DIR] [NAME…]";
/// Of so many seconds one is for inputs that are longer.
const LONG_TIME: u64 = 5;
/// How much longer those are.
const LONGER: u64 = 5;
/// How often a part of the time goes on behind a finding: what is found in a seed is found again at once.
const FINDINGS: usize = 20;

/// What the fuzzer leaves undone: names of functions that are new (a symbolizer takes seconds for them), weights of features
/// (there are tens of thousands, so that they cost more than the targets), a search for leaks after every input.
const QUICK: [&str; 3] = ["-print_funcs=0", "-entropic=0", "-detect_leaks=0"];

/// What was asked for.
struct Plan {
    seconds: u64,
    max_len: u64,
    sanitizer: String,
    target_dir: Option<String>,
    names: Vec<String>,
}

/// What one run came to.
struct Row {
    name: String,
    executions: u64,
    seconds: u64,
    coverage: u64,
    features: u64,
    /// Files that are new: what is found twice is one.
    findings: usize,
    /// A run ended in a finding, new or not.
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
    ExitCode::from(u8::from(rows.iter().any(|row| row.told() > 0)))
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
            // 0 would be for ever.
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

/// The names of all targets.
fn targets() -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(here().join("fuzz_targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort_unstable();
    Ok(names)
}

/// Both parts of a target's time, in one row.
fn run(plan: &Plan, name: &str) -> std::io::Result<Row> {
    let long = plan.seconds / LONG_TIME;
    let mut row = part(plan, name, plan.seconds - long, plan.max_len)?;
    // 0 would be for ever.
    if long > 0 {
        row.add(part(plan, name, long, plan.max_len.saturating_mul(LONGER))?);
    }
    Ok(row)
}

/// So many seconds with inputs of one length, also behind findings.
fn part(plan: &Plan, name: &str, seconds: u64, max_len: u64) -> std::io::Result<Row> {
    let begun = Instant::now();
    let mut row = Row::new(name);
    for _ in 0..FINDINGS {
        let left = seconds.saturating_sub(begun.elapsed().as_secs());
        // 0 would be for ever.
        if left == 0 {
            return Ok(row);
        }
        let one = once(plan, name, left, max_len)?;
        let failed = one.failed;
        row.add(one);
        if !failed {
            return Ok(row);
        }
        eprintln!("== {name}: {} findings, in artifacts/{name}", row.told());
    }
    let left = seconds.saturating_sub(begun.elapsed().as_secs());
    eprintln!("== {name}: {FINDINGS} runs ended in findings; {left} of {seconds} s are not used");
    Ok(row)
}

/// One run of libfuzzer, until its time is over or it finds something.
fn once(plan: &Plan, name: &str, seconds: u64, max_len: u64) -> std::io::Result<Row> {
    // The first folder is the one that grows.
    let corpus = here().join("corpus").join(name);
    std::fs::create_dir_all(&corpus)?;
    let before = artifacts(name);
    let mut command = Command::new("cargo");
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
        // Its last line is missing.
        row.seconds = begun.elapsed().as_secs();
    }
    Ok(row)
}

/// Files that a target left because they are findings.
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

    /// Takes another run of the same target in.
    fn add(&mut self, more: Self) {
        self.executions += more.executions;
        self.seconds += more.seconds;
        self.coverage = self.coverage.max(more.coverage);
        self.features = self.features.max(more.features);
        self.findings += more.findings;
        self.failed |= more.failed;
    }

    /// How many findings the table has. One that was there before is one.
    fn told(&self) -> usize {
        self.findings.max(usize::from(self.failed))
    }

    /// Takes the figures from a line of libfuzzer: `#123 NEW cov: 4 ft: 5 …`, `Done 123 runs in 61 second(s)`,
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

/// The rows as `README.md` has them.
fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| target | executions | seconds | coverage | features | findings | date |\n|---|---|---|---|---|---|---|\n",
    );
    let date = date();
    for row in rows {
        let Row { name, executions, seconds, coverage, features, .. } = row;
        let findings = row.told();
        let row = format!(
            "| `{name}` | {executions} | {seconds} | {coverage} | {features} | {findings} | {date} |"
        );
        _ = writeln!(table, "{row}");
    }
    table
}

/// Today, in UTC.
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
