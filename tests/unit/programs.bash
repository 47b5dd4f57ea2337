#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# iotracectl and a daemon on an engine that traces nothing: exit codes, what goes to stdout and to
# stderr, and how the daemon comes and goes.
# Usage: programs.bash IOTRACECTL FAKE_IOTRACERD
set -u

client=$1
daemon=$2
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

start_daemon() {
	"$daemon" --runtime-dir "$work/run" --config "$work/conf" 2>"$work/log" &
	daemon_pid=$!
	for _ in $(seq 100); do
		[ -S "$socket" ] && return
		sleep 0.05
	done
	echo "FAILED: the daemon does not start"
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

touch "$work/conf" "$work/out" "$work/err" "$work/log"

# Without a daemon.
expect 3 list
err "cannot reach the daemon at $socket"
expect 3 list --json
json
expect 0 version
out 'not reachable'
expect 0 --help
out 'Verbs'
no_err
for verb in start stop record list status set rotate tail top dump snapshot verify anonymize streams doctor reload version; do
	expect 0 $verb --help
	out "^Usage: iotracectl $verb"
	no_err
done

# Command lines that mean nothing.
expect 2
expect 2 bogus
err "no verb 'bogus'"
expect 2 list extra
expect 2 list --bogus
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
expect 2 start --cache --cache-sample-rate x
expect 2 start --vfs --path ''
expect 2 set
expect 2 set a
err 'no filter'
expect 2 set a b --errors
expect 2 set a --clear output
err 'no filter'
expect 2 stop
expect 2 record --vfs
expect 2 anonymize
expect 2 anonymize one
expect 2 anonymize one two three
expect 2 anonymize one two --key ''
no_out
expect 1 anonymize /nonexistent two
err '/nonexistent: No such file'
mkdir "$work/empty"
expect 1 anonymize "$work/empty" "$work/out-folder"
err 'this is no trace'
[ ! -e "$work/out-folder" ] || fail 'an output folder was made for nothing'

start_daemon
"$daemon" --runtime-dir "$work/run" --config "$work/conf" 2>"$work/err" && fail 'a second daemon starts'
said='a second daemon'
err "runs already: $socket"
"$daemon" --bogus 2>"$work/err"
[ $? = 2 ] || fail 'iotracerd --bogus'
"$daemon" --config "$work/none" 2>"$work/err"
[ $? = 1 ] || fail 'iotracerd with a configuration that is not there'

expect 0 version
out '^iotracerd [0-9.]+$'
expect 0 list
out 'No session'
expect 0 list --json
json

expect 0 start --vfs --block
out '^default: recording vfs, block into /'
no_err
expect 1 start --vfs
err "'default' runs already"
expect 1 start --vfs --json
json
err "'default' runs already"
expect 0 set default --path here --sample vfs=2 --clear pid,cgroup,cache-sample-rate
out '^default: running'
expect 5 set nobody --errors
expect 6 start partial --all
err 'not recorded: block DISCARD: '
expect 1 start nohook --vfs
expect 1 start other --vfs --output /refused
err 'the folder is not empty'
expect 2 start other --vfs --uid no-such-user
err "--uid: there is no user 'no-such-user'"
expect 2 start other --vfs --device /dev/null
err '--device: .*/dev/null'
expect 2 start other --vfs --operation FLY
err '--operation: .*FLY'
expect 2 start ../etc --vfs
cd "$work" || exit 1
expect 0 start here --vfs --pid 1,2 --tree --uid root,7 --min-latency 5ms --min-size 1.5M --output ./sub
out "into $PWD/sub\$"
expect 0 list --json
json
expect 0 status
out '^here: running'
out '3 \(queue 3\)'
expect 0 status here --json
json
expect 5 status nowhere
expect 0 rotate here
out '/fs/fs_000001.csv$'
expect 5 rotate nowhere
expect 0 snapshot filesystem --root /srv --depth 4 --output "$PWD/snap"
out "^$PWD/snap/filesystem_snapshot/filesystem_snap_000001.csv.gz .4 rows"
expect 0 snapshot here --json
json
expect 5 snapshot nowhere
expect 2 snapshot nonsense here
expect 2 snapshot process here --output sub
expect 1 snapshot --root /absent
err 'No such file'
expect 2 start other --vfs --snapshot-process often
expect 0 streams
out 'READ'
expect 0 doctor
out '^ok +BTF'
out '^ok +vfs.READ +7 rows +fake'
out '^ok +vfs.SYNC +not tried +fake'
expect 0 start silent --vfs
expect 6 doctor
out '^no +vfs.SYNC +no row +fake'
expect 6 doctor --json
json
expect 0 stop silent
expect 0 reload
expect 5 tail nowhere
no_out
expect 2 tail
err 'several sessions'
expect 2 tail here --stream zfs

# Rows until the session ends, and until the reader does.
("$client" --socket "$socket" tail here --json >"$work/rows"; echo $? >"$work/code") &
sleep 1
expect 0 stop here
wait $!
[ "$(cat "$work/code")" = 0 ] || fail 'tail does not end with its session'
head -1 "$work/rows" | grep -q '^{"stream":"vfs","columns":{' || fail 'tail shows no row'
timeout 10 bash -c "'$client' --socket '$socket' tail default | head -1" >"$work/out" 2>"$work/err"
said='tail | head'
out '^TIME'
no_err

# Memory instead of files.
expect 2 start flight --vfs --flight-recorder 100K
err '--flight-recorder: .*1 MiB'
expect 2 start flight --vfs --flight-recorder 1M --output "$work/flight"
expect 0 start flight --vfs --flight-recorder 1M
expect 0 dump flight --output "$work/flight"
out 'flight: dumped into .*/flight$'
no_err
expect 0 dump flight --last 1m
err 'reaches back 3s only'
expect 0 dump flight --json
json
expect 1 dump flight --output /full
err 'the disk is full'
expect 2 dump
expect 2 dump default
expect 5 dump nowhere
expect 0 stop flight

# Status, and its cost; again and again.
expect 0 status
out 'daemon 1.50 % .*BPF programs 0.25 %'
expect 2 status --watch=1ms
expect 5 status nowhere --watch
timeout -s INT 1 "$client" --socket "$socket" status --watch=200ms >"$work/out" 2>"$work/err"
said='status --watch'
[ "$(grep -c '^iotracerd' "$work/out")" -gt 2 ] || fail 'status --watch shows no blocks'
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
expect 6 record --vfs --name partial -- true
expect 3 record --vfs --name partial -- sh -c 'exit 3'
expect 0 record --vfs --json -- true
json
expect 1 record --vfs --name gone -- "$client" --socket "$socket" stop gone
err 'ended before the command did'
expect 0 record --vfs --name brief --duration 50ms -- sleep 0.5
expect 0 list
out 'No session'

# A signal for the recorder is one for the command.
"$client" --socket "$socket" record --vfs -- sleep 30 2>"$work/err" &
recorder=$!
sleep 1
kill -TERM $recorder
wait $recorder
[ $? = 143 ] || fail 'the signal does not reach the command'

# The daemon ends while a command is recorded; clients see it end.
"$client" --socket "$socket" record --vfs -- sleep 2 2>"$work/err" &
recorder=$!
sleep 1
stop_daemon || fail "the daemon ends with $?"
wait $recorder
[ $? = 1 ] || fail 'the end of the daemon goes unnoticed'
said='record without daemon'
err 'the daemon has ended'
[ ! -e "$socket" ] || fail 'the socket is left behind'
expect 3 list

# What is left of a killed daemon is no obstacle.
start_daemon
kill -KILL "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
[ -S "$socket" ] || fail 'no stale socket to try with'
expect 3 list
rm -f "$socket.gone"
start_daemon
for _ in $(seq 100); do
	"$client" --socket "$socket" list >/dev/null 2>&1 && break
	sleep 0.05
done
expect 0 list

# A reload takes up a new level and names what it does not understand.
printf '[Daemon]\nLogLevel=debug\nBogus=1\n' >"$work/conf"
expect 0 reload
grep -q "$work/conf:3:" "$work/log" || fail 'a bad line is not named'
echo '[Daemon]' >"$work/conf"
kill -HUP "$daemon_pid"
sleep 0.5
[ "$(grep -c 'configuration reloaded' "$work/log")" = 2 ] || fail 'SIGHUP does not reload'
expect 0 list
kill -INT "$daemon_pid"
wait "$daemon_pid" || fail 'an interrupted daemon ends badly'
daemon_pid=

[ $failures = 0 ] && echo "all is as it should be"
exit $((failures > 0))
