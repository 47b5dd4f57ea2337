# SPDX-License-Identifier: GPL-2.0-or-later
"""Histograms of latencies by layer: so many as there were operations, each within its bounds."""
import os

from lib.layers import PAGE, counting, ext4, memory_disk, mounted, run
from lib.registry import Skip, check, equal, test
from lib.world import device_number

CALLS, TIMED_ONE = 320, 32  # one in so many of each thread's calls is timed
CACHE = ('cache_hit', 'cache_miss', 'cache_dirtied')
FILESYSTEM = ('fs_read', 'fs_write', 'fs_metadata_read', 'fs_metadata_write', 'fs_journal_write')
TIMED = ('app_read', 'app_write', 'app_sync', 'device_read', 'device_write', 'device_flush', *CACHE, *FILESYSTEM)


def bounds(buckets):
    """Of the sum of the latencies in a histogram, of which the first bucket begins with 0 and the others with powers of 2."""
    begins = [0, *(64 << bucket for bucket in range(1, len(buckets) + 1))]
    return (sum(count * begins[bucket] for bucket, count in enumerate(buckets)),
            sum(count * begins[bucket + 1] for bucket, count in enumerate(buckets)))


def timed(accounts):
    """How many latencies of each layer were counted; their sums are within what the buckets say."""
    found = dict.fromkeys(TIMED, 0)
    for one in accounts:
        equal(set(one['latency']), set(TIMED), 'layers with latencies')
        for layer, buckets in one['latency'].items():
            least, most = bounds(buckets)
            check(least <= one['latency_ns'][layer] <= most, 'sum of latencies of ' + layer, one['latency_ns'][layer], buckets)
            found[layer] += sum(buckets)
    return found


def of_process(count, pid, device):
    return timed(one for one in count.read() if one['process'] == pid and one['device'] == device_number(device))


def about(found, calls):
    """Whether so many of the calls were timed; others of the same thread are timed in turn with them."""
    return calls // TIMED_ONE - 1 <= found <= calls // TIMED_ONE + 1


CALLS_OF = '''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | int(sys.argv[2]))
page = mmap.mmap(-1, 4096)
for at in range(int(sys.argv[3])):
    os.pwritev(file, [page], at * 4096)
for at in range(int(sys.argv[3])):
    os.preadv(file, [page], at * 4096)
'''


@test
def served_by_the_cache(world):
    """Writes that end in the cache and reads that find all there are the cache's; what goes past it is not."""
    device = memory_disk(world)
    path = os.path.join(ext4(world, device), 'file')
    with counting(world) as count:
        found = of_process(count, run(CALLS_OF, path, 0, CALLS), device)
        check(about(found['app_write'], CALLS) and about(found['app_read'], CALLS), 'calls that were timed', found)
        equal((found['cache_dirtied'], found['cache_hit'], found['cache_miss']), (found['app_write'], found['app_read'], 0),
              'calls of the cache')
        for flags, reads in ((os.O_DIRECT, False), (os.O_DSYNC, True)):
            found = of_process(count, run(CALLS_OF, path, flags, CALLS), device)
            check(about(found['app_write'], CALLS) and about(found['app_read'], CALLS), 'calls that were timed', found)
            equal((found['cache_dirtied'], found['cache_hit'], found['cache_miss']),
                  (0, found['app_read'] if reads else 0, 0), 'calls of the cache, with flags %o' % flags)


@test
def waited_for(world):
    """Reads for which pages had to come are apart from those that found them."""
    device = memory_disk(world)
    path = os.path.join(ext4(world, device), 'file')
    with open(path, 'wb') as file:
        file.write(bytes(CALLS * PAGE))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    code = '''
file = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
for again in range(2):
    for at in range(int(sys.argv[2])):
        os.pread(file, 4096, at * 4096)
'''
    with counting(world) as count:
        found = of_process(count, run(code, path, CALLS), device)
    check(about(found['cache_miss'], CALLS) and about(found['cache_hit'], CALLS), 'calls that were timed', found)
    equal(found['app_read'], found['cache_miss'] + found['cache_hit'], 'calls')


def submitted(world, kind, *make):
    """Each bio that the file system submitted has a latency, and those that came as they are to the disk not less than it had."""
    device = memory_disk(world, 512 << 20)
    folder = mounted(world, device, kind, *make)
    path = os.path.join(folder, 'file')
    with counting(world) as count:
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for at in range(32):
    os.pwrite(file, b'x' * 5000, at * 8192)
    os.fsync(file)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
os.pread(file, 200000, 0)
direct = os.open(sys.argv[1] + '-direct', os.O_RDWR | os.O_CREAT | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
for at in range(32):
    os.pwritev(direct, [block], at << 12)
for at in range(32):
    os.preadv(direct, [block], at << 12)
''', path)
        world.command('sync', '-f', folder)
        world.command('mount', '-o', 'remount,ro', folder)
        # The files of btrfs are on a device that it makes up.
        accounts = [one for one in count.read() if one['device'] == device_number(device) or one['process'] == pid]
    found = timed(accounts)
    done = {layer: sum(one[layer][0] for one in accounts) for layer in FILESYSTEM}
    equal({layer: found[layer] for layer in FILESYSTEM}, done, 'latencies, and bios')
    check(done['fs_write'] >= 64 and done['fs_read'] >= 32, 'bios', done)
    if kind == 'btrfs':  # the second copy of its metadata is a clone, which is counted at the disk alone
        return
    for layer, below in (('fs_read', 'device_read'), ('fs_write', 'device_write')):
        sums = [sum(one['latency_ns'][name] for one in accounts for name in names) for names in
                ([one for one in FILESYSTEM if one.endswith(layer[3:])], [below])]
        check(sums[0] >= sums[1] > 0, 'of %s, and of %s' % (layer, below), *sums)


@test
def submitted_by_ext4(world):
    submitted(world, 'ext4', 'mkfs.ext4', '-q', '-F', '-b', PAGE, '-E', 'lazy_itable_init=0,lazy_journal_init=0')


@test
def submitted_by_xfs(world):
    submitted(world, 'xfs', 'mkfs.xfs', '-q', '-f')


@test
def submitted_by_btrfs(world):
    submitted(world, 'btrfs', 'mkfs.btrfs', '-q', '-f')


@test
def delayed(world):
    """What a stacked device waits for is in the latency of the file system, not in that of the disk below."""
    world.need('dmsetup')
    device, wait_ms = memory_disk(world), 100
    name = 'iotr-delay-%d' % os.getpid()
    world.command('modprobe', 'dm-delay', check=False)
    done = world.command('dmsetup', 'create', name, '--table', '0 %d delay %s 0 %d' % ((64 << 20) // 512, device, wait_ms),
                         check=False)
    if done.returncode:
        raise Skip('no device that delays: %s' % (done.stderr.strip().splitlines() or ['?'])[-1])
    world.later('dmsetup', 'remove', '--retry', name)
    upper = '/dev/mapper/' + name
    folder = ext4(world, upper)
    with counting(world) as count:
        pid = run('''
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)
for at in range(4):
    os.pwritev(file, [mmap.mmap(-1, 4096)], at << 12)
''', os.path.join(folder, 'file'))
        accounts = count.read()
    above, = [one for one in accounts if one['process'] == pid and one['device'] == device_number(upper)]
    below = [one for one in accounts if one['device'] == device_number(device)]  # a kernel thread asks the disk
    equal(timed([above])['fs_write'], 4, 'latencies of the file system')
    check(above['latency_ns']['fs_write'] >= 4 * wait_ms * 1000000, 'their sum', above['latency_ns'])
    check(timed(below)['device_write'] >= 4, 'latencies of the disk', *[one['latency'] for one in below])
    least = sum(one['latency_ns']['device_write'] for one in below) / timed(below)['device_write']
    check(least < wait_ms * 1000000 / 2, 'their mean', least)
