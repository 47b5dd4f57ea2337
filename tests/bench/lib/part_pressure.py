# SPDX-License-Identifier: GPL-2.0-or-later
"""More rows than anybody should record: that none is lost, that compression catches up, and that the page cache is
left to others."""
import contextlib
import ctypes
import os
import shutil
import struct
import time

from lib.daemon import MIB, Daemon, Session
from lib.programs import Producer
from lib.table import Table, bar, note

CACHESTAT = 451  # on every architecture, since Linux 6.5
PAGE = os.sysconf('SC_PAGE_SIZE')
SECONDS = 60
PRODUCERS = 4
LIBC = ctypes.CDLL(None, use_errno=True)


def cached_of(path):
    """Bytes of the file in the page cache. None: this kernel does not tell."""
    everything, answer = struct.pack('QQ', 0, 0), ctypes.create_string_buffer(40)
    with open(path, 'rb') as file:
        if LIBC.syscall(CACHESTAT, file.fileno(), everything, answer, 0):
            return None
    return struct.unpack_from('Q', answer)[0] * PAGE


def cached_below(folder):
    """Of all files below the folder; None as above."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                one = cached_of(os.path.join(where, name))
                if one is None:
                    return None
                total += one
    return total


class Watch:
    """What is looked at again and again while a session runs."""

    def __init__(self, daemon, session):
        self.daemon, self.session = daemon, session
        self.cached, self.resident = 0, 0

    def look(self):
        one = cached_below(self.session.output)
        self.cached = None if one is None or self.cached is None else max(self.cached, one)
        self.resident = max(self.resident, self.daemon.resident()[0])

    def during(self, producers):
        while any(producer.running() for producer in producers):
            self.look()
            time.sleep(0.5)


def catch_up(watch, seconds):
    """Until all segments are compressed; how long that took, or None when time is over."""
    begin = time.monotonic()
    while not watch.session.is_compressed():
        if time.monotonic() > begin + seconds:
            return None
        watch.look()
        time.sleep(0.5)
    return time.monotonic() - begin


@contextlib.contextmanager
def default_session(daemon, *options):
    """A session as somebody starts it who gives no options but its streams."""
    session = Session(daemon, 'pressure', os.path.join(daemon.folder, 'out'))
    daemon.ctl('start', session.name, *options, '--output', session.output)
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(session.output, ignore_errors=True)


@contextlib.contextmanager
def producers_on(world, cpus, seconds):
    all_of_them = [Producer(world.build, *(('-c', cpu) if cpu is not None else ()), '-s', seconds, world.data)
                   for cpu in cpus]
    try:
        for producer in all_of_them:
            os.setpriority(os.PRIO_PROCESS, producer.pid, 0)  # what is traced does not go before the daemon's writer
            producer.go()
        yield all_of_them
    finally:
        for producer in all_of_them:
            producer.end()


def run(world, options, cpus, daemon_cpus):
    """Records producers on these CPUs, and waits for the compression of what they made."""
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon(world, daemon_cpus))
        daemon.load()
        session = stack.enter_context(default_session(daemon, *options))
        watch = Watch(daemon, session)
        before = daemon.cpu_ns()
        with producers_on(world, cpus, world.pressure_seconds) as producers:
            watch.during(producers)
            calls = sum(producer.figures()['calls'] for producer in producers)
        session.stop()
        packed = catch_up(watch, world.pressure_seconds)
        return {'accounts': session.final['sessions'][0]['streams'], 'calls': calls, 'packed': packed,
                'cpu_ns': daemon.cpu_ns() - before, 'watch': watch}


def show(title, found):
    table = Table(title, 'stream', 'written', 'lost in ring', 'queue', 'disk', 'unmatched')
    for stream, one in found['accounts'].items():
        if one['emitted']:
            table.add(stream, one['written'], *(one['lost'][cause] for cause in ('ring', 'queue', 'disk', 'unmatched')))
    table.show()
    watch, rows = found['watch'], sum(one['written'] for one in found['accounts'].values())
    note('calls %d, CPU of the daemon %.1f ns a row, compression included; compressed after %s; resident %.1f MiB' % (
        found['calls'], found['cpu_ns'] / (rows or 1),
        'more than %.0f s' % SECONDS if found['packed'] is None else '%.1f s' % found['packed'],
        watch.resident / MIB))
    lost = sum(sum(one['lost'].values()) for one in found['accounts'].values())
    bar('rows lost', lost, '<=', 0)
    bar('seconds until all is compressed', found['packed'] if found['packed'] is not None else float('inf'), '<=',
        float(SECONDS))
    bar('pages of its files in the page cache', None if watch.cached is None else watch.cached / MIB, '<=', 64.0,
        ' MiB')


def part(world):
    show('One producer at full speed, default settings, the daemon on another CPU, %.0f s' % world.pressure_seconds,
         run(world, ['--vfs'], [world.cpu], [world.other_cpu]))
    show('%d producers on all CPUs, --all, default settings, %.0f s' % (PRODUCERS, world.pressure_seconds),
         run(world, ['--all'], [None] * PRODUCERS, range(os.cpu_count())))
