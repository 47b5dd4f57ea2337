# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of files that are in no folder, and texts of paths, which are told once while they are the same."""
import ctypes
import fcntl
import os
import select
import signal
import socket
import threading

from lib.calls import in_call
from lib.registry import equal, test, wait_for
from lib.rows import escape

LIBC = ctypes.CDLL(None, use_errno=True)
TRUNCATE = 76
FLOOD = 40000  # more than twice the names of arguments that are kept: daemon/pipeline/names.h


@test
def pseudo(world):
    """Pipes, sockets and anonymous inodes are called as /proc shows them."""
    pipe, pair, event = os.pipe(), socket.socketpair(), os.eventfd(0)
    epoll = select.epoll()
    memory = os.memfd_create('a, "name"')
    fds = [*pipe, pair[0].fileno(), event, epoll.fileno(), memory]
    shown = {str(fd): escape(os.readlink(b'/proc/self/fd/%d' % fd)) for fd in fds}
    session = world.session('--vfs', '--pid', str(os.getpid()), '--operation', 'fsync', '--pseudo-fs')
    session.start()
    for fd in fds:
        LIBC.fsync(fd)
    session.stop()
    told = {row['fd']: row['filename'] for row in session.rows() if row['fd'] in shown}
    equal(told, shown, 'names')


@test
def left_out(world):
    """The path of a call that makes no row appears in no later row."""
    folder = world.make('left')
    session = world.session('--vfs', '--pid', str(os.getpid()), '--operation', 'mkdir,rmdir', '--min-latency', '10s')
    other = world.session('--vfs', '--pid', str(os.getpid()), '--operation', 'mkdir', '--errors')
    session.start()
    other.start()
    for _ in range(3000):
        os.mkdir(folder + '/one')
        os.rmdir(folder + '/one')
    try:
        os.mkdir(folder)
    except FileExistsError:
        pass
    session.stop()
    other.stop()
    equal([row['filename'] for row in session.rows()], [], 'rows')
    equal([row['filename'] for row in other.rows()], [folder], 'rows of failures')


def path_of(folder, length, last):
    """A path of that many bytes below the folder, of components that are not too long; no file has it."""
    path = folder
    while length - len(path) > 200:
        path += '/' + 100 * 'd'
    return path + '/' + (length - len(path) - 2) * 'x' + last


@test
def lengths(world):
    """Texts that differ in one byte are told apart whatever their length is, and whichever was told before."""
    folder = world.make('lengths')
    paths = [path_of(folder, length, last)
             for length in (*range(len(folder) + 2, len(folder) + 10), 62, 63, 64, 65, 255, 256, 257, 1000, 4000)
             if length >= len(folder) + 2 for last in 'ab']
    session = world.session('--vfs', '--pid', str(os.getpid()), '--operation', 'truncate')
    session.start()
    for path in (*paths, *reversed(paths)):
        equal(LIBC.truncate(path.encode(), 0), -1, 'result')
    session.stop()
    equal([row['filename'] for row in session.rows()], [*paths, *reversed(paths)], 'names')


@test
def elsewhere(world):
    """A text has the path of the folder that it is relative to, also where that has another name by then."""
    first, second = world.make('first'), world.make('second')
    moved = first + '.moved'
    session = world.session('--vfs', '--pid', str(os.getpid()), '--operation', 'unlink')
    session.start()
    expected = []
    for _ in range(2):
        for folder in (first, second):
            fd = os.open(folder, os.O_PATH)
            LIBC.unlinkat(fd, b'text', 0)
            os.rename(folder, moved)
            LIBC.unlinkat(fd, b'text', 0)
            os.rename(moved, folder)
            os.close(fd)
            expected += [folder + '/text', moved + '/text']
    session.stop()
    equal([row['filename'] for row in session.rows()], expected, 'names')


@test
def through_a_flood(world):
    """A call that waits keeps its name, however many others the daemon has met and forgotten by its end."""
    folder = world.make('flood')
    path = folder + '/leased'
    lease = os.open(path, os.O_RDONLY | os.O_CREAT)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    session = world.session('--vfs', '--pid', str(os.getpid()), '--operation', 'truncate,access')
    session.start()
    fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_RDLCK)  # who changes the file waits until it is given back
    waiting = threading.Thread(target=lambda: LIBC.truncate(path.encode(), 0))
    waiting.start()
    wait_for('the call', lambda: in_call(waiting.native_id, TRUNCATE))
    for number in range(FLOOD):
        os.access('%s/%d' % (folder, number), os.F_OK)
    fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    waiting.join()
    session.stop()
    os.close(lease)
    signal.signal(signal.SIGIO, before)
    equal([row['filename'] for row in session.rows() if row['operation'] == 'TRUNCATE'], [path], 'names')
