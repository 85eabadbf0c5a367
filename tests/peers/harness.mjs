// What both readers' scripts share: sessions are copied before an agent sees them (loaders migrate, repair and
// rewrite what they open), the agent runs in a child whose home is a temporary folder, and a file that makes it
// loop is given up after a time limit instead of stopping the whole run.
//
// One JSON line per session on stdout, in the order of the arguments:
//   {"path","peer","entries",N,"leaf",id,"rewritten":bool,"context":[MESSAGE…],"llm":[MESSAGE…]} or {"path","peer","error"}
//   "note" tells that the agent's manager failed and the context is from the functions it is made of.
//   MESSAGE = {"role","id","timestamp","sha","calls":[…],"answers"}; keys that do not apply are left out.
// `context` is what the agent rebuilds from the file, `llm` (with --llm) the same after its own conversion for a provider.
// `sha` is the start of the SHA-256 of the message's text blocks joined with nothing between, a lone surrogate as
// U+FFFD; summaries count as their text, executions as command, line feed, output.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";

const usage = "usage: SCRIPT [--peers DIR] [--pi 0.73|1.6] [--llm] [--timeout SECONDS] SESSION…";

function parseArguments(argv) {
  const options = { peers: process.env.PEERS, pi: "0.73", llm: false, timeout: 30, files: [] };
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i];
    if (arg === "--peers") options.peers = argv[++i];
    else if (arg === "--pi") options.pi = argv[++i];
    else if (arg === "--timeout") options.timeout = Number(argv[++i]);
    else if (arg === "--llm") options.llm = true;
    else if (arg.startsWith("--")) return null;
    else options.files.push(arg);
  }
  if (!options.peers || options.files.length === 0 || !(options.timeout > 0)) return null;
  options.peers = resolve(options.peers);
  return options;
}

const digest = data => createHash("sha256").update(data).digest("hex");

function textOf(message) {
  if (typeof message.summary === "string") return message.summary;
  if (typeof message.output === "string") return `${message.command ?? message.code ?? ""}\n${message.output}`;
  if (typeof message.content === "string") return message.content;
  if (!Array.isArray(message.content)) return "";
  return message.content.map(block => (block?.type === "text" && typeof block.text === "string" ? block.text : "")).join("");
}

// A message is the entry's own object, or a copy of it that still holds the entry's own blocks, or was made from an
// entry's text. Each way leads back to the entry; where the agent itself knows the entry, `sources` has the answer.
function indexEntries(entries, sources) {
  const byObject = new Map(sources);
  const byText = new Map();
  const remember = (value, id) => {
    if (value && typeof value === "object") byObject.set(value, id);
  };
  for (const entry of entries) {
    const id = entry?.id;
    if (typeof id !== "string") continue;
    const content = entry.message?.content ?? entry.content;
    remember(entry.message, id);
    remember(entry.systemMessage, id);
    remember(content, id);
    if (Array.isArray(content)) for (const block of content) remember(block, id);
    const text = entry.type === "custom_message" ? content : entry.summary;
    if (typeof text === "string") byText.set(`${new Date(entry.timestamp).getTime()} ${text}`, id);
    // The summary of a provider's own compaction is dated before the entry.
    if (entry.type === "compaction") byText.set(`compactionSummary ${text}`, id);
  }
  return message => {
    if (byObject.has(message)) return byObject.get(message);
    if (byObject.has(message.content)) return byObject.get(message.content);
    if (Array.isArray(message.content)) {
      for (const block of message.content) if (byObject.has(block)) return byObject.get(block);
    }
    return byText.get(`${message.timestamp} ${textOf(message)}`) ?? byText.get(`${message.role} ${textOf(message)}`);
  };
}

function describe(message, idOf) {
  const line = { role: message.role, id: idOf(message), timestamp: message.timestamp, sha: digest(textOf(message)).slice(0, 16) };
  if (message.role === "assistant" && Array.isArray(message.content)) {
    const calls = message.content.filter(block => block?.type === "toolCall").map(block => block.id);
    if (calls.length > 0) line.calls = calls;
  }
  if (message.role === "toolResult") line.answers = message.toolCallId;
  return line;
}

async function work(adapter, jobFile, start) {
  const { options, jobs } = JSON.parse(readFileSync(jobFile, "utf8"));
  const peer = await adapter.load(options);
  for (const { path, copy } of jobs.slice(start)) {
    const line = { path, peer: peer.name };
    try {
      const before = digest(readFileSync(copy));
      const { entries, leaf, messages, sources, note } = await peer.open(copy);
      const idOf = indexEntries(entries, sources);
      if (note) line.note = note.replaceAll(copy, path);
      line.entries = entries.length;
      line.leaf = leaf ?? null;
      line.rewritten = digest(readFileSync(copy)) !== before;
      line.context = messages.map(message => describe(message, idOf));
      if (options.llm) line.llm = (await peer.convert(messages)).map(message => describe(message, idOf));
    } catch (error) {
      line.error = String(error?.message ?? error).replaceAll(copy, path);
    }
    // The worker exits without waiting for whatever the agent left running, so each line has to be through first.
    await new Promise(done => process.stdout.write(`${JSON.stringify(line)}\n`, done));
  }
}

// Runs one child over jobs[start..]; resolves to the number of jobs it answered.
function child(script, jobFile, start, environment, seconds, folder) {
  return new Promise(done => {
    const run = spawn(process.execPath, [script, "--worker", jobFile, String(start)], {
      cwd: folder, env: environment, stdio: ["ignore", "pipe", "inherit"],
    });
    let answered = 0;
    let timer = setTimeout(() => run.kill("SIGKILL"), seconds * 1000);
    createInterface({ input: run.stdout }).on("line", line => {
      // Agents may print notes of their own; only our lines are passed on.
      if (!line.startsWith('{"path":')) return;
      answered++;
      process.stdout.write(`${line}\n`);
      clearTimeout(timer);
      timer = setTimeout(() => run.kill("SIGKILL"), seconds * 1000);
    }).on("close", () => {
      clearTimeout(timer);
      done(answered);
    });
  });
}

// adapter = {load(options) → {name, open(path) → {entries, leaf, messages, sources?, note?}, convert(messages) → messages}}
// sources: pairs [message, entry id].
export async function main(script, adapter) {
  const argv = process.argv.slice(2);
  if (argv[0] === "--worker") {
    await work(adapter, argv[1], Number(argv[2]));
    process.exit(0);
  }
  const options = parseArguments(argv);
  if (!options) {
    console.error(usage);
    process.exit(2);
  }
  const folder = mkdtempSync(join(tmpdir(), "peer-context-"));
  try {
    const home = join(folder, "home");
    mkdirSync(home);
    const jobs = [];
    const missing = new Map();
    for (const [index, path] of options.files.entries()) {
      const copy = join(folder, String(index), basename(path));
      try {
        mkdirSync(join(folder, String(index)));
        copyFileSync(path, copy);
      } catch (error) {
        missing.set(index, String(error?.message ?? error));
      }
      jobs.push({ path, copy });
    }
    for (const [index, error] of missing) console.error(`${options.files[index]}: ${error}`);
    if (missing.size > 0) process.exitCode = 1;
    const present = jobs.filter((_, index) => !missing.has(index));
    const jobFile = join(folder, "jobs.json");
    writeFileSync(jobFile, JSON.stringify({ options, jobs: present }));
    // Nothing of the caller's environment that could lead an agent to real settings or keys.
    const environment = { PATH: process.env.PATH, HOME: home, TMPDIR: folder, LANG: "C.UTF-8", TZ: "UTC" };
    let start = 0;
    while (start < present.length) {
      const answered = await child(script, jobFile, start, environment, options.timeout, folder);
      start += answered;
      if (start < present.length) {
        process.stdout.write(`${JSON.stringify({ path: present[start].path, error: `no answer: crashed, or not done in ${options.timeout} s` })}\n`);
        start++;
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
