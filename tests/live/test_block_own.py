# SPDX-License-Identifier: GPL-2.0-or-later
"""What file systems write for themselves, their logs and metadata, is of the processes that changed something."""
import os

from lib.registry import check, equal, test
from lib.written import PAGE, Child, Ground, need_logs, since, size, write

MANY = 100  # changes of one process


def own_rows(session, ground, inodes=()):
    """Of none of the files."""
    return [row for row in ground.writes(session) if row['size'] != '0' and row['inode'] not in inodes]


def called_so(world, kind, wanted):
    ground = Ground(world, kind)
    names = [ground.path('file-%d' % number) for number in range(50)]
    with world.session('--block') as session:
        for name in names:
            write(name, 1)
        ground.sync()
        world.command('mount', '-o', 'remount,ro', ground.folder)
    rest = own_rows(session, ground, {str(os.stat(name).st_ino) for name in names})
    found = {row['attribution'] for row in rest}
    check(wanted <= found <= {'journal', 'metadata'}, 'attributions of %d rows' % len(rest), found,
          *[row for row in rest if row['attribution'] not in wanted][:3])
    equal({(row['inode'], row['filename']) for row in rest}, {('', '')}, 'files of what is of none')


@test
def called_so_ext4(world):
    called_so(world, 'ext4', {'journal', 'metadata'})


@test
def called_so_xfs(world):
    called_so(world, 'xfs', {'journal', 'metadata'})


@test
def called_so_btrfs(world):
    called_so(world, 'btrfs', {'metadata'})


def of_most(world, kind, kinds):
    """
    It is of the process that changed most, though another one asks for it to be written; `kinds`: which attributions, and how
    many of the bytes at least.
    """
    ground = Ground(world, kind)
    need_logs(world, kind)
    os.mkdir(ground.path('many'))
    ground.sync()
    with world.session('--block') as every, world.session('--block', '--command', 'iotr-child') as filtered:
        most = Child(world, lambda: [os.mkdir(ground.path('many/%d' % number)) for number in range(MANY)])
        Child(world, lambda: os.mkdir(ground.path('less')), 'iotr-less')
        ground.sync()
        world.command('mount', '-o', 'remount,ro', ground.folder)  # writes back what was in the log
    for attribution, share in kinds.items():
        found = [row for row in own_rows(every, ground) if row['attribution'] == attribution]
        its_own = [row for row in found if row['pid'] == str(most.pid)]
        check(found and size(its_own) >= size(found) * share, '%s: %d of %d bytes' % (attribution, size(its_own), size(found)),
              *[row for row in found if row not in its_own][:5])
        equal({(row['command'], row['filename'], row['inode'], row['ppid']) for row in its_own},
              {('iotr-child', '', '', str(os.getpid()))}, 'rows of ' + attribution)
        equal({row['request_id'] for row in its_own} - {row['request_id'] for row in ground.writes(filtered)}, set(),
              'rows that the filter by command lacks')


@test
def of_most_ext4(world):
    of_most(world, 'ext4', {'journal': 0.8, 'metadata': 0.8})


@test
def of_most_xfs(world):
    """The last checkpoint, of the kernel's counters alone, is nobody's."""
    of_most(world, 'xfs', {'journal': 0.8, 'metadata': 0.8})


@test
def of_most_btrfs(world):
    """Who asks for it changes most trees itself, as the transaction ends in its context."""
    of_most(world, 'btrfs', {'metadata': 0.2})


def synchronised(world, kind):
    """Who calls fsync writes the log by itself, or waits for a kernel thread that does."""
    ground = Ground(world, kind)
    need_logs(world, kind)

    def act():
        descriptor = os.open(ground.path('file'), os.O_WRONLY | os.O_CREAT, 0o644)
        for number in range(10):
            os.pwrite(descriptor, b's' * PAGE, number * PAGE)
            os.fsync(descriptor)
    with world.session('--block') as session:
        child = Child(world, act)
    log = [row for row in own_rows(session, ground) if row['attribution'] == 'journal']
    if kind == 'ext4':  # says where its log begins, before the first transaction is committed
        log.remove(next(row for row in log if row['command'].startswith('jbd2/')))
    check(len(log) >= 10, 'rows of the log', *log)
    equal({(row['pid'], row['command'], row['inode'], row['filename'], row['ppid']) for row in log},
          {(str(child.pid), 'iotr-child', '', '', str(os.getpid()))}, 'rows of the log')


@test
def synchronised_ext4(world):
    synchronised(world, 'ext4')


@test
def synchronised_xfs(world):
    synchronised(world, 'xfs')


@test
def synchronised_btrfs(world):
    synchronised(world, 'btrfs')


@test
def written_for_others(world):
    """What btrfs changes when data was written back, by a kernel thread, is of who changed most in the transaction."""
    since(6, 1)
    ground = Ground(world, 'btrfs')
    need_logs(world, 'btrfs')
    names = [ground.path('file-%d' % number) for number in range(MANY)]
    with world.session('--block') as session:
        child = Child(world, lambda: [write(name, 2) for name in names])
        ground.sync()
    found = own_rows(session, ground, {str(os.stat(name).st_ino) for name in names})
    unknown = [row for row in found if row['ppid'] in ('0', '2')]
    check(size(unknown) <= size(found) * 0.25, 'of no process: %d of %d bytes' % (size(unknown), size(found)), *unknown[:5])
    check(any(row['pid'] == str(child.pid) for row in found), 'none is of who wrote the files', *found[:5])


def of_none_before(world, kind):
    """A file system that comes after another one, and may have its addresses and numbers, is not the other's."""
    with world.session('--block') as session:
        turns = []
        for _ in range(3):
            ground = Ground(world, kind)
            need_logs(world, kind)
            child = Child(world, lambda ground=ground: [os.mkdir(ground.path(str(number))) for number in range(MANY)])
            ground.sync()
            world.command('umount', ground.folder)
            turns.append((ground, child))
    for ground, child in turns:
        its_own = [row for row in own_rows(session, ground) if row['command'] == 'iotr-child']
        check(size(its_own) >= MANY * 64, 'rows of the process', *its_own)
        equal({row['pid'] for row in its_own}, {str(child.pid)}, 'processes')


@test
def of_none_before_ext4(world):
    of_none_before(world, 'ext4')


@test
def of_none_before_xfs(world):
    of_none_before(world, 'xfs')


@test
def of_none_before_btrfs(world):
    of_none_before(world, 'btrfs')
