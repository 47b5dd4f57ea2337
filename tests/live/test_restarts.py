# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that the kernel makes once more: one row and one count for each, from its first beginning to its last end."""
import os
import signal

from lib.calls import Caller, in_call
from lib.registry import check, equal, test, wait_for
from test_fired import Fsyncs, acted, triggers_of

MS = 1000000
TOOK = 150 * MS

SCRIPT = r'''
import fcntl, signal, threading
LOG = os.open(FOLDER + '/log', os.O_WRONLY | os.O_CREAT)
LOCKED = os.open(FOLDER + '/locked', os.O_RDWR | os.O_CREAT)
ALARM, FLAG = ctypes.CFUNCTYPE(None, ctypes.c_int), {True: 0x10000000, False: 0}

class Action(ctypes.Structure):
    _fields_ = [('handler', ALARM), ('mask', ctypes.c_ulong * 16), ('flags', ctypes.c_int), ('restorer', ctypes.c_void_p)]

def handles(does, restart):
    """Alarms of this process go to a handler of C, which is called where the signal is delivered."""
    handles.kept = Action(ALARM(does), flags=FLAG[restart])
    LIBC.sigaction(14, ctypes.byref(handles.kept), None)

def writes(_signal):
    LIBC.syscall(1, LOG, b'x', 1)

def ignores(_signal):
    pass

def meanwhile(does, *script):
    """A child that interrupts the call, twice, and ends it then."""
    parent, child = os.getpid(), os.fork()
    if child:
        return child
    try:
        for _ in range(2):
            time.sleep(.08)
            for one in script:
                os.kill(parent, one)
                time.sleep(.02)
        does()
    finally:
        os._exit(0)

def made(number, *arguments, by, script, child=None):
    child = meanwhile(by, *script)
    result = call(number, *arguments)
    os.waitpid(child, 0)
    NOTED.append(result)

def server():
    listening = socket.create_server(('127.0.0.1', 0))
    return listening, lambda: socket.create_connection(listening.getsockname())

ROOM = ctypes.create_string_buffer(100)
STOPS, ALARMS = (signal.SIGSTOP, signal.SIGCONT), (signal.SIGALRM,)

def transfers(script):
    one, other = socket.socketpair()
    listening, connect = server()
    made(288, listening.fileno(), 0, 0, 0, by=connect, script=script)
    inet = socket.create_connection(listening.getsockname())
    peer, _ = listening.accept()
    made(45, peer.fileno(), ROOM, 100, 0, 0, 0, by=lambda: inet.send(b'1234567'), script=script)
'''
CALLS = r'''
transfers(STOPS)
one, other = os.pipe()
entry = ctypes.create_string_buffer(struct.pack('<ihh', one, 1, 0), 8)
made(7, entry, 1, -1, by=lambda: os.write(other, b'x'), script=STOPS)
handles(writes, True)
transfers(ALARMS)
handles(ignores, False)
listening, connect = server()
made(288, listening.fileno(), 0, 0, 0, by=connect, script=ALARMS[:1])
'''
STREAMS = ('--net', '--conn', '--epoll')


def of_calls(session, stream, operation):
    """The rows of an operation that took as long as one that is interrupted and ended by the child."""
    return [row for row in session.rows(stream) if row['operation'] == operation and int(row['latency_ns']) > 40 * MS]


@test
def of_sockets(world):
    """Stopped and continued, or with a handler that restarts: one row, no error. Without: the error that the program sees."""
    folder = world.make('restarts')
    caller = Caller('FOLDER = %r\n' % folder + SCRIPT + CALLS)
    with world.session(*STREAMS, '--pid', caller.pid) as session:
        results = caller.go()
    equal([result >= 0 for result in results], [True] * 5 + [False], 'what the program saw')
    received = of_calls(session, 'net', 'RECEIVE')
    equal([(row['bytes_completed'], row['error_code']) for row in received], [('7', '0')] * 2, 'received')
    accepted = of_calls(session, 'conn', 'ACCEPT')
    equal([row['return_value'] for row in accepted], [str(results[0]), str(results[3]), '-4'], 'accepted')
    polled = of_calls(session, 'epoll', 'POLL')
    equal([row['return_value'] for row in polled], ['1'], 'waited')
    for row in received + accepted[:2] + polled:
        check(int(row['latency_ns']) >= TOOK, 'from the first beginning on', row)


DIES = r'''
listening, connect = server()
call(288, listening.fileno(), 0, 0, 0)
'''


@test
def killed(world):
    """A call that its process dies in returns nothing: a row, and no error."""
    caller = Caller('FOLDER = %r\n' % world.make('killed') + SCRIPT + DIES)
    with world.session('--conn', '--pid', caller.pid, '--operation', 'ACCEPT') as session:
        caller.begin()
        wait_for('the process to wait', lambda: in_call(caller.pid, 288))
        os.kill(caller.pid, signal.SIGKILL)
        os.waitpid(caller.pid, 0)
    equal([row['return_value'] for row in session.rows('conn')], [''], 'what the call returned')


LOCKS = r'''
def locked():
    """A process that has the lock until it is killed."""
    ready, told = os.pipe()
    holder = os.fork()
    if not holder:
        fcntl.flock(os.open(FOLDER + '/locked', os.O_RDWR), fcntl.LOCK_EX)
        os.write(told, b'x')
        signal.pause()
    os.read(ready, 1)
    return holder

def lock(script):
    holder = locked()
    made(73, LOCKED, 2, by=lambda: os.kill(holder, signal.SIGKILL), script=script)
    os.waitpid(holder, 0)
    call(73, LOCKED, 8)

lock(STOPS)
handles(writes, True)
lock(ALARMS)
'''


@test
def of_locks(world):
    """The same of a file system's call: its row, its errors and its time as a trigger sees them."""
    folder, ctl = world.make('locks'), world.ctl
    slow, failed = 'vfs.FLOCK max > 140ms', 'vfs.FLOCK errors > 0/s'
    caller = Caller('FOLDER = %r\n' % folder + SCRIPT + LOCKS)
    loaded = 'vfs.FSYNC max > 1us'
    options = ['--flight-recorder', '1M', '--trigger', loaded, '--trigger', slow, '--trigger', failed, '--hold-off', '1s']
    done = ctl.run('start', 'locks', '--vfs', '--no-snapshots', '--pid', str(caller.pid), *options)
    check(done.returncode in (0, 6), 'start', done)
    try:
        acted(ctl, 'locks', loaded, lambda: Fsyncs(world).some(2))
        with world.session('--vfs', '--pid', caller.pid, '--operation', 'FLOCK,WRITE') as session:
            results = caller.go()
        wait_for('the trigger on the time', lambda: triggers_of(ctl, 'locks')[slow]['fired'])
        equal(triggers_of(ctl, 'locks')[failed]['fired'], 0, 'errors')
    finally:
        ctl.run('stop', 'locks')
    equal(results, [0, 0], 'what the program saw')
    found = [row for row in session.rows() if row['operation'] == 'FLOCK' and 'LOCK_EX' in row['flags']]
    equal([row['return_value'] for row in found], ['0', '0'], 'rows')
    for row in found:
        check(int(row['latency_ns']) >= TOOK, 'from the first beginning on', row)
    equal(len([row for row in session.rows() if row['filename'] == folder + '/log']), 2, 'what the handler wrote')
