//! Indents a compact document by two spaces, as `jq` prints it. It needs no parser, because its input is valid.

/// Returns the document with a line for each member and element.
pub(super) fn indented(compact: &str) -> String {
    let mut text = String::with_capacity(compact.len() + compact.len() / 2);
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let mut chars = compact.chars().peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(char) = chars.next() {
        if in_string {
            text.push(char);
            in_string = escaped || char != '"';
            escaped = char == '\\' && !escaped;
            continue;
        }
        match char {
            '"' => {
                in_string = true;
                text.push(char);
            }
            '[' | '{' => {
                text.push(char);
                match chars.next_if(|next| matches!(next, ']' | '}')) {
                    Some(close) => text.push(close),
                    None => {
                        depth += 1;
                        line(&mut text, depth);
                    }
                }
            }
            ']' | '}' => {
                depth -= 1;
                line(&mut text, depth);
                text.push(char);
            }
            ',' => {
                text.push(char);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ => text.push(char),
        }
    }
    text.push('\n');
    text
}
