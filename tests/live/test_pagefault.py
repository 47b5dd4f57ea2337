# SPDX-License-Identifier: GPL-2.0-or-later
"""Page faults: known pages of mapped files, touched one by one."""
import contextlib
import mmap
import os
import resource
import signal
import threading
import time

from lib.account import total
from lib.mapped import LIBC, PAGE, File, Mapping
from lib.registry import Skip, check, equal, test

BOTH = mmap.PROT_READ | mmap.PROT_WRITE
MADV_RANDOM = 1
AROUND = 16  # pages that the kernel maps at once, where they are in memory
TABLE = 512  # pages of one page table, beyond which it maps none at once


def new(world, pages, warm=False):
    file = File(world.path('mapped'), pages, warm)
    world.undo.callback(os.close, file.fd)
    return file


def during(world, file, action, *options):
    """The file's rows of what was done, all rows, and how many faults the kernel counted."""
    with world.session('--pagefault', *(options or ('--pid', os.getpid()))) as session:
        before = resource.getrusage(resource.RUSAGE_SELF)
        begin = time.monotonic_ns()
        action()
        end = time.monotonic_ns()
        after = resource.getrusage(resource.RUSAGE_SELF)
    rows = session.rows('pagefault')
    for row in rows:
        check(int(row['latency_ns']) > 0, 'latency_ns', row)
    rows = [row for row in rows if begin <= int(row['mono_ns']) <= end]
    for row in file.of(rows):
        check(int(row['mono_ns']) + int(row['latency_ns']) <= end, 'the end', row)
    return (sorted(file.of(rows), key=lambda row: int(row['mono_ns'])), rows,
            (after.ru_majflt - before.ru_majflt, after.ru_minflt - before.ru_minflt))


def brief(rows):
    return [(row['fault_type'], row['severity'], int(row['offset'])) for row in rows]


@test
def columns(world):
    file = new(world, 32)
    with Mapping(file.fd, 32) as mapping:
        rows, _, _ = during(world, file, lambda: mapping.read(7))
        address = mapping.address + 7 * PAGE
    equal(len(rows), 1, 'rows')
    equal({name: rows[0][name] for name in (
        'operation', 'pid', 'tid', 'command', 'fault_type', 'severity', 'address', 'inode',
        'offset', 'filename', 'device', 'ppid', 'uid')},
          {'operation': 'FAULT', 'pid': str(os.getpid()), 'tid': str(os.getpid()),
           'command': open('/proc/self/comm', encoding='ascii').read().strip(),
           'fault_type': 'READ', 'severity': 'MAJOR', 'address': hex(address),
           'inode': str(file.inode), 'offset': '7', 'filename': file.path, 'device': file.device,
           'ppid': str(os.getppid()), 'uid': str(os.geteuid())}, 'columns')


@test
def cold(world):
    """Each page is waited for; as many as the kernel counts."""
    file, touched = new(world, 128), (3, 90, 41, 42, 0, 127)
    with Mapping(file.fd, 128) as mapping:
        mapping.advise(MADV_RANDOM)
        rows, every, counted = during(world, file,
                                      lambda: [mapping.read(page) for page in touched])
    equal(brief(rows), [('READ', 'MAJOR', page) for page in touched], 'rows')
    equal(len([row for row in every if row['severity'] == 'MAJOR']), counted[0],
          'major faults of the process')


def windows(mapping, touched):
    """Pages that fault when each fault maps all pages of the mapping that are in its window."""
    base, there, first = mapping.address // PAGE, set(), set()
    for page in touched:
        if page not in there:
            first.add(page)
            begin = max(page - (base + page) % AROUND, 0)
            there.update(range(begin, min(begin + AROUND, page - (base + page) % TABLE + TABLE)))
    return first


@test
def warm(world):
    """Pages in the page cache are mapped a window at a time, with one fault for each window."""
    file = new(world, 8 * AROUND, warm=True)
    touched = [window * AROUND + step for window in range(8) for step in (3, 4, 9)]
    with Mapping(file.fd, file.pages) as mapping:
        rows, every, counted = during(world, file,
                                      lambda: [mapping.read(page) for page in touched])
        first = windows(mapping, touched)
    faulted = [page for _, _, page in brief(rows)]
    equal({(kind, severity) for kind, severity, _ in brief(rows)}, {('READ', 'MINOR')}, 'kinds')
    # The kernel does not map pages of a window that are locked at that moment.
    check(first <= set(faulted) <= set(touched) and
          len(set(faulted)) == len(faulted) < len(touched), 'pages', faulted)
    check(len(every) <= sum(counted), '%d rows, %s faults counted' % (len(every), counted))
    equal(counted[0], 0, 'major faults counted')


def written(world, flags):
    file = new(world, 64, warm=True)
    with Mapping(file.fd, 64, BOTH, flags) as mapping:
        rows, _, counted = during(world, file, lambda: [mapping.write(page) for page in (5, 50, 5)])
    # Up to 5.10 the kernel counts a fault that it retries, as to make a page writable, as a major one.
    severity = 'MAJOR' if counted[0] >= 2 else 'MINOR'
    equal(brief(rows), [('WRITE', severity, 5), ('WRITE', severity, 50)], 'rows')


@test
def write_shared(world):
    written(world, mmap.MAP_SHARED)


@test
def write_private(world):
    written(world, mmap.MAP_PRIVATE)


@test
def write_cold(world):
    file = new(world, 64)
    with Mapping(file.fd, 64, BOTH) as mapping:
        mapping.advise(MADV_RANDOM)
        rows, _, _ = during(world, file, lambda: [mapping.write(page) for page in (9, 33)])
    equal(brief(rows)[0], ('WRITE', 'MAJOR', 9), 'first row')
    equal({page for _, _, page in brief(rows)}, {9, 33}, 'pages')


@test
def read_then_write(world):
    """The first write to a page that was only read is a fault of its own."""
    file = new(world, 16, warm=True)
    with Mapping(file.fd, 16, BOTH, mmap.MAP_PRIVATE) as mapping:
        rows, _, _ = during(world, file, lambda: (mapping.read(2), mapping.write(2)))
    equal(brief(rows), [('READ', 'MINOR', 2), ('WRITE', 'MINOR', 2)], 'rows')


@test
def part_of_file(world):
    """`offset` counts from the start of the file, not of the mapping."""
    file = new(world, 64)
    memory = mmap.mmap(file.fd, 8 * PAGE, mmap.MAP_SHARED, mmap.PROT_READ, offset=40 * PAGE)
    with memory:
        rows, _, _ = during(world, file, lambda: memory[3 * PAGE])
    equal(brief(rows), [('READ', 'MAJOR', 43)], 'rows')


@test
def kernel(world):
    """The kernel touches a user's page in a system call."""
    file, source = new(world, 64, warm=True), new(world, 1, warm=True)
    ends = os.pipe()
    world.undo.callback(os.close, ends[0])
    world.undo.callback(os.close, ends[1])
    with Mapping(file.fd, 64, BOTH) as mapping:
        rows, _, _ = during(world, file, lambda: (
            LIBC.pread(source.fd, mapping.address + 33 * PAGE, 100, 0),
            LIBC.pwrite(source.fd, mapping.address + 5 * PAGE, 100, 0)))
    equal(sorted({(kind, page) for kind, _, page in brief(rows)}), [('READ', 5), ('WRITE', 33)],
          'faults')


@test
def anonymous(world):
    """Faults of anonymous memory, shared or not, make no rows."""
    file = new(world, 1, warm=True)
    memory = [mmap.mmap(-1, 16 * PAGE, flags) for flags in
              (mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)]

    def act():
        for one in memory:
            for page in range(16):
                one[page * PAGE] = 1
    _, every, counted = during(world, file, act)
    check(counted[1] >= 16, 'faults counted: %d' % counted[1])
    equal([row for row in every if not row['inode'] or 'zero' in row['filename']], [],
          'rows without a file')
    check(len(every) < 32, '%d rows' % len(every))


@test
def shared_memory(world):
    """Faults of a tmpfs file make rows."""
    folder = world.tmpfs(1 << 20)
    file = File(os.path.join(folder, 'shared'), 16, warm=True)
    with Mapping(file.fd, 16, BOTH) as mapping:
        rows, _, _ = during(world, file, lambda: mapping.write(11))
    os.close(file.fd)
    equal(brief(rows), [('WRITE', 'MINOR', 11)], 'rows')
    equal(rows[0]['filename'], file.path, 'filename')


@test
def beyond_the_end(world):
    """A fault that ends in a signal is not counted, by the kernel either; it does no harm."""
    file = new(world, 4, warm=True)

    def act():
        child = os.fork()
        if not child:
            with Mapping(file.fd, 16) as mapping:
                mapping.read(1)
                mapping.read(9)
            os._exit(0)
        equal(os.WTERMSIG(os.waitpid(child, 0)[1]), signal.SIGBUS, 'signal')
    rows, _, _ = during(world, file, act, '--command',
                        open('/proc/self/comm', encoding='ascii').read().strip())
    equal(brief(rows), [('READ', 'MINOR', 1)], 'rows')


@test
def deleted(world):
    file = new(world, 16, warm=True)
    os.unlink(file.path)
    with Mapping(file.fd, 16) as mapping:
        rows, _, _ = during(world, file, lambda: mapping.read(3))
    equal([row['filename'] for row in rows], [file.path + ' (deleted)'], 'filename')


@test
def threads(world):
    """Faults of many threads at once: none is lost, each has its own thread."""
    count, each = 4, 64
    files = [new(world, each) for _ in range(count)]
    tids = {}

    def run(number):
        tids[number] = threading.get_native_id()
        with Mapping(files[number].fd, each) as mapping:
            mapping.advise(MADV_RANDOM)
            for page in range(each):
                mapping.read(page)

    def act():
        workers = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    _, every, _ = during(world, files[0], act)
    for number, file in enumerate(files):
        rows = file.of(every)
        equal(sorted(int(row['offset']) for row in rows), list(range(each)), 'pages of a thread')
        equal({row['tid'] for row in rows}, {str(tids[number])}, 'threads')


@test
def filters(world):
    file = new(world, 4, warm=True)
    comm = open('/proc/self/comm', encoding='ascii').read().strip()
    pid = ('--pid', os.getpid())
    for options, count in (((*pid, '--device', file.device), 1), ((*pid, '--device', '250:77'), 0),
                           (('--command', comm), 1), (('--command', 'nobody'), 0),
                           ((*pid, '--min-latency', '1ns'), 1), ((*pid, '--min-latency', '60s'), 0),
                           ((*pid, '--vfs', '--min-size', '1'), 0), ((*pid, '--vfs', '--errors'), 0),
                           ((*pid, '--uid', '4242'), 0), ((*pid, '--operation', 'FAULT'), 1)):
        with Mapping(file.fd, 4) as mapping:
            rows, _, _ = during(world, file, lambda: mapping.read(1), *options)
        equal(len(rows), count, 'rows with %s' % (options,))


@test
def many_mappings(world):
    """The right one is found among thousands of mappings, each of another part of the file."""
    number = 3000
    file = new(world, 64, warm=True)
    ones = []
    with contextlib.ExitStack() as kept:
        for index in range(number):  # so that the kernel cannot merge neighbours
            page = index * 7 % 64
            ones.append((page, kept.enter_context(Part(file.fd, page))))
        rows, _, _ = during(world, file, lambda: [one.read(0) for _, one in ones])
    found = {(row['address'], int(row['offset'])) for row in rows}
    due = {(hex(one.address), page) for page, one in ones}
    equal(len(due), number, 'mappings')
    equal(found, due, 'address and page of the file')


class Part(Mapping):
    """A page of a file."""

    def __init__(self, fd, page):
        super().__init__(fd, 1)
        again = LIBC.mmap(self.address, PAGE, mmap.PROT_READ, mmap.MAP_SHARED | 0x10, fd, page * PAGE)
        equal(again, self.address, 'address of the mapping')


@test
def cpu_again(world):
    """A CPU that has gone and come again is recorded on; what faults before that was seen to is counted as lost."""
    switch, pages = '/sys/devices/system/cpu/cpu1/online', 400
    if not os.path.exists(switch) or 1 not in os.sched_getaffinity(0):
        raise Skip('no second CPU that can be switched')
    file = new(world, pages)
    allowed = os.sched_getaffinity(0)
    world.undo.callback(os.sched_setaffinity, 0, allowed)

    def turn(value):
        try:
            with open(switch, 'w', encoding='ascii') as out:
                out.write(value)
        except OSError as error:
            raise Skip('the CPU cannot be switched: %s' % error) from error

    with Mapping(file.fd, pages) as mapping, \
            world.session('--pagefault', '--path', file.path, '--pid', os.getpid(), lossless=False) as session:
        mapping.advise(MADV_RANDOM)
        turn('0')
        turn('1')
        os.sched_setaffinity(0, {1})
        for page in range(100):
            mapping.read(page)
        time.sleep(1)
        for page in range(100, pages):
            mapping.read(page)
        os.sched_setaffinity(0, allowed)
    found = {int(row['offset']) for row in file.of(session.rows('pagefault'))}
    account = session.accounts['pagefault']
    check(set(range(100, pages)) <= found, 'faults long after the CPU has come', len(found))
    equal(account['written'] + total(account['lost']), pages, 'rows and lost ones')
