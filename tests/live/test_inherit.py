# SPDX-License-Identifier: GPL-2.0-or-later
"""What a daemon has loaded goes on to the next one of its service, which the service manager keeps it for."""
import contextlib
import glob
import os
import signal

from lib import rows
from lib.ctl import Ctl
from lib.daemon import Daemon
from lib.fd_store import FdStore
from lib.registry import check, equal, test, wait_for

PROGRAMS = 'iotracer-programs'
OWN = 2  # programs that each daemon loads itself: those that tell of cgroups


class Kept(Daemon):
    """A daemon whose descriptors a service manager keeps."""

    def __init__(self, world, store, *options):
        super().__init__(world.daemon_program, world.make('daemon'), 'tracepoint', options)
        self.store = store

    def start(self, loaded=True):
        command = self.command()
        with open(self.log, 'ab') as log:
            self.process = self.store.start(command, stdin=-3, stdout=log, stderr=log)
        self.wait_ready()
        if loaded:
            self.wait_loaded()
            wait_for('the programs to be kept', lambda: self.store.take_all() or PROGRAMS in self.store.kept)
        return self

    def loaded(self):
        """Numbers of the programs that it has descriptors of."""
        found = set()
        for path in glob.glob('/proc/%d/fdinfo/*' % self.process.pid):
            lines = {}
            with contextlib.suppress(FileNotFoundError), open(path, encoding='ascii') as file:
                lines = dict(line.strip().partition(':')[::2] for line in file)
            if 'prog_tag' in lines and 'link_type' not in lines:
                found.add(int(lines['prog_id']))
        return found


def begin(world):
    store = FdStore(world.path('notify'))
    world.undo.callback(store.close)
    daemon = Kept(world, store)
    world.undo.callback(daemon.stop)
    return daemon.start(), store, Ctl(world.ctl_program, daemon.socket)


def made(output):
    """Names of the folders that the rows tell of, in their order."""
    return [os.path.basename(row['filename']) for row in rows.read(output, 'vfs')]


@test(host_only=True)
def kept(world):
    """
    Sessions go on with the same programs over a SIGTERM and a SIGKILL, and see nothing of what was in the maps: filters of
    sessions that have gone, or rows of before. Where nothing is kept, all is loaded anew.
    """
    daemon, store, ctl = begin(world)
    loaded, work = daemon.loaded(), world.make('work')
    check(len(loaded) > 50, 'programs', *loaded)
    ctl.json('start', 'gone', '--all', '--command', 'nobody', '--uid', '54321', code=(0, 6))
    outputs = [ctl.json('start', 'on', '--vfs', '--path', work, '--operation', 'MKDIR', code=(0, 6))['session']['output']]
    for count, number in enumerate((signal.SIGTERM, signal.SIGKILL)):
        os.mkdir(os.path.join(work, 'seen%d' % count))
        if not count:
            ctl.exits(0, 'stop', 'gone')
        else:
            wait_for('the row', lambda: ctl.json('status', 'on')['sessions'][0]['streams']['vfs']['written'] == 1)
            wait_for('it to be in a file', lambda: any(os.path.getsize(path) > 300 for path in rows.parts(outputs[-1])))
        equal(daemon.stop(number), 0 if number == signal.SIGTERM else -number, 'exit status')
        os.mkdir(os.path.join(work, 'unseen%d' % count))
        store.take_all()
        daemon.recover()
        equal(len(loaded - daemon.loaded()), OWN, 'programs that were loaded anew')
        outputs.append(ctl.json('status', 'on')['sessions'][0]['output'])
    os.mkdir(os.path.join(work, 'seen2'))
    ctl.exits(0, 'stop', 'on')
    equal([made(output) for output in outputs], [['seen0'], ['seen1'], ['seen2']], 'rows')
    for output in outputs:
        ctl.verified(output)
    equal(daemon.stop(), 0, 'exit status')
    store.take_all()
    store.empty(PROGRAMS)  # as by a daemon that was killed while it took them
    daemon.start()
    check(not daemon.loaded() & loaded, 'programs of before')
