// The interface: inputs, errors, streams, backpressure, threads, memory and types.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { ReadableStream } from 'node:stream/web'
import { test } from 'node:test'
import vm from 'node:vm'
import { Worker } from 'node:worker_threads'
import { Manifest, OutputFilters, Program, TamisError, TextProgram, filterOutput, prune, restore, version } from 'tamis'
import { ALLOWED, resident, soak } from '../soak.mjs'
import { text } from './cases.mjs'

const items = Buffer.from(JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, name: `n${id}`, body: 'x'.repeat(200) }))))
const wanted = JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id })))
const select = new Program({ select: ['id'] })

test('inputs', () => {
  const shared = new Uint8Array(new SharedArrayBuffer(items.length))
  shared.set(items)
  const padded = Buffer.concat([Buffer.from('##'), items, Buffer.from('#')])
  // An array of another realm, as tests with Jest have them.
  const foreign = vm.runInNewContext('Uint8Array.from(bytes)', { bytes: items })
  assert.ok(!(foreign instanceof Uint8Array))
  const whole = new Uint8Array(items)
  const inputs = [items, items.toString(), whole, whole.buffer, shared, shared.buffer, padded.subarray(2, -1), foreign, foreign.buffer]
  for (const input of inputs) assert.equal(select.filter(input).toString(), wanted)
  assert.equal(select.filter('[{"id": "ä😀"}]').toString(), '[{"id":"ä😀"}]')
  const similar = Object.create(Uint8Array.prototype)
  for (const input of [null, undefined, 1, {}, ['[]'], similar, new Uint16Array(2), new DataView(whole.buffer), Object.create(null)]) {
    assert.throws(() => select.filter(input), { name: 'TypeError', message: /^expected a Buffer, a Uint8Array, an ArrayBuffer or a string, found / })
  }
})

test('large outputs', () => {
  const large = Buffer.concat([Buffer.from('['), ...Array.from({ length: 9 }, () => [items.subarray(1, -1), Buffer.from(',')]).flat(), Buffer.from('0]')])
  assert.deepEqual(JSON.parse(new Program().filter(large).toString()), JSON.parse(large.toString()))
})

test('unknown names are errors', () => {
  const calls = [
    () => new Program({ slect: ['id'] }),
    () => select.filter('[]', { bugdet: { bytes: 3 } }),
    () => select.push({ dept: 3 }),
    () => prune([], { keep_turn: 1 }),
    () => filterOutput('ls', '', 0, { max_line: 1 }),
  ]
  for (const call of calls) assert.throws(call, { name: 'TamisError', kind: 'spec', message: /^unknown field/ })
})

test('values that JSON does not have are errors', () => {
  for (const [rules, message] of [
    [{ max_items: NaN }, 'expected a JSON value for `max_items`, found NaN'],
    [{ budget: { bytes: Infinity } }, 'expected a JSON value for `bytes`, found Infinity'],
    [{ redact: () => true }, 'expected a JSON value for `redact`, found function'],
    [Symbol('x'), 'expected a JSON value, found symbol'],
  ]) {
    assert.throws(() => new Program(rules), { name: 'TypeError', message })
    assert.throws(() => select.filter('[]', rules), { name: 'TypeError', message })
  }
})

test('rules that are not plain objects are errors', () => {
  for (const [rules, found] of [
    [null, 'null'],
    ['id', 'string'],
    [['id'], 'Array'],
    [new Map([['exclude', ['ssn']]]), 'Map'],
    [{ redact: new Map([['paths', ['ssn']]]) }, 'Map'],
    [{ exclude: new Set(['ssn']) }, 'Set'],
    [{ redact: { patterns: { badge: /E-[0-9]+/ } } }, 'RegExp'],
    [{ redact: { toJSON: () => ({}), paths: ['ssn'] } }, 'function'],
    [new TextProgram(), 'TextProgram'],
  ]) {
    const message = new RegExp(`^expected (a JSON value|an object)( for \`\\w+\`)?, found ${found}$`)
    for (const call of [() => new Program(rules), () => new TextProgram(rules), () => select.filter('[]', rules)]) {
      assert.throws(call, { name: 'TypeError', message })
    }
  }
  // A program is copied. Objects of another realm, and those without a prototype, are plain.
  const removes = new Program({ exclude: ['ssn'] })
  const foreign = vm.runInNewContext("({ exclude: ['ssn'] })")
  for (const rules of [removes, foreign, Object.assign(Object.create(null), { exclude: ['ssn'] })]) {
    assert.equal(new Program(rules).filter('{"id": 1, "ssn": 2}').toString(), '{"id":1}')
    assert.ok(new Program(rules).removesForSafety)
  }
})

test('wrong arguments', () => {
  const manifest = new Manifest('version: 1\nfilters: {a: {}}\n')
  const filters = new OutputFilters()
  for (const [call, message] of [
    [() => manifest.program(), 'expected a string as the tool, found undefined'],
    [() => manifest.find(5), 'expected a string as the tool, found number'],
    [() => manifest.forService(null), 'expected a string as the service, found null'],
    [() => Manifest.parse({}), 'expected a string as the text, found Object'],
    [() => Manifest.merge(manifest, {}), 'expected manifests, found Object'],
    [() => filterOutput(['ls'], ''), 'expected a string as the command, found Array'],
    [() => filters.push(), 'expected a string as the command, found undefined'],
    [() => filters.filterFor(1), 'expected a string as the command, found number'],
    [() => filterOutput('ls', '', '1'), 'expected an integer of 32 bits as the exit code, found string'],
    [() => filterOutput('ls', '', 1.5), 'expected an integer of 32 bits as the exit code, found 1.5'],
    [() => filterOutput('ls', '', 2 ** 32), 'expected an integer of 32 bits as the exit code, found 4294967296'],
    [() => filters.push('ls').end(NaN), 'expected an integer of 32 bits as the exit code, found NaN'],
  ]) {
    assert.throws(call, { name: 'TypeError', message })
  }
})

test('files by address', () => {
  const url = new URL('../../examples/', import.meta.url)
  assert.throws(() => new Manifest(new URL('none.yaml', url)), { kind: 'read', message: /examples.none\.yaml/ })
  assert.throws(() => new OutputFilters(new URL('none.toml', url)), { kind: 'read' })
  for (const source of [undefined, null, 3, Buffer.from('version: 1\n')]) {
    assert.throws(() => new Manifest(source), { name: 'TypeError', message: /^expected a path, a URL or a text with a line break, found / })
  }
})

test('errors have kind, offset and path', async () => {
  const wrong = '[{"id": 1}, {"id": oops}]'
  const place = { name: 'TamisError', kind: 'syntax', fault: 'input', offset: 19, path: '/1/id', message: 'byte 19 at /1/id: expected a value' }
  assert.throws(() => select.filter(wrong), place)
  await assert.rejects(select.filterAsync(wrong), place)
  assert.throws(() => select.filter('[[[]]]', { depth: 2 }), { kind: 'limit', limit: 'depth' })
})

test('lines', () => {
  assert.equal(
    select.filterEvents('id: 7\ndata: {"id": 1, "x": 2}\n\ndata: [DONE]\n\n').toString(),
    'id: 7\ndata: {"id":1}\n\ndata: [DONE]\n\n',
  )
  assert.throws(() => select.filterEvents('data: oops\n\n'), { kind: 'syntax' })
  assert.equal(select.filterLines('{"id": 1, "x": 2}\n{"id": 2}\n').toString(), '{"id":1}\n{"id":2}\n')
  assert.throws(
    () => select.filterLines('{"id": 1}\noops\n{"id": 2}'),
    (error) => error.output.toString() === '{"id":1}\n{"id":2}\n',
  )
})

test('options of a call', () => {
  assert.equal(select.filter('{"id": 1, "x": 2}', { raw: true }).toString(), '{"id":1,"x":2}')
  const { output, report } = select.filterWithReport(items, { budget: { bytes: 100 } })
  assert.ok(output.length <= 100 && report.budget_applied)
})

test('a value of another type is described without the names of Rust', () => {
  const words = (rules) => {
    try {
      new Program(rules)
      return ''
    } catch (error) {
      return error.message
    }
  }
  assert.match(words({ where: ['n>4'] }), /expected a condition such as {"path": "stars", "greater": 4}/)
  assert.match(words({ where: [{ path: 'n', not: 4 }] }), /expected a test such as {"greater": 4}/)
  assert.match(words({ patches: ['/a'] }), /expected an operation such as {/)
  const names = [...words({ frobnicate: 1 }).matchAll(/`(\w+)`/g)].map(([, name]) => name).slice(1)
  assert.ok(names.length > 20)
  for (const name of names) {
    for (const value of [5, -1, 1.5, true, 'x', [5], ['x'], [{ zz: 1 }], { zz: 1 }]) {
      const found = words({ [name]: value })
      assert.doesNotMatch(found, /\b(struct|enum|newtype|tuple) /, found)
    }
  }
})

test('a signal ends the wait for another thread', async () => {
  const reason = new Error('enough')
  const large = JSON.stringify(Array.from({ length: 200_000 }, (_, id) => ({ id, x: 1 })))
  const waiting = new AbortController()
  const run = select.filterAsync(large, { signal: waiting.signal })
  waiting.abort(reason)
  await assert.rejects(run, reason)
  await assert.rejects(select.filterAsync(items, { signal: AbortSignal.abort(reason) }), reason)
  const { signal } = new AbortController()
  assert.equal((await select.filterAsync(items, { signal, budget: null })).toString(), wanted)
  await assert.rejects(select.filterAsync(items, { signal: 7 }), /expected an AbortSignal, found/)
})

test('other threads', async () => {
  const results = await Promise.all(Array.from({ length: 20 }, () => select.filterAsync(items)))
  for (const result of results) assert.equal(result.toString(), wanted)
})

test('workers', async () => {
  // Each loads the addon, filters, fails, and is ended while the addon works.
  const code = `
    const { parentPort } = require('node:worker_threads')
    const { Manifest, Program, TamisError } = require(${JSON.stringify(createRequire(import.meta.url).resolve('tamis'))})
    const program = new Manifest('version: 1\\nfilters: {a: {select: [id]}}\\n').program('a')
    let kind
    try { program.filter('[oops]') } catch (error) { if (error instanceof TamisError) kind = error.kind }
    program.filterAsync('[{"id": 1, "x": 2}]').then((output) => {
      parentPort.postMessage(output.toString() + kind)
      setImmediate(function again() { program.filterAsync('[1]'); new Program().filter('[2]'); setImmediate(again) })
    })`
  const messages = Array.from({ length: 4 }, async () => {
    const worker = new Worker(code, { eval: true })
    const [message] = await once(worker, 'message')
    await worker.terminate()
    return message
  })
  assert.deepEqual(await Promise.all(messages), Array(4).fill('[{"id":1}]syntax'))
})

async function read(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function source(bytes, size, state = {}) {
  let at = 0
  return new ReadableStream(
    {
      pull(controller) {
        state.pulled = (state.pulled ?? 0) + 1
        if (at >= bytes.length) controller.close()
        else controller.enqueue(bytes.subarray(at, (at += size)))
      },
      cancel() {
        state.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
}

test('a stream', async () => {
  const filter = new Program({ select: ['id'], root: 'object' }).stream()
  assert.equal(await read(source(items, 100).pipeThrough(filter)), wanted)
  assert.equal(filter.report.items_kept, 500)
})

test('a stream that fails', async () => {
  const stream = source(Buffer.from('[{"id": oops}]'), 4).pipeThrough(select.stream())
  await assert.rejects(read(stream), { name: 'TamisError', offset: 8 })
})

test('a stream that needs no more input', async () => {
  const state = {}
  const program = new Program({ max_items: 1, stop_early: true, root: 'first' })
  const long = Buffer.concat([Buffer.from('{"items": ['), items.subarray(1, -1), Buffer.from(']}')])
  const output = await read(source(long, 50, state).pipeThrough(program.stream()))
  assert.equal(JSON.parse(output).items.length, 1)
  assert.ok(state.pulled < 30, `${state.pulled} reads`)
})

test('a slow reader holds the source back', async () => {
  const state = {}
  const reader = source(items, 100, state).pipeThrough(new Program({ root: 'object' }).stream()).getReader()
  await reader.read()
  await new Promise((done) => setTimeout(done, 20))
  assert.ok(state.pulled < 10, `${state.pulled} reads`)
  await reader.cancel()
  await new Promise((done) => setTimeout(done, 20))
  assert.ok(state.cancelled)
})

test('a stream that is aborted', async () => {
  const state = {}
  const abort = new AbortController()
  const filter = new Program({ root: 'object' }).stream({ signal: abort.signal, raw: false })
  const reader = source(items, 100, state).pipeThrough(filter).getReader()
  await reader.read()
  abort.abort(new Error('enough'))
  await assert.rejects(async () => { while (!(await reader.read()).done); }, { message: 'enough' })
  await new Promise((done) => setTimeout(done, 20))
  assert.ok(state.cancelled)

  const early = new TextProgram().stream({ signal: AbortSignal.abort(new Error('early')) })
  await assert.rejects(early.readable.getReader().read(), { message: 'early' })
  // A signal that aborts later is not heard.
  const late = new AbortController()
  assert.equal(await read(source(items, 100).pipeThrough(select.stream({ signal: late.signal }))), wanted)
  late.abort()
  assert.throws(() => select.stream({ signal: 3 }), /signal: expected an AbortSignal, found/)
})

test('the version is that of the package', () => {
  assert.equal(version, createRequire(import.meta.url)('tamis/package.json').version)
})

test('a run that is over holds no memory', async () => {
  const program = new Program({ select: ['id'] })
  const over = []
  const keep = {
    ended: (run) => run.write('[{"id": 1}]') && run.end(),
    failed: (run) => assert.throws(() => run.write('[{"id": oops}]'), { kind: 'syntax' }),
    closed: (run) => run.write(items.subarray(0, 1000)) && run.close(),
    left: async (run) => {
      const outputs = run.pipe(['[{"id": 1}, {"id"', ': 2}]'])
      await outputs.next()
      await outputs.return()
    },
  }
  for (const [name, finish] of Object.entries(keep)) {
    const before = await resident()
    for (let number = 0; number < 4000; number += 1) {
      const run = program.push()
      await finish(run)
      over.push(run)
    }
    const grown = (await resident()) - before
    // A run that is not over holds about 60 KB.
    assert.ok(grown < 100 << 20, `${name}: ${grown} bytes`)
    assert.throws(() => over.at(-1).write('1'), { kind: 'failed', fault: 'caller' }, name)
  }
})

test('manifests', () => {
  const manifest = new Manifest('version: 1\nfilters:\n  crm.list: {select: [id]}\n  crm.*: {exclude: [ssn]}\n')
  assert.deepEqual(manifest.names, ['crm.list', 'crm.*'])
  assert.equal(manifest.program('mcp__crm__list').filter('[{"id":1,"x":2}]').toString(), '[{"id":1}]')
  assert.equal(manifest.find('other'), null)
  assert.ok(manifest.program('crm.get').removesForSafety)
  assert.ok(!Manifest.catalog().program('github.list-issues').removesForSafety)
  assert.throws(() => new Manifest('/no/such/file'), { kind: 'read' })
  assert.throws(
    () => Manifest.parse('version: 1\nfilters:\n  a: {slect: [id]}\n'),
    (error) => error.kind === 'manifest' && error.problems[0].line === 3 && error.problems[0].column === 7,
  )
})

test('restore', () => {
  const items = [...Array(9).keys()].map((id) => ({ id, state: 'open', url: `/issues/${id}` }))
  const { output, report } = new Program({ factor: true }).filterWithReport(JSON.stringify(items))
  assert.ok(output.length < JSON.stringify(items).length / 2)
  assert.equal(report.factored.all, 1)
  assert.deepEqual(JSON.parse(restore(output.toString())), items)
  assert.deepEqual(JSON.parse(restore(output).toString()), items)
  assert.equal(restore('{"a": 1}'), '{"a": 1}')
  assert.throws(() => restore('{"_factored":1,"a":{"$ref":"#/b"}}'), { name: 'TamisError', kind: 'restore', path: '/a' })
})

test('prune', () => {
  const messages = [
    { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'read' } }] },
    { role: 'tool', tool_call_id: 'c', content: 'many lines' },
    { role: 'user', content: 'go on' },
  ]
  const rules = { keep_turns: 1, placeholder: '[{tool} was left out]' }
  assert.equal(prune(messages, rules)[1].content, '[read was left out]')
  assert.equal(prune({ messages }, rules).messages[1].content, '[read was left out]')
  assert.deepEqual(JSON.parse(prune(JSON.stringify(messages), rules)), prune(messages, rules))
  assert.equal(messages[1].content, 'many lines')
  const bytes = new TextEncoder().encode(JSON.stringify(messages))
  const shared = new SharedArrayBuffer(bytes.length)
  new Uint8Array(shared).set(bytes)
  for (const data of [bytes, bytes.buffer, shared]) assert.deepEqual(JSON.parse(prune(data, rules)), prune(messages, rules))
  for (const value of [undefined, null, 1, new DataView(bytes.buffer), new Map([['messages', messages]])]) {
    assert.throws(() => prune(value), { name: 'TypeError', message: /^expected messages, a request with messages, / })
  }
})

test('output of commands', () => {
  const raw = '   Compiling ryu v1.0.18\n'.repeat(30) + 'error[E0425]: cannot find value `x`\n'
  const filtered = filterOutput('cargo build', raw, 101)
  assert.ok(filtered.startsWith('error[E0425]') && filtered.length < 150)
  assert.equal(filterOutput('cargo build', Buffer.from(raw), 101).toString(), filtered)
  assert.equal(filterOutput('unknown-program', 'a\nb\n'), 'a\nb\n')
})

test('require', () => {
  const tamis = createRequire(import.meta.url)('tamis')
  assert.equal(tamis.Program, Program)
  assert.equal(tamis.TamisError, TamisError)
})

test('memory does not grow', async () => {
  // `node soak.mjs` does the same for an hour.
  assert.ok((await soak(3, 0, () => {})) < ALLOWED)
})

/** Yields a document of about a kilobyte for each item. */
async function* long(count, state) {
  yield '{"items": ['
  for (state.read = 1; state.read <= count; state.read += 1) {
    yield Buffer.from(`{"id": 1, "body": "${'x'.repeat(1000)}"}${state.read < count ? ',' : ''}`)
  }
  yield ']}'
}

test('an iterator', async () => {
  const program = new Program({ select: ['id'], root: 'items' })
  const state = { read: 0 }
  let outputs = 0
  let most = 0
  let start
  for await (const output of program.push().pipe(long(60_000, state))) {
    outputs += 1
    assert.ok(output.length > 0 && state.read <= outputs + 2, `${state.read} reads, ${outputs} outputs`)
    // A slow reader.
    if (outputs % 100 === 0) await new Promise((done) => setImmediate(done))
    if (outputs === 5_000) start = await resident()
    if (outputs > 5_000 && outputs % 5_000 === 0) most = Math.max(most, await resident())
  }
  // The document has 60 MB. The memory that the collector has not freed yet does not count.
  assert.ok(outputs >= 60_000 && most < start + ALLOWED, `${outputs} outputs, ${most - start} bytes`)
  const chunks = []
  for await (const output of program.push().pipe(['{"items": [{"id": ', '1}]}'])) chunks.push(output)
  assert.equal(Buffer.concat(chunks).toString(), '{"items":[{"id":1}]}')
  await assert.rejects(program.push().pipe('[]').next(), TypeError)
})

test('an iterator ends its source', async () => {
  const source = { closed: false }
  async function* chunks() {
    try {
      yield* long(1000, source)
    } finally {
      source.closed = true
    }
  }
  const first = new Program({ max_items: 2, stop_early: true, root: 'items' })
  for await (const _ of first.push().pipe(chunks()));
  assert.ok(source.closed && source.read < 10)
  source.closed = false
  for await (const _ of new Program({ root: 'items' }).push().pipe(chunks())) break
  assert.ok(source.closed && source.read < 10)
})

test('text, and the output of commands while they run', () => {
  const text = new TextProgram({ dedup: true }).push()
  const shown = Buffer.concat([text.write('retrying\nretrying\nContinue? '), text.release()])
  assert.equal(shown.toString(), 'retrying (x2)\nContinue? ')
  assert.equal(Buffer.concat([text.write('y\n'), text.end()]).toString(), 'y\n')
  assert.equal(text.report.lines_folded, 1)
  const build = new OutputFilters().push('cargo build')
  build.write('   Compiling ryu v1.0.18\n')
  build.end(101)
  assert.equal(build.report.exit_code, 101)
})

test('text that is not JSON', () => {
  const secret = 'see https://mira:tide@example.org/'
  assert.equal(new Program({ redact: 'secrets' }).filterPlain(secret).toString(), 'see https://mira:[redacted:url-password]@example.org/')
  assert.equal(new Program({ exclude: ['user'] }).filterPlain(secret), null)
  assert.equal(select.filterPlain(secret).toString(), secret)
})

test('the types name every rule', () => {
  const types = text('node/index.d.ts')
  const unknown = { unknown: 1 }
  for (const [name, call] of [
    ['Rules', () => new Program(unknown)],
    ['CallOptions', () => select.filter('[]', unknown)],
    ['OutputOptions', () => filterOutput('ls', '', 0, unknown)],
    ['PruneRules', () => prune([], unknown)],
    ['TextRules', () => new TextProgram(unknown)],
    ['TextOptions', () => new TextProgram().filter('', unknown)],
  ]) {
    const body = types.slice(types.indexOf(`interface ${name} {`)).split('\n}')[0]
    const typed = [...body.matchAll(/^ {2}(\w+)\?:/gm)].map((match) => match[1])
    assert.throws(call, (error) => {
      const names = [...error.message.matchAll(/`(\w+)`/g)].map((match) => match[1]).slice(1)
      // `test` is a member of branches only.
      assert.deepEqual(typed.sort(), names.filter((name) => name !== 'test').sort())
      return true
    })
  }
})
