# SPDX-License-Identifier: GPL-2.0-or-later
"""What a daemon has loaded goes on to the next one of its service, which the service manager keeps it for."""
import os
import signal

from lib import rows
from lib.ctl import Ctl
from lib.kept import PROGRAMS, Kept
from lib.reader import Reader, judge_rows
from lib.registry import check, equal, test, wait_for

OWN = 2  # programs that each daemon loads itself: those that tell of cgroups


def made(output):
    """Names of the folders that the rows tell of, in their order."""
    return [os.path.basename(row['filename']) for row in rows.read(output, 'vfs')]


@test(host_only=True)
def kept(world):
    """
    Sessions go on with the same programs over a SIGTERM and a SIGKILL, and see nothing of what was in the maps: filters of
    sessions that have gone, or rows of before. No read is seen twice, and what was not seen lies in the gap that the manifest
    tells. Where nothing is kept, all is loaded anew.
    """
    daemon = Kept(world.daemon_program, world.make('daemon'), 'tracepoint')
    world.undo.callback(daemon.store.close)
    world.undo.callback(daemon.stop)
    ctl = Ctl(world.ctl_program, daemon.start().socket)
    loaded, work = daemon.programs(), world.make('work')
    check(len(loaded) > 50, 'programs', *loaded)
    path, reads = world.path('read'), []
    with open(path, 'wb') as file:
        file.write(b'x')
    ctl.json('start', 'gone', '--all', '--command', 'nobody', '--uid', '54321', code=(0, 6))
    outputs = [ctl.json('start', 'on', '--vfs', '--path', work, '--operation', 'MKDIR', code=(0, 6))['session']['output']]
    reads.append(ctl.json('start', 'reads', '--vfs', '--path', path, '--operation', 'READ', code=(0, 6))['session']['output'])
    reader = Reader(world, path)
    for count, number in enumerate((signal.SIGTERM, signal.SIGKILL)):
        os.mkdir(os.path.join(work, 'seen%d' % count))
        if not count:
            ctl.exits(0, 'stop', 'gone')
        else:
            wait_for('the row', lambda: ctl.json('status', 'on')['sessions'][0]['streams']['vfs']['written'] == 1)
            wait_for('it to be in a file', lambda: any(os.path.getsize(path) > 300 for path in rows.parts(outputs[-1])))
        equal(daemon.stop(number), 0 if number == signal.SIGTERM else -number, 'exit status')
        os.mkdir(os.path.join(work, 'unseen%d' % count))
        daemon.recover()
        equal(len(loaded - daemon.programs()), OWN, 'programs that were loaded anew')
        outputs.append(ctl.json('status', 'on')['sessions'][0]['output'])
        if not count:
            reads.append(ctl.json('status', 'reads')['sessions'][0]['output'])
            wait_for('rows', lambda: ctl.json('status', 'reads')['sessions'][0]['streams']['vfs']['written'])
            reader.end()
            ctl.exits(0, 'stop', 'reads')
            judge_rows(reader, reads)
    os.mkdir(os.path.join(work, 'seen2'))
    ctl.exits(0, 'stop', 'on')
    equal([made(output) for output in outputs], [['seen0'], ['seen1'], ['seen2']], 'rows')
    for output in outputs:
        ctl.verified(output)
    equal(daemon.stop(), 0, 'exit status')
    daemon.store.empty(PROGRAMS)  # as by a daemon that was killed while it took them
    daemon.start()
    check(not daemon.programs() & loaded, 'programs of before')
