//! The description of a kind of secret: the characters before it, its parts, and what it needs.

/// A set of ASCII characters, one bit each.
pub(super) type Class = u128;

/// Returns the class of these characters.
pub(super) const fn class(chars: &[u8]) -> Class {
    let (mut set, mut rest) = (0, chars);
    while let [first, after @ ..] = rest {
        set |= 1 << *first;
        rest = after;
    }
    set
}

/// Returns the class of a range of characters.
const fn range(from: u8, to: u8) -> Class {
    let (mut set, mut at) = (0, from);
    while at <= to {
        set |= 1 << at;
        at += 1;
    }
    set
}

pub(super) const DIGIT: Class = range(b'0', b'9');
pub(super) const LOWER: Class = range(b'a', b'z');
pub(super) const UPPER: Class = range(b'A', b'Z');
pub(super) const HEX: Class = DIGIT | range(b'a', b'f') | range(b'A', b'F');
pub(super) const ALNUM: Class = DIGIT | LOWER | UPPER;
pub(super) const WORD: Class = ALNUM | class(b"_");
/// The characters of runs in which the search looks for the beginnings of secrets.
pub(super) const RUN: Class = WORD | class(b"$%+,-./=~");
pub(super) const TOKEN: Class = WORD | class(b"-");
pub(super) const BASE64: Class = ALNUM | class(b"+/=");
/// The characters of `token68` (RFC 7235), which carries bearer tokens.
pub(super) const TOKEN68: Class = ALNUM | class(b"-._~+/=");
/// The signs that names have between words.
pub(super) const SIGNS: Class = class(b"-_");
pub(super) const BLANK: Class = class(b" \t");
/// The characters of user names in URLs, which may be addresses of mail.
pub(super) const URL_USER: Class = ALNUM | class(b"-._~!'()*+,;=%&@");
/// The characters of passwords in URLs, and those that are not ASCII. The brackets of templates (`<password>`, `${PASS}`) are
/// not among them.
pub(super) const URL_PASSWORD: Class = URL_USER & !class(b"@") | class(b":#?^|`$");
/// The characters of a password after a sign `@` that does not end it.
pub(super) const AFTER_AT: Class = URL_PASSWORD & !class(b",;=&?#");
/// The characters after the port of a host, which shows that the digits are not a password.
pub(super) const AFTER_PORT: Class = class(b",;?#&");
/// The most characters of a password in a URL.
pub(super) const PASSWORD: usize = 4096;
/// The characters of a block of PEM, also with line ends that are escaped twice, and with something before each line: a
/// number, the sign of a quotation or a comment, the time of a log.
pub(super) const PEM: Class = BASE64 | class(b" \t\r\n\\-:,.()@_|>#*;[]$%");

/// Returns whether a class has a byte.
pub(super) const fn has(class: Class, byte: u8) -> bool {
    byte < 128 && class >> byte & 1 != 0
}

/// The most characters that a part without a maximum may have before it is secret whatever follows.
pub(super) const CANDIDATE: usize = 4096;

/// A part of a shape. Each takes as many characters as it can.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// At least and at most as many characters of a class. More characters of the class are a mismatch, except for a sign
    /// after exactly as many.
    Run(Class, usize, usize),
    /// At least as many characters of a class.
    Open(Class, usize),
    /// These characters.
    Text(&'static str),
    /// The secret begins here.
    From,
    /// The password of a URL, which is the secret, and the sign `@` after it.
    Password,
    /// One character of a class.
    One(Class),
    /// None of these characters, which does not belong to the secret.
    Not(Class),
    /// A name, a colon and a password, which is the secret: up to the end of an argument of a shell, or to the quote that is
    /// before them.
    Login,
    /// The scheme of an `Authorization` header and the blanks after it, if there is one. The secret begins after it.
    Scheme,
}

/// A property of the secret part, in addition to its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A digit. Words have none.
    Digit,
    /// A digit, a capital and a small letter.
    Mixed,
    /// It does not read as a name.
    NoWords,
    /// A digit, and it does not read as a name.
    Token,
    /// A digit and a letter, and it does not read as a name.
    Password,
    /// It looks random.
    Random,
    /// A digit, a capital and a small letter, and it does not read as a name.
    Varied,
    /// It ends with the checksum of its other characters, or it does not read as a name.
    Checksum(Checksum),
    /// It is the base64 of a name and a password.
    Credentials,
    /// It is the base64 of a JSON Web Token.
    EncodedToken,
    /// A sign of an encoded query, which base64 and names do not have.
    Encoded,
    /// It is neither a variable nor the name of a password.
    Login,
    /// It begins with the base64 of a number.
    Snowflake,
    /// This text at this position.
    Text(usize, &'static [u8]),
    /// The words of a private key in its first line. Everything up to its last line is secret.
    PrivateKey,
    /// The same in base64, which may be in several lines.
    EncodedKey,
    /// A file of PuTTY, up to its last line.
    PuttyKey,
}

/// The text that must be before a secret (`before_text`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Any,
    /// The command `curl`, to which the option belongs.
    Curl,
    /// The beginning of an option, whose name ends with the anchor.
    Option,
    /// Words of a `.netrc`.
    Netrc,
}

/// Which kinds are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretLevel {
    /// Those with a form of their own, or a name that nothing else has.
    #[default]
    Known,
    /// Also random text after names such as `key` and `token`.
    Aggressive,
}

impl SecretLevel {
    /// Returns whether a kind is looked for.
    #[inline]
    pub(super) fn has(self, kind: &Kind) -> bool {
        self == Self::Aggressive || !kind.only_on_request
    }
}

/// A checksum at the end of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// The CRC-32 of the other characters after the prefix, in six digits of base 62:
    /// <https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/>.
    Crc32,
    /// One letter or digit, for the exclusive or of the others: `crates_io_trustpub` in the sources of crates.io.
    Xor,
}

/// A kind of secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// The name in `[redacted:NAME]` and in the report.
    pub(super) name: &'static str,
    /// The beginnings, one of which is followed by the parts.
    pub(super) anchors: &'static [&'static str],
    /// The characters that may not come directly before.
    pub(super) not_after: Class,
    /// The characters of which one must come directly before; empty for any.
    pub(super) only_after: Class,
    /// The anchor is so short that base64 has it, too. It may not come after base64.
    pub(super) in_base64: bool,
    pub(super) parts: &'static [Part],
    pub(super) needs: Needs,
    pub(super) context: Context,
    /// The anchors are names, so the secret may also be the value of a member of that name.
    pub(super) by_name: bool,
    /// It is only looked for on request: its values are not known to be credentials.
    pub(super) only_on_request: bool,
    /// Names in small letters without signs, which announce the secret (`names`). The parts begin at the sign after the name.
    pub(super) names: &'static [&'static str],
}
