# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What deb and rpm share. Sourced by them, after they have set packaging.

# shellcheck disable=SC2154
project=$(dirname "$packaging")
# shellcheck disable=SC2034
version=$(sed -nE 's/^project\(iotracer VERSION ([0-9.]+).*/\1/p' "$project/CMakeLists.txt")
revision=1

# What stands in the packages as the time they were made: that of the last commit, or, of sources that came as an
# archive, of the file with the version in it.
if [[ -z ${SOURCE_DATE_EPOCH-} ]]; then
    SOURCE_DATE_EPOCH=$(git -C "$project" log -1 --format=%ct 2>/dev/null || stat -c %Y "$project/CMakeLists.txt")
fi
export SOURCE_DATE_EPOCH
export LC_ALL=C.UTF-8 TZ=UTC
umask 022

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

parse_package_options() { # KIND OPTION...: sets dir, and revision
    dir=$project/build/$1
    shift
    while [[ $# -gt 0 ]]; do
        case $1 in
        --dir) dir=$(realpath -m "${2:?--dir DIR}") ;;
        --revision) revision=${2:?--revision N} ;;
        *) echo "${0##*/}: there is no option $1" >&2 && exit 2 ;;
        esac
        shift 2
    done
    [[ $revision =~ ^[0-9]+$ ]] || die "--revision $revision is not a number"
    mkdir -p "$dir"
    # One at a time in a folder, whoever asks.
    exec 9>"$dir/lock"
    flock 9
}

require_program() { # NAME...
    local name
    for name in "$@"; do
        command -v "$name" >/dev/null || die "there is no $name: run packaging/install-deps package"
    done
}

# Without what was built, and without the folder that the copy is made in. Files that are installed as they are keep
# their time in the package, which says when they were checked out, so all have the time of the package.
copy_sources() { # FOLDER
    rm -rf "$1"
    mkdir -p "$1"
    tar --create --mtime="@$SOURCE_DATE_EPOCH" --directory="$project" --exclude-vcs --exclude='./build*' --exclude=__pycache__ \
        --anchored --exclude="./$(realpath --relative-to="$project" "$dir")" . | tar --extract --directory="$1"
}

explain_failure() {
    grep -nE -A 8 '(error|Error|ERROR)[: ]' "$dir/log" | head -n 40 >&2 || tail -n 20 "$dir/log" >&2
    die "failed; all of its output is in $dir/log"
}
