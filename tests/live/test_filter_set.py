# SPDX-License-Identifier: GPL-2.0-or-later
"""set: other filters while a session runs; neither it nor another session misses a row meanwhile."""
import fcntl
import os
import select
import socket
import struct
import subprocess
import termios
import threading
import time

from lib import rows as trace
from lib.registry import PATIENCE, check, equal, test, wait_for
from lib.world import find_key


def files(world, count):
    folder = world.make('set')
    paths = [os.path.join(folder, str(number)) for number in range(count)]
    for path in paths:
        os.makedirs(path)
        with open(os.path.join(path, 'file'), 'wb') as file:
            file.write(b'x')
    return paths, [os.open(os.path.join(path, 'file'), os.O_RDONLY) for path in paths]


def close(fds):
    for fd in fds:
        os.close(fd)


def uncommon(seen, last):
    """Numbers up to the largest that are missing or there more than once."""
    counts = dict.fromkeys(range(1, last + 1), 0)
    for size in seen:
        counts[size] += 1
    return [size for size, count in counts.items() if count != 1]


OPTIONS = ['--vfs', '--operation', 'READ', '--pid', os.getpid()]


def sizes(session):
    return [int(row['size']) for row in session.rows() if '/set-' in row['filename']]


@test
def one_by_one(world):
    """Filters that are given replace those of their name, those that are cleared go, all others stay."""
    folders, fds = files(world, 2)
    session = world.session(*OPTIONS, '--path', folders[0]).start()
    step = iter(range(1, 100))

    def read_both():
        for fd in fds:
            os.pread(fd, next(step), 0)

    read_both()                                                       # 1
    world.ctl.exits(0, 'set', session.name, '--path', folders[1])
    read_both()                                                       # 4
    world.ctl.exits(0, 'set', session.name, '--min-size', '6')
    read_both()                                                       # 6
    world.ctl.exits(0, 'set', session.name, '--clear', 'path', '--min-size', '8')
    read_both()                                                       # 8
    world.ctl.exits(0, 'set', session.name, '--clear', 'min-size', '--pid', '1')
    read_both()
    world.ctl.exits(0, 'set', session.name, '--clear', 'pid,operation', '--command', 'nobody')
    read_both()
    session.stop()
    close(fds)
    equal(sizes(session), [1, 4, 6, 8], 'sizes of reads')
    changes = trace.manifest(session.output)['changes']
    equal([change['definition']['filters'].get('min_size') for change in changes],
          [None, 6, 8, None, None], 'least sizes in the manifest')
    check(all(change['time'] and change['mono_ns'] for change in changes), 'times in the manifest', changes)
    equal(find_key(session.final, 'filters'), {'commands': ['nobody']}, 'filters in the end')


@test
def under_load(world):
    """
    Two folders in turn, while a thread reads both without a rest: no row is lost or written twice,
    neither of the session that changes nor of one beside it.
    """
    folders, fds = files(world, 2)
    beside = world.session(*OPTIONS).start()
    session = world.session(*OPTIONS, '--path', folders[0]).start()
    done, counts = threading.Event(), [0]

    def work():
        while not done.is_set():
            counts[0] += 1
            os.pread(fds[0], counts[0], 0)
            os.pread(fds[1], counts[0], 0)
            time.sleep(0.0002)

    worker = threading.Thread(target=work)
    worker.start()
    for number in range(10):
        world.ctl.exits(0, 'set', session.name, '--path', folders[(number + 1) % 2])
    done.set()
    worker.join()
    for one in (session, beside):
        one.stop()
    close(fds)
    equal(sorted(sizes(beside)), sorted([*range(1, counts[0] + 1)] * 2), 'reads seen by the other session')
    # A session sees one of the two reads of a round; both or none if its filters changed between them, once a change.
    seen = sizes(session)
    equal(len(seen), len({(row['size'], row['filename']) for row in session.rows()}), 'rows written twice')
    once = uncommon(seen, counts[0])
    check(len(once) <= 10, 'rounds that are not seen once: more than there were changes', once[:20])


def wait_reading(reader):
    """Waits until the thread has read what there was, and sleeps in the next read."""
    def left():
        return struct.unpack('i', fcntl.ioctl(reader.stdin, termios.FIONREAD, bytes(4)))[0]

    def state():
        with open('/proc/%d/stat' % reader.pid, encoding='ascii') as file:
            return file.read().rpartition(')')[2].split()[0]
    wait_for('a read under way', lambda: not left() and state() == 'S')


@test
def under_way(world):
    """A call in flight is judged by the filters at its beginning, also for what is decided at its end."""
    reader = subprocess.Popen(['dd', 'bs=1', 'count=4', 'of=/dev/null', 'status=none'], stdin=subprocess.PIPE,
                              bufsize=0)
    wait_reading(reader)
    session = world.session('--vfs', '--pseudo-fs', '--pid', reader.pid, '--operation', 'READ').start()
    reader.stdin.write(b'a')  # ends the read that began before the session
    wait_reading(reader)
    world.ctl.exits(0, 'set', session.name, '--pid', '1', '--errors')
    reader.stdin.write(b'b')
    wait_reading(reader)
    reader.communicate(b'cd', timeout=PATIENCE)
    session.stop()
    equal([row['bytes_completed'] for row in session.rows()], ['1'], 'bytes of the reads')


def wait_asleep(tids):
    """Waits until the threads sleep in system calls."""
    def asleep(tid):
        with open('/proc/self/task/%d/syscall' % tid, encoding='ascii') as file:
            return file.read().split()[0] not in ('running', '-1', '202')  # 202: futex, of the interpreter
    wait_for('calls under way', lambda: all(asleep(tid) for tid in tids))


class Waiting:
    """A thread that waits in one system call until the test ends the wait."""

    def __init__(self, begin, let_go):
        self.tid, self.let_go = None, let_go
        self.thread = threading.Thread(target=self.run, args=(begin,), daemon=True)
        self.thread.start()
        wait_for('a thread', lambda: self.tid)

    def run(self, begin):
        self.tid = threading.get_native_id()
        begin()

    def end(self):
        self.let_go()
        self.thread.join()


def reading():
    read, write = os.pipe()
    return Waiting(lambda: os.read(read, 1), lambda: os.write(write, b'x'))


def waits():
    """Starts calls that wait; returns their operation in the rows, by stream."""
    pipes = [os.pipe() for _ in range(4)]
    near, far = socket.socketpair()
    inner = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    inner[0].bind(('127.0.0.1', 0))
    server = socket.socket()
    server.bind(('127.0.0.1', 0))
    server.listen()
    events, polled = select.epoll(), select.poll()
    events.register(pipes[1][0], select.EPOLLIN)
    polled.register(pipes[3][0], select.POLLIN)
    keep = [near, far, inner, server, events, polled]

    def write(number):
        return lambda: os.write(pipes[number][1], b'x')
    return keep, {
        ('vfs', 'READ'): (lambda: os.read(pipes[0][0], 1), write(0)),
        ('epoll', 'EPOLL_WAIT'): (events.poll, write(1)),
        ('epoll', 'SELECT'): (lambda: select.select([pipes[2][0]], [], []), write(2)),
        ('epoll', 'POLL'): (polled.poll, write(3)),
        ('net', 'RECEIVE'): (lambda: inner[0].recv(1), lambda: inner[1].sendto(b'x', inner[0].getsockname())),
        ('conn', 'ACCEPT'): (server.accept, lambda: socket.create_connection(server.getsockname()).close()),
    }


@test
def twice_under_way(world):
    """Calls that wait during several changes have their rows, by the filters at their beginning."""
    keep, calls = waits()
    session = world.session('--vfs', '--net', '--conn', '--epoll', '--pseudo-fs', '--pid', os.getpid()).start()
    threads = {what: Waiting(*how) for what, how in calls.items()}
    wait_asleep([one.tid for one in threads.values()])
    for size in (1, 2, 3, 1 << 40):
        world.ctl.exits(0, 'set', session.name, '--min-size', str(size))
    world.ctl.exits(0, 'set', session.name, '--min-latency', '10s')
    for one in threads.values():
        one.end()
    session.stop()
    found = [(stream, row['operation']) for stream in ('vfs', 'net', 'conn', 'epoll') for row in session.rows(stream)
             if row['tid'] in {str(one.tid) for one in threads.values()}]
    equal(sorted(row for row in found if row in calls), sorted(calls), 'rows of the calls that waited')
    check(keep, 'sockets')


@test
def slots_run_out(world):
    """More changes than there are slots, with a read in flight in each slot: each has its row or is counted as lost."""
    session = world.session('--vfs', '--pseudo-fs', '--pid', os.getpid(), '--operation', 'READ').start()
    threads = []
    for number in range(70):
        threads.append(reading())
        wait_asleep([threads[-1].tid])
        world.ctl.exits(0, 'set', session.name, '--min-size', '1')
    others = [world.session('--vfs', '--pid', '1').start() for _ in range(8)]
    for one in threads:
        one.end()
    for one in [session, *others]:
        one.stop()
    tids = {str(one.tid) for one in threads}
    rows = [row for row in session.rows() if row['tid'] in tids and row['size'] == '1']
    account = session.accounts['vfs']
    lost = account['lost']['unmatched']
    equal(len(rows) + lost, len(threads), 'reads with a row, and %d counted as lost' % lost)
    check(0 < lost < 30, 'reads counted as lost', lost)


@test
def tree(world):
    """Descendants that were born before the change are still followed, and so are those born later."""
    path = os.path.join(world.make('set-tree'), 'file')
    with open(path, 'wb') as file:
        file.write(b'x')
    shell = subprocess.Popen(['sh', '-c', 'read line; exec 3<&0; (read line <&3; cat %s; :) & wait' % path],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    session = world.session('--vfs', '--pid', shell.pid, '--tree').start()
    shell.stdin.write(b'go\n')
    shell.stdin.flush()
    world.ctl.exits(0, 'set', session.name, '--operation', 'READ')
    shell.communicate(b'go\n', timeout=PATIENCE)
    session.stop()
    read = [row for row in session.rows() if row['filename'] == path and row['operation'] == 'READ']
    check(read, 'nothing of the descendants')
    equal({row['command'] for row in read}, {'cat'}, 'commands')


@test
def pseudo_fs(world):
    """Left out, asked for, and left out again."""
    session = world.session(*OPTIONS).start()

    def look():
        with open('/proc/self/stat', 'rb') as file:
            return len(file.read())

    look()
    world.ctl.exits(0, 'set', session.name, '--pseudo-fs')
    look()
    world.ctl.exits(0, 'set', session.name, '--clear', 'pseudo-fs')
    look()
    session.stop()
    rows = [row for row in session.rows() if row['filename'].endswith('/stat') and int(row['bytes_completed'])]
    equal([row['fs_type'] for row in rows], ['proc'], 'reads of /proc')


@test
def refused(world):
    """What cannot be changes nothing."""
    with world.session('--vfs', '--net', '--pid', os.getpid()) as session:
        before = find_key(session.status(), 'filters')
        for words in (['--path', '/'], ['--sample', 'block=2'], ['--pid', '0'], ['--clear', 'output'], [],
                      ['--clear', 'pid', '--tree'], ['--cgroup', '/no/such'], ['--operation', 'DISCARD']):
            world.ctl.exits((1, 2), 'set', session.name, *words)
        equal(find_key(session.status(), 'filters'), before, 'filters')
        world.ctl.exits(5, 'set', 'no-such', '--errors')
