# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that are full, fail, or do not answer; and a wall clock that jumps."""
import contextlib
import errno
import os
import subprocess
import time

from lib import account, reads, rows
from lib.calls import in_call
from lib.registry import Skip, check, equal, test, wait_for
from lib.world import find_key
from test_files import state

RECVFROM = 45  # the system call in which a client waits for its answer
LOAD = 3000  # rows of deep files: more than the writer's buffer holds, less than its queue


def disk_errors(document):
    return find_key(document, 'disk_errors') or []


def lost_on_disk(session):
    return account.streams(session.status())['vfs']['lost']['disk']


@contextlib.contextmanager
def witness(world, client):
    """A session on another disk, which must lose nothing."""
    with world.session(*reads.OPTIONS, ctl=client) as session:
        yield session


def check_end(session, final, load, words):
    """After the trouble: the account is exact, and the loss is told with its time."""
    one = account.streams(final)['vfs']
    lost = one['lost']['disk']
    equal(one['emitted'], load.done, 'emitted')
    equal(one['emitted'], one['written'] + lost, 'written and lost on the disk')
    check(lost > 0, 'no row was lost', one)
    errors = disk_errors(final)
    equal(sum(error['lost'] for error in errors), lost, 'lost by time')
    check(all(error['from'] < error['to'] for error in errors), 'times', errors)
    check(any(words in error['error'] for error in errors), 'error', errors)
    equal(disk_errors(rows.manifest(session.output)), errors, 'errors in the manifest')
    reads.all_there(session.output, load.done, lost)


@test(host_only=True)
def full(world):
    """Rows are lost while there is no room, and flow again when there is."""
    mount = world.tmpfs(2 << 20)
    ballast = os.path.join(mount, 'ballast')
    with open(ballast, 'wb') as file:
        file.write(bytes(1 << 20))
    session = world.session(*reads.OPTIONS, '--rotate-size', '256K', lossless=False,
                            output=os.path.join(mount, 'trace'))
    with reads.Reads(reads.deep(world.path('deep'))) as load, witness(world, world.ctl) as good:
        session.start()
        world.undo.callback(world.ctl.run, 'stop', session.name)
        load.go(LOAD)
        wait_for('rows to be lost', lambda: lost_on_disk(session))
        check(find_key(session.status(), 'disk_errors')[-1]['to'] is None, 'the trouble is over already')
        os.unlink(ballast)
        wait_for('rows to be written again', lambda: not find_key(
            account.streams(session.status()), 'error'))
        load.go(200)
        final = session.stop()
    check_end(session, final, load, os.strerror(errno.ENOSPC))
    reads.all_there(good.output, load.done)
    found = reads.offsets(reads.files(session.output))
    check(load.done - 1 in found, 'the last row is not there')


@test(host_only=True)
def manifest_waits_for_room(world):
    """A session ends on a full disk; its manifest is written as soon as there is space."""
    mount = world.tmpfs(1 << 20)
    session = world.session(*reads.OPTIONS, lossless=False, output=os.path.join(mount, 'trace'))
    with reads.Reads(world.path('file')) as load:
        session.start()
        load.go(100)
        wait_for('rows to be written', lambda: account.streams(session.status())['vfs']['written'])
        ballast = os.path.join(mount, 'ballast')
        with contextlib.suppress(OSError), open(ballast, 'wb') as file:
            while True:
                file.write(bytes(4096))
                file.flush()
        session.running = False
        final = session.ctl.json('stop', session.name)
    equal(find_key(final, 'state'), 'ended', 'state')
    equal(find_key(final, 'manifest_error'), os.strerror(errno.ENOSPC), 'manifest_error')
    equal(rows.manifest(session.output)['state'], 'running', 'state in the manifest that is left')
    os.unlink(ballast)
    wait_for('the manifest', lambda: rows.manifest(session.output)['state'] == 'ended')
    reads.check_balanced(rows.manifest(session.output), 'manifest')
    reads.all_there(session.output, load.done)


def failing(world, number):
    daemon, client = world.faulty_daemon()
    session = world.session(*reads.OPTIONS, '--rotate-size', '256K', ctl=client, lossless=False)
    with reads.Reads(reads.deep(world.path('deep'))) as load, witness(world, client) as good:
        session.start()
        load.go(100)
        daemon.order('fail %d %s' % (number, session.output))
        load.go(LOAD)
        wait_for('rows to be lost', lambda: lost_on_disk(session))
        done = client.run('rotate', session.name)
        check(done.returncode == 1 and os.strerror(number) in done.stderr, done)
        daemon.order()
        wait_for('rows to be written again', lambda: not find_key(
            account.streams(session.status()), 'error'))
        load.go(200)
        final = session.stop()
    check_end(session, final, load, os.strerror(number))
    reads.all_there(good.output, load.done)
    log = '\n'.join(daemon.tail(50))
    check('cannot be written' in log and 'are written again' in log, log)


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
def read_only_for_ever(world):
    """A file system that stays read-only: the session ends, and says what it could not write."""
    device = world.loop(32 << 20)
    mount = world.make('ext4')
    world.need('mkfs.ext4')
    world.command('mkfs.ext4', '-q', '-O', '^has_journal', device)
    world.command('mount', '-o', 'errors=remount-ro', device, mount)
    world.later('umount', '-l', mount)
    trigger = '/sys/fs/ext4/%s/trigger_fs_error' % os.path.basename(device)
    if not os.path.exists(trigger):
        raise Skip('%s is not there' % trigger)
    session = world.session(*reads.OPTIONS, lossless=False, output=os.path.join(mount, 'trace'))
    with reads.Reads(reads.deep(world.path('deep'))) as load, witness(world, world.ctl) as good:
        session.start()
        load.go(100)
        wait_for('rows to be written', lambda: account.streams(session.status())['vfs']['written'])
        with open(trigger, 'w', encoding='ascii') as file:
            file.write('test')
        load.go(LOAD)
        wait_for('rows to be lost', lambda: lost_on_disk(session))
        session.running = False
        final = session.ctl.json('stop', session.name)
    one = account.streams(final)['vfs']
    equal(one['emitted'], load.done, 'emitted')
    equal(one['emitted'], one['written'] + one['lost']['disk'], 'written and lost')
    equal(disk_errors(final)[0]['error'], os.strerror(errno.EROFS), 'error')
    equal(find_key(final, 'manifest_error'), os.strerror(errno.EROFS), 'manifest_error')
    reads.all_there(good.output, load.done)


SLOW = 20_000_000  # bytes a second
TOO_MANY = 60_000  # rows of deep files: two hundred megabytes


@test(host_only=True)
def slow(world):
    """A disk that takes less than comes: as much as fits is written, the rest has its time, others notice nothing."""
    daemon, client = world.faulty_daemon()
    session = world.session(*reads.OPTIONS, ctl=client, lossless=False)
    file = world.path('file')
    good = world.session(*reads.OPTIONS, '--path', file, ctl=client)
    with reads.Reads(reads.deep(world.path('deep'))) as load, reads.Reads(file) as other, good:
        session.start()
        daemon.order('slow %d %s' % (SLOW, session.output))
        begin = time.monotonic()
        for _ in range(20):
            load.go(TOO_MANY // 20)
            other.go(10)
        wait_for('what was queued to be written', lambda: balanced(session))
        took = time.monotonic() - begin
        final = session.stop()
    one = account.streams(final)['vfs']
    lost = one['lost']['queue'] + one['lost']['disk']
    equal(one['emitted'], one['written'] + lost, 'written and lost')
    equal(one['emitted'], load.done + other.done, 'emitted')
    check(lost > 0, 'no row was lost', one)
    check(one['bytes'] > 0.6 * SLOW * took, 'less was written than the disk takes', one['bytes'], took)
    told = find_key(rows.manifest(session.output), 'losses')
    equal(sum(entry['rows'] for entry in told), lost, 'lost by time')
    check(all(entry['from'] <= entry['to'] for entry in told), 'times', told)
    reads.all_there(good.output, other.done)


def balanced(session):
    one = account.streams(session.status())['vfs']
    return one['emitted'] == one['written'] + sum(one['lost'].values())


def answers_soon(client, *args):
    """Calls that do not need the disk are answered soon, while it does not answer."""
    begin = time.monotonic()
    client.json(*args)
    took = time.monotonic() - begin
    check(took < 10, '%s took %.1f s' % (args[0], took))


@test(host_only=True)
def stall(world):
    """A disk that does not answer: other clients are served, and only the session on that disk loses rows."""
    daemon, client = world.faulty_daemon()
    session = world.session(*reads.OPTIONS, ctl=client, lossless=False)
    with reads.Reads(reads.deep(world.path('deep'))) as load, witness(world, client) as good:
        session.start()
        load.go(100)
        daemon.order('stall %s' % session.output)
        # The witness is to keep up.
        wait_for('rows to be lost', lambda: load.go(2 * LOAD) or lost_on_disk(session), pause=0.1)
        waiting = subprocess.Popen(client.command('rotate', session.name),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for('a rotation to be asked for', lambda: in_call(waiting.pid, RECVFROM))
        for verb in ('list', 'status'):
            answers_soon(client, verb)
        answers_soon(client, 'start', 'another', *reads.OPTIONS)
        answers_soon(client, 'stop', 'another')
        answers_soon(client, 'set', session.name, '--uid', '0', '--min-size', reads.SIZE)
        equal(waiting.poll(), None, 'a rotation on the disk that does not answer')
        error = disk_errors(session.status())[-1]
        check(error['to'] is None and error['lost'] > 0, 'while it lasts', error)
        daemon.order()
        equal(waiting.wait(60), 0, 'exit code of the rotation')
        load.go(200)
        final = session.stop()
    check_end(session, final, load, 'did not answer')
    reads.all_there(good.output, load.done)


@test(host_only=True)
def stop_on_a_stalled_disk(world):
    """`stop` waits for the disk, other clients do not; a `stop` that is interrupted does no harm."""
    daemon, client = world.faulty_daemon()
    session = world.session(*reads.OPTIONS, ctl=client, lossless=False)
    with reads.Reads(world.path('file')) as load:
        session.start()
        daemon.order('stall %s' % session.output)
        load.go(100)
        wait_for('a row to hang', lambda: daemon.did('stall', session.output))
        stopping = [subprocess.Popen(client.command('stop', session.name, '--json'),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
                    for _ in range(3)]
        wait_for('the session to be ending', lambda: state(session) == 'ending')
        stopping[0].kill()
        stopping[0].communicate()
        answers_soon(client, 'list')
        equal(stopping[1].poll(), None, 'exit code of what waits')
        daemon.order()
        for process in stopping[1:]:
            process.communicate(timeout=60)
            equal(process.returncode, 0, 'exit code')
    client.exits(5, 'status', session.name)
    reads.all_there(session.output, load.done)


@test(host_only=True)
def clock_jumps(world):
    """The wall clock jumps by hours: rotation keeps its interval, and timestamps follow the clock."""
    daemon, client = world.faulty_daemon()
    with reads.Reads(world.path('file')) as load:
        with world.session(*reads.OPTIONS, '--rotate-interval', '200ms', ctl=client) as session:
            begin, count = time.monotonic(), lambda: len(reads.files(session.output))
            for jump in (0, 7200, -7200, 0):
                daemon.order('clock %d' % jump)
                for _ in range(7):  # longer than the second within which the daemon notices
                    before = count()
                    load.go(20)
                    wait_for('a rotation', lambda before=before: count() > before)
            took = time.monotonic() - begin
    check(count() <= took / 0.2 + 2, 'segments, one in 200 ms at most', count(), took)
    reads.all_there(session.output, load.done)
    hours = {row['timestamp'][:13] for row in session.rows()}
    check(len(hours) >= 3, 'hours that the rows tell', hours)
