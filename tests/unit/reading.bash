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
	sed 's/^/  stdout: /' "$work/out" | head -n 8 | cut -c1-300
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
no_err() { grep -qE -- "$1" "$work/err" && fail "$said: stderr has '$1'"; }
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
json 'd["layers"]["processes"] == "vfs" and d["layers"]["devices"] == "block" and d["layers"]["peers"] == "net"'
json '[(p["pid"], p["command"], p["time_ns"], p["rows"], p["errors"], p["read_bytes"], p["written_bytes"], p["exact"]) for p in d["processes"]] == [(100, "cat", 34552, 28, 8, 8202, 0, True)]'
json 'd["processes"][0]["rows"] + sum(one["rows"] for one in d["processes"][0]["beside"].values()) == 118'
json 'd["units"][0]["name"] == "cron.service" and sum(sum(s["rate"]["rows"]) for s in d["streams"].values()) == d["rows"]'

# Sums are of one layer, reads and writes apart: of a disk made of others, what is below it alone.
python3 "$here/make_layers.py" "$work/layers"
expect 0 summary "$work/layers" --json
json '[(f["name"], f["read_bytes"], f["written_bytes"], f["rows"]) for f in d["files"]][:2] == [("/srv/a", 2 << 20, 2 << 20, 4), ("/srv", 0, 0, 1)]'
json '{n: (b["read_bytes"], b["written_bytes"]) for n, b in d["files"][0]["beside"].items()} == {"iouring": (1 << 20, 0), "cache": (2 << 20, 2 << 20), "block": (2 << 20, 2 << 20), "stacked": (2 << 20, 2 << 20)}'
json '[(p["command"], p["read_bytes"], p["written_bytes"]) for p in d["processes"]] == [("work", 3 << 20, 3 << 20), ("kworker/u4:1", 0, 0)]'
json 'd["processes"][1]["beside"]["block"]["written_bytes"] == 1 << 20 and d["directories"][0]["name"] == "/srv" and d["directories"][0]["read_bytes"] == 3 << 20'
json '{v["disk"]: (v["read_bytes"], v["written_bytes"]) for v in d["devices"]} == {"sda": (2 << 20, 3 << 20), "dm-0": (2 << 20, 2 << 20)}'
json '(d["streams"]["block"]["read_bytes"], d["streams"]["block"]["written_bytes"], d["streams"]["vfs"]["read_bytes"]) == (2 << 20, 3 << 20, 3 << 20)'
json '{o["name"]: o["bytes"] for o in d["streams"]["block"]["operations"]} == {"READ": 2 << 20, "WRITE": 3 << 20}'
expect 0 summary "$work/layers" --sort bytes --top 1
out '^Files where most bytes were moved in vfs'
expect 2 summary "$work/layers" --sort size
expect 0 report "$work/layers" --output "$work/layers.html"
grep -q . "$work/layers.html" && LC_ALL=C sed -nE 's,.*<script type="application/json" id="document">(.*)</script>.*,\1,p' "$work/layers.html" >"$work/out"
json 'd["amplification"]["all"]["call_read"]["bytes"] == 3 << 20 and d["amplification"]["all"]["disk_write"]["bytes"] == 3 << 20'
json '[(c["name"], c["read"]["by_bytes"]["value"], c["write"]["by_bytes"]["value"]) for c in d["amplification"]["commands"]][0] == ("work", 0.6667, 0.6667)'
json '(lambda w: w["by_bytes"]["value"] == 1 and not w["by_bytes"]["at_least"])(d["amplification"]["all"]["write"])'
# A stream that a trace lacks leaves the next one below it.
expect 0 compare "$work/layers" "$work/layers" --json
python3 "$here/make_layers.py" "$work/below" block cache
expect 0 summary "$work/below" --json
json 'd["layers"]["files"] == "cache" and [(f["name"], f["read_bytes"], f["written_bytes"]) for f in d["files"]] == [("/srv/a", 2 << 20, 2 << 20), ("/srv/b", 0, 0)]'
expect 0 report "$work/below" --output "$work/below.html"
LC_ALL=C sed -nE 's,.*<script type="application/json" id="document">(.*)</script>.*,\1,p' "$work/below.html" >"$work/out"
json 'd["amplification"]["all"]["read"]["by_bytes"]["value"] is None and "applications" in d["amplification"]["all"]["read"]["by_bytes"]["reason"]'
python3 "$here/make_layers.py" "$work/calls" vfs
expect 0 report "$work/calls" --output "$work/calls.html"
LC_ALL=C sed -nE 's,.*<script type="application/json" id="document">(.*)</script>.*,\1,p' "$work/calls.html" >"$work/out"
json 'd["amplification"]["all"]["write"]["by_bytes"]["value"] is None'

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
# A folder of a trace is not the trace.
part_of_trace() {
	expect 1 "$@"
	err "csv/fs/manifest.json: it does not exist: the trace is the folder above"
}
part_of_trace summary "$work/csv/fs"
part_of_trace show "$work/csv/fs"
part_of_trace report "$work/csv/fs" --output "$work/none.html"
part_of_trace export "$work/csv/fs" "$work/none.log" --fio
expect 1 summary "$work/nothing"
err 'No such file'
expect 2 summary
err 'an argument is missing'

# document PAGE: what the page draws is then the last output. No name can end its script.
document() {
	[ "$(grep -c '</script>' "$work/$1")" = 3 ] || fail "$1: not three scripts"
	LC_ALL=C sed -nE 's,.*<script type="application/json" id="document">(.*)</script>.*,\1,p' "$work/$1" >"$work/out"
	! grep -q '<' "$work/out" || fail "$1: a '<' in the document"
	! grep -qE '(src|href)="?(https?:)?//' "$work/$1" || fail "$1: it loads something"
}

# report: the same numbers as summary, and a page that is there already stays as it is.
for trace in csv packed jsonl; do
	expect 0 summary "$work/$trace" --json --top 10
	cp "$work/out" "$work/summary"
	expect 0 report "$work/$trace" --output "$work/$trace.html" --json
	json 'd["rows"] == 128 and d["bytes"] > 200000'
	document "$trace.html"
	json 'all(d[key] == value for key, value in json.load(open("'"$work/summary"'")).items() if key != "seconds")'
	json 'sum(map(sum, d["heat"]["vfs"]["rows"])) == 28 and d["depth"]["disks"][0]["disk"] == "sda"'
	json 'd["amplification"]["all"]["call_read"]["operations"] == 6'
done
expect 0 report "$work/running" -o "$work/running.html"
printf mine >"$work/mine.html"
expect 1 report "$work/csv" --output "$work/mine.html"
err 'mine.html exists'
err '--force'
grep -qx mine "$work/mine.html" || fail "$said: it is written over"
ln -s nowhere "$work/link.html"
expect 1 report "$work/csv" --output "$work/link.html"
expect 0 report "$work/csv" --output "$work/mine.html" --force
expect 1 report "$work/damaged" --output "$work/damaged.html"
err 'ds/ds_000001.csv: it is missing'
document damaged.html
json 'len(d["problems"]) >= 2'
expect 1 report "$work" --output "$work/none.html"
err 'manifest.json: it does not exist'
expect 1 report "$work/csv" --output "$work/nothing/none.html"
err 'none.html: No such file'
expect 1 report "$work/csv" --output "$work/csv" --force
expect 2 report "$work/csv"
err 'give the page'
expect 2 summary "$work/csv" -o "$work/none.html"
[ -z "$(find "$work" -name '*.html.*' -o -name none.html -o -name 'csv.*' ! -name '*.html')" ] || fail "report left files behind"

# What names say is never HTML.
cp -r "$work/csv" "$work/names"
rm "$work/names/fs/fs_000002.csv"
sed -i 's,/home/user/file,</script><script>alert(1)</script><!--,; s/,cat,/,\xff<b>\t,/' "$work/names/fs/fs_000001.csv"
expect 1 report "$work/names" --output "$work/names.html"
document names.html
json 'any("</script><script>alert" in one["name"] for one in d["files"])'
json 'any(one["command"] == "\ufffd<b>\t" for one in d["processes"])'

# show: rows of all streams in the order of time, the same of every format.
for trace in csv packed jsonl old; do
	expect 0 show "$work/$trace"
	same show.txt
done
expect 0 show "$work/running" --csv
[ "$(wc -l <"$work/out")" = 129 ] || fail "not all rows of a running session"
for stream in vfs net conn; do
	expect 0 show "$work/packed" --$stream --csv
	sed '/^2026/d' "$golden/$stream.csv" | cmp -s - "$work/out" || fail "show --$stream --csv: not the rows as they were"
	expect 0 show "$work/jsonl" --$stream --json
	python3 - "$work/out" "$golden/$stream.jsonl" <<'EOF' || fail "show --$stream --json: not the rows as they were"
import json, sys
shown, wanted = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
for row in shown:
    del row['stream']
sys.exit(shown != [row for row in wanted if row['timestamp'] < '2026'])
EOF
done

# rows N OPTION...: so many rows pass.
rows() {
	expect 0 show "$work/csv" --csv "${@:2}"
	[ "$(($(wc -l <"$work/out") - 1))" = "$1" ] || fail "$said: $(($(wc -l <"$work/out") - 1)) rows, not $1"
}
rows 8 --vfs --errors
rows 4 --vfs --operation read
rows 6 --operation vfs.READ,block.READ
rows 0 --vfs --min-latency 1235ns
rows 28 --vfs --min-latency 1234ns
rows 4 --vfs --min-size 8K
rows 2 --block --min-size 1M
rows 118 --command cat
rows 0 --command ca
rows 118 --pid 100
rows 118 --pid 1 --tree
rows 0 --pid 1
rows 0 --uid root
rows 128 --uid 1000
rows 118 --unit cron
rows 0 --unit ron
rows 118 --cgroup /sys/fs/cgroup/system.slice
rows 118 --cgroup system.slice/cron.service/
rows 0 --cgroup /system
rows 6 --vfs --path /home/user/
rows 6 --vfs --path /home/user/file
rows 0 --vfs --path /home/user/fil
rows 4 --vfs --path /new
rows 2 --vfs --path '/a, "quoted" name'
rows 2 --block --device 8:1
rows 2 --block --device /dev/sda
rows 3 --limit 3
rows 10 --until '2023-11-15 22:13:19'
rows 10 --until +0.999999999s
rows 118 --since 22:13:20
rows 1 --vfs --since +1.000000001s --until 2023-11-15T22:13:20.000000001Z
rows 128 --sample block=1
expect 0 show "$work/csv" --vfs --sort size --limit 2 --columns size,filename
[ "$(tail -n 1 "$work/out" | tr -s ' ')" = '8192 /home/user/file' ] || fail "$said: the largest is not the first"
expect 0 show "$work/csv" "$work/packed" --vfs --limit 2 --csv --columns trace,pid
[ "$(sed 1d "$work/out" | sort | head -n 1)" = "$work/csv,100" ] || fail "$said: the trace is not named"
expect 2 show "$work/csv" --operation foo
err '--operation: no stream has an operation .foo.'
expect 2 show "$work/csv" --columns nothing
err 'no stream has a column .nothing.'
expect 0 show "$work/csv" --pid 999999
err '^iotracectl: no row is of what was asked for$'
expect 0 show "$work/csv" --pid 999999 --csv
no_err 'no row'
expect 2 show "$work/csv" --sort nothing
for time in yesterday 24:00 12:60 23:59:60 2026-13-01 2026-00-01 2026-06-31 2026-02-29 2026-02-00 '2026-02-28 24'; do
	expect 2 show "$work/csv" --since "$time"
	err "'$time' is no time"
done
for time in 2024-02-29 23:59 '2026-12-31 23:59:59.9' '2026-06-30T2'; do
	expect 0 show "$work/csv" --until "$time" --limit 1
done
expect 2 show "$work/csv" --unit a.target
expect 2 show "$work/csv" --tree
expect 2 show "$work/csv" --command 1234567890123456
expect 1 show "$work/damaged" --vfs
err 'its gzip data end too early'
# What a file that somebody made holds does not reach a terminal as it is.
cp -r "$work/csv" "$work/hostile"
sed -i "s|/lib/libc.so|/lib/$(printf '\033')[31mred|" "$work/hostile/fs/fs_000001.csv"
expect 0 show "$work/hostile" --vfs
no_out "$(printf '\033')"
expect 0 summary "$work/hostile"
no_out "$(printf '\033')"

# compare: what differs is told, and nothing of what is chance.
compared() { # NAME OPTION...
	python3 "$here/make_compared.py" "$work/$1" "${@:2}"
}
compared before --seed 1
compared alike --seed 2
compared worse --seed 3 --reads 3000 --slower 1.5 --errors 0.1 --extra cleaner
expect 0 compare "$work/before" "$work/alike" --json
json 'len(d["operations"]) == 3 and not any(o["different"] for o in d["operations"])'
json 'not d["files"] + d["commands"] + d["units"] + d["devices"] + d["peers"] and d["a"]["seconds"] == 10'
expect 0 compare "$work/before" "$work/alike"
out '^  vfs +READ .* -$'
no_out 'differ:'
expect 0 compare "$work/before" "$work/worse" --json
json '{o["name"]: o["different"] for o in d["operations"]} == {"READ": ["fewer", "p50 slower", "p90 slower", "p99 slower"], "WRITE": ["more errors"], "UNLINK": ["new"], "FSYNC": []}'
json '0.55 < d["operations"][0]["rows"]["low"] < d["operations"][0]["rows"]["ratio"] == 0.6 < d["operations"][0]["rows"]["high"] < 0.66'
json '{c["name"]: c["different"] for c in d["commands"]} == {"cleaner": ["new"], "reader": ["fewer", "slower"]} and len(d["files"]) == 8'
json '[1.4 < x["latency"]["low"] < x["latency"]["ratio"] < x["latency"]["high"] < 1.62 for x in d["commands"] if x["name"] == "reader"] == [True]'
json '[x["latency"] for x in d["commands"] if x["name"] == "cleaner"] == [None]'
expect 0 compare "$work/before" "$work/worse" --top 1
out 'different filters: commands'
out '^  vfs +UNLINK +- .* new$'
out '^Commands: 2 of 3 differ:'
no_out 'reader$'
# As many rows, which take longer: by file, command and device, and of no file with too few rows.
compared slow --seed 4 --slower 1.3
expect 0 compare "$work/before" "$work/slow" --json
json '{x["name"]: x["different"] for x in d["files"]} == {"/srv/reader/%d" % i: ["slower"] for i in range(4)}'
json '[x["different"] for x in d["commands"] + d["devices"] + d["units"]] == [["slower"]] * 3'
compared few --seed 5 --reads 15 --slower 100
compared fewer --seed 6 --reads 15
expect 0 compare "$work/few" "$work/fewer" --json
json '"reader" not in [x["name"] for x in d["commands"]]'
expect 0 compare "$work/before" "$work/slow"
out '^ +[0-9.]+ +[0-9.]+ +500 +500 +x1.00 \(0.94-1.07\) +x1.30 \(1.2[0-9]-1.3[0-9]\)  slower  vfs     reader$'
# More of an operation that takes long makes nothing slow, nor does less of one that does not.
compared synced --seed 7 --syncs 1500
expect 0 compare "$work/before" "$work/synced" --json
json '[x["different"] for x in d["commands"] + d["devices"] + d["units"]] == [["more"]] * 3'
compared mixed --seed 8 --reads 1500
expect 0 compare "$work/before" "$work/mixed" --json
json '[x["different"] for x in d["devices"] + d["units"]] == [["fewer"]] * 2'
json '[x["latency"]["low"] < 1 < x["latency"]["high"] for x in d["devices"]] == [True]'
expect 0 compare "$work/worse" "$work/before"
out 'more, p50 faster, p90 faster, p99 faster'
out ' gone +vfs +cleaner$'
# What was lost is not fewer, and is told.
compared lossy --seed 3 --reads 3000 --lost 4000
expect 0 compare "$work/before" "$work/lossy" --json
json 'not any("fewer" in x["different"] for x in d["operations"] + d["files"] + d["commands"] + d["devices"])'
json '(d["a"]["missing"], d["b"]["missing"]) == ({"vfs": 0}, {"vfs": 4000}) and d["operations"][0]["rows"]["high"] > 1'
expect 0 compare "$work/before" "$work/lossy"
out '^vfs: 4,000 rows are missing in B'
expect 0 compare "$work/lossy" "$work/before" --json
json 'not any("more" in x["different"] for x in d["operations"])'
# Streams that one of them does not have are not gone. What cannot be read is told, as it may look gone.
expect 0 compare "$work/csv" "$work/before"
out '^conn is in A alone, and not compared$'
no_out '^  conn '
expect 1 compare "$work/damaged" "$work/packed"
err 'is not whole, and what is missing may look gone: '
expect 1 compare "$work/before" "$work/nothing"
expect 1 compare "$work" "$work/before"
expect 2 compare "$work/before"

# traces: what lies below the log folder, and removal of what has ended.
logs=$work/logs
mkdir -p "$logs/a" "$logs/b" "$logs/other"
make logs/a/20231115T221319Z
make logs/a/20231116T221319Z --gzip
make logs/b/20231115T221319Z --running
sed -i 's/2023-11-15 22/2023-11-16 22/' "$logs/a/20231116T221319Z/manifest.json"
expect 0 traces --log-dir "$logs"
out '^a/20231115T221319Z +session +ended .* 3$'
out '^b/20231115T221319Z +session +running '
out '^3 traces in '
expect 0 traces --log-dir "$logs" --json
json '[t["path"] for t in d["traces"]] == ["a/20231115T221319Z", "b/20231115T221319Z", "a/20231116T221319Z"]'
json 'd["traces"][0]["rows"] == 128 and d["traces"][0]["lost"] == 3 and d["traces"][0]["bytes"] > 20000 and len(d["traces"][0]["streams"]) == 10'
expect 1 traces --log-dir "$logs" --remove b/20231115T221319Z
err 'it is running'
expect 1 traces --log-dir "$logs" --remove nothing
err 'there is no trace .nothing.'
expect 2 traces --log-dir "$logs" --remove
expect 2 traces --log-dir "$logs" a/20231115T221319Z
expect 0 traces --log-dir "$logs" --vacuum-time 1000000h
out 'nothing was removed'
expect 0 traces --log-dir "$logs" --vacuum-size 10G
out 'nothing was removed'
# A link out of a trace is removed, and what it leads to stays.
mkdir "$work/outside"
touch "$work/outside/file"
ln -s "$work/outside" "$logs/a/20231115T221319Z/link"
expect 0 traces --log-dir "$logs" --vacuum-size "$(($(du -s --block-size=1 "$logs/b" "$logs/a/20231116T221319Z" | awk '{ s += $1 } END { print s }')))"
out '^removed .*/a/20231115T221319Z$'
[ -e "$work/outside/file" ] || fail "what a link leads to was removed"
[ ! -e "$logs/a/20231115T221319Z" ] || fail "the oldest is still there"
[ -e "$logs/a/20231116T221319Z" ] || fail "more was removed than was asked for"
expect 0 traces --log-dir "$logs" --remove "$logs/a/20231116T221319Z/" --json
json 'd["removed"] == ["a/20231116T221319Z"] and len(d["traces"]) == 1'
[ ! -e "$logs/a" ] || fail "the folder of a name without traces is still there"
expect 0 traces --log-dir "$logs" --vacuum-time 1s
[ -e "$logs/b/20231115T221319Z/manifest.json" ] || fail "a running one was removed"
expect 1 traces --log-dir "$work/nowhere"

# streams --sql: a table for each stream with all of its columns, without a daemon.
for dialect in duckdb clickhouse postgres; do
	expect 0 streams --sql $dialect
	[ "$(grep -c '^CREATE TABLE' "$work/out")" = 10 ] || fail "$said: not ten tables"
	columns=$(cat "$golden"/{vfs,block,cache,net,conn,epoll,sockopt,drop,pagefault,iouring}.csv | grep ^timestamp, | tr ',' '\n' | wc -l)
	[ "$(grep -cP '^\t"' "$work/out")" = "$columns" ] || fail "$said: not $columns columns"
done
expect 2 streams --sql oracle
expect 0 streams --sql duckdb --json
json 'd["sql"].count("CREATE TABLE") == 10'
# The tables are SQL, and take the rows as they are.
python3 - "$client" "$golden" <<'EOF' || fail "streams --sql: sqlite cannot read the tables, or has other rows"
import csv, re, sqlite3, subprocess, sys
client, golden = sys.argv[1:]
database = sqlite3.connect(':memory:')
database.executescript(subprocess.run([client, 'streams', '--sql', 'duckdb'], check=True, text=True, capture_output=True).stdout)
for stream, folder in (('vfs', 'fs'), ('block', 'ds'), ('conn', 'nw_conn'), ('sockopt', 'nw_sockopt')):
    with open('%s/%s.csv' % (golden, stream), encoding='utf-8', newline='') as file:
        header, *rows = csv.reader(file)
    names = [column[1] for column in database.execute('PRAGMA table_info("%s")' % folder)]
    assert names == header, (names, header)
    database.executemany('INSERT INTO "%s" VALUES (%s)' % (folder, ','.join('?' * len(header))), rows)
EOF

[ $failures = 0 ]
