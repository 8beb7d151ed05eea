//! Every kernel against the scalar one, and the algorithm against a byte-by-byte definition.

use super::bracket_tests::{check_bracket_batches, check_skipped_rows};
use super::diff::{ScanResult, compare, masks, scan, until_fatal};
use super::words::WordMasksReader;
use super::{
    BLOCK, ByteClasses, ByteError, Carry, Isa, Kernel, Row, Scanner, WINDOW, Window, WordMasks,
    flatten, scalar,
};

/// Leaves the masks as they are.
struct NoReader;

impl WordMasksReader for NoReader {
    fn read(self, _masks: &mut WordMasks) {}
}

/// Returns the kernel if this machine runs it. Panics if `TAMIS_REQUIRE_ISA` names it and it is missing; prints the
/// names of other missing kernels.
fn present<K>(name: &str, kernel: Option<K>) -> Option<K> {
    let required = std::env::var("TAMIS_REQUIRE_ISA").unwrap_or_default();
    let must = required.split(',').any(|required| required == name);
    assert!(kernel.is_some() || !must, "this machine cannot run the required kernel {name}");
    if kernel.is_none() {
        println!("not run: this machine has no {name}");
    }
    kernel
}

/// The number of rounds: fewer under Miri, which is slow.
pub(super) const fn rounds(all: usize) -> usize {
    if cfg!(miri) { all / 100 } else { all }
}

/// The kernels that this machine runs.
fn scanners() -> Vec<(Isa, Scanner)> {
    let all = Isa::ALL.iter().map(|isa| (*isa, format!("{isa:?}").to_lowercase()));
    all.filter_map(|(isa, name)| Some((isa, present(&name, Scanner::with(isa))?))).collect()
}

/// Splitmix64 (Steele, Lea, Flood 2014).
pub(super) struct ScanPrng(pub(super) u64);

impl ScanPrng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, from: &[u8], len: usize) -> Vec<u8> {
        (0..len).map(|_| from[self.next() as usize % from.len()]).collect()
    }
}

/// One macro instantiates the tests of a kernel.
macro_rules! kernel_tests {
    ($module:ident, $name:literal, $kernel:expr) => {
        mod $module {
            use super::*;

            #[test]
            fn classifies_as_scalar_does() {
                let Some(kernel) = present($name, $kernel) else { return };
                // Every byte in every lane; under Miri in some lanes, because the lanes do not differ.
                for byte in 0..=255u8 {
                    for lane in (0..BLOCK).step_by(if cfg!(miri) { 9 } else { 1 }) {
                        let mut block = [b'a'; BLOCK];
                        block[lane] = byte;
                        assert_eq!(
                            kernel.classify(&block),
                            scalar::ScalarKernel.classify(&block),
                            "byte {byte:#x} in lane {lane}"
                        );
                        assert_eq!(
                            kernel.classify_escapes(&block),
                            scalar::ScalarKernel.classify_escapes(&block),
                            "escapes: byte {byte:#x} in lane {lane}"
                        );
                    }
                }
                let mut random = ScanPrng(1);
                let all: Vec<u8> = (0..=255).collect();
                for _ in 0..rounds(2000) {
                    let block: [u8; BLOCK] = random.bytes(&all, BLOCK).try_into().unwrap();
                    assert_eq!(kernel.classify(&block), scalar::ScalarKernel.classify(&block));
                }
            }

            #[test]
            fn classifies_words_as_scalar_does() {
                let Some(scanner) = present($name, Scanner::named($name)) else { return };
                let mut random = ScanPrng(7);
                let all: Vec<u8> = (0..=255).collect();
                let mut compare = |bytes: &[u8], first: usize| {
                    let (mut masks, mut expected) = (WordMasks::new(), WordMasks::new());
                    // Old masks do not matter.
                    scanner.words(&random.bytes(&all, 66 * BLOCK), 0, &mut masks, NoReader);
                    scanner.words(bytes, first, &mut masks, NoReader);
                    Scanner::scalar().words(bytes, first, &mut expected, NoReader);
                    assert_eq!(masks, expected, "{} bytes from block {first}", bytes.len());
                };
                // Every byte in every lane.
                let each: Vec<u8> = (0..=255).cycle().take(65 * BLOCK).collect();
                (0..BLOCK).for_each(|lane| compare(&each[lane..], 0));
                for len in (0..=BLOCK * 3).chain([64 * BLOCK, 65 * BLOCK - 1, 65 * BLOCK]) {
                    compare(&each[7..][..len.min(each.len() - 7)], len % 2);
                }
            }

            #[test]
            fn classifies_rows_as_blocks() {
                let Some(kernel) = present($name, $kernel) else { return };
                let mut random = ScanPrng(6);
                let all: Vec<u8> = (0..=255).chain(*b"\"\\{}[]:, \n\t\r\"\"").collect();
                let mut window = Window::new();
                for _ in 0..rounds(500) {
                    let blocks: Row =
                        std::array::from_fn(|_| random.bytes(&all, BLOCK).try_into().unwrap());
                    kernel.classify_row(&blocks, &mut window.row(0).unwrap());
                    let row = window.row(0).unwrap();
                    let masks = [row.quote, row.backslash, row.bracket, row.separator, row.white];
                    let masks = masks.map(|row| *row);
                    for (at, block) in blocks.iter().enumerate() {
                        let expected = scalar::ScalarKernel.classify(block);
                        let ByteClasses { quote, backslash, bracket, separator, white, .. } =
                            expected;
                        let expected = [quote, backslash, bracket, separator, white];
                        assert_eq!(masks.map(|row| row[at]), expected, "block {at}");
                        let has = |byte: fn(&u8) -> bool| block.iter().any(byte);
                        let range = kernel.widen(kernel.no_range(), block);
                        assert_eq!(kernel.has_control(range), has(|byte| *byte < 0x20));
                        assert_eq!(kernel.has_high(range), has(|byte| *byte >= 0x80));
                    }
                }
            }

            #[test]
            fn ranges_remember_every_byte() {
                let Some(kernel) = present($name, $kernel) else { return };
                let has = |blocks: &[[u8; BLOCK]], byte: fn(&u8) -> bool| {
                    blocks.as_flattened().iter().any(byte)
                };
                for byte in [0, 0x1f, 0x20, 0x7f, 0x80, 0xff] {
                    for (lane, fill) in (0..3 * BLOCK).flat_map(|lane| [(lane, b'a'), (lane, 0)]) {
                        let mut blocks = [[fill; BLOCK]; 3];
                        blocks[lane / BLOCK][lane % BLOCK] = byte;
                        let none = kernel.no_range();
                        let range = blocks.iter().fold(none, |range, b| kernel.widen(range, b));
                        let found = (kernel.has_control(range), kernel.has_high(range));
                        let expected = (has(&blocks, |b| *b < 0x20), has(&blocks, |b| *b >= 0x80));
                        assert_eq!(found, expected, "{byte:#x} in {fill:#x} at {lane}");
                    }
                }
            }

            #[test]
            fn sums_parities_as_scalar_does() {
                let Some(kernel) = present($name, $kernel) else { return };
                let mut random = ScanPrng(2);
                for _ in 0..rounds(2000) {
                    let bits = random.next() & random.next();
                    assert_eq!(kernel.prefix_xor(bits), scalar::ScalarKernel.prefix_xor(bits));
                }
            }

            #[test]
            fn flattens_as_scalar_does() {
                let Some(kernel) = present($name, $kernel) else { return };
                let mut random = ScanPrng(3);
                for round in 0..rounds(4000) {
                    let mask = match round % 4 {
                        0 => random.next(),
                        1 => random.next() & random.next() & random.next(),
                        2 => random.next() | random.next() | random.next(),
                        _ => [0, u64::MAX, 1, 1 << 63][round / 4 % 4],
                    };
                    let count = mask.count_ones() as usize;
                    let (mut expected, mut found) = ([0; BLOCK], [0; BLOCK]);
                    flatten(mask, 640, &mut expected);
                    kernel.flatten(mask, 640, &mut found);
                    assert_eq!(found[..count], expected[..count], "{mask:#x}");
                    kernel.prefetch(std::ptr::null());
                }
            }

            #[test]
            fn collects_brackets_as_a_stack_does() {
                let Some(kernel) = present($name, $kernel) else { return };
                check_bracket_batches(kernel);
            }

            #[test]
            fn skips_rows_as_it_scans_them() {
                let Some(kernel) = present($name, $kernel) else { return };
                check_skipped_rows(kernel);
            }
        }
    };
}

kernel_tests!(scalar_kernel, "scalar", Some(scalar::ScalarKernel));
#[cfg(target_arch = "x86_64")]
kernel_tests!(avx2_kernel, "avx2", super::super::avx2::Avx2::new());
#[cfg(target_arch = "x86_64")]
kernel_tests!(avx512_kernel, "avx512", super::super::avx512::Avx512::new());
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
kernel_tests!(neon_kernel, "neon", super::super::neon::Neon::<false>::new());
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
kernel_tests!(neon_pmull_kernel, "neonpmull", super::super::neon::Neon::<true>::new());

/// The definition, byte by byte.
fn define(text: &[u8]) -> ScanResult {
    let mut said = ScanResult::default();
    let (mut escaped, mut scalar, mut hex) = (false, false, 0);
    for (at, byte) in text.iter().enumerate() {
        let viable = match std::str::from_utf8(&text[..=at]) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        if said.fatal.is_none() && !viable {
            said.fatal = Some((at, ByteError::Utf8, said.in_string));
        }
        let was_escaped = std::mem::take(&mut escaped);
        let was_scalar = std::mem::take(&mut scalar);
        if said.in_string {
            said.solid.push(at);
            if hex > 0 {
                hex -= 1;
                if !byte.is_ascii_hexdigit() {
                    said.bad_escapes.push(at);
                    hex = 0;
                }
            }
            if *byte < 0x20 && said.fatal.is_none() {
                said.fatal = Some((at, ByteError::Control, true));
            }
            match byte {
                b'u' if was_escaped => hex = 4,
                _ if was_escaped && b"\"\\/bfnrt".contains(byte) => {}
                _ if was_escaped => said.bad_escapes.push(at),
                b'\\' => escaped = true,
                b'"' => said.in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' if !was_escaped => {
                said.in_string = true;
                said.tokens.push(at);
            }
            b'{' | b'[' | b'}' | b']' => {
                said.tokens.push(at);
                said.brackets.push(at);
            }
            b',' | b':' => said.tokens.push(at),
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => {
                scalar = true;
                escaped = *byte == b'\\' && !was_escaped;
                if !was_scalar {
                    said.tokens.push(at);
                }
            }
        }
        said.solid.push(at);
    }
    said
}

#[test]
fn scans_as_defined_however_it_is_cut() {
    let alphabets: [&[u8]; 5] = [
        b"\"\\{}[]:, 1n\n",
        b"\"\\\\\\u0aFbx",
        b"\"\\",
        b"ab\"  ,:{}\xc3\xa9\xe2\x82\xac\x01",
        b"\"abcdefghijklmnop,",
    ];
    let mut random = ScanPrng(4);
    for (isa, scanner) in scanners() {
        for round in 0..rounds(600) {
            let len = 1 + random.next() as usize % 300;
            let text = random.bytes(alphabets[round % alphabets.len()], len);
            let expected = until_fatal(define(&text));
            let first = 1 + random.next() as usize % len;
            for lengths in [&[WINDOW][..], &[1], &[7], &[63], &[64], &[65], &[first, WINDOW]] {
                let found = until_fatal(scan(scanner, &text, lengths));
                assert_eq!(found, expected, "{isa:?} {lengths:?} {}", text.escape_ascii());
            }
        }
    }
}

#[test]
fn long_texts_cross_windows() {
    let mut random = ScanPrng(5);
    for (isa, scanner) in scanners() {
        for alphabet in [&b"\"\\{}[]:, 1n"[..], b"\"\\\\", b"{", b",", b"\""] {
            let text = random.bytes(alphabet, 3 * WINDOW + 77);
            let text = &text[text.len() - rounds(text.len()).max(WINDOW + 77)..];
            let expected = define_ascii(text);
            for lengths in [&[WINDOW][..], &[WINDOW - 1], &[100, WINDOW]] {
                let found = scan(scanner, text, lengths);
                assert_eq!(found.tokens, expected, "{isa:?} {lengths:?}");
            }
        }
    }
}

/// Texts of every length up to some rows, and around a window, that are full of escapes. They begin in every state, since
/// each is cut after a few bytes.
#[test]
fn rows_are_derived_as_blocks_are() {
    let alphabets: [&[&str]; 6] = [
        &["\\", "\"", "\\u", "00", "e9", "x"],
        &["\\\\", "\\\"", "\\u12aF", "\\u12", "\", \"", "{}", "1 "],
        &["\\"],
        &["\\", "\\", "\\", "\\", "\\", "\\", "\\", "\"", "n"],
        &["\\u00e9", "\\ud83d\\ude00", "\\n", "abcdefgh", "\\uD83", "\\x"],
        &["abcdefghijklmnop", "\"", "\": [", "true, ", " ", "\n", "\\u0041", "0"],
    ];
    let mut random = ScanPrng(8);
    let lengths = (0..=600).chain([1000, 1024, 1087]).chain(WINDOW - 70..=WINDOW + 70);
    let scalar = Scanner::scalar();
    for len in lengths.step_by(if cfg!(miri) { 97 } else { 1 }) {
        for parts in alphabets {
            let mut text = b"\"".to_vec();
            while text.len() < len {
                text.extend_from_slice(parts[random.next() as usize % parts.len()].as_bytes());
            }
            text.truncate(len);
            let first = 1 + random.next() as usize % 9;
            for (isa, scanner) in scanners() {
                masks(scalar, scanner, &text, &[WINDOW], isa);
                masks(scalar, scanner, &text, &[first, WINDOW], isa);
            }
        }
    }
}

/// A `\u` at every place of a row and a window, cut everywhere around it.
#[test]
fn every_cut_of_an_escape_after_rows() {
    let scalar = Scanner::scalar();
    let escapes = ["\\u00e9", "\\u00g9", "\\u\"", "\\\\\\u12x", "\\x", "\\\\\\\\\""];
    for escape in escapes {
        for end in [512, 1024, WINDOW].into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
            for before in (end - 9..end + 2).step_by(if cfg!(miri) { 5 } else { 1 }) {
                let mut text = vec![b'a'; before];
                text[0] = b'"';
                text.extend_from_slice(escape.as_bytes());
                text.resize(text.len() + 700, b'b');
                let expected = scan(scalar, &text, &[64]);
                for cut in (before - 1).min(WINDOW)..=(before + escape.len() + 1).min(WINDOW) {
                    for (isa, scanner) in scanners() {
                        masks(scalar, scanner, &text, &[cut, WINDOW], isa);
                        let found = scan(scanner, &text, &[cut, WINDOW]);
                        assert_eq!(found, expected, "{isa:?}: {escape} at {before}, cut at {cut}");
                    }
                }
            }
        }
    }
}

#[test]
fn plain_ranges_have_no_backslash() {
    let mut random = ScanPrng(7);
    for (isa, scanner) in scanners() {
        let (mut carry, mut window) = (Carry::default(), Window::new());
        // A window leaves masks that a shorter one must not see.
        for len in [WINDOW, 0, 1, 63, 64, 65, 127, 128, 300, 512, 1000, WINDOW - 1, WINDOW] {
            let text: Vec<u8> = (0..len)
                .map(|_| if random.next().is_multiple_of(50) { b'\\' } else { b'a' })
                .collect();
            scanner.scan(&text, &mut carry, &mut window);
            for _ in 0..rounds(3000) {
                let from = random.next() as usize % (len + 1);
                let longest = [2, 64, 70, 200, WINDOW][random.next() as usize % 5];
                let to = len.min(from + random.next() as usize % (longest + 1));
                let expected = !text[from..to].contains(&b'\\');
                assert_eq!(window.is_plain(from, to), expected, "{isa:?} {len} {from}..{to}");
            }
        }
    }
}

/// Only the tokens, for ASCII texts that are too long for the quadratic definition.
fn define_ascii(text: &[u8]) -> Vec<usize> {
    let (mut tokens, mut in_string, mut escaped, mut scalar) = (Vec::new(), false, false, false);
    for (at, byte) in text.iter().enumerate() {
        let was_escaped = escaped;
        escaped = *byte == b'\\' && !was_escaped;
        let was_scalar = std::mem::take(&mut scalar);
        if in_string {
            in_string = *byte != b'"' || was_escaped;
        } else if *byte == b'"' && !was_escaped {
            in_string = true;
            tokens.push(at);
        } else if b"{}[]:,".contains(byte) {
            tokens.push(at);
        } else if *byte != b' ' {
            scalar = true;
            if !was_scalar {
                tokens.push(at);
            }
        }
    }
    tokens
}

#[test]
fn classes_have_no_byte_twice() {
    for byte in 0..=255u8 {
        let ByteClasses { quote, backslash, bracket, separator, white, control, high } =
            scalar::ScalarKernel.classify(&[byte; BLOCK]);
        let kinds = [quote, backslash, bracket, separator, white | control, high];
        assert!(kinds.iter().filter(|mask| **mask != 0).count() <= 1, "{byte:#x}");
    }
}

/// The seeds of the fuzzer and its earlier findings: `fuzz/README.md`.
#[test]
fn kernels_agree_on_what_is_fuzzed() {
    let mut count = 0;
    let most = if cfg!(miri) { 12 } else { usize::MAX };
    for kind in ["seeds", "regressions"] {
        let folder: std::path::PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "fuzz", kind, "scan_diff"].iter().collect();
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        for entry in entries.take(most) {
            compare(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
    }
    // A published package contains no seeds.
    let packaged = !std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").exists();
    assert!(count >= most.min(100) || packaged, "only {count} inputs");
}
