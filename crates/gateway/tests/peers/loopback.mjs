// Sends every request of a Node.js program to TAMIS_API, a server of the loopback interface: node --import ./loopback.mjs PROGRAM
import http from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'

const api = new URL(process.env.TAMIS_API)
const send = globalThis.fetch

globalThis.fetch = (input, options) => {
  const url = new URL(input.url ?? input)
  url.protocol = api.protocol
  url.host = api.host
  return input instanceof Request ? send(new Request(url, input)) : send(url, { ...options, dispatcher: undefined })
}
https.request = (first, ...rest) => {
  const isUrl = typeof first === 'string' || first instanceof URL
  const options = isUrl ? { path: new URL(first).pathname + new URL(first).search } : first
  const more = typeof rest[0] === 'object' ? rest[0] : {}
  const respond = rest.find((value) => typeof value === 'function')
  const place = { protocol: 'http:', host: api.hostname, hostname: api.hostname, port: api.port, agent: undefined, agents: undefined }
  return http.request({ ...options, ...more, ...place }, respond)
}
https.get = (...words) => https.request(...words).end()
syncBuiltinESMExports()
