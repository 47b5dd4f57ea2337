# SPDX-License-Identifier: GPL-2.0-or-later
"""After SIGKILL: files are recovered, the manifest tells of the gap, and sessions go on."""
import glob
import json
import os
import shutil
import signal
import time

from lib import rows
from lib.account import settled, size
from lib.load import Load
from lib.registry import check, equal, test, wait_for

SECOND = 10**9


def notes(daemon):
    return daemon.notes('running'), daemon.notes('recover')


def session_of(ctl, name):
    found = [one for one in ctl.json('list')['sessions'] if one['name'] == name]
    return found[0] if found else None


def filters(work):
    """The load's command name, as a session of certain processes does not go on."""
    with open('/proc/%d/comm' % work.pid, encoding='ascii') as file:
        return '--vfs', '--command', file.read().strip(), '--operation', 'READ,WRITE'


def numbers(folder, work):
    """Offsets of the load's rows, in the order of the files."""
    return [int(row['offset']) for row in rows.read(folder, 'vfs') if row['pid'] == str(work.pid)]


def start(world, ctl, name, *options):
    """The folder of a new session, given with --output."""
    output = world.path(name)
    ctl.json('start', name, *options, '--output', output, code=(0, 6))
    return output


def touch(world):
    world.command('touch', os.path.join(world.make('work'), 'first'))


def count(*paths):
    """Number of rows of files that may end in the middle of one."""
    return sum(max(0, rows.content(path).count(b'\n') - 1) for path in paths)


def vfs_parts(output):
    """Segments of VFS that are being written: the table of cgroups is written beside them, and grows at any time."""
    return [path for path in rows.parts(output) if os.path.basename(os.path.dirname(path)) == rows.FOLDERS['vfs']]


def wait_rows(*outputs):
    """Waits until each session has rows in the file that is being written."""
    wait_for('rows in a file', lambda: all(count(*vfs_parts(output)) for output in outputs))


@test(host_only=True)
def under_load(world):
    """
    No hole, and every row that was in a file, which the soaks tell how late that is; then the session
    goes on by itself.
    """
    daemon, ctl = world.own_daemon()
    work = Load(world, 1000)
    output = ctl.json('start', 'busy', *filters(work), code=(0, 6))['session']['output']
    quiet = start(world, ctl, 'quiet', '--vfs', '--command', 'touch')
    work.go()
    touch(world)
    wait_rows(output, quiet)
    ctl.json('rotate', 'busy')
    wait_rows(output)
    there = count(*rows.segments(output, 'vfs'), *vfs_parts(output))
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    resumed = session_of(ctl, 'busy')
    check(resumed, 'the session does not go on', *daemon.tail())
    wait_rows(resumed['output'])
    work.kill()
    ctl.json('stop', 'busy')
    equal(len(notes(daemon)[0]), 1, 'notes, of the quiet session alone')
    ctl.json('stop', 'quiet')
    equal(notes(daemon), ([], []), 'notes after the end')
    judge_killed(ctl, work, output, there)
    judge_resumed(ctl, work, output, resumed['output'])
    check(any(row['filename'].endswith('/first') for row in rows.read(quiet, 'vfs')),
          'a row is lost that was in the file')
    ctl.verified(quiet)


def peak(daemon):
    """Bytes of memory that it has used at most."""
    with open('/proc/%d/status' % daemon.process.pid, encoding='ascii') as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith('VmHWM:'))


@test(host_only=True)
def large_manifest(world):
    """A manifest of 230,000 files is recovered like one of a few: it names all of them, and takes little memory."""
    daemon, ctl = world.own_daemon(fresh=True)
    output = ctl.json('start', 'large', '--vfs', '--command', 'touch', code=(0, 6))['session']['output']
    touch(world)
    wait_rows(output)
    daemon.stop(signal.SIGKILL)
    document, path = rows.manifest(output), os.path.join(output, 'manifest.json')
    one = dict(document['segments'][0], state='removed', rows=2, bytes=100, stored_bytes=0, xxh128='0' * 32,
               first_time='2026-11-21T12:24:10.000000000Z', last_time='2026-11-21T12:24:10.000000000Z',
               first_mono_ns=1, last_mono_ns=2)
    document['segments'] = [dict(one, path='fs/fs_%06d.csv' % number) for number in range(1000, 231000)] + \
        document['segments']
    document['streams']['vfs'].update(emitted=460000, written=460000, removed=460000)
    with open(path, 'w', encoding='ascii') as file:
        json.dump(document, file)
    size = os.path.getsize(path)
    check(size > 64 << 20, 'size of the manifest', size)
    daemon.recover()
    ctl.json('stop', 'large')
    wait_for('the manifest to tell that the recovered file is compressed',
             lambda: rows.manifest(output)['segments'][-1]['state'] == 'compressed', pause=1)
    after = rows.manifest(output)
    equal(len(after['segments']), 230001, 'segments')
    equal(after['streams']['vfs']['removed'], 460000, 'rows removed')
    equal((after['state'], after['hooks']), ('ended', document['hooks']), 'state and hooks')
    ctl.verified(output)
    used = peak(daemon)
    check(used < (150 << 20) + 2 * size, 'memory used: %d MiB' % (used >> 20))


def judge_killed(ctl, work, output, there):
    losses = [one['what'] for one in ctl.verified(output)['losses']]
    for words in ('vfs: a crash lost an unknown number of rows', 'nothing was recorded from'):
        check(any(words in what for what in losses), 'verify does not say: ' + words, *losses)
    found = numbers(output, work)
    equal(found, list(range(len(found))), 'numbers of the operations recorded before the kill')
    left = count(*rows.segments(output, 'vfs'))
    check(left >= there, 'rows are lost that were in a file: %d of %d' % (there - left, there))
    document = rows.manifest(output)
    equal((document['state'], document['reason']), ('ended', 'crash'), 'state')
    gap, = document['gaps']
    check(gap['reason'] == 'crash' and gap['from'] < gap['to'], gap)
    equal(gap['from'], max(row['timestamp'] for row in rows.read(output, 'vfs')), 'begin of the gap')
    check(any(one.get('recovered') for one in document['segments']), document['segments'])
    equal(rows.parts(output), [], 'segments not closed')


def judge_resumed(ctl, work, output, resumed):
    check(resumed != output, 'it goes on in the same folder')
    ctl.verified(resumed)
    before, later = numbers(output, work), numbers(resumed, work)
    equal(later, list(range(later[0], later[0] + len(later))), 'numbers after it went on')
    check(later[0] > before[-1], 'rows are there twice')
    equal(rows.manifest(resumed)['definition']['resumes'], output, 'resumes')


# What a crash of the machine may leave in the folder, and what somebody may make of it.

def half_a_row(output, part, victim):
    with open(part, 'rb') as file:
        whole = file.read()
    with open(part, 'ab') as file:
        file.write(whole.splitlines(True)[-1][:-20] + b'"a\n')
    for name in ('manifest.json.tmp', 'fs/fs_000001.csv.gz.part', 'mine'):
        with open(os.path.join(output, name), 'w', encoding='ascii') as file:
            file.write('half')


def no_manifest(output, part, victim):
    with open(os.path.join(output, 'manifest.json'), 'w', encoding='ascii') as file:
        file.write('{"state": "runn')


def empty_part(output, part, victim):
    with open(part, 'w', encoding='ascii'):
        pass


def link(output, part, victim):
    os.unlink(part)
    os.symlink(victim, part)


def hard_link(output, part, victim):
    os.unlink(part)
    os.link(victim, part)


def fifo(output, part, victim):
    os.unlink(part)
    os.mkfifo(part)


def other_folder(output, part, victim):
    os.rename(output, output + '.old')
    os.mkdir(output)


def linked_folder(output, part, victim):
    os.rename(output, output + '.old')
    os.symlink(output + '.old', output)


def linked_stream(output, part, victim):
    os.rename(os.path.dirname(part), output + '.old')
    os.symlink(output + '.old', os.path.dirname(part))


def gone(output, part, victim):
    shutil.rmtree(output)


HARMLESS = (half_a_row, no_manifest, empty_part)
ELSEWHERE = (other_folder, linked_folder, linked_stream)
HOSTILE = (link, hard_link, fifo, gone) + ELSEWHERE


def content(path):
    with open(path, 'rb') as file:
        return file.read()


@test(host_only=True)
def damaged(world):
    """Rows are recovered where possible; a folder that somebody else has changed is left alone."""
    daemon, ctl = world.own_daemon()
    victim = os.path.join(world.make('victim'), 'file')
    with open(victim, 'w', encoding='ascii') as file:
        file.write('a,b\nno row')
    outputs = {how: start(world, ctl, how.__name__, '--vfs', '--command', 'touch')
               for how in HARMLESS + HOSTILE}
    touch(world)
    wait_rows(*outputs.values())
    daemon.stop(signal.SIGKILL)
    parts = {how: rows.parts(output)[0] for how, output in outputs.items()}
    before = content(parts[half_a_row])
    for how, output in outputs.items():
        how(output, parts[how], victim)
    daemon.recover()

    equal(content(victim), b'a,b\nno row', 'a file elsewhere')
    for how in HARMLESS:
        ctl.verified(outputs[how])
    equal(content(parts[half_a_row][:-len('.part')]), before, 'what is left when half a row is cut')
    names = os.listdir(outputs[half_a_row])
    check({'manifest.json', 'fs', 'mine'} <= set(names) and 'manifest.json.tmp' not in names, names)
    check(not glob.glob(outputs[half_a_row] + '/*/*.gz*'), 'what was half compressed is left')
    check(rows.read(outputs[no_manifest], 'vfs'), 'no rows without a manifest')
    equal(rows.segments(outputs[empty_part], 'vfs'), [], 'segments without a header')
    log = content(daemon.log).decode().splitlines()
    for how in HOSTILE:
        check(any(outputs[how] in line and 'cannot be recovered' in line for line in log), how.__name__, *log)
    for how in ELSEWHERE:
        check(rows.parts(outputs[how] + '.old'), 'changed: ' + how.__name__)


SAME = ('--vfs', '--block', '--command', 'a b,c', '--uid', '0,nobody', '--device', '8:1',
        '--operation', 'vfs.READ,WRITE', '--min-latency', '5ms', '--min-size', '4K', '--errors')


@test(host_only=True)
def goes_on(world):
    """As it was defined, in a folder of its own, until the time it was to end, or is stopped."""
    daemon, ctl = world.own_daemon()
    named = start(world, ctl, 'named', '--vfs', '--command', 'touch')
    ctl.json('start', 'same', *SAME, code=(0, 6))
    short = time.monotonic()
    ctl.json('start', 'short', '--vfs', '--duration', '1s', code=(0, 6))
    ctl.json('start', 'long', '--vfs', '--duration', '1h', code=(0, 6))
    long = time.monotonic()
    start(world, ctl, 'mine', '--vfs', '--pid', os.getpid())
    before = {name: session_of(ctl, name)['output'] for name in ('same', 'long')}
    daemon.stop(signal.SIGKILL)
    time.sleep(max(0, short + 1 - time.monotonic()))
    long = time.monotonic() - long
    daemon.recover()
    after = {name: session_of(ctl, name) for name in ('same', 'long', 'short', 'mine', 'named')}
    equal(after['short'], None, 'a session whose duration is over')
    equal(after['mine'], None, 'a session of processes')
    told = [rows.manifest(one)['definition'] for one in (before['same'], after['same']['output'])]
    equal(told[1].pop('resumes'), before['same'], 'resumes')
    equal(told[1], told[0], 'definition')
    left = rows.manifest(after['long']['output'])['definition']['duration_ns']
    check(3000 * SECOND < left < (3600 - long) * SECOND, 'duration that is left', left, long)
    first = after['named']['output']
    equal(os.path.dirname(first), named, 'folder of the output')
    once_more(daemon, ctl, named, first)


def once_more(daemon, ctl, named, first):
    """After SIGTERM, as when the machine starts anew; and not after stop."""
    for name in ('same', 'long'):
        ctl.json('stop', name)
    daemon.stop()
    daemon.recover()
    equal([one['name'] for one in ctl.json('list')['sessions']], ['named'], 'sessions')
    second = session_of(ctl, 'named')['output']
    equal(os.path.dirname(second), named, 'folder of the output')
    check(second != first, 'the same folder twice')
    gaps = session_of(ctl, 'named')['gaps']
    check('nothing was recorded from' in ctl.run('status', 'named').stdout, 'status does not show the gap')
    ctl.json('stop', 'named')
    for folder in (named, first, second):
        ctl.verified(folder)
    equal(rows.manifest(first)['reason'], 'shutdown', 'reason')
    check('gaps' not in rows.manifest(first), 'a gap without a crash')
    judge_restart(ctl, first, second, gaps)


def judge_restart(ctl, first, second, gaps):
    """The time in which nothing was recorded stands in the manifest: from the end of one folder into the next."""
    equal(rows.manifest(second)['gaps'], gaps, 'gaps in manifest and status')
    gap, = gaps
    equal(gap['reason'], 'restart', 'reason of the gap')
    check(gap['from'] <= rows.manifest(first)['ended'] < rows.manifest(second)['started'] <= gap['to'], gap)
    caveats = [one['what'] for one in ctl.verified(second)['caveats']]
    check(any('nothing was recorded from %s to %s: restart' % (gap['from'], gap['to']) in what for what in caveats),
          'verify does not tell of the gap', *caveats)


def put_bad_notes(daemon):
    good = {'name': 'x', 'output': '/etc', 'inode': 1, 'definition': {'streams': ['vfs']}}
    contents = ['', '{', '[]', '{}', '[' * 10000, '{"name": 7}', json.dumps({**good, 'name': '../x'}),
                json.dumps({**good, 'output': 'etc'}), json.dumps({**good, 'definition': []}),
                json.dumps({**good, 'definition': {'nonsense': 1}}), json.dumps(good)]
    for folder in ('running', 'recover'):
        path = os.path.join(daemon.folder, 'state', folder)
        os.makedirs(path, exist_ok=True)
        for number, text in enumerate(contents):
            with open(os.path.join(path, 'bad@%d.json' % number), 'w', encoding='ascii') as file:
                file.write(text)
        os.mkfifo(os.path.join(path, 'fifo@1.json'))
        os.symlink('/etc/passwd', os.path.join(path, 'link@1.json'))


@test(host_only=True)
def notes_refused(world):
    """With Resume=no nothing goes on. Notes that the daemon did not write do not stop it."""
    path = world.path('config')
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Daemon]\nResume=no\n')
    daemon, ctl = world.own_daemon('--config', path)
    output = ctl.json('start', 'once', '--vfs', code=(0, 6))['session']['output']
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    equal(ctl.json('list')['sessions'], [], 'sessions')
    ctl.verified(output)
    daemon.stop()
    put_bad_notes(daemon)
    os.truncate(path, 0)
    daemon.recover()
    equal([one['name'] for one in ctl.json('list')['sessions']], ['x'], 'sessions')
    ctl.exits(0, 'stop', 'x')
    equal(notes(daemon), ([], []), 'notes that are left')


def recovered(output):
    """The files that recovery closed, by the names that they have now."""
    return [one for one in rows.manifest(output)['segments'] if one.get('recovered')]


@test(host_only=True)
def within_max_use(world):
    """Files that recovery closed count towards MaxUse=, are compressed, and are removed in their turn; verify finds no fault."""
    limit = 2 << 20
    path = world.path('config')
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Storage]\nMaxUse=%d\nKeepFree=0\n[Snapshots]\nSystem=no\n' % limit)
    daemon, ctl = world.own_daemon('--config', path)
    log = os.path.join(daemon.folder, 'log')
    work = Load(world, 30000)
    for name in ('one', 'two'):
        ctl.json('start', name, *filters(work), code=(0, 6))
    killed = [session_of(ctl, name)['output'] for name in ('one', 'two')]
    work.go()
    wait_for('files to be removed', lambda: any(
        one['state'] == 'removed' for one in rows.manifest(killed[0])['segments']))
    daemon.stop(signal.SIGKILL)
    work.kill()
    daemon.recover()
    for name in ('one', 'two'):
        check(session_of(ctl, name), 'it does not go on: ' + name, *daemon.tail())
    for name in ('one', 'two'):
        ctl.json('stop', name)
    wait_for('the limit', lambda: size(log) <= limit)
    wait_for('compression', lambda: all(one['state'] in ('compressed', 'removed')
                                        for output in killed for one in recovered(output)))
    for output in killed:
        settled(output)
        ctl.verified(output)
    check(any(recovered(output) for output in killed), 'nothing was recovered')
    make_way(world, ctl, killed)
    check(size(log) <= limit, 'bytes', size(log))


def make_way(world, ctl, killed):
    """A session that fills the limit leaves nothing of those before it."""
    work = Load(world, 30000)
    ctl.json('start', 'last', *filters(work), '--compress', 'none', code=(0, 6))
    work.go()
    wait_for('the recovered files to go', lambda: not any(
        rows.segments(output, 'vfs') for output in killed))
    work.kill()
    ctl.json('stop', 'last')


def missing_of(ctl, output):
    """What `verify` calls missing."""
    return [one['file'] for one in ctl.json('verify', output, code=(0, 1, 6))['problems'] if 'missing' in one['what']]


@test(host_only=True)
def removed_and_killed(world):
    """What a limit removed is never called missing, though the manifest was behind when the daemon was killed."""
    daemon, ctl = world.own_daemon()
    work = Load(world, 20000)
    work.go()
    for number in range(3):
        name = 'kept-%d' % number
        output = start(world, ctl, name, *filters(work), '--no-snapshots', '--keep-size', '1M', '--rotate-size', '64K',
                       *(['--compress', 'none'] if number % 2 else []))
        wait_for('removals', lambda: find_removed(ctl, name))
        time.sleep(0.037 * number)
        daemon.stop(signal.SIGKILL)
        equal(missing_of(ctl, output), [], 'missing, before it is recovered')
        daemon.start()
        wait_for('its recovery', lambda: rows.manifest(output).get('reason') == 'crash' and not daemon.notes('recover'))
        ctl.run('stop', name)
        equal(missing_of(ctl, output), [], 'missing')
        of = rows.manifest(output)['streams']['vfs']
        equal(sum(one['rows'] for one in of['removed_by'].values()), of['removed'], 'rows removed, by limit')
        equal(glob.glob(os.path.join(output, 'fs', '.*')), [], 'marks left')
    work.kill()


def find_removed(ctl, name):
    return ctl.json('status', name)['sessions'][0]['streams']['vfs']['removed'] > 0


@test(host_only=True)
def taken_by_hand(world):
    """A file that somebody else took away is missing, also if it is the oldest of a session with a limit."""
    daemon, ctl = world.own_daemon()
    output = start(world, ctl, 'kept', '--vfs', '--no-snapshots', '--keep-size', '1G', '--compress', 'none', '--command', 'touch')
    for _ in range(2):
        touch(world)
        ctl.json('rotate', 'kept')
    daemon.stop(signal.SIGKILL)
    os.remove(os.path.join(output, 'fs', 'fs_000001.csv'))
    daemon.start()
    wait_for('its recovery', lambda: not daemon.notes('recover'))
    equal(missing_of(ctl, output), ['fs/fs_000001.csv'], 'missing')
