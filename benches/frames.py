#!/usr/bin/env python3
"""Text on frames: how fast they are made, and how well they can be read.

  benches/frames.py speed      --epitome target/release/epitome [--peers DIR] [--runs N]
  benches/frames.py legibility --epitome target/release/epitome [--scale N] [--characters N]

speed prints the same 2 MiB (this project's own sources) in three shapes, by whole processes that write the PNG files,
verification included (tokens by the heuristic: the peer counts none), and beside them oh-my-pi's own renderer, when it is
installed. The commands take turns (A B A B …); the table has medians. legibility prints the same text in every shape and
lets tesseract read it: the share of characters that come out right, beside what 1,000 characters are billed. No model is
asked; a model reads otherwise, but what an OCR program confuses is a measure that anybody can repeat.

Nothing is built or installed here. What is missing is said in a line `skipped: …` and left out.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from whole import Run, medians

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PEER = os.path.join(HERE, "peers", "omp-frames.ts")
EDGE = 1568
SHAPES = ["8x8r-bw", "8x8r-sent", "8x8u-bw", "8x8u-sent", "6x6u-bw", "6x6u-sent", "5x8-bw", "5x8-sent", "6x12-dim", "8x13-bw", "8on16-bw",
          "8on22-bw", "11on16-bw", "doc-8on16-bw", "doc-8on16-sent", "doc-8on16-sent-dim", "wide16-bw"]


def sources(size):
    """Text of ours: sources and documents in the order of their paths, again from the start where they do not suffice."""
    files = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in ("target", "corpus") and not name.startswith("."))
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith((".rs", ".md", ".py", ".ts", ".toml"))]
    whole = b"".join(open(file, "rb").read() for file in files)
    return (whole * (size // len(whole) + 1))[:size].decode(errors="ignore")


def speed(options, work, environment):
    text = os.path.join(work, "text.txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write(sources(options.bytes))
    bun = os.path.join(options.peers or "", "node_modules", ".bin", "bun")
    has_peer = bool(options.peers) and os.path.exists(bun)
    if not has_peer:
        print("skipped: oh-my-pi (not installed; run tests/peers/install.sh DIR and give --peers DIR)")
    print(f"\n{os.path.getsize(text):,} bytes, medians of {options.runs} runs, {os.cpu_count()} cores\n")
    print("| shape | side | frames | wall ms | cpu ms | peak MB | PNG bytes |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for shape in options.shapes or ["6x12-dim", "8on16-bw", "doc-8on16-sent-dim"]:
        sides = {"epitome": lambda out: ([options.epitome, "snapcompact", "--text", text, "--shape", shape, "--frame-size", str(EDGE),
                                          "--frames-dir", out, "--tokenizer", "heuristic", "--no-config", "-q"], {})}
        if has_peer:
            sides["oh-my-pi"] = lambda out: ([bun, PEER, text, shape, out], {"PEERS": options.peers})
        runs, made = {side: [] for side in sides}, {}
        for round_number in range(options.runs + 1):
            for side, command in sides.items():
                out = os.path.join(work, "out")
                shutil.rmtree(out, ignore_errors=True)
                os.mkdir(out)
                words, extra = command(out)
                run = Run(words, {**environment, **extra})
                if run.status != 0:
                    sys.exit(f"failed with {run.status}: {' '.join(words)}\n{run.stderr}")
                sizes = [os.path.getsize(os.path.join(out, name)) for name in os.listdir(out)]
                made[side] = (len(sizes), sum(sizes))
                if round_number > 0:  # the first one warms caches
                    runs[side].append(run)
        own = medians(runs["epitome"])
        for side in sides:
            values = medians(runs[side])
            cells = [f"{value:,.0f}" for value in values]
            frames, size = made[side]
            size = f"{size:,}"
            if side != "epitome":
                cells = [f"{cell} ({value / mine:.1f}×)" for cell, value, mine in zip(cells, values, own)]
                size += f" (ours {made['epitome'][1] / made[side][1] - 1:+.1%})"
            print(f"| {shape} | {side} | {frames} | {' | '.join(cells)} | {size} |")
        sys.stdout.flush()


def pixels(file):
    """Width, height and rows of gray bytes of a PNG: indexed with up to 4 bits, or RGB."""
    data = open(file, "rb").read()
    at, palette, packed = 8, b"", b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if name == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif name == b"PLTE":
            palette = body
        elif name == b"IDAT":
            packed += body
        at += size + 12
    raw = zlib.decompress(packed)
    gray = lambda red, green, blue: (299 * red + 587 * green + 114 * blue) // 1000
    each = 3 if colour == 2 else 1
    stride = (width * (24 if colour == 2 else depth) + 7) // 8
    rows, above = [], bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + stride]), above, each)
        above = line
        if colour == 2:
            rows.append(bytes(gray(*line[3 * x:3 * x + 3]) for x in range(width)))
        else:
            shades = [gray(*palette[3 * n:3 * n + 3]) for n in range(len(palette) // 3)] + [0] * 256
            count, mask = 8 // depth, (1 << depth) - 1
            table = [bytes(shades[byte >> (8 - depth * (n + 1)) & mask] for n in range(count)) for byte in range(256)]
            rows.append(b"".join(table[byte] for byte in line)[:width])
    return width, height, rows


def unfiltered(kind, line, above, each):
    if kind == 0:
        return line
    for x in range(len(line)):
        left = line[x - each] if x >= each else 0
        corner = above[x - each] if x >= each else 0
        up = above[x]
        if kind == 4:
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
        else:
            near = [0, left, up, (left + up) // 2][kind]
        line[x] = (line[x] + near) & 255
    return line


def enlarged(file, out, scale):
    """Writes a gray PNG with each pixel as a square, and a white margin, as OCR programs want both."""
    width, height, rows = pixels(file)
    margin = 10 * scale
    wide = width * scale + 2 * margin
    blank = b"\0" + b"\xff" * wide
    lines = [blank * margin]
    for row in rows:
        line = b"".join(bytes((shade,)) * scale for shade in row)
        lines.append((b"\0" + b"\xff" * margin + line + b"\xff" * margin) * scale)
    lines.append(blank * margin)
    chunk = lambda name, body: struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    head = struct.pack(">IIBBBBB", wide, height * scale + 2 * margin, 8, 0, 0, 0, 0)
    with open(out, "wb") as png:
        png.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(lines), 1)) + chunk(b"IEND", b""))


def distance(a, b):
    """Edits that make one text of the other (Myers' bit vectors)."""
    places = {}
    for n, c in enumerate(a):
        places[c] = places.get(c, 0) | 1 << n
    full, top, score = (1 << len(a)) - 1, 1 << (len(a) - 1), len(a)
    plus, minus = full, 0
    for c in b:
        equal = places.get(c, 0)
        vertical = equal | minus
        equal |= ((equal & plus) + plus) ^ plus
        up = minus | ~(equal | plus) & full
        down = plus & equal
        score += (up & top > 0) - (down & top > 0)
        up = up << 1 | 1
        plus, minus = (down << 1 | ~(vertical | up)) & full, up & vertical & full
    return score


def legibility(options, work, environment):
    if not shutil.which("tesseract"):
        sys.exit("skipped: tesseract is not installed (Debian: tesseract-ocr)")
    # One paragraph: line ends are black cells, which no OCR program knows.
    text = " ".join("".join(c if " " <= c <= "~" else " " for c in sources(40 * options.characters)).split())
    start = text.index(" ", len(text) // 2) + 1
    text = text[start:start + options.characters].strip()
    file = os.path.join(work, "text.txt")
    with open(file, "w", encoding="ascii") as out:
        out.write(text)
    version = subprocess.run(["tesseract", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    print(f"\n{len(text):,} characters of sources, pixels enlarged {options.scale} times, {version}\n")
    print("| shape | characters read | billed tokens for 1,000 characters: Anthropic | OpenAI | Google |")
    print("|---|---:|---:|---:|---:|")
    for shape in options.shapes or SHAPES:
        folder = os.path.join(work, shape)
        printed = [options.epitome, "snapcompact", "--text", file, "--shape", shape, "--frames-dir", folder, "--no-config", "--json"]
        billed = []
        for api in ("anthropic-messages", "openai-completions", "google-generative-ai"):
            shutil.rmtree(folder, ignore_errors=True)
            run = Run([*printed, "--api", api], environment)
            if run.status != 0:
                sys.exit(f"failed with {run.status}: {' '.join(printed)}\n{run.stderr}")
            told = json.loads(run.stdout)["frames"]
            billed.append(1000 * told["billed_tokens"] / told["frames"] / told["capacity"])
        said = []
        for name in sorted(os.listdir(folder)):
            large = os.path.join(work, "large.png")
            enlarged(os.path.join(folder, name), large, options.scale)
            said.append(subprocess.run(["tesseract", large, "-", "--psm", "6", "-l", "eng"], capture_output=True, text=True,
                                       env={**environment, "OMP_THREAD_LIMIT": "1"}, check=True).stdout)
        # Rows end where cells end, and repeated rows are read twice; blanks are no characters.
        width, repeat = told["cols"], 2 if shape.startswith("8x8r") else 1
        rows = [text[at:at + width] for at in range(0, len(text), width)] if repeat > 1 else [text]
        want = "".join("".join(row.split()) * repeat for row in rows)
        read = "".join("".join(said).split())
        right = max(0.0, 1 - distance(want, read) / len(want))
        print(f"| {shape} | {right:.1%} | {' | '.join(f'{value:,.0f}' for value in billed)} |")
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "legibility"))
    parser.add_argument("--epitome", default=os.environ.get("EPITOME"), required="EPITOME" not in os.environ, help="the binary (EPITOME)")
    parser.add_argument("--peers", default=os.environ.get("PEERS"), help="folder that tests/peers/install.sh filled (PEERS)")
    parser.add_argument("--shapes", nargs="*", help="shapes instead of the usual ones")
    parser.add_argument("--runs", type=int, default=5, help="speed: measured runs of each command (default 5)")
    parser.add_argument("--bytes", type=int, default=2 << 20, help="speed: size of the text (default 2 MiB)")
    parser.add_argument("--characters", type=int, default=3000, help="legibility: characters that are printed (default 3000)")
    parser.add_argument("--scale", type=int, default=3, help="legibility: how large each pixel is made (default 3)")
    options = parser.parse_args()
    options.epitome = os.path.abspath(options.epitome)
    options.peers = os.path.abspath(options.peers) if options.peers else None
    work = tempfile.mkdtemp(prefix="epitome-frames-")
    try:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": work, "LANG": "C.UTF-8", "TZ": "UTC"}
        (speed if options.what == "speed" else legibility)(options, work, environment)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
