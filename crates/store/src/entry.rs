//! The description of an entry, and its form in a file.
//!
//! The header comes before the bytes and has a fixed size, so that it can be written when the entry is complete:
//!
//! ```text
//! 0                          1024                              1024 + size
//! │ tamis-store 1            │ the bytes of the entry          │
//! │ kind json                │                                 │
//! │ handle tm_aaaqeaye…      │
//! │ size 48213               │
//! │ created 1795361717.5     │
//! │ complete true            │
//! │ scope user               │
//! │ tool search_issues       │
//! │ items data.issues        │
//! │ redacted 2               │
//! │ origin 5c0f…             │
//! │ shape blocks 3           │
//! │ padding: NUL             │
//! ```
//!
//! One fact a line, a name and a value. A reader ignores names that it does not know.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use tamis::text::TextRedactor;

use super::handle::Handle;
use super::scope::Scope;

/// Bytes of the header of an entry. A store in memory charges the same.
pub(crate) const HEADER: u64 = 1024;
/// The first line of a header.
const MAGIC: &str = "tamis-store 1";
/// The kind of an entry that is the output of a command.
const COMMAND: &str = "command";
/// The longest name of a tool, and the longest path of items, in bytes. Longer names are shortened, longer paths are
/// left out.
const LONGEST: usize = 256;

/// The form of an entry's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// One JSON text.
    Json,
    /// Lines of text.
    Text,
}

impl EntryKind {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
        }
    }
}

/// How the bytes of an entry are related to the result that the caller of a tool has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryShape {
    /// They are a text of the result, or its structured content.
    #[default]
    Same,
    /// They are an object with one string, which is the text of the result.
    WrapsText,
    /// They are `{"blocks": […]}`, which the caller has not seen.
    Blocks {
        /// The number of blocks.
        count: u64,
        /// Whether there is a member `structuredContent` before them.
        has_structured: bool,
    },
}

impl EntryShape {
    fn encode(self) -> Option<String> {
        match self {
            Self::Same => None,
            Self::WrapsText => Some("wraps-text".to_owned()),
            Self::Blocks { count, has_structured: false } => Some(format!("blocks {count}")),
            Self::Blocks { count, has_structured: true } => Some(format!("structured {count}")),
        }
    }

    /// `None`: a shape that is not known.
    fn decode(text: &str) -> Option<Self> {
        Some(match text.split_once(' ') {
            None if text == "wraps-text" => Self::WrapsText,
            Some(("blocks", count)) => {
                Self::Blocks { count: count.parse().ok()?, has_structured: false }
            }
            Some(("structured", count)) => {
                Self::Blocks { count: count.parse().ok()?, has_structured: true }
            }
            _ => return None,
        })
    }
}

/// The description of an entry by its writer.
///
/// ```
/// use tamis_store::EntryMeta;
///
/// let meta = EntryMeta::json("search_issues").with_items("data.issues");
/// assert_eq!(meta.tool(), "search_issues");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryMeta {
    kind: EntryKind,
    /// The entry is the output of a command.
    command: bool,
    tool: String,
    items: Option<String>,
    redacted: u64,
    origin: Option<String>,
    server: Option<String>,
    is_altered: bool,
    is_respelled: bool,
    shape: EntryShape,
}

impl EntryMeta {
    /// Describes an entry that is one JSON text: the structured content of a result, its only JSON block, or
    /// `{"blocks": […]}` ([`with_shape`](Self::with_shape)).
    #[must_use]
    pub fn json(tool: &str) -> Self {
        Self {
            kind: EntryKind::Json,
            command: false,
            tool: printable(tool),
            items: None,
            redacted: 0,
            origin: None,
            server: None,
            is_altered: false,
            is_respelled: false,
            shape: EntryShape::Same,
        }
    }

    /// Describes an entry that is text.
    #[must_use]
    pub fn text(tool: &str) -> Self {
        Self { kind: EntryKind::Text, ..Self::json(tool) }
    }

    /// Describes an entry that is the full output of a command. [`Store::latest_command`](super::Store::latest_command)
    /// finds the last one.
    #[must_use]
    pub fn command(line: &str) -> Self {
        Self { command: true, ..Self::text(line) }
    }

    /// Sets the path of the array whose elements are the items of the entry, as `root` in a spec. An empty text is the
    /// document itself.
    ///
    /// ### Default
    /// The array that `root: auto` finds. This reads the whole document once more if it is an object.
    #[must_use]
    pub fn with_items(mut self, path: &str) -> Self {
        self.items =
            (path.len() <= LONGEST && !path.contains(char::is_control)).then(|| path.into());
        self
    }

    /// Sets how many values of the result were replaced before it was stored, such as credentials.
    #[must_use]
    pub fn with_redacted(mut self, count: u64) -> Self {
        self.redacted = count;
        self
    }

    /// Returns the form of the entry's bytes.
    #[must_use]
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// Returns whether the entry is the output of a command.
    #[must_use]
    pub fn is_command(&self) -> bool {
        self.command
    }

    /// Returns the name of the tool, or the command, whose result it is.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the path of the items, if it is known.
    #[must_use]
    pub fn items(&self) -> Option<&str> {
        self.items.as_deref()
    }

    /// Returns how many values of the result were replaced before it was stored.
    #[must_use]
    pub fn redacted(&self) -> u64 {
        self.redacted
    }

    /// Sets which server returned the result. `origin` identifies how the server is started, and stays the same after a restart;
    /// `server` is its name.
    #[must_use]
    pub fn with_origin(mut self, origin: &str, server: Option<&str>) -> Self {
        self.origin = Some(short_word(origin));
        self.server = server.map(|name| short_word(&printable(name)));
        self
    }

    /// Sets whether a rule or the proxy has removed a part of the result before it was stored, so that it is not what the tool
    /// returned.
    #[must_use]
    pub fn with_altered(mut self, yes: bool) -> Self {
        self.is_altered = yes;
        self
    }

    /// Sets whether JSON in the entry has the values that the tool returned, and maybe other white space and escapes.
    #[must_use]
    pub fn with_respelled(mut self, yes: bool) -> Self {
        self.is_respelled = yes;
        self
    }

    /// Returns whether JSON in the entry may have other white space and escapes than the result.
    #[must_use]
    pub fn is_respelled(&self) -> bool {
        self.is_respelled
    }

    /// Sets how the bytes are related to the result.
    #[must_use]
    pub fn with_shape(mut self, shape: EntryShape) -> Self {
        self.shape = shape;
        self
    }

    /// Returns how the bytes are related to the result.
    #[must_use]
    pub fn shape(&self) -> EntryShape {
        self.shape
    }

    /// Returns the word for the server that the result is from. `None` if no proxy stored it.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// Returns the name of the server that the result is from.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Returns whether the entry may lack a part of what the tool returned: a part was removed, or values were replaced.
    #[must_use]
    pub fn is_altered(&self) -> bool {
        self.is_altered || self.redacted > 0
    }
}

/// The bytes of a name that are read.
const READ: usize = 64 << 10;

/// Returns the beginning of a word that a header has room for.
fn short_word(word: &str) -> String {
    const LONGEST_WORD: usize = 48;
    let fits = word.char_indices().take_while(|(at, char)| at + char.len_utf8() <= LONGEST_WORD);
    fits.map(|(_, char)| if char.is_control() { ' ' } else { char }).collect()
}

/// Returns the name without credentials and control characters, and not longer than [`LONGEST`].
fn printable(name: &str) -> String {
    let (mut redactor, mut safe) = (TextRedactor::new(), Vec::new());
    redactor.write(name.as_bytes().get(..READ).unwrap_or(name.as_bytes()), &mut safe);
    redactor.end(&mut safe);
    let name = String::from_utf8_lossy(&safe);
    let ends = name.char_indices().map(|(at, char)| (at + char.len_utf8(), char));
    let fits = ends.take_while(|(end, _)| *end <= LONGEST);
    fits.map(|(_, char)| if char.is_control() { ' ' } else { char }).collect()
}

/// The header of a complete entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryHeader {
    pub(crate) meta: EntryMeta,
    /// Its handle, which the name of its file does not say.
    pub(crate) handle: Handle,
    pub(crate) scope: Scope,
    /// When the entry was begun.
    pub(crate) created: SystemTime,
    /// The number of bytes, without the header.
    pub(crate) size: u64,
    /// Whether the entry has all bytes. An incomplete one has the beginning.
    pub(crate) complete: bool,
}

impl EntryHeader {
    /// Writes the header, padded to its fixed size.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let since = self.created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut text = format!(
            "{MAGIC}\nkind {}\nhandle {}\nsize {}\ncreated {}.{:09}\ncomplete {}\nscope {}\ntool {}\n",
            if self.meta.command { COMMAND } else { self.meta.kind.name() },
            self.handle,
            self.size,
            since.as_secs(),
            since.subsec_nanos(),
            self.complete,
            self.scope,
            self.meta.tool
        );
        if let Some(items) = &self.meta.items {
            _ = writeln!(text, "items {items}");
        }
        if self.meta.redacted > 0 {
            _ = writeln!(text, "redacted {}", self.meta.redacted);
        }
        for (name, word) in [("origin", &self.meta.origin), ("server", &self.meta.server)] {
            if let Some(word) = word {
                _ = writeln!(text, "{name} {word}");
            }
        }
        for (name, yes) in
            [("altered", self.meta.is_altered), ("respelled", self.meta.is_respelled)]
        {
            if yes {
                _ = writeln!(text, "{name} true");
            }
        }
        if let Some(shape) = self.meta.shape.encode() {
            _ = writeln!(text, "shape {shape}");
        }
        let mut bytes = text.into_bytes();
        debug_assert!(bytes.len() as u64 <= HEADER, "the lengths of all values are limited");
        bytes.resize(HEADER as usize, 0);
        bytes
    }

    /// Reads a header. Returns `None` if it is not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.trim_end_matches('\0');
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return None;
        }
        let facts: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
        let fact = |name| facts.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let tool = fact("tool").unwrap_or_default();
        let meta = match fact("kind")? {
            "json" => EntryMeta::json(tool),
            "text" => EntryMeta::text(tool),
            COMMAND => EntryMeta::command(tool),
            _ => return None,
        };
        let meta = meta.with_redacted(fact("redacted").and_then(|it| it.parse().ok()).unwrap_or(0));
        // A shape of a later version is not one that this version can write from.
        let shape = fact("shape").map(EntryShape::decode);
        let is_altered = fact("altered") == Some("true") || shape == Some(None);
        let meta = meta.with_altered(is_altered).with_shape(shape.flatten().unwrap_or_default());
        let meta = meta.with_respelled(fact("respelled") == Some("true"));
        let meta = match fact("origin") {
            Some(origin) => meta.with_origin(origin, fact("server")),
            None => meta,
        };
        let (seconds, nanos) = fact("created")?.split_once('.')?;
        let since = Duration::new(seconds.parse().ok()?, nanos.parse().ok()?);
        Some(Self {
            meta: match fact("items") {
                Some(items) => meta.with_items(items),
                None => meta,
            },
            handle: fact("handle")?.parse().ok()?,
            scope: Scope::parse(fact("scope")?)?,
            created: SystemTime::UNIX_EPOCH.checked_add(since)?,
            size: fact("size")?.parse().ok()?,
            complete: fact("complete")? == "true",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{EntryHeader, EntryMeta, EntryShape, HEADER, LONGEST};
    use crate::Scope;

    const HANDLE: &str = "tm_aaaqeayeaudaocajbifqydiob4";

    #[test]
    fn names_have_no_credentials() {
        let meta = EntryMeta::command("git clone https://mira:tide@example.org/x");
        assert_eq!(meta.tool(), "git clone https://mira:[redacted:url-password]@example.org/x");
    }

    #[test]
    fn headers_are_written_and_read() {
        let long = "é".repeat(LONGEST);
        for meta in [
            EntryMeta::json("tool"),
            EntryMeta::command("cargo test --all"),
            EntryMeta::text(""),
            EntryMeta::json("a\nscope user\u{7f}"),
            EntryMeta::json(&long).with_items(&"x".repeat(LONGEST)),
            EntryMeta::json(&long).with_items(&long),
            EntryMeta::json("x").with_items(""),
            EntryMeta::json("x").with_items("a\nb"),
            EntryMeta::json(&long)
                .with_items(&"x".repeat(LONGEST))
                .with_redacted(u64::MAX)
                .with_origin(&long, Some(&long))
                .with_altered(true)
                .with_respelled(true)
                .with_shape(EntryShape::Blocks { count: u64::MAX, has_structured: true }),
            EntryMeta::json("x").with_origin("5c0f", None).with_shape(EntryShape::WrapsText),
            EntryMeta::json("x").with_shape(EntryShape::Blocks { count: 2, has_structured: false }),
        ] {
            let header = EntryHeader {
                meta,
                handle: HANDLE.parse().unwrap(),
                scope: Scope::session(b"s"),
                created: SystemTime::UNIX_EPOCH + Duration::new(1_795_361_717, 5),
                size: u64::MAX,
                complete: true,
            };
            let bytes = header.encode();
            assert_eq!(bytes.len() as u64, HEADER);
            assert_eq!(EntryHeader::decode(&bytes), Some(header));
        }
    }

    #[test]
    fn other_bytes_are_no_header() {
        let header = EntryHeader {
            meta: EntryMeta::text("x"),
            handle: HANDLE.parse().unwrap(),
            scope: Scope::user(),
            created: SystemTime::UNIX_EPOCH,
            size: 3,
            complete: false,
        };
        let bytes = header.encode();
        assert_eq!(EntryHeader::decode(&bytes), Some(header));
        let text = String::from_utf8(bytes).unwrap();
        for (old, new) in [
            ("store 1", "store 2"),
            ("kind ", "kind x"),
            ("size ", "size -"),
            ("user", ""),
            ("tm_", "tm"),
        ] {
            assert_eq!(EntryHeader::decode(text.replace(old, new).as_bytes()), None, "{new}");
        }
        let newer = text.replace("tool x", "colour red\ntool x");
        assert!(EntryHeader::decode(newer.as_bytes()).is_some());
        let newer = text.replace("tool x", "shape round\ntool x");
        assert!(EntryHeader::decode(newer.as_bytes()).unwrap().meta.is_altered());
        for bytes in [&b""[..], b"\0", &[255; 1024]] {
            assert_eq!(EntryHeader::decode(bytes), None);
        }
    }
}
