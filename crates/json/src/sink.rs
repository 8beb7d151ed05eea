//! The trait for receivers of output.
//!
//! A sink never fails: memory cannot, and a sink over a writer remembers its first error for the driver that owns it.
//! So the engine handles no I/O errors.

/// Receives the output in pieces, in order.
///
/// The slices are borrowed for the call only. A piece may have any size, and its boundaries have no meaning.
///
/// ```
/// use tamis::{Filter, Program, Sink, Spec};
///
/// #[derive(Default)]
/// struct Count(u64);
/// impl Sink for Count {
///     fn write(&mut self, bytes: &[u8]) {
///         self.0 += bytes.len() as u64;
///     }
/// }
///
/// let program = Program::compile(&Spec::new())?;
/// let mut count = Count::default();
/// let mut filter = Filter::new(&program, &mut count);
/// filter.write(b"[1, 2, 3]")?;
/// filter.end()?;
/// assert_eq!(count.0, "[1,2,3]".len() as u64);
/// # Ok::<(), tamis::Error>(())
/// ```
pub trait Sink {
    /// Takes the next bytes of the output.
    fn write(&mut self, bytes: &[u8]);

    /// Whether further output is pointless because the receiver is gone. A run may then stop early.
    fn is_closed(&self) -> bool {
        false
    }
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn write(&mut self, bytes: &[u8]) {
        (**self).write(bytes);
    }

    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn write(&mut self, bytes: &[u8]) {
        (**self).write(bytes);
    }

    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }
}
