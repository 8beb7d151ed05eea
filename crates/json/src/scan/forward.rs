//! Macros for what all kernels have alike: entry points with the features of a kernel, and methods that call its functions.
//!
//! A function with `target_feature` is inlined only into functions with the same features. So the generic algorithm is
//! compiled once per kernel, inside an entry point, and the methods of [`Kernel`](super::Kernel) are inlined into it.

/// The methods of [`Kernel`](super::Kernel) through which the scanner enters the algorithm, compiled with these features.
#[cfg(target_arch = "x86_64")]
macro_rules! entry_points {
    ($features:literal) => {
        fn scan(
            self,
            bytes: &[u8],
            carry: &mut crate::scan::Carry,
            window: &mut crate::scan::Window,
        ) {
            #[target_feature(enable = $features)]
            fn scan(
                kernel: impl crate::scan::Kernel,
                bytes: &[u8],
                carry: &mut crate::scan::Carry,
                window: &mut crate::scan::Window,
            ) {
                crate::scan::scan_with(kernel, bytes, carry, window);
            }
            // SAFETY: a value of this type exists only if `new` found the features.
            unsafe { scan(self, bytes, carry, window) }
        }

        fn list_tokens(self, window: &mut crate::scan::Window) {
            #[target_feature(enable = $features)]
            fn list(kernel: impl crate::scan::Kernel, window: &mut crate::scan::Window) {
                crate::scan::list_tokens(kernel, window);
            }
            // SAFETY: as in `scan`.
            unsafe { list(self, window) }
        }

        fn bracket_batch(
            self,
            window: &crate::scan::Window,
            text: &[u8],
            block: usize,
            most: usize,
        ) -> Option<(crate::scan::BracketBatch, usize)> {
            #[target_feature(enable = $features)]
            fn batch(
                kernel: impl crate::scan::Kernel,
                window: &crate::scan::Window,
                text: &[u8],
                block: usize,
                most: usize,
            ) -> Option<(crate::scan::BracketBatch, usize)> {
                crate::scan::brackets::bracket_batch(kernel, window, text, block, most)
            }
            // SAFETY: as in `scan`.
            unsafe { batch(self, window, text, block, most) }
        }

        fn skip(
            self,
            rows: &[crate::scan::Row],
            carry: &mut crate::scan::Carry,
            apply: impl FnMut(&crate::scan::BracketBatch) -> bool,
        ) -> bool {
            #[target_feature(enable = $features)]
            fn skip(
                kernel: impl crate::scan::Kernel,
                rows: &[crate::scan::Row],
                carry: &mut crate::scan::Carry,
                apply: impl FnMut(&crate::scan::BracketBatch) -> bool,
            ) -> bool {
                crate::scan::brackets::skip(kernel, rows, carry, apply)
            }
            // SAFETY: as in `scan`.
            unsafe { skip(self, rows, carry, apply) }
        }
    };
}

/// Methods that call the functions of the same name, which need the features of the kernel.
macro_rules! call_functions {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: $type),*) $(-> $result)? {
                // SAFETY: a value of this type exists only if `new` found the features.
                unsafe { $name($($arg),*) }
            }
        )*
    };
}

pub(super) use call_functions;
#[cfg(target_arch = "x86_64")]
pub(super) use entry_points;
