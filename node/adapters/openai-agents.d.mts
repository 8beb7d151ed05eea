import type { ToolRules } from './ai.mjs'

/** A guardrail as `toolOutputGuardrails` of the MCP servers of `@openai/agents` takes it. */
export interface OutputGuardrail {
  type: 'tool_output'
  name: string
  run(data: { toolCall: { name: string }; output: unknown }): Promise<{
    behavior: { type: 'allow' } | { type: 'rejectContent'; message: string }
  }>
}

/** Returns a guardrail that filters what the tools of MCP servers return; see the guide. */
export function outputGuardrail(rules: ToolRules): OutputGuardrail
