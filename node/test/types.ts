// The types of the package: `tsc -p test` compiles this and nothing runs it.
import { Manifest, Program, TamisError, filterOutput, prune } from '../index.js'

const program = new Program({ select: { login: 'owner.login' }, max_items: 3 })
const output: Buffer = program.filter('[]', { budget: { bytes: 100 } })
const text: string = filterOutput('ls', 'a\n', 0)
const messages: { role: string }[] = prune([{ role: 'user' }], { keep_turns: 1 })
const stream: ReadableStream<Uint8Array> = new Response('[]').body!.pipeThrough(
  program.stream() as unknown as ReadableWritablePair<Uint8Array, Uint8Array>,
)
const found: Program | null = new Manifest('tamis.yaml').find('tool')

// @ts-expect-error the rule does not exist
new Program({ slect: ['id'] })
// @ts-expect-error a number is no document
program.filter(3)

export function place(error: unknown): [string, number | null, string] | undefined {
  if (error instanceof TamisError) return [error.kind, error.offset, error.path]
  return undefined
}
export { found, messages, output, stream, text }
