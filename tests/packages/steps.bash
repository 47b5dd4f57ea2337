# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# How the steps in a machine are written, and what packages of both kinds have to do. Sourced by guest.

passed=0 failed=0 wrong=
conf=/etc/iotracer/iotracerd.conf
load=/root/load

# must WHAT COMMAND...: the step fails when the command does
must() {
    local what=$1 said
    shift
    said=$("$@" 2>&1) || wrong+="# $what: ${said##*$'\n'}"$'\n'
}

not() {
    ! "$@"
}

step_ended() { # NAME
    if [[ -z $wrong ]]; then
        echo "ok packages/$1 ($((SECONDS - begun)) s)"
        passed=$((passed + 1))
    else
        printf 'not ok packages/%s\n%s' "$1" "$wrong"
        journalctl -u iotracerd -o cat -n 20 | sed 's/^/# /'
        failed=$((failed + 1))
    fi
    wrong="" begun=$SECONDS
}
begun=$SECONDS

pid_of_service() {
    systemctl show -P MainPID iotracerd
}

served() {
    timeout 120 bash -c 'until iotracectl list; do sleep 0.5; done'
}

# Rows of the session that are in files, of all its folders.
rows_written() {
    iotracectl status kept --json |
        python3 -c 'import re, sys; print(sum(map(int, re.findall(r"\"written\": *([0-9]+)", sys.stdin.read()))))'
}

more_than() { # ROWS
    local tries
    for ((tries = 0; tries < 120; tries++)); do
        [[ $(rows_written) -le $1 ]] || return 0
        sleep 0.5
    done
    return 1
}

verified() { # every folder of the session
    local folder
    for folder in /var/log/iotracer/kept/*/; do
        iotracectl verify "$folder" || return 1
    done
}

folders_of_session() {
    find /var/log/iotracer/kept -mindepth 1 -maxdepth 1 -type d | wc -l
}

# What is there once a package is installed and its service started, whatever its kind.
must_serve() {
    must 'the service is active' systemctl is-active iotracerd
    must 'it is started with the machine' systemctl is-enabled iotracerd
    must 'its client is answered' served
    must 'there is a group for each role' getent group iotracer iotracer-read
    must 'the traces are the groups' test "$(stat -c %U:%G:%a /var/log/iotracer)" = root:iotracer:750
    must 'the journal explains its messages' journalctl --dump-catalog 914e6d6e19b54f0090a376d769fd6b1d
}

# A session and an administrator's line in the configuration outlive the command.
must_upgrade_under_load() { # COMMAND...
    local writer before
    must 'a session starts' iotracectl start kept --vfs --command dd
    while :; do dd if=/dev/zero of="$load" bs=4k count=8 conv=fsync status=none; done &
    writer=$!
    must 'rows come' more_than 0
    printf '[Storage]\nMaxUse=1G\n' >>"$conf"
    before=$(pid_of_service)
    must "$1" "$@"
    must 'the service is active' systemctl is-active iotracerd
    must 'its client is answered' served
    must 'it was started again' test "$(pid_of_service)" != "$before"
    must 'rows come after the upgrade' more_than 0
    must 'the session has a folder of each' test "$(folders_of_session)" = 2
    must 'what the administrator wrote stays' grep -qx MaxUse=1G "$conf"
    kill "$writer"
    wait "$writer" 2>/dev/null
    must 'the session stops' iotracectl stop kept
    must 'both of its folders are whole' verified
}

must_be_gone() {
    must 'no service is left' not systemctl is-active iotracerd
    must 'no socket is left' not test -e /run/iotracer
    must 'no daemon is left' not pgrep -x iotracerd
    must 'traces stay' test "$(folders_of_session)" = 2
}
