# SPDX-License-Identifier: GPL-2.0-or-later
"""The page cache: known pages of known files, against what the kernel says is in memory."""
import ctypes
import mmap
import os
import threading
import time

from lib.mapped import LIBC, PAGE, File, Mapping
from lib.registry import Failure, Skip, check, equal, test
from lib.rows import escape
from lib.world import device_number, find_key

READ = ('HIT', 'MISS', 'READAHEAD')
MADV_PAGEOUT = 21


def session(world, *options, everybody=False):
    return world.session('--cache', *options, *(() if everybody else ('--pid', os.getpid())))


def new(world, pages, warm=False):
    file = File(world.path('pages'), pages, warm)
    world.undo.callback(os.close, file.fd)
    return file


def pages(rows, *operations):
    """Every page of the rows, as often as it is there."""
    return sorted(page for row in rows if row['operation'] in operations
                  for page in range(int(row['index']), int(row['index']) + int(row['count'])))


def need_hit(running):
    if "'HIT'" in str(find_key(running.started, 'missing')):
        raise Skip('the kernel does not tell which pages a read is after')


def exactly(rows, **operations):
    """Each operation has these pages, once each; those not named have none."""
    for operation in READ:
        equal(pages(rows, operation), sorted(operations.get(operation, ())),
              'pages of %s' % operation)


def during(world, file, action, *options, everybody=False):
    """The file's rows of what was done, all the session's rows, and the session."""
    with session(world, *options, everybody=everybody) as running:
        begin = time.monotonic_ns()
        action()
        end = time.monotonic_ns()
    every = [row for row in running.rows('cache') if everybody or
             begin <= int(row['mono_ns']) <= end]
    return file.of(every), every, running


@test
def columns(world):
    file = new(world, 8)
    rows, _, running = during(world, file, lambda: os.pread(file.fd, 3 * PAGE, 2 * PAGE))
    need_hit(running)
    row = [row for row in rows if row['operation'] == 'MISS'][0]
    equal({name: row[name] for name in ('operation', 'pid', 'tid', 'command', 'inode', 'index',
                                        'filename', 'size', 'offset', 'count', 'device', 'uid',
                                        'ppid')},
          {'operation': 'MISS', 'pid': str(os.getpid()), 'tid': str(os.getpid()),
           'command': open('/proc/self/comm', encoding='ascii').read().strip(),
           'inode': str(file.inode), 'index': '2', 'filename': file.path, 'size': '8',
           'offset': str(2 * PAGE), 'count': '3', 'device': file.device,
           'uid': str(os.geteuid()), 'ppid': str(os.getppid())}, 'columns')


@test
def cold_then_warm(world):
    file = new(world, 512)
    equal(file.resident(), set(), 'pages in memory before')
    rows, _, running = during(world, file, lambda: os.pread(file.fd, 512 * PAGE, 0))
    equal(pages(rows, 'MISS', 'READAHEAD'), list(range(512)), 'pages read')
    equal(pages(rows, 'HIT'), [], 'pages that were there')
    need_hit(running)
    rows, _, _ = during(world, file, lambda: os.pread(file.fd, 512 * PAGE, 0))
    exactly(rows, HIT=range(512))


@test
def sequential(world):
    """Page by page: each is asked for once, and added once."""
    file = new(world, 256)

    def act():
        for page in range(256):
            os.pread(file.fd, PAGE, page * PAGE)
    rows, _, running = during(world, file, act)
    equal(pages(rows, 'MISS', 'READAHEAD'), list(range(256)), 'pages added')
    need_hit(running)
    equal(pages(rows, 'MISS', 'HIT'), list(range(256)), 'pages asked for')
    check(pages(rows, 'READAHEAD'), 'nothing was read ahead')


@test
def read_ahead(world):
    """READAHEAD: pages that a read brought in beyond those that it asked for."""
    file = new(world, 128)
    rows, _, running = during(world, file, lambda: os.pread(file.fd, 2 * PAGE, 0))
    there = file.resident()
    equal(pages(rows, 'MISS', 'READAHEAD'), sorted(there), 'pages added')
    need_hit(running)
    exactly(rows, MISS=(0, 1), READAHEAD=there - {0, 1})
    rows, _, _ = during(world, file, lambda: os.pread(file.fd, 128 * PAGE, 0))
    exactly(rows, HIT=there, MISS=set(range(128)) - there)


@test
def holes(world):
    file = new(world, 64)
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
    there = set(range(10, 14)) | {20} | set(range(40, 50))
    for page in there:
        os.pread(file.fd, PAGE, page * PAGE)
    equal(file.resident(), there, 'pages in memory')
    rows, _, running = during(world, file, lambda: os.pread(file.fd, 32 * PAGE, 8 * PAGE))
    need_hit(running)
    asked = set(range(8, 40))
    exactly(rows, HIT=asked & there, MISS=asked - there)


@test
def waits(world):
    """Many times over, with a disk that is busy: whether pages are waited for makes no difference."""
    file, times, there = new(world, 64), 100, (10, 11, 12, 13, 20)
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_RANDOM)
    others = [new(world, 512) for _ in range(2)]
    done = threading.Event()

    def disturb(other):
        while not done.is_set():
            other.drop()
            os.pread(other.fd, 512 * PAGE, 0)

    def act():
        workers = [threading.Thread(target=disturb, args=(other,)) for other in others]
        for worker in workers:
            worker.start()
        for _ in range(times):
            file.drop()
            for page in there:
                os.pread(file.fd, PAGE, page * PAGE)
            os.pread(file.fd, 32 * PAGE, 8 * PAGE)
        done.set()
        for worker in workers:
            worker.join()
    rows, _, running = during(world, file, act)
    need_hit(running)
    exactly(rows, HIT=sorted(there * times), MISS=sorted(list(range(8, 40)) * times))


@test
def end_of_file(world):
    """What is asked for beyond the end is not there to be hit."""
    file = new(world, 5, warm=True)
    os.ftruncate(file.fd, 4 * PAGE + 1)
    rows, _, running = during(world, file, lambda: os.pread(file.fd, 64 * PAGE, 3 * PAGE))
    need_hit(running)
    exactly(rows, HIT=(3, 4))


@test
def bad_buffer(world):
    """A call that fails has hit what it came to."""
    file = new(world, 64, warm=True)
    rows, _, running = during(world, file,
                              lambda: equal(LIBC.pread(file.fd, 1, 64 * PAGE, 0), -1, 'pread'))
    need_hit(running)
    exactly(rows, HIT=(0,))


@test
def sendfile(world):
    file = new(world, 32)
    sink = os.open(world.path('sink'), os.O_WRONLY | os.O_CREAT, 0o600)
    world.undo.callback(os.close, sink)
    rows, _, running = during(world, file, lambda: os.sendfile(sink, file.fd, 0, 32 * PAGE))
    need_hit(running)
    exactly(rows, MISS=range(32))
    rows, _, _ = during(world, file, lambda: os.sendfile(sink, file.fd, 0, 32 * PAGE))
    exactly(rows, HIT=range(32))


@test
def asked_ahead(world):
    """readahead(2) is no read."""
    file = new(world, 32)
    rows, _, running = during(world, file, lambda: LIBC.readahead(file.fd, ctypes.c_long(0),
                                                                  ctypes.c_size_t(16 * PAGE)))
    need_hit(running)
    exactly(rows, READAHEAD=file.resident())
    check(file.resident() >= set(range(16)), 'readahead did nothing')


@test
def fault(world):
    """The page that a mapping's user waits for, and those around it."""
    file = new(world, 64)
    with Mapping(file.fd, 64) as mapping:
        rows, _, running = during(world, file, lambda: mapping.read(20))
    there = file.resident()
    need_hit(running)
    exactly(rows, MISS=(20,), READAHEAD=there - {20})


@test
def write(world):
    """Dirty once, written out once; nothing of it is a read."""
    file = new(world, 0)
    file.pages = 48

    def act():
        os.pwrite(file.fd, b'y' * (48 * PAGE), 0)
        os.pwrite(file.fd, b'z' * (4 * PAGE), 0)  # dirty already
        os.fsync(file.fd)
    rows, _, _ = during(world, file, act, everybody=True)
    exactly(rows)
    for operation in ('DIRTY', 'WRITEBACK_START', 'WRITEBACK_END'):
        equal(pages(rows, operation), list(range(48)), 'pages of %s' % operation)
    equal({(row['size'], row['filename']) for row in rows}, {('48', file.path)}, 'size and name')


@test
def write_cold(world):
    """Pages brought in to be written are no MISS; half a page of each is written."""
    file = new(world, 16)

    def act():
        for page in range(16):
            os.pwrite(file.fd, b'y' * 100, page * PAGE + 50)
    rows, _, _ = during(world, file, act)
    exactly(rows)
    equal(pages(rows, 'DIRTY'), list(range(16)), 'pages of DIRTY')


@test
def write_mapped(world):
    """Pages are dirty by the fault that makes them so."""
    file = new(world, 16, warm=True)
    touched = (3, 4, 11)
    with Mapping(file.fd, 16, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        def act():
            for page in touched:
                mapping.write(page)
            os.fsync(file.fd)
        rows, _, _ = during(world, file, act, everybody=True)
    for operation in ('DIRTY', 'WRITEBACK_START', 'WRITEBACK_END'):
        equal(pages(rows, operation), sorted(touched), 'pages of %s' % operation)


@test
def read_by_many(world):
    """Threads that read the same cold file: what one adds is there for the others."""
    file = new(world, 256)

    def act():
        workers = [threading.Thread(target=os.pread, args=(file.fd, 256 * PAGE, 0))
                   for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    rows, _, running = during(world, file, act)
    equal(pages(rows, 'MISS', 'READAHEAD'), list(range(256)), 'pages added')
    need_hit(running)
    equal(len(pages(rows, 'MISS', 'HIT')), 8 * 256, 'pages asked for')


def removed(rows, operation, expected):
    for other in ('EVICT', 'INVALIDATE', 'DROP'):
        equal(pages(rows, other), sorted(expected) if other == operation else [],
              'pages of %s' % other)


@test
def truncate(world):
    file = new(world, 64, warm=True)
    rows, _, _ = during(world, file, lambda: os.ftruncate(file.fd, 24 * PAGE))
    removed(rows, 'INVALIDATE', range(24, 64))


@test
def unlink(world):
    file = new(world, 20, warm=True)
    twin = os.dup(file.fd)
    os.close(twin)

    def act():
        os.unlink(file.path)
        os.close(file.fd)
        os.getppid()
    file_rows, _, _ = during(world, file, act)
    file.fd = os.open('/dev/null', os.O_RDONLY)
    removed(file_rows, 'INVALIDATE', range(20))


@test
def direct(world):
    """What is written past the cache leaves it."""
    file = new(world, 16, warm=True)
    try:
        fd = os.open(file.path, os.O_WRONLY | os.O_DIRECT)
    except OSError as error:
        raise Skip('no O_DIRECT: %s' % error) from None
    world.undo.callback(os.close, fd)
    with mmap.mmap(-1, 4 * PAGE) as buffer:
        rows, _, _ = during(world, file, lambda: os.pwritev(fd, [buffer], 4 * PAGE))
    removed(rows, 'INVALIDATE', range(4, 8))


@test
def advised(world):
    file = new(world, 32, warm=True)
    before = file.resident()
    rows, _, _ = during(world, file, file.drop)
    removed(rows, 'DROP', before - file.resident())


@test
def dropped(world):
    """By the administrator, of all files."""
    file = new(world, 32, warm=True)
    before = file.resident()

    def act():
        with open('/proc/sys/vm/drop_caches', 'w', encoding='ascii') as knob:
            knob.write('1')
    rows, every, _ = during(world, file, act)
    removed(rows, 'DROP', before - file.resident())
    equal({row['operation'] for row in every} & {'EVICT', 'INVALIDATE'}, set(), 'other operations')


@test
def paged_out(world):
    """Reclaim of known pages: MADV_PAGEOUT."""
    file = new(world, 32, warm=True)
    before = file.resident()
    with Mapping(file.fd, 32) as mapping:
        for page in range(32):
            mapping.read(page)
        rows, _, _ = during(world, file, lambda: mapping.advise(MADV_PAGEOUT))
    gone = before - file.resident()
    if not gone:
        raise Skip('the kernel pages nothing out on request')
    removed(rows, 'EVICT', gone)


def memory_group(world):
    """A memory cgroup, and the file that makes the kernel empty it."""
    for root, knob, value in (('/sys/fs/cgroup/memory', 'memory.force_empty', '0'),
                              ('/sys/fs/cgroup', 'memory.reclaim', '64M')):
        folder = os.path.join(root, 'iotracer-live-%d' % os.getpid())
        try:
            os.mkdir(folder)
        except OSError:
            continue
        world.undo.callback(os.rmdir, folder)
        if os.path.exists(os.path.join(folder, knob)):
            return folder, os.path.join(folder, knob), value
    raise Skip('no memory cgroup that can be emptied')


@test
def reclaim(world):
    """EVICT has the files, RECLAIM the passes; both have the pages."""
    folder, knob, value = memory_group(world)
    file = new(world, 256)
    reader = os.fork()
    if not reader:
        try:
            with open(os.path.join(folder, 'cgroup.procs'), 'w', encoding='ascii') as procs:
                procs.write('0')
            os.pread(file.fd, 256 * PAGE, 0)
        finally:
            os._exit(0)
    os.waitpid(reader, 0)
    before = file.resident()

    def act():
        try:
            with open(knob, 'w', encoding='ascii') as handle:
                handle.write(value)
        except OSError:
            pass  # less than was asked for
    rows, every, _ = during(world, file, act)
    gone = before - file.resident()
    if not gone:
        raise Skip('nothing was reclaimed')
    removed(rows, 'EVICT', gone)
    passes = [row for row in every if row['operation'] == 'RECLAIM']
    count = sum(int(row['count']) for row in passes)
    evicted = len(pages(every, 'EVICT'))
    equal(count, evicted, 'pages of %d passes' % len(passes))
    equal({(row['inode'], row['index'], row['filename'], row['size'], row['offset'], row['device'])
           for row in passes}, {('',) * 6}, 'what a pass does not know')


@test
def disk(world):
    """A disk's own pages: its number, no inode and no name."""
    device = world.loop()
    fd = os.open(device, os.O_RDONLY)
    world.undo.callback(os.close, fd)
    world.command('sh', '-c', 'udevadm settle --timeout=30 2>/dev/null || :')
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    with session(world) as running:
        os.pread(fd, 4 * PAGE, 1000 * PAGE)
        os.pread(fd, 4 * PAGE, 1000 * PAGE)
    need_hit(running)
    rows = [row for row in running.rows('cache') if row['device'] == device_number(device)]
    equal({(row['inode'], row['filename'], row['size']) for row in rows},
          {('', '', str(64 << 20 >> 12))}, 'inode, name and size')
    exactly(rows, MISS=range(1000, 1004), HIT=range(1000, 1004))


@test
def names(world):
    """A file in a folder of another mount, opened before the session."""
    folder = world.tmpfs(1 << 20)
    path = os.path.join(folder, 'a, "b"')
    with open(path, 'wb') as file:
        file.write(b'x' * (3 * PAGE))
        file.flush()
        with session(world) as running:
            os.ftruncate(file.fileno(), 0)
    rows = [row for row in running.rows('cache') if row['filename'] == escape(path.encode())]
    equal(pages(rows, 'INVALIDATE'), [0, 1, 2], 'pages of INVALIDATE')


@test
def links(world):
    """A file of several names goes by the one that it was opened by."""
    file = new(world, 2, warm=True)
    other = world.path('another')
    os.link(file.path, other)
    fd = os.open(other, os.O_RDONLY)
    world.undo.callback(os.close, fd)

    def act():
        os.pread(fd, PAGE, 0)
        os.pread(file.fd, PAGE, PAGE)
    rows, _, running = during(world, file, act)
    need_hit(running)
    equal([(row['index'], row['filename']) for row in rows], [('0', other), ('1', file.path)],
          'names')


@test
def filters(world):
    """By device, operation and size; by latency and errors, which these rows have none of, where others have."""
    file = new(world, 16, warm=True)
    read = lambda: os.pread(file.fd, 16 * PAGE, 0)
    _, _, running = during(world, file, read)
    need_hit(running)
    for options, count in ((('--device', file.device), 1), (('--device', '250:77'), 0),
                           (('--operation', 'MISS'), 0), (('--operation', 'HIT'), 1),
                           (('--min-size', '64K'), 1), (('--min-size', '65K'), 0),
                           (('--vfs', '--min-latency', '1us'), 0), (('--vfs', '--errors'), 0),
                           (('--uid', '4242'), 0), (('--command', 'nobody'), 0)):
        rows, _, _ = during(world, file, read, *options)
        equal(len(rows), count, 'rows with %s' % ' '.join(options))


@test
def counts(world):
    """A large file: as many pages added as the kernel has in memory afterwards."""
    file = new(world, 8192)
    rows, _, _ = during(world, file, lambda: [os.pread(file.fd, 128 << 10, at)
                                              for at in range(0, 8192 * PAGE, 128 << 10)])
    equal(pages(rows, 'MISS', 'READAHEAD'), sorted(file.resident()), 'pages added')
    if len(rows) > 8192:
        raise Failure('%d rows' % len(rows))
