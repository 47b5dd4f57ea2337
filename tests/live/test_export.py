# SPDX-License-Identifier: GPL-2.0-or-later
"""export: other tools read what it writes of a real trace, and find in it what the rows say."""
import collections
import json
import mmap
import os
import re
import sys

from lib.registry import Skip, check, equal, test

BLOCK = 4096
UNIT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), 'unit')


def do_work(folder, turns=40):
    """Reads and writes with other sizes than were asked for, and names that need care."""
    for number in range(turns):
        with open(os.path.join(folder, 'file,"%d"' % (number % 7)), 'w+b', buffering=0) as file:
            file.write(b'x' * (1 + 997 * number))
            if number % 5 == 0:
                os.fsync(file.fileno())
            os.pwrite(file.fileno(), b'y' * 100, 50 * number)
            os.pread(file.fileno(), 1 << 20, 10 * number)
            os.pread(file.fileno(), 100, 1 << 30)


def plain(cell):
    """A name as it was before it was written into CSV."""
    return re.sub(r'\\x([0-7][0-9a-f])', lambda match: chr(int(match[1], 16)), cell)


def sums(session, stream, size, offset):
    """Reads and writes of the rows, and their bytes, by what fio calls them; what was synchronised."""
    found = {'read': [0, 0], 'write': [0, 0], 'sync': [0, 0]}
    words = {'READ': 'read', 'DIO_READ': 'read', 'WRITE': 'write', 'DIO_WRITE': 'write', 'FSYNC': 'sync', 'FLUSH': 'sync'}
    for row in session.rows(stream):
        word = words.get(row['operation'])
        if word and row.get('errno', row.get('error')) == '0' and (word == 'sync' or (row[offset] and row[size] != '0')):
            found[word][0] += 1
            found[word][1] += 0 if word == 'sync' else int(row[size])
    return found


def replayed(world, log):
    """What fio did, by its own account."""
    done = world.command('fio', '--name=replay', '--read_iolog=' + log, '--ioengine=psync', '--replay_no_stall=1',
                         '--output-format=json')
    job = json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]
    equal(job['error'], 0, 'error of fio')
    return {word: [job[word]['total_ios'], job[word].get('io_bytes', 0)] for word in ('read', 'write', 'sync')}


@test(host_only=True)
def fio_replays_files(world):
    world.need('fio')
    folder, log = world.make('replayed'), world.path('log')
    with world.session('--vfs', '--path', folder) as session:
        do_work(folder)
    truth = sums(session, 'vfs', 'bytes_completed', 'offset')
    check(truth['read'][0] >= 40 and truth['write'][0] >= 80 and truth['sync'][0] == 8, 'rows', truth)
    document = world.ctl.json('export', session.output, log, '--fio')
    equal({word: list(document['operations'][word].values()) for word in truth}, truth, 'what export says')
    equal(replayed(world, log), truth, 'what fio did')
    world.ctl.exits(1, 'export', session.output, log, '--fio')


def make_and_remove(folder):
    """What happens to names: a file is removed while it is open, another renamed, one made again; a folder's name has a space."""
    inner = os.path.join(folder, 'a b')
    paths = [os.path.join(inner, 'old'), *(os.path.join(folder, name) for name in ('gone', 'first', 'second', 'again'))]
    before = os.open(paths[0], os.O_RDWR)
    gone = os.open(paths[1], os.O_RDWR | os.O_CREAT)
    os.pwrite(gone, b'x' * 8192, 0)
    os.unlink(paths[1])
    os.pread(gone, 8192, 0)
    os.pread(before, 4096, 0)
    os.unlink(paths[0])
    os.pread(before, 4096, 4096)
    moved = os.open(paths[2], os.O_RDWR | os.O_CREAT)
    os.pwrite(moved, b'y' * 100, 0)
    os.rename(paths[2], paths[3])
    os.pread(moved, 100, 0)
    for size in (1000, 2000, 3000):
        again = os.open(paths[4], os.O_RDWR | os.O_CREAT)
        os.pwrite(again, b'z' * size, 0)
        os.pread(again, size, 0)
        os.close(again)
        os.unlink(paths[4])
    with open(os.path.join(inner, 'new'), 'wb', buffering=0) as file:
        file.write(b'n' * 10)
    for fd in (before, gone, moved):
        os.close(fd)


@test(host_only=True)
def fio_replays_names_that_changed(world):
    """One file is one in the log, whatever became of its name, and the replay needs nothing that is gone."""
    world.need('fio')
    folder, log = world.make('names'), world.path('log')
    ready = os.path.join(folder, 'a b')
    os.makedirs(ready)
    with open(os.path.join(ready, 'old'), 'wb') as file:
        file.write(b'o' * 8192)
    with world.session('--vfs', '--path', folder) as session:
        make_and_remove(folder)
    truth = sums(session, 'vfs', 'bytes_completed', 'offset')
    document = world.ctl.json('export', session.output, log, '--fio')
    equal({word: list(document['operations'][word].values()) for word in truth}, truth, 'what export says')
    with open(log, encoding='utf-8') as file:
        equal(sum(line.endswith(' add\n') for line in file), 7, 'files in the log')
    equal(replayed(world, log), truth, 'what fio did')


@test(host_only=True)
def fio_replays_a_disk(world):
    world.need('fio')
    device, log = world.loop(), world.path('log')
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    world.undo.callback(os.close, fd)
    pages = mmap.mmap(-1, 4 * BLOCK)
    with world.session('--block', '--device', device) as session:
        for number in range(20):
            os.pwritev(fd, [memoryview(pages)[:BLOCK * (1 + number % 4)]], 5 * BLOCK * number)
            os.preadv(fd, [memoryview(pages)[:BLOCK]], 7 * BLOCK * number)
    truth = sums(session, 'block', 'size', 'sector')
    check(truth['read'][0] >= 20 and truth['write'][0] >= 20, 'rows', truth)
    world.ctl.exits(0, 'export', session.output, log, '--fio')
    equal({word: replayed(world, log)[word] for word in ('read', 'write')}, {word: truth[word] for word in ('read', 'write')},
          'what fio did')


def in_otf2(path):
    """What the readers of OTF2 find: operations and bytes done, by mode, of files and of disks."""
    try:
        import otf2
    except ImportError:
        raise Skip('there is no reader of OTF2') from None
    found = {}
    with otf2.reader.open(path) as trace:
        for location, event in trace.events:
            group = 'block' if location.group.name == 'disks' else 'vfs'
            if isinstance(event, otf2.events.IoOperationBegin):
                found[event.matching_id] = [group, str(event.mode).rsplit('.', 1)[-1].lower(), None]
            else:
                found[event.matching_id][2] = event.bytes_result
    sums = {}
    for group, mode, size in found.values():
        one = sums.setdefault((group, mode), [0, 0])
        one[0] += 1
        one[1] += size
    return sums


@test(host_only=True)
def otf2_has_all(world):
    """Of files and of disks, whose requests end on other CPUs than they began on."""
    world.need('otf2-print')
    folder, device, out = world.make('otf2'), world.loop(), world.path('archive')
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    world.undo.callback(os.close, fd)
    pages, allowed = mmap.mmap(-1, BLOCK), sorted(os.sched_getaffinity(0))
    with world.session('--vfs', '--block', '--operation', 'vfs.READ,vfs.WRITE,vfs.FSYNC,block.READ,block.WRITE') as session:
        do_work(folder)
        for number in range(100):
            os.sched_setaffinity(0, [allowed[number % len(allowed)]])
            os.pwritev(fd, [pages], BLOCK * number)
            os.preadv(fd, [pages], BLOCK * number)
        os.sched_setaffinity(0, allowed)
    world.ctl.exits(0, 'export', session.output, out, '--otf2')
    truth = {}
    for stream, size, error in (('vfs', 'bytes_completed', 'errno'), ('block', 'size', 'error')):
        for row in session.rows(stream):
            mode = {'FSYNC': 'flush'}.get(row['operation'], row['operation'].lower())
            one = truth.setdefault((stream, mode), [0, 0])
            one[0] += 1
            one[1] += int(row[size] or 0) if row[error] == '0' else 0
    check(truth[('block', 'write')][0] >= 100 and truth[('vfs', 'flush')][0] >= 8, 'rows', truth)
    equal(in_otf2(os.path.join(out, 'traces.otf2')), truth, 'operations and bytes by the reader of OTF2')
    done = world.command('otf2-print', os.path.join(out, 'traces.otf2'))
    equal(done.stderr, '', 'complaints of otf2-print')
    equal(done.stdout.count('IO_OPERATION_COMPLETE'), sum(one[0] for one in truth.values()), 'operations by otf2-print')


@test(host_only=True)
def perfetto_has_all(world):
    """Slices of threads and of a disk, and flows from calls to the requests that they caused."""
    sys.path.append(UNIT)
    import perfetto_reader
    module = perfetto_reader.decoder()
    if not module:
        raise Skip('there is no decoder of protocol buffers')
    device, out = world.loop(), world.path('perfetto')
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    world.undo.callback(os.close, fd)
    pages = mmap.mmap(-1, BLOCK)
    with world.session('--vfs', '--block', '--pid', os.getpid()) as session:
        do_work(world.make('seen'))
        for number in range(50):
            os.pwritev(fd, [pages], BLOCK * number)
            os.preadv(fd, [pages], BLOCK * number)
    world.ctl.exits(0, 'export', session.output, out, '--perfetto')
    with open(out, 'rb') as file:
        reading = perfetto_reader.Reading(module, file.read())
    for stream, size, error in (('vfs', 'bytes_completed', 'errno'), ('block', 'size', 'error')):
        truth, found = collections.Counter(), collections.Counter()
        for row in session.rows(stream):
            done = int(row[size] or 0) if row[error] == '0' else 0
            truth[row['operation'], done, bool(row['flow']), plain(row['filename'])] += 1
        for one in reading.slices:
            if one.category == stream:
                arguments = one.arguments
                found[one.name, arguments.get('bytes done', 0), bool(one.flows), arguments.get('file', '')] += 1
        check(truth, 'rows of ' + stream)
        equal(found, truth, 'slices of ' + stream)
    disk = os.path.basename(device)
    requests = [one for one in reading.slices if one.track == disk]
    calls = {one.flows[0]: one for one in reading.slices if one.category == 'vfs' and one.flows}
    caused = [one for one in requests if one.flows and one.flows[0] in calls]
    check(len(caused) >= 100, '%d requests of %d have a call' % (len(caused), len(requests)))
    check(all(calls[one.flows[0]].begin <= one.begin and one.end <= calls[one.flows[0]].end for one in caused),
          'a request of direct I/O is within its call')
    for word in ('read', 'write'):
        done = sum(one.arguments.get('bytes done', 0) for one in requests if one.name.lower() == word)
        equal(perfetto_reader.transferred(reading.counters['%s %s per second' % (disk, word)]), done, 'bytes of the disk')


@test(host_only=True)
def full_disk(world):
    """Nothing is left of what did not fit."""
    folder, small = world.make('full'), world.tmpfs(16 << 10)
    with world.session('--vfs', '--path', folder) as session:
        do_work(folder, 200)
    for option in ('--fio', '--otf2', '--perfetto'):
        done = world.ctl.exits(1, 'export', session.output, os.path.join(small, 'out'), option)
        check('No space left on device' in done.stderr or 'built without' in done.stderr, done.stderr)
        equal(os.listdir(small), [], 'files that are left')
