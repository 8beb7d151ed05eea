// The package for Node: classes and functions around the addon. The addon takes and returns JSON text for options and
// reports, and returns a failure as an object, which is thrown here.
'use strict'

const { TransformStream } = require('node:stream/web')

const { version } = require('./package.json')
const { bytes, exitCode, fileOrText, isBytes, isPlain, json, nameOf, string } = require('./inputs.cjs')
const native = require('./native.cjs')

/** A failed run, rules that cannot be compiled, or a manifest that cannot be read. */
class TamisError extends Error {
  constructor(failure) {
    super(failure.display)
    this.name = 'TamisError'
    this.kind = failure.kind
    this.fault = failure.fault
    this.offset = failure.offset ?? null
    this.path = failure.path
    this.limit = failure.limit ?? null
    this.detail = failure.message
    this.output = failure.output
    this.report = failure.report === undefined ? null : JSON.parse(failure.report)
    this.problems = failure.problems
  }
}

/** Returns what the addon returned, or throws the failure. */
function value(outcome) {
  if (outcome !== null && typeof outcome === 'object' && outcome.display !== undefined) {
    throw new TamisError(outcome)
  }
  return outcome
}

function withReport(outcome) {
  const { output, report } = value(outcome)
  return { output, report: JSON.parse(report) }
}

/** A compiled filter. Immutable. */
class Program {
  #native

  constructor(rules = {}) {
    if (rules instanceof Program) this.#native = rules.#native
    else if (rules instanceof native.NativeProgram) this.#native = rules
    else this.#native = value(native.compile(json(rules)))
  }

  filter(data, options) {
    return value(
      typeof data === 'string'
        ? this.#native.filterText(data, json(options))
        : this.#native.filter(bytes(data), json(options)),
    )
  }

  filterWithReport(data, options) {
    return withReport(this.#native.filterWithReport(bytes(data), json(options)))
  }

  filterPlain(data, isError = false) {
    return this.#native.filterPlain(bytes(data), Boolean(isError))
  }

  filterLines(data, options) {
    return value(this.#native.filterLines(bytes(data), json(options)))
  }

  filterEvents(data, options) {
    return value(this.#native.filterEvents(bytes(data), json(options)))
  }

  async filterAsync(data, options) {
    const [others, signal] = withoutSignal(options)
    signal?.throwIfAborted()
    return value(await untilAborted(this.#native.filterAsync(bytes(data), json(others)), signal))
  }

  push(options) {
    return new PushStream(value(this.#native.push(json(options))))
  }

  stream(options) {
    const [others, signal] = withoutSignal(options)
    return new FilterStream(this.push(others), signal)
  }

  explain(options) {
    return value(this.#native.explain(json(options)))
  }

  plan(options) {
    return JSON.parse(value(this.#native.plan(json(options))))
  }

  get summary() {
    return this.#native.summary
  }

  get removesForSafety() {
    return this.#native.removesForSafety
  }

  get spec() {
    return JSON.parse(value(this.#native.spec))
  }
}

/** A run that bytes are pushed into: of a document, of a text, or of the output of a command. */
class PushStream {
  #native

  constructor(run) {
    this.#native = run
  }

  write(data) {
    return value(this.#native.write(bytes(data)))
  }

  end(code) {
    return value(this.#native.end(exitCode(code)))
  }

  release() {
    return value(this.#native.release())
  }

  /** Yields the outputs for an iterable of chunks, sync or async. Reads a chunk when an output is asked for. */
  async *pipe(chunks) {
    if (typeof chunks === 'string' || isBytes(chunks)) {
      throw new TypeError(`expected an iterable of chunks, found ${nameOf(chunks)}`)
    }
    // Leaving the loop ends the source, too.
    try {
      for await (const chunk of chunks) {
        const output = this.write(chunk)
        if (output.length > 0) yield output
        if (this.done) break
      }
      const output = this.end()
      if (output.length > 0) yield output
    } finally {
      this.close()
    }
  }

  close() {
    this.#native.close()
  }

  get done() {
    return this.#native.done
  }

  get report() {
    return JSON.parse(this.#native.report)
  }
}

/** Divides the options of a call into those of the run and the signal. */
function withoutSignal(options) {
  if (options === null || typeof options !== 'object' || !('signal' in options)) return [options, undefined]
  const { signal, ...others } = options
  if (signal === undefined || signal instanceof AbortSignal) return [others, signal]
  throw new TypeError(`signal: expected an AbortSignal, found ${nameOf(signal)}`)
}

/** Returns what a promise has, unless the signal aborts before. */
async function untilAborted(promise, signal) {
  if (signal === undefined) return promise
  let abort
  const aborted = new Promise((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** A TransformStream of one run. A reader that waits holds the writer back. */
class FilterStream extends TransformStream {
  #push

  constructor(push, signal) {
    let ended = false
    let forget = () => {}
    const write = (controller, output) => {
      if (output.length > 0) controller.enqueue(output)
    }
    super({
      start(controller) {
        if (signal === undefined) return
        const abort = () => {
          push.close()
          controller.error(signal.reason)
        }
        if (signal.aborted) return abort()
        signal.addEventListener('abort', abort, { once: true })
        forget = () => signal.removeEventListener('abort', abort)
      },
      transform(chunk, controller) {
        write(controller, push.write(chunk))
        if (push.done) {
          ended = true
          forget()
          write(controller, push.end())
          controller.terminate()
        }
      },
      flush(controller) {
        forget()
        if (!ended) write(controller, push.end())
      },
      cancel() {
        forget()
        push.close()
      },
    })
    this.#push = push
  }

  get report() {
    return this.#push.report
  }
}

/** Compiled rules for lines of text that is not JSON. Immutable. */
class TextProgram {
  #native

  constructor(rules = {}) {
    this.#native = value(native.compileText(json(rules)))
  }

  filter(data, options) {
    return this.filterWithReport(data, options).output
  }

  filterWithReport(data, options = {}) {
    return withReport(this.#native.filter(bytes(data), json(options)))
  }

  push(options = {}) {
    return new PushStream(value(this.#native.push(json(options))))
  }

  stream(options) {
    const [others, signal] = withoutSignal(options)
    return new FilterStream(this.push(others), signal)
  }

  get spec() {
    return JSON.parse(this.#native.spec)
  }
}

/** Filters for the output of commands: the built-in ones and, before them, those of a file with rules. Immutable. */
class OutputFilters {
  #native

  constructor(rules, name = 'rules.toml') {
    const source = rules === undefined ? undefined : fileOrText(rules)
    if (source === undefined) this.#native = native.builtinCommands()
    else if (source.includes('\n')) this.#native = value(native.parseCommands(string(name, 'name'), source))
    else this.#native = value(native.loadCommands(source))
  }

  filter(command, output, code, options) {
    const filtered = this.filterWithReport(command, output, code, options).output
    return typeof output === 'string' ? filtered.toString() : filtered
  }

  filterWithReport(command, output, code, options = {}) {
    return withReport(this.#native.filter(string(command, 'command'), bytes(output), exitCode(code), json(options)))
  }

  push(command, options = {}) {
    return new PushStream(value(this.#native.push(string(command, 'command'), json(options))))
  }

  filterFor(command) {
    return this.#native.filterFor(string(command, 'command'))
  }

  runExamples() {
    return this.#native.runExamples()
  }

  get names() {
    return this.#native.names
  }

  get warnings() {
    return this.#native.warnings
  }
}

/** A file with the filters of many tools. */
class Manifest {
  #native

  constructor(source) {
    if (source instanceof native.NativeManifest) {
      this.#native = source
      return
    }
    const file = fileOrText(source)
    this.#native = value(file.includes('\n') ? native.parseManifest('manifest', file) : native.loadManifest(file))
  }

  static parse(text, name = 'manifest') {
    return new Manifest(value(native.parseManifest(string(name, 'name'), string(text, 'text'))))
  }

  static load(path) {
    return new Manifest(value(native.loadManifest(fileOrText(path))))
  }

  static catalog() {
    return new Manifest(value(native.catalog()))
  }

  static merge(...manifests) {
    const parts = manifests.map((manifest) => {
      if (manifest instanceof Manifest) return manifest.#native
      throw new TypeError(`expected manifests, found ${nameOf(manifest)}`)
    })
    return new Manifest(value(native.mergeManifests(parts)))
  }

  forService(service) {
    return new Manifest(value(this.#native.forService(string(service, 'service'))))
  }

  program(tool) {
    return new Program(value(this.#native.program(string(tool, 'tool'))))
  }

  find(tool) {
    const found = value(this.#native.find(string(tool, 'tool')))
    return found === null ? null : new Program(found)
  }

  get names() {
    return this.#native.names
  }

  get warnings() {
    return this.#native.warnings
  }
}

const builtin = new OutputFilters()

/** Filters the output of a command with the built-in filters; text in, text out. */
function filterOutput(command, output, code, options) {
  return builtin.filter(command, output, code, options)
}

function filterOutputWithReport(command, output, code, options) {
  return builtin.filterWithReport(command, output, code, options)
}

/** Replaces old tool results in a chat by placeholders, and changes nothing else. */
function prune(messages, rules = {}) {
  if (typeof messages === 'string') return pruneWithReport(messages, rules).output.toString()
  if (isBytes(messages)) return pruneWithReport(messages, rules).output
  if (!Array.isArray(messages) && !isPlain(messages)) {
    throw new TypeError(`expected messages, a request with messages, or JSON as bytes or a string, found ${nameOf(messages)}`)
  }
  return JSON.parse(pruneWithReport(JSON.stringify(messages), rules).output.toString())
}

function pruneWithReport(history, rules = {}) {
  return withReport(native.pruneHistory(bytes(history), json(rules)))
}

/** Restores a document that the rule `factor` wrote; text in, text out. */
function restore(document) {
  const restored = value(native.restore(bytes(document)))
  return typeof document === 'string' ? restored.toString() : restored
}

module.exports = {
  FilterStream,
  Manifest,
  OutputFilters,
  Program,
  PushStream,
  TamisError,
  TextProgram,
  filterOutput,
  filterOutputWithReport,
  prune,
  pruneWithReport,
  restore,
  version,
}
