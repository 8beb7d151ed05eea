//! How the machine works, for readers who want to change it. This module has no code.
//!
//! # The steps
//!
//! ```text
//! chunk ─▶ window of 4 KiB ─▶ scan: masks ─▶ token list ─▶ walk ◀──▶ fast path ──▶ handler ─▶ writer ─▶ sink
//!       │                      │                             │         policies, loops
//!       │                      └── leap: brackets only       └── all errors of the grammar
//!       └── skip_rows: brackets only, before a scan
//! ```
//!
//! [`Machine::feed`](super::Machine::feed) cuts a chunk into windows. The scanner turns a window into bit masks. A
//! container that is dropped under `validation: structure` is skipped on the bracket mask, and the tokens of a window
//! that lies inside it completely are never listed. A container that is longer than a window is skipped by rows of 512 bytes,
//! whose brackets are found in one pass, until the rows with its end. In all other windows the tokens are listed and walked. A token is a
//! bracket, a comma, a colon, the opening quote of a string, or the first byte of a number or literal.
//!
//! # The state
//!
//! [`Expect`](super::Expect) is the set of tokens that may come next:
//!
//! ```text
//! Value ── scalar, string ──▶ After, or End at depth 0
//! Value ── `[` ──▶ ValueOrEnd ── value ──▶ After            ValueOrEnd ── `]` ──▶ After
//! Value ── `{` ──▶ KeyOrEnd ── key ──▶ Colon ── `:` ──▶ Value     KeyOrEnd ── `}` ──▶ After
//! After ── `,` ──▶ Key (in an object) or Value (in an array)      Key ── key ──▶ Colon
//! After ── `}`, `]` ──▶ After, or End at depth 0
//! Value ── `"`, the last byte of a window, if its second byte decides ──▶ SecondByte ──▶ After
//! ```
//!
//! [`SkipMode`](super::SkipMode) is the part of the machine that reads the tokens:
//!
//! | mode | code | what happens | used for |
//! |---|---|---|---|
//! | `Inspect` | `walk::<false>` | the handler decides about each member and element | inspected containers |
//! | `Validate` | `walk::<true>` | the same grammar without the handler | copied containers; dropped ones under `validation: full` |
//! | `Brackets` | `leap` | only brackets are counted, on masks | dropped containers under `validation: structure` |
//!
//! The kinds of the open containers (`levels.rs`, one bit each) and the path of the current value (`path_tracker.rs`)
//! complete the state between two tokens. A string, number or key that a window cuts has its own state: the scanner's
//! [`Carry`](crate::scan::Carry), [`ScalarState`](crate::scalar::ScalarState), and
//! [`PendingMember`](super::PendingMember).
//!
//! # The code for a token
//!
//! The walk calls the fast path at every token at which a member or an element may begin. The fast path handles as many
//! tokens as it can and returns the next one. If it returns the same token, the walk handles that one.
//!
//! | code | handles | leaves |
//! |---|---|---|
//! | `continues_string` (`carry_over.rs`) | a chunk of at most 64 bytes inside a string, without the scanner | every other chunk, to `feed` |
//! | `leap` (`skip_container.rs`) | the brackets of dropped containers, block by block or in batches | the closing bracket to the walk, if only the rest of the container is dropped |
//! | `skip_rows` (`skip_container.rs`) | rows inside a long dropped container, before they are scanned | rows that may contain the end of the container or an error, to the scanner and `leap` |
//! | `members` (`members.rs`) | plain members: drops them, or writes them in runs | a container, an error, a key with an escape, the end of the window |
//! | `elements` (`members.rs`) | strings and valid scalars in arrays | containers, everything that is not valid |
//! | `inspect_fast` (`fast_path.rs`) | commas and brackets between members; asks the handler about values, enters containers | what the loops call not plain, to the walk |
//! | `validate_fast` (`fast_path.rs`) | the inside of dropped and copied containers, at any depth | the closing bracket of the outermost one, and what is not plain, to the walk |
//! | `ObjectAhead` (`ahead.rs`) | a look at the members of an object before the handler is asked about it; consumes nothing | what the window cuts, and what is not plain, to the handler |
//! | `walk` (`walk.rs`) | every token, one at a time; reports the errors | nothing |
//! | `resume` (`mod.rs`) | the rest of a scalar, or of a string whose second byte decides, in the next window | nothing |
//! | `settle` (`carry_over.rs`) | the bytes of a chunk that are still needed after it: keys, white space, copied bytes | nothing |
//!
//! Each of these paths exists because some input is much faster with it. `benches/README.md` has a table of their worth.
//!
//! # Policies
//!
//! A handler states its rules as a [`Policy`](crate::policy::Policy), which is data: an action for each name, an
//! action for all other members, and kinds of scalars that are dropped. The table of rules and their policies is in
//! [`policy`](crate::policy). An action that needs the handler is `Ask`. The policy may only say what
//! [`Handler::value`](crate::Handler::value) would return, because the machine is free to ask instead. The walk
//! always asks.
//!
//! Arrays mostly have objects of one kind as elements. A handler that would inspect such an object, whatever is in it, enters
//! it together with its policy ([`Handler::enter_object`](crate::Handler::enter_object)), and leaves it without further
//! events if the loop reaches its end. If the loop stops earlier, the object becomes the innermost container, as if the
//! handler had been asked. A policy may test members: an object that fails is taken back and dropped, and one that is
//! undecided is taken back, and the handler is asked.
//!
//! # One block
//!
//! The spec has the root `items` and excludes `node_id`. The document has 57 bytes and needs one block of 64:
//!
//! ```text
//! position   0....5....1....5....2....5....3....5....4....5....5....5.
//! bytes      {"items": [{"id":7,"node_id":"R\"1","n":null}, {"id":8}]}
//!
//! first pass of the scanner: classes of bytes, without context
//! backslash                                 1
//! bracket    1         11                                1  1      111     also those inside strings, if there are any
//!
//! second pass: strings, then everything outside them
//! quote       1     1    1  1   1       1 1    1 1 1         1  1        the escaped quote at 32 is removed
//! in_string   111111     111    11111111  11111  11          111
//! white               1                                    1
//! token      11      1 111   1111        11     11  11   11 11   11111
//!
//! list of tokens: 0 1 8 10 11 12 16 17 18 19 28 29 35 36 39 40 44 45 47 48 52 53 54 55 56
//! ```
//!
//! | tokens | code | output |
//! |---|---|---|
//! | `{` at 0 | the walk asks the handler, which inspects the document and writes `{` | `{` |
//! | `"items"` `:` `[` | `inspect_fast`: the policy is `Ask`; the handler finds the payload | `{"items":[` |
//! | `{` at 11 | `enter_object`: the handler enters the item and states a policy, because `exclude` may remove something | `{` |
//! | `"id"` `:` `7` `,` | `usual_members`: the name is not in the set of names, so only the position moves on | |
//! | `"node_id"` … `,` | `each_member` finds the name: its action is `Skip`. The run before it is written | `"id":7` |
//! | `"n"` `:` `null` | `each_member`: the last member, so the loop ends with `LoopEnd::Close` and writes its run | `,"n":null` |
//! | `}` `,` at 44, 45 | `enter_object`: the handler leaves the item; `inspect_fast` moves on to the next element | `}` |
//! | `{` … `}` | the item `{"id":8}`, like the first one | `,{"id":8}` |
//! | `]` `}` | `inspect_fast` closes the array and the document | `]}` |
//!
//! The writer inserts the commas between runs and removes white space with the mask `white`. So the output is
//! `{"items":[{"id":7,"n":null},{"id":8}]}`, and the walk has handled one token.
//!
//! # The offset of an error
//!
//! Positions are relative to the chunk, and `Machine::fail` adds the offset of the chunk. Each phase reports only its
//! own errors:
//!
//! | phase | errors | the offset is that of |
//! |---|---|---|
//! | scanner | [`Fatal`](crate::scan::Fatal): control characters in strings, UTF-8. The first one ends the window | the invalid byte, after the tokens before it are handled |
//! | scanner | invalid escapes, a mask. `Machine::window` ignores those in strings that are dropped under `structure` | the invalid byte, likewise |
//! | walk | the grammar, depth, and errors that the handler raises | the token; for numbers and literals the byte that makes them invalid |
//! | loops and fast path | none of the grammar; those of the handler are passed on | – |
//! | `leap` | brackets that do not match, depth | the bracket |
//! | `carry_over.rs` | long keys, too much white space that is kept | the first byte over the limit of a key; the token after the white space |
//! | `Machine::end` | the document is empty or incomplete | the length of the document |
//! | `Lookahead` (`filter/run/lookahead.rs`) | more bytes must be held than is allowed | the first byte that may not be held |
//!
//! `Machine::fail` first settles the state at the byte of the error, as if the chunk ended there. Therefore the output
//! before an error does not depend on how the input was cut. If settling fails, its error comes earlier in the document
//! and is the one that is reported.
//!
//! # Invariants
//!
//! The place of an error is the first byte that makes the document invalid, or its length if it ended too early. Between
//! chunks only the fields of [`Machine`](super::Machine) remain. Work is linear in the bytes of a chunk, and nothing
//! recurses.
//!
//! The fast path and the walk have the same result, because
//! 1. a loop consumes only complete members: key, colon, value, and the comma or bracket after it are in the window
//!    and checked. At the end `expect`, the levels and the path are those of the walk at the same token;
//! 2. a loop sees the bytes of a window only up to the first invalid byte. A value that contains one has no token after
//!    it there, and so it is not plain;
//! 3. a loop compares only keys without an escape that are within the limit. All others reach the walk, which unescapes
//!    them. A removed member cannot pass as kept because of its spelling;
//! 4. a value is written only after it was validated, even under `structure`;
//! 5. a name that counts once is marked by the loop as the handler would mark it. Duplicates are left to the handler;
//! 6. a member about which the policy does not decide ends the loop before any of its bytes is consumed;
//! 7. an object that is entered counts, for the handler and for the levels, only when its end is reached or when it
//!    becomes the innermost container;
//! 8. white space that is kept turns the fast path off for inspected containers.
//!
//! One exception to the first point ends a window: a string that is dropped with its member and that the window cuts
//! ([`LoopEnd::CutString`](super::members::LoopEnd)). Everything before the string is checked, and `expect` is then
//! `After`, as it is in the walk after such a string.
//!
//! # Tests
//!
//! | test | what it compares |
//! |---|---|
//! | `crates/json/src/fast_paths.rs` | the switches: with all shortcuts off, every token goes through the walk and `leap_by_token` |
//! | `machine/tests/loops.rs` | the events and the end of a machine with and without the switch, on generated documents |
//! | `filter/loop_diff.rs` | output, report and error of whole programs, with and without the switch |
//! | fuzz target `loop_vs_walk` | the comparison of `loop_diff.rs`, on inputs of a fuzzer |
//! | `filter/loop_shares.rs` | the percentage of members that the loops handle, on documents of the benches |
//! | `scan/diff.rs`, fuzz target `scan_diff` | the masks of all kernels |
//!
//! A loop that ends too early gives correct results, only slower. Only `loop_shares.rs` and the benches find that.
