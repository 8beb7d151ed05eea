// Calls the package for a long time and watches the memory of the process, which must not grow.
//
// Usage: node soak.mjs [SECONDS] [PAUSE]. The default is an hour, with a pause of 0.2 seconds after each round, so
// that the run leaves the processor to others. Prints the resident memory about sixty times. Exits with 1 if the memory at
// the end exceeds the largest memory of the first half of the time by more than 8 MiB.
import assert from 'node:assert/strict'
import { ReadableStream } from 'node:stream/web'
import { pathToFileURL } from 'node:url'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Manifest, Program, filterOutput, prune } from 'tamis'

const items = Buffer.from(JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, name: `n${id}`, body: 'x'.repeat(200) }))))
const lines = Buffer.from('{"id": 1, "body": "x"}\n'.repeat(300))
const yaml = 'version: 1\nfilters:\n  crm.list: {select: [id]}\n  crm.*: {exclude: [ssn], redact: secrets}\n'
const chat = [
  { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'read' } }] },
  { role: 'tool', tool_call_id: 'c', content: 'many lines\n'.repeat(200) },
  { role: 'user', content: 'go on' },
]
const output = '   Compiling ryu v1.0.18\n'.repeat(300) + 'error[E0425]: cannot find value `x`\n'
export const ALLOWED = 8 << 20

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc')
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000))

/**
 * Returns the resident memory of this process after a collection. The space for new objects is left out: V8 enlarges it in steps up
 * to 32 MiB, whatever a program calls.
 */
export async function resident() {
  // Buffers are freed when they are collected, and some of them a turn later.
  for (let turn = 0; turn < 3; turn += 1) {
    collect()
    await sleep(0.005)
  }
  const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
  return process.memoryUsage().rss - young.physical_space_size
}

function source(size) {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= items.length) controller.close()
      else controller.enqueue(items.subarray(at, (at += size)))
    },
  })
}

/** Calls every part of the package; returns the number of calls. */
async function round(number) {
  const program = new Program({ select: ['id'], max_items: number % 500 })
  for (const data of [items, items.toString(), new Uint8Array(items)]) assert.equal(program.filter(data)[0], 0x5b)
  const cut = program.filterWithReport(items, { budget: { bytes: 400 } })
  assert.ok(cut.output.length <= 400 && cut.report.filter_applied)
  new Program().filter(items)
  assert.throws(() => program.filter('[{"id": }]'), { kind: 'syntax' })
  assert.throws(() => new Program({ slect: ['id'] }), { kind: 'spec' })
  assert.throws(() => new Manifest('version: 1\nfilters: {a: {slect: [id]}}\n'), { kind: 'manifest' })
  assert.throws(() => program.filterLines(Buffer.concat([lines, Buffer.from('oops\n')])), { kind: 'syntax' })
  program.filterLines(lines)
  const whole = program.push()
  for (let start = 0; start < items.length; start += 4096) whole.write(items.subarray(start, start + 4096))
  whole.end()
  program.push().write(items.subarray(0, 1000))
  for await (const _ of source(10_000).pipeThrough(program.stream()));
  const reader = source(100).pipeThrough(new Program({ root: 'object' }).stream()).getReader()
  await reader.read()
  await reader.cancel()
  const manifest = new Manifest(yaml)
  assert.ok(!manifest.program('mcp__crm__get').filter('[{"ssn": 1, "id": 2}]').includes('ssn'))
  assert.equal(manifest.find('other'), null)
  prune(chat, { keep_turns: 1 })
  filterOutput('cargo build', output, 101)
  await Promise.all([program.filterAsync(items), program.filterAsync(items)])
  return 20
}

/** Calls rounds for a time; returns by how many bytes the memory grew in the second half of it. */
export async function soak(seconds, pause, show) {
  let [calls, rounds, shown, warm] = [0, 0, 0, 0]
  const start = Date.now()
  // The compiler and the allocator reach their sizes in the first rounds, however short the run is.
  for (let number = 0; number < 100; number += 1) calls += await round(number)
  for (;;) {
    calls += await round(rounds)
    rounds += 1
    const elapsed = (Date.now() - start) / 1000
    if (elapsed >= shown || elapsed >= seconds) {
      const memory = await resident()
      show(`${elapsed.toFixed(0).padStart(8)} s  ${calls.toLocaleString('en').padStart(9)} calls  ${Math.round(memory / 1024).toLocaleString('en').padStart(8)} KiB`)
      shown = elapsed + seconds / 60
      if (elapsed <= seconds / 2 || warm === 0) warm = Math.max(warm, memory)
      if (elapsed >= seconds) return memory - warm
    }
    await sleep(pause)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const grown = await soak(Number(process.argv[2] ?? 3600), Number(process.argv[3] ?? 0.2), console.log)
  console.log(`the memory changed by ${Math.round(grown / 1024).toLocaleString('en')} KiB in the second half of the time`)
  process.exitCode = grown > ALLOWED ? 1 : 0
}
