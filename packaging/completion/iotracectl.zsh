#compdef iotracectl
# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of iotracectl for zsh. It knows verbs, options and their values, sessions that run, and traces; and it is
# silent where the daemon does not run or does not let the user in.

# What the client says that is called, of the daemon whose socket the line names.
_iotracectl_list() {
    timeout 2 $client $socket list --json 2>/dev/null </dev/null
}

_iotracectl_sessions() {
    local -a names=(${(f)"$(_iotracectl_list | grep -oE '"name": ?"[A-Za-z0-9_.-]+", ?"state"' | cut -d '"' -f 4)"})
    compadd -a names
}

# Folders of sessions, where the daemon tells them and where they are by default.
_iotracectl_traces() {
    local -a traces=(${(f)"$(_iotracectl_list | grep -oE '"output": ?"[^"\\]+"' | cut -d '"' -f 4)"})
    traces+=(/var/log/iotracer/*/*/manifest.json(N:h))
    compadd -a traces
    _files -/
}

_iotracectl_folders() { _files -/ }
_iotracectl_files() { _files }
_iotracectl_disks() { _files }
_iotracectl_users() { _sequence _users }
_iotracectl_nothing() { true }
_iotracectl_command() { if (( dashes )) _normal }

@zsh_tables@

_iotracectl() {
    local curcontext=$curcontext state client=$words[1]
    local -a socket line
    integer at=${words[(I)--socket]} dashes=${words[1,CURRENT-1][(I)--]}
    if (( at && at < CURRENT )); then
        socket=(--socket $words[at+1])
    fi
    socket+=(${(M)words:#--socket=*})
    _arguments -C $_iotracectl_globals '1:verb:_iotracectl_verbs' '*::argument:->arguments'
    if [[ $state == arguments ]]; then
        _iotracectl_verb $words[1]
    fi
}

_iotracectl "$@"
