// OpenAI Agents: a guardrail that filters what the tools of MCP servers return.
import { isDeepStrictEqual } from 'node:util'
import { isKnownBlock } from './allowed.mjs'
import { filtered } from './function.mjs'
import { filterResult } from './mcp.mjs'
import { ToolFilters, Withheld } from './tools.mjs'

/**
 * Returns a guardrail for `toolOutputGuardrails` of an MCP server. The name of a tool is the one that the model calls. A tool without
 * a filter is passed through.
 *
 * A guardrail can only replace an output by a text: the texts of several blocks are joined. If there are images, a filter that only
 * saves passes the original, and one that removes for safety leaves them out.
 */
export function outputGuardrail(rules) {
  const filters = new ToolFilters(rules)
  const run = async ({ toolCall, output }) => {
    const message = replacement(filters, toolCall.name, output)
    return { behavior: message === undefined ? { type: 'allow' } : { type: 'rejectContent', message } }
  }
  return { type: 'tool_output', name: 'tamis', run }
}

/** Returns the text that takes the place of an output, or undefined if the output passes. */
function replacement(filters, tool, output) {
  const program = filters.program(tool)
  if (program === null) return undefined
  const blocks = Array.isArray(output) ? output : [output]
  if (blocks.some(isKnownBlock)) {
    const { content } = filterResult(filters, tool, { content: blocks })
    if (isDeepStrictEqual(content, blocks)) return undefined
    const texts = content.map(textOf)
    const images = texts.filter((text) => text === undefined).length
    if (images > 0 && !program.removesForSafety) return undefined
    const note = images > 0 ? [`(left out: ${images} without text)`] : []
    return [...texts.filter((text) => text !== undefined), ...note].join('\n')
  }
  try {
    const found = filtered(filters, tool, output)
    if (isDeepStrictEqual(found, output)) return undefined
    return typeof found === 'string' ? found : JSON.stringify(found)
  } catch (error) {
    if (error instanceof Withheld) return error.message
    throw error
  }
}

/** Returns what a model can read of a block of MCP. */
function textOf(block) {
  if (block.type === 'resource_link') return JSON.stringify(block)
  return block.text ?? block.resource?.text
}
