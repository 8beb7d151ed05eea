//! Whether a file that agents start can be replaced by somebody else, or by a command in a sandbox.
//!
//! Agents start hooks and servers outside of their sandboxes. So the file, all folders above it and all links on the way must
//! belong to the user or to root, and none may lie where a sandboxed command can write.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};

use super::json;
use super::places::{Places, Scope};
use super::toml_text::TomlText;
use crate::agent::Agent;

/// The most links on the way to a file.
const MOST_LINKS: usize = 40;

/// Why a file should not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathFault {
    /// A sentence without a full stop.
    pub(crate) text: String,
    /// Whether an installation is refused. Otherwise it is a warning.
    pub(crate) is_refusal: bool,
}

impl PathFault {
    fn refusal(text: String) -> Self {
        Self { text, is_refusal: true }
    }
}

/// Examines the path of a program for an agent.
pub(crate) fn examine(file: &Path, places: &Places, agent: Agent) -> Vec<PathFault> {
    examined(file, places, agent, true)
}

/// Examines the folder of a script for an agent. Its place is the home folder of the user, so it is only warned of; the script
/// itself does nothing below the working directory and `$TMPDIR`.
pub(crate) fn examine_folder(folder: &Path, places: &Places, agent: Agent) -> Vec<PathFault> {
    examined(folder, places, agent, false)
}

fn examined(file: &Path, places: &Places, agent: Agent, is_program: bool) -> Vec<PathFault> {
    let steps = match steps(file) {
        Ok(steps) => steps,
        Err(error) => {
            let text = format!("{} cannot be examined: {error}", places.shown(file));
            return vec![PathFault::refusal(text)];
        }
    };
    let mut faults = Vec::new();
    faults.extend(
        place_fault(&steps, places, agent)
            .map(|fault| PathFault { is_refusal: is_program, ..fault }),
    );
    #[cfg(unix)]
    faults.extend(steps.iter().filter_map(|step| unix::fault(step, places)));
    faults
}

/// A folder, a link or the file itself.
struct PathStep {
    path: PathBuf,
    data: Metadata,
}

/// Follows a path from the root to the file.
fn steps(file: &Path) -> std::io::Result<Vec<PathStep>> {
    let owned = |path: &Path| -> VecDeque<OsString> {
        path.components().map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut rest, mut at) = (owned(file), PathBuf::new());
    let (mut found, mut links) = (Vec::new(), 0);
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            Some(Component::CurDir) | None => continue,
            _ => {}
        }
        let path = at.join(&part);
        let data = path.symlink_metadata()?;
        if data.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(std::io::Error::other("there are too many links"));
            }
            let mut target = owned(&path.read_link()?);
            target.append(&mut rest);
            rest = target;
        } else {
            at.clone_from(&path);
        }
        found.push(PathStep { path, data });
    }
    Ok(found)
}

/// Returns why a program must not be installed from the place of this file.
fn place_fault(steps: &[PathStep], places: &Places, agent: Agent) -> Option<PathFault> {
    let below = |folder: &Path| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let is_in = |step: &PathStep| {
            [folder, &real]
                .iter()
                .any(|folder| step.path != **folder && step.path.starts_with(folder))
        };
        // All files are below the root.
        (folder.components().count() > 1).then(|| steps.iter().find(|step| is_in(step))).flatten()
    };
    let refuse = |step: &PathStep, text: String| {
        Some(PathFault::refusal(format!("{} {text}", places.shown(&step.path))))
    };
    let install = "install it with: cargo install tamis-cli tamis-gateway";
    for step in steps {
        let name = step.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if matches!(name, "_npx" | "node_modules") {
            return refuse(step, format!("is replaced by npm; {install}"));
        }
        if step.path.ends_with(".cache/uv") || step.path.ends_with("Library/Caches/uv") {
            return refuse(step, format!("is a cache; {install}"));
        }
        if step.data.is_dir() && step.path.join("pyvenv.cfg").exists() {
            return refuse(step, format!("is a virtual environment; {install}"));
        }
    }
    for folder in &places.temporary {
        if let Some(step) = below(folder) {
            return refuse(step, "is in a folder for temporary files".to_owned());
        }
    }
    // Users also install from their home folder. In sessions that begin there, entries do nothing.
    if !places.home.starts_with(&places.working)
        && let Some(step) = below(&places.working)
    {
        return refuse(step, "is below the working directory".to_owned());
    }
    writable_roots(places, agent).iter().find_map(|folder| {
        let shown = places.shown(folder);
        refuse(below(folder)?, format!("is below {shown}, where {agent} lets commands write"))
    })
}

/// Returns the folders to which the settings of an agent let sandboxed commands write, besides the working directory.
///
/// The names are those of the settings references of Claude Code (`sandbox.filesystem.allowWrite`,
/// `permissions.additionalDirectories`) and Codex (`sandbox_workspace_write.writable_roots`).
fn writable_roots(places: &Places, agent: Agent) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for scope in [Scope::User, Scope::Project] {
        let folder = places.folder(agent, scope);
        match agent {
            Agent::ClaudeCode => {
                for name in ["settings.json", "settings.local.json"] {
                    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
                    roots.extend(claude_roots(&text));
                }
            }
            Agent::Codex => {
                let text = std::fs::read_to_string(folder.join("config.toml")).unwrap_or_default();
                let Ok(toml) = TomlText::parse(&text) else { continue };
                let list = toml.get(&["sandbox_workspace_write", "writable_roots"]);
                let list = list.map(|list| list.elements()).unwrap_or_default();
                roots.extend(list.iter().filter_map(|root| root.string()).map(str::to_owned));
            }
            _ => {}
        }
    }
    roots.iter().map(|root| resolved(root, places)).collect()
}

fn claude_roots(text: &str) -> Vec<String> {
    let lists: [&[&str]; 2] =
        [&["sandbox", "filesystem", "allowWrite"], &["permissions", "additionalDirectories"]];
    lists.iter().flat_map(|names| json::text_list(text, names).unwrap_or_default()).collect()
}

/// Returns the path that a rule names. Claude Code also writes an absolute path with two slashes.
pub(crate) fn resolved(root: &str, places: &Places) -> PathBuf {
    match root.strip_prefix("~/") {
        Some(rest) => places.home.join(rest),
        None if root == "~" => places.home.clone(),
        None if root.starts_with("//") => Path::new("/").join(root.trim_start_matches('/')),
        None => places.working.join(root),
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::MetadataExt as _;

    use super::{PathFault, PathStep};
    use crate::install::places::Places;

    const WRITABLE_FOR_ALL: u32 = 0o002;
    const WRITABLE_FOR_GROUP: u32 = 0o020;
    const STICKY: u32 = 0o1000;

    /// Groups of administrators, and that of Nix, whose members can replace programs anyway.
    const ADMINISTRATORS: [&str; 5] = ["root", "admin", "wheel", "staff", "nixbld"];

    /// Returns what is wrong with the owner or the mode.
    pub(super) fn fault(step: &PathStep, places: &Places) -> Option<PathFault> {
        let (data, shown) = (&step.data, places.shown(&step.path));
        let user = rustix::process::geteuid().as_raw();
        if data.uid() != 0 && data.uid() != user {
            return Some(PathFault::refusal(format!("{shown} belongs to another user")));
        }
        // The mode of a link has no meaning, and in a sticky folder nobody can replace the files of others.
        if data.is_symlink() || data.is_dir() && data.mode() & STICKY != 0 {
            return None;
        }
        if data.mode() & WRITABLE_FOR_ALL != 0 {
            return Some(PathFault::refusal(format!("{shown} is writable for all users")));
        }
        if data.mode() & WRITABLE_FOR_GROUP == 0 || data.gid() == 0 {
            return None;
        }
        let group = name_in("/etc/group", data.gid());
        let group = group.unwrap_or_else(|| data.gid().to_string());
        if name_in("/etc/passwd", user).as_ref() == Some(&group) {
            return None;
        }
        let text = format!("{shown} is writable for the group {group}");
        let is_refusal = !ADMINISTRATORS.contains(&group.as_str());
        Some(PathFault { text, is_refusal })
    }

    /// Returns the name of an entry in a file of the form `name:password:number:…`.
    fn name_in(file: &str, number: u32) -> Option<String> {
        let text = std::fs::read_to_string(file).ok()?;
        text.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
        })
    }
}
