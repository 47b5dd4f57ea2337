# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: its start, its end, and that it does not record itself."""
import os
import shutil
import signal
import subprocess
import sys
import time

from lib import ctl, rows
from lib.hooks import settle
from lib.match import brief_row, complete
from lib.registry import PATIENCE, check, equal, test, wait_for


@test(host_only=True)
def twice(world):
    """A second one in the same place gives up; the first does not notice."""
    daemon, client = world.own_daemon()
    done = subprocess.run(daemon.command(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    check(done.returncode != 0, 'the second daemon ended with 0')
    check(done.stderr.strip() or done.stdout.strip(), 'the second daemon does not say why')
    client.exits(0, 'list')
    with world.session('--vfs', '--pid', os.getpid(), ctl=client):
        pass


@test(host_only=True)
def shared_state(world):
    """One with another socket, but with the state folder of one that runs, gives up, and leaves its sessions alone."""
    daemon, client = world.own_daemon()
    other = os.path.join(daemon.folder, 'other')
    command = daemon.command()
    command[command.index('--runtime-dir') + 1] = other
    with world.session('--vfs', '--pid', os.getpid(), ctl=client):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                  check=False)
        finally:
            shutil.rmtree(other, ignore_errors=True)
        equal(done.returncode, 1, 'exit status of the second')
        check(os.path.join(daemon.folder, 'state') in done.stderr, 'the folder is not named', done.stderr)
        check(len(daemon.notes('running')) == 1, 'the note of the session that runs has gone')


@test
def after_a_crash(world):
    """What a killed daemon left behind does not hinder the next."""
    daemon, client = world.own_daemon()
    world.session('--vfs', '--pid', os.getpid(), ctl=client).start()
    daemon.stop(signal.SIGKILL)
    daemon.start(loaded=False)
    with world.session('--vfs', '--command', 'iotr-trigger', ctl=client) as session:
        _, expected = world.trigger.run('read', world.path('work'))
    complete(world.level, expected, session.rows())


@test(host_only=True)
def serves_while_it_loads(world):
    """It answers before its programs are loaded; a session waits for those of its streams alone, and nobody else."""
    daemon = world.new_daemon(level='tracepoint', loaded=False)
    world.undo.callback(daemon.stop)
    client = ctl.Ctl(world.ctl_program, daemon.socket)
    hooks = subprocess.Popen(client.command('streams'), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    start = subprocess.Popen(client.command('start', 'early', '--block', '--no-snapshots', '--output',
                                            world.path('early')), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_for('the start to be known', lambda: client.json('list')['sessions'])
    states = [client.json('list')['sessions'][0]['state'] for _ in range(3)]
    check(start.poll() is None and states == ['starting'] * 3, 'a start that waits', start.poll(), states)
    equal(start.wait(PATIENCE), 0, 'the start')
    check(hooks.poll() is None, 'the other programs are loaded before those that a session waits for')
    with world.session('--vfs', '--command', 'iotr-trigger', ctl=client) as session:
        _, expected = world.trigger.run('read', world.path('work'))
    complete(world.level, expected, session.rows())
    equal(hooks.wait(PATIENCE * 10), 0, 'what tells of hooks')
    equal(client.json('stop', 'early')['sessions'][0]['state'], 'ended', 'the state in the end')


@test(host_only=True)
def ends_while_it_loads(world):
    """Without the programs that are still to be loaded; what waited for them is told, or goes on at the next start."""
    daemon = world.new_daemon(level='tracepoint', loaded=False)
    client = ctl.Ctl(world.ctl_program, daemon.socket)
    start = subprocess.Popen(client.command('start', 'early', '--cache', '--no-snapshots', '--output',
                                            world.path('early')), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for('the start to be known', lambda: client.json('list')['sessions'])
    before = time.monotonic()
    equal(daemon.stop(), 0, 'exit status')
    took = time.monotonic() - before
    check(took < 2, 'the end took %.1f s' % took)
    check(start.wait(PATIENCE) != 0 and start.stderr.read(), 'a start that came to nothing is not told')
    check(not os.path.exists(world.path('early')), 'its folder was made')


@test(host_only=True)
def options(world):
    for args in (['--nonsense'], ['--level', 'nonsense']):
        done = subprocess.run([world.daemon_program, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        check(done.returncode != 0 and done.stderr.strip(), args, done)


@test(host_only=True)
def powerless(world):
    """One that may not make maps says so, and ends."""
    folder = world.path('powerless')
    folders = [part for name in ('runtime', 'log', 'state')
               for part in ('--%s-dir' % name, os.path.join(folder, name))]
    os.mkdir(folder)
    done = subprocess.run(['setpriv', '--bounding-set', '-bpf,-sys_admin', world.daemon_program, *folders],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check(done.returncode > 0 and 'BPF maps' in done.stderr, done)


@test(host_only=True)
def descriptors(world):
    """Sessions leave no descriptors behind."""
    daemon, client = world.own_daemon()
    counts = []
    for _ in range(3):
        with world.session('--vfs', '--block', '--pid', os.getpid(), ctl=client):
            pass
        settle(daemon, False)
        client.exits(0, 'list')  # what goes with the last hook has gone when the next one is answered
        counts.append(len(os.listdir('/proc/%d/fd' % daemon.process.pid)))
    wait_for('no more descriptors than after the first session',
             lambda: len(os.listdir('/proc/%d/fd' % daemon.process.pid)) <= counts[0], lambda: counts)


@test
def not_itself(world):
    """Neither the daemon nor a client that is connected is in the rows of a session without filters."""
    answers = world.path('answers')
    with world.session('--vfs', '--block', lossless=False) as session:
        for _ in range(5):
            with open(answers, 'ab', buffering=0) as file:
                subprocess.run(world.ctl.command('status', session.name), stdout=file, timeout=PATIENCE,
                               check=True)
        pid, expected = world.trigger.run('write', world.path('work'))
        world.ctl.ask('Rotate', name=session.name)
    found = session.rows()
    complete(world.level, expected, ctl.own(found, pid))
    mine = ctl.own(found, world.daemon.process.pid)
    equal(mine[:3], [], 'rows of the daemon: %d' % len(mine))
    # What iotracectl does before it is connected is that of any program.
    written = [row for row in found if row['filename'] == answers and row['operation'] == 'WRITE']
    equal(written, [], 'rows of what clients write')
    check(os.path.getsize(answers), 'the answers')
    own = [row for row in found if row['filename'].startswith(session.output)]
    equal(own[:3], [], 'rows about the trace itself')


SAME_NAME = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, b'iotracerd')
fd = os.open(sys.argv[1], os.O_RDONLY)
for size in range(1, 6):
    os.pread(fd, size, 0)
"""


@test
def namesakes(world):
    """A process with the name of the daemon or the client is recorded like any other."""
    path, program = os.path.join(world.make('named'), 'file'), os.path.join(world.make('bin'), 'iotracectl')
    with open(path, 'wb') as file:
        file.write(b'x' * 100)
    shutil.copy('/bin/cat', program)
    with world.session('--vfs', '--path', os.path.dirname(path)) as session:
        world.command(program, path)
        world.command(sys.executable, '-c', SAME_NAME, path)
    rows = [row for row in session.rows() if row['filename'] == path]
    copied = [row['operation'] for row in rows if row['command'] == 'iotracectl']
    equal((copied[0], copied[-1], 'READ' in copied), ('OPEN', 'CLOSE', True), 'what a copy of cat does')
    equal([row['size'] for row in rows if row['command'] == 'iotracerd' and row['operation'] == 'READ'],
          ['1', '2', '3', '4', '5'], 'sizes of the reads of a process with another name')


@test
def pseudo(world):
    """proc, sysfs, pipes and sockets are not file systems to a storage engineer."""
    script = 'cat /proc/self/status /sys/kernel/mm/transparent_hugepage/enabled | cat >/dev/null'
    output = world.path('record')
    world.ctl.exits(0, 'record', '--vfs', '--output', output, '--', 'sh', '-c', script)
    found = rows.read(output, 'vfs')
    bad = [row for row in found if row['filename'].startswith(('/proc/', '/sys/', 'pipe:'))
           or row['fs_type'] in ('proc', 'sysfs', 'pipefs', 'sockfs', 'cgroup2', 'tracefs')]
    check(not bad, 'rows of pseudo file systems', *[brief_row(row) + ' ' + row['fs_type']
                                                     for row in bad[:5]])
