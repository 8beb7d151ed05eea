// The client that the conformance suite's client scenarios drive.   conformance.mjs URL
//
// The suite names the scenario, the protocol version and sometimes the calls to make in environment variables. All other
// scenarios need no special code: the client lists everything, calls every tool and reads every resource and prompt.

import { createRequire } from 'node:module';
import { replies } from './scenario.mjs';

const load = createRequire(process.env.TAMIS_PEERS_NODE + '/');
const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const modern = version >= '2026';

const client = new Client(
  { name: 'tamis-conformance-client', version: '1.0.0' },
  {
    capabilities: { sampling: {}, elicitation: { form: { applyDefaults: true } }, roots: {} },
    versionNegotiation: { mode: modern ? 'auto' : 'legacy' },
  },
);
client.setRequestHandler('sampling/createMessage', (request) => replies.sampling(request.params));
client.setRequestHandler('roots/list', () => replies.roots());
client.setRequestHandler('elicitation/create', (request) => {
  const reply = replies.elicitation(request.params);
  if ('confirmed' in (request.params.requestedSchema?.properties ?? {})) reply.content.confirmed = true;
  return reply;
});

// A value for each required parameter.
function sample(schema) {
  const values = { string: 'text', number: 5, integer: 5, boolean: true, array: [], object: {} };
  return Object.fromEntries((schema.required ?? []).map((name) => [name, values[schema.properties?.[name]?.type] ?? 'text']));
}

const quietly = (promise) => promise.catch((error) => process.stderr.write(`${scenario}: ${error}\n`));

await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = (await quietly(client.listTools())) ?? { tools: [] };
if (scenario === 'json-schema-2020-12-preservation') {
  const schema = tools.find((tool) => tool.name === 'json_schema_2020_12_tool')?.inputSchema;
  await quietly(client.callTool({ name: 'json_schema_echo', arguments: { schema } }));
} else {
  const calls = context.toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: sample(tool.inputSchema) }));
  await Promise.all(calls.map((call) => quietly(client.callTool(call, { timeout: 15_000 }))));
}
if (client.getServerCapabilities()?.resources) {
  const { resources } = (await quietly(client.listResources())) ?? { resources: [] };
  for (const { uri } of resources) await quietly(client.readResource({ uri }));
}
if (client.getServerCapabilities()?.prompts) {
  const { prompts } = (await quietly(client.listPrompts())) ?? { prompts: [] };
  for (const { name } of prompts) await quietly(client.getPrompt({ name }));
}
await client.close();
process.exit(0);
