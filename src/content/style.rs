//! What the `style` attribute of an element hides.
//!
//! Knows the properties that take text out of sight: not shown at all, without size or colour, outside the page, or clipped. Of
//! a property that comes twice the last valid value counts, unless another is `!important`. Knows no syntax ([`css`](super::css)
//! does). Style sheets are not read.

use super::css::{CssToken, Declaration, Declarations};

/// Pixels by which text is outside the page.
const FAR: f64 = 999.0;

/// What the style of an element says of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InlineStyle {
    /// Nothing in the element is shown.
    pub(super) hides: bool,
    /// Properties that elements inside inherit: those that hide text here, and those that show it again.
    pub(super) unseen: u8,
    pub(super) seen: u8,
}

/// The inherited properties, as bits.
const VISIBILITY: u8 = 1;
const SIZE: u8 = 2;
const COLOUR: u8 = 4;

/// What a property says, and whether as `!important`.
#[derive(Clone, Copy, Debug, Default)]
struct Stated {
    value: bool,
    known: bool,
    important: bool,
}

impl Stated {
    fn say(&mut self, value: Option<bool>, important: bool) {
        // What is not valid is no declaration; what is important gives way only to what is, too.
        if let Some(value) = value
            && (important || !self.important)
        {
            *self = Self { value, known: true, important };
        }
    }

    fn inherited(self, bit: u8) -> (u8, u8) {
        match self {
            Self { known: false, .. } => (0, 0),
            Self { value: true, .. } => (bit, 0),
            Self { value: false, .. } => (0, bit),
        }
    }
}

/// What each property says: whether it hides, or is what hides together with others.
#[derive(Debug, Default)]
struct Properties {
    display: Stated,
    content: Stated,
    opacity: Stated,
    visibility: Stated,
    size: Stated,
    colour: Stated,
    /// It has a place of its own; one out of the flow.
    placed: Stated,
    free: Stated,
    /// Its place is far outside: left, right, top, bottom.
    offsets: [Stated; 4],
    margin_left: Stated,
    margin_top: Stated,
    indent: Stated,
    transform: Stated,
    scale: Stated,
    translate: Stated,
    clip: Stated,
    path: Stated,
    /// It has no room, and what does not fit is not shown.
    width: Stated,
    height: Stated,
    overflow: Stated,
}

/// Reads the value of a `style` attribute, with its character references decoded.
pub(super) fn read(style: &str) -> InlineStyle {
    let mut properties = Properties::default();
    for Declaration { name, mut value, over } in Declarations::new(style) {
        if over {
            continue;
        }
        let important = match value.as_slice() {
            [.., CssToken::Delim('!'), CssToken::Ident(word)] => word == "important",
            _ => false,
        };
        if important {
            value.truncate(value.len() - 2);
        }
        properties.declare(&name, &value, important);
    }
    properties.style()
}

impl Properties {
    fn declare(&mut self, name: &str, value: &[CssToken], important: bool) {
        let ident = match value {
            [CssToken::Ident(word)] => Some(word.as_str()),
            _ => None,
        };
        let one_of = |hides: &[&str], shows: &[&str]| {
            let word = ident?;
            let other = shows.contains(&word) || GLOBAL.contains(&word);
            if hides.contains(&word) { Some(true) } else { other.then_some(false) }
        };
        match name {
            "display" => {
                let words = value.iter().all(|token| matches!(token, CssToken::Ident(_)));
                let shows = words && value.iter().any(is_display);
                let said = if ident == Some("none") { Some(true) } else { shows.then_some(false) };
                self.display.say(said, important);
            }
            "content-visibility" => {
                self.content.say(one_of(&["hidden"], &["visible", "auto"]), important);
            }
            "visibility" => {
                let said = one_of(&["hidden", "collapse"], &["visible"]);
                // What is inherited says nothing of its own.
                let said = said.filter(|_| !ident.is_some_and(|word| GLOBAL.contains(&word)));
                self.visibility.say(said, important);
            }
            "opacity" => {
                self.opacity.say(number(value).map(|(number, _)| number <= 0.0), important)
            }
            "font-size" => self.size.say(font_size(value), important),
            // The size is in the shorthand, before the family.
            "font" => {
                let size = value.iter().find_map(|token| match token {
                    CssToken::Number(number, unit) => Some((*number, unit.as_str())),
                    _ => None,
                });
                let sized = size.filter(|(number, unit)| *number == 0.0 || !unit.is_empty());
                self.size.say(sized.map(|(number, _)| number <= 0.0), important);
            }
            "color" | "-webkit-text-fill-color" => self.colour.say(colour(value), important),
            "position" => {
                let words = ["static", "relative", "absolute", "fixed", "sticky"];
                let at = words.iter().position(|word| ident == Some(*word));
                self.placed.say(at.map(|at| at > 0), important);
                self.free.say(at.map(|at| at == 2 || at == 3), important);
            }
            "left" | "right" | "top" | "bottom" => {
                let at = ["left", "right", "top", "bottom"].iter().position(|side| name == *side);
                if let Some(said) = at.and_then(|at| self.offsets.get_mut(at)) {
                    said.say(length(value).map(|pixels| pixels.abs() >= FAR), important);
                }
            }
            "inset" | "inset-inline-start" | "inset-block-start" => {
                let far = lengths(value).map(|mut all| all.any(|pixels| pixels.abs() >= FAR));
                self.offsets.iter_mut().for_each(|said| said.say(far, important));
            }
            "margin" | "margin-left" | "margin-top" => {
                let far = lengths(value).map(|mut all| all.any(|pixels| pixels <= -FAR));
                if name != "margin-top" {
                    self.margin_left.say(far, important);
                }
                if name != "margin-left" {
                    self.margin_top.say(far, important);
                }
            }
            "text-indent" => {
                let far = lengths(value).map(|mut all| all.any(|pixels| pixels.abs() >= FAR));
                self.indent.say(far, important);
            }
            "transform" => self.transform.say(transform(value), important),
            "scale" => {
                let zero = lengths(value).map(|mut all| all.any(|number| number == 0.0));
                self.scale.say(zero, important);
            }
            "translate" => {
                let far = lengths(value).map(|mut all| all.any(|pixels| pixels.abs() >= FAR));
                self.translate.say(far, important);
            }
            "clip" => self.clip.say(clip(value), important),
            "clip-path" | "-webkit-clip-path" => self.path.say(clip_path(value), important),
            "width" | "max-width" | "inline-size" => {
                self.width.say(length(value).map(|pixels| pixels.abs() <= 1.0), important);
            }
            "height" | "max-height" | "block-size" => {
                self.height.say(length(value).map(|pixels| pixels.abs() <= 1.0), important);
            }
            "overflow" | "overflow-x" | "overflow-y" => {
                let cut = value.iter().any(|token| {
                    matches!(token, CssToken::Ident(word) if word == "hidden" || word == "clip")
                });
                self.overflow.say(Some(cut), important);
            }
            _ => {}
        }
    }

    fn style(&self) -> InlineStyle {
        let far = |all: &[Stated]| all.iter().any(|said| said.value);
        let hides = self.display.value
            || self.content.value
            || self.opacity.value
            || self.indent.value
            || self.path.value
            || far(&[self.margin_left, self.margin_top])
            || far(&[self.transform, self.scale, self.translate])
            || (self.placed.value && far(&self.offsets))
            || (self.free.value && self.clip.value)
            || (self.overflow.value && (self.width.value || self.height.value));
        let inherited = [(self.visibility, VISIBILITY), (self.size, SIZE), (self.colour, COLOUR)];
        let mut style = InlineStyle { hides, unseen: 0, seen: 0 };
        for (said, bit) in inherited {
            let (unseen, seen) = said.inherited(bit);
            style.unseen |= unseen;
            style.seen |= seen;
        }
        style
    }
}

/// Values that every property has.
const GLOBAL: [&str; 5] = ["inherit", "initial", "unset", "revert", "revert-layer"];

fn is_display(token: &CssToken) -> bool {
    const VALUES: [&str; 15] = [
        "block",
        "inline",
        "flow",
        "flow-root",
        "flex",
        "grid",
        "ruby",
        "contents",
        "math",
        "table",
        "list-item",
        "inline-block",
        "inline-flex",
        "inline-grid",
        "inline-table",
    ];
    let CssToken::Ident(word) = token else { return false };
    VALUES.contains(&word.as_str()) || GLOBAL.contains(&word.as_str()) || word.starts_with("table-")
}

/// A number, and whether it is of a unit. Of a calculation all numbers count, for nobody calculates what is plain.
fn number(value: &[CssToken]) -> Option<(f64, &str)> {
    match value {
        [CssToken::Number(number, unit)] => Some((*number, unit)),
        [CssToken::Function(name), rest @ .., CssToken::Close] if is_calculation(name) => {
            let mut largest: Option<(f64, &str)> = None;
            for token in rest {
                match token {
                    CssToken::Number(number, unit)
                        if largest.is_none_or(|(known, _)| number.abs() > known.abs()) =>
                    {
                        largest = Some((*number, unit));
                    }
                    CssToken::Function(name) if !is_calculation(name) => return None,
                    _ => {}
                }
            }
            largest
        }
        _ => None,
    }
}

fn is_calculation(name: &str) -> bool {
    matches!(name, "calc" | "min" | "max" | "clamp" | "-webkit-calc")
}

/// A length in pixels, about: what is far away in one unit is so in any.
fn length(value: &[CssToken]) -> Option<f64> {
    let (number, unit) = number(value)?;
    Some(match unit {
        "em" | "rem" | "pc" | "ch" | "ex" | "lh" | "rlh" | "ic" | "cap" => number * 16.0,
        "cm" => number * 38.0,
        "mm" => number * 3.8,
        "q" => number,
        "in" => number * 96.0,
        "pt" => number * 4.0 / 3.0,
        // Of the window, or of the element around.
        "%" | "vw" | "vh" | "vmin" | "vmax" | "svh" | "lvh" | "dvh" | "svw" | "lvw" | "dvw"
        | "vi" | "vb" => number * 10.0,
        _ => number,
    })
}

/// Each of the lengths that a value is.
fn lengths(value: &[CssToken]) -> Option<impl Iterator<Item = f64>> {
    if value.iter().any(|token| matches!(token, CssToken::Delim(_))) && number(value).is_none() {
        return None;
    }
    let single = length(value);
    let each = value.iter().filter_map(|token| length(std::slice::from_ref(token)));
    let all: Vec<f64> = single.into_iter().chain(each).collect();
    (!all.is_empty()).then(|| all.into_iter())
}

fn font_size(value: &[CssToken]) -> Option<bool> {
    if let [CssToken::Ident(word)] = value {
        let sizes = [
            "xx-small",
            "x-small",
            "small",
            "medium",
            "large",
            "x-large",
            "xx-large",
            "xxx-large",
            "initial",
        ];
        return sizes.contains(&word.as_str()).then_some(false);
    }
    let (number, unit) = number(value)?;
    match unit {
        // A part of what is around: nothing of nothing.
        "em" | "%" | "ex" | "ch" | "lh" if number > 0.0 => None,
        _ if number < 0.0 => None,
        "" if number != 0.0 => None,
        _ => Some(number == 0.0),
    }
}

fn colour(value: &[CssToken]) -> Option<bool> {
    match value {
        [CssToken::Ident(word)] if word == "transparent" => Some(true),
        [CssToken::Ident(word)] if GLOBAL.contains(&word.as_str()) || word == "currentcolor" => {
            None
        }
        [CssToken::Ident(_)] => Some(false),
        [CssToken::Hash(digits)] => Some(match digits.len() {
            4 => digits.ends_with('0'),
            8 => digits.ends_with("00"),
            _ => false,
        }),
        [CssToken::Function(name), inside @ .., CssToken::Close] if name != "var" => {
            let numbers: Vec<f64> = inside
                .iter()
                .filter_map(|token| match token {
                    CssToken::Number(number, _) => Some(*number),
                    _ => None,
                })
                .collect();
            // What is behind the three of the colour is how much of it is seen.
            Some(numbers.get(3).is_some_and(|alpha| *alpha <= 0.0))
        }
        _ => None,
    }
}

/// A list of functions: none of them may make it nothing, or move it away.
fn transform(value: &[CssToken]) -> Option<bool> {
    if matches!(value, [CssToken::Ident(word)] if word == "none" || GLOBAL.contains(&word.as_str()))
    {
        return Some(false);
    }
    let mut name = "";
    let mut hides = false;
    let mut any = false;
    for token in value {
        match token {
            CssToken::Function(function) => {
                name = function;
                any = true;
            }
            CssToken::Number(number, _) if name.starts_with("scale") => hides |= *number == 0.0,
            CssToken::Number(..) if name.starts_with("translate") => {
                hides |= length(std::slice::from_ref(token)).is_some_and(|at| at.abs() >= FAR);
            }
            _ => {}
        }
    }
    any.then_some(hides)
}

/// `rect(…)`: nothing is in it, or next to nothing.
fn clip(value: &[CssToken]) -> Option<bool> {
    match value {
        [CssToken::Ident(_)] => Some(false),
        [CssToken::Function(name), inside @ .., CssToken::Close] if name == "rect" => {
            let numbers = inside.iter().filter(|token| matches!(token, CssToken::Number(..)));
            let all: Vec<f64> =
                numbers.filter_map(|token| length(std::slice::from_ref(token))).collect();
            Some(all.len() == 4 && all.iter().all(|pixels| pixels.abs() <= 1.0))
        }
        _ => None,
    }
}

fn clip_path(value: &[CssToken]) -> Option<bool> {
    let [CssToken::Function(name), inside @ ..] = value else {
        return matches!(value, [CssToken::Ident(_)]).then_some(false);
    };
    let mut numbers = inside.iter().filter_map(|token| match token {
        CssToken::Number(number, unit) => Some((*number, unit.as_str())),
        _ => None,
    });
    Some(match name.as_str() {
        "inset" => numbers.any(|(number, unit)| unit == "%" && number >= 50.0),
        "circle" | "ellipse" => numbers.next().is_some_and(|(number, _)| number == 0.0),
        "polygon" | "rect" | "xywh" => numbers.all(|(number, _)| number == 0.0),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{COLOUR, InlineStyle, SIZE, VISIBILITY, read};

    #[test]
    fn what_is_hidden_in_any_spelling() {
        for style in [
            "display:none",
            "DISPLAY : NONE ;",
            "display:/**/none",
            "dis/**/play:x; disp\\6cay:none",
            "d\\69 splay:no\\06e e",
            "\\64isplay:none!important",
            "display:none !/* */ImPortant; display:block",
            "display:none;display:nothing",
            "color:red;;;display:none",
            "background:url(\";\");display:none",
            "background:url(a;display:block);display:none",
            "content:'\\';display:block';display:none",
            "}; display:none",
            "content-visibility:hidden",
            "opacity:0",
            "opacity: .0e3",
            "opacity:0%",
            "opacity:-1",
            "opacity:calc(0 + 0)",
            "position:absolute;left:-9999px",
            "left:-100em;position:fixed",
            "position:relative;top:-5000pt",
            "position:absolute;inset:-200vw auto auto auto",
            "text-indent:-9999px",
            "text-indent:calc(-999px - 1px)",
            "margin-left:-10000px",
            "margin:0 0 0 -9999em",
            "transform:scale(0)",
            "transform:rotate(3deg) translateX(-200vw)",
            "scale:0",
            "translate:-9999px",
            "position:absolute;clip:rect(0 0 0 0)",
            "position:absolute;clip:rect(1px,1px,1px,1px)",
            "clip-path:inset(50%)",
            "clip-path:circle(0)",
            "width:1px;height:1px;overflow:hidden",
            "max-height:0;overflow:clip",
        ] {
            assert!(read(style).hides, "{style}");
        }
    }

    #[test]
    fn what_is_shown() {
        for style in [
            "",
            ":",
            "display",
            "display:",
            "none",
            "display:block",
            "display:none;display:block",
            "display:none;display:inline flex",
            "display:block!important;display:none",
            "display:none x",
            "display:'none'",
            "/*display:none*/",
            "/*display:none",
            "x:\"display:none\"",
            "x:(;display:none",
            "x display:none",
            "--display:none",
            "display-x:none",
            "d isplay:none",
            "disp/**/lay:none",
            "opacity:0.1",
            "opacity:zero",
            "opacity:0;opacity:1",
            "left:-9999px",
            "position:static;left:-9999px",
            "position:absolute;left:-90px",
            "text-indent:-90px",
            "margin-left:-90px",
            "margin:9999px",
            "transform:scale(0.5) translate(-50%,-50%)",
            "clip:rect(0 0 0 0)",
            "position:absolute;clip:auto",
            "clip-path:inset(10%)",
            "width:0",
            "width:1px;overflow:visible",
            "height:100px;overflow:hidden",
        ] {
            assert_eq!(read(style), InlineStyle::default(), "{style}");
        }
    }

    #[test]
    fn what_elements_inside_inherit() {
        for (style, unseen, seen) in [
            ("visibility:hidden", VISIBILITY, 0),
            ("visibility:collapse", VISIBILITY, 0),
            ("visibility:visible", 0, VISIBILITY),
            ("visibility:inherit", 0, 0),
            ("font-size:0", SIZE, 0),
            ("font-size:0.0rem", SIZE, 0),
            ("font-size:0Q", SIZE, 0),
            ("font-size:calc(0px + 0em)", SIZE, 0),
            ("font:0/0 a", SIZE, 0),
            ("font:italic 12px/1.5 serif", 0, SIZE),
            ("font-size:12px", 0, SIZE),
            ("font-size:medium", 0, SIZE),
            ("font-size:120%", 0, 0),
            ("font-size:5", 0, 0),
            ("color:transparent", COLOUR, 0),
            ("color:#fff0", COLOUR, 0),
            ("color:rgba(0,0,0,0)", COLOUR, 0),
            ("color:rgb(0 0 0 / 0%)", COLOUR, 0),
            ("color:#123456", 0, COLOUR),
            ("color:red;visibility:hidden", VISIBILITY, COLOUR),
        ] {
            assert_eq!(read(style), InlineStyle { hides: false, unseen, seen }, "{style}");
        }
    }

    #[test]
    fn styles_of_any_length_and_of_anything() {
        let long = format!("x:{};{}display:none", "a(".repeat(10), ")".repeat(10) + ";");
        assert!(read(&long).hides);
        for part in ["/*", "\\", "(", "a", "1", "'", "x:", ";", "é", "-", "!", "#", "1e", "}"] {
            let style = part.repeat(100_000);
            assert!(!read(&style).hides, "{part}");
        }
        assert!(read(&format!("{};display:none", "a:b;".repeat(100_000))).hides);
        assert!(read(&format!("{}display:none", "/* */".repeat(100_000))).hides);
    }
}
