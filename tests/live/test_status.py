# SPDX-License-Identifier: GPL-2.0-or-later
"""What status says of sessions that run: rates, cost, limits; and --watch."""
import json
import os
import signal
import subprocess
import time

from lib import account
from lib.numbered import Numbered
from lib.registry import Skip, check, equal, test, wait_for

PACE = 500  # reads, and then a pause
PAUSE = 0.05


def pace(reads, seconds):
    """Reads at a steady rate for so long; returns how many a second."""
    begin, count = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        reads.do(PACE)
        count += PACE
        time.sleep(PAUSE)
    return count / (time.monotonic() - begin)


def near(got, expected):
    return expected * 0.6 < got < expected * 1.6


def rates_near(world, reads, name, told):
    """Whether status tells the pace of the reads. What else runs may change it from one second to the next."""
    rate = pace(reads, 2.2)
    streams = {one['name']: one['streams']['vfs'] for one in world.ctl.ask('Status')['sessions']}
    files, memory = streams[name], streams['flight']
    told[:] = ['%d reads a second' % rate, files, memory]
    return (near(files['rows_per_s'], rate) and near(memory['rows_per_s'], rate) and
            near(files['bytes_per_s'], rate * files['bytes'] / files['written']))


@test(host_only=True)
def rates(world):
    """Rows and bytes a second of a steady load, in files and in memory; none when it is over."""
    told = []
    with Numbered(world) as reads:
        session = world.session(*reads.options())
        world.undo.callback(lambda: world.ctl.run('stop', 'flight'))
        with session:
            world.ctl.exits((0, 6), 'start', 'flight', *reads.options(), '--flight-recorder', '1M')
            check(any(rates_near(world, reads, session.name, told) for _ in range(5)), 'rates', *told)

            def rates_now():
                files = session.status()['sessions'][0]['streams']['vfs']
                return files['rows_per_s'], files['bytes_per_s']
            wait_for('rates without rows', lambda: rates_now() == (0, 0), rates_now, pause=0.2)
        check('rows_per_s' not in session.final['sessions'][0]['streams']['vfs'], 'rates after the end')


@test(host_only=True)
def cpu(world):
    """CPU time of the daemon and of a writer, beside what the kernel says."""
    with Numbered(world) as reads, world.session(*reads.options()) as session:
        reads.do(30000)
        wait_for('the rows to be written', lambda: account.streams(session.status())['vfs']['written'] >= 30000)
        reply = session.status()
        with open('/proc/%d/stat' % reply['pid'], encoding='ascii') as file:
            fields = file.read().rpartition(')')[2].split()
        used = (int(fields[11]) + int(fields[12])) * 10**9 // os.sysconf('SC_CLK_TCK')
        writer, daemon = reply['sessions'][0]['writer']['cpu_ns'], reply['cost']['cpu_ns']
        check(0 <= used - daemon < 5 * 10**8 or 0 <= daemon - used < 5 * 10**7, 'CPU time of the daemon',
              used, daemon)
        check(0 < writer < daemon, 'CPU time of the writer', writer, daemon)


@test
def programs(world):
    """Cost of the BPF programs: at least as many runs as there were calls, or the reason why there is no figure."""
    with Numbered(world) as reads, world.session(*reads.options()) as session:
        begun = time.monotonic_ns()

        def measured():
            rate = pace(reads, 0.3)
            bpf = session.status()['cost']['bpf']
            now = time.monotonic_ns()
            fresh = 'age_ns' in bpf and bpf['age_ns'] + bpf['window_ns'] < now - begun  # not one from an earlier session
            return (fresh or 'reason' in bpf) and (rate, bpf)
        rate, bpf = wait_for('a window of this session', measured)
        if 'reason' in bpf:
            raise Skip(bpf['reason'])
        check(bpf['runs_per_s'] > rate * 0.3, 'runs a second', bpf, rate)
        check(20 < bpf['ns_per_run'] < 10**6, 'time of a run', bpf)
        check(9 * 10**7 < bpf['window_ns'] < 10**10, 'length of the window', bpf)


@test(host_only=True)
def remaining(world):
    """The time to the end of a session that has one."""
    world.undo.callback(lambda: world.ctl.run('stop', '--all'))
    world.ctl.exits((0, 6), 'start', 'ends', '--vfs', '--pid', os.getpid(), '--duration', '100s',
                    '--output', world.path('trace'))
    left = world.ctl.json('status', 'ends')['sessions'][0]['remaining']['duration_ns']
    check(50 * 10**9 < left < 100 * 10**9, 'time left', left)
    with world.session('--vfs', '--pid', os.getpid()) as session:
        equal(session.status()['sessions'][0]['remaining'], {}, 'limits of one that has none')


def watch(world, *args, **options):
    return subprocess.Popen(world.ctl.command('status', *args), stdin=subprocess.DEVNULL, text=True,
                            stderr=subprocess.PIPE, **options)


@test
def watch_interrupted(world):
    """A block for each interval, and Ctrl-C is no failure."""
    with world.session('--vfs', '--pid', os.getpid()) as session:
        process = watch(world, session.name, '--watch=100ms', '--json', stdout=subprocess.PIPE)
        blocks = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGINT)
        output = process.stdout.read()
        equal((process.wait(60), process.stderr.read()), (0, ''), 'exit code and stderr')
    for line in output.splitlines():
        json.loads(line)
    for block in blocks:
        equal(block['sessions'][0]['name'], session.name, 'session')


@test(host_only=True)
def watch_ends(world):
    """It ends with the session, be it stopped or by itself."""
    with world.session('--vfs', '--pid', os.getpid()) as session:
        both = [watch(world, session.name, '--watch=100ms', *options, stdout=subprocess.PIPE)
                for options in ((), ('--json',))]
        for process in both:
            process.stdout.readline()
        session.stop()
        output, documents = [process.stdout.read() for process in both]
        for process in both:
            equal((process.wait(60), process.stderr.read()), (0, ''), 'exit code and stderr')
    for line in documents.splitlines():
        equal(json.loads(line)['sessions'][0]['name'], session.name, 'session')
    check(output.endswith('%s: stopped\n' % session.name), 'the end is not told', output[-200:])
    check('\033' not in output, 'escape sequences without a terminal')
    world.undo.callback(lambda: world.ctl.run('stop', 'ends'))
    world.ctl.exits((0, 6), 'start', 'ends', '--vfs', '--pid', os.getpid(), '--duration', '400ms',
                    '--output', world.path('trace'))
    done = world.ctl.exits(0, 'status', 'ends', '--watch=100ms')
    check('ends: ended' in done.stdout, 'the end is not told', done.stdout[-200:])


@test(host_only=True)
def watch_refused(world):
    world.ctl.exits(5, 'status', 'nobody', '--watch')
    for time_text in ('0', '1ms', 'x', '2d', '-1'):
        world.ctl.exits(2, 'status', '--watch=' + time_text)
    daemon, ctl = world.own_daemon()
    process = subprocess.Popen(ctl.command('status', '--watch=100ms'), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    daemon.stop()
    process.communicate(timeout=60)
    equal(process.returncode, 3, 'exit code when the daemon has gone')
