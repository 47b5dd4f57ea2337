# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions: their names, folders, files and ends."""
import fcntl
import os
import re
import struct
import subprocess
import termios

from lib import account, rows
from lib.calls import in_call
from lib.match import complete
from lib.registry import PATIENCE, check, equal, test, wait_for
from lib.world import find_key

MAX = 64


def refused(world, *args, code=(1, 2)):
    done = world.ctl.exits(code, 'start', *args)
    check(done.stderr.strip(), 'nothing on stderr says why')
    return done.stderr


@test
def together(world):
    """64 sessions at once, each with every row; one more is refused, and so is a self-test, which needs sessions."""
    sessions = [world.session('--vfs', '--command', 'iotr-trigger', '--operation', 'READ')
                for _ in range(MAX)]
    world.undo.callback(lambda: world.ctl.run('stop', '--all'))
    for session in sessions:
        session.start()
    refused(world, 'one-more', '--vfs', '--output', world.path('trace'), code=1)
    checks = world.ctl.json('doctor')['checks']
    one, = [one for one in checks if one['check'] == 'self-test']
    check(not one['ok'] and '64' in one['detail'], 'self-test without room', one)
    check(not any('test' in one for one in checks), 'operations that were tried', checks)
    _, expected = world.trigger.run('read', world.path('work'))
    for session in sessions:
        session.stop()
        complete(world.level, expected, session.rows(), 'session %s' % session.name)


def unread(pipe):
    """Bytes in the pipe."""
    return struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


@test
def slot_of_another(world):
    """A call that began for a session which has ended makes no row in the session that got its slot."""
    reader = subprocess.Popen(['dd', 'bs=1', 'count=2', 'of=/dev/null', 'status=none'], stdin=subprocess.PIPE,
                              bufsize=0)
    options = ['--vfs', '--pseudo-fs', '--operation', 'READ', '--pid']
    wait_for('the read', lambda: in_call(reader.pid, 0))
    first = world.session(*options, reader.pid).start()
    with world.session(*options, os.getpid()):  # keeps the hooks attached
        reader.stdin.write(b'a')
        wait_for('the next read', lambda: not unread(reader.stdin) and in_call(reader.pid, 0))
        first.stop()
        with world.session(*options, os.getpid()) as later:
            reader.communicate(b'b', timeout=PATIENCE)
    equal([row['operation'] for row in later.rows() if row['pid'] == str(reader.pid)], [], 'rows of the process')


@test
def stop_all(world):
    sessions = [world.session('--vfs', '--pid', os.getpid()).start() for _ in range(3)]
    final = world.ctl.json('stop', '--all')
    for session in sessions:
        account.balanced(rows.manifest(session.output), 'manifest')
    account.balanced(final, 'status')
    equal([one for one in rows.walk(world.ctl.json('list')) if 'output' in one], [], 'sessions')


@test
def name_twice(world):
    with world.session('--vfs', '--pid', os.getpid()) as session:
        why = refused(world, session.name, '--vfs', '--output', world.path('trace'), code=1)
        check(session.name in why, 'stderr does not name the session', why)
    with world.session('--vfs', '--pid', os.getpid(), name=session.name):
        pass


@test
def name_bad(world):
    for name in ('a/b', '..', '.', '.hidden', '', 'n' * 300, 'n' * 65, 'new\nline', '/', 'sp ace'):
        refused(world, name, '--vfs', '--output', world.path('trace'))
    with world.session('--vfs', '--pid', os.getpid(), name='A.b_c-' + 'n' * 58):
        pass


@test
def name_default(world):
    """Without a name: `default`, below the log folder of the daemon."""
    world.undo.callback(lambda: world.ctl.run('stop', 'default'))
    done = world.ctl.exits((0, 6), 'start', '--vfs', '--pid', os.getpid())
    where = os.path.join(world.daemon.folder, 'log', 'default')
    check(where in done.stdout, 'the output folder is not printed', done.stdout)
    output = find_key(world.ctl.json('status', 'default'), 'output')
    check(re.fullmatch(re.escape(where) + r'/\d{8}T\d{6}Z', output), 'output folder', output)
    final = world.ctl.json('stop', 'default')
    account.session_true(output, final)


@test
def output_missing(world):
    """Made where it is missing; refused where there is no place for it."""
    with world.session('--vfs', '--pid', os.getpid(), output=world.path('new')):
        pass
    refused(world, 'lost', '--vfs', '--output', '/nowhere/at/all', code=1)


@test
def output_not_empty(world):
    folder = world.make('full')
    with open(os.path.join(folder, 'something'), 'w', encoding='utf-8'):
        pass
    why = refused(world, 'full', '--vfs', '--output', folder, code=1)
    check(folder in why, 'stderr does not name the folder', why)
    equal(os.listdir(folder), ['something'], 'what is in the folder')


@test
def output_no_folder(world):
    path = world.path('file')
    with open(path, 'w', encoding='utf-8'):
        pass
    refused(world, 'file', '--vfs', '--output', path, code=1)


@test
def output_read_only(world):
    mount = world.tmpfs(1 << 20)
    world.command('mount', '-o', 'remount,ro', mount)
    refused(world, 'fixed', '--vfs', '--output', os.path.join(mount, 'trace'), code=1)
    refused(world, 'fixed', '--vfs', '--output', mount, code=1)


def rows_on_full_disk(output):
    """Whole rows in the files, however the last write ended."""
    count = 0
    folder = os.path.join(output, 'fs')
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), 'rb') as file:
            text = file.read()
        count += len(rows.parse(name, text[:text.rfind(b'\n') + 1]))
    return count


@test
def output_full(world):
    """A session on a full disk counts what it lost; another goes on."""
    mount = world.tmpfs(1 << 20)
    options = ('--vfs', '--command', 'iotr-trigger', '--operation', 'READ', '--compress', 'none')
    full = world.session(*options, output=os.path.join(mount, 'trace')).start()
    with world.session(*options) as good:
        world.undo.callback(lambda: world.ctl.run('stop', full.name))
        _, expected = world.trigger.run('count', world.path('work'), '--count', '10000')
        early = account.streams(full.status())['vfs']
        check(early['written'] + account.total(early['lost']) <= early['emitted'], early)
    check(len(good.rows()) >= 10000, 'rows of the other session', len(good.rows()))
    complete(world.level, expected, good.rows(), 'the other session')
    final = world.ctl.json('stop', full.name, code=(0, 1, 6))
    accounts = account.balanced(final, 'status')
    check(accounts['vfs']['lost']['disk'] > 0, 'no loss on the disk', accounts)
    equal(rows_on_full_disk(full.output), accounts['vfs']['written'], 'rows in the files')


@test
def parts(world):
    """A file has the ending .part while it is being written."""
    with world.session('--vfs', '--command', 'iotr-trigger') as session:
        world.trigger.run('read', world.path('work'))
        equal([os.path.basename(path) for path in rows.parts(os.path.join(session.output, 'fs'))],
              ['fs_000001.csv.part'], 'files being written')
        equal(rows.segments(session.output, 'vfs'), [], 'files done')
    equal([os.path.basename(path) for path in rows.segments(session.output, 'vfs')],
          ['fs_000001.csv'], 'files done')


def numbered(output, least):
    """The segments follow each other without a gap."""
    names = [os.path.basename(path) for path in rows.segments(output, 'vfs')]
    check(len(names) >= least, 'few segments', names)
    equal(names, ['fs_%06d.csv' % number for number in range(1, len(names) + 1)], 'segments')


@test
def rotate(world):
    """`rotate` begins new files; those that it closes are complete while the session goes on."""
    expected = []
    with world.session('--vfs', '--command', 'iotr-trigger') as session:
        for number in range(1, 4):
            expected.append(world.trigger.run('read', world.path('work'))[1])
            closed = world.ctl.json('rotate', session.name)
            check('fs_%06d.csv' % number in str(closed), 'paths of the closed segments', closed)
            wait_for('the manifest to name what is closed', lambda number=number: number <= sum(
                account.checksum(one) is not None for one in account.segment_list(rows.manifest(session.output))))
            account.manifest_true(session.output)
            there = [row for path in rows.segments(session.output, 'vfs')
                     for row in rows.parse(path)]
            for one in expected:
                complete(world.level, one, there, 'rows in the closed segments')
    numbered(session.output, 3)


@test
def rotate_busy(world):
    """No row is lost by a rotation under load."""
    folder = world.path('work')
    with world.session('--vfs', '--command', 'iotr-trigger', '--operation', 'READ') as session:
        process = world.trigger.begin('count', folder, '--count', '20000')
        process.stdin.write(b'\n')
        process.stdin.flush()
        for _ in range(5):
            world.ctl.json('rotate', session.name)
        expected = world.trigger.go(process, 'count', folder)
    complete(world.level, expected, session.rows(), 'rows over all segments')
    numbered(session.output, 1)


@test
def manifest(world):
    """The manifest has what a later reader of the trace needs to know."""
    with world.session('--vfs', '--command', 'iotr-trigger') as session:
        world.trigger.run('read', world.path('work'))
    document = rows.manifest(session.output)
    names = [one for one in rows.walk(document) if one.get('name') == 'mono_ns']
    check(names and names[0].get('type') and 'unit' in names[0], 'columns with type and unit')
    text = str(document)
    for wanted in (os.uname().release, os.uname().nodename, session.name, 'iotr-trigger'):
        check(wanted in text, 'the manifest does not tell %s' % wanted)


@test
def absent(world):
    for verb in ('status', 'stop', 'rotate'):
        done = world.ctl.exits(5, verb, 'nobody')
        check('nobody' in done.stderr, 'stderr does not name the session', done.stderr)


@test
def usage(world):
    for args in (['--nonsense'], ['nonsense'], ['start', '--nonsense'], ['start', 'name'],
                 ['start', '--vfs', '--pid', 'x'], ['start', '--vfs', '--operation', 'NONE'],
                 ['start', '--vfs', '--min-latency', '5 parsecs'], ['stop'],
                 ['start', '--vfs', '--command', 'n' * 16], ['record', '--vfs']):
        done = world.ctl.exits(2, *args)
        check(done.stderr.strip(), 'nothing on stderr')


@test
def unreachable(world):
    ctl = type(world.ctl)(world.ctl_program, world.path('nowhere'))
    for args in (['list'], ['start', '--vfs'], ['status'], ['stop', '--all']):
        done = ctl.exits(3, *args)
        check(done.stderr.strip(), 'nothing on stderr')


@test
def help_texts(world):
    for verb in ('start', 'stop', 'list', 'status', 'record', 'rotate', 'streams', 'version'):
        done = world.ctl.exits(0, verb, '--help')
        check(done.stdout.strip(), 'no help for %s' % verb)
