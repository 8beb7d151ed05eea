//! Runs the filter of a command over one output, cut in every way, and compares the results, which must not depend on the chunks.

use tamis::Limits;
use tamis_command::{CommandLine, CommandReport, OutputCap, OutputFilterRegistry};

use crate::prng::Prng;

/// Outputs up to this length are cut at every offset.
const EVERY_SPLIT: usize = 600;
/// Random splits of longer outputs.
const SPLITS: usize = 30;

/// A command for each built-in filter.
pub const COMMANDS: [(&str, &str); 89] = [
    ("cargo-build", "cargo build"),
    ("cargo-test", "cargo test"),
    ("cargo-nextest", "cargo nextest run"),
    ("go-test-json", "go test -json ./..."),
    ("docker-build", "docker build ."),
    ("podman-build", "podman build ."),
    ("npm-audit", "npm audit"),
    ("compose-logs", "docker compose logs"),
    ("kubectl", "kubectl apply -f ."),
    ("terraform", "terraform plan"),
    ("ls", "ls -la"),
    ("find", "find . -name x"),
    ("grep", "grep -rn x ."),
    ("log", "journalctl -u x"),
    ("git-status", "git status"),
    ("git-diff", "git diff"),
    ("git-log", "git log"),
    ("git-transfer", "git push"),
    ("npm-install", "npm ci"),
    ("js-test", "npx vitest run"),
    ("tsc", "npx tsc"),
    ("eslint", "npx eslint ."),
    ("pytest", "python3 -m pytest"),
    ("mypy", "mypy ."),
    ("ruff", "ruff check"),
    ("pip", "pip install x"),
    ("make", "make -j4"),
    ("go-test", "go test ./..."),
    ("go-build", "go build ./..."),
    ("apt", "sudo apt-get install x"),
    ("js-test", "npm test"),
    ("cc", "gcc -Wall -c src/ok.c"),
    ("cmake", "cmake -S . -B build"),
    ("ctest", "ctest --output-on-failure"),
    ("swift", "swift test"),
    ("cargo-run", "cargo run"),
    ("cargo-fmt", "cargo fmt --check"),
    ("terraform-setup", "terraform init"),
    ("git-commit", "git commit -m x"),
    ("prettier", "npx prettier --check ."),
    ("playwright", "npx playwright test"),
    ("vite", "npx vite build"),
    ("webpack", "npx webpack"),
    ("next", "npx next build"),
    ("npm-run", "npm run lint"),
    ("maven", "./mvnw -B test"),
    ("gradle", "./gradlew build"),
    ("dotnet", "dotnet test"),
    ("ansible", "ansible-playbook -i hosts site.yml"),
    ("gh", "gh run view 4711 --log-failed"),
    ("kubectl-rollout", "kubectl rollout status deployment/web"),
    ("helm", "helm upgrade --install web ./chart"),
    ("brew", "brew install jq"),
    ("aws", "aws s3 sync dist s3://harbour"),
    ("gcloud", "gcloud builds submit"),
    ("golangci-lint", "golangci-lint run"),
    ("pyright", "npx pyright"),
    ("pylint", "pylint shed"),
    ("black", "black --check ."),
    ("ruff-format", "ruff format --check ."),
    ("unittest", "python -m unittest -v"),
    ("tox", "tox"),
    ("poetry", "poetry install"),
    ("uv", "uv sync"),
    ("rspec", "bundle exec rspec -fd"),
    ("rubocop", "rubocop"),
    ("bundle", "bundle install"),
    ("phpunit", "vendor/bin/phpunit tests"),
    ("composer", "composer install"),
    ("curl", "curl -o out http://127.0.0.1:8898/"),
    ("wget", "wget http://127.0.0.1:8899/big.bin"),
    ("df", "df -h"),
    ("du", "du -h src"),
    ("tree", "tree src"),
    ("ps", "ps aux"),
    ("systemctl", "systemctl list-units --failed"),
    ("psql", "psql -f lamps.sql"),
    ("turbo", "npx turbo run build"),
    ("nx", "npx nx run-many -t build"),
    ("pnpm-recursive", "pnpm -r run build"),
    ("pre-commit", "pre-commit run --all-files"),
    ("gotestsum", "gotestsum ./..."),
    ("shellcheck", "shellcheck s.sh"),
    ("kubectl-describe", "kubectl describe pod web-0"),
    ("gradle-dependencies", "./gradlew app:dependencies"),
    ("bazel", "bazel test //..."),
    ("xcodebuild", "xcodebuild -scheme Pier test"),
    ("glab-ci", "glab ci trace test"),
    ("pulumi", "pulumi up --yes"),
];

/// A command and its output.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub registry: &'a OutputFilterRegistry,
    pub limits: &'a Limits,
    pub command: &'a str,
    pub exit_code: Option<i32>,
    pub quiet: bool,
    pub full_output: &'a str,
    /// The limits of the call.
    pub cap: OutputCap,
    pub output: &'a [u8],
}

impl Subject<'_> {
    /// Pushes the output in chunks that end at `cuts`, and a last one.
    pub fn push(self, cuts: impl IntoIterator<Item = usize>) -> (Vec<u8>, CommandReport) {
        let line = CommandLine::parse(self.command);
        let mut run = self.registry.start(&line, self.limits, Vec::new()).with_cap(self.cap);
        if self.quiet {
            run = run.with_notice(false);
        }
        let mut begin = 0;
        for end in cuts.into_iter().chain([self.output.len()]) {
            run.write(&self.output[begin..end]).unwrap();
            begin = end;
        }
        run.set_exit_code(self.exit_code);
        run.set_full_output(self.full_output);
        let report = run.end().unwrap();
        (run.into_sink(), report)
    }

    /// Pushes the output in chunks that end at `cuts`, with a pause after each of them.
    pub fn pause(self, cuts: &[usize]) -> (Vec<u8>, CommandReport) {
        let line = CommandLine::parse(self.command);
        let mut run = self.registry.start(&line, self.limits, Vec::new()).with_cap(self.cap);
        if self.quiet {
            run = run.with_notice(false);
        }
        let mut begin = 0;
        for end in cuts {
            run.write(&self.output[begin..*end]).unwrap();
            run.release();
            begin = *end;
        }
        run.write(&self.output[begin..]).unwrap();
        run.set_exit_code(self.exit_code);
        run.set_full_output(self.full_output);
        let report = run.end().unwrap();
        (run.into_sink(), report)
    }
}

/// Runs whole, in single bytes and split, and returns the output and the report. Panics at the first difference.
pub fn agree(what: &str, subject: Subject<'_>) -> (Vec<u8>, CommandReport) {
    let length = subject.output.len();
    let whole = subject.push([]);
    let same = |driver: &str, found: (Vec<u8>, CommandReport)| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&found.0), text(&whole.0), "{what}: {driver}");
        assert_eq!(found, whole, "{what}: {driver}");
    };
    same("one-byte chunks", subject.push(1..length));
    if length <= EVERY_SPLIT {
        for cut in 0..=length {
            same(&format!("split at {cut}"), subject.push([cut]));
        }
    }
    let mut prng = Prng::named(what);
    for _ in 0..SPLITS {
        let cuts = prng.cuts(length);
        same(&format!("cuts at {cuts:?}"), subject.push(cuts));
    }
    whole
}
