//! Decides whether the `style` attribute of an element hides its text.
//!
//! The properties hide text in these cases: it is not displayed, has no size or colour, is off the page on any side,
//! or is clipped. A place that is far to the right or below, as most of a long page is, is not off the page: only a negative
//! distance from its right or lower edge is, and a distance from its left edge that no page has. If a property occurs
//! twice, the last valid value counts, unless another one is `!important`. The syntax is in [`css`](super::css), the
//! values are in [`values`](super::values). Style sheets are not read.

use super::css::{CssToken, Declaration, Declarations};
use super::values::{
    GLOBAL, SIDES, clip, clip_path, colour, font_size, is_display, is_far, is_far_across, lengths,
    names, no_room, number, parts, room, sides, transform,
};

/// Whether a style makes the text of an element visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InlineStyle {
    /// Nothing in the element is displayed.
    pub(super) hides: bool,
    /// The properties that elements inside inherit: those that hide text here, and those that show it again.
    pub(super) unseen: u8,
    pub(super) seen: u8,
}

/// A set of inherited properties, as bits.
const VISIBILITY: u8 = 1;
const SIZE: u8 = 2;
const COLOUR: u8 = 4;

/// A property's value: whether it hides text, and whether it is `!important`.
#[derive(Clone, Copy, Debug, Default)]
struct Stated {
    value: bool,
    known: bool,
    important: bool,
}

impl Stated {
    fn say(&mut self, value: Option<bool>, important: bool) {
        // Invalid values are ignored. An important value is only replaced by another important one.
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

/// The properties that hide text, alone or together with others.
#[derive(Debug, Default)]
struct Properties {
    display: Stated,
    content: Stated,
    opacity: Stated,
    visibility: Stated,
    size: Stated,
    colour: Stated,
    /// A background or a shadow makes transparent letters visible.
    text_background: Stated,
    shadow: Stated,
    /// The element is positioned; it is out of the flow.
    placed: Stated,
    free: Stated,
    /// The position is far outside of the page.
    left: Stated,
    right: Stated,
    top: Stated,
    bottom: Stated,
    margin_left: Stated,
    margin_top: Stated,
    indent: Stated,
    transform: Stated,
    scale: Stated,
    translate: Stated,
    clip: Stated,
    path: Stated,
    across: Extent,
    down: Extent,
    /// Overflowing text is not displayed.
    overflow: Stated,
}

/// The size of an element in one direction.
#[derive(Debug, Default)]
struct Extent {
    /// It is zero, or may be zero.
    size: Stated,
    most: Stated,
    /// It has a minimum that is not zero.
    least: Stated,
    padding: Stated,
}

impl Extent {
    fn is_nothing(&self) -> bool {
        (self.size.value || self.most.value) && !self.least.value && !self.padding.value
    }
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
                // The value `inherit` takes the surrounding element's value.
                let said = said.filter(|_| !ident.is_some_and(|word| GLOBAL.contains(&word)));
                self.visibility.say(said, important);
            }
            "opacity" => {
                self.opacity.say(number(value).map(|(number, _)| number <= 0.0), important)
            }
            "font-size" => self.size.say(font_size(value), important),
            // In the shorthand, the size comes before the family.
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
                // Sticky text only moves within its container.
                self.placed.say(at.map(|at| (1..=3).contains(&at)), important);
                self.free.say(at.map(|at| at == 2 || at == 3), important);
            }
            "left" | "right" | "top" | "bottom" => {
                self.offset(name, value, important);
            }
            "inset-inline-start" => self.offset("left", value, important),
            "inset-block-start" => self.offset("top", value, important),
            "inset-inline-end" => self.offset("right", value, important),
            "inset-block-end" => self.offset("bottom", value, important),
            "inset" => {
                if let Some(sides) = sides(value) {
                    for (side, value) in SIDES.iter().zip(sides) {
                        self.offset(side, value, important);
                    }
                }
            }
            "margin-left" => self.margin_left.say(is_far(value), important),
            "margin-top" => self.margin_top.say(is_far(value), important),
            "margin" => {
                if let Some([top, _, _, left]) = sides(value) {
                    self.margin_top.say(is_far(top), important);
                    self.margin_left.say(is_far(left), important);
                }
            }
            "text-indent" => {
                let far: Option<Vec<bool>> = parts(value).map(is_far).collect();
                let far = far.filter(|all| !all.is_empty());
                self.indent.say(far.map(|all| all.contains(&true)), important);
            }
            "transform" => self.transform.say(transform(value), important),
            "scale" => {
                let zero = lengths(value).map(|mut all| all.any(|number| number == 0.0));
                self.scale.say(zero, important);
            }
            // Movement to the left and up hides; along the z axis it does not.
            "translate" => {
                let far: Option<Vec<bool>> = parts(value).take(2).map(is_far).collect();
                let far = far.filter(|all| !all.is_empty());
                self.translate.say(far.map(|all| all.contains(&true)), important);
            }
            "background-clip" | "-webkit-background-clip" => {
                self.text_background.say(Some(names(value, "text")), important);
            }
            // The shorthand sets all properties of a background.
            "background" => self.text_background.say(Some(names(value, "text")), important),
            "text-shadow" => {
                let shows = !value.is_empty()
                    && !["none", "transparent", "initial"].iter().any(|word| names(value, word));
                self.shadow.say(Some(shows), important);
            }
            "clip" => self.clip.say(clip(value), important),
            "clip-path" | "-webkit-clip-path" => self.path.say(clip_path(value), important),
            "width" | "inline-size" => self.across.size.say(no_room(value), important),
            "max-width" | "max-inline-size" => self.across.most.say(no_room(value), important),
            "min-width" | "min-inline-size" => self.across.least.say(room(value), important),
            "height" | "block-size" => self.down.size.say(no_room(value), important),
            "max-height" | "max-block-size" => self.down.most.say(no_room(value), important),
            "min-height" | "min-block-size" => self.down.least.say(room(value), important),
            // Overflowing text is still visible in the padding.
            "padding-right" => self.across.padding.say(room(value), important),
            "padding-bottom" => self.down.padding.say(room(value), important),
            "padding" => {
                if let Some([_, right, bottom, _]) = sides(value) {
                    self.across.padding.say(room(right), important);
                    self.down.padding.say(room(bottom), important);
                }
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

    fn offset(&mut self, side: &str, value: &[CssToken], important: bool) {
        let said = match side {
            "left" => return self.left.say(is_far_across(value), important),
            "right" => &mut self.right,
            "top" => &mut self.top,
            _ => &mut self.bottom,
        };
        said.say(is_far(value), important);
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
            || (self.placed.value && far(&[self.left, self.top, self.right, self.bottom]))
            || (self.free.value && self.clip.value)
            || (self.overflow.value && (self.across.is_nothing() || self.down.is_nothing()));
        let inherited = [(self.visibility, VISIBILITY), (self.size, SIZE), (self.colour, COLOUR)];
        let mut style = InlineStyle { hides, unseen: 0, seen: 0 };
        for (said, bit) in inherited {
            let (unseen, seen) = said.inherited(bit);
            style.unseen |= unseen;
            style.seen |= seen;
        }
        if self.text_background.value || self.shadow.value {
            style.unseen &= !COLOUR;
            style.seen |= COLOUR;
        }
        style
    }
}

#[cfg(test)]
mod tests {
    use super::{COLOUR, InlineStyle, SIZE, VISIBILITY, read};

    #[test]
    fn hidden_in_any_spelling() {
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
            "max-height:0;height:9em;overflow:hidden",
            "height:0;max-height:9em;overflow:hidden",
            "height:auto;height:0;overflow:hidden",
            "background:url(//x/*y);display:none",
            "background:url(a');display:none",
            "background:url(a(b;);display:none",
            "background:u\\72l( a\\);display:block);display:none",
            "position:fixed;right:-9999px",
            "position:absolute;right:-9999px",
            "position:relative;bottom:-5000pt",
            "position:absolute;inset-inline-end:-9999px",
            "position:absolute;inset-block-end:-9999px",
            "position:absolute;inset:auto -9999px auto auto",
            "position:absolute;left:9999px",
            "left:calc(0px + 99999px);position:absolute",
            "position:fixed;inset:9999px",
            "left:calc(0px - 9999px);position:absolute",
            "left:calc(9999px * -1);position:absolute",
            "transform:translate(calc(-1 * 9999px),0)",
            "position:absolute;left:-1000%",
            "inset:0 0 0 -9999px;position:absolute",
            "background-clip:text;background:red;display:none",
        ] {
            assert!(read(style).hides, "{style}");
        }
    }

    #[test]
    fn shown() {
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
            "position:absolute;top:1108px;left:81px",
            "transform:translateY(2400px)",
            "position:sticky;top:-1000px",
            "position:relative;top:1200px",
            "position:absolute;top:100%",
            "position:absolute;left:100%",
            "position:absolute;bottom:100%",
            "position:absolute;left:-100%",
            "position:absolute;inset:100% auto auto 0",
            "position:absolute;right:-90px",
            "position:static;right:-9999px",
            "position:absolute;bottom:-100%",
            "position:absolute;top:9999px",
            "position:absolute;left:4000px",
            "margin-left:-100%",
            "margin:0 -9999px -9999px 0",
            "text-indent:2000px",
            "translate:0 2000px",
            "transform:translate3d(0,0,-9999px)",
            "transform:translateX(-100%)",
            "left:calc(100% + 2000px);position:absolute",
            "height:0;height:auto;overflow:hidden",
            "max-height:0;max-height:none;overflow:hidden",
            "width:0;width:fit-content;overflow:hidden",
            "display:none;display:-webkit-box",
            "display:none;display:-webkit-flex",
            "display:none;display:-ms-flexbox",
            "padding-bottom:56.25%;height:0;overflow:hidden",
            "height:0;padding:0 0 50% 0;overflow:hidden",
            "min-width:100%;width:1px;overflow:hidden",
            "background:url(a;display:none)",
        ] {
            assert_eq!(read(style), InlineStyle::default(), "{style}");
        }
    }

    #[test]
    fn elements_inside_inherit() {
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
            ("background-clip:text;color:transparent", 0, COLOUR),
            ("-webkit-background-clip:text;-webkit-text-fill-color:transparent", 0, COLOUR),
            ("background:linear-gradient(red,blue) text;color:transparent", 0, COLOUR),
            ("color:transparent;text-shadow:0 0 5px #000", 0, COLOUR),
            ("color:transparent;text-shadow:none", COLOUR, 0),
            ("background-clip:text;background:red;color:transparent", COLOUR, 0),
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
