//! Values of CSS properties: whether a length, a colour, a transformation or a shape hides text.
//!
//! The values do not depend on properties or elements.

use super::css::CssToken;

/// By how many pixels text must be moved to the left or up to be outside of the page.
const FAR: f64 = 999.0;
/// The same limit in percent of the element or its container. Menus and slides wait at smaller values.
const FAR_PERCENT: f64 = 1000.0;

/// The pixels that no page is wide. Text that is hidden to the right is at 9999 pixels and more.
const WIDEST: f64 = 9000.0;

/// The order of the values of `inset` and `margin`.
pub(super) const SIDES: [&str; 4] = ["top", "right", "bottom", "left"];

/// Values that every property has.
pub(super) const GLOBAL: [&str; 5] = ["inherit", "initial", "unset", "revert", "revert-layer"];

pub(super) fn is_display(token: &CssToken) -> bool {
    const VALUES: [&str; 24] = [
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
        "-webkit-box",
        "-webkit-inline-box",
        "-webkit-flex",
        "-webkit-inline-flex",
        "-moz-box",
        "-moz-inline-box",
        "-ms-flexbox",
        "-ms-inline-flexbox",
        "-ms-grid",
    ];
    let CssToken::Ident(word) = token else { return false };
    VALUES.contains(&word.as_str()) || GLOBAL.contains(&word.as_str()) || word.starts_with("table-")
}

/// A number and its unit. The value of a calculation is its largest number, with the sign of its term.
pub(super) fn number(value: &[CssToken]) -> Option<(f64, &str)> {
    match value {
        [CssToken::Number(number, unit)] => Some((*number, unit)),
        [CssToken::Function(name), rest @ .., CssToken::Close] if is_calculation(name) => {
            let mut largest: Option<(f64, &str)> = None;
            let mut sign = 1.0;
            // Multiplication with a negative number inverts the sign.
            let has_unit =
                |token: &CssToken| matches!(token, CssToken::Number(_, unit) if !unit.is_empty());
            let is_product = rest.contains(&CssToken::Delim('*')) && rest.iter().any(has_unit);
            let mut turned = 1.0;
            for token in rest {
                let before = std::mem::replace(&mut sign, 1.0);
                match token {
                    CssToken::Ident(word) if word == "-" => sign = -1.0,
                    CssToken::Delim('-') => sign = -1.0,
                    CssToken::Open => sign = before,
                    CssToken::Number(number, unit) if is_product && unit.is_empty() => {
                        turned *= number.signum();
                    }
                    CssToken::Number(number, unit)
                        if largest.is_none_or(|(known, _)| number.abs() > known.abs()) =>
                    {
                        largest = Some((before * number, unit));
                    }
                    CssToken::Function(name) if !is_calculation(name) => return None,
                    _ => {}
                }
            }
            largest.map(|(number, unit)| (number * turned, unit))
        }
        _ => None,
    }
}

pub(super) fn is_calculation(name: &str) -> bool {
    matches!(name, "calc" | "min" | "max" | "clamp" | "-webkit-calc")
}

/// Converts a length to pixels, approximately.
pub(super) fn length(value: &[CssToken]) -> Option<f64> {
    let (number, unit) = number(value)?;
    Some(match unit {
        "em" | "rem" | "pc" | "ch" | "ex" | "lh" | "rlh" | "ic" | "cap" => number * 16.0,
        "cm" => number * 38.0,
        "mm" => number * 3.8,
        "q" => number,
        "in" => number * 96.0,
        "pt" => number * 4.0 / 3.0,
        // Relative to the window or the container.
        "%" | "vw" | "vh" | "vmin" | "vmax" | "svh" | "lvh" | "dvh" | "svw" | "lvw" | "dvw"
        | "vi" | "vb" => number * 10.0,
        _ => number,
    })
}

/// Splits a value into its components, each a token or a function with its arguments.
pub(super) fn parts(mut value: &[CssToken]) -> impl Iterator<Item = &[CssToken]> {
    std::iter::from_fn(move || {
        while let [CssToken::Delim(','), rest @ ..] = value {
            value = rest;
        }
        let mut depth = 0_usize;
        let end = value.iter().position(|token| {
            match token {
                CssToken::Function(_) | CssToken::Open => depth += 1,
                CssToken::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        });
        let end = end.map_or(value.len(), |last| last + 1);
        let (part, rest) = value.split_at(end);
        value = rest;
        (!part.is_empty()).then_some(part)
    })
}

/// Expands one to four components to a value for each of the [`SIDES`].
pub(super) fn sides(value: &[CssToken]) -> Option<[&[CssToken]; 4]> {
    let all: Vec<&[CssToken]> = parts(value).collect();
    if !all.iter().all(|part| is_far(part).is_some()) {
        return None;
    }
    Some(match *all.as_slice() {
        [all] => [all; 4],
        [down, across] => [down, across, down, across],
        [top, across, bottom] => [top, across, bottom, across],
        [top, right, bottom, left] => [top, right, bottom, left],
        _ => return None,
    })
}

/// Whether a length moves text far to the left or up. A keyword does not.
pub(super) fn is_far(value: &[CssToken]) -> Option<bool> {
    if let [CssToken::Ident(_)] = value {
        return Some(false);
    }
    match number(value)? {
        (number, "%") => Some(number <= -FAR_PERCENT),
        _ => Some(length(value)? <= -FAR),
    }
}

/// Whether a distance from the left edge is far to the left, or further to the right than any page is wide.
pub(super) fn is_far_across(value: &[CssToken]) -> Option<bool> {
    let far = is_far(value)?;
    let is_wide = match number(value) {
        None | Some((_, "%")) => false,
        Some(_) => length(value)? >= WIDEST,
    };
    Some(far || is_wide)
}

/// Whether a size leaves no room for text.
pub(super) fn no_room(value: &[CssToken]) -> Option<bool> {
    const WORDS: [&str; 8] = [
        "auto",
        "none",
        "fit-content",
        "min-content",
        "max-content",
        "stretch",
        "-webkit-fill-available",
        "-moz-available",
    ];
    match value {
        [CssToken::Ident(word)] => {
            let known = WORDS.contains(&word.as_str()) || GLOBAL.contains(&word.as_str());
            known.then_some(false)
        }
        _ => length(value).map(|pixels| pixels.abs() <= 1.0),
    }
}

/// Whether a size leaves text visible.
pub(super) fn room(value: &[CssToken]) -> Option<bool> {
    match value {
        [CssToken::Ident(_)] => Some(false),
        _ => length(value).map(|pixels| pixels > 1.0),
    }
}

/// Whether a value contains a word.
pub(super) fn names(value: &[CssToken], name: &str) -> bool {
    value.iter().any(|token| matches!(token, CssToken::Ident(word) if word == name))
}

/// Iterates over the lengths in a value.
pub(super) fn lengths(value: &[CssToken]) -> Option<impl Iterator<Item = f64>> {
    if value.iter().any(|token| matches!(token, CssToken::Delim(_))) && number(value).is_none() {
        return None;
    }
    let single = length(value);
    let each = value.iter().filter_map(|token| length(std::slice::from_ref(token)));
    let all: Vec<f64> = single.into_iter().chain(each).collect();
    (!all.is_empty()).then(|| all.into_iter())
}

pub(super) fn font_size(value: &[CssToken]) -> Option<bool> {
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
        // A percentage of a container that may be empty.
        "em" | "%" | "ex" | "ch" | "lh" if number > 0.0 => None,
        _ if number < 0.0 => None,
        "" if number != 0.0 => None,
        _ => Some(number == 0.0),
    }
}

pub(super) fn colour(value: &[CssToken]) -> Option<bool> {
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
            // The fourth number is the opacity.
            Some(numbers.get(3).is_some_and(|alpha| *alpha <= 0.0))
        }
        _ => None,
    }
}

/// Whether one of a list of transformations shrinks the element to nothing or moves it away.
pub(super) fn transform(value: &[CssToken]) -> Option<bool> {
    if matches!(value, [CssToken::Ident(word)] if word == "none" || GLOBAL.contains(&word.as_str()))
    {
        return Some(false);
    }
    let mut hides = false;
    let mut any = false;
    for part in parts(value) {
        let [CssToken::Function(name), inside @ ..] = part else { return None };
        any = true;
        let inside = inside.strip_suffix(&[CssToken::Close]).unwrap_or(inside);
        let zero = |part| number(part).is_some_and(|(number, _)| number == 0.0);
        hides |= match name.as_str() {
            name if name.starts_with("scale") => parts(inside).any(zero),
            // Movement along the z axis leaves text visible.
            "translate" | "translatex" | "translatey" | "translate3d" => {
                parts(inside).take(2).any(|part| is_far(part) == Some(true))
            }
            _ => false,
        };
    }
    any.then_some(hides)
}

/// Whether `rect(…)` is empty, or almost empty.
pub(super) fn clip(value: &[CssToken]) -> Option<bool> {
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

pub(super) fn clip_path(value: &[CssToken]) -> Option<bool> {
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
