# SPDX-License-Identifier: GPL-2.0-or-later
"""Names are the present ones, also after folders and mounts were moved, whether a hook saw the move or not."""
import contextlib
import ctypes
import os
import signal
import subprocess
import sys

from lib import uring
from lib.mapped import PAGE
from lib.registry import Skip, check, equal, test
from lib.rows import manifest

SYS_RENAMEAT2, RENAME_EXCHANGE = 316, 2
MOVED = 0x2000  # MS_MOVE
USES = 3  # of a file between changes: it is remembered from the second one on


class Ground:
    """An open file, two levels below a folder that is going to be moved."""

    def __init__(self, world, base=None):
        self.base = base or world.make('names')
        self.old, self.new = os.path.join(self.base, 'old'), os.path.join(self.base, 'new')
        os.makedirs(os.path.join(self.old, 'sub'))
        self.before, self.after = (os.path.join(path, 'sub', 'file') for path in (self.old, self.new))
        with open(self.before, 'wb') as file:
            file.write(b'x' * 4 * PAGE)
            file.flush()
            os.fsync(file.fileno())
        self.fd = os.open(self.before, os.O_RDONLY)
        world.undo.callback(os.close, self.fd)

    def read(self):
        read(self.fd)

    def move(self):
        os.rename(self.old, self.new)


def read(fd):
    for _ in range(USES):
        os.pread(fd, 10, 0)


def reads(world, pid=None):
    return world.session('--vfs', '--pid', pid or os.getpid(), '--operation', 'READ')


def names(session, stream='vfs', wanted=lambda row: True):
    """What the rows name, each name once for as long as it stays."""
    told = []
    for row in sorted(session.rows(stream), key=lambda row: int(row['mono_ns'])):
        if wanted(row) and (not told or told[-1] != row['filename']):
            told.append(row['filename'])
    return told


def moves(world, ground, move):
    """Reads before and after, in one session."""
    with reads(world) as session:
        ground.read()
        move()
        ground.read()
    equal(names(session), [ground.before, ground.after], 'names before and after')


@test
def between_sessions(world):
    """Renamed while no session runs."""
    ground = Ground(world)
    with reads(world) as session:
        ground.read()
    equal(names(session), [ground.before], 'names before')
    ground.move()
    with reads(world) as session:
        ground.read()
    equal(names(session), [ground.after], 'names after')


@test
def new_processes(world):
    """Renamed between two runs of cat, each of which opens the file."""
    ground = Ground(world)
    for path, move in ((ground.before, ground.move), (ground.after, None)):
        trace = world.path('trace')
        world.ctl.exits(0, 'record', '--vfs', '--path', os.path.dirname(path), '--output', trace, '--', 'cat', path)
        with_file = world.session(output=trace)
        told = {row['filename'] for row in with_file.rows() if row['filename'].endswith('/sub/file')}
        equal(told, {path}, 'names')
        if move:
            move()


@test
def only_cache(world):
    """Renamed while nothing but the cache is recorded."""
    ground = Ground(world)
    with world.session('--cache', '--pid', os.getpid()) as session:
        os.posix_fadvise(ground.fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(ground.fd, PAGE, 0)
        ground.move()
        os.posix_fadvise(ground.fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(ground.fd, PAGE, 0)
    inode = str(os.fstat(ground.fd).st_ino)
    equal(names(session, 'cache', lambda row: row['inode'] == inode), [ground.before, ground.after], 'names')


@test
def only_pagefaults(world):
    """Renamed while nothing but page faults is recorded."""
    ground = Ground(world)
    program = ('import mmap, os, sys; file = os.open(sys.argv[1], os.O_RDONLY)\n'
               'for line in sys.stdin:\n'
               '    memory = mmap.mmap(file, 4096, mmap.MAP_SHARED, mmap.PROT_READ); memory[0]; memory.close()\n'
               '    print(flush=True)\n')
    with subprocess.Popen([sys.executable, '-c', program, ground.before], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        def fault():
            child.stdin.write('\n')
            child.stdin.flush()
            child.stdout.readline()
        with world.session('--pagefault', '--pid', child.pid) as session:
            fault()
            ground.move()
            fault()
        child.stdin.close()
    inode = str(os.fstat(ground.fd).st_ino)
    equal(names(session, 'pagefault', lambda row: row['inode'] == inode), [ground.before, ground.after], 'names')


@test
def by_uring(world):
    """IORING_OP_RENAMEAT, and RENAME is not even recorded."""
    ground = Ground(world)
    with uring.need() as ring:
        if 'RENAMEAT' not in ring.supported():
            raise Skip('the kernel has no IORING_OP_RENAMEAT')
        old, new = uring.text(ground.old), uring.text(ground.new)
        # AT_FDCWD of the second path stands in `len`
        moves(world, ground, lambda: ring.do('RENAMEAT', uring.AT_FDCWD, uring.address(old),
                                             uring.AT_FDCWD & 0xffffffff, off=uring.address(new)))


@test
def exchange(world):
    """Two folders take each other's place, and both files' names follow."""
    ground = Ground(world)
    other = Ground(world, os.path.join(ground.base, 'other'))

    def swap():
        if LIBC.syscall(SYS_RENAMEAT2, uring.AT_FDCWD, os.fsencode(ground.old), uring.AT_FDCWD,
                        os.fsencode(other.old), RENAME_EXCHANGE):
            raise Skip('the file system does not exchange: %s' % os.strerror(ctypes.get_errno()))

    with reads(world) as session:
        for step in (swap, swap, lambda: None):
            ground.read()
            other.read()
            step()
    told = [row['filename'] for row in session.rows()]
    paths = [ground.before, other.before, other.before, ground.before, ground.before, other.before]
    equal(told, [path for path in paths for _ in range(USES)], 'names')


@test
def removed(world):
    """A file that is removed while it is open, its other link, and a file that is made anew in its place."""
    ground = Ground(world)
    link = ground.before + '-link'
    os.link(ground.before, link)
    with contextlib.ExitStack() as opened, reads(world) as session:
        def begin(path):
            fd = os.open(path, os.O_RDWR | os.O_CREAT)
            opened.callback(os.close, fd)
            return fd

        other = begin(link)
        read(ground.fd), read(other)
        os.unlink(ground.before)
        read(ground.fd), read(other)
        anew = begin(ground.before)
        read(anew), read(ground.fd)
        os.unlink(ground.before)
        read(anew)
    gone = ground.before + ' (deleted)'
    equal([row['filename'] for row in session.rows()],
          [path for path in (ground.before, link, gone, link, ground.before, gone, gone) for _ in range(USES)], 'names')


@test
def replaced(world):
    """A descriptor that stands for one file after another, by dup2 and by close and open."""
    ground = Ground(world)
    other = Ground(world, os.path.join(ground.base, 'other'))
    fd = os.open(ground.before, os.O_RDONLY)
    with reads(world) as session:
        for _ in range(3):
            read(fd)
            os.dup2(other.fd, fd)
            read(fd)
            os.close(fd)
            equal(os.open(ground.before, os.O_RDONLY), fd, 'descriptor')
    os.close(fd)
    equal([row['filename'] for row in session.rows()],
          [path for path in 3 * [ground.before, other.before] for _ in range(USES)], 'names')


LIBC = ctypes.CDLL(None, use_errno=True)

# Runs lines of standard input in a mount namespace of its own.
ELSEWHERE = '''
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(libc, name)(*args):
        raise OSError(ctypes.get_errno(), name)
def mount(source, target, type=None, flags=0):
    call("mount", source.encode(), target.encode(), type, flags, None)
def umount(target):
    call("umount2", target.encode(), 0)
call("unshare", 0x20000)
mount("none", "/", None, 1 << 18 | 0x4000)
for line in sys.stdin:
    try:
        exec(line)
        print("ok", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
'''


class Elsewhere:
    def __init__(self, world):
        self.child = subprocess.Popen([sys.executable, '-u', '-c', ELSEWHERE], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        world.undo.callback(self.close)
        self.pid = self.child.pid
        self.do('pass')

    def close(self):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()

    def do(self, *lines):
        for line in lines:
            self.child.stdin.write(line + '\n')
            self.child.stdin.flush()
            equal(self.child.stdout.readline().strip(), 'ok', line)


@test
def mount_moves(world):
    """mount --move of what a folder with the file is mounted on."""
    base = world.make('mounts')
    one, two = (os.path.join(base, name) for name in ('one', 'two'))
    elsewhere = Elsewhere(world)
    elsewhere.do('os.mkdir(%r), os.mkdir(%r)' % (one, two), 'mount("none", %r, b"tmpfs")' % one,
                 'os.makedirs(%r)' % os.path.join(one, 'sub'),
                 'fd = os.open(%r, os.O_RDWR | os.O_CREAT)' % os.path.join(one, 'sub', 'file'))
    with reads(world, elsewhere.pid) as session:
        elsewhere.do('os.pread(fd, 1, 0)', 'mount(%r, %r, None, %d)' % (one, two, MOVED), 'os.pread(fd, 1, 0)')
    equal(names(session), [os.path.join(path, 'sub', 'file') for path in (one, two)], 'names')


@test
def pivot_root(world):
    """pivot_root as container runtimes do it: paths then begin at the new root."""
    root = world.make('newroot')
    elsewhere = Elsewhere(world)
    elsewhere.do('mount("none", %r, b"tmpfs")' % root, 'os.makedirs(%r), os.mkdir(%r)' % (
        os.path.join(root, 'etc'), os.path.join(root, 'pivot')),
        'fd = os.open(%r, os.O_RDWR | os.O_CREAT)' % os.path.join(root, 'etc', 'conf'))
    with reads(world, elsewhere.pid) as session:
        elsewhere.do('os.pread(fd, 1, 0)', 'os.chdir(%r)' % root, 'call("syscall", 155, b".", b"pivot")',
                     'os.chdir("/")', 'os.pread(fd, 1, 0)',
                     'os.pread(os.open("/etc/conf", os.O_RDONLY), 1, 0)')
    equal(names(session), [os.path.join(root, 'etc', 'conf'), '/etc/conf'], 'names')


@test
def bind_mounts(world):
    """A bind mount that is taken away, and put elsewhere, again and again."""
    base = world.make('binds')
    source = os.path.join(base, 'source')
    os.makedirs(os.path.join(source, 'sub'))
    with open(os.path.join(source, 'sub', 'file'), 'wb') as file:
        file.write(b'x')
    places = [os.path.join(base, 'place%d' % number) for number in range(30)]
    elsewhere = Elsewhere(world)
    with reads(world, elsewhere.pid) as session:
        for place in places:
            elsewhere.do('os.mkdir(%r)' % place, 'mount(%r, %r, None, 0x1000)' % (source, place),
                         'fd = os.open(%r, os.O_RDONLY); os.pread(fd, 1, 0); os.close(fd)' %
                         os.path.join(place, 'sub', 'file'), 'umount(%r)' % place)
    equal(names(session), [os.path.join(place, 'sub', 'file') for place in places], 'names')


@test
def overlay(world):
    """A folder of an overlay."""
    base = world.make('overlay')
    for name in ('lower', 'upper', 'work', 'merged'):
        os.mkdir(os.path.join(base, name))
    merged = os.path.join(base, 'merged')
    done = world.command('mount', '-t', 'overlay', 'none', merged, '-o', 'lowerdir=%s/lower,upperdir=%s/upper,'
                         'workdir=%s/work' % (base, base, base), check=False)
    if done.returncode:
        raise Skip('no overlay here: %s' % done.stderr.strip())
    world.later('umount', '-l', merged)
    ground = Ground(world, merged)
    with reads(world) as session:
        ground.read()
    ground.move()
    with reads(world) as again:
        ground.read()
    equal(names(session) + names(again), [ground.before, ground.after], 'names')


@test
def same_address(world):
    """Folders that are removed and made again, many of which reuse the memory of an earlier one in the kernel."""
    base = world.make('anew')
    expected = []
    with reads(world) as session:
        for number in range(200):
            folder = os.path.join(base, 'folder-%d' % number)
            path = os.path.join(folder, 'sub', 'file')
            os.makedirs(os.path.dirname(path))
            fd = os.open(path, os.O_RDWR | os.O_CREAT)
            for _ in range(USES):
                os.pread(fd, 1, 0)
            os.close(fd)
            expected.append(path)
            os.unlink(path)
            os.rmdir(os.path.dirname(path))
            os.rmdir(folder)
    equal(names(session), expected, 'names')


@test
def told_once(world):
    """While a file is renamed over and over, the names of other files are sent once only."""
    ground = Ground(world)
    mine = os.path.join(ground.base, 'mine')
    with open(mine, 'wb'):
        pass
    with reads(world) as session:
        for _ in range(1000):
            os.rename(mine, mine + '-')
            os.rename(mine + '-', mine)
            ground.read()
    equal(names(session), [ground.before], 'names')
    check(len(session.rows()) == 1000 * USES, 'rows', len(session.rows()))


FILES = 10000

BURST = '''
import os, sys
folder = sys.argv[1]
os.mkdir(folder)
os.chdir(folder)
for number in range(%d):
    os.close(os.open("file-%%d" %% number, os.O_CREAT | os.O_WRONLY))
for number in range(%d):
    os.rename("file-%%d" %% number, "renamed-%%d" %% number)
for number in range(%d):
    os.unlink("renamed-%%d" %% number)
''' % (FILES, FILES, FILES)


@test(host_only=True)
def bursts(world):
    """Two processes make, rename and remove files while the daemon has no CPU: each row has its name."""
    folders = [world.path('burst') for _ in range(2)]
    with world.session('--vfs', '--operation', 'OPEN,CLOSE,RENAME,UNLINK', '--path', world.folder,
                       lossless=False) as session:
        os.kill(world.daemon.process.pid, signal.SIGSTOP)
        try:
            for child in [subprocess.Popen([sys.executable, '-c', BURST, folder]) for folder in folders]:
                equal(child.wait(), 0, 'exit code')
        finally:
            os.kill(world.daemon.process.pid, signal.SIGCONT)
    lost = session.accounts['vfs']['lost']
    equal(lost, dict.fromkeys(lost, 0), 'lost')
    told = {name: [] for name in ('OPEN', 'CLOSE', 'RENAME', 'UNLINK')}
    for row in session.rows():
        if '/burst-' in row['filename'] or not row['filename']:
            told[row['operation']].append(row['filename'])
    old, new = ([os.path.join(folder, '%s-%d' % (name, number)) for folder in folders for number in range(FILES)]
                for name in ('file', 'renamed'))
    expected = {'OPEN': old, 'CLOSE': old, 'UNLINK': new, 'RENAME': ['%s -> %s' % pair for pair in zip(old, new)]}
    for operation, paths in expected.items():
        missing = set(paths) - set(told[operation])
        check(not missing, '%d of %d names of %s are missing' % (len(missing), len(paths), operation),
              *sorted(missing)[:3])
        equal(len(told[operation]), len(paths), 'rows of %s' % operation)


@test(host_only=True)
def counted(world):
    """When names are lost, their rows are there, and status, manifest, log and verify tell how many."""
    base = world.make('counted')
    one, two = (os.path.join(base, letter * 200) for letter in 'ab')
    with open(one, 'wb'):
        pass
    session = world.session('--vfs', '--operation', 'RENAME', '--pid', os.getpid(), lossless=False)
    with session:
        os.kill(world.daemon.process.pid, signal.SIGSTOP)
        try:
            for _ in range(15000):
                os.rename(one, two)
                os.rename(two, one)
        finally:
            os.kill(world.daemon.process.pid, signal.SIGCONT)
    whole = {'%s -> %s' % (one, two), '%s -> %s' % (two, one)}
    names_of = [row['filename'] for row in session.rows()]
    lost = session.accounts['vfs']['lost']
    equal(len(names_of), 30000, 'rows')
    without = sum(name not in whole for name in names_of)
    check(without > 1000, 'rows without their names: %d, which is not enough to say anything' % without)
    equal(lost, {**dict.fromkeys(lost, 0), 'names': without}, 'lost')
    equal(manifest(session.output)['streams']['vfs']['lost'], lost, 'lost in the manifest')
    check(any('the name of a file, or an argument, was lost in' in line for line in world.daemon.tail(20)), 'the log does not say so',
          *world.daemon.tail(5))
    world.ctl.exits(0, 'verify', session.output)
    done = world.ctl.exits(1, 'verify', '--strict', session.output)
    check('the name of a file, or an argument, was lost in %d rows' % without in done.stdout + done.stderr, 'verify does not say so',
          done.stdout + done.stderr)
