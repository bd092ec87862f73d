#!/bin/sh
# A command agent in plain shell: one run per task. Params are a line of JSON on stdin, stdout is the result.
#
# Exit codes: 0 done, 65 bad params (not tried again), anything else failed (tried again). stderr is kept for people.
set -eu

path=$(sed -n 's/.*"path" *: *"\([^"\\]*\)".*/\1/p')
[ -n "$path" ] || { echo "params need a \"path\"" >&2; exit 65; }
[ -r "$path" ] || { echo "cannot read $path" >&2; exit 1; }
printf '{"path":"%s","lines":%s,"attempt":%s}\n' "$path" "$(wc -l <"$path")" "$SKEIN_ATTEMPT"
