// MCP TypeScript SDK: filters the results of tools, in a server before they are sent, in a client after they arrive.
import { filterClientTasks, wrapTaskHandler } from './tasks.mjs'
import { ToolFilters, Withheld, WithheldText } from './tools.mjs'

/**
 * Filters the results of all tools that are registered on an `McpServer` after this call, and leaves out their output schemas,
 * which the results no longer fit. Results of tasks are filtered when the handler of the tool stores them. Returns the server.
 */
export function filterServer(server, rules) {
  const filters = new ToolFilters(rules)
  const registerTool = server.registerTool.bind(server)
  const tool = server.tool.bind(server)
  server.registerTool = (name, config, callback) => {
    if (filters.program(name) === null) return registerTool(name, config, callback)
    const { outputSchema: _, ...rest } = config
    return withUpdates(filters, name, registerTool(name, rest, wrapCallback(filters, name, callback)))
  }
  // The older way to register a tool: the callback is the last argument.
  server.tool = (name, ...rest) => {
    if (filters.program(name) === null) return tool(name, ...rest)
    const callback = wrapCallback(filters, name, rest.pop())
    return withUpdates(filters, name, tool(name, ...rest, callback))
  }
  const tasks = server.experimental?.tasks
  if (tasks !== undefined) {
    const registerToolTask = tasks.registerToolTask.bind(tasks)
    tasks.registerToolTask = (name, config, handler) => {
      if (filters.program(name) === null) return registerToolTask(name, config, handler)
      const { outputSchema: _, ...rest } = config
      return registerToolTask(name, rest, wrapTaskHandler(filters, name, handler, filterResult))
    }
  }
  return server
}

/** Returns a callback of a tool with filtered results. */
function wrapCallback(filters, name, callback) {
  return async (...parameters) => {
    let result
    try {
      result = await callback(...parameters)
    } catch (error) {
      return failedOr(error, () => filters.message(name, error))
    }
    return filterResult(filters, name, result)
  }
}

/** Filters the results of a callback that replaces the one of a registered tool. */
function withUpdates(filters, name, registered) {
  const { update } = registered
  registered.update = ({ callback, outputSchema: _, ...rest }) =>
    update(callback === undefined ? rest : { ...rest, callback: wrapCallback(filters, name, callback) })
  return registered
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
      return failedOr(error, () => filters.message(params.name, error))
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
  const isError = result.isError === true
  try {
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
    return filtered
  } catch (error) {
    return withheld(error)
  }
}

function filterBlock(rules, tool, block, isError) {
  if (typeof block.text === 'string') return { ...block, text: rules.text(tool, block.text, isError) }
  if (typeof block.resource?.text === 'string') {
    return { ...block, resource: { ...block.resource, text: rules.text(tool, block.resource.text, isError) } }
  }
  return block
}

/** Returns whether structured content has the values of a block, and does not only repeat its text. */
function hasValues(structured, block) {
  if (structured === undefined) return false
  const values = Object.values(structured)
  return values.length !== 1 || values[0] !== (block.text ?? block.resource?.text)
}

/** Throws the error of a call, unless its message must not pass. */
function failedOr(error, check) {
  try {
    check()
  } catch (other) {
    return withheld(other)
  }
  throw error
}

function withheld(error) {
  if (!(error instanceof Withheld)) throw error
  return { content: [{ type: 'text', text: error.message }], isError: true }
}
