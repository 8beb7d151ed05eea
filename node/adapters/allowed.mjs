// The members of a result of `tools/call` that may pass if the filter of the tool removes for safety, as in the proxy. The filter
// knows the payload of a result, but not the message around it, in which a server may repeat data.

/** A filter has seen the value. */
const any = (value) => value

const scalar = (value) => (value !== null && typeof value === 'object' ? undefined : value)

/** A string that is searched for secrets. */
const searched = (value, search) => (typeof value === 'string' ? search(value) : undefined)

const each = (allowed) => (values, search) =>
  Array.isArray(values) ? values.map((value) => allowed(value, search)).filter((value) => value !== undefined) : undefined

const object = (members) => (value, search) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
  const kept = {}
  for (const [name, member] of Object.entries(value)) {
    const passed = Object.hasOwn(members, name) ? members[name](member, search) : undefined
    if (passed !== undefined) kept[name] = passed
  }
  return kept
}

const META = object({
  progressToken: scalar,
  'io.modelcontextprotocol/related-task': object({ taskId: scalar }),
  'io.modelcontextprotocol/subscriptionId': scalar,
  'io.modelcontextprotocol/protocolVersion': scalar,
  'io.modelcontextprotocol/serverInfo': object({ name: scalar, title: scalar, version: scalar }),
})

const OF_BLOCKS = {
  type: scalar,
  annotations: object({ audience: each(scalar), priority: scalar, lastModified: scalar }),
  _meta: META,
}

const RESOURCE = object({ uri: searched, mimeType: scalar, text: scalar, blob: scalar, _meta: META })

const MEDIA = object({ ...OF_BLOCKS, data: scalar, mimeType: scalar })

const BLOCKS = {
  text: object({ ...OF_BLOCKS, text: scalar }),
  image: MEDIA,
  audio: MEDIA,
  resource: object({ ...OF_BLOCKS, resource: RESOURCE }),
  // A name is required, a title and a description are not.
  resource_link: object({ ...OF_BLOCKS, uri: searched, name: searched, mimeType: scalar, size: scalar }),
}

const block = (value, search) => (isKnownBlock(value) ? BLOCKS[value.type](value, search) : undefined)

const TASK = object({
  taskId: scalar,
  status: scalar,
  createdAt: scalar,
  lastUpdatedAt: scalar,
  ttl: scalar,
  pollInterval: scalar,
})

const RESULT = object({
  _meta: META,
  resultType: scalar,
  content: each(block),
  structuredContent: any,
  // The payload in the first version of the protocol.
  toolResult: any,
  isError: scalar,
  task: TASK,
})

/** Returns whether the protocol defines the kind of a block. */
export function isKnownBlock(value) {
  return typeof value?.type === 'string' && Object.hasOwn(BLOCKS, value.type)
}

/** Returns a result with the members that may pass, or undefined if it is no object. `search` removes secrets from a text. */
export function allowedResult(result, search) {
  return RESULT(result, search)
}
