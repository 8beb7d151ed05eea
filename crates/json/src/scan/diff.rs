//! Compares kernels on the same bytes and the same cuts, for tests and for a fuzzer.
//!
//! The scalar kernel is the reference for the others, and the result of a scan must not depend on the cuts.

#![allow(clippy::indexing_slicing, reason = "a panic is what is looked for")]

use super::scanner::Isa;
use super::{BLOCK, ByteError, Carry, Scanner, WINDOW, Window};

/// The number of bytes that are also scanned one at a time: all of a short text, a part of a longer one.
const STRETCH: usize = 200;

/// Scans a text with every kernel that this CPU has. Panics if their results differ, or if cuts change a result.
///
/// The first byte of `data` is the number of bytes after it that encode the lengths of chunks, two bytes each, used in
/// turn. The rest is the text.
pub fn compare(data: &[u8]) {
    let (count, data) = data.split_first().unwrap_or((&0, &[]));
    let (lengths, text) = data.split_at(data.len().min(usize::from(*count)));
    let pairs = lengths.as_chunks().0.iter();
    let mut lengths: Vec<usize> = pairs
        .map(|pair| match usize::from(u16::from_le_bytes(*pair)) {
            // Mostly around the size of a block.
            long if long % 4 == 0 => 1 + long % WINDOW,
            short => 1 + short % (2 * BLOCK + 1),
        })
        .collect();
    lengths.push(WINDOW);
    let scalar = Scanner::scalar();
    let whole = until_fatal(scan(scalar, text, &[WINDOW]));
    // The start of that part depends on the first length and the length of the text.
    let room = text.len().saturating_sub(STRETCH).min(WINDOW);
    let before = 1 + (lengths.first().copied().unwrap_or(0) + text.len()) % (room + 1);
    let mut bytes = vec![1; STRETCH + 2];
    if room > 0 {
        bytes[0] = before;
        bytes[STRETCH + 1] = WINDOW;
    }
    let mut all: Vec<&[usize]> = vec![&lengths, &bytes];
    for lengths in &all {
        assert_eq!(until_fatal(scan(scalar, text, lengths)), whole, "cut into {lengths:?}");
    }
    all.push(&[WINDOW]);
    for isa in Isa::ALL.iter().filter(|isa| **isa != Isa::Scalar) {
        let Some(scanner) = Scanner::with(*isa) else { continue };
        for lengths in &all {
            masks(scalar, scanner, text, lengths, *isa);
            assert_eq!(until_fatal(scan(scanner, text, lengths)), whole, "{isa:?}, {lengths:?}");
        }
    }
}

/// Compares every mask and the carry of every window. The text is cut into chunks of the given lengths, used in turn.
pub(super) fn masks(scalar: Scanner, other: Scanner, text: &[u8], lengths: &[usize], isa: Isa) {
    let mut carries = (Carry::default(), Carry::default());
    let (mut one, mut two) = (Window::new(), Window::new());
    let mut from = 0;
    for length in lengths.iter().cycle() {
        let chunk = &text[from..text.len().min(from + length)];
        if chunk.is_empty() {
            break;
        }
        scalar.scan(chunk, &mut carries.0, &mut one);
        scalar.list_tokens(&mut one);
        other.scan(chunk, &mut carries.1, &mut two);
        other.list_tokens(&mut two);
        let place =
            || format!("{isa:?}, bytes {from}..{}, chunks of {lengths:?}", from + chunk.len());
        assert_eq!(carries.0, carries.1, "carry: {}", place());
        let blocks = chunk.len().div_ceil(BLOCK);
        for (name, one, two) in [
            ("token", &one.token, &two.token),
            ("white", &one.white, &two.white),
            ("bracket", &one.bracket, &two.bracket),
            ("separator", &one.separator, &two.separator),
            ("quote", &one.quote, &two.quote),
            ("in_string", &one.in_string, &two.in_string),
            ("backslash", &one.backslash, &two.backslash),
        ] {
            assert_eq!(one[..blocks], two[..blocks], "{name}: {}", place());
        }
        assert_eq!(one.any_bad_escape, two.any_bad_escape, "escapes: {}", place());
        if one.any_bad_escape {
            let (one, two) = (&one.bad_escape, &two.bad_escape);
            assert_eq!(one[..blocks], two[..blocks], "bad escapes: {}", place());
        }
        assert_eq!(one.tokens(), two.tokens(), "positions: {}", place());
        assert_eq!(one.before[..blocks], two.before[..blocks], "tokens before: {}", place());
        assert_eq!(one.fatal, two.fatal, "fatal: {}", place());
        assert_eq!(
            (one.any_white, one.any_backslash),
            (two.any_white, two.any_backslash),
            "any: {}",
            place()
        );
        from += chunk.len();
    }
}

/// The result of a scan, with positions from the beginning of the text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ScanResult {
    pub(super) tokens: Vec<usize>,
    pub(super) solid: Vec<usize>,
    pub(super) brackets: Vec<usize>,
    pub(super) bad_escapes: Vec<usize>,
    pub(super) fatal: Option<(usize, ByteError, bool)>,
    pub(super) in_string: bool,
}

/// Scans a text in chunks of the given lengths; the last length is repeated.
pub(super) fn scan(scanner: Scanner, text: &[u8], lengths: &[usize]) -> ScanResult {
    let mut said = ScanResult::default();
    let (mut carry, mut window) = (Carry::default(), Window::new());
    let (mut base, mut cuts) =
        (0, lengths.iter().chain(std::iter::repeat(&lengths[lengths.len() - 1])));
    while base < text.len() {
        let length = cuts.next().map_or(WINDOW, |length| (*length).min(WINDOW));
        let end = text.len().min(base + length);
        scanner.scan(&text[base..end], &mut carry, &mut window);
        scanner.list_tokens(&mut window);
        let len = end - base;
        said.tokens.extend(window.tokens().iter().map(|at| base + usize::from(*at)));
        window.solid_runs(0, len, |from, to| said.solid.extend(base + from..base + to));
        for block in 0..len.div_ceil(BLOCK) {
            let mut mask = window.brackets(block);
            while mask != 0 {
                said.brackets.push(base + block * BLOCK + mask.trailing_zeros() as usize);
                mask &= mask - 1;
            }
        }
        let mut from = 0;
        while let Some(at) = window.bad_escape(from) {
            said.bad_escapes.push(base + at);
            from = at + 1;
        }
        if said.fatal.is_none() {
            said.fatal = window.fatal().map(|fatal| (base + fatal.at, fatal.flaw, fatal.in_string));
        }
        assert_eq!(window.any_backslash(), text[base..end].contains(&b'\\'));
        base = end;
    }
    said.in_string = carry.in_string();
    said
}

/// Removes everything after the first fatal byte, where the kernels may differ.
pub(super) fn until_fatal(mut said: ScanResult) -> ScanResult {
    if let Some((end, _, _)) = said.fatal {
        said.tokens.retain(|at| *at < end);
        said.solid.retain(|at| *at < end);
        said.brackets.retain(|at| *at < end);
        said.bad_escapes.retain(|at| *at < end);
        said.in_string = false;
    }
    said
}
