// An MCP server whose results are filtered; prints what a model would get before and after.
//
//     node examples/mcp-server.mjs
import { readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { Manifest } from 'tamis'
import { filterServer } from 'tamis/mcp'

const issues = readFileSync(new URL('../../corpus/github-search-issues.json', import.meta.url), 'utf8')

const rules = new Manifest(`
version: 1
filters:
  search_issues:
    select: {number: number, title: title, state: state, login: user.login, labels: "labels[].name"}
    max_items: 3
`)

for (const [name, filtered] of [['before', false], ['after', true]]) {
  const server = new McpServer({ name: 'issues', version: '1.0.0' })
  if (filtered) filterServer(server, rules)
  server.registerTool('search_issues', { description: 'Search issues.' }, () => ({
    content: [{ type: 'text', text: issues }],
  }))
  const client = new Client({ name: 'example', version: '1.0.0' })
  const [one, other] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(one), client.connect(other)])
  const { text } = (await client.callTool({ name: 'search_issues' })).content[0]
  console.log(`${name}: ${text.length.toLocaleString('en')} characters\n${text.slice(0, 400)}\n`)
  await client.close()
}
