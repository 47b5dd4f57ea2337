# SPDX-License-Identifier: GPL-2.0-or-later
"""`amplification`: I/O of which every byte is known, and who it is of."""
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys

from lib.amplified import Counting, consistent, factor, operations, size
from lib.registry import check, equal, test

PAGE = 4096
WRITES = 40
# Writes pages and has each on the disk, then reads them past the cache; tells what the kernel counted of it.
KNOWN = '''
import mmap, os, sys
count, path = int(sys.argv[1]), sys.argv[2]
page = mmap.mmap(-1, 4096)
fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
for at in range(count):
    os.pwrite(fd, page, at * 4096)
    os.fdatasync(fd)
direct = os.open(path, os.O_RDWR | os.O_DIRECT)
for at in range(count):
    os.preadv(direct, [page], at * 4096)
print(os.getpid(), flush=True)
sys.stdin.read()
'''


def process(counting, pid):
    return next((one for one in counting.reply['groups'] if one.get('pid') == pid), None)


def await_process(counting, pid, condition):
    for _ in range(100):
        counting.next()
        found = process(counting, pid)
        if found and condition(found):
            return found
    check(False, 'process %d is not counted as it has to be' % pid, str(process(counting, pid)))


@test
def bytes_and_calls(world):
    """Each call, and at least its bytes on the disk, of a process that lives; sockets and pipes are none of it."""
    path = os.path.join(world.make('known'), 'file')
    with Counting(world.ctl, '--by', 'process', '--lines', '200') as counting:
        with subprocess.Popen([sys.executable, '-c', KNOWN, str(WRITES), path], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as child:
            pid = int(child.stdout.readline())
            with open('/proc/%d/io' % pid, encoding='ascii') as file:
                kernel = dict(line.split(': ') for line in file.read().splitlines())
            group = await_process(counting, pid, lambda one: operations(one, 'write', 'application') == WRITES and
                                  operations(one, 'read', 'device') >= WRITES)
            child.stdin.close()
    consistent(group)
    equal(size(group, 'write', 'application'), WRITES * PAGE, 'bytes written')
    equal(operations(group, 'write', 'vfs'), WRITES, 'of them in the VFS')
    check(size(group, 'write', 'device') >= WRITES * PAGE, 'bytes written on the disk', group['write'])
    check(size(group, 'read', 'device') >= WRITES * PAGE, 'bytes read on the disk', group['read'])
    # What the kernel counts for the process: pages made dirty, and bytes asked of disks.
    check(abs(size(group, 'write', 'cache') - int(kernel['write_bytes'])) <= 16 * PAGE, 'pages made dirty',
          group['write'], kernel)
    check(abs(size(group, 'read', 'device') - int(kernel['read_bytes'])) <= 64 * PAGE, 'bytes from disks',
          group['read'], kernel)
    check(factor(group, 'write') >= 1, 'amplification of writes by bytes', group['write'])
    check(factor(group, 'write', 'by_operations') >= 2, 'amplification of writes by operations', group['write'])
    equal((group['kind'], group['system']), ('named', None), 'who it is')


@test
def says_what_is_not_back(world):
    """What was written and is in the page cache alone is told as such; what is read from there, too."""
    path = os.path.join(world.make('cached'), 'file')
    script = 'head -c 4M /dev/zero > "$1"; cat "$1" > /dev/null; echo $$; read line'
    with Counting(world.ctl, '--by', 'system', '--lines', '200') as counting:
        before = counting.groups().get('none', {}).get('write', {}).get('application', {}).get('bytes', 0)
        with subprocess.Popen(['sh', '-c', script, 'sh', path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as child:
            child.stdout.readline()
            group = counting.until('none', lambda one: size(one, 'write', 'application') >= before + (4 << 20) and
                                   one['read']['from_cache_bytes'] >= 3 << 20)  # less what was read ahead
            child.stdin.close()
    consistent(group)
    waiting = group['write']['not_back_bytes']
    known = group['write']['by_bytes']
    check(not waiting or known['value'] is None or known['at_least'], 'what is not back', group['write'])
    check(not waiting or known['reason'], 'why', group['write'])


def write_rules(world, text):
    path = os.path.join(world.make('rules'), 'conf')
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Snapshots]\nSystem=off\nProcess=off\nFilesystem=off\n' + text)
    os.chmod(path, 0o600)
    return path


def stand_in(world, name):
    """A program of that name that writes: a copy of dd."""
    path = os.path.join(world.make('programs'), name)
    shutil.copy(shutil.which('dd'), path)
    return path


@test
def stand_ins(world):
    """
    Stand-ins for MinIO, which writes parts past the cache to several drives and their metadata synchronously, and for
    Ceph's OSD, which writes past the cache and then its log; both are copies of dd. One called like a system in part is
    none, nor is one whose name was changed; a rule of the configuration finds that one by its path.
    """
    minio, osd, other = stand_in(world, 'minio'), stand_in(world, 'ceph-osd'), stand_in(world, 'minio-console')
    store = stand_in(world, 'postgres-renamed')
    folder = world.make('drives')
    _, ctl = world.own_daemon('--config', write_rules(world, '[System Store]\nExecutable=%s\n' % store), loaded=False)
    with Counting(ctl, '--lines', '200') as counting:
        for drive in range(4):
            world.command(minio, 'if=/dev/zero', 'of=%s/part.%d' % (folder, drive), 'bs=256K', 'count=4',
                          'oflag=direct', 'status=none')
            world.command(minio, 'if=/dev/zero', 'of=%s/xl.meta.%d' % (folder, drive), 'bs=1K', 'count=1',
                          'oflag=dsync', 'status=none')
        world.command(osd, 'if=/dev/zero', 'of=%s/block' % folder, 'bs=64K', 'count=8', 'oflag=direct', 'status=none')
        world.command(osd, 'if=/dev/zero', 'of=%s/db.wal' % folder, 'bs=4K', 'count=8', 'conv=fdatasync',
                      'status=none')
        world.command(other, 'if=/dev/zero', 'of=%s/other' % folder, 'bs=1M', 'count=32', 'oflag=direct',
                      'status=none')
        # Of a process that has ended before it was looked at, the path is not known: this one waits for its input.
        with subprocess.Popen([store, 'of=%s/store' % folder, 'bs=4K', 'count=3', 'iflag=fullblock', 'oflag=dsync',
                               'status=none'], stdin=subprocess.PIPE) as child:
            child.stdin.write(bytes(2 * PAGE))
            child.stdin.flush()
            counting.until('Store', lambda one: operations(one, 'write', 'application') == 2)
            child.stdin.write(bytes(PAGE))
        minio_group = counting.until('MinIO', lambda one: size(one, 'write', 'device') >= 4 << 20)
        osd_group = counting.until('Ceph', lambda one: size(one, 'write', 'device') >= 544 << 10)
        # A write is counted when it ends, which is after the disk has it.
        store_group = counting.until('Store', lambda one: size(one, 'write', 'device') >= 12 << 10 and
                                     operations(one, 'write', 'application') >= 3)
        check('PostgreSQL' not in counting.groups(), 'a renamed program was taken for another', counting.groups().keys())
    for group in (minio_group, osd_group, store_group):
        consistent(group)
    equal(size(minio_group, 'write', 'application'), (4 << 20) + (4 << 10), 'bytes of MinIO')
    equal(operations(minio_group, 'write', 'application'), 20, 'writes of MinIO')
    equal(size(osd_group, 'write', 'application'), 544 << 10, 'bytes of Ceph')
    equal(operations(store_group, 'write', 'application'), 3, 'writes of the configured store')


@test
def children(world):
    """What a system's child does is the system's, also when it lives for a moment alone; a sibling's is not."""
    folder = world.make('children')
    server = os.path.join(world.make('programs'), 'etcd')
    shutil.copy(os.path.realpath(shutil.which('sh')), server)
    script = 'i=0; while [ $i -lt 5 ]; do dd if=/dev/zero of=%s/$i bs=4K count=2 conv=fsync status=none; i=$((i+1)); done'
    with Counting(world.ctl, '--lines', '200') as counting:
        world.command(server, '-c', script % folder + '; true')
        world.command('sh', '-c', script % folder + '; true')
        group = counting.until('etcd', lambda one: operations(one, 'write', 'application') >= 10)
    equal((operations(group, 'write', 'application'), size(group, 'write', 'application')), (10, 10 * PAGE),
          'writes of the children')


def of_command(world, options, *command):
    """What is counted of a command that prints nothing."""
    return json.loads(world.ctl.exits(0, 'amplification', '--json', *options, '--', *command).stdout)


# Writes by itself, by a child, and by one whose parent has ended before, past the cache: 3, 5 and 7 pages.
FAMILY = '''
dd if=/dev/zero of="$1/child" bs=4K count=5 oflag=direct status=none
(sh -c 'dd if=/dev/zero of="$1/orphan" bs=4K count=7 oflag=direct status=none; mkdir "$1/done"' sh "$1" &)
while [ ! -e "$1/done" ]; do sleep 0.02; done
exec dd if=/dev/zero of="$1/itself" bs=4K count=3 oflag=direct status=none
'''
STRANGER = 'while :; do dd if=/dev/zero of="$1" bs=4K count=8 oflag=direct status=none; done'


@test
def command(world):
    """A command's I/O with that of all its descendants, each byte and none of others'; the machine's is beside it."""
    folder = world.make('family')
    with subprocess.Popen(['sh', '-c', STRANGER, 'sh', os.path.join(world.make('strange'), 'file')],
                          start_new_session=True) as stranger:
        try:
            reply = of_command(world, ['--by', 'process', '--lines', '200'], 'sh', '-c', FAMILY, 'sh', folder)
        finally:
            os.killpg(stranger.pid, signal.SIGKILL)
    found = reply['command']
    consistent(found)
    equal((operations(found, 'write', 'application'), size(found, 'write', 'application')), (15, 15 * PAGE), 'writes')
    check(size(found, 'write', 'device') >= 15 * PAGE, 'bytes on the disk', found['write'])
    check(size(reply['all'], 'write', 'application') > 15 * PAGE, 'the machine has no more', reply['all']['write'])
    pages = sorted(size(one, 'write', 'application') // PAGE for one in reply['groups'] if one['name'] == 'dd')
    equal(pages, [3, 5, 7], 'pages of each dd')
    equal({one['kind'] for one in reply['groups']} - {'no_room'}, {'named'}, 'kinds of groups')
    equal((reply['exit_code'], reply['unfollowed'], found['name']), (0, 0, 'sh'), 'what else is told')


@test
def command_settled(world):
    """What a command leaves dirty is written before the end, for whoever waits for it."""
    path = os.path.join(world.make('settled'), 'file')
    reply = of_command(world, ['--settle'], 'dd', 'if=/dev/zero', 'of=' + path, 'bs=64K', 'count=32', 'status=none')
    found = reply['command']
    consistent(found)
    equal(size(found, 'write', 'application'), 2 << 20, 'bytes written')
    check(size(found, 'write', 'device') >= 2 << 20, 'bytes on the disk', found['write'])


@test(host_only=True)
def command_shown(world):
    """A table of the command and the machine, behind what the command prints; its exit code, and signals, are the command's."""
    path = os.path.join(world.make('shown'), 'file')
    done = world.ctl.exits(7, 'amplification', '--', 'sh', '-c',
                           'dd if=/dev/zero of="$1" bs=4K count=2 oflag=direct status=none; echo done; exit 7', 'sh', path)
    lines = done.stdout.splitlines()
    equal(lines[0], 'done', 'the first line')
    rows = [line.split() for line in lines if line.startswith(('COMMAND', 'sh ', '(machine) '))]
    equal([row[0] for row in rows[:3]], ['COMMAND', 'sh', '(machine)'], 'the first table')
    equal(rows[1][2], '2', 'writes of the command')
    check(not any(line.startswith('(all)') for line in lines), 'rows of all', *lines)
    table = list(csv.DictReader(io.StringIO(world.ctl.exits(
        0, 'amplification', '--csv', '--by', 'process', '--', 'dd', 'if=/dev/zero', 'of=' + path, 'bs=4K', 'count=2',
        'oflag=direct', 'status=none').stdout)))
    equal([row['process'].split()[-1] for row in table], ['dd', '(command)', '(machine)'], 'rows of CSV')
    equal([row['bytes_written'] for row in table[:2]], ['8192', '8192'], 'bytes in CSV')
    world.ctl.exits(127, 'amplification', '--', '/nowhere/at/all')
    world.ctl.exits(137, 'amplification', '--', 'sh', '-c', 'kill -9 $$')
    with subprocess.Popen(world.ctl.command('amplification', '--', 'sh', '-c', 'echo; exec sleep 60'),
                          stdout=subprocess.PIPE, text=True) as view:
        view.stdout.readline()
        view.terminate()
        text = view.stdout.read()
        equal(view.wait(), 143, 'exit code after a signal')
        check('(machine)' in text, 'no table after a signal', text)


@test(host_only=True)
def output(world):
    """Tables, CSV with the fields of the summary, and what is refused."""
    path = os.path.join(world.make('shown'), 'file')
    with subprocess.Popen(['sh', '-c', 'while :; do dd if=/dev/zero of="$1" bs=4K count=8 conv=fdatasync status=none; '
                           'done', 'sh', path]) as writer:
        try:
            text = world.ctl.exits(0, 'amplification', '--duration', '2s').stdout
            table = world.ctl.exits(0, 'amplification', '--duration', '2s', '--csv', '--by', 'device').stdout
        finally:
            writer.terminate()
    for part in ('=== I/O Amplification Summary ===', 'SYSTEM', 'SYS_R', 'SYS_W', 'VFS_R', 'VFS_W', 'BLK_R', 'BLK_W',
                 'R_AMP', 'W_AMP', '(other)', '(VFS + block) / system calls', 'device / application', 'FILESYSTEM'):
        check(part in text, 'there is no %s' % part, text)
    check('\033' not in text, 'escape sequences', text)
    rows = list(csv.DictReader(io.StringIO(table)))
    check(rows and rows[0]['device'] and int(rows[0]['syscall_writes']) > 0, 'rows', table)
    for row in rows:
        if row['read_amplification']:
            expected = (int(row['vfs_reads']) + int(row['block_reads'])) / int(row['syscall_reads'])
            check(abs(expected - float(row['read_amplification'])) < 0.001, 'the formula', row)
        equal(int(row['total_operations']), sum(int(row[key]) for key in (
            'syscall_reads', 'syscall_writes', 'vfs_reads', 'vfs_writes', 'block_reads', 'block_writes')), 'total')
    for args in (['--by', 'disk'], ['--system', 'Postgres'], ['--lines', '0'], ['--duration', '1ms'], ['name'],
                 ['--csv', '--json']):
        world.ctl.exits(2, 'amplification', *args)


@test(host_only=True)
def all_the_time(world):
    """With the setting, what happened before somebody asks is told at once; a reload switches it."""
    rules = write_rules(world, '[Amplification]\nCounting=yes\n')
    folder = world.make('before')
    program = stand_in(world, 'minio')
    daemon, ctl = world.own_daemon('--config', rules)
    for _ in range(200):
        world.command(program, 'if=/dev/zero', 'of=%s/file' % folder, 'bs=4K', 'count=2', 'oflag=direct', 'status=none')
        reply = ctl.json('amplification')
        found = [one for one in reply['groups'] if one['name'] == 'MinIO']
        if found:
            break
    check(found and size(found[0], 'write', 'application') >= 2 * PAGE, 'what was written before', reply)
    with open(rules, 'w', encoding='ascii') as file:
        file.write('[Amplification]\nCounting=no\n')
    ctl.exits(0, 'reload')
    started = ctl.json('amplification', '--duration', '200ms')
    check(started['duration_ns'] < 60e9, 'a window of its own', started['duration_ns'])
    equal(daemon.alive(), True, 'the daemon lives')


@test
def of_a_loop_device(world):
    """The disk below does all of it, but for a thread of the kernel's: that is not known, and not 0."""
    device = world.loop()
    for direction, code in (('write', 'os.pwrite(os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, 1 << 20), 0)'),
                            ('read', 'os.preadv(os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), [mmap.mmap(-1, 1 << 20)], 0)')):
        done = world.ctl.exits(0, 'amplification', '--settle', '--json', '--', sys.executable, '-c',
                               'import mmap, os, sys; ' + code, device)
        found = json.loads(done.stdout)['command'][direction]
        check(found['application']['bytes'] >= 1 << 20, 'what the command did', found['application'])
        known = found['device']['bytes']
        equal((known is None, found['by_bytes']['value'] is None), (not known, not known), 'what is not known')
        check(known is None or found['by_bytes']['at_least'], 'no more than a part is known', found)
        check(found['by_bytes']['reason'], 'why', found['by_bytes'])
