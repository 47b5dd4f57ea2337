# SPDX-License-Identifier: GPL-2.0-or-later
"""Real files that are reached through pseudo ones: the file decides, not the way, with and without a filter by path."""
import ctypes
import os
import subprocess

from lib.registry import check, equal, test

LIBC = ctypes.CDLL(None, use_errno=True)
AT_SYMLINK_FOLLOW = 0x400
O_TMPFILE = 0o20200000
UNLINK, RENAME, LINK, CHMOD = 87, 82, 265, 90


def system(number, *arguments):
    result = LIBC.syscall(number, *[one.encode() if isinstance(one, str) else one for one in arguments])
    check(result >= 0, 'call %d of %r: %s' % (number, arguments, os.strerror(ctypes.get_errno())))


class Ways:
    """What is done to files of a folder, each through another way; `expected` has the operations, and what they are named."""

    def __init__(self, folder, other):
        self.folder, self.other, self.expected = folder, other, []
        for name in 'abcdefgh':
            with open(os.path.join(folder, name), 'w', encoding='ascii'):
                pass

    def does(self, operation, name, call, *arguments, then=None, **options):
        call(*arguments, **options)
        names = [os.path.join(self.folder, one) for one in (name, then) if one]
        self.expected.append((operation, ' -> '.join(names)))

    def links(self):
        fd = os.open(self.folder, O_TMPFILE | os.O_RDWR)
        name = os.readlink('/proc/self/fd/%d' % fd)
        for number, way in enumerate(('/proc/self/fd/%d', '/dev/fd/%d', '/proc/thread-self/fd/%d', '/proc//self//fd/%d',
                                      '/proc/%d/fd/%%d' % os.getpid(), '/proc/self/task/%d/fd/%%d' % os.getpid())):
            system(LINK, -100, way % fd, -100, os.path.join(self.folder, 'made-%d' % number), AT_SYMLINK_FOLLOW)
            if not number:  # it has that name from then on
                self.expected.append(('LINK', '%s -> %s/made-0' % (name, self.folder)))
            else:
                self.expected.append(('LINK', None))
        os.close(fd)

    def by_folders(self):
        here = os.getcwd()
        os.chdir(self.folder)
        self.does('UNLINK', 'a', os.unlink, '/proc/self/cwd/a')
        self.does('RENAME', 'b', os.rename, '/proc/self/cwd/b', '/proc/%d/cwd/c' % os.getpid(), then='c')
        self.does('MKDIR', 'made', os.mkdir, '/proc/thread-self/cwd/made')
        os.chdir(here)
        self.does('UNLINK', 'd', os.unlink, '/proc/self/root' + self.folder + '/d')
        self.does('UNLINK', 'e', os.unlink, '/proc/%d/cwd/e' % self.other)
        self.does('RMDIR', 'made', os.rmdir, '/proc/%d/root%s/made' % (self.other, self.folder))

    def by_descriptors(self):
        folder, fd = os.open(self.folder, os.O_RDONLY), os.open(os.path.join(self.folder, 'f'), os.O_RDWR)
        self.does('UNLINK', 'g', os.unlink, '/dev/fd/%d/g' % folder)
        self.does('SETATTR', 'f', system, CHMOD, '/proc/self/fd/%d' % fd, 0o600)
        self.does('TRUNCATE', 'f', os.truncate, '/proc/%d/fd/%d' % (os.getpid(), fd), 0)
        proc, fds = os.open('/proc/self', os.O_RDONLY), os.open('/proc/self/fd', os.O_RDONLY)
        self.does('SETATTR', 'f', os.chmod, str(fd), 0o644, dir_fd=fds)
        self.does('UNLINK', 'h', os.unlink, 'fd/%d/h' % folder, dir_fd=proc)
        for one in (folder, fd, proc, fds):
            os.close(one)

    def pseudo(self):
        """None of these reaches a real file: no row."""
        fd = os.open(os.path.join(self.folder, 'f'), os.O_RDWR)
        for way in ('/proc/self/fd/%d' % fd, '/proc/self/cwd'):
            try:
                os.unlink(way)
            except OSError:
                pass
        os.utime('/dev/fd/%d' % os.pipe()[0])
        os.access('/proc/self/stat', os.R_OK)
        os.close(fd)

    def all(self):
        self.links()
        self.by_folders()
        self.by_descriptors()
        self.pseudo()


OPERATIONS = ('LINK', 'UNLINK', 'RENAME', 'MKDIR', 'RMDIR', 'SETATTR', 'TRUNCATE')


def judged(world, *options):
    folder = world.make('reached')
    with subprocess.Popen(['sleep', '60'], cwd=folder) as other:
        try:
            ways = Ways(folder, other.pid)
            filters = [one.replace('FOLDER', folder) for one in options]
            with world.session('--vfs', '--pid', os.getpid(), '--operation', ','.join(OPERATIONS), *filters) as session:
                ways.all()
        finally:
            other.kill()
    rows = session.rows()
    equal([row['operation'] for row in rows], [operation for operation, _ in ways.expected], 'operations')
    for row, (_, name) in zip(rows, ways.expected):
        check(name is None or row['filename'] == name, 'named %s, not %s' % (row['filename'], name))


@test
def by_links_of_proc(world):
    """linkat of an O_TMPFILE, and what else names a file through /proc/PID/cwd, root and fd, and through /dev/fd."""
    judged(world)


@test
def within_a_folder(world):
    """The same with a filter on the folder."""
    judged(world, '--path', 'FOLDER')
