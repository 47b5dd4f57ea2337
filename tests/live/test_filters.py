# SPDX-License-Identifier: GPL-2.0-or-later
"""What a filter lets through is all of what it should, and nothing else."""
import os
import shutil
import subprocess
import time

from lib import account, ctl
from lib.match import complete, brief_row
from lib.registry import PATIENCE, check, equal, test, wait_for
from lib.trigger import Expected
from lib.world import device_number


def run_pair(world, options_of, name='read'):
    """Starts two triggers that wait, begins a session with options for the first, and lets both run."""
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
    complete(world.level, expected[0], rows, 'rows of the process')


@test
def pid_list(world):
    rows, pair, expected = run_pair(world, lambda process: [
        '--pid', '%d,%d' % (process.pid, process.pid + 1000000)])
    equal({row['pid'] for row in rows}, {str(pair[0].pid)}, 'processes')
    complete(world.level, expected[0], rows, 'rows of the process')


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
    complete(world.level, Expected(mine + '.expect'), rows, 'rows of the grandchild')
    names = [row['filename'] for row in rows if row['filename'].startswith(other)]
    equal(names, [], 'rows of a stranger')
    check(len({row['pid'] for row in rows}) >= 3, 'shell, child and grandchild',
          {(row['pid'], row['command']) for row in rows})


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
    complete(world.level, runs[0][1], rows, 'rows of the command')
    complete(world.level, runs[1][1], rows, 'the kernel keeps 15 bytes of a name')
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
    complete(world.level, Expected(expect), rows, 'rows of the user')


def readable(world):
    """A copy of the trigger that every user may execute."""
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
    complete(world.level, expected, rows, 'rows of the device')


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
    complete(world.level, writes, rows, 'rows of WRITE')
    complete(world.level, syncs, rows, 'rows of FSYNC')


@test
def min_latency(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--min-latency', '50ms') as session:
        _, expected = world.trigger.run('interrupted', world.path('slow'))
        world.trigger.run('read', world.path('fast'))
    rows = session.rows()
    check(all(int(row['latency_ns']) >= 50000000 for row in rows), 'rows that were faster')
    complete(world.level, expected, rows, 'the slow read')


@test
def min_size(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--min-size', '4K') as session:
        _, expected = world.trigger.run('dio_read', world.path('large'))
        world.trigger.run('read_end', world.path('small'))
    rows = session.rows()
    small = [row for row in rows if not row['size'] or int(row['size']) < 4096]
    equal(small, [], 'rows of smaller operations')
    complete(world.level, expected, rows, 'rows of large operations')


@test
def errors(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--errors') as session:
        _, expected = world.trigger.run('bad_descriptors', world.path('bad'))
        world.trigger.run('read', world.path('good'))
    rows = session.rows()
    check(all(int(row['errno']) for row in rows), 'rows that did not fail')
    complete(world.level, expected, rows, 'rows that failed')


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
    for seconds in (2, 20, 200):  # as the reads take longer than a session on a busy machine
        session = world.session('--vfs', '--command', 'iotr-trigger', '--duration', '%ds' % seconds)
        begin = time.monotonic()
        session.start()
        _, expected = world.trigger.run('read', world.path('duration'))
        if running(world, session.name):
            break
    wait_for('the end of the session', lambda: not running(world, session.name), pause=0.1)
    check(time.monotonic() - begin > 1, 'the session ended too early')
    account.balanced(account.manifest_true(session.output), 'manifest')
    complete(world.level, expected, session.rows(), 'rows of the session')


def running(world, name):
    """Whether the session is listed, and not as ended."""
    done = world.ctl.run('status', name, '--json')
    return done.returncode == 0 and '"ended"' not in done.stdout
