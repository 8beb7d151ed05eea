// The client of @modelcontextprotocol/sdk 1.x.   ts1.mjs PLAN SERVER stdio COMMAND ARG…   or   ts1.mjs PLAN SERVER http URL

import { createRequire } from 'node:module';
import { emit, play, replies } from './scenario.mjs';

// The packages are in the cache folder, not next to this file.
const load = createRequire(process.env.TAMIS_PEERS_NODE + '/');
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const types = load('@modelcontextprotocol/sdk/types.js');

await play((mode, target) => {
  const client = new Client(
    { name: 'tamis-test-ts1', version: '1.0.0' },
    { capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } } },
  );
  client.setRequestHandler(types.CreateMessageRequestSchema, (request) => replies.sampling(request.params));
  client.setRequestHandler(types.ElicitRequestSchema, (request) => replies.elicitation(request.params));
  client.setRequestHandler(types.ListRootsRequestSchema, () => replies.roots());
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, (note) => emit({ step: 'log', data: note.params.data }));
  client.onerror = (error) => process.stderr.write(`ts1: ${error}\n`);
  const [first, ...rest] = target;
  const transport =
    mode === 'stdio'
      ? new StdioClientTransport({ command: first, args: rest, env: process.env, stderr: 'inherit' })
      : new StreamableHTTPClientTransport(new URL(first));
  let version = null;
  // The transport learns the negotiated version from the client.
  const remember = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (value) => {
    version = value;
    remember?.(value);
  };
  return {
    connect: async () => {
      await client.connect(transport);
      return client;
    },
    protocol: () => version,
    call: (params, options) => client.callTool(params, undefined, options),
    task: async (params) => {
      const started = await client.request(
        { method: 'tools/call', params: { ...params, task: { ttl: 60_000 } } },
        types.CreateTaskResultSchema,
      );
      const { taskId } = started.task;
      const result = await client.request({ method: 'tasks/result', params: { taskId } }, types.CallToolResultSchema);
      const state = await client.request({ method: 'tasks/get', params: { taskId } }, types.GetTaskResultSchema);
      return { result, status: state.status };
    },
    onUpdate: (handler) =>
      client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, (note) => handler(note.params.uri)),
    watch: (uri) => client.subscribeResource({ uri }),
  };
});
