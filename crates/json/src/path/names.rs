//! A table of the names that the members of one object may have, looked up by the bytes of a key.
//!
//! The set works on bytes: it handles neither paths nor the escapes or ends of keys. A lookup takes a bounded number of
//! steps, even for hostile names.

use std::collections::HashMap;

use crate::test_work::{WorkKind, count, words};

/// A node of a trie.
pub type NodeId = u32;

/// The treatment of a member or an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Ask the handler.
    #[default]
    Ask,
    /// Drop the value. A container is dropped as a whole.
    Skip,
    /// Drop the value and count it. The machine asks about a container.
    Omit,
    /// Drop the value and the rest of its container. Only for all members of an object.
    SkipRest,
    /// Write the value, with its key as spelled. The machine asks about a container.
    Keep,
    /// Write the value with the key of this number. The machine asks about a container.
    Rename(u32),
}

/// The names of a node's children, looked up by the bytes of a key.
///
/// Open addressing over an eight-byte hash made of the first eight bytes and the length. A miss almost always costs one
/// slot comparison and one well-predicted branch.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    slots: Vec<NameSlot>,
    names: Vec<(Box<str>, NodeId)>,
    shift: u32,
    /// All names, if too many of them share a hash. Only `more` of the slots is then valid.
    by_name: Option<HashMap<Box<[u8]>, NodeId>>,
    key_set: Option<Box<KeySet>>,
}

/// Rejects most keys that are not names, faster than the slots do: a hash without collisions between the names.
#[derive(Clone, Debug)]
pub struct KeySet {
    hashes: [u64; 256],
    factor: u64,
}

impl KeySet {
    /// Such a hash rarely exists for more names than this.
    const MOST: usize = 64;
    /// Number of factors to try.
    const TRIES: u64 = 1024;

    fn new(names: &[(Box<str>, NodeId)]) -> Option<Self> {
        // Nothing is looked up in an empty table, so leaves of a selection need no set.
        if names.is_empty() || names.len() > Self::MOST {
            return None;
        }
        (0..Self::TRIES).find_map(|number| {
            let factor = (2 * number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            // No key has this hash: its first byte is the xor of a quote and a short length.
            let mut key_set = Self { hashes: [u64::MAX; 256], factor };
            count(WorkKind::Names, key_set.hashes.len());
            for (name, _) in names {
                count(WorkKind::Names, 1);
                let mut head = [b'"'; 8];
                for (to, from) in head.iter_mut().skip(1).zip(name.bytes()) {
                    *to = from;
                }
                let hash = Self::hash(u64::from_le_bytes(head), name.len() + 1);
                let place = usize::from(key_set.place(hash));
                let place = key_set.hashes.get_mut(place)?;
                if *place != u64::MAX && *place != hash {
                    return None;
                }
                *place = hash;
            }
            Some(key_set)
        })
    }

    /// Returns false if no name has the key of `len` bytes that begins with `head`, both including its opening quote.
    #[inline(always)]
    pub fn may_have(&self, head: u64, len: usize) -> bool {
        count(WorkKind::Names, 1);
        let hash = Self::hash(head, len);
        self.hashes.get(usize::from(self.place(hash))) == Some(&hash)
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> u8 {
        (hash.wrapping_mul(self.factor) >> 56) as u8
    }

    /// Returns the hash of a key of `len` bytes including its opening quote. `head` contains its first eight bytes.
    #[inline(always)]
    fn hash(head: u64, len: usize) -> u64 {
        let keep = KEEP.get(len.min(8)).copied().unwrap_or(u64::MAX);
        head & keep ^ len as u64
    }
}

/// Maximum number of slots that one lookup visits.
const LONGEST_CHAIN: usize = 8;

#[derive(Clone, Copy, Debug)]
struct NameSlot {
    hash: u64,
    /// Position in `names`, plus one; 0 is a free slot.
    name: u32,
    /// A name that belongs to this slot or an earlier one is stored in a later slot.
    more: bool,
}

impl Default for NameSlot {
    fn default() -> Self {
        // No name has this hash, because no text contains such a byte.
        Self { hash: u64::MAX, name: 0, more: false }
    }
}

impl NameTable {
    /// Creates the table of these names.
    pub fn new(names: Vec<(Box<str>, NodeId)>) -> Self {
        // Most nodes of a trie are leaves, and a table without slots has no name.
        if names.is_empty() {
            return Self { shift: u64::BITS - 1, ..Self::default() };
        }
        let size = (names.len() * 8).next_power_of_two().max(2);
        let mut table = Self {
            slots: vec![NameSlot::default(); size],
            shift: u64::BITS - size.trailing_zeros(),
            names: Vec::new(),
            by_name: None,
            key_set: None,
        };
        if !names.iter().zip(1..).all(|((name, _), number)| table.place(name.as_bytes(), number)) {
            table.slots.fill(NameSlot::default());
            for (name, _) in &names {
                let home = table.home(hash(name.as_bytes()));
                if let Some(slot) = table.slots.get_mut(home) {
                    slot.more = true;
                }
            }
            let all = names.iter().map(|(name, child)| {
                count(WorkKind::Names, words(name.len()) + 1);
                (name.as_bytes().into(), *child)
            });
            table.by_name = Some(all.collect());
        }
        table.names = names;
        table
    }

    /// Builds the [`KeySet`], which takes longer than the table does, and pays off for tables that are used often.
    pub fn sharpen(&mut self) {
        self.key_set = KeySet::new(&self.names).map(Box::new);
    }

    /// Returns the set that rejects most keys that are not names, unless the names are too many for one.
    #[inline(always)]
    pub fn key_set(&self) -> Option<&KeySet> {
        self.key_set.as_deref()
    }

    /// Puts a name into a free slot. Returns false if the slot would be too far from its home.
    fn place(&mut self, name: &[u8], number: u32) -> bool {
        let hash = hash(name);
        let mut at = self.home(hash);
        for _ in 0..LONGEST_CHAIN {
            count(WorkKind::Names, 1);
            let next = (at + 1) % self.slots.len();
            let Some(slot) = self.slots.get_mut(at) else { return false };
            if slot.name == 0 {
                *slot = NameSlot { hash, name: number, more: slot.more };
                return true;
            }
            slot.more = true;
            at = next;
        }
        false
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// Returns the child named `key`.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<NodeId> {
        self.find(hash(key), key)
    }

    /// Returns the child named by the `len` bytes of `text` at `from`.
    #[inline(always)]
    pub fn get_in(&self, text: &[u8], from: usize, len: usize) -> Option<NodeId> {
        let bytes = text.get(from..).and_then(<[u8]>::first_chunk::<8>);
        // Even if the key is shorter, eight bytes exist, except for the last keys of a text.
        let Some(bytes) = bytes else { return self.get(text.get(from..from + len)?) };
        count(WorkKind::Names, 1);
        let hash = hash_of(u64::from_le_bytes(*bytes), len);
        let slot = self.slots.get(self.home(hash))?;
        if (slot.hash != hash) & !slot.more {
            return None;
        }
        let key = text.get(from..from.wrapping_add(len))?;
        match self.names.get((slot.name as usize).wrapping_sub(1)) {
            Some((name, child)) if slot.hash == hash && is_same(name.as_bytes(), key) => {
                Some(*child)
            }
            _ => self.find(hash, key),
        }
    }

    #[inline(never)]
    fn find(&self, hash: u64, key: &[u8]) -> Option<NodeId> {
        if let Some(by_name) = &self.by_name {
            count(WorkKind::Names, words(key.len()) + 1);
            return by_name.get(key).copied();
        }
        let mut at = self.home(hash);
        // No name is further from its home. Chains that join others may be longer, so the loop is bounded.
        for _ in 0..LONGEST_CHAIN {
            count(WorkKind::Names, 1);
            let slot = self.slots.get(at)?;
            if slot.hash == hash && slot.name != 0 {
                let (name, child) = self.names.get(slot.name as usize - 1)?;
                if is_same(name.as_bytes(), key) {
                    return Some(*child);
                }
            }
            if !slot.more {
                return None;
            }
            at = (at + 1) % self.slots.len();
        }
        None
    }
}

/// Whether two names with equal hashes (lengths and first eight bytes) are equal.
#[inline(always)]
fn is_same(name: &[u8], key: &[u8]) -> bool {
    count(WorkKind::Names, words(key.len()));
    // Up to sixteen bytes, comparing the last eight suffices: no loop, no call.
    match (name.last_chunk::<8>(), key.last_chunk::<8>()) {
        _ if name.len() != key.len() => false,
        (Some(last), Some(end)) if key.len() <= 16 => last == end,
        (None, None) => true,
        _ => name == key,
    }
}

/// Masks that keep the first bytes of eight, without a branch or a shift that depends on the length.
const KEEP: [u64; 9] = [
    0,
    0xFF,
    0xFFFF,
    0xFF_FFFF,
    0xFFFF_FFFF,
    0xFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF,
    0xFF_FFFF_FFFF_FFFF,
    u64::MAX,
];

/// Returns the hash of a key of `len` bytes. `bytes` contains its first eight bytes; bytes after a shorter key are
/// ignored.
#[inline(always)]
fn hash_of(bytes: u64, len: usize) -> u64 {
    let keep = KEEP.get(len.min(8)).copied().unwrap_or(u64::MAX);
    bytes & keep ^ (len as u64) << 56
}

fn hash(key: &[u8]) -> u64 {
    let bytes = match key.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => key.iter().rev().fold(0, |head, byte| head << 8 | u64::from(*byte)),
    };
    hash_of(bytes, key.len())
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_CHAIN, NameTable, hash, hash_of};
    use crate::test_work::done;

    #[test]
    fn names_are_found_and_others_are_not() {
        let names: Vec<String> =
            (0..500).map(|n| format!("{}{n}", "abcdefghijkl".repeat(n % 3))).collect();
        let table = NameTable::new(
            names.iter().enumerate().map(|(n, name)| (name.as_str().into(), n as u32)).collect(),
        );
        for (n, name) in names.iter().enumerate() {
            assert_eq!(table.get(name.as_bytes()), Some(n as u32));
            assert_eq!(table.get(format!("{name}x").as_bytes()), None);
            for after in ["", "\":1", "\":\"0123456789\""] {
                let text = format!("{{\"{name}{after}");
                assert_eq!(table.get_in(text.as_bytes(), 2, name.len()), Some(n as u32));
                assert_eq!(
                    table.get_in(text.as_bytes(), 2, name.len() - 1),
                    table.get(&name.as_bytes()[..name.len() - 1])
                );
            }
        }
        let by_name: Vec<String> = (0..2000).map(|n| format!("customer_{n:05}")).collect();
        let mut table = NameTable::new(
            by_name.iter().enumerate().map(|(n, name)| (name.as_str().into(), n as u32)).collect(),
        );
        assert!(table.by_name.is_some(), "the same first bytes and lengths");
        for (n, name) in by_name.iter().enumerate() {
            assert_eq!(table.get(name.as_bytes()), Some(n as u32));
            let text = format!("{name}\":\"{name}");
            assert_eq!(table.get_in(text.as_bytes(), 0, name.len()), Some(n as u32));
            assert_eq!(table.get_in(text.as_bytes(), 0, name.len() - 1), None);
        }
        assert_eq!(table.get(b""), None);
        table.sharpen();
        assert!(table.key_set().is_none(), "too many names to tell");
        assert_eq!(NameTable::new(vec![("".into(), 7)]).get(b""), Some(7));
        assert_eq!(NameTable::new(vec![("a\0".into(), 7)]).get(b"a"), None);
    }

    /// Names chosen to fill consecutive slots, each as far from its home as possible. No lookup visits more than
    /// `LONGEST_CHAIN` slots.
    #[test]
    fn chains_that_join_are_not_followed() {
        const NAMES: usize = 2000;
        let plain = (0..NAMES).map(|n| (n.to_string().into(), n as u32));
        let same_size = NameTable::new(plain.collect());
        let home = |name: &str| same_size.home(hash(name.as_bytes()));
        // The first of these slots is home to a whole chain, the others to one name each; the rest are keys.
        let mut names = vec![Vec::new(); NAMES];
        let mut others = Vec::new();
        for number in 0_u32..2_000_000 {
            let name = format!("{number:08x}");
            match names.get_mut(home(&name)) {
                Some(here) if here.is_empty() => here.push(name),
                Some(here) if home(&name) == 0 && here.len() < LONGEST_CHAIN => here.push(name),
                Some(_) => others.push(name),
                None => {}
            }
        }
        let names: Vec<String> = names.into_iter().flatten().take(NAMES).collect();
        let table = NameTable::new(
            names.iter().enumerate().map(|(n, name)| (name.as_str().into(), n as u32)).collect(),
        );
        assert!(table.by_name.is_none() && names.len() == NAMES && others.len() > NAMES);
        let joined = table.slots.iter().filter(|slot| slot.more).count();
        assert!(joined > NAMES - LONGEST_CHAIN, "{joined} slots tell to go on");
        for (n, name) in names.iter().enumerate() {
            assert_eq!(table.get(name.as_bytes()), Some(n as u32), "{name}");
        }
        done();
        for key in &others {
            assert_eq!(table.get(key.as_bytes()), None, "{key}");
            let units: u64 = done().iter().sum();
            assert!(units <= 2 * LONGEST_CHAIN as u64, "{key}: {units}");
        }
    }

    #[test]
    fn a_table_without_names_has_no_key_set() {
        let mut table = NameTable::new(Vec::new());
        table.sharpen();
        assert!(table.key_set.is_none(), "two kilobytes for every leaf");
        assert_eq!(table.get(b""), None);
    }

    /// The set never rejects a name, whatever bytes follow it, and rejects nearly all other keys.
    #[test]
    fn a_key_set_lets_names_through() {
        let head = |key: &str, after: &str| {
            let text = format!("\"{key}{after}\0\0\0\0\0\0\0");
            u64::from_le_bytes(*text.as_bytes().first_chunk().unwrap())
        };
        for count in [1, 2, 7, 11, 40, 64] {
            let names: Vec<String> = (0..count)
                .map(|n| format!("{}{n}", ["", "user_", "customfield_"][n % 3]))
                .collect();
            let children = names.iter().zip(0..).map(|(name, n)| (name.as_str().into(), n));
            let mut table = NameTable::new(children.collect());
            table.sharpen();
            let Some(key_set) = table.key_set() else { continue };
            for name in &names {
                for after in ["\":1", "\" : ", "", "\":\"0123456789"] {
                    assert!(key_set.may_have(head(name, after), name.len() + 1), "{name}");
                }
                let longer = format!("{name}x");
                let alike = |name: &String| {
                    name.len() == longer.len()
                        && name[..name.len().min(7)] == longer[..name.len().min(7)]
                };
                let one = names.iter().any(alike);
                assert_eq!(key_set.may_have(head(&longer, "\":"), longer.len() + 1), one);
            }
        }
    }

    #[test]
    fn a_mark_does_not_depend_on_what_follows_the_key() {
        let text = b"abcdefghij";
        for len in 0..=text.len() {
            for after in [0, 0x0101_0101_0101_0101, u64::MAX] {
                let mut bytes = u64::to_le_bytes(after);
                let short = len.min(8);
                bytes[..short].copy_from_slice(&text[..short]);
                assert_eq!(hash_of(u64::from_le_bytes(bytes), len), hash(&text[..len]), "{len}");
            }
        }
    }
}
