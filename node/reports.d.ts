// The types of reports. Keys that do not apply are left out.
//
// Written by tests/engine/report_types.rs from the structs of the library.

/** The error of a failed run in a report. */
export interface FailureReport {
  /** The kind of the error. */
  kind: string
  /** The byte of the input at which the run failed. */
  offset?: number
  /** The JSON Pointer of the value in which the run failed. */
  path: string
  /** The message, followed by the name of the limit or by the error of the operating system, if there is one. */
  message: string
}

/** The contents of a factored document. */
export interface Factored {
  /** The members in `_all`. */
  all: number
  /** The members in `_made`. */
  made: number
  /** The references. */
  refs: number
  /** The bytes that the document is shorter. */
  bytes: number
}

/** The report of one entry of `json_strings`: the sums over all strings at its pointer. */
export interface InnerReport {
  /** The pointer of the entry. */
  at: string
  /** Number of strings whose JSON was filtered. */
  filtered: number
  /** Number of values that are not strings with JSON, and were kept or dropped. */
  not_json: number
  /** Number of bytes of the filtered texts, after unescaping. */
  filter_original_bytes: number
  /** Number of bytes of the texts that are left, before escaping. */
  filter_result_bytes: number
  /** Number of elements of the payloads. */
  items_seen?: number
  /** Number of elements that are left. */
  items_kept?: number
  /** Number of elements that `where` dropped. */
  where_dropped?: number
  /** Number of values that `on_kind: keep` kept although they are of another kind than a path needs. */
  kind_kept?: number
  /** Number of values that `omit` left out. */
  omitted_members?: number
  /** Number of values that projections left out, because they are not objects. */
  projection_skipped?: number
  /** Selected paths that none of the texts has. */
  filter_partial_miss?: string[]
  /** The first warning that rules did not apply to a text. */
  filter_error?: string
  /** The first reason why `compact` left a text unchanged. */
  compact_error?: string
  /** Whether a budget shortened a text. */
  budget_applied?: boolean
  /** Whether a text exceeds its budget. */
  budget_exceeded?: boolean
  /** Number of operations of `patches` that were applied. */
  patches_applied?: number
  /** Number of members that were dropped because their name occurred before. */
  duplicates_dropped?: number
  /** Whether the rest of a text was neither read nor validated. */
  tail_unread?: boolean
  /** Number of replaced values, by kind. */
  redacted?: Record<string, number>
  /** The reports of the entries of `json_strings` inside the texts. */
  inner?: InnerReport[]
}

/** The part of pages that a `content` filter left out. */
export interface LeftOut {
  /** The number of blocks of text: paragraphs, headings, items, cells. */
  blocks: number
  /** The number of their words. In scripts without spaces, every character counts. */
  words: number
}

/** A container or a string of which a part was left out. */
export interface CutPlace {
  /** Its place in the filtered document, as a JSON Pointer. */
  pointer: string
  /** The unit of the numbers. */
  unit: 'items' | 'members' | 'bytes'
  /** How many of them are shown, and of how many. */
  shown: number
  /** The number before the cut. */
  of: number
  /** The numbers of the first and the last one that is left out, counted from 0. Others between them may be shown. */
  gap: number[]
}

/** Parts of a document that a budget kept for one reason: values, short values that follow each other, and passages of
 * strings. */
export interface KeptParts {
  /** Why they were kept. */
  reason: 'around' | 'spread' | 'failure' | 'end' | 'query' | 'information'
  /** Their number. */
  parts: number
  /** Their size in the filtered document. */
  bytes: number
  /** Where the first of them are, as JSON Pointers: at most three places. */
  at: string[]
}

/** The parts that a budget left out with `Information`. */
export interface BudgetCuts {
  /** The number of elements that are missing from arrays. */
  items: number
  /** The number of members that are missing from objects. */
  members: number
  /** The number of strings that are shown in part. */
  strings: number
  /** The place with the most bytes left out. */
  largest?: CutPlace
  /** The parts that were kept, by the reason why. */
  kept?: KeptParts[]
}

/** The report of one run: sizes, what was cut, and how. */
export interface Report {
  /** Whether the output was made by the rules. */
  filter_applied: boolean
  /** Number of bytes of the document that were consumed; a final newline does not count. If `stop_early` stops after an
   * `extract`, a `retain` or `patches`, number of bytes of the output of these. */
  filter_original_bytes: number
  /** Size of the filtered output in bytes, before `budget` and `compact`. */
  filter_result_bytes: number
  /** Size of the output in bytes, if `budget` or `compact` changed it. */
  output_bytes?: number
  /** Length of the payload before `max_items`, if something was cut. Absent after `stop_early`, because the rest of the
   * array was not read. */
  filter_items_truncated_from?: number
  /** Selected paths that no item has. */
  filter_partial_miss?: string[]
  /** The reason why rules were skipped. */
  filter_skipped?: 'raw_output' | 'error_response' | 'raw_mode' | 'shape'
  /** A warning that rules did not apply, with the reason: a total miss, patches that failed, a `content` filter without
   * content (and what is written instead), or a tool without a filter of a known type in its registry, whose full
   * response passes. */
  filter_error?: string
  /** The branch of `when` that applied. */
  branch?: string
  /** Number of operations of `patches` that were applied, including tests that held. */
  patches_applied?: number
  /** Number of `remove` operations without a value to remove, where `lenient_remove` allows that. */
  patches_without_effect?: number
  /** The `test` of `patches` that failed and ended the sequence. */
  patch_stopped_at?: string
  /** The source of the text of a `content` filter. */
  content_from?: 'article' | 'body' | 'page' | 'fields' | 'text' | 'response'
  /** Whether a `content` filter left out a hidden part of a page. */
  content_hidden?: boolean
  /** Blocks that a `content` filter left out of pages because they are not part of the main texts. Navigation and
   * hidden text are not counted. */
  left_out?: LeftOut
  /** Whether a budget shortened the output. */
  budget_applied?: boolean
  /** Whether the output exceeds its budget, because nothing more could be left out or because `compact` made it
   * longer. */
  budget_exceeded?: boolean
  /** The parts that a budget left out which prefers information. */
  budget_cuts?: BudgetCuts
  /** The reason why the budget kept the first items although `prefer` asks for information. */
  prefer_skipped?: 'size' | 'room'
  /** The budget in bytes, if it shortened the output. */
  budget_limit?: number
  /** Size of the filtered output in bytes, if a budget shortened it; equal to `result_bytes`. */
  budget_original_bytes?: number
  /** Size of the output in bytes, including marks and the text that `compact` rendered. More than the limit with
   * `budget_exceeded`. */
  budget_result_bytes?: number
  /** The budget in tokens, if it shortened the output. */
  tokens_limit?: number
  /** Number of tokens of the filtered output if tokens are estimated, or of the text of a `content` filter. Otherwise
   * the bytes that a budget drops are not counted in tokens. */
  tokens_original?: number
  /** Number of tokens of the output, as its bytes are counted. */
  tokens_result?: number
  /** Whether tokens were estimated at four bytes each: the call has no vocabulary. */
  tokens_estimated?: boolean
  /** The reason why `compact` left the filtered output unchanged. */
  compact_error?: string
  /** The reason why the output is JSON although `encode` names another form. */
  encode_skipped?: 'duplicate_key' | 'lone_surrogate' | 'number' | 'size' | 'not_a_list' | 'not_rows' | 'empty' | 'sparse' | 'siblings'
  /** Counts of the members that `factor` wrote once, and the bytes that it saved. */
  factored?: Factored
  /** The reason why the document was not factored although `factor` asks for it. */
  factor_skipped?: 'names' | 'gain' | 'size' | 'stop_early' | 'encode' | 'compact' | 'lines' | 'strings' | 'whitespace'
  /** Number of elements of the payload that were read, if it is an array. */
  items_seen?: number
  /** Number of elements in the output. */
  items_kept?: number
  /** Number of elements that `where` dropped. They are not counted in the other keys. */
  where_dropped?: number
  /** Number of values that `on_kind: keep` kept although they are of another kind than a path needs. */
  kind_kept?: number
  /** Number of values that `omit` left out. */
  omitted_members?: number
  /** Number of values that projections left out, because they are not objects. */
  projection_skipped?: number
  /** A lower bound for the number of elements of the payload, if `stop_early` stopped before its end. */
  items_at_least?: number
  /** Whether the rest of the input was neither read nor validated. */
  tail_unread?: boolean
  /** Number of members that were dropped because their name occurred before. Complete under `duplicate_keys: count`;
   * otherwise only those that were seen. A member that two outputs need counts for each; paths with a common beginning
   * count once up to their first wildcard. */
  duplicates_dropped?: number
  /** Maximum number of bytes held at once, in memory and in the temporary file. Depends on the driver and the
   * chunks. */
  held_peak_bytes: number
  /** The reports of the entries of `json_strings`, in their order. Absent without the rule. */
  inner?: InnerReport[]
  /** Number of strings, and of `data:` URLs in other strings, that `omit_base64_over` replaced. */
  base64_omitted?: number
  /** Size of these in bytes, without escapes. */
  base64_omitted_bytes?: number
  /** Number of replaced values, by kind: the kinds of the guide, and `path` for values at the paths of `redact`. */
  redacted?: Record<string, number>
  /** The place of the payload. */
  root?: string
  /** How each stage ran. Depends on the driver. Each step is written as one line. */
  plan: string[]
  /** The error of a failed run. */
  error?: FailureReport
}

/** The result of filtering one text. */
export interface TextReport {
  /** Whether an operation changed anything. If not, the output equals the input. */
  changed: boolean
  /** Bytes of the input. */
  bytes_in: number
  /** Bytes of the output. */
  bytes_out: number
  /** Characters of the input. */
  chars_in: number
  /** Characters of the output. */
  chars_out: number
  /** Lines of the input. */
  lines_in: number
  /** Lines of the output, including headings and the lines that report how many were left out. */
  lines_out: number
  /** Input lines that were removed. */
  lines_removed: number
  /** Input lines that were replaced by an equal or similar line of the output. */
  lines_folded: number
  /** Input lines that were written in a shorter form, or as items under a heading. */
  lines_shortened: number
  /** Input lines left out because of `max_lines`. */
  lines_left_out: number
  /** Input lines that a terminal would not show completely, because text after a carriage return or backspaces
   * overwrote a part of them. */
  lines_overwritten?: number
  /** Input lines that look like a notice of tamis and were marked with `| `. */
  lines_marked?: number
  /** Lines longer than the limit `line`. If there are patterns and the beginning of such a line did not decide, it was
   * removed. */
  lines_too_long: number
  /** Whether nothing was left and the text of `on_empty` was written. */
  was_empty: boolean
}

/** The result of filtering the output of one command. */
export interface OutputReport {
  /** Name of the filter that was applied, or `None`. */
  filter?: string
  /** Why the output was passed through, if it was. */
  passed?: 'disabled' | 'unclear' | 'no_filter' | 'machine_format' | 'structured' | 'too_long' | 'not_text'
  /** Exit code of the command, if known. */
  exit_code?: number
  /** Whether the filtered output differs from the raw one. */
  changed: boolean
  /** Whether lines or parts of lines were removed. */
  cut: boolean
  /** Where the full output can be read, if given. */
  full_output?: string
  /** Bytes of the raw output. */
  bytes_in: number
  /** Bytes of the filtered output. */
  bytes_out: number
  /** Characters of the raw output. */
  chars_in: number
  /** Characters of the filtered output. */
  chars_out: number
  /** Lines of the raw output. */
  lines_in: number
  /** Lines of the filtered output, including headings and the lines that report what was left out. */
  lines_out: number
  /** Lines that were removed. */
  lines_removed: number
  /** Lines that were replaced by an equal or similar line of the output. */
  lines_folded: number
  /** Lines that were written in a shorter form, or as items under a heading. */
  lines_shortened: number
  /** Lines left out between head and tail. */
  lines_left_out: number
  /** Lines that a terminal would not show completely, because other text overwrote a part of them. */
  lines_overwritten?: number
  /** Lines that look like a notice of tamis and were marked with `| `. */
  lines_marked?: number
  /** Lines of the filtered output that the cap of the call left out, in whole or in part. */
  lines_capped?: number
  /** Credentials that were replaced before the filter, by kind. */
  redacted?: Record<string, number>
}

/** Numbers of pruned results of one tool. */
export interface PrunedTool {
  /** Number of its results that were pruned. */
  results: number
  /** Bytes saved, after subtracting the replacements; negative if those are longer. */
  bytes_saved: number
  /** Tokens of the pruned results. */
  tokens_saved: number
}

/** The report of one pruning run. */
export interface PruneReport {
  /** Number of messages in the history. */
  messages: number
  /** Number of user messages that count as turns. Messages with nothing but results do not. */
  user_turns: number
  /** Number of tool results in the whole history. */
  results: number
  /** Number of results that were pruned. */
  results_pruned: number
  /** Number of results of protected tools. */
  results_protected: number
  /** Number of results that had been pruned before. */
  results_compacted: number
  /** Size of the document in bytes. */
  bytes: number
  /** Bytes by which the output is shorter; negative if placeholders and marks are longer than what they replace. */
  bytes_saved: number
  /** Tokens of the pruned results, not reduced by those of the placeholders. */
  tokens_saved: number
  /** Tokens were not counted but estimated at four bytes each. */
  tokens_estimated?: boolean
  /** Offset of the first change, in the document and in the output. A provider's prompt cache stays valid up to
   * here. */
  first_changed?: number
  /** Bytes of the output from there on. */
  bytes_invalidated?: number
  /** The rule that prevented pruning, if there was something to prune. */
  refused?: 'minimum_tokens' | 'min_gain'
  /** Numbers of pruned results for each tool. The name of an unknown tool is empty. */
  tools?: Record<string, PrunedTool>
  /** Largest number of bytes held at once, in memory and in temporary files. Depends on the driver. */
  held_peak_bytes: number
  /** The error, if the run failed. Nothing was written then. */
  error?: FailureReport
}
