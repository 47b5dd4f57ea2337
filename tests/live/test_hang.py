# SPDX-License-Identifier: GPL-2.0-or-later
"""Other clients are answered in time, whatever waits for a disk and whatever one client has the daemon do."""
import contextlib
import json
import os
import signal
import socket
import statistics
import threading
import time

from lib import account, reads
from lib.registry import Failure, check, equal, test, wait_for
from lib.world import find_key
from test_disk import answers_soon
from test_disk_start import Frozen, begin, end_meanwhile, ends, in_background, others_work
from test_keep import MIB, all_compressed, config, settled
from test_snapshot import children, halves

ANSWER_S = 0.05  # the median, as the machine may have other work
SETS, PATHS = 4, 240
LISTS, PATIENCE_S = 50, 10
IDLE_S = 600  # for threads that run only when the CPU is idle, on a machine that is never idle


class Peer:
    """A connection that can send calls without waiting for replies."""

    def __init__(self, path):
        self.socket, self.rest = socket.socket(socket.AF_UNIX), b''
        self.socket.connect(path)

    def send(self, method, **parameters):
        message = {'method': 'io.iotracer.' + method, 'parameters': parameters}
        self.socket.sendall(json.dumps(message).encode() + b'\0')

    def receive(self):
        parts = [self.rest]
        while b'\0' not in parts[-1]:
            part = self.socket.recv(1 << 20)
            check(part, 'the daemon hung up')
            parts.append(part)
        message, self.rest = b''.join(parts).split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.send(method, **parameters)
        return self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def judge_answers(times):
    """Most of the answers came at once; some may be late, as the machine may have other work."""
    check(statistics.median(times) <= ANSWER_S, 'median of the answers', statistics.median(times))
    check(ninth_tenth(times) <= 20 * ANSWER_S, 'nine in ten', ninth_tenth(times))


def ninth_tenth(times):
    return statistics.quantiles(times, n=10)[-1]


def others_listed(daemon, what):
    """While something waits for a disk, another client lists."""
    times = []
    with Peer(daemon.socket) as peer:
        peer.socket.settimeout(PATIENCE_S)
        for _ in range(LISTS):
            begin_s = time.monotonic()
            try:
                check('parameters' in peer.call('List'), 'no answer')
            except socket.timeout:
                raise Failure('no answer for %d s while %s waits' % (PATIENCE_S, what)) from None
            times.append(time.monotonic() - begin_s)
            time.sleep(0.01)
    print('# %d lists while %s waits: median %.1f ms, longest %.1f ms'
          % (len(times), what, 1e3 * statistics.median(times), 1e3 * max(times)))
    judge_answers(times)


def deep_folders(world):
    """One below the other, more than a thousand; the paths of the deepest."""
    top = path = world.make('deep')
    here = os.open('.', os.O_RDONLY | os.O_DIRECTORY)
    os.chdir(top)
    paths = []
    while len(path) < 3500:
        os.mkdir('d')
        os.chdir('d')
        path += '/d'
        paths.append(path)
    os.fchdir(here)
    os.close(here)
    world.later('rm', '-rf', top)
    return paths[-PATHS:]


def send_sets(path, name, paths, answers):
    with Peer(path) as peer:
        sender = threading.Thread(target=lambda: [peer.send('Set', name=name, paths=paths[i % 7:])
                                                  for i in range(SETS)])
        sender.start()
        for _ in range(SETS):
            answers.append(peer.receive())
        sender.join()


@test(host_only=True)
def many_deep_paths(world):
    """One client keeps changing filters, with as many paths as fit into a message; another client lists meanwhile."""
    paths = deep_folders(world)
    daemon, client = world.own_daemon()
    client.json('start', 'deep', '--vfs', '--flight-recorder', '1M', code=(0, 6))
    answers, times = [], []
    busy = threading.Thread(target=send_sets, args=(daemon.socket, 'deep', paths, answers))
    with Peer(daemon.socket) as peer:
        busy.start()
        while busy.is_alive():
            begin = time.monotonic()
            check('parameters' in peer.call('List'), 'no answer')
            times.append(time.monotonic() - begin)
            time.sleep(0.01)
    busy.join()
    check(not any('error' in answer for answer in answers), 'errors', str(answers)[:300])
    print('# %d lists while %d changes went on: median %.1f ms, 90 %% %.1f ms, longest %.1f ms'
          % (len(times), SETS, 1e3 * statistics.median(times),
             1e3 * ninth_tenth(times), 1e3 * max(times)))
    check(len(times) >= 10, 'answers', len(times))
    judge_answers(times)
    client.json('stop', 'deep')


@test(host_only=True)
def path_filters(world):
    """A path filter on a disk that does not answer: only the client that set it waits."""
    daemon, client = world.faulty_daemon()
    folder = world.make('named')
    with world.session('--vfs', ctl=client, name='runs', lossless=False):
        daemon.order('stall %s' % folder)
        waiting = [begin(world, client, 'late', '--vfs', '--path', folder),
                   in_background(world, client, 'top', '--path', folder),
                   in_background(world, client, 'set', 'runs', '--path', folder)]
        given_up = in_background(world, client, 'set', 'runs', '--path', folder, '--uid', '1')
        others_work(world, client)
        answers_soon(client, 'set', 'runs', '--min-size', '1')
        equal([process.poll() for process in waiting], [None] * 3, 'exit codes of what waits')
        given_up.kill()
        given_up.communicate()
        answers_soon(client, 'list')
        daemon.order()
        ends(waiting[0], 0, 'recording')
        ends(waiting[2], 0)
        session, = client.json('status', 'runs')['sessions']
        equal((session['filters']['paths'], session['filters'].get('uids') or []), ([folder], []), 'filters')
        client.json('stop', 'late')
    with world.session('--vfs', ctl=client, name='runs', lossless=False):
        daemon.order('stall %s' % folder)
        waiting = begin(world, client, 'late', '--vfs', '--path', os.path.join(folder, 'absent'))
        daemon.order()
        ends(waiting, 2, 'No such file')


@test(host_only=True)
def folders(world):
    """`dump` and `snapshot` into a disk that does not answer: only these clients wait."""
    disk, (daemon, client) = Frozen(world), world.own_daemon(fresh=True)
    place = lambda name: os.path.join(disk.path, name)
    os.makedirs(os.path.join(place('full'), 'something'))
    os.symlink(place('full'), os.path.join(daemon.folder, 'log', 'snapshots'))
    client.json('start', 'flight', *reads.OPTIONS, '--flight-recorder', '1M', code=(0, 6))
    with reads.Reads(world.path('file')) as load:
        load.go(100)
    disk.freeze()
    dump = in_background(world, client, 'dump', 'flight', '--output', place('dump'))
    others_listed(daemon, 'dump')
    client.exits(1, 'dump', 'flight', '--output', world.path('second'))
    snap = in_background(world, client, 'snapshot', 'system', '--anonymize', '--output', place('snap'))
    default, gone = [in_background(world, client, 'snapshot', 'system') for _ in range(2)]
    refused = in_background(world, client, 'snapshot', 'system', '--output', place('full'))
    others_listed(daemon, 'snapshot')
    gone.kill()
    gone.communicate()
    elsewhere = world.path('snap')
    answers_soon(client, 'snapshot', 'system', '--output', elsewhere)
    others_work(world, client)
    equal([process.poll() for process in (dump, snap, default, refused)], [None] * 4, 'exit codes of what waits')
    disk.thaw()
    ends(refused, 1, 'must be empty')
    for process in (dump, snap, default):
        ends(process, 0, disk.path if process is not default else 'snapshots')
    equal(reads.offsets(reads.files(place('dump'))), list(range(100)), 'rows of the dump')
    for folder in (place('dump'), place('snap'), elsewhere):
        client.verified(folder)
    left = lambda: sorted(os.listdir(place('full')))
    wait_for('what nobody waits for to be gone', lambda: len(left()) == 2, left)
    client.json('stop', 'flight')


@test(host_only=True)
def end_while_a_folder_is_made(world):
    """The daemon ends soon although a folder is still being made on a disk that does not answer."""
    disk, (daemon, client) = Frozen(world), world.own_daemon()
    client.json('start', 'flight', *reads.OPTIONS, '--flight-recorder', '1M', code=(0, 6))
    disk.freeze()
    in_background(world, client, 'snapshot', 'system', '--output', os.path.join(disk.path, 'snap'))
    in_background(world, client, 'dump', 'flight', '--output', os.path.join(disk.path, 'dump'))
    others_listed(daemon, 'a folder')
    before = time.monotonic()
    end_meanwhile(world, daemon)
    took = time.monotonic() - before
    check(took < 40, 'the end took %.1f s' % took)
    disk.thaw()
    daemon.process.wait(60)


def walking(world, disk, daemon, client):
    """A snapshot into a disk that stops answering meanwhile: its folder, the client, and the process that takes it."""
    output = os.path.join(disk.path, 'snap')
    asking = in_background(world, client, 'snapshot', 'filesystem', '--root', '/', '--depth', '65535', '--output', output)
    soon('a file to be written', lambda: halves(output))
    process, = map(int, children(daemon.process.pid))
    os.kill(process, signal.SIGSTOP)
    disk.freeze()
    return output, asking, process


@test(host_only=True)
def half_snapshots(world):
    """The process of a snapshot is killed, also as its client has gone: only the removal of its files waits for the disk."""
    disk, (daemon, client) = Frozen(world), world.own_daemon()
    output, asking, process = walking(world, disk, daemon, client)
    os.kill(process, signal.SIGKILL)
    others_listed(daemon, 'what a killed process left')
    others_work(world, client)
    disk.thaw()
    ends(asking, 1, 'ended without a result')
    soon('the half to be gone', lambda: not halves(output))
    output, asking, process = walking(world, disk, daemon, client)
    os.kill(process, signal.SIGCONT)
    soon('the process to hang amid writing', lambda: waiting_tasks(process))
    asking.kill()
    asking.communicate()
    others_listed(daemon, 'what nobody asks for any more')
    others_work(world, client)
    disk.thaw()
    soon('the half to be gone', lambda: not halves(output))
    soon('the process to be gone', lambda: not children(daemon.process.pid))
    answers_soon(client, 'snapshot', 'filesystem', '--root', daemon.folder, '--output', world.path('snap'))


def soon(what, condition):
    """Waits for the condition, with a time limit that a busy machine keeps unless something hangs."""
    end = time.monotonic() + IDLE_S
    while not condition():
        check(time.monotonic() < end, 'waited in vain for %s' % what)
        time.sleep(0.05)


def waiting_tasks(process):
    """Threads of the process that nothing but what they wait for ends: a disk that is frozen."""
    found = set()
    for task in os.listdir('/proc/%d/task' % process):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open('/proc/%d/task/%s/stat' % (process, task), encoding='ascii', errors='replace') as file:
            if file.read().rpartition(')')[2].split()[0] == 'D':
                found.add(int(task))
    return found


def uncompressed(client, name):
    return client.json('status', name)['sessions'][0]['uncompressed']


def compressing_on_a_frozen_disk(world, load, options=()):
    """A daemon whose session `hung` writes below the log folder to a disk that stops answering during compression."""
    disk, (daemon, client) = Frozen(world), world.own_daemon(*options, fresh=True)
    os.symlink(disk.path, os.path.join(daemon.folder, 'log', 'hung'))
    client.json('start', 'hung', *reads.OPTIONS, '--rotate-size', '64K', code=(0, 6))

    def stopped():
        load.go(300)
        disk.freeze()
        time.sleep(0.5)
        if uncompressed(client, 'hung'):
            return True
        disk.thaw()
        return False

    soon('a segment to be compressed as the disk stops', stopped)
    return disk, daemon, client


@test(host_only=True)
def compression(world):
    """Segments on a disk that does not answer wait; those on others are compressed, described and removed for MaxUse=."""
    path = config(world, '[Storage]\nMaxUse=4M\nKeepFree=0\n[Snapshots]\nSystem=no\n')
    with reads.Reads(reads.deep(world.path('deep'))) as load:
        disk, daemon, client = compressing_on_a_frozen_disk(world, load, ('--config', path))
        for name in ('good', 'next'):
            output = client.json('start', name, *reads.OPTIONS, '--rotate-size', '64K', code=(0, 6))['session']['output']
            load.go(200)
            soon('rows', lambda name=name: account.streams(client.json('status', name))['vfs']['written'] == 200)
            client.json('stop', name)
            soon('files of %s to be compressed' % name, lambda output=output: all_compressed(output))
            soon('the manifest of %s' % name, lambda output=output: settled(output))
        others_listed(daemon, 'compression')
        client.json('start', 'large', *reads.OPTIONS, '--compress', 'none', code=(0, 6))
        load.go(3000)
        final = client.json('stop', 'large')
        one = account.streams(final)['vfs']
        equal((one['written'], one['lost']['disk']), (3000, 0), 'rows that were written, and lost, within MaxUse=')
        check(one['removed'] > 1000, 'what was removed', one)
        others_listed(daemon, 'what makes room')
        check(uncompressed(client, 'hung') > 0, 'nothing waits any more')
        soon('the message about the disk', lambda: any('its disk does not answer' in line for line in daemon.tail(50)))
        disk.thaw()
        soon('the others', lambda: not uncompressed(client, 'hung'))
        soon('all to be within MaxUse=',
             lambda: account.size(os.path.join(daemon.folder, 'log')) + account.size(disk.path) <= 4 * MIB)
        client.json('stop', 'hung')
        check(any('its disk answers again' in line for line in daemon.tail(50)), 'the log', *daemon.tail(50))
    for folder in (output, find_key(final, 'output')):
        client.exits((0, 6), 'verify', folder)


@test(host_only=True)
def end_while_compressing(world):
    """The daemon ends soon although a segment is still being compressed on a disk that does not answer."""
    with reads.Reads(reads.deep(world.path('deep'))) as load:
        disk, daemon, client = compressing_on_a_frozen_disk(world, load)
        good = client.json('start', 'good', *reads.OPTIONS, code=(0, 6))['session']['output']
        load.go(100)
        before = time.monotonic()
        end_meanwhile(world, daemon)
        took = time.monotonic() - before
        check(took < 60, 'the end took %.1f s' % took)
        equal(len(reads.offsets(reads.files(good))), 100, 'rows of the session on the good disk')
        disk.thaw()
        daemon.process.wait(60)


@test(host_only=True)
def end_of_the_daemon(world):
    """The daemon ends without waiting for the disk, names the session, and the one on the other disk is complete."""
    daemon, client = world.faulty_daemon()
    session = world.session(*reads.OPTIONS, ctl=client, lossless=False, name='hangs')
    good = world.session(*reads.OPTIONS, ctl=client, name='good')
    with reads.Reads(world.path('file')) as load:
        session.start()
        good.start()
        load.go(100)
        daemon.order('stall %s' % session.output)
        load.go(100)
        wait_for('a row to hang', lambda: daemon.did('stall', session.output))
        before = time.monotonic()
        equal(daemon.stop(signal.SIGTERM), 1, 'exit code')
        took = time.monotonic() - before
    check(took < 40, 'the end took %.1f s' % took)
    log = '\n'.join(daemon.tail(30))
    check('session hangs: its disk does not answer' in log and 'session good: its disk' not in log, log)
    reads.all_there(good.output, load.done)
    client.verified(good.output)
