// Runs the JavaScript of the README and of the guide, and compares the outputs that they show.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { root, text } from './cases.mjs'

const folder = fileURLToPath(new URL('../', import.meta.url))

const blocks = ['node/README.md', 'docs/src/python-and-node.md'].flatMap((page) => {
  const found = [...text(page).matchAll(/^```js\n(.*?)^```$/gms)]
  return found.map((match, number) => ({ name: `${page}: ${number}`, code: match[1] }))
})

test('there are examples', () => assert.ok(blocks.length >= 5))

for (const { name, code } of blocks) {
  test(name, () => {
    // The value of a line before a comment `// …` is what the comment says.
    const checked = code.replace(/^(?!import|const|let|for|  |\/\/|\})(.+)\n\/\/ (.+)$/gm, (_, value, said) => {
      return `__equal(String(${value}), ${JSON.stringify(said)})`
    })
    // Inside the package, so that `tamis` is this one.
    const place = mkdtempSync(`${folder}example-`)
    try {
      writeFileSync(`${place}/tamis.yaml`, 'version: 1\nfilters: {crm.list: {select: [id]}}\n')
      writeFileSync(`${place}/items.json`, '[{"id": 1, "body": "x"}, {"id": 2, "body": "y"}]')
      writeFileSync(`${place}/example.mjs`, `import { equal as __equal } from 'node:assert/strict'\n${checked}`)
      execFileSync(process.execPath, ['example.mjs'], { cwd: place })
    } finally {
      rmSync(place, { recursive: true })
    }
  })
}

test('the example of an MCP server prints what a model gets before and after', () => {
  const printed = execFileSync(process.execPath, [`${root}node/examples/mcp-server.mjs`]).toString()
  assert.equal(printed, readFileSync(`${root}node/examples/mcp-server.txt`, 'utf8'))
})
