//! A panic that a test asks for, to show that a failed filter never ends a response cleanly. Only in builds with debug
//! assertions, and only if the environment has `TAMIS_TEST_PANIC`.

use http::HeaderMap;

/// Returns after how many bytes of a response its filter has to panic. `None`: never.
pub(super) fn panic_after(headers: &HeaderMap) -> Option<u64> {
    if !cfg!(debug_assertions) || std::env::var_os("TAMIS_TEST_PANIC").is_none() {
        return None;
    }
    headers.get("x-tamis-test-panic")?.to_str().ok()?.parse().ok()
}

/// Panics once the bytes have arrived.
#[expect(clippy::panic, reason = "a test asks for it")]
pub(super) fn count(left: &mut Option<u64>, bytes: usize) {
    if let Some(now) = left {
        match now.checked_sub(bytes as u64) {
            Some(rest) => *now = rest,
            None => panic!("a test asked for this panic"),
        }
    }
}
