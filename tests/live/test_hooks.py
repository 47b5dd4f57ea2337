# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on hooks: when they are attached and when not, how many there are, and how long they take to load."""
import collections
import contextlib
import os
import signal
import threading
import time

from lib import maps
from lib.hooks import attached, held, settle, told, tracepoints
from lib.kept import HOOKS
from lib.mapped import PAGE, File
from lib.reader import Reader, judge_rows
from lib.registry import PATIENCE, Skip, check, equal, test, wait_for
from lib.world import find_key

VERIFIED_MAX = 150000


@test(host_only=True)
def idle(world):
    """Nothing is attached while no session runs."""
    daemon, client = world.own_daemon()
    settle(daemon, False)
    with world.session('--vfs', '--block', '--pid', os.getpid(), ctl=client):
        settle(daemon, True)
    settle(daemon, False)


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
def one_program_for_block_requests(world):
    """Whichever of the streams that follow them are on, a request to a disk goes to one program at the queue and to one at its end."""
    daemon, client = world.own_daemon()
    for options in (['--all'], ['--block'], ['--cache'], ['--block', '--cache']):
        with world.session(*options, '--pid', os.getpid(), ctl=client):
            settle(daemon, True)
            found = tracepoints(daemon)
        if not found or 'block_rq_complete' not in found:
            raise Skip('the kernel does not tell what the program is on')
        equal([found.count('block_bio_queue'), found.count('block_rq_complete')], [1, 1], 'programs on both ends with %s' % options)


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
