# SPDX-License-Identifier: GPL-2.0-or-later
"""Block requests: known offsets on known devices."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from lib.registry import PATIENCE, Failure, Skip, check, equal, test, wait_for
from lib.world import device_number

MS = r'\d+\.\d{6}'
# Words of a line of /proc/diskstats after the name: requests, and sectors where they are counted.
FIELDS = {'READ': (0, 2), 'WRITE': (4, 6), 'DISCARD': (11, 13), 'FLUSH': (15, None)}


def disk_of(device):
    return os.path.basename(os.path.realpath(device))


def queue(disk, name):
    try:
        with open('/sys/block/%s/queue/%s' % (disk, name), encoding='ascii') as file:
            return file.read().strip()
    except OSError:
        return '0'


def of_device(session, device):
    number = device_number(device)
    return [row for row in session.rows('block') if row['device'] == number]


def without_udev(rows):
    """It looks at a device whenever somebody who could write has closed it."""
    return [row for row in rows if 'udev' not in row['command']]


def settle(world):
    """Waits until udev is done with a new device, so that its I/O is not in the rows."""
    world.command('sh', '-c', 'udevadm settle --timeout=30 2>/dev/null || :')


def during(world, device, *operations, options=()):
    """What was done, and the rows of the device within the time of each."""
    settle(world)
    with world.session('--block', *options) as session:
        done = world.trigger.block(device, *operations)
    rows = without_udev(of_device(session, device))
    return [(one, [row for row in rows if inside(one, row)]) for one in done], session


def inside(one, row):
    return one['within'][0] <= int(row['mono_ns']) <= one['within'][1]


def request(one, row, operation, device, disk, start=0):
    """Every column of a row for one request of the trigger."""
    expected = {
        'operation': operation, 'sector': str(start + one['offset'] // 512),
        'size': str(one['length']), 'device': device_number(device), 'disk': disk,
        'error': str(one['errno']),
        'pid': str(one['pid']), 'tid': str(one['pid']), 'command': 'iotr-trigger', 'uid': '0',
        'attribution': 'submitter',
    }
    wrong = ['%s: expected %s, got %s' % (name, want, row[name])
             for name, want in expected.items() if row[name] != want]
    for name in ('latency_ms', 'queue_latency_ms'):
        if not re.fullmatch(MS, row[name]) and (name == 'latency_ms' or row[name]):
            wrong.append('%s: %r' % (name, row[name]))
    if not float(row['latency_ms'] or 0) > 0:
        wrong.append('latency_ms: %s' % row['latency_ms'])
    check(int(row['request_id']) < 1 << 53, 'request_id', row['request_id'])
    check(not wrong, '%s at %d' % (one['name'], one['offset']), *wrong)


def exactly(pairs, device, disk, start=0):
    """One row for each operation, and it is right."""
    for one, rows in pairs:
        operation = one['name'].upper()
        rows = [row for row in rows if row['operation'] == operation]
        equal(len(rows), 1, '%s rows at %d' % (operation, one['offset']))
        request(one, rows[0], operation, device, disk, start)


def read_and_write(world, device, start=0):
    disk = disk_of(device)
    pairs, _ = during(world, device, 'write:0:4096', 'write:8192:16384', 'read:8192:4096',
                      'read:1048576:65536', 'write:4194304:512', 'read:0:512')
    exactly(pairs, device, disk, start)


@test
def loop(world):
    read_and_write(world, world.loop())


def blank(device):
    """Whether nobody uses the disk: it is writable, in no use, and begins with nothing but zeros."""
    disk = disk_of(device)
    folder = '/sys/block/%s/' % disk
    with open('/proc/mounts', encoding='utf-8') as file:
        used = device in file.read()
    with open(folder + 'ro', encoding='ascii') as file:
        used = used or file.read().strip() != '0'
    if used or os.listdir(folder + 'holders') or [
            name for name in os.listdir(folder) if name.startswith(disk)]:
        return False
    with open(device, 'rb') as file:
        return not any(file.read(8 << 20))


@test
def blank_disk(world):
    """A spare disk, when there is one and nothing is on it; it is blank again afterwards."""
    device = os.path.realpath(os.environ.get('IOTRACER_SCRATCH_DISK', '/dev/nvme1n1'))
    if not os.path.exists(device):
        raise Skip('no %s' % device)
    if not blank(device):
        raise Skip('%s is in use' % device)
    world.undo.callback(world.trigger.block, device, 'zero:0:8388608')
    read_and_write(world, device)


@test
def far(world):
    """Beyond 2^32 sectors."""
    try:
        device = world.loop(4 << 40)
    except OSError as error:
        raise Skip('no file of 4 TiB: %s' % error) from None
    at = (3 << 40) + (1 << 29)
    pairs, _ = during(world, device, 'write:%d:4096' % at, 'read:%d:8192' % at)
    exactly(pairs, device, disk_of(device))


@test
def flush(world):
    device = world.loop()
    if 'back' not in queue(disk_of(device), 'write_cache'):
        raise Skip('the device has no cache')
    pairs, _ = during(world, device, 'write:0:4096', 'flush')
    rows = [row for row in pairs[1][1] if row['operation'] == 'FLUSH']
    equal(len(rows), 1, 'FLUSH rows of one fsync')
    equal([(row['operation'], row['size']) for row in pairs[1][1]], [('FLUSH', '0')],
          'rows of one fsync')
    check(re.fullmatch(MS, rows[0]['latency_ms']), 'latency_ms', rows[0])
    equal((rows[0]['size'], rows[0]['disk']), ('0', disk_of(device)), 'size and disk')


def ranges(world, name, operation, limit):
    device = world.loop()
    disk = disk_of(device)
    if queue(disk, limit) in ('', '0'):
        raise Skip('%s has no %s' % (disk, limit))
    pairs, _ = during(world, device, '%s:1048576:65536' % name)
    one, rows = pairs[0]
    if one['ret'] < 0:
        raise Skip('%s: error %d' % (name, one['errno']))
    rows = [row for row in rows if row['operation'] == operation]
    equal(len(rows), 1, '%s rows' % operation)
    request(one, rows[0], operation, device, disk)


@test
def discard(world):
    ranges(world, 'discard', 'DISCARD', 'discard_max_bytes')


@test
def write_zeroes(world):
    ranges(world, 'zero', 'WRITE_ZEROES', 'write_zeroes_max_bytes')


@test
def merged(world):
    """Small writes that the kernel joins: the sizes add up to the bytes."""
    device, length = world.loop(), 1 << 20
    pairs, _ = during(world, device, 'buffered:0:%d' % length)
    rows = [row for row in pairs[0][1] if row['operation'] == 'WRITE']
    equal(sum(int(row['size']) for row in rows), length, 'bytes of %d requests' % len(rows))
    covered = set()
    for row in rows:
        first = int(row['sector'])
        covered.update(range(first, first + int(row['size']) // 512))
    equal(len(covered), length // 512, 'sectors written once')


@test
def partition(world):
    """The device is the partition, the sector counts from the start of the disk."""
    world.need('sfdisk')
    device = world.loop(partitions=True)
    disk, start = disk_of(device), 4096
    subprocess.run(['sfdisk', '-q', device], input='label: dos\n%d,40960\n' % start, text=True,
                   capture_output=True, timeout=PATIENCE, check=False)
    settle(world)
    part = device + 'p1'
    if not os.path.exists(part):  # a kernel that cannot read the table is told
        world.command('addpart', device, 1, start, 40960, check=False)
    if not os.path.exists(part):
        raise Skip('no partitions of loop devices')
    pairs, _ = during(world, part, 'write:4096:8192', 'read:0:4096')
    exactly(pairs, part, disk, start)


def diskstats(device):
    name = disk_of(device)
    with open('/proc/diskstats', encoding='ascii') as file:
        for line in file:
            words = line.split()
            if words[2] == name:
                return [int(word) for word in words[3:]] + [0] * 20
    raise Skip('no %s in /proc/diskstats' % name)


def compare(operation, before, after, rows):
    """What is wrong with the number and the sectors of an operation's rows."""
    rows = [row for row in rows if row['operation'] == operation or
            operation == 'WRITE' and row['operation'] == 'WRITE_ZEROES']
    requests, sectors = FIELDS[operation]
    wrong, counted = [], after[requests] - before[requests]
    if operation == 'WRITE':  # the kernel counts an empty flush as a write of nothing, too
        counted = max(counted - (after[FIELDS['FLUSH'][0]] - before[FIELDS['FLUSH'][0]]), len(rows))
    if counted != len(rows):
        wrong.append('%s: /proc/diskstats %d, rows %d' % (operation, counted, len(rows)))
    if sectors is not None:
        size = sum(int(row['size']) for row in rows) // 512
        if after[sectors] - before[sectors] != size:
            wrong.append('%s: sectors %d, of rows %d' % (operation, after[sectors] - before[sectors],
                                                         size))
    return wrong


def count_once(world, device):
    settle(world)
    before = diskstats(device)
    with world.session('--block') as session:
        world.trigger.block(device, *['write:%d:4096' % (index * 8192) for index in range(50)],
                            *['read:%d:4096' % (index * 4096) for index in range(50)],
                            'buffered:2097152:524288', 'flush', 'discard:1048576:65536')
        settle(world)
    after, rows = diskstats(device), of_device(session, device)
    return [line for operation in FIELDS for line in compare(operation, before, after, rows)]


@test
def counts(world):
    """As many rows as the kernel's own counters grew by."""
    device = world.loop()
    if queue(disk_of(device), 'iostats') == '0':
        raise Skip('the device does not count')
    for _ in range(3):  # somebody else may look at the device between
        wrong = count_once(world, device)
        if not wrong:
            return
    raise Failure(*wrong)


READS = 12000


def direct_reads(world, name, image):
    """Reads by a process of that command name, each of which is one request."""
    program = os.path.join(world.folder, name)
    if not os.path.exists(program):
        os.symlink(shutil.which('dd'), program)
    world.command(program, 'if=' + image, 'of=/dev/null', 'bs=4k', 'count=%d' % READS, 'iflag=direct')


def uncollected():
    """How many processes have ended whose ends process 1 has to collect."""
    count = 0
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(')')[2].split()[:2]
            count += (state, parent) == ('Z', '1')
    return count


@contextlib.contextmanager
def orphans():
    """Keeps process 1 busy with orphans, whose ends it has to collect; at the end it has, so that it is in nobody's way."""
    with subprocess.Popen(['sh', '-c', 'while :; do (: &); done']) as shell:
        try:
            yield
        finally:
            shell.kill()
    wait_for('process 1 to collect them', lambda: not uncollected())


@test(host_only=True)  # the machines have no such kernel
def ends_unseen(world):
    """A hardened kernel runs no BPF program in process 1, nor in its interrupts: requests that end there count as lost."""
    image = world.path('image')
    world.command('dd', 'if=/dev/zero', 'of=' + image, 'bs=4k', 'count=%d' % READS, 'conv=fsync')
    if world.command('dd', 'if=' + image, 'of=/dev/null', 'bs=4k', 'count=1', 'iflag=direct', check=False).returncode:
        raise Skip('no direct I/O where the tests run')
    direct_reads(world, 'iotr-counted', image)
    with world.session('--block', '--operation', 'READ', '--command', 'iotr-counted') as session:
        with orphans():
            direct_reads(world, 'iotr-counted', image)
        direct_reads(world, 'iotr-after', image)  # has the kernel reuse the memory of those requests
    equal(session.accounts['block']['emitted'], READS, 'requests that are rows, or counted')


@test
def device_mapper(world):
    """A row for the mapped device, and one for the device below."""
    world.need('dmsetup')
    below, name = world.loop(), os.path.basename(world.path('iotracer-live'))
    table = '0 65536 linear %s 2048' % below
    done = world.command('dmsetup', 'create', name, '--noudevsync', '--table', table, check=False)
    if done.returncode:
        raise Skip('no device mapper: %s' % (done.stderr.strip().splitlines() or ['?'])[-1])
    world.later('dmsetup', 'remove', '--retry', '-f', name)
    world.command('dmsetup', 'mknodes', name, check=False)
    device = '/dev/mapper/' + name
    pairs, session = during(world, device, 'write:4096:8192', 'read:65536:4096')
    exactly(pairs, device, 'dm-%d' % os.minor(os.stat(device).st_rdev))
    lower = without_udev(of_device(session, below))
    for one, _ in pairs:
        rows = [row for row in lower if row['operation'] == one['name'].upper() and
                row['sector'] == str(2048 + one['offset'] // 512)]
        equal(len(rows), 1, '%s rows of the device below' % one['name'])
        request(one, rows[0], one['name'].upper(), below, disk_of(below), 2048)


def raid(world, level):
    world.need('mdadm')
    loops = [world.loop(), world.loop()]
    number = next((n for n in range(100, 120) if not os.path.exists('/sys/block/md%d' % n)), None)
    device = '/dev/md%s' % number
    world.command('modprobe', 'raid%d' % level, check=False)
    done = world.command('mdadm', '--create', device, '--run', '--force', '--assume-clean',
                         '--metadata=1.0', '--level=%d' % level, '--raid-devices=2', *loops,
                         check=False)
    if done.returncode:
        raise Skip('no raid%d: %s' % (level, (done.stderr.strip().splitlines() or ['?'])[-1]))
    world.later('mdadm', '--stop', device)
    pairs, session = during(world, device, 'write:65536:4096', 'read:65536:4096')
    exactly(pairs, device, disk_of(device))
    wanted = {'write': 1 if level == 0 else 2, 'read': 1}
    for one, _ in pairs:
        rows = [row for loop_device in loops for row in without_udev(of_device(session, loop_device))
                if row['operation'] == one['name'].upper() and row['size'] == '4096'
                and inside(one, row)]
        equal(len(rows), wanted[one['name']], '%s rows of the devices below' % one['name'])


@test
def raid0(world):
    raid(world, 0)


@test
def raid1(world):
    raid(world, 1)


@test
def blktrace(world):
    """As many completions as blktrace sees."""
    world.need('blktrace', 'blkparse')
    if not os.path.isdir('/sys/kernel/debug/block'):
        world.command('mount', '-t', 'debugfs', 'none', '/sys/kernel/debug', check=False)
        world.later('umount', '/sys/kernel/debug')
    for wait in (0.2, 3, 15):  # nothing tells when blktrace has really begun
        events, rows = trace_both(world, world.loop(), wait)
        if events:
            equal(rows, events, 'sectors and sizes')
            return
    raise Skip('blktrace saw nothing')


def trace_both(world, device, wait):
    """Sorted sectors and sizes of the completions that blktrace saw, and of the rows."""
    folder = world.make('blktrace')
    settle(world)
    with world.session('--block') as session:
        tracer = subprocess.Popen(['blktrace', '-d', device, '-D', folder, '-o', 'trace'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_tracing(tracer, device)
        time.sleep(wait)
        begin = time.monotonic_ns()
        world.trigger.block(device, *['write:%d:4096' % (index * 8192) for index in range(20)],
                            *['read:%d:8192' % (index * 8192) for index in range(20)])
        settle(world)
        end_tracing(tracer)
    parsed = world.command('blkparse', '-q', '-i', os.path.join(folder, 'trace'), '-f',
                           '%a %d %S %N\n', '-a', 'complete', check=False)
    events = [line.split() for line in parsed.stdout.splitlines() if line.startswith('C ')]
    rows = [(int(row['sector']), int(row['size'])) for row in of_device(session, device)
            if row['size'] != '0' and begin <= int(row['mono_ns'])]
    return sorted((int(words[2]), int(words[3])) for words in events if words[3] != '0'), sorted(rows)


def end_tracing(tracer):
    """Sends SIGINT until blktrace ends: one that has only just begun does not see the first."""
    for _ in range(30):
        tracer.send_signal(signal.SIGINT)
        try:
            tracer.communicate(timeout=2)
            return
        except subprocess.TimeoutExpired:
            pass
    tracer.kill()
    tracer.communicate()
    raise Skip('blktrace did not end')


def wait_tracing(tracer, device):
    """The kernel names the devices it traces in debugfs."""
    path = '/sys/kernel/debug/block/%s/dropped' % disk_of(device)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if tracer.poll() is not None:
            raise Skip('blktrace: %s' % tracer.stderr.read().strip())
        if os.path.exists(path):
            return
        time.sleep(0.05)
    tracer.kill()
    raise Skip('blktrace did not begin')
