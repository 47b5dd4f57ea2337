# SPDX-License-Identifier: GPL-2.0-or-later
"""The conn stream: the life of sockets, of every family, and connections that come about later."""
import ctypes
import errno
import json
import os
import socket
import struct
import threading

from lib.registry import Skip, check, equal, register, test, wait_for
from lib.sockets import BAD, FAMILIES, SHOWN, call, connected, exact, port, record, waited


class Life:
    """Does things to one socket and writes down their rows."""

    def __init__(self, book, family, kind, protocol='0', version='', fd=None, **more):
        self.book = book
        self.fixed = {'domain': family, 'socket_type': kind, 'protocol': protocol,
                      'ip_version': version}
        self.one = None
        if fd is None:
            numbers = [getattr(socket, name) for name in (family, kind)]
            self.one = socket.socket(*numbers, more.get('number', 0))
            fd = self.one.fileno()
            self.row('SOCKET_CREATE', fd, **{'protocol': more.get('shown', protocol)})
        self.fd = fd

    def row(self, operation, result, **columns):
        fd = {} if columns.get('fd') == '' else {'fd': getattr(self, 'fd', result)}
        self.book.row(operation, **{**self.fixed, **fd, **columns}, return_value=result)
        return result

    def close(self, **columns):
        return self.row('CLOSE', call('close', self.one.detach() if self.one else self.fd), **columns)


def local(version, address, number):
    return {'ip_version': version, 'local_addr': address, 'local_port': number}


def remote(version, address, number):
    return {'ip_version': version, 'remote_addr': address, 'remote_port': number}


def inet(book, which, kind='SOCK_STREAM', protocol='TCP'):
    family = FAMILIES[which][0].name
    return Life(book, family, kind, protocol, '4' if which == '4' else '6')


def listening(book, which):
    """The socket, and its address as a row has it."""
    listener = inet(book, which)
    listener.one.bind((FAMILIES[which][1], 0))
    number = port(listener.one)
    listener.row('BIND', 0, **local(*SHOWN[which], number))
    listener.one.listen(7)
    listener.row('LISTEN', 0, backlog=7, **local(*SHOWN[which], number))
    return listener, number


def tcp(which):
    def work(book):
        listener, number = listening(book, which)
        client = inet(book, which)
        client.one.connect((FAMILIES[which][1], number))
        mine = port(client.one)
        there = remote(*SHOWN[which], number)
        ends = {**local(*SHOWN[which], mine), **there}
        client.row('CONNECT', 0, **ends)
        for name in ('accept', 'accept4'):
            fd = call(name, listener.fd, 0, 0, 0)
            server = Life(book, FAMILIES[which][0].name, 'SOCK_STREAM', 'TCP', fd=fd)
            mirror = {**local(*SHOWN[which], number), **remote(*SHOWN[which], mine)}
            server.row('ACCEPT', fd, **mirror)
            server.row('SHUTDOWN', call('shutdown', fd, socket.SHUT_WR), shutdown_how='SHUT_WR',
                       **mirror)
            server.close(**mirror)
            client.row('SHUTDOWN', call('shutdown', client.fd, socket.SHUT_RDWR),
                       shutdown_how='SHUT_RDWR', **ends)
            client.close(**ends)
            if name == 'accept4':
                break
            client = inet(book, which)
            client.one.connect((FAMILIES[which][1], number))
            mine = port(client.one)
            ends = {**local(*SHOWN[which], mine), **there}
            client.row('CONNECT', 0, **ends)
        listener.one.setblocking(False)
        listener.row('ACCEPT', call('accept', listener.fd, 0, 0), fd='', **local(*SHOWN[which], number))
        listener.close(**local(*SHOWN[which], number))
    return lambda world: exact(world, 'conn', work)


def later(which):
    """Connections that are not waited for: the call, and what became of it."""
    def work(book):
        listener, number = listening(book, which)
        for outcome in (0, -errno.ECONNREFUSED):
            client = inet(book, which)
            client.one.setblocking(False)
            equal(client.one.connect_ex((FAMILIES[which][1], number)), errno.EINPROGRESS, 'connect')
            ends = {**local(*SHOWN[which], port(client.one)), **remote(*SHOWN[which], number)}
            client.row('CONNECT', -errno.EINPROGRESS, **ends)
            client.row('CONNECT', outcome, **ends)
            client.close(**ends)
            if not outcome:
                listener.close(**local(*SHOWN[which], number))
        client = inet(book, which)
        equal(client.one.connect_ex((FAMILIES[which][1], number)), errno.ECONNREFUSED, 'connect')
        client.row('CONNECT', -errno.ECONNREFUSED, **remote(*SHOWN[which], number))
        client.close()
    return lambda world: exact(world, 'conn', work)


def datagrams(which):
    def work(book):
        one = inet(book, which, 'SOCK_DGRAM', 'UDP')
        one.one.connect((FAMILIES[which][1], 9))
        ends = {**local(*SHOWN[which], port(one.one)), **remote(*SHOWN[which], 9)}
        one.row('CONNECT', 0, **ends)
        one.close(**ends)
        one = inet(book, which, 'SOCK_DGRAM', 'UDP')
        one.one.connect((FAMILIES[which][1], 9))
        ends = {**local(*SHOWN[which], port(one.one)), **remote(*SHOWN[which], 9)}
        one.row('CONNECT', 0, **ends)
        one.row('CONNECT', call('connect', one.fd, struct.pack('=H14x', socket.AF_UNSPEC), 16))
        one.close()
    return lambda world: exact(world, 'conn', work)


def register_all():
    for which in FAMILIES:
        if '6' in which and not socket.has_ipv6:
            continue
        register('conn.tcp_' + which, tcp(which))
        register('conn.later_' + which, later(which))
        register('conn.datagrams_' + which, datagrams(which))


@test
def wildcard(world):
    def work(book):
        for which, address in (('4', '0.0.0.0'), ('6', '::')):
            one = inet(book, which)
            one.row('LISTEN', call('listen', one.fd, -1), backlog=-1,
                    **local(SHOWN[which][0], address, port(one.one)))
            one.close(**local(SHOWN[which][0], address, port(one.one)))
    exact(world, 'conn', work)


def overflows():
    """How often a connection was asked for that a listener's queue had no room for."""
    with open('/proc/self/net/netstat', encoding='ascii') as file:
        names, numbers = [line.split() for line in file if line.startswith('TcpExt:')]
    return int(numbers[names.index('ListenOverflows')])


def slow(world, end):
    """A connection that has to wait, since the listener's queue is full; `end` ends the wait."""
    def work(book):
        listener = socket.socket()
        listener.bind(('127.0.0.1', 0))
        listener.listen(0)
        first, second = socket.socket(), socket.socket()
        first.connect(listener.getsockname())
        second.setblocking(False)
        before = overflows()
        book.row(str(second.fileno()))
        second.connect_ex(listener.getsockname())
        number = second.fileno()
        again = call('connect', number, struct.pack('=H2s4s8x', socket.AF_INET, struct.pack(
            '!H', port(listener)), socket.inet_aton('127.0.0.1')), 16)
        if again == -errno.EALREADY:
            wait_for('the first try to be refused', lambda: overflows() > before)
        end(listener, second)
        book.row(str(again))
    told, rows = record(world, 'conn', work)
    number, again = [row['operation'] for row in told['rows']]
    return [row for row in rows if row['operation'] == 'CONNECT' and row['fd'] == number], again


@test
def long_after(world):
    """Established by the second try of the kernel, a second after the call."""
    def end(listener, second):
        os.close(listener.accept()[0].detach())
        second.setblocking(True)
        second.send(b'x')
    rows, again = slow(world, end)
    if again != str(-errno.EALREADY):
        raise Skip('the queue of a listener is longer than it was told')
    equal(sorted(row['return_value'] for row in rows), ['-114', '-115', '0'], 'results')
    by = {row['return_value']: row for row in rows}
    check(int(by['0']['latency_ns']) > 500e6, 'latency', by['0'])
    check(int(by['-115']['latency_ns']) < int(by['0']['latency_ns']) / 2, 'latency', by['-115'])
    for name in ('local_port', 'remote_port', 'local_addr', 'remote_addr', 'pid', 'tid', 'command',
                 'mono_ns', 'ppid', 'uid', 'cgroup_id'):
        equal(by['0'][name], by['-115'][name], name + ' of the call and of its outcome')


@test
def given_up(world):
    """Closed before it came about: neither established nor failed."""
    rows, again = slow(world, lambda listener, second: second.close())
    if again != str(-errno.EALREADY):
        raise Skip('the queue of a listener is longer than it was told')
    equal(sorted(row['return_value'] for row in rows), ['-114', '-115'], 'results')


def unix_at(book, name, shown, gone):
    """A listener and its connection; `gone` is a name where nobody listens."""
    listener = Life(book, 'AF_UNIX', 'SOCK_STREAM')
    listener.one.bind(name)
    listener.row('BIND', 0, local_addr=shown)
    listener.one.listen(2)
    listener.row('LISTEN', 0, backlog=2, local_addr=shown)
    client = Life(book, 'AF_UNIX', 'SOCK_STREAM')
    client.row('CONNECT', -client.one.connect_ex(gone[0]), remote_addr=gone[1])
    client.one.connect(name)
    client.row('CONNECT', 0, remote_addr=shown)
    fd = call('accept', listener.fd, 0, 0)
    server = Life(book, 'AF_UNIX', 'SOCK_STREAM', fd=fd)
    server.row('ACCEPT', fd, local_addr=shown)
    server.row('SHUTDOWN', call('shutdown', fd, 0), shutdown_how='SHUT_RD', local_addr=shown)
    server.close(local_addr=shown)
    client.close(remote_addr=shown)
    again = Life(book, 'AF_UNIX', 'SOCK_STREAM')
    try:
        again.one.bind(name)
    except OSError as error:
        again.row('BIND', -error.errno, local_addr=shown)
    again.close()
    listener.close(local_addr=shown)


@test
def unix(world):
    folder = world.make('unix')
    long = os.path.join(folder, 'x' * (107 - len(folder) - 1))

    def work(book):
        for path, shown in ((folder + '/so, "it" is', folder + '/so\\x2c \\x22it\\x22 is'), (long, long),
                            (folder.encode() + b'/a\\b\xff', folder + '/a\\x5cb\\xff')):
            unix_at(book, path, shown, (folder + '/none', folder + '/none'))
        mark = b'\0iotracer-live-%d' % os.getpid()
        unix_at(book, mark + b'\0x', '@' + mark[1:].decode() + '\\x00x',
                (mark + b'none', '@' + mark[1:].decode() + 'none'))
        full = b'\0' + b'y' * 107
        unix_at(book, full, '@' + 'y' * 107, (mark + b'none', '@' + mark[1:].decode() + 'none'))
    exact(world, 'conn', work)


@test
def pair(world):
    def work(book):
        ends = (ctypes.c_int * 2)()
        book.row('SOCKET_CREATE', domain='AF_UNIX', socket_type='SOCK_SEQPACKET', protocol='0',
                 return_value=call('socketpair', socket.AF_UNIX, socket.SOCK_SEQPACKET |
                                   socket.SOCK_CLOEXEC, 0, ends), fd=ends[0])
        book.row('SOCKET_CREATE', domain='AF_UNIX', socket_type='SOCK_SEQPACKET', protocol='0',
                 return_value=0, fd=ends[1])
        for fd in ends:
            Life(book, 'AF_UNIX', 'SOCK_SEQPACKET', fd=fd).close()
        book.row('SOCKET_CREATE', domain='AF_UNIX', socket_type='SOCK_STREAM', protocol='0',
                 return_value=call('socketpair', socket.AF_UNIX, socket.SOCK_STREAM, 0, BAD))
    exact(world, 'conn', work)


@test
def families(world):
    def work(book):
        netlink = Life(book, 'AF_NETLINK', 'SOCK_RAW', '15', number=15)
        netlink.one.bind((0, 0))
        netlink.row('BIND', 0)
        netlink.close()
        netlink = Life(book, 'AF_PACKET', 'SOCK_DGRAM', '', number=socket.htons(3), shown='768')
        netlink.close()
        one = Life(book, 'AF_INET', 'SOCK_RAW', 'ICMP', '4', number=socket.IPPROTO_ICMP)
        one.one.bind(('127.0.0.1', 0))
        ends = {'local_addr': '127.0.0.1'}
        one.row('BIND', 0, **ends)
        one.close(**ends)
        for family, kind, number, columns in (
                (socket.AF_INET, socket.SOCK_STREAM, 17, ('AF_INET', 'SOCK_STREAM', 'UDP')),
                (99, 9 | socket.SOCK_NONBLOCK, 1234, ('99', '9', '1234'))):
            try:
                socket.socket(family, kind, number)
            except OSError as error:
                book.row('SOCKET_CREATE', return_value=-error.errno,
                         **dict(zip(('domain', 'socket_type', 'protocol'), columns)))
    exact(world, 'conn', work)


@test
def errors(world):
    """Descriptors of nothing, of a file, and pointers to nowhere."""
    def work(book):
        with open('/proc/self/comm', encoding='ascii') as file:
            for fd in (-1, file.fileno()):
                book.row('BIND', fd=fd, return_value=call('bind', fd, BAD, 16))
                book.row('LISTEN', fd=fd, backlog=3, return_value=call('listen', fd, 3))
                book.row('CONNECT', fd=fd, return_value=call('connect', fd, BAD, 16))
                book.row('ACCEPT', return_value=call('accept', fd, 0, 0))
                book.row('SHUTDOWN', fd=fd, shutdown_how='7', return_value=call('shutdown', fd, 7))
        equal(call('close', -1), -errno.EBADF, 'close of nothing')
        one = inet(book, '4')
        one.row('BIND', call('bind', one.fd, BAD, 16))
        one.row('BIND', call('bind', one.fd, b'\0' * 4, 4))
        one.row('CONNECT', call('connect', one.fd, BAD, 16))
        one.row('CONNECT', call('connect', one.fd, 0, 0))
        one.row('CONNECT', call('connect', one.fd, BAD, 1 << 31))
        one.row('SHUTDOWN', call('shutdown', one.fd, 1), shutdown_how='SHUT_WR')
        elsewhere = struct.pack('=H2s4s8x', socket.AF_INET, struct.pack('!H', 7),
                                socket.inet_aton('192.0.2.1'))
        one.row('BIND', call('bind', one.fd, elsewhere, 16), **local('4', '192.0.2.1', 7))
        one.close()
        one = Life(book, 'AF_UNIX', 'SOCK_STREAM')
        one.row('BIND', call('bind', one.fd, BAD, 50))
        one.row('CONNECT', call('connect', one.fd, BAD, 0x7fffffff))
        one.close()
        check(all(row['return_value'] < 0 for row in book.rows
                  if row['operation'] not in ('SOCKET_CREATE', 'CLOSE')), 'errors', book.rows)
    exact(world, 'conn', work)


@test
def accept_waits(world):
    def work(book):
        listener = socket.socket()
        listener.bind(('127.0.0.1', 0))
        listener.listen(1)
        with book.meanwhile('accept4', lambda: socket.create_connection(listener.getsockname())):
            listener.accept()
    told, rows = record(world, 'conn', work)
    rows = [row for row in rows if row['operation'] == 'ACCEPT']
    equal(len(rows), 1, 'ACCEPT rows')
    waited(told, rows[0])


@test
def counts(world):
    number = 500

    def work(book):
        listener = socket.socket()
        listener.bind(('127.0.0.1', 0))
        listener.listen(8)
        for index in range(number):
            client = socket.socket()
            client.setblocking(index % 2)
            book.row(str(client.connect_ex(listener.getsockname())))
            listener.accept()[0].close()
            client.close()
        listener.detach()
    told, rows = record(world, 'conn', work)
    under_way = len([row for row in told['rows'] if row['operation'] == str(errno.EINPROGRESS)])
    found = {}
    for row in rows:
        found[row['operation']] = found.get(row['operation'], 0) + 1
    equal(found, {'SOCKET_CREATE': number + 1, 'BIND': 1, 'LISTEN': 1, 'ACCEPT': number,
                  'CONNECT': number + under_way, 'CLOSE': 2 * number + 1}, 'rows by operation')
    equal(under_way, number // 2, 'connections that were under way')


@test
def threads(world):
    """Connections of many threads at once: each call and each outcome is a row, once."""
    number, crowd = 100, 6

    def work(book):
        listener = socket.socket()
        listener.bind(('127.0.0.1', 0))
        listener.listen(1024)

        def one():
            for _ in range(number):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(listener.getsockname())
                client.close()
        some = [threading.Thread(target=one) for _ in range(crowd)]
        for thread in some:
            thread.start()
        for thread in some:
            thread.join()
    rows = [row for row in record(world, 'conn', work)[1] if row['operation'] == 'CONNECT']
    calls = {(row['local_port'], row['mono_ns']) for row in rows if row['return_value'] == '-115'}
    ends = [(row['local_port'], row['mono_ns']) for row in rows if row['return_value'] == '0']
    equal(len(calls), number * crowd, 'calls')
    equal(len(set(ends)), len(ends), 'outcomes, each once')
    # A socket may be closed before its connection comes about: how often is up to the machine.
    check(set(ends) <= calls and ends, 'outcomes of calls', len(ends))


@test
def filters(world):
    def work(_book):
        listener, client, server = connected('4')
        for one in (client, server, listener):
            one.close()
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(('127.0.0.1', 1))
        call('shutdown', client.detach(), 2)

    found = {}
    for options in (('--operation', 'CONNECT'), ('--errors',), ('--operation', 'CLOSE,ACCEPT'),
                    ('--command', 'nobody')):
        found[options[-1]] = [row['operation'] for row in record(world, 'conn', work, *options)[1]]
    equal(found, {'CONNECT': ['CONNECT'] * 3, '--errors': ['CONNECT', 'CONNECT', 'SHUTDOWN'],
                  'CLOSE,ACCEPT': ['ACCEPT'] + ['CLOSE'] * 4, 'nobody': []}, 'rows by filter')


def sockaddr_of(address):
    return struct.pack('=H2s4s8x', socket.AF_INET, struct.pack('!H', address[1]), socket.inet_aton(address[0]))


@test
def fast_open(world):
    """Who sends with MSG_FASTOPEN connects by it; a connection that is there already is not made again."""
    with open('/proc/sys/net/ipv4/tcp_fastopen', encoding='ascii') as file:
        if not int(file.read()) & 1:
            raise Skip('TCP fast open is off')

    def work(book):
        with socket.socket() as listener, socket.socket() as nobody, socket.socket() as one, socket.socket() as two, \
                socket.socket() as three:
            listener.bind(('127.0.0.1', 0))
            nobody.bind(('127.0.0.1', 0))
            listener.listen()
            there, gone = listener.getsockname(), nobody.getsockname()
            equal(one.sendto(b'abc', socket.MSG_FASTOPEN, there), 3, 'bytes sent')
            equal(call('sendto', one.fileno(), b'abc', 3, socket.MSG_FASTOPEN, sockaddr_of(there), 16), -errno.EISCONN, 'again')
            two.sendmsg([b'abc'], [], socket.MSG_FASTOPEN, there)
            try:
                three.sendto(b'abc', socket.MSG_FASTOPEN, gone)
            except ConnectionRefusedError:
                pass
            for socket_, to, result in ((one, there, 0), (two, there, 0), (three, gone, -errno.ECONNREFUSED)):
                book.row(json.dumps([str(socket_.fileno()), str(to[1]), str(result)]))
            for _ in range(2):
                listener.accept()[0].close()
    told, rows = record(world, 'conn', work)
    wanted = [json.loads(row['operation']) for row in told['rows']]
    rows = [row for row in rows if row['operation'] == 'CONNECT']
    equal(sorted([row['fd'], row['remote_port'], row['return_value']] for row in rows), sorted(wanted), 'connections')
    for row in rows:
        equal((row['remote_addr'], row['domain'], row['protocol'], row['pid']),
              ('127.0.0.1', 'AF_INET', 'TCP', rows[0]['pid']), 'of a connection')
        check(int(row['latency_ns']) > 0 and int(row['local_port']) > 0, 'latency and port', row)
