// The same plugin as that of `tamis install opencode`, which names the program that installed it.
// Filters the output of commands and MCP tools with tamis (https://docs.rs/tamis).
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join, sep } from "node:path"

const PLACES = [
  join(homedir(), ".cargo/bin/tamis"),
  join(homedir(), ".local/bin/tamis"),
  "/usr/local/bin/tamis",
  "/usr/bin/tamis",
  "/opt/homebrew/bin/tamis",
]
const PROGRAM = PLACES.find((path) => existsSync(path)) ?? ""
const ARGUMENTS = ["hook", "opencode", "--config", "user"]
const MILLISECONDS = 10_000
const MOST_BYTES = 64 * 1024 * 1024

// A sandboxed command may have written what lies in the working directory or in the folder for temporary files.
function canStart() {
  const folders = [process.cwd(), process.env.TMPDIR].filter(Boolean)
  const isBelow = (folder) => PROGRAM.startsWith(folder.endsWith(sep) ? folder : folder + sep)
  return !folders.some(isBelow) && existsSync(PROGRAM)
}

// Resolves to the answer of tamis, or to undefined if there is none: no program, no time, no JSON.
function ask(event) {
  return new Promise((resolve) => {
    let child, timer
    const finish = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    const stop = () => {
      try {
        child?.kill("SIGKILL")
      } catch {}
      finish(undefined)
    }
    try {
      if (!canStart()) return finish(undefined)
      const text = JSON.stringify(event)
      child = spawn(PROGRAM, ARGUMENTS, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      timer = setTimeout(stop, MILLISECONDS)
      const chunks = []
      let bytes = 0
      child.on("error", stop)
      child.stdin.on("error", () => {})
      child.stdout.on("error", stop)
      child.stdout.on("data", (chunk) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > MOST_BYTES) stop()
      })
      child.on("close", (code) => {
        if (code !== 0 || bytes === 0) return finish(undefined)
        try {
          finish(JSON.parse(Buffer.concat(chunks).toString("utf8")))
        } catch {
          finish(undefined)
        }
      })
      child.stdin.end(text)
    } catch {
      stop()
    }
  })
}

export const Tamis = async () => ({
  "tool.execute.after": async (input, output) => {
    try {
      if (!input || !output) return
      const { tool, args } = input
      if (Array.isArray(output.content)) {
        const { content, structuredContent } = output
        const answer = await ask({ tool, args, content, structuredContent })
        if (!answer || !Array.isArray(answer.content)) return
        output.content = answer.content
        if (structuredContent === undefined) return
        if (answer.structuredContent === undefined) delete output.structuredContent
        else output.structuredContent = answer.structuredContent
      } else if ((tool === "bash" || tool === "shell") && typeof output.output === "string") {
        const { output: text, metadata } = output
        const { exit, outputPath } = metadata ?? {}
        const answer = await ask({ tool, args, output: text, metadata: { exit, outputPath } })
        if (answer && typeof answer.output === "string") output.output = answer.output
      }
    } catch {
      // The original output stays.
    }
  },
})
