// The client of @modelcontextprotocol/client 2.x.   ts2.mjs PLAN SERVER stdio COMMAND ARG…   or   ts2.mjs PLAN SERVER http URL
//
// TAMIS_ERA chooses the era: legacy, auto (the default: modern if the server has it) or a version.

import { createRequire } from 'node:module';
import { emit, play, replies } from './scenario.mjs';

const load = createRequire(process.env.TAMIS_PEERS_NODE + '/');
const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');

const era = process.env.TAMIS_ERA ?? 'auto';

await play((mode, target) => {
  const client = new Client(
    { name: 'tamis-test-ts2', version: '1.0.0' },
    {
      capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
      versionNegotiation: { mode: era === 'legacy' || era === 'auto' ? era : { pin: era } },
    },
  );
  client.setRequestHandler('sampling/createMessage', (request) => replies.sampling(request.params));
  client.setRequestHandler('elicitation/create', (request) => replies.elicitation(request.params));
  client.setRequestHandler('roots/list', () => replies.roots());
  client.setNotificationHandler('notifications/message', (note) => emit({ step: 'log', data: note.params.data }));
  client.onerror = (error) => process.stderr.write(`ts2: ${error}\n`);
  const [first, ...rest] = target;
  const transport =
    mode === 'stdio'
      ? new StdioClientTransport({ command: first, args: rest, env: process.env, stderr: 'inherit' })
      : new StreamableHTTPClientTransport(new URL(first));
  const modern = () => client.getNegotiatedProtocolVersion() >= '2026';
  return {
    connect: async () => {
      await client.connect(transport);
      return client;
    },
    protocol: () => client.getNegotiatedProtocolVersion(),
    call: (params, options) => client.callTool(params, options),
    task: async () => null,
    onUpdate: (handler) =>
      client.setNotificationHandler('notifications/resources/updated', (note) => handler(note.params.uri)),
    watch: (uri) => (modern() ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri })),
  };
});
