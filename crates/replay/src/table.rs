//! Prints a report as tables.

use std::fmt::Write as _;

use crate::cost::Prices;
use crate::figures::{bytes, grouped, percent};
use crate::report::{Fate, Figures, GroupReport, PromptReport, Report};

/// The most rows of a table of groups.
const MOST_ROWS: usize = 20;
/// The most characters of a name or a fact.
const WIDEST: usize = 60;

/// Writes a report as text.
#[must_use]
pub fn to_table(report: &Report, prices: &Prices) -> String {
    let mut out = String::new();
    head(&mut out, report);
    variants(&mut out, report);
    costs(&mut out, report, prices);
    groups(&mut out, report, "tool", &report.tools);
    groups(&mut out, report, "command", &report.commands);
    groups(&mut out, report, "filter", &report.filters);
    examples(&mut out, report);
    out
}

fn count(number: u64, name: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {name}{plural}", grouped(number))
}

fn head(out: &mut String, report: &Report) {
    _ = writeln!(
        out,
        "{}, {}, {}, {}",
        count(report.sessions, "session"),
        count(report.results, "result"),
        count(report.files, "file"),
        bytes(report.bytes),
    );
    let skipped = &report.skipped;
    let notes = [
        (
            skipped.malformed,
            "entry that is not valid was skipped",
            "entries that are not valid were skipped",
        ),
        (
            skipped.repeated,
            "entry repeats another or has no call",
            "entries repeat others or have no call",
        ),
        (
            report.unknown_files,
            "file is not a transcript of a known agent",
            "files are not transcripts of known agents",
        ),
        (
            report.incomplete,
            "result is recorded only in part, and no filter was applied to it",
            "results are recorded only in part, and no filter was applied to them",
        ),
        (
            report.filtered_before,
            "result was filtered by tamis when it was recorded",
            "results were filtered by tamis when they were recorded",
        ),
        (report.read_backs, "result reads an earlier one again", "results read earlier ones again"),
        (
            report.facts_left_out,
            "fact was not followed, because its session has too many",
            "facts were not followed, because their sessions have too many",
        ),
    ];
    for (number, one, several) in notes {
        if number > 0 {
            _ = writeln!(out, "{} {}", grouped(number), if number == 1 { one } else { several });
        }
    }
    if report.cut_by_agent > 0 {
        _ = writeln!(
            out,
            "{} cut by the agent are recorded as a whole; the model of its cut agrees with {}",
            count(report.cut_by_agent, "result"),
            grouped(report.cut_alike)
        );
    }
}

pub(crate) fn saved(before: u64, after: u64) -> String {
    match after.checked_sub(before) {
        Some(more) if more > 0 => format!("-{}", percent(more, before)),
        _ => percent(before - after, before),
    }
}

fn facts_of(figures: &Figures) -> [String; 3] {
    let facts = figures.facts;
    let all = facts.all();
    [facts.shown, facts.fetchable, facts.gone].map(|part| percent(part, all))
}

fn variants(out: &mut String, report: &Report) {
    let kind = if report.exact_tokens { "tokens" } else { "~tokens" };
    let alone = report.variants.first().map(|variant| variant.figures).unwrap_or_default();
    let width = report.variants.iter().map(|variant| variant.name.len()).max().unwrap_or(0).max(12);
    _ = writeln!(
        out,
        "\n{:width$}  {kind:>12}  {:>8}  {:>8}  {:>9}  {:>8}  {:>14}  {:>8}",
        "", "saved", "shown", "fetchable", "gone", "carried", "fetches"
    );
    for variant in &report.variants {
        let figures = &variant.figures;
        let [shown, fetchable, gone] = facts_of(figures);
        _ = writeln!(
            out,
            "{:width$}  {:>12}  {:>8}  {shown:>8}  {fetchable:>9}  {gone:>8}  {:>14}  {:>8}",
            variant.name,
            grouped(figures.tokens),
            saved(alone.tokens, figures.tokens),
            grouped(figures.carried_tokens),
            grouped(variant.fetches),
        );
    }
    _ = writeln!(
        out,
        "{} that the agent itself shows: {}",
        count(alone.facts.all(), "later-used fact"),
        kinds(report)
    );
    let beyond = report.variants.first().map_or(0, |variant| variant.beyond_agent.all());
    if beyond > 0 {
        let parts = report.variants.iter().skip(1);
        let parts = parts
            .map(|variant| format!("{} {}", variant.name, grouped(variant.beyond_agent.shown)));
        _ = writeln!(
            out,
            "{} that the agent itself hides and that were used later; of these are shown: {}",
            count(beyond, "fact"),
            parts.collect::<Vec<_>>().join(", ")
        );
    }
}

fn kinds(report: &Report) -> String {
    let kinds = report.variants.first().map(|variant| &variant.kinds);
    let kinds = kinds.into_iter().flatten();
    let parts: Vec<String> =
        kinds.map(|(kind, facts)| format!("{} {kind}", grouped(facts.all()))).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn costs(out: &mut String, report: &Report, prices: &Prices) {
    let usage = report.usage();
    if usage.is_zero() {
        _ = writeln!(out, "\nno usage is recorded, so nothing is known about costs");
        return;
    }
    _ = writeln!(
        out,
        "\n{:<40}  {:>8}  {:>13}  {:>13}  {:>15}  {:>12}  cost",
        "recorded usage", "requests", "input", "cache write", "cache read", "output"
    );
    for (agent, figures) in &report.agents {
        for (model, row) in &figures.usage {
            let cost = row.cost.map_or("no price".to_owned(), |cost| prices.shown(cost));
            let u = row.usage;
            _ = writeln!(
                out,
                "{:<40}  {:>8}  {:>13}  {:>13}  {:>15}  {:>12}  {cost}",
                short(&format!("{agent} {model}")),
                grouped(row.requests),
                grouped(u.input),
                grouped(u.cache_write),
                grouped(u.cache_read),
                grouped(u.output),
            );
        }
    }
    let requests: u64 = report.agents.values().map(|agent| agent.requests).sum();
    _ = writeln!(
        out,
        "{:<40}  {:>8}  {:>13}  {:>13}  {:>15}  {:>12}  {}",
        "sum",
        grouped(requests),
        grouped(usage.input),
        grouped(usage.cache_write),
        grouped(usage.cache_read),
        grouped(usage.output),
        prices.shown(report.cost()),
    );
    for (agent, figures) in &report.agents {
        match figures.factor() {
            Some(factor) => {
                let versions = match figures.versions.is_empty() {
                    true => String::new(),
                    false => format!(" {}", figures.versions.join(", ")),
                };
                _ = writeln!(
                    out,
                    "{agent}{versions}: {factor:.2} recorded tokens for an estimated one"
                );
            }
            None => {
                _ = writeln!(
                    out,
                    "{agent}: too little is recorded to compare the estimate with the usage"
                );
            }
        }
    }
    for (agent, figures) in &report.agents {
        if let Some(line) = pruning(&figures.prompts, prices) {
            _ = writeln!(out, "{agent}: {line}");
        }
    }
    let unit = prices.unit();
    for variant in &report.variants {
        let figures = &variant.figures;
        _ = writeln!(
            out,
            "{}: carrying its results costs about {} {unit}; fetching everything that was used, {} more",
            variant.name,
            amount(figures.cost, prices),
            amount(variant.fetch_cost, prices),
        );
    }
}

/// Says what a new and an old token cost, and when it pays to remove old ones.
pub(crate) fn pruning(prompts: &PromptReport, prices: &Prices) -> Option<String> {
    let ((new, old), after) = (prompts.prices()?, prompts.break_even()?);
    let (of, unit) = match prices.is_relative() {
        true => ("a token", "input tokens"),
        false => ("a million tokens", prices.unit()),
    };
    Some(format!(
        "{of} cost {new:.2} {unit} when new and {old:.2} in each later request; pruning pays after {after:.1} × kept ÷ removed requests"
    ))
}

/// Returns the name of what happened to a fact.
pub(crate) fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Shown => "shown",
        Fate::Fetchable => "fetchable",
        Fate::Gone => "gone",
    }
}

/// Writes an estimated cost. The prices of a table are for a million tokens.
pub(crate) fn amount(cost: f64, prices: &Prices) -> String {
    if prices.is_relative() {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded")]
        return grouped(cost.max(0.0).round() as u64);
    }
    format!("{:.4}", cost / 1e6)
}

fn groups(out: &mut String, report: &Report, title: &str, groups: &[GroupReport]) {
    if groups.is_empty() {
        return;
    }
    let width = 34;
    _ = writeln!(
        out,
        "\n{title:<width$}  {:>8}  {:>12}  {:>12}  {:>8}  {:>8}  {:>9}  {:>8}",
        "results", "before", "after", "saved", "shown", "fetchable", "gone"
    );
    for group in groups.iter().take(MOST_ROWS) {
        let (Some(before), Some(after)) =
            (group.variants.first(), group.variants.get(report.subject))
        else {
            continue;
        };
        let name = match group.agent.is_empty() {
            true => group.name.clone(),
            false => format!("{} {}", group.agent, group.name),
        };
        let [shown, fetchable, gone] = facts_of(after);
        _ = writeln!(
            out,
            "{:<width$}  {:>8}  {:>12}  {:>12}  {:>8}  {shown:>8}  {fetchable:>9}  {gone:>8}",
            short(&name),
            grouped(after.results),
            grouped(before.tokens),
            grouped(after.tokens),
            saved(before.tokens, after.tokens),
        );
    }
    if let Some(more) = groups.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        _ = writeln!(out, "and {} more (--json has all)", grouped(more as u64));
    }
}

fn examples(out: &mut String, report: &Report) {
    let name = report.variants.get(report.subject).map_or("", |variant| variant.name.as_str());
    for (at, example) in report.examples.iter().enumerate() {
        if at == 0 {
            _ = writeln!(out, "\nresults that lose most under: {name}");
        }
        let what = example.command.as_deref().unwrap_or_default();
        let what = what.lines().next().unwrap_or_default();
        let filter = example.filter.as_deref().map(|filter| format!(", filter {filter}"));
        _ = writeln!(
            out,
            "{}:{}: {} {}: {} -> {} tokens{}; of {} later-used facts {} fetchable, {} gone",
            printable(&example.file),
            example.place,
            example.tool,
            short(&printable(what)),
            grouped(example.tokens[0]),
            grouped(example.tokens[1]),
            filter.unwrap_or_default(),
            grouped(example.facts.all()),
            grouped(example.facts.fetchable),
            grouped(example.facts.gone),
        );
        for fact in &example.lost {
            let fate = fate(fact.fate);
            let text = short(&printable(&fact.text));
            _ = writeln!(out, "    {fate} {}: {text} (used at {})", fact.kind.name(), fact.used_at);
        }
    }
}

/// Replaces characters that a terminal would act on.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

fn short(text: &str) -> String {
    if text.chars().count() <= WIDEST {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(WIDEST - 1).collect();
    short.push('…');
    short
}
