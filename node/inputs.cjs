// Checks arguments and turns them into the forms that the addon takes: bytes, strings, and JSON for rules and options.
'use strict'

const { Buffer } = require('node:buffer')
const { randomUUID } = require('node:crypto')
const { fileURLToPath } = require('node:url')
const { types } = require('node:util')

/** Returns a short name of a value for messages: its class or its type. */
function nameOf(value) {
  if (value === null) return 'null'
  return typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value
}

/** Returns whether a value is an object without a class. The objects of other realms, as in tests with Jest, are plain, too. */
function isPlain(value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * Writes rules or options as JSON. Integers may be of the type BigInt, because a number would lose digits. Refuses values that
 * JSON does not have and objects of a class, because `JSON.stringify` would leave out a rule.
 */
function json(options) {
  if (options === undefined) return undefined
  const integers = new Map()
  // `this[name]` is the value before its method `toJSON`.
  const text = JSON.stringify(options, function (name) {
    const value = this[name]
    // A rule or an option that is null has not been given.
    if (value === null && this === options) return undefined
    const type = typeof value
    if (type === 'bigint') {
      const mark = randomUUID()
      integers.set(`"${mark}"`, value.toString())
      return mark
    }
    const isNumber = type === 'number'
    const isObject = type === 'object' && value !== null
    if (
      type === 'function' ||
      type === 'symbol' ||
      (isNumber && !Number.isFinite(value)) ||
      (isObject && !isPlain(value) && !Array.isArray(value))
    ) {
      const place = name === '' ? '' : ` for \`${name}\``
      throw new TypeError(`expected a JSON value${place}, found ${isNumber ? value : nameOf(value)}`)
    }
    return value
  })
  if (!isPlain(options)) throw new TypeError(`expected an object, found ${nameOf(options)}`)
  if (integers.size === 0) return text
  return text.replace(/"[0-9a-f-]{36}"/g, (mark) => integers.get(mark) ?? mark)
}

/** Returns whether a value has bytes that can be filtered. */
function isBytes(data) {
  return types.isUint8Array(data) || types.isAnyArrayBuffer(data)
}

/** Returns the bytes of an input that the addon may borrow. Arrays of other realms are not of this `Uint8Array`. */
function bytes(data) {
  if (typeof data === 'string') return Buffer.from(data)
  // Another thread may change shared memory meanwhile.
  if (types.isUint8Array(data)) return types.isSharedArrayBuffer(data.buffer) ? Buffer.from(data) : data
  if (types.isSharedArrayBuffer(data)) return Buffer.from(new Uint8Array(data))
  if (types.isArrayBuffer(data)) return new Uint8Array(data)
  throw new TypeError(`expected a Buffer, a Uint8Array, an ArrayBuffer or a string, found ${nameOf(data)}`)
}

/** Returns an argument that must be a string. */
function string(value, what) {
  if (typeof value === 'string') return value
  throw new TypeError(`expected a string as the ${what}, found ${nameOf(value)}`)
}

/** Returns the path of a file, or the text of one, which has a line break. */
function fileOrText(source) {
  if (typeof source === 'string') return source
  if (source instanceof URL) return fileURLToPath(source)
  throw new TypeError(`expected a path, a URL or a text with a line break, found ${nameOf(source)}`)
}

/** Returns the exit code of a command. A command that was ended by a signal has none. */
function exitCode(value) {
  if (value === undefined || value === null) return undefined
  // Windows has codes of 32 bits without a sign.
  if (Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32) return value
  throw new TypeError(`expected an integer of 32 bits as the exit code, found ${typeof value === 'number' ? value : nameOf(value)}`)
}

module.exports = { bytes, exitCode, fileOrText, isBytes, isPlain, json, nameOf, string }
