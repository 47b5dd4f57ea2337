# SPDX-License-Identifier: GPL-2.0-or-later
"""What a call has a file system's log written for: its flushes and blocks have the flow of the call, whatever thread writes them."""
import os

from lib import rows as files
from lib import uring
from lib.registry import Skip, check, equal, test, wait_for
from lib.uring_case import OLDEST
from lib.written import PAGE, Child, Ground, need_logs, write

CALLS = 20


def requests(session, ground):
    return [row for row in session.rows('block') if row['device'] == ground.number or row['disk'] == ground.number]


def flushes_of(ground):
    """How many the disk has done, as the kernel counts them."""
    with open('/sys/block/%s/stat' % os.path.basename(ground.device), encoding='ascii') as file:
        return int(file.read().split()[15])


def calls(session, *operations, pid):
    return [row for row in session.rows('vfs') if row['operation'] in operations and row['pid'] == str(pid)]


def spans(rows):
    """From when to when requests last, as they overlap."""
    for row in rows:
        begin = int(row['mono_ns'])
        yield begin, begin + sum(round(float(row[name] or 0) * 1e6) for name in ('queue_latency_ms', 'latency_ms'))


def covered(call, rows):
    """The nanoseconds of a call in which one of the requests lasts."""
    begin, total = int(call['mono_ns']), 0
    end = begin + int(call['latency_ns'])
    for first, last in sorted(spans(rows)):
        first, last = max(first, begin), min(last, end)
        if last > first:
            total += last - first
            begin = last
    return total


def appends(path, call=os.fsync):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    for number in range(CALLS):
        os.pwrite(fd, b'c' * PAGE, number * PAGE)
        call(fd)
    os.close(fd)


def times(ground, session, child, operation):
    """Of the calls: how long they last, how much of that a request of the disk does, and one that is joined to the call."""
    rows, total, disk, within = requests(session, ground), 0, 0, 0
    for call in calls(session, operation, pid=child.pid):
        total += int(call['latency_ns'])
        disk += covered(call, rows)
        within += covered(call, [row for row in rows if row['flow'] == call['flow'] != ''])
    return total, disk, within


def time_is_told(world, kind, call=os.fsync):
    """Each call has its data, its log and its flushes; the rest of its time is not spent on the disk."""
    ground = Ground(world, kind)
    path, operation = ground.path('file'), call.__name__.upper()
    with world.session('--vfs', '--block') as session:
        child = Child(world, lambda: appends(path, call))
    rows = requests(session, ground)
    one = calls(session, operation, pid=child.pid)
    equal(len(one), CALLS, 'calls')
    for number, row in enumerate(one):
        its_own = [request for request in rows if request['flow'] == row['flow']]
        kinds = {request['operation'] for request in its_own}
        check({'WRITE', 'FLUSH'} <= kinds or not number, 'requests of a call', number, *its_own)
        flushes = [request for request in its_own if request['operation'] == 'FLUSH']
        equal({request['pid'] for request in flushes}, {str(child.pid)}, 'processes of flushes')
    its_own = {row['flow'] for row in one}
    during = [row for row in rows if int(one[1]['mono_ns']) <= int(row['mono_ns']) < int(one[-1]['mono_ns'])]
    nobody = [row for row in during if row['flow'] not in its_own]
    check(len(nobody) <= len(during) * 0.1, '%d of %d requests of no call' % (len(nobody), len(during)), *nobody[:5])
    total, disk, within = times(ground, session, child, operation)
    check(within >= disk * 0.9, 'of %d ns of calls, the disk works for %d, and in requests of the call %d' % (total, disk, within))


@test
def ext4(world):
    time_is_told(world, 'ext4')


@test
def ext4_data(world):
    time_is_told(world, 'ext4', os.fdatasync)


@test
def xfs(world):
    time_is_told(world, 'xfs')


@test
def btrfs(world):
    time_is_told(world, 'btrfs')


def asked_by_another(world, kind):
    """What one process changed is its own, and has the flow of the call by which another asks for it; the flush is of who asks."""
    ground = Ground(world, kind)
    need_logs(world, kind)
    write(ground.path('file'), 1)
    ground.sync()
    with world.session('--vfs', '--block') as every, world.session('--vfs', '--block', '--command', 'iotr-asks') as filtered:
        many = Child(world, lambda: [os.mkdir(ground.path(str(number))) for number in range(50)])

        def ask():
            fd = os.open(ground.folder, os.O_RDONLY)
            os.fsync(fd)
        asks = Child(world, ask, 'iotr-asks')
    sync, = calls(every, 'FSYNC', pid=asks.pid)
    rows = [row for row in requests(every, ground) if row['flow'] == sync['flow']]
    log = [row for row in rows if row['attribution'] == 'journal' and row['size'] != '0']
    check(log, 'rows of the log', *requests(every, ground))
    equal({row['pid'] for row in log}, {str(many.pid)}, 'processes of the log')
    equal({row['pid'] for row in rows if row['operation'] == 'FLUSH'}, {str(asks.pid)}, 'processes of flushes')
    equal({row['request_id'] for row in rows} - {row['request_id'] for row in requests(filtered, ground)}, set(),
          'rows that the filter by who asks lacks')


@test
def asked_by_another_ext4(world):
    asked_by_another(world, 'ext4')


@test
def asked_by_another_xfs(world):
    asked_by_another(world, 'xfs')


@test
def whole_systems(world):
    """syncfs and sync ask for all that there is."""
    for call in ('syncfs', 'sync'):
        ground = Ground(world)
        with world.session('--vfs', '--block') as session:
            os.mkdir(ground.path('folder'))
            world.command('sync', *(['-f', ground.folder] if call == 'syncfs' else []))
        flows = {row['flow'] for row in session.rows('vfs') if row['operation'] == 'SYNC' and row['command'] == 'sync'} - {''}
        log = [row for row in requests(session, ground) if row['attribution'] == 'journal' and row['size'] != '0']
        check(log and flows, 'rows of the log, and calls', len(log), flows)
        check(any(row['flow'] in flows for row in log), call, *log)


@test
def synchronous_changes(world):
    """On a file system that is mounted with -o sync, each change waits for a commit of its own."""
    ground = Ground(world, options='sync')
    with world.session('--vfs', '--block') as session:
        child = Child(world, lambda: [os.mkdir(ground.path(str(number))) for number in range(5)])
    rows = requests(session, ground)
    for row in calls(session, 'MKDIR', pid=child.pid):
        its_own = {request['operation'] for request in rows if request['flow'] == row['flow'] != ''}
        check({'WRITE', 'FLUSH'} <= its_own, 'requests of a mkdir', its_own)


@test
def nobody_asks(world):
    """The file system commits by itself in the end: that is of who made the changes, and of no call."""
    ground = Ground(world, options='commit=1')
    with world.session('--vfs', '--block') as session:
        child = Child(world, lambda: os.mkdir(ground.path('folder')))
        before = flushes_of(ground)
        wait_for('a commit', lambda: flushes_of(ground) > before)
    rows = [row for row in requests(session, ground) if row['attribution'] == 'journal']
    equal({row['flow'] for row in rows}, {''}, 'flows')
    flushes = [row for row in rows if row['operation'] == 'FLUSH']
    equal({(row['pid'], row['command']) for row in flushes}, {(str(child.pid), 'iotr-child')}, 'who caused the flush')


@test
def recorded_command(world):
    """What a recorded command waits for is in its trace: no call of fsync that is without a flush."""
    ground, output = Ground(world), world.path('commits')
    script = 'import os\nfd = os.open("%s", 65)\nfor n in range(20): os.pwrite(fd, b"c" * 4096, 4096 * n); os.fsync(fd)'
    world.ctl.exits(0, 'record', '--vfs', '--block', '--output', output, '--', 'python3', '-c', script % ground.path('file'))
    flows = {row['flow'] for row in files.read(output, 'vfs') if row['operation'] == 'FSYNC'}
    flushed = {row['flow'] for row in files.read(output, 'block') if row['operation'] == 'FLUSH'}
    equal(len(flows - {''}), CALLS, 'flows of calls')
    equal(flows - flushed, set(), 'calls without a flush')


@test
def by_uring(world):
    """A request of io_uring asks for it as a call does; a worker of the process makes it."""
    if OLDEST:
        raise Skip('the kernel does not tell what a worker works on')
    ground = Ground(world)
    fd = os.open(ground.path('file'), os.O_RDWR | os.O_CREAT, 0o644)
    world.undo.callback(os.close, fd)
    try:
        ring = uring.Ring(8)
    except OSError as error:
        raise Skip('io_uring: %s' % error) from None
    with ring, world.session('--vfs', '--block', '--iouring') as session:
        for number in range(5):
            os.pwrite(fd, b'u' * PAGE, number * PAGE)
            equal(ring.do('FSYNC', fd, 0, 0), 0, 'result')
    asks = [row for row in session.rows('iouring') if row['operation'] == 'FSYNC' and row['pid'] == str(os.getpid())]
    flushed = {row['flow'] for row in requests(session, ground) if row['operation'] == 'FLUSH'}
    equal(len(asks), 5, 'requests of io_uring')
    equal({row['flow'] for row in asks} - flushed, set(), 'those without a flush')
