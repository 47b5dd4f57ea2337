# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The files that rules apply to. Sourced by the checks, which run in the project's folder.

# Every file of the project but what was built. Not from git: a source archive has none.
all_files() {
    find . \( -name .git -o -path './build*' -o -name __pycache__ \) -prune -o -type f -print | sed 's,^\./,,' | LC_ALL=C sort
}

# Those that are a program's text: by their name, or by their first line.
source_files() {
    local file
    all_files | while read -r file; do
        case $file in
        *.c | *.h | *.S | *.def | *.py | *.bash | *.sh | *.awk | *.cmake | *.cmake.in | */CMakeLists.txt | \
            CMakeLists.txt | systemd/*) echo "$file" ;;
        *) [[ $(head -c 2 "$file" | tr -d '\0') != '#!' ]] || echo "$file" ;;
        esac
    done
}

shell_files() {
    local file
    source_files | while read -r file; do
        if [[ $file == *.bash ]] || head -n 1 "$file" | grep -qE '^#!.*[/ ](ba)?sh\b'; then
            echo "$file"
        fi
    done
}

# Prints its input and fails when there is any.
none() {
    local found
    found=$(cat)
    [[ -z $found ]] || { echo "$found" && return 1; }
}
