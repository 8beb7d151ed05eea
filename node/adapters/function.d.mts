import type { Manifest, Program, Rules } from '../index.js'

export interface FilterToolOptions {
  /** The name of the tool in a manifest; by default that of the function. */
  name?: string
}

/** Returns a function that calls `fn` and filters what it returns; see the guide. */
export function filterTool<F extends (...args: never[]) => unknown>(
  fn: F,
  rules: Manifest | Program | Rules,
  options?: FilterToolOptions,
): F
