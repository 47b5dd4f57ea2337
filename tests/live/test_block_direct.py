# SPDX-License-Identifier: GPL-2.0-or-later
"""Direct I/O: its requests are of the file that is read or written, whatever the buffer is a part of."""
import fcntl
import json
import mmap
import os
import struct
import time

from lib.mapped import LIBC, PAGE, File, Mapping
from lib.registry import Skip, check, equal, test, wait_for
from lib.rows import content, parts
from lib.world import device_number

COUNT = 256
SECTOR = 512  # bytes
FS_IOC_FIEMAP, EXTENTS = 0xc020660b, 256
BOTH = mmap.PROT_READ | mmap.PROT_WRITE
FORMATS = {'ext4': ('mkfs.ext4', '-q', '-F'), 'xfs': ('mkfs.xfs', '-q', '-f'), 'btrfs': ('mkfs.btrfs', '-q', '-f')}


class Ground:
    """A folder with a file that is open for direct I/O, and another one with what buffers are of."""

    def __init__(self, world, base=None):
        base = base or world.make('direct')
        self.inside, self.beside = os.path.join(base, 'in'), os.path.join(base, 'beside')
        os.mkdir(self.inside)
        os.mkdir(self.beside)
        self.file = self.new(world, os.path.join(self.inside, 'target'), COUNT)
        self.other = self.new(world, os.path.join(self.beside, 'buffer'), 64, warm=True)
        try:
            self.fd = os.open(self.file.path, os.O_RDWR | os.O_DIRECT)
        except OSError as error:
            raise Skip('no direct I/O: %s' % error) from None
        world.undo.callback(os.close, self.fd)

    @staticmethod
    def new(world, path, pages, warm=False):
        file = File(path, pages, warm)
        world.undo.callback(os.close, file.fd)
        return file

    def buffers(self):
        """Of every kind of memory that a user's buffer may lie in."""
        return {'anonymous': Mapping(-1, 1, BOTH, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS),
                'shared memory': Mapping(-1, 1, BOTH, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
                'a mapped file': Mapping(self.other.fd, 1, BOTH, mmap.MAP_SHARED),
                'a private copy': Mapping(self.other.fd, 1, BOTH, mmap.MAP_PRIVATE)}


def transfers(ground, buffer):
    """Every second page is read, the others are written, from the buffer as it is."""
    buffer.write(0)
    for page in range(COUNT):
        call = LIBC.pwrite if page % 2 else LIBC.pread
        equal(call(ground.fd, buffer.address, PAGE, page * PAGE), PAGE, 'page %d' % page)


def brief(rows):
    return {(row['operation'], row['inode'], row['filename']) for row in rows}


def own(session, *operations):
    """Rows of this process, but for what kernel workers write because of what it did before, as a loop device's file is."""
    return [row for row in session.rows('block') if row['pid'] == str(os.getpid()) and
            row['operation'] in (operations or ('READ', 'WRITE')) and
            row['attribution'] not in ('journal', 'metadata', 'dirtier', 'shared')]


def sectors(file):
    """Ranges of the disk's sectors that the file lies in, by FIEMAP; [] where the file system does not tell."""
    head, extent = struct.Struct('=QQIIII'), struct.Struct('=QQQ40x')
    buffer = bytearray(head.pack(0, 2**64 - 1, 0, 0, EXTENTS, 0) + bytes(EXTENTS * extent.size))
    device = os.fstat(file.fd).st_dev
    os.fsync(file.fd)
    try:
        fcntl.ioctl(file.fd, FS_IOC_FIEMAP, buffer)
        with open('/sys/dev/block/%d:%d/start' % (os.major(device), os.minor(device)), encoding='ascii') as partition:
            start = int(partition.read())
    except FileNotFoundError:
        start = 0  # a whole disk
    except OSError:
        return []
    found = [extent.unpack_from(buffer, head.size + at * extent.size) for at in range(head.unpack_from(buffer)[3])]
    return [range(start + physical // SECTOR, start + (physical + length) // SECTOR) for _, physical, length in found]


def nearly(seen, done, what):
    """
    All, but for what ends in an interrupt of process 1, where a hardened kernel lets no program run: that is counted
    when the kernel reuses its memory, see block.ends_unseen.
    """
    check(done // 2 <= seen <= done, '%d %s, of %d' % (seen, what, done))


def named(world, ground):
    for kind, buffer in ground.buffers().items():
        with buffer, world.session('--block', '--pid', os.getpid()) as session:
            transfers(ground, buffer)
        rows = own(session)
        equal(brief(rows), {(operation, str(ground.file.inode), ground.file.path) for operation in ('READ', 'WRITE')},
              'rows with a buffer in %s' % kind)
        nearly(len(rows), COUNT, 'rows with a buffer in %s' % kind)


@test
def every_buffer(world):
    named(world, Ground(world))


@test
def by_path(world):
    """The folder of the file that is read has all of the rows, that of the buffer has none."""
    ground = Ground(world)
    for kind, buffer in ground.buffers().items():
        with buffer:
            with world.session('--block', '--pid', os.getpid(), '--path', ground.inside) as inside, \
                    world.session('--block', '--pid', os.getpid(), '--path', ground.beside) as beside:
                transfers(ground, buffer)
            nearly(len(own(inside)), COUNT, 'rows of the file with a buffer in %s' % kind)
            equal(own(beside), [], 'rows of the folder beside with a buffer in %s' % kind)


@test
def large(world):
    """One call that is many requests."""
    ground = Ground(world)
    with Mapping(-1, COUNT, BOTH, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) as buffer, \
            world.session('--block', '--pid', os.getpid()) as session:
        for page in range(COUNT):
            buffer.write(page)
        equal(LIBC.pread(ground.fd, buffer.address, COUNT * PAGE, 0), COUNT * PAGE, 'pread')
    rows = own(session)
    equal(brief(rows), {('READ', str(ground.file.inode), ground.file.path)}, 'rows')
    equal(sum(int(row['size']) for row in rows), COUNT * PAGE, 'bytes')


@test
def page_cache(world):
    """Buffered reads and writes are of the file as they were."""
    ground = Ground(world)
    with world.session('--block') as session:
        os.pread(ground.file.fd, COUNT * PAGE, 0)
        os.pwrite(ground.file.fd, b'y' * PAGE, 0)
        os.fsync(ground.file.fd)
    rows = [row for row in session.rows('block') if row['inode'] == str(ground.file.inode)]
    equal({row['operation'] for row in rows}, {'READ', 'WRITE'}, 'rows of the file')
    equal(sum(int(row['size']) for row in rows if row['operation'] == 'READ'), COUNT * PAGE, 'bytes read')


@test
def disk(world):
    """A disk has neither inode nor name, whatever the buffer is a part of."""
    ground, device = Ground(world), world.loop()
    world.command('sh', '-c', 'udevadm settle --timeout=30 2>/dev/null || :')
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    world.undo.callback(os.close, fd)
    for kind, buffer in ground.buffers().items():
        with buffer, world.session('--block', '--pid', os.getpid()) as session:
            buffer.write(0)
            for page in range(8):
                equal(LIBC.pwrite(fd, buffer.address, PAGE, page * PAGE), PAGE, 'pwrite')
                equal(LIBC.pread(fd, buffer.address, PAGE, page * PAGE), PAGE, 'pread')
        rows = [row for row in own(session) if row['device'] == device_number(device)]
        equal(len(rows), 16, 'rows with a buffer in %s' % kind)
        equal({(row['inode'], row['filename']) for row in rows}, {('', '')}, 'inode and name, %s' % kind)


def file_system(world, name):
    world.need(FORMATS[name][0])
    device, folder = world.loop(512 << 20), world.make(name)
    world.command(*FORMATS[name], device)
    options = 'nodatasum' if name == 'btrfs' else 'defaults'  # with checksums, writes go by the page cache
    if world.command('mount', '-t', name, '-o', options, device, folder, check=False).returncode:
        raise Skip('%s cannot be mounted' % name)
    world.later('umount', '-l', folder)
    return folder


@test
def ext4(world):
    named(world, Ground(world, file_system(world, 'ext4')))


@test
def xfs(world):
    named(world, Ground(world, file_system(world, 'xfs')))


def told_on_btrfs():
    with open('/proc/kallsyms', encoding='ascii') as file:
        return ' btrfs_dio_end_io' in file.read()


@test
def btrfs(world):
    """Where the kernel does not show the file of a request, rows have none, and never that of the buffer."""
    ground = Ground(world, file_system(world, 'btrfs'))
    if told_on_btrfs():
        named(world, ground)
        return
    with Mapping(ground.other.fd, 1, BOTH, mmap.MAP_SHARED) as buffer, \
            world.session('--block', '--pid', os.getpid()) as session:
        transfers(ground, buffer)
    check(brief(own(session)) <= {(operation, inode, name) for operation in ('READ', 'WRITE')
                                  for inode, name in (('', ''), (str(ground.file.inode), ground.file.path))},
          'rows', brief(own(session)))


def is_told(session, path, fd, buffer):
    """Reads a page of the file; whether a row of an earlier read is written by now and tells which file it is of."""
    equal(LIBC.pread(fd, buffer.address, PAGE, 0), PAGE, 'a page')
    lines = [line for part in parts(session.output) for line in content(part).splitlines()]
    return any(b',READ,' in line and path.encode() in line for line in lines)


@test
def btrfs_comes_later(world):
    """Its module comes with the first mount, while a session runs; it is looked for once a second."""
    world.command('modprobe', '--remove', 'btrfs', check=False)
    if os.path.exists('/sys/module/btrfs'):
        raise Skip('btrfs is no module, or it is in use')
    with Mapping(-1, 1, BOTH, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as buffer, \
            world.session('--block', '--pid', os.getpid()) as session:
        ground = Ground(world, file_system(world, 'btrfs'))
        if not told_on_btrfs():
            raise Skip('this kernel does not tell the file')
        other = os.open(ground.other.path, os.O_RDONLY | os.O_DIRECT)
        world.undo.callback(os.close, other)
        wait_for('a row to tell its file', lambda: is_told(session, ground.other.path, other, buffer), pause=0.2)
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)  # the file itself was written before
        transfers(ground, buffer)
    rows = [row for row in own(session) if row['filename'] == ground.file.path and int(row['mono_ns']) > begin]
    nearly(len(rows), COUNT, 'rows of the file')


def fio(world, engine, *options, mapped=True):
    """All requests of a run of fio, with its buffers in a mapped file, or in shared memory."""
    world.need('fio')
    ground = Ground(world)
    with world.session('--block') as session:
        done = world.command('fio', '--name=job', '--ioengine=' + engine, '--filename=' + ground.file.path,
                             '--direct=1', '--rw=randrw', '--bs=4k', '--size=%d' % (COUNT * PAGE), '--iodepth=16',
                             '--mem=' + ('mmapshared:' + ground.other.path if mapped else 'shm'),
                             '--output-format=json', '--fallocate=none', '--overwrite=1', '--norandommap=0', *options, check=False)
    if done.returncode:
        raise Skip('fio: %s' % (done.stderr or done.stdout).strip()[:200])
    job = json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]
    rows = session.rows('block')
    for operation in ('READ', 'WRITE'):
        named_so = [int(row['size']) for row in rows if row['operation'] == operation and
                    (row['inode'], row['filename']) == (str(ground.file.inode), ground.file.path)]
        # Bytes, as some are merged.
        nearly(sum(named_so), job[operation.lower()]['io_bytes'], 'bytes of requests of the file, ' + operation)
    # Pages of the buffer are dirty, and may be written back meanwhile, to where its file lies.
    places = sectors(ground.other)
    equal([row for row in rows if row['filename'] == ground.other.path and row['command'] == 'fio' and
           not any(int(row['sector']) in place for place in places)], [], 'rows of the buffer')


@test
def libaio(world):
    fio(world, 'libaio')


@test
def io_uring(world):
    fio(world, 'io_uring')


@test
def io_uring_polled(world):
    """Registered files, and a thread of the kernel's that submits."""
    fio(world, 'io_uring', '--registerfiles=1', '--sqthread_poll=1')


@test
def io_uring_fixed(world):
    """Registered buffers, which cannot be of a file."""
    fio(world, 'io_uring', '--fixedbufs=1', mapped=False)
