# SPDX-License-Identifier: GPL-2.0-or-later
"""Flight recorders: what the memory holds, and dumps of it, against reads that are numbered."""
import os
import signal
import subprocess
import time

from lib import account, rows
from lib.numbered import Numbered
from lib.registry import Failure, check, equal, test, wait_for

MIB = 1 << 20
CONSTANT = 4 * MIB  # what a daemon may grow by besides the rows
ENDLESS = 1 << 40


def balanced(status):
    """The account of the vfs stream of a flight recorder."""
    one = account.streams(status)['vfs']
    equal(one['emitted'], one['kept'] + one['overwritten'] + account.total(one['lost']) + one['pending'],
          'emitted of %s' % one)
    account.missed[0] += one['missed']
    return one


class Recorder:
    """with Recorder(world, ctl, name, size, options): a session; dump() is one of it."""

    def __init__(self, world, size, options, ctl=None, name='flight'):
        self.world, self.ctl, self.name = world, ctl or world.ctl, name
        self.size, self.options = size, options

    def __enter__(self):
        self.started = self.ctl.json('start', self.name, *self.options, '--flight-recorder', self.size,
                                     code=(0, 6))
        return self

    def __exit__(self, kind, *_):
        done = self.ctl.run('stop', self.name, '--json')
        if kind is None:
            equal(done.returncode, 0, 'exit code of stop')

    def account(self):
        return balanced(self.ctl.json('status', self.name))

    def dump(self, *args, code=0):
        """The answer, and the rows in the files, which are as the manifest has them."""
        output = self.world.path('dump')
        answer = self.ctl.json('dump', self.name, '--output', output, *args, code=code)['dump']
        return answer, self.rows(output, answer)

    @staticmethod
    def rows(output, answer=None):
        equal(rows.parts(output), [], 'segments not closed')
        told = account.balanced(account.manifest_true(output), 'manifest')['vfs']
        found = rows.read(output, 'vfs')
        equal(len(found), told['written'], 'rows in the files')
        if answer:
            equal(answer['streams']['vfs']['written'], told['written'], 'rows in the answer')
        return found


def dumping(ctl):
    return ctl.json('status', 'flight')['sessions'][0]['flight_recorder']['dumping']


def follow(numbers, what):
    """None missing, none twice, in order."""
    check(numbers, '%s: no rows' % what)
    equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), what)


def ended(row):
    return int(row['mono_ns']) + int(row['latency_ns'])


@test
def dumps(world):
    """Each dump has all rows in memory, once, and the session goes on; no file is written before."""
    folder = os.path.join(world.daemon.folder, 'log', 'flight')
    with Numbered(world) as reads, Recorder(world, '4M', reads.options()) as recorder:
        reads.do(2000)
        check(not os.path.exists(folder), 'there are files before a dump')
        _, found = recorder.dump()
        equal(reads.of(found), list(range(2000)), 'first dump')
        middle = time.monotonic_ns()
        reads.do(1000)
        _, every = recorder.dump()
        equal(reads.of(every), list(range(3000)), 'second dump')
        # The daemon gets the call a moment later, and --last counts back from then.
        last = time.monotonic_ns() - middle + 50 * 10**6
        answer, found = recorder.dump('--last', '%dns' % last)
        check(answer['whole'], 'the dump is not whole', answer)
        expected = [row for row in every if ended(row) >= answer['from_mono_ns']]
        equal(reads.of(found), reads.of(expected), 'dump of the last reads')
        one = recorder.account()
        equal((one['overwritten'], account.total(one['lost'])), (0, 0), 'overwritten and lost')


@test(host_only=True)
def default_folder(world):
    """Without --output: a folder of the session, named by the time."""
    with Numbered(world) as reads, Recorder(world, '1M', reads.options(), name='placed') as recorder:
        reads.do(10)
        answer = world.ctl.json('dump', 'placed', '--last', '60s')['dump']
        parent, name = os.path.split(answer['output'])
        equal(parent, os.path.join(world.daemon.folder, 'log', 'placed'), 'folder of the dump')
        check(name[8] == 'T' and name.endswith('Z'), 'name of the folder', name)
        equal(reads.of(recorder.rows(answer['output'])), list(range(10)), 'rows')
        definition = rows.manifest(answer['output'])['definition']
        equal((definition['flight_recorder'], definition['dump']['last_ns']), (MIB, 60 * 10**9),
              'what the manifest says of the dump')


@test(host_only=True)
def overwrites(world):
    """A full recorder overwrites its oldest rows, and counts them."""
    count = 12000
    with Numbered(world) as reads, Recorder(world, '1M', reads.options()) as recorder:
        reads.do(count)
        answer, found = recorder.dump('--last', '1h')
        check(not answer['whole'], 'it says that it is whole', answer)
        follow(reads.of(found), 'rows')
        equal(reads.of(found)[-1], count - 1, 'the last read')
        one = recorder.account()
        equal(one['kept'], len(found), 'rows kept')
        check(one['overwritten'] > count / 2, 'rows overwritten', one)
        memory = recorder.ctl.json('status', 'flight')['sessions'][0]['flight_recorder']
        check(memory['size'] == MIB and MIB * 0.7 < memory['used'] <= MIB, 'memory', memory)


@test(host_only=True)
def refused(world):
    for size, why in (('1023K', '1 MiB'), ('5G', '4 GiB')):
        done = world.ctl.exits(2, 'start', 'x', '--vfs', '--flight-recorder', size)
        check(why in done.stderr, 'the limit is not told', done.stderr)
    world.ctl.exits(2, 'start', 'x', '--vfs', '--flight-recorder', '1M', '--output', world.path('x'))
    with Numbered(world) as reads, Recorder(world, '1M', reads.options()):
        for verb in ('rotate', 'tail'):
            done = world.ctl.exits(1, verb, 'flight')
            check('memory' in done.stderr, 'the reason is not told', done.stderr)
        world.ctl.exits(0, 'rotate')  # of all sessions, of which some write files
        world.ctl.exits(1, 'dump', 'flight', '--output', '/nowhere/at/all')
        world.ctl.exits(2, 'dump', 'flight', '--last', '0s')
        world.ctl.exits(2, 'dump')
    world.ctl.exits(5, 'dump', 'flight')
    with world.session('--vfs', '--pid', os.getpid()) as session:
        done = world.ctl.exits(2, 'dump', session.name)
        check('flight recorder' in done.stderr, 'the reason is not told', done.stderr)


def machine_memory():
    return os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')


@test(host_only=True)
def share(world):
    """All recorders together may have a quarter of the machine's memory; it is not allocated before it is used."""
    left, names = machine_memory() // 4, []
    world.undo.callback(lambda: world.ctl.run('stop', '--all'))
    while left >= MIB and len(names) < 60:
        size = min(left, 4 << 30)
        names.append('share%d' % len(names))
        world.ctl.exits((0, 6), 'start', names[-1], '--vfs', '--pid', os.getpid(),
                        '--flight-recorder', size)
        left -= size
    if left >= MIB:
        raise Skip('a quarter of the memory is more than the sessions that there can be')
    done = world.ctl.exits(2, 'start', 'more', '--vfs', '--flight-recorder', '2M')
    check('quarter' in done.stderr, 'the limit is not told', done.stderr)
    world.ctl.exits(0, 'stop', names[0])
    world.ctl.exits((0, 6), 'start', 'more', '--vfs', '--pid', os.getpid(), '--flight-recorder', '1M')


@test(host_only=True)
def under_load(world):
    """Dumps while reads come as fast as they can: each is what a session's files have of that time."""
    with Numbered(world) as reads:
        session = world.session(*reads.options())
        with session, Recorder(world, '32M', reads.options()) as recorder:
            answers = []
            for _ in range(3):
                reads.begin(60000)
                reads.reach(reads.done() + 20000)
                before = reads.done()
                answer, found = recorder.dump('--last', '300ms')
                answers.append((before, answer, found))
                reads.wait()
            account.missed[0] += recorder.account()['missed']
            lost = recorder.account()['lost']
        equal(account.total(lost), 0, 'rows lost')
        whole = [row for row in session.rows() if row['filename'] == reads.file]
        for before, answer, found in answers:
            numbers = reads.of(found)
            follow(numbers, 'dump')
            check(numbers[-1] >= before - 1, 'reads before the call that are missing',
                  before - 1 - numbers[-1])
            expected = [int(row['offset']) for row in whole if int(row['offset']) <= numbers[-1] and
                        ended(row) >= answer['from_mono_ns']]
            equal((len(numbers), numbers[0]), (len(expected), expected[0]), 'reads since that instant')


def anonymous(daemon):
    """Bytes of memory that are the daemon's own."""
    with open('/proc/%d/status' % daemon.process.pid, encoding='ascii') as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith('RssAnon'))


class Filled:
    """A daemon whose recorder of `size` bytes is full, and a dump of it that takes a moment."""

    def __init__(self, world, size):
        self.world, self.size = world, size
        self.daemon, self.ctl = world.own_daemon(fresh=True)
        self.reads = world.undo.enter_context(Numbered(world))
        self.recorder = Recorder(world, size, self.reads.options(), ctl=self.ctl)
        self.ctl.exits((0, 6), 'start', 'warm', '--vfs', '--duration', '10ms', '--output', world.path('warm'))
        self.before = anonymous(self.daemon)
        self.recorder.__enter__()
        self.reads.do(size // 200)

    def begin_dump(self):
        """Begins a dump and returns while it is written; if it is over too soon to be seen, begins another one."""
        for _ in range(20):
            self.output = self.world.path('dump')
            dump = subprocess.Popen(self.ctl.command('dump', 'flight', '--output', self.output),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while dump.poll() is None:
                if dumping(self.ctl):
                    return dump
            dump.communicate()
        raise Failure('every dump was over at once')


@test(host_only=True)
def memory(world):
    """No more than its size; twice that while a dump is written and rows go on."""
    world.measures_memory()
    size = 16 * MIB
    filled = Filled(world, size)
    daemon, ctl, most = filled.daemon, filled.ctl, 0
    check(size * 0.9 < anonymous(daemon) - filled.before < size + CONSTANT, 'memory when full',
          (anonymous(daemon) - filled.before) / MIB)
    filled.reads.begin(ENDLESS)
    dump = filled.begin_dump()
    done = ctl.exits(1, 'dump', 'flight', '--output', world.path('second'))
    check('being written' in done.stderr, 'a second dump at once', done.stderr)
    while dump.poll() is None:
        most = max(most, anonymous(daemon) - filled.before)
        time.sleep(0.01)
    equal(dump.returncode, 0, 'exit code of dump')
    check(most < 2 * size + CONSTANT, 'memory while it is dumped', most / MIB)
    check(anonymous(daemon) - filled.before < size + CONSTANT, 'memory after a dump',
          (anonymous(daemon) - filled.before) / MIB)
    follow(filled.reads.of(Recorder.rows(filled.output)), 'dump')
    ctl.exits(0, 'stop', 'flight')
    check(anonymous(daemon) - filled.before < CONSTANT, 'memory after the stop',
          (anonymous(daemon) - filled.before) / MIB)


def is_over(output):
    return os.path.exists(os.path.join(output, 'manifest.json')) and rows.manifest(output)['state'] == 'ended'


@test(host_only=True)
def goes_on(world):
    """A dump is complete, though its session was stopped meanwhile and its caller has gone."""
    filled = Filled(world, 16 * MIB)
    dump = filled.begin_dump()
    dump.kill()
    dump.communicate()
    filled.ctl.exits(0, 'stop', 'flight')
    wait_for('the end of the dump', lambda: is_over(filled.output))
    numbers = filled.reads.of(Recorder.rows(filled.output))
    follow(numbers, 'dump')
    equal(numbers[-1], filled.reads.done() - 1, 'the last read')
    filled.daemon.stop_cleanly()


@test(host_only=True)
def ends(world):
    """A recorder ends after its duration; its last status can still be asked for."""
    world.ctl.exits((0, 6), 'start', 'brief', '--vfs', '--pid', os.getpid(), '--flight-recorder', '1M',
                    '--duration', '200ms')
    def status_at_end():
        status = world.ctl.json('status', 'brief')['sessions'][0]
        return status['state'] == 'ended' and status
    status = wait_for('the session to end', status_at_end)
    equal(status['reason'], 'duration', 'reason')
    balanced(status)
    world.ctl.exits(5, 'dump', 'brief')
    world.ctl.exits(0, 'stop', 'brief')


@test(host_only=True)
def shutdown(world):
    """A daemon that ends does not finish a dump: it counts the rows that it leaves out."""
    daemon, ctl = world.faulty_daemon()
    output = world.path('dump')
    with Numbered(world) as reads:
        recorder = Recorder(world, '16M', reads.options(), ctl=ctl).__enter__()
        reads.do(80000)
        wait_for('all reads to be taken', lambda: recorder.account()['emitted'] >= 80000)  # later ones push out others
        kept = recorder.account()['kept']
        daemon.order('slow 1000000 %s' % output)  # a quarter of a minute for the whole
        dump = subprocess.Popen(ctl.command('dump', 'flight', '--output', output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for('the dump to begin', lambda: dumping(ctl))
        daemon.stop_cleanly()
        dump.wait()
    account.balanced(account.manifest_true(output), 'manifest')
    told = rows.manifest(output)
    equal(told['reason'], 'shutdown', 'reason')
    equal(told['streams']['vfs']['emitted'], kept, 'rows written and lost')
    check(told['streams']['vfs']['written'] < kept, 'the dump was finished')


@test(host_only=True)
def disk_full(world):
    """Rows of a dump for which the disk has no room are counted; the session goes on, and the next dump succeeds."""
    small = world.tmpfs(MIB)
    with Numbered(world) as reads, Recorder(world, '4M', reads.options()) as recorder:
        reads.do(10000)
        output = os.path.join(small, 'dump')
        done = world.ctl.run('dump', 'flight', '--output', output)
        equal(done.returncode, 1, 'exit code of dump')
        check('No space' in done.stderr or 'disk' in done.stdout, 'the reason is not told',
              done.stdout + done.stderr)
        if 'disk' in done.stdout:
            told = account.balanced(rows.manifest(output), 'manifest')['vfs']
            check(told['lost']['disk'] > 0, 'rows lost', told['lost'])
        reads.do(100)
        _, found = recorder.dump()
        follow(reads.of(found), 'the next dump')
        equal(reads.of(found)[-1], 10099, 'the last read')


@test(host_only=True)
def interrupted(world):
    """A signal ends the client that waits for a dump, not the dump's session."""
    with Numbered(world) as reads, Recorder(world, '1M', reads.options()) as recorder:
        reads.do(100)
        dump = subprocess.Popen(world.ctl.command('dump', 'flight', '--output', world.path('dump')),
                                stdout=subprocess.DEVNULL)
        dump.send_signal(signal.SIGINT)
        dump.wait()
        reads.do(100)
        wait_for('the end of the dump', lambda: not dumping(recorder.ctl))
        _, found = recorder.dump()
        equal(reads.of(found), list(range(200)), 'rows')
