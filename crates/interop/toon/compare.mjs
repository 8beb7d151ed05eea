// Compares the TOON encoder of tamis with the reference, `@toon-format/toon` 4.4, by bytes and by value.
//
//   npm install --prefix /tmp/toon @toon-format/toon@4.4
//   node crates/interop/toon/compare.mjs /tmp/toon [FOLDER OF JSON FILES…]
//
// Documents are those of the folders, and 10,000 random ones. Set SEED to repeat other random documents.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'

const [home, ...folders] = process.argv.slice(2)
const reference = join(resolve(home), 'node_modules/@toon-format/toon/dist/index.mjs')
const { encode, decode } = await import(pathToFileURL(reference))

let seed = Number(process.env.SEED ?? 1)
const random = (below) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}
const pick = (list) => list[random(list.length)]
const names = ['id', 'a', 'b.c', 'd e', '', '-', '#x', 'é', '1', '20', 'true', 'a:b', '"', '__proto__', 'x\ny', '\ufeffk']
const strings = ['', ' ', 'a', 'a b', ' a', 'a\t', 'true', 'null', '1', '-1', '+1', '01', '1.5e3', '.5', '- x', '#', 'a,b',
  'a:b', '[1]', '{x}', 'x\ny', '\r', '\\', '"', '\u0001', '\u007f', '\u2028', '\u00a0x', '😀', '\ufeff', '[]', '-', 'a|b', 'x # y']
const numbers = ['0', '-0', '1', '-1.5', '1.10', '1e3', '1E21', '1e-7', '0.000001', '123456789012', '1.0', '5e-324']
const scalar = () => pick([() => JSON.stringify(pick(strings)), () => pick(numbers), () => pick(['true', 'false', 'null'])])()
const object = (keys, value) => `{${keys.map((key) => `${JSON.stringify(key)}:${value()}`).join()}}`
const someNames = () => names.filter(() => random(6) === 0)
const value = (depth) => {
  const inner = () => (depth > 0 && random(2) ? value(depth - 1) : scalar())
  const many = (make) => Array.from({ length: random(4) }, make)
  const keys = someNames()
  const row = () => object(random(2) ? keys : [...keys].reverse(), () => (random(12) ? scalar() : inner()))
  const nested = () => object(keys, () => object(['n', 'm'], scalar))
  return pick([
    () => object(someNames(), inner),
    () => `[${many(inner).join()}]`,
    () => `[${many(row).join()}]`,
    () => `[${many(nested).join()}]`,
    () => object(someNames(), row),
    () => object(someNames(), nested),
    scalar,
  ])()
}

const files = (path) =>
  statSync(path).isDirectory() ? readdirSync(path).sort().flatMap((name) => files(join(path, name))) : [path]
const documents = []
for (const path of folders.flatMap(files)) {
  if (!/\.(json|ndjson|jsonl)$/.test(path)) continue
  const text = readFileSync(path, 'utf8')
  const parts = path.endsWith('.json') ? [text] : text.split('\n')
  for (const part of parts) {
    try {
      JSON.parse(part)
    } catch {
      continue
    }
    documents.push(part.replace(/[\r\n]/g, ' ').replace(/^\ufeff/, ''))
  }
}
const ofFiles = documents.length
for (let count = 0; count < 10_000; count++) documents.push(value(4))

const [input, output] = [join(home, 'input.ndjson'), join(home, 'output.ndjson')]
writeFileSync(input, documents.join('\n') + '\n')
execFileSync('cargo', ['test', '-q', '-p', 'tamis', '--lib', 'encode_lines_of_a_file', '--', '--ignored', '--exact', 'encode::tests::encode_lines_of_a_file'], {
  env: { ...process.env, TAMIS_TOON_INPUT: resolve(input), TAMIS_TOON_OUTPUT: resolve(output) },
  stdio: ['ignore', 'ignore', 'inherit'],
})

// JavaScript moves names that are integers to the beginning of an object.
const hasMovedNames = (text) => /"(0|[1-9][0-9]*)"\s*:/.test(text)
// tamis keeps all digits of a plain decimal, and the reference rounds.
const hasRoundedNumber = (text) =>
  (text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d+(?:\.\d+)?(?![\d.]*[eE])/g) ?? []).some(
    (number) => String(Number(number)) !== number.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') && Number(number) !== 0,
  )
// JSON has -0, and TOON does not.
const plain = (value) => JSON.parse(JSON.stringify(value))
const texts = readFileSync(output, 'utf8').trimEnd().split('\n')
if (texts.length !== documents.length) throw new Error(`${texts.length} texts of ${documents.length} documents`)
let [skipped, sameBytes, moved, rounded, failed] = [0, 0, 0, 0, 0]
documents.forEach((document, at) => {
  const text = JSON.parse(texts[at])
  if (text === null) {
    skipped++
    if (process.env.SHOW_SKIPPED) console.log(at < ofFiles, document.slice(0, 100))
    return
  }
  const expected = JSON.parse(document)
  let problem
  try {
    if (!isDeepStrictEqual(plain(decode(text)), plain(expected))) problem = 'another value'
  } catch (error) {
    problem = error.message
  }
  if (encode(expected) === text) sameBytes++
  else if (hasMovedNames(document)) moved++
  else if (hasRoundedNumber(document)) rounded++
  else problem ??= 'other bytes'
  if (problem && failed++ < 10) console.log(`${problem}\n${document.slice(0, 400)}\n${text.slice(0, 400)}\n`)
})
console.log({ ofFiles, random: documents.length - ofFiles, skipped, sameBytes, moved, rounded, failed })
process.exitCode = failed ? 1 : 0
