#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Traces that are damaged, foreign, hostile, old or too new, for every verb that reads traces: each ends soon with the right
# code, names what is wrong and where, and writes over nothing.
# Usage: bad_traces.bash IOTRACECTL
set -u

client=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
failures=0 runs=0
trap 'rm -rf "$work"' EXIT
verbs=(summary verify show report compare export anonymize)

make() { # NAME OPTION...
	python3 "$here/make_trace.py" "$work/$1" "${@:2}"
}

# lie NAME STATEMENT: a trace whose manifest, d, was changed by the statement.
lie() {
	cp -r "$work/good" "$work/$1"
	python3 - "$work/$1/manifest.json" "$2" <<'EOF'
import json, sys
path, change = sys.argv[1:]
with open(path, encoding='utf-8') as file:
    d = json.load(file)
exec(change)
with open(path, 'w', encoding='utf-8') as file:
    json.dump(d, file)
EOF
}

fail() {
	echo "FAILED: iotracectl $said: $*"
	head -c 2000 "$work/said"
	failures=$((failures + 1))
}

# Runs the verb on the trace; what it says is in the file `said`.
read_it() { # VERB TRACE
	local verb=$1 trace=$work/$2 output=$work/output
	local -a words=("$verb" "$trace")
	rm -rf -- "$output"
	case $verb in
	report) words+=(-o "$output") ;;
	compare) words=("$verb" "$work/good" "$trace") ;;
	export) words=("$verb" --fio "$trace" "$output") ;;
	anonymize) words+=("$output") ;;
	esac
	said="${words[*]}" runs=$((runs + 1))
	timeout 20 "$client" "${words[@]}" >"$work/said" 2>&1 </dev/null
}

# bad TRACE PATTERN CODES: the codes of the verbs, in their order, digit by digit. Where it is not 0, the pattern is said.
bad() {
	local trace=$1 pattern=$2 codes=$3 code before
	before=$(cd "$work" && find . -path ./output -prune -o -path ./said -prune -o -type f -print0 | sort -z | xargs -0 md5sum | md5sum)
	for i in "${!verbs[@]}"; do
		read_it "${verbs[$i]}" "$trace"
		code=$?
		[[ $code = "${codes:$i:1}" ]] || fail "exit code $code, not ${codes:$i:1}"
		[[ $code = 0 ]] || grep -qE -- "$pattern" "$work/said" || fail "does not say '$pattern'"
		grep -qE 'Protocol error|Message too long|Success|runtime error|Sanitizer' "$work/said" && fail "says what nobody understands"
	done
	[[ $before = "$(cd "$work" && find . -path ./output -prune -o -path ./said -prune -o -type f -print0 | sort -z | xargs -0 md5sum | md5sum)" ]] ||
		fail "a file was changed"
}

make good
make old --schema 1
make former --schema 2
make new --schema 4
make running --running
make truncated --gzip
truncate -s -20 "$work/truncated/fs/fs_000001.csv.gz"
make damaged --gzip
printf 'XXXXXXXXXX' | dd of="$work/damaged/fs/fs_000001.csv.gz" bs=1 seek=40 conv=notrunc status=none
make foreign
echo 'hello, world' >"$work/foreign/fs/fs_000001.csv"
make binary
head -c 5000 /dev/urandom | tr -d '\n' >"$work/binary/fs/fs_000001.csv"
make cut
truncate -s -5 "$work/cut/fs/fs_000001.csv"
make missing
rm "$work/missing/fs/fs_000001.csv"
make link
mv "$work/link/fs/fs_000001.csv" "$work/elsewhere"
ln -s "$work/elsewhere" "$work/link/fs/fs_000001.csv"
make pipe
rm "$work/pipe/fs/fs_000001.csv"
mkfifo "$work/pipe/fs/fs_000001.csv"
make bomb --gzip
head -c 500000000 /dev/zero | gzip -1 >"$work/bomb/fs/fs_000001.csv.gz"
mkdir "$work/empty" "$work/text" "$work/list" "$work/object"
echo 'not JSON' >"$work/text/manifest.json"
echo '[]' >"$work/list/manifest.json"
echo '{}' >"$work/object/manifest.json"
make more
make grown --running
for trace in more grown; do
	for i in {1..1000}; do tail -n 1 "$work/$trace/fs/fs_000001.csv"; done >"$work/appended"
	cat "$work/appended" >>"$work/$trace/fs/fs_000001.csv"
done
make packed --gzip
gzip -c "$work/appended" >>"$work/packed/fs/fs_000001.csv.gz"
make lines --format jsonl
line=$(head -n 1 "$work/lines/iouring/iouring_000001.jsonl")
yes "$line" | head -n 1000 >>"$work/lines/iouring/iouring_000001.jsonl"
make fewer
sed -i '$d' "$work/fewer/fs/fs_000001.csv"
make unlisted
cp "$work/unlisted/fs/fs_000001.csv" "$work/unlisted/fs/fs_000003.csv"
lie kept 'd["segments"][0]["state"] = "removed"'
lie rows 'd["segments"][0]["rows"] = 7'
lie huge 'd["segments"][0]["rows"] = 1 << 63'
lie outside 'd["segments"][0]["path"] = "../good/fs/fs_000001.csv"'
lie columns 'd["streams"]["vfs"]["columns"] = [{"name": "x"}]'
lie stream 'd["streams"]["vfs"]["folder"] = "../good/fs"'
lie state 'd["state"] = "nowhere"'

#                                                                  summary verify show report compare export anonymize
bad old 'no checksum' 0100001
bad former 'no checksum' 0100001
bad running 'has not ended|lost' 0100001
bad new 'schema_version: this iotracectl knows 1 to 3 only, a newer one' 1111111
bad truncated 'fs/fs_000001.csv(.gz)?: its gzip data end too early|no checksum' 1111111
bad damaged 'fs/fs_000001.csv(.gz)?: its gzip data are damaged|no checksum' 1111111
bad foreign "fs/fs_000001.csv: (its header is not|.*header)|no checksum" 1111111
bad binary "fs/fs_000001.csv: |no checksum" 1111111
bad cut 'fs/fs_000001.csv: |no checksum' 1111111
bad missing 'fs/fs_000001.csv: it is missing|no checksum' 1111111
bad link 'fs/fs_000001.csv: it is a symbolic link|no checksum' 1111111
bad pipe 'fs/fs_000001.csv: it is not a regular file|no checksum' 1111111
bad bomb 'fs/fs_000001.csv(.gz)?: .*longer than 1 MiB|no checksum' 1111111
bad empty 'manifest.json: it does not exist: this is not a trace' 1111111
bad good/fs 'manifest.json: it does not exist: the trace is the folder above' 1111111
bad good/fs/fs_000001.csv 'fs_000001.csv: Not a directory' 1111111
bad nowhere 'nowhere: No such file or directory' 1111111
bad text 'manifest.json: it is not JSON, or damaged' 1111111
bad list 'manifest.json: it is not JSON, or damaged' 1111111
bad object 'manifest.json: .*schema_version is not a count' 1111111
bad rows 'vfs: its segments have 21 rows, not written 28|it has more than the manifest.s 7 rows and [0-9]+ bytes; the rest was not read' 1111111
bad more 'fs/fs_000001.csv: (it has more than the manifest.s|the manifest has no checksum)' 1111111
bad packed 'fs/fs_000001.csv: (it has more than the manifest.s|the manifest has no checksum)' 1111111
bad lines 'iouring_000001.jsonl: (it has more than the manifest.s|the manifest has no checksum)' 1111101
bad grown 'fs/fs_000001.csv: it has more than the manifest.s|no checksum|lost|has not ended' 1111111
bad fewer 'fs/fs_000001.csv: it has [0-9]+ rows, the manifest says|no checksum' 1111111
bad unlisted 'fs/fs_000003.csv: it is not in the manifest, and was not read|no checksum' 1111111
bad kept 'fs/fs_000001.csv: .*manifest says that it was removed; it was not read|its segments have' 1111111
bad huge 'fs/fs_000001.csv: rows is not a count' 1111111
bad outside 'it is not the path of a segment' 1111111
bad columns 'vfs: the columns are not those of a trace' 1111111
bad stream 'manifest.json: ' 1111111
bad state 'manifest.json: its state is neither running nor ended' 1111111

# Of a file that goes on for longer than the manifest says, and of one that it does not have, no row is shown.
for trace in more packed grown unlisted; do
	[[ $("$client" show "$work/$trace" --vfs --csv 2>/dev/null | wc -l) = $(("$("$client" show "$work/good" --vfs --csv | wc -l)")) ]] ||
		{ said="show $trace" && fail "rows behind those of the manifest"; }
done
# Bombs that are lines each.
make flood --gzip
yes '' | head -c 2000000000 | gzip -1 >"$work/flood/fs/fs_000001.csv.gz"
for verb in summary show report export; do
	read_it $verb flood && fail "exit code 0"
done
# Nor is the table of cgroups read for ever, whose length the manifest does not say.
make endless
rm "$work/endless/cgroups/cgroups.csv"
head -n 1 "$work/good/cgroups/cgroups.csv" | gzip >"$work/endless/cgroups/cgroups.csv.gz"
yes '' | head -c 100000000 | gzip -9 >"$work/lines.gz"
for i in {1..400}; do cat "$work/lines.gz"; done >>"$work/endless/cgroups/cgroups.csv.gz"
for verb in summary show report; do
	read_it $verb endless || fail "exit code $?"
done

# What is there is not written over.
echo precious >"$work/precious"
for verb in report export; do
	for trace in good truncated; do
		words=("$verb" "$work/$trace" -o "$work/precious")
		[[ $verb = report ]] || words=("$verb" --fio "$work/$trace" "$work/precious")
		said="${words[*]}"
		"$client" "${words[@]}" >"$work/said" 2>&1 </dev/null && fail "exit code 0"
		[[ $(cat "$work/precious") = precious ]] || fail "it wrote over a file"
	done
done
echo "$runs runs, $failures failures"
[[ $failures = 0 ]]
