# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever way a process makes pages dirty, the requests that write them are its own."""
import ctypes
import mmap
import os

from lib import uring
from lib.registry import Skip, check, equal, test
from lib.written import PAGE, Child, Ground, charged, since, size, write

PAGES = 64
SECTOR = 512


def create(path):
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


def mapped(path):
    descriptor = create(path)
    os.ftruncate(descriptor, PAGES * PAGE)
    with mmap.mmap(descriptor, PAGES * PAGE) as memory:
        for page in range(PAGES):
            memory[page * PAGE] = 1


def by_uring(path):
    buffer = ctypes.create_string_buffer(b'u' * PAGE, PAGE)
    with uring.Ring(8) as ring:
        descriptor = create(path)
        for page in range(PAGES):
            flags = uring.ASYNC if page % 2 else 0  # every other one by a worker of the process
            if ring.do('WRITE', descriptor, uring.address(buffer), PAGE, off=page * PAGE, flags=flags) != PAGE:
                raise OSError('a write of io_uring failed')


def spliced(path):
    descriptor, (source, sink) = create(path), os.pipe()
    for _ in range(PAGES):
        os.write(sink, b's' * PAGE)
        os.splice(source, descriptor, PAGE)


def copied(path):
    source, target = os.memfd_create('source'), create(path)
    os.ftruncate(source, PAGES * PAGE)
    os.sendfile(target, source, 0, PAGES * PAGE)


def synchronous(path):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_SYNC, 0o644)
    os.write(descriptor, b'o' * PAGE * PAGES)


WAYS = {'mapped': mapped, 'uring': by_uring, 'spliced': spliced, 'copied': copied, 'synchronous': synchronous}


def written_sectors(ground):
    with open('/sys/block/%s/stat' % os.path.basename(ground.device), encoding='ascii') as file:
        return int(file.read().split()[6])


def every_way(world, ground):
    """Each process's rows, what the kernel charges it with, and the disk's own count."""
    before = written_sectors(ground)
    with world.session('--block') as session:
        children = {name: Child(world, lambda way=way, name=name: way(ground.path(name))) for name, way in WAYS.items()}
        for name in WAYS:
            world.command('sync', ground.path(name))
        ground.sync()
        done = (written_sectors(ground) - before) * SECTOR
    for name, child in children.items():
        found = ground.writes(session, ground.path(name))
        command = 'iou-wrk-%d' % child.pid  # what a worker of io_uring calls itself
        found = [dict(row, command='iotr-child') if row['command'] == command else row for row in found]
        charged(found, child, 'submitter' if name == 'synchronous' else 'dirtier', PAGES, name)
        equal(child.written(), PAGES * PAGE, '%s: bytes by /proc/PID/io' % name)
    total = size(ground.writes(session))
    check(abs(total - done) <= done * 0.02, 'rows of %d bytes, the disk wrote %d' % (total, done))


@test
def every_way_ext4(world):
    every_way(world, Ground(world))


@test
def every_way_xfs(world):
    every_way(world, Ground(world, 'xfs'))


@test
def through_overlayfs(world):
    """The files above are those of the upper folder below."""
    ground = Ground(world)
    folders = [ground.path(name) for name in ('lower', 'upper', 'work')]
    for folder in folders:
        os.mkdir(folder)
    above = world.make('overlay')
    done = world.command('mount', '-t', 'overlay', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % tuple(folders), 'none',
                         above, check=False)
    if done.returncode:
        raise Skip('no overlayfs: %s' % done.stderr.strip())
    world.later('umount', '-l', above)
    with world.session('--block') as session:
        child = Child(world, lambda: write(os.path.join(above, 'file'), PAGES))
        ground.sync()
    charged(ground.writes(session, os.path.join(folders[1], 'file')), child, 'dirtier', PAGES)


@test
def cut_while_dirty(world):
    """What is cut off or removed before it is written is nobody's, and the rest is its own."""
    ground = Ground(world)
    kept, gone = ground.path('kept'), ground.path('gone')

    def act():
        write(kept, PAGES)
        os.truncate(kept, PAGES // 4 * PAGE)
        write(gone, PAGES)
        os.unlink(gone)
    with world.session('--block') as session:
        child = Child(world, act)
        ground.sync()
    charged(ground.writes(session, kept), child, 'dirtier', PAGES // 4)
    equal(child.written(), PAGES // 4 * PAGE, 'bytes by /proc/PID/io')
    data = [row for row in ground.writes(session) if row['attribution'] not in ('journal', 'metadata')]
    equal(size(data), PAGES // 4 * PAGE, 'bytes of all files')


@test
def removed_while_open(world):
    """A file without a name is written for who made it dirty."""
    ground = Ground(world)
    path = ground.path('unnamed')

    def act():
        descriptor = create(path)
        inode = os.fstat(descriptor).st_ino
        os.unlink(path)
        os.pwrite(descriptor, b'g' * PAGE * PAGES, 0)
        os.symlink(str(inode), ground.path('inode'))
        os.sync()
    with world.session('--block') as session:
        child = Child(world, act)
    inode = os.readlink(ground.path('inode'))
    found = [row for row in ground.writes(session) if row['inode'] == inode]
    equal(size(found), PAGES * PAGE, 'bytes')
    equal({(row['pid'], row['command'], row['dirtiers']) for row in found}, {(str(child.pid), 'iotr-child', '1')}, 'rows')


@test
def data_in_the_journal(world):
    """ext4 with data=journal writes all data twice: to the log, and from there. Earlier, jbd2 made the pages dirty itself."""
    since(6, 4)
    ground = Ground(world, options='noatime,data=journal')
    path = ground.path('twice')
    with world.session('--block') as session:
        child = Child(world, lambda: write(path, PAGES))
        ground.sync()
        world.command('mount', '-o', 'remount,ro', ground.folder)
    found = [row for row in ground.writes(session) if row['pid'] == str(child.pid)]
    total = size(row for row in ground.writes(session) if row['size'] != '0')
    check(size(found) >= 2 * PAGES * PAGE, '%d bytes of the process, of %d' % (size(found), total), *ground.writes(session)[:6])
    check(size(found) >= total * 0.9, '%d bytes of the process, of %d' % (size(found), total), *ground.writes(session)[:6])
