# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of files that are in no folder, and texts of calls that make no row."""
import ctypes
import os
import select
import socket

from lib.registry import equal, test
from lib.rows import escape

LIBC = ctypes.CDLL(None, use_errno=True)


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
    """The path of a call that makes no row is not kept, so that it cannot appear in a later row."""
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
