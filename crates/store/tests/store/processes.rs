//! A folder that several processes use at once, and processes that are killed while they write.
//!
//! The other processes are this test binary. An environment variable names their task.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sha2::{Digest as _, Sha256};
use tamis_store::{
    EntryMeta, Handle, ReadError, Scope, Store, StoreConfig, StoreError, StoreLimits, Window,
};

use super::{is_unknown, put, read};

/// The variables that name the task of a process, and the folder.
const TASK: &str = "TAMIS_TEST_STORE_TASK";
const FOLDER: &str = "TAMIS_TEST_STORE_FOLDER";
/// All entries and reservations together, in every test of this file.
const TOTAL: u64 = 6 << 20;

fn store(folder: &Path) -> Store {
    let limits = StoreLimits::folder().with_total(TOTAL);
    Store::open(StoreConfig::folder(folder).with_limits(limits))
}

/// The other processes run only this test.
#[test]
fn other_process() {
    let (Ok(task), Some(folder)) = (std::env::var(TASK), std::env::var_os(FOLDER)) else { return };
    let store = store(Path::new(&folder));
    let scope = Scope::user();
    let mut out = std::io::stdout();
    match task.as_str() {
        // Writes more entries than fit, and names each.
        "fill" => {
            for size in 0..100 {
                let mut writer = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
                writer.write_all(&vec![b'x'; (size % 7) * 10_000]).unwrap();
                writeln!(out, "handle {}", writer.finish().unwrap()).unwrap();
            }
        }
        // Begins an entry, names it, and waits to be killed.
        "hang" => {
            let mut writer = store.begin(scope, EntryMeta::text("x")).unwrap();
            writer.write_all(&vec![b'x'; 3 << 20]).unwrap();
            writeln!(out, "handle {}", writer.handle()).unwrap();
            out.flush().unwrap();
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        other => panic!("{other}"),
    }
}

/// Starts another process.
fn start(task: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::other_process", "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the handles that a process names, up to its end or to the first one.
fn handles(child: &mut Child, only_first: bool) -> Vec<String> {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
    // The harness may write its own text before the first line.
    let handles = lines.filter_map(|line| Some(line.split_once("handle ")?.1.trim().to_owned()));
    handles.take(if only_first { 1 } else { usize::MAX }).collect()
}

/// Bytes of all files, as their lengths say.
fn bytes(folder: &Path) -> u64 {
    std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn processes_share_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("store");
    let mut children: Vec<Child> = (0..4).map(|_| start("fill", &folder)).collect();
    let mut all = Vec::new();
    for child in &mut children {
        all.extend(handles(child, false));
        assert!(child.wait().unwrap().success());
    }
    assert!(bytes(&folder) <= TOTAL, "{}", bytes(&folder));
    // Old ones made room. Each of the others has its own size.
    let store = store(&folder);
    assert_eq!(all.len(), 400);
    let mut kept = 0;
    for handle in &all {
        let mut out = Vec::new();
        let window = Window::new().with_limit(None);
        if store.read(&Scope::user(), handle, &window, &mut out).is_ok() {
            kept += 1;
            assert!(out.len().is_multiple_of(10_000) && out.iter().all(|byte| *byte == b'x'));
        }
    }
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, kept + 1, "the entries and the lock");
    assert!((50..400).contains(&kept), "{kept}");
}

#[test]
fn a_killed_writer_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("store");
    let store = store(&folder);
    let kept = put(&store, &Scope::user(), EntryMeta::text("x"), b"kept");
    let mut child = start("hang", &folder);
    let begun = handles(&mut child, true).remove(0);
    // Its reservation counts while it lives.
    assert!(bytes(&folder) >= 3 << 20);
    assert!(matches!(
        store
            .begin(Scope::user(), EntryMeta::text("x"))
            .map(|mut writer| { writer.write_all(&vec![b'y'; 3 << 20]).is_ok() }),
        Ok(false)
    ));
    // Killed, not asked: the process cleans nothing up.
    child.kill().unwrap();
    child.wait().unwrap();
    let unknown = store.read(&Scope::user(), &begun, &Window::new(), &mut Vec::new());
    assert!(matches!(unknown, Err(ReadError::Unknown)));
    // The next reservation removes its file and has its room.
    drop(store.reserve().unwrap());
    assert!(bytes(&folder) < 4_096, "{}", bytes(&folder));
    put(&store, &Scope::user(), EntryMeta::text("x"), &vec![b'y'; 5 << 20]);
    assert_eq!(read(&store, &Scope::user(), kept, &Window::new()).unwrap().0, "kept");
}

#[test]
fn only_the_owner_has_access() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("a/store");
    let store_in_folder = store(&folder);
    let handle = put(&store_in_folder, &Scope::user(), EntryMeta::text("x"), b"secret");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    // A folder that others can enter is used neither for writing nor for reading.
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o750)).unwrap();
    assert!(matches!(store_in_folder.reserve(), Err(StoreError::Io(_))));
    let refused = read(&store_in_folder, &Scope::user(), handle, &Window::new());
    assert!(matches!(refused, Err(ReadError::Io(_))));
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
    // A link to a folder and a file are not used either.
    let link = root.path().join("link");
    symlink(&folder, &link).unwrap();
    assert!(matches!(store(&link).reserve(), Err(StoreError::Io(_))));
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(store(&file).reserve(), Err(StoreError::Io(_))));
    assert!(!is_unknown(&store_in_folder, &Scope::user(), handle));
}

/// The name of the file of an entry.
fn file_name(handle: Handle) -> String {
    let hash = Sha256::digest(handle.to_string());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A list of the files reveals no handle.
#[test]
fn files_are_not_named_by_handles() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("store");
    let store = store(&folder);
    let scope = Scope::user();
    let handle = put(&store, &scope, EntryMeta::text("x"), b"some text");
    let pending = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
    let parts = [file_name(handle), format!(".{}.part", file_name(pending.handle()))];
    let mut expected: Vec<String> = parts.into_iter().chain(["lock".to_owned()]).collect();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    drop(pending);
    // A file under the name of another entry is not that entry.
    let other = put(&store, &scope, EntryMeta::text("x"), b"other text");
    std::fs::copy(folder.join(file_name(handle)), folder.join(file_name(other))).unwrap();
    assert!(is_unknown(&store, &scope, other));
    assert!(!is_unknown(&store, &scope, handle));
    // An earlier version named files by handles.
    let older = folder.join(handle.to_string());
    std::fs::write(&older, "x").unwrap();
    store.sweep().unwrap();
    assert!(older.exists());
    let old = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::open(&older).unwrap().set_modified(old).unwrap();
    store.sweep().unwrap();
    assert!(!older.exists());
}

#[test]
fn damaged_and_foreign_files_are_no_entries() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("store");
    let store = store(&folder);
    let scope = Scope::user();
    let write = || put(&store, &scope, EntryMeta::text("x"), b"some text");
    let path = |handle: Handle| folder.join(file_name(handle));
    // The end of the file is missing, as after a power failure.
    for length in [0, 10, 1023, 1024, 1024 + 8] {
        let handle = write();
        let file = std::fs::OpenOptions::new().write(true).open(path(handle)).unwrap();
        file.set_len(length).unwrap();
        assert!(is_unknown(&store, &scope, handle), "{length}");
    }
    // Bytes follow, or the header is not one.
    let longer = write();
    let mut file = std::fs::OpenOptions::new().append(true).open(path(longer)).unwrap();
    file.write_all(b"x").unwrap();
    let other = write();
    std::fs::write(path(other), vec![b'x'; 2_000]).unwrap();
    // A link to a complete entry, and a folder.
    let (whole, linked, replaced) = (write(), write(), write());
    std::fs::remove_file(path(linked)).unwrap();
    symlink(path(whole), path(linked)).unwrap();
    std::fs::remove_file(path(replaced)).unwrap();
    std::fs::create_dir(path(replaced)).unwrap();
    for handle in [longer, other, linked, replaced] {
        assert!(is_unknown(&store, &scope, handle));
    }
    assert!(!is_unknown(&store, &scope, whole));
    // Files of others are left alone.
    let mine = folder.join("mine.txt");
    std::fs::write(&mine, "mine").unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::open(&mine).unwrap().set_modified(old).unwrap();
    store.sweep().unwrap();
    assert!(mine.exists() && path(linked).symlink_metadata().is_ok() && path(replaced).exists());
}
