// AI SDK: wraps tools, so that the model gets filtered results.
import { filterResult } from './mcp.mjs'
import { ToolFilters } from './tools.mjs'

/**
 * Returns the tools with filtered results. `rules` is a manifest, an object of programs or rules by the names of tools, or one
 * program. Tools without `execute` and without a filter are returned unchanged.
 */
export function filterTools(tools, rules) {
  const filters = new ToolFilters(rules)
  const wrapped = Object.entries(tools).map(([name, tool]) => [name, wrap(filters, name, tool)])
  return Object.fromEntries(wrapped)
}

/** Returns one tool with filtered results. */
export function filterTool(tool, program) {
  return wrap(new ToolFilters(program), '', tool)
}

function wrap(filters, name, tool) {
  if (typeof tool.execute !== 'function' || filters.program(name) === null) return tool
  const filtered = (result) => {
    if (typeof result === 'string') return filters.text(name, result)
    return isMcpResult(result) ? filterResult(filters, name, result) : filters.value(name, result)
  }
  const stream = async function* (results) {
    try {
      for await (const result of results) yield filtered(result)
    } catch (error) {
      filters.message(name, error)
      throw error
    }
  }
  const execute = (input, options) => {
    let result
    try {
      result = tool.execute(input, options)
    } catch (error) {
      filters.message(name, error)
      throw error
    }
    // A tool may return preliminary results.
    if (result !== null && typeof result === 'object' && Symbol.asyncIterator in result) return stream(result)
    return Promise.resolve(result).then(filtered, (error) => {
      filters.message(name, error)
      throw error
    })
  }
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute })
}

const MEMBERS = ['content', 'structuredContent', 'isError', '_meta']
const BLOCKS = ['text', 'image', 'audio', 'resource', 'resource_link']

/** Returns whether a result is one of `tools/call`. The tools of an MCP client return those, with JSON in the texts of blocks. */
function isMcpResult(result) {
  const blocks = result?.content
  return (
    Array.isArray(blocks) &&
    Object.keys(result).every((name) => MEMBERS.includes(name)) &&
    blocks.every((block) => BLOCKS.includes(block?.type))
  )
}
