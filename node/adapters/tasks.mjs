// Tasks of the MCP TypeScript SDK, which are experimental there: results that a client fetches after the call of a tool.
import { Withheld } from './tools.mjs'

/** The most tasks whose tools a client remembers. */
const REMEMBERED = 10_000

/**
 * Returns the handler of a tool that runs as a task. Results are filtered when the handler stores them, because the server sends
 * them from the store.
 */
export function wrapTaskHandler(filters, name, handler, filterResult) {
  const wrap = (method) => (...parameters) => {
    const extra = parameters.pop()
    return handler[method](...parameters, { ...extra, taskStore: wrapStore(filters, name, extra.taskStore, filterResult) })
  }
  return { createTask: wrap('createTask'), getTask: wrap('getTask'), getTaskResult: wrap('getTaskResult') }
}

function wrapStore(filters, name, store, filterResult) {
  return {
    ...store,
    storeTaskResult: (task, status, result) => store.storeTaskResult(task, status, filterResult(filters, name, result)),
    updateTaskStatus: (task, status, message) => store.updateTaskStatus(task, status, safeMessage(filters, name, message)),
  }
}

/** Filters the results of tasks that a client fetches, in `client.experimental.tasks`. */
export function filterClientTasks(client, filters, { filterResult, withheld }) {
  const tasks = client.experimental?.tasks
  if (tasks === undefined) return
  const tools = new Map()
  const remember = (task, tool) => {
    if (tools.size >= REMEMBERED) tools.delete(tools.keys().next().value)
    tools.set(task, tool)
  }
  const callToolStream = tasks.callToolStream.bind(tasks)
  tasks.callToolStream = async function* (params, ...rest) {
    for await (const message of callToolStream(params, ...rest)) {
      if (message.task !== undefined) {
        remember(message.task.taskId, params.name)
        yield { ...message, task: safeTask(filters, params.name, message.task) }
      } else if (message.type === 'result') {
        yield { ...message, result: filterResult(filters, params.name, message.result) }
      } else {
        yield safeError(filters, params.name, message, withheld)
      }
    }
  }
  const getTaskResult = tasks.getTaskResult.bind(tasks)
  tasks.getTaskResult = async (task, ...rest) => {
    const result = await getTaskResult(task, ...rest)
    const tool = tools.get(task)
    if (tool !== undefined) return filterResult(filters, tool, result)
    return filters.every === null ? withheldOr(filters, result, withheld) : filterResult(filters, '', result)
  }
  const getTask = tasks.getTask.bind(tasks)
  tasks.getTask = async (task, ...rest) => safeTask(filters, tools.get(task), await getTask(task, ...rest))
}

/** Returns the result of a task whose tool is not known, unless the filter of a tool removes for safety. */
function withheldOr(filters, result, withheld) {
  if (!filters.removesForSafety) return result
  return withheld(new Withheld('The result is withheld, because it is not known which tool it is of.'))
}

/** Returns a task whose message is one that may pass. `tool` is undefined if it is not known. */
function safeTask(filters, tool, task) {
  const { statusMessage, ...rest } = task
  if (tool === undefined) return filters.removesForSafety ? rest : task
  const message = safeMessage(filters, tool, statusMessage)
  return message === undefined ? rest : { ...rest, statusMessage: message }
}

function safeMessage(filters, tool, message) {
  if (message === undefined) return undefined
  try {
    filters.message(tool, message)
    return message
  } catch (error) {
    if (error instanceof Withheld) return undefined
    throw error
  }
}

function safeError(filters, tool, message, withheld) {
  try {
    return { ...message, error: filters.error(tool, message.error) }
  } catch (error) {
    return { type: 'result', result: withheld(error) }
  }
}
