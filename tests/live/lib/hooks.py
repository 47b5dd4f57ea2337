# SPDX-License-Identifier: GPL-2.0-or-later
"""Which programs a daemon has on which hooks, as its descriptors tell."""
import contextlib
import os

from lib.registry import wait_for

LINKS = ('anon_inode:bpf_link', 'anon_inode:bpf-link', 'anon_inode:bpf-raw-tracepoint',
         'anon_inode:[perf_event]')


def targets(daemon):
    """The targets of its descriptors."""
    folder, found = '/proc/%d/fd' % daemon.process.pid, []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):  # closed meanwhile
            found.append(os.readlink(os.path.join(folder, name)))
    return found


def attached(daemon):
    """Descriptors that hold a program on a hook."""
    return [target for target in targets(daemon) if target in LINKS]


def settle(daemon, wanted):
    """Waits until it has programs on hooks, or none."""
    wait_for('programs on hooks: %s' % wanted, lambda: bool(attached(daemon)) == wanted, lambda: attached(daemon))


def told(daemon, key, names=None):
    """What the kernel tells under a key, by descriptor, of all of the daemon's or of those so named that have one."""
    folder, found = '/proc/%d/fdinfo' % daemon.process.pid, {}
    for name in os.listdir(folder) if names is None else names:
        try:
            with open(os.path.join(folder, name), encoding='ascii') as file:
                lines = [line.split() for line in file]
        except FileNotFoundError:
            continue
        found.update({name: words[1] for words in lines if words[0] == key})
    return found


def tracepoints(daemon):
    """Names of the raw tracepoints that its programs are attached to."""
    return list(told(daemon, 'tp_name:').values())


def held(daemon, tracepoint, names=None):
    """Descriptors, all or of those so named, that hold a program on that raw tracepoint."""
    return [name for name, on in told(daemon, 'tp_name:', names).items() if on == tracepoint]
