//! Formulas as TeX.
//!
//! Browsers show formulas from markup that text extraction drops. The source is in one of these places, seen in the pages of
//! KaTeX 0.16, MathJax 2 and 3, LaTeXML (arXiv) and MediaWiki:
//!
//! | source | place |
//! |---|---|
//! | TeX | `<annotation encoding="application/x-tex">` in `<math>` |
//! | TeX | `alttext` of `<math>`, `data-latex` or `data-tex` of any element, `alt` of an image of a formula |
//! | TeX | `<script type="math/tex">`, for display `math/tex; mode=display` |
//! | MathML | the elements of `<math>`, written as TeX |

use super::references;
use super::tags::Tag;

/// The maximum size of a formula in bytes. The rest is dropped.
const LONGEST: usize = 16 << 10;
/// The maximum depth of elements in a formula that is written as TeX. Deeper ones are written without structure.
const DEEPEST: usize = 64;

/// A formula that is being read.
#[derive(Debug)]
pub(super) struct Formula {
    display: bool,
    /// The TeX that the page states.
    tex: Option<String>,
    /// The text inside is TeX: an annotation or a script.
    in_tex: bool,
    /// The text is not decoded: it is in a script.
    raw: bool,
    /// The number of open elements whose text is dropped.
    dropped: usize,
    /// The open elements of MathML, with the TeX of their children.
    open: Vec<(String, Vec<String>)>,
    /// Open elements beyond [`DEEPEST`].
    deeper: usize,
    bytes: usize,
}

impl Formula {
    /// Begins a formula if an element is one.
    pub(super) fn begin(tag: &Tag<'_>) -> Option<Self> {
        let says = |name| tag.get(name).map(|value| references::decode(&value));
        let stated = says("data-latex").or_else(|| says("data-tex"));
        let stated = stated.filter(|tex| !tex.trim().is_empty() && tag.name != "input");
        let mut formula = Self {
            display: says("display").is_some_and(|display| display.eq_ignore_ascii_case("block")),
            tex: stated,
            in_tex: false,
            raw: false,
            dropped: 0,
            open: vec![(String::new(), Vec::new())],
            deeper: 0,
            bytes: 0,
        };
        match tag.name {
            "math" => formula.tex = formula.tex.or_else(|| says("alttext")),
            "script" => {
                let kind = says("type").unwrap_or_default().to_ascii_lowercase();
                formula.display = kind.split(';').any(|part| part.trim() == "mode=display");
                if kind.split(';').next().map(str::trim) != Some("math/tex") {
                    return None;
                }
                (formula.in_tex, formula.raw, formula.tex) = (true, true, Some(String::new()));
            }
            "mjx-container" if formula.tex.is_some() => {
                formula.display = says("display").is_some_and(|display| display == "true");
            }
            "img" => {
                let class = says("class").unwrap_or_default();
                let shown = class.contains("mwe-math-fallback-image")
                    || class.split_ascii_whitespace().any(|name| matches!(name, "tex" | "latex"));
                formula.display = class.contains("-display");
                formula.tex = formula.tex.or_else(|| says("alt").filter(|_| shown));
                formula.tex.as_ref()?;
            }
            _ => {
                formula.tex.as_ref()?;
                formula.dropped = 1;
            }
        }
        Some(formula)
    }

    /// An element in the formula begins.
    pub(super) fn start(&mut self, tag: &Tag<'_>) {
        if !tag.has_content {
            return;
        }
        if tag.name == "annotation" || tag.name == "annotation-xml" || self.dropped > 0 {
            let encoding = tag.get("encoding").unwrap_or_default().to_ascii_lowercase();
            let is_tex = tag.name == "annotation" && encoding.contains("tex");
            if is_tex && self.dropped == 0 {
                (self.in_tex, self.tex) = (true, Some(String::new()));
            } else {
                self.dropped += 1;
            }
            return;
        }
        if self.open.len() > DEEPEST || self.bytes > LONGEST {
            self.deeper += 1;
        } else {
            self.open.push((tag.name.to_owned(), Vec::new()));
        }
    }

    /// An element in the formula ends.
    pub(super) fn end(&mut self, name: &str) {
        if self.dropped > 0 {
            self.dropped -= 1;
        } else if std::mem::take(&mut self.in_tex) && name == "annotation" {
        } else if self.deeper > 0 {
            self.deeper -= 1;
        } else if self.open.len() > 1
            && let Some((name, children)) = self.open.pop()
            && let Some((_, siblings)) = self.open.last_mut()
        {
            let tex = written(&name, &children);
            self.bytes += 1;
            if !tex.is_empty() {
                siblings.push(tex);
            }
        }
    }

    /// Adds text in the formula, with character references as written.
    pub(super) fn text(&mut self, text: &str) {
        if self.dropped > 0 || self.bytes > LONGEST {
            return;
        }
        self.bytes += text.len();
        let decoded = if self.raw { text.to_owned() } else { references::decode(text) };
        if self.in_tex {
            self.tex.get_or_insert_default().push_str(&decoded);
        } else if let Some((_, children)) = self.open.last_mut() {
            // Signs without a width stand for what is written without one, such as a product.
            let shown = |char: &char| !matches!(char, '\u{2061}'..='\u{2064}' | '\u{200b}');
            let text: String = decoded.trim().chars().filter(shown).collect();
            if !text.is_empty() {
                children.push(text);
            }
        }
    }

    /// Ends the formula. Returns it with its delimiters, or `None` if it is empty.
    pub(super) fn finish(mut self) -> Option<String> {
        while self.open.len() > 1 {
            self.end("");
        }
        let stated = self.tex.unwrap_or_default();
        let made = self.open.pop().map(|(_, children)| written("mrow", &children));
        let tex = if stated.trim().is_empty() { made.unwrap_or_default() } else { stated };
        let tex = tex.split_whitespace().collect::<Vec<_>>().join(" ");
        // MediaWiki puts a style around every formula.
        let bare = ["{\\displaystyle ", "{\\textstyle "]
            .iter()
            .find_map(|style| tex.strip_prefix(style)?.strip_suffix('}'));
        let tex = bare.unwrap_or(&tex).trim().trim_start_matches('$').trim_end_matches('$');
        let mark = if self.display { "$$" } else { "$" };
        (!tex.is_empty()).then(|| format!("{mark}{tex}{mark}"))
    }
}

/// Writes an element of MathML as TeX.
fn written(name: &str, children: &[String]) -> String {
    let child = |at: usize| children.get(at).map(String::as_str).unwrap_or_default();
    let base = || group(child(0));
    match name {
        "msup" | "mover" => format!("{}^{}", base(), group(child(1))),
        "msub" | "munder" => format!("{}_{}", base(), group(child(1))),
        "msubsup" | "munderover" => {
            format!("{}_{}^{}", base(), group(child(1)), group(child(2)))
        }
        "mfrac" => format!("\\frac{{{}}}{{{}}}", child(0), child(1)),
        "msqrt" => format!("\\sqrt{{{}}}", children.join(" ")),
        "mroot" => format!("\\sqrt[{}]{{{}}}", child(1), child(0)),
        "mfenced" => format!("({})", children.join(", ")),
        "mtr" | "mlabeledtr" => children.join(" & "),
        "mtable" => format!("\\begin{{matrix}} {} \\end{{matrix}}", children.join(" \\\\ ")),
        _ => children.join(" "),
    }
}

/// Puts braces around more than one character.
fn group(tex: &str) -> String {
    if tex.chars().count() == 1 { tex.to_owned() } else { format!("{{{tex}}}") }
}

/// Whether an element repeats a formula whose source is next to it.
pub(super) fn is_repeated(tag: &Tag<'_>) -> bool {
    tag.get("class").is_some_and(|class| {
        class.split_ascii_whitespace().any(|name| match name {
            "katex-html" | "MathJax_Preview" | "MathJax_Display" | "MathJax_SVG"
            | "MathJax_CHTML" => true,
            "MathJax" => matches!(tag.name, "span" | "div"),
            _ => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::page::Page;

    fn text(html: &str) -> String {
        let mut page = Page::new(false);
        let begun = page.push(html);
        begun + &page.finish().text
    }

    #[test]
    fn mathml_is_written_as_tex() {
        for (math, tex) in [
            ("<math><msup><mi>x</mi><mn>2</mn></msup></math>", "$x^2$"),
            ("<math><msub><mi>x</mi><mn>12</mn></msub></math>", "$x_{12}$"),
            ("<math display=block><msqrt><mi>a</mi></msqrt></math>", "$$\\sqrt{a}$$"),
            (
                "<math><munderover><mo>∑</mo><mi>k</mi><mi>n</mi></munderover><mi>k</mi></math>",
                "$∑_k^n k$",
            ),
            (
                "<math><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable></math>",
                "$\\begin{matrix} a & b \\end{matrix}$",
            ),
            ("<script type='math/tex; mode=display'>x<y</script>", "$$x<y$$"),
            ("<math></math>", ""),
        ] {
            assert_eq!(text(&format!("<p>Let {math}.</p>")), format!("Let {tex}."), "{math}");
        }
    }

    #[test]
    fn a_large_formula_is_bounded() {
        for part in ["<mi>x</mi>", "<mi></mi>", "<mrow>", "<msup>", "x", "<annotation>"] {
            let text = text(&format!("<p>Let <math>{}</math> be.</p>", part.repeat(300_000)));
            assert!(text.len() < 8 * super::LONGEST, "{part}: {}", text.len());
            assert!(text.starts_with("Let"), "{part}");
        }
    }

    #[test]
    fn hidden_text_is_no_formula() {
        let html = "<p>Seen.</p><span class=mwe-math-mathml-inline style='display:none'><math alttext='a b'>x</math>c</span>\
                    <div hidden id='S:0'>d</div>";
        assert_eq!(text(html), "Seen.");
    }
}
