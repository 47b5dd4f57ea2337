# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: its start, its end, its socket, and that it does not record itself."""
import collections
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from lib import ctl, maps, rows
from lib.kept import HOOKS
from lib.mapped import PAGE, File
from lib.match import Matcher, brief_row
from lib.reader import Reader, judge_rows
from lib.registry import PATIENCE, Skip, check, equal, test, wait_for
from lib.world import find_key

VERIFIED_MAX = 120000  # instructions

LINKS = ('anon_inode:bpf_link', 'anon_inode:bpf-link', 'anon_inode:bpf-raw-tracepoint',
         'anon_inode:[perf_event]')


def complete(world, expected, found):
    lines = Matcher(world.level).judge(expected.rows, expected.windows, found)
    check(not lines, *lines)


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
    complete(world, expected, session.rows())


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
    complete(world, expected, session.rows())
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


def targets(daemon):
    """The targets of its descriptors."""
    folder, found = '/proc/%d/fd' % daemon.process.pid, []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):  # closed meanwhile
            found.append(os.readlink(os.path.join(folder, name)))
    return found


def attached(daemon):
    """Descriptors that hold a program on a hook."""
    return [target for target in targets(daemon) if target in LINKS]


def settle(daemon, wanted):
    wait_for('programs on hooks: %s' % wanted, lambda: bool(attached(daemon)) == wanted, lambda: attached(daemon))


@test(host_only=True)
def idle(world):
    """Nothing is attached while no session runs."""
    daemon, client = world.own_daemon()
    settle(daemon, False)
    with world.session('--vfs', '--block', '--pid', os.getpid(), ctl=client):
        settle(daemon, True)
    settle(daemon, False)


def told(daemon, key, names=None):
    """What the kernel tells under a key, by descriptor, of all of the daemon's or of those so named that have one."""
    folder, found = '/proc/%d/fdinfo' % daemon.process.pid, {}
    for name in os.listdir(folder) if names is None else names:
        try:
            with open(os.path.join(folder, name), encoding='ascii') as file:
                lines = [line.split() for line in file]
        except FileNotFoundError:
            continue
        found.update({name: words[1] for words in lines if words[0] == key})
    return found


def tracepoints(daemon):
    """Names of the raw tracepoints that its programs are attached to."""
    return list(told(daemon, 'tp_name:').values())


def held(daemon, tracepoint, names=None):
    """Descriptors, all or of those so named, that hold a program on that raw tracepoint."""
    return [name for name, on in told(daemon, 'tp_name:', names).items() if on == tracepoint]


@test
def verified_soon(world):
    """Each program takes the verifier about a tenth of the million instructions that it allows, so that a start stays short."""
    world.ctl.exits(0, 'streams') # waits until all are loaded
    took = sorted((int(count) for count in told(world.daemon, 'verified_insns:').values()), reverse=True)
    if not took and told(world.daemon, 'prog_id:'):
        raise Skip('the kernel does not tell')
    check(took and took[0] <= VERIFIED_MAX, 'verified instructions of the longest', took[:5])


@test
def one_program_for_calls(world):
    """With every stream on, a system call goes to one program when it begins and to one when it ends."""
    daemon, client = world.own_daemon()
    with world.session('--all', '--pid', os.getpid(), ctl=client):
        settle(daemon, True)
        found = tracepoints(daemon)
    if not found or 'sys_exit' not in found:
        raise Skip('the kernel does not tell what the program is on')
    equal([found.count('sys_enter'), found.count('sys_exit')], [1, 1], 'programs on sys_enter and sys_exit')


@test
def one_program_for_calls_of_the_cache(world):
    """The page cache's own program is at the end of calls while no other one is, and no end goes unseen when they change."""
    daemon, client = world.own_daemon()

    def wait_programs(*counts):
        def count():
            found = tracepoints(daemon)
            return [found.count('sys_enter'), found.count('sys_exit')]
        wait_for('%d and %d programs on sys_enter and sys_exit' % counts, lambda: count() == list(counts), count)
    file, ended, reads = File(world.path('warm'), 2, warm=True), threading.Event(), []
    world.undo.callback(os.close, file.fd)

    def read():
        while not ended.wait(0.001):
            os.pread(file.fd, 2 * PAGE, 0)  # of more than one page, so that its row is made at its end
            reads.append(1)
    with world.session('--cache', '--pid', os.getpid(), ctl=client) as running:
        settle(daemon, True)
        if 'sys_exit' not in tracepoints(daemon):
            raise Skip('the kernel does not tell what the program is on')
        reader = threading.Thread(target=read)
        reader.start()
        try:
            for _ in range(2):
                wait_programs(0, 1)  # hooks that nobody wants stay for a second
                with world.session('--net', '--pid', os.getpid(), ctl=client):
                    wait_programs(1, 1)
            wait_programs(0, 1)
        finally:
            ended.set()
            reader.join()
    if "'HIT'" in str(find_key(running.started, 'missing')):
        raise Skip('the kernel does not tell which pages a read is after')
    found = [(row['operation'], row['index'], row['count']) for row in file.of(running.rows('cache'))]
    equal(collections.Counter(found), {('HIT', '0', '2'): len(reads)}, 'rows')


@test
def one_program_for_requests(world):
    """Whichever streams are on, a request of io_uring goes to one program when it begins and to one when it ends."""
    daemon, client = world.own_daemon()
    for options in (['--all'], ['--vfs', '--net'], ['--conn']):
        with world.session(*options, '--pid', os.getpid(), ctl=client):
            settle(daemon, True)
            found = tracepoints(daemon)
        if not found or 'io_uring_complete' not in found:
            raise Skip('the kernel does not tell what the program is on')
        begins = [name for name in found if name in ('io_uring_submit_req', 'io_uring_submit_sqe')]
        equal([len(begins), found.count('io_uring_complete')], [1, 1], 'programs on both ends with %s' % options)


@test
def kept_counted_anew(world):
    """Entries of bios that have ended stay up to a number, and are counted rightly when hooks come again."""
    daemon, client = world.own_daemon()
    for _ in range(3):
        settle(daemon, False)
        with world.session('--block', ctl=client):
            settle(daemon, True)
            with open(world.path('written'), 'wb') as file:
                file.write(bytes(PAGE))
                file.flush()
                os.fsync(file.fileno())
            with contextlib.ExitStack() as undo:
                kept, bios = (maps.map_of(daemon, name) for name in ('bios_kept', 'bios'))
                undo.callback(os.close, kept)
                undo.callback(os.close, bios)
                count = lambda: [maps.number(kept), maps.entries(bios)]
                wait_for('as many entries as are counted', lambda: len({*count()}) == 1, count)
                if not maps.entries(bios):
                    raise Skip('no bio')


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
def goes_over_to_functions(world):
    """At function level a session begins with programs on all system calls, and goes over; each call is one row."""
    if world.level != 'function':
        raise Skip('the level is %s' % world.level)
    wait_for('no hooks', lambda: not attached(world.daemon), lambda: len(attached(world.daemon)))
    path, count, going, more = world.path('read'), 0, True, 5
    with open(path, 'wb') as file:
        file.write(b'x')
    # Enough operations that their functions do not all have hooks by the time that status is asked.
    with world.session('--vfs', '--pid', os.getpid(), '--path', path, '--operation',
                       'READ,WRITE,OPEN,GETATTR,SETATTR,SETXATTR,GETXATTR,TRUNCATE') as session:
        check('until the functions' in (find_key(session.status(), 'stand_in') or ''), 'status does not tell what stands in')
        # On a slow machine all functions have their hooks by the time that the list of hooks is read.
        check('sys_enter' in tracepoints(world.daemon) or not find_key(session.status(), 'stand_in'), 'nothing stands in')
        # There are hundreds of descriptors, and the daemon needs the CPU.
        holding = held(world.daemon, 'sys_exit')
        fd, end, look = os.open(path, os.O_RDONLY), time.monotonic() + PATIENCE, 0
        while more and time.monotonic() < end:
            for _ in range(20):
                os.pread(fd, 7, count)
                count += 1
            time.sleep(0.03)  # for the daemon, which attaches its hooks on the only CPU that an emulated machine may have
            if not going:
                more -= 1
            elif time.monotonic() > look:
                going = bool(held(world.daemon, 'sys_exit', holding) or held(world.daemon, 'sys_exit'))
                look = time.monotonic() + 0.5
        os.close(fd)
        equal(find_key(session.status(), 'stand_in'), None, 'status tells of what does not stand in any more')
    equal(more, 0, 'rounds behind the moment when nothing stands in any more')
    found = [int(row['offset']) for row in session.rows() if row['operation'] == 'READ']
    equal(sorted(found), list(range(count)), 'offsets of the reads that are rows')


def on_functions(client, name):
    """The session runs, and no program stands in for those on functions any more."""
    session, = client.ask('Status', name=name)['sessions']
    return session['state'] == 'running' and 'stand_in' not in session and session


@test
def goes_over_to_the_next(world):
    """
    All hooks on functions stay attached over a new start of the service, and what one daemon has seen the next one does not see
    again. A daemon that is killed leaves programs alone, and the next one attaches them. Without sessions they are detached.
    """
    if world.level != 'function':
        raise Skip('the level is %s' % world.level)
    daemon, client, path = world.daemon, world.ctl, world.path('read')
    with open(path, 'wb') as file:
        file.write(b'x')
    world.undo.callback(client.run, 'stop', '--all')
    first = client.start('on', '--vfs', '--path', path, '--operation', 'READ')['session']['output']
    client.start('beside', '--net', '--block', '--no-snapshots')
    reader = Reader(world, path)
    wait_for('hooks on functions', lambda: on_functions(client, 'on'), daemon.tail, pause=0.2)
    programs, hooks = daemon.programs(), daemon.function_hooks()
    check(hooks, 'no hooks on functions are attached')
    daemon.stop_cleanly()
    check(HOOKS in daemon.store.kept, 'hooks are not kept', *daemon.store.kept)
    daemon.start()
    second = wait_for('hooks on functions', lambda: on_functions(client, 'on'), daemon.tail, pause=0.2)['output']
    equal(daemon.function_hooks(), hooks, 'hooks on functions after the new start')
    wait_for('rows', lambda: client.ask('Status', name='on')['sessions'][0]['streams']['vfs']['written'])
    reader.end()
    client.run('stop', '--all')
    judge_rows(reader, [first, second])
    hooks = daemon.hooks()
    wait_for('hooks to be detached', lambda: len(daemon.hooks()) < len(hooks), lambda: [len(hooks)], pause=0.5)
    daemon.stop(signal.SIGKILL)
    daemon.start()
    check(len(programs & daemon.programs()) > len(programs) / 2, 'programs are loaded anew', *daemon.tail())
    check(not hooks & daemon.hooks(), 'hooks outlive a daemon that was killed')
    with world.session('--vfs', '--path', path, '--operation', 'READ') as session:
        reader = Reader(world, path)
        wait_for('rows', lambda: session.status()['sessions'][0]['streams']['vfs']['written'])
        reader.end()
    judge_rows(reader, [session.output])


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
    complete(world, expected, ctl.own(found, pid))
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


def sockets(daemon):
    """How many sockets the daemon has open."""
    return sum(target.startswith('socket:') for target in targets(daemon))


@test
def numbers_used_again(world):
    """A process is recorded again after it has disconnected from the daemon, once its last connection is closed."""
    path = os.path.join(world.make('client'), 'file')
    with open(path, 'wb') as file:
        file.write(b'x' * 100)
    with world.session('--vfs', '--path', os.path.dirname(path), '--operation', 'READ') as session:
        fd = os.open(path, os.O_RDONLY)
        os.pread(fd, 1, 0)
        for _ in range(2):
            with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
                for one in (first, second):
                    one.connect(world.ctl.socket)
                    check(b'parameters' in call(one, b'{"method":"io.iotracer.List"}\0'), 'no answer')
                os.pread(fd, 2, 0)
                both = sockets(world.daemon)
                second.close()
                wait_for('one to have gone', lambda: sockets(world.daemon) == both - 1)
                os.pread(fd, 3, 0)
            wait_for('the other to have gone', lambda: sockets(world.daemon) == both - 2)
            world.ctl.exits(0, 'list')  # the daemon has handled the disconnection
            os.pread(fd, 4, 0)
        os.close(fd)
    equal([row['size'] for row in session.rows()], ['1', '4', '4'], 'sizes of reads while it was no client')


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


# The socket.

def call(peer, message):
    """A reply, or b'' when the daemon hung up."""
    reply = b''
    try:
        peer.sendall(message)
        while not reply.endswith(b'\0'):
            part = peer.recv(65536)
            if not part:
                break
            reply += part
    except OSError:
        pass
    return reply


def peer_of(daemon):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(PATIENCE)
    peer.connect(daemon.socket)
    return peer


BAD = [
    b'not json\0', b'\0', b'{}\0', b'[]\0', b'{"method":1}\0', b'\xff\xfe\0', b'{"method":null}\0',
    b'{"method":"io.iotracer.Nonsense"}\0', b'{"method":"io.iotracer.Start"}\0',
    b'{"method":"io.iotracer.Start","parameters":7}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":"vfs"}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"pids":["x"]}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"pids":[-1]}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"name":"a/b"}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"nonsense":1}}\0',
    b'{"method":"io.iotracer.Stop","parameters":{"name":"nobody"}}\0',
    b'{"method":"io.iotracer.Status","parameters":{"name":5}}\0',
    b'[' * 100000 + b'\0', b'{"method":"' + b'x' * (2 << 20) + b'"}\0',
    b'{"method":"io.iotracer.Status","parameters":{"name":"' + b'\\u0000' * 1000 + b'"}}\0',
]


@test(host_only=True)
def bad_messages(world):
    """Nothing that comes in stops the daemon or disturbs a session."""
    with world.session('--vfs', '--command', 'iotr-trigger') as session:
        for message in BAD:
            with peer_of(world.daemon) as peer:
                reply = call(peer, message)
            check(b'error' in reply or not reply, 'bad message was taken', message[:100], reply[:200])
        with peer_of(world.daemon) as peer:
            peer.sendall(b'{"method":"io.iotr')
        _, expected = world.trigger.run('read', world.path('work'))
    complete(world, expected, session.rows())


@test(host_only=True)
def half_sent(world):
    """A message in pieces is a message; two in one piece are two."""
    message = b'{"method":"org.varlink.service.GetInfo"}\0'
    with peer_of(world.daemon) as peer:
        for index in range(len(message) - 1):
            peer.sendall(message[index:index + 1])
        reply = json.loads(call(peer, message[-1:])[:-1])
        check('io.iotracer' in reply['parameters']['interfaces'], 'interfaces', reply)
        peer.sendall(message + message)
        text = b''
        while text.count(b'\0') < 2:
            part = peer.recv(65536)
            check(part, 'the daemon hung up')
            text += part


def connections(world, daemon, count):
    """So many of root's, of which none says anything."""
    peers = []
    world.undo.callback(lambda: [peer.close() for peer in peers])
    while len(peers) < count:
        try:
            peers.append(peer_of(daemon))
        except BlockingIOError:  # more wait to be accepted than the kernel lets
            time.sleep(0.01)
    return peers


@test(host_only=True)
def crowd(world):
    """A thousand connections: those that have been idle longest are closed, and as many as may be there are served."""
    daemon, client = world.own_daemon()
    with world.session('--vfs', '--command', 'iotr-trigger', ctl=client) as session:
        peers = connections(world, daemon, 1000)
        _, expected = world.trigger.run('read', world.path('work'))
        for peer in peers[:-64]:
            equal(peer.recv(1), b'', 'what a closed connection receives')
        for peer in peers[-64:]:
            reply = call(peer, b'{"method":"io.iotracer.List"}\0')
            check(b'parameters' in reply, 'a connection is not served', reply)
        client.exits(0, 'list')
    complete(world, expected, session.rows())


@test(host_only=True)
def crowd_of_the_busy(world):
    """Connections with a call in progress stay; when all have one, a further connection is refused with an error."""
    daemon, client = world.own_daemon()
    with world.session('--vfs', '--command', 'nobody', ctl=client) as session:
        peers = connections(world, daemon, 64)
        message = '{"method":"io.iotracer.Tail","more":true,"parameters":{"name":"%s"}}\0' % session.name
        for peer in peers:
            peer.sendall(message.encode())
        wait_for('all connections to have a call in progress', lambda: client.run('list').returncode != 0)
        with peer_of(daemon) as late:
            check(b'TooManyConnections' in late.recv(4096), 'the one that is too many is not told')
        for peer in peers:
            peer.close()
        wait_for('room for another', lambda: not client.run('list').returncode)


@test(host_only=True)
def stalled_reader(world):
    """A client that asks and never reads does not hold up the others."""
    with peer_of(world.daemon) as peer:
        peer.setblocking(False)
        try:
            for _ in range(20000):
                peer.send(b'{"method":"io.iotracer.Streams"}\0')
        except OSError:
            pass
        world.ctl.exits(0, 'list')
    world.ctl.exits(0, 'list')


@test(host_only=True)
def strangers(world):
    """Users other than root and the members of the group may not connect."""
    code = ('import socket,sys\ns=socket.socket(socket.AF_UNIX)\ntry:\n s.connect(sys.argv[1])\n'
            ' s.sendall(b\'{"method":"io.iotracer.List"}\\0\')\n r=s.recv(9999)\n'
            'except PermissionError:\n sys.exit(4)\nsys.exit(4 if b"ermission" in r or not r else 0)')
    os.chmod(world.folder, 0o755)
    python = '/usr/bin/python3'
    if not os.path.exists(python):
        raise Skip('no python3 that any user may run')
    done = subprocess.run([python, '-c', code, world.daemon.socket], user=65534, group=65534,
                          extra_groups=[], timeout=PATIENCE, check=False)
    equal(done.returncode, 4, 'what a stranger met')
