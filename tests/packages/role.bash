# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Of the Ansible role, which has this machine do what a fleet would. Sourced by guest.

export ANSIBLE_ROLES_PATH=$PWD/ansible/roles ANSIBLE_PIPELINING=1 ANSIBLE_LOCALHOST_WARNING=0 ANSIBLE_NOCOWS=1

# Settings and sessions of a play; its package and members do not change.
play() { # SETTINGS SESSIONS [OPTION...]
    cat >play.yml <<PLAY
- hosts: localhost
  connection: local
  gather_facts: false
  roles: [iotracer]
  vars:
    ansible_python_interpreter: /usr/bin/python3
    iotracer_package: $PWD/first.deb
    iotracer_settings: $1
    iotracer_sessions: $2
    iotracer_control_users: [games]
PLAY
    ansible-playbook --inventory localhost, "${@:3}" play.yml >said 2>&1
}

# The play and how it ended, for must.
played() { # EXPECTED-PATTERN SETTINGS SESSIONS [OPTION...]
    play "${@:2}" || return 1
    grep -qE "$1" said || { tail -n 3 said; return 1; }
}

refused() { # EXPECTED-PATTERN SETTINGS SESSIONS [OPTION...]
    ! play "${@:2}" || return 1
    grep -qE "$1" said || { grep -E 'fatal|ERROR' said; return 1; }
}

running() { # SESSION
    iotracectl list | grep -qE "^$1 +(running|starting) "
}

settings='{Storage: {MaxUse: 1G}, Daemon: {Resume: false}}'
sessions='{one: {vfs: true, command: nobody}}'

must 'a machine without the package is looked at' played 'failed=0' "$settings" "$sessions" --check
must 'nothing was installed' not command -v iotracerd
must 'the role is played' played 'failed=0' "$settings" "$sessions"
must_serve
must 'its setting is in force' grep -qx MaxUse=1G <(iotracerd --dump-config)
must 'the one for the start, too' grep -qx Resume=no <(iotracerd --dump-config)
must 'its session runs' running one
must 'its member is one' grep -qx 'iotracer:x:[0-9]*:games' <(getent group iotracer)
step_ended role_played

pid=$(pid_of_service)
must 'again, nothing is changed' played 'changed=0 .*failed=0' "$settings" "$sessions"
step_ended role_idempotent

settings=${settings/1G/2G}
gpasswd --add man iotracer >/dev/null
must 'changes are foreseen' played 'changed=2 .*failed=0' "$settings" "$sessions" --check
must 'nobody has left' grep -q '[:,]man' <(getent group iotracer)
must 'and not made' grep -qx MaxUse=1G "$conf"
sessions='{two: {vfs: true, command: nobody}}'
must 'changes are made' played 'failed=0' "$settings" "$sessions"
must 'the setting is in force' grep -qx MaxUse=2G <(iotracerd --dump-config)
must 'the session that is declared now runs' running two
must 'the other one has ended' not running one
must 'who is not listed has left' grep -qx 'iotracer:x:[0-9]*:games' <(getent group iotracer)
must 'that was a reload' test "$(pid_of_service)" = "$pid"
must 'what cannot be used is refused by line' refused "source:[0-9]+: MaxUse=much" "${settings/2G/much}" "$sessions"
must 'also of a session' refused "source:[0-9]+: duration=soon" "$settings" "${sessions/\}\}/, duration: soon\}\}}"
must 'the file is as it was' grep -qx MaxUse=2G "$conf"
step_ended role_changes
