#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# iotracerd --check-config judges owner and mode of what lies where a daemon reads it as that daemon does; what is named and lies
# elsewhere may be anybody's.
# Usage: check_config.bash IOTRACERD
set -u

daemon=$(realpath "$1")
work=$(mktemp -d)
failures=0
trap 'rm -rf "$work"' EXIT

# check CODE SENTENCE FILE: an empty sentence: nothing is said.
check() {
	"$daemon" --check-config "$3" >"$work/said" 2>&1
	code=$?
	if [ "$code" != "$1" ] || ! grep -qE -- "${2:-^none$}" <(if [ -s "$work/said" ]; then cat "$work/said"; else echo none; fi); then
		echo "FAILED: --check-config $3: exit code $code, not $1, or does not say '$2':"
		cat "$work/said"
		failures=$((failures + 1))
	fi
}

session=$work/etc/sessions.d/kept.session
mkdir -p "$work/etc/sessions.d" "$work/etc/main.d"
printf '[Storage]\nMaxUse=10G\n' | tee "$work/etc/main" >"$work/etc/main.d/1.conf"
printf '[Session]\nvfs=yes\n' | tee "$session" >"$work/one.session"
refused() { # SENTENCE
	check 1 "^$session: $1" "$work/etc/main"
	check 1 "^$session: $1" "$session"
	cd "$work/etc/sessions.d" || exit
	check 1 "^$session: $1" kept.session
	cd "$OLDPWD" || exit
}

check 0 '' "$work/etc/main"
check 0 '' "$session"
for mode in 666 622 664; do
	chmod $mode "$session"
	refused 'others than its owner may write it'
done
chmod 600 "$session"
if [ "$(id -u)" = 0 ]; then
	chown 1234 "$session"
	refused "it belongs neither to root nor to the daemon's user"
	chown 0 "$session"
fi
mv "$session" "$work/kept.session"
ln -s ../../kept.session "$session"
refused 'it is a symbolic link'
rm "$session"
chmod 666 "$work/etc/main.d/1.conf"
check 1 "^$work/etc/main.d/1.conf: others than its owner may write it" "$work/etc/main"
chmod 644 "$work/etc/main.d/1.conf"

# What is not in its place yet may be anybody's.
chmod 666 "$work/one.session" "$work/etc/main"
[ "$(id -u)" != 0 ] || chown 1234 "$work/one.session" "$work/etc/main"
check 0 '' "$work/one.session"
check 0 '' "$work/etc/main"
echo "$failures failures"
[ $failures = 0 ]
