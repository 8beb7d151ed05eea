//! Documents with secrets in many spellings, nested, doubled and in any order.

use super::super::input::Choose;
use super::{CANARY, SCALARS, SECRETS};
use crate::prng::Choices;

const NOISE: [&str; 13] = [
    "id",
    "a",
    "Secret",
    "secre",
    "secrets",
    "secret ",
    "🔒",
    "gon",
    "gone\u{301}",
    "é",
    "",
    "list2",
    "0",
];
/// An optional member: its name, and the function that writes its value.
type Member<'a> = (&'static str, fn(&mut Builder<'a>));

pub(super) struct Builder<'a> {
    bytes: Choose<'a>,
    pub(super) out: String,
    /// The number of members that may still be written.
    budget: usize,
    pub(super) has_secret: bool,
    /// The secrets are credentials.
    credentials: bool,
    /// There are credentials in keys, which the path of an error may contain.
    pub(super) keys_hold: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(bytes: &'a [u8], credentials: bool) -> Self {
        let bytes = Choose::new(bytes);
        let out = String::new();
        Self { bytes, out, budget: 300, has_secret: false, credentials, keys_hold: false }
    }

    fn white(&mut self) {
        if self.bytes.one_in(12) {
            let white = self.bytes.pick(&[" ", "\n", "\t\r", "   "]);
            self.out.push_str(white);
        }
    }

    /// A name in one of its spellings.
    fn key(&mut self, name: &str) {
        self.white();
        self.string(name);
        self.white();
        self.out.push(':');
        self.white();
    }

    /// A text in one of its spellings.
    fn string(&mut self, text: &str) {
        self.out.push('"');
        for char in text.chars() {
            let escape = self.bytes.below(12);
            let needs_one = char < ' ' || char == '"' || char == '\\';
            if escape > 2 && !needs_one {
                self.out.push(char);
                continue;
            }
            match (char, escape) {
                ('"' | '\\' | '/', 2..) => self.out.extend(['\\', char]),
                ('\n', 2..) => self.out.push_str("\\n"),
                _ => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        self.out.push_str(&match escape {
                            0 | 1 => format!("\\u{unit:04x}"),
                            _ => format!("\\u{unit:04X}"),
                        });
                    }
                }
            }
        }
        self.out.push('"');
    }

    /// Any value that contains a canary.
    fn secret(&mut self) {
        self.has_secret = true;
        if self.credentials {
            return self.credential();
        }
        let text = match self.bytes.below(7) {
            0 => format!("\"{CANARY}\""),
            1 => format!("-{CANARY}.5e1"),
            2 => format!("[1,[\"{CANARY}\"],{{\"id\":{CANARY}}}]"),
            3 => format!("{{\"{CANARY}\":1,\"id\":\"{CANARY}\",\"id\":{CANARY}}}"),
            4 => format!("{{\"secret\":{{\"in\":[{CANARY}]}},\"list\":[{CANARY}]}}"),
            5 => format!("\"\\\"{CANARY}\\\\\""),
            _ => format!("\"{}{CANARY}\"", "x".repeat(self.bytes.below(200))),
        };
        // The name of an object's member with a canary would be in the path of an error.
        let text = if text.starts_with("{\"8") { text.replacen(CANARY, "n", 1) } else { text };
        self.out.push_str(&text);
        self.white();
    }

    /// A value with a credential in a string or a key.
    fn credential(&mut self) {
        let text = self.credential_text();
        match self.bytes.below(6) {
            0 => {
                self.out.push_str("[1,[");
                self.string(&text);
                self.out.push_str("]]");
            }
            1 => {
                self.keys_hold = true;
                self.out.push_str("{\"id\":1,");
                for value in ["2,", "null"] {
                    self.string(&text);
                    self.out.push(':');
                    self.out.push_str(value);
                }
                self.out.push('}');
            }
            _ => self.string(&text),
        }
        self.white();
    }

    /// A credential with a canary, and what is around it in its string.
    fn credential_text(&mut self) -> String {
        let more = match self.bytes.below(24) {
            0 => self.bytes.below(10_000),
            _ => self.bytes.below(40),
        };
        let credential = match self.bytes.below(6) {
            0 => format!("ghp_{CANARY}{}{}", "aB3".repeat(10), "x".repeat(more)),
            1 => format!("https://u:{CANARY}@h"),
            2 => format!("AKIA{CANARY}ABCDEFGHI"),
            3 => format!("Bearer {CANARY}.abcdefghijklmnop{}", "y".repeat(more)),
            4 => format!("-----BEGIN PRIVATE KEY-----\n{CANARY}AAAA\n-----END PRIVATE KEY-----"),
            _ => format!("sk_live_{CANARY}{}aaaaaaaaa", "Z".repeat(more)),
        };
        let before = self.bytes.pick(&["", "x ", "é", "\"", "(", "=", "\\", "1.", "🔑"]);
        let after = self.bytes.pick(&["", " ", "!", "é", "\"", "\\", "\n", "🔑"]);
        format!("{before}{credential}{after}")
    }

    /// A document with another one in the strings at `/text` and `/content/text`.
    pub(super) fn around(&mut self, inner: &str) {
        self.out.push('{');
        self.noise();
        let count = 1 + self.bytes.below(3);
        for _ in 0..count {
            self.out.push(',');
            if self.bytes.one_in(3) {
                self.key("content");
                let open = self.bytes.pick(&["[", "[1,", "[[],", "[{\"type\":\"text\"},"]);
                self.out.push_str(open);
                self.out.push('{');
                self.inner_text(inner);
                self.out.push_str("}]");
            } else {
                self.inner_text(inner);
            }
        }
        self.out.push('}');
        self.white();
    }

    fn inner_text(&mut self, inner: &str) {
        self.key("text");
        self.string(inner);
        self.white();
    }

    fn noise(&mut self) {
        let name = self.bytes.pick(&NOISE);
        self.key(name);
        let value = self.bytes.pick(&SCALARS);
        self.out.push_str(value);
        self.white();
    }

    /// An object: noise, and some of these members, in any order and number.
    fn object(&mut self, members: &[Member<'a>]) {
        self.out.push('{');
        self.members(members);
        self.out.push('}');
        self.white();
    }

    fn members(&mut self, members: &[Member<'a>]) {
        let count = self.bytes.below(7);
        for number in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            if number > 0 {
                self.out.push(',');
            }
            if self.bytes.one_in(3) || members.is_empty() {
                self.noise();
            } else {
                let (name, value) = members[self.bytes.below(members.len())];
                self.key(name);
                value(self);
            }
        }
    }

    /// An object, or one in arrays, because names apply to the elements of arrays.
    fn through(&mut self, object: fn(&mut Self)) {
        let levels = self.bytes.below(6).saturating_sub(2);
        for _ in 0..levels {
            let open = self.bytes.pick(&["[", "[1,", "[null,{},"]);
            self.out.push_str(open);
            self.many("0");
        }
        object(self);
        for _ in 0..levels {
            let close = self.bytes.pick(&["]", ",\"x\"]", ",[]]"]);
            self.out.push_str(close);
        }
    }

    /// Elements before others, so that the others have a high index.
    fn many(&mut self, element: &str) {
        if self.bytes.one_in(12) {
            let count = self.bytes.below(70);
            self.out.push_str(&format!("{element},").repeat(count));
        }
    }

    fn inner(&mut self) {
        self.object(&SECRETS.map(|name| -> Member<'a> { (name, Self::secret) }));
    }

    fn item(&mut self) {
        let [one, other] = SECRETS.map(|name| -> Member<'a> { (name, Self::secret) });
        self.object(&[one, other, ("in", |out| out.through(Self::inner))]);
    }

    fn list(&mut self) {
        self.out.push('[');
        for number in 0..self.bytes.below(5) {
            self.out.push_str(if number > 0 { "," } else { "" });
            // Only objects: any other item is an error if only selected values may be written.
            self.many("{}");
            if self.bytes.one_in(60) {
                let scalar = self.bytes.pick(&SCALARS);
                self.out.push_str(scalar);
            } else if self.bytes.one_in(24) {
                self.through(Self::item);
            } else {
                self.item();
            }
        }
        self.out.push(']');
        self.white();
    }

    fn kept(&mut self) {
        let [one, other] = SECRETS.map(|name| -> Member<'a> { (name, Self::secret) });
        self.object(&[("gone", Self::secret), one, other]);
    }

    pub(super) fn document(&mut self) {
        self.white();
        self.out.push('{');
        self.members(&[("list", Self::list), ("gone", Self::secret), ("keep", Self::kept)]);
        // Without a list most rules fail, and an error hides everything.
        if !self.out.contains("\"list\"") && !self.bytes.one_in(8) {
            let empty = self.out.ends_with('{');
            self.out.push_str(if empty { "" } else { "," });
            self.key("list");
            self.list();
        }
        self.out.push('}');
        self.white();
    }
}
