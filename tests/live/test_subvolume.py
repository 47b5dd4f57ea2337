# SPDX-License-Identifier: GPL-2.0-or-later
"""btrfs: a file is known by its subvolume, as stat(2) shows it, in rows, names and filters."""
import mmap
import os

from lib.registry import Skip, check, equal, test
from lib.world import find_key

PAGE = 4096
SIZE = 16 * PAGE


def number(path):
    device = os.stat(path).st_dev
    return '%d:%d' % (os.major(device), os.minor(device))


def needs_types(world):
    """Kernels without BTF of modules do not let subvolumes be told from each other: doctor says so."""
    told, = [one for one in world.ctl.ask('Doctor')['checks'] if one['check'] == 'subvolumes']
    if not told['ok']:
        raise Skip(told['detail'])


class Ground:
    """A btrfs with the subvolumes live and other, a snapshot of the first, and a file of the same inode number in each."""

    def __init__(self, world, size=256 << 20):
        world.need('mkfs.btrfs', 'btrfs')
        self.disk = world.loop(size)
        self.root = world.make('btrfs')
        world.command('mkfs.btrfs', '-q', self.disk)
        done = world.command('mount', '-t', 'btrfs', self.disk, self.root, check=False)
        if done.returncode:
            raise Skip('no btrfs: %s' % done.stderr.strip())
        world.later('umount', '-l', self.root)
        self.live, self.other, self.snap = (os.path.join(self.root, name) for name in ('live', 'other', 'snap'))
        for path in (self.live, self.other):
            world.command('btrfs', '-q', 'subvolume', 'create', path)
        self.files = [os.path.join(path, 'file') for path in (self.live, self.other, self.snap)]
        for path in self.files[:2]:
            with open(path, 'wb') as file:
                file.write(b'x' * SIZE)
        world.command('btrfs', '-q', 'subvolume', 'snapshot', self.live, self.snap)
        os.sync()
        needs_types(world)
        check(len({os.stat(path).st_ino for path in self.files}) == 1, 'the files have other inode numbers')


def use(path):
    """Reads, writes, maps and syncs a file, and asks what it is."""
    os.stat(path)
    with open(path, 'r+b', buffering=0) as file:
        os.fstat(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(file.fileno(), PAGE, 0)
        with mmap.mmap(file.fileno(), SIZE) as mapping:
            check(mapping[8 * PAGE], 'a page of zeros')
            mapping[9 * PAGE] = 1
        os.pwrite(file.fileno(), b'y' * SIZE, 0)
        os.fsync(file.fileno())


@test
def one_device(world):
    """All rows of a file have the device that stat shows, and those of two subvolumes have different ones."""
    ground = Ground(world)
    with world.session('--vfs', '--cache', '--pagefault', '--block', '--pid', os.getpid(),
                       '--path', ground.root) as session:
        for path in ground.files:
            use(path)
    for path in ground.files:
        for stream, column in (('vfs', 'device'), ('cache', 'device'), ('pagefault', 'device')):
            rows = [row for row in session.rows(stream) if row['filename'] == path]
            check(rows, 'no rows of %s in %s' % (path, stream))
            equal({row[column] for row in rows if row[column]}, {number(path)}, 'device of %s in %s' % (path, stream))


@test
def filter_path(world):
    """--path of one subvolume."""
    ground = Ground(world)
    for path, inside in zip((ground.live, ground.other, ground.snap), ground.files):
        with world.session('--vfs', '--cache', '--pagefault', '--block', '--path', path) as session:
            for each in ground.files:
                use(each)
        for stream in ('vfs', 'cache', 'pagefault', 'block'):
            names = {row['filename'] for row in session.rows(stream)} - {path}
            equal(names, {inside}, 'names in %s' % stream)


@test
def filter_device(world):
    """--device by the number of one subvolume, by that of the file system as a whole, and by its disk."""
    ground = Ground(world)
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        whole, = [line.split()[2] for line in mounts if line.split()[4] == ground.root]
    for device, files in ((number(ground.snap), ground.files[2:]), (whole, ground.files), (ground.disk, ground.files)):
        with world.session('--vfs', '--cache', '--pagefault', '--pid', os.getpid(), '--device', device) as session:
            for path in ground.files:
                use(path)
        equal(find_key(session.started, 'warnings') or [], [], 'warnings')
        for stream in ('vfs', 'cache', 'pagefault'):
            names = {row['filename'] for row in session.rows(stream) if row['filename'] in ground.files}
            equal(names, set(files), 'names in %s with --device %s' % (stream, device))


@test
def not_told(world):
    """Where the kernel does not tell subvolumes from each other, `start` says so, and refuses the root of one."""
    try:
        Ground(world)
    except Skip as skip:
        if 'types' not in str(skip):
            raise
    else:
        raise Skip('the kernel tells subvolumes from each other')
    with world.session('--vfs', '--pid', os.getpid()) as session:
        pass
    check('btrfs_root' in [one.get('hook') for one in find_key(session.started, 'missing') or []], 'start', session.started)
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        root = [line.split()[4] for line in mounts if ' - btrfs ' in line][-1]
    done = world.ctl.exits((1, 2), 'start', 'x', '--vfs', '--path', os.path.join(root, 'live'))
    check('subvolume' in done.stderr, 'the reason is not told', done.stderr)
