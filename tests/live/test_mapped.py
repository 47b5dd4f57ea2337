# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls on mappings: their rows name the file that is mapped at the address, however it got there."""
import ctypes
import mmap
import os

from lib.mapped import LIBC, PAGE, File
from lib.registry import Failure, Skip, equal, test

MAP_FIXED, MREMAP_MAYMOVE, MS_ASYNC, EXEC_FAILED = 0x10, 1, 1, 9
READ = mmap.PROT_READ
LIBC.mremap.restype = ctypes.c_void_p
LIBC.mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int)
LIBC.msync.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
LIBC.mprotect.argtypes = LIBC.msync.argtypes
OPERATIONS = ('--operation', 'MMAP,MUNMAP,MREMAP,MSYNC,MADVISE')


def new(world, pages=8):
    file = File(world.path('mapped'), pages, warm=True)
    world.undo.callback(os.close, file.fd)
    return file


def place(file, pages=8, flags=mmap.MAP_SHARED, at=None):
    address = LIBC.mmap(at, pages * PAGE, READ, flags | (MAP_FIXED if at else 0), file.fd if file else -1, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), 'mmap')
    return address


def during(world, action, *options):
    """Operation and file of each row at one of the addresses that `action` returns, but for its MMAPs."""
    with world.session('--vfs', '--pid', os.getpid(), *OPERATIONS, *options) as session:
        addresses = action()
    return [(row['operation'], row['filename'], row['inode'], row['device']) for row in session.rows()
            if row['operation'] != 'MMAP' and int(row['address'], 16) in addresses]


def of(operation, file):
    return (operation, file.path, str(file.inode), file.device) if file else (operation, '', '', '')


@test
def replaced(world):
    """A mapping that was replaced: MUNMAP names the one that is there now, anonymous or of another file."""
    first, second = new(world), new(world)

    def act():
        at = place(first)
        place(None, 8, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, at)
        LIBC.munmap(at, 8 * PAGE)
        other = place(first)
        place(second, 8, mmap.MAP_PRIVATE, other)
        LIBC.munmap(other, 8 * PAGE)
        return at, other
    equal(during(world, act), [of('MUNMAP', None), of('MUNMAP', second)], 'rows')


@test
def pieces(world):
    """A mapping from before the session that is split by mprotect, by munmap, and by another mapping in its middle."""
    file, other = new(world), new(world)
    at = place(file)

    def act():
        LIBC.mprotect(at + 2 * PAGE, PAGE, 0)
        LIBC.munmap(at + 2 * PAGE, PAGE)
        place(other, 1, mmap.MAP_SHARED, at + 4 * PAGE)
        LIBC.msync(at + 4 * PAGE, PAGE, MS_ASYNC)
        LIBC.munmap(at + 4 * PAGE, PAGE)
        LIBC.munmap(at + 5 * PAGE, PAGE)
        LIBC.munmap(at + 2 * PAGE, PAGE)  # gone already
        LIBC.munmap(at, 8 * PAGE)
        return range(at, at + 8 * PAGE)
    equal(during(world, act), [of('MUNMAP', file), of('MSYNC', other), of('MUNMAP', other), of('MUNMAP', file),
                               of('MUNMAP', None), of('MUNMAP', file)], 'rows')


@test
def moved(world):
    file = new(world)

    def act():
        at = place(file)
        to = LIBC.mremap(at, 8 * PAGE, 4096 * PAGE, MREMAP_MAYMOVE)
        LIBC.madvise(to + PAGE, PAGE, 0)
        LIBC.munmap(to, 4096 * PAGE)
        return at, to, to + PAGE
    equal(during(world, act), [of(name, file) for name in ('MREMAP', 'MADVISE', 'MUNMAP')], 'rows')


@test
def filters(world):
    """--path and --device judge the file that is mapped when the call is made."""
    file = new(world)

    def act():
        at = place(file)
        LIBC.munmap(at, PAGE)
        place(None, 7, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, at + PAGE)
        LIBC.munmap(at + PAGE, 7 * PAGE)
        return at, at + PAGE
    for options in (('--path', os.path.dirname(file.path)), ('--device', file.device)):
        equal(during(world, act, *options), [of('MUNMAP', file)], 'rows with %s' % options[0])


@test
def shared_memory(world):
    """Shared anonymous memory: the kernel's internal file behind it is not shown."""
    def act():
        at = place(None, 8, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        LIBC.munmap(at, 8 * PAGE)
        return (at,)
    equal(during(world, act), [of('MUNMAP', None)], 'rows')


@test
def after_fork_and_exec(world):
    """A child has its parent's mappings, and after execve none of them at the same address."""
    file = new(world)
    # Executes itself in the place where the parent's file was: maps anonymous memory there, and unmaps it.
    code = ('import ctypes, sys; c = ctypes.CDLL(None); at = int(sys.argv[1]); c.mmap.restype = ctypes.c_void_p;'
            'c.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t) + (ctypes.c_int,) * 3 + (ctypes.c_long,);'
            'c.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t);'
            'got = c.mmap(at, 8 * 4096, 1, 0x22 | 0x100000, -1, 0);'
            'sys.exit(c.munmap(at, 8 * 4096) if got == at else %d)' % EXEC_FAILED)
    with world.session('--vfs', '--operation', 'MUNMAP', '--pid', os.getpid(), '--tree') as session:
        at = place(file)
        child = os.fork()
        if not child:
            LIBC.munmap(at, PAGE)
            place(file, 8, mmap.MAP_SHARED, at)
            os.execv('/usr/bin/python3', ['python3', '-c', code, str(at)])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        LIBC.munmap(at, 8 * PAGE)
    if status == EXEC_FAILED:
        raise Skip('the address is in use after execve')
    if status:
        raise Failure('the child ended with %d' % status)
    rows = [(row['pid'] == str(child), row['filename']) for row in session.rows() if int(row['address'], 16) == at]
    equal(rows, [(True, file.path), (True, ''), (False, file.path)], 'rows')


@test
def overlay(world):
    """A file mapped through overlayfs is named as it was opened, not as in the layer below."""
    base = world.make('overlay')
    lower, upper, work, merged = (os.path.join(base, name) for name in ('lower', 'upper', 'work', 'merged'))
    for folder in (lower, upper, work, merged):
        os.mkdir(folder)
    done = world.command('mount', '-t', 'overlay', 'none', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' %
                         (lower, upper, work), merged, check=False)
    if done.returncode:
        raise Skip('no overlayfs: %s' % done.stderr.strip())
    world.later('umount', '-l', merged)
    file = File(os.path.join(merged, 'file'), 8, warm=True)
    try:
        with world.session('--vfs', '--pid', os.getpid(), '--operation', 'MMAP,MUNMAP') as session:
            at = place(file)
            LIBC.munmap(at, 8 * PAGE)
    finally:
        os.close(file.fd)
    rows = [row for row in session.rows() if row['address'] and int(row['address'], 16) == at]
    equal([row['operation'] for row in rows], ['MMAP', 'MUNMAP'], 'rows')
    equal({(row['filename'], row['inode'], row['device']) for row in rows},
          {(file.path, rows[0]['inode'], rows[0]['device'])}, 'file')
