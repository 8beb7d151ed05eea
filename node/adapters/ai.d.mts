import type { Manifest, Program, Rules } from '../index.js'

export type ToolRules = Manifest | Program | Record<string, Program | Rules>

/** Returns the tools with filtered results; see the guide. An object of rules with a name that no tool has is a `RangeError`. */
export function filterTools<T extends Record<string, object>>(tools: T, rules: ToolRules): T
/** Returns one tool with filtered results. */
export function filterTool<T extends object>(tool: T, program: Program | Rules): T
