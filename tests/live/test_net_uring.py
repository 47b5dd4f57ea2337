# SPDX-License-Identifier: GPL-2.0-or-later
"""The net stream by io_uring: transfers that are requests of a ring."""
import ctypes
import errno
import os
import socket
import time

from lib import uring
from lib.registry import Skip, check, equal, register, test
from lib.sockets import (BAD, FAMILIES, Way, connected, datagram_pair, exact, message, port, record, sockaddr,
                         vector)

GROUP = 'net'


def over_uring(which, kind):
    protocol = 'UDP' if kind == 'SOCK_DGRAM' else 'TCP'

    def work(book):
        ring = uring.need()
        client, server = datagram_pair(which) if protocol == 'UDP' else connected(which)[1:]
        way = Way(book, which, protocol, port(client), port(server))
        out, into = client.fileno(), server.fileno()
        room = ctypes.create_string_buffer(4096)
        at = ctypes.addressof(room)
        way.send(500, ring.do('SEND', out, at, 500), 'MSG_NOSIGNAL')  # as the kernel has it
        way.receive(600, ring.do('RECV', into, at, 600))
        way.send(500, ring.do('WRITE', out, at, 500), '')
        way.receive(600, ring.do('READ', into, at, 600), '')
        two = vector(30, 4)
        way.send(34, ring.do('WRITEV', out, ctypes.addressof(two), 2), '')
        two = vector(30, 40)
        way.receive(70, ring.do('READV', into, ctypes.addressof(two), 2), '')
        one = message(vector(5, 6, 7))
        way.send(18, ring.do('SENDMSG', out, ctypes.addressof(one), 1), 'MSG_NOSIGNAL')
        one = message(vector(20))
        way.receive(20, ring.do('RECVMSG', into, ctypes.addressof(one), 1, socket.MSG_PEEK), 'MSG_PEEK')
        way.receive(9, ring.do('RECV', into, at, 9))
        equal([row['bytes_completed'] for row in book.rows], [500, 500, 500, 500, 34, 34, 18, 18, 9],
              'what the requests did')
    return lambda world: exact(world, 'net', work)


def register_all():
    for which in FAMILIES:
        if '6' in which and not socket.has_ipv6:
            continue
        for kind in ('SOCK_STREAM', 'SOCK_DGRAM'):
            register('net.uring_%s_%s' % (kind[5:].lower(), which), over_uring(which, kind))


@test
def uring_waits(world):
    """A request that is done long after it was submitted; one that fails."""
    def work(book):
        ring = uring.need()
        _, client, server = connected('4')
        way = Way(book, '4', 'TCP', port(server), port(client))
        room = ctypes.create_string_buffer(64)
        ring.push('RECV', client.fileno(), ctypes.addressof(room), 64)
        ring.enter()
        way.receive(64, 7)
        time.sleep(0.2)
        server.send(b'x' * 7)
        way.send(7, 7)
        equal(ring.results(1), [7], 'the result')
        way.send(10, ring.do('SEND', server.fileno(), BAD, 10), 'MSG_NOSIGNAL')
        equal(ring.do('SENDMSG', server.fileno(), BAD, 1), -errno.EFAULT, 'the result')
    told, rows = record(world, 'net', work)
    rows = [row for row in rows if row['error_code'] == '0']
    equal([(row['operation'], row['bytes_completed']) for row in rows],
          [('RECEIVE', '7'), ('SEND', '7')], 'rows')
    check(150e6 < int(rows[0]['latency_ns']) < told['window'][1] - told['window'][0], 'latency',
          rows[0])


@test
def uring_refused(world):
    """Requests that the kernel refuses as it takes them."""
    def work(book):
        ring = uring.need()
        _, client, server = connected('4')
        room = ctypes.create_string_buffer(64)
        at, odd = ctypes.addressof(room), {'file_index': 1 << 16}
        way = Way(book, '4', 'TCP', port(client), port(server))
        way.send(10, ring.do('SEND', client.fileno(), at, 10, socket.MSG_MORE, **odd), 'MSG_MORE')
        one = message(vector(5, 6))
        way.send(11, ring.do('SENDMSG', client.fileno(), ctypes.addressof(one), 1, **odd), '0')
        way.receive(12, ring.do('RECV', server.fileno(), at, 12, **odd), '0')
        way.send(13, ring.do('WRITE', client.fileno(), at, 13, ioprio=7 << 13), '')
        equal({row['error_code'] for row in book.rows}, {errno.EINVAL}, 'errors')
    exact(world, 'net', work)


@test
def uring_names(world):
    """An unconnected socket: only the message names the other end."""
    def work(book):
        ring = uring.need()
        left, right = datagram_pair('4', False)
        way = Way(book, '4', 'UDP', port(left), port(right))
        name, got = sockaddr(right), ctypes.create_string_buffer(16)
        one = message(vector(6), name, 16)
        way.send(6, ring.do('SENDMSG', left.fileno(), ctypes.addressof(one), 1), 'MSG_NOSIGNAL')
        one = message(vector(9), got, 16)
        way.receive(9, ring.do('RECVMSG', right.fileno(), ctypes.addressof(one), 1))
    exact(world, 'net', work)


@test
def uring_registered(world):
    """Parts of a registered buffer."""
    def work(book):
        ring = uring.need()
        if 'WRITEV_FIXED' not in ring.supported():
            raise Skip('no WRITEV_FIXED')
        _, client, server = connected('4')
        room = ctypes.create_string_buffer(256)
        ring.register_buffer(room)
        at = ctypes.addressof(room)
        parts = (ctypes.c_uint64 * 4)(at, 30, at + 100, 20)
        way = Way(book, '4', 'TCP', port(client), port(server))
        way.send(50, ring.do('WRITEV_FIXED', client.fileno(), ctypes.addressof(parts), 2), '')
        way.receive(50, ring.do('READV_FIXED', server.fileno(), ctypes.addressof(parts), 2), '')
    exact(world, 'net', work)


@test
def uring_own_files(world):
    """Descriptors of the ring's own table; and such as are no sockets of IP."""
    def work(book):
        ring = uring.need()
        _, client, server = connected('6')
        one, other = socket.socketpair()
        room = ctypes.create_string_buffer(64)
        at = ctypes.addressof(room)
        ring.register_files(client.fileno(), one.fileno())
        way = Way(book, '6', 'TCP', port(client), port(server))
        way.send(10, ring.do('SEND', 0, at, 10, flags=uring.FIXED_FILE), 'MSG_NOSIGNAL')
        way.send(11, ring.do('WRITE', 0, at, 11, flags=uring.FIXED_FILE), '')
        ring.do('SEND', 1, at, 12, flags=uring.FIXED_FILE)
        ring.do('RECV', other.fileno(), at, 12)
        reading, writing = os.pipe()
        ring.do('WRITE', writing, at, 3)
        ring.do('READ', reading, at, 3)
    exact(world, 'net', work)


@test
def uring_counts(world):
    """Eight requests at a time, of both directions."""
    number = 400

    def work(book):
        ring = uring.need()
        _, client, server = connected('4')
        room = ctypes.create_string_buffer(4096)
        done = {'SEND': 0, 'RECEIVE': 0}
        for index in range(number):
            for _ in range(4):
                ring.push('SEND', client.fileno(), ctypes.addressof(room), 100 + index)
            results = ring.results(4)
            done['SEND'] += sum(results)
            for _ in range(4):
                ring.push('RECV', server.fileno(), ctypes.addressof(room), 100 + index)
            done['RECEIVE'] += sum(ring.results(4))
        for operation, total in done.items():
            book.row(operation, bytes_completed=total)
    told, rows = record(world, 'net', work)
    for due in told['rows']:
        found = [row for row in rows if row['operation'] == due['operation']]
        equal(len(found), 4 * number, due['operation'] + ' rows')
        equal(sum(int(row['bytes_completed']) for row in found), due['bytes_completed'],
              'bytes of ' + due['operation'])


@test
def uring_multishot(world):
    """One request, and a row for each datagram that it receives, also by the ring's own table."""
    def work(book):
        ring = uring.need()
        left, right = datagram_pair('4')
        ring.register_files(right.fileno())
        buffers = ctypes.create_string_buffer(8192)
        ring.one('PROVIDE_BUFFERS', fd=16, addr=ctypes.addressof(buffers), length=512, buf=3)
        for own in (0, uring.FIXED_FILE):
            ring.push('RECV', 0 if own else right.fileno(), ioprio=2, buf=3,
                      flags=uring.BUFFER_SELECT | own)
            ring.enter()
            for number in range(1, 5):
                left.send(bytes(number))
                (_, result, flags), = ring.finish(1)
                if result != number or not flags & uring.MORE:
                    raise Skip('no multishot receive: %d' % result)
                book.row('RECEIVE', bytes_completed=number, source=port(left), dest=port(right))
            ring.push('ASYNC_CANCEL', addr=ring.last)
            ring.finish(2)
            book.row('RECEIVE', bytes_completed=0, source=port(left), dest=port(right))
    told, rows = record(world, 'net', work)
    found = [(int(row['bytes_completed']), row['source_port'], row['dest_port'], row['size'])
             for row in rows if row['operation'] == 'RECEIVE']
    due = [(row['bytes_completed'], str(row['source']), str(row['dest']), '') for row in told['rows']]
    equal(sorted(found), sorted(due), 'RECEIVE rows')
    equal(len({row['mono_ns'] for row in rows if row['operation'] == 'RECEIVE'}), 2, 'requests')


@test
def uring_zero_copy(world):
    def work(book):
        ring = uring.need()
        _, client, server = connected('4')
        room = ctypes.create_string_buffer(64)
        way = Way(book, '4', 'TCP', port(client), port(server))
        result = ring.do('SEND_ZC', client.fileno(), ctypes.addressof(room), 64)
        way.send(64, result, 'MSG_NOSIGNAL|MSG_ZEROCOPY')
    told, rows = record(world, 'net', work)
    if [row for row in told['rows'] if row['error_code'] == errno.EINVAL]:
        raise Skip('no such opcode')
    equal([(row['operation'], row['size'], row['bytes_completed'], row['dest_port']) for row in rows],
          [('SEND', '64', '64', str(told['rows'][0]['dest_port']))], 'rows')
