#!/usr/bin/env python3
"""Large session files for the benchmarks, the same bytes on every run.

  make-session.py SRC OUT --mb N                 repeat the real session SRC (version 3) up to N MB (1 MB = 10^6 bytes)
  make-session.py - OUT --lines SIZE --count N   N calls, each answered by a result of SIZE bytes of text (600k, 1mb)

Repeating: every copy gets fresh entry ids and fresh tool call ids (a call and its results alike), and its first
entry hangs on the last entry of the copy before, so the file is one conversation and not N. The header is written
once. Compactions stay in the first copy only: one late in the file would leave hardly anything to do after it.
The file ends where no call is waiting for its result.
"""
import argparse
import json
import random
import re
import sys

MB = 1_000_000
# Fields of entries that name other entries.
REFERENCES = ("firstKeptEntryId", "fromId", "targetId", "providerReplayThroughEntryId")


def size(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(k|kb|m|mb)?", text.lower())
    if not match:
        raise argparse.ArgumentTypeError(f"not a size: {text}")
    return int(float(match[1]) * {None: 1, "k": 1000, "kb": 1000, "m": MB, "mb": MB}[match[2]])


def dump(entry):
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate: only the escaped form is UTF-8
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def repeat(source, out, limit):
    with open(source, "rb") as file:
        entries = [json.loads(line) for line in file if line.strip()]
    if not entries or entries[0].get("type") != "session" or entries[0].get("version") != 3:
        sys.exit(f"{source}: line 1 is not the header of a version 3 session")
    header, entries = entries[0], entries[1:]
    written = out.write(dump(header))
    number = 0          # of entries so far; also the source of ids
    last = None         # id of the last entry of the copy before
    copy = 0
    waiting = set()     # calls without a result
    pending = []        # lines since the last point where no call waited
    while True:
        copy += 1
        ids = {}
        end = last
        for original in entries:
            entry = dict(original)
            parent = entry.get("parentId")
            parent = last if parent is None else ids.get(parent, last)
            if copy > 1 and entry["type"] == "compaction":
                ids[entry["id"]] = parent
                continue
            number += 1
            ids[entry["id"]] = end = f"{number:08x}"
            entry["id"], entry["parentId"] = end, parent
            for key in REFERENCES:
                if entry.get(key) in ids:
                    entry[key] = ids[entry[key]]
            message = entry.get("message")
            if message and message.get("role") == "toolResult":
                call = f"{message['toolCallId']}_{copy}"
                entry["message"] = {**message, "toolCallId": call}
                waiting.discard(call)
            elif message and message.get("role") == "assistant" and isinstance(message.get("content"), list):
                content = []
                for block in message["content"]:
                    if block.get("type") == "toolCall":
                        block = {**block, "id": f"{block['id']}_{copy}"}
                        waiting.add(block["id"])
                    content.append(block)
                entry["message"] = {**message, "content": content}
            elif message and message.get("role") == "user":
                waiting.clear()  # whatever an interrupted turn left open is never answered
            line = dump(entry)
            if written + sum(map(len, pending)) + len(line) > limit:
                return written
            pending.append(line)
            if not waiting:
                written += sum(map(out.write, pending))
                pending.clear()
        if end == last:
            sys.exit(f"{source}: nothing to repeat")
        last = end


def results(out, length, count):
    rng = random.Random(1)
    words = ["let", "value", "return", "match", "Some", "None", "self", "index", "buffer", "length", "session", "entry",
             "parent", "-> Result<(), Error>", "fn", "pub", "impl", "const", "0x7f", "// checked above", "=", "{", "}"]
    text = []
    have = 0
    while have < length:
        line = "    " * rng.randrange(4) + " ".join(rng.choice(words) for _ in range(rng.randrange(3, 14)))
        text.append(line)
        have += len(line) + 1
    block = "\n".join(text)[:length]
    usage = {"input": 1000, "output": 50, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1050,
             "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
    start = 1_750_000_000_000
    out.write(dump({"type": "session", "version": 3, "id": "00000000-0000-4000-8000-000000000001",
                    "timestamp": "2025-06-15T15:06:40.000Z", "cwd": "/srv/project"}))
    parent = None
    number = 0

    def message(body):
        nonlocal parent, number
        number += 1
        entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": "2025-06-15T15:06:40.000Z",
                 "message": {**body, "timestamp": start + number}}
        parent = entry["id"]
        return out.write(dump(entry))

    def assistant(content, reason):
        return message({"role": "assistant", "content": content, "api": "example", "provider": "example",
                        "model": "example-1", "usage": usage, "stopReason": reason})

    message({"role": "user", "content": "Read every file and say what is wrong with it."})
    for k in range(1, count + 1):
        call = f"call_{k}"
        assistant([{"type": "text", "text": f"Reading file {k}."},
                   {"type": "toolCall", "id": call, "name": "read", "arguments": {"path": f"src/file_{k}.rs"}}], "toolUse")
        turn = k * 997 % length  # no two results alike
        message({"role": "toolResult", "toolCallId": call, "toolName": "read", "isError": False,
                 "content": [{"type": "text", "text": block[turn:] + block[:turn]}]})
    message({"role": "user", "content": "And now in one sentence."})
    assistant([{"type": "text", "text": "Nothing is wrong."}], "stop")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="SRC")
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--mb", type=float, help="size of OUT in MB")
    parser.add_argument("--lines", type=size, help="bytes of text in each result")
    parser.add_argument("--count", type=int, default=600, help="results (default 600)")
    options = parser.parse_args()
    if (options.mb is None) == (options.lines is None):
        parser.error("give either --mb or --lines")
    with open(options.out, "wb", buffering=1 << 20) as out:
        if options.mb is not None:
            repeat(options.source, out, int(options.mb * MB))
        else:
            results(out, options.lines, options.count)


if __name__ == "__main__":
    main()
