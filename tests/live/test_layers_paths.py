# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts of I/O by layer, of I/O that is asked for asynchronously, and on other file systems than ext4."""
import mmap
import os

from lib import aio, uring
from lib.layers import PAGE, as_the_disk, both_counts, counting, ext4, memory_disk, mounted, run
from lib.mapped import Mapping
from lib.registry import Skip, check, equal, test
from lib.world import device_number

COUNT = 16
DIRECT = os.O_RDWR | os.O_CREAT | os.O_DIRECT


class Asynchronous:
    """A file on a disk of its own, and a buffer for what this process itself asks for."""

    def __init__(self, world):
        self.device = memory_disk(world)
        self.number = device_number(self.device)
        self.fd = os.open(os.path.join(ext4(world, self.device), 'file'), DIRECT, 0o600)
        world.undo.callback(os.close, self.fd)
        self.buffer = Mapping(-1, 1, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.buffer.write(0)

    def judge(self, count, before):
        """COUNT pages were written and read, at each layer that they pass, and synchronised once."""
        own = count.of(process=os.getpid(), device=self.number)
        amount = COUNT * PAGE
        equal((own['app_write'], own['app_read']), ((COUNT, amount, 0),) * 2, 'by the application')
        equal(own['app_sync'], (1, 0, 0), 'synchronisations')
        equal((own['fs_write'][1], own['fs_read'][1]), (amount, amount), 'by the file system')
        for_itself = own['fs_journal_write'][1] + own['fs_metadata_write'][1]
        equal((own['device_write'][1], own['device_read'][1]), (amount + for_itself, amount + own['fs_metadata_read'][1]),
              'by the disk')
        equal((own['cache_hit'], own['cache_dirtied']), ((0, 0, 0),) * 2, 'through the cache')
        as_the_disk(count, self.device, before)


@test
def io_uring(world):
    one = Asynchronous(world)
    try:
        ring = uring.Ring(64)
    except OSError as error:
        raise Skip('io_uring: %s' % error) from None
    with ring, counting(world) as count:
        before = both_counts(count, one.device)
        for opcode in ('WRITE', 'READ'):
            for page in range(COUNT):
                ring.push(opcode, one.fd, one.buffer.address, PAGE, off=page * PAGE)
            equal(ring.results(COUNT), [PAGE] * COUNT, 'results of ' + opcode)
        equal(ring.do('FSYNC', one.fd), 0, 'result of FSYNC')
        one.judge(count, before)


@test
def libaio(world):
    one = Asynchronous(world)
    with counting(world) as count, aio.Context(COUNT) as context:
        before = both_counts(count, one.device)
        for operation in (aio.PWRITE, aio.PREAD):
            results = context.run([aio.block(operation, one.fd, one.buffer.address, PAGE, page * PAGE)
                                   for page in range(COUNT)])
            equal(results, [PAGE] * COUNT, 'results')
        equal(context.run([aio.block(aio.FSYNC, one.fd, 0, 0, 0)]), [0], 'result of an fsync')
        one.judge(count, before)


def other_file_system(world, own_layer, direct, kind, *make):
    """
    `direct` pieces of 1 MiB past the cache, bytes that are synchronised, and 1 MiB that is written back: as much data at
    each layer, whatever else the file system writes. Small files are no data to btrfs, so the bytes lie further on.
    """
    device = memory_disk(world, 512 << 20)
    folder = mounted(world, device, kind, *make)
    with counting(world) as count:
        before = both_counts(count, device)
        pid = run('''
path = sys.argv[1]
file = os.open(path, os.O_RDWR | os.O_CREAT)
for at in range(20):
    os.pwrite(file, b'x', 5000 + at)
    os.fsync(file)
file = os.open(path + '-direct', os.O_RDWR | os.O_CREAT | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 20)
for at in range(int(sys.argv[2])):
    os.pwritev(file, [block], at << 20)
file = os.open(path + '-later', os.O_RDWR | os.O_CREAT)
os.write(file, bytes(1 << 20))
''', os.path.join(folder, 'file'), direct)
        world.command('sync', '-f', folder)
        own, written = count.of(process=pid), direct + 1 << 20
        equal((own['app_write'], own['app_sync']), ((21 + direct, 20 + written, 0), (20, 0, 0)), 'by the application')
        check(own['cache_dirtied'][1] >= 20 * PAGE + (1 << 20), 'made dirty, with metadata', own['cache_dirtied'])
        equal(own['fs_write'][1], 20 * PAGE + written, 'data that the file system wrote')
        everybody = count.of()
        check(own['device_write'][1] >= own['fs_write'][1], 'what reached the disk', own['device_write'])
        check(everybody[own_layer][1] >= PAGE, 'what it wrote for itself', everybody[own_layer])
        as_the_disk(count, device, before, barriers=21)


@test
def xfs(world):
    other_file_system(world, 'fs_journal_write', 4, 'xfs', 'mkfs.xfs', '-q', '-f')


@test
def btrfs(world):
    """Kernels up to 6.1 clone the bios of its direct I/O, as devices that are made of others do."""
    other_file_system(world, 'fs_metadata_write', 4, 'btrfs', 'mkfs.btrfs', '-q', '-f')
