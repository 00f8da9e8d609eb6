#!/bin/sh
# Is it right?   verify.sh TASK CANDIDATE... [OPTIONS of rooftree evaluate]
# One line for each candidate: its status, and why it is not `measured`. Exit code: 0 all are right,
# 1 one is not, 2 the task or an option is wrong.
set -u
if [ "$#" -lt 2 ]; then
    echo "usage: verify.sh TASK CANDIDATE... [OPTIONS of rooftree evaluate]" >&2
    exit 2
fi
# ROOFTREE may name another way to start it, such as "python3 -m experiments".
found=$(${ROOFTREE:-rooftree} evaluate "$@" --json)
code=$?
if [ -n "$found" ]; then
    printf '%s\n' "$found" | python3 -c '
import json, sys
for row in json.load(sys.stdin)["candidates"]:
    cheat = " (%s)" % row["cheat"] if row["cheat"] else ""
    why = ": %s" % row["message"] if row["message"] else ""
    print("%s: %s%s%s" % (row["candidate"], row["status"], cheat, why))
'
fi
exit "$code"
