/**
 * A streaming filter for tool output: keeps the fields you declare and drops the rest.
 *
 * ```js
 * import { Program } from 'tamis'
 *
 * const program = new Program({ select: ['id', 'owner.login'], max_items: 1 })
 * program.filter('[{"id": 7, "owner": {"login": "mira", "id": 1}}, {"id": 8}]').toString()
 * // [{"id":7,"login":"mira"}]
 * ```
 */

import type { Buffer } from 'node:buffer'
import type { OutputReport, PruneReport, Report, TextReport } from './reports.js'

export type { Factored, FailureReport, InnerReport, LeftOut, OutputReport, PrunedTool, PruneReport, Report, TextReport } from './reports.js'

export type Data = Uint8Array | ArrayBuffer | SharedArrayBuffer | string

export interface Budget {
  bytes?: number
  tokens?: number
}

/** The members of a native spec; see the rules in the guide. Names that are not known are errors. */
export interface Rules {
  extract?: string
  requires?: string[]
  json_strings?: object[]
  select?: string[] | Record<string, string>
  on_kind?: 'drop' | 'keep'
  exclude?: string[]
  omit?: string[]
  retain?: string[]
  patches?: object[]
  lenient_remove?: boolean
  on_test_failure?: 'fail' | 'stop'
  when?: object[]
  otherwise?: 'pass' | 'drop' | 'error'
  root?: string
  siblings?: 'keep' | 'drop'
  where?: object[]
  max_items?: number | bigint
  stop_early?: boolean
  drop_nulls?: boolean
  drop_empty?: boolean
  omit_base64_over?: number
  text_filter?: object
  redact?: 'secrets' | { paths?: string[]; with?: string; secrets?: boolean; patterns?: Record<string, string> }
  factor?: boolean
  budget?: Budget
  min_items?: number
  omitted?: 'mark' | 'silent'
  on_over?: 'warn' | 'error'
  prefer?: 'order' | 'information'
  compact?: { header?: string; item: string; footer?: string }
  encode?: 'json' | 'toon' | 'csv' | 'markdown'
  content?: object
  on_error?: 'raw' | 'closed'
  validation?: 'full' | 'structure'
  whitespace?: 'minify' | 'keep'
  duplicate_keys?: 'first' | 'count' | 'reject'
  allow_raw?: boolean
}

/** The options of one call. */
export interface CallOptions {
  raw?: boolean
  is_error?: boolean
  budget?: Budget
  min_items?: number
  omitted?: 'mark' | 'silent'
  on_over?: 'warn' | 'error'
  prefer?: 'order' | 'information'
  lines?: boolean
  only_summary?: boolean
  suggestions?: boolean
  depth?: number
  key?: number
  held?: number
  spill?: number
  item?: number
  line?: number
}

/** The options for the output of a command. */
export interface OutputOptions {
  max_lines?: number
  max_tokens?: number
  full_output?: string
  notice?: boolean
  held?: number
}

/** The rules for lines of text that is not JSON. */
export interface TextRules {
  strip_ansi?: boolean
  strip_lines_matching?: string[]
  keep_lines_matching?: string[]
  dedup?: boolean | { scope: 'neighbours' | 'all' }
  max_lines?: number
  on_empty?: string
}

/** The limits of one call for a text. */
export interface TextOptions {
  line?: number
  held?: number
}

/** The rules for old tool results in a chat. */
export interface PruneRules {
  keep_turns?: number
  protected?: string[]
  placeholder?: string
  now?: number
  protect_tokens?: number
  minimum_tokens?: number
  count_tokens?: boolean
  stop_at_summary?: boolean
  keep_head?: number
  keep_tail?: number
  min_gain?: number
  only_shorter?: boolean
}

export interface Problem {
  file: string
  /** Counted from 1; 0 if there is none. */
  line: number
  /** In characters, counted from 1; 0 if there is none. */
  column: number
  message: string
}

/** A failed run, rules that cannot be compiled, or a manifest that cannot be read. */
export class TamisError extends Error {
  /** `syntax`, `unexpected_end`, `limit`, `miss`, `spec`, …; for manifests and rules `manifest`,
   * `unknown_tool`, `unknown_service`, `ambiguous`. */
  kind: string
  /** Who has to act: `input`, `spec`, `limit`, `sink`, `caller` or `bug`. */
  fault: string
  /** The byte of the input at which the run failed. */
  offset: number | null
  /** The JSON Pointer of the value in which the run failed. */
  path: string
  /** The name of the reached limit. */
  limit: string | null
  /** The message without the place. */
  detail: string
  /** The output that the failed call of a stream wrote before it failed. For lines, the output of the other lines. */
  output: Buffer
  report: Report | null
  problems: Problem[]
}

/** A compiled filter. Immutable. */
export class Program {
  /** Compiles rules. A program as `rules` is copied. Objects of other classes, such as a `Map`, are a `TypeError`. */
  constructor(rules?: Rules | Program)
  /** Filters a document. Buffers are read in place. */
  filter(data: Data, options?: CallOptions): Buffer
  filterWithReport(data: Data, options?: CallOptions): { output: Buffer; report: Report }
  /** Filters a text that is not JSON, as the proxy does: secrets are redacted, and the rule `text_filter` applies. Returns null if
   * the text must not pass, because other rules remove values for safety and cannot read it. With `isError` it is the message
   * of a failed call. */
  filterPlain(data: Data, isError?: boolean): Buffer | null
  /** Filters each line as a document of its own (NDJSON). A line that fails writes nothing; the first failure is thrown
   * after all lines were read, and its `output` has the output of the other lines. */
  filterLines(data: Data, options?: CallOptions): Buffer
  /** Filters the data of each event of an event stream as a document (`text/event-stream`). An event that fails writes nothing;
   * the first failure is thrown after all events were read, and its `output` has the output of the other events. */
  filterEvents(data: Data, options?: CallOptions): Buffer
  /** Filters a copy of the document on another thread. If the signal aborts, the promise is rejected with its reason at once; the
   * thread ends the document on its own, and its output is dropped. */
  filterAsync(data: Data, options?: CallOptions & { signal?: AbortSignal }): Promise<Buffer>
  /** Starts a run that bytes are pushed into. */
  push(options?: CallOptions): PushStream
  /** Returns a TransformStream for one document, for `pipeThrough`. If the signal aborts, both sides fail with its reason, and the
   * run is freed. */
  stream(options?: CallOptions & { signal?: AbortSignal }): FilterStream
  /** Describes how the program will run. */
  explain(options?: CallOptions): string
  /** Describes how the program will run, as an object: stages, what they hold, and why. */
  plan(options?: CallOptions): Record<string, unknown>
  /** The rules in one line, in words. */
  readonly summary: string
  /** Whether rules may be relied on to keep values back. */
  readonly removesForSafety: boolean
  readonly spec: Rules
}

/** A run that bytes are pushed into: of a document, of a text, or of the output of a command. `R` is the type of its report. */
export class PushStream<R = Report> {
  private constructor()
  write(data: Data): Buffer
  /** `exitCode` is that of the command, if this is one's output. */
  end(exitCode?: number | null): Buffer
  /** Returns lines that a reader should see now, although later input could still change them: call it if somebody waits and no
   * input has arrived for a second. Documents have no such output. */
  release(): Buffer
  /** Yields the outputs for an iterable of chunks, sync or async. Reads a chunk when an output is asked for, and none after the
   * output is complete. */
  pipe(chunks: Iterable<Data> | AsyncIterable<Data>): AsyncGenerator<Buffer, void, void>
  /** Frees what the run holds, without waiting for the garbage collector. Needed only for a run that is given up before `end`.
   * Later calls throw. */
  close(): void
  /** Whether the output is complete, so that further input is ignored. */
  readonly done: boolean
  /** Of a document the report so far; of a text or a command's output empty until the end. */
  readonly report: R
}

/** A TransformStream of one run. A reader that waits holds the writer back. The streams have the types of the DOM library of
 * TypeScript if a project includes it, else those of Node. */
export class FilterStream<R = Report> {
  private constructor()
  readonly readable: ReadableStream<Uint8Array>
  readonly writable: WritableStream<Data>
  readonly report: R
}

/** Compiled rules for lines of text that is not JSON, such as logs. Immutable. */
export class TextProgram {
  constructor(rules?: TextRules)
  filter(data: Data, options?: TextOptions): Buffer
  filterWithReport(data: Data, options?: TextOptions): { output: Buffer; report: TextReport }
  /** Starts a run that bytes are pushed into. */
  push(options?: TextOptions): PushStream<TextReport>
  /** Returns a TransformStream for one text, for `pipeThrough`. If the signal aborts, both sides fail with its reason. */
  stream(options?: TextOptions & { signal?: AbortSignal }): FilterStream<TextReport>
  readonly spec: TextRules
}

/** Filters for the output of commands: the built-in ones and, before them, those of a file with rules (TOML). Immutable. */
export class OutputFilters {
  /** A URL or a string without a line break names a file; any other string is the text of one, which errors call `name`. */
  constructor(rules?: string | URL, name?: string)
  /** Filters the output of a command; text in, text out. Output of a command without a filter is passed through. */
  filter(command: string, output: string, exitCode?: number | null, options?: OutputOptions): string
  filter(command: string, output: Exclude<Data, string>, exitCode?: number | null, options?: OutputOptions): Buffer
  filter(command: string, output: Data, exitCode?: number | null, options?: OutputOptions): string | Buffer
  filterWithReport(
    command: string,
    output: Data,
    exitCode?: number | null,
    options?: OutputOptions,
  ): { output: Buffer; report: OutputReport }
  /** Starts a run that the output is pushed into while the command runs. */
  push(command: string, options?: OutputOptions): PushStream<OutputReport>
  /** Returns the name of the filter for a command. */
  filterFor(command: string): string | null
  /** Runs the examples of the rules, and returns a problem for each that does not have the declared output. */
  runExamples(): Problem[]
  readonly names: string[]
  readonly warnings: Problem[]
}

/** A file with the filters of many tools. */
export class Manifest {
  /** Reads a manifest. A URL or a string without a line break names a file; any other string is the text. */
  constructor(source: string | URL)
  static parse(text: string, name?: string): Manifest
  static load(path: string | URL): Manifest
  /** The built-in filters for common APIs. */
  static catalog(): Manifest
  /** Combines manifests into one. Throws if two of them have a filter for one name. */
  static merge(...manifests: Manifest[]): Manifest
  /** Returns the filters of a service, `NAME@VERSION`, and those that are bound to no service. */
  forService(service: string): Manifest
  /** Returns the filter of a tool. Throws if there is none. */
  program(tool: string): Program
  find(tool: string): Program | null
  readonly names: string[]
  readonly warnings: string[]
}

/** Filters the output of a command with the built-in filters; text in, text out. */
export function filterOutput(command: string, output: string, exitCode?: number | null, options?: OutputOptions): string
export function filterOutput(
  command: string,
  output: Exclude<Data, string>,
  exitCode?: number | null,
  options?: OutputOptions,
): Buffer
export function filterOutput(
  command: string,
  output: Data,
  exitCode?: number | null,
  options?: OutputOptions,
): string | Buffer
export function filterOutputWithReport(
  command: string,
  output: Data,
  exitCode?: number | null,
  options?: OutputOptions,
): { output: Buffer; report: OutputReport }

/** Replaces old tool results in a chat by placeholders, and changes nothing else. `messages` is a list of messages, a request
 * with `messages`, `input` or `contents`, or either as JSON. */
export function prune(messages: string, rules?: PruneRules): string
export function prune(messages: Exclude<Data, string>, rules?: PruneRules): Buffer
export function prune(messages: Data, rules?: PruneRules): string | Buffer
export function prune<T extends object>(messages: T, rules?: PruneRules): T
export function pruneWithReport(history: Data, rules?: PruneRules): { output: Buffer; report: PruneReport }

/** The version of the package. */
export const version: string

/** Restores a document that the rule `factor` wrote: all values are the same again. Text in, text out. Members of objects may have
 * another order than before. A document that is not factored is returned unchanged. */
export function restore(document: string): string
export function restore(document: Exclude<Data, string>): Buffer
export function restore(document: Data): string | Buffer

