# SPDX-License-Identifier: GPL-2.0-or-later
"""Triggers of sessions: what they see, what they do, and how often."""
import errno
import fcntl
import glob
import json
import os
import signal
import time

from lib import rows
from lib.registry import check, equal, test, wait_for
from test_go_on import status_of

NEVER = 'vfs.FSYNC max > 300s'


class Fsyncs:
    """A file that is synced, so that something happens."""

    def __init__(self, world):
        self.path = os.path.join(world.path('synced'), 'file')
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.some(1)

    def some(self, count=20):
        with open(self.path, 'w', encoding='utf-8') as file:
            for _ in range(count):
                file.write('x')
                file.flush()
                os.fsync(file.fileno())

    def lock(self):
        with open(self.path, 'r+', encoding='utf-8') as file:
            fcntl.lockf(file, fcntl.LOCK_EX)

    def fail(self):
        try:
            os.rmdir(os.path.dirname(self.path))
        except OSError as error:
            equal(error.errno, errno.ENOTEMPTY, 'why the folder stays')


def triggers_of(ctl, name):
    return {one['trigger']: one for one in (status_of(ctl, name) or {}).get('triggers', [])}


def acted(ctl, name, trigger, does, times=1):
    """Does something again and again until the trigger has acted so often."""
    def there():
        does()
        one = triggers_of(ctl, name).get(trigger)
        return one and one['fired'] >= times and one
    return wait_for('%s to act %d times' % (trigger, times), there)


def at_intervals(seconds, does):
    """Something that is done when it is called, but never twice within so many seconds."""
    last = [0]

    def now_and_then():
        if time.monotonic() - last[0] > seconds:
            last[0] = time.monotonic()
            does()
    return now_and_then


def dumps_of(daemon, name):
    """Whole dumps that the daemon has made by itself, the latest last."""
    found = []
    for path in glob.glob(os.path.join(daemon.folder, 'log', name, '*', 'manifest.json')):
        with open(path, encoding='utf-8') as file:
            manifest = json.load(file)
        if manifest['state'] == 'ended':
            found.append((os.path.dirname(path), manifest))
    return sorted(found)


@test(host_only=True)
def dumps_itself(world):
    """
    On latency and on an error, once for each time that a line is crossed and once in the hold-off; the manifest says which, when
    and what was measured.
    """
    work, ctl, slow, failed = Fsyncs(world), world.ctl, 'vfs.FSYNC p99 > 1us', 'vfs.RMDIR ENOTEMPTY > 0/s'
    done = ctl.run('start', 'fired', '--vfs', '--path', os.path.dirname(work.path), '--flight-recorder', '1M', '--trigger', slow,
                   '--trigger', failed, '--trigger', NEVER, '--hold-off', '2s', '--json')
    check(done.returncode in (0, 6), 'start', done)
    try:
        equal([(one['trigger'], one['action'], one['fired']) for one in status_of(ctl, 'fired')['triggers']],
              [(slow, 'dump', 0), (failed, 'dump', 0), (NEVER, 'dump', 0)], 'triggers in the status')
        before = time.monotonic()
        acted(ctl, 'fired', slow, work.some)
        acted(ctl, 'fired', failed, work.fail)
        check(time.monotonic() - before >= 1.5, 'the second trigger did not wait for the hold-off')
        below = at_intervals(2.5, work.fail)  # and no error in the seconds between
        acted(ctl, 'fired', failed, lambda: (work.some(), below()), times=2)
        told = triggers_of(ctl, 'fired')
        equal(told[slow]['fired'], 1, 'a line that was never crossed back')
        equal(told[NEVER]['fired'], 0, 'a line that nothing crosses')
        check(told[failed]['last_value'].endswith('/s') and told[slow]['last_value'].endswith('s'), 'values', told)
        first, second = wait_for('two dumps', lambda: len(found := dumps_of(world.daemon, 'fired')) >= 2 and found[:2])
        check([row for row in rows.read(first[0], 'vfs') if row['operation'] == 'FSYNC'], 'rows of the first dump')
        check([row for row in rows.read(second[0], 'vfs') if row['errno'] == str(errno.ENOTEMPTY)], 'rows of the second dump')
        one = {one['trigger']: one for one in first[1]['definition']['dump']['triggers']}[slow]
        equal((one['fired'], bool(one['last_fired'])), (1, True), 'what the manifest says')
    finally:
        ctl.run('stop', 'fired')


@test
def is_timed(world):
    """Each kernel loads and attaches the programs that count: calls, and their errors."""
    work, ctl, slow, failed = Fsyncs(world), world.ctl, 'vfs.FSYNC max > 1us', 'vfs.RMDIR ENOTEMPTY > 0/s'
    locked = 'vfs.LOCK rate > 0/s'
    done = ctl.run('start', 'timed', '--vfs', '--path', os.path.dirname(work.path), '--flight-recorder', '1M', '--trigger', slow,
                   '--trigger', failed, '--trigger', locked, '--trigger', 'block.READ max > 300s', '--hold-off', '1s')
    check(done.returncode in (0, 6), 'start', done)
    try:
        acted(ctl, 'timed', slow, lambda: work.some(2))
        acted(ctl, 'timed', failed, work.fail)
        acted(ctl, 'timed', locked, work.lock)
        equal(status_of(ctl, 'timed').get('trigger_error'), None, 'what cannot be looked at')
    finally:
        ctl.run('stop', 'timed')


@test(host_only=True)
def begins_and_ends(world):
    """A session that waits records nothing, also after a restart, begins with its trigger, and goes on without one; it ends by another."""
    daemon, ctl = world.own_daemon()
    work, begin, end = Fsyncs(world), 'vfs.FSYNC rate > 3/s', 'vfs.RMDIR errors > 0/s'
    output = world.path('begun')
    done = ctl.exits((0, 6), 'start', 'late', '--vfs', '--no-snapshots', '--path', os.path.dirname(work.path), '--output', output,
                     '--trigger', begin, '--stop-on', end)
    check(done.stdout.startswith('late: waits for a trigger to record vfs into '), 'what start says', done.stdout)
    equal(status_of(ctl, 'late')['state'], 'waiting', 'its state before')
    work.fail()  # what ends it does not while it waits
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    wait_for('it to wait again', lambda: (one := status_of(ctl, 'late')) and one['state'] == 'waiting')
    ctl.run('set', 'late', '--operation', 'FSYNC,RMDIR')
    acted(ctl, 'late', begin, work.some)
    wait_for('it to run', lambda: status_of(ctl, 'late')['state'] == 'running')
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    wait_for('it to go on', lambda: (one := status_of(ctl, 'late')) and one['state'] == 'running')
    work.some(3)

    def over():
        work.fail()
        return status_of(ctl, 'late')['state'] == 'ended'
    wait_for('it to end', over)
    last = status_of(ctl, 'late')
    equal((last['reason'], last['triggers'][1]['action'], last['triggers'][1]['fired']), ('trigger', 'stop', 1), 'its end')
    ctl.verified(last['output'])
    with open(os.path.join(last['output'], 'manifest.json'), encoding='utf-8') as file:
        told = json.load(file)['triggers']
    equal([(one['trigger'], one['fired']) for one in told], [(begin, 0), (end, 1)], 'what the manifest says')
    found = {row['operation'] for row in rows.read(last['output'], 'vfs')}
    check('FSYNC' in found and found <= {'FSYNC', 'RMDIR'}, 'the rows of the new filter', found)


@test(host_only=True)
def on_loss(world):
    """A loss dumps what is left, also one before the first look; and so does pressure, where there is any."""
    path = world.path('config')
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Buffers]\nRingSize=1M\n[Snapshots]\nSystem=no\n')
    daemon, ctl = world.own_daemon('--config', path)
    work, lost, waits = Fsyncs(world), 'lost > 0/s', 'pressure.cpu some > 0%'
    ctl.exits((0, 6), 'start', 'loses', '--vfs', '--path', os.path.dirname(work.path), '--flight-recorder', '1M', '--trigger', lost,
              '--trigger', waits, '--hold-off', '1s')
    daemon.process.send_signal(signal.SIGSTOP)  # nobody takes up rows
    with open(work.path, 'wb', buffering=0) as file:
        for _ in range(20000):
            file.write(b'x')
    daemon.process.send_signal(signal.SIGCONT)
    acted(ctl, 'loses', lost, lambda: work.some(1))
    acted(ctl, 'loses', waits, lambda: sum(range(3000000)))
    manifest = wait_for('a dump', lambda: (found := dumps_of(daemon, 'loses')) and found[0][1])
    check(manifest['definition']['dump']['triggers'][0]['trigger'] == lost, 'what the manifest says', manifest['definition'])


@test(host_only=True)
def is_refused(world):
    """What is wrong is told with the option, and what a session that waits cannot see."""
    ctl = world.ctl
    for args, words in (
            (('--trigger', 'vfs.FSINK p99 > 1ms'), ('--trigger', "'vfs.FSINK'")),
            (('--trigger', 'lost > 1/s'), ('--trigger', 'loses no rows')),
            (('--hold-off', '5s'), ('--hold-off', 'flight recorder')),
            (('--flight-recorder', '1M', '--trigger', NEVER, '--hold-off', '8d'), ('--hold-off', 'from 1s to')),
            (sum((('--stop-on', NEVER),) * 9, ()), ('--stop-on', 'there may be 8'))):
        done = ctl.run('start', 'wrong', '--vfs', *args)
        check(done.returncode == 2 and all(word in done.stderr for word in words), 'what is said', args, done.stderr)
