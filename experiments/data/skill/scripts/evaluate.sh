#!/bin/sh
# Is it right, and how fast is it?   evaluate.sh TASK CANDIDATE... [OPTIONS of rooftree evaluate]
# Exit code: 0 all are right and timed, 1 one is not, 2 the task or an option is wrong.
set -u
if [ "$#" -lt 2 ]; then
    echo "usage: evaluate.sh TASK CANDIDATE... [OPTIONS of rooftree evaluate]" >&2
    exit 2
fi
# ROOFTREE may name another way to start it, such as "python3 -m experiments".
exec ${ROOFTREE:-rooftree} evaluate "$@"
