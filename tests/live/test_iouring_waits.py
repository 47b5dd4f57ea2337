# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring: requests that wait for a time or for another process, and requests that complete many times."""
import ctypes
import errno
import os
import select
import socket
import struct
import time

from lib import uring
from lib.registry import Skip, check, equal, test
from lib.uring_case import Case, listener, of_pipe, of_socket, pair, pipe, results

GROUP = 'iouring'


@test
def timeouts(world):
    with Case(world) as case:
        wait = case.ring.keep((ctypes.c_int64 * 2)(0, 20000000))
        case.expect(case.ring.one('TIMEOUT', addr=wait, length=1), result=-errno.ETIME)
        long = case.ring.keep((ctypes.c_int64 * 2)(1000, 0))
        begin = time.monotonic_ns()
        waiting = case.ring.push('TIMEOUT', addr=long, length=1, user_data=4711)
        removal = case.ring.push('TIMEOUT_REMOVE', addr=4711)
        results([waiting, removal], case.ring.finish(2))
        waiting.begin, waiting.end = begin, time.monotonic_ns()
        case.expect(waiting, result=-errno.ECANCELED)
        case.expect(removal, result=0)
    first = float(case.rows[0]['latency_ms'])
    check(20 <= first < 20000, 'latency of a timeout of 20 ms', first)


@test
def polls(world):
    case = Case(world)
    end, other = pipe(world)
    with case:
        begin = time.monotonic_ns()
        entry = case.ring.push('POLL_ADD', fd=end, op_flags=select.POLLIN)
        case.ring.enter()
        time.sleep(0.03)
        os.write(other, b'x')
        (_, entry.result, _), = case.ring.finish(1)
        entry.begin, entry.end = begin, time.monotonic_ns()
        case.expect(entry, **of_pipe(end), result=select.POLLIN)
    check(float(case.rows[0]['latency_ms']) >= 30, 'latency', case.rows[0])


@test
def polls_multishot(world):
    """A row for each completion, each with the time since the submission."""
    case = Case(world)
    end, other = pipe(world)
    with case:
        entry = case.ring.push('POLL_ADD', fd=end, op_flags=select.POLLIN, length=1)
        case.ring.enter()
        for _ in range(3):
            os.write(other, b'x')
            (number, result, flags), = case.ring.finish(1)
            if not flags & uring.MORE:
                raise Skip('no multishot polls: %d' % result)
            equal((number, result), (entry.user_data, select.POLLIN), 'completion')
            os.read(end, 1)
            case.expect(entry, **of_pipe(end), result=result)
        removal = case.ring.push('POLL_REMOVE', addr=entry.user_data)
        told = case.ring.finish(2)
        results([entry, removal], told)
        case.expect(entry, **of_pipe(end), result=-errno.ECANCELED)
        case.expect(removal, result=0)
    times = [float(row['latency_ms']) for row in case.rows if row['operation'] == 'POLL_ADD']
    equal(times, sorted(times), 'latencies')
    equal(len({row['mono_ns'] for row in case.rows if row['operation'] == 'POLL_ADD'}), 1,
          'times of submission')


@test
def accepts(world):
    case = Case(world).need('ACCEPT', 'CONNECT')
    server = listener(world)
    with case:
        client = socket.socket()
        world.undo.callback(client.close)
        target = case.ring.keep(ctypes.create_string_buffer(struct.pack(
            '<H', socket.AF_INET) + struct.pack('>H', server.getsockname()[1]) +
            socket.inet_aton('127.0.0.1') + bytes(8)))
        both = [case.ring.push('ACCEPT', fd=server.fileno()),
                case.ring.push('CONNECT', fd=client.fileno(), addr=target, off=16)]
        results(both, case.ring.finish(2))
        check(both[0].result > 0, 'ACCEPT: %d' % both[0].result)
        os.close(both[0].result)
        case.expect(both[0], **of_socket(server.fileno()))
        case.expect(both[1], **of_socket(client.fileno()), result=0)


@test
def accepts_multishot(world):
    case = Case(world).need('ACCEPT')
    server = listener(world)
    with case:
        entry = case.ring.push('ACCEPT', fd=server.fileno(), ioprio=1)
        case.ring.enter()
        for _ in range(4):
            client = socket.create_connection(server.getsockname())
            (_, result, flags), = case.ring.finish(1)
            client.close()
            if result < 0 or not flags & uring.MORE:
                raise Skip('no multishot accept: %d' % result)
            os.close(result)
            case.expect(entry, **of_socket(server.fileno()), result=result)
        cancel = case.ring.push('ASYNC_CANCEL', addr=entry.user_data)
        results([entry, cancel], case.ring.finish(2))
        case.expect(entry, **of_socket(server.fileno()))
        case.expect(cancel, result=0)


@test
def sends_and_receives(world):
    case = Case(world).need('SEND', 'RECV')
    left, right = pair(world)
    buffer = case.buffer()
    at, ring = uring.address(buffer), case.ring
    message = ring.keep(ctypes.create_string_buffer(
        struct.pack('<QIIQQQQQ', 0, 0, 0, ring.vectors(case.buffer(64)), 1, 0, 0, 0)))
    with case:
        case.expect(ring.one('SEND', fd=left, addr=at, length=100), **of_socket(left), length=100,
                    result=100)
        case.expect(ring.one('RECV', fd=right, addr=at, length=4096), **of_socket(right),
                    length=4096, result=100)
        case.expect(ring.one('SENDMSG', fd=left, addr=message, length=1), **of_socket(left),
                    result=64)
        case.expect(ring.one('RECVMSG', fd=right, addr=message, length=1), **of_socket(right),
                    result=64)
        case.expect(ring.one('SHUTDOWN', fd=left, length=2), **of_socket(left))


@test
def sends_without_copy(world):
    """The notification that the buffer is free is no row."""
    case = Case(world).need('SEND_ZC')
    server = listener(world)
    client = socket.create_connection(server.getsockname())
    world.undo.callback(client.close)
    with case:
        entry = case.ring.push('SEND_ZC', fd=client.fileno(), addr=uring.address(case.buffer()),
                               length=1000)
        told = case.ring.finish(2)
        check(told[1][2] & uring.NOTIFICATION, 'no notification', told)
        entry.result = told[0][1]
        case.expect(entry, **of_socket(client.fileno()), length=1000, result=1000)


@test
def receives_multishot(world):
    case = Case(world).need('RECV', 'PROVIDE_BUFFERS')
    left, right = pair(world)
    at = uring.address(case.buffer())
    case.ring.one('PROVIDE_BUFFERS', fd=8, addr=at, length=512, buf=3)
    with case:
        entry = case.ring.push('RECV', fd=right, ioprio=2, buf=3, flags=uring.BUFFER_SELECT)
        case.ring.enter()
        for number in range(1, 6):
            os.write(left, bytes(number))
            (_, result, flags), = case.ring.finish(1)
            if result != number or not flags & uring.MORE:
                raise Skip('no multishot receive: %d' % result)
            case.expect(entry, **of_socket(right), length=0, result=number)
        os.close(os.dup(right))
        cancel = case.ring.push('ASYNC_CANCEL', addr=entry.user_data)
        results([entry, cancel], case.ring.finish(2))
        case.expect(entry, **of_socket(right), length=0)
        case.expect(cancel, result=0)


@test
def reads_multishot(world):
    case = Case(world).need('READ_MULTISHOT', 'PROVIDE_BUFFERS')
    end, other = pipe(world)
    case.ring.one('PROVIDE_BUFFERS', fd=8, addr=uring.address(case.buffer()), length=512, buf=3)
    with case:
        entry = case.ring.push('READ_MULTISHOT', fd=end, off=-1, buf=3, flags=uring.BUFFER_SELECT)
        case.ring.enter()
        for number in range(1, 4):
            os.write(other, bytes(number))
            (_, result, flags), = case.ring.finish(1)
            check(flags & uring.MORE, 'no more', flags)
            case.expect(entry, **of_pipe(end), offset=None, length=0, result=number)
        cancel = case.ring.push('ASYNC_CANCEL', addr=entry.user_data)
        results([entry, cancel], case.ring.finish(2))
        case.expect(entry, **of_pipe(end), offset=None, length=0)
        case.expect(cancel, result=0)


@test
def timeouts_multishot(world):
    with Case(world) as case:
        wait = case.ring.keep((ctypes.c_int64 * 2)(0, 10000000))
        entry = case.ring.push('TIMEOUT', addr=wait, length=1, off=3, op_flags=1 << 6)
        first = case.ring.finish(1)
        if first[0][1] != -errno.ETIME:
            raise Skip('no multishot timeouts: %d' % first[0][1])
        for _, result, _ in first + case.ring.finish(2):
            case.expect(entry, result=result)
    times = [float(row['latency_ms']) for row in case.rows]
    check(10 <= times[0] and 20 <= times[1] and 30 <= times[2], 'latencies', times)
