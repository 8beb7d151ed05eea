// The cases of `tests/cases`: the outputs, errors and reports are those of the library and the command.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'smol-toml'
import { Manifest, Program, TamisError, filterOutputWithReport, pruneWithReport } from 'tamis'
import { document, ofTheme, root, text } from './cases.mjs'

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
  // JavaScript's numbers cannot state these rules.
  const skip = JSON.stringify(one.spec ?? {}, (_, value) => (typeof value === 'bigint' ? 'big' : value)).includes('"big"')
  test(one.title, { skip }, () => {
    const refused = one.spec_error ?? one.compile_error
    if (refused !== undefined) {
      assert.throws(
        () => new Program(one.spec),
        (error) => error.kind === 'spec' && error.message.includes(refused),
      )
      return
    }
    const program = new Program(one.spec)
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
    for (const [key, value] of Object.entries(one.report ?? {})) assert.deepEqual(report[key], value, key)
  })
}

for (const one of ofTheme('manifests')) {
  test(one.title, { skip: one.with && 'manifests are not merged' }, () => {
    const read = () => Manifest.parse(one.manifest, one.file ?? 'tools.yaml')
    if (one.error !== undefined) {
      assert.throws(read, { name: 'TamisError', message: one.error.trimEnd() })
      return
    }
    const manifest = read()
    if (one.names !== undefined) assert.deepEqual(manifest.names, one.names)
    assert.deepEqual(manifest.warnings, (one.warnings ?? []).map((text) => text.trimEnd()))
    for (const tool of one.tool ?? []) {
      if (tool.error !== undefined) {
        assert.throws(() => manifest.program(tool.name), { name: 'TamisError' })
        continue
      }
      const program = manifest.program(tool.name)
      if (tool.input === undefined) continue
      const options = { raw: tool.raw ?? false, is_error: tool.is_error ?? false }
      if (tool.fails !== undefined) assert.throws(() => program.filter(tool.input, options), TamisError)
      else assert.equal(program.filter(tool.input, options).toString(), tool.output)
    }
  })
}

for (const one of ofTheme('content')) {
  test(one.title, () => {
    const program = new Program({ content: one.content ?? {} })
    assert.equal(program.filter(one.input).toString(), one.output)
  })
}

for (const one of parse(text('tests/cases/transcripts/transcripts.toml')).transcript) {
  test(`transcripts: ${one.name}`, () => {
    const raw = readFileSync(`${root}corpus/commands/${one.name}.txt`)
    const options = { full_output: 'full.log' }
    const { output, report } = filterOutputWithReport(one.command, raw, one.exit_code, options)
    assert.equal(output.toString(), text(`tests/cases/transcripts/expected/${one.name}.txt`))
    assert.equal(report.filter, one.filter)
  })
}
