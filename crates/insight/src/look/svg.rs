//! Draws trees as a static treemap: one picture without scripts, for documents and terminals that show SVG.

use std::fmt::Write as _;

use tamis_text::grouped::grouped;

use super::tree::{LookNode, LookTree};
use super::treemap::{Rectangle, squarify};
use crate::is_hidden;

/// The size of the picture, and the height of its title, of the title of a rectangle, and of a map below another.
const WIDTH: f64 = 960.0;
const MAP_HEIGHT: f64 = 440.0;
const TITLE: f64 = 36.0;
const LABEL: f64 = 17.0;
/// The height of a line of text.
const LINE: f64 = 14.0;
/// Rectangles inside smaller ones are not drawn.
const SMALLEST: (f64, f64) = (46.0, 34.0);
/// Nodes are drawn down to this level.
const LEVELS: usize = 6;
/// Average width of a character, as a part of the size of the font.
const CHARACTER: f64 = 0.6;
/// Number of colours.
const COLOURS: usize = 8;
/// A child with more than this part of its parent leaves the colours to its own children.
const MOST: f64 = 0.6;

const STYLE: &str = "\
text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1c1e21}\
.h{font:600 14px system-ui,sans-serif}.s{fill:#555b64}\
rect{stroke:#fff;stroke-width:1}.b{fill:#fff;stroke:none}.o{fill:#e4e6ea}\
.c0{fill:#9ec5f4}.c1{fill:#f7c58f}.c2{fill:#a8dcae}.c3{fill:#f4a9a8}.c4{fill:#cdb7f0}.c5{fill:#e5d68a}\
.c6{fill:#9adbd8}.c7{fill:#f2b3d6}\
@media(prefers-color-scheme:dark){text{fill:#eceef1}.s{fill:#a9b0ba}rect{stroke:#16181c}\
.b{fill:#16181c}.o{fill:#343941}\
.c0{fill:#2c5a91}.c1{fill:#8a5a1c}.c2{fill:#2f6f3a}.c3{fill:#8d3b3a}.c4{fill:#5c4492}.c5{fill:#6f6220}\
.c6{fill:#1f6a67}.c7{fill:#843a66}}";

/// Draws a tree as a treemap in SVG. The area of a rectangle is proportional to its tokens. With `after`, the tree that
/// remains after a filter is drawn below it at the same scale.
///
/// The picture needs no fonts, scripts or network, and adapts to dark backgrounds. Equal trees give equal bytes.
///
/// ```
/// use tamis_insight::look::{Look, LookOptions, to_svg};
///
/// let mut look = Look::new(&LookOptions::new());
/// look.write(br#"{"id": 1, "url": "https://example.com"}"#)?;
/// look.end()?;
/// let svg = to_svg("item.json", &look.into_tree(), None);
/// assert!(svg.starts_with("<svg ") && svg.contains(">url<"));
/// # Ok::<(), tamis::Error>(())
/// ```
#[must_use]
pub fn to_svg(title: &str, before: &LookTree, after: Option<&LookTree>) -> String {
    let scale = WIDTH * MAP_HEIGHT / before.tokens().max(1) as f64;
    // The map of the output has the same ratio of sides, if it is not larger than that of the input.
    let below = after.map(|after| {
        let area = after.tokens() as f64 * scale;
        let factor = (area / (WIDTH * MAP_HEIGHT)).sqrt().min(1.0);
        (after, Rectangle { x: 0.0, y: 0.0, width: WIDTH * factor, height: MAP_HEIGHT * factor })
    });
    // Its label is next to it, or above it if the space next to it is too small.
    let has_space = below.is_none_or(|(_, area)| area.width < WIDTH - 460.0);
    let above = if has_space { 0.0 } else { TITLE };
    let more = below.map_or(0.0, |(_, area)| above + area.height.max(TITLE) + 12.0);
    let height = TITLE + MAP_HEIGHT + more;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\">\n<title>{}: {}</title>\n\
         <style>{STYLE}</style>\n<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n",
        escape(title),
        figures(before),
    );
    _ = writeln!(
        svg,
        "<text class=\"h\" x=\"4\" y=\"23\">{} <tspan class=\"s\">{}</tspan></text>",
        escape(title),
        figures(before)
    );
    let area = Rectangle { x: 0.0, y: TITLE, width: WIDTH, height: MAP_HEIGHT };
    draw(&mut svg, before, area);
    if let Some((after, area)) = below {
        let y = TITLE + MAP_HEIGHT + 12.0;
        draw(&mut svg, after, Rectangle { y: y + above, ..area });
        let less = before.tokens().saturating_sub(after.tokens());
        let percent = u128::from(less) * 1000 / u128::from(before.tokens().max(1));
        let text = format!("after the filter: {}", figures(after));
        let saved = format!("{}.{} % less", percent / 10, percent % 10);
        let x = if has_space { area.width + 12.0 } else { 4.0 };
        _ = writeln!(
            svg,
            "<text class=\"h\" x=\"{x:.0}\" y=\"{:.0}\">{text} <tspan class=\"s\">({saved})</tspan></text>",
            y + 23.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws the nodes of a tree, the outer ones first.
fn draw(svg: &mut String, tree: &LookTree, area: Rectangle) {
    let Some(root) = tree.node(0) else { return };
    // The colour of a node is that of the branch it is on: a child of the first node that is not mostly one child.
    let mut waiting = vec![(root, area, None, 0)];
    while let Some((node, area, colour, level)) = waiting.pop() {
        let label = if node.position() == 0 { 0.0 } else { LABEL };
        if label > 0.0 {
            rectangle(svg, about(tree), node, area, colour);
        }
        let inside = Rectangle {
            x: area.x + if label > 0.0 { 2.0 } else { 0.0 },
            y: area.y + label,
            width: area.width - if label > 0.0 { 4.0 } else { 0.0 },
            height: area.height - if label > 0.0 { label + 2.0 } else { 0.0 },
        };
        if level >= LEVELS || inside.width < SMALLEST.0 || inside.height < SMALLEST.1 - LABEL {
            continue;
        }
        let children: Vec<LookNode<'_>> = node.children().collect();
        let weights: Vec<f64> = children.iter().map(LookNode::weight).collect();
        let places = squarify(&weights, inside);
        for (at, (child, place)) in children.into_iter().zip(places).enumerate().rev() {
            // Invisible rectangles would only make the file larger.
            if place.width * place.height < 4.0 {
                continue;
            }
            let is_most = !child.is_leaf() && child.weight() > MOST * node.weight();
            let colour = colour.or((!is_most).then_some(at % COLOURS));
            waiting.push((child, place, colour, level + 1));
        }
    }
}

fn rectangle(
    svg: &mut String,
    about: &str,
    node: LookNode<'_>,
    area: Rectangle,
    colour: Option<usize>,
) {
    let Rectangle { x, y, width, height } = area;
    let class = colour.map_or_else(|| "o".to_owned(), |colour| format!("c{colour}"));
    let (path, tokens) = (node.path(), format!("{about}{}", grouped(node.tokens())));
    let share = node.share();
    _ = write!(
        svg,
        "<g><title>{}: {tokens} tokens, {}.{} %</title>\
         <rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
        escape(&path),
        share / 10,
        share % 10,
    );
    let room = ((width - 8.0) / (11.0 * CHARACTER)).floor();
    if height >= LABEL && room >= 3.0 {
        let room = room as usize;
        let mut line = |number: f64, class: &str, text: &str| {
            let (x, y) = (x + 4.0, y + 13.0 + number * LINE);
            let text = escape(&shortened(text, room));
            _ = write!(svg, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
        };
        let full = format!("{} {tokens}", node.step());
        if node.is_leaf() && height >= LABEL + LINE && tokens.len() <= room {
            line(0.0, "", node.step());
            line(1.0, " class=\"s\"", &tokens);
        } else {
            line(0.0, "", if full.chars().count() <= room { &full } else { node.step() });
        }
    }
    svg.push_str("</g>\n");
}

/// Returns the first characters of a text, with an ellipsis if it is longer.
fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(room.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Returns the figures of a tree in words.
fn figures(tree: &LookTree) -> String {
    let about = about(tree);
    format!("{about}{} tokens, {} bytes", grouped(tree.tokens()), grouped(tree.bytes()))
}

/// Returns the mark of numbers that are estimated.
fn about(tree: &LookTree) -> &'static str {
    if tree.is_exact() { "" } else { "~" }
}

/// Escapes a text for XML. Characters that XML does not allow, and those that reorder others, become a replacement
/// character.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            char if is_hidden(char) => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}
