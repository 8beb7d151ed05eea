//! The brackets that a kernel finds, against a stack.

use super::brackets::{UnpairedBrackets, collect, skip_rows};
use super::tests::{ScanPrng, rounds};
use super::{BLOCK, Carry, Kernel, Row, Scanner, Window};

/// The brackets of blocks `from..end`, by a stack: what they leave, and how many open. The kinds of a bracket are true for
/// objects, innermost first.
fn unpaired(
    window: &Window,
    text: &[u8],
    from: usize,
    end: usize,
) -> (Option<[Vec<bool>; 2]>, u32) {
    let (mut closing, mut opening, mut opened, mut fits) = (Vec::new(), Vec::new(), 0, true);
    for (at, byte) in text.iter().enumerate().take(end * BLOCK).skip(from * BLOCK) {
        if window.brackets(at / BLOCK) >> (at % BLOCK) & 1 == 0 {
            continue;
        }
        let object = matches!(byte, b'{' | b'}');
        if matches!(byte, b'{' | b'[') {
            opened += 1;
            opening.insert(0, object);
        } else if opening.is_empty() {
            closing.push(object);
        } else {
            fits &= opening.remove(0) == object;
        }
    }
    (fits.then_some([closing, opening]), opened)
}

/// Returns a text of brackets, flat or deep, with strings and white space between them. `wrong`: rarely, a bracket closes a
/// container of the other kind.
fn bracket_text(random: &mut ScanPrng, len: usize, wrong: bool, strings: &[&[u8]]) -> Vec<u8> {
    let (mut text, mut stack) = (Vec::new(), Vec::new());
    let (fill, deep) = (1 + random.next() % 12, random.next() % 4);
    while text.len() < len {
        let bits = random.next();
        let object = bits & 1 != 0;
        if bits >> 8 & 0xff < 16 {
            text.extend_from_slice(strings[(bits >> 40) as usize % strings.len()]);
        } else if bits >> 16 & 3 < deep {
            stack.push(object);
            text.push(if object { b'{' } else { b'[' });
        } else {
            // Nothing to close, or rarely the wrong kind.
            let object = stack.pop().unwrap_or(object) != (wrong && bits >> 24 & 63 == 0);
            text.push(if object { b'}' } else { b']' });
        }
        for _ in 0..bits >> 32 & 0xff {
            if random.next() % 16 < fill {
                text.push(b' ');
            } else {
                break;
            }
        }
    }
    text.truncate(len);
    text
}

/// Batches of brackets of generated texts: flat and deep, matching and not, with brackets in strings.
pub(super) fn check_bracket_batches<K: Kernel>(kernel: K) {
    let mut random = ScanPrng(9);
    let mut seen = [0; 3];
    for round in 0..rounds(3000) {
        let len = random.next() as usize % 1500;
        let text = bracket_text(&mut random, len, round % 3 == 0, &[b"\"]}[{\""]);
        let (mut carry, mut window) = (Carry::default(), Window::new());
        Scanner::scalar().scan(&text, &mut carry, &mut window);
        let blocks = len / BLOCK;
        let mut block = random.next() as usize % 3;
        let most = [1, 4, 16, 64][random.next() as usize % 4];
        while let Some((batch, end)) = collect(kernel, &window, &text, block, most) {
            let (expected, opened) = unpaired(&window, &text, block, end);
            let found = batch.unpaired.map(|unpaired| {
                let UnpairedBrackets { closing, closing_objects, opening, opening_objects } =
                    unpaired;
                let bits = |count, bits: u64| (0..count).map(|at| bits >> at & 1 != 0).collect();
                assert!(opening == 64 || opening_objects >> opening == 0);
                [bits(closing, closing_objects), bits(opening, opening_objects)]
            });
            assert_eq!((found, batch.opened), (expected, opened), "{}", text.escape_ascii());
            let count = |end| (block..end).map(|at| window.brackets(at).count_ones()).sum::<u32>();
            let full = end == blocks.min(block + most) || count(end + 1) > 64;
            assert!(full && count(end) <= 64, "{block}..{end}");
            seen[usize::from(batch.unpaired.is_none())] += 1;
            seen[2] += usize::from(count(end) == 64);
            block = end;
        }
        assert!(block >= blocks);
    }
    assert!(cfg!(miri) || seen.iter().all(|count| *count > 10), "{seen:?}");
}

/// Rows that are skipped, from every state: they have the brackets of a scan and lead to the same state, or are refused
/// because of an error.
pub(super) fn check_skipped_rows<K: Kernel>(kernel: K) {
    let strings: [&[u8]; 8] = [
        b"\"]}[{\"",
        b"\"\\\"]\"",
        b"\"\\\\\"",
        b"\"\\u00e9\\x\"",
        "\"\u{e9}\u{65e5}\u{1f600}\"".as_bytes(),
        b"1.5e+3",
        b"\n\t",
        b"\\",
    ];
    let errors: [&[u8]; 3] = [b"\"\t\"", b"\xff", b"\xe9"];
    let mut random = ScanPrng(11);
    let mut seen = [0; 3];
    for round in 0..rounds(3000) {
        let before = random.next() as usize % 70;
        let len = before + (random.next() as usize % 5) * size_of::<Row>();
        let mut text = bracket_text(&mut random, len, round % 3 == 0, &strings);
        if round % 5 == 0 {
            let error = errors[round % 3];
            let at = random.next() as usize % (len + 1).saturating_sub(error.len()).max(1);
            text.splice(at..(at + error.len()).min(len), error.iter().copied());
            text.truncate(len);
        }
        let (mut carry, mut window) = (Carry::default(), Window::new());
        let (begin, text) = text.split_at(before.min(text.len()));
        Scanner::scalar().scan(begin, &mut carry, &mut window);
        let (mut skipped, unchanged) = (carry.clone(), carry.clone());
        Scanner::scalar().scan(text, &mut carry, &mut window);
        let (expected, opened) = unpaired(&window, text, 0, text.len() / BLOCK);

        let (mut closing, mut opening, mut found) = (Vec::new(), Vec::new(), 0);
        let rows = text.as_chunks().0.as_chunks().0;
        let valid = skip_rows(kernel, rows, &mut skipped, |batch| {
            let Some(unpaired) = batch.unpaired else { return false };
            found += batch.opened;
            for at in 0..unpaired.closing {
                let object = unpaired.closing_objects >> at & 1 != 0;
                match opening.pop() {
                    Some(open) if open != object => return false,
                    Some(_) => {}
                    None => closing.push(object),
                }
            }
            let objects = (0..unpaired.opening).map(|at| unpaired.opening_objects >> at & 1 != 0);
            opening.extend(objects.rev());
            true
        });
        opening.reverse();
        let place = text.escape_ascii();
        if window.fatal().is_some() || expected.is_none() {
            assert!(!valid && skipped == unchanged, "after {before} bytes: {place}");
            seen[usize::from(expected.is_none())] += 1;
        } else {
            assert!(valid && skipped == carry, "after {before} bytes: {place}");
            assert_eq!((Some([closing, opening]), found), (expected, opened), "{place}");
            seen[2] += usize::from(!rows.is_empty());
        }
    }
    assert!(cfg!(miri) || seen.iter().all(|count| *count > 100), "{seen:?}");
}
