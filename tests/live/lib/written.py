# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems on devices of their own, and processes that write to them."""
import json
import os
import signal

from lib.registry import Skip, equal
from lib.world import device_number

PAGE = 4096
FORMATS = {'ext4': (64, 'mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0'),
           'xfs': (320, 'mkfs.xfs', '-q', '-f'), 'btrfs': (320, 'mkfs.btrfs', '-q', '-f')}
LOGS = {}  # by kind of file system: whether the kernel's types tell its logs


def need_logs(world, kind):
    """
    The kernel's types have to tell those of the file system, once that is there. That is asked for once, as the daemon tries
    all of its hooks before it answers.
    """
    if kind == 'ext4':
        return
    if kind not in LOGS:
        LOGS[kind], = [one for one in world.ctl.ask('Doctor')['checks'] if one['check'] == 'logs of file systems']
    if not LOGS[kind]['ok']:
        raise Skip(LOGS[kind]['detail'])


def since(*wanted):
    """For what earlier kernels do not tell."""
    release = tuple(int(part) for part in os.uname().release.split('-')[0].split('.')[:2])
    if release < wanted:
        raise Skip('kernels before %d.%d do not tell' % wanted)


class Ground:
    """A file system on a loop device of its own."""

    def __init__(self, world, kind='ext4', options='noatime', device=None, size=None):
        least, *make = FORMATS[kind]
        world.need(make[0])
        self.world, self.device = world, device or world.loop((size or least) << 20)
        self.folder = world.make(kind)
        world.command(*make, self.device)
        done = world.command('mount', '-t', kind, '-o', options, self.device, self.folder, check=False)
        if done.returncode:
            raise Skip('no %s: %s' % (kind, done.stderr.strip()))
        world.later('umount', '-l', self.folder)
        self.number = device_number(self.device)
        self.sync()

    def path(self, name):
        return os.path.join(self.folder, name)

    def sync(self):
        self.world.command('sync', '-f', self.folder)

    def writes(self, session, path=None):
        """Rows of what is written to the device, of one file."""
        inode = path and str(os.stat(path).st_ino)
        return [row for row in session.rows('block') if row['operation'] == 'WRITE' and
                row['device'] == self.number and (not path or row['inode'] == inode)]


def size(found):
    return sum(int(row['size']) for row in found)


class Child:
    """A process that does something and stays until the test ends, so that /proc has it."""

    def __init__(self, world, action, name='iotr-child'):
        hear, done = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self.run(action, name, done)
        world.undo.callback(self.end)
        os.close(done)
        answer = os.read(hear, PAGE).decode()
        os.close(hear)
        if not answer.startswith('{'):
            raise Skip(answer or 'a process ended too soon')
        self.io = json.loads(answer)

    @staticmethod
    def run(action, name, done):
        try:
            with open('/proc/self/comm', 'w', encoding='ascii') as file:
                file.write(name)
            action()
            with open('/proc/self/io', encoding='ascii') as file:
                io = dict(line.split(': ') for line in file.read().splitlines())
            os.write(done, json.dumps(io).encode())
            signal.pause()
        except BaseException as error:  # pylint: disable=broad-exception-caught
            os.write(done, str(error).encode())
        os._exit(0)

    def written(self):
        """What the kernel charges it with, in bytes."""
        return int(self.io['write_bytes']) - int(self.io['cancelled_write_bytes'])

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def write(path, pages, first=0, byte=b'd'):
    """Writes pages of a file; `pages` is how many, or which ones."""
    numbers = range(first, first + pages) if isinstance(pages, int) else pages
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    for number in numbers:
        os.pwrite(descriptor, byte * PAGE, number * PAGE)
    os.close(descriptor)


def charged(found, child, attribution, pages=None, what='rows'):
    """All rows are the process's, and of so many pages."""
    if pages is not None:
        equal(size(found), pages * PAGE, what + ': bytes')
    equal({(row['pid'], row['command'], row['attribution'], row['dirtiers']) for row in found},
          {(str(child.pid), 'iotr-child', attribution, '1')}, what)
