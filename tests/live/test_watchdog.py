# SPDX-License-Identifier: GPL-2.0-or-later
"""Signs of life for systemd: while the loop and the data plane move, whatever a disk does."""
import contextlib
import ctypes
import os
import socket
import threading
import time

from lib import reads
from lib.ctl import Ctl
from lib.registry import Failure, Skip, check, equal, test, wait_for
from lib.world import find_key

USEC = 2000000  # WatchdogSec=
CONSUMER, WRITER = -10, -8  # nice values of the threads
SEIZE, INTERRUPT, DETACH, ALL_CHILDREN = 0x4206, 0x4207, 17, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def ptrace(request, thread):
    LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    LIBC.ptrace.restype = ctypes.c_long
    if LIBC.ptrace(request, thread, None, None) < 0:
        raise Failure('ptrace: ' + os.strerror(ctypes.get_errno()))


def stop(thread):
    """A thread of another process stands still from now on, while the others go on."""
    ptrace(SEIZE, thread)
    ptrace(INTERRUPT, thread)
    os.waitpid(thread, ALL_CHILDREN)


@contextlib.contextmanager
def stopped(thread):
    stop(thread)
    try:
        yield
    finally:
        ptrace(DETACH, thread)


def thread_of(process, nice):
    for task in os.listdir('/proc/%d/task' % process):
        with open('/proc/%d/task/%s/stat' % (process, task), encoding='ascii') as file:
            if int(file.read().rpartition(')')[2].split()[16]) == nice:
                return int(task)
    raise Failure('there is no thread with the nice value %d' % nice)


class Systemd:
    """
    What the daemon tells it. A thread listens all the time, as the daemon waits for room when ten messages are not read;
    descriptors that it is to keep are closed.
    """

    def __init__(self, world):
        path = world.path('notify')
        self.signs_at = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        world.undo.callback(self.end)
        self.variables = {'NOTIFY_SOCKET': path, 'WATCHDOG_USEC': str(USEC)}

    def listen(self):
        while message := self.socket.recv(4096):
            if b'WATCHDOG=1' in message:
                self.signs_at.append(time.monotonic())

    def end(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.listener.join()
        self.socket.close()

    def serves(self, make):
        """What `make` returns, whose daemon has it for its systemd."""
        os.environ.update(self.variables)
        try:
            return make()
        finally:
            for name in self.variables:
                del os.environ[name]

    def signs(self, seconds):
        """How many signs of life come within the time."""
        begin = time.monotonic()
        time.sleep(seconds)
        return sum(at >= begin for at in self.signs_at)

    def one_comes(self):
        return self.signs(0.2) > 0


def check_stuck(systemd, daemon, load, thread, what):
    with stopped(thread):
        load.go(10)
        wait_for('the log to tell', lambda: any('%s has not moved for ' % what in line for line in daemon.tail(10)), daemon.tail)
        equal(systemd.signs(USEC / 1e6), 0, 'signs of life while it stands still')
    wait_for('a sign of life', systemd.one_comes)


@test(host_only=True)
def data_plane(world):
    """A thread that stands still although rows wait costs the signs of life, and the log tells which; nothing is lost here."""
    systemd = Systemd(world)
    daemon, ctl = systemd.serves(lambda: world.own_daemon(fresh=True))
    with reads.Reads(world.path('file')) as load, world.session(*reads.OPTIONS, ctl=ctl) as session:
        load.go(10)
        wait_for('rows', lambda: find_key(session.status(), 'written') == load.done)
        check(systemd.signs(USEC / 1e6) >= 2, 'too few signs of life')
        check_stuck(systemd, daemon, load, thread_of(daemon.process.pid, CONSUMER), 'the thread that takes up rows')
        check_stuck(systemd, daemon, load, thread_of(daemon.process.pid, WRITER), 'the writer of session ' + session.name)
    reads.all_there(session.output, load.done)


@test(host_only=True)
def disk(world):
    """A disk that does not answer is not what the daemon is ended for."""
    systemd, library = Systemd(world), os.path.join(os.path.dirname(world.trigger.program), 'iotr-faults.so')
    if not os.path.exists(library):
        raise Skip('%s is not there' % library)
    preload = world.path('faults.so')
    os.symlink(library, preload)
    daemon = systemd.serves(lambda: world.new_daemon(level='tracepoint', preload=preload))
    world.undo.callback(daemon.stop)
    ctl = Ctl(world.ctl_program, daemon.socket)
    with reads.Reads(reads.deep(world.path('deep'))) as load:
        session = world.session(*reads.OPTIONS, ctl=ctl)
        session.start()
        load.go(10)
        daemon.order('stall %s' % session.output)
        load.go(3000)
        wait_for('the disk to stall', lambda: find_key(session.status(), 'disk_errors'))
        check(systemd.signs(2 * USEC / 1e6) >= 5, 'too few signs of life')
        daemon.order()
        session.stop()
    check(not any('has not moved' in line for line in daemon.tail(50)), 'the log', *daemon.tail(50))
