# SPDX-License-Identifier: GPL-2.0-or-later
"""The conn stream by io_uring: the life of sockets, made and ended by requests."""
import ctypes
import errno
import os
import socket
import struct
import time

from lib import uring
from lib.registry import Skip, check, equal, test
from lib.sockets import port, record

TCP = {'domain': 'AF_INET', 'socket_type': 'SOCK_STREAM', 'protocol': 'TCP', 'ip_version': '4'}


def need(ring, *names):
    has = ring.supported()
    lacking = [name for name in names if name not in has]
    if lacking:
        raise Skip('no %s' % ', '.join(lacking))


def address(number):
    packed = struct.pack('=H2s4s8x', socket.AF_INET, struct.pack('!H', number), socket.inet_aton('127.0.0.1'))
    return ctypes.create_string_buffer(packed, 16)


def ends(local='', remote=''):
    told = {}
    if local:
        told.update(local_addr='127.0.0.1', local_port=local)
    if remote:
        told.update(remote_addr='127.0.0.1', remote_port=remote)
    return told


def listener():
    one = socket.socket()
    one.bind(('127.0.0.1', 0))
    one.listen(8)
    return one


def judge(world, work, *options):
    """Rows in order, with the columns that the child wrote down; those of system calls are left out."""
    told, rows = record(world, 'conn', work, *options)
    due = [row for row in told['rows'] if row['operation'] != 'mine']
    mine = {row['mono'] for row in told['rows'] if row['operation'] == 'mine'}
    begin, end = min(mine, default=0), max(mine, default=1 << 62)
    found = [row for row in rows if begin <= int(row['mono_ns']) <= end]
    for number, (want, got) in enumerate(zip(due, found)):
        got = {name: got[name] for name in want}
        equal(got, {name: str(value) for name, value in want.items()}, 'row %d' % number)
    equal(len(found), len(due), 'rows of %s' % [row['operation'] for row in found])
    return found


def mark(book):
    """Rows count between two marks."""
    book.row('mine', mono=time.monotonic_ns())


@test
def life(world):
    """A connection from its sockets to their ends, by requests alone."""
    def work(book):
        ring = uring.need()
        need(ring, 'SOCKET', 'CONNECT', 'ACCEPT', 'SHUTDOWN', 'CLOSE')
        server = listener()
        mark(book)
        fd = ring.do('SOCKET', socket.AF_INET, 0, 0, off=socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        book.row('SOCKET_CREATE', **TCP, fd=fd, return_value=fd)
        there = address(port(server))
        equal(ring.do('CONNECT', fd, ctypes.addressof(there), 0, off=16), 0, 'connect')
        book.row('CONNECT', **TCP, fd=fd, return_value=0, remote_port=port(server), remote_addr='127.0.0.1')
        other = ring.do('ACCEPT', server.fileno())
        one = socket.socket(fileno=fd)
        mine = port(one)
        one.detach()
        there = ends(port(server), mine)
        book.row('ACCEPT', **TCP, fd=other, return_value=other, **there)
        equal(ring.do('SHUTDOWN', other, 0, socket.SHUT_WR), 0, 'shutdown')
        book.row('SHUTDOWN', **TCP, fd=other, return_value=0, shutdown_how='SHUT_WR', **there)
        for one, where in ((other, there), (fd, ends(mine, port(server)))):
            equal(ring.do('CLOSE', one), 0, 'close')
            book.row('CLOSE', **TCP, fd=one, return_value=0, **where)
        reading, writing = os.pipe()
        equal(ring.do('CLOSE', reading), 0, 'close of what is no socket')
        os.close(writing)
        mark(book)
    for row in judge(world, work):
        check(row['operation'] == 'CLOSE' or int(row['latency_ns']) > 0, 'latency', row)


@test
def bind_listen(world):
    def work(book):
        ring = uring.need()
        need(ring, 'BIND', 'LISTEN')
        one = socket.socket()
        here = address(0)
        mark(book)
        equal(ring.do('BIND', one.fileno(), ctypes.addressof(here), 0, off=16), 0, 'bind')
        book.row('BIND', **TCP, fd=one.fileno(), return_value=0, **ends(port(one)))
        equal(ring.do('LISTEN', one.fileno(), 0, 5), 0, 'listen')
        book.row('LISTEN', **TCP, fd=one.fileno(), return_value=0, backlog=5, **ends(port(one)))
        mark(book)
    judge(world, work)


@test
def failures(world):
    """With the error, and the address that was asked for."""
    def work(book):
        ring = uring.need()
        gone = listener()
        number = port(gone)
        gone.close()
        one = socket.socket()
        there = address(number)
        mark(book)
        equal(ring.do('CONNECT', one.fileno(), ctypes.addressof(there), 0, off=16), -errno.ECONNREFUSED,
              'connect')
        book.row('CONNECT', **TCP, fd=one.fileno(), return_value=-errno.ECONNREFUSED, **ends('', number))
        mark(book)
    judge(world, work)


@test
def refused(world):
    """Requests that the kernel refuses as it takes them, alone and in a chain, which is cancelled."""
    def work(book):
        ring = uring.need()
        need(ring, 'CONNECT', 'SHUTDOWN')
        one = socket.socket()
        there = address(9)
        asked = {**TCP, 'fd': one.fileno()}
        mark(book)
        for opcode, columns in (('CONNECT', ends('', 9)), ('ACCEPT', {'fd': ''})):
            equal(ring.do(opcode, one.fileno(), ctypes.addressof(there), 7, off=16, buf=1), -errno.EINVAL, opcode)
            book.row(opcode, **{**asked, **columns}, return_value=-errno.EINVAL)
        ring.push('SHUTDOWN', one.fileno(), 0, socket.SHUT_RD, flags=uring.LINK)
        ring.push('CONNECT', one.fileno(), ctypes.addressof(there), 7, off=16)
        equal(ring.results(2), [-errno.ECANCELED, -errno.EINVAL], 'of the chain')
        book.row('SHUTDOWN', **asked, return_value=-errno.ECANCELED, shutdown_how='SHUT_RD')
        book.row('CONNECT', **asked, return_value=-errno.EINVAL, **ends('', 9))
        mark(book)
    judge(world, work)


@test
def waits(world):
    """An accept that is answered long after it was asked for."""
    def work():
        ring = uring.need()
        need(ring, 'ACCEPT')
        server = listener()
        ring.push('ACCEPT', server.fileno())
        ring.enter()
        time.sleep(0.2)
        client = socket.create_connection(server.getsockname())
        fd, = ring.results(1)
        os.close(fd)
        client.close()
    rows = [row for row in record(world, 'conn', lambda _book: work())[1] if row['operation'] == 'ACCEPT']
    equal(len(rows), 1, 'ACCEPT rows')
    check(int(rows[0]['latency_ns']) > 150e6, 'latency', rows[0])


@test
def multishot(world):
    """A row for each connection that one request accepts."""
    number = 5

    def work(book):
        ring = uring.need()
        need(ring, 'ACCEPT', 'SOCKET')
        server = listener()
        ring.push('ACCEPT', server.fileno(), ioprio=1)
        ring.enter()
        for _ in range(number):
            client = socket.create_connection(server.getsockname())
            (_, result, flags), = ring.finish(1)
            if result < 0 or not flags & uring.MORE:
                raise Skip('no multishot accept: %d' % result)
            book.row('ACCEPT', fd=result, remote_port=port(client))
        ring.push('ASYNC_CANCEL', addr=ring.last)
        ring.finish(2)
    told, rows = record(world, 'conn', work)
    rows = [row for row in rows if row['operation'] == 'ACCEPT']
    equal([(row['fd'], row['remote_port']) for row in rows if row['fd']],
          [(str(row['fd']), str(row['remote_port'])) for row in told['rows']], 'ACCEPT rows')
    equal([row['return_value'] for row in rows if not row['fd']], [str(-errno.ECANCELED)], 'the last')


@test
def unix_names(world):
    """The names of a Unix socket, also of one that is closed."""
    def work(book):
        ring = uring.need()
        need(ring, 'CLOSE')
        name = b'\0iotracer-ring-%d' % os.getpid()
        one = socket.socket(socket.AF_UNIX)
        one.bind(name)
        mark(book)
        equal(ring.do('CLOSE', one.fileno()), 0, 'close')
        book.row('CLOSE', domain='AF_UNIX', local_addr='@' + name[1:].decode(), fd=one.detach(), return_value=0)
        mark(book)
    judge(world, work)


@test
def own_table(world):
    """Sockets of the ring's own table have no descriptor."""
    def work(book):
        ring = uring.need()
        need(ring, 'SHUTDOWN', 'SOCKET')
        server = listener()
        client = socket.create_connection(server.getsockname())
        ring.register_files(client.fileno(), -1)
        mark(book)
        equal(ring.do('SHUTDOWN', 0, 0, socket.SHUT_RDWR, flags=uring.FIXED_FILE), 0, 'shutdown')
        book.row('SHUTDOWN', **TCP, fd='', return_value=0, shutdown_how='SHUT_RDWR',
                 **ends(port(client), port(server)))
        equal(ring.do('SOCKET', socket.AF_INET, off=socket.SOCK_STREAM, file_index=2), 0, 'socket')
        book.row('SOCKET_CREATE', domain='AF_INET', socket_type='SOCK_STREAM', fd='', return_value=0)
        mark(book)
    judge(world, work)


@test
def registered(world):
    """The end of a process closes descriptors: not the sockets that the ring's own table alone still has."""
    def work(book):
        ring = uring.need()
        one, other = socket.socket(), socket.socket()
        ring.register_files(one.fileno(), other.fileno())
        book.row(str(one.fileno()))
        one.close()
        book.row(str(other.detach()))
    told, rows = record(world, 'conn', work, '--operation', 'CLOSE')
    equal([row['fd'] for row in rows], [row['operation'] for row in told['rows']], 'descriptors that were closed')


@test
def filtered(world):
    def work(_book):
        ring = uring.need()
        need(ring, 'CLOSE')
        one = socket.socket()
        ring.do('CLOSE', one.fileno())
        one.detach()
    for options, due in ((('--operation', 'CLOSE'), ['CLOSE']), (('--command', 'nobody'), [])):
        equal([row['operation'] for row in record(world, 'conn', work, *options)[1]], due, 'rows')
