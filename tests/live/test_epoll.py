# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for descriptors: every call of the family by its number, and every column of its row."""
import ctypes
import errno
import os
import signal

from lib.calls import Caller, filtered, in_call, judged
from lib.registry import Skip, check, equal, test, wait_for

SCRIPT = r'''
import errno, select
POLL, SELECT, CTL, WAIT = 7, 23, 233, 232
CREATE, CREATE1, PWAIT, PWAIT2, PPOLL, PSELECT = 213, 291, 281, 441, 271, 270
MS = 1000000
EMPTY = dict(epoll_fd=None, target_fd=None, epoll_op=None, event_mask=None, max_events=None,
             ready_count=None, timeout_ms=None)

def ready(result):
    return result if result >= 0 else None

def create(number, argument):
    return row('EPOLL_CREATE', number, argument,
               **{**EMPTY, 'epoll_fd': lambda result: result if result >= 0 else None})

def ctl(epoll, op, target, events, pointer=None, name=None, mask=None):
    event = struct.pack('<IQ', events, 7)
    return row('EPOLL_CTL', CTL, epoll, op, target,
               ctypes.create_string_buffer(event, 12) if pointer is None else pointer,
               **{**EMPTY, 'epoll_fd': epoll, 'target_fd': target, 'event_mask': mask,
                  'epoll_op': {1: 'ADD', 2: 'DEL', 3: 'MOD'}.get(op, op)})

def wait(number, epoll, room, argument, *rest, asked=None, mask=None, least=0, buffer=None):
    buffer = ctypes.create_string_buffer(12 * max(1, min(room, 1000))) if buffer is None else buffer
    return row('EPOLL_WAIT', number, epoll, buffer, room, argument, *rest,
               **{**EMPTY, 'epoll_fd': epoll, 'event_mask': mask, 'max_events': room,
                  'ready_count': ready, 'timeout_ms': asked, 'latency_least': least})

def fds(*pairs):
    return ctypes.create_string_buffer(b''.join(struct.pack('<ihh', fd, events, 0)
                                                for fd, events in pairs), 8 * max(1, len(pairs)))

def poll(number, array, count, argument, *rest, asked=None, mask=None, target=None, least=0):
    return row('POLL', number, array, count, argument, *rest,
               **{**EMPTY, 'target_fd': target, 'event_mask': mask, 'max_events': count,
                  'ready_count': ready, 'timeout_ms': asked, 'latency_least': least})

def choose(number, count, argument, *rest, asked=None, read=0, least=0):
    return row('SELECT', number, count, read, 0, 0, argument, *rest,
               **{**EMPTY, 'max_events': count, 'ready_count': ready, 'timeout_ms': asked,
                  'latency_least': least})

def span(seconds, fraction):
    return ctypes.create_string_buffer(struct.pack('<qq', seconds, fraction), 16)

def less(left, seconds, fraction):
    # A fast call leaves nearly all of it, so the least difference is what is asked for.
    return struct.unpack('<qq', left.raw) < (seconds, fraction)
'''


def calls(world, script, *options):
    """Judges the rows of what the script does."""
    session, noted = judged(world, SCRIPT + script, options, 'epoll')
    check(noted, 'nothing was done')
    return session.rows('epoll'), noted


def returned(noted):
    return [one['return_value'] for one in noted]


@test
def create(world):
    _, noted = calls(world, r'''
create(CREATE, 1)
create(CREATE, 0)
create(CREATE1, 0)
create(CREATE1, 0o2000000)
create(CREATE1, 1)
''')
    equal([value if value < 0 else 'fd' for value in returned(noted)],
          ['fd', -22, 'fd', 'fd', -22], 'results')


@test
def ctl(world):
    """ADD, MOD and DEL, masks by name, and what the kernel refuses."""
    _, noted = calls(world, r'''
one, other = os.pipe()
epoll = create(CREATE1, 0)
ctl(epoll, 1, one, 0x1, mask='EPOLLIN')
ctl(epoll, 1, one, 0x1, mask='EPOLLIN')
ctl(epoll, 3, one, 0xe0002003, mask='EPOLLIN|EPOLLPRI|EPOLLRDHUP|EPOLLWAKEUP|EPOLLONESHOT|EPOLLET')
ctl(epoll, 3, one, 0, mask='0')
ctl(epoll, 1, other, 0x10000004, mask='EPOLLOUT|EPOLLEXCLUSIVE')
ctl(epoll, 2, one, 0, pointer=0)
ctl(epoll, 2, one, 0, pointer=0)
ctl(epoll, 3, one, 0x800000, mask='0x800000')
ctl(epoll, 1, epoll, 1, mask='EPOLLIN')
ctl(epoll, 257, one, 1, mask='EPOLLIN')
ctl(epoll, 0, one, 1, mask='EPOLLIN')
ctl(epoll, -1, one, 1, mask='EPOLLIN')
ctl(-1, 1, one, 1, mask='EPOLLIN')
ctl(epoll, 1, -1, 1, mask='EPOLLIN')
ctl(999, 1, 998, 1, mask='EPOLLIN')
ctl(one, 1, other, 1, mask='EPOLLIN')
ctl(epoll, 1, one, 1, pointer=BAD)
''')
    equal(returned(noted)[1:], [0, -17, 0, 0, 0, 0, -2, -2, -22, -22, -22, -22, -9, -9, -9, -22, -14],
          'results')


@test
def wait(world):
    """Ready at once, timed out, for ever, and refused."""
    _, noted = calls(world, r'''
one, other = os.pipe()
os.write(other, b'x')
epoll = create(CREATE1, 0)
ctl(epoll, 1, one, 0x1, mask='EPOLLIN')
ctl(epoll, 1, other, 0x4, mask='EPOLLOUT')
BOTH = 'EPOLLIN|EPOLLOUT'
wait(WAIT, epoll, 8, -1, asked=-1, mask=BOTH)
wait(WAIT, epoll, 8, 0x7fffffff, asked=0x7fffffff, mask=BOTH)
wait(WAIT, epoll, 8, -5, asked=-1, mask=BOTH)
wait(PWAIT, epoll, 2, 100, 0, 8, asked=100, mask=BOTH)
ctl(epoll, 2, other, 0, pointer=0)
os.read(one, 1)
wait(WAIT, epoll, 8, 0, asked=0)
wait(WAIT, epoll, 8, 30, asked=30, least=30 * MS)
wait(PWAIT, epoll, 8, 30, 0, 8, asked=30, least=30 * MS)
os.close(other)
wait(WAIT, epoll, 8, -1, asked=-1, mask='EPOLLHUP')
wait(WAIT, -1, 8, 7, asked=7)
wait(WAIT, one, 8, 7, asked=7)
wait(WAIT, epoll, 0, 7, asked=7)
wait(WAIT, epoll, -1, 7, asked=7)
wait(WAIT, epoll, 0x7fffffff, 7, asked=7)
wait(WAIT, epoll, 8, 7, asked=7, buffer=BAD)
wait(PWAIT, epoll, 8, 7, BAD, 8, asked=7)
wait(PWAIT, epoll, 8, 7, BAD, 9, asked=7)
''')
    equal(returned(noted)[1:], [0, 0, 2, 2, 2, 2, 0, 0, 0, 0, 1, -9, -22, -22, -22, -22, -14, -14, -22],
          'results')


@test
def wait_timespec(world):
    """epoll_pwait2, whose time is in nanoseconds."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(441, -1, 0, 0, 0, 0, 0) and ctypes.get_errno() == errno.ENOSYS:
        raise Skip('the kernel has no epoll_pwait2')
    _, noted = calls(world, r'''
one, other = os.pipe()
os.write(other, b'x')
epoll = create(CREATE1, 0)
ctl(epoll, 1, one, 0x1, mask='EPOLLIN')
wait(PWAIT2, epoll, 3, 0, 0, 8, asked=-1, mask='EPOLLIN')
wait(PWAIT2, epoll, 3, span(2, 1), 0, 8, asked=2001, mask='EPOLLIN')
os.read(one, 1)
wait(PWAIT2, epoll, 8, span(0, 30 * MS), 0, 8, asked=30, least=30 * MS)
wait(PWAIT2, epoll, 8, BAD, 0, 8, asked=None)
wait(PWAIT2, epoll, 8, span(-1, 0), 0, 8, asked=None)
wait(PWAIT2, epoll, 8, span(1, 1000 * MS), 0, 8, asked=2000)
os.close(other)
wait(PWAIT2, epoll, 8, span(0x7fffffffffffffff, 0), 0, 8, asked=0x7fffffffffffffff, mask='EPOLLHUP')
''')
    equal(returned(noted)[1:], [0, 1, 1, 0, -14, -22, -22, 1], 'results')


@test
def many_events(world):
    """Masks are of the first 64, counts of all."""
    calls(world, r'''
epoll = create(CREATE1, 0)
pairs = [socket.socketpair() for _ in range(40)]
for index, (one, _) in enumerate(pairs):
    ctl(epoll, 1, one.fileno(), 0x4, mask='EPOLLOUT')
pairs[39][1].close()
wait(WAIT, epoll, 100, -1, asked=-1, mask='EPOLLOUT|EPOLLHUP')
wait(WAIT, epoll, 10, -1, asked=-1, mask='EPOLLOUT')
many = [(pairs[index % 39][0].fileno(), 4) for index in range(200)]
poll(POLL, fds(*many), 200, -1, asked=-1, mask='EPOLLOUT')
many[63] = (many[63][0], 5)
poll(POLL, fds(*many), 200, -1, asked=-1, mask='EPOLLIN|EPOLLOUT')
''')


@test
def poll(world):
    _, noted = calls(world, r'''
one, other = os.pipe()
poll(POLL, fds((other, 4)), 1, -1, asked=-1, mask='EPOLLOUT', target=other)
poll(POLL, fds((one, 1)), 1, 0, asked=0, mask='EPOLLIN', target=one)
poll(POLL, fds((one, 1), (other, 4)), 2, 5000, asked=5000, mask='EPOLLIN|EPOLLOUT')
poll(POLL, fds((one, 3)), 1, 30, asked=30, mask='EPOLLIN|EPOLLPRI', target=one, least=30 * MS)
poll(POLL, fds((-1, 1)), 1, 10, asked=10, mask='EPOLLIN', target=-1, least=10 * MS)
poll(POLL, fds((999, 0)), 1, -1, asked=-1, mask='0', target=999)
poll(POLL, 0, 0, 10, asked=10, least=10 * MS)
poll(POLL, BAD, 2, 7, asked=7)
poll(POLL, BAD, 1, 7, asked=7)
poll(POLL, fds(*[(one, 1)] * 64), 0xffffffff, 7, asked=7, mask='EPOLLIN')
poll(PPOLL, fds((other, 4)), 1, 0, 0, 8, asked=-1, mask='EPOLLOUT', target=other)
left = span(5, 1)
poll(PPOLL, fds((other, 4)), 1, left, 0, 8, asked=5001, mask='EPOLLOUT', target=other)
assert less(left, 5, 1)
poll(PPOLL, fds((one, 1)), 1, span(0, 30 * MS), 0, 8, asked=30, mask='EPOLLIN', target=one,
     least=30 * MS)
poll(PPOLL, fds((one, 1)), 1, BAD, 0, 8, asked=None, mask='EPOLLIN', target=one)
poll(PPOLL, fds((one, 1)), 1, span(0, -1), 0, 8, asked=None, mask='EPOLLIN', target=one)
poll(PPOLL, fds((one, 1)), 1, span(1, 0), BAD, 8, asked=1000, mask='EPOLLIN', target=one)
poll(PPOLL, fds((one, 1)), 1, span(1, 0), BAD, 9, asked=1000, mask='EPOLLIN', target=one)
''')
    equal(returned(noted)[:9], [1, 0, 1, 0, 0, 1, 0, -14, -14], 'results of poll')
    equal(returned(noted)[9:], [-22, 1, 1, 0, -14, -22, -14, -22], 'results of ppoll, one of them with too many descriptors')


@test
def select(world):
    """The timeout is what was asked for, whatever the call leaves of it."""
    _, noted = calls(world, r'''
one, other = os.pipe()
def bits(*numbers):
    value = sum(1 << number for number in numbers)
    return ctypes.create_string_buffer(value.to_bytes(128, 'little'), 128)
count = other + 1
choose(SELECT, count, span(0, 30000), asked=30, read=bits(one), least=30 * MS)
choose(PSELECT, count, span(0, 30 * MS), 0, asked=30, read=bits(one), least=30 * MS)
os.write(other, b'x')
left = span(5, 1)
choose(SELECT, count, left, asked=5001, read=bits(one))
assert less(left, 5, 1)
left = span(7, 0)
choose(PSELECT, count, left, 0, asked=7000, read=bits(one))
assert less(left, 7, 0)
choose(SELECT, count, 0, asked=-1, read=bits(one))
choose(PSELECT, count, 0, 0, asked=-1, read=bits(one))
choose(SELECT, 0, span(0, 0), asked=0)
choose(SELECT, 0, span(0, 1), asked=1)
choose(SELECT, 0, span(0, 25000), asked=25, least=25 * MS)
choose(SELECT, 1024, span(0, 2500000), asked=2500, read=bits(one))
choose(SELECT, 1000, span(0, 0), asked=0, read=bits(999))
choose(SELECT, -1, span(0, 0), asked=0)
choose(SELECT, count, span(0, 0), asked=0, read=BAD)
choose(SELECT, count, BAD, asked=None, read=bits(one))
choose(SELECT, count, span(-1, 0), asked=None, read=bits(one))
choose(PSELECT, count, BAD, 0, asked=None, read=bits(one))
choose(PSELECT, count, span(0, 0), BAD, asked=0, read=bits(one))
choose(PSELECT, count, span(0, 1000 * MS), 0, asked=1000, read=bits(one))
''')
    values = returned(noted)
    check(values.pop(10) in (-9, 0), 'a descriptor that is not open')
    equal(values, [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, -22, -14, -14, -22, -14, -14, -22], 'results')


@test
def interrupted(world):
    """A signal with a handler ends the wait; what the program sees is EINTR."""
    calls(world, r'''
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
epoll = create(CREATE1, 0)
one, other = os.pipe()
for make in (lambda: wait(WAIT, epoll, 1, -1, asked=-1, least=20 * MS),
             lambda: poll(POLL, fds((one, 1)), 1, -1, asked=-1, mask='EPOLLIN', target=one,
                          least=20 * MS),
             lambda: poll(PPOLL, fds((one, 1)), 1, span(9, 0), 0, 8, asked=9000, mask='EPOLLIN',
                          target=one, least=20 * MS),
             lambda: choose(SELECT, 0, span(9, 0), asked=9000, least=20 * MS)):
    signal.setitimer(signal.ITIMER_REAL, 0.25)
    assert make() == -errno.EINTR
''')


@test
def filters(world):
    """Operation, errors and latency; a session that filters by size or device gets no rows, and needs another stream."""
    script = SCRIPT + r'''
epoll = call(CREATE1, 0)
one, other = os.pipe()
call(CTL, epoll, 1, one, ctypes.create_string_buffer(struct.pack('<IQ', 1, 7), 12))
call(WAIT, epoll, ctypes.create_string_buffer(12), 1, 60)
call(WAIT, -1, BAD, 1, 0)
call(POLL, fds((one, 1)), 1, 0)
call(SELECT, -1, 0, 0, 0, 0)
'''
    expected = [
        (['--operation', 'POLL,EPOLL_CTL'], ['EPOLL_CTL', 'POLL']),
        (['--errors'], ['EPOLL_WAIT', 'SELECT']),
        (['--min-latency', '50ms'], ['EPOLL_WAIT']),
        (['--operation', 'EPOLL_WAIT', '--errors'], ['EPOLL_WAIT']),
        (['--vfs', '--min-size', '1'], []),
        (['--vfs', '--device', '1:2'], []),
        (['--uid', '4711'], []),
        ([], ['EPOLL_CREATE', 'EPOLL_CTL', 'EPOLL_WAIT', 'EPOLL_WAIT', 'POLL', 'SELECT']),
    ]
    filtered(world, 'epoll', script, expected)


@test
def with_files(world):
    """Each call is a row of one stream only, and no stream misses rows beside another."""
    caller = Caller(SCRIPT + r'''
one, other = os.pipe()
for _ in range(500):
    poll(POLL, fds((one, 1)), 1, 0, asked=0, mask='EPOLLIN', target=one)
    os.stat('/')
''')
    with world.session('--vfs', '--epoll', '--pid', caller.pid) as session:
        noted = caller.go()
    caller.judge(noted, session.rows('epoll'))
    stats = [row for row in session.rows('vfs')
             if row['operation'] == 'GETATTR' and row['filename'] == '/']
    equal(len(stats), 500, 'rows of stat')


@test
def under_way(world):
    """A wait that began before the session makes no row; nor does one whose thread is killed."""
    waiter = Caller(SCRIPT + 'call(POLL, 0, 0, 1000000)\n')
    waiter.begin()
    wait_for('poll', lambda: in_call(waiter.pid, 7))
    with world.session('--epoll', '--pid', waiter.pid) as session:
        os.kill(waiter.pid, signal.SIGKILL)
        waiter.end(-signal.SIGKILL)
    equal(session.rows('epoll'), [], 'rows')
