# SPDX-License-Identifier: GPL-2.0-or-later
"""The net stream: known transfers between sockets, by every call that makes one."""
import ctypes
import errno
import os
import select
import socket
import struct
import tempfile
import threading

from lib.registry import Skip, check, equal, register, test
from lib.sockets import (BAD, FAMILIES, Low, Way, call, connected, datagram_pair, exact, message, messages, port,
                         record, sockaddr, vector, waited)

NOBODY = {'source_addr': '', 'source_port': ''}
WAIT = socket.MSG_DONTWAIT
FLAGS = 'MSG_DONTWAIT|MSG_NOSIGNAL'


def by_calls(way, source, dest):
    """One transfer with each pair of calls; the second asks for more than there is."""
    out, into = source.fileno(), dest.fileno()
    data, room = ctypes.create_string_buffer(1000), ctypes.create_string_buffer(2000)
    way.send(1000, call('sendto', out, data, 1000, WAIT | socket.MSG_NOSIGNAL, 0, 0), FLAGS)
    way.receive(2000, call('recvfrom', into, room, 2000, 0, 0, 0))
    way.send(7, call('write', out, data, 7), '')
    way.receive(100, call('read', into, room, 100), '')
    way.send(30, call('writev', out, vector(10, 20), 2), '')
    way.receive(33, call('readv', into, vector(11, 22), 2), '')
    way.send(9, call('pwritev2', out, vector(9), 1, -1, 0, 0), '')
    way.receive(12, call('preadv2', into, vector(12), 1, -1, 0, 0), '')
    way.send(60, call('sendmsg', out, ctypes.byref(message(vector(1, 2, 57))), 0))
    way.receive(64, call('recvmsg', into, ctypes.byref(message(vector(64))), socket.MSG_PEEK),
                'MSG_PEEK')
    way.receive(70, call('recvmsg', into, ctypes.byref(message(vector(70))), WAIT), 'MSG_DONTWAIT')
    equal([one['bytes_completed'] for one in way.book.rows[-11:]],
          [1000, 1000, 7, 7, 30, 30, 9, 9, 60, 60, 60], 'what the calls did')


def by_messages(way, source, dest, stream):
    """sendmmsg and recvmmsg: a row for each message."""
    array = messages(message(vector(100)), message(vector(20, 30)), message(vector(0)))
    equal(call('sendmmsg', source.fileno(), array, 3, 0), 3, 'messages sent')
    for size in (100, 50, 0):
        way.send(size, size)
    if stream:  # what lies there fills the first, and the rest would wait
        array = messages(message(vector(120)), message(vector(50)))
        equal(call('recvmmsg', dest.fileno(), array, 2, WAIT, 0), 2, 'messages received')
        way.receive(120, 120, 'MSG_DONTWAIT')
        way.receive(50, 30, 'MSG_DONTWAIT')
        return
    array = messages(*[message(vector(200)) for _ in range(4)])
    equal(call('recvmmsg', dest.fileno(), array, 4, WAIT, 0), 3, 'messages received')
    for size in (100, 50, 0):
        way.receive(200, size, 'MSG_DONTWAIT')


def by_pipes(way, source, dest):
    """sendfile, and splice on both sides."""
    with tempfile.TemporaryFile() as file:
        file.write(b'x' * 5000)
        file.flush()
        way.send(6000, call('sendfile', source.fileno(), file.fileno(),
                            ctypes.byref(ctypes.c_long(0)), 6000), '')
    reading, writing = os.pipe()
    got = call('splice', dest.fileno(), 0, writing, 0, 60000, 0)
    way.receive(60000, got, '')
    way.send(70000, call('splice', reading, 0, source.fileno(), 0, 70000, 0), '')
    way.receive(8192, call('recvfrom', dest.fileno(), ctypes.create_string_buffer(8192), 8192, 0,
                           0, 0))
    equal([one['bytes_completed'] for one in way.book.rows[-4:]], [5000] * 4, 'what the calls did')


def tcp(which):
    def work(book):
        _, client, server = connected(which)
        for source, dest in ((client, server), (server, client)):
            way = Way(book, which, 'TCP', port(source), port(dest))
            by_calls(way, source, dest)
            by_messages(way, source, dest, True)
            by_pipes(way, source, dest)
    return lambda world: exact(world, 'net', work)


def udp(which):
    def work(book):
        left, right = datagram_pair(which)
        for source, dest in ((left, right), (right, left)):
            way = Way(book, which, 'UDP', port(source), port(dest))
            by_calls(way, source, dest)
            by_messages(way, source, dest, False)
    return lambda world: exact(world, 'net', work)


@test
def narrow(world):
    """Calls by 32-bit numbers, with structures of that size."""
    unasked = sender_unasked(world)

    def work(book):
        low = Low()
        left, right = datagram_pair('4', False)
        out, into, way = left.fileno(), right.fileno(), Way(book, '4', 'UDP', port(left), port(right))
        there, got, room = low.put(2048, sockaddr(right).raw), low.address + 2100, low.address + 4096

        def head(at, name, *sizes):
            """A struct msghdr, with its iovecs in the memory."""
            iovecs = low.put(at, b''.join(struct.pack('2I', room, size) for size in sizes))
            return struct.pack('7I', name, 16, iovecs, len(sizes), 0, 0, 0)
        way.send(11, low.call('sendmsg', out, low.put(0, head(512, there, 1, 10)), 0))
        way.receive(60, low.call('recvmsg', into, low.put(0, head(512, got, 30, 30)), 0))
        two = head(512, there, 5) + bytes(4) + head(600, there, 6) + bytes(4)
        equal(low.call('sendmmsg', out, low.put(0, two), 2, 0), 2, 'messages sent')
        way.send(5, 5)
        way.send(6, 6)
        way.receive(40, low.call('readv', into, low.put(512, struct.pack('4I', room, 20, room, 20)), 2),
                    '', **unasked)
        left.connect(right.getsockname())
        way.send(9, low.call('write', out, room, 9), '')
        equal([row['bytes_completed'] for row in book.rows], [11, 11, 5, 6, 5, 9], 'what the calls did')
    exact(world, 'net', work)


def sender_unasked(world):
    """Only the function level sees the sender of a datagram when the call does not ask for it."""
    return {} if world.level == 'function' else NOBODY


def udp_unconnected(which):
    """An unconnected socket: only the call names the other end."""
    def work(book, unasked):
        left, right = datagram_pair(which, False)
        name, size = sockaddr(right), len(sockaddr(right))
        way = Way(book, which, 'UDP', port(left), port(right))
        out, into, room = left.fileno(), right.fileno(), ctypes.create_string_buffer(64)
        way.send(5, call('sendto', out, room, 5, 0, name, size))
        way.receive(64, call('recvfrom', into, room, 64, 0, room, ctypes.byref(ctypes.c_uint(64))))
        way.send(6, call('sendmsg', out, ctypes.byref(message(vector(6), name, size)), 0))
        got = ctypes.create_string_buffer(64)
        way.receive(9, call('recvmsg', into, ctypes.byref(message(vector(9), got, 64)), 0))
        call('sendmmsg', out, messages(message(vector(1), name, size)), 1, 0)
        way.send(1, 1)
        call('recvmmsg', into, messages(message(vector(2), got, 64)), 1, 0, 0)
        way.receive(2, 1)
        way.send(0, call('sendto', out, room, 0, 0, name, size))
        way.receive(64, call('recvfrom', into, room, 64, 0, 0, 0), **unasked)
        way.send(4, call('sendto', out, room, 4, 0, name, size))
        way.receive(3, call('recvmsg', into, ctypes.byref(message(vector(3))), socket.MSG_PEEK), 'MSG_PEEK',
                    **unasked)
        way.receive(64, call('read', into, room, 64), '', **unasked)
        way.send(3, call('sendto', out, room, 3, 0, name, size))
        # The buffer for the sender's address is too short for it.
        way.receive(64, call('recvfrom', into, room, 64, 0, got, ctypes.byref(ctypes.c_uint(6))),
                    **unasked)
        way.send(1, call('sendto', out, room, 1, 0, name, size))
        call('recvmmsg', into, messages(message(vector(2))), 1, 0, 0)
        way.receive(2, 1, **NOBODY)
        way.receive(64, call('recvfrom', into, room, 64, WAIT, got, ctypes.byref(ctypes.c_uint(64))),
                    'MSG_DONTWAIT', **NOBODY)

    def told(world):
        unasked = sender_unasked(world)
        exact(world, 'net', lambda book: work(book, unasked))
    return told


def register_all():
    for which in FAMILIES:
        if '6' in which and not socket.has_ipv6:
            continue
        register('net.tcp_' + which, tcp(which))
        register('net.udp_' + which, udp(which))
        register('net.udp_unconnected_' + which, udp_unconnected(which))


@test
def many_messages(world):
    """Each of a call's messages has its own address; from the 64th on they are one row."""
    number = 100

    def work(book):
        left = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        rights = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(number)]
        for right in rights:
            right.bind(('127.0.0.1', 0))
        left.bind(('127.0.0.1', 0))
        heads = [message(vector(1 + index), sockaddr(right), 16) for index, right in enumerate(rights)]
        equal(call('sendmmsg', left.fileno(), messages(*heads), number, 0), number, 'messages sent')
        for index, right in enumerate(rights):
            book.row('SEND', port=port(right), size=1 + index)
        for right in rights[:3]:
            right.sendto(b'abc', left.getsockname())
        rooms = [ctypes.create_string_buffer(64) for _ in range(4)]
        array = messages(*[message(vector(200), room, 64) for room in rooms])
        equal(call('recvmmsg', left.fileno(), array, 4, WAIT, 0), 3, 'messages received')
    told, rows = record(world, 'net', work, '--operation', 'SEND,RECEIVE')
    due = [(str(row['port']), str(row['size']), str(row['size'])) for row in told['rows']]
    rest = str(sum(row['size'] for row in told['rows'][63:]))
    found = [(row['dest_port'], row['size'], row['bytes_completed']) for row in rows
             if row['operation'] == 'SEND'][:64]
    equal(found, due[:63] + [(due[63][0], rest, rest)], 'SEND rows')
    equal([(row['source_port'], row['size'], row['bytes_completed']) for row in rows
           if row['operation'] == 'RECEIVE'], [(one[0], '200', '3') for one in due[:3]], 'RECEIVE rows')


@test
def unbound(world):
    """The kernel chooses the port with the first datagram; the address stays any."""
    def work(book):
        _, right = datagram_pair('4', False)
        left = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        left.sendto(b'abc', right.getsockname())
        Way(book, '4', 'UDP', port(left), port(right), ('0.0.0.0', '127.0.0.1')).send(3, 3)
        _, right6 = datagram_pair('6', False)
        left = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        left.sendto(b'abc', right6.getsockname())
        Way(book, '6', 'UDP', port(left), port(right6), ('::', '::1')).send(3, 3)
        left.sendto(b'abc', ('::ffff:127.0.0.1', port(right)))
        Way(book, '4', 'UDP', port(left), port(right), ('0.0.0.0', '127.0.0.1')).send(3, 3)
    exact(world, 'net', work)


@test
def errors(world):
    def work(book):
        _, client, server = connected('4')
        to, back = Way(book, '4', 'TCP', port(client), port(server)), \
            Way(book, '4', 'TCP', port(server), port(client))
        room = ctypes.create_string_buffer(1 << 16)
        back.receive(10, call('recvfrom', client.fileno(), room, 10, WAIT, 0, 0), 'MSG_DONTWAIT')
        client.shutdown(socket.SHUT_WR)
        to.send(4, call('sendto', client.fileno(), room, 4, socket.MSG_NOSIGNAL, 0, 0),
                'MSG_NOSIGNAL')
        to.receive(10, call('recvfrom', server.fileno(), room, 10, 0, 0, 0))  # its end: 0 bytes
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        client_port, server_port = port(client), port(server)
        server.close()  # a reset
        Way(book, '4', 'TCP', server_port, client_port).receive(
            10, call('recvfrom', client.fileno(), room, 10, 0, 0, 0))
        alone = socket.socket()
        nowhere = Way(book, '4', 'TCP', '', '', ('', ''))
        nowhere.send(4, call('sendto', alone.fileno(), room, 4, socket.MSG_NOSIGNAL, 0, 0),
                     'MSG_NOSIGNAL')
        nowhere.receive(4, call('read', alone.fileno(), room, 4), '')
        left, right = datagram_pair('4')
        way = Way(book, '4', 'UDP', port(left), port(right))
        right.close()
        way.send(1, call('write', left.fileno(), room, 1), '')
        Way(book, '4', 'UDP', way.fixed['dest_port'], way.fixed['source_port']).receive(
            10, call('read', left.fileno(), room, 10), '')
        way.send(1 << 16, call('write', left.fileno(), room, 1 << 16), '')
        equal([row['error_code'] for row in book.rows],
              [errno.EAGAIN, errno.EPIPE, 0, errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN, 0,
               errno.ECONNREFUSED, errno.EMSGSIZE], 'errors of the calls')
    exact(world, 'net', work)


@test
def bad_pointers(world):
    """Calls with pointers that cannot be read have rows, in which those values are empty."""
    def work(book):
        _, client, server = connected('4')
        out, way = client.fileno(), Way(book, '4', 'TCP', port(client), port(server))
        quiet, room = socket.MSG_NOSIGNAL, ctypes.create_string_buffer(16)
        way.send(16, call('sendto', out, BAD, 16, quiet, 0, 0), 'MSG_NOSIGNAL')
        way.send('', call('sendmsg', out, BAD, quiet), 'MSG_NOSIGNAL')
        way.send('', call('sendmmsg', out, BAD, 5, quiet), 'MSG_NOSIGNAL')
        way.send('', call('writev', out, BAD, 3), '')
        way.send('', call('writev', out, vector(1), 1 << 30), '')
        many = message(vector(1))
        many.iovlen = (1 << 63) + 1
        way.send('', call('sendmsg', out, ctypes.byref(many), quiet), 'MSG_NOSIGNAL')
        many.iovlen, many.iov = 2, BAD
        way.send('', call('sendmsg', out, ctypes.byref(many), quiet), 'MSG_NOSIGNAL')
        way.send(0, call('sendmmsg', out, BAD, 0, 0x100000), '0x100000')
        call('sendto', out, room, 16, quiet, 0, 0)
        way.send(16, 16, 'MSG_NOSIGNAL')
        way.receive('', call('recvmsg', server.fileno(), BAD, 0))
        way.receive('', call('readv', server.fileno(), BAD, 7), '')
        way.receive(64, call('read', server.fileno(), BAD, 64), '')
        check(all(row['error_code'] for row in book.rows if row['size'] == ''), 'errors', book.rows)
        left, right = datagram_pair('4')
        way = Way(book, '4', 'UDP', port(left), port(right))
        way.send(16, call('sendto', left.fileno(), room, 16, 0, BAD, 16))
        way.send(16, call('sendto', left.fileno(), room, 16, 0, sockaddr(right), 3))
        way.send(16, call('write', left.fileno(), room, 16), '')
        way.receive(16, call('recvfrom', right.fileno(), room, 16, 0, BAD, BAD))
        way.row('RECEIVE', 16, call('recvfrom', right.fileno(), room, 16, WAIT, BAD, 0),
                'MSG_DONTWAIT')
    exact(world, 'net', work)


@test
def flags(world):
    def work(book):
        _, client, server = connected('4')
        way = Way(book, '4', 'TCP', port(client), port(server))
        client.send(b'a', socket.MSG_MORE | socket.MSG_DONTROUTE)
        way.send(1, 1, 'MSG_DONTROUTE|MSG_MORE')
        client.send(b'b', socket.MSG_OOB)
        way.send(1, 1, 'MSG_OOB')
        server.recv(2, socket.MSG_WAITALL | socket.MSG_TRUNC | 0x80000)
        way.receive(2, 1, 'MSG_TRUNC|MSG_WAITALL|0x80000')
    exact(world, 'net', work)


@test
def others(world):
    """Sockets that are not of IP, and what is no socket, make no rows."""
    def work(_book):
        for one, other in (socket.socketpair(), socket.socketpair(type=socket.SOCK_DGRAM)):
            one.send(b'x')
            other.recv(1)
            os.write(one.fileno(), b'y')
            os.read(other.fileno(), 1)
        reading, writing = os.pipe()
        os.write(writing, b'x')
        os.read(reading, 1)
        call('write', -1, 0, 0)
        call('read', 1 << 30, 0, 0)
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
        call('sendto', netlink.fileno(), ctypes.create_string_buffer(16), 16, 0, 0, 0)
    exact(world, 'net', work)


@test
def raw(world):
    """Addresses without ports."""
    def work(book):
        one = socket.socket(socket.AF_INET, socket.SOCK_RAW, 253)
        one.bind(('127.0.0.1', 0))
        one.sendto(b'abc', ('127.0.0.1', 0))
        way = Way(book, '4', '253', '', '')
        way.send(3, 3)
        one.recvfrom(100)
        way.receive(100, 23)
    exact(world, 'net', work)


@test
def latency(world):
    """A call that waits for its data."""
    def work(book):
        _, client, server = connected('6')
        with book.meanwhile('recvfrom', lambda: os.write(client.fileno(), b'abcd')):
            server.recv(10)
    told, rows = record(world, 'net', work)
    rows = [row for row in rows if row['operation'] == 'RECEIVE']
    equal((len(rows), rows[0]['bytes_completed']), (1, '4'), 'rows of one receive')
    waited(told, rows[0])


@test
def closed_meanwhile(world):
    """While a call waits, its descriptor is closed and another socket gets the number."""
    def work(book):
        _, client, server = connected('6')
        way = Way(book, '6', 'TCP', port(client), port(server))
        number = server.detach()

        def swap():
            stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            os.dup2(stranger.fileno(), number)
            client.send(b'abc')
        with book.meanwhile('recvfrom', swap):
            way.receive(10, call('recvfrom', number, ctypes.create_string_buffer(10), 10, 0, 0, 0))
    told, rows = record(world, 'net', work)
    rows = [row for row in rows if row['operation'] == 'RECEIVE']
    equal([{name: row[name] for name in told['rows'][0]} for row in rows],
          [{name: str(value) for name, value in told['rows'][0].items()}], 'the row')


@test
def counts(world):
    """As many rows as operations, and as many bytes as were transferred, on both sides."""
    number = 3000

    def work(book):
        _, client, server = connected('4')
        sizes = [1 + index * 37 % 5000 for index in range(number)]
        for size in sizes:
            client.sendall(b'x' * size)
            left = size
            while left:
                left -= len(server.recv(left))
                book.row('RECEIVE')
        book.row(str(sum(sizes)))
    told, rows = record(world, 'net', work)
    transferred = int(told['rows'][-1]['operation'])
    of = {name: [row for row in rows if row['operation'] == name] for name in ('SEND', 'RECEIVE')}
    equal(len(of['RECEIVE']), len(told['rows']) - 1, 'RECEIVE rows')
    equal(len(of['SEND']), number, 'SEND rows')
    for name, some in of.items():
        equal(sum(int(row['bytes_completed']) for row in some), transferred, 'bytes of ' + name)


def flood(book):
    """Two threads on each side of four connections."""
    done = []

    def send(one):
        for _ in range(500):
            done.append(one.send(b'x' * 1400))

    def receive(one):
        left = 500 * 1400
        while left:
            left -= len(one.recv(left))
    threads = []
    for _ in range(4):
        _, client, server = connected('4')
        threads += [threading.Thread(target=send, args=(client,)),
                    threading.Thread(target=receive, args=(server,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    book.row(str(sum(done)))


@test
def threads(world):
    told, rows = record(world, 'net', flood)
    transferred = int(told['rows'][0]['operation'])
    equal(len([row for row in rows if row['operation'] == 'SEND']), 2000, 'SEND rows')
    for name in ('SEND', 'RECEIVE'):
        equal(sum(int(row['bytes_completed']) for row in rows if row['operation'] == name),
              transferred, 'bytes of ' + name)


def among_others(book):
    """What makes rows of net, and of every other stream that has rows of system calls."""
    listener, client, server = connected('4')
    with select.epoll() as waiting:
        waiting.register(server, select.EPOLLIN)
        for way, source, dest in ((Way(book, '4', 'TCP', port(client), port(server)), client, server),
                                  (Way(book, '4', 'TCP', port(server), port(client)), server, client)):
            by_calls(way, source, dest)
            by_messages(way, source, dest, True)
            waiting.poll(0)
            source.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        left, right = datagram_pair('6')
        by_calls(Way(book, '6', 'UDP', port(left), port(right)), left, right)
    with tempfile.TemporaryFile() as file:
        file.write(b'x')
        file.flush()
        os.pread(file.fileno(), 1, 0)
    for one in (left, right, client, server, listener):
        one.close()


@test
def among(world):
    """The same rows whichever streams are recorded besides, which decides what program a call goes to."""
    every = ('--vfs', '--cache', '--conn', '--epoll', '--sockopt')
    for besides in ([], every[:1], every):
        exact(world, 'net', among_others, *besides)
    for stream in ('conn', 'epoll'):
        rows = [[row['operation'] for row in record(world, stream, among_others, *besides)[1]]
                for besides in ([], ['--net'])]
        check(rows[0], 'rows of %s' % stream)
        equal(rows[1], rows[0], 'rows of %s beside those of net' % stream)


@test
def joined(world):
    """A session of other streams that comes and goes meanwhile, and one that was there before, change nothing."""
    joins = world.session('--conn', '--vfs', '--pid', os.getpid())

    def work(book):
        among_others(book)
        with joins:
            among_others(book)
        among_others(book)
    with world.session('--epoll', '--pid', os.getpid()):
        exact(world, 'net', work)


def some(_book):
    _, client, server = connected('4')
    room = ctypes.create_string_buffer(2000)
    for size in (10, 1000):
        call('sendto', client.fileno(), room, size, 0, 0, 0)
        call('recvfrom', server.fileno(), room, size, 0, 0, 0)
    call('recvfrom', server.fileno(), room, 5, WAIT, 0, 0)
    reading, writing = os.pipe()
    call('sendto', client.fileno(), room, 100, 0, 0, 0)
    call('splice', server.fileno(), 0, writing, 0, 100, 0)


@test
def filters(world):
    found = {}
    for options in (('--operation', 'SEND'), ('--operation', 'RECEIVE'), ('--errors',),
                    ('--min-size', '1000'), ('--vfs', '--device', '7:0'), ('--command', 'nobody')):
        found[options[-1]] = [(row['operation'], row['size'])
                              for row in record(world, 'net', some, *options)[1]]
    equal(found, {'SEND': [('SEND', '10'), ('SEND', '1000'), ('SEND', '100')],
                  'RECEIVE': [('RECEIVE', '10'), ('RECEIVE', '1000'), ('RECEIVE', '5'),
                              ('RECEIVE', '100')],
                  '--errors': [('RECEIVE', '5')], '1000': [('SEND', '1000'), ('RECEIVE', '1000')],
                  '7:0': [], 'nobody': []}, 'rows by filter')


@test
def namespaces(world):
    """Between two network namespaces, over a pair of devices."""
    names = ['iotracer-live-%d-%d' % (os.getpid(), side) for side in (1, 2)]
    world.need('ip')
    for name in names:
        if world.command('ip', 'netns', 'add', name, check=False).returncode:
            raise Skip('no network namespaces')
        world.later('ip', 'netns', 'del', name)
    if world.command('ip', '-n', names[0], 'link', 'add', 'left', 'type', 'veth', 'peer', 'name',
                     'right', 'netns', names[1], check=False).returncode:
        raise Skip('no devices of type veth')
    for name, device, side in ((names[0], 'left', 1), (names[1], 'right', 2)):
        for address in ('10.77.0.%d/24' % side, 'fd77:0:0:1::%d/64' % side):
            world.command('ip', '-n', name, 'address', 'add', address, 'dev', device,
                          *(['nodad'] if ':' in address else []))
        world.command('ip', '-n', name, 'link', 'set', device, 'up')

    def enter(name):
        with open('/run/netns/' + name, encoding='ascii') as file:
            ctypes.CDLL(None).setns(file.fileno(), 0x40000000)

    def work(book):
        for which, family, pattern in (('4', socket.AF_INET, '10.77.0.%d'),
                                       ('6', socket.AF_INET6, 'fd77:0:0:1::%d')):
            enter(names[1])
            listener = socket.socket(family)
            listener.bind((pattern % 2, 0))
            listener.listen(1)
            enter(names[0])
            client = socket.socket(family)
            client.connect(listener.getsockname())
            server, _ = listener.accept()
            way = Way(book, which, 'TCP', port(client), port(listener), (pattern % 1, pattern % 2))
            client.send(b'x' * 100)
            way.send(100, 100)
            server.recv(100)
            way.receive(100, 100)
    exact(world, 'net', work)
