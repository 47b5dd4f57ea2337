# SPDX-License-Identifier: GPL-2.0-or-later
"""What a filter lets through is all of what it should, and nothing else."""
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import time

from lib import account, ctl
from lib import rows as trace
from lib.match import Matcher, brief_row
from lib.registry import PATIENCE, check, equal, test, wait_for
from lib.trigger import Expected
from lib.world import device_number, find_key



def complete(world, expected, rows, what):
    lines = Matcher(world.level).judge(expected.rows, expected.windows, rows)
    check(not lines, what, *lines)


def run_pair(world, options_of, name='read'):
    """Two waiting triggers, a session with options made of the first, then both run."""
    folders = [world.path('one'), world.path('other')]
    pair = [world.trigger.begin(name, folder) for folder in folders]
    with world.session('--vfs', *options_of(pair[0])) as session:
        expected = [world.trigger.go(process, name, folder)
                    for process, folder in zip(pair, folders)]
    return session.rows(), pair, expected


@test
def pid(world):
    rows, pair, expected = run_pair(world, lambda process: ['--pid', process.pid])
    equal({row['pid'] for row in rows}, {str(pair[0].pid)}, 'processes')
    complete(world, expected[0], rows, 'rows of the process')


@test
def pid_list(world):
    rows, pair, expected = run_pair(world, lambda process: [
        '--pid', '%d,%d' % (process.pid, process.pid + 1000000)])
    equal({row['pid'] for row in rows}, {str(pair[0].pid)}, 'processes')
    complete(world, expected[0], rows, 'rows of the process')


@test
def tree(world):
    """A shell that waits, then its grandchild works; a stranger works beside it."""
    mine, other = world.make('mine'), world.path('other')
    script = """read line; sh -c '"$0" --expect "$1.expect" read "$1"; :' "$0" "$1"; :"""
    shell = subprocess.Popen(['sh', '-c', script, world.trigger.program, mine], stdin=subprocess.PIPE)
    with world.session('--vfs', '--pid', shell.pid, '--tree') as session:
        world.trigger.run('read', other)
        shell.communicate(b'\n', timeout=PATIENCE)
    rows = session.rows()
    complete(world, Expected(mine + '.expect'), rows, 'rows of the grandchild')
    names = [row['filename'] for row in rows if row['filename'].startswith(other)]
    equal(names, [], 'rows of a stranger')
    check(len({row['pid'] for row in rows}) >= 3, 'shell, child and grandchild',
          {(row['pid'], row['command']) for row in rows})


FAMILY = """
import os, sys, threading
path, count = sys.argv[1], int(sys.argv[2])
gate, told = os.pipe(), os.pipe()

def child(number):
    # Every fourth has a child of its own, born by another thread, and ends only after that.
    def grow():
        if not os.fork():
            work(number + count)
    grower = threading.Thread(target=grow) if number % 4 == 0 else None
    if grower:
        grower.start()
        grower.join()
    work(number, grower)

def work(number, waits=None):
    os.close(gate[1])
    fd = os.open(path, os.O_RDONLY)
    os.write(told[1], b'x')
    os.read(gate[0], 1)
    os.pread(fd, number, 0)
    if waits:
        os.wait()
    os._exit(0)

print(os.getpid(), flush=True)
for number in range(1, count + 1):
    if not os.fork():
        child(number)
for _ in range(count + count // 4):
    assert os.read(told[0], 1)
print('ready', flush=True)
sys.stdin.readline()
os.close(gate[1])
for _ in range(count):
    os.wait()
"""


def family(path, count):
    return subprocess.Popen([sys.executable, '-c', FAMILY, path, str(count)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)


def sizes_of(session, path):
    return sorted(int(row['size']) for row in session.rows() if row['filename'] == path and row['operation'] == 'READ')


@test
def tree_alive(world):
    """Descendants that live before the session, those born as it begins, and their own, each by its read."""
    path, count = os.path.join(world.make('family'), 'file'), 200
    with open(path, 'wb') as file:
        file.write(b'x' * 1000)
    expected = sorted([*range(1, count + 1), *range(count + 4, 2 * count + 1, 4)])
    for wait in ('ready', 'born'):
        parent = family(path, count)
        pid = parent.stdout.readline().decode().strip()
        if wait == 'ready':
            parent.stdout.readline()
        session = world.session('--vfs', '--pid', pid, '--tree').start()
        if wait == 'born':
            parent.stdout.readline()
        parent.communicate(b'\n', timeout=PATIENCE)
        session.stop()
        equal(sizes_of(session, path), expected, 'reads of descendants, %s when it began' % wait)


LIBC = ctypes.CDLL(None, use_errno=True)


def bpf(command, words):
    """The system call, with so many 64-bit words of its attributes."""
    attributes = struct.pack('<%dQ' % len(words), *words)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = LIBC.syscall(321, command, buffer, len(attributes))
    check(result >= 0, 'bpf(%d): %s' % (command, os.strerror(ctypes.get_errno())))
    return result


def map_of(daemon, name):
    """A descriptor of the daemon's map."""
    folder = '/proc/%d/fdinfo' % daemon.process.pid
    for entry in os.listdir(folder):
        with open(os.path.join(folder, entry), encoding='ascii') as file:
            ids = [int(line.split()[1]) for line in file if line.startswith('map_id:')]
        if not ids:
            continue
        fd, info = bpf(14, [ids[0]]), ctypes.create_string_buffer(40)
        bpf(15, [len(info) << 32 | fd, ctypes.addressof(info)])  # struct bpf_map_info has the name at 24
        if info.raw[24:40].rstrip(b'\0').decode() == name:
            return fd
        os.close(fd)
    raise AssertionError('no map %s' % name)


def others_followed(daemon, count):
    """So many processes that there are not are under a filter of somebody's."""
    fd, key, value = map_of(daemon, 'accept_pid'), ctypes.c_uint32(), ctypes.c_uint64(1 << 63)
    for number in range(count):
        key.value = (1 << 23) + number
        bpf(2, [fd, ctypes.addressof(key), ctypes.addressof(value), 0])
    os.close(fd)


@test
def tree_without_room(world):
    """When no more processes can be followed, it is told how many, and the trace is not complete."""
    path, count = os.path.join(world.make('family'), 'file'), 120
    with open(path, 'wb') as file:
        file.write(b'x' * 1000)
    daemon, client = world.own_daemon()
    others_followed(daemon, 65536 - 50)
    parent = family(path, count)
    pid = parent.stdout.readline().decode().strip()
    parent.stdout.readline()
    session = world.session('--vfs', '--pid', pid, '--tree', '--rotate-interval', '1s', ctl=client).start()
    parent.communicate(b'\n', timeout=PATIENCE)
    living = session.status()
    time.sleep(3)  # all is counted anew once a second, and is not to be forgotten for it
    running = trace.manifest(session.output)
    session.stop()
    missing = count + count // 4 - len(sizes_of(session, path))
    check(missing > 0, 'there was room for all')
    told = [find_key(document, 'unfollowed') for document in
            (living, session.final, running, trace.manifest(session.output))]
    equal(told, [missing] * 4, 'processes not followed, in status, at the end, and in the manifest meanwhile and at the end')
    world.ctl.exits(1, 'verify', session.output, '--strict')
    with open(daemon.log, encoding='utf-8') as file:
        check('no room to follow more' in file.read(), 'nothing in the log')


def copy_as(world, name):
    path = os.path.join(world.make('bin'), name)
    shutil.copy(world.trigger.program, path)
    return type(world.trigger)(path)


@test
def command(world):
    """Names of the full length, and names that only begin alike."""
    full, longer, other = 'iotr-0123456789', 'iotr-0123456789abc', 'iotr-01'
    programs = [copy_as(world, name) for name in (full, longer, other)]
    with world.session('--vfs', '--command', full) as session:
        runs = [program.run('read', world.path('command')) for program in programs]
    rows = session.rows()
    equal({row['command'] for row in rows}, {full}, 'commands')
    complete(world, runs[0][1], rows, 'rows of the command')
    complete(world, runs[1][1], rows, 'the kernel keeps 15 bytes of a name')
    equal(ctl.own(rows, runs[2][0]), [], 'rows of another command')


@test
def uid(world):
    folder = world.make('uid')
    os.chown(folder, 65534, 65534)
    os.chmod(world.folder, 0o755)
    with world.session('--vfs', '--uid', '65534') as session:
        world.trigger.run('read', world.path('root'))
        expect = os.path.join(folder, 'expect')
        subprocess.run([readable(world), '--expect', expect, 'write', folder], user=65534,
                       group=65534, check=True, timeout=PATIENCE)
    rows = session.rows()
    equal({row['uid'] for row in rows}, {'65534'}, 'users')
    complete(world, Expected(expect), rows, 'rows of the user')


def readable(world):
    """The trigger where any user may run it."""
    program = copy_as(world, 'iotr-trigger').program
    os.chmod(program, 0o755)
    os.chmod(os.path.dirname(program), 0o755)
    return program


@test
def device(world):
    there = os.path.join(world.tmpfs(16 << 20), 'work')
    number = os.stat(os.path.dirname(there)).st_dev
    number = '%d:%d' % (os.major(number), os.minor(number))
    with world.session('--vfs', '--device', number) as session:
        world.trigger.run('read', world.path('elsewhere'))
        _, expected = world.trigger.run('read', there)
    rows = session.rows()
    others = [brief_row(row) for row in rows if row['device'] != number]
    check(not others, 'rows of other devices', *others[:10])
    complete(world, expected, rows, 'rows of the device')


@test
def device_node(world):
    """A block device by its path."""
    loop = world.loop()
    with world.session('--block', '--device', loop) as session:
        world.trigger.block(loop, 'write:4096:4096')
        world.command('sync', world.folder)
    rows = session.rows('block')
    check(rows, 'no rows of the device')
    equal({row['device'] for row in rows}, {device_number(loop)}, 'devices')


@test
def operation(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--operation',
                       'WRITE,FSYNC') as session:
        _, writes = world.trigger.run('write', world.path('operation'))
        _, syncs = world.trigger.run('fsync', world.path('operation'))
        world.trigger.run('read', world.path('operation'))
    rows = session.rows()
    equal({row['operation'] for row in rows}, {'WRITE', 'FSYNC'}, 'operations')
    complete(world, writes, rows, 'rows of WRITE')
    complete(world, syncs, rows, 'rows of FSYNC')


@test
def min_latency(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--min-latency', '50ms') as session:
        _, expected = world.trigger.run('interrupted', world.path('slow'))
        world.trigger.run('read', world.path('fast'))
    rows = session.rows()
    check(all(int(row['latency_ns']) >= 50000000 for row in rows), 'rows that were faster')
    complete(world, expected, rows, 'the slow read')


@test
def min_size(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--min-size', '4K') as session:
        _, expected = world.trigger.run('dio_read', world.path('large'))
        world.trigger.run('read_end', world.path('small'))
    rows = session.rows()
    small = [row for row in rows if not row['size'] or int(row['size']) < 4096]
    equal(small, [], 'rows of smaller operations')
    complete(world, expected, rows, 'rows of large operations')


@test
def errors(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--errors') as session:
        _, expected = world.trigger.run('bad_descriptors', world.path('bad'))
        world.trigger.run('read', world.path('good'))
    rows = session.rows()
    check(all(int(row['errno']) for row in rows), 'rows that did not fail')
    complete(world, expected, rows, 'rows that failed')


@test
def together(world):
    """Several filters must all pass."""
    rows, pair, _ = run_pair(world, lambda process: [
        '--pid', process.pid, '--operation', 'READ,CLOSE', '--errors'], 'bad_descriptors')
    equal({(row['pid'], row['operation']) for row in rows},
          {(str(pair[0].pid), 'READ'), (str(pair[0].pid), 'CLOSE')}, 'processes and operations')


@test
def duration(world):
    """A session that ends by itself leaves complete files."""
    session = world.session('--vfs', '--command', 'iotr-trigger', '--duration', '2s')
    begin = time.monotonic()
    session.start()
    _, expected = world.trigger.run('read', world.path('duration'))
    wait_for('the end of the session', lambda: not running(world, session.name), pause=0.1)
    check(time.monotonic() - begin > 1, 'the session ended too early')
    account.balanced(account.manifest_true(session.output), 'manifest')
    complete(world, expected, session.rows(), 'rows of the session')


def running(world, name):
    """Neither gone nor told as ended."""
    done = world.ctl.run('status', name, '--json')
    return done.returncode == 0 and '"ended"' not in done.stdout
