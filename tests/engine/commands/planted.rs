//! Failures, places and totals that are planted into the output of a tool are never lost.
//!
//! For every built-in filter there is a block of lines as the tool prints them, with numbers that occur nowhere else. The
//! blocks are planted at random places among lines of recorded outputs. Each name, place, message and count of a block
//! must be in the filtered output.

use tamis::Limits;
use tamis_command::{CommandRules, OutputFilterRegistry};

use tamis_testkit::commands::drivers::{COMMANDS, Subject};
use tamis_testkit::prng::Prng;

use super::random::{lines, mixed};

/// Outputs for each filter.
const RUNS: usize = 25;

/// A filter, and a block of lines in which `@` is the number. Lines that begin with `%` give the block its form, and need
/// not be in the output.
const BLOCKS: [(&str, &str); 88] = [
    (
        "ansible",
        "%TASK [lamp] ****\nfatal: [web@]: FAILED! => {\"msg\": \"no lamp @\"}\n%\n%PLAY RECAP ***\nweb@ : ok=1    changed=@    unreachable=0    failed=@    skipped=1    rescued=0    ignored=0   ",
    ),
    ("apt", "E: Unable to locate package lamp@\nW: lamp@ is old"),
    (
        "aws",
        "upload failed: dist/d@.js to s3://lamp/d@.js An error occurred (AccessDenied@)\nupload: dist/e@.js to s3://lamp/e@.js",
    ),
    (
        "bazel",
        "ERROR: /code/lamp@/BUILD:@:1: no such target '//rope@'\nFAIL: //lamp@:dark_test@ (see /out/lamp@/test.log)\n//lamp@:dark_test@                                     FAILED in 0.@s\nExecuted @ out of @ tests: 1 test passes and @ fails locally.",
    ),
    (
        "black",
        "would reformat /code/lamp@.py\nerror: cannot parse: /code/bad@.py:@:4\n@ files would be reformatted.",
    ),
    ("brew", "Error: lamp@: no bottle available\n==> Installing lamp@"),
    ("bundle", "Could not find gem 'lamp@' in locally installed gems.\nInstalling rope@ 1.0"),
    (
        "cargo-build",
        "warning: unused variable: `x@`\n --> src/lamp@.rs:@:5\n@ |     let x@ = 1;\nwarning: `lamp` (lib) generated @ warnings",
    ),
    ("cargo-fmt", "Diff in /code/lamp@.rs:@:\n-fn odd@( x:i32 )\n+fn odd@(x: i32)"),
    (
        "cargo-nextest",
        "        FAIL [   0.005s] lamp@ tests::waits@\n     Summary [   0.010s] @ tests run: 1 passed, @ failed, 0 skipped",
    ),
    ("cargo-run", "error[E@]: cannot find value `lamp@`\n  --> src/lamp@.rs:@:5"),
    (
        "cargo-test",
        "test lamp@ ... FAILED\nthread 'lamp@' panicked at src/lamp@.rs:@:5:\nno lamp @",
    ),
    (
        "cc",
        "src/lamp@.c:@:63: error: ‘lamp@’ undeclared\nsrc/lamp@.c:@:64: warning: unused variable ‘x@’\ncollect2: error: ld returned @ exit status",
    ),
    (
        "cmake",
        "CMake Error at CMakeLists@.txt:@ (find_package):\n  Could not find Lamp@\n-- Found Rope@: TRUE",
    ),
    ("compose-logs", "web-1  | 10:00:0@ ERROR cannot reach tide@:8080\ndb-1   | lamp@ is dark"),
    (
        "composer",
        "  - Installing lamp/lamp@ (1.0.@): Extracting archive\n  Problem 1\n    - Root composer.json requires lamp/rope@, it could not be found.",
    ),
    (
        "ctest",
        "1/@ Test #@: lifts_@ ..........................***Failed    0.00 sec\n75% tests passed, @ tests failed out of @",
    ),
    (
        "curl",
        "curl: (7) Failed to connect to host@ port @\n< HTTP/1.1 @ File not found\n<p>body @</p>",
    ),
    (
        "df",
        "/dev/vda@                 @G   59G   33G  65% /mnt/lamp@\ndf: lamp@: No such file or directory",
    ),
    (
        "docker-build",
        "#@ [2/5] RUN make lamp@\n#@ 0.211 lamp@.c:@: undeclared\n#@ ERROR: process \"/bin/sh -c make lamp@\" did not complete",
    ),
    (
        "dotnet",
        "%\n/code/Lamp@.cs(@,5): error CS0103: The name 'lamp@' does not exist\n  Failed Lamp.Tests.Shines@ [9 ms]\nFailed!  - Failed:     @, Passed:     @",
    ),
    ("du", "@K\t/code/lamp@/rope@\ndu: cannot access 'lamp@': No such file or directory"),
    (
        "eslint",
        "%/code/lamps/src/lamp@.ts\n   @:10  error    'readFile@' is defined but never used              no-unused-vars\n✖ @ problems (@ errors, 0 warnings)",
    ),
    ("find", "./src/lamp@.rs\nfind: ‘./lamp@’: Permission denied"),
    (
        "gcloud",
        "ERROR: (gcloud.builds.submit) build @ completed with status \"FAILURE\"\nlamp@  us-central1-@  TERMINATED",
    ),
    ("gh", "build@\tfail\t1m2s\thttps://example.com/@\t\nX lamp@ · @"),
    (
        "git-commit",
        "error: pathspec 'lamp@' did not match any file(s) known to git\n @ files changed, @ insertions(+)\n create mode 100644 src/rope@.txt",
    ),
    ("git-diff", "%diff --git a/lamp@.c b/lamp@.c\n+++ b/lamp@.c\n-old @\n+new @"),
    ("git-log", "    Note @: what the tide does\n+++ b/lamp@.c\n+new @"),
    (
        "git-status",
        "\tmodified:   src/lamp@.rs\nYour branch is ahead of 'origin/main' by @ commits.",
    ),
    (
        "git-transfer",
        " ! [rejected]        work@ -> work@ (fetch first)\n   aaaa@..bbbb@  main@ -> main@\n @ files changed",
    ),
    ("glab-ci", "error: lamp@ failed\nERROR: Job failed: exit code @"),
    ("go-build", "light/lamp@.go:@:34: undefined: undefinedName@"),
    ("go-test", "--- FAIL: TestLamp@ (0.00s)\n    lamp@_test.go:@: got 1, want @\nFAIL"),
    (
        "go-test-json",
        "{\"Action\":\"output\",\"Package\":\"light\",\"Test\":\"TestLamp@\",\"Output\":\"lamp@_test.go:@: got 1\\n\"}\n{\"Action\":\"fail\",\"Package\":\"light\",\"Test\":\"TestLamp@\"}",
    ),
    ("golangci-lint", "light/lamp@.go:@:34: undefined: name@ (typecheck)\n@ issues:"),
    (
        "gotestsum",
        "=== FAIL: lamp@ TestLamp@ (0.00s)\n    lamp@_test.go:@: got 1, want @\nDONE @ tests, @ failures in 0.412s",
    ),
    (
        "gradle",
        "harbour.Lamp@Test > breaks@ FAILED\n    java.lang.IllegalStateException at Lamp@Test.java:@\n@ tests completed, @ failed\n* What went wrong:\nExecution failed for task ':test@'.",
    ),
    (
        "gradle-dependencies",
        "|    +--- com.example:lamp@:33.@\n\\--- org.slf4j:rope@:2.@ FAILED\nBUILD FAILED in @s",
    ),
    ("grep", "src/lamp@.rs:@:pub fn fits@\ngrep: lamp@: No such file or directory"),
    ("helm", "Error: UPGRADE FAILED: cannot patch \"lamp@\"\nREVISION: @"),
    (
        "js-test",
        "FAIL t/lamp@.test.js\n  ● lamp › shines @\n    Expected: @\n      at Object.toBe (t/lamp@.test.js:@:117)\nTests:       @ failed, @ passed, 4 total",
    ),
    ("kubectl", "error: unable to recognise \"lamp@.yaml\"\ndeployment.apps/lamp@ configured"),
    (
        "kubectl-describe",
        "Name:             lamp@\n    Image:          nginx:@\n      Exit Code:    @\n  Warning  BackOff  2m    kubelet  Back-off restarting failed container lamp@",
    ),
    (
        "kubectl-rollout",
        "error: deployment \"lamp@\" exceeded its progress deadline\nError from server (NotFound): deployments.apps \"lamp@\" not found",
    ),
    ("log", "2026-11-21 18:55:36,393 ERROR pump: pressure @ over limit\nlamp@ is out"),
    (
        "ls",
        "-rw-r--r--   1 mira harbour @ Oct 14 18:22 lamp@.rs\nls: cannot access 'lamp@': No such file or directory",
    ),
    ("make", "lamp@.c:@:22: error: 'lamp@' undeclared\nmake: *** [Makefile:@: lamp@.o] Error 1"),
    (
        "maven",
        "[ERROR] /code/Lamp@.java:[@,57] cannot find symbol\n[ERROR] Tests run: @, Failures: @, Errors: 1, Skipped: 0\n[INFO] Tests run: @, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE",
    ),
    (
        "mypy",
        "shed/lamp@.py:@: error: Name \"lamp@\" is not defined  [name-defined]\nFound @ errors in 2 files",
    ),
    (
        "next",
        " ✓ Compiled successfully in @s\n├ ○ /lamp@                                 133 B         @ kB\nFailed to compile.\n./app/lamp@.tsx:@:40\nType error: Type 'string' is not assignable to type 'Lamp@'.",
    ),
    (
        "npm-audit",
        "lamp@  <=1.@.0\nSeverity: critical\nPrototype Pollution in lamp@ - GHSA-@\nnode_modules/lamp@\n@ vulnerabilities (@ moderate)",
    ),
    ("npm-install", "npm error @ lamp@\nnpm warn EBADENGINE lamp@\nadded @ packages in 27s"),
    (
        "npm-run",
        "src/lamp@.ts(@,3): error TS2304: Cannot find name 'lamp@'.\nnpm error Lifecycle script `lamp@` failed\n@ lamps lit",
    ),
    (
        "nx",
        "error: lamp@ is broken\n> nx run lamp@:build\n- rope@:build\n NX   Successfully ran target test for @ projects",
    ),
    (
        "phpunit",
        "There was 1 failure:\n1) LampTest::testLamp@\nFailed asserting that @ is identical to 8.\n/code/tests/LampTest@.php:@\nTests: @, Assertions: @, Failures: 1.",
    ),
    ("pip", "ERROR: No matching distribution found for lamp@\nSuccessfully installed rope-@"),
    (
        "playwright",
        "  ✘  22 e2e/lamp@.spec.ts:@:3 › dark › has lamp @ (9ms)\n  1) e2e/lamp@.spec.ts:@:3 › dark › has lamp @ ───\n    Expected: @\n  @ failed",
    ),
    (
        "pnpm-recursive",
        "packages/a@ build: src/lamp@.ts(@,1): error TS2304: Cannot find name 'lamp@'.\n ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  a@@1.0.0 build: `tsc @`\nScope: @ of 50000 workspace projects",
    ),
    (
        "podman-build",
        "%STEP 2/2: RUN lamp@\nsh: lamp@: not found\nsubprocess exited with status @\nError: building at STEP \"RUN lamp@\": exit status @",
    ),
    ("poetry", "  - Installing lamp@ (0.1.@)\nCould not find a matching version of package rope@"),
    (
        "pre-commit",
        "%mypy..............................Failed\n- hook id: mypy@\nlamp@.py:@: error: unused import",
    ),
    (
        "prettier",
        "[warn] src/lamp@.ts\n[error] src/bad@.ts: SyntaxError: Variable declaration expected. (@:7)\n[warn] Code style issues found in @ files.",
    ),
    ("ps", "mira          @  0.0  0.0   8548  4604 ?        R    08:04   0:00 lamp@ --lit"),
    ("psql", "  @ | lamp @  |    12 | f\nERROR:  column \"lamp@\" does not exist\n(@ rows)"),
    (
        "pulumi",
        " +  aws:s3:Bucket lamp@ **creating failed** error: BucketAlreadyExists@\nDiagnostics:\n    error: rope@ exists\n    @ unchanged",
    ),
    (
        "pylint",
        "shed/lamp@.py:@:0: E1101: Instance of 'lamp@' has no 'y' member (no-member)\nYour code has been rated at @/10",
    ),
    (
        "pyright",
        "%/code/lamp@.py\n  /code/lamp@.py:@:22 - error: Cannot access attribute \"lamp@\"\n@ errors, 0 warnings, 0 informations",
    ),
    (
        "pytest",
        "FAILED tests/test_lamp@.py::test_two@ - assert @ == 2\nE   assert @ == 2\ntests/test_lamp@.py:@: AssertionError",
    ),
    (
        "rspec",
        "  1) Lamp glows @\n     Failure/Error: expect(@)\n     # ./spec/lamp@_spec.rb:@:in `block\n@ examples, @ failures\nrspec ./spec/lamp@_spec.rb:@ # Lamp",
    ),
    (
        "rubocop",
        "lib/lamp@.rb:@:5: W: Lint/UselessAssignment: Useless assignment to variable - unused@.\n@ files inspected, @ offenses detected",
    ),
    (
        "ruff",
        "F401 [*] `lamp@` imported but unused\n --> shed/lamp@.py:@:8\nshed/rope@.py:@:8: F401 `os@` imported but unused\nFound @ errors.",
    ),
    (
        "ruff-format",
        "Would reformat: shed/lamp@.py\n --> shed/rope@.py:@:2\n@ files would be reformatted",
    ),
    (
        "shellcheck",
        "In lamp@.sh line @:\n     ^--^ SC@ (info): Double quote lamp@ to prevent globbing.",
    ),
    (
        "swift",
        "/code/Lamp@.swift:@: error: LampTests.testWidth@ : failed\nExecuted @ tests, with @ failures",
    ),
    (
        "systemctl",
        "● lamp@.service       loaded failed failed Lamp number @\nUnit rope@.service could not be found.\n@ loaded units listed.",
    ),
    (
        "terraform",
        "  # terraform_data.lamp@ will be created\nError: Unsupported argument @\nPlan: @ to add, @ to change, 0 to destroy.",
    ),
    (
        "terraform-setup",
        "│ Error: Failed to query available provider packages @\n- Installed hashicorp/lamp@ v5.1.@ (signed by HashiCorp)\n  on main@.tf line @",
    ),
    (
        "tox",
        "lint@: exit @ (0.02 seconds) /code/shed> lamp@\n  lint@: FAIL code @ (0.14=setup[0.11]+cmd[0.02] seconds)\nshed/lamp@.py:@: no docstring",
    ),
    ("tree", "│   ├── lamp@.rs\n@ directories, @ files\nlamp@  [error opening dir]"),
    (
        "tsc",
        "src/lamp@.ts(@,3): error TS2304: Cannot find name 'lamp@'.\nFound @ errors in @ files.",
    ),
    (
        "turbo",
        "a:build: lamp@.ts(@,3): error TS2304: Cannot find name 'lamp@'.\na#build@:  ERROR  command (/code/a@) exited (1)\n Tasks:    0 successful, @ total\nFailed:    a@#build",
    ),
    (
        "unittest",
        "FAIL: test_sinks@ (tests.test_lamp@.LampTest.test_sinks@)\n  File \"/code/lamp@.py\", line @, in test_sinks@\nAssertionError: 3 != @\nRan @ tests in 0.001s",
    ),
    ("uv", "error: Failed to add lamp@\nInstalled @ packages in 22ms\n + rope@==15.0.@"),
    (
        "vite",
        "✓ @ modules transformed.\n[UNRESOLVED_IMPORT] Could not resolve './lamp@.js' in app/main@.js\ndist/assets/lamp@.css   0.01 kB │ gzip: 0.@ kB",
    ),
    (
        "webpack",
        "ERROR in ./wp/lamp@.js @:0-22\nModule not found: Error: Can't resolve './rope@.js'\nwebpack 5.112.2 compiled with @ errors",
    ),
    (
        "wget",
        "Connecting to host@... failed: Connection refused.\n2026-11-23 08:04:02 ERROR @: File not found.\n‘lamp@’ saved [@]",
    ),
    (
        "xcodebuild",
        "/code/Pier@.m:@:3: warning: unused variable 'x@'\n/code/PierTests@.m:@: error: -[PierTests testWidth@] : failed\nTest Case '-[PierTests testWidth@]' failed (0.@ seconds).",
    ),
];

/// The pieces of a line, which a filter may separate when it groups lines.
fn pieces(line: &str) -> Vec<&str> {
    line.split(|char: char| {
        char.is_whitespace() || matches!(char, '/' | ':' | ',' | '(' | ')' | '[' | ']' | '=')
    })
    .filter(|piece| piece.contains(|char: char| char.is_ascii_digit()) && piece.len() >= 5)
    .collect()
}

#[test]
fn every_filter_has_a_block() {
    let rules = CommandRules::builtin();
    let mut names: Vec<&str> = rules.names().collect();
    names.sort_unstable();
    let blocks: Vec<&str> = BLOCKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(blocks, names);
}

#[test]
fn planted_failures_places_and_totals_are_kept() {
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let mut lost = Vec::new();
    let mut looked_for = 0;
    for (filter, block) in BLOCKS {
        let (own, mut others) = lines(filter);
        // An output that begins with JSON is passed through.
        others.retain(|line| !line.starts_with(b"{\""));
        let command = COMMANDS.iter().find(|(name, _)| *name == filter).unwrap().1;
        let mut prng = Prng::named(filter);
        for run in 0..RUNS {
            let mut output = Vec::new();
            let mut expected = Vec::new();
            for number in 0..=prng.below(3) {
                let around = mixed(&mut prng, (&own, &others));
                // Whole lines of text: blocks begin on a line of their own.
                output.extend(String::from_utf8_lossy(&around).replace('\r', "").bytes());
                output.extend_from_slice(b"\n\n");
                let number = (40_000 + run * 10 + number).to_string();
                let block = block.replace('@', &number);
                for line in block.lines() {
                    let is_form = line.starts_with('%');
                    let line = line.trim_start_matches('%');
                    output.extend_from_slice(line.as_bytes());
                    output.push(b'\n');
                    if !is_form {
                        expected.extend(pieces(line).into_iter().map(str::to_owned));
                    }
                }
            }
            let exit_code = Some(if prng.one_in(4) { 0 } else { 1 });
            let subject = Subject {
                registry: &registry,
                limits: &limits,
                command,
                exit_code,
                quiet: true,
                full_output: "full.log",
                cap: tamis_command::OutputCap::new(),
                output: &output,
            };
            let (out, report) = subject.push(prng.cuts(output.len()));
            assert_eq!(report.filter.as_deref(), Some(filter), "{command}");
            let out = String::from_utf8_lossy(&out);
            looked_for += expected.len();
            let missing = expected.iter().filter(|piece| !out.contains(piece.as_str()));
            lost.extend(missing.map(|piece| format!("{filter} {run} {exit_code:?}: {piece}")));
        }
    }
    assert!(looked_for > 10_000, "{looked_for}");
    assert!(lost.is_empty(), "{} are lost\n{}", lost.len(), lost.join("\n"));
}
