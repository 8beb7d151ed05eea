//! Documents made of parts that hurt, and the bound that an output keeps to.

use tamis::Report;

use crate::prng::Choices;

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

/// A page, an answer or a text.
pub(crate) fn document(prng: &mut impl Choices) -> String {
    nested(prng, 2)
}

/// At most `depth` answers inside one another: each doubles the escapes of what is inside.
fn nested(prng: &mut impl Choices, depth: usize) -> String {
    let mut made = String::new();
    let begin = prng.below(5);
    if begin == 4 && depth > 0 {
        // An answer, whose texts are such documents, more or less.
        let mut members = serde_json::Map::new();
        for _ in 0..prng.below(4) {
            let value = match prng.below(4) {
                0 => serde_json::Value::Null,
                1 => serde_json::json!([{ "text": nested(prng, depth - 1), "id": 1 }]),
                _ => nested(prng, depth - 1).into(),
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
    if !report.tokens_estimated {
        let count = |text: &str| tiktoken::get_encoding("o200k_base").unwrap().count(text) as u64;
        assert!(count(kept.trim_end()) <= max, "{output}");
        assert!(count(output) <= max + count(&format!("\n\n{mark}")), "{output}");
    }
    assert_eq!(report.tokens_limit, Some(max));
    assert!(report.tokens_original >= Some(max), "{report:?}");
}
