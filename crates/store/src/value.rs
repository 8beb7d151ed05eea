//! A value of an entry, for a caller that passes it on: exactly what is stored, without marks for a reader.

use std::io::{ErrorKind, Read as _};

use tamis::spec::{OnError, Root, Validation, Whitespace};
use tamis::{Filter, Program, Sink, Spec};

use crate::backend::StoredEntry;
use crate::entry::{EntryKind, EntryMeta};
use crate::window::{ReadError, WindowError};

/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// A value of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// The entry that it is from.
    pub meta: EntryMeta,
    /// A JSON text, or a text.
    pub bytes: Vec<u8>,
}

impl StoredValue {
    pub(crate) fn read(
        entry: StoredEntry,
        pointer: Option<&str>,
        most: usize,
    ) -> Result<Self, ReadError> {
        let StoredEntry { header, mut bytes } = entry;
        let refuse = |why: String| ReadError::from(WindowError::new(why));
        if !header.complete {
            return Err(refuse("the stored result has only the beginning".to_owned()));
        }
        let too_long = || refuse(format!("the value has more than {most} bytes"));
        let pointer = pointer.filter(|pointer| !pointer.is_empty());
        let mut value = Bounded { bytes: Vec::new(), most, is_over: false };
        let mut chunk = vec![0; READ];
        let mut program = None;
        if let Some(pointer) = pointer {
            if header.meta.kind() == EntryKind::Text {
                return Err(refuse("pointer: the entry is text".to_owned()));
            }
            if !pointer.starts_with('/') {
                return Err(refuse(
                    "pointer: expected a JSON Pointer, which begins with `/`".to_owned(),
                ));
            }
            let spec = Spec::new().validation(Validation::Structure).on_error(OnError::Closed);
            let spec = spec.whitespace(Whitespace::Keep);
            let spec = spec.extract(pointer).root(Root::Object);
            program =
                Some(Program::compile(&spec).map_err(|error| refuse(error.message().to_owned()))?);
        } else if header.size > most as u64 {
            return Err(too_long());
        }
        let failed = |error: tamis::Error| refuse(error.message().to_owned());
        let mut filter = program.as_ref().map(|program| Filter::new(program, Vec::new()));
        loop {
            let count = match bytes.read(&mut chunk) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let read = chunk.get(..count).unwrap_or_default();
            match &mut filter {
                None => value.write(read),
                Some(filter) if count > 0 && !filter.is_done() => {
                    filter.write(read).map_err(failed)?;
                    value.write(&std::mem::take(filter.sink_mut()));
                }
                Some(_) => {}
            }
            if value.is_over {
                return Err(too_long());
            }
            if count == 0 {
                break;
            }
        }
        if let Some(mut filter) = filter {
            filter.end().map_err(failed)?;
            value.write(&filter.into_sink());
        }
        if value.is_over {
            return Err(too_long());
        }
        Ok(Self { meta: header.meta, bytes: value.bytes })
    }
}

/// Bytes up to a limit.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    is_over: bool,
}

impl Sink for Bounded {
    fn write(&mut self, bytes: &[u8]) {
        self.is_over |= self.bytes.len() + bytes.len() > self.most;
        if !self.is_over {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use crate::{EntryMeta, Scope, Store, StoreConfig};

    #[test]
    fn values_are_as_they_are_stored() {
        let store = Store::open(StoreConfig::memory());
        let scope = Scope::session(b"a");
        let put = |meta: EntryMeta, bytes: &[u8]| {
            let mut writer = store.begin(scope.clone(), meta).unwrap();
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap().to_string()
        };
        let text = "[tamis: not ours; tamis_retrieve(handle=\"x\")]\r\n\u{e9}";
        let handle = put(EntryMeta::text("t"), text.as_bytes());
        assert_eq!(store.value(&scope, &handle, None, 99).unwrap().bytes, text.as_bytes());
        let json = put(EntryMeta::json("t"), br#"{ "a": [1.10, {"b~/": "x\ny"}] }"#);
        for (pointer, expected) in [
            (None, r#"{ "a": [1.10, {"b~/": "x\ny"}] }"#),
            (Some(""), r#"{ "a": [1.10, {"b~/": "x\ny"}] }"#),
            (Some("/a"), r#"[1.10, {"b~/": "x\ny"}]"#),
            (Some("/a/0"), "1.10"),
            (Some("/a/1/b~0~1"), r#""x\ny""#),
        ] {
            let value = store.value(&scope, &json, pointer, 99).unwrap();
            assert_eq!(String::from_utf8(value.bytes).unwrap(), expected, "{pointer:?}");
        }
        for (handle, pointer, most, message) in [
            (&json, Some("/z"), 99, "/z"),
            (&json, Some("a"), 99, "JSON Pointer"),
            (&json, Some("/a"), 5, "more than 5 bytes"),
            (&json, None, 5, "more than 5 bytes"),
            (&handle, Some("/a"), 99, "is text"),
        ] {
            let error = store.value(&scope, handle, pointer, most).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let foreign = Scope::session(b"b");
        let error = store.value(&foreign, &json, None, 99).unwrap_err().to_string();
        assert_eq!(error, "unknown or expired; call the tool again");
        assert!(store.describe(&foreign, &json).is_err() && store.describe(&scope, &json).is_ok());
    }
}
