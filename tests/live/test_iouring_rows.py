# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring: which requests are rows, and how many."""
import ctypes
import errno
import json
import os
import select
import signal
from types import SimpleNamespace

from lib import account, uring
from lib.hooks import settle
from lib.registry import Skip, check, equal, test, wait_for
from lib.sockets import datagram_pair
from lib.uring_case import OLDEST, Case, pipe


@test
def left_behind(world):
    """A process ends while requests wait: they are cancelled, and that is their row."""
    end, _ = pipe(world)
    with world.session('--iouring', '--command', 'left-behind') as session:
        child = os.fork()
        if not child:
            with open('/proc/self/comm', 'w', encoding='ascii') as comm:
                comm.write('left-behind')
            ring = uring.Ring(8)
            ring.push('NOP')
            ring.push('POLL_ADD', fd=end, op_flags=select.POLLIN)
            ring.enter()
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        # The ring goes a moment later.
        wait_for('both rows', lambda: account.streams(session.status())['iouring']['emitted'] >= 2)
    found = [(row['operation'], row['pid'], row['command'], row['result'])
             for row in session.rows('iouring')]
    equal(found, [('NOP', str(child), 'left-behind', '0'),
                  ('POLL_ADD', str(child), 'left-behind', str(-errno.ECANCELED))], 'rows')


@test
def under_way(world):
    """A request that was submitted before the session makes no row, also when the session before saw it submitted."""
    case = Case(world)
    end, other = pipe(world)
    poll = lambda: case.ring.push('POLL_ADD', fd=end, op_flags=select.POLLIN)
    poll()
    case.ring.enter()
    with world.session('--iouring', '--pid', os.getpid()):
        poll()
        case.ring.enter()
    settle(world.daemon, False)
    with world.session('--iouring', '--pid', os.getpid()) as session:
        os.write(other, b'x')
        equal(len(case.ring.finish(2)), 2, 'completions')
        case.ring.one('NOP')
    case.ring.close()
    equal([row['operation'] for row in session.rows('iouring')], ['NOP'], 'rows')


@test
def rings(world):
    """Each ring has a number of its own, which does not change."""
    with world.session('--iouring', '--pid', os.getpid()) as session:
        for _ in range(3):
            with uring.Ring(4) as one, uring.Ring(4) as other:
                for number in range(5):
                    one.one('NOP', user_data=10 + number)
                    other.one('NOP', user_data=20 + number)
    numbers = [row['ring_id'] for row in session.rows('iouring')]
    equal(len(numbers), 30, 'rows')
    equal(len(set(numbers)), 6, 'numbers of 6 rings')
    for start in range(0, 30, 10):
        equal([len(set(numbers[start + at:start + 10:2])) for at in (0, 1)], [1, 1],
              'numbers of a ring')
    check(all(int(number) < 1 << 40 for number in numbers), 'no addresses', set(numbers))


@test
def counts(world):
    """As many rows as the program counted completions, each once."""
    total, batch = 10000, 200
    case = Case(world, entries=256)
    _, fd = case.file()
    at = uring.address(case.buffer())
    told = []
    with world.session('--iouring', '--pid', os.getpid()) as session:
        while len(told) < total:
            for number in range(batch):
                case.ring.push(('NOP', 'READ')[number % 2 if 'READ' in case.has else 0], fd=fd,
                               addr=at, length=64, off=number,
                               flags=uring.ASYNC if number % 50 == 0 else 0)
            told += case.ring.finish(batch)
    case.ring.close()
    rows = session.rows('iouring')
    equal(len(rows), total, 'rows')
    equal(sorted((int(row['user_data'], 16), int(row['result'])) for row in rows),
          sorted((number, result) for number, result, _ in told), 'results by user_data')


@test
def silent(world):
    """IOSQE_CQE_SKIP_SUCCESS: a request without completion makes no row, and one that fails makes one."""
    case = Case(world)
    if OLDEST:
        raise Skip('the kernel has no such flag')
    with case:
        for _ in range(5):
            case.ring.push('NOP', flags=uring.SKIP)
        case.expect(case.ring.one('FSYNC', fd=54321, length=0, flags=uring.SKIP), fd=54321,
                    offset=0, length=0, result=-errno.EBADF)
        for _ in range(10):  # which reuse the memory of those
            case.ring.push('NOP')
        for number, result, _ in case.ring.finish(10):
            case.expect(SimpleNamespace(opcode='NOP', flags=0, user_data=number), result=result)
    equal(case.session.accounts['iouring']['lost']['unmatched'], 0, 'lost')


@test
def with_vfs(world):
    """With vfs and iouring in one session a file operation has a row in each."""
    case = Case(world, '--vfs').need('READ', 'WRITE')
    path, fd = case.file()
    case.ring.register_files(fd)
    buffer = case.buffer()
    at = uring.address(buffer)
    case.ring.register_buffer(buffer)
    vector = case.ring.keep((ctypes.c_uint64 * 4)(at, 300, at + 1000, 33))
    with case:
        case.io(case.ring.one('READ', fd=fd, addr=at, length=111, off=1), path)
        case.io(case.ring.one('WRITE', fd=0, addr=at, length=222, off=2, flags=uring.FIXED_FILE),
                path)
        case.io(case.ring.one('FSYNC', fd=fd, length=0), path)
        for operation, offset in (('READV_FIXED', 3), ('WRITEV_FIXED', 4)):
            if operation in case.has:
                case.io(case.ring.one(operation, fd=fd, addr=vector, length=2, off=offset), path,
                        length=333)
    found = [(row['operation'], row['size'], row['offset'], row['return_value'])
             for row in case.session.rows('vfs')
             if row['filename'] == path and row['operation'] != 'GETATTR']
    due = [('READ', '111', '1', '111'), ('WRITE', '222', '2', '222'), ('FSYNC', '', '', '0')]
    if 'READV_FIXED' in case.has:
        due += [('READ', '333', '3', '333'), ('WRITE', '333', '4', '333')]
    equal(found, due, 'rows of the file system')


def one_after_another(world, ring, left, right):
    """A session of NET, in which one of VFS ends and another one begins while two receipts are in flight."""
    room = ring.keep(ctypes.create_string_buffer(64))
    own = ('--pid', os.getpid())
    with world.session('--net', *own) as net:
        with world.session('--vfs', '--pseudo-fs', *own) as first:
            ring.push('READ', fd=left.fileno(), addr=room, length=33)
            ring.push('RECV', fd=left.fileno(), addr=room, length=44)
            ring.enter()
        with world.session('--vfs', '--pseudo-fs', *own) as second:
            ring.one('READ', fd=-1, addr=room, length=55)
            for size in (3, 4):
                right.send(b'x' * size)
            equal(len(ring.finish(2)), 2, 'completions')
    return net, first, second


@test
def outlived(world):
    """What is in flight when the session of one stream ends goes on for that of another, and for nobody else."""
    ring = uring.need()
    left, right = datagram_pair('4')
    net, first, second = one_after_another(world, ring, right, left)
    for one in (left, right):
        one.close()
    ring.close()
    sizes = ('33', '44', '55')
    equal([(row['operation'], row['size']) for row in first.rows('vfs') if row['size'] in sizes], [], 'rows of the first')
    equal([(row['operation'], row['size']) for row in second.rows('vfs') if row['size'] in sizes], [('READ', '55')],
          'rows of the second')
    equal(sorted((row['operation'], row['size']) for row in net.rows('net') if row['operation'] == 'RECEIVE'),
          [('RECEIVE', '33'), ('RECEIVE', '44')], 'rows of NET')


@test
def alike(world):
    """Requests in flight that have the same user_data have a row each, in every stream."""
    case = Case(world).need('READ')
    ends = [pipe(world) for _ in range(3)]
    room = uring.address(case.buffer())
    with world.session('--iouring', '--vfs', '--pseudo-fs', '--pid', os.getpid()) as session:
        for number, (end, _) in enumerate(ends):
            case.ring.push('READ', fd=end, addr=room, length=1000 + number, user_data=77)
        case.ring.enter()
        for _, other in ends:
            os.write(other, b'x')
            equal(len(case.ring.finish(1)), 1, 'completions')
    case.ring.close()
    lengths = ['1000', '1001', '1002']
    equal(sorted(row['length'] for row in session.rows('iouring')), lengths, 'rows of io_uring')
    equal(sorted(row['size'] for row in session.rows('vfs') if row['size'] in lengths), lengths, 'rows of VFS')


def filtered(world, *options):
    """Operations of the rows that pass the filter, of a fixed few."""
    case = Case(world).need('READ', 'WRITE')
    _, fd = case.file()
    at = uring.address(case.buffer())
    wait = case.ring.keep((ctypes.c_int64 * 2)(0, 30000000))
    with world.session('--iouring', '--pid', os.getpid(), *options) as session:
        case.ring.one('NOP')
        case.ring.one('READ', fd=fd, addr=at, length=100)
        case.ring.one('WRITE', fd=fd, addr=at, length=4000)
        case.ring.one('READ', fd=54321, addr=at, length=5)
        case.ring.one('TIMEOUT', addr=wait, length=1)
        case.ring.one(201)
    case.ring.close()
    return ['%s%s' % (row['operation'], '!' if int(row['result']) < 0 else '')
            for row in session.rows('iouring')]


@test
def filters(world):
    equal(filtered(world), ['NOP', 'READ', 'WRITE', 'READ!', 'TIMEOUT!', '201!'], 'all')
    equal(filtered(world, '--operation', 'read'), ['READ', 'READ!'], '--operation')
    equal(filtered(world, '--errors'), ['READ!', 'TIMEOUT!', '201!'], '--errors')
    equal(filtered(world, '--min-size', '1000'), ['WRITE'], '--min-size')
    equal(filtered(world, '--min-latency', '25ms'), ['TIMEOUT!'], '--min-latency')
    equal(filtered(world, '--uid', '4242'), [], '--uid')
    stat = os.stat(world.folder)
    here = '%d:%d' % (os.major(stat.st_dev), os.minor(stat.st_dev))
    equal(filtered(world, '--device', here), ['READ', 'WRITE'], '--device')
    equal(filtered(world, '--device', '240:999'), [], '--device of nobody')


@test
def too_many(world):
    """More requests in flight than the table holds: those without a row are counted as lost."""
    total = 10000
    case = Case(world, entries=16384)
    end, other = pipe(world)
    with world.session('--iouring', '--pid', os.getpid()) as session:
        for _ in range(total):
            case.ring.push('POLL_ADD', fd=end, op_flags=select.POLLIN)
        case.ring.enter()
        os.write(other, b'x')
        equal(len(case.ring.finish(total)), total, 'completions')
    case.ring.close()
    lost, rows = session.accounts['iouring']['lost']['unmatched'], len(session.rows('iouring'))
    check(lost > 0 and rows > 7000, 'room', lost, rows)
    equal(rows + lost, total, 'rows and lost')


def fio(world, *options):
    """Rows of a run of fio, and what it counted."""
    world.need('fio')
    path = world.path('fio')
    with world.session('--iouring', '--command', 'fio') as session:
        done = world.command('fio', '--name=job', '--ioengine=io_uring', '--filename=' + path,
                             '--size=16m', '--bs=4k', '--rw=randrw', '--iodepth=32',
                             '--output-format=json', *options, check=False)
    if done.returncode:
        raise Skip('fio: %s' % (done.stderr.strip().splitlines() or ['?'])[-1])
    job = json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]
    return session.rows('iouring'), job


@test
def fio_counts(world):
    rows, job = fio(world, '--fsync=64')
    for name, operations in (('read', ('READ', 'READV')), ('write', ('WRITE', 'WRITEV'))):
        found = [row for row in rows if row['operation'] in operations]
        equal(len(found), job[name]['total_ios'], '%s rows' % name)
        equal({row['length'] for row in found}, {'4096'}, 'lengths')
        equal(sum(int(row['result']) for row in found), job[name]['io_bytes'], 'bytes')
        check(all(row['filename'] and row['inode'] for row in found), 'file')
    check(any(row['operation'] == 'FSYNC' for row in rows), 'FSYNC rows')


@test
def fio_registered(world):
    rows, job = fio(world, '--fixedbufs=1', '--registerfiles=1', '--iodepth_batch_submit=8',
                    '--iodepth_batch_complete_min=4')
    equal(len([row for row in rows if row['operation'] == 'READ_FIXED']), job['read']['total_ios'],
          'READ_FIXED rows')
    equal(len([row for row in rows if row['operation'] == 'WRITE_FIXED']),
          job['write']['total_ios'], 'WRITE_FIXED rows')
    check(all(row['filename'] and row['inode'] for row in rows), 'file')
