// The cases of `tests/cases`: the outputs, errors and reports are those of the library and the command.
//
// Every theme runs whose part the package has. The others need parts that only the command has (`audit`, the templates of
// `corpus/`). Keys of a manifest for gateways (`settings`, `delivery`, `reserved`) are not part of the package either.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'smol-toml'
import {
  Manifest,
  OutputFilters,
  Program,
  TamisError,
  TextProgram,
  filterOutputWithReport,
  pruneWithReport,
} from 'tamis'
import { document, ofTheme, root, text } from './cases.mjs'

const declared = text('node/reports.d.ts')

/** Returns the names of the members of an interface. */
function members(type) {
  const body = declared.slice(declared.indexOf(`interface ${type} {`)).split('\n}')[0]
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1])
}

/** Checks that the type of a report names all of its keys. */
function judgeKeys(type, report) {
  const known = members(type)
  for (const key of Object.keys(report)) assert.ok(known.includes(key), `${type}: ${key}`)
  for (const inner of report.inner ?? []) judgeKeys('InnerReport', inner)
  if (report.error !== undefined) judgeKeys('FailureReport', report.error)
  for (const tool of Object.values(report.tools ?? {})) judgeKeys('PrunedTool', tool)
}

/** Calls `run`; returns what it wrote, and the error if there was one. */
function caught(run) {
  const output = []
  try {
    const report = run(output)
    return { output: Buffer.concat(output), report }
  } catch (error) {
    if (!(error instanceof TamisError)) throw error
    return { output: Buffer.concat([...output, error.output]), error, report: error.report }
  }
}

function inChunks(program, options, bytes, size) {
  return caught((output) => {
    const run = program.push(options)
    for (let start = 0; start < bytes.length; start += size) {
      output.push(run.write(bytes.subarray(start, start + size)))
    }
    output.push(run.end())
    return run.report
  })
}

function whole(program, options, bytes) {
  return caught((output) => {
    const run = program.filterWithReport(bytes, options)
    output.push(run.output)
    return run.report
  })
}

function judge(one, { error, report }) {
  if (one.error === undefined) assert.equal(error, undefined)
  else {
    assert.equal(error?.kind, one.error.kind)
    if (one.error.offset !== undefined) assert.equal(error.offset, one.error.offset)
    if (one.error.path !== undefined) assert.equal(error.path, one.error.path)
    assert.ok(error.message.includes(one.error.message ?? ''), error.message)
  }
  judgeKeys('Report', report)
  for (const [key, value] of Object.entries(one.report ?? {})) assert.deepEqual(report[key], value, key)
  for (const key of one.needs ?? []) assert.ok(key in report, key)
  for (const key of one.absent ?? []) assert.ok(!(key in report), key)
}

function judgeOutput(one, { output }) {
  if (one.output !== undefined) assert.equal(output.toString(), one.output)
  if (one.output_hex !== undefined) assert.equal(output.toString('hex'), one.output_hex.replaceAll(/\s/g, ''))
  if (one.output_bytes !== undefined) assert.equal(output.length, one.output_bytes)
  if (one.prefix_of !== undefined) assert.ok(one.prefix_of.startsWith(output.toString()))
}

for (const one of ofTheme('filter')) {
  test(one.title, () => {
    const refused = one.spec_error ?? one.compile_error
    if (refused !== undefined) {
      assert.throws(
        () => new Program(one.spec),
        (error) => error.kind === 'spec' && error.message.includes(refused),
      )
      return
    }
    const program = new Program(one.spec)
    const plan = program.push().report.plan.join('\n')
    for (const part of one.plan ?? []) assert.ok(plan.includes(part), plan)
    for (const part of one.plan_without ?? []) assert.ok(!plan.includes(part), plan)
    const bytes = document(one)
    const sizes = bytes.length < 20_000 ? [Math.max(bytes.length, 1), 1] : [1 << 16]
    for (const size of sizes) {
      const run = inChunks(program, one.options, bytes, size)
      judge(one, run)
      judgeOutput(one, run)
    }
    // A document in memory is not held, so limits on held bytes do not apply.
    if (one.error?.kind === 'limit') return
    const run = whole(program, one.options, bytes)
    judge(one, run)
    if (run.error === undefined) judgeOutput(one, run)
  })
}

for (const one of ofTheme('history')) {
  test(one.title, () => {
    const rules = { now: 1_700_000_000_000, ...one.prune }
    const { output, report } = pruneWithReport(one.input, rules)
    assert.equal(output.toString(), one.output ?? one.input)
    judgeKeys('PruneReport', report)
    for (const [key, value] of Object.entries(one.report ?? {})) assert.deepEqual(report[key], value, key)
  })
}

for (const one of ofTheme('manifests')) {
  test(one.title, () => {
    const read = () => {
      const others = Object.entries(one.with ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
      const all = [[one.file ?? 'tools.yaml', one.manifest], ...others]
      return Manifest.merge(...all.map(([file, text]) => Manifest.parse(text, file)))
    }
    if (one.error !== undefined) {
      assert.throws(read, { name: 'TamisError', kind: 'manifest', message: one.error.trimEnd() })
      return
    }
    const manifest = read()
    if (one.names !== undefined) assert.deepEqual(manifest.names, one.names)
    assert.deepEqual(manifest.warnings, (one.warnings ?? []).map((text) => text.trimEnd()))
    for (const tool of one.tool ?? []) {
      if (tool.error !== undefined) {
        assert.throws(() => manifest.program(tool.name), { name: 'TamisError', message: tool.error.trimEnd() })
        continue
      }
      const program = manifest.program(tool.name)
      if (tool.summary !== undefined) assert.equal(program.summary, tool.summary)
      for (const spec of [tool.spec, tool.declares]) {
        if (spec !== undefined) assert.deepEqual(program.spec, new Program(spec).spec)
      }
      if (tool.input === undefined) continue
      const options = { raw: tool.raw ?? false, is_error: tool.is_error ?? false }
      if (tool.fails !== undefined) {
        assert.throws(() => program.filter(tool.input, options), { name: 'TamisError', message: tool.fails })
        continue
      }
      const { output, report } = program.filterWithReport(tool.input, options)
      assert.equal(output.toString(), tool.output)
      assert.equal(report.filter_skipped, tool.skipped)
      if (tool.root === undefined) continue
      assert.equal(report.root, tool.root)
      assert.equal(report.filter_error !== undefined, tool.missed ?? false)
    }
  })
}

for (const one of ofTheme('content')) {
  test(one.title, () => {
    const program = new Program({ content: one.content ?? {} })
    assert.equal(program.filter(one.input).toString(), one.output)
  })
}

function inOrder(text, phrases) {
  let at = 0
  for (const phrase of phrases) {
    const found = text.indexOf(phrase, at)
    assert.ok(found >= 0, phrase)
    at = found + phrase.length
  }
}

for (const page of ofTheme('pages', 'page')) {
  test(page.title, () => {
    const bytes = readFileSync(`${root}corpus/pages/${page.file}`)
    for (const [format, phrases] of [['text', page.keeps], ['markdown', page.markdown ?? []]]) {
      const { output, report } = new Program({ content: { format } }).filterWithReport(bytes)
      assert.equal(report.content_from, page.from)
      inOrder(output.toString(), phrases)
      for (const phrase of page.drops) assert.ok(!output.includes(phrase), phrase)
    }
  })
}

function contains(found, wanted) {
  if (wanted === null || typeof wanted !== 'object') assert.equal(found, wanted)
  else {
    if (Array.isArray(wanted)) assert.equal(found.length, wanted.length)
    for (const [key, value] of Object.entries(wanted)) contains(found[key], value)
  }
}

for (const one of ofTheme('explain')) {
  test(one.title, () => {
    const program = new Program(one.spec)
    assert.equal(program.explain(one.options), one.text)
    contains(program.plan(one.options), one.json ?? {})
  })
}

for (const one of ofTheme('catalog', 'answer')) {
  test(one.title, () => {
    const bytes = readFileSync(`${root}corpus/${one.file}`)
    const { output, report } = Manifest.catalog().program(one.tool).filterWithReport(bytes)
    assert.ok(report.filter_applied)
    let [items, siblings] = [JSON.parse(output), []]
    for (const name of one.items.split('/').slice(1)) {
      siblings = Object.keys(items).filter((other) => other !== name)
      items = items[name]
    }
    assert.deepEqual(siblings, one.siblings ?? [])
    if (Array.isArray(items)) {
      assert.equal(items.length, one.count)
      items = items[0]
    }
    assert.deepEqual(Object.keys(items), one.first)
    assert.ok(100 * (1 - output.length / bytes.length) >= one.least)
    for (const part of one.says) assert.ok(output.includes(part), part)
    for (const part of one.never) assert.ok(!output.includes(part), part)
  })
}

for (const one of ofTheme('catalog', 'error')) {
  test(one.title, () => {
    const catalog = Manifest.catalog()
    const tools = catalog.names.filter((name) => name.startsWith(one.tools.replace('*', '')))
    assert.ok(tools.length > 0)
    for (const tool of tools) {
      const { output, report } = catalog.program(tool).filterWithReport(one.document)
      assert.equal(output.toString(), one.document)
      const isOtherShape = report.filter_skipped === 'shape'
      const missed = !report.filter_applied && (report.filter_error !== undefined || isOtherShape)
      assert.ok(missed || one.reported === false)
    }
  })
}

for (const one of ofTheme('text')) {
  test(one.title, () => {
    if (one.error !== undefined) {
      assert.throws(() => new TextProgram(one.filter), { name: 'TamisError', kind: 'spec', message: one.error })
      return
    }
    const options = one.line === undefined ? {} : { line: one.line }
    if (one.string !== undefined) {
      // The inside of a JSON string: a rule of a document filters it.
      const program = new Program({ text_filter: one.filter ?? {}, root: 'object' })
      assert.equal(program.filter(`{"raw":"${one.string}"}`, options).toString(), `{"raw":"${one.spelled}","_text_filtered":true}`)
      return
    }
    const program = new TextProgram(one.filter)
    const repeated = () => Buffer.from(one.input.repeat(one.times ?? 1))
    const input = one.bytes === undefined ? repeated() : Buffer.from(one.bytes)
    const wanted = one.unchanged ? input : Buffer.from(one.output_bytes ?? one.output)
    const { output, report } = program.filterWithReport(input, options)
    assert.deepEqual(output, wanted)
    const run = program.push(options)
    const size = input.length < 5_000 ? 1 : 1000
    const chunks = []
    for (let start = 0; start < input.length; start += size) chunks.push(run.write(input.subarray(start, start + size)))
    assert.deepEqual(Buffer.concat([...chunks, run.end()]), wanted)
    assert.deepEqual(run.report, report)
    judgeKeys('TextReport', report)
    for (const [key, value] of Object.entries(one.report ?? {})) assert.deepEqual(report[key], value, key)
  })
}

const placed = (problems) => problems.map((one) => `${one.line}:${one.column}: ${one.message}`)

for (const one of ofTheme('commands')) {
  test(one.title, () => {
    const read = () => new OutputFilters(`${one.rules}\n`)
    if (one.errors !== undefined && one.errors.length > 0) {
      assert.throws(read, (error) => {
        assert.equal(error.kind, 'manifest')
        assert.deepEqual(placed(error.problems), one.errors)
        return true
      })
      return
    }
    const filters = read()
    assert.deepEqual(placed(filters.warnings), one.warnings ?? [])
    assert.deepEqual(placed(filters.runExamples()), one.wrong ?? [])
    if (one.command === undefined) return
    const raw = (one.input ?? '').repeat(one.times ?? 1)
    const { max_lines, max_tokens, held } = one
    const options = { max_lines, max_tokens, held, notice: false, full_output: 'full.log' }
    const { output, report } = filters.filterWithReport(one.command, raw, one.exit_code, options)
    assert.equal(output.toString(), one.output ?? raw)
    assert.equal(report.filter, one.filter)
    judgeKeys('OutputReport', report)
  })
}

for (const one of parse(text('tests/cases/transcripts/transcripts.toml')).transcript) {
  test(`transcripts: ${one.name}`, () => {
    const raw = readFileSync(`${root}corpus/commands/${one.name}.txt`)
    const options = { full_output: 'full.log' }
    const { output, report } = filterOutputWithReport(one.command, raw, one.exit_code, options)
    assert.equal(output.toString(), text(`tests/cases/transcripts/expected/${one.name}.txt`))
    assert.equal(report.filter, one.filter)
    judgeKeys('OutputReport', report)
    const run = new OutputFilters().push(one.command, options)
    const chunks = []
    for (let start = 0; start < raw.length; start += 1000) chunks.push(run.write(raw.subarray(start, start + 1000)))
    assert.deepEqual(Buffer.concat([...chunks, run.end(one.exit_code)]), output)
  })
}
