# SPDX-License-Identifier: GPL-2.0-or-later
"""
--sample: one in N events, by chance. Of n events a share p is a binomial: rows lie within 6 standard
deviations, which a right program misses once in 500 million times.
"""
import collections
import contextlib
import math
import mmap
import os
import select
import socket

from lib.registry import check, equal, test
from lib.world import find_key

EVENTS = 4000
OPTIONS = ['--pid', os.getpid()]


def near(count, one_in, what, events=EVENTS):
    mean = events / one_in
    spread = 6 * math.sqrt(mean * (1 - 1 / one_in)) + 1
    check(abs(count - mean) <= spread, '%s: %d rows of %d events, one in %d' % (what, count, events, one_in),
          'expected %d, give or take %d' % (mean, spread))


def data(world, size=4096):
    path = os.path.join(world.make('sample'), 'data')
    with open(path, 'wb') as file:
        file.write(b'x' * size)
    return path


@test
def reads(world):
    """Sessions with different shares; reads that are not drawn are not in `emitted`."""
    path = data(world)
    fd = os.open(path, os.O_RDONLY)
    shares = [1, 2, 10, 1000000000]
    sessions = [world.session('--vfs', '--operation', 'READ', *OPTIONS, '--sample', 'vfs=%d' % share).start()
                for share in shares]
    whole = world.session('--vfs', '--operation', 'READ', *OPTIONS).start()
    for _ in range(EVENTS):
        os.pread(fd, 1, 0)
    for session in [whole, *sessions]:
        session.stop()
    os.close(fd)
    times = [{row['mono_ns'] for row in session.rows() if row['filename'] == path} for session in sessions]
    counts = [len(one) for one in times]
    equal(len([row for row in whole.rows() if row['filename'] == path]), EVENTS, 'rows without a share')
    equal(counts[0], EVENTS, 'rows of one in 1')
    for share, count in zip(shares, counts):
        near(count, share, 'reads')
    equal(sessions[2].accounts['vfs']['emitted'], len(sessions[2].rows()), 'emitted')
    check(times[2] <= times[1], 'the smaller share is no part of the larger')


@test
def in_turn(world):
    """A program that alternates between two operations: half of each is drawn."""
    fd = os.open(data(world), os.O_RDWR)
    with world.session('--vfs', '--operation', 'READ,WRITE', *OPTIONS, '--sample', 'vfs=2') as session:
        for _ in range(EVENTS):
            os.pread(fd, 1, 0)
            os.pwrite(fd, b'y', 0)
    os.close(fd)
    rows = session.rows()
    for operation in ('READ', 'WRITE'):
        near(len([row for row in rows if row['operation'] == operation]), 2, operation)


@test
def other_streams(world):
    """Only the stream that is named is sampled, also of calls that make rows in several streams."""
    path = data(world)
    fd = os.open(path, os.O_RDONLY)
    one, two = socket.socketpair()
    with world.session('--vfs', '--epoll', '--sockopt', '--operation', 'READ,POLL,GET', *OPTIONS,
                       '--sample', 'epoll=4', '--sample', 'sockopt=2') as session:
        for _ in range(EVENTS):
            os.pread(fd, 1, 0)
            select.poll().poll(0)
            one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    for end in (one, two):
        end.close()
    os.close(fd)
    equal(len([row for row in session.rows() if row['filename'] == path]), EVENTS, 'reads')
    near(len(session.rows('epoll')), 4, 'polls')
    near(len(session.rows('sockopt')), 2, 'options')


@test
def network(world):
    """net and conn."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        receiver.bind(('127.0.0.1', 0))
        with world.session('--net', '--conn', '--operation', 'SEND,SOCKET_CREATE', *OPTIONS,
                           '--sample', 'net=8', '--sample', 'conn=3') as session:
            for _ in range(EVENTS):
                sender.sendto(b'x', receiver.getsockname())
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    near(len(session.rows('net')), 8, 'datagrams')
    near(len(session.rows('conn')), 3, 'sockets')


@test
def cache(world):
    """A call is drawn as a whole: none of its pages is missing, and no HIT becomes a MISS."""
    path = data(world, 16 * 4096)
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    with world.session('--cache', *OPTIONS, '--cache-sample-rate', '4') as session:
        for _ in range(300):
            os.pwrite(fd, b'z' * 3 * 4096, 0)
            os.fsync(fd)
    os.close(fd)
    rows = [row for row in session.rows('cache') if row['filename'] == path and row['operation'] == 'DIRTY']
    near(len(rows), 4, 'writes', 300)
    equal(len({row['count'] for row in rows}), 1, 'pages of a write: always as many')


@test
def cache_reads(world):
    """Each call is drawn once, however many hooks see it, and independently of the call before."""
    calls, pages = 300, 16
    path = data(world, pages * 4096)
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    with world.session('--cache', *OPTIONS, '--sample', 'cache=4') as session:
        for _ in range(calls):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(fd, pages * 4096, 0)
            os.pread(fd, pages * 4096, 0)
    os.close(fd)
    rows = [row for row in session.rows('cache') if row['filename'] == path]
    drops = [row for row in rows if row['operation'] == 'DROP']
    near(len(drops), 4, 'drops', calls)
    equal({row['count'] for row in drops}, {str(pages)}, 'pages of a drop')
    told = "'HIT'" not in str(find_key(session.started, 'missing'))
    for operation in ('MISS', 'HIT') if told else ('MISS',):
        found = collections.Counter()
        for row in rows:
            if row['operation'] == operation:
                found[row['mono_ns']] += int(row['count'])
        near(len(found), 4, operation, calls)
        equal(set(found.values()), {pages}, 'pages of a %s' % operation)


@contextlib.contextmanager
def page(path):
    """Of a file, mapped."""
    fd = os.open(path, os.O_RDONLY)
    with mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ) as pages:
        os.close(fd)
        yield pages


def fault(pages, times=EVENTS):
    for _ in range(times):
        pages.madvise(mmap.MADV_DONTNEED)
        pages[0]


def faults_of(session, path):
    return [row['mono_ns'] for row in session.rows('pagefault') if row['filename'] == path]


@test
def faults(world):
    path = data(world)
    with page(path) as pages:
        for share in (2, 4, 13, 30):
            with world.session('--pagefault', *OPTIONS, '--sample', 'pagefault=%d' % share) as session:
                fault(pages)
            near(len(faults_of(session, path)), share, 'faults')


@test
def faults_beside(world):
    """A session that samples lowers how many faults the kernel reports; one beside it that wants all gets all."""
    path = data(world)
    with page(path) as pages:
        few, fewer = [world.session('--pagefault', *OPTIONS, '--sample', 'pagefault=%d' % share).start()
                      for share in (26, 52)]
        fault(pages)
        with world.session('--pagefault', *OPTIONS) as every:
            fault(pages)
        fault(pages)
        for session in (few, fewer):
            session.stop()
    equal(len(faults_of(every, path)), EVENTS, 'faults without a share')
    near(len(faults_of(few, path)), 26, 'faults', 3 * EVENTS)
    near(len(faults_of(fewer, path)), 52, 'faults', 3 * EVENTS)
    check(set(faults_of(fewer, path)) <= set(faults_of(few, path)), 'the smaller share is no part of the larger')


@test
def block(world):
    """A request is drawn once, however many hooks see it."""
    loop = world.loop()
    fd = os.open(loop, os.O_RDONLY | os.O_DIRECT)
    with world.session('--block', '--device', loop, '--sample', 'block=3') as session:
        world.command('dd', 'if=' + loop, 'of=/dev/null', 'bs=4k', 'count=1200', 'iflag=direct')
    os.close(fd)
    near(len([row for row in session.rows('block') if row['operation'] == 'READ']), 3, 'requests', 1200)


@test
def refused(world):
    for words, what in ((['vfs=0'], 'from 1'), (['vfs=1000000001'], 'from 1'), (['vfs'], 'STREAM=N'),
                        (['zfs=2'], 'no stream'), (['block=2'], 'no stream'), (['vfs=-1'], 'one in N'),
                        (['vfs=1.5'], 'one in N'), (['=2'], 'no stream'), (['vfs='], 'one in N')):
        done = world.ctl.exits((1, 2), 'start', 'x', '--vfs', '--sample', *words)
        check(what in done.stderr, '%s: the reason is not told' % words, done.stderr)
