# SPDX-License-Identifier: GPL-2.0-or-later
"""Block requests that write the page cache back are of whoever made the pages dirty."""
import contextlib
import os

from lib import rows
from lib.registry import Skip, check, equal, test
from lib.world import device_number, find_key
from lib.written import PAGE, Child, Ground, charged, since, size, write


LEAST = 8192  # buckets of the least table of pages made dirty, see daemon/probes/dirtied.c
NEIGHBOURS = 32  # pages that share an entry there


def need_least():
    if os.sysconf('SC_PHYS_PAGES') // 64 > LEAST:
        raise Skip('so much memory has a larger table')


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
    charged(ground.writes(session, path), child, 'submitter', 64)


@test
def by_another_fsync(world):
    ground = Ground(world)
    path = ground.path('other')
    with world.session('--block') as session:
        child = Child(world, lambda: write(path, 64))
        world.command('sync', path)
    charged(ground.writes(session, path), child, 'dirtier', 64)


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
        charged(ground.writes(session, mine), child, 'dirtier', 64)
        equal(ground.writes(session, other), [], 'rows of another process')
    equal(size(ground.writes(sessions[1], mine)), 64 * PAGE, 'bytes by path')
    equal(size(ground.writes(sessions[2], other)), 32 * PAGE, 'bytes of the other command')
    equal(ground.writes(sessions[2], mine), [], 'rows of the other command')


def nothing_written_back(world):
    """By the kernel itself, until the test ends, however long pages have been dirty."""
    path = '/proc/sys/vm/dirty_writeback_centisecs'
    with open(path, 'r+', encoding='ascii') as file:
        before = file.read()
        file.write('0')

    def restore():
        with open(path, 'w', encoding='ascii') as file:
            file.write(before)
    world.undo.callback(restore)


@test
def dirty_before(world):
    """What was dirty before anybody noted who made it so is nobody's, and yet a row."""
    ground = Ground(world)
    path = ground.path('before')
    nothing_written_back(world)
    write(path, 16)
    _, ctl = world.own_daemon(fresh=True, loaded=False)
    with world.session('--block', ctl=ctl) as session:
        ground.sync()
    found = ground.writes(session, path)
    equal(size(found), 16 * PAGE, 'bytes')
    equal({(row['attribution'], row['dirtiers']) for row in found}, {('unknown', '')}, 'rows')


@test
def forgotten(world):
    """Pages that are cut off are never written: at last they displace each other, which is counted."""
    need_least()
    ground = Ground(world, 'ext4')
    with world.session('--block') as session:
        for number in range(16 * LEAST // 4096):  # where there is room for 4 and 8 of each bucket
            path = ground.path('cut-%d' % number)
            write(path, range(0, 4096 * NEIGHBOURS, NEIGHBOURS))
            os.truncate(path, 0)  # its pages' entries stay its own, as its inode does
        told = find_key(session.status(), 'forgotten')
        child = Child(world, lambda: write(ground.path('kept'), 64))
        ground.sync()
    found = ground.writes(session, ground.path('kept'))
    equal(size(found), 64 * PAGE, 'bytes of what was written when the table was full')
    equal({row['pid'] for row in found if row['attribution'] != 'unknown'} - {str(child.pid)}, set(), 'other processes')
    check(told > 0, 'nothing was forgotten')
    check(rows.manifest(session.output)['streams']['block']['forgotten'] >= told, 'the manifest has less')


@test
def forgotten_tasks(world):
    """More tasks than are kept, here one with many names: what those wrote of whom nothing is kept is counted."""
    kept = LEAST // 4
    need_least()
    ground = Ground(world)

    def act():
        descriptor = os.open(ground.path('names'), os.O_WRONLY | os.O_CREAT, 0o644)
        name = os.open('/proc/self/comm', os.O_WRONLY)
        for page in range(kept * 2):
            os.write(name, b'iotr-%d' % page)
            os.pwrite(descriptor, b'n' * PAGE, page * PAGE)
    with world.session('--block') as session:
        Child(world, act)
        world.command('sync', ground.path('names'))
        told = find_key(session.status(), 'forgotten')
    check(told > 0, 'nothing was forgotten')


def loop_over(world, path, size):
    """A loop device over a file, without which its number is of the machine's."""
    with open(path, 'wb') as file:
        file.truncate(size)
    device = world.command('losetup', '-f', '--show', path).stdout.strip()
    world.later('losetup', '-d', device)
    return device


@test
def loop(world):
    """A loop device's thread writes into the file below: for who wrote to the device, page by page."""
    below = Ground(world, size=160)
    image = below.path('image')
    above = Ground(world, device=loop_over(world, image, 64 << 20))
    known, = [one for one in world.ctl.ask('Doctor')['checks'] if one['check'] == 'loop devices']
    if not known['ok']:
        raise Skip(known['detail'])
    path = above.path('file')
    below.sync()
    with world.session('--block') as session:
        child = Child(world, lambda: write(path, 64))
        world.command('sync', path)
        world.command('sync', image)
    for ground, name in ((above, path), (below, image)):
        found = [row for row in ground.writes(session, name) if row['pid'] == str(child.pid)]
        check(64 * PAGE <= size(found) <= 80 * PAGE, '%s: %d bytes' % (name, size(found)), *ground.writes(session, name))
        charged([row for row in found if row['attribution'] != 'shared'], child, 'dirtier', what='rows of ' + name)


@test
def loop_in_memory(world):
    """A loop device over a file of tmpfs: nothing is written below."""
    ground = Ground(world, device=loop_over(world, os.path.join(world.tmpfs(80 << 20), 'image'), 64 << 20))
    path = ground.path('file')
    with world.session('--block') as session:
        child = Child(world, lambda: write(path, 64))
        world.command('sync', path)
    charged(ground.writes(session, path), child, 'dirtier', 64)


def stacked(world, device, below, shares):
    """Each byte written to the stacked device is `shares` bytes of the devices below, all of them the process's."""
    ground = Ground(world, device=device)
    path = ground.path('file')
    with world.session('--block') as session:
        child = Child(world, lambda: write(path, 256))
        world.command('sync', path)
    charged(ground.writes(session, path), child, 'dirtier', 256, 'rows of the stacked device')
    numbers = [device_number(loop_device) for loop_device in below]
    found = [row for row in session.rows('block') if row['operation'] == 'WRITE' and row['device'] in numbers]
    of_child = [row for row in found if row['pid'] == str(child.pid) and row['attribution'] in ('dirtier', 'shared')]
    check(size(of_child) >= 256 * PAGE * shares * 0.98, 'devices below: %d bytes' % size(of_child), *found[:8])
    check(size(row for row in found if row['attribution'] == 'unknown') <= size(found) * 0.02, 'unknown', *found[:8])


@test
def encrypted(world):
    """A kernel thread encrypts what is written, into pages of its own."""
    world.need('dmsetup')
    since(5, 18)
    below, name = world.loop(), os.path.basename(world.path('iotracer-crypt'))
    table = '0 %d crypt aes-xts-plain64 %s 0 %s 0' % ((64 << 20) // 512, '0123456789abcdef' * 4, below)
    done = world.command('dmsetup', 'create', name, '--noudevsync', '--table', table, check=False)
    if done.returncode:
        raise Skip('no dm-crypt: %s' % (done.stderr.strip().splitlines() or ['?'])[-1])
    world.later('dmsetup', 'remove', '--retry', '-f', name)
    world.command('dmsetup', 'mknodes', name, check=False)
    stacked(world, '/dev/mapper/' + name, [below], 1)


def raid(world, level, count):
    world.need('mdadm')
    loops = [world.loop() for _ in range(count)]
    number = next((n for n in range(120, 140) if not os.path.exists('/sys/block/md%d' % n)), None)
    device = '/dev/md%s' % number
    world.command('modprobe', 'raid%d' % level, check=False)
    done = world.command('mdadm', '--create', device, '--run', '--force', '--assume-clean', '--metadata=1.0',
                         '--level=%d' % level, '--raid-devices=%d' % count, *loops, check=False)
    if done.returncode:
        raise Skip('no raid%d: %s' % (level, (done.stderr.strip().splitlines() or ['?'])[-1]))
    world.later('mdadm', '--stop', device)
    return device, loops


@test
def mirrored(world):
    stacked(world, *raid(world, 1, 2), 2)


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


@test
def shared_by_many(world):
    """Each page is another's, but for the last ones: all are counted, and who has most bytes is found whoever comes first."""
    ground = Ground(world)
    path = ground.path('many')
    write(path, 64)
    ground.sync()
    with world.session('--block') as session:
        for page in range(40):
            Child(world, lambda page=page: write(path, [page]), 'iotr-one')
        most = Child(world, lambda: write(path, range(40, 64)), 'iotr-most')
        ground.sync()
    found = ground.writes(session, path)
    equal(size(found), 64 * PAGE, 'bytes')
    equal([(row['pid'], row['attribution'], row['dirtiers']) for row in found if int(row['size']) == 64 * PAGE],
          [(str(most.pid), 'shared', '41')], 'the request')


@test
def in_turn(world):
    """More processes than have an entry for a group of pages write all of it, each after the one before is on the disk."""
    ground = Ground(world)
    path = ground.path('turns')
    write(path, NEIGHBOURS)
    ground.sync()
    children = []
    with world.session('--block') as session:
        for _ in range(6):
            children.append(Child(world, lambda: write(path, NEIGHBOURS)))
            world.command('sync', path)
        for page in range(8):  # all entries are of somebody who waits, and so pages have no room there
            Child(world, lambda page=page: write(path, [page]), 'iotr-one')
        world.command('sync', path)
        children.append(Child(world, lambda: write(path, NEIGHBOURS)))
        world.command('sync', path)
    found = [row for row in ground.writes(session, path) if row['command'] == 'iotr-child']
    equal([(row['pid'], row['attribution'], row['dirtiers'], int(row['size'])) for row in found],
          [(str(child.pid), 'dirtier', '1', NEIGHBOURS * PAGE) for child in children], 'rows')


@test
def shared_by_more(world):
    """More processes than are told apart: that they are more is what the row says."""
    ground = Ground(world)
    path = ground.path('more')
    write(path, 100)
    ground.sync()
    script = 'for page in $(seq 0 99); do dd if=/dev/zero of="$1" bs=4096 seek=$page count=1 conv=notrunc status=none; done'
    with world.session('--block') as session:
        world.command('sh', '-c', script, 'sh', path)
        ground.sync()
    found = ground.writes(session, path)
    equal(size(found), 100 * PAGE, 'bytes')
    equal([(row['attribution'], row['dirtiers'], int(row['size']) // PAGE) for row in found], [('shared', '65', 100)],
          'the request')


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
