#!/usr/bin/env python3
"""Whole processes against whole processes: the time and memory a user waits and pays for.

  benches/whole.py --epitome target/release/epitome --source SESSION [--peers DIR] [--work DIR]

SESSION is a real version 3 session; files of 1 MB and 100 MB are made of it (peers/make-session.py) in --work. The
question to both sides is the same: where would a compaction that keeps 20,000 tokens cut this session? The commands
take turns (A B A B …), so that a machine that gets slower or busier does so for all of them; the table has medians.
Then 500 sessions of 200 KB: which of them need a compaction? One run of ours answers for all of them; the peer is started
once for each of some of them, and its time is taken times their number. Twice: where what a provider reported decides, and
where nothing is reported and tokens must be counted.
Then a session of 20 MB becomes an HTML page, by ours and by pi's own export, in turns.
Then rewrites of a 100 MB session in place, the old file archived, beside the least that anybody could do to it: a copy that
is on the disk (`cp` and `sync`). Every run has a fresh copy, and the kinds of run take turns as well.
Last, two runs of ours over 600 results of 1 MB each, in an address space of 400,000 KiB: they must come to an end.

Nothing is built or installed here. What is missing is said in a line `skipped: …` and left out.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE = os.path.join(HERE, "peers", "make-session.py")
CUT = os.path.join(HERE, "peers", "omp-cut.ts")
GNU_TIME = "/usr/bin/time" if sys.platform.startswith("linux") and os.path.exists("/usr/bin/time") else None


class Run:
    """One finished process: wall and cpu in ms, peak resident memory in MB (10^6 bytes), exit status, its stdout."""

    def __init__(self, command, environment, limit_kib=None):
        full = list(command)
        if limit_kib is not None:
            full = ["/bin/sh", "-c", f'ulimit -v {limit_kib} && exec "$0" "$@"', *full]
        with tempfile.NamedTemporaryFile("r") as peak, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # A child counts the memory of the process that started it as its own peak, and this one is larger than
            # some that it measures; time(1) is small.
            if GNU_TIME:
                full = [GNU_TIME, "-q", "-f", "%M", "-o", peak.name, *full]
            start = time.perf_counter()
            child = subprocess.Popen(full, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
            _, status, usage = os.wait4(child.pid, 0)
            self.wall = (time.perf_counter() - start) * 1000
            child.returncode = os.waitstatus_to_exitcode(status)
            self.status = child.returncode
            self.cpu = (usage.ru_utime + usage.ru_stime) * 1000
            if GNU_TIME:
                kib = int(peak.read().split()[-1])
            else:
                kib = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
            self.peak = kib * 1024 / 1e6
            out.seek(0)
            self.stdout = out.read().decode(errors="replace")
            err.seek(0)
            self.stderr = err.read().decode(errors="replace").strip()


def make(path, *arguments):
    if not os.path.exists(path):
        subprocess.run([sys.executable, MAKE, *arguments[:1], path + ".part", *arguments[1:]], check=True)
        os.replace(path + ".part", path)
    with open(path, "rb", buffering=0) as file:  # into the page cache
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
    return path


def first_kept(stdout):
    """The id of the first entry that stays, from our JSON or the peer's."""
    try:
        answer = json.loads(stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return None
    return (answer.get("cut") or {}).get("first_kept_id") if "schema" in answer else answer.get("first_kept_id")


def medians(runs):
    return [statistics.median(getattr(run, key) for run in runs) for key in ("wall", "cpu", "peak")]


def compare(options, environment, sides, size, session):
    """Rows of the table for one file; `sides` maps (side, tokenizer) to a function from session to command, extra environment."""
    runs = {key: [] for key in sides}
    for round_number in range(options.runs + 1):
        for key, side in sides.items():
            command, extra = side(session)
            run = Run(command, {**environment, **extra})
            if run.status != 0:
                sys.exit(f"failed with {run.status}: {' '.join(command)}\n{run.stderr}")
            if round_number > 0:  # the first one warms caches
                runs[key].append(run)
    for tokenizer in ("heuristic", "o200k"):
        have = {name: runs[name, tokenizer] for name in ("epitome", "omp") if (name, tokenizer) in runs}
        ours = medians(have["epitome"]) if "epitome" in have else None
        for name, side_runs in have.items():
            values = medians(side_runs)
            cells = [f"{value:,.1f}" for value in values]
            if name != "epitome" and ours:
                cells = [f"{cell} ({value / own:.1f}×)" for cell, value, own in zip(cells, values, ours)]
            print(f"| {size} | {tokenizer} | {name} | {' | '.join(cells)} | {first_kept(side_runs[0].stdout)} |")
    sys.stdout.flush()


def silent(source, out):
    """The session without anything that a provider reported."""
    with open(source, encoding="utf-8", errors="surrogateescape") as file, open(out, "w", encoding="utf-8", errors="surrogateescape") as copy:
        for line in file:
            entry = json.loads(line)
            (entry.get("message") or {}).pop("usage", None)
            copy.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")


def batch(options, work, environment, epitome, peer):
    base = os.path.join(work, "session-0.2mb.jsonl")
    if options.source:
        make(base, options.source, "--mb", "0.2")
    else:
        make(base, "-", "--lines", "10k", "--count", "19")
    bare = os.path.join(work, "session-0.2mb-silent.jsonl")
    silent(base, bare)
    print(f"\n{options.sessions} sessions of 200 KB: which need a compaction? {options.runs} runs, {os.cpu_count()} cores\n")
    print("| sessions | side | processes | wall ms | cpu ms | peak MB |")
    print("|---|---|---:|---:|---:|---:|")
    for name, source in (("usage reported", base), ("nothing reported", bare)):
        folder = os.path.join(work, "batch-" + name.split()[0])
        os.makedirs(folder, exist_ok=True)
        files = [os.path.join(folder, f"{number:03}.jsonl") for number in range(options.sessions)]
        for file in files:
            shutil.copyfile(source, file)
        ours, theirs = [], []
        for round_number in range(options.runs + 1):
            run = Run([epitome, "inspect", folder, "--needs-compaction", "-l", "--no-config"], environment)
            if run.status not in (0, 3):
                sys.exit(f"failed with {run.status}\n{run.stderr}")
            if round_number > 0:  # the first one warms caches
                ours.append(run)
        own = medians(ours)
        print(f"| {name} | epitome | 1 | {' | '.join(f'{value:,.1f}' for value in own)} |")
        for file in files[:options.started if peer else 0]:
            command, extra = peer(file)
            run = Run(command, {**environment, **extra})
            if run.status != 0:
                sys.exit(f"failed with {run.status}: {' '.join(command)}\n{run.stderr}")
            theirs.append(run)
        if theirs:
            wall, cpu, peak = medians(theirs)
            values = (wall * len(files), cpu * len(files), peak)
            cells = [f"{value:,.1f} ({value / mine:.1f}×)" for value, mine in zip(values, own)]
            print(f"| {name} | omp | {len(files)} ({len(theirs)} measured) | {' | '.join(cells)} |")
        sys.stdout.flush()


def pages(options, work, environment, epitome, peers):
    """A session as an HTML page: ours (masked, as it is by default) and pi's."""
    session = make(os.path.join(work, f"session-{options.page_mb:g}mb.jsonl"), options.source, "--mb", str(options.page_mb))
    out, theirs = os.path.join(work, "page.html"), os.path.join(work, "page-pi.html")
    sides = {"epitome": [epitome, "export", session, "--format", "html", "-o", out, "--no-config", "-q"]}
    bun = os.path.join(peers, "node_modules", ".bin", "bun")
    pi = os.path.join(peers, "node_modules", "@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js")
    if os.path.exists(bun) and os.path.exists(pi):
        sides["pi"] = [bun, pi, "--export", session, theirs]
    else:
        print("skipped: pi (not installed; run tests/peers/install.sh DIR and give --peers DIR)")
    runs = {name: [] for name in sides}
    for round_number in range(options.runs + 1):
        for name, command in sides.items():
            for page in (out, theirs):  # neither has to look at what it replaces
                if os.path.exists(page):
                    os.remove(page)
            run = Run(command, environment)
            if run.status != 0:
                sys.exit(f"failed with {run.status}: {' '.join(command)}\n{run.stderr}")
            if round_number > 0:  # the first one warms caches
                runs[name].append(run)
    print(f"\nA page of a {options.page_mb:g} MB session, medians of {options.runs} runs, {os.cpu_count()} cores\n")
    print("| side | wall ms | cpu ms | peak MB |")
    print("|---|---:|---:|---:|")
    ours = medians(runs["epitome"])
    for name, side_runs in runs.items():
        cells = [f"{value:,.1f}" + ("" if name == "epitome" else f" ({value / own:.1f}×)") for value, own in zip(medians(side_runs), ours)]
        print(f"| {name} | {' | '.join(cells)} |")
    sys.stdout.flush()


def rewrites(options, work, environment, epitome):
    """Rows for what rewrites a file in place, beside a copy that is made durable."""
    session = make(os.path.join(work, f"session-{options.rewritten:g}mb.jsonl"), options.source, "--mb", str(options.rewritten))
    folder = os.path.join(work, "rewrite")
    file = os.path.join(folder, "session.jsonl")
    ours = lambda *words: [epitome, words[0], file, *words[1:], "--no-config", "--quiet"]
    kinds = {
        "cp + sync": ["/bin/sh", "-c", 'cp "$0" "$1" && sync', session, os.path.join(folder, "copy.jsonl")],
        "prune, heuristic": ours("prune", "--tokenizer", "heuristic"),
        "prune, o200k": ours("prune", "--tokenizer", "o200k"),
        "prune --details": ours("prune", "--details", "--tokenizer", "heuristic"),
        "prune --repair": ours("prune", "--repair"),
        "compact --prune, heuristic": ours("compact", "--prune", "--tokenizer", "heuristic"),
    }
    runs = {kind: [] for kind in kinds}
    for round_number in range(options.runs + 1):
        for kind, command in kinds.items():
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            shutil.copyfile(session, file)
            if kind == "prune --repair":  # something to mend
                with open(file, "ab") as damaged:
                    damaged.write(b'{"type":"mess')
            os.sync()
            run = Run(command, environment)
            if run.status != 0:
                sys.exit(f"failed with {run.status}: {' '.join(command)}\n{run.stderr}")
            if round_number > 0:  # the first one warms caches
                runs[kind].append(run)
    shutil.rmtree(folder, ignore_errors=True)
    size, line = os.path.getsize(session), max(len(line) for line in open(session, "rb"))
    print(f"\n{size / 1e6:,.0f} MB rewritten in place, archive included; largest line {line / 1e6:,.1f} MB; medians of {options.runs} runs\n")
    print("| command | wall ms | × cp + sync | cpu ms | peak MB |")
    print("|---|---:|---:|---:|---:|")
    copied = medians(runs["cp + sync"])[0]
    for kind, of_kind in runs.items():
        wall, cpu, peak = medians(of_kind)
        print(f"| {kind} | {wall:,.1f} | {wall / copied:.1f} | {cpu:,.1f} | {peak:,.1f} |")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epitome", default=os.environ.get("EPITOME"), help="the binary (EPITOME)")
    parser.add_argument("--peers", default=os.environ.get("PEERS"), help="folder that tests/peers/install.sh filled (PEERS)")
    parser.add_argument("--source", default=os.environ.get("SRC"), help="a real version 3 session (SRC)")
    parser.add_argument("--work", default=os.environ.get("WORK"), help="folder for the generated files, kept (WORK); default: a temporary one, removed")
    parser.add_argument("--runs", type=int, default=7, help="measured runs of each command (default 7)")
    parser.add_argument("--mb", type=float, nargs="*", default=[1, 100], help="sizes of the files (default 1 100)")
    parser.add_argument("--sessions", type=int, default=500, help="sessions of 200 KB in the batch (default 500, 0 leaves it out)")
    parser.add_argument("--started", type=int, default=25, help="of these, how many the peer is started for (default 25)")
    parser.add_argument("--page-mb", type=float, default=20, help="size of the session that becomes a page (default 20, 0 leaves it out)")
    parser.add_argument("--rewritten", type=float, default=100, help="MB of the session that is rewritten (default 100, 0 leaves it out)")
    parser.add_argument("--limit-kib", type=int, default=400_000, help="address space of the memory test (default 400000)")
    parser.add_argument("--results", type=int, default=600, help="results of 1 MB in the memory test (default 600, 0 leaves it out)")
    options = parser.parse_args()
    if options.mb and not options.source:
        parser.error("--source is needed for the comparison (or --mb without sizes)")
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    work = options.work or tempfile.mkdtemp(prefix="epitome-bench-")
    os.makedirs(work, exist_ok=True)
    try:
        bench(options, work)
    finally:
        if not options.work:
            shutil.rmtree(work)


def bench(options, work):
    home = os.path.join(work, "home")  # nobody's settings take part
    os.makedirs(home, exist_ok=True)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": home, "LANG": "C.UTF-8", "TZ": "UTC"}
    sides = {}
    if options.epitome and os.path.exists(options.epitome):
        epitome = os.path.abspath(options.epitome)
        for tokenizer in ("heuristic", "o200k"):
            sides["epitome", tokenizer] = lambda session, tokenizer=tokenizer: (
                [epitome, "inspect", session, "--show", "cut", "--tokenizer", tokenizer, "--no-config", "--json"], {})
    else:
        epitome = None
        print("skipped: epitome (no binary; give --epitome)")
    peers = os.path.abspath(options.peers) if options.peers else ""
    bun = os.path.join(peers, "node_modules", ".bin", "bun")
    if os.path.exists(bun) and os.path.exists(os.path.join(peers, "node_modules", "@oh-my-pi", "pi-agent-core")):
        for tokenizer, extra in (("heuristic", {}), ("o200k", {"PI_TOKENIZER_ACCURATE": "1"})):
            sides["omp", tokenizer] = lambda session, extra=extra: ([bun, CUT, session], {"PEERS": peers, **extra})
    else:
        print("skipped: oh-my-pi (not installed; run tests/peers/install.sh DIR and give --peers DIR)")
    if sides and options.mb:
        print(f"\nMedians of {options.runs} runs, {os.cpu_count()} cores\n")
        print("| file | tokens | side | wall ms | cpu ms | peak MB | first kept |")
        print("|---|---|---|---:|---:|---:|---|")
        for megabytes in options.mb:
            session = make(os.path.join(work, f"session-{megabytes:g}mb.jsonl"), options.source, "--mb", str(megabytes))
            compare(options, environment, sides, f"{megabytes:g} MB", session)
    if epitome and options.sessions > 0:
        batch(options, work, environment, epitome, sides.get(("omp", "heuristic")))
    if epitome and options.source and options.page_mb > 0:
        pages(options, work, environment, epitome, peers)
    if epitome and options.source and options.rewritten > 0:
        rewrites(options, work, environment, epitome)
    if not epitome or options.results == 0:
        return
    session = make(os.path.join(work, f"results-{options.results}x1mb.jsonl"), "-", "--lines", "1mb", "--count", str(options.results))
    print(f"\n{os.path.getsize(session) / 1e6:,.0f} MB in {options.results} results of 1 MB, address space {options.limit_kib:,} KiB\n")
    print("| command | exit | wall ms | cpu ms | peak MB |")
    print("|---|---:|---:|---:|---:|")
    failed = False
    for words in (["inspect", session, "--no-config"], ["compact", session, "-n", "--no-config"]):
        run = Run([epitome, *words], environment, options.limit_kib)
        shown = " ".join("FILE" if word == session else word for word in words)
        print(f"| epitome {shown} | {run.status} | {run.wall:,.1f} | {run.cpu:,.1f} | {run.peak:,.1f} |")
        if run.status != 0:
            failed = True
            print(run.stderr.splitlines()[-1] if run.stderr else "no message", file=sys.stderr)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
