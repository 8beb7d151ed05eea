// The types of the package: `tsc -p test` compiles this and nothing runs it.
import { Manifest, OutputFilters, Program, TamisError, TextProgram, filterOutput, prune } from '../index.js'
import { filterTools } from '../adapters/ai.mjs'
import { filterServer } from '../adapters/mcp.mjs'
import { outputGuardrail } from '../adapters/openai-agents.mjs'

const program = new Program({ select: { login: 'owner.login' }, max_items: 3 })
const output: Buffer = program.filter('[]', { budget: { bytes: 100 } })
const text: string = filterOutput('ls', 'a\n', 0)
const messages: { role: string }[] = prune([{ role: 'user' }], { keep_turns: 1 })
const stream: ReadableStream<Uint8Array> = new Response('[]').body!.pipeThrough(program.stream())
const lines: Promise<string> = new Response(new Response('').body!.pipeThrough(new TextProgram().stream())).text()
const transform: TransformStream<string, Uint8Array> = program.stream()
export function either(data: string | Uint8Array, bytes: ArrayBuffer | Uint8Array): (string | Buffer)[] {
  const buffers: Buffer[] = [filterOutput('ls', bytes), prune(bytes)]
  return [...buffers, filterOutput('ls', data), prune(data), new OutputFilters().filter('ls', data)]
}
const found: Program | null = new Manifest('tamis.yaml').find('tool')

const kept: number | undefined = program.filterWithReport('[]').report.items_kept
const folded: number = new TextProgram({ dedup: { scope: 'all' } }).filterWithReport('').report.lines_folded
const tools: { search: { execute: () => string } } = filterTools({ search: { execute: () => '' } }, program)
const server: { name: string } = filterServer({ name: 'x' }, Manifest.merge(new Manifest('a'), Manifest.catalog()))

export async function chunks(body: AsyncIterable<Uint8Array>): Promise<Buffer[]> {
  const all: Buffer[] = []
  for await (const chunk of program.push().pipe(body)) all.push(chunk)
  return all
}

const later: Promise<Buffer> = program.filterAsync('[]', { raw: true, signal: new AbortController().signal })
const guardrail: { type: 'tool_output'; name: string } = outputGuardrail({ search: { select: ['id'] } })

// @ts-expect-error the report has no such key
program.filterWithReport('[]').report.itms_kept
// @ts-expect-error the rule does not exist
new Program({ slect: ['id'] })
// @ts-expect-error a number is no document
program.filter(3)

// @ts-expect-error a map has no members that are rules
new Program(new Map([['exclude', ['ssn']]]))
// @ts-expect-error a map is not an object of programs
filterTools({}, new Map([['search', program]]))

export function place(error: unknown): [string, number | null, string] | undefined {
  if (error instanceof TamisError) return [error.kind, error.offset, error.path]
  return undefined
}
export { folded, found, kept, lines, messages, output, server, stream, text, tools, transform }
