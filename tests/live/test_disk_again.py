# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that go on after a restart of the daemon, and find their disk full or failing: they try again."""
import contextlib
import errno
import os
import signal
import time

from lib import reads, rows
from lib.registry import check, equal, test, wait_for
from test_disk_start import GOES_ON, answers_soon, others_work, state_of


def fill(folder):
    """Fills the file system with a file, which the caller removes."""
    path = os.path.join(folder, 'ballast')
    with contextlib.suppress(OSError), open(path, 'wb', buffering=0) as file:
        while file.write(bytes(4096)) == 4096:
            pass
    return path


def status_of(client, name):
    return client.json('status', name)['sessions'][0]


def await_trouble(client, name, number):
    """Waits until the session is starting, and status says why it does not run yet."""
    wait_for('%s to tell of trouble' % name, lambda: 'start_error' in status_of(client, name))
    status = status_of(client, name)
    equal(status['state'], 'starting', 'state')
    check(os.strerror(number) in status['start_error'], 'start_error', status['start_error'])
    check(os.strerror(number) in client.exits(0, 'status', name).stdout, 'status does not say why')


def recorded(world, client, name, output):
    """It goes on below the folder, and has all rows from now on; then it is stopped."""
    wait_for('%s to go on' % name, lambda: state_of(client, name) == 'running')
    check('start_error' not in status_of(client, name), 'trouble that is over')
    with reads.Reads(world.path('file')) as load:
        load.go(100)
        session, = client.json('stop', name)['sessions']
    reads.all_there(session['output'], load.done)
    equal(rows.manifest(session['output'])['definition']['resumes'], output, 'resumes')
    client.verified(session['output'])
    return session['output']


@test(host_only=True)
def full(world):
    """Killed while the disk is full, and restarted twice: it goes on when there is room, and the manifest has the gap."""
    disk, (daemon, client) = world.tmpfs(1 << 20), world.own_daemon()
    output = os.path.join(disk, 'trace')
    client.json('start', 'late', *GOES_ON, '--max-events', '1000', '--output', output, code=(0, 6))
    with reads.Reads(world.path('file')) as load:
        load.go(50)
        client.json('rotate', 'late')
    ballast = fill(disk)
    daemon.stop(signal.SIGKILL)
    for _ in range(2):
        daemon.start()
        await_trouble(client, 'late', errno.ENOSPC)
        others_work(world, client)
        equal(len(daemon.notes('running')), 1, 'notes')
        before = time.monotonic()
        daemon.stop_cleanly()
        took = time.monotonic() - before
        check(took < 10, 'the daemon took %.1f s to end' % took)
    daemon.start()
    await_trouble(client, 'late', errno.ENOSPC)
    os.unlink(ballast)
    after = recorded(world, client, 'late', output)
    equal(rows.manifest(after)['definition']['before']['rows'], 50, 'rows before')
    wait_for('recovery', lambda: not daemon.notes('recover'))
    client.verified(output)
    equal(rows.manifest(output)['reason'], 'crash', 'reason')
    check(rows.manifest(output)['gaps'], 'no gap is told')
    equal(sorted(os.listdir(disk)), ['trace'], 'what is on the disk')
    equal(daemon.notes('running'), [], 'notes')
    warnings = [line for line in daemon.tail(100) if 'late does not go on yet' in line]
    equal(len(warnings), 3, 'warnings, one at each start')


def failing(world, number):
    """Several tries fail; a stop between two of them ends the session, and leaves nothing of the tries."""
    daemon, client = world.faulty_daemon()
    outputs = {name: world.path(name) for name in ('late', 'unwanted')}
    for name, output in outputs.items():
        client.json('start', name, *GOES_ON, '--output', output, code=(0, 6))
    daemon.stop(signal.SIGKILL)
    daemon.order(*('fail %d %s' % (number, output) for output in outputs.values()))
    daemon.start()
    for name in outputs:
        await_trouble(client, name, number)
    # Each try makes one call that fails. A pause follows the third, longer than what is done now takes.
    wait_for('tries to fail', lambda: all(daemon.did('fail', output) >= 3 for output in outputs.values()))
    answers_soon(client, 'stop', 'unwanted')
    equal(state_of(client, 'unwanted'), None, 'the session')
    equal(state_of(client, 'late'), 'starting', 'state')
    daemon.order()
    recorded(world, client, 'late', outputs['late'])
    wait_for('recovery', lambda: not daemon.notes('recover'))
    equal(daemon.notes('running'), [], 'notes')
    for output in outputs.values():
        client.verified(output)
    left = [entry.path for entry in os.scandir(outputs['unwanted']) if entry.is_dir() and entry.name != 'fs']
    equal(left, [], 'folders of tries')


@test(host_only=True)
def io_error(world):
    failing(world, errno.EIO)


@test(host_only=True)
def quota(world):
    failing(world, errno.EDQUOT)


@test(host_only=True)
def read_only(world):
    failing(world, errno.EROFS)


@test(host_only=True)
def time_is_over(world):
    """The duration counts: a session whose end comes while it tries again ends, another one runs for what is left."""
    daemon, client = world.faulty_daemon()
    outputs = {'short': world.path('short'), 'long': world.path('long')}
    client.json('start', 'short', *GOES_ON, '--duration', '1h', '--output', outputs['short'], code=(0, 6))
    client.json('start', 'long', *GOES_ON, '--duration', '3h', '--output', outputs['long'], code=(0, 6))
    daemon.stop(signal.SIGKILL)
    fails = ['fail %d %s' % (errno.ENOSPC, output) for output in outputs.values()]
    daemon.order(*fails)
    daemon.start()
    for name in outputs:
        await_trouble(client, name, errno.ENOSPC)
    daemon.order('clock 7200', *fails)
    wait_for('the end of the short one', lambda: state_of(client, 'short') is None)
    check(any('session short does not go on: its duration is over' in line for line in daemon.tail(50)), *daemon.tail(50))
    daemon.order('clock 7200')
    wait_for('the long one to go on', lambda: state_of(client, 'long') == 'running')
    left = status_of(client, 'long')['remaining']['duration_ns'] / 10**9
    check(0 < left <= 3600, 'it ends in %.0f s' % left)
    client.json('stop', 'long')
    wait_for('recovery', lambda: not daemon.notes('recover'))
    equal(daemon.notes('running'), [], 'notes')


@test(host_only=True)
def new_one(world):
    """A new session fails at once on a full disk, and leaves nothing behind."""
    disk, (daemon, client) = world.tmpfs(1 << 20), world.own_daemon()
    fill(disk)
    client.exits(1, 'start', 'new', *GOES_ON, '--output', os.path.join(disk, 'trace'))
    equal(client.json('list')['sessions'], [], 'sessions')
    equal(daemon.notes('running') + daemon.notes('recover'), [], 'notes')
    equal(os.listdir(os.path.join(disk, 'trace')), [], 'what is on the disk')
