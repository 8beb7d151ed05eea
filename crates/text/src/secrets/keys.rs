//! The names of redacted keys: the second of an object is `[redacted:KIND 2]`.
//!
//! Objects are only followed while one is open that has a redacted key.

/// Follows the containers from the first redacted key on, until the object of that key ends. `K` names a kind.
#[derive(Debug)]
pub(super) struct KeyNames<K> {
    /// The open containers, from the object of the first redacted key inwards: how often each name was given.
    open: Vec<Vec<(K, u32)>>,
    /// The position up to which the text was read. Always outside strings.
    read: usize,
    in_string: bool,
    escaped: bool,
}

impl<K> Default for KeyNames<K> {
    fn default() -> Self {
        Self { open: Vec::new(), read: 0, in_string: false, escaped: false }
    }
}

impl<K: PartialEq> KeyNames<K> {
    /// Returns whether an object with a redacted key is open.
    pub(super) fn is_active(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the number of a key that begins at `at` of the text, and counts it.
    pub(super) fn number(&mut self, kind: K, text: &[u8], at: usize) -> u32 {
        self.read_to(text, at);
        if self.open.is_empty() {
            // The opening quote was read.
            (self.read, self.in_string, self.escaped) = (at, true, false);
            self.open.push(Vec::new());
        }
        let Some(level) = self.open.last_mut() else { return 1 };
        if let Some((_, count)) = level.iter_mut().find(|(name, _)| *name == kind) {
            *count += 1;
            return *count;
        }
        level.push((kind, 1));
        1
    }

    /// Reads the text up to `to`.
    pub(super) fn read_to(&mut self, text: &[u8], to: usize) {
        if self.open.is_empty() {
            return;
        }
        for byte in text.get(self.read..to).unwrap_or_default() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.open.push(Vec::new()),
                b'}' | b']' => {
                    self.open.pop();
                    if self.open.is_empty() {
                        return;
                    }
                }
                _ => {}
            }
        }
        self.read = self.read.max(to);
    }

    /// Accounts for bytes that are removed from the beginning of the text.
    pub(super) fn forget(&mut self, bytes: usize) {
        self.read = self.read.saturating_sub(bytes);
    }
}
