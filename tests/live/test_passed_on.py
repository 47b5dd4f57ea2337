# SPDX-License-Identifier: GPL-2.0-or-later
"""What kernel threads do for a loop device or one that encrypts: on the disk below it is of who did it above, and called the same."""
import os

from lib.registry import Skip, check, equal, test
from lib.world import device_number
from lib.written import PAGE, Child, Ground, size, since, write

PAGES = 64


def reader(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for page in range(PAGES):
        os.pread(fd, PAGE, page * PAGE)


def need_loops(world):
    known, = [one for one in world.ctl.ask('Doctor')['checks'] if one['check'] == 'loop devices']
    if not known['ok']:
        raise Skip(known['detail'])


def image_of(world, below, direct):
    image = below.path('image')
    with open(image, 'wb') as file:
        file.truncate(64 << 20)
    done = world.command('losetup', '-f', '--show', *(['--direct-io=on'] if direct else []), image, check=False)
    if done.returncode:
        raise Skip('no loop device: %s' % done.stderr.strip())
    device = done.stdout.strip()
    world.later('losetup', '-d', device)
    with open('/sys/block/%s/loop/dio' % os.path.basename(device), encoding='ascii') as file:
        if int(file.read()) != direct:
            raise Skip('the loop device does no direct I/O')
    return image, device


def loop_reads(world, direct):
    need_loops(world)
    below = Ground(world, size=160)
    image, device = image_of(world, below, direct)
    above = Ground(world, device=device)
    path = above.path('file')
    write(path, PAGES)
    above.sync()
    world.command('umount', above.folder)
    world.command('mount', '-t', 'ext4', device, above.folder)
    below.sync()
    with open(image, 'rb') as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with world.session('--vfs', '--block') as session:
        child = Child(world, lambda: reader(path))
    found = [row for row in session.rows('block') if row['operation'] == 'READ' and row['device'] == below.number and
             row['inode'] == str(os.stat(image).st_ino)]
    its_own = [row for row in found if row['pid'] == str(child.pid)]
    check(size(its_own) >= PAGES * PAGE * 0.9, 'read below: %d of %d bytes' % (size(its_own), size(found)), *found[:8])
    check(size(its_own) >= size(found) * 0.9, 'of others: %d of %d bytes' % (size(its_own), size(found)), *found[:8])
    equal({row['attribution'] for row in its_own}, {'submitter'}, 'attributions')
    flows = {row['flow'] for row in session.rows('vfs') if row['pid'] == str(child.pid)} - {''}
    check(all(row['flow'] in flows for row in its_own), 'flows', *[row for row in its_own if row['flow'] not in flows][:3])


@test
def read_of_a_file(world):
    loop_reads(world, False)


@test
def read_of_a_file_directly(world):
    loop_reads(world, True)


@test
def written_to_a_file_directly(world):
    """The data of a loop device that does direct I/O, its journal, and what each is called."""
    need_loops(world)
    below = Ground(world, size=160)
    image, device = image_of(world, below, True)
    above = Ground(world, device=device)
    path = above.path('file')

    def act():
        write(path, PAGES)
        fd = os.open(path, os.O_RDWR)
        os.fsync(fd)
    with world.session('--vfs', '--block') as session:
        child = Child(world, act)
    sync, = [row for row in session.rows('vfs') if row['operation'] == 'FSYNC' and row['pid'] == str(child.pid)]
    for ground, inode in ((above, None), (below, str(os.stat(image).st_ino))):
        rows = [row for row in ground.writes(session) if row['flow'] == sync['flow'] and inode in (None, row['inode'])]
        kinds = {row['attribution']: size(one for one in rows if one['attribution'] == row['attribution']) for row in rows}
        check(kinds.get('journal', 0) >= 2 * PAGE, 'the journal', kinds, *rows)
        check(kinds.get('submitter', 0) + kinds.get('dirtier', 0) == PAGES * PAGE, 'the data', kinds, *rows)
        equal({row['pid'] for row in rows}, {str(child.pid)}, 'processes')


def crypt(world):
    world.need('dmsetup')
    since(5, 18)
    below, name = world.loop(), os.path.basename(world.path('iotracer-passed'))
    table = '0 %d crypt aes-xts-plain64 %s 0 %s 0 1 allow_discards' % ((64 << 20) // 512, '0123456789abcdef' * 4, below)
    done = world.command('dmsetup', 'create', name, '--noudevsync', '--table', table, check=False)
    if done.returncode:
        raise Skip('no dm-crypt: %s' % (done.stderr.strip().splitlines() or ['?'])[-1])
    world.later('dmsetup', 'remove', '--retry', '-f', name)
    world.command('dmsetup', 'mknodes', name, check=False)
    return '/dev/mapper/' + name, device_number(below)


@test
def encrypted(world):
    """The journal, the flushes and the reads of an encrypted disk, and nothing of who made the file system before."""
    device, number = crypt(world)
    with world.session('--vfs', '--block') as session:
        ground = Ground(world, device=device)
        path = ground.path('file')

        def act():
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            for page in range(8):
                os.pwrite(fd, b'e' * PAGE, page * PAGE)
                os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(fd, PAGE, 0)
        child = Child(world, act)
    calls = [row for row in session.rows('vfs') if row['pid'] == str(child.pid) and row['flow']]
    below = [row for row in session.rows('block') if row['device'] == number]
    begin, end = (min(int(row['mono_ns']) for row in calls), max(int(row['mono_ns']) + int(row['latency_ns']) for row in calls))
    during = [row for row in below if begin <= int(row['mono_ns']) < end]
    for call in calls:
        its_own = [row for row in below if row['flow'] == call['flow']]
        if call['operation'] == 'FSYNC':
            equal({row['attribution'] for row in its_own if row['operation'] == 'WRITE'} - {'submitter', 'dirtier'}, {'journal'},
                  'what is written for an fsync')
            check(any(row['operation'] == 'FLUSH' for row in its_own), 'flushes of an fsync', *its_own)
        elif call['operation'] == 'READ':
            equal({(row['operation'], row['attribution']) for row in its_own}, {('READ', 'submitter')}, 'what a read reads')
    others = [row for row in during if row['pid'] != str(child.pid)]
    check(size(others) <= size(during) * 0.1, 'of others: %d of %d bytes' % (size(others), size(during)), *others[:5])
    equal({row['command'] for row in others} & {'mkfs.ext4', 'mount'}, set(), 'of who came before')
