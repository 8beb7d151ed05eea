// The case files of the repository: the same data that the tests of the library run.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export function text(path) {
  return readFileSync(root + path, 'utf8')
}

/** Returns all cases of a theme, each with a readable title. Integers that a number cannot hold are of the type BigInt. */
export function ofTheme(theme, key = 'case') {
  const folder = `tests/cases/${theme}/`
  const files = readdirSync(root + folder).filter((name) => name.endsWith('.toml'))
  return files.flatMap((name) => {
    const cases = parse(text(folder + name), { integersAsBigInt: 'asNeeded' })[key] ?? []
    const title = (one) => `${theme}: ${name.replace('.toml', '')}: ${one.name ?? one.file ?? one.tools}`
    return cases.map((one) => ({ ...structuredClone(one), title: title(one) }))
  })
}

/** Returns the document of a filter case. */
export function document(one) {
  if (one.input !== undefined) return Buffer.from(one.input)
  if (one.input_file !== undefined) return readFileSync(`${root}corpus/${one.input_file}`)
  if (one.input_hex !== undefined) return Buffer.from(one.input_hex.replaceAll(/\s/g, ''), 'hex')
  const { before = '', text, count, after = '' } = one.repeat
  return Buffer.from(before + text.repeat(count) + after)
}
