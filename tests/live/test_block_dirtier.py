# SPDX-License-Identifier: GPL-2.0-or-later
"""Block requests that write the page cache back are of whoever made the pages dirty."""
import contextlib
import json
import os
import signal

from lib import rows
from lib.registry import Skip, check, equal, test
from lib.world import device_number

PAGE = 4096
FORMATS = {'ext4': (64, 'mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0'),
           'xfs': (320, 'mkfs.xfs', '-q', '-f'), 'btrfs': (320, 'mkfs.btrfs', '-q', '-f')}


class Ground:
    """A file system on a loop device of its own."""

    def __init__(self, world, kind='ext4', options='noatime', device=None):
        size, *make = FORMATS[kind]
        world.need(make[0])
        self.world, self.device = world, device or world.loop(size << 20)
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


def charged(found, child, attribution, what):
    """All rows are the process's."""
    equal({(row['pid'], row['command'], row['attribution'], row['dirtiers']) for row in found},
          {(str(child.pid), 'iotr-child', attribution, '1')}, what)


@test
def written_back(world):
    """The process that dirtied pages has ended when sync writes them."""
    ground = Ground(world)
    path, output = ground.path('wb.dat'), world.path('trace')
    world.ctl.exits(0, 'record', '--block', '--vfs', '--output', output, '--', 'sh', '-c',
                    'dd if=/dev/zero of=%s bs=1M count=8; sync -f %s' % (path, path))
    found = [row for row in rows.read(output, 'block') if row['operation'] == 'WRITE' and
             row['inode'] == str(os.stat(path).st_ino) and row['device'] == ground.number]
    equal(size(found), 8 << 20, 'bytes of rows of the file')
    equal({(row['command'], row['filename'], row['attribution']) for row in found}, {('dd', path, 'dirtier')}, 'rows')
    equal(len({row['pid'] for row in found}), 1, 'processes')


@test
def settled(world):
    """record waits for what its command left dirty."""
    ground = Ground(world)
    path, output = ground.path('left'), world.path('trace')
    world.ctl.exits(0, 'record', '--block', '--settle', '--output', output, '--', 'dd', 'if=/dev/zero', 'of=' + path,
                    'bs=1M', 'count=4')
    found = [row for row in rows.read(output, 'block') if row['operation'] == 'WRITE' and
             row['inode'] == str(os.stat(path).st_ino) and row['device'] == ground.number]
    equal(size(found), 4 << 20, 'bytes of rows of the file')
    equal({(row['command'], row['filename'], row['attribution']) for row in found}, {('dd', path, 'dirtier')},
          'rows, whose file no other stream names')
    for wrong in ('0', '-1', 'soon', '2d'):
        world.ctl.exits(2, 'record', '--block', '--settle=' + wrong, '--', 'true')


@test
def by_its_own_fsync(world):
    ground = Ground(world)
    path = ground.path('own')

    def act():
        write(path, 64)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    with world.session('--block') as session:
        child = Child(world, act)
    found = ground.writes(session, path)
    equal(size(found), 64 * PAGE, 'bytes')
    charged(found, child, 'submitter', 'rows')


@test
def by_another_fsync(world):
    ground = Ground(world)
    path = ground.path('other')
    with world.session('--block') as session:
        child = Child(world, lambda: write(path, 64))
        world.command('sync', path)
    found = ground.writes(session, path)
    equal(size(found), 64 * PAGE, 'bytes')
    charged(found, child, 'dirtier', 'rows')


@test
def filters(world):
    """By process, command and path; what others dirtied at the same time is not there."""
    ground = Ground(world)
    mine, other = ground.path('mine'), ground.path('other')
    write(mine, 0)
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(world.session('--block', *options)) for options in (
            ('--command', 'iotr-child'), ('--path', mine), ('--command', 'iotr-else'))]
        child = Child(world, lambda: write(mine, 64))
        sessions.append(stack.enter_context(world.session('--block', '--pid', str(child.pid))))
        Child(world, lambda: write(other, 32), 'iotr-else')
        world.command('sync', mine)  # one by one, so that no request has pages of both
        world.command('sync', other)
    for session in (sessions[0], sessions[3]):
        charged(ground.writes(session, mine), child, 'dirtier', 'rows')
        equal(size(ground.writes(session, mine)), 64 * PAGE, 'bytes')
        equal(ground.writes(session, other), [], 'rows of another process')
    equal(size(ground.writes(sessions[1], mine)), 64 * PAGE, 'bytes by path')
    equal(size(ground.writes(sessions[2], other)), 32 * PAGE, 'bytes of the other command')
    equal(ground.writes(sessions[2], mine), [], 'rows of the other command')


@test
def dirty_before(world):
    """What was dirty before anybody noted who made it so is nobody's, and yet a row."""
    ground = Ground(world)
    path = ground.path('before')
    ctl = world.own_daemon(fresh=True)[1]
    write(path, 16)
    with world.session('--block', ctl=ctl) as session:
        ground.sync()
    found = ground.writes(session, path)
    equal(size(found), 16 * PAGE, 'bytes')
    equal({(row['attribution'], row['dirtiers']) for row in found}, {('unknown', '')}, 'rows')


@test
def ranges(world):
    """Two processes write different parts of one file."""
    ground = Ground(world)
    path = ground.path('ranges')
    write(path, 1024)
    ground.sync()
    with world.session('--block') as session:
        first = Child(world, lambda: write(path, 256))
        second = Child(world, lambda: write(path, 128, first=768), 'iotr-second')
        ground.sync()
    found = ground.writes(session, path)
    for child, pages in ((first, 256), (second, 128)):
        equal(size(row for row in found if row['pid'] == str(child.pid)), pages * PAGE, 'bytes of process %d' % child.pid)
    equal({row['attribution'] for row in found}, {'dirtier'}, 'attributions')


@test
def shared(world):
    """Every fourth page is another's: each request is of the one with most bytes, and says that there are two."""
    ground = Ground(world)
    path = ground.path('shared')
    write(path, 64)
    ground.sync()
    with world.session('--block') as session:
        most = Child(world, lambda: write(path, [page for page in range(64) if page % 4]))
        Child(world, lambda: write(path, range(0, 64, 4)), 'iotr-less')
        ground.sync()
    found = ground.writes(session, path)
    equal(size(found), 64 * PAGE, 'bytes')
    equal({(row['pid'], row['attribution'], row['dirtiers']) for row in found if int(row['size']) > 8 * PAGE},
          {(str(most.pid), 'shared', '2')}, 'rows')


def charge(world, kind):
    """As many bytes as /proc/PID/io says, for processes that write at the same time; truncated ones are cancelled."""
    ground = Ground(world, kind)
    cuts = 0 if kind == 'btrfs' else 100  # btrfs of 7.1 cuts large folios, which the kernel does not count as cancelled

    def act(path, pages, cut):
        write(path, pages)
        if cut:
            os.truncate(path, cut * PAGE)
    with world.session('--block') as session:
        children = [Child(world, lambda path=ground.path(str(number)), number=number:
                          act(path, 200 + 100 * number, cuts * number)) for number in range(4)]
        for number in range(4):  # one by one, so that no request has pages of two files
            world.command('sync', ground.path(str(number)))
    found = ground.writes(session)
    for number, child in enumerate(children):
        rows_of = [row for row in found if row['pid'] == str(child.pid) and row['attribution'] in ('dirtier', 'submitter')]
        wanted = child.written()
        check(abs(size(rows_of) - wanted) <= wanted * 0.02, '%s, process %d: rows %d bytes, /proc/PID/io %d' %
              (kind, number, size(rows_of), wanted))


@test
def charge_ext4(world):
    charge(world, 'ext4')


@test
def charge_xfs(world):
    charge(world, 'xfs')


@test
def charge_btrfs(world):
    charge(world, 'btrfs')


def own_writes(world, kind, wanted):
    """What a file system writes for itself is of none of its files, and called so."""
    ground = Ground(world, kind)
    names = [ground.path('file-%d' % number) for number in range(50)]
    with world.session('--block') as session:
        for name in names:
            write(name, 1)
        ground.sync()
        world.command('mount', '-o', 'remount,ro', ground.folder)
    inodes = {str(os.stat(name).st_ino) for name in names}
    rest = [row for row in ground.writes(session) if row['inode'] not in inodes and row['size'] != '0']
    found = {row['attribution'] for row in rest}
    check(wanted <= found <= {'journal', 'metadata'}, 'attributions of %d rows' % len(rest), found,
          *[row for row in rest if row['attribution'] not in wanted][:3])


@test
def own_writes_ext4(world):
    own_writes(world, 'ext4', {'journal', 'metadata'})


@test
def own_writes_xfs(world):
    own_writes(world, 'xfs', {'journal', 'metadata'})


@test
def own_writes_btrfs(world):
    own_writes(world, 'btrfs', {'metadata'})
