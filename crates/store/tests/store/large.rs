//! A window of a large entry takes no more memory than the window, and reads no further than it must.

use std::io::Write;

use tamis::Sink;
use tamis_store::{EntryMeta, Scope, Store, StoreConfig, Window};

use super::put;

/// Bytes of the large entries.
const LARGE: usize = 200 << 20;
/// Memory that a read may take: buffers of the engine and of the stages.
const BUFFERS: u64 = 1 << 20;

#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

fn store(folder: &tempfile::TempDir) -> Store {
    Store::open(StoreConfig::folder(folder.path().join("store")))
}

/// Reads a window and checks what it took.
fn read(store: &Store, handle: &str, window: &Window, bytes: std::ops::Range<u64>) {
    let mut count = Count::default();
    let mut report = None;
    let took = allocation_counter::measure(|| {
        report = Some(store.read(&Scope::user(), handle, window, &mut count).unwrap());
    });
    assert!(bytes.contains(&count.0), "{window:?}: {} bytes", count.0);
    assert!(took.bytes_max < BUFFERS, "{window:?}: {} bytes of memory", took.bytes_max);
}

#[test]
#[cfg_attr(not(unix), ignore = "folders need a Unix system")]
fn windows_of_json_take_constant_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let meta = EntryMeta::json("x").with_items("/items");
    let mut writer = store.begin(Scope::user(), meta).unwrap();
    let item = format!(r#"{{"id":1,"text":"{}\n"}}"#, "[x, ".repeat(50));
    writer.write_all(br#"{"first":0,"items":["#).unwrap();
    let mut items = 0;
    while writer.written() < LARGE as u64 {
        writer.write_all(if items == 0 { b"" } else { b"," }).unwrap();
        writer.write_all(item.as_bytes()).unwrap();
        items += 1;
    }
    writer.write_all(br#"],"last":[1,2,3]}"#).unwrap();
    let handle = writer.finish().unwrap().to_string();
    let window = Window::new;
    let near_end = format!("{}-", items - 3);
    for (window, bytes) in [
        (window(), 16_384..16_385),
        (window().with_offset(190 << 20), 16_384..16_385),
        (window().with_pointer("/last/1").unwrap(), 1..2),
        (window().with_pointer("/items/400000/text").unwrap(), 201..202),
        (window().with_items("25-49").unwrap(), 5_000..6_000),
        (window().with_items(&near_end).unwrap(), 650..700),
        (window().with_items("0-").unwrap().with_select("id").unwrap(), 16_384..16_385),
        (window().with_pointer("/last").unwrap().with_lines("2").unwrap(), 5..6),
        (window().with_grep("\"last\"").unwrap().with_context(2).unwrap(), 50..100),
    ] {
        read(&store, &handle, &window, bytes);
    }
}

#[test]
#[cfg_attr(not(unix), ignore = "folders need a Unix system")]
fn windows_of_text_take_constant_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let mut writer = store.begin(Scope::user(), EntryMeta::text("x")).unwrap();
    let mut line = 0;
    while writer.written() < LARGE as u64 {
        line += 1;
        writeln!(writer, "{line}: {}", "nothing of interest ".repeat(10)).unwrap();
    }
    writer.write_all(b"error: the end\n").unwrap();
    // One line without an end.
    let long = vec![b'x'; 20 << 20];
    writer.write_all(&long).unwrap();
    let handle = writer.finish().unwrap().to_string();
    let window = Window::new;
    let last = format!("{line}-{}", line + 1);
    for (window, bytes) in [
        (window().with_offset(150 << 20), 16_384..16_385),
        (window().with_lines(&last).unwrap(), 200..300),
        (window().with_grep("^error").unwrap().with_context(1).unwrap(), 1_000..2_500),
        (window().with_grep("nothing").unwrap().with_offset(10 << 20), 16_384..16_385),
        (window().with_limit(None), (200 << 20)..(240 << 20)),
    ] {
        read(&store, &handle, &window, bytes);
    }
}

/// Writing streams, too: an entry in a folder takes the memory of a buffer.
#[test]
#[cfg_attr(not(unix), ignore = "folders need a Unix system")]
fn writing_takes_constant_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let piece = vec![b'x'; 64 << 10];
    let took = allocation_counter::measure(|| {
        let mut writer = store.begin(Scope::user(), EntryMeta::text("x")).unwrap();
        for _ in 0..800 {
            writer.write_all(&piece).unwrap();
        }
        writer.finish().unwrap();
    });
    assert!(took.bytes_max < 64 << 10, "{} bytes", took.bytes_max);
}

/// In memory an entry takes its own size, in pieces: growing never needs it twice.
#[test]
fn entries_in_memory_take_their_size() {
    let store = Store::open(StoreConfig::memory());
    let bytes = vec![b'x'; 10 << 20];
    let took = allocation_counter::measure(|| {
        put(&store, &Scope::process(), EntryMeta::text("x"), &bytes);
    });
    assert!(took.bytes_max < (10 << 20) + (256 << 10), "{} bytes", took.bytes_max);
}
