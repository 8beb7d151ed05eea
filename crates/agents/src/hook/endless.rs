//! Commands that go on until they are stopped: `tail -f`, `kubectl logs -f`, `npm run dev`.
//!
//! `tamis run` shows an output when the command ends, so an agent that waits for the first lines of such a command would read nothing.

use tamis_command::CommandLine;

/// Programs that never end.
const PROGRAMS: [&str; 5] = ["htop", "http.server", "nodemon", "top", "watch"];

/// Programs, a subcommand that they need for it if there is one, and the options that make them go on: single letters, and long ones. The
/// options are those of the usage that each program prints.
const FOLLOWING: &[(&[&str], &str, &str, &[&str])] = &[
    (&["tail"], "", "fF", &["--follow", "--retry"]),
    (&["journalctl"], "", "f", &["--follow"]),
    (&["dmesg"], "", "wW", &["--follow", "--follow-new"]),
    (
        &["docker", "docker-compose", "kubectl", "oc", "podman", "podman-compose"],
        "logs",
        "f",
        &["--follow"],
    ),
    (&["kubectl", "oc"], "get", "w", &["--watch-only"]),
    (&["aws"], "tail", "", &["--follow"]),
    (
        &[
            "basedpyright",
            "mocha",
            "pyright",
            "ruff",
            "tsc",
            "vitest",
            "vue-tsc",
            "webpack",
            "webpack-cli",
        ],
        "",
        "w",
        &[],
    ),
];

/// Options with which every program that has them goes on.
const WATCHING: [&str; 2] = ["--watch", "--watchAll"];

/// Programs and their subcommands that go on.
const SERVING: &[(&[&str], &[&str])] = &[
    (&["bun", "npm", "pnpm", "yarn"], &["dev", "preview", "serve", "start", "watch"]),
    (&["cargo", "dotnet", "gh", "nx", "turbo"], &["watch"]),
    (&["docker", "podman"], &["attach", "events", "stats"]),
    (&["kubectl", "oc"], &["attach", "port-forward", "proxy"]),
    (&["next"], &["dev", "start"]),
    (&["nx", "php"], &["serve"]),
    (&["webpack", "webpack-cli"], &["serve", "watch"]),
];

/// The words after a program among which a subcommand is: `docker compose -f x.yaml logs`.
const SUBCOMMANDS: usize = 3;

/// Words before a subcommand: `npm run dev`, `php artisan serve`.
const BEFORE: [&str; 2] = ["artisan", "run"];

/// Returns whether a command goes on until it is stopped. An option that only looks like one of those is taken for it.
///
/// ```
/// use tamis_agents::hook::endless::goes_on;
///
/// assert!(goes_on("tail -fn5 x.log"));
/// assert!(goes_on("npx tsc --watch"));
/// assert!(!goes_on("tail -n 5 x.log"));
/// ```
#[must_use]
pub fn goes_on(typed: &str) -> bool {
    let line = CommandLine::parse(typed);
    let mut words = line.command().unwrap_or(typed).split_ascii_whitespace();
    let Some(program) = words.next() else { return false };
    let words: Vec<&str> = words.take_while(|word| *word != "--").collect();
    let names: Vec<&str> =
        words.iter().copied().filter(|word| !word.starts_with('-')).take(SUBCOMMANDS).collect();
    let has_option = |name: &str| words.iter().any(|word| is_long(word, name));
    let follows = FOLLOWING.iter().any(|(programs, subcommand, letters, long)| {
        programs.contains(&program)
            && (subcommand.is_empty() || names.contains(subcommand))
            && (words.iter().any(|word| has_letter(word, letters))
                || long.iter().any(|name| has_option(name)))
    });
    let serves = SERVING.iter().any(|(programs, subcommands)| {
        let is_one = |name: &&str| -> bool {
            subcommands.contains(&name.split_once(':').map_or(*name, |(script, _)| script))
        };
        let mut names = names.iter().skip_while(|name| BEFORE.contains(name));
        programs.contains(&program) && names.next().is_some_and(is_one)
    });
    // Services in the foreground.
    let is_up = names.contains(&"up")
        && program.contains("compose") | names.contains(&"compose")
        && !words.iter().any(|word| has_letter(word, "d"))
        && !["--detach", "--wait"].iter().any(|name| has_option(name));
    PROGRAMS.contains(&program)
        || follows
        || serves
        || is_up
        || program == "vite" && !names.iter().any(|name| ["build", "optimize"].contains(name))
        || WATCHING.iter().any(|name| words.iter().any(|word| word.split('=').next() == Some(name)))
}

/// Whether a word is an option of this name, which may be shorter: `--foll=name`.
fn is_long(word: &str, name: &str) -> bool {
    let option = word.split_once('=').map_or(word, |(option, _)| option);
    option.len() > 2 && option.starts_with("--") && name.starts_with(option)
}

/// Whether a word has one of these letters as an option, by itself or with others: `-fn5`, `+5f`.
fn has_letter(word: &str, letters: &str) -> bool {
    let options = word.strip_prefix('-').or_else(|| word.strip_prefix('+'));
    options.is_some_and(|options| {
        !options.starts_with('-') && options.contains(|c| letters.contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::goes_on;

    #[test]
    fn commands_that_are_stopped() {
        for command in [
            "tail -f x.log",
            "tail -F x.log",
            "tail -fn5 x.log",
            "tail -n5 -f x.log",
            "tail --follow x.log",
            "tail --follow=name x.log",
            "tail --foll x.log",
            "tail --retry x.log",
            "tail +5f x.log",
            "cd app && sudo tail -f x.log",
            "journalctl -f",
            "journalctl -fu ssh",
            "journalctl -u ssh --follow",
            "dmesg -w",
            "dmesg -Tw",
            "kubectl logs -f api-0",
            "kubectl -n prod logs api-0 --follow",
            "kubectl get pods -w",
            "kubectl get pods --watch",
            "docker logs -f web",
            "docker compose logs -f",
            "docker-compose logs --follow web",
            "docker compose up",
            "podman logs -f web",
            "watch ls",
            "top",
            "npx tsc --watch",
            "tsc -w",
            "jest --watchAll=true",
            "npm run dev",
            "npm start",
            "yarn dev:api",
            "next dev",
            "vite",
            "vite --port 80",
            "gh run watch 7",
            "python3 -m http.server 80",
            "php artisan serve",
        ] {
            assert!(goes_on(command), "{command}");
        }
    }

    #[test]
    fn commands_that_end() {
        for command in [
            "tail x.log",
            "tail -n 5 x.log",
            "tail -5 f",
            "tail -c 7 --quiet x.log",
            "journalctl -u ssh -n 20",
            "kubectl logs api-0",
            "kubectl apply -f x.yaml",
            "kubectl get pods -o wide",
            "docker build -f Dockerfile .",
            "docker compose up -d",
            "docker compose up --wait",
            "git log --follow x",
            "rg --follow x",
            "make -f x.mk",
            "grep -f x y",
            "ls -F",
            "npm run build",
            "npm -w web test",
            "cargo test watch",
            "vite build",
            "tsc -p .",
            "",
        ] {
            assert!(!goes_on(command), "{command}");
        }
    }
}
