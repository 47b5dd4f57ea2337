#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The verbs that read traces, on one made of the golden rows of all streams. With IOTRACER_UPDATE_GOLDEN their output is
# written to the golden files.
# Usage: reading.bash IOTRACECTL
set -u

client=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
golden=$here/../golden
work=$(mktemp -d)
failures=0
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAILED: $*"
	sed 's/^/  stdout: /' "$work/out" | head -n 50
	sed 's/^/  stderr: /' "$work/err"
	failures=$((failures + 1))
}

# expect CODE ARGUMENT...: runs the client.
expect() {
	local wanted=$1 code
	shift
	"$client" "$@" >"$work/out" 2>"$work/err" </dev/null
	code=$?
	[ $code = "$wanted" ] || fail "iotracectl $*: exit code $code, not $wanted"
	said="iotracectl $*"
}

out() { grep -qE -- "$1" "$work/out" || fail "$said: stdout has no '$1'"; }
err() { grep -qE -- "$1" "$work/err" || fail "$said: stderr has no '$1'"; }
no_out() { grep -qE -- "$1" "$work/out" && fail "$said: stdout has '$1'"; }

# The document of the last command: an expression over d, which must be true.
json() {
	python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(not ('"$1"'))' <"$work/out" ||
		fail "$said: not so: $1"
}

# same FILE: the last output is the golden one, but for how long it took.
same() {
	sed -E '/^read [0-9,]+ rows of /d' "$work/out" >"$work/same"
	[ -z "${IOTRACER_UPDATE_GOLDEN-}" ] || cp "$work/same" "$golden/$1"
	diff -u "$golden/$1" "$work/same" || fail "$said: not as in $1"
}

make() { # NAME OPTION...
	python3 "$here/make_trace.py" "$work/$1" "${@:2}"
}

make csv
make packed --gzip
make jsonl --format jsonl --gzip
make running --running
make old --schema 1

# summary: the same of every format.
for trace in csv packed jsonl old; do
	expect 0 summary "$work/$trace"
	same summary.txt
done
expect 0 summary "$work/running"
out '^golden: running'
out '^  vfs +28 +3 '
expect 0 summary "$work/csv" --top 1
no_out '/lib/libc.so'
expect 0 summary "$work/csv" --json
json 'd["streams"]["vfs"]["lost"]["ring"] == 3 and d["loss_times"][0]["rows"] == 3 and len(d["losses"]) == 1'
json 'd["streams"]["net"]["operations"][0]["latency"]["p99_ns"] == 1234 and len(d["streams"]) == 10'
json 'd["processes"][0] == {"pid": 100, "command": "cat", "time_ns": 120932, "rows": 118, "errors": 48, "bytes": d["processes"][0]["bytes"], "exact": True}'
json 'd["units"][0]["name"] == "cron.service" and sum(sum(s["rate"]["rows"]) for s in d["streams"].values()) == d["rows"]'

# What cannot be read is told, and all else is read.
cp -r "$work/packed" "$work/damaged"
truncate -s -4 "$work/damaged/fs/fs_000001.csv.gz"
rm "$work/damaged/ds/ds_000001.csv.gz"
printf 'no row\n' >>"$work/damaged/nw/nw_000001.csv"
expect 1 summary "$work/damaged"
out 'fs/fs_000001.csv: its gzip data end too early'
out 'ds/ds_000001.csv: it is missing'
out '^  pagefault +4 '
expect 1 summary "$work/damaged" --json
json 'len(d["problems"]) >= 2'
expect 1 summary "$work"
err 'manifest.json: it does not exist'
expect 1 summary "$work/nothing"
err 'No such file'
expect 2 summary
err 'an argument is missing'

[ $failures = 0 ]
