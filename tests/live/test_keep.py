# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of closed files: compressed in the background, removed to keep within limits."""
import contextlib
import glob
import gzip
import hashlib
import os
import signal
import threading
import time

from lib import account, rows
from lib.ctl import Ctl
from lib.load import Load
from lib.registry import check, equal, test, wait_for
from lib.world import find_key
from lib.xxh128 import xxh128

MIB = 1 << 20


def names(output, pattern='*'):
    """Files of the streams; the table of cgroups, which is never compressed, is none."""
    found = (os.path.relpath(path, output) for path in glob.glob(os.path.join(output, '*', pattern)))
    return sorted(name for name in found if not name.startswith('cgroups/'))


def all_compressed(output):
    return not names(output, '*.csv') and not names(output, '*.part') and names(output, '*.gz')


def settled(output):
    """The manifest tells of each file by the name that it has."""
    told = {one['path'] for one in rows.manifest(output)['segments'] if one['state'] != 'removed'}
    return told == set(names(output, '*.csv*'))


@contextlib.contextmanager
def working(world):
    """Rows as fast as they can come, until the end of the block."""
    load = Load(world).go()
    try:
        yield
    finally:
        load.kill()


@test
def compress(world):
    """Compressed files unpack to the same text with every reader, and the manifest describes them."""
    with world.session('--vfs', '--command', 'iotr-trigger') as session:
        for _ in range(3):
            world.trigger.run('read', world.path('work'))
            world.ctl.json('rotate', session.name)
        wait_for('gzip while the session runs', lambda: names(session.output, '*.gz'))
        world.trigger.run('read', world.path('work'))
    wait_for('gzip', lambda: all_compressed(session.output))
    wait_for('the manifest', lambda: settled(session.output))
    equal(names(session.output), ['fs/fs_%06d.csv.gz' % number for number in range(1, 5)], 'files')
    for segment in rows.manifest(session.output)['segments']:
        path = os.path.join(session.output, segment['path'])
        text = world.command('gzip', '-dc', path).stdout.encode()
        equal(world.command('zcat', path).stdout.encode(), text, 'zcat and gzip')
        equal(gzip.open(path).read(), text, 'python and gzip')
        equal(segment['state'], 'compressed', 'state')
        equal(segment['stored_bytes'], os.path.getsize(path), 'bytes on the disk')
        with open(path, 'rb') as file:
            equal(segment['stored_sha256'], hashlib.sha256(file.read()).hexdigest(), 'SHA-256 of what is on the disk')
        equal(segment['bytes'], len(text), 'bytes of the text')
        equal(segment['xxh128'], xxh128(text), 'checksum of the text')
    account.manifest_true(session.output)


@test(host_only=True)
def compress_members(world):
    """A file of more than a MiB becomes several gzip members, which every reader joins."""
    with world.session('--vfs', '--pid', os.getpid(), '--operation', 'READ') as session:
        file = os.open(world.path('file'), os.O_RDWR | os.O_CREAT)
        for _ in range(12000):
            os.pread(file, 1, 0)
        os.close(file)
    wait_for('gzip', lambda: all_compressed(session.output))
    path = os.path.join(session.output, names(session.output)[0])
    with open(path, 'rb') as stored:
        members = stored.read().count(b'\x1f\x8b\x08\x00')
    check(members >= 2, 'members', members)
    equal(len(world.command('zcat', path).stdout.splitlines()),
          session.accounts['vfs']['written'] + 1, 'lines')


@test(host_only=True)
def compress_none(world):
    with world.session('--vfs', '--pid', os.getpid(), '--compress', 'none') as session:
        os.stat('/')
    with world.session('--vfs', '--pid', os.getpid()) as later:
        os.stat('/')
    wait_for('gzip of what ended later', lambda: all_compressed(later.output))
    equal(names(session.output), ['fs/fs_000001.csv'], 'files')
    equal(find_key(session.final, 'compress'), 'none', 'what status tells')


@test
def compress_at_rest(world):
    """A keeper compresses with idle CPU and I/O priority, one at a time; which of them it is may change."""
    most = 0

    def at_rest():
        nonlocal most
        idle = []
        for task in os.listdir('/proc/%d/task' % world.daemon.process.pid):
            with contextlib.suppress(ProcessLookupError):
                if os.sched_getscheduler(int(task)) == os.SCHED_IDLE:
                    idle.append(task)
        most = max(most, len(idle))
        return [task for task in idle if 'idle' in world.command('ionice', '-p', task, check=False).stdout]

    with world.session('--vfs', '--rotate-size', '1M', lossless=False), working(world):
        wait_for('a thread at rest whose I/O is', at_rest, pause=0.001)
    equal(most, 1, 'threads of SCHED_IDLE at a time')


@test(host_only=True)
def refused(world):
    for options in (('--compress', 'lzma'), ('--keep-size', '1023K'), ('--keep-size', '0'),
                    ('--keep-segments', '0'), ('--keep-segments', 'x'), ('--keep-size', '-1M')):
        done = world.ctl.exits((1, 2), 'start', 'bad', '--vfs', *options, '--output',
                               world.path('trace'))
        check(done.stderr.strip(), 'nothing on stderr says why')


@test(host_only=True)
def keep_segments(world):
    with world.session('--vfs', '--command', 'iotr-trigger', '--keep-segments', '2') as session:
        for _ in range(6):
            world.trigger.run('read', world.path('work'))
            world.ctl.json('rotate', session.name)
            closed = rows.segments(session.output, 'vfs')
            check(len(closed) <= 2, 'closed segments', closed)
        world.trigger.run('read', world.path('work'))
    wait_for('the manifest', lambda: all_compressed(session.output) and settled(session.output))
    document = account.manifest_true(session.output)
    told = [(one['path'].removesuffix('.gz'), one['state']) for one in document['segments']]
    equal(told[:5], [('fs/fs_%06d.csv' % number, 'removed') for number in range(1, 6)], 'removed')
    equal(rows.segments(session.output, 'vfs'),
          [os.path.join(session.output, path) for path, state in told if state != 'removed'],
          'kept')
    gone = sum(one['rows'] for one in document['segments'] if one['state'] == 'removed')
    equal(document['streams']['vfs']['removed'], gone, 'rows removed')


class Sampler(threading.Thread):
    """The greatest size of a folder, looked at while the daemon stands still, some 100 times/s."""

    def __init__(self, folder, pid):
        super().__init__(daemon=True)
        self.folder, self.pid = folder, pid
        self.most, self.samples, self.done = 0, 0, False

    def stopped(self):
        for task in os.listdir('/proc/%d/task' % self.pid):
            with open('/proc/%d/task/%s/stat' % (self.pid, task), encoding='ascii') as file:
                if file.read().rpartition(')')[2].split()[0] != 'T':
                    return False
        return True

    def sample(self):
        os.kill(self.pid, signal.SIGSTOP)
        try:
            while not self.stopped():
                pass
            self.most = max(self.most, account.size(self.folder))
            self.samples += 1
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def run(self):
        while not self.done:
            self.sample()
            time.sleep(0.004)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done = True
        self.join()


def rows_made(ctl, name):
    return account.streams(ctl.json('status', name))['vfs']


def keeps_size(world, limit, *options, streams=('--vfs',)):
    """Full load; the folder is never above the limit, and close to it in the end."""
    daemon, ctl = world.own_daemon()
    session = world.session(*streams, '--keep-size', limit, *options, ctl=ctl, lossless=False)
    with session, Sampler(session.output, daemon.process.pid) as sampler:
        with working(world):
            wait_for('samples of a limit in use', lambda: sampler.samples > 20 and
                     sampler.most > limit * 3 // 4 and
                     rows_made(ctl, session.name)['removed'] > 0)
    check(sampler.most <= limit, 'limit %d, most %d' % (limit, sampler.most))
    written = session.accounts['vfs']
    check(written['removed'] > 0, 'nothing was removed', written)
    equal(written['lost']['disk'], 0, 'rows lost on the disk: %s' % daemon.tail())
    sampler.sample()
    check(sampler.most <= limit, 'limit %d, after the end %d' % (limit, sampler.most))


@test(host_only=True)
def keep_size(world):
    keeps_size(world, 3 * MIB, '--rotate-size', '256K')


@test(host_only=True)
def keep_size_below_segment(world):
    """Segments that would be larger than the limit end early."""
    keeps_size(world, MIB, '--rotate-size', '128M', '--compress', 'none')


@test(host_only=True)
def keep_size_many_streams(world):
    keeps_size(world, MIB + 1, streams=('--all',))


def config(world, text):
    path = world.path('conf')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def default_session(ctl, name, *options):
    ctl.exits((0, 6), 'start', name, '--vfs', '--no-snapshots', *options)
    return find_key(ctl.json('status', name), 'output')


@test(host_only=True)
def max_use(world):
    """MaxUse= counts all sessions, ended ones included, whose manifests show what was removed; a reload lowers it."""
    path = config(world, '[Storage]\nMaxUse=4M\nKeepFree=0\n')
    daemon, ctl = world.own_daemon('--config', path)
    log = os.path.join(daemon.folder, 'log')
    old = default_session(ctl, 'old', '--rotate-size', '256K')
    with working(world):
        wait_for('rows', lambda: rows_made(ctl, 'old')['segments'] > 3)
    ctl.json('stop', 'old')
    with Sampler(log, daemon.process.pid) as sampler:
        for name in ('one', 'two'):
            default_session(ctl, name, '--compress', 'none')
        with working(world):
            wait_for('samples of a limit in use', lambda: sampler.samples > 20 and
                     sampler.most > 3 * MIB and rows_made(ctl, 'two')['bytes'] > 5 * MIB)
        for name in ('one', 'two'):
            account.balanced(ctl.json('stop', name), name)
    check(sampler.most <= 4 * MIB, 'most', sampler.most)
    wait_for('the manifest of the ended session', lambda: settled(old))
    document = rows.manifest(old)
    check(all(one['state'] == 'removed' for one in document['segments']), 'the oldest remain')
    equal(document['streams']['vfs']['removed'], document['streams']['vfs']['written'],
          'rows removed')
    config_text = '[Storage]\nMaxUse=1M\nKeepFree=0\n'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(config_text)
    ctl.exits(0, 'reload')
    wait_for('the files beyond the limit to be removed', lambda: account.size(log) <= MIB)


@test(host_only=True)
def keep_free(world):
    """KeepFree=: sessions leave that much of the file system free, and go on."""
    mount = world.tmpfs(8 * MIB)
    daemon, ctl = world.own_daemon('--config', config(world, '[Storage]\nKeepFree=5M\n'),
                                   '--log-dir', mount)
    least = [8 * MIB]
    output = default_session(ctl, 'one')

    def tight():
        for _ in range(100):
            status = os.statvfs(mount)
            least[0] = min(least[0], status.f_bavail * status.f_frsize)
        return rows_made(ctl, 'one')['bytes'] > 8 * MIB

    with working(world):
        wait_for('rows', tight)
    final = ctl.json('stop', 'one')
    told = account.balanced(final, 'status')['vfs']
    check(least[0] >= 5 * MIB, 'free', least[0])
    check(told['removed'], 'the load was too small to reach the limit', told)
    check(rows.read(output, 'vfs'), 'nothing is left')
    check(daemon.alive(), 'the daemon is gone')


@test(host_only=True)
def killed_half_way(world):
    """SIGKILL during compression: the text stays until the .gz is complete, and the next start removes a partial one."""
    daemon, ctl = world.own_daemon()
    output = default_session(ctl, 'one', '--rotate-size', '64K', '--pid', str(os.getpid()))
    file = os.open(world.path('file'), os.O_RDWR | os.O_CREAT)
    for _ in range(30000):
        os.pread(file, 1, 0)
    os.close(file)
    ctl.json('stop', 'one')
    daemon.process.kill()
    daemon.process.wait()
    with open(os.path.join(output, 'fs', 'fs_000001.csv.gz.part'), 'wb') as half:
        half.write(b'\x1f\x8b\x08')
    daemon.start()
    equal(names(output, '*.part'), [], 'what is left of a kill')
    there = names(output, '*.csv*')
    equal(len({name.removesuffix('.gz') for name in there}), len(there), 'both forms of a file')
    document = account.manifest_true(output)
    equal(sum(one['rows'] for one in document['segments']), len(rows.read(output, 'vfs')), 'rows')
    Ctl(world.ctl_program, daemon.socket).exits(0, 'version')


def removed_of(document, limit):
    """What the limit removed of vfs, and that it is all that was removed; of a manifest, or the status of a session."""
    of = document['streams']['vfs']
    by = of['removed_by']
    equal(set(by), {limit}, 'limits that removed something')
    equal(by[limit]['rows'], of['removed'], 'rows removed')
    check(by[limit]['segments'] > 0, 'segments removed', of)
    return by[limit]


def says_removed(text, removed, limit):
    words = '{:,} rows in {:,} closed segments were removed, to keep within {}'.format(
        removed['rows'], removed['segments'], limit)
    check(words in text, 'not said: %s' % words, text)


def writes(world):
    return 'i=0; while [ $i -lt 3000 ]; do echo $i >> "%s"; i=$((i + 1)); done' % world.path('file')


@test(host_only=True)
def removed_by_record(world):
    """What a limit removed is said at the end of `record`, in the manifest and by `verify`, with the limit's name."""
    output = world.path('trace')
    done = world.ctl.exits(0, 'record', '--vfs', '--rotate-size', '64K', '--keep-segments', '2', '--compress', 'none',
                           '--output', output, '--', 'sh', '-c', writes(world))
    removed = removed_of(rows.manifest(output), 'keep_segments')
    says_removed(done.stderr, removed, '--keep-segments')
    said = world.ctl.exits(0, 'verify', output).stdout
    last = said.splitlines()[-1]
    says_removed(last, removed, '--keep-segments')
    check('complete, but for {:,} rows'.format(removed['rows']) in last, 'verdict', last)
    document = world.ctl.json('verify', output)
    equal(document['rows_removed'], removed['rows'], 'rows removed')
    equal(document['removed_by'], {'keep_segments': removed}, 'limits')
    says_removed(world.ctl.exits(0, 'summary', output).stdout, removed, '--keep-segments')


@test(host_only=True)
def removed_by_stop(world):
    """The same of `stop` and `status`, of a limit of the session and of one of the machine."""
    daemon, ctl = world.own_daemon('--config', config(world, '[Storage]\nMaxUse=6M\nKeepFree=0\n'))
    default_session(ctl, 'one', '--rotate-size', '64K', '--keep-size', '1M', '--compress', 'none')
    with working(world):
        wait_for('segments to be removed', lambda: rows_made(ctl, 'one')['removed'] > 0)
    removed_of(ctl.json('status', 'one')['sessions'][0], 'keep_size')
    said = ctl.exits(0, 'stop', 'one').stdout
    check('were removed, to keep within --keep-size' in said, 'not said', said)
    output = default_session(ctl, 'two', '--rotate-size', '64K', '--compress', 'none')
    with working(world):
        wait_for('segments to be removed', lambda: rows_made(ctl, 'two')['removed'] > 0)
    said = ctl.exits(0, 'stop', 'two').stdout
    check('were removed, to keep within MaxUse=' in said, 'not said', said)
    wait_for('the manifest', lambda: settled(output))
    says_removed(ctl.exits(0, 'verify', output).stdout, removed_of(rows.manifest(output), 'max_use'), 'MaxUse=')
