//! Reads the event that an agent sends: one JSON document on standard input.

use std::fs::File;
use std::io::{Read, Take};
use std::path::Path;

/// The longest event that is read, in bytes. Agents send outputs of commands in full.
pub const LONGEST_EVENT: u64 = 256 << 20;

/// The mark that some programs put before UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The event cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableEvent;

/// Reads the bytes of an event, without a byte order mark.
///
/// # Errors
/// Reading fails, or the event is too long.
pub fn read(input: &mut dyn Read) -> Result<Vec<u8>, UnreadableEvent> {
    let mut event = Vec::new();
    let mut limited: Take<&mut dyn Read> = input.take(LONGEST_EVENT + 1);
    let read = limited.read_to_end(&mut event).map_err(|_error| UnreadableEvent)?;
    if read as u64 > LONGEST_EVENT {
        return Err(UnreadableEvent);
    }
    if event.starts_with(BOM) {
        event.drain(..BOM.len());
    }
    Ok(event)
}

/// Reads a regular file that is text.
pub(super) fn read_text(path: &Path) -> Option<String> {
    if !path.is_absolute() || !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = File::open(path).ok()?.take(LONGEST_EVENT + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= LONGEST_EVENT).then_some(text)
}

/// Writes one JSON document on a line.
pub(super) fn written(answer: &impl serde::Serialize) -> Option<Vec<u8>> {
    let mut bytes = serde_json::to_vec(answer).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_byte_order_mark_is_no_part_of_an_event() {
        assert_eq!(read(&mut b"\xef\xbb\xbf{}".as_slice()), Ok(b"{}".to_vec()));
        assert_eq!(read(&mut b"{}".as_slice()), Ok(b"{}".to_vec()));
    }
}
