#!/bin/sh
# What is slow, and what to do about it?   inspect.sh FILE [OPTIONS of rooftree inspect] [-- ARGS]
# FILE: a .cu, a program, or a report of ncu or nsys. Exit code: 0, or 2 where something is wrong.
set -u
if [ "$#" -lt 1 ]; then
    echo "usage: inspect.sh FILE [OPTIONS of rooftree inspect] [-- ARGS]" >&2
    exit 2
fi
# ROOFTREE may name another way to start it, such as "python3 -m experiments".
exec ${ROOFTREE:-rooftree} inspect "$@"
