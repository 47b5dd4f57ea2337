# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring: completions that do not say which request they are of, in each stream that has rows of them."""
import os
import resource
import select
import socket
from collections import Counter

from lib import uring
from lib.registry import Skip, equal, test
from lib.sockets import datagram_pair, sockaddr
from lib.uring_case import OLDEST, Case, pipe

MANY = 600  # more than any table of requests that evicts its oldest entries


def lost(session):
    return {stream: counts for stream, account in session.accounts.items()
            for counts in [{name: count for name, count in account['lost'].items() if count}]
            if counts}


@test
def without_room(world):
    """More completions than the ring has room for: rows of them all, in every stream, each once."""
    case = Case(world, flags=uring.CQSIZE, completions=64).need('READ', 'SEND', 'CONNECT')
    path, fd = case.file()
    left, right = datagram_pair('4')
    at, name = uring.address(case.buffer()), sockaddr(left)
    streams = ('iouring', 'vfs', 'net', 'conn')
    with world.session(*('--' + stream for stream in streams), '--pid', os.getpid()) as session:
        for batch in range(2):
            for number in range(16):
                # A program may give all its requests the same user_data.
                case.ring.push('NOP', user_data=None if OLDEST else 0)
                case.ring.push('READ', fd=fd, addr=at, length=10 + number, off=100 * batch)
                case.ring.push('SEND', fd=left.fileno(), addr=at, length=40 * batch + number)
                case.ring.push('CONNECT', fd=right.fileno(), addr=case.ring.keep(name), off=len(name))
            equal(case.ring.enter(), 64, 'submitted')
        told = case.ring.reap()
        case.ring.enter(1)
        told += case.ring.reap()
    for one in (left, right):
        one.close()
    case.ring.close()
    equal(len(told), 128, 'completions')
    equal(lost(session), {}, 'lost')
    equal(Counter((row['user_data'], row['result']) for row in session.rows('iouring')),
          Counter((hex(number), str(result)) for number, result, _ in told), 'requests')
    equal(Counter((row['size'], row['return_value'], row['offset']) for row in session.rows('vfs')
                  if row['filename'] == path and row['operation'] == 'READ'),
          Counter((str(10 + number), str(10 + number), str(100 * batch))
                  for batch in range(2) for number in range(16)), 'READ')
    equal(Counter((row['size'], row['bytes_completed']) for row in session.rows('net')
                  if row['operation'] == 'SEND'),
          Counter((str(size), str(size)) for start in (0, 40) for size in range(start, start + 16)),
          'SEND')
    equal(len([row for row in session.rows('conn') if row['operation'] == 'CONNECT']), 32, 'CONNECT')


def repeated(world, operation, push, cause, *options, mine=lambda row: True):
    """Many requests at a time, each of which is completed twice before it is cancelled."""
    case = Case(world, entries=1024)
    if OLDEST:
        raise Skip('no multishot requests')
    with world.session(*options, '--pid', os.getpid()) as session:
        requests = [push(case.ring, number) for number in range(MANY)]
        case.ring.enter()
        for _ in range(2):
            for number in range(MANY):
                cause(number)
            told = case.ring.finish(MANY)
            single = [one for one in told if one[1] < 0 or not one[2] & uring.MORE]
            if single:
                raise Skip('no multishot: %s' % single[:1])
        for entry in requests:
            case.ring.push('ASYNC_CANCEL', addr=entry.user_data)
        case.ring.finish(2 * MANY)
    case.ring.close()
    equal(lost(session), {}, 'lost')
    rows = [row for row in session.rows(options[0][2:])
            if row['operation'] == operation and mine(row)]
    equal(len(rows), 3 * MANY, 'rows: two that tell of something, one that it is cancelled')
    return rows


def room_for_files(world):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    world.undo.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))


def buffers(ring):
    """For what is received, and for each request to hold one while it waits."""
    memory = ring.keep(uring.text(bytes(16 * 3 * MANY)))
    ring.one('PROVIDE_BUFFERS', fd=3 * MANY, addr=memory, length=16, buf=3)


def pipes_of(world):
    room_for_files(world)
    return [pipe(world) for _ in range(MANY)]


@test
def many_polls(world):
    pipes = pipes_of(world)
    rows = repeated(world, 'POLL_ADD',
                    lambda ring, number: ring.push('POLL_ADD', fd=pipes[number][0], length=1,
                                                   op_flags=select.POLLIN),
                    lambda number: os.write(pipes[number][1], b'x'), '--iouring')
    equal(set(Counter(row['user_data'] for row in rows).values()), {3}, 'rows of a request')


@test
def many_reads(world):
    pipes = pipes_of(world)
    ends = {str(end) for end, _ in pipes}

    def push(ring, number):
        if not number:
            buffers(ring)
        return ring.push('READ_MULTISHOT', fd=pipes[number][0], off=-1, buf=3,
                         flags=uring.BUFFER_SELECT)
    rows = repeated(world, 'READ', push, lambda number: os.write(pipes[number][1], b'xyz'),
                    '--vfs', '--pseudo-fs', mine=lambda row: row['fd'] in ends)
    equal(Counter((row['size'], row['return_value']) for row in rows),
          {('', '3'): 2 * MANY, ('', '-125'): MANY}, 'sizes')


@test
def many_receives(world):
    room_for_files(world)
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ends = []
    for _ in range(MANY):
        ends.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        ends[-1].bind(('127.0.0.1', 0))
        world.undo.callback(ends[-1].close)

    def push(ring, number):
        if not number:
            buffers(ring)
        return ring.push('RECV', fd=ends[number].fileno(), ioprio=2, buf=3,
                         flags=uring.BUFFER_SELECT)
    rows = repeated(world, 'RECEIVE', push,
                    lambda number: here.sendto(b'xyz', ends[number].getsockname()), '--net')
    here.close()
    equal(set(Counter(row['dest_port'] for row in rows).values()), {3}, 'rows of a socket')


@test
def many_accepts(world):
    room_for_files(world)
    servers = [socket.create_server(('127.0.0.1', 0)) for _ in range(MANY)]
    clients = []

    def cause(number):
        clients.append(socket.create_connection(servers[number].getsockname()))
    rows = repeated(world, 'ACCEPT',
                    lambda ring, number: ring.push('ACCEPT', fd=servers[number].fileno(), ioprio=1),
                    cause, '--conn')
    for one in servers + clients:
        one.close()
    for row in rows:
        if row['fd']:
            os.close(int(row['fd']))
    equal(set(Counter(row['local_port'] for row in rows).values()), {3}, 'rows of a socket')


@test
def never_told(world):
    """A request whose success makes no completion is counted as lost; the next one in its memory does not make its row."""
    case = Case(world).need('READ', 'SEND', 'CONNECT')
    if OLDEST:
        raise Skip('requests go by their numbers')
    path, fd = case.file()
    left, right = datagram_pair('4')
    at, name = uring.address(case.buffer()), sockaddr(left)
    with world.session('--vfs', '--net', '--conn', '--pid', os.getpid()) as session:
        for _ in range(16):
            case.ring.push('READ', fd=fd, addr=at, length=100, flags=uring.SKIP)
            case.ring.push('SEND', fd=left.fileno(), addr=at, length=10, flags=uring.SKIP)
            case.ring.push('CONNECT', fd=right.fileno(), addr=case.ring.keep(name), off=len(name),
                           flags=uring.SKIP)
            case.ring.enter()
            for _ in range(8):  # which reuse the memory of those
                case.ring.push('NOP')
            case.ring.finish(8)
    for one in (left, right):
        one.close()
    case.ring.close()
    equal([row for row in session.rows('vfs') if row['filename'] == path and row['operation'] == 'READ'], [],
          'rows of reads')
    equal([row for row in session.rows('net') if row['operation'] == 'SEND'], [], 'rows of sends')
    equal([row for row in session.rows('conn') if row['operation'] == 'CONNECT'], [], 'rows of connects')
    equal({stream: account['lost']['unmatched'] for stream, account in session.accounts.items()},
          {'vfs': 16, 'net': 16, 'conn': 16}, 'counted')
