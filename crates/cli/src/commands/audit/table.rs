//! The findings of an audit, as text and as data for JSON.

use std::fmt;

use serde::Serialize;
use tamis_insight::audit::{AuditReport, Finding};

use crate::console::print::one_line;

/// The most rules that are listed for a weakness.
const LISTED: usize = 4;

/// The result of `tamis audit`.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    version: u32,
    seed: u64,
    filters: Vec<Audited>,
    /// Files with rules for commands, which remove no values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<String>,
}

/// One filter with its findings.
#[derive(Debug, Serialize)]
pub(super) struct Audited {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    places: u64,
    documents: u64,
    refused: u64,
    /// The number of results that were filtered as the proxy filters them.
    results: u64,
    complete: bool,
    findings: Vec<Row>,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) weakness: String,
    pub(super) rule: String,
    pub(super) path: String,
    pub(super) document: String,
    pub(super) output: String,
    pub(super) how: Vec<String>,
    pub(super) remedy: String,
}

impl From<Finding> for Row {
    fn from(finding: Finding) -> Self {
        Self {
            weakness: finding.weakness.to_string(),
            rule: finding.rule,
            path: finding.path,
            document: finding.document,
            output: finding.output,
            how: finding.how,
            remedy: finding.remedy,
        }
    }
}

impl Audited {
    pub(super) fn new(name: &str, file: Option<&(String, String)>, report: AuditReport) -> Self {
        let mut findings: Vec<Row> = report.findings.into_iter().map(Row::from).collect();
        if file.is_some_and(|(_, format)| format != "tamis" && format != "gateway") {
            for row in &mut findings {
                row.remedy.push_str(" (rules of tamis' own format)");
            }
        }
        Self {
            name: name.to_owned(),
            file: file.map(|(file, _)| file.clone()),
            format: file.map(|(_, format)| format.clone()),
            places: report.places,
            documents: report.documents,
            refused: report.refused,
            results: 0,
            complete: report.complete,
            findings,
        }
    }

    pub(super) fn has_places(&self) -> bool {
        self.places > 0
    }

    pub(super) fn add_results(&mut self, results: u64, findings: Vec<Row>) {
        self.results = results;
        self.findings.extend(findings);
    }
}

impl Findings {
    pub(super) fn new(seed: u64, filters: Vec<Audited>, commands: Vec<String>) -> Self {
        Self { version: 1, seed, filters, commands }
    }

    pub(super) fn has_any(&self) -> bool {
        self.filters.iter().any(|filter| !filter.findings.is_empty())
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for filter in &self.filters {
            filter.fmt(f)?;
        }
        for file in &self.commands {
            writeln!(
                f,
                "{}: rules for commands remove lines, not values; not attacked",
                one_line(file)
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Audited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", one_line(file))?;
        }
        write!(f, "{}: ", one_line(&self.name))?;
        if self.places == 0 {
            return writeln!(f, "no place to attack");
        }
        write!(f, "{}, {}", count(self.places, "place"), count(self.documents, "document"))?;
        if self.results > 0 {
            write!(f, ", {}", count(self.results, "result"))?;
        }
        if !self.complete {
            f.write_str(" (not all; raise --seconds)")?;
        }
        if self.findings.is_empty() {
            return writeln!(f, ": nothing leaves");
        }
        f.write_str("\n")?;
        let mut listed: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if listed.contains(&finding.weakness.as_str()) {
                continue;
            }
            listed.push(&finding.weakness);
            let same = self.findings.iter().filter(|other| other.weakness == finding.weakness);
            let rules: Vec<String> = same.map(|other| one_line(&other.rule)).collect();
            let more = rules.len().saturating_sub(LISTED);
            let shown = rules.get(..rules.len() - more).unwrap_or_default().join(", ");
            write!(f, "  {}: {shown}", finding.weakness)?;
            if more > 0 {
                write!(f, " and {more} more")?;
            }
            f.write_str("\n")?;
            for (title, text) in [
                ("document", &finding.document),
                ("output", &finding.output),
                ("remedy", &finding.remedy),
            ] {
                for (number, line) in text.lines().enumerate() {
                    let title = if number == 0 { title } else { "" };
                    writeln!(f, "    {title:8}  {}", one_line(line))?;
                }
            }
        }
        Ok(())
    }
}

fn count(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
