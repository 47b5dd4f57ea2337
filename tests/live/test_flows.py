# SPDX-License-Identifier: GPL-2.0-or-later
"""Flows: which requests and pages rows of calls are joined to, and that no other ones are."""
import mmap
import os
import re
import sqlite3
import threading

from lib import aio, uring
from lib.mapped import LIBC, PAGE, File, Mapping
from lib.registry import Skip, check, equal, test
from lib.uring_case import OLDEST
from lib.written import Child
from lib.world import device_number, find_key

BOTH = mmap.PROT_READ | mmap.PROT_WRITE
README = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), 'common', 'README.md')
PAGES = 128
MIB = 1 << 20
ALL = ('--vfs', '--cache', '--block', '--iouring')


class Ground:
    """A file system of its own on a loop device, whose requests end in a thread; its files, and a buffer."""

    def __init__(self, world):
        world.need('mkfs.ext4')
        self.world, self.device, self.folder = world, world.loop(256 << 20), world.make('flows')
        world.command('mkfs.ext4', '-q', '-F', self.device)
        self.mount()
        world.later('umount', '-l', self.folder)
        self.number = device_number(self.device)
        self.buffer = Mapping(-1, PAGES, BOTH, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for page in range(PAGES):
            self.buffer.write(page)

    def mount(self):
        self.world.command('mount', '-t', 'ext4', self.device, self.folder)

    def file(self, name, warm=False):
        file = File(os.path.join(self.folder, name), PAGES, warm)
        self.world.undo.callback(os.close, file.fd)
        return file

    def opened(self, file, flags):
        fd = os.open(file.path, flags)
        self.world.undo.callback(os.close, fd)
        return fd

    def requests(self, session):
        return [row for row in session.rows('block') if row['device'] == self.number]

    def read(self, fd, pages, page):
        equal(LIBC.pread(fd, self.buffer.address, pages * PAGE, page * PAGE), pages * PAGE, 'pread')

    def write(self, fd, pages, page):
        equal(LIBC.pwrite(fd, self.buffer.address, pages * PAGE, page * PAGE), pages * PAGE, 'pwrite')


def own(session, stream, *operations):
    return [row for row in session.rows(stream) if row['pid'] == str(os.getpid()) and
            (not operations or row['operation'] in operations)]


def is_number(row):
    return row['flow'].isdigit() and 0 < int(row['flow']) < 1 << 53


def tells_hits(session):
    """Whether the kernel tells which pages a read is after, so that one without requests has a flow, too."""
    return "'HIT'" not in str(find_key(session.started, 'missing'))


def calls(file, session, *operations, stream='vfs', some=False):
    """The rows of a file's calls by flow; each has one, or some have, and it is its own."""
    rows = [row for row in file.of(own(session, stream), *operations) if row['flow'] or not some]
    check(rows and all(is_number(row) for row in rows), 'flows', *[row['flow'] for row in rows[:10]])
    equal(len({row['flow'] for row in rows}), len(rows), 'flows of as many rows')
    return {row['flow']: row for row in rows}


def sizes(rows):
    """The bytes of requests, by flow."""
    total = {}
    for row in rows:
        total[row['flow']] = total.get(row['flow'], 0) + int(row['size'])
    return total


def asked(rows, size='size'):
    return {flow: int(row[size]) for flow, row in rows.items()}


def within(row, call):
    """A row of a call is of its thread, and begins while the call lasts."""
    check(row['tid'] == call['tid'] and int(call['mono_ns']) <= int(row['mono_ns']) <=
          int(call['mono_ns']) + int(call['latency_ns']), 'within its call', row, call)


@test
def direct(world):
    ground = Ground(world)
    file = ground.file('file')
    fd = ground.opened(file, os.O_RDWR | os.O_DIRECT)
    with world.session(*ALL, '--pid', os.getpid()) as session:
        for page in range(8):
            ground.read(fd, page + 1, 10 * page)
            ground.write(fd, page + 1, 10 * page)
    for call, request in (('DIO_READ', 'READ'), ('DIO_WRITE', 'WRITE')):
        rows = [row for row in file.of(ground.requests(session)) if row['operation'] == request]
        one = calls(file, session, call)
        equal(sizes(rows), asked(one), 'bytes of requests by flow, ' + call)
        for row in rows:
            within(row, one[row['flow']])
    check(all(0 <= int(row['request_id']) < 1 << 53 for row in ground.requests(session)), 'request_id')


@test
def many_requests(world):
    """A call whose bio is split has all of the parts."""
    ground = Ground(world)
    with open('/sys/block/%s/queue/max_sectors_kb' % os.path.basename(ground.device), 'r+', encoding='ascii') as limit:
        before = limit.read()
        limit.write('16')
        limit.flush()
        file = ground.file('file')
        fd = ground.opened(file, os.O_RDWR | os.O_DIRECT)
        with world.session(*ALL, '--pid', os.getpid()) as session:
            for _ in range(20):
                ground.read(fd, 32, 0)
                ground.read(fd, 64, 64)
        limit.seek(0)
        limit.write(before)
    rows = file.of(ground.requests(session), 'READ')
    check(len(rows) > 40, '%d requests' % len(rows))
    equal(sizes(rows), asked(calls(file, session, 'DIO_READ')), 'bytes of requests by flow')


@test
def cached(world):
    """What is in memory is joined, and makes no request; a call without any I/O has no flow."""
    ground = Ground(world)
    file = ground.file('file', warm=True)
    with world.session(*ALL, '--pid', os.getpid()) as session:
        for page in range(8):
            os.pread(file.fd, PAGE * (page + 1), page * PAGE)
        os.fstat(file.fd)
    if not tells_hits(session):
        raise Skip('the kernel does not tell which pages a read is after')
    hits = file.of(own(session, 'cache'), 'HIT')
    equal({row['flow']: int(row['count']) * PAGE for row in hits}, asked(calls(file, session, 'READ')), 'HIT by flow')
    equal(file.of(ground.requests(session)), [], 'requests')
    equal([row['flow'] for row in file.of(own(session, 'vfs'), 'GETATTR')], [''], 'flow of fstat')


@test
def missed(world):
    """A read that waits for the disk: vfs, cache and block have the same flow."""
    ground = Ground(world)
    file = ground.file('file')
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
    with world.session(*ALL, '--pid', os.getpid()) as session:
        for page in range(8):
            os.pread(file.fd, PAGE, 9 * page * PAGE)
    one = calls(file, session, 'READ')
    pages = file.of(own(session, 'cache'), 'MISS')
    equal({row['flow']: int(row['offset']) for row in pages}, asked(one, 'offset'), 'MISS by flow')
    equal(sizes(file.of(ground.requests(session), 'READ')), asked(one), 'bytes of requests by flow')


@test
def read_ahead(world):
    """What a read has the kernel read ahead is of its flow; the reads that find it there have one of their own."""
    ground = Ground(world)
    file = ground.file('file')
    with world.session(*ALL, '--pid', os.getpid()) as session:
        for page in range(PAGES):
            os.pread(file.fd, PAGE, page * PAGE)
    one = calls(file, session, 'READ', some=not tells_hits(session))
    for stream in ('cache', 'block'):
        rows = [row for row in file.of(own(session, stream)) if row['operation'] in ('MISS', 'READAHEAD', 'READ')]
        check(rows, 'rows of ' + stream)
        for row in rows:
            check(row['flow'] in one, 'a read of the file', row)
            within(row, one[row['flow']])


@test
def synced(world):
    """What is made dirty is of the write, and its requests are of the call that waits for them."""
    ground = Ground(world)
    file = ground.file('file')
    with world.session(*ALL, '--pid', os.getpid()) as session:
        os.pwrite(file.fd, b'a' * 3 * PAGE, 0)
        os.fsync(file.fd)
        os.pwrite(file.fd, b'b' * 5 * PAGE, 0)
        os.fdatasync(file.fd)
    dirty = {row['flow']: int(row['count']) * PAGE for row in file.of(own(session, 'cache'), 'DIRTY')}
    equal(dirty, asked(calls(file, session, 'WRITE')), 'DIRTY by flow')
    sync = calls(file, session, 'FSYNC', 'FDATASYNC')
    written = sizes(file.of(ground.requests(session), 'WRITE'))
    equal({sync[flow]['operation']: size for flow, size in written.items() if flow in sync},
          {'FSYNC': 3 * PAGE, 'FDATASYNC': 5 * PAGE}, 'bytes of requests by call')
    equal(len(written), 2, 'flows of requests')
    back = file.of(own(session, 'cache'), 'WRITEBACK_START', 'WRITEBACK_END')
    equal({row['flow'] for row in back}, set(sync), 'flows of pages that are written back')


@test
def synced_by_another(world):
    """What one process has written, and another one synchronises: the rows are of the writer, and joined to the call by flow alone."""
    ground = Ground(world)
    file = ground.file('file')
    for call in ('FSYNC', 'FDATASYNC'):
        with world.session(*ALL) as session:
            writer = Child(world, lambda: os.pwrite(file.fd, b'w' * MIB, 0))
            syncer = Child(world, lambda call=call: os.fsync(file.fd) if call == 'FSYNC' else os.fdatasync(file.fd))
        sync, = [row for row in file.of(session.rows('vfs'), call) if row['pid'] == str(syncer.pid)]
        rows = file.of(ground.requests(session), 'WRITE')
        equal({row['pid'] for row in rows}, {str(writer.pid)}, 'processes')
        equal(sizes(rows), {sync['flow']: MIB}, 'bytes of requests by flow')


@test(host_only=True)
def query_of_the_readme(world):
    """What common/README.md shows finds the requests of a call that synchronises what others have written."""
    with open(README, encoding='utf-8') as readme:
        query = re.search(r'^ +(SELECT vfs\.operation.*?;)$', readme.read(), re.MULTILINE | re.DOTALL).group(1)
    ground = Ground(world)
    file = ground.file('file')
    with world.session('--vfs', '--block') as session:
        Child(world, lambda: os.pwrite(file.fd, b'q' * MIB, 0))
        os.fsync(file.fd)
    database = sqlite3.connect(':memory:')
    for stream in ('vfs', 'block'):
        rows = session.rows(stream)
        database.execute('CREATE TABLE %s (%s)' % (stream, ', '.join(rows[0])))
        database.executemany('INSERT INTO %s VALUES (%s)' % (stream, ', '.join('?' * len(rows[0]))),
                             [list(row.values()) for row in rows])
    found = [row for row in database.execute(query) if row[:2] == ('FSYNC', file.path)]
    moved = [row[4] for row in found]
    # What the file system writes of its own for the call, such as a log, is of the call, too.
    check(len(moved) == 1 and MIB <= moved[0] < MIB + MIB // 8, 'bytes of the fsync', moved)


@test
def unique(world):
    """No two calls of a trace have the same flow, of however many threads at once."""
    ground = Ground(world)
    file = ground.file('file', warm=True)
    with world.session('--vfs', '--cache') as session:
        children = [Child(world, lambda: [os.pwrite(file.fd, b'u' * PAGE, page % PAGES * PAGE) + len(os.pread(file.fd, PAGE, 0))
                                          for page in range(2000)]) for _ in range(8)]
    pids = {str(child.pid) for child in children}
    flows = [row['flow'] for row in file.of(session.rows('vfs')) if row['pid'] in pids and row['flow']]
    check(len(flows) >= PAGES, '%d flows' % len(flows))
    equal(len(set(flows)), len(flows), 'different flows')


@test
def synchronous(world):
    """O_SYNC: the write has both."""
    ground = Ground(world)
    file = ground.file('file')
    fd = ground.opened(file, os.O_WRONLY | os.O_SYNC)
    with world.session(*ALL, '--pid', os.getpid()) as session:
        for page in range(4):
            os.pwrite(fd, b'a' * PAGE * (page + 1), 10 * page * PAGE)
    equal(sizes(file.of(ground.requests(session), 'WRITE')), asked(calls(file, session, 'WRITE')), 'by flow')


@test
def metadata(world):
    """A call on a path that has to read folders and inodes."""
    ground = Ground(world)
    folder = os.path.join(ground.folder, 'a')
    os.makedirs(os.path.join(folder, 'b'))
    world.command('umount', ground.folder)
    ground.mount()
    with world.session(*ALL, '--pid', os.getpid()) as session:
        os.rmdir(os.path.join(folder, 'b'))
    rmdir, = own(session, 'vfs', 'RMDIR')
    rows = [row for row in ground.requests(session) if row['operation'] == 'READ']
    check(rows and is_number(rmdir), 'requests and a flow', len(rows), rmdir)
    equal({row['flow'] for row in rows}, {rmdir['flow']}, 'flows of requests')


@test
def written_back(world):
    """What kernel threads write has no flow, also while a call waits for it."""
    ground = Ground(world)
    file = ground.file('file')
    with world.session(*ALL) as session:
        for page in range(16):
            os.pwrite(file.fd, b'c' * PAGE, page * PAGE)
        os.sync()
    rows = [row for row in file.of(ground.requests(session), 'WRITE') if row['attribution'] == 'dirtier']
    check(rows, 'requests of kernel threads')
    equal({row['flow'] for row in rows}, {''}, 'flows')


@test
def threads(world):
    """Two that read at once: each request is of the thread that asked, and of the file that it reads."""
    ground = Ground(world)
    files = [ground.file('one'), ground.file('two')]

    def reads(at):
        fd = ground.opened(files[at], os.O_RDONLY | os.O_DIRECT)
        buffer = Mapping(-1, 2, BOTH, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for page in range(PAGES // 2):
            LIBC.pread(fd, buffer.address, (at + 1) * PAGE, 2 * page * PAGE)
            os.pread(files[at].fd, PAGE, 2 * page * PAGE)

    with world.session(*ALL, '--pid', os.getpid()) as session:
        both = [threading.Thread(target=reads, args=(at,)) for at in (0, 1)]
        for one in both:
            one.start()
        for one in both:
            one.join()
    for at, file in enumerate(files):
        one = calls(file, session, 'DIO_READ', 'READ', some=not tells_hits(session))
        rows = file.of(ground.requests(session), 'READ')
        check(len(rows) >= PAGES // 2, '%d requests' % len(rows))
        for row in rows:
            check(row['flow'] in one, 'a read of the file', row)
            within(row, one[row['flow']])
        bytes_read = sizes(rows)
        whole = {flow for flow, row in one.items() if row['operation'] == 'DIO_READ'}
        equal({bytes_read.get(flow) for flow in whole}, {(at + 1) * PAGE}, 'bytes of each direct read')


@test
def unrecorded(world):
    """A call that no session records has no flow, and leaves that of the call before alone."""
    ground = Ground(world)
    file = ground.file('file')
    fd = ground.opened(file, os.O_RDWR | os.O_DIRECT)
    with world.session('--vfs', '--operation', 'dio_read', '--pid', os.getpid()), \
            world.session('--block', '--pid', os.getpid()) as session:
        for page in range(8):
            ground.read(fd, 1, page)
            ground.write(fd, 1, page)
    rows = file.of(ground.requests(session))
    equal(len(rows), 16, 'requests')
    equal({row['flow'] for row in rows if row['operation'] == 'WRITE'}, {''}, 'flows of writes')
    check(all(is_number(row) for row in rows if row['operation'] == 'READ'), 'flows of reads')
    with world.session('--block', '--cache', '--pid', os.getpid()) as session:
        ground.read(fd, 1, 0)
        os.pread(file.fd, PAGE, 0)
    rows = file.of(ground.requests(session)) + file.of(session.rows('cache'))
    check(rows, 'rows')
    equal({row['flow'] for row in rows}, {''}, 'flows without vfs')


# ---- io_uring and libaio ----

def ring(flags=0):
    try:
        return uring.Ring(64, flags)
    except OSError as error:
        raise Skip('io_uring: %s' % error) from None


def by_request(world, flags=0, entry_flags=0, count=8):
    """Reads of a file at once, of sizes of their own; each of them has its requests, in vfs and in iouring."""
    ground = Ground(world)
    file = ground.file('file')
    fd = ground.opened(file, os.O_RDONLY | os.O_DIRECT)
    with ring(flags) as one, world.session(*ALL) as session:
        for number in range(count):
            one.push('READ', fd, ground.buffer.address, (number + 1) * PAGE, off=16 * number * PAGE,
                     flags=entry_flags if number + 1 < count else entry_flags & ~uring.LINK)
        results = one.results(count)
    equal(sorted(results), [(number + 1) * PAGE for number in range(count)], 'results')
    rows = file.of(ground.requests(session), 'READ')
    requests = calls(file, session, 'READ', stream='iouring')
    equal(sizes(rows), asked(requests, 'length'), 'bytes of requests by flow')
    equal(sizes(rows), asked(calls(file, session, 'DIO_READ')), 'the same in vfs')


@test
def io_uring(world):
    by_request(world)


@test
def io_uring_linked(world):
    """Each begins when the one before has ended, long after it was submitted."""
    by_request(world, entry_flags=uring.LINK)


@test
def io_uring_workers(world):
    if OLDEST:
        raise Skip('the kernel does not tell what a worker works on')
    by_request(world, entry_flags=uring.ASYNC)


@test
def io_uring_polled(world):
    """Submitted by a thread of the kernel's."""
    ground = Ground(world)
    file = ground.file('file')
    fd = ground.opened(file, os.O_RDONLY | os.O_DIRECT)
    with ring(uring.SQPOLL) as one, world.session(*ALL) as session:
        one.register_files(fd)
        one.push('READ', 0, ground.buffer.address, 3 * PAGE, flags=uring.FIXED_FILE)
        equal(one.results(1), [3 * PAGE], 'result')
    rows = file.of(ground.requests(session), 'READ')
    requests = file.of(session.rows('iouring'), 'READ')
    equal(sizes(rows), {row['flow']: 3 * PAGE for row in requests}, 'bytes of requests by flow')


@test
def io_uring_sync(world):
    """A worker's requests are of what it works on, on kernels that tell that."""
    ground = Ground(world)
    file = ground.file('file')
    with ring() as one, world.session(*ALL) as session:
        os.pwrite(file.fd, b'd' * PAGE, 0)
        one.push('FSYNC', file.fd)
        equal(one.results(1), [0], 'result')
    sync, = file.of(session.rows('iouring'), 'FSYNC')
    rows = file.of(ground.requests(session), 'WRITE')
    check(rows, 'requests')
    equal({row['flow'] for row in rows}, {sync['flow']}, 'flows')
    check(is_number(sync) or OLDEST, 'flow', sync)


@test
def libaio(world):
    """All operations of an io_submit have its flow."""
    ground = Ground(world)
    file = ground.file('file')
    fd = ground.opened(file, os.O_RDONLY | os.O_DIRECT)
    with aio.Context(16) as context, world.session(*ALL) as session:
        for count in (1, 2, 3):
            results = context.run([aio.block(aio.PREAD, fd, ground.buffer.address, count * PAGE, 16 * number * PAGE)
                                   for number in range(count)])
            equal(results, [count * PAGE] * count, 'results')
    operations = file.of(own(session, 'vfs'), 'DIO_READ')
    check(all(is_number(row) for row in operations), 'flows')
    total = sizes(operations)
    equal(sorted(total.values()), [count * count * PAGE for count in (1, 2, 3)], 'bytes of operations by flow')
    equal(sizes(file.of(ground.requests(session), 'READ')), total, 'bytes of requests by flow')
