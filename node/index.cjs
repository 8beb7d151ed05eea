// The package for Node: classes and functions around the addon. The addon takes and returns JSON text for options and
// reports, and returns a failure as an object, which is thrown here.
'use strict'

const { Buffer } = require('node:buffer')
const { TransformStream } = require('node:stream/web')
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

/** Writes options as JSON. */
function json(options) {
  return options === undefined ? undefined : JSON.stringify(options)
}

/** Returns the bytes of an input that the addon may borrow. */
function bytes(data) {
  if (typeof data === 'string') return Buffer.from(data)
  if (data instanceof Uint8Array) {
    // Another thread may change shared memory meanwhile.
    const shared = typeof SharedArrayBuffer !== 'undefined' && data.buffer instanceof SharedArrayBuffer
    return shared ? Buffer.from(data) : data
  }
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  const found = data === null ? 'null' : typeof data === 'object' ? data.constructor?.name : typeof data
  throw new TypeError(`expected a Buffer, a Uint8Array or a string, found ${found}`)
}

function withReport(outcome) {
  const { output, report } = value(outcome)
  return { output, report: JSON.parse(report) }
}

/** A compiled filter. Immutable. */
class Program {
  #native

  constructor(rules = {}) {
    this.#native = rules instanceof native.NativeProgram ? rules : value(native.compile(JSON.stringify(rules)))
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

  get removesForSafety() {
    return this.#native.removesForSafety
  }

  get spec() {
    return JSON.parse(this.#native.spec)
  }
}

/** A run that bytes are pushed into. */
class PushStream {
  #native

  constructor(run) {
    this.#native = run
  }

  write(data) {
    return value(this.#native.write(bytes(data)))
  }

  end() {
    return value(this.#native.end())
  }

  get done() {
    return this.#native.done
  }

  get report() {
    return JSON.parse(this.#native.report)
  }
}

/** A TransformStream of one document. A reader that waits holds the writer back. */
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
    })
    this.#push = push
  }

  get report() {
    return this.#push.report
  }
}

/** A file with the filters of many tools. */
class Manifest {
  #native

  constructor(source) {
    if (source instanceof native.NativeManifest) this.#native = source
    else if (source.includes('\n')) this.#native = value(native.parseManifest('manifest', source))
    else this.#native = value(native.loadManifest(source))
  }

  static parse(text, name = 'manifest') {
    return new Manifest(value(native.parseManifest(name, text)))
  }

  static load(path) {
    return new Manifest(value(native.loadManifest(path)))
  }

  static catalog() {
    return new Manifest(value(native.catalog()))
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

/** Filters the output of a command with the built-in filters; text in, text out. */
function filterOutput(command, output, exitCode, options = {}) {
  const filtered = filterOutputWithReport(command, output, exitCode, options).output
  return typeof output === 'string' ? filtered.toString() : filtered
}

function filterOutputWithReport(command, output, exitCode, options = {}) {
  const code = exitCode ?? undefined
  return withReport(native.filterCommandOutput(command, bytes(output), code, JSON.stringify(options)))
}

/** Replaces old tool results in a chat by placeholders, and changes nothing else. */
function prune(messages, rules = {}) {
  if (messages instanceof Uint8Array) return pruneWithReport(messages, rules).output
  if (typeof messages === 'string') return pruneWithReport(messages, rules).output.toString()
  return JSON.parse(pruneWithReport(JSON.stringify(messages), rules).output.toString())
}

function pruneWithReport(history, rules = {}) {
  return withReport(native.pruneHistory(bytes(history), JSON.stringify(rules)))
}

module.exports = {
  FilterStream,
  Manifest,
  Program,
  PushStream,
  TamisError,
  filterOutput,
  filterOutputWithReport,
  prune,
  pruneWithReport,
}
