#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# promtool takes the alert rules, and each comes when it is to, and not otherwise.
# Usage: alerts.bash FOLDER
set -eu

command -v promtool >/dev/null || { echo 'there is no promtool' && exit 77; }
cd "$1"
promtool check rules iotracer.rules.yml
promtool test rules iotracer.test.yml
sed -nE 's/^ +- alert: //p' iotracer.rules.yml | while read -r alert; do
    grep -q "alertname=\"$alert\"" iotracer.test.yml || { echo "$alert has no test" && exit 1; }
done
