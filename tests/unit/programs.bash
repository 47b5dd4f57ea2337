#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# iotracectl and a daemon on a fake probe set, where rows come by themselves: exit codes, what goes to stdout and to
# stderr, and how the daemon comes and goes.
# Usage: programs.bash IOTRACECTL FAKE_IOTRACERD FAKE_SYSTEMD FAKE_PEER
set -u
trap '' XFSZ # a file that may not grow is an error, as a full disk is, and no death

client=$1
daemon=$2
systemd=$3
peer=$4
work=$(mktemp -d)
socket=$work/run/io.iotracer
failures=0
daemon_pid=

cleanup() {
	[ -n "$daemon_pid" ] && kill "$daemon_pid" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	echo "FAILED: $*"
	sed 's/^/  stdout: /' "$work/out"
	sed 's/^/  stderr: /' "$work/err"
	failures=$((failures + 1))
}

# await WHAT COMMAND...: until the command succeeds; WHAT is what does not happen otherwise.
await() {
	for _ in $(seq 600); do
		"${@:2}" >/dev/null 2>&1 && return
		sleep 0.05
	done
	fail "in vain: $1"
	return 1
}

start_daemon() {
	"$daemon" --runtime-dir "$work/run" --log-dir "$work/traces" --state-dir "$work/state" --config "$work/conf" \
		2>"$work/log" &
	daemon_pid=$!
	await 'the daemon answers' "$client" --socket "$socket" list && return
	cat "$work/log"
	exit 1
}

stop_daemon() {
	kill "$daemon_pid"
	wait "$daemon_pid"
	local code=$?
	daemon_pid=
	return $code
}

# expect CODE ARGUMENT...: runs the client.
expect() {
	local wanted=$1 code
	shift
	"$client" --socket "$socket" "$@" >"$work/out" 2>"$work/err" </dev/null
	code=$?
	[ $code = "$wanted" ] || fail "iotracectl $*: exit code $code, not $wanted"
	said="iotracectl $*"
}

# What the last command printed: a regular expression each.
out() { grep -qE -- "$1" "$work/out" || fail "$said: stdout has no '$1'"; }
err() { grep -qE -- "$1" "$work/err" || fail "$said: stderr has no '$1'"; }
no_out() { [ ! -s "$work/out" ] || fail "$said: stdout is not empty"; }
no_err() { [ ! -s "$work/err" ] || fail "$said: stderr is not empty"; }
json() {
	[ "$(wc -l <"$work/out")" = 1 ] && out '^\{.*\}$'
}

# Whether the client prints what matches.
prints() { "$client" --socket "$socket" "${@:2}" 2>/dev/null | grep -qE -- "$1"; }

# Until the session has rows.
await_rows() { await "rows of $1" prints '^\{"stream"' tail "$1" --json; }

# answer PARAMETERS: what listens at $work/peer answers the next call with them.
answer() {
	rm -f "$work/peer"
	"$peer" "$work/peer" "{\"parameters\":$1}" &
	await 'a peer listens' [ -S "$work/peer" ]
}

touch "$work/out" "$work/err" "$work/log"
# Snapshots are taken where they are asked for.
printf '[Snapshots]\nSystem=no\nProcess=off\nFilesystem=off\n' >"$work/conf"

# Without a daemon.
expect 3 list
err "cannot reach the daemon at $socket"
expect 3 list --json
json
expect 0 version
out 'not reachable'
IOTRACER_TREE_OF=none "$daemon" 2>&1 | grep -q 'IOTRACER_TREE_OF=none: ' || fail 'the process without a tree is not named'
expect 0 --help
out 'Verbs'
no_err
for verb in start stop record list status set rotate tail top dump snapshot traces summary compare report show verify anonymize streams doctor reload help version; do
	expect 0 $verb --help
	out "^Usage: iotracectl $verb"
	no_err
	expect 0 help $verb
	out "^Usage: iotracectl $verb"
	[ "$(wc -L <"$work/out")" -le 80 ] || fail "help of $verb is wider than a terminal"
	no_err
done
expect 0 help
out '^Sessions:'
out '^  record +record a command'
no_err
expect 2 help bogus
expect 0 start --help
out '^  --vfs +file system operations of system calls, libaio'
out '^ {34}and io_uring$'

# Command lines that mean nothing.
expect 2
expect 2 bogus
err "no verb 'bogus'"
expect 2 strat --vfs
err "no verb 'strat': did you mean 'start'\?"
expect 2 list extra
expect 2 list --bogus
expect 2 start --compres gzip --vfs
err "no option '--compres': did you mean '--compress'\?"
expect 2 set a --duration 5s
err "no option '--duration' here: 'start', 'record', 'amplification' have it"
expect 2 --vfs start
err "no option '--vfs' here"
expect 2 stop --al
err "no option '--al': did you mean '--all'\? Options are written in full"
expect 2 stop --all=yes
err '^iotracectl stop: --all takes no value'
expect 2 start --vfs --pid
err '^iotracectl start: --pid needs a value: --pid N,...'
expect 2 list --socket ''
err "^iotracectl list: --socket: '' is empty"
expect 2 stop -a
expect 2 start --vfs --compress xz
err "--compress: 'xz' is not one of gzip, none"
expect 2 start --vfs --format jsonnl
err "not one of csv, jsonl; did you mean 'jsonl'\?"
expect 2 top --sort byte
err "not one of rows, bytes, latency; did you mean 'bytes'\?"
expect 2 start
err 'no stream'
expect 2 start --vfs --pid x
err '--pid'
expect 2 start --vfs --pid 1,,2
expect 2 start --vfs --duration 5
err '--duration'
expect 2 start --vfs --min-size -1
expect 2 start --vfs --output ''
expect 2 start --vfs --sample vfs
err 'STREAM=N'
expect 2 start --vfs --sample zfs=2
err "'zfs' is no stream: there are vfs, block, .*did you mean 'vfs'\?"
expect 2 start --cache --cache-sample-rate x
expect 2 start --vfs --path ''
expect 2 set
expect 2 set a
err 'no filter'
expect 2 set a b --errors
expect 2 set a --clear output
err 'no filter'
err "'output' is no filter: there are pid, tree, "
expect 2 stop
expect 2 record --vfs
expect 2 record name --vfs -- true
err "no stream was given before the command 'name'"

# With --json, wherever it stands, these are documents too.
usage() {
	json
	out "^\\{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":\\{\"parameter\":$1,\"message\":\".+\"\\}\\}$"
}
expect 2 bogus --json
usage '"verb"'
expect 2 start --vfs --compres gzip --json
usage '"compres"'
expect 2 --json start --vfs --compress xz
usage '"compress"'
expect 2 start --json --vfs --pid x
usage '"pids"'
expect 2 stop --json
usage null
expect 2 list --json extra
usage null
expect 3 list --json
out "cannot reach the daemon at $socket: No such file"
expect 2 record --vfs --bogus -- cat --json
[ ! -s "$work/out" ] || fail 'the --json of a command is taken for ours'
expect 2 anonymize
expect 2 anonymize one
expect 2 anonymize one two three
expect 2 anonymize one two --key ''
no_out
expect 1 anonymize /nonexistent two
err '/nonexistent: No such file'
mkdir "$work/empty"
expect 1 anonymize "$work/empty" "$work/out-folder"
err 'this is not a trace'
[ ! -e "$work/out-folder" ] || fail 'an output folder was made for nothing'

export FAKE_HELD_SNAPSHOTS=$work/held
FAKE_KERNEL='silent=iouring.LISTEN silent=block.FLUSH' start_daemon
"$daemon" --runtime-dir "$work/run" --config "$work/conf" 2>"$work/err" && fail 'a second daemon starts'
said='a second daemon'
err "runs already: $socket"
"$daemon" --bogus 2>"$work/err"
[ $? = 2 ] || fail 'iotracerd --bogus'
"$daemon" --config "$work/none" 2>"$work/err"
[ $? = 1 ] || fail 'iotracerd with a configuration that is not there'

said='iotracerd --check-config'
check_config() { # STATUS [FILE]
	"$daemon" --check-config "${@:2}" 2>"$work/err" >"$work/out"
	[ $? = "$1" ] || fail "$said ${*:2}: not $1"
	no_out
}
mkdir -p "$work/good.d"
printf '[Storage]\nMaxUse=10G\n' >"$work/good"
chmod 666 "$work/good" # one that is not in its place yet may be anybody's
check_config 0 "$work/good"
no_err
chmod 644 "$work/good"
"$daemon" --config "$work/good" --check-config || fail "$said with --config"
printf '[Storage]\nMaxUsage=10G\n' >"$work/good.d/1.conf"
check_config 0 "$work/good"
err "^$work/good.d/1.conf:2: \\[Storage\\] has no key MaxUsage \\(is it MaxUse\\?\\), which is ignored$"
printf '[Storage]\n\nKeepFree=10Q\033\n[Daemon]\nResume=perhaps\n' >"$work/good.d/1.conf"
check_config 1 "$work/good"
err "^$work/good.d/1.conf:3: KeepFree=10Q.*: it is no size"
err "^$work/good.d/1.conf:5: Resume=perhaps: it is neither yes nor no$"
grep -q $'\033' "$work/err" && fail 'a control character is printed'
check_config 1 "$work/none"
err "^$work/none: No such file"
check_config 2 "$work/good" "$work/none"

# What --print-session prints is a session file with the same meaning; of each kind of option one.
expect 0 start kept --vfs --cache --command 'a b,c' --min-latency 5ms --min-size 64K --errors --sample cache=10 --path '/srv/a,b' \
	--operation READ,vfs.OPEN --duration 90s --max-size 2G --max-events 9 --format jsonl --anonymize=host --rotate-size off \
	--compress none --no-snapshots --snapshot-system on --snapshot-process off --snapshot-depth 4 --print-session
no_err
cp "$work/out" "$work/kept"
out '^min-latency=5ms$'
out '^duration=90s$'
out '^max-size=2G$'
check_config 0 "$work/kept"
no_err
expect 0 start kept --vfs --print-session
printf '# /etc/iotracer/sessions.d/kept.session\n[Session]\nvfs=yes\n' | cmp - "$work/out" || fail 'start --print-session'
expect 0 start kept --vfs --path $'/\xff' --print-session --json
json
out '"name":"kept","file":".*\\n.Session.\\nvfs=yes\\npath=/\\\\xff\\n"\}$'
expect 2 start ../kept --vfs --print-session
err "'../kept' cannot be the name of a session"
expect 2 start kept --vfs --tree --print-session
expect 2 start kept --vfs --pid 1 --print-session
err '^iotracectl start: --pid: a file cannot declare it'
expect 2 start kept --vfs --path "/a\\" --print-session
err '^iotracectl start: --path: a line of a file cannot hold this value'
mkdir "$work/sessions.d"
sed 's/^duration=.*/duration=soon/' "$work/kept" >"$work/sessions.d/kept.session"
said='iotracerd --check-config with a declared session'
check_config 1 "$work/sessions.d/kept.session"
err "^$work/sessions.d/kept.session:[0-9]+: duration=soon: write a time such as 30s"
check_config 1 "$work/good"
err "^$work/sessions.d/kept.session:[0-9]+: duration=soon: write a time such as 30s"
expect 1 reload
err "$work/sessions.d/kept.session:[0-9]+: duration=soon"
printf '[Session]\nvfs=yes\n' >"$work/sessions.d/kept.session"
expect 0 reload
await 'the declared session runs' sh -c "'$client' --socket '$socket' list | grep -q '^kept  *running .* file '"
expect 0 start other --vfs
expect 0 list
out '^other  *running .* client '
rm "$work/sessions.d/kept.session"
expect 0 reload
await 'the declared session has ended' sh -c "! '$client' --socket '$socket' list | grep -q '^kept '"
expect 0 stop other
rm -r "$work/sessions.d"

said='iotracerd --dump-config'
printf '[Storage]\nKeepFree=2G\nMaxUse=20G\n[Daemon]\nResume=no\n[Daemon]\nResume=\n[System S]\nCommand=s\n' >"$work/good.d/1.conf"
"$daemon" --config "$work/good" --dump-config >"$work/out" 2>"$work/err" || fail "$said"
no_err
dumped() { # COMMENT LINE
	grep -Fx -A1 "# $1" "$work/out" | grep -qFx -- "$2" || fail "$said: $2 is not of $1"
}
dumped "$work/good.d/1.conf:3" MaxUse=20G
dumped "$work/good.d/1.conf:2" KeepFree=2G
dumped "$work/good.d/1.conf:9" Command=s
dumped 'the default' Resume=yes
cp "$work/out" "$work/again"
"$daemon" --config "$work/again" --dump-config | grep -v '^#' | cmp - <(grep -v '^#' "$work/out") || fail "$said of what it printed"
printf 'MaxUse=1\n' >"$work/good.d/1.conf"
"$daemon" --config "$work/good" --dump-config >"$work/out" 2>"$work/err" && fail "$said of what cannot be used"
err "^$work/good.d/1.conf:1: 'MaxUse=1' stands before any section$"

expect 0 version
out '^iotracerd [0-9.]+$'
expect 0 list
out 'No session'
expect 0 list --json
json
expect 5 tail
err '^iotracectl: no session is running$'
err "^Start one, as with 'iotracectl start --vfs'"

expect 0 start --vfs --block
out "^default: recording vfs, block into $work/traces/default/"
no_err
expect 1 start --vfs
err "'default' is running already"
expect 1 start --vfs --json
json
err "'default' is running already"
expect 0 set default --path here --sample vfs=2 --clear pid,cgroup,cache-sample-rate
out '^default: running'
expect 5 set nobody --errors
expect 1 start other --vfs --output "$work"
err "cannot write to $work: .* must be empty"
expect 2 start other --vfs --uid no-such-user
err "--uid: there is no user 'no-such-user'"
expect 2 start other --vfs --device /dev/null
err '--device: .*/dev/null'
expect 2 start other --vfs --operation FLY
err "--operation: .*'FLY'.*: there are READ, WRITE, OPEN"
expect 2 start other --vfs --operation opne
err "--operation: .*'opne', did you mean 'OPEN'\?: there are READ, "
expect 2 start other --vfs --operation SEND
err "--operation: 'SEND' is an operation of other streams: iouring, net$"
expect 2 start other --vfs --operation vsf.READ
err "--operation: there is no stream 'vsf', did you mean 'vfs'\?: there are vfs, block"
expect 2 start other --all --operation FLY
err "'iotracectl streams' lists them"
expect 2 start other --vfs --keep-size 100K
err '--keep-size: 100 KiB is too small: the minimum is 1 MiB$'
expect 2 start other --vfs --queue-size 257M
err '--queue-size: the memory for rows that wait for the disk is from 1 MiB to 256 MiB$'
expect 2 start other --vfs --rotate-size 1.5K
err '--rotate-size: 1.5 KiB is too small: the minimum is 64 KiB, or 0 for never$'
expect 2 start other --vfs --rotate-interval 5ms
err '--rotate-interval: 5ms is too small: the minimum is 100ms, or 0 for never$'
expect 2 start other --net --device 8:0
err '^iotracectl: --device: rows of net have no device'
expect 2 start other --cache --errors
err '^iotracectl: --errors: rows of cache have no error'
expect 2 record --drop -- true
err '^iotracectl: rows of drop have no process'
expect 2 set default --device 8:0 --path / --pid 4194304
err '^iotracectl: --pid: there is no process 4194304$'
expect 2 top --conn --min-size 1
err '^iotracectl: --min-size: rows of conn have no size'
expect 0 start warned --vfs --cache --errors
err "^iotracectl: warning: rows of cache have no error: the filter 'errors'"
expect 0 set warned --device 4000:77 --json
json
out '"warnings":\["no disk or file system has the device number 4000:77 now"\]'
expect 0 stop warned
"$systemd" "$work/bus" &
await 'systemd listens' [ -S "$work/bus" ]
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus
expect 0 start units --vfs --unit known --unit strange --json
json
out '"warnings":\["systemd knows no unit strange.service: [^"]*"\]'
err '^iotracectl: warning: systemd knows no unit strange.service: '
wait $!
expect 0 set units --unit strange # systemd has gone
no_err
expect 0 stop units
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent
expect 0 record --vfs --drop --name mixed -- true
err '^iotracectl: warning: rows of drop have no process'
expect 2 start ../etc --vfs
err "^iotracectl: a session's name is"
cd "$work" || exit 1
expect 0 start here --vfs --pid 1,2 --tree --uid root,7 --min-latency 5ms --min-size 1.5M --output ./sub
out "into $PWD/sub\$"
expect 0 list --json
json
expect 0 status
out '^here: running'
expect 0 status here --json
json
expect 5 status nowhere
await_rows here
expect 0 rotate here
out "^$PWD/sub/fs/fs_000001.csv\$"
expect 5 rotate nowhere
mkdir -p tree/1/2/3/4/5
expect 0 snapshot filesystem --root "$PWD/tree" --depth 4 --output "$PWD/snap"
out "^$PWD/snap/filesystem_snapshot/filesystem_snap_000001.csv.gz .5 rows"
expect 0 snapshot here --root "$PWD/tree" --json
json
out '"kind":"process",.*"rows":1,'
expect 5 snapshot nowhere
expect 2 snapshot nonsense here
expect 2 snapshot process here --output sub
expect 1 snapshot filesystem --root /absent
err '^iotracectl: no snapshot was taken: /absent: No such file'
expect 6 snapshot --root /absent
err '^iotracectl: filesystem: /absent: No such file'
expect 2 start other --vfs --snapshot-process often
expect 0 streams
out 'READ'
expect 0 doctor
out '^no +function hooks +not here$'
out '^ok +self-test '
out '^ok +vfs.READ +[0-9]+ rows +fake$'
out '^ok +iouring.LISTEN +not tried +fake$'
out '^ok +block.FLUSH +no row, none due +fake$'
expect 0 reload
expect 5 tail nowhere
no_out
expect 2 tail
err '^iotracectl: several sessions run: name one of default, '
expect 2 tail here --stream zfs
err "--stream: there is no stream 'zfs', did you mean 'vfs'\?: there are vfs, block"

# Rows until the session ends, and until the reader does.
("$client" --socket "$socket" tail here --json >"$work/rows"; echo $? >"$work/code") &
await 'a tail shows rows' [ -s "$work/rows" ]
expect 0 stop here
wait $!
[ "$(cat "$work/code")" = 0 ] || fail 'tail does not end with its session'
head -1 "$work/rows" | grep -q '^{"stream":"vfs","columns":{' || fail 'tail shows no row'
head -1 "$work/rows" | grep -q '"pid":[0-9]' || fail 'a number is no number'
timeout 10 bash -c "'$client' --socket '$socket' tail default | head -1" >"$work/out" 2>"$work/err"
said='tail | head'
out '^TIME'
no_err

# A path may hold any byte; what a terminal would obey stands nowhere.
odd=$work/$'odd\e[31m\xc2\x9b7m\nline'
printable() { LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$work/out" "$work/err" && fail "$said: control characters"; }
expect 0 start odd --vfs --output "$odd"
printable
out 'recording vfs into .*/odd\?\[31m\?7m\?line$'
await_rows odd
expect 0 rotate odd
printable
out '/odd\?\[31m\?7m\?line/fs/fs_000001.csv$'
expect 0 stop odd
printable
out 'files are in .*/odd\?\[31m\?7m\?line$'
expect 0 record --vfs --name odd --output "$odd again" -- true
printable
expect 2 set odd --clear $'\e[31m'
printable
expect 0 start odd --vfs --flight-recorder 1M
expect 0 dump odd --output "$odd dumped"
printable
out 'dumped into .*/odd\?\[31m'
expect 0 stop odd

# Memory instead of files.
expect 2 start flight --vfs --flight-recorder 100K
err '--flight-recorder: .*1 MiB'
expect 2 start flight --vfs --flight-recorder 1M --output "$work/flight"
expect 0 start flight --vfs --flight-recorder 1M
expect 0 dump flight --output "$work/flight"
out 'flight: dumped into .*/flight$'
no_err
await 'older rows are overwritten' prints '^  vfs( +[1-9][0-9,]*){3} ' status flight
expect 0 dump flight --last 1m --json
json
out '"whole":false,'
err 'reaches back [0-9.]+m?s only: older rows are overwritten'
answer '{"dump":{"name":"flight","from_mono_ns":1000000000,"to_mono_ns":4000000000,"whole":false}}'
expect 0 dump flight --last 1m --socket "$work/peer"
err 'reaches back 3s only'
prlimit --pid "$daemon_pid" --fsize=0:
expect 1 dump flight --output "$work/full"
err "cannot write in $work/full: File too large"
prlimit --pid "$daemon_pid" --fsize=unlimited:
expect 2 dump
expect 2 dump default
expect 5 dump nowhere
expect 0 stop flight

# Of all sessions, those that fail take nothing from the others.
answer '{"closed":["/a/fs_000001.csv"],"failed":[{"name":"torn","reason":"No such file or directory"}]}'
expect 1 rotate --socket "$work/peer"
out '^/a/fs_000001.csv$'
err '^iotracectl: session torn: No such file or directory$'

# Status, and its cost; again and again.
await 'the cost is known' prints 'daemon [0-9.]+ % .*, BPF programs 0.[0-9]+ % .[0-9,]+ runs a second of [0-9]+ns' status
answer '{"version":"7","pid":4711,"uptime":3,"sessions":[],"cost":{"cpu_ns":5000000000,"cpu_ns_per_s":15000000,
	"bpf":{"ns_per_s":2500000,"runs_per_s":10000,"ns_per_run":250}},"own":{"processes":3,"operations":12345}}'
expect 0 status --socket "$work/peer"
out '^iotracerd 7, process 4711, up 3s$'
out 'daemon 1.50 % .5s so far., BPF programs 0.25 % .10,000 runs a second of 250ns.$'; out '^left out: what 3 processes of iotracer itself do .12,345 operations so far.$'
out '^No session is running'
expect 2 status --watch=1ms
expect 5 status nowhere --watch
"$client" --socket "$socket" status --watch=100ms >"$work/out" 2>"$work/err" &
watcher=$!
blocks() { [ "$(grep -c '^iotracerd' "$work/out")" -gt "$1" ]; }
await 'blocks of status --watch' blocks 2
kill -INT $watcher
wait $watcher || fail "an interrupted status --watch ends with $?"
said='status --watch'
no_err

expect 0 stop default --json
json
expect 5 stop default
expect 0 stop --all
expect 0 stop --all
out 'No session'

# Commands recorded.
expect 0 record --vfs -- sh -c 'echo hello'
out '^hello$'
err 'record-[0-9]+: recorded'
expect 7 record --vfs -- sh -c 'exit 7'
expect 137 record --vfs -- sh -c 'kill -KILL $$'
expect 127 record --vfs -- "$work/no-such-command"
err 'cannot run'
expect 126 record --vfs -- "$work/conf"
expect 0 record --vfs --json -- true
json

# A quick snapshot is waited for, one that takes its time is not.
touch "$work/held"
expect 0 record --vfs --name lacking --snapshot-process 1h -- true
err '^iotracectl: the trace has no process snapshot: the session ended before$'
(expect 0 record --vfs --name slow --snapshot-process 1h --json -- touch "$work/done"; exit $((failures > 0))) &
await 'the command ends' [ -e "$work/done" ]
await 'the snapshot begins' prints '"process":\{"state":"running"' status slow --json
rm "$work/held"
wait $! || failures=$((failures + 1))
said='record with a slow snapshot'
out '"process":\{.*"state":"done"\}'
expect 1 record --vfs --name gone -- "$client" --socket "$socket" stop gone
err 'ended before the command did'
expect 0 record --vfs --name brief --duration 50ms -- sleep 0.5
expect 0 list
out 'No session'

# Commands that are counted.
expect 7 amplification -- sh -c 'echo hello; exit 7'
out '^hello$'
out '^COMMAND +SYS_R'
out '^sh +0 '
out '^\(machine\) +0 '
expect 137 amplification -- sh -c 'kill -KILL $$'
expect 127 amplification -- "$work/no-such-command"
err 'cannot run .*/no-such-command: No such file'
no_out
expect 126 amplification -- "$work/conf"
expect 0 amplification --json -- true
json
out '"exit_code":0'
out '"command":\{"read"'
expect 0 amplification --csv -- true
out '^command,read_amplification'
out '^true,'
out '^\(machine\),'
expect 2 amplification true
expect 2 amplification true -- true
err "'true' is one argument too many"
expect 2 amplification --
err "a command is missing behind '--'"
expect 2 amplification --duration 1s -- true
err '--duration and a command exclude each other'
expect 2 amplification --watch -- true
expect 2 amplification --system etcd -- true
expect 2 amplification --settle
err '--settle needs a command'
expect 0 amplification --settle=1s -- true

# A signal for the recorder is one for the command.
"$client" --socket "$socket" record --vfs -- sh -c "touch '$work/begun'; exec sleep 30" 2>"$work/err" &
recorder=$!
await 'the command begins' [ -e "$work/begun" ]
kill -TERM $recorder
wait $recorder
[ $? = 143 ] || fail 'the signal does not reach the command'

# The daemon ends while a command is recorded; clients see it end.
"$client" --socket "$socket" record --vfs -- \
	sh -c "touch '$work/begun again'; while [ -S '$socket' ]; do sleep 0.05; done" 2>"$work/err" &
recorder=$!
await 'the command begins' [ -e "$work/begun again" ]
stop_daemon || fail "the daemon ends with $?"
wait $recorder
[ $? = 1 ] || fail 'the end of the daemon goes unnoticed'
grep -q 'the daemon has ended' "$work/err" || fail 'record does not say that its daemon has ended'
[ ! -e "$socket" ] || fail 'the socket is left behind'
expect 3 list

# A kernel that lacks hooks and loses rows.
FAKE_KERNEL='undirtied hookless=block.DISCARD hookless=drop hookless=vfs.SYNC hookless=vfs.FLOCK silent=vfs.READ loses=10' start_daemon
expect 6 start partial --all
err '^iotracectl: not recorded: vfs [A-Z]+, [A-Z]+: this kernel has no hook for it$'
err '^iotracectl: not recorded: drop TCP_RETRANSMIT: '
err '^iotracectl: not recorded: block: who made pages dirty is not known$'
expect 6 start nohook --drop
err "^iotracectl: nothing of what was asked can be recorded on this kernel: the kernel refuses the hooks of these streams$"
await 'losses' prints '^  vfs .* ([0-9,]+) \(ring \1\) ' status partial
expect 0 status partial
out '^  missing  block DISCARD: this kernel has no hook for it$'
out '^  missing  block writeback_dirty_folio: who made pages dirty is not known$'
expect 0 stop partial
expect 6 doctor
out '^no +dirtier +who made pages dirty is not known$'
out '^no +vfs.READ +no row +fake$'
out '^no +block.DISCARD +this kernel has no hook for it$'
expect 6 doctor --json
json
expect 0 streams
out '^  WRITE +fake$'
out '^  DISCARD +not available: this kernel has no hook for it$'
expect 6 record --block --name partial -- true
expect 3 record --block --name partial -- sh -c 'exit 3'
stop_daemon || fail "the daemon ends with $?"

# What is left of a killed daemon is no obstacle.
start_daemon
kill -KILL "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
[ -S "$socket" ] || fail 'no stale socket to try with'
expect 3 list
start_daemon
expect 0 list

# Where stdin, stdout or stderr is closed, nothing that is opened takes its place, and what is printed goes nowhere else.
"$client" --socket "$socket" list >&- 2>"$work/err" && fail 'a list that nobody can read is a success'
err '^iotracectl: cannot write the output: Bad file descriptor$'
"$daemon" --runtime-dir "$work/closed" --log-dir "$work/closed" --state-dir "$work/closed" --config "$work/conf" <&- >&- 2>&- &
closed=$!
await 'a daemon that can say nothing answers' "$client" --socket "$work/closed/io.iotracer" list
for fd in 0 1 2; do
	[ "$(readlink /proc/$closed/fd/$fd)" = /dev/null ] || fail "the daemon has $(readlink /proc/$closed/fd/$fd) as $fd"
done
kill "$closed"
wait "$closed" || fail 'a daemon that can say nothing ends badly'

# A reload takes up a new level, and names what it does not understand and what it cannot take up.
printf '[Daemon]\nLogLevel=debug\nBogus=1\n[Buffers]\nRingSize=1M\n' >"$work/conf"
expect 0 reload
grep -q "$work/conf:3:" "$work/log" || fail 'a bad line is not named'
err "^iotracectl: warning: $work/conf:3: \[Daemon\] has no key Bogus$"
err '^iotracectl: warning: \[Buffers\] RingSize has changed, and is taken up when the daemon starts next$'
expect 0 reload --json
json

# A session's file that cannot be used keeps back that session alone, and this is what the hint says.
mkdir "$work/sessions.d"
printf '[Session]\nvfs=perhaps\n' >"$work/sessions.d/bad.session"
printf '[Session]\nvfs=yes\n' >"$work/sessions.d/good.session"
expect 1 reload
err "sessions.d/bad.session:2: vfs=perhaps: write yes or no"
err '^The sessions of these files stay as they were; all else was taken up'
await 'the good one runs' prints 'good +running' list
rm -r "$work/sessions.d"
expect 0 reload

# One that cannot be used is told to who asked, and nothing of it is taken up.
printf '[Daemon]\nLogLevel=error\n[Storage]\nMaxUse=10Q\nKeepFree=\xff\n' >"$work/conf"
expect 1 reload
err "^iotracectl: $work/conf:4: MaxUse=10Q: it is no size"
err "^iotracectl: $work/conf:5: KeepFree=.xff: it is no size"
err '^Nothing was changed'
expect 1 reload --json
json
out '"error":"io.iotracer.BadConfiguration","parameters":.*/conf:4: MaxUse=10Q: '
mkdir "$work/conf.d"
echo 'Depth=1' >"$work/conf.d/1.conf"
echo '[Daemon]' >"$work/conf"
expect 1 reload
err "conf.d/1.conf:1: 'Depth=1' stands before any section"
rm -r "$work/conf.d"
mv "$work/conf" "$work/gone"
expect 1 reload
err "$work/conf: No such file"
mv "$work/gone" "$work/conf"
before=$(grep -c 'configuration reloaded' "$work/log")
echo '[Daemon]' >"$work/conf"
kill -HUP "$daemon_pid"
reloads() { [ "$(grep -c 'configuration reloaded' "$work/log")" = "$1" ]; }
await 'SIGHUP reloads' reloads $((before + 1))
expect 0 list
kill -INT "$daemon_pid"
wait "$daemon_pid" || fail 'an interrupted daemon ends badly'
daemon_pid=

exit $((failures > 0))
