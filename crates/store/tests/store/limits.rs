//! Scopes, limits, and what is removed when a store is full.

use std::io::Write;
use std::time::Duration;

use tamis_store::{EntryMeta, Scope, Store, StoreConfig, StoreError, StoreLimits, Window};

use super::{TestClock, is_unknown, put, read, stores};

const MIB: u64 = 1 << 20;

#[test]
fn only_the_scope_of_an_entry_reads_it() {
    let (stores, _folder) = stores(|config| config);
    let scopes = [
        Scope::process(),
        Scope::user(),
        Scope::session(b"a"),
        Scope::session(b"b"),
        Scope::authorization(Some(b"a")),
        Scope::header("x-user", Some(b"a")),
        Scope::header("x-user", None),
    ];
    for (place, store) in stores {
        for owner in &scopes {
            let handle = put(&store, owner, EntryMeta::text("x"), b"secret");
            for reader in &scopes {
                assert_eq!(is_unknown(&store, reader, handle), owner != reader, "{place}");
            }
        }
        let open = put(&store, &Scope::authorization(None), EntryMeta::text("x"), b"open");
        assert!(scopes.iter().all(|reader| !is_unknown(&store, reader, open)));
    }
}

#[test]
fn unknown_handles_have_one_error() {
    let (stores, folder) = stores(|config| config);
    for (place, store) in stores {
        let handle = put(&store, &Scope::user(), EntryMeta::text("x"), b"a").to_string();
        let text = |handle: &str| {
            let error = store.read(&Scope::user(), handle, &Window::new(), &mut Vec::new());
            error.map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(text(&format!(" {handle}\n")), Ok(()), "{place}");
        for other in [
            "",
            "x",
            "../lock",
            "lock",
            &handle[1..],
            &handle.to_uppercase(),
            &format!("{handle}/"),
            "tm_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            let expected = Err("unknown or expired; call the tool again".to_owned());
            assert_eq!(text(other), expected, "{place}: {other}");
        }
        // A window that the entry cannot have does not reveal that the handle exists.
        let foreign = Window::new().with_items("1").unwrap();
        let error = store.read(&Scope::process(), &handle, &foreign, &mut Vec::new());
        assert_eq!(error.unwrap_err().to_string(), "unknown or expired; call the tool again");
    }
    // A store that was never written to has no folder.
    let unused = StoreConfig::folder(folder.path().join("unused"));
    let unused = Store::open(unused);
    let unknown =
        unused.read(&Scope::user(), &format!("tm_{:a<26}", ""), &Window::new(), &mut Vec::new());
    assert!(unknown.is_err() && unused.sweep().is_ok() && !folder.path().join("unused").exists());
}

#[test]
fn nothing_is_readable_before_the_end() {
    let (stores, folder) = stores(|config| config);
    for (place, store) in stores {
        let scope = Scope::user();
        let mut writer = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
        let handle = writer.handle();
        writer.write_all(b"half").unwrap();
        assert!(is_unknown(&store, &scope, handle), "{place}");
        drop(writer);
        assert!(is_unknown(&store, &scope, handle), "{place}");
        let mut writer = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
        writer.write_all(b"the beginning").unwrap();
        let handle = writer.finish_incomplete().unwrap();
        let (text, report) = read(&store, &scope, handle, &Window::new()).unwrap();
        assert_eq!((text.as_str(), report.entry_complete), ("the beginning", false), "{place}");
        assert_eq!(
            report.remark(),
            Some("the stored result has only the beginning: a limit was reached"),
            "{place}"
        );
    }
    if cfg!(unix) {
        let names = std::fs::read_dir(folder.path().join("store")).unwrap();
        assert_eq!(names.count(), 2, "the entry and the lock");
    }
}

#[test]
fn an_entry_that_outgrows_its_limit_is_dropped() {
    for entry in [0, 10, MIB - 1, MIB, MIB + 1, 3 * MIB] {
        let limits = StoreLimits::memory().with_entry(entry).with_total(16 * MIB);
        let (stores, _folder) = stores(|config| config.with_limits(limits.clone()));
        for (place, store) in stores {
            let scope = Scope::user();
            let exact = vec![b'x'; entry as usize];
            let handle = put(&store, &scope, EntryMeta::text("x"), &exact);
            let all = Window::new().with_limit(None);
            assert_eq!(read(&store, &scope, handle, &all).unwrap().1.bytes, entry, "{place}");
            let mut writer = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
            let handle = writer.handle();
            assert!(exact.is_empty() || writer.write_all(&exact).is_ok());
            assert!(writer.write_all(b"y").is_err() && writer.has_failed());
            // Later bytes are not stored either.
            assert!(writer.write_all(b"z").is_err());
            assert!(matches!(writer.finish(), Err(StoreError::TooLarge(limit)) if limit == entry));
            assert!(is_unknown(&store, &scope, handle), "{place}");
        }
    }
}

#[test]
fn the_last_command_is_found() {
    let clock = TestClock::default();
    let (stores, _folder) = stores(|config| {
        let clock = clock.clone();
        config.with_clock(move || clock.now())
    });
    for (place, store) in stores {
        let scope = Scope::user();
        let last = || store.latest_command(&scope).unwrap();
        assert_eq!(last(), None, "{place}");
        let entries = [
            (Scope::user(), EntryMeta::command("make")),
            (Scope::user(), EntryMeta::command("make again")),
            (Scope::session(b"a"), EntryMeta::command("ls")),
            (Scope::user(), EntryMeta::text("tool")),
        ];
        let handles = entries.map(|(scope, meta)| {
            clock.advance(1);
            put(&store, &scope, meta, b"x")
        });
        assert_eq!(last(), Some(handles[1]), "{place}");
        clock.advance(24 * 60 * 60);
        assert_eq!(last(), None, "{place}");
    }
}

#[test]
fn entries_expire() {
    let clock = TestClock::default();
    let limits = StoreLimits::memory().with_age(Duration::from_secs(100));
    let (stores, folder) = stores(|config| {
        let clock = clock.clone();
        config.with_limits(limits.clone()).with_clock(move || clock.now())
    });
    for (place, store) in stores {
        let scope = Scope::user();
        let first = put(&store, &scope, EntryMeta::text("x"), b"1");
        clock.advance(60);
        let second = put(&store, &scope, EntryMeta::text("x"), b"2");
        clock.advance(39);
        let seen = |handle| !is_unknown(&store, &scope, handle);
        assert_eq!([first, second].map(seen), [true, true], "{place}");
        clock.advance(1);
        assert_eq!([first, second].map(seen), [false, true], "{place}");
        store.sweep().unwrap();
        clock.advance(1_000);
        assert_eq!([first, second].map(seen), [false, false], "{place}");
        store.sweep().unwrap();
    }
    if cfg!(unix) {
        let names = std::fs::read_dir(folder.path().join("store")).unwrap();
        let names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
        assert_eq!(names, ["lock"]);
    }
}

/// The oldest entries make room, and no more of them than needed.
#[test]
fn a_full_store_removes_the_oldest() {
    let clock = TestClock::default();
    let limits = StoreLimits::memory().with_total(4 * MIB);
    let (stores, _folder) = stores(|config| {
        let clock = clock.clone();
        config.with_limits(limits.clone()).with_clock(move || clock.now())
    });
    for (place, store) in stores {
        let scope = Scope::user();
        let write = |kib: usize| {
            clock.advance(1);
            put(&store, &scope, EntryMeta::text("x"), &vec![b'x'; kib << 10])
        };
        let seen = |handle| !is_unknown(&store, &scope, handle);
        let [x, a, b, c] = [100, 1_000, 1_000, 1_000].map(write);
        assert_eq!([x, a, b, c].map(seen), [true; 4], "{place}");
        // The first one is enough.
        let d = write(10);
        assert_eq!([x, a, b, c, d].map(seen), [false, true, true, true, true], "{place}");
        // An entry that is being written makes room as it grows.
        let mut writer = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
        writer.write_all(&vec![b'x'; 3 << 20]).unwrap();
        let e = writer.finish().unwrap();
        assert_eq!([a, b, c, d, e].map(seen), [false, false, true, true, true], "{place}");
        // More than the whole store does not fit.
        let mut writer = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
        assert!(writer.write_all(&vec![b'x'; 5 << 20]).is_err());
        assert!(matches!(writer.finish(), Err(StoreError::Full(limit)) if limit == 4 * MIB));
        assert!(seen(write(1_900)), "{place}");
    }
}

/// A session that fills the store loses its own entries. It keeps no other session from storing, and no other loses any.
#[test]
fn a_full_store_takes_from_the_session_that_holds_most() {
    let clock = TestClock::default();
    let limits = StoreLimits::memory().with_total(8 * MIB).with_entry(MIB);
    let (stores, _folder) = stores(|config| {
        let clock = clock.clone();
        config.with_limits(limits.clone()).with_clock(move || clock.now())
    });
    for (place, store) in stores {
        let [small, large] = [Scope::session(b"small"), Scope::session(b"large")];
        let write = |scope: &Scope| {
            clock.advance(1);
            put(&store, scope, EntryMeta::text("x"), &vec![b'x'; 500 << 10])
        };
        let first = write(&small);
        let many: Vec<_> = (0..40).map(|_| write(&large)).collect();
        let seen = many.iter().filter(|handle| !is_unknown(&store, &large, **handle)).count();
        let most = if place == "memory" { 4 } else { 16 };
        assert!((most / 2..=most).contains(&seen), "{place}: {seen}");
        assert!(!is_unknown(&store, &large, many[39]) && is_unknown(&store, &large, many[0]));
        // The only entry of the other session is the oldest of all.
        assert!(!is_unknown(&store, &small, first), "{place}");
        for number in 0..50_u8 {
            write(&Scope::session(&[number]));
        }
        assert!(store.reserve_in(&small).is_ok() && store.reserve_in(&large).is_ok(), "{place}");
    }
}

/// While no other session has entries, a session may fill the store.
#[test]
fn a_session_alone_has_the_whole_memory() {
    let limits = StoreLimits::memory().with_total(8 * MIB).with_entry(MIB);
    let store = Store::open(StoreConfig::memory().with_limits(limits));
    let [alone, second] = [Scope::session(b"alone"), Scope::session(b"second")];
    let write = |scope: &Scope| put(&store, scope, EntryMeta::text("x"), &vec![b'x'; 500 << 10]);
    let seen = |all: &[_]| all.iter().filter(|it| !is_unknown(&store, &alone, **it)).count();
    let mut all: Vec<_> = (0..40).map(|_| write(&alone)).collect();
    assert!((12..=16).contains(&seen(&all)), "{}", seen(&all));
    let other = write(&second);
    all.push(write(&alone));
    assert!((2..=4).contains(&seen(&all)) && !is_unknown(&store, &alone, all[40]));
    assert!(!is_unknown(&store, &second, other));
}

#[test]
fn the_entries_of_an_ended_session_go_from_memory() {
    let (stores, _folder) = stores(|config| config);
    for (place, store) in stores {
        let [ended, other] = [Scope::session(b"1"), Scope::session(b"2")];
        let entries =
            [&ended, &ended, &other].map(|scope| put(&store, scope, EntryMeta::text("x"), b"text"));
        store.end_session(&ended);
        let scopes = [&ended, &ended, &other];
        let seen = [0, 1, 2].map(|at| !is_unknown(&store, scopes[at], entries[at]));
        let stays = place != "memory";
        assert_eq!(seen, [stays, stays, true], "{place}");
        store.end_session(&Scope::session(b"unknown"));
    }
}

#[test]
fn reservations_count() {
    let limits = StoreLimits::memory().with_total(3 * MIB + 4096);
    let (stores, _folder) = stores(|config| config.with_limits(limits.clone()));
    for (place, store) in stores {
        let three = [store.reserve(), store.reserve(), store.reserve()].map(Result::unwrap);
        assert!(matches!(store.reserve(), Err(StoreError::Full(_))), "{place}");
        let [first, _second, third] = three;
        drop(first);
        let writer = store.begin(Scope::user(), EntryMeta::text("x")).unwrap();
        assert!(matches!(store.reserve(), Err(StoreError::Full(_))), "{place}");
        // A complete entry takes its own size.
        writer.finish().unwrap();
        let again = store.reserve();
        assert!(again.is_ok(), "{place}");
        drop(third);
        assert!(store.reserve().is_ok(), "{place}");
    }
}

/// An entry of a known size reserves only that, and becomes what it becomes.
#[test]
fn a_reservation_has_the_size_that_is_known() {
    let limits = StoreLimits::memory().with_total(3 * MIB + 4096);
    let (stores, _folder) = stores(|config| config.with_limits(limits.clone()));
    let scope = Scope::user();
    for (place, store) in stores {
        for (known, written) in [(0, 0), (0, 5000), (1000, 1000), (1000, 10), (1000, MIB)] {
            let reservation = store.reserve_for(&scope, known).unwrap();
            let mut writer = reservation.begin(scope.clone(), EntryMeta::text("x"));
            writer.write_all(&vec![b'a'; written as usize]).unwrap();
            let handle = writer.finish().unwrap();
            let window = Window::new().with_limit(Some(16));
            let read = read(&store, &scope, handle, &window).unwrap().0;
            assert_eq!(read, "a".repeat(written.min(16) as usize), "{place} {known} {written}");
        }
        let many: Vec<_> = (0..100).map(|_| store.reserve_for(&scope, 1000)).collect();
        assert!(many.iter().all(Result::is_ok), "{place}");
    }
}

#[test]
fn a_handle_is_never_used_twice() {
    let (stores, _folder) = stores(|config| config.with_handles(|| [7; 16]));
    for (place, store) in stores {
        let scope = Scope::user();
        let writer = store.begin(scope.clone(), EntryMeta::text("x")).unwrap();
        assert_eq!(writer.handle().to_string(), "tm_a4dqobyha4dqobyha4dqobyha4", "{place}");
        assert!(matches!(store.reserve(), Err(StoreError::HandleTaken)), "{place}");
        let handle = writer.finish().unwrap();
        assert!(matches!(store.reserve(), Err(StoreError::HandleTaken)), "{place}");
        assert!(!is_unknown(&store, &scope, handle), "{place}");
    }
}

/// A reader keeps what it opened: an entry that is removed meanwhile is read to its end.
#[test]
fn threads_share_a_store() {
    let limits = StoreLimits::memory().with_total(8 * MIB);
    let (stores, _folder) = stores(|config| config.with_limits(limits.clone()));
    for (place, store) in stores {
        std::thread::scope(|threads| {
            for thread in 0..4_u8 {
                let store = &store;
                threads.spawn(move || {
                    let scope = Scope::session(&[thread]);
                    let window = Window::new().with_limit(None);
                    for size in 0..50_usize {
                        let bytes = vec![b'a' + thread; size * 997];
                        let Ok(mut writer) = store.begin(scope.clone(), EntryMeta::text("x"))
                        else {
                            continue;
                        };
                        writer.write_all(&bytes).unwrap();
                        let handle = writer.finish().unwrap();
                        // It may have been removed by another thread, but is never seen in part.
                        if let Ok((text, _)) = read(store, &scope, handle, &window) {
                            assert_eq!(text.as_bytes(), bytes, "{place}");
                        }
                    }
                });
            }
        });
    }
}
