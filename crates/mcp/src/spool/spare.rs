//! Buffers of messages that are done, for the messages after them.
//!
//! An allocator returns large buffers to the system, and the first use of each new page takes the system about as long as
//! a filter takes for its bytes. So a few buffers are kept. Their contents are never read again.

use std::sync::{Mutex, PoisonError};

/// Buffers that are kept.
const MOST: usize = 6;

/// The capacities of buffers that are kept. An allocator is quick with smaller ones, and larger ones are rare.
const KEPT: std::ops::RangeInclusive<usize> = SMALLEST..=(1 << 20);

/// The smallest capacity of a buffer that is kept.
pub(super) const SMALLEST: usize = 32 << 10;

static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Returns an empty buffer with at least this capacity.
pub(super) fn take(capacity: usize) -> Vec<u8> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    // The largest one, so that a message that grows changes its buffer only once.
    let largest = spare.iter().enumerate().max_by_key(|(_, buffer)| buffer.capacity());
    let fitting = largest.filter(|(_, buffer)| buffer.capacity() >= capacity);
    let place = fitting.map(|(place, _)| place);
    let buffer = place.map(|place| spare.swap_remove(place));
    drop(spare);
    buffer.unwrap_or_else(|| Vec::with_capacity(capacity.next_power_of_two()))
}

/// Keeps a buffer for later, or frees it.
pub(super) fn give(mut buffer: Vec<u8>) {
    if !KEPT.contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    if spare.len() == MOST {
        // The smallest one is the least useful.
        let smallest = spare.iter().enumerate().min_by_key(|(_, other)| other.capacity());
        match smallest.map(|(place, other)| (place, other.capacity())) {
            Some((place, capacity)) if capacity < buffer.capacity() => {
                drop(spare.swap_remove(place));
            }
            _ => return,
        }
    }
    spare.push(buffer);
}

#[cfg(test)]
mod tests {
    use super::{SMALLEST, give, take};

    #[test]
    fn buffers_are_empty_and_large_enough() {
        for round in 0..20 {
            for capacity in [1, SMALLEST, 100_000, 1 << 20, 3 << 20] {
                let mut buffer = take(capacity);
                assert!(buffer.is_empty() && buffer.capacity() >= capacity, "{round} {capacity}");
                buffer.push(1);
                give(buffer);
            }
        }
    }
}
