//! Turns bytes into bit masks: which bytes of a window are tokens, which are white space outside strings.
//!
//! Knows no grammar: it cannot tell a key from a value, nor a valid number from a bad one. It knows strings (quotes,
//! escapes, raw control characters), UTF-8, and where a token begins. What crosses the end of a window is in [`Carry`],
//! so a document may be cut anywhere.
//!
//! One block of 64 bytes, bit 0 on the left:
//!
//! ```text
//! bytes      {"a\"b": [1, true] }
//! quote       1    1               unescaped quotes
//! in_string   11111                from each opening quote up to, not including, its closing quote
//! op         1      1 1 1    1 1   { } [ ] : ,  outside strings
//! scalar               1  1111     numbers, literals, and anything else that has no business there
//! token      11     1 11 1 1  1 1  op, opening quotes, first bytes of scalars
//! ```
//!
//! The algorithm is here once, generic over [`Kernel`]; an instruction set only classifies 64 bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;
mod utf8;

#[cfg(test)]
mod tests;

use utf8::Utf8;

/// Bytes that are scanned before the machine runs over them: their masks stay in the first-level cache.
pub(crate) const WINDOW: usize = 4096;
const BLOCK: usize = 64;
const BLOCKS: usize = WINDOW / BLOCK;

/// The byte classes of one block, a bit a byte. No context: quotes may be escaped, brackets may be in strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Classes {
    quote: u64,
    backslash: u64,
    open: u64,
    close: u64,
    /// Commas and colons.
    separator: u64,
    white: u64,
    /// Below 0x20.
    control: u64,
    /// 0x80 and above.
    high: u64,
}

/// What an instruction set contributes. The value proves that the CPU has it.
trait Kernel: Copy {
    fn classify(self, block: &[u8; BLOCK]) -> Classes;
    /// Bit `i` of the result is the parity of bits `0..=i`.
    fn prefix_xor(self, bits: u64) -> u64;
    /// A hint that the bytes at `address` are wanted soon. Any address will do.
    #[inline(always)]
    fn prefetch(self, _address: *const u8) {}
    /// Writes `base` plus the position of each set bit, ascending; what is behind them does not matter.
    #[inline(always)]
    fn flatten(self, mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
        flatten(mask, base, positions);
    }
}

/// What one window tells the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carry {
    /// All ones inside a string.
    in_string: u64,
    /// 1 if the next byte is escaped.
    escaped: u64,
    /// 1 if the last byte belonged to a scalar.
    scalar: u64,
    /// Hexadecimal digits that a `\u` escape still wants.
    hex: usize,
    utf8: Utf8,
}

impl Carry {
    pub(crate) fn in_string(&self) -> bool {
        self.in_string != 0
    }
}

/// A byte that no document could have there, whatever the grammar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A raw control character in a string.
    Control,
    /// Not UTF-8.
    Utf8,
    /// An escape that RFC 8259 does not have, or bad digits after `\u`.
    Escape,
}

/// The masks of one window.
pub(crate) struct Window {
    /// Positions of the tokens, ascending. The first `tokens` are meant.
    token: [u16; WINDOW + BLOCK],
    tokens: usize,
    white: [u64; BLOCKS],
    open: [u64; BLOCKS],
    close: [u64; BLOCKS],
    in_string: [u64; BLOCKS],
    bad_escape: [u64; BLOCKS],
    len: usize,
    any_white: bool,
    any_backslash: bool,
    any_bad_escape: bool,
    fatal: Option<Fatal>,
}

/// The first byte of a window that is wrong whatever the grammar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fatal {
    pub(crate) at: usize,
    pub(crate) flaw: Flaw,
    pub(crate) in_string: bool,
}

impl Window {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            token: [0; WINDOW + BLOCK],
            tokens: 0,
            white: [0; BLOCKS],
            open: [0; BLOCKS],
            close: [0; BLOCKS],
            in_string: [0; BLOCKS],
            bad_escape: [0; BLOCKS],
            len: 0,
            any_white: false,
            any_backslash: false,
            any_bad_escape: false,
            fatal: None,
        })
    }

    /// The tokens' positions in this window.
    #[inline]
    pub(crate) fn tokens(&self) -> &[u16] {
        self.token.get(..self.tokens).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn fatal(&self) -> Option<Fatal> {
        self.fatal
    }

    /// Whether a backslash is anywhere in this window.
    #[inline]
    pub(crate) fn any_backslash(&self) -> bool {
        self.any_backslash
    }

    /// The first bad escape at `from` or after it.
    pub(crate) fn bad_escape(&self, from: usize) -> Option<usize> {
        if !self.any_bad_escape {
            return None;
        }
        Self::first(&self.bad_escape, from, self.len)
    }

    /// Calls `emit` for each run of bytes in `from..to` that is not white space outside strings.
    #[inline]
    pub(crate) fn solid_runs(&self, from: usize, to: usize, mut emit: impl FnMut(usize, usize)) {
        if !self.any_white {
            if from < to {
                emit(from, to);
            }
            return;
        }
        let mut at = from;
        while at < to {
            // The end of this run, then of the white space behind it.
            let end = Self::first(&self.white, at, to).unwrap_or(to);
            if at < end {
                emit(at, end);
            }
            at = Self::first_not(&self.white, end, to);
        }
    }

    /// The next bracket outside strings at `from` or after it, before `to`: its position and whether it opens.
    #[inline]
    pub(crate) fn bracket(&self, from: usize, to: usize) -> Option<(usize, bool)> {
        let mut block = from / BLOCK;
        let mut keep = u64::MAX << (from % BLOCK);
        while block * BLOCK < to {
            let (open, close) = (self.open.get(block)?, self.close.get(block)?);
            let both = (open | close) & keep;
            if both != 0 {
                let bit = both.trailing_zeros();
                let at = block * BLOCK + bit as usize;
                return (at < to).then_some((at, open >> bit & 1 != 0));
            }
            keep = u64::MAX;
            block += 1;
        }
        None
    }

    fn first(masks: &[u64; BLOCKS], from: usize, to: usize) -> Option<usize> {
        Self::find(masks, from, to, |mask| mask)
    }

    fn first_not(masks: &[u64; BLOCKS], from: usize, to: usize) -> usize {
        Self::find(masks, from, to, |mask| !mask).unwrap_or(to)
    }

    #[inline]
    fn find(
        masks: &[u64; BLOCKS],
        from: usize,
        to: usize,
        of: impl Fn(u64) -> u64,
    ) -> Option<usize> {
        let mut block = from / BLOCK;
        let mut keep = u64::MAX << (from % BLOCK);
        while block * BLOCK < to {
            let mask = of(*masks.get(block)?) & keep;
            if mask != 0 {
                let at = block * BLOCK + mask.trailing_zeros() as usize;
                return (at < to).then_some(at);
            }
            keep = u64::MAX;
            block += 1;
        }
        None
    }
}

/// The instruction sets a kernel is written for.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

#[cfg(test)]
impl Isa {
    pub(crate) const ALL: &[Self] = &[
        Self::Scalar,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
    ];
}

/// A kernel, chosen once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner(Choice);

#[derive(Clone, Copy, Debug)]
enum Choice {
    Scalar(scalar::Scalar),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
}

impl Scanner {
    /// The fastest kernel that this CPU runs.
    pub(crate) fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(kernel) = avx512::Avx512::new() {
                return Self(Choice::Avx512(kernel));
            }
            if let Some(kernel) = avx2::Avx2::new() {
                return Self(Choice::Avx2(kernel));
            }
        }
        Self(Choice::Scalar(scalar::Scalar))
    }

    /// The kernel for `isa`, if this CPU runs it.
    #[cfg(test)]
    pub(crate) fn with(isa: Isa) -> Option<Self> {
        match isa {
            Isa::Scalar => Some(Self(Choice::Scalar(scalar::Scalar))),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::Avx2::new().map(|kernel| Self(Choice::Avx2(kernel))),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::Avx512::new().map(|kernel| Self(Choice::Avx512(kernel))),
        }
    }

    /// Scans `bytes`, at most [`WINDOW`] of them, into `window`.
    #[inline]
    pub(crate) fn scan(self, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
        debug_assert!(bytes.len() <= WINDOW);
        match self.0 {
            Choice::Scalar(kernel) => scan_with(kernel, bytes, carry, window),
            #[cfg(target_arch = "x86_64")]
            Choice::Avx2(kernel) => kernel.scan(bytes, carry, window),
            #[cfg(target_arch = "x86_64")]
            Choice::Avx512(kernel) => kernel.scan(bytes, carry, window),
        }
    }
}

/// The algorithm. Inlined into a function per instruction set, so that the kernel's own functions inline too.
#[inline(always)]
fn scan_with<K: Kernel>(kernel: K, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
    window.tokens = 0;
    window.len = bytes.len();
    window.fatal = None;
    window.any_bad_escape = false;
    let began_in_string = carry.in_string();
    let (mut any_white, mut any_high, mut any_backslash) = (false, false, false);

    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        // The hardware's own prefetcher stops at the end of a page, and the walk comes between two windows.
        kernel.prefetch(block.as_ptr().wrapping_add(WINDOW));
        let classes = kernel.classify(block);
        any_high |= classes.high != 0;
        any_backslash |= classes.backslash != 0;
        any_white |= scan_block(kernel, index, block, BLOCK, &classes, carry, window) != 0;
    }
    if !tail.is_empty() {
        // Spaces behind the end have no effect: they are cut from every mask that could carry them on.
        let mut block = [b' '; BLOCK];
        for (to, from) in block.iter_mut().zip(tail) {
            *to = *from;
        }
        let classes = kernel.classify(&block);
        any_high |= classes.high != 0;
        any_backslash |= classes.backslash != 0;
        any_white |=
            scan_block(kernel, blocks.len(), &block, tail.len(), &classes, carry, window) != 0;
    }
    window.any_white = any_white;
    window.any_backslash = any_backslash;

    if any_high || carry.utf8.is_partial() {
        if let Err(at) = carry.utf8.check(bytes) {
            if window.fatal.is_none_or(|control| at <= control.at) {
                // The state that the byte before left.
                let in_string = match at.checked_sub(1) {
                    None => began_in_string,
                    Some(at) => {
                        let string = window.in_string.get(at / BLOCK).copied().unwrap_or(0);
                        string >> (at % BLOCK) & 1 != 0
                    }
                };
                window.fatal = Some(Fatal { at, flaw: Flaw::Utf8, in_string });
            }
        }
    }
}

/// Resolves the context of one block whose first `len` bytes count. Returns its white space outside strings.
#[inline(always)]
fn scan_block<K: Kernel>(
    kernel: K,
    index: usize,
    block: &[u8; BLOCK],
    len: usize,
    classes: &Classes,
    carry: &mut Carry,
    window: &mut Window,
) -> u64 {
    let valid = u64::MAX >> (BLOCK - len);

    let mut quote = classes.quote;
    let mut escaped = 0;
    if classes.backslash | carry.escaped != 0 {
        escaped = resolve_escapes(classes.backslash, len, &mut carry.escaped);
        quote &= !escaped;
    }
    let in_string = kernel.prefix_xor(quote) ^ carry.in_string;
    let string = in_string | quote;
    carry.in_string = ((in_string as i64) >> 63) as u64;

    let op = (classes.open | classes.close | classes.separator) & !in_string;
    let white = classes.white & !in_string & valid;
    let scalar = !(op | classes.white | string) & valid;
    let token = op | (quote & in_string) | (scalar & !(scalar << 1 | carry.scalar));
    carry.scalar = scalar >> (len - 1) & 1;

    // `index` is below `BLOCKS`, which the compiler cannot see; `if let` costs nothing measurable.
    if let Some(mask) = window.white.get_mut(index) {
        *mask = white;
    }
    if let Some(mask) = window.in_string.get_mut(index) {
        *mask = in_string;
    }
    if let Some(mask) = window.open.get_mut(index) {
        *mask = classes.open & !in_string;
    }
    if let Some(mask) = window.close.get_mut(index) {
        *mask = classes.close & !in_string;
    }
    if let Some(positions) =
        window.token.get_mut(window.tokens..).and_then(<[u16]>::first_chunk_mut)
    {
        kernel.flatten(token, (index * BLOCK) as u16, positions);
        window.tokens += token.count_ones() as usize;
    }

    let control = classes.control & in_string;
    if control != 0 && window.fatal.is_none() {
        let at = index * BLOCK + control.trailing_zeros() as usize;
        window.fatal = Some(Fatal { at, flaw: Flaw::Control, in_string: true });
    }
    if escaped != 0 || carry.hex != 0 || window.any_bad_escape {
        let bad = bad_escapes(block, escaped & in_string & valid, len, &mut carry.hex);
        if bad != 0 && !window.any_bad_escape {
            window.any_bad_escape = true;
            window.bad_escape = [0; BLOCKS];
        }
        if let Some(mask) = window.bad_escape.get_mut(index) {
            *mask = bad;
        }
    }
    white
}

/// Bytes that are escaped, given the backslashes: those behind an odd run of them. One subtraction finds the ends of all
/// runs at once (the method is simdjson's, `find_escaped_branchless`).
#[inline(always)]
fn resolve_escapes(backslash: u64, len: usize, carry: &mut u64) -> u64 {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let starts = backslash & !*carry;
    let runs = ((starts << 1) | ODD).wrapping_sub(starts);
    let code = runs ^ ODD; // escape characters and the bytes they escape
    let escaped = code ^ (backslash | *carry);
    let escapes = code & backslash;
    *carry = escapes >> (len - 1) & 1;
    escaped
}

/// The bytes that an escape must not have there, at most one per escape. `escaped` are the bytes behind an escaping
/// backslash, in strings; `hex` is the number of digits that a `\u` still wants when the block begins, and ends.
#[cold]
#[inline(never)]
fn bad_escapes(block: &[u8; BLOCK], mut escaped: u64, len: usize, hex: &mut usize) -> u64 {
    let block = block.get(..len).unwrap_or_default();
    let mut bad = 0u64;
    let mut digits = |from: usize, count: usize| -> usize {
        for at in from..from + count {
            match block.get(at) {
                None => return from + count - at,
                Some(byte) if byte.is_ascii_hexdigit() => {}
                Some(_) => {
                    bad |= 1 << at;
                    return 0;
                }
            }
        }
        0
    };
    *hex = digits(0, *hex);
    let mut others = 0;
    while escaped != 0 {
        let at = escaped.trailing_zeros() as usize;
        escaped &= escaped - 1;
        match block.get(at) {
            Some(b'u') => *hex = digits(at + 1, 4),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') | None => {}
            Some(_) => others |= 1 << at,
        }
    }
    bad | others
}

/// Eight at a time, wanted or not: the number of tokens in a block is not predictable, the number of eights is.
#[inline(always)]
fn flatten(mut mask: u64, base: u16, positions: &mut [u16; BLOCK]) {
    for eight in positions.as_chunks_mut::<8>().0 {
        for position in eight {
            *position = base.wrapping_add(mask.trailing_zeros() as u16);
            mask &= mask.wrapping_sub(1);
        }
        if mask == 0 {
            break;
        }
    }
}
