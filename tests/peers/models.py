#!/usr/bin/env python3
"""Summaries through a server that others wrote: fakellm, from PyPI, speaks as OpenAI and Anthropic do without any model.

models.py --epitome PROGRAM --server FAKELLM

It runs on loopback. Each client compacts, hands off and replaces a bundled session; the server's words have to stand in what was
written.
"""
import argparse
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

WORDS = "## Goal\n- WORDS-OF-THE-SERVER\n\n## Next Steps\n- go on"
CONFIG = """version: 1
defaults:
  fallback: deterministic_echo
rules:
  - name: summary
    when:
      messages_contain: "<conversation>"
    respond:
      content: %s
  - name: handoff
    when:
      messages_contain: "This session ends here"
    respond:
      content: %s
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epitome", required=True)
    parser.add_argument("--server", required=True)
    args = parser.parse_args()
    session = pathlib.Path(__file__).resolve().parents[2] / "testdata/sessions/small.jsonl"
    program = str(pathlib.Path(args.epitome).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "fakellm.yaml").write_text(CONFIG % (json.dumps(WORDS), json.dumps(WORDS)))
        port = free_port()
        log = open(folder / "log", "wb")
        server = subprocess.Popen([os.path.abspath(args.server), "serve", "--port", str(port)], cwd=folder, stdout=log, stderr=log)
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            address = f"http://127.0.0.1:{port}"
            clients = [("openai", f"{address}/v1", "gpt-4o"), ("anthropic", address, "claude-sonnet-4-5")]
            strategies = ["context-full", "handoff", "replace"]
            for (client, base, model), strategy in itertools.product(clients, strategies):
                copy = folder / f"{client}-{strategy}" / "s.jsonl"
                copy.parent.mkdir()
                shutil.copy(session, copy)
                command = [program, "compact", str(copy), "--no-config", "--keep-recent-tokens", "2k", "--summarizer", client]
                command += ["--summarizer-model", model, "--base-url", base, "--strategy", strategy, "--json"]
                if strategy == "replace":
                    command.append("--drop-branches")
                done = subprocess.run(command, env={"EPITOME_API_KEY": "none"}, capture_output=True, text=True, timeout=60)
                receipt = json.loads(done.stdout or "{}")
                new = (receipt.get("new_session") or {}).get("path") or copy
                words = pathlib.Path(new).read_text().splitlines()[-1]
                good = done.returncode == 0 and "WORDS-OF-THE-SERVER" in words and receipt.get("requests", 0) > 0
                print(f"{client}, {strategy}: {'ok' if good else 'FAILED'}")
                if not good:
                    failed += 1
                    print(done.stdout, done.stderr, words, sep="\n")
        finally:
            server.terminate()
            server.wait()
            if failed:
                print((folder / "log").read_text())
    return 1 if failed else 0


sys.exit(main())
