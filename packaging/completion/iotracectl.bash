# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154,SC2206,SC2207
# Completion of iotracectl for bash. It knows verbs, options and their values, sessions that run, and traces; and it is
# silent where the daemon does not run or does not let the user in.

@bash_tables@

# The client as it is called, with the socket that the line names.
_iotracectl_list() {
    local socket=() at
    for ((at = 1; at < COMP_CWORD; at++)); do
        [[ ${COMP_WORDS[at]} != --socket ]] || socket=(--socket "${COMP_WORDS[at + 1]}")
        # A line is split at "=" too.
        [[ ${COMP_WORDS[at]}${COMP_WORDS[at + 1]-} != --socket= ]] || socket=(--socket "${COMP_WORDS[at + 2]-}")
    done
    timeout 2 "${COMP_WORDS[0]}" "${socket[@]}" list --json 2>/dev/null </dev/null
}

_iotracectl_sessions() {
    _iotracectl_list | grep -oE '"name": ?"[A-Za-z0-9_.-]+", ?"state"' | cut -d '"' -f 4
}

# Folders of sessions, where the daemon tells them and where they are by default.
_iotracectl_traces() {
    local manifest
    _iotracectl_list | grep -oE '"output": ?"[^"\\]+"' | cut -d '"' -f 4
    for manifest in /var/log/iotracer/*/*/manifest.json; do
        [[ ! -e $manifest ]] || dirname "$manifest"
    done
}

_iotracectl_offer() { # CURRENT WORD...
    local current=$1
    shift
    COMPREPLY+=($(compgen -W "$*" -- "$current"))
}

# The last of several values that commas separate.
_iotracectl_offer_list() { # CURRENT WORD...
    local current=$1 before='' word
    shift
    [[ $current != *,* ]] || before=${current%,*},
    for word in $(compgen -W "$*" -- "${current##*,}"); do
        COMPREPLY+=("$before$word")
    done
    compopt -o nospace 2>/dev/null
}

# The name of an operation in any stream, or as STREAM.OPERATION.
_iotracectl_offer_operations() { # CURRENT
    local last=${1##*,} stream name
    local -A names=()
    for stream in $_iotracectl_streams; do
        for name in ${_iotracectl_operations[$stream]}; do
            if [[ $last == *.* ]]; then
                names[$stream.$name]=
            else
                names[$name]=
            fi
        done
    done
    _iotracectl_offer_list "$1" "${!names[@]}"
}

_iotracectl_offer_names() { # CURRENT: of files
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$1")
}

_iotracectl_offer_folders() { # CURRENT
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$1")
}

_iotracectl_offer_traces() { # CURRENT
    local trace
    _iotracectl_offer_folders "$1"
    while read -r trace; do
        [[ $trace != "$1"* ]] || COMPREPLY+=("$trace")
    done < <(_iotracectl_traces)
}

_iotracectl_offer_kind() { # CURRENT KIND [WORD...]
    local current=$1 kind=$2
    shift 2
    case $kind in
    sessions) _iotracectl_offer "$current" "$(_iotracectl_sessions)" ;;
    traces) _iotracectl_offer_traces "$current" ;;
    verbs) _iotracectl_offer "$current" "$_iotracectl_verbs" ;;
    streams) _iotracectl_offer_list "$current" "$_iotracectl_streams" ;;
    filters) _iotracectl_offer_list "$current" "$_iotracectl_filters" ;;
    operations) _iotracectl_offer_operations "$current" ;;
    users) _iotracectl_offer_list "$current" "$(compgen -u)" ;;
    samples)
        compopt -o nospace 2>/dev/null
        COMPREPLY+=($(compgen -S = -W "$_iotracectl_streams" -- "$current"))
        ;;
    commands) COMPREPLY+=($(compgen -c -- "$current")) ;;
    folders) _iotracectl_offer_folders "$current" ;;
    files | disks) _iotracectl_offer_names "$current" ;;
    words) _iotracectl_offer "$current" "$*" ;;
    esac
}

# Sets verb, and command to the place of the command's first word behind "--".
_iotracectl_find_verb() {
    local at word
    verb=- command=0
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        case $word in
        --) command=$((at + 1)) && return ;;
        --socket)
            [[ ${COMP_WORDS[at + 1]} != = ]] || at=$((at + 1))
            at=$((at + 1))
            ;;
        -* | =) ;;
        *) [[ $verb != - ]] || verb=$word ;;
        esac
    done
}

_iotracectl_complete_option() { # CURRENT
    local option
    _iotracectl_offer "$1" "${_iotracectl_options[$verb]}"
    for option in "${!COMPREPLY[@]}"; do
        # Both "--pid 1" and "--pid=1" are taken; the blank is what shows that a value is to follow.
        COMPREPLY[option]=${COMPREPLY[option]%=}
    done
}

_iotracectl_complete_argument() { # CURRENT
    local kinds=(${_iotracectl_arguments[$verb]-}) at
    for at in "${!kinds[@]}"; do
        case ${kinds[at]} in
        words) _iotracectl_offer_kind "$1" "${kinds[@]:at}" && break ;;
        commands) ;; # they stand behind --
        *) _iotracectl_offer_kind "$1" "${kinds[at]}" ;;
        esac
    done
}

_iotracectl() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb command value
    COMPREPLY=()
    _iotracectl_find_verb
    if [[ $command -gt 0 ]]; then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$command"
        else
            _iotracectl_offer_kind "$current" commands
        fi
        return
    fi
    # A line is split at "=" too.
    if [[ $current == = ]]; then
        current=''
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    value=(${_iotracectl_values["$verb $before"]-})
    if [[ ${#value[@]} -gt 0 ]]; then
        _iotracectl_offer_kind "$current" "${value[@]}"
    elif [[ $current == -* ]]; then
        _iotracectl_complete_option "$current"
    elif [[ $verb == - ]]; then
        _iotracectl_offer "$current" "$_iotracectl_verbs"
    else
        _iotracectl_complete_argument "$current"
    fi
}

complete -F _iotracectl iotracectl
