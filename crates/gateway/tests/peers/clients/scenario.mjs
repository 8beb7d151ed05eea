// The scenario that both TypeScript clients play. It prints one JSON object a line for each step, with what the client saw.
//
// An adapter hides the differences of the two packages:
//   connect()                          the connected client
//   call(params, options)              tools/call
//   task(params)                       tools/call as a task and its result, or null if the package has no tasks
//   onUpdate(handler)                  called with the URI of a resource that changed
//   watch(uri)                         asks for such changes

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const TIMEOUT = 20_000;

const LARGE = 200_000;

// Prints a step. A large result is replaced by its size and its hash.
export function emit(step) {
  const text = JSON.stringify(step.result ?? null);
  if (text.length > LARGE) {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
    step = { ...step, result: { bytes: text.length, digest, isError: step.result.isError } };
  }
  process.stdout.write(JSON.stringify(step) + '\n');
}

// Replies to the requests of servers.
export const replies = {
  sampling: () => ({ role: 'assistant', content: { type: 'text', text: 'a sampled text' }, model: 'test-model' }),
  elicitation: (params) => ({ action: 'accept', content: fillIn(params.requestedSchema ?? {}) }),
  roots: () => ({ roots: [{ uri: 'file://' + (process.env.TAMIS_ROOT ?? '/tmp'), name: 'scratch' }] }),
};

// A value for each required property, and the default of every other property that has one.
function fillIn(schema) {
  const content = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined) content[name] = property.default;
    else if ((schema.required ?? []).includes(name)) content[name] = sample(property);
  }
  return content;
}

function sample(property) {
  if (property.enum) return property.enum[0];
  return { boolean: true, integer: 7, number: 7 }[property.type] ?? 'Ada';
}

function failure(error) {
  return { error: { code: error?.code ?? null, message: String(error?.message ?? error) } };
}

async function attempt(step, action) {
  try {
    emit({ ...step, result: await action() });
  } catch (error) {
    emit({ ...step, ...failure(error) });
  }
}

async function pages(list, member) {
  const entries = [];
  let cursor;
  let count = 0;
  do {
    const result = await list(cursor === undefined ? undefined : { cursor }, { timeout: TIMEOUT });
    entries.push(...result[member]);
    cursor = result.nextCursor;
    count += 1;
  } while (cursor !== undefined && count < 100);
  return { pages: count, entries };
}

// The first handle that a notice in the result names.
const handleIn = (result) => JSON.stringify(result).match(/tm_[a-z2-7]{26}/)?.[0];

async function calls(adapter, plan, names) {
  const handles = [];
  for (const { tool, arguments: given, varies } of plan.calls ?? []) {
    if (!names.has(tool) && !tool.startsWith('no-such')) continue;
    const progress = [];
    await attempt({ step: 'call', tool, arguments: given, varies, progress }, async () => {
      const onprogress = (params) => progress.push([params.progress, params.total ?? null]);
      const result = await adapter.call({ name: tool, arguments: given }, { timeout: TIMEOUT, onprogress });
      const handle = handleIn(result);
      if (handle) handles.push({ tool, text: JSON.stringify(given), handle });
      return result;
    });
  }
  return handles;
}

async function retrieve(adapter, plan, names, handles) {
  if (!names.has('tamis_retrieve')) return;
  for (const { tool, match, arguments: given, expect } of plan.retrieve ?? []) {
    const handle = handles.find((entry) => entry.tool === tool && entry.text.includes(match))?.handle;
    const step = { step: 'retrieve', tool, match, arguments: given, handle: Boolean(handle) };
    if (!handle) {
      emit({ ...step, ok: false });
      continue;
    }
    try {
      const result = await adapter.call({ name: 'tamis_retrieve', arguments: { handle, ...given } }, { timeout: TIMEOUT });
      const ok = !result.isError && JSON.stringify(result).includes(expect);
      emit({ ...step, ok, ...(ok ? {} : { result }) });
    } catch (error) {
      emit({ ...step, ok: false, ...failure(error) });
    }
  }
}

async function cancel(adapter, { tool, arguments: given, after_ms }) {
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error('cancelled by the test')), after_ms);
  const started = Date.now();
  let outcome = 'a result';
  try {
    await adapter.call({ name: tool, arguments: given }, { timeout: TIMEOUT, signal: stop.signal });
  } catch {
    outcome = 'an error';
  }
  emit({ step: 'cancel', tool, outcome, quick: Date.now() - started < 5000 });
}

async function subscribe(adapter, { uri, trigger }) {
  const updated = new Promise((resolve) => {
    adapter.onUpdate(resolve);
    setTimeout(() => resolve(null), 3000);
  });
  await attempt({ step: 'subscribe', uri }, async () => {
    await adapter.watch(uri);
    await adapter.call({ name: trigger, arguments: {} }, { timeout: TIMEOUT });
    return { updated: await updated };
  });
}

export async function play(makeAdapter) {
  const [planFile, server, mode, ...target] = process.argv.slice(2);
  const plan = JSON.parse(readFileSync(planFile, 'utf8'))[server];
  const adapter = makeAdapter(mode, target);
  const watchdog = setTimeout(() => {
    emit({ step: 'timeout' });
    process.exit(3);
  }, 120_000);
  const client = await adapter.connect();
  emit({
    step: 'connect',
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    protocol: adapter.protocol(),
  });
  let names = new Set();
  await attempt({ step: 'tools' }, async () => {
    const listing = await pages((params, options) => client.listTools(params, options), 'tools');
    names = new Set(listing.entries.map((tool) => tool.name));
    return listing;
  });
  const handles = await calls(adapter, plan, names);
  await retrieve(adapter, plan, names, handles);
  for (const { tool, arguments: given } of plan.tasks ?? []) {
    if (names.has(tool)) await attempt({ step: 'task', tool }, () => adapter.task({ name: tool, arguments: given }));
  }
  if (plan.cancel) await cancel(adapter, plan.cancel);
  if (plan.subscribe) await subscribe(adapter, plan.subscribe);
  if (plan.resources) {
    let uris = [...(plan.read ?? [])];
    await attempt({ step: 'resources' }, async () => {
      const listing = await pages((params, options) => client.listResources(params, options), 'resources');
      uris = [...listing.entries.slice(0, plan.resources).map((resource) => resource.uri), ...uris];
      return listing;
    });
    await attempt({ step: 'templates' }, () => pages((params, options) => client.listResourceTemplates(params, options), 'resourceTemplates'));
    for (const uri of uris) await attempt({ step: 'read', uri }, () => client.readResource({ uri }, { timeout: TIMEOUT }));
  }
  if (plan.prompts) {
    await attempt({ step: 'prompts' }, () => pages((params, options) => client.listPrompts(params, options), 'prompts'));
    for (const prompt of plan.prompts) await attempt({ step: 'prompt', name: prompt.name }, () => client.getPrompt(prompt, { timeout: TIMEOUT }));
  }
  if (plan.complete) await attempt({ step: 'complete' }, () => client.complete(plan.complete, { timeout: TIMEOUT }));
  await client.close();
  emit({ step: 'closed' });
  clearTimeout(watchdog);
  // The process ends after everything is printed.
  process.stdout.write('', () => process.exit(0));
}
