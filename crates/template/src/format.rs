//! Prints values as Go's `fmt` does.

use super::buffer::TextBuffer;
use super::escape::{can_backquote, go_quoted, is_printable};
use super::float::{self, Digits};
use super::value::{Datum, GoValue};
use super::verb::{FormatReader, VerbFlags};

/// Prints values to a buffer.
pub(super) struct Printer<'p, 'o> {
    out: &'p mut TextBuffer<'o>,
    flags: VerbFlags,
}

impl<'p, 'o> Printer<'p, 'o> {
    pub(super) fn new(out: &'p mut TextBuffer<'o>) -> Self {
        Self { out, flags: VerbFlags::default() }
    }

    /// Prints the value of an action. Null and missing values are `<no value>`.
    pub(super) fn print_action(&mut self, value: &GoValue<'_>) {
        match value {
            GoValue::Missing | GoValue::Null => self.out.push_str("<no value>"),
            GoValue::Text(text) => self.out.push_str(text),
            GoValue::Made(text) => self.out.push_str(text),
            value => self.verb(value, 'v'),
        }
    }

    /// `fmt.Sprint`: a space separates two values unless one of them is a string.
    pub(super) fn print(&mut self, values: &[GoValue<'_>]) {
        let mut after_text = true;
        for value in values {
            let is_text = value.as_text().is_some();
            if !after_text && !is_text {
                self.out.push(' ');
            }
            self.verb(value, 'v');
            after_text = is_text;
        }
    }

    /// `fmt.Sprintln`.
    pub(super) fn print_line(&mut self, values: &[GoValue<'_>]) {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push(' ');
            }
            self.verb(value, 'v');
        }
        self.out.push('\n');
    }

    /// `fmt.Sprintf`. Mistakes in the format show in the text, as in Go.
    pub(super) fn print_format(&mut self, format: &str, values: &[GoValue<'_>]) {
        let mut reader = FormatReader::new(format, values.len());
        while let Some((text, verb)) = reader.rest.split_once('%') {
            self.out.push_str(text);
            reader.rest = verb;
            self.flags = VerbFlags::default();
            reader.is_good = true;
            self.one_verb(&mut reader, values);
            if self.out.is_full() {
                return;
            }
        }
        self.out.push_str(reader.rest);
        let extra = values.get(reader.next..).unwrap_or_default();
        if !reader.is_ordered || extra.is_empty() {
            return;
        }
        self.flags = VerbFlags::default();
        self.out.push_str("%!(EXTRA ");
        for (index, value) in extra.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.typed(value);
        }
        self.out.push(')');
    }

    /// Reads what follows a `%` and prints it.
    fn one_verb(&mut self, reader: &mut FormatReader<'_>, values: &[GoValue<'_>]) {
        reader.flags(&mut self.flags);
        let mut has_index = reader.index();
        if reader.take('*') {
            match reader.star(values) {
                Some(width) => {
                    self.flags.minus |= width < 0;
                    self.flags.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => self.out.push_str("%!(BADWIDTH)"),
            }
            has_index = false;
        } else {
            self.flags.width = reader.number();
            reader.is_good &= !(has_index && self.flags.width.is_some());
        }
        if reader.take('.') {
            reader.is_good &= !has_index;
            has_index = reader.index();
            if reader.take('*') {
                match reader.star(values) {
                    Some(precision) => self.flags.precision = usize::try_from(precision).ok(),
                    None => self.out.push_str("%!(BADPREC)"),
                }
                has_index = false;
            } else {
                self.flags.precision = Some(reader.number().unwrap_or(0));
            }
        }
        if !has_index {
            reader.index();
        }
        let Some(verb) = reader.rest.chars().next() else {
            self.out.push_str("%!(NOVERB)");
            return;
        };
        reader.rest = reader.rest.get(verb.len_utf8()..).unwrap_or_default();
        if verb == '%' {
            self.out.push('%');
            return;
        }
        let Some(value) = values.get(reader.next).filter(|_| reader.is_good) else {
            let message = if reader.is_good { "(MISSING)" } else { "(BADINDEX)" };
            self.out.push_str("%!");
            self.out.push(verb);
            self.out.push_str(message);
            return;
        };
        reader.next += 1;
        // `%w` is only for errors, but Go treats its flags as those of `%v`.
        if matches!(verb, 'v' | 'w') {
            self.flags.source = std::mem::take(&mut self.flags.sharp);
            self.flags.plus = false;
        }
        self.verb(value, verb);
    }

    /// Prints a value that is an argument.
    fn verb(&mut self, value: &GoValue<'_>, verb: char) {
        match (value, verb) {
            (GoValue::Missing | GoValue::Null, 'v' | 'T') => self.pad("<nil>"),
            (_, 'T') => self.text(value.go_type()),
            (_, 'w') => self.bad_verb(value, verb),
            (GoValue::Missing | GoValue::Null, _) => self.bad_verb(value, verb),
            _ => self.value(value, verb),
        }
    }

    /// Prints a value that is an argument or inside one. Values are at most as deep as an item may be.
    fn value(&mut self, value: &GoValue<'_>, verb: char) {
        if self.out.is_full() {
            return;
        }
        match value {
            GoValue::Missing | GoValue::Null if self.flags.source => {
                self.out.push_str("interface {}(nil)");
            }
            GoValue::Missing | GoValue::Null => self.out.push_str("<nil>"),
            GoValue::Bool(truth) if matches!(verb, 't' | 'v') => {
                self.pad(if *truth { "true" } else { "false" });
            }
            GoValue::Bool(_) => self.bad_verb(value, verb),
            GoValue::Int(integer) => {
                self.integer(value, *integer < 0, integer.unsigned_abs(), verb);
            }
            GoValue::Uint(integer) => self.integer(value, false, *integer, verb),
            GoValue::Float(float) => match verb {
                'v' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'b' | 'x' | 'X' => {
                    self.float(*float, verb);
                }
                _ => self.bad_verb(value, verb),
            },
            GoValue::Text(text) => self.string(value, text, verb),
            GoValue::Made(text) => self.string(value, text, verb),
            GoValue::List(elements) => self.list(elements, verb),
            GoValue::Map(members) => {
                self.out.push_str(if self.flags.source {
                    "map[string]interface {}{"
                } else {
                    "map["
                });
                for (index, (name, member)) in members.iter().enumerate() {
                    self.separate(index);
                    self.value(&GoValue::Text(name), verb);
                    self.out.push(':');
                    self.value(&member.into(), verb);
                }
                self.out.push(if self.flags.source { '}' } else { ']' });
            }
        }
    }

    fn list(&mut self, elements: &[Datum], verb: char) {
        self.out.push_str(if self.flags.source { "[]interface {}{" } else { "[" });
        for (index, element) in elements.iter().enumerate() {
            self.separate(index);
            self.value(&element.into(), verb);
            if self.out.is_full() {
                return;
            }
        }
        self.out.push(if self.flags.source { '}' } else { ']' });
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(if self.flags.source { ", " } else { " " });
        }
    }

    /// Prints a value with its type, for a mistake in a format.
    fn typed(&mut self, value: &GoValue<'_>) {
        self.out.push_str(value.go_type());
        if !value.is_nil() {
            self.out.push('=');
            self.value(value, 'v');
        }
    }

    fn bad_verb(&mut self, value: &GoValue<'_>, verb: char) {
        self.out.push_str("%!");
        self.out.push(verb);
        self.out.push('(');
        self.typed(value);
        self.out.push(')');
    }

    /// Writes text at the width of the verb.
    fn pad(&mut self, text: &str) {
        let Some(width) = self.flags.width.filter(|width| *width > 0) else {
            return self.out.push_str(text);
        };
        let missing = width.saturating_sub(text.chars().count());
        if self.flags.minus {
            self.out.push_str(text);
            self.out.fill(b' ', missing);
        } else {
            self.out.fill(if self.flags.zero { b'0' } else { b' ' }, missing);
            self.out.push_str(text);
        }
    }

    /// Collects text in a buffer first, then writes it at the width of the verb.
    fn pad_made(&mut self, make: impl FnOnce(&mut TextBuffer<'_>)) {
        let mut bytes = Vec::new();
        let mut made = TextBuffer::new(&mut bytes, self.out.left());
        make(&mut made);
        if made.is_full() {
            return self.out.fill(b' ', usize::MAX);
        }
        self.pad(&String::from_utf8_lossy(&bytes));
    }

    /// Cuts text to the characters of the precision.
    fn cut<'t>(&self, text: &'t str) -> &'t str {
        let end = self.flags.precision.and_then(|most| text.char_indices().nth(most));
        end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
    }

    fn text(&mut self, text: &str) {
        self.pad(self.cut(text));
    }

    fn string(&mut self, value: &GoValue<'_>, text: &str, verb: char) {
        match verb {
            'v' if self.flags.source => self.quoted(text),
            'v' | 's' => self.text(text),
            'q' => self.quoted(text),
            'x' | 'X' => self.hex_text(text, verb == 'X'),
            _ => self.bad_verb(value, verb),
        }
    }

    fn quoted(&mut self, text: &str) {
        let text = self.cut(text);
        let VerbFlags { sharp, plus, .. } = self.flags;
        self.pad_made(|out| {
            if sharp && can_backquote(text) {
                out.push('`');
                out.push_str(text);
                out.push('`');
            } else {
                go_quoted(text, '"', plus, out);
            }
        });
    }

    /// Prints the bytes of text in hexadecimal, of which the precision limits the number.
    fn hex_text(&mut self, text: &str, is_upper: bool) {
        let bytes = text.as_bytes();
        let bytes = self.flags.precision.and_then(|most| bytes.get(..most)).unwrap_or(bytes);
        let VerbFlags { space, sharp, .. } = self.flags;
        self.pad_made(|out| {
            for (index, byte) in bytes.iter().enumerate() {
                if space && index > 0 {
                    out.push(' ');
                }
                if sharp && (space || index == 0) {
                    out.push_str(if is_upper { "0X" } else { "0x" });
                }
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(u32::from(digit), 16).unwrap_or_default();
                    out.push(if is_upper { digit.to_ascii_uppercase() } else { digit });
                }
            }
        });
    }

    fn integer(&mut self, value: &GoValue<'_>, is_negative: bool, magnitude: u64, verb: char) {
        let code = || u32::try_from(magnitude).ok().filter(|_| !is_negative);
        let char = || code().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        match verb {
            'v' if self.flags.source && matches!(value, GoValue::Uint(_)) => {
                self.flags.sharp = true;
                self.digits(is_negative, &format!("{magnitude:x}"), "0x", false);
                self.flags.sharp = false;
            }
            'v' | 'd' => self.decimal(is_negative, magnitude),
            'b' => self.digits(is_negative, &format!("{magnitude:b}"), "0b", false),
            'o' => self.digits(is_negative, &format!("{magnitude:o}"), "0", false),
            'O' => self.digits(is_negative, &format!("{magnitude:o}"), "0", true),
            'x' => self.digits(is_negative, &format!("{magnitude:x}"), "0x", false),
            'X' => self.digits(is_negative, &format!("{magnitude:X}"), "0X", false),
            'c' => self.pad(char().encode_utf8(&mut [0; 4])),
            'q' => {
                let (char, plus) = (char(), self.flags.plus);
                self.pad_made(|out| go_quoted(char.encode_utf8(&mut [0; 4]), '\'', plus, out));
            }
            'U' => self.unicode(is_negative, magnitude),
            #[allow(clippy::cast_precision_loss, reason = "a float verb prints the nearest float")]
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                let float = magnitude as f64;
                self.float(if is_negative { -float } else { float }, verb);
            }
            _ => self.bad_verb(value, verb),
        }
    }

    fn decimal(&mut self, is_negative: bool, magnitude: u64) {
        let VerbFlags { plus, space, width, precision, .. } = self.flags;
        if plus || space || width.is_some() || precision.is_some() {
            return self.digits(is_negative, &magnitude.to_string(), "", false);
        }
        let sign = if is_negative { "-" } else { "" };
        self.out.push_args(format_args!("{sign}{magnitude}"));
    }

    /// Prints the digits of an integer, with its sign and, under `#`, its prefix. `is_octal` writes `0o` in any case.
    fn digits(&mut self, is_negative: bool, digits: &str, prefix: &str, is_octal: bool) {
        let VerbFlags { plus, space, zero, minus, sharp, width, precision, .. } = self.flags;
        let sign = match (is_negative, plus, space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        let least = match (precision, width) {
            (Some(0), _) if digits == "0" => {
                return self.out.fill(b' ', width.unwrap_or(0));
            }
            (Some(precision), _) => precision,
            (None, Some(width)) if zero && !minus => width.saturating_sub(sign.len()),
            _ => 0,
        };
        let zeros = least.saturating_sub(digits.len());
        // An octal number that begins with a zero needs no other.
        let needs_prefix = sharp && !(prefix == "0" && (zeros > 0 || digits.starts_with('0')));
        let prefix = if needs_prefix { prefix } else { "" };
        let octal = if is_octal { "0o" } else { "" };
        let length = sign.len() + octal.len() + prefix.len() + zeros + digits.len();
        let padding = width.unwrap_or(0).saturating_sub(length);
        if !minus {
            self.out.fill(b' ', padding);
        }
        for part in [sign, octal, prefix] {
            self.out.push_str(part);
        }
        self.out.fill(b'0', zeros);
        self.out.push_str(digits);
        if minus {
            self.out.fill(b' ', padding);
        }
    }

    /// `U+0061`, and under `#` the character.
    fn unicode(&mut self, is_negative: bool, magnitude: u64) {
        // Go prints the two's complement of a negative number.
        let code = if is_negative { magnitude.wrapping_neg() } else { magnitude };
        let least = self.flags.precision.unwrap_or(4).max(4);
        let digits = format!("{code:X}");
        let char = u32::try_from(code).ok().and_then(char::from_u32);
        let char = char.filter(|char| self.flags.sharp && is_printable(*char));
        let zero = std::mem::replace(&mut self.flags.zero, false);
        self.pad_made(|out| {
            out.push_str("U+");
            out.fill(b'0', least.saturating_sub(digits.len()));
            out.push_str(&digits);
            if let Some(char) = char {
                out.push_args(format_args!(" '{char}'"));
            }
        });
        self.flags.zero = zero;
    }

    fn float(&mut self, float: f64, verb: char) {
        let precision = self.flags.precision;
        // A precision that cannot be written needs no digits.
        if precision.is_some_and(|precision| precision > self.out.left()) {
            return self.out.fill(b' ', usize::MAX);
        }
        let digits = match verb {
            'e' | 'E' => Digits::Exponent(precision.unwrap_or(6)),
            'f' | 'F' => Digits::Fixed(precision.unwrap_or(6)),
            'b' => Digits::Binary,
            'x' | 'X' => Digits::Hexadecimal(precision),
            _ => Digits::General(precision),
        };
        let mut text = float::digits(float.abs(), digits);
        if self.flags.sharp && verb != 'b' {
            let least = match verb {
                // Go adds zeros to `%x`, but not to `%X`.
                'e' | 'E' | 'f' | 'F' | 'X' => 0,
                _ => precision.unwrap_or(6),
            };
            text = float::with_point(&text, least, matches!(verb, 'x' | 'X'));
        }
        if matches!(verb, 'E' | 'G' | 'X') {
            text.make_ascii_uppercase();
        }
        let sign = match (float.is_sign_negative(), self.flags.plus, self.flags.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        if sign.is_empty() {
            return self.pad(&text);
        }
        let VerbFlags { zero, minus, width, .. } = self.flags;
        match width {
            Some(width) if zero && !minus && width > text.len() + 1 => {
                self.out.push_str(sign);
                self.out.fill(b'0', width - text.len() - 1);
                self.out.push_str(&text);
            }
            _ => self.pad(&format!("{sign}{text}")),
        }
    }
}
