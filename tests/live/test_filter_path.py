# SPDX-License-Identifier: GPL-2.0-or-later
"""--path: rows of the files in a folder, and of no others, however they got there and whichever path is used."""
import ctypes
import mmap
import os
import subprocess

from lib import uring
from lib.registry import Skip, check, equal, test
from lib.rows import manifest

PAGE = 4096


def write(path, size=10):
    with open(path, 'wb') as file:
        file.write(b'x' * size)
    return path


class Ground:
    """A folder for --path, with a file and a folder in it, and another folder whose name begins like its name."""

    def __init__(self, world):
        self.base = world.make('paths')
        self.inside = os.path.join(self.base, 'in')
        self.beside = os.path.join(self.base, 'in-not')
        os.makedirs(os.path.join(self.inside, 'deep', 'deeper'))
        os.makedirs(self.beside)
        self.file = write(os.path.join(self.inside, 'deep', 'deeper', 'file'))
        self.other = write(os.path.join(self.beside, 'file'))


def options(ground, *more):
    return ['--vfs', '--pid', os.getpid(), '--path', ground.inside, *more]


def brief(found):
    return [(row['operation'], row['filename']) for row in found]


@test
def subtree(world):
    """A file in the folder and one outside; operations by path and by descriptor."""
    ground = Ground(world)
    with world.session(*options(ground, '--operation', 'OPEN,CLOSE,FSYNC')) as session:
        for path in (ground.file, ground.other):
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.close(file)
    equal(brief(session.rows()), [(name, ground.file) for name in ('OPEN', 'FSYNC', 'CLOSE')], 'rows')


@test
def open_before(world):
    """Files that were open when the session began; one is moved in, another one out."""
    ground = Ground(world)
    inner, outer = (os.open(path, os.O_RDONLY) for path in (ground.file, ground.other))
    moved_in, moved_out = os.path.join(ground.inside, 'came'), os.path.join(ground.beside, 'went')
    with world.session(*options(ground, '--operation', 'READ,RENAME')) as session:
        os.pread(inner, 1, 0)
        os.pread(outer, 2, 0)
        os.rename(ground.other, moved_in)
        os.pread(outer, 3, 0)
        os.rename(ground.file, moved_out)
        os.pread(inner, 4, 0)
    rows = session.rows()
    equal([(row['operation'], row['size']) for row in rows],
          [('READ', '1'), ('RENAME', ''), ('READ', '3'), ('RENAME', '')], 'rows')
    equal([row['filename'] for row in rows], [
        ground.file, '%s -> %s' % (ground.other, moved_in), moved_in,
        '%s -> %s' % (ground.file, moved_out)], 'names')
    os.close(inner)
    os.close(outer)


@test
def folder_moves(world):
    """Another process, which is not recorded, moves the folder that a file lies in."""
    ground = Ground(world)
    folder, away = os.path.join(ground.inside, 'deep'), os.path.join(ground.beside, 'deep')
    file = os.open(ground.file, os.O_RDONLY)
    with world.session(*options(ground, '--operation', 'READ')) as session:
        os.pread(file, 1, 0)
        subprocess.run(['mv', folder, away], check=True)
        os.pread(file, 2, 0)
        subprocess.run(['mv', away, folder], check=True)
        os.pread(file, 3, 0)
    rows = session.rows()
    equal([row['size'] for row in rows], ['1', '3'], 'sizes of reads')
    equal({row['filename'] for row in rows}, {ground.file}, 'names')
    os.close(file)


def by_path(folder):
    """Operations that name a file by its path, each with both ways to fail or not."""
    path = os.path.join(folder, 'new')
    os.mkdir(path)
    os.stat(path)
    os.chmod(path, 0o700)
    os.rmdir(path)
    os.symlink('nowhere', path)
    os.unlink(path)
    for operation in (os.stat, os.unlink, os.rmdir):
        try:
            operation(path)
        except OSError:
            pass


BY_PATH = ['MKDIR', 'GETATTR', 'SETATTR', 'RMDIR', 'SYMLINK', 'UNLINK', 'GETATTR', 'UNLINK', 'RMDIR']
BY_PATH_OPTIONS = ['--operation', ','.join(sorted(set(BY_PATH)))]


@test
def path_arguments(world):
    """Absolute paths, also with //, . and .. in them; of the folder itself, and of what is outside."""
    ground = Ground(world)
    ways = [ground.inside, ground.inside + '/./deep//deeper', ground.beside + '/../in/deep',
            ground.inside + '/deep/../deep/deeper']
    with world.session(*options(ground, *BY_PATH_OPTIONS)) as session:
        for way in ways:
            by_path(way)
        for way in (ground.base, ground.beside, ground.inside + '/..', ground.inside + '/../in-not'):
            by_path(way)
        os.stat(ground.inside)
    equal([row['operation'] for row in session.rows()], BY_PATH * len(ways) + ['GETATTR'], 'operations')


@test
def relative_paths(world):
    """Below the working directory, and below a descriptor."""
    ground = Ground(world)
    before = os.getcwd()
    holder = os.open(ground.base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with world.session(*options(ground, *BY_PATH_OPTIONS)) as session:
            os.chdir(os.path.join(ground.inside, 'deep'))
            by_path('.')
            by_path('../../in-not')
            os.chdir(ground.base)
            by_path('in/deep')
            by_path('in-not')
            os.mkdir('in/new', dir_fd=holder)
            os.rmdir('in/new', dir_fd=holder)
            os.mkdir('in-not/new', dir_fd=holder)
            os.rmdir('in-not/new', dir_fd=holder)
    finally:
        os.chdir(before)
        os.close(holder)
    equal([row['operation'] for row in session.rows()], BY_PATH * 2 + ['MKDIR', 'RMDIR'], 'operations')


@test
def either_path(world):
    """rename and link, when one of the paths lies in the folder."""
    ground = Ground(world)
    pairs = [(ground.file, ground.beside + '/a'), (ground.other, ground.inside + '/b'),
             (ground.other, ground.beside + '/c'), (ground.file, ground.inside + '/d')]
    with world.session(*options(ground, '--operation', 'LINK')) as session:
        for old, new in pairs:
            os.link(old, new)
    equal([row['filename'] for row in session.rows()],
          ['%s -> %s' % pair for pair in pairs if pair != pairs[2]], 'names')


@test
def links(world):
    """A folder that is given by a link, and used by its own name and the link's."""
    ground = Ground(world)
    link = os.path.join(ground.base, 'link')
    os.symlink(ground.inside, link)
    with world.session('--vfs', '--pid', os.getpid(), '--path', link, *BY_PATH_OPTIONS) as session:
        by_path(link)
        by_path(ground.inside)
        by_path(ground.beside)
    equal([row['operation'] for row in session.rows()], BY_PATH * 2, 'operations')


@test
def other_names(world):
    """The folder is reached by links above it and by bind mounts: of it, of what it is in, and of a part of it. Others are told of."""
    ground = Ground(world)
    link, whole, part, outer = (os.path.join(ground.base, name) for name in ('link', 'whole', 'part', 'outer'))
    os.symlink('in', link)
    os.symlink('in/deep', os.path.join(ground.base, 'inner'))
    for source, target in ((ground.inside, whole), (os.path.join(ground.inside, 'deep'), part), (ground.base, outer)):
        os.mkdir(target)
        world.command('mount', '--bind', source, target)
        world.later('umount', '-l', target)
    named = [os.path.join(folder, 'made') for folder in (ground.inside, link, whole, part, outer + '/in', ground.base + '/inner')]
    with world.session(*options(ground, '--operation', 'MKDIR,RMDIR')) as session:
        for path in named + [ground.beside + '/made', outer + '/made']:
            os.mkdir(path)
            os.rmdir(path)
        told = world.ctl.run('status', session.name)
    equal(brief(session.rows()), [(operation, path) for path in named for operation in ('MKDIR', 'RMDIR')], 'rows')
    check('unseen' in told.stdout and 'judged by the path as written' in told.stdout, 'what the status says', told)
    check('unseen' in manifest(session.output)['definition'], 'what the manifest says')


@test
def one_file(world):
    ground = Ground(world)
    near = write(ground.file + '2')
    with world.session('--vfs', '--pid', os.getpid(), '--path', ground.file, '--operation', 'OPEN') as session:
        os.close(os.open(ground.file, os.O_RDONLY))
        os.close(os.open(near, os.O_RDONLY))
    equal(brief(session.rows()), [('OPEN', ground.file)], 'rows')


@test
def mounts(world):
    """A file system that is mounted in the folder is part of it; --path may also name a folder on that mount."""
    ground = Ground(world)
    point = os.path.join(ground.inside, 'deep')
    world.command('mount', '-t', 'tmpfs', 'none', point)
    world.later('umount', '-l', point)
    os.mkdir(point + '/part')
    files = [write(point + '/file'), write(point + '/part/file')]
    with world.session(*options(ground, '--operation', 'OPEN')) as whole, \
            world.session('--vfs', '--pid', os.getpid(), '--path', point + '/part', '--operation', 'OPEN') as part:
        for path in files:
            os.close(os.open(path, os.O_RDONLY))
    equal([row['filename'] for row in whole.rows()], files, 'names below the mount')
    equal([row['filename'] for row in part.rows()], files[1:], 'names in the part')


@test
def mappings(world):
    ground = Ground(world)
    write(ground.file, PAGE)
    write(ground.other, PAGE)
    with world.session(*options(ground, '--operation', 'MMAP,MSYNC,MUNMAP')) as session:
        for path in (ground.file, ground.other):
            with open(path, 'r+b') as file, mmap.mmap(file.fileno(), PAGE) as mapping:
                mapping.flush()
    equal(brief(session.rows()), [(name, ground.file) for name in ('MMAP', 'MSYNC', 'MUNMAP')], 'rows')


@test
def two_sessions(world):
    """One folder within the other, each with rows of its own; a third one takes both."""
    ground = Ground(world)
    deep = os.path.join(ground.inside, 'deep')
    high = write(os.path.join(ground.inside, 'high'))
    common = ['--vfs', '--pid', os.getpid(), '--operation', 'OPEN']
    with world.session(*common, '--path', ground.inside) as wide, \
            world.session(*common, '--path', deep) as narrow, \
            world.session(*common, '--path', deep, '--path', ground.beside) as both:
        for path in (ground.file, high, ground.other):
            os.close(os.open(path, os.O_RDONLY))
        narrow.stop()
        for path in (ground.file, high):
            os.close(os.open(path, os.O_RDONLY))
    names = [[row['filename'] for row in session.rows()] for session in (wide, narrow, both)]
    equal(names, [[ground.file, high] * 2, [ground.file], [ground.file, ground.other, ground.file]], 'names')


@test
def pages(world):
    """cache and pagefault."""
    ground = Ground(world)
    write(ground.file, PAGE)
    write(ground.other, PAGE)
    with world.session('--cache', '--pagefault', '--pid', os.getpid(), '--path', ground.inside) as session:
        for path in (ground.file, ground.other):
            with open(path, 'r+b') as file, mmap.mmap(file.fileno(), PAGE) as mapping:
                check(mapping[0], 'a page of zeros')
                os.pwrite(file.fileno(), b'y' * PAGE, 0)
    for stream in ('cache', 'pagefault'):
        rows = session.rows(stream)
        equal({row['filename'] for row in rows}, {ground.file}, 'names in %s' % stream)
    check('DIRTY' in {row['operation'] for row in session.rows('cache')}, 'no DIRTY')


@test
def block(world):
    """Requests that write back the pages of a file: those of the folder."""
    ground = Ground(world)
    with world.session('--block', '--path', ground.inside) as session:
        for path in (ground.file, ground.other):
            write(path, 16 * PAGE)
            file = os.open(path, os.O_RDWR)
            os.fsync(file)
            os.close(file)
    rows = [row for row in session.rows('block') if row['operation'] == 'WRITE']
    equal({row['inode'] for row in rows}, {str(os.stat(ground.file).st_ino)}, 'inodes')
    equal(sum(int(row['size']) for row in rows), 16 * PAGE, 'bytes')


@test
def io_uring(world):
    """Reads of both, as rows of vfs and of iouring."""
    ground = Ground(world)
    files = [os.open(path, os.O_RDONLY) for path in (ground.file, ground.other)]
    buffer = ctypes.create_string_buffer(64)
    with uring.Ring(8) as ring:
        if 'READ' not in ring.supported():
            raise Skip('io_uring has no READ here')
        with world.session('--vfs', '--iouring', '--pid', os.getpid(), '--path', ground.inside,
                           '--operation', 'READ') as session:
            for file in files:
                ring.one('READ', fd=file, addr=uring.address(buffer), length=5, off=0)
    for stream in ('vfs', 'iouring'):
        equal([row['filename'] for row in session.rows(stream)], [ground.file], 'names in %s' % stream)


@test
def refused(world):
    """What is not there, and streams without files."""
    ground = Ground(world)
    done = world.ctl.exits((1, 2), 'start', 'x', '--vfs', '--path', ground.inside + '/no')
    check('No such file' in done.stderr, 'the reason is not told', done.stderr)
    check('name the folder' in done.stderr, 'what to do is not told', done.stderr)
    done = world.ctl.exits((1, 2), 'start', 'x', '--all', '--path', ground.inside)
    for stream in ('net', 'conn', 'epoll', 'sockopt', 'drop'):
        check(stream in done.stderr, 'stream %s is not named' % stream, done.stderr)
