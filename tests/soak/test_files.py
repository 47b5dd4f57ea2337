# SPDX-License-Identifier: GPL-2.0-or-later
"""A snapshot of very many files: all of them, in memory that does not grow with them, and no row."""
import gzip
import os
import threading
import time

from lib.registry import check, equal, test, wait_for

import ground

IN_FOLDER = 1000
MEMORY = 32 << 10  # KiB
LONG = 2  # seconds that a snapshot takes of which status must tell how far it is
SNAPSHOT = 'filesystem_snapshot/filesystem_snap_000001.csv.gz'


def plant(root, count):
    """So many files in folders below `root`; how many entries that makes, the root among them."""
    for number in range(count):
        folder = os.path.join(root, 'folder %d' % (number // IN_FOLDER))
        if not number % IN_FOLDER:
            os.mkdir(folder)
        os.mknod(os.path.join(folder, 'file %d' % number))
    return count + -(-count // IN_FOLDER) + 1


def read(path):
    """What stands in a file of /proc; nothing, if the process or thread has ended."""
    try:
        with open(path, encoding='utf-8', errors='surrogateescape') as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ''


def helpers(pid):
    """The processes that `pid` began. Until its execve() such a one shares the daemon's memory, and is not counted."""
    own, found = read('/proc/%d/cmdline' % pid), set()
    for task in os.listdir('/proc/%d/task' % pid):
        found.update(map(int, read('/proc/%d/task/%s/children' % (pid, task)).split()))
    return {helper for helper in found if read('/proc/%d/cmdline' % helper) not in ('', own)}


def most_memory(pid):
    """In KiB, since it began; 0: it has ended."""
    return next((int(line.split()[1]) for line in read('/proc/%d/status' % pid).splitlines()
                 if line.startswith('VmHWM')), 0)


class Watch(threading.Thread):
    """The most memory of a process that takes the daemon's snapshots, and the progress that status tells."""

    def __init__(self, daemon, ctl, name):
        super().__init__(daemon=True)
        self.pid, self.ctl, self.name = daemon.process.pid, ctl, name
        self.memory, self.progress, self.begun, self.over = 0, set(), threading.Event(), threading.Event()

    def run(self):
        """Looks often, as the process may be there for a tenth of a second only; status, which takes longer, now and then."""
        asked = 0
        while not self.over.wait(0.002):
            for pid in helpers(self.pid):
                self.memory = max(self.memory, most_memory(pid))
            if not self.begun.is_set() or time.monotonic() < asked + 0.2:
                continue
            asked = time.monotonic()
            state = self.ctl.json('status', self.name)['sessions'][0]['snapshots'].get('filesystem', {})
            self.progress.add(state.get('rows', 0))

    def end(self):
        self.over.set()
        self.join()


@test
def many(world):
    daemon, ctl = ground.begin(world)
    root = world.make('many')
    entries = plant(root, world.amounts['files'])
    session = world.session('--vfs', '--path', root, '--snapshot-filesystem', '1h', '--snapshot-root', root,
                            '--snapshot-depth', '9', name='many', ctl=ctl)
    watch, begin = Watch(daemon, ctl, 'many'), time.monotonic()
    watch.start()
    session.start()
    watch.begun.set()
    path = os.path.join(session.output, SNAPSHOT)
    wait_for('the snapshot', lambda: os.path.exists(path))
    took = time.monotonic() - begin
    watch.end()
    session.stop()
    with gzip.open(path, 'rb') as file:
        lines = file.read().splitlines()
    ground.note('%d entries in %.1f s, %d KiB of memory at most' % (entries, took, watch.memory))
    equal(len(lines) - 1, entries, 'rows')
    equal(len(set(line.split(b',')[1] for line in lines[1:])), entries, 'different paths')
    equal(session.accounts['vfs']['emitted'], 0, 'rows of the session')
    check(0 < watch.memory < MEMORY, 'it took %d KiB' % watch.memory)
    check(took < LONG or any(0 < rows < entries for rows in watch.progress), 'no progress in status', watch.progress)


@test
def cancelled(world):
    """A snapshot can be cancelled within a second at any time."""
    _, ctl = ground.begin(world)
    root = world.make('many')
    plant(root, world.amounts['files'])
    session = world.session('--vfs', '--path', root, '--snapshot-filesystem', '1h', '--snapshot-root', root,
                            '--snapshot-depth', '9', name='cancelled', ctl=ctl).start()
    time.sleep(world.random.uniform(0.01, 0.2))
    begin = time.monotonic()
    session.stop()
    took = time.monotonic() - begin
    check(took < 1, 'the stop took %.1f s' % took)
    folder = os.path.join(session.output, os.path.dirname(SNAPSHOT))

    def halves():
        return [name for name in os.listdir(folder) if name.endswith('.part')] if os.path.exists(folder) else []

    # The process is killed; a thread removes what it left when it has ended.
    wait_for('the unfinished file to be removed', lambda: not halves(), halves)
