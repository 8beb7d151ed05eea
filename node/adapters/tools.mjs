// Which filter a tool has, and what becomes of a result that cannot be filtered.
import { Manifest, Program, TamisError } from 'tamis'
import { isPlain, nameOf } from '../inputs.cjs'
import { allowedResult } from './allowed.mjs'

export const WITHHELD = 'The tool did run. Its result is withheld, because its filter could not be applied to it.'
export const FAILED = 'The tool call failed. Its message is withheld, because the filter of the tool removes data.'

/** A result must not pass, because its filter removes values for safety and could not be applied. */
export class Withheld extends Error {
  constructor(message, options) {
    super(message, options)
    this.name = 'Withheld'
  }
}

/** A text must not pass, because it is not JSON. The rest of the result may. */
export class WithheldText extends Withheld {}

/** The code of an error of MCP that asks the client to open an address and then to repeat the call. */
const URL_ELICITATION_REQUIRED = -32042

/** The kinds of errors for text that is not JSON. */
const NOT_JSON = ['syntax', 'unexpected_end', 'encoding']

/**
 * The filters of tools: a manifest, an object of programs or rules by the names of tools, or one program for every tool.
 *
 * A filter that only saves never breaks a call: if it fails, the original passes. A filter that removes for safety fails
 * closed: the methods then throw `Withheld`.
 */
export class ToolFilters {
  #manifest
  #every
  #named = new Map()
  #searches = new Map()

  constructor(rules) {
    if (rules instanceof ToolFilters) {
      this.#manifest = rules.#manifest
      this.#every = rules.#every
      this.#named = rules.#named
    } else if (rules instanceof Manifest) this.#manifest = rules
    else if (rules instanceof Program) this.#every = rules
    else if (!isPlain(rules)) {
      const forms = 'a manifest, a program, or an object of programs or rules by the names of tools'
      throw new TypeError(`expected ${forms}, found ${nameOf(rules)}`)
    } else {
      for (const [name, entry] of Object.entries(rules)) {
        if (!(entry instanceof Program) && !isPlain(entry)) {
          throw new TypeError(`expected a program or rules for the tool \`${name}\`, found ${nameOf(entry)}`)
        }
        this.#named.set(name, new Program(entry))
      }
    }
  }

  /** The program for every tool, or null. */
  get every() {
    return this.#every ?? null
  }

  /** Whether the filter of any tool removes for safety. */
  get removesForSafety() {
    const named = this.#manifest?.names.map((name) => this.#manifest.program(name)) ?? this.#named.values()
    return this.every?.removesForSafety === true || [...named].some((program) => program.removesForSafety)
  }

  /** Returns the filter of a tool, or null. */
  program(tool) {
    if (this.#manifest !== undefined) return this.#manifest.find(tool)
    return this.#named.get(tool) ?? this.#every ?? null
  }

  /** Throws if a tool has no filter, so that a wrapper of one tool does not pass everything because of a wrong name. */
  require(tool) {
    if (this.#manifest !== undefined) this.#manifest.program(tool)
    else if (this.program(tool) === null) {
      throw new RangeError(`no filter for the tool \`${tool}\`; expected one of ${[...this.#named.keys()].join(', ') || 'no names'}`)
    }
  }

  /** Throws if a name in the object of programs is not that of a tool. */
  requireTools(tools) {
    const unknown = [...this.#named.keys()].find((name) => !tools.includes(name))
    if (unknown !== undefined) {
      throw new RangeError(`there is no tool \`${unknown}\`; expected one of ${tools.join(', ') || 'no names'}`)
    }
  }

  /**
   * Returns the filtered text of a result. Text that is not JSON is redacted and filtered by lines, if the filter has rules for
   * that. Throws `WithheldText` if the filter has other rules for safety, which cannot read it.
   */
  text(tool, text, isError = false) {
    const program = this.program(tool)
    if (program === null) return text
    const sentence = isError ? FAILED : WITHHELD
    try {
      return program.filter(text, { is_error: isError }).toString()
    } catch (error) {
      if (!(error instanceof TamisError)) throw error
      if (NOT_JSON.includes(error.kind)) {
        const plain = program.filterPlain(text, isError)
        if (plain === null) throw new WithheldText(sentence)
        return plain.toString()
      }
      if (program.removesForSafety) throw new Withheld(sentence)
      return text
    }
  }

  /** Returns the filtered value of a result: an object, an array, or text if the rules write text. Undefined has nothing to filter. */
  value(tool, value, isError = false) {
    if (typeof value === 'string') return this.text(tool, value, isError)
    const program = this.program(tool)
    if (program === null || value === undefined) return value
    let output
    try {
      output = program.filter(JSON.stringify(value) ?? '', { is_error: isError }).toString()
    } catch {
      if (program.removesForSafety) throw new Withheld(isError ? FAILED : WITHHELD)
      return value
    }
    try {
      return JSON.parse(output)
    } catch {
      return output
    }
  }

  /**
   * Returns the members of a result of `tools/call` that may pass: all, unless the filter removes for safety. The payload is not
   * filtered yet.
   */
  allowed(tool, result) {
    const program = this.program(tool)
    if (!program.removesForSafety) return result
    const allowed = allowedResult(result, (text) => this.#search(program, text))
    if (allowed === undefined) throw new Withheld(WITHHELD)
    return allowed
  }

  /** Returns a name or an address without the secrets that a program redacts. Its other rules do not apply to it. */
  #search(program, text) {
    const { paths: _, ...redact } = program.spec.redact ?? {}
    if (!redact.secrets && redact.patterns === undefined) return text
    const key = JSON.stringify(redact)
    if (!this.#searches.has(key)) this.#searches.set(key, new Program({ redact }))
    return JSON.parse(this.#searches.get(key).filter(JSON.stringify(text)).toString())
  }

  /**
   * Returns the error of a failed call as it may be thrown. Throws `Withheld` with another message if its message must not pass.
   * A request to open an address passes with that message, because the client needs its data.
   */
  error(tool, error) {
    try {
      this.message(tool, error)
      return error
    } catch (other) {
      if (error?.code !== URL_ELICITATION_REQUIRED || !(other instanceof Withheld)) throw other
      return withMessage(error, other.message)
    }
  }

  /** Throws `Withheld` with another message if the message of a failed call must not pass as it is. */
  message(tool, error) {
    const program = this.program(tool)
    if (program === null || !program.removesForSafety) return
    const text = messageOf(error)
    const plain = program.filterPlain(text, true)
    if (plain === null) throw new Withheld(FAILED)
    if (plain.toString() !== text) throw new Withheld(plain.toString())
    // Errors of MCP have data, too.
    const data = error?.data === undefined ? '' : messageOf(error.data)
    if (program.filterPlain(data, true)?.toString() !== data) throw new Withheld(text)
  }
}

/** Returns the text that a model gets of an error, which may be any value. */
function messageOf(error) {
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error))
}

function withMessage(error, message) {
  const copy = Object.create(Object.getPrototypeOf(error), Object.getOwnPropertyDescriptors(error))
  for (const [name, value] of Object.entries({ message, stack: `${error.name}: ${message}` })) {
    Object.defineProperty(copy, name, { value, configurable: true, writable: true })
  }
  return copy
}
