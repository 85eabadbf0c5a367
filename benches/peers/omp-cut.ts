// omp-cut.ts SESSION: oh-my-pi's own answer to what `epitome inspect SESSION --show cut` answers, as one process: load
// the file, find the active path, prepare a compaction, print the cut. Run by bun with PEERS naming the folder that
// tests/peers/install.sh filled.
//
// Fair to the peer: only the two modules that are needed are imported, neither its session manager (which also indexes
// labels, costs and children) nor its command line; no model is given, so tokens are estimated from bytes as it does
// for a model whose vocabulary it does not know (with PI_TOKENIZER_ACCURATE=1 it counts o200k tokens instead); and one
// tokenizer serves all sums, so no message is counted twice. OMP_CUT_TIMES=1 tells on stderr where the time went.
import { join } from "node:path";

const peers = process.env.PEERS;
const file = process.argv[2];
if (!peers || !file) {
  console.error("usage: PEERS=DIR bun omp-cut.ts SESSION");
  process.exit(2);
}
const root = join(peers, "node_modules/@oh-my-pi");
const { DEFAULT_COMPACTION_SETTINGS, prepareCompaction } = await import(join(root, "pi-agent-core/src/compaction/compaction.ts"));
const { Tokenizer } = await import(join(root, "pi-agent-core/src/tokenizer.ts"));
const imported = performance.now();

// Its loader reads files from 8 MiB on in chunks through the same native parser. Measured faster than its way for small
// files at every size, and it saves importing that loader with all it depends on.
const entries = [];
let rest = new Uint8Array(0);
const parse = bytes => {
  const { values, error } = Bun.JSONL.parseChunk(bytes);
  if (error) throw error;
  for (const value of values) entries.push(value);
};
for await (const chunk of Bun.file(file).stream()) {
  const buffer = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
  const end = buffer.lastIndexOf(0x0a) + 1;
  if (end > 0) parse(buffer.subarray(0, end));
  rest = buffer.subarray(end);
}
if (rest.length > 0) parse(Buffer.concat([rest, Buffer.from("\n")]));
const loaded = performance.now();

const byId = new Map();
for (const entry of entries) if (entry.type !== "session" && typeof entry.id === "string") byId.set(entry.id, entry);
const path = [];
for (let at = entries.at(-1); at && at.type !== "session"; at = byId.get(at.parentId)) path.push(at);
path.reverse();

const tokenizer = new Tokenizer();
const plan = prepareCompaction(path, { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: 20000 }, undefined, tokenizer);
const part = messages => ({ messages: messages.length, tokens: tokenizer.countMessages(messages) });
console.log(JSON.stringify(plan
  ? {
      path_entries: path.length, first_kept_id: plan.firstKeptEntryId, is_split_turn: plan.isSplitTurn, tokens_before: plan.tokensBefore,
      summarize: part(plan.messagesToSummarize), turn_prefix: part(plan.turnPrefixMessages), keep: part(plan.recentMessages),
    }
  : { path_entries: path.length, first_kept_id: null }));
if (process.env.OMP_CUT_TIMES) console.error(`import ${imported.toFixed(0)} ms, load ${(loaded - imported).toFixed(0)} ms, rest ${(performance.now() - loaded).toFixed(0)} ms`);
