# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of iotracectl for fish. It knows verbs, options and their values, sessions that run, and traces; and it is
# silent where the daemon does not run or does not let the user in.

# Words of the line before the cursor: the verb is the first that is neither an option nor the socket's path.
function __iotracectl_find_verb
    set -l socket no
    for word in (commandline -opc)[2..]
        if test $socket = yes
            set socket no
        else if test "$word" = --socket
            set socket yes
        else if not string match -q -- '-*' $word
            echo $word
            return
        end
    end
end

function __iotracectl_no_verb
    test -z "$(__iotracectl_find_verb)"
end

function __iotracectl_verb
    test "$argv[1]" = "$(__iotracectl_find_verb)"
end

# Where the command begins that stands behind "--".
function __iotracectl_dashes
    contains -i -- -- (commandline -opc)
end

function __iotracectl_command
    __fish_complete_subcommand --fcs-skip=(__iotracectl_dashes)
end

# What the client says that is called, of the daemon whose socket the line names.
function __iotracectl_list
    set -l line (commandline -opc)
    set -l socket (string match -- '--socket=*' $line)
    set -l at (contains -i -- --socket $line)
    and set socket --socket $line[(math $at + 1)]
    timeout 2 $line[1] $socket list --json 2>/dev/null </dev/null
end

function __iotracectl_sessions
    __iotracectl_list | string match -rag '"name": ?"([A-Za-z0-9_.-]+)", ?"state"'
end

# Folders of sessions, where the daemon tells them and where they are by default.
function __iotracectl_traces
    __iotracectl_list | string match -rag '"output": ?"([^"\\\\]+)"'
    for manifest in /var/log/iotracer/*/*/manifest.json
        dirname $manifest
    end
    __fish_complete_directories (commandline -ct)
end

function __iotracectl_folders
    __fish_complete_directories (commandline -ct)
end

function __iotracectl_files
    __fish_complete_path (commandline -ct)
end

function __iotracectl_disks
    __fish_complete_path (commandline -ct)
end

function __iotracectl_users
    __fish_append , (__fish_complete_users | string split -f 1 \t)
end

function __iotracectl_streams
    __fish_append , $__iotracectl_streams
end

function __iotracectl_operations
    __fish_append , $__iotracectl_operations
end

function __iotracectl_filters
    __fish_append , $__iotracectl_filters
end

function __iotracectl_samples
    string replace -r '$' = $__iotracectl_streams
end

function __iotracectl_verbs
    printf '%s\n' $__iotracectl_verbs
end

@fish_tables@
