//! Configuration files and flags, put together.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Config, ConfigFiles, ConfigFlags, ConfigPlaces};
use crate::rules::Profile;
use crate::spool::Spool;
use crate::{Action, Exchange, Proxy, Route, Session};

/// A home folder with a repository in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for folder in [".config/tamis", "repo/.git", "repo/a/b", "other"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        Self(home)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        fs::write(&path, format!("version: 1\n{text}")).unwrap();
        path
    }

    fn places(&self, working: &str) -> ConfigPlaces {
        let home: &Path = self.0.path();
        ConfigPlaces {
            home: Some(home.into()),
            config: Some(home.join(".config")),
            working: home.join(working),
        }
    }

    fn load(&self, working: &str, flags: &ConfigFlags) -> Result<Config, String> {
        Config::load(flags, &self.places(working)).map_err(|error| error.to_string())
    }

    fn profile(&self, working: &str, files: ConfigFiles) -> Profile {
        self.load(working, &ConfigFlags { files, ..ConfigFlags::default() }).unwrap().profile()
    }
}

#[test]
fn the_nearest_file_wins() {
    let home = Home::new();
    home.write(".config/tamis/tamis.yaml", "profile: tight\nfilters: {}\n");
    home.write("repo/tamis.yaml", "profile: lossless\nfilters: {}\n");
    for (working, files, expected) in [
        ("repo/a/b", ConfigFiles::Both, Profile::Lossless),
        ("repo", ConfigFiles::Both, Profile::Lossless),
        ("repo/a/b", ConfigFiles::User, Profile::Tight),
        ("repo/a/b", ConfigFiles::Project, Profile::Lossless),
        ("other", ConfigFiles::Both, Profile::Tight),
        ("other", ConfigFiles::Project, Profile::Standard),
    ] {
        assert_eq!(home.profile(working, files), expected, "{working} {files:?}");
    }
    // Files around the repository are not read.
    home.write("tamis.yaml", "profile: off\nfilters: {}\n");
    fs::remove_file(home.0.path().join("repo/tamis.yaml")).unwrap();
    assert_eq!(home.profile("repo/a/b", ConfigFiles::Both), Profile::Tight);
    assert_eq!(home.profile("other", ConfigFiles::Both), Profile::Off);
}

#[test]
fn a_named_file_replaces_the_one_that_was_found() {
    let home = Home::new();
    home.write("repo/tamis.yaml", "profile: tight\nfilters: {}\n");
    let named = home.write("other/mine.yaml", "service: github\nstore: off\nfilters: {}\n");
    let flags = ConfigFlags { manifests: vec![named], ..ConfigFlags::default() };
    let config = home.load("repo", &flags).unwrap();
    assert_eq!(config.profile(), Profile::Standard);
    assert!(config.store().is_none());
    assert_eq!(config.service.as_deref(), Some("github"));
    let flags = ConfigFlags { profile: Some(Profile::Off), ..flags };
    assert_eq!(home.load("repo", &flags).unwrap().profile(), Profile::Off);
}

#[test]
fn a_found_file_names_no_places() {
    let home = Home::new();
    for key in ["store: /tmp/x", "store: off", "service: github", "catalog: false"] {
        home.write("repo/tamis.yaml", &format!("{key}\nfilters: {{}}\n"));
        let error = home.load("repo/a", &ConfigFlags::default()).unwrap_err();
        assert!(error.contains("not allowed in a file that was found"), "{error}");
        // The same file, named, may say so.
        let manifests = vec![home.0.path().join("repo/tamis.yaml")];
        let flags = ConfigFlags { manifests, ..ConfigFlags::default() };
        assert!(home.load("repo/a", &flags).is_ok());
    }
}

#[test]
fn the_users_file_in_the_working_directory_is_not_found_again() {
    let home = Home::new();
    home.write(".config/tamis/tamis.yaml", "store: off\nfilters: {}\n");
    assert!(home.load(".config/tamis", &ConfigFlags::default()).unwrap().store().is_none());
}

#[test]
fn folders_are_expanded() {
    let home = Home::new();
    let places = home.places("repo");
    let file = home.0.path().join(".config/tamis/tamis.yaml");
    let root = home.0.path();
    for (path, file, expected) in [
        ("~", None, root.to_owned()),
        ("~/x", None, root.join("x")),
        ("/abs", None, PathBuf::from("/abs")),
        ("x", None, root.join("repo/x")),
        ("x", Some(file.as_path()), root.join(".config/tamis/x")),
        ("~x", None, root.join("repo/~x")),
    ] {
        assert_eq!(places.expand(path, file), Some(expected), "{path}");
    }
}

#[test]
fn the_users_rules_apply_with_those_of_a_project() {
    let home = Home::new();
    home.write(".config/tamis/tamis.yaml", "filters:\n  t: {exclude: [ssn], root: object}\n");
    home.write("repo/tamis.yaml", "filters:\n  t: {select: {x: ssn, id: id}, root: object}\n");
    let options = home.load("repo", &ConfigFlags::default()).unwrap().proxy_options().unwrap();
    let mut session = Session::new(&Proxy::new(options));
    let spool = |text: &str| Spool::from_vec(text.as_bytes().to_vec());
    let call = spool(r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#);
    session.from_client(&call, &mut Exchange::stdio());
    let response = spool(r#"{"id":1,"result":{"structuredContent":{"id":7,"ssn":8}}}"#);
    let Route::Run(job) = session.from_server(&response, &Exchange::stdio()) else { panic!() };
    let Action::Send(sent) = job.run(&response).action else { panic!() };
    let sent = String::from_utf8(sent.into_vec().unwrap()).unwrap();
    assert!(sent.contains(r#""structuredContent":{"id":7}"#), "{sent}");
}

/// A key that removes for safety counts in every file, and that of the server whose name is known.
#[test]
fn every_file_may_replace_values() {
    let home = Home::new();
    home.write(
        ".config/tamis/tamis.yaml",
        "filters: {}\nredact: {patterns: {badge: 'E-[0-9]+'}}\nservers: {crm: {redact: {personal: true}}, wiki: {redact: secrets}}\n",
    );
    let named = home.write("more.yaml", "filters: {}\nredact: {patterns: {room: 'R-[0-9]+'}}\n");
    let text = "E-1 R-2 mira@example.org postgres://svc:tide@db/x";
    for (name, manifests, kept) in [
        (Some("crm"), vec![named], vec!["tide"]),
        (Some("wiki"), Vec::new(), vec!["R-2", "mira"]),
        (Some("other"), Vec::new(), vec!["R-2", "mira", "tide"]),
        (None, Vec::new(), vec!["R-2"]),
    ] {
        let name = name.map(str::to_owned);
        let flags = ConfigFlags { name, manifests, off: true, ..ConfigFlags::default() };
        let config = home.load("other", &flags).unwrap();
        assert!(config.may_remove_for_safety());
        let mut session = Session::new(&Proxy::new(config.proxy_options().unwrap()));
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}"#;
        let call = Spool::from_vec(call.into());
        assert!(matches!(session.from_client(&call, &mut Exchange::stdio()), Route::Forward));
        let response = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        );
        let response = Spool::from_vec(response.into_bytes());
        let Route::Run(job) = session.from_server(&response, &Exchange::stdio()) else { panic!() };
        let Action::Send(shown) = job.run(&response).action else { panic!() };
        let shown = String::from_utf8(shown.into_vec().unwrap()).unwrap();
        for word in ["E-1", "R-2", "mira", "tide"] {
            assert_eq!(shown.contains(word), kept.contains(&word), "{kept:?}: {shown}");
        }
    }
}
