//! Writes a report as one self-contained page, in the style of that of `tamis look`.
//!
//! The page has its style and its drawing inline, has no script, and loads nothing.

use std::fmt::Write as _;

use tamis_insight::look::{LookGroup, LookTree, PAGE_STYLE, look_groups, to_svg};

use crate::cost::Prices;
use crate::figures::{bytes, grouped, percent};
use crate::report::{Figures, GroupReport, Report};
use crate::table::{amount, fate, printable, pruning, saved};

/// Rules in addition to the style of `tamis look`.
const STYLE: &str = "
main { gap: 24px; margin-top: 20px; }
h2 { font-size: 15px; margin: 0 0 4px; }
section svg { max-width: 100%; height: auto; }
.lost { font-family: ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
p { margin: 4px 0; max-width: 100ch; }
";

/// Writes a page.
///
/// ```
/// use tamis_replay::cost::Prices;
/// use tamis_replay::{FilterSettings, Replay, ReplayOptions, to_page};
///
/// let report = Replay::new(ReplayOptions::new(FilterSettings::plain()))?.finish();
/// let page = to_page(&report, &Prices::default(), "this week");
/// assert!(page.starts_with("<!doctype html>") && !page.contains("<script"));
/// # Ok::<(), tamis_replay::ReplayError>(())
/// ```
#[must_use]
pub fn to_page(report: &Report, prices: &Prices, title: &str) -> String {
    let mut html =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    );
    let title = escape(title);
    _ = write!(
        html,
        "<title>{title} · tamis replay</title>\n<style>\n{PAGE_STYLE}{STYLE}</style>\n</head>\n<body>\n"
    );
    _ = write!(
        html,
        "<header><h1>{title}</h1><p id=\"totals\">{} sessions, {} results, {}</p></header>\n<main>\n",
        grouped(report.sessions),
        grouped(report.results),
        bytes(report.bytes)
    );
    let [before, after] = trees(report);
    let subject = report.variants.get(report.subject);
    let name = subject.map_or("", |variant| variant.name.as_str());
    section(&mut html, "Where the tokens of tool results went", |html| {
        _ = writeln!(
            html,
            "<p>By agent, tool and program: with the agent itself, and with {}.</p>",
            escape(name)
        );
        html.push_str(&to_svg("tokens of tool results", &before, Some(&after)));
    });
    section(&mut html, "Later-used facts and tokens by variant", |html| {
        variants(html, report, prices)
    });
    section(&mut html, "Recorded usage", |html| usage(html, report, prices));
    for (title, groups) in
        [("Tools", &report.tools), ("Commands", &report.commands), ("Filters", &report.filters)]
    {
        if !groups.is_empty() {
            section(&mut html, title, |html| table_of(html, report, groups));
        }
    }
    if !report.examples.is_empty() {
        section(&mut html, "Results that lose most", |html| examples(html, report));
    }
    html.push_str("</main>\n<footer>A later-used fact is a name, path, number, version, address, line or phrase that only one result had and that the model wrote next. ");
    html.push_str("Written by tamis replay; this page loads nothing.</footer>\n</body>\n</html>\n");
    html
}

fn trees(report: &Report) -> [LookTree; 2] {
    [0, report.subject].map(|at| {
        let groups: Vec<LookGroup> = report
            .places
            .iter()
            .filter_map(|(steps, variants)| {
                let figures = variants.get(at)?;
                Some(LookGroup {
                    steps: steps.iter().map(|step| printable(step)).collect(),
                    count: figures.results,
                    bytes: figures.bytes,
                    tokens: figures.tokens,
                })
            })
            .collect();
        look_groups(&groups)
    })
}

fn section(html: &mut String, title: &str, body: impl FnOnce(&mut String)) {
    _ = write!(html, "<section>\n<h2>{}</h2>\n", escape(title));
    body(html);
    html.push_str("</section>\n");
}

fn row(html: &mut String, tag: &str, first: &str, cells: &[String]) {
    _ = write!(html, "<tr><{tag} class=\"path\">{}</{tag}>", escape(&printable(first)));
    for cell in cells {
        _ = write!(html, "<{tag} class=\"number\">{}</{tag}>", escape(cell));
    }
    html.push_str("</tr>\n");
}

fn head(html: &mut String, first: &str, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    html.push_str("<div class=\"scroll\"><table><thead>\n");
    row(html, "th", first, &cells);
    html.push_str("</thead><tbody>\n");
}

fn foot(html: &mut String) {
    html.push_str("</tbody></table></div>\n");
}

fn facts(figures: &Figures) -> [String; 3] {
    let facts = figures.facts;
    [facts.shown, facts.fetchable, facts.gone].map(|part| percent(part, facts.all()))
}

fn variants(html: &mut String, report: &Report, prices: &Prices) {
    let alone = report.variants.first().map(|variant| variant.figures).unwrap_or_default();
    _ = writeln!(
        html,
        "<p>Of {} facts that the agent itself showed and that were used later:</p>",
        grouped(alone.facts.all())
    );
    let tokens = if report.exact_tokens { "tokens" } else { "tokens (estimated)" };
    let unit = format!("carried ({})", prices.unit());
    head(
        html,
        "",
        &[
            "shown",
            "fetchable",
            "gone",
            tokens,
            "saved",
            &unit,
            "results to fetch from",
            "fetching them",
        ],
    );
    for variant in &report.variants {
        let [shown, fetchable, gone] = facts(&variant.figures);
        let cells = [
            shown,
            fetchable,
            gone,
            grouped(variant.figures.tokens),
            saved(alone.tokens, variant.figures.tokens),
            amount(variant.figures.cost, prices),
            grouped(variant.fetches),
            amount(variant.fetch_cost, prices),
        ];
        row(html, "td", &variant.name, &cells);
    }
    foot(html);
}

fn usage(html: &mut String, report: &Report, prices: &Prices) {
    head(html, "model", &["requests", "input", "cache write", "cache read", "output", "cost"]);
    for (agent, figures) in &report.agents {
        for (model, found) in &figures.usage {
            let u = found.usage;
            let cells = [
                grouped(found.requests),
                grouped(u.input),
                grouped(u.cache_write),
                grouped(u.cache_read),
                grouped(u.output),
                found.cost.map_or("no price".to_owned(), |cost| prices.shown(cost)),
            ];
            row(html, "td", &format!("{agent} {model}"), &cells);
        }
    }
    foot(html);
    for (agent, figures) in &report.agents {
        if let Some(factor) = figures.factor() {
            _ = writeln!(
                html,
                "<p>{}: {factor:.2} recorded tokens for an estimated one</p>",
                escape(agent)
            );
        }
        if let Some(line) = pruning(&figures.prompts, prices) {
            _ = writeln!(html, "<p>{}: {}</p>", escape(agent), escape(&line));
        }
    }
}

fn table_of(html: &mut String, report: &Report, groups: &[GroupReport]) {
    head(html, "", &["results", "before", "after", "saved", "shown", "fetchable", "gone"]);
    for group in groups.iter().take(100) {
        let (Some(before), Some(after)) =
            (group.variants.first(), group.variants.get(report.subject))
        else {
            continue;
        };
        let [shown, fetchable, gone] = facts(after);
        let cells = [
            grouped(after.results),
            grouped(before.tokens),
            grouped(after.tokens),
            saved(before.tokens, after.tokens),
            shown,
            fetchable,
            gone,
        ];
        row(html, "td", format!("{} {}", group.agent, group.name).trim(), &cells);
    }
    foot(html);
}

fn examples(html: &mut String, report: &Report) {
    for example in &report.examples {
        let command = example.command.as_deref().unwrap_or_default();
        _ = write!(
            html,
            "<p class=\"lost\">{}:{} {} {}</p>\n<ul class=\"lost\">\n",
            escape(&printable(&example.file)),
            example.place,
            escape(&printable(&example.tool)),
            escape(&printable(command)),
        );
        for fact in &example.lost {
            _ = writeln!(
                html,
                "<li>{} {}: {}</li>",
                fate(fact.fate),
                fact.kind.name(),
                escape(&printable(&fact.text))
            );
        }
        html.push_str("</ul>\n");
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(char),
        }
    }
    out
}
