// MCP TypeScript SDK: filters the results of tools, in a server before they are sent, in a client after they arrive.
import { filterClientTasks, wrapTaskHandler } from './tasks.mjs'
import { ToolFilters, Withheld, WithheldText } from './tools.mjs'

/**
 * Filters the results of all tools of an `McpServer`, those that are registered before and after this call, and leaves out their
 * output schemas, which the results no longer fit. Results of tasks are filtered when the handler of the tool stores them. Returns
 * the server.
 */
export function filterServer(server, rules) {
  const filters = new ToolFilters(rules)
  // The tools by their names. The SDK has no public way to list them.
  const tools = server?._registeredTools
  if (tools === undefined) throw new TypeError('expected an `McpServer`, which has registered tools')
  for (const [name, registered] of Object.entries(tools)) filterRegistered(filters, tools, name, registered)
  for (const [owner, method] of [
    [server, 'registerTool'],
    [server, 'tool'],
    [server.experimental?.tasks, 'registerToolTask'],
  ]) {
    const register = owner?.[method]?.bind(owner)
    if (register === undefined) continue
    owner[method] = (name, ...rest) => filterRegistered(filters, tools, name, register(name, ...rest))
  }
  return server
}

/** Filters the results of a registered tool, whose name, handler and output schema may change. */
function filterRegistered(filters, tools, firstName, registered) {
  // A tool may have two names: the SDK does not remove the old one of a tool that is renamed twice.
  const name = () => {
    const names = Object.keys(tools).filter((name) => tools[name] === registered)
    return names.find((name) => filters.program(name)?.removesForSafety) ?? names[0] ?? firstName
  }
  mapProperty(registered, 'outputSchema', (schema) => (filters.program(name()) === null ? schema : undefined))
  mapProperty(registered, 'handler', (handler) => {
    const current = name()
    if (filters.program(current) === null) return handler
    if (typeof handler === 'function') return wrapCallback(filters, current, handler)
    return wrapTaskHandler(filters, current, handler, filterResult)
  })
  return registered
}

/** Changes what is read from a property. */
function mapProperty(object, property, map) {
  let { value, get = () => value, set = (next) => (value = next) } = Object.getOwnPropertyDescriptor(object, property)
  Object.defineProperty(object, property, { get: () => map(get()), set, configurable: true, enumerable: true })
}

/** Returns a callback of a tool with filtered results. */
function wrapCallback(filters, name, callback) {
  return async (...parameters) => {
    let result
    try {
      result = await callback(...parameters)
    } catch (error) {
      return failed(filters, name, error)
    }
    return filterResult(filters, name, result)
  }
}

/** Filters what `callTool` of a `Client` returns, and the results of tasks (`client.experimental.tasks`). Returns the client. */
export function filterClient(client, rules) {
  const filters = new ToolFilters(rules)
  const call = client.callTool.bind(client)
  client.callTool = async (params, ...rest) => {
    let result
    try {
      result = await call(params, ...rest)
    } catch (error) {
      return failed(filters, params.name, error)
    }
    return filterResult(filters, params.name, result)
  }
  filterClientTasks(client, filters, { filterResult, withheld })
  return client
}

/** Filters one result of `tools/call`: the texts of its blocks and its structured content. */
export function filterResult(filters, tool, result) {
  const rules = filters instanceof ToolFilters ? filters : new ToolFilters(filters)
  if (rules.program(tool) === null) return result
  try {
    return filterMembers(rules, tool, rules.allowed(tool, result))
  } catch (error) {
    return withheld(error)
  }
}

function filterMembers(rules, tool, result) {
  if (result === null || typeof result !== 'object') return result
  const isError = result.isError === true
  const filtered = { ...result }
  if (Array.isArray(result.content)) {
    filtered.content = result.content.flatMap((block) => {
      try {
        return [filterBlock(rules, tool, block, isError)]
      } catch (error) {
        if (error instanceof WithheldText && !isError && hasValues(result.structuredContent, block)) return []
        throw error
      }
    })
  }
  if (result.structuredContent !== undefined) {
    const value = rules.value(tool, result.structuredContent, isError)
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value)
    // Text cannot be structured content; the blocks have it.
    if (isObject) filtered.structuredContent = value
    else delete filtered.structuredContent
  }
  if (result.toolResult !== undefined) filtered.toolResult = rules.value(tool, result.toolResult, isError)
  return filtered
}

function filterBlock(rules, tool, block, isError) {
  if (typeof block?.text === 'string') return { ...block, text: rules.text(tool, block.text, isError) }
  if (typeof block?.resource?.text === 'string') {
    return { ...block, resource: { ...block.resource, text: rules.text(tool, block.resource.text, isError) } }
  }
  return block
}

/** Returns whether structured content has the values of a block, and does not only repeat its text. */
function hasValues(structured, block) {
  if (structured === undefined || structured === null) return false
  const values = Object.values(structured)
  return values.length !== 1 || values[0] !== (block.text ?? block.resource?.text)
}

/** Throws the error of a call, or returns a result in its place if its message must not pass. */
function failed(filters, tool, error) {
  let safe
  try {
    safe = filters.error(tool, error)
  } catch (other) {
    return withheld(other)
  }
  throw safe
}

function withheld(error) {
  if (!(error instanceof Withheld)) throw error
  return { content: [{ type: 'text', text: error.message }], isError: true }
}
