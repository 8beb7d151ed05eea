// `filterTool`: functions of every kind, results of every kind, and what happens if a filter cannot be applied.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { Manifest, Program, filterTool, version } from 'tamis'

const rules = { select: ['id', 'title'] }
const issues = [1, 2].map((id) => ({ id, title: 'a', body: 'long' }))
const kept = issues.map(({ id, title }) => ({ id, title }))
const safe = { exclude: ['ssn'], root: 'object' }
const secret = '078-05-1120'

test('functions, promises and generators', async () => {
  function search(count = 2) {
    return issues.slice(0, count)
  }
  search.description = 'Search issues.'
  const tool = filterTool(search, rules)
  assert.deepEqual([tool.name, tool.length, tool.description], ['search', search.length, 'Search issues.'])
  assert.deepEqual(tool(1), kept.slice(0, 1))
  assert.deepEqual(await filterTool(async () => issues, new Program(rules))(), kept)
  const manifest = new Manifest('version: 1\nfilters:\n  search: {select: [id, title]}\n')
  assert.deepEqual(filterTool(search, manifest)(), kept)
  assert.deepEqual(filterTool(() => issues, manifest, { name: 'search' })(), kept)
  // A manifest without a filter for the function is an error, instead of a wrapper that passes everything.
  const serch = () => issues
  assert.throws(() => filterTool(serch, manifest), /no filter for the tool `serch`; did you mean `search`/)
  assert.throws(() => filterTool(() => issues, manifest), /no filter for the tool/)
  const each = function* () {
    yield* issues.map((issue) => [issue])
  }
  assert.deepEqual([...filterTool(each, rules)()], kept.map((issue) => [issue]))
  const later = async function* () {
    yield* each()
  }
  const found = []
  for await (const value of filterTool(later, rules)()) found.push(value)
  assert.deepEqual(found, kept.map((issue) => [issue]))
  const object = { issues, list: filterTool(function () { return this.issues }, rules) }
  assert.deepEqual(object.list(), kept)
  assert.throws(() => filterTool({}, rules), TypeError)
})

test('every kind of result', () => {
  const text = JSON.stringify(issues)
  const result = (value, by = rules) => filterTool(() => value, by)()
  assert.equal(result(text), JSON.stringify(kept))
  assert.equal(Buffer.from(result(Buffer.from(text))).toString(), JSON.stringify(kept))
  for (const value of ['no JSON', 7, null, undefined]) assert.equal(result(value), value)
  const envelope = { content: [{ type: 'text', text }], isError: false }
  assert.deepEqual(result(envelope), { content: [{ type: 'text', text: JSON.stringify(kept) }], isError: false })
  const leak = { content: [{ type: 'text', text: `{"id":1,"ssn":"${secret}"}` }], note: secret }
  assert.deepEqual(result(leak, safe), { content: [{ type: 'text', text: '{"id":1}' }] })
  // A list of blocks or of texts, also next to a kind of block that is not known.
  const [block] = leak.content
  assert.deepEqual(result([block, { type: 'video', ssn: secret }], safe), [{ type: 'text', text: '{"id":1}' }, { type: 'video' }])
  assert.deepEqual(result([block.text, block], safe), ['{"id":1}', { type: 'text', text: '{"id":1}' }])
  assert.match(result([{ type: 'text', text: secret }], safe), /withheld/)
  assert.deepEqual(result(envelope.content), [{ type: 'text', text: JSON.stringify(kept) }])
  assert.deepEqual(result(['a', 'b']), ['a', 'b'])
})

test('rules that remove fail closed', async () => {
  for (const value of [`ssn ${secret}`, Buffer.from(`ssn ${secret}`), Buffer.from([0xff])]) {
    const found = filterTool(() => value, safe)()
    assert.match(typeof found === 'string' ? found : Buffer.from(found).toString(), /withheld/)
  }
  const broken = () => {
    throw new RangeError(`no ${secret}`)
  }
  assert.throws(filterTool(broken, safe), (error) => !error.message.includes(secret))
  await assert.rejects(filterTool(async () => broken(), safe), (error) => !error.message.includes(secret))
  assert.throws(filterTool(broken, rules), RangeError)
})

test('comfort of the package', () => {
  const { version: said } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const require = createRequire(import.meta.url)
  assert.equal(version, said)
  assert.equal(require('tamis').version, said)
  assert.equal(require('tamis/package.json').version, said)
  // Null has not been given.
  assert.equal(new Program({ select: ['id'], max_items: null }).filter('[{"id":1,"x":2}]', { budget: null }).toString(), '[{"id":1}]')
  assert.throws(() => new Program({ slect: ['id'] }), /did you mean `select`/)
})
