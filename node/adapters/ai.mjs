// AI SDK: wraps tools, so that the model gets filtered results.
import { Program } from 'tamis'
import { isEnvelope, wrapCall } from './function.mjs'
import { filterResult } from './mcp.mjs'
import { ToolFilters, Withheld } from './tools.mjs'

/**
 * Returns the tools with filtered results. `rules` is a manifest, an object of programs or rules by the names of tools, or one
 * program. Tools without `execute` and without a filter are returned unchanged. A name in an object that is not that of a tool is
 * an error, so that a tool does not pass unfiltered because of a wrong name. A manifest may have filters for other tools.
 */
export function filterTools(tools, rules) {
  const filters = new ToolFilters(rules)
  filters.requireTools(Object.keys(tools))
  const wrapped = Object.entries(tools).map(([name, tool]) => [name, wrap(filters, name, tool)])
  return Object.fromEntries(wrapped)
}

/** Returns one tool with filtered results. */
export function filterTool(tool, program) {
  return wrap(new ToolFilters(new Program(program)), '', tool)
}

function wrap(filters, name, tool) {
  if (typeof tool.execute !== 'function' || filters.program(name) === null) return tool
  const call = wrapCall(filters, name, tool.execute.bind(tool), (result) =>
    isMcpResult(tool, result) ? filterResult(filters, name, result) : filters.value(name, result),
  )
  const execute = (input, options) => {
    let result
    try {
      result = call(input, options)
    } catch (error) {
      if (error instanceof Withheld) return Promise.reject(error)
      throw error
    }
    // A tool may return preliminary results.
    if (result !== null && typeof result === 'object' && Symbol.asyncIterator in result) return result
    return Promise.resolve(result)
  }
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute })
}

/**
 * Returns whether a result is one of `tools/call`, with JSON in the texts of blocks. The tools of an MCP client return those, unless
 * they have an output schema. Tools that call such a tool may return them, too.
 */
function isMcpResult(tool, result) {
  if (result === null || typeof result !== 'object') return false
  const isFromClient = ('_meta' in tool || tool.metadata?.clientName !== undefined) && tool.outputSchema === undefined
  return isFromClient || isEnvelope(result)
}
