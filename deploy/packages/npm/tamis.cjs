#!/usr/bin/env node
// Starts the binary of this system, which npm installed as an optional dependency. It replaces nothing: signals and the exit code
// are passed on.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const path = require("node:path");

const name = path.basename(__filename, ".cjs");
const own = require("./package.json");
const platform = `${own.name}-${process.platform}-${process.arch}`;

let file;
try {
  file = path.join(path.dirname(require.resolve(`${platform}/package.json`)), "bin", process.platform === "win32" ? `${name}.exe` : name);
} catch {
  const known = Object.keys(own.optionalDependencies).includes(platform);
  const why = known
    ? `the package ${platform} is missing; install again without --omit=optional or --no-optional`
    : `there is no binary for ${process.platform} on ${process.arch}`;
  process.stderr.write(`${name}: ${why}\n`);
  process.exit(1);
}

let child;
// Before the program starts: a signal that came in between would end only this process.
if (process.platform === "win32") {
  // The console sends Ctrl-C to both, and `kill` would end the program at once. This process only has to wait.
  process.on("SIGINT", () => {});
} else {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
}
child = spawn(file, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
child.on("error", (error) => {
  process.stderr.write(`${name}: ${file} cannot be started: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Ends by the same signal, as far as Node can: without a listener it has its usual effect.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1000);
});
