//! Divides the content of a long string into segments, as it is spelled: no character and no escape is divided.

use std::ops::Range;

use tamis_json::test_work::{WorkKind, count, words};

/// How good a place is to divide a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    Anywhere,
    Word,
    Sentence,
    Line,
}

/// Passes each segment to `each`, in order. Together they are the content. `bytes`: about the size of each, at least 12.
pub(super) fn divide(content: &[u8], bytes: usize, each: &mut dyn FnMut(Range<usize>)) {
    let mut start = 0;
    while start < content.len() {
        let end = end_of_segment(content, start, bytes);
        // The last piece of a segment is read again for the next one.
        count(WorkKind::Tail, words(end - start));
        each(start..end);
        start = end;
    }
}

fn end_of_segment(content: &[u8], start: usize, bytes: usize) -> usize {
    // A short rest belongs to the last segment.
    if content.len() - start <= bytes + bytes / 3 {
        return content.len();
    }
    let mut best = (Break::Anywhere, start);
    let mut at = start;
    let mut before = [0, 0];
    loop {
        let end = at + character(content.get(at..).unwrap_or_default());
        if end - start > bytes {
            return best.1;
        }
        let spelled = content.get(at..end).unwrap_or_default();
        let found = match spelled {
            _ if end - start < bytes / 2 => Break::Anywhere,
            b"\\n" => Break::Line,
            b" " if matches!(before, [_, b'.' | b'!' | b'?']) => Break::Sentence,
            b" " | b"," | b";" => Break::Word,
            _ => Break::Anywhere,
        };
        if found >= best.0 {
            best = (found, end);
        }
        before = [before[1], spelled.last().copied().unwrap_or(0)];
        at = end;
    }
}

/// Returns the length of the first character: of an escape, of a pair of surrogates, or in UTF-8.
fn character(text: &[u8]) -> usize {
    let length = match text {
        [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', _, _, rest @ ..] => {
            let is_low = matches!(rest, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..]);
            if is_low { 12 } else { 6 }
        }
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        [0xF0..=0xFF, ..] => 4,
        [0xE0..=0xEF, ..] => 3,
        [0xC0..=0xDF, ..] => 2,
        _ => 1,
    };
    length.min(text.len()).max(1)
}

#[cfg(test)]
mod tests {
    use super::divide;

    #[test]
    fn segments_are_the_content_and_divide_no_character() {
        for content in [
            "x".repeat(1000),
            "some words, and more. ".repeat(90),
            "line\\n".repeat(200),
            "\\ud83d\\ude00".repeat(100),
            "\\ud83d".repeat(100),
            "\\\\".repeat(333),
            "é€\u{1F600}".repeat(100),
            "a".repeat(159) + "\\n" + &"b".repeat(300),
        ] {
            let mut parts = Vec::new();
            divide(content.as_bytes(), 160, &mut |segment| {
                parts.push(std::str::from_utf8(&content.as_bytes()[segment]).unwrap());
            });
            assert_eq!(parts.concat(), content);
            for part in &parts {
                assert!(part.len() <= 220 && !part.is_empty(), "{part}");
                let whole: Result<String, _> = serde_json::from_str(&format!("\"{part}\""));
                assert!(whole.is_ok() || content.contains("\\ud83d\\ud83d"), "{part}");
            }
        }
    }
}
