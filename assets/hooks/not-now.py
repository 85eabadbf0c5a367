#!/usr/bin/env python3
"""A hook for session_before_compact: cancels while the working folder holds a file .no-compact, or when the summary would
stand for fewer messages than the first argument says (4 when there is none).

In the config: [hooks] session_before_compact = "/path/to/not-now.py 10"
"""
import json
import pathlib
import sys

event = json.load(sys.stdin)
least = int(sys.argv[1]) if len(sys.argv) > 1 else 4
plan = event["preparation"]
messages = len(plan["messagesToSummarize"]) + len(plan["turnPrefixMessages"])
if (pathlib.Path(event["cwd"] or ".") / ".no-compact").exists():
    print("the folder asks not to compact now", file=sys.stderr)
    json.dump({"cancel": True}, sys.stdout)
elif messages < least:
    print(f"only {messages} messages would be summarized", file=sys.stderr)
    json.dump({"cancel": True}, sys.stdout)
