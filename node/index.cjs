// The package for Node: classes and functions around the addon. The addon takes and returns JSON text for options and
// reports, and returns a failure as an object, which is thrown here.
'use strict'

const { Buffer } = require('node:buffer')
const { randomUUID } = require('node:crypto')
const { TransformStream } = require('node:stream/web')
const { fileURLToPath } = require('node:url')
const { types } = require('node:util')
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

/**
 * Writes rules or options as JSON. Integers may be of the type BigInt, because a number would lose digits. Refuses values that
 * JSON does not have, because `JSON.stringify` would leave out a rule.
 */
function json(options) {
  if (options === undefined) return undefined
  const integers = new Map()
  const text = JSON.stringify(options, (name, value) => {
    const isNumber = typeof value === 'number'
    if (typeof value === 'function' || typeof value === 'symbol' || (isNumber && !Number.isFinite(value))) {
      const place = name === '' ? '' : ` for \`${name}\``
      throw new TypeError(`expected a JSON value${place}, found ${isNumber ? value : typeof value}`)
    }
    if (typeof value !== 'bigint') return value
    const mark = randomUUID()
    integers.set(`"${mark}"`, value.toString())
    return mark
  })
  if (integers.size === 0) return text
  return text.replace(/"[0-9a-f-]{36}"/g, (mark) => integers.get(mark) ?? mark)
}

/** Returns the bytes of an input that the addon may borrow. Arrays of other realms, as in tests with Jest, are not of this `Uint8Array`. */
function bytes(data) {
  if (typeof data === 'string') return Buffer.from(data)
  // Another thread may change shared memory meanwhile.
  if (types.isUint8Array(data)) return types.isSharedArrayBuffer(data.buffer) ? Buffer.from(data) : data
  if (types.isSharedArrayBuffer(data)) return Buffer.from(new Uint8Array(data))
  if (types.isArrayBuffer(data)) return new Uint8Array(data)
  throw new TypeError(`expected a Buffer, a Uint8Array, an ArrayBuffer or a string, found ${nameOf(data)}`)
}

function nameOf(value) {
  if (value === null) return 'null'
  return typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value
}

/** Returns the path of a file, or the text of one, which has a line break. */
function fileOrText(source) {
  if (typeof source === 'string') return source
  if (source instanceof URL) return fileURLToPath(source)
  throw new TypeError(`expected a path, a URL or a text with a line break, found ${nameOf(source)}`)
}

function withReport(outcome) {
  const { output, report } = value(outcome)
  return { output, report: JSON.parse(report) }
}

/** A compiled filter. Immutable. */
class Program {
  #native

  constructor(rules = {}) {
    this.#native = rules instanceof native.NativeProgram ? rules : value(native.compile(json(rules)))
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
    return this.#native.filterPlain(bytes(data), isError)
  }

  filterLines(data, options) {
    return value(this.#native.filterLines(bytes(data), json(options)))
  }

  async filterAsync(data, options) {
    return value(await this.#native.filterAsync(bytes(data), json(options)))
  }

  push(options) {
    return new PushStream(value(this.#native.push(json(options))))
  }

  stream(options) {
    return new FilterStream(this.push(options))
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

  end(exitCode) {
    return value(this.#native.end(exitCode ?? undefined))
  }

  release() {
    return value(this.#native.release())
  }

  /** Yields the outputs for an iterable of chunks, sync or async. Reads a chunk when an output is asked for. */
  async *pipe(chunks) {
    if (typeof chunks === 'string' || types.isUint8Array(chunks)) throw new TypeError('expected an iterable of chunks')
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

/** A TransformStream of one run. A reader that waits holds the writer back. */
class FilterStream extends TransformStream {
  #push

  constructor(push) {
    let ended = false
    const write = (controller, output) => {
      if (output.length > 0) controller.enqueue(output)
    }
    super({
      transform(chunk, controller) {
        write(controller, push.write(chunk))
        if (push.done) {
          ended = true
          write(controller, push.end())
          controller.terminate()
        }
      },
      flush(controller) {
        if (!ended) write(controller, push.end())
      },
      cancel() {
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
    return new FilterStream(this.push(options))
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
    else if (source.includes('\n')) this.#native = value(native.parseCommands(name, source))
    else this.#native = value(native.loadCommands(source))
  }

  filter(command, output, exitCode, options) {
    const filtered = this.filterWithReport(command, output, exitCode, options).output
    return typeof output === 'string' ? filtered.toString() : filtered
  }

  filterWithReport(command, output, exitCode, options = {}) {
    return withReport(this.#native.filter(command, bytes(output), exitCode ?? undefined, json(options)))
  }

  push(command, options = {}) {
    return new PushStream(value(this.#native.push(command, json(options))))
  }

  filterFor(command) {
    return this.#native.filterFor(command)
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
    return new Manifest(value(native.parseManifest(name, text)))
  }

  static load(path) {
    return new Manifest(value(native.loadManifest(fileOrText(path))))
  }

  static catalog() {
    return new Manifest(value(native.catalog()))
  }

  static merge(...manifests) {
    return new Manifest(value(native.mergeManifests(manifests.map((manifest) => manifest.#native))))
  }

  forService(service) {
    return new Manifest(value(this.#native.forService(service)))
  }

  program(tool) {
    return new Program(value(this.#native.program(tool)))
  }

  find(tool) {
    const found = value(this.#native.find(tool))
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
function filterOutput(command, output, exitCode, options) {
  return builtin.filter(command, output, exitCode, options)
}

function filterOutputWithReport(command, output, exitCode, options) {
  return builtin.filterWithReport(command, output, exitCode, options)
}

/** Replaces old tool results in a chat by placeholders, and changes nothing else. */
function prune(messages, rules = {}) {
  if (types.isUint8Array(messages)) return pruneWithReport(messages, rules).output
  if (typeof messages === 'string') return pruneWithReport(messages, rules).output.toString()
  return JSON.parse(pruneWithReport(JSON.stringify(messages), rules).output.toString())
}

function pruneWithReport(history, rules = {}) {
  return withReport(native.pruneHistory(bytes(history), json(rules)))
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
}
