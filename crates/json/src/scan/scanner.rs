//! Chooses the fastest kernel that this CPU has.
//!
//! A kernel's value proves that the CPU has its instructions, so a wrong choice could only be slow, never unsound.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon::Neon;
use super::scalar::ScalarKernel;
use super::{BracketBatch, Carry, Kernel as _, Row, WINDOW, Window, WordMasks, WordMasksReader};
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512};

/// A kernel, chosen once.
#[derive(Clone, Copy, Debug)]
pub struct Scanner(KernelChoice);

#[derive(Clone, Copy, Debug)]
enum KernelChoice {
    Scalar(ScalarKernel),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon(Neon<false>),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    NeonPmull(Neon<true>),
}

/// Calls a method that all kernels have.
macro_rules! with_kernel {
    ($scanner:expr, $kernel:ident => $call:expr) => {
        match $scanner.0 {
            KernelChoice::Scalar($kernel) => $call,
            #[cfg(target_arch = "x86_64")]
            KernelChoice::Avx2($kernel) => $call,
            #[cfg(target_arch = "x86_64")]
            KernelChoice::Avx512($kernel) => $call,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            KernelChoice::Neon($kernel) => $call,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            KernelChoice::NeonPmull($kernel) => $call,
        }
    };
}

impl Scanner {
    /// Returns the scanner that every CPU runs, which is slow.
    pub(super) fn scalar() -> Self {
        Self(KernelChoice::Scalar(ScalarKernel))
    }

    /// Chooses the fastest kernel that this CPU runs.
    pub fn new() -> Self {
        let fastest = Isa::ALL.iter().rev().find_map(|isa| Self::with(*isa));
        fastest.unwrap_or_else(Self::scalar)
    }

    /// Returns the kernel with this [name](Isa::name), if this CPU runs it.
    pub fn named(name: &str) -> Option<Self> {
        Isa::ALL.iter().find(|isa| isa.name() == name).and_then(|isa| Self::with(*isa))
    }

    /// Returns the kernels that this CPU runs; the scalar one is the first.
    pub fn present() -> Vec<(Isa, Self)> {
        Isa::ALL.iter().filter_map(|isa| Some((*isa, Self::with(*isa)?))).collect()
    }

    /// Returns the instruction set of the kernel.
    pub fn isa(self) -> Isa {
        match self.0 {
            KernelChoice::Scalar(_) => Isa::Scalar,
            #[cfg(target_arch = "x86_64")]
            KernelChoice::Avx2(_) => Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            KernelChoice::Avx512(_) => Isa::Avx512,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            KernelChoice::Neon(_) => Isa::Neon,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            KernelChoice::NeonPmull(_) => Isa::NeonPmull,
        }
    }

    /// Returns the kernel for `isa`, if this CPU runs it.
    pub fn with(isa: Isa) -> Option<Self> {
        match isa {
            Isa::Scalar => Some(Self(KernelChoice::Scalar(ScalarKernel))),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Avx2::new().map(|kernel| Self(KernelChoice::Avx2(kernel))),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Avx512::new().map(|kernel| Self(KernelChoice::Avx512(kernel))),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Isa::Neon => Neon::<false>::new().map(|kernel| Self(KernelChoice::Neon(kernel))),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Isa::NeonPmull => {
                Neon::<true>::new().map(|kernel| Self(KernelChoice::NeonPmull(kernel)))
            }
        }
    }

    /// Scans `bytes`, at most [`WINDOW`] of them, into `window`.
    #[inline]
    pub fn scan(self, bytes: &[u8], carry: &mut Carry, window: &mut Window) {
        debug_assert!(bytes.len() <= WINDOW);
        window.scanner = self;
        with_kernel!(self, kernel => kernel.scan(bytes, carry, window));
    }

    /// Lists the positions of the tokens of a scanned window.
    #[inline]
    pub fn list_tokens(self, window: &mut Window) {
        with_kernel!(self, kernel => kernel.list_tokens(window));
    }

    /// Whether a text is valid UTF-8.
    #[cfg(test)]
    pub(super) fn is_utf8(self, text: &[u8]) -> bool {
        with_kernel!(self, kernel => kernel.is_utf8(text))
    }

    /// Writes the word classes of a text, from the block `first` on. Bytes before and after the text are in no class. Then
    /// lets a reader read them.
    pub fn words(
        self,
        bytes: &[u8],
        first: usize,
        masks: &mut WordMasks,
        then: impl WordMasksReader,
    ) {
        with_kernel!(self, kernel => kernel.words(bytes, first, masks, then));
    }

    /// Scans rows inside a container that is dropped, and passes all their brackets to `apply`, batch by batch.
    ///
    /// Returns `false` and leaves `carry` as it is if `apply` returns `false`, or if a byte is invalid whatever the grammar
    /// says. Errors in escapes are ignored. Also returns `false` if the kernel has no fast way.
    #[inline]
    pub fn skip(
        self,
        rows: &[Row],
        carry: &mut Carry,
        apply: impl FnMut(&BracketBatch) -> bool,
    ) -> bool {
        with_kernel!(self, kernel => kernel.skip(rows, carry, apply))
    }

    /// See [`Window::bracket_batch`].
    #[inline]
    pub(super) fn bracket_batch(
        self,
        window: &Window,
        text: &[u8],
        block: usize,
        most: usize,
    ) -> Option<(BracketBatch, usize)> {
        with_kernel!(self, kernel => kernel.bracket_batch(window, text, block, most))
    }
}

/// The instruction sets a kernel is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// None.
    Scalar,
    /// AVX2 of x86-64.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 of x86-64, with VBMI2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON of 64-bit Arm.
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon,
    /// NEON with polynomial multiplication.
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    NeonPmull,
}

impl Isa {
    /// All of this architecture, from slow to fast.
    pub const ALL: &[Self] = &[
        Self::Scalar,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        Self::Neon,
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        Self::NeonPmull,
    ];

    /// Returns the name that tests and benches use for the instruction set.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => "neon",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::NeonPmull => "neonpmull",
        }
    }
}
