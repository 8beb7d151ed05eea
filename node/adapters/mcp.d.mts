import type { ToolRules } from './ai.mjs'

/** Filters the results of all tools of an `McpServer`, those that are registered before and after this call; returns the server. */
export function filterServer<T extends object>(server: T, rules: ToolRules): T
/** Filters what `callTool` of a `Client` returns, and the results of tasks (`client.experimental.tasks`); returns the client. */
export function filterClient<T extends object>(client: T, rules: ToolRules): T
/** Filters one result of `tools/call`. */
export function filterResult<T extends object>(rules: ToolRules, tool: string, result: T): T
