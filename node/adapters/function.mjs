// Any function whose results are filtered, for frameworks that make tools of functions. The adapters are made of `wrapCall`.
import { Manifest, Program } from 'tamis'
import { isBytes } from '../inputs.cjs'
import { isKnownBlock } from './allowed.mjs'
import { filterResult } from './mcp.mjs'
import { ToolFilters, WITHHELD, Withheld } from './tools.mjs'

/**
 * Returns a function that calls `fn` and filters what it returns: a text, bytes, a value that JSON has a form for, a result of MCP
 * (`{ content: [{ type: 'text', … }] }`), a list of its blocks or of texts, a promise of one, or a generator, each of whose values is
 * filtered on its own. Name and properties stay. `rules` is a program, rules, or a manifest, in which the name of the function counts unless there is a `name`.
 * A manifest without a filter of that name is an error.
 *
 * A filter that only saves never breaks a call: if it fails, the original passes. If a filter that removes for safety cannot be
 * applied, a sentence takes the place of the result, or of the message of an error.
 */
export function filterTool(fn, rules, { name } = {}) {
  if (typeof fn !== 'function') throw new TypeError(`expected a function, found ${fn === null ? 'null' : typeof fn}`)
  const ofTools = rules instanceof ToolFilters || rules instanceof Manifest
  const filters = new ToolFilters(ofTools ? rules : new Program(rules))
  const tool = name ?? fn.name
  filters.require(tool)
  const wrapped = wrapCall(filters, tool, fn, (result) => {
    try {
      return filtered(filters, tool, result)
    } catch (error) {
      if (!(error instanceof Withheld)) throw error
      return isBytes(result) ? new TextEncoder().encode(error.message) : error.message
    }
  })
  return Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(fn))
}

/** Returns the filtered result of a tool. Throws `Withheld` if it must not pass; a result of MCP says so itself. */
export function filtered(filters, tool, result) {
  if (filters.program(tool) === null || result === null || result === undefined) return result
  if (typeof result === 'string') return filters.text(tool, result)
  if (isBytes(result)) {
    const text = new TextDecoder('utf-8', { fatal: true })
    try {
      return new TextEncoder().encode(filters.text(tool, text.decode(result)))
    } catch (error) {
      if (!(error instanceof TypeError) || filters.program(tool).removesForSafety) {
        throw error instanceof TypeError ? new Withheld(WITHHELD) : error
      }
      return result
    }
  }
  if (isEnvelope(result)) return filterResult(filters, tool, result)
  if (isContent(filters, tool, result)) return filteredContent(filters, tool, result)
  if (typeof result !== 'object') return result
  return filters.value(tool, result)
}

/** Returns whether a result is a list of blocks or of texts. The rules that save apply to a list of texts as they do to other lists. */
function isContent(filters, tool, result) {
  if (!Array.isArray(result)) return false
  const isText = (one) => typeof one === 'string'
  if (result.some(isKnownBlock)) return true
  return filters.program(tool).removesForSafety && result.some(isText)
}

/** Returns a list of blocks or of texts with each of them filtered. Throws `Withheld` if one must not pass. */
function filteredContent(filters, tool, result) {
  return result.flatMap((one) => {
    if (typeof one === 'string') return [filters.text(tool, one)]
    if (!isKnownBlock(one)) return [filters.value(tool, one)]
    const { content, isError } = filterResult(filters, tool, { content: [one] })
    if (isError) throw new Withheld(content[0].text)
    return content
  })
}

/** Returns whether a result is one of `tools/call` of MCP. */
export function isEnvelope(result) {
  if (result === null || typeof result !== 'object' || !Array.isArray(result.content)) return false
  return result.content.some(isKnownBlock) || result.structuredContent !== undefined || typeof result.isError === 'boolean'
}

/**
 * Returns a function that calls `fn` and returns `filtered` of what it returns, of what a promise has, or of each value of a
 * generator. The message of an error is replaced if it must not pass.
 */
export function wrapCall(filters, tool, fn, filtered) {
  const failed = (error) => {
    throw filters.error(tool, error)
  }
  const each = async function* (results) {
    try {
      for await (const result of results) yield filtered(result)
    } catch (error) {
      failed(error)
    }
  }
  const eachNow = function* (results) {
    try {
      for (const result of results) yield filtered(result)
    } catch (error) {
      failed(error)
    }
  }
  return function (...args) {
    let result
    try {
      result = fn.apply(this, args)
    } catch (error) {
      failed(error)
    }
    if (typeof result?.then === 'function') return Promise.resolve(result).then(filtered, failed)
    if (result !== null && typeof result === 'object') {
      if (Symbol.asyncIterator in result) return each(result)
      // An array is a value; a generator is not.
      if (typeof result.next === 'function' && Symbol.iterator in result) return eachNow(result)
    }
    return filtered(result)
  }
}
