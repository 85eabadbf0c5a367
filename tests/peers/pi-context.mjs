// pi-context.mjs [--pi 0.73|1.6] SESSION…: the model context that pi rebuilds from a session file, one JSON line each
// (see harness.mjs). Run by node (1.6 asks for node 22.19 or later) or by bun, with PEERS (or --peers) naming the folder
// that install.sh filled. --llm goes through pi's conversion only: what its provider layer leaves out later is not shown.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { main } from "./harness.mjs";

const packages = { "0.73": "@mariozechner/pi-coding-agent", "1.6": "@earendil-works/pi-coding-agent" };

await main(fileURLToPath(import.meta.url), {
  async load({ peers, pi }) {
    if (!(pi in packages)) throw new Error(`--pi takes ${Object.keys(packages).join(" or ")}`);
    const root = join(peers, "node_modules", packages[pi]);
    const module = name => import(pathToFileURL(join(root, "dist/core", name)).href);
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const { SessionManager } = await module("session-manager.js");
    const { convertToLlm } = await module("messages.js");
    return {
      name: `pi ${version}`,
      async open(path) {
        const manager = SessionManager.open(path);
        const read = { entries: manager.getEntries(), leaf: manager.getLeafId() };
        if (!manager.buildSessionProjection) return { ...read, messages: manager.buildSessionContext().messages };
        const { messages, entries } = manager.buildSessionProjection();
        const sources = entries.flatMap(entry => entry.messages.map(message => [message, entry.sourceEntry.id]));
        return { ...read, messages, sources };
      },
      convert: messages => convertToLlm(messages),
    };
  },
});
