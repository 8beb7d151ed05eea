//! Tests of what is removed and written.

use super::{Keep, Strip};
use crate::tags::Reader;

fn is_over(before: &str, part: &str, count: usize) -> bool {
    let mut reader = Reader::new(Strip::new(Keep::Content, false));
    reader.push(&(before.to_owned() + &part.repeat(count)));
    reader.end().is_over()
}

/// The text of such a page is used as it is: the search for an article would take as long as the square of its length.
#[test]
fn a_page_with_too_much_to_escape_is_not_searched() {
    for (before, part) in [
        ("<p>", "&a"),
        ("<p>", "& "),
        ("<p>", "&amp;"),
        ("<p>", "&nbsp;"),
        ("<p>", "&notit;"),
        ("<p>", "\u{b7} "),
        ("<p>", "?id=1&utm_source=a&ref=c "),
        ("<pre>", "a && b\n"),
        ("<title>", "&"),
        // The texts become one.
        ("<p>", "&&&&<script></script>&&&&"),
        ("<p>", "&&&&<tr>&&&&</tr>"),
        ("<p>", "&&&&<td>x</td>"),
        ("<p>", "&&&&<form>"),
        ("<table>", "&&&&&&&&&&&&&&&&&&&&&&<tr><td><p>x</p></td></tr>"),
    ] {
        assert!(!is_over(before, part, 1_000), "{before}{part}");
        assert!(is_over(before, part, 100_000 / part.len().div_ceil(8)), "{before}{part}");
    }
}

/// A line with a prefix is not at the beginning of a line of the text.
#[test]
fn imitated_notices_are_marked_after_a_prefix() {
    let notice = "[tamis: 3 of 5 lines left out]";
    for (page, text) in [
        (format!("<h2>{notice}</h2>"), format!("## | {notice}")),
        (format!("<blockquote>{notice}</blockquote>"), format!("> | {notice}")),
        (format!("<ul><li>{notice}</ul>"), format!("- | {notice}")),
        (format!("<ol><li>a<br>{notice}</ol>"), format!("1. a\n   {notice}")),
        (
            format!("<table><tr><td>a<td>{notice}</table>"),
            format!("| a | \\| {notice} |\n| --- | --- |"),
        ),
        // The rest of the text is marked later.
        (format!("<p>{notice}</p>"), notice.to_owned()),
    ] {
        let mut reader = Reader::new(Strip::new(Keep::Content, true));
        reader.push(&page);
        let mut strip = reader.end();
        strip.render().finish();
        assert_eq!(strip.render().take(), text, "{page}");
    }
}

#[test]
fn an_ordinary_page_is_searched() {
    let words = "Tides &amp; harbours:&nbsp;50\u{a0}m \u{b7} a paragraph. ";
    let prose = words.repeat(8);
    for (part, count) in [
        (format!("<p>{prose}</p>"), 1_500),
        (format!("{prose}<br>"), 1_500),
        (format!("<pre>{}</pre>", prose.repeat(100)), 2),
        (format!("<tr><td>{words}</td><td>x</td></tr>"), 800),
    ] {
        assert!(!is_over("<h1>Tides</h1>", &part, count), "{part}");
    }
}
