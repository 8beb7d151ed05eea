//! What always holds, on documents made of parts that hurt: never empty, never too long, and the same however they come.

use tamis::{CallOptions, Content, ContentFormat, ErrorKind, Report, filter_slice};

use super::prng::Prng;
use super::{in_pieces, program, shown};

const HTML: [&str; 58] = [
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<b>",
    "</b>",
    "<i>",
    "<a href='/x'>",
    "</a>",
    "<ul>",
    "</ul>",
    "<ol start=9>",
    "</ol>",
    "<li>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "<th>",
    "<pre>",
    "</pre>",
    "<code class=language-rs>",
    "</code>",
    "<br>",
    "<hr>",
    "<h1>",
    "</h1>",
    "<h3>",
    "<blockquote>",
    "</blockquote>",
    "<nav>",
    "</nav>",
    "<header>",
    "</header>",
    "<article>",
    "</article>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<!-- c -->",
    "<!--",
    "<div hidden>",
    "<img src=x alt='an image'>",
    "&amp;",
    "&nbsp;",
    "&#65",
    "&",
    "<",
    ">",
    "<svg>",
    "</svg>",
    "<template>",
    "</template>",
    "<noscript>",
    "<textarea>",
];
const TEXT: [&str; 14] = [
    "word ",
    "Some words of a sentence. ",
    "Dr. X came. ",
    "\n",
    "\n\n",
    "  ",
    "日本語の文。",
    "مرحبا ",
    "\u{1f600}",
    "é",
    "- item\n",
    "| ",
    "```\n",
    "A paragraph that is long enough to be taken for one, with a comma, and then some more of it. ",
];
const JSON: [&str; 12] = [
    "{\"text\":\"",
    "{\"content\":",
    "[",
    "\"a\"",
    "{\"body\":\"<p>",
    "\"}",
    "}",
    "]",
    ",",
    "null",
    "\\u0041",
    "{\"title\":\"t\",",
];

fn document(prng: &mut Prng) -> String {
    let mut made = String::new();
    let begin = prng.below(5);
    if begin == 4 {
        // An answer, whose texts are such documents, more or less.
        let mut members = serde_json::Map::new();
        for _ in 0..prng.below(4) {
            let value = match prng.below(4) {
                0 => serde_json::Value::Null,
                1 => serde_json::json!([{ "text": document(prng), "id": 1 }]),
                _ => document(prng).into(),
            };
            members.insert(prng.pick(&["title", "content", "text", "body", "x"]).to_owned(), value);
        }
        return serde_json::Value::Object(members).to_string();
    }
    if begin == 0 {
        made.push_str("<html><body>");
    } else if begin == 1 {
        made.push_str(prng.pick(&JSON));
    }
    for _ in 0..1 + prng.below(80) {
        made.push_str(match prng.below(8) {
            0 if begin == 1 => prng.pick(&JSON),
            0..4 => prng.pick(&TEXT),
            _ if begin == 2 => prng.pick(&TEXT),
            _ => prng.pick(&HTML),
        });
    }
    made
}

/// The output is within its limit, but for the mark.
pub(crate) fn within(output: &str, report: &Report, max: u64) {
    assert!(!output.is_empty());
    let mark = output.rfind("[... ").filter(|_| report.budget_applied);
    let Some(mark) = mark else {
        assert!(!report.budget_applied, "{output}");
        return;
    };
    let (kept, mark) = output.split_at(mark);
    assert!(mark.ends_with(" left out]"), "{output}");
    #[cfg(feature = "tokens")]
    {
        let count = |text: &str| bpe_openai::o200k_base().count(text) as u64;
        assert!(count(kept.trim_end()) <= max, "{output}");
        assert!(count(output) <= max + count(&format!("\n\n{mark}")), "{output}");
    }
    assert_eq!(report.tokens_limit, Some(max));
    assert!(report.tokens_original >= Some(max), "{report:?}");
    assert_eq!(report.tokens_estimated, cfg!(not(feature = "tokens")));
    _ = kept;
}

#[test]
fn never_empty_never_too_long_however_it_comes() {
    let mut prng = Prng::new(8);
    let mut from = std::collections::BTreeMap::new();
    for round in 0..1500 {
        let text = document(&mut prng);
        let max = if prng.one_in(3) { 0 } else { 1 + prng.below(60) as u64 };
        let format = prng.pick(&[ContentFormat::Text, ContentFormat::Markdown]);
        let program = program(Content::new().max_tokens(max).format(format).extract("title"));
        let whole = filter_slice(&program, text.as_bytes());
        let (output, report) = match &whole {
            Ok((output, report)) => (std::str::from_utf8(output).unwrap(), report),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Limit, "{round}: {text:?}: {error}");
                continue;
            }
        };
        let context = format!("{round}: {text:?}\n{output:?}");
        *from.entry(report.content_from.unwrap()).or_insert(0) += 1;
        // A document of white space is left as it is.
        assert_eq!(output.trim().is_empty(), text.trim().is_empty(), "{context}");
        if !output.is_empty() {
            within(output, report, max);
        }
        assert_eq!(
            report.output_bytes.unwrap_or(report.filter_result_bytes),
            output.len() as u64,
            "{context}"
        );
        let whole = shown(whole);
        for size in [1 + prng.below(10), 1 + prng.below(1000)] {
            let pieces = in_pieces(&program, &CallOptions::new(), text.as_bytes(), size);
            assert_eq!(shown(pieces), whole, "{context}");
        }
    }
    for kind in ["article", "body", "page", "fields", "text", "response"] {
        assert!(from.contains_key(kind), "{kind}: {from:?}");
    }
}
