//! Content: runs in pieces of several sizes, documents made of difficult parts, and the bound that an output keeps to.

use tamis::content::Content;
use tamis::{CallOptions, Error, Filter, Program, Report, Spec, filter_slice};

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

/// A page, a JSON response or a text.
pub fn document(prng: &mut impl Choices) -> String {
    nested(prng, 2)
}

/// At most `depth` JSON responses are nested: each level doubles the escapes of the levels below it.
fn nested(prng: &mut impl Choices, depth: usize) -> String {
    let mut made = String::new();
    let begin = prng.below(5);
    if begin == 4 && depth > 0 {
        // A JSON response whose strings are such documents, some of them broken.
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

/// Asserts that the output is within its limit. The mark at its end does not count.
pub fn within(output: &str, report: &Report, max: u64) {
    assert!(!output.is_empty());
    let mark = output.rfind("[... ").filter(|_| report.budget_applied);
    let Some(mark) = mark else {
        assert!(!report.budget_applied, "{output}");
        return;
    };
    let (kept, mark) = output.split_at(mark);
    assert!(mark.ends_with(" left out]"), "{output}");
    if !report.tokens_estimated {
        let count = crate::tokens::count;
        // Not the output as a whole: punctuation and the line break before the mark may be more tokens together than apart.
        let bare = kept.trim_end();
        assert!(count(bare) <= max, "{output}");
        assert!(matches!(kept.strip_prefix(bare), Some("" | "\n\n")), "{output}");
    }
    assert_eq!(report.tokens_limit, Some(max));
    assert!(report.tokens_original >= Some(max), "{report:?}");
}

pub fn program(content: Content) -> Program {
    Program::compile(&Spec::new().content(content)).unwrap()
}

/// Runs a program over a document in pieces of one size.
pub fn in_pieces(
    program: &Program,
    options: &CallOptions,
    document: &[u8],
    size: usize,
) -> Result<(Vec<u8>, Report), Error> {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    for piece in document.chunks(size) {
        filter.write(piece)?;
    }
    let report = filter.end()?;
    Ok((filter.into_sink(), report))
}

/// The parts of a result that must not depend on chunks.
pub fn shown(run: Result<(Vec<u8>, Report), Error>) -> String {
    match run {
        Ok((output, mut report)) => {
            (report.plan, report.held_peak_bytes) = (Vec::new(), 0);
            format!("{}\n{report:?}", String::from_utf8(output).unwrap())
        }
        Err(error) => error.to_string(),
    }
}

/// Runs a document whole and in pieces, and returns the output and the report, which must be the same.
pub fn run(program: &Program, options: &CallOptions, document: &[u8]) -> (String, Report) {
    let whole = shown(filter_slice(program.with_options(options), document).map_err(Error::from));
    for size in [1, 7, 1000, 70_000] {
        // Single bytes of a long document are slow and test nothing more.
        if size > 1 || document.len() < 10_000 {
            assert_eq!(
                shown(in_pieces(program, options, document, size)),
                whole,
                "pieces of {size}"
            );
        }
    }
    let (output, report) = filter_slice(program.with_options(options), document).unwrap();
    (String::from_utf8(output).unwrap(), report)
}
