#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# workload.sh DIR
#
# Some seconds of plain I/O below DIR, for a first recording: writes that are flushed, reads past the page cache,
# small files that are made, renamed, listed and removed. DIR is empty again at the end.
set -eu

dir=$1

big_file() {
    dd status=none if=/dev/zero of="$dir/big" bs=64k count=64 conv=fsync
    # Not every file system lets itself be read past its cache.
    dd status=none if="$dir/big" of=/dev/null bs=16k iflag=direct || echo "no direct reads on this file system"
    dd status=none if="$dir/big" of=/dev/null bs=128k
    rm "$dir/big"
}

small_files() { # ROUND
    mkdir "$dir/$1"
    for number in 1 2 3 4 5 6 7 8 9 10; do
        echo "file $number of round $1" >"$dir/$1/new"
        mv "$dir/$1/new" "$dir/$1/$number"
    done
    ln "$dir/$1/1" "$dir/$1/linked"
    ln -s 2 "$dir/$1/to 2"
    sync "$dir/$1/3"
}

walk() {
    find "$dir" -type f -size +0 -exec cat {} + >/dev/null
    ls -lR "$dir" >/dev/null
}

for round in 1 2 3; do
    big_file
    small_files "$round"
    walk
    sleep 0.7
done
rm -r "$dir"/[123]
