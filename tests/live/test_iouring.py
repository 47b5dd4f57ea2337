# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring: a row for each completion, whatever was asked for."""
import ctypes
import errno
import mmap
import os
import select
import socket

from lib import uring
from lib.registry import Skip, check, equal, test
from lib.rows import escape
from lib.uring_case import OLDEST, Case, of_pipe, pipe, results


@test
def nop(world):
    with Case(world) as case:
        case.expect(case.ring.one('NOP'))
        case.expect(case.ring.one('NOP', user_data=(1 << 64) - 1))
        case.expect(case.ring.one('NOP', user_data=0))


@test
def tells_the_cpu(world):
    """A request that ends where it was submitted: its row has that CPU."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[-1:])
    world.undo.callback(os.sched_setaffinity, 0, allowed)
    with Case(world) as case:
        case.expect(case.ring.one('NOP'), cpu_id=str(allowed[-1]))


@test
def reads_and_writes(world):
    case = Case(world).need('READ', 'WRITE')
    path, fd = case.file()
    buffer = case.buffer()
    at, ring = uring.address(buffer), case.ring
    ring.register_buffer(buffer)
    vector = ring.vectors(case.buffer(300), case.buffer(500))
    with case:
        case.io(ring.one('READ', fd=fd, addr=at, length=1000, off=100), path)
        case.io(ring.one('WRITE', fd=fd, addr=at, length=2000, off=1 << 33), path)
        case.io(ring.one('READV', fd=fd, addr=vector, length=2, off=8192), path, length=800)
        case.io(ring.one('WRITEV', fd=fd, addr=vector, length=2, off=512), path, length=800)
        case.io(ring.one('READ_FIXED', fd=fd, addr=at, length=700, off=4096), path)
        case.io(ring.one('WRITE_FIXED', fd=fd, addr=at, length=600, off=0), path)
        os.lseek(fd, 5000, os.SEEK_SET)
        case.io(ring.one('READ', fd=fd, addr=at, length=10, off=-1), path, offset=5000)
        equal([want['result'] for _, want in case.expected],
              ['1000', '2000', '800', '800', '700', '600', '10'], 'what the program was told')


@test
def registered_files(world):
    case = Case(world).need('READ', 'WRITE')
    (first, one), (second, two) = case.file(), case.file()
    case.ring.register_files(one, two)
    at = uring.address(case.buffer())
    with case:
        for _ in range(2):
            case.io(case.ring.one('READ', fd=1, addr=at, length=4096, off=0,
                                  flags=uring.FIXED_FILE), second)
            case.io(case.ring.one('WRITE', fd=0, addr=at, length=100, off=10,
                                  flags=uring.FIXED_FILE), first)
        case.expect(case.ring.one('FSYNC', fd=0, flags=uring.FIXED_FILE), first, fd=0, offset=0,
                    length=0)


@test
def on_files(world):
    case = Case(world)
    path, fd = case.file()
    with case:
        case.io(case.ring.one('FSYNC', fd=fd, off=0, length=0), path)
        case.io(case.ring.one('FSYNC', fd=fd, off=4096, length=8192, op_flags=1), path)
        if 'FALLOCATE' in case.has:
            case.expect(case.ring.one('FALLOCATE', fd=fd, off=8192, addr=1 << 20, length=1), path,
                        fd=fd, offset=8192, length=1 << 20)
        case.io(case.ring.one('SYNC_FILE_RANGE', fd=fd, off=4096, length=4096), path)
        if 'FADVISE' in case.has:
            case.io(case.ring.one('FADVISE', fd=fd, off=100, length=200, op_flags=3), path)
        if 'FTRUNCATE' in case.has:
            case.expect(case.ring.one('FTRUNCATE', fd=fd, off=1234), path, fd=fd, length=1234)
            equal(os.stat(path).st_size, 1234, 'size of the file')


@test
def opens(world):
    case = Case(world).need('OPENAT', 'CLOSE')
    path, _ = case.file()
    folder, name = os.path.split(path)
    directory = os.open(folder, os.O_RDONLY)
    world.undo.callback(os.close, directory)
    how = ctypes.create_string_buffer(24)
    with case:
        for fd, given in ((uring.AT_FDCWD, path), (directory, name)):
            entry = case.ring.one('OPENAT', fd=fd, addr=case.ring.keep(uring.text(given)))
            check(entry.result >= 0, 'OPENAT: %d' % entry.result)
            case.expect(entry, path, fd=fd)
            case.expect(case.ring.one('CLOSE', fd=entry.result), path, fd=entry.result)
        missing = os.path.join(case.folder, 'missing, "quoted"')
        entry = case.ring.one('OPENAT', fd=uring.AT_FDCWD, addr=case.ring.keep(uring.text(missing)))
        case.expect(entry, fd=-100, result=-errno.ENOENT, filename=escape(missing.encode()))
        if 'OPENAT2' in case.has:
            entry = case.ring.one('OPENAT2', fd=directory, addr=case.ring.keep(uring.text(name)),
                                  length=24, off=case.ring.keep(how))
            case.expect(entry, path, fd=directory)
            os.close(entry.result)


@test
def paths(world):
    case = Case(world).need('STATX', 'RENAMEAT', 'UNLINKAT')
    where = lambda name: os.path.join(case.folder, name)
    keep = lambda name: case.ring.keep(uring.text(name))
    path, _ = case.file()
    directory = os.open(case.folder, os.O_RDONLY)
    world.undo.callback(os.close, directory)
    with case:
        case.expect(case.ring.one('STATX', fd=uring.AT_FDCWD, addr=keep(path), length=0x7ff,
                                  off=uring.address(case.buffer(256))), fd=-100, filename=path)
        if 'MKDIRAT' in case.has:
            case.expect(case.ring.one('MKDIRAT', fd=directory, addr=keep('new'), length=0o755),
                        fd=directory, filename=where('new'))
            case.expect(case.ring.one('SYMLINKAT', fd=directory, addr=keep('target'),
                                      off=keep('sym')),
                        fd=directory, filename='target -> ' + where('sym'))
            case.expect(case.ring.one('LINKAT', fd=uring.AT_FDCWD, addr=keep(path),
                                      length=directory, off=keep('hard')),
                        fd=-100, filename='%s -> %s' % (path, where('hard')))
        else:
            os.symlink('target', where('sym'))
            os.link(path, where('hard'))
            os.mkdir(where('new'))
        case.expect(case.ring.one('RENAMEAT', fd=directory, addr=keep('hard'), length=-100,
                                  off=keep(where('moved'))),
                    fd=directory, filename='%s -> %s' % (where('hard'), where('moved')))
        case.expect(case.ring.one('UNLINKAT', fd=directory, addr=keep('moved')), fd=directory,
                    filename=where('moved'))
        case.expect(case.ring.one('UNLINKAT', fd=directory, addr=keep('new'), op_flags=0x200),
                    fd=directory, filename=where('new'))
        case.expect(case.ring.one('UNLINKAT', fd=directory, addr=keep('nothing')), fd=directory,
                    filename=where('nothing'), result=-errno.ENOENT)


@test
def bad_arguments(world):
    case = Case(world).need('READ', 'OPENAT')
    path, fd = case.file()
    with case:
        case.io(case.ring.one('READ', fd=fd, addr=16, length=100, off=0), path,
                result=-errno.EFAULT)
        case.expect(case.ring.one('READ', fd=12345, addr=16, length=1 << 31, off=1 << 62), fd=12345,
                    length=1 << 31, offset=1 << 62, result=-errno.EBADF)
        case.expect(case.ring.one('READV', fd=fd, addr=16, length=3, off=0), path, fd=fd, offset=0,
                    result=-errno.EFAULT)
        # Refused before they are submitted:
        case.expect(case.ring.one('OPENAT', fd=uring.AT_FDCWD, addr=16), fd=-100,
                    result=-errno.EFAULT)
        case.expect(case.ring.one('READ', fd=fd, addr=16, length=5, off=7, flags=0x80), path,
                    fd=fd, offset=7, length=5, sqe_flags='0x80', result=-errno.EINVAL)


@test
def every_opcode(world):
    """An empty request of every opcode, also of those that the kernel does not know: each row has the opcode's name."""
    case = Case(world, entries=256, completions=512)
    numbers = list(range(len(uring.OPCODES))) + [77, 127, 128, 200, 255]
    with case:
        for number in numbers:
            name = uring.OPCODES[number] if number < len(uring.OPCODES) else str(number)
            entry = case.ring.push(number, fd=-1)
            told = [one for one in case.ring.finish(1) if not one[2] & uring.NOTIFICATION]
            (_, entry.result, _), = told
            entry.opcode = name
            case.expect(entry, fd=None, offset=None, length=None, filename=None)
    equal(next(row['result'] for row in case.rows if row['operation'] == '200'), '-22',
          'result of an unknown one')


@test
def chains(world):
    case = Case(world).need('READ', 'WRITE')
    path, fd = case.file()
    at = uring.address(case.buffer())
    with case:
        chain = [case.ring.push('WRITE', fd=fd, addr=at, length=512, off=0, flags=uring.LINK),
                 case.ring.push('FSYNC', fd=fd, length=0, flags=uring.LINK),
                 case.ring.push('READ', fd=fd, addr=at, length=256, off=64)]
        results(chain, case.ring.finish(3))
        for entry in chain:
            case.io(entry, path)
        equal([entry.result for entry in chain], [512, 0, 256], 'results')


@test
def broken_chains(world):
    case = Case(world).need('READ')
    path, fd = case.file()
    at = uring.address(case.buffer())
    with case:
        chain = [case.ring.push('READ', fd=54321, addr=at, length=1, flags=uring.LINK),
                 case.ring.push('READ', fd=fd, addr=at, length=2, off=3, flags=uring.LINK),
                 case.ring.push('NOP')]
        results(chain, case.ring.finish(3))
        case.expect(chain[0], fd=54321, offset=0, length=1, result=-errno.EBADF)
        case.io(chain[1], path, result=-errno.ECANCELED)
        case.expect(chain[2], result=-errno.ECANCELED)
        chain = [case.ring.push('READ', fd=54321, addr=at, length=1, flags=uring.HARDLINK),
                 case.ring.push('NOP')]
        results(chain, case.ring.finish(2))
        case.expect(chain[0], fd=54321, offset=0, length=1, result=-errno.EBADF)
        case.expect(chain[1])
        # An old kernel refuses the first at once, and with it the chain.
        equal(chain[1].result, -errno.ECANCELED if OLDEST else 0, 'the second of a hard link')


@test
def drains(world):
    """IOSQE_IO_DRAIN: the request waits for the one before, which is a timeout."""
    with Case(world) as case:
        wait = case.ring.keep((ctypes.c_int64 * 2)(0, 20000000))
        both = [case.ring.push('TIMEOUT', addr=wait, length=1),
                case.ring.push('NOP', flags=uring.DRAIN)]
        results(both, case.ring.finish(2))
        case.expect(both[0], result=-errno.ETIME)
        case.expect(both[1], result=0)
    drained = next(row for row in case.rows if row['operation'] == 'NOP')
    check(float(drained['latency_ms']) >= 19, 'latency of what was drained', drained)


@test
def workers(world):
    """A request that a worker thread of the kernel carries out is of the thread that submitted it."""
    case = Case(world).need('READ')
    path, fd = case.file()
    at = uring.address(case.buffer())
    with case:
        case.io(case.ring.one('READ', fd=fd, addr=at, length=4096, off=0, flags=uring.ASYNC), path,
                result=4096, **{'async': 1})
        case.io(case.ring.one('READ', fd=fd, addr=at, length=4096, off=0), path, result=4096,
                **{'async': 0})


@test
def polled_submission(world):
    """The kernel's thread that takes the entries belongs to the process."""
    try:
        case = Case(world, flags=uring.SQPOLL, threads=True).need('READ')
    except OSError as error:
        raise Skip('SQPOLL: %s' % error) from None
    path, fd = case.file()
    case.ring.register_files(fd)
    at = uring.address(case.buffer())
    with case:
        case.expect(case.ring.one('NOP'))
        case.io(case.ring.one('READ', fd=0, addr=at, length=100, off=5, flags=uring.FIXED_FILE),
                path, result=100)
        case.io(case.ring.one('READ', fd=fd, addr=at, length=100, off=6), path, result=100)
    for row in case.rows:
        check(row['command'].startswith('iou-sqp-') and row['tid'] != row['pid'], 'thread', row)


@test
def cancels(world):
    case = Case(world).need('READ')
    end, _ = pipe(world)
    with case:
        waiting = case.ring.push('READ', fd=end, addr=uring.address(case.buffer()), length=10)
        case.ring.enter()
        cancel = case.ring.push('ASYNC_CANCEL', addr=waiting.user_data)
        results([waiting, cancel], case.ring.finish(2))
        check(waiting.result in (-errno.ECANCELED, -errno.EINTR), 'result %d' % waiting.result)
        case.expect(waiting, **of_pipe(end), offset=0, length=10)
        case.expect(cancel)


@test
def polled_completion(world):
    """The program itself asks the device for what has ended."""
    case = Case(world, flags=uring.IOPOLL).need('READ')
    try:
        path, fd = case.file(flags=os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        case.ring.close()
        raise Skip('O_DIRECT: %s' % error) from None
    memory = mmap.mmap(-1, 8192)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    with case:
        entries = [case.ring.push('READ', fd=fd, addr=at, length=4096, off=4096 * number)
                   for number in range(4)]
        results(entries, case.ring.finish(4))
        if OLDEST and entries[0].result >= 0:
            raise Skip('the kernel does not tell of these')
        for entry in entries:
            case.io(entry, path)


@test
def large_entries(world):
    """Other layouts of the ring."""
    for flags in (uring.SQE128 | uring.CQE32, uring.NO_SQARRAY):
        try:
            ring = uring.Ring(8, flags)
        except OSError:
            if flags == uring.NO_SQARRAY:
                continue
            raise Skip('no entries of 128 bytes') from None
        ring.close()
        case = Case(world, flags=flags, entries=8)
        path, fd = case.file()
        at = uring.address(case.buffer())
        with case:
            for number in range(20):
                case.io(case.ring.one('READ', fd=fd, addr=at, length=100 + number, off=number),
                        path, result=100 + number)


@test
def other_operations(world):
    case = Case(world)
    path, fd = case.file()
    end, start = pipe(world)
    _, third = pipe(world)
    poll = select.epoll()
    world.undo.callback(poll.close)
    keep, ring = case.ring.keep, case.ring
    event = keep(ctypes.create_string_buffer(12))
    name, value = keep(uring.text('user.iotracer')), uring.address(case.buffer())
    with case:
        if 'EPOLL_CTL' in case.has:
            case.expect(ring.one('EPOLL_CTL', fd=poll.fileno(), addr=event, off=end, length=1),
                        **of_pipe(poll.fileno()), result=0)
        if 'SPLICE' in case.has:
            case.expect(ring.one('SPLICE', fd=start, off=-1, addr=100, length=50, file_index=fd),
                        **of_pipe(start), length=50, result=50)
        if 'TEE' in case.has:
            case.expect(ring.one('TEE', fd=third, length=40, file_index=end), **of_pipe(third),
                        length=40, result=40)
        if 'MADVISE' in case.has:
            case.expect(ring.one('MADVISE', addr=value & ~4095, length=4096, op_flags=0),
                        length=4096, result=0)
        if 'FSETXATTR' in case.has:
            case.expect(ring.one('FSETXATTR', fd=fd, addr=name, off=value, length=5), path, fd=fd,
                        length=5)
            case.expect(ring.one('GETXATTR', addr=name, off=value, length=9,
                                 addr3=keep(uring.text(path))), filename=path, length=9)
        if 'PROVIDE_BUFFERS' in case.has:
            case.expect(ring.one('PROVIDE_BUFFERS', fd=4, addr=value, length=1024, off=0, buf=3),
                        length=1024)
        if 'SOCKET' in case.has:
            entry = ring.one('SOCKET', fd=socket.AF_INET, off=socket.SOCK_STREAM)
            case.expect(entry)
            os.close(entry.result)
        if 'FIXED_FD_INSTALL' in case.has:
            ring.register_files(fd)
            entry = ring.one('FIXED_FD_INSTALL', fd=0, flags=uring.FIXED_FILE)
            case.expect(entry, path, fd=0)
            os.close(entry.result)


@test
def own_table(world):
    """A file that is opened into the ring's own table, read and closed there."""
    case = Case(world).need('OPENAT', 'CLOSE', 'READ')
    path, fd = case.file()
    case.ring.register_files(fd)
    with case:
        entry = case.ring.one('OPENAT', fd=uring.AT_FDCWD, addr=case.ring.keep(uring.text(path)),
                              file_index=1)
        if entry.result:
            raise Skip('no direct descriptors: %d' % entry.result)
        case.expect(entry, fd=-100, filename=path)
        case.io(case.ring.one('READ', fd=0, addr=uring.address(case.buffer()), length=9,
                              flags=uring.FIXED_FILE), path, result=9)
        case.expect(case.ring.one('CLOSE', fd=0, file_index=1), fd=0, result=0)


@test
def messages(world):
    """A message to another ring is one request, and no completion of one there."""
    case = Case(world).need('MSG_RING')
    with case, uring.Ring(4) as other:
        case.expect(case.ring.one('MSG_RING', fd=other.fd, length=77, off=1), fd=other.fd,
                    inode=None, device=None, filename=None, result=0)
        equal(other.reap(), [(1, 77, 0)], 'completion of the other ring')
