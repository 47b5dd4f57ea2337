#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# man and mandoc have nothing to say against the manual pages, and iotracectl(1) has each verb and each of its options.
# Usage: pages.bash FOLDER IOTRACECTL
set -u

folder=$1
client=$2
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

for program in man mandoc; do
    command -v "$program" >/dev/null || { echo "there is no $program" && exit 77; }
done

for page in iotracectl.1 iotracerd.8 iotracerd.conf.5 iotracer.session.5 iotracer-trace.5; do
    said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$folder/$page" 2>&1 >/dev/null)
    [[ -z $said ]] || fail "man on $page: $said"
    said=$(mandoc -T lint -W warning "$folder/$page")
    [[ -z $said ]] || fail "mandoc on $page: $said"
    ! grep -nE '@[a-z_]+@|^$' "$folder/$page" || fail "$page has what was not filled in"
done

text=$(MANWIDTH=120 LC_ALL=C man -l "$folder/iotracectl.1" | col -b)
verbs=$("$client" help | sed -nE 's/^  ([a-z]+) +[a-z].*/\1/p' | grep -vx iotracectl)
[[ $(wc -l <<<"$verbs") -gt 15 ]] || fail "help shows few verbs: $verbs"
for verb in $verbs; do
    grep -qE "^       iotracectl $verb( |$)" <<<"$text" || fail "iotracectl(1) has no verb $verb"
    for option in $("$client" help "$verb" | sed -nE 's/^  (--[a-z0-9-]+).*/\1/p'); do
        grep -qE -- "^       $option(\$|[ =[])" <<<"$text" || fail "iotracectl(1) has no option $option of $verb"
    done
done

# The journal takes its catalogue, whole.
if command -v journalctl >/dev/null; then
    root=$(mktemp -d)
    trap 'rm -r "$root"' EXIT
    mkdir -p "$root/usr/lib/systemd/catalog" "$root/var/lib/systemd/catalog"
    cp "$folder/iotracer.catalog" "$root/usr/lib/systemd/catalog/"
    said=$(journalctl --root "$root" --update-catalog 2>&1) || fail "journalctl --update-catalog: $said"
    known=$(journalctl --root "$root" --dump-catalog | grep -c '^-- ')
    [[ $known -gt 20 && $known -eq $(grep -c '^-- ' "$folder/iotracer.catalog") ]] || fail "the journal knows $known messages"
    for id in $(man -l "$folder/iotracerd.8" 2>/dev/null | grep -oE '^ +[0-9a-f]{32}'); do
        journalctl --root "$root" --dump-catalog "$id" | grep -q '^Subject: .' || fail "the journal does not explain $id"
    done
fi
[[ $failures -eq 0 ]]
