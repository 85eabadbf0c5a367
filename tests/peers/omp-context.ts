// omp-context.ts SESSION…: the model context that oh-my-pi rebuilds from a session file, one JSON line each (see harness.mjs).
// Run by bun, with PEERS (or --peers) naming the folder that install.sh filled.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "./harness.mjs";

await main(import.meta.filename, {
  async load({ peers }) {
    const root = join(peers, "node_modules/@oh-my-pi/pi-coding-agent");
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const { SessionManager } = await import(join(root, "src/session/session-manager.ts"));
    const { loadSessionFile } = await import(join(root, "src/session/session-loader.ts"));
    const { buildSessionContext } = await import(join(root, "src/session/session-context.ts"));
    const { migrateToCurrentVersion } = await import(join(root, "src/session/session-migrations.ts"));
    const { convertToLlm } = await import(join(root, "src/session/messages.ts"));
    return {
      name: `omp ${version}`,
      async open(path) {
        let manager;
        try {
          manager = await SessionManager.open(path, undefined, undefined, { suppressBreadcrumb: true, throwIfMissing: true });
        } catch (error) {
          // The manager adds up costs while it loads, so a message without them stops it although the context does
          // not depend on them. A session that the loader itself refuses stays an error.
          const loaded = await loadSessionFile(path);
          if (loaded.invalidHeader || loaded.entries.length === 0) throw error;
          migrateToCurrentVersion(loaded.entries);
          const entries = loaded.entries.slice(1);
          const { messages } = buildSessionContext(entries);
          return { entries, leaf: entries.at(-1)?.id, messages, note: String(error?.message ?? error) };
        }
        return { entries: manager.getEntries(), leaf: manager.getLeafId(), messages: manager.buildSessionContext().messages };
      },
      convert: messages => convertToLlm(messages),
    };
  },
});
