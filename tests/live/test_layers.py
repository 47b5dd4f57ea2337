# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts of I/O by layer: known I/O on disks of our own, and the kernel's own counts beside them."""
import os

from lib.layers import PAGE, as_the_disk, both_counts, counting, ext4, memory_disk, run
from lib.registry import Skip, check, equal, test
from lib.world import device_number


@test
def fsync_of_each_byte(world):
    device = memory_disk(world)
    folder = ext4(world, device)
    with counting(world) as count:
        before = both_counts(count, device)
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for at in range(100):
    os.pwrite(file, b'x', at)
    os.fsync(file)
''', os.path.join(folder, 'file'))
        sums = count.of(process=pid, device=device_number(device))
        equal(sums['app_write'], (100, 100, 0), 'written by the application')
        equal(sums['app_sync'], (100, 0, 0), 'fsync')
        equal(sums['fs_write'], (100, 100 * PAGE, 0), 'data that the file system wrote')
        journal, everybody = sums['fs_journal_write'], count.of(device=device_number(device))['fs_journal_write']
        check(journal[1] >= 100 * PAGE, 'journal, which its thread writes for the process', journal)
        check(everybody[1] - journal[1] <= PAGE, 'journal of nobody, but for where it begins', everybody, journal)
        check(sums['device_write'][1] >= sums['fs_write'][1] + journal[1], 'what reached the disk for it', sums['device_write'])
        as_the_disk(count, device, before)


@test
def direct(world):
    device = memory_disk(world)
    folder = ext4(world, device)
    with counting(world) as count:
        before = both_counts(count, device)
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 20)
for at in range(8):
    os.pwritev(file, [block], at << 20)
''', os.path.join(folder, 'file'))
        sums = count.of(process=pid, device=device_number(device))
        equal(sums['app_write'], (8, 8 << 20, 0), 'written by the application')
        equal(sums['fs_write'][1], 8 << 20, 'data that the file system wrote')
        equal(sums['device_write'][1], 8 << 20, 'what reached the disk for the process')
        as_the_disk(count, device, before)


@test
def read_again(world):
    device = memory_disk(world)
    folder = ext4(world, device)
    path = os.path.join(folder, 'file')
    with open(path, 'wb') as file:
        file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    code = '''
file = os.open(sys.argv[1], os.O_RDONLY)
for at in range(256):
    os.pread(file, 4096, at * 4096)
'''
    number = device_number(device)
    with counting(world) as count:
        cold = count.of(process=run(code, path), device=number)
        equal(cold['app_read'], (256, 1 << 20, 0), 'read by the application')
        equal(cold['cache_hit'][0] + cold['cache_miss'][0], 256, 'pages that were read')
        equal(cold['cache_miss'][0] + cold['cache_readahead'][0] >= 256, True, 'pages that were added')
        check(cold['fs_read'][1] >= 1 << 20, 'data that the file system read', cold['fs_read'])
        warm = count.of(process=run(code, path), device=number)
        equal((warm['app_read'], warm['cache_hit'], warm['cache_miss']),
              ((256, 1 << 20, 0), (256, 1 << 20, 0), (0, 0, 0)), 'the same from the cache')
        equal((warm['fs_read'], warm['device_read']), ((0, 0, 0), (0, 0, 0)), 'what was read below')


@test
def two_dirtiers(world):
    """Each has the pages of one file that it made dirty, although neither writes them back."""
    device = memory_disk(world)
    folder = ext4(world, device)
    code = '''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for at in range(int(sys.argv[2]), 256, 2):
    os.pwrite(file, bytes(4096), at * 4096)
'''
    with counting(world) as count:
        before = both_counts(count, device)
        pids = [run(code, os.path.join(folder, 'file'), first) for first in (0, 1)]
        world.command('sync', '-f', folder)
        for pid in pids:
            sums = count.of(process=pid, device=device_number(device))
            equal((sums['cache_dirtied'], sums['fs_write'][1]), ((128, 128 * PAGE, 0), 128 * PAGE), 'pages of %d' % pid)
        as_the_disk(count, device, before)


@test
def unlinked_while_dirty(world):
    device = memory_disk(world)
    folder = ext4(world, device)
    with counting(world) as count:
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(file, bytes(1 << 20))
os.unlink(sys.argv[1])
''', os.path.join(folder, 'file'))
        world.command('sync', '-f', folder)
        sums = count.of(process=pid, device=device_number(device))
        equal((sums['app_write'], sums['cache_dirtied'][1]), ((1, 1 << 20, 0), 1 << 20), 'written and made dirty')
        equal(sums['fs_write'], (0, 0, 0), 'what was written back')
        equal(sums['device_write'][1], sums['fs_metadata_write'][1] + sums['fs_journal_write'][1], 'what reached the disk for it')


@test
def stacked_once(world):
    world.need('dmsetup')
    device = memory_disk(world)
    name = 'iotr-layers-%d' % os.getpid()
    done = world.command('dmsetup', 'create', name, '--table', '0 %d linear %s 0' % ((64 << 20) // 512, device), check=False)
    if done.returncode:
        raise Skip('no device mapper: %s' % done.stderr.strip())
    world.later('dmsetup', 'remove', '--retry', name)
    upper = '/dev/mapper/' + name
    folder = ext4(world, upper)
    with counting(world) as count:
        before = both_counts(count, device)
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)
os.pwritev(file, [mmap.mmap(-1, 1 << 20)], 0)
''', os.path.join(folder, 'file'))
        own = count.of(process=pid, device=device_number(upper))
        equal((own['app_write'], own['fs_write'][1]), ((1, 1 << 20, 0), 1 << 20), 'on the upper device')
        equal(count.of(device=device_number(upper))['device_write'], (0, 0, 0), 'requests of the upper device')
        equal(count.of(process=pid, device=device_number(device))['device_write'][1], 1 << 20, 'of the lower one')
        as_the_disk(count, device, before)


@test
def overlay_once(world):
    base = world.tmpfs(4 << 20)
    folders = [os.path.join(base, name) for name in ('lower', 'upper', 'work')]
    for folder in folders:
        os.mkdir(folder)
    merged = world.make('merged')
    if world.command('mount', '-t', 'overlay', 'none', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % tuple(folders), merged,
                     check=False).returncode:
        raise Skip('no overlayfs')
    world.later('umount', '-l', merged)
    with counting(world) as count:
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for at in range(16):
    os.write(file, bytes(4096))
''', os.path.join(merged, 'file'))
        number = os.stat(merged).st_dev
        equal(count.of(process=pid, device='%d:%d' % (os.major(number), os.minor(number)))['app_write'],
              (16, 65536, 0), 'on the overlay')
        equal(count.of(process=pid)['app_write'], (16, 65536, 0), 'everywhere')


@test
def families(world):
    """All calls that read and write, beside what /proc/PID/io has of them."""
    device = memory_disk(world)
    path = os.path.join(ext4(world, device), 'file')
    code = '''
def told():
    with open('/proc/self/io', encoding='ascii') as file:
        words = dict(line.split(': ') for line in file.read().splitlines())
    return int(words['rchar']), int(words['wchar'])
one = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
two = os.open(sys.argv[1] + '2', os.O_RDWR | os.O_CREAT)
three = os.open(sys.argv[1] + '3', os.O_RDWR | os.O_CREAT)
begin = told()
os.write(one, bytes(10000))
os.pwrite(one, bytes(1), 5)
os.writev(one, [bytes(100), bytes(200)])
os.pwritev(one, [bytes(30), bytes(40)], 7)
os.lseek(one, 0, 0)
os.read(one, 1000)
os.pread(one, 2000, 3)
os.readv(one, [bytearray(10), bytearray(20)])
os.preadv(one, [bytearray(300)], 1)
assert os.sendfile(two, one, 0, 5000) == 5000
end = told()
os.copy_file_range(one, three, 4000, 0, 0)
with open(sys.argv[1] + '4', 'w', encoding='ascii') as file:
    file.write('%d %d' % (end[0] - begin[0], end[1] - begin[1]))
'''
    with counting(world) as count:
        pid = run(code, path)
        with open(path + '4', encoding='ascii') as file:
            text = file.read()
        read, written = map(int, text.split())
        sums = count.of(process=pid, device=device_number(device))
        equal(sums['app_write'], (7, 10000 + 1 + 300 + 70 + 5000 + 4000 + len(text), 0), 'written')
        equal(sums['app_read'], (6, 1000 + 2000 + 30 + 300 + 5000 + 4000, 0), 'read')
        equal(written, sums['app_write'][1] - 4000 - len(text), 'written, as /proc/PID/io has it')
        check(read >= sums['app_read'][1] - 4000, 'read, as /proc/PID/io has it, with that file itself', read)


@test
def no_files(world):
    """Pipes, sockets and what is no file of a disk are none of the counts, which have but one byte that is read."""
    path = world.path('byte')
    with open(path, 'wb') as file:
        file.write(b'x')
    with counting(world) as count:
        pid = run('''
left, right = os.pipe()
os.write(right, b'x' * 100)
one, other = socket.socketpair()
one.send(b'y' * 100)
os.write(os.open('/dev/null', os.O_WRONLY), b'z' * 100)
os.write(os.open('/proc/self/comm', os.O_WRONLY), b'renamed')
os.read(os.open(sys.argv[1], os.O_RDONLY), 100)
''', path)
        sums = count.of(process=pid)
        equal((sums['app_write'], sums['app_read']), ((0, 0, 0), (1, 1, 0)), 'written to no file, and read of one')
        equal({one['command'] for one in count.read() if one['process'] == pid}, {'renamed'}, 'command at the end')


@test
def mapped(world):
    device = memory_disk(world)
    path = os.path.join(ext4(world, device), 'file')
    with open(path, 'wb') as file:
        file.write(bytes(16 * PAGE))
        file.flush()
        os.fsync(file.fileno())
    with counting(world) as count:
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR)
pages = mmap.mmap(file, 16 * 4096)
for page in range(16):
    pages[page * 4096] = 1
''', path)
        sums = count.of(process=pid, device=device_number(device))
        equal(sums['app_write'], (0, 0, 0), 'written by calls')
        check(1 <= sums['map_write'][0] <= 16, 'faults that made pages dirty', sums['map_write'])
        equal(sums['cache_dirtied'][1], 16 * PAGE, 'made dirty')


@test
def short_lives(world):
    """Processes that have ended have their counts and their names."""
    device = memory_disk(world)
    folder = ext4(world, device)
    with counting(world) as count:
        for number in range(50):
            world.command('dd', 'if=/dev/zero', 'of=%s/%d' % (folder, number), 'bs=4096', 'count=1', 'status=none')
        found = [one for one in count.read() if one['device'] == device_number(device) and one['command'] == 'dd']
        equal([one['app_write'] for one in found], [[1, 4096, 0]] * 50, 'written by each')
        equal({one['executable'] for one in found}, {'dd'}, 'executables')
        check(all(one['exited_ns'] and one['cgroup_id'] for one in found), 'ends and cgroups', found[0])


@test
def not_itself(world):
    with counting(world) as count:
        for _ in range(3):
            count.read()
        equal([one for one in count.read() if one['process'] == count.process.pid], [], 'its own accounts')


@test
def missing(world):
    """What a kernel cannot tell is named."""
    with counting(world) as count:
        count.read()
        hooks = {one['hook'] for one in count.last['missing']}
        check('io_submit' in hooks, 'libaio', hooks)
        equal(count.last['missing'] and all(one['why'] and one['layers'] for one in count.last['missing']), True, 'reasons')
        check(count.last['memory'] < 48 << 20, 'bounded memory', count.last['memory'])
