# SPDX-License-Identifier: GPL-2.0-or-later
"""
A kernel in lockdown's mode 'confidentiality', which lets no program read kernel memory: one clear reason, exit code 6. A
machine can go into that mode and not out of it again, so tests/vm/run does so behind all other tests.
"""
from lib.registry import Skip, check, equal, test

MODES = '/sys/kernel/security/lockdown'
REASON = "kernel lockdown (mode 'confidentiality') forbids BPF programs to read kernel memory"


def locked_down():
    try:
        with open(MODES) as modes:
            return '[confidentiality]' in modes.read()
    except OSError:
        return False


def one_reason(done, what):
    equal([line.count(REASON) for line in done.stderr.splitlines() if 'lockdown' in line], [1],
          '%s says once why: %s' % (what, done.stderr))


@test
def confidentiality(world):
    if not locked_down():
        raise Skip('this kernel is not locked down')
    _, ctl = world.own_daemon(fresh=True, loaded=False)
    one_reason(ctl.exits(6, 'doctor'), 'doctor')
    one_reason(ctl.exits(6, 'start', '--vfs', '--block'), 'start')
    one_reason(ctl.exits(6, 'record', '--vfs', '--', 'true'), 'record')
    one_reason(ctl.exits(6, 'amplification', '--duration', '1s'), 'amplification')
    equal(ctl.json('list')['sessions'], [], 'sessions that were left behind')
    streams = ctl.exits(0, 'streams').stdout
    check(REASON in streams, 'streams says why: ' + streams)
    check(streams.count(REASON) <= 10, 'streams says it once for each stream: ' + streams)
