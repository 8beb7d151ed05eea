// Which filter a tool has, and what becomes of a result that cannot be filtered.
import { Manifest, Program, TamisError } from 'tamis'

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

  constructor(rules) {
    if (rules instanceof ToolFilters) {
      this.#manifest = rules.#manifest
      this.#every = rules.#every
      this.#named = rules.#named
    } else if (rules instanceof Manifest) this.#manifest = rules
    else if (rules instanceof Program) this.#every = rules
    else {
      for (const [name, entry] of Object.entries(rules)) {
        this.#named.set(name, entry instanceof Program ? entry : new Program(entry))
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

  /** Returns the filtered value of a result: an object, an array, or text if the rules write text. */
  value(tool, value, isError = false) {
    const program = this.program(tool)
    if (program === null) return value
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

  /** Throws `Withheld` with another message if the message of a failed call must not pass as it is. */
  message(tool, error) {
    const program = this.program(tool)
    if (program === null || !program.removesForSafety) return
    const text = error instanceof Error ? error.message : String(error)
    const plain = program.filterPlain(text, true)
    if (plain === null) throw new Withheld(FAILED)
    if (plain.toString() !== text) throw new Withheld(plain.toString())
  }
}
