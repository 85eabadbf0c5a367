#!/usr/bin/env python3
"""compare.py --epitome BINARY --peers DIR SESSION…: do the agents rebuild the context that we predict?

Each session is copied, compacted, and the copy is loaded by oh-my-pi's and pi's own loaders (DIR is what install.sh filled).
oh-my-pi must give the same messages in the same order. pi also keeps what oh-my-pi drops (failed turns and their results,
calls without results, what stood before a reset), so of its context ours must be a part, in the same order, with the same
first message, and nothing that we summarized may be in it. With --as-is nothing is compacted: the context of the session as
it lies there is compared.

A session that a peer cannot load before we touched it either is counted as skipped, with the peer's words. Prints each
difference, then `N passed, N failed, N skipped`. Exit 1 on any failure.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def lines(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    found = []
    for line in done.stdout.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def peer_contexts(peer, peers, files):
    script = {"omp": "omp-context.ts"}.get(peer, "pi-context.mjs")
    runner = os.path.join(peers, "node_modules/.bin/bun")
    extra = [] if peer == "omp" else ["--pi", peer.removeprefix("pi ")]
    rows = lines([runner, os.path.join(HERE, script), "--peers", peers, *extra, *files])
    return {row["path"]: row for row in rows}


def is_part(ours, theirs):
    """Whether `ours` is in `theirs`, in order, with nothing between but what `ours` leaves out."""
    rest = iter(theirs)
    return all(any(x == y for y in rest) for x in ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epitome", required=True)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--as-is", action="store_true", help="compact nothing")
    parser.add_argument("--peer", action="append", help="only this one; may be given more than once")
    parser.add_argument("--keep", default="1000", help="--keep-recent-tokens")
    parser.add_argument("--allow-growth", action="store_true", help="compact the smallest ones too")
    parser.add_argument("sessions", nargs="+")
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.peers, "node_modules/.bin/bun")):
        print(f"skipped: no peers in {args.peers}; tests/peers/install.sh puts them there")
        return 0
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        before, after = {}, {}
        for number, session in enumerate(args.sessions):
            old = os.path.join(work, f"{number}-before.jsonl")
            new = os.path.join(work, f"{number}-after.jsonl")
            shutil.copyfile(session, old)
            shutil.copyfile(session, new)
            entry = None
            if not args.as_is:
                more = ["--allow-growth"] if args.allow_growth else []
                receipt = lines([args.epitome, "compact", new, "--json", "--no-config", "--tokenizer", "heuristic", "--keep-recent-tokens", args.keep, *more])
                if not receipt or receipt[0].get("action") != "compacted":
                    why = (receipt or [{}])[0]
                    print(f"skipped: {session}: nothing was written ({why.get('reason') or (why.get('error') or {}).get('code')})")
                    skipped += 1
                    continue
                entry = receipt[0]["entry_id"]
            shown = lines([args.epitome, "inspect", new, "--show", "context", "--json", "--no-config", "--tokenizer", "heuristic"])
            before[session], after[session] = old, (new, entry, [(m["role"], m["id"]) for m in shown[0]["context"]])
        for peer in args.peer or ["omp", "pi 0.73", "pi 1.6"]:
            untouched = peer_contexts(peer, args.peers, list(before.values()))
            rebuilt = peer_contexts(peer, args.peers, [new for new, _, _ in after.values()])
            for session, (new, entry, ours) in after.items():
                theirs = rebuilt.get(new, {"error": "no answer"})
                # pi 0.73 takes a file that begins with a title slot for an empty one, and puts a new header over it.
                could = untouched.get(before[session], {})
                if not could.get("context"):
                    print(f"skipped: {peer}: {session}: the peer cannot load the session as it was: {could.get('error', 'an empty context')}")
                    skipped += 1
                    continue
                if "context" not in theirs:
                    print(f"{peer}: {session}: loads before and not after: {theirs.get('error')}")
                    failed += 1
                    continue
                context = [(m["role"], m.get("id")) for m in theirs["context"]]
                # pi 1.x puts the system prompt of the compaction first; oh-my-pi does not know it.
                ours_here = [m for m in ours if not (m[0] == "system" and m[1] == entry)] if peer != "pi 1.6" else ours
                same = context == ours_here if peer == "omp" else is_part(ours_here, context) and context[:1] == ours_here[:1]
                if same:
                    passed += 1
                else:
                    failed += 1
                    print(f"{peer}: {session}\n  ours:   {ours_here}\n  theirs: {context}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
