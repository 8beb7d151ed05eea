//! The imports of a package, file by file: from `use` items and from paths in code.
//!
//! A name that a file re-exports counts as an import from the file that defines it. `mod` items and re-exports are not
//! imports, nor is code in tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module: the names that lead to it from the root of its crate.
type Module = Vec<String>;

/// The files of a package below `src`.
pub(super) struct Package {
    pub(super) files: BTreeMap<Module, SourceFile>,
}

pub(super) struct SourceFile {
    /// From `src`.
    pub(super) path: PathBuf,
    /// The code: without comments, and without the tests at the end.
    code: String,
    /// The items that the file re-exports, by name.
    exported: BTreeMap<String, Vec<String>>,
}

/// An import: the module that it leads to, and the path as it was resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    pub(super) module: Module,
    pub(super) path: String,
}

impl Package {
    /// Reads all files below the folder of the package's sources.
    pub(super) fn read(src: &Path) -> Self {
        let mut paths = Vec::new();
        super::sources(src, &mut paths);
        let mut files = BTreeMap::new();
        for path in paths {
            let relative = path.strip_prefix(src).expect("a file below it").to_path_buf();
            let mut module: Module = relative
                .with_extension("")
                .components()
                .map(|part| part.as_os_str().to_str().expect("a UTF-8 name").to_owned())
                .collect();
            if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                module.pop();
            }
            if module.iter().any(|name| name == "tests") {
                continue;
            }
            let code = code(&fs::read_to_string(&path).expect("the file can be read"));
            let file = SourceFile { path: relative, code, exported: BTreeMap::new() };
            files.insert(module, file);
        }
        let mut package = Self { files };
        let modules: Vec<Module> = package.files.keys().cloned().collect();
        for module in modules {
            let mut exported = BTreeMap::new();
            for (is_public, tree) in uses(&package.files[&module].code) {
                for (path, name) in expand(&tree).into_iter().filter(|_| is_public) {
                    if let Some(path) = package.absolute(&module, &path) {
                        exported.insert(name, path);
                    }
                }
            }
            package.files.get_mut(&module).expect("it is one of them").exported = exported;
        }
        package
    }

    /// The imports of a file.
    pub(super) fn imports(&self, module: &Module) -> BTreeSet<Import> {
        let code = &self.files[module].code;
        let mut paths: Vec<Vec<String>> = uses(code)
            .into_iter()
            .filter(|(is_public, _)| !is_public)
            .flat_map(|(_, tree)| expand(&tree))
            .map(|(path, _)| path)
            .collect();
        paths.extend(paths_in(code));
        let found =
            paths.into_iter().filter_map(|path| self.resolve(self.absolute(module, &path)?));
        found.filter(|import| import.module != *module).collect()
    }

    /// A path from the root of the crate; `None` if it leads to another crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let mut base = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => module.clone(),
            first => {
                let child = [&module[..], &[first.to_owned()]].concat();
                return self.files.contains_key(&child).then(|| [&module[..], path].concat());
            }
        };
        let mut rest = path;
        while let Some((first, more)) = rest.split_first() {
            match first.as_str() {
                "crate" | "self" => {}
                "super" => _ = base.pop(),
                _ => break,
            }
            rest = more;
        }
        Some([&base[..], rest].concat())
    }

    /// The file that defines what a path names, after re-exports.
    fn resolve(&self, mut path: Vec<String>) -> Option<Import> {
        // Each step follows one re-export.
        for _ in 0..10 {
            let length =
                (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
            let (module, rest) = path.split_at(length);
            let target = rest.first().and_then(|name| self.files[module].exported.get(name));
            match target {
                Some(target) => path = [&target[..], &rest[1..]].concat(),
                None => return Some(Import { module: module.to_vec(), path: path.join("::") }),
            }
        }
        None
    }

    /// Groups of files that import one another, directly or through others of the group, each with two files or more. The
    /// root is left out, because it exports all others.
    pub(super) fn circles(&self) -> Vec<Vec<PathBuf>> {
        let imported: BTreeMap<&Module, BTreeSet<Module>> = self
            .files
            .keys()
            .map(|module| {
                if module.is_empty() {
                    return (module, BTreeSet::new());
                }
                let imports = self.imports(module).into_iter();
                (module, imports.map(|import| import.module).collect())
            })
            .collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = imported
            .keys()
            .map(|module| {
                let (mut reached, mut open) = (BTreeSet::new(), vec![*module]);
                while let Some(next) = open.pop() {
                    open.extend(imported[next].iter().filter(|module| reached.insert(*module)));
                }
                (*module, reached)
            })
            .collect();
        let mut circles = BTreeSet::new();
        for (module, others) in &reached {
            let back = others.iter().filter(|other| reached[*other].contains(module));
            let circle: BTreeSet<&PathBuf> = back.map(|other| &self.files[*other].path).collect();
            if circle.len() > 1 {
                circles.insert(circle.into_iter().cloned().collect::<Vec<_>>());
            }
        }
        circles.into_iter().collect()
    }
}

/// A file without comments, without the tests at its end, and with `pub` for visibilities that name a module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let line = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        match code.split_once("pub(in ") {
            Some((before, after)) => {
                format!("{before}pub{}", after.split_once(')').map_or("", |(_, rest)| rest))
            }
            None => code.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The `use` items of a file: whether they re-export, and the text between `use` and `;`.
fn uses(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    for item in code.split_inclusive(';') {
        let Some(begin) = use_item(item) else { continue };
        let line = item[..begin].rsplit('\n').next().unwrap_or_default();
        let before = item[..begin - line.len()].trim_end();
        if before.ends_with("#[cfg(test)]") {
            continue;
        }
        let tree = item[begin + 4..].trim_end_matches(';');
        let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
        found.push((line.trim().starts_with("pub"), tree));
    }
    found
}

/// The place of the word `use` in a text that ends with a `use` item.
fn use_item(item: &str) -> Option<usize> {
    let begin = item.rfind("use ")?;
    let line = item[..begin].rsplit('\n').next().unwrap_or_default().trim();
    // The word may be in a text.
    let is_path = |char: char| char.is_alphanumeric() || "_:{},* \n\t;".contains(char);
    let is_item = line.is_empty() || line.starts_with("pub");
    (is_item && item[begin + 4..].chars().all(is_path)).then_some(begin)
}

/// All paths of a use tree, each with the name that it gets here.
fn expand(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        path.retain(|part| part != "*" && !part.is_empty());
        let name = if name.is_empty() {
            path.last().cloned().unwrap_or_default()
        } else {
            name.to_owned()
        };
        return vec![(path, name)];
    };
    let prefix = tree[..open].trim_end_matches("::");
    let inner = &tree[open + 1..tree.rfind('}').expect("the brace is closed")];
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for char in inner.chars() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is one").push(char);
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expand(&format!("{prefix}::{}", part.trim()))).collect()
}

/// Paths in code outside of `use` items: from the crate, from the parent module, and from a name of the file, which may be a
/// child module. Names of types and of other crates lead nowhere.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let is_path = |char: char| char.is_alphanumeric() || "_:$".contains(char);
    let mut found = Vec::new();
    for item in code.split_inclusive(';') {
        let mut rest = &item[..use_item(item).unwrap_or(item.len())];
        while let Some(begin) = rest.find(is_path) {
            let end = rest[begin..].find(|char| !is_path(char)).map_or(rest.len(), |at| begin + at);
            // `name::<Type>`
            let word = rest[begin..end].trim_end_matches("::");
            let path: Vec<String> = word.split("::").map(str::to_owned).collect();
            if path.len() > 1 && path.iter().all(|part| !part.is_empty() && !part.contains(':')) {
                found.push(path);
            }
            rest = &rest[end..];
        }
    }
    found
}
