//! An order-preserving, duplicate-preserving document whose scalars and keys are the text that came in.
//!
//! The parser trusts its input: it is only given documents that were generated, or that tamis accepted.

/// A value, and the offset of its first byte.
#[derive(Clone, Debug)]
pub struct Node {
    pub at: usize,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub enum Value {
    /// As spelled.
    Scalar(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

#[derive(Clone, Debug)]
pub struct Member {
    /// As spelled, quotes included.
    pub key: String,
    /// Unescaped; `None` if that is no Unicode text (a lone surrogate).
    pub name: Option<String>,
    pub node: Node,
}

impl Node {
    pub fn parse(text: &str) -> Self {
        let mut parser = Parser { text: text.as_bytes(), at: 0 };
        let node = parser.value();
        parser.white();
        assert_eq!(parser.at, text.len(), "trailing text in {text}");
        node
    }

    pub fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    pub fn is_array(&self) -> bool {
        matches!(self.value, Value::Array(_))
    }

    pub fn is_container(&self) -> bool {
        !matches!(self.value, Value::Scalar(_))
    }

    pub fn is(&self, spelled: &str) -> bool {
        matches!(&self.value, Value::Scalar(text) if text == spelled)
    }

    pub fn is_string(&self) -> bool {
        matches!(&self.value, Value::Scalar(text) if text.starts_with('"'))
    }

    /// The text without white space between tokens.
    pub fn minified(&self) -> String {
        let mut out = String::new();
        self.print(&mut out);
        out
    }

    fn print(&self, out: &mut String) {
        match &self.value {
            Value::Scalar(text) => out.push_str(text),
            Value::Array(elements) => {
                out.push('[');
                for (number, element) in elements.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    element.print(out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (number, member) in members.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    out.push_str(&member.key);
                    out.push(':');
                    member.node.print(out);
                }
                out.push('}');
            }
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> u8 {
        *self.text.get(self.at).expect("the document ends too early")
    }

    fn white(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) {
        assert_eq!(self.peek() as char, byte as char, "at byte {}", self.at);
        self.at += 1;
    }

    /// After a value: whether another one follows.
    fn another(&mut self, close: u8) -> bool {
        self.white();
        if self.peek() == close {
            self.at += 1;
            return false;
        }
        self.expect(b',');
        true
    }

    fn value(&mut self) -> Node {
        self.white();
        let at = self.at;
        let value = match self.peek() {
            b'[' => Value::Array(self.elements()),
            b'{' => Value::Object(self.members()),
            b'"' => Value::Scalar(self.string()),
            _ => {
                while let Some(b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') =
                    self.text.get(self.at)
                {
                    self.at += 1;
                }
                assert!(self.at > at, "expected a value at byte {at}");
                Value::Scalar(self.since(at))
            }
        };
        Node { at, value }
    }

    fn elements(&mut self) -> Vec<Node> {
        self.at += 1;
        let mut elements = Vec::new();
        self.white();
        if self.peek() == b']' {
            self.at += 1;
            return elements;
        }
        loop {
            elements.push(self.value());
            if !self.another(b']') {
                return elements;
            }
        }
    }

    fn members(&mut self) -> Vec<Member> {
        self.at += 1;
        let mut members = Vec::new();
        self.white();
        if self.peek() == b'}' {
            self.at += 1;
            return members;
        }
        loop {
            self.white();
            let key = self.string();
            let name = unescape(&key[1..key.len() - 1]);
            self.white();
            self.expect(b':');
            members.push(Member { key, name, node: self.value() });
            if !self.another(b'}') {
                return members;
            }
        }
    }

    fn string(&mut self) -> String {
        let at = self.at;
        self.expect(b'"');
        while self.peek() != b'"' {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        self.since(at)
    }

    fn since(&self, at: usize) -> String {
        String::from_utf8(self.text[at..self.at].to_vec()).expect("not UTF-8")
    }
}

/// A name that no document spelled, as it is written: escaped where it must be, control characters by their numbers.
pub fn quote(name: &str) -> String {
    let mut text = String::from("\"");
    for char in name.chars() {
        match char {
            '"' | '\\' => text.extend(['\\', char]),
            '\0'..' ' => text.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => text.push(char),
        }
    }
    text.push('"');
    text
}

/// What the spelling between the quotes means.
pub fn unescape(spelled: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::new();
    let mut chars = spelled.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            units.extend(char.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        units.push(match chars.next().expect("an escape ends too early") {
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'u' => {
                let digits: String = chars.by_ref().take(4).collect();
                u16::from_str_radix(&digits, 16).expect("four hexadecimal digits")
            }
            same => same as u16,
        });
    }
    String::from_utf16(&units).ok()
}
