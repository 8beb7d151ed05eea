// Each adapter with the real package: results are filtered, failures pass or are withheld as the rules demand.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { createMCPClient } from '@ai-sdk/mcp'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolResultSchema, CreateTaskResultSchema, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { generateText, stepCountIs, tool } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { Manifest, Program } from 'tamis'
import { filterTool, filterTools } from 'tamis/ai'
import { filterClient, filterResult, filterServer } from 'tamis/mcp'
import { outputGuardrail } from 'tamis/openai-agents'
import { z } from 'zod'

const issues = [0, 1, 2].map((id) => ({ id, title: `t${id}`, user: { login: 'mira' }, node_id: 'x' }))
const kept = issues.map(({ id, title }) => ({ id, title }))
const saves = new Program({ select: ['id', 'title'] })
const removes = new Program({ exclude: ['user'] })
const secret = 's3cret'

const tools = {
  issues: tool({ description: 'List issues.', inputSchema: z.object({}), execute: async () => issues }),
  text: tool({ description: 'Return text.', inputSchema: z.object({}), execute: () => secret }),
  broken: tool({
    description: 'Fail.',
    inputSchema: z.object({}),
    execute: async () => {
      throw new Error(secret)
    },
  }),
  slow: tool({
    description: 'Return preliminary results.',
    inputSchema: z.object({}),
    execute: async function* () {
      yield issues.slice(0, 1)
      yield issues
    },
  }),
}

/** Runs a model that calls one tool; returns the text of what it then gets. */
async function received(tools, toolName) {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  const call = { type: 'tool-call', toolCallId: 'c1', toolName, input: '{}' }
  const prompts = []
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      prompts.push(prompt)
      const isFirst = prompts.length === 1
      const finishReason = { unified: isFirst ? 'tool-calls' : 'stop', raw: undefined }
      return { content: isFirst ? [call] : [{ type: 'text', text: 'done' }], finishReason, usage, warnings: [] }
    },
  })
  await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) })
  return prompts[1].at(-1).content[0].output
}

test('AI SDK: the model gets filtered results', async () => {
  for (const rules of [saves, { issues: saves, slow: saves }, { issues: { select: ['id', 'title'] }, slow: saves }]) {
    const filtered = filterTools(tools, rules)
    assert.deepEqual((await received(filtered, 'issues')).value, kept)
    assert.deepEqual((await received(filtered, 'slow')).value, kept)
    assert.equal((await received(filtered, 'text')).value, secret)
    assert.ok((await received(filtered, 'broken')).value.includes(secret))
  }
  const manifest = new Manifest('version: 1\nfilters:\n  issues: {select: [id, title]}\n')
  assert.deepEqual((await received(filterTools(tools, manifest), 'issues')).value, kept)
  assert.equal(filterTools(tools, manifest).text, tools.text)
  assert.deepEqual(await filterTool(tools.issues, saves).execute({}), kept)
})

test('AI SDK: rules for a tool that is not there are an error', () => {
  const wrong = { name: 'RangeError', message: /there is no tool `isues`; expected one of .*issues/ }
  assert.throws(() => filterTools(tools, { isues: removes }), wrong)
  assert.throws(() => filterTools(tools, { issues: removes, isues: removes }), wrong)
  const manifest = new Manifest('version: 1\nfilters:\n  others: {exclude: [user]}\n')
  assert.equal(filterTools(tools, manifest).issues, tools.issues)
})

test('AI SDK: rules that remove fail closed', async () => {
  const filtered = filterTools(tools, removes)
  assert.ok(!JSON.stringify(await received(filtered, 'issues')).includes('mira'))
  for (const name of ['text', 'broken']) {
    const output = JSON.stringify(await received(filtered, name))
    assert.ok(output.includes('withheld') && !output.includes(secret), output)
  }
})

test('AI SDK: a result of undefined has nothing to remove', async () => {
  const execute = async () => undefined
  assert.equal(await filterTool(tool({ inputSchema: z.object({}), execute }), removes).execute({}), undefined)
})

test('AI SDK: errors that are not of the class Error', async () => {
  const redacts = new Program({ redact: 'secrets' })
  const url = 'https://mira:tide@example.org/'
  for (const error of [{ url }, Object.assign(new Error('failed'), { data: { url } }), url]) {
    const execute = async () => {
      throw error
    }
    const filtered = filterTool(tool({ inputSchema: z.object({}), execute }), redacts)
    await assert.rejects(filtered.execute({}), (other) => other.name === 'Withheld' && !JSON.stringify([other, other.message]).includes('tide'))
  }
})

test('rules that are not plain objects are errors', () => {
  const require = createRequire(import.meta.url)
  const path = require.resolve('tamis')
  delete require.cache[path]
  const copy = require(path)
  assert.notEqual(copy.Program, Program)
  const other = new copy.Program({ exclude: ['user'] })
  const maps = [new Map([['issues', removes]]), [removes], other, null, undefined, 'user']
  for (const rules of [...maps, ...maps.map((issues) => ({ issues }))]) {
    if (rules?.issues instanceof Program) continue
    assert.throws(() => filterTools(tools, rules), { name: 'TypeError', message: /^expected a / })
    assert.throws(() => filterClient({}, rules), TypeError)
  }
  for (const rules of [new Map(), [removes], other, { issues: removes }, new Manifest('version: 1\nfilters: {}\n')]) {
    assert.throws(() => filterTool(tools.issues, rules), TypeError)
  }
})

/** Starts a server; returns the end of the transport for a client. */
async function started(serverRules) {
  const server = new McpServer({ name: 'issues', version: '1.0.0' })
  if (serverRules) filterServer(server, serverRules)
  const outputSchema = { items: z.array(z.any()) }
  server.registerTool('issues', { description: 'List issues.', outputSchema }, async () => ({
    content: [{ type: 'text', text: JSON.stringify({ items: issues }) }],
    structuredContent: { items: issues },
  }))
  server.registerTool('text', { description: 'Return text.' }, async () => ({ content: [{ type: 'text', text: secret }] }))
  server.registerTool('broken', { description: 'Fail.' }, async () => {
    throw new Error(secret)
  })
  // The older ways to register a tool, and to change its callback.
  server.tool('older', async () => ({ content: [{ type: 'text', text: JSON.stringify(issues) }] }))
  const changed = server.registerTool('changed', {}, async () => ({ content: [] }))
  changed.update({ callback: async () => ({ content: [{ type: 'text', text: JSON.stringify(issues) }] }) })
  const [one, other] = InMemoryTransport.createLinkedPair()
  await server.connect(one)
  return other
}

async function connected(serverRules, clientRules) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  if (clientRules) filterClient(client, clientRules)
  await client.connect(await started(serverRules))
  return client
}

for (const [where, place] of [
  ['server', (rules) => connected(rules)],
  ['client', (rules) => connected(undefined, rules)],
]) {
  test(`MCP: a ${where} filters results`, async () => {
    const client = await place(saves)
    const result = await client.callTool({ name: 'issues', arguments: {} })
    assert.deepEqual(result.structuredContent, { items: kept })
    assert.deepEqual(JSON.parse(result.content[0].text), { items: kept })
    if (where === 'server') assert.equal((await client.listTools()).tools[0].outputSchema, undefined)
    assert.equal((await client.callTool({ name: 'text', arguments: {} })).content[0].text, secret)
    for (const name of ['older', 'changed']) {
      const { content } = await client.callTool({ name, arguments: {} })
      assert.deepEqual(JSON.parse(content[0].text), kept)
    }
    const other = await place({ text: saves })
    assert.deepEqual((await other.callTool({ name: 'issues', arguments: {} })).structuredContent, { items: issues })
  })

  test(`MCP: rules that remove fail closed in a ${where}`, async () => {
    const client = await place(removes)
    for (const name of ['text', 'broken']) {
      const result = await client.callTool({ name, arguments: {} })
      assert.equal(result.isError, true)
      assert.match(result.content[0].text, /withheld/)
      assert.ok(!JSON.stringify(result).includes(secret))
    }
  })
}

test('MCP: tools that were registered before, or are changed later', async () => {
  const content = [{ type: 'text', text: JSON.stringify(issues) }]
  const result = { content, structuredContent: { items: issues } }
  const server = new McpServer({ name: 'issues', version: '1.0.0' })
  const outputSchema = { items: z.array(z.object({ id: z.number(), user: z.any() }).strict()) }
  server.registerTool('before', { outputSchema }, async () => result)
  filterServer(server, { before: removes, renamed: removes, handler: removes })
  const registered = server.registerTool('other', { outputSchema }, async () => result)
  registered.update({ name: 'between' })
  registered.update({ name: 'renamed' })
  server.registerTool('handler', {}, async () => ({ content: [] })).handler = async () => result
  server.registerTool('unfiltered', {}, async () => result)
  server.registerTool('renamed-away', {}, async () => result).update({ name: 'also-unfiltered' })
  const client = new Client({ name: 'test', version: '1.0.0' })
  const [one, other] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(one), client.connect(other)])
  assert.ok((await client.listTools()).tools.every((tool) => tool.outputSchema === undefined))
  for (const name of ['before', 'between', 'renamed', 'handler']) {
    const received = await client.callTool({ name })
    assert.ok(!JSON.stringify(received).includes('mira'), `${name}: ${JSON.stringify(received)}`)
    assert.equal(received.structuredContent.items.length, 3)
  }
  for (const name of ['unfiltered', 'also-unfiltered']) assert.deepEqual(await client.callTool({ name }), result)
  assert.throws(() => filterServer({}, removes), { name: 'TypeError', message: /^expected an `McpServer`/ })
})

for (const [where, rules] of [['server', [removes]], ['client', [undefined, removes]]]) {
  test(`MCP: a ${where} passes requests to open an address`, async () => {
    const request = { mode: 'url', message: 'Sign in.', url: 'https://example.org/', elicitationId: 'e1' }
    const server = new McpServer({ name: 'issues', version: '1.0.0' })
    if (rules[0]) filterServer(server, rules[0])
    server.registerTool('sign-in', {}, async () => {
      throw new UrlElicitationRequiredError([request], secret)
    })
    const client = new Client({ name: 'test', version: '1.0.0' })
    if (rules[1]) filterClient(client, rules[1])
    const [one, other] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(one), client.connect(other)])
    await assert.rejects(client.callTool({ name: 'sign-in' }), (error) => {
      assert.ok(error instanceof UrlElicitationRequiredError)
      assert.deepEqual(error.elicitations, [request])
      assert.ok(!`${error.message} ${error.stack}`.includes(secret))
      return true
    })
  })
}

/** Returns the end of a transport for a client, whose server returns one result for every call. */
async function returning(result) {
  const [server, client] = InMemoryTransport.createLinkedPair()
  const results = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
    'tools/list': () => ({ tools: [{ name: 'issues', inputSchema: { type: 'object', properties: {} } }] }),
    'tools/call': () => result,
  }
  server.onmessage = ({ id, method, params }) => {
    if (id !== undefined) server.send({ jsonrpc: '2.0', id, result: results[method](params) })
  }
  await server.start()
  return client
}

test('AI SDK: the results of an MCP client with other members', async () => {
  const text = { type: 'text', text: JSON.stringify(issues) }
  for (const [result, count] of [
    [{ content: [text], resultType: 'complete' }, 1],
    [{ content: [text], user: 'mira', _meta: { user: 'mira' } }, 1],
    [{ content: [text, { type: 'tool_use', user: 'mira' }, { ...text, user: 'mira' }], toolResult: null }, 2],
    // The client passes any blocks next to the payload of the first version of the protocol.
    [{ content: [{ type: 'other', user: 'mira' }], toolResult: [] }, 0],
    [{ toolResult: issues }, undefined],
  ]) {
    const client = await createMCPClient({ transport: await returning(result) })
    const unfiltered = await client.tools()
    // A tool that calls a tool of a client.
    const calls = { issues: tool({ inputSchema: z.object({}), execute: (...parameters) => unfiltered.issues.execute(...parameters) }) }
    for (const tools of count > 0 ? [unfiltered, calls] : [unfiltered]) {
      const output = await filterTools(tools, removes).issues.execute({}, { toolCallId: 'c1', messages: [] })
      assert.ok(!JSON.stringify(output).includes('mira'), JSON.stringify(output))
      assert.equal(output.content?.length, count)
      const saved = await filterTools(tools, saves).issues.execute({}, { toolCallId: 'c1', messages: [] })
      assert.deepEqual(Object.keys(saved).sort(), Object.keys(await unfiltered.issues.execute({}, {})).sort())
    }
    await client.close()
  }
  // A page of a catalog is not a result of a tool of MCP.
  const execute = async () => ({ content: issues, page: 1 })
  const pages = filterTool(tool({ inputSchema: z.object({}), execute }), { exclude: ['content[].user'], root: 'object' })
  assert.deepEqual((await pages.execute({})).content[0], { id: 0, title: 't0', node_id: 'x' })
})

test('MCP: a filter that removes passes known members only', async () => {
  const url = 'https://mira:tide@example.org/'
  const hidden = 'https://mira:[redacted:url-password]@example.org/'
  const link = { type: 'resource_link', uri: url, name: url }
  const resource = { type: 'resource', resource: { uri: url, text: '{}' } }
  const more = { title: url, _meta: { url, progressToken: 1 }, annotations: { url, priority: 1 } }
  const result = {
    content: [{ ...link, ...more }, { ...resource, ...more, resource: { ...resource.resource, _meta: { url } } }],
    _meta: { url },
    url,
  }
  const kept = { _meta: { progressToken: 1 }, annotations: { priority: 1 } }
  const passed = (uri) => ({
    content: [{ ...link, ...kept, uri, name: uri }, { ...resource, ...kept, resource: { uri, text: '{}', _meta: {} } }],
    _meta: {},
  })
  for (const [rules, expected] of [
    [{ redact: 'secrets' }, passed(hidden)],
    [{ redact: { secrets: true, paths: ['id'], patterns: { id: 'E-[0-9]+' } }, exclude: ['user'] }, passed(hidden)],
    [{ exclude: ['user'] }, passed(url)],
    [{ select: ['id'] }, undefined],
  ]) {
    const client = filterClient(new Client({ name: 'test', version: '1.0.0' }), { issues: rules })
    await client.connect(await returning(result))
    const unfiltered = new Client({ name: 'test', version: '1.0.0' })
    await unfiltered.connect(await returning(result))
    assert.deepEqual(await client.callTool({ name: 'issues' }), expected ?? (await unfiltered.callTool({ name: 'issues' })))
  }
  for (const block of [null, 'mira', { text: 'mira' }, { type: 'text', text: { user: 'mira' } }, { type: 'toString', user: 'mira' }]) {
    assert.ok(!JSON.stringify(filterResult(removes, 'issues', { content: [block] })).includes('mira'))
    assert.deepEqual(filterResult(new Program({ max_items: 3 }), 'issues', { content: [null] }), { content: [null] })
  }
  assert.equal(filterResult(removes, 'issues', 'mira').isError, true)
})

/** Starts a server with tools that run as tasks; returns a client. */
async function connectedToTasks(serverRules, clientRules) {
  const store = new InMemoryTaskStore()
  const capabilities = { tasks: { requests: { tools: { call: {} } } } }
  const server = new McpServer({ name: 'issues', version: '1.0.0' }, { capabilities, taskStore: store })
  if (serverRules) filterServer(server, serverRules)
  const results = {
    issues: { content: [{ type: 'text', text: JSON.stringify(issues) }] },
    text: { content: [{ type: 'text', text: secret }] },
  }
  for (const [name, result] of Object.entries(results)) {
    server.experimental.tasks.registerToolTask(name, { execution: { taskSupport: 'optional' } }, {
      async createTask({ taskStore }) {
        const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 10 })
        await taskStore.updateTaskStatus(task.taskId, 'working', secret)
        setTimeout(() => taskStore.storeTaskResult(task.taskId, 'completed', result), 20)
        return { task }
      },
      getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
      getTaskResult: ({ taskId, taskStore }) => taskStore.getTaskResult(taskId),
    })
  }
  const client = new Client({ name: 'test', version: '1.0.0' })
  if (clientRules) filterClient(client, clientRules)
  const [one, other] = InMemoryTransport.createLinkedPair()
  await server.connect(one)
  await client.connect(other)
  return client
}

/** Calls a tool as a task; returns its result, the result as it is fetched again, and all messages. */
async function task(client, name) {
  const { tasks } = client.experimental
  const messages = []
  for await (const message of tasks.callToolStream({ name, arguments: {} }, undefined, { task: {} })) messages.push(message)
  const again = await tasks.getTaskResult(messages[0].task.taskId, CallToolResultSchema)
  return { result: messages.at(-1).result, again, all: JSON.stringify([messages, again]) }
}

for (const [where, place] of [
  ['server', (rules) => connectedToTasks(rules)],
  ['client', (rules) => connectedToTasks(undefined, rules)],
]) {
  test(`MCP: a ${where} filters the results of tasks`, async () => {
    const client = await place({ issues: saves })
    const { result, again } = await task(client, 'issues')
    for (const { content } of [result, again]) assert.deepEqual(JSON.parse(content[0].text), kept)
    assert.equal((await task(client, 'text')).result.content[0].text, secret)
    // The server waits for the task itself.
    if (where === 'server') {
      const { content } = await client.callTool({ name: 'issues', arguments: {} })
      assert.deepEqual(JSON.parse(content[0].text), kept)
    }
  })

  test(`MCP: tasks fail closed in a ${where}`, async () => {
    const client = await place(removes)
    const { result, all } = await task(client, 'text')
    assert.equal(result.isError, true)
    assert.ok(!all.includes(secret), all)
    assert.ok(!(await task(client, 'issues')).all.includes('mira'))
  })
}

test('MCP: the result of a task of another client fails closed', async () => {
  const client = await connectedToTasks(undefined, { issues: removes })
  const { tasks } = client.experimental
  const created = await client.request(
    { method: 'tools/call', params: { name: 'issues', arguments: {}, task: {} } },
    CreateTaskResultSchema,
  )
  const result = await tasks.getTaskResult(created.task.taskId, CallToolResultSchema)
  assert.equal(result.isError, true)
  assert.doesNotMatch(JSON.stringify(result), /mira/)
  assert.equal((await tasks.getTask(created.task.taskId)).statusMessage, undefined)
})

test('AI SDK: the results of tools of an MCP client are filtered', async () => {
  const client = await createMCPClient({ transport: await started() })
  const tools = await client.tools()
  const results = []
  for (const [rules, name] of [[saves, 'issues'], [removes, 'issues'], [removes, 'older'], [removes, 'text']]) {
    results.push(await filterTools(tools, rules)[name].execute({}, { toolCallId: 'c1', messages: [] }))
  }
  assert.deepEqual(JSON.parse(results[0].content[0].text), { items: kept })
  assert.deepEqual(results[0].structuredContent, { items: kept })
  for (const result of results.slice(1)) assert.doesNotMatch(JSON.stringify(result), /mira|s3cret/)
  assert.equal(results[3].isError, true)
  const output = await received(filterTools(tools, removes), 'older')
  assert.deepEqual(JSON.parse(output.value[0].text), issues.map(({ user: _, ...rest }) => rest))
  // An object that only looks like such a result is a value, all of which is filtered.
  const execute = async () => ({ content: [], user: 'mira' })
  const similar = filterTool(tool({ inputSchema: z.object({}), execute }), new Program({ exclude: ['user'], root: 'object' }))
  assert.deepEqual(await similar.execute({}), { content: [] })
  await client.close()
})

// The SDK calls `run` with an output as its `mcp.mjs` makes it (@openai/agents 0.20): a text, a block, or a list of blocks.
test('a guardrail for the MCP servers of OpenAI Agents', async () => {
  const text = { type: 'text', text: JSON.stringify(issues) }
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
  const resource = { type: 'resource', resource: { uri: 'x://a', text: text.text } }
  const run = async (rules, output, name = 'issues') => {
    const { behavior } = await outputGuardrail(rules).run({ toolCall: { name }, output })
    return behavior.type === 'allow' ? output : behavior.message
  }
  const short = JSON.stringify(kept)
  for (const output of [text, resource, text.text]) assert.equal(await run(saves, output), short)
  assert.equal(await run(saves, [text, text]), `${short}\n${short}`)
  for (const output of [[text, image], image, 'no JSON', 7, null]) assert.equal(await run(saves, output), output)
  const without = JSON.stringify(issues.map(({ user: _, ...issue }) => issue))
  const closed = { issues: { exclude: ['user'], root: 'auto' } }
  assert.equal(await run(closed, [text, image]), `${without}\n(left out: 1 without text)`)
  for (const output of [{ type: 'text', text: secret }, secret]) assert.match(await run(closed, output), /withheld/)
  assert.equal(await run(closed, text, 'other'), text)
})
