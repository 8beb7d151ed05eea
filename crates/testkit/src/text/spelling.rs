//! Texts as the insides of JSON strings, in every spelling.

use crate::prng::Prng;

/// The characters of a string, lone surrogates as their numbers.
pub type Units = Vec<u32>;

/// The code points of a UTF-8 text.
pub fn units(text: &str) -> Units {
    text.chars().map(u32::from).collect()
}

/// The inside of a JSON string for these code points. The spelling of each is chosen at random.
pub fn spell(units: &[u32], prng: &mut Prng) -> Vec<u8> {
    let mut out = String::new();
    for unit in units {
        let char = char::from_u32(*unit);
        let short = match char {
            Some('\u{8}') => Some('b'),
            Some('\u{c}') => Some('f'),
            Some('\n') => Some('n'),
            Some('\r') => Some('r'),
            Some('\t') => Some('t'),
            Some(char @ ('"' | '\\' | '/')) => Some(char),
            _ => None,
        };
        let bare = char.filter(|char| *char >= ' ' && !matches!(char, '"' | '\\'));
        match (bare, short) {
            (Some(char), _) if !prng.one_in(4) => out.push(char),
            (_, Some(letter)) if prng.one_in(2) => out.extend(['\\', letter]),
            _ => {
                let mut pair = [0; 2];
                let alone = [*unit as u16];
                let code = match char {
                    Some(char) => &*char.encode_utf16(&mut pair),
                    None => &alone[..],
                };
                for code in code {
                    out.push_str("\\u");
                    for digit in format!("{code:04x}").chars() {
                        out.push(if prng.one_in(2) { digit.to_ascii_uppercase() } else { digit });
                    }
                }
            }
        }
    }
    out.into_bytes()
}

/// The code points that the inside of a JSON string represents (RFC 8259, section 7). `None` if the text is not valid inside a string.
pub fn read(spelled: &[u8]) -> Option<Units> {
    let text = std::str::from_utf8(spelled).ok()?;
    let mut codes: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\0'..' ' | '"' => return None,
            '\\' => codes.push(match chars.next()? {
                'b' => 8,
                'f' => 12,
                'n' => 10,
                'r' => 13,
                't' => 9,
                char @ ('"' | '\\' | '/') => char as u16,
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                        return None;
                    }
                    u16::from_str_radix(&digits, 16).ok()?
                }
                _ => return None,
            }),
            char => codes.extend_from_slice(char.encode_utf16(&mut [0; 2])),
        }
    }
    let decoded = char::decode_utf16(codes);
    Some(
        decoded
            .map(|unit| match unit {
                Ok(char) => char.into(),
                Err(lone) => lone.unpaired_surrogate().into(),
            })
            .collect(),
    )
}

#[test]
fn spelled_text_reads_back() {
    let mut prng = Prng::named("spelling");
    let text: Units = units("a\"\\/\u{8}\u{c}\n\r\t\u{0}\u{1b}\u{7f}é\u{2028}😀");
    let mut spellings = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let mut text = text.clone();
        text.push(0xD83D);
        let spelled = spell(&text, &mut prng);
        assert_eq!(read(&spelled), Some(text), "{}", spelled.escape_ascii());
        spellings.insert(spelled);
    }
    assert!(spellings.len() > 190);
    for wrong in ["\"", "\\", "\\q", "\\u12", "\\u12g4", "\u{1}"] {
        assert_eq!(read(wrong.as_bytes()), None, "{wrong}");
    }
}
