//! Lends windows for the time of a call.
//!
//! A window takes about 13 KiB and keeps nothing between calls. So each thread has a few of them, instead of one for each
//! machine: a machine that waits for input holds none, and a new one need not clear memory.

use std::cell::Cell;

use super::Window;

/// The number of windows that a thread keeps. More machines than that rarely run inside one another.
const KEPT: usize = 4;

thread_local! {
    static FREE: Cell<Vec<Box<Window>>> = const { Cell::new(Vec::new()) };
}

/// Calls a function with a window of this thread. The masks in it are those of any earlier scan.
#[inline]
pub fn with_window<T>(run: impl FnOnce(&mut Window) -> T) -> T {
    // While a thread ends, it has no windows.
    let free = FREE.try_with(|free| {
        let mut windows = free.take();
        let window = windows.pop();
        free.set(windows);
        window
    });
    let mut window = free.ok().flatten().unwrap_or_else(Window::new);
    let result = run(&mut window);
    _ = FREE.try_with(|free| {
        let mut windows = free.take();
        if windows.len() < KEPT {
            windows.push(window);
        }
        free.set(windows);
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_calls_have_windows_of_their_own() {
        fn nest(depth: usize) -> Vec<*const Window> {
            with_window(|window| {
                let mut inner = if depth == 0 { Vec::new() } else { nest(depth - 1) };
                inner.push(window);
                inner
            })
        }
        for _ in 0..2 {
            let mut windows = nest(2 * KEPT);
            windows.sort_unstable();
            windows.dedup();
            assert_eq!(windows.len(), 2 * KEPT + 1);
            assert_eq!(
                FREE.with(|free| {
                    let kept = free.take();
                    let len = kept.len();
                    free.set(kept);
                    len
                }),
                KEPT
            );
        }
    }

    #[test]
    fn a_window_is_used_again() {
        let address = |window: &mut Window| std::ptr::from_ref(window);
        assert_eq!(with_window(address), with_window(address));
    }
}
