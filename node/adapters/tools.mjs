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

  /** Returns the filter of a tool, or null. */
  program(tool) {
    if (this.#manifest !== undefined) return this.#manifest.find(tool)
    return this.#named.get(tool) ?? this.#every ?? null
  }

  /** Returns the filtered text of a result. Text that is not JSON passes unless the filter removes for safety. */
  text(tool, text, isError = false) {
    const program = this.program(tool)
    if (program === null) return text
    try {
      return program.filter(text, { is_error: isError }).toString()
    } catch (error) {
      if (!(error instanceof TamisError)) throw error
      if (program.removesForSafety) throw new Withheld(isError ? FAILED : WITHHELD)
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

  /** Throws `Withheld` if the message of a failed call must not pass. */
  message(tool) {
    if (this.program(tool)?.removesForSafety) throw new Withheld(FAILED)
  }
}
