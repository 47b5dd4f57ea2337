# SPDX-License-Identifier: GPL-2.0-or-later
"""overlayfs: rows have the file that the program sees, not the one in the layer below."""
import mmap
import os

from lib.registry import Skip, check, equal, test

PAGE = 4096


def stacked(world):
    """Mounts an overlay whose layers are in another file system; returns its path."""
    base = world.tmpfs(4 << 20)
    folders = [os.path.join(base, name) for name in ('lower', 'upper', 'work')]
    for folder in folders:
        os.mkdir(folder)
    merged = world.make('merged')
    done = world.command('mount', '-t', 'overlay', 'none', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % tuple(folders),
                         merged, check=False)
    if done.returncode:
        raise Skip('no overlayfs: %s' % done.stderr.strip())
    world.later('umount', '-l', merged)
    return merged


@test
def by_path(world):
    """Where the level tells which inode a path leads to, it is the stacked file system's."""
    merged = stacked(world)
    number = os.stat(merged).st_dev
    device = '%d:%d' % (os.major(number), os.minor(number))
    names = [os.path.join(merged, name) for name in ('folder', 'link', 'moved')]
    operations = ('MKDIR', 'SYMLINK', 'SETATTR', 'RENAME', 'UNLINK', 'RMDIR')
    with world.session('--vfs', '--pid', os.getpid(), '--operation', ','.join(operations)) as session:
        os.mkdir(names[0])
        os.symlink('nowhere', names[1])
        inodes = [str(os.lstat(name).st_ino) for name in names[:2]]
        os.chmod(names[0], 0o700)
        os.rename(names[1], names[2])
        os.unlink(names[2])
        os.rmdir(names[0])
    rows = session.rows()
    equal([row['operation'] for row in rows], list(operations), 'operations')
    if world.level == 'function':
        equal({row['device'] for row in rows}, {device}, 'device')
        equal([row['inode'] for row in rows], inodes + [inodes[0], inodes[1], inodes[1], inodes[0]], 'inodes')
    check(all(row['device'] in ('', device) for row in rows), 'devices', [row['device'] for row in rows])


SIZE = 64 * PAGE


def drop_caches():
    with open('/proc/sys/vm/drop_caches', 'w', encoding='ascii') as file:
        file.write('1')


class Ground:
    """An overlay on a disk, with a file in the lower layer and one in the upper one."""

    def __init__(self, world, file_system='ext4'):
        world.need('mkfs.' + file_system)
        disk, base, self.merged = world.loop(128 << 20), world.make('layers'), world.make('merged')
        world.command('mkfs.' + file_system, *(['-q', '-F'] if file_system == 'ext4' else ['-q']), disk)
        world.command('mount', '-t', file_system, disk, base)
        world.later('umount', '-l', base)
        folders = [os.path.join(base, name) for name in ('lower', 'upper', 'work')]
        for folder in folders:
            os.mkdir(folder)
        os.mkdir(os.path.join(folders[0], 'deep'))
        with open(os.path.join(folders[0], 'deep', 'low'), 'wb') as file:
            file.write(b'x' * SIZE)
        done = world.command('mount', '-t', 'overlay', 'none', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % tuple(folders),
                             self.merged, check=False)
        if done.returncode:
            raise Skip('no overlayfs: %s' % done.stderr.strip())
        world.later('umount', '-l', self.merged)
        self.low, self.new = os.path.join(self.merged, 'deep', 'low'), os.path.join(self.merged, 'new')
        with open(self.new, 'wb') as file:
            file.write(b'x' * SIZE)
        os.sync()
        drop_caches()


def use(path, writes):
    """Reads, maps, and maybe writes a file."""
    with open(path, 'r+b' if writes else 'rb', buffering=0) as file:
        os.pread(file.fileno(), PAGE, 0)
        with mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ | (mmap.PROT_WRITE if writes else 0)) as mapping:
            check(mapping[48 * PAGE], 'a page of zeros')
            if writes:
                mapping[49 * PAGE] = 1
                mapping.flush()
        if writes:
            os.pwrite(file.fileno(), b'y' * SIZE, 0)
            os.fsync(file.fileno())


def of_one_file(session, path, streams):
    number = os.stat(os.path.dirname(path)).st_dev
    device = '%d:%d' % (os.major(number), os.minor(number))
    inode = str(os.stat(path).st_ino)
    for stream in streams:
        rows = [row for row in session.rows(stream) if row['filename'] and row['operation'] in DATA[stream]]
        check(rows, 'no rows of %s in %s' % (path, stream))
        equal({row['filename'] for row in rows}, {path}, 'names in %s' % stream)
        equal({row['inode'] for row in rows}, {inode}, 'inodes in %s' % stream)
        if stream != 'block':
            equal({row['device'] for row in rows}, {device}, 'devices in %s' % stream)


DATA = {'vfs': ('OPEN', 'READ', 'MMAP', 'WRITE', 'FSYNC', 'CLOSE'), 'pagefault': ('FAULT',), 'block': ('READ', 'WRITE'),
        'cache': ('HIT', 'MISS', 'READAHEAD', 'DIRTY', 'WRITEBACK_START', 'WRITEBACK_END')}


@test
def one_name(world):
    """Rows of all streams name the file that the process sees: of the lower layer, and one that it writes."""
    ground = Ground(world)
    for path, writes in ((ground.low, False), (ground.new, True)):
        with world.session(*('--' + stream for stream in DATA), '--path', ground.merged) as session:
            use(path, writes)
        of_one_file(session, path, DATA)


@test
def each_stream(world):
    """The same of streams that are recorded by themselves."""
    ground = Ground(world)
    for path, writes in ((ground.low, False), (ground.new, True)):
        for stream in DATA:
            drop_caches()
            with world.session('--' + stream, '--path', ground.merged) as session:
                use(path, writes)
            of_one_file(session, path, [stream])


@test
def written_later(world):
    """Pages that somebody else writes, as the program that made them dirty has closed the file."""
    ground = Ground(world)
    for streams in (['block'], ['cache'], ['cache', 'block']):
        with world.session(*('--' + stream for stream in streams), '--path', ground.merged) as session:
            with open(ground.new, 'r+b', buffering=0) as file:
                os.pwrite(file.fileno(), b'z' * SIZE, 0)
            os.sync()
        of_one_file(session, ground.new, streams)


@test
def copied_up(world):
    """A file of the lower layer that is written, and so becomes one of the upper layer."""
    ground = Ground(world)
    with world.session(*('--' + stream for stream in DATA), '--path', ground.low) as session:
        use(ground.low, True)
    of_one_file(session, ground.low, DATA)


@test
def direct(world):
    """Direct I/O, of which requests have the open file below."""
    ground = Ground(world)
    buffer = mmap.mmap(-1, SIZE)
    with world.session('--block', '--path', ground.merged) as session:
        file = os.open(ground.new, os.O_RDWR | os.O_DIRECT)
        os.pwritev(file, [buffer], 0)
        os.preadv(file, [buffer], 0)
        os.close(file)
    of_one_file(session, ground.new, ['block'])
    equal({row['operation'] for row in session.rows('block')}, {'READ', 'WRITE'}, 'requests')


@test
def copies(world):
    """Calls that have the file as their first or last descriptor."""
    ground = Ground(world)
    drop_caches()
    with world.session('--cache', '--block', '--path', ground.merged) as session:
        source, target = os.open(ground.low, os.O_RDONLY), os.open(world.path('copy'), os.O_RDWR | os.O_CREAT)
        os.sendfile(target, source, 0, SIZE)
        os.close(source)
        os.close(target)
    of_one_file(session, ground.low, ['cache', 'block'])


@test
def run_from_it(world):
    """A program: its pages are read when they are touched."""
    ground = Ground(world)
    program = os.path.join(ground.merged, 'program')
    world.command('cp', '/usr/bin/find', program)
    os.sync()
    drop_caches()
    with world.session('--cache', '--block', '--pagefault', '--path', ground.merged) as session:
        world.command(program, '/dev/null')
    for stream in ('pagefault', 'cache', 'block'):
        rows = [row for row in session.rows(stream) if row['operation'] in DATA[stream] and row['operation'] != 'WRITE']
        check(rows, 'no rows in %s' % stream)
        equal({row['filename'] for row in rows}, {program}, 'names in %s' % stream)


@test
def shared_layer(world):
    """Two that have one lower layer: each program's rows are of the one that it uses."""
    ground = Ground(world)
    base, second = os.path.dirname(os.path.dirname(layer(ground.merged))), world.make('second')
    folders = [os.path.join(base, name) for name in ('lower', 'upper2', 'work2')]
    for folder in folders[1:]:
        os.mkdir(folder)
    world.command('mount', '-t', 'overlay', 'none', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % tuple(folders), second)
    world.later('umount', '-l', second)
    for merged in (ground.merged, second, ground.merged):
        path = os.path.join(merged, 'deep', 'low')
        drop_caches()
        with world.session(*('--' + stream for stream in DATA), '--path', merged) as session:
            use(ground.low if merged != ground.merged else os.path.join(second, 'deep', 'low'), False)
            drop_caches()  # 5.10 has no HIT
            use(path, False)
        of_one_file(session, path, ['vfs', 'pagefault', 'cache'])


def layer(merged):
    """The upper layer of an overlay."""
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        options, = [line.split()[-1] for line in mounts if line.split()[4] == merged]
    return dict(option.partition('=')[::2] for option in options.split(','))['upperdir'] + '/'


@test
def two_disks(world):
    """Layers on two file systems: the device is that of the overlay in all rows of open files."""
    ground, other = Ground(world), world.loop(64 << 20)
    base, merged = world.make('layers'), world.make('merged')
    world.command('mkfs.ext4', '-q', '-F', other)
    world.command('mount', other, base)
    world.later('umount', '-l', base)
    folders = [os.path.join(base, name) for name in ('upper', 'work')]
    for folder in folders:
        os.mkdir(folder)
    lower = os.path.join(os.path.dirname(os.path.dirname(layer(ground.merged))), 'lower')
    world.command('mount', '-t', 'overlay', 'none', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % (lower, *folders), merged)
    world.later('umount', '-l', merged)
    low, new = os.path.join(merged, 'deep', 'low'), os.path.join(merged, 'new')
    with open(new, 'wb') as file:
        file.write(b'x' * SIZE)
    os.sync()
    for path, writes in ((low, False), (new, True), (low, True)):
        drop_caches()
        with world.session(*('--' + stream for stream in DATA), '--path', merged) as session:
            use(path, writes)
        of_one_file(session, path, DATA)
