// omp-frames.ts TEXT SHAPE [DIR]: oh-my-pi's own answer to `epitome snapcompact --text TEXT --shape SHAPE --frames-dir DIR`,
// as one process: the text printed on frames by its own snapcompact, and the PNG files written into DIR. Run by bun with
// PEERS naming the folder that tests/peers/install.sh filled.
//
// Fair to the peer: only its snapcompact module is imported, all pages render side by side as they do in its compaction,
// and without DIR nothing is decoded or written. It prints the number of frames and the bytes of their files.
import { join } from "node:path";

const peers = process.env.PEERS;
const [file, name, dir] = process.argv.slice(2);
if (!peers || !file || !name) {
  console.error("usage: PEERS=DIR bun omp-frames.ts TEXT SHAPE [DIR]");
  process.exit(2);
}
const { renderMany, resolveShape } = await import(join(peers, "node_modules/@oh-my-pi/snapcompact/src/snapcompact.ts"));
const shape = resolveShape({ api: "anthropic-messages", id: "" }, name);
const frames = await renderMany(await Bun.file(file).text(), { shape, frameSize: 1568 });
let bytes = 0;
for (const [at, frame] of frames.entries()) {
  const padding = frame.data.endsWith("==") ? 2 : frame.data.endsWith("=") ? 1 : 0;
  bytes += (frame.data.length / 4) * 3 - padding;
  if (dir) await Bun.write(join(dir, `${String(at + 1).padStart(3, "0")}-${name}.png`), Buffer.from(frame.data, "base64"));
}
console.log(JSON.stringify({ frames: frames.length, bytes }));
