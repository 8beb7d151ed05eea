//! The text of the built-in rules, as it is read when a command is filtered: without what takes long to read and is not needed.

/// Returns the text of a file without examples, and with patterns that compile quickly.
pub(super) fn prepared(text: &str) -> String {
    with_ascii_classes(&without_examples(text))
}

/// Returns the text of a file without the tables `rules.examples`, which are two thirds of it.
fn without_examples(text: &str) -> String {
    let mut kept = String::with_capacity(text.len() / 2);
    let (mut is_example, mut open) = (false, None);
    for line in text.split_inclusive('\n') {
        if open.is_none() && line.starts_with('[') {
            is_example = line.starts_with("[[rules.examples]]");
        }
        // A line of a long string may begin like a table.
        for quotes in ["\"\"\"", "'''"] {
            if open.is_none_or(|it| it == quotes) && line.matches(quotes).count() % 2 == 1 {
                open = if open.is_none() { Some(quotes) } else { None };
                break;
            }
        }
        if !is_example {
            kept.push_str(line);
        }
    }
    kept
}

/// Returns the text of a file whose patterns have `[0-9]` for `\d`, the ASCII letters for `\w`, and ASCII boundaries of words. The built-in
/// patterns mean no others, and the classes of Unicode take ten times as long to compile. Patterns are literal strings.
fn with_ascii_classes(text: &str) -> String {
    let mut changed = String::with_capacity(text.len() * 5 / 4);
    // Whether a pattern is open, and in it, a class, whose first character is next.
    let (mut is_pattern, mut in_class, mut is_first) = (false, false, false);
    let mut rest = text;
    while let Some((plain, special)) =
        rest.find(['\'', '\n', '\\', '[', ']', '^']).and_then(|at| rest.split_at_checked(at))
    {
        changed.push_str(plain);
        let was_first = std::mem::take(&mut is_first) && plain.is_empty();
        let mut chars = special.chars();
        let Some(char) = chars.next() else { break };
        rest = chars.as_str();
        match char {
            '\'' | '\n' => {
                is_pattern = char == '\'' && !is_pattern;
                in_class = false;
            }
            _ if !is_pattern => {}
            '\\' => {
                let Some(escaped) = chars.next() else { break };
                rest = chars.as_str();
                match (escaped, in_class) {
                    ('d', false) => changed.push_str("[0-9]"),
                    ('d', true) => changed.push_str("0-9"),
                    ('w', false) => changed.push_str("[0-9A-Za-z_]"),
                    ('w', true) => changed.push_str("0-9A-Za-z_"),
                    ('b', false) => changed.push_str("(?-u:\\b)"),
                    _ => changed.extend(['\\', escaped]),
                }
                continue;
            }
            '[' if !in_class => (in_class, is_first) = (true, true),
            '^' if was_first => is_first = true,
            // The first character of a class may be a bracket.
            ']' if in_class && !was_first => in_class = false,
            _ => {}
        }
        changed.push(char);
    }
    changed.push_str(rest);
    changed
}

#[cfg(test)]
mod tests {
    use super::{with_ascii_classes, without_examples};

    #[test]
    fn examples_are_left_out() {
        let text = "[[rules]]\nname = 'a'\n[[rules.examples]]\ninput = \"\"\"\n[x]\n\"\"\"\n[[rules]]\nname = 'b'\n";
        assert_eq!(without_examples(text), "[[rules]]\nname = 'a'\n[[rules]]\nname = 'b'\n");
    }

    #[test]
    fn classes_of_patterns_are_ascii() {
        for (text, expected) in [
            (r"a = '^\d+ \w{3}'", r"a = '^[0-9]+ [0-9A-Za-z_]{3}'"),
            (r"a = '\x1b\[[\d;]*m'", r"a = '\x1b\[[0-9;]*m'"),
            (r"a = '[^\w.-]\b'", r"a = '[^0-9A-Za-z_.-](?-u:\b)'"),
            (r"a = '[]\d]\d'", r"a = '[]0-9][0-9]'"),
            (r"a = '\\d\S'", r"a = '\\d\S'"),
            (r#"a = "\d" # '"#, r#"a = "\d" # '"#),
        ] {
            assert_eq!(with_ascii_classes(text), expected);
        }
    }
}
