# SPDX-License-Identifier: GPL-2.0-or-later
"""Descriptors: the daemon raises its limit as far as it may, and says what it could not do for lack of them."""
import json
import os
import resource

from lib import rows
from lib.registry import check, equal, test
from lib.world import find_key

# Descriptors with which a flight recorder is not refused (session/descriptors.c), fewer than the hooks of all streams take
ENOUGH_TO_START = 44


def limit_of(pid):
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)


def open_files(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


@test(host_only=True)
def raised(world):
    """64 sessions of all streams run under a soft limit of 1024."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    check(before[1] > 4096, 'the hard limit of this machine is too low', before)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    try:
        daemon, ctl = world.own_daemon(fresh=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    equal(limit_of(daemon.process.pid), (before[1], before[1]), 'limits of the daemon')
    for number in range(64):
        ctl.exits((0, 6), 'start', 's%d' % number, '--all', '--pid', os.getpid())
    listed = ctl.json('list')['sessions']
    equal([one['state'] for one in listed], ['running'] * 64, 'sessions')
    check(open_files(daemon.process.pid) > 1024, 'the limit was not needed')
    ctl.exits(0, 'stop', '--all')


@test(host_only=True)
def too_few(world):
    """A session for which there are too few descriptors is refused, so that the others keep theirs."""
    daemon, ctl = world.own_daemon(fresh=True)
    pid = daemon.process.pid
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files(pid) + 20, limit_of(pid)[1]))
    done = ctl.exits(1, 'start', 'one', '--all')
    check('too many open files' in done.stderr and 'LimitNOFILE' in done.stderr, done.stderr)
    equal(ctl.json('list')['sessions'], [], 'sessions')


@test(host_only=True)
def not_attached(world):
    """A hook that could not be attached is in the answer, in status and in the manifest; the next session tries again."""
    daemon, ctl = world.own_daemon(fresh=True)
    pid = daemon.process.pid
    hard = limit_of(pid)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files(pid) + ENOUGH_TO_START, hard))
    done = ctl.exits(6, 'start', 'flight', '--all', '--flight-recorder', '1M')
    check('cannot be attached: Too many open files' in done.stderr and 'LimitNOFILE' in done.stderr, done.stderr)
    hooks = [one for one in find_key(ctl.json('status', 'flight'), 'missing') if 'hook' in one]
    check(hooks and all(one['stream'] and one['reason'].startswith(one['hook']) for one in hooks), hooks)
    check(any('cannot attach' in line for line in daemon.tail(200)), 'the log does not say so')

    resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
    output = world.path('dump')
    ctl.json('dump', 'flight', '--output', output)
    equal([one for one in rows.manifest(output)['missing'] if 'hook' in one], hooks, 'in the manifest')
    ctl.exits(0, 'verify', output)
    told = json.loads(ctl.exits(1, 'verify', output, '--strict', '--json').stdout)['caveats']
    check(all(any(one['reason'] in caveat['what'] for caveat in told) for one in hooks), told)

    with world.session('--all', '--pid', os.getpid(), ctl=ctl) as session:
        os.listdir('/var/tmp')
        missing = find_key(session.status(), 'missing')
    equal([one for one in missing if 'hook' in one], [], 'what the next session misses')
    check(session.rows('vfs'), 'it has no rows')
    ctl.exits(0, 'stop', 'flight')
