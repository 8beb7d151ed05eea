//! simdjson for the benches: the functions of `peer.cpp`. Documents are followed by [`PADDING`] bytes; output is
//! appended as far as its capacity goes.
//!
//! All functions return `None` for a document that simdjson refuses. The crate does not depend on the benches.

/// The number of bytes after a document that simdjson may read.
pub const PADDING: usize = 64;

/// Whether simdjson was found when this was compiled.
pub const FOUND: bool = cfg!(found);

#[cfg(found)]
pub use peer::{dom, exclude, kernel, path, select, version};

#[cfg(found)]
mod peer {
    use std::ffi::c_char;

    use super::PADDING;

    #[repr(C)]
    struct View {
        data: *const c_char,
        length: usize,
    }

    impl View {
        fn of(text: &str) -> Self {
            Self { data: text.as_ptr().cast(), length: text.len() }
        }

        fn all(texts: &[&str]) -> Vec<Self> {
            texts.iter().map(|text| Self::of(text)).collect()
        }
    }

    #[repr(C)]
    struct Field {
        key: View,
        path: *const View,
        depth: usize,
    }

    unsafe extern "C" {
        fn tamis_simdjson_select(
            json: *const c_char,
            length: usize,
            capacity: usize,
            root: *const View,
            roots: usize,
            fields: *const Field,
            count: usize,
            out: *mut c_char,
            space: usize,
        ) -> usize;
        fn tamis_simdjson_exclude(
            json: *const c_char,
            length: usize,
            capacity: usize,
            names: *const View,
            count: usize,
            out: *mut c_char,
            space: usize,
        ) -> usize;
        fn tamis_simdjson_path(
            json: *const c_char,
            length: usize,
            capacity: usize,
            names: *const View,
            count: usize,
            out: *mut c_char,
            space: usize,
        ) -> usize;
        fn tamis_simdjson_dom(json: *const c_char, length: usize) -> bool;
        fn tamis_simdjson_version(length: *mut usize) -> *const c_char;
        fn tamis_simdjson_kernel(length: *mut usize) -> *const c_char;
    }

    /// Document, its length, and the length with padding.
    fn parts(padded: &[u8]) -> Option<(*const c_char, usize, usize)> {
        let length = padded.len().checked_sub(PADDING)?;
        Some((padded.as_ptr().cast(), length, padded.len()))
    }

    /// Appends what `write` writes into the free capacity.
    fn append(output: &mut Vec<u8>, write: impl FnOnce(*mut c_char, usize) -> usize) -> Option<()> {
        let free = output.spare_capacity_mut();
        let (start, space) = (free.as_mut_ptr().cast(), free.len());
        let written = write(start, space);
        if written > space {
            return None;
        }
        let length = output.len() + written;
        // SAFETY: `written` bytes of the free capacity were initialized.
        unsafe { output.set_len(length) };
        Some(())
    }

    /// Selects values of each item of the array at `root`, each under its key, in document order.
    pub fn select(
        padded: &[u8],
        root: &[&str],
        fields: &[(&str, &[&str])],
        output: &mut Vec<u8>,
    ) -> Option<()> {
        let (json, length, capacity) = parts(padded)?;
        let root = View::all(root);
        let paths: Vec<_> = fields.iter().map(|(_, path)| View::all(path)).collect();
        let fields: Vec<_> = (fields.iter().zip(&paths))
            .map(|((key, _), path)| Field {
                key: View::of(key),
                path: path.as_ptr(),
                depth: path.len(),
            })
            .collect();
        // SAFETY: all pointers are to slices of the given lengths, which outlive the call.
        append(output, |out, space| unsafe {
            tamis_simdjson_select(
                json,
                length,
                capacity,
                root.as_ptr(),
                root.len(),
                fields.as_ptr(),
                fields.len(),
                out,
                space,
            )
        })
    }

    /// The items of an array without some of their members.
    pub fn exclude(padded: &[u8], names: &[&str], output: &mut Vec<u8>) -> Option<()> {
        let (json, length, capacity) = parts(padded)?;
        let names = View::all(names);
        // SAFETY: as above.
        append(output, |out, space| unsafe {
            tamis_simdjson_exclude(json, length, capacity, names.as_ptr(), names.len(), out, space)
        })
    }

    /// The value at a path.
    pub fn path(padded: &[u8], names: &[&str], output: &mut Vec<u8>) -> Option<()> {
        let (json, length, capacity) = parts(padded)?;
        let names = View::all(names);
        // SAFETY: as above.
        append(output, |out, space| unsafe {
            tamis_simdjson_path(json, length, capacity, names.as_ptr(), names.len(), out, space)
        })
    }

    /// Parses everything into a tree.
    pub fn dom(padded: &[u8]) -> Option<()> {
        let (json, length, _) = parts(padded)?;
        // SAFETY: the pointer is valid for this many bytes and the padding after them.
        unsafe { tamis_simdjson_dom(json, length) }.then_some(())
    }

    /// Returns the version of simdjson.
    pub fn version() -> &'static str {
        // SAFETY: the function returns a static text and its length.
        unsafe { text(tamis_simdjson_version) }
    }

    /// Returns simdjson's name of the kernel of all its parsers, for which On-Demand was compiled.
    pub fn kernel() -> &'static str {
        // SAFETY: as above.
        unsafe { text(tamis_simdjson_kernel) }
    }

    /// Returns a static text of `peer.cpp`.
    ///
    /// # Safety
    ///
    /// `get` must return a pointer to a static text and write its length.
    unsafe fn text(get: unsafe extern "C" fn(*mut usize) -> *const c_char) -> &'static str {
        let mut length = 0;
        // SAFETY: the caller guarantees it.
        let bytes = unsafe {
            let data = get(&raw mut length);
            std::slice::from_raw_parts(data.cast::<u8>(), length)
        };
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

#[cfg(not(found))]
mod absent {
    /// simdjson is absent.
    pub fn select(_: &[u8], _: &[&str], _: &[(&str, &[&str])], _: &mut Vec<u8>) -> Option<()> {
        None
    }

    /// simdjson is absent.
    pub fn exclude(_: &[u8], _: &[&str], _: &mut Vec<u8>) -> Option<()> {
        None
    }

    /// simdjson is absent.
    pub fn path(_: &[u8], _: &[&str], _: &mut Vec<u8>) -> Option<()> {
        None
    }

    /// simdjson is absent.
    pub fn dom(_: &[u8]) -> Option<()> {
        None
    }

    /// simdjson is absent.
    pub fn version() -> &'static str {
        ""
    }

    /// simdjson is absent.
    pub fn kernel() -> &'static str {
        ""
    }
}

#[cfg(not(found))]
pub use absent::{dom, exclude, kernel, path, select, version};
