# SPDX-License-Identifier: GPL-2.0-or-later
"""The limits of a session count over all restarts of the daemon, after SIGKILL as after SIGTERM."""
import os
import signal

from lib import rows
from lib.registry import check, equal, test, wait_for


class Folders:
    """A folder in which the test makes rows by creating folders."""

    def __init__(self, world):
        self.path, self.count = world.make('work'), 0

    def options(self):
        return '--vfs', '--path', self.path, '--operation', 'MKDIR'

    def make(self, count):
        for _ in range(count):
            os.mkdir(os.path.join(self.path, '%d' % self.count))
            self.count += 1


def status_of(ctl, name):
    found = [one for one in ctl.json('status')['sessions'] if one['name'] == name]
    return found[0] if found else None


def lines(output):
    """Lines of the rows that are in files by now, the file that is being written included."""
    paths = rows.segments(output, 'vfs') + rows.parts(output)
    return [line for path in paths for line in rows.content(path).split(b'\n')[1:] if line]


def await_lines(output, count):
    wait_for('%d rows in files' % count, lambda: len(lines(output)) >= count)


def definition(output):
    return rows.manifest(output)['definition']


@test(host_only=True)
def events(world):
    """--max-events over a SIGKILL, which leaves a file open, and a SIGTERM: exactly as many rows."""
    daemon, ctl = world.own_daemon()
    work = Folders(world)
    outputs = [ctl.json('start', 'e', *work.options(), '--max-events', '100', code=(0, 6))['session']['output']]
    work.make(40)
    ctl.json('rotate', 'e')
    work.make(20)
    await_lines(outputs[0], 60)
    for ending, left in ((signal.SIGKILL, 40), (signal.SIGTERM, 30)):
        daemon.stop(ending)
        daemon.recover()
        one = status_of(ctl, 'e')
        equal(one['remaining']['max_events'], left, 'rows that are left')
        outputs.append(one['output'])
        equal(definition(outputs[-1])['before']['rows'], 100 - left, 'rows before')
        equal(definition(outputs[-1])['max_events'], 100, 'the limit')
        work.make(10)
        await_lines(outputs[-1], 10)
    work.make(50)
    wait_for('the end', lambda: rows.manifest(outputs[-1])['state'] == 'ended')
    equal(rows.manifest(outputs[-1])['reason'], 'max-events', 'reason')
    for output in outputs:
        ctl.verified(output)
    equal([len(rows.read(output, 'vfs')) for output in outputs], [60, 10, 30], 'rows')
    equal([os.path.basename(row['filename']) for output in outputs for row in rows.read(output, 'vfs')],
          [str(number) for number in range(100)], 'folders made')


@test(host_only=True)
def changed(world):
    """A session that `set` has changed: its files are recovered, and it goes on with the changed filters."""
    daemon, ctl = world.own_daemon()
    work = Folders(world)
    output = ctl.json('start', 'c', *work.options(), code=(0, 6))['session']['output']
    work.make(5)
    ctl.json('set', 'c', '--operation', 'MKDIR,RMDIR')
    work.make(5)
    await_lines(output, 10)
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    after = status_of(ctl, 'c')['output']
    work.make(3)
    os.rmdir(os.path.join(work.path, '0'))
    await_lines(after, 4)
    ctl.exits(0, 'stop', 'c')
    for one in (output, after):
        ctl.verified(one)
    equal([[row['operation'] for row in rows.read(one, 'vfs')] for one in (output, after)],
          [['MKDIR'] * 10, ['MKDIR'] * 3 + ['RMDIR']], 'rows')


@test(host_only=True)
def size(world):
    """--max-size counts the headers of all files, as without a restart."""
    daemon, ctl = world.own_daemon()
    work = Folders(world)
    outputs = [ctl.json('start', 's', *work.options(), '--max-size', '64K', '--compress', 'none',
                        code=(0, 6))['session']['output']]
    work.make(100)
    await_lines(outputs[0], 100)
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    outputs.append(status_of(ctl, 's')['output'])
    before = sum(os.path.getsize(path) for path in rows.segments(outputs[0], 'vfs'))
    equal(definition(outputs[1])['before'], {'rows': 100, 'bytes': before}, 'before')
    work.make(1000)
    wait_for('the end', lambda: rows.manifest(outputs[-1])['state'] == 'ended')
    equal(rows.manifest(outputs[-1])['reason'], 'max-size', 'reason')
    after = sum(os.path.getsize(path) for path in rows.segments(outputs[1], 'vfs'))
    check(65536 - 400 < before + after <= 65536, 'bytes of both', before, after)


@test(host_only=True)
def nothing_left(world):
    """A session that has reached its limit does not go on."""
    daemon, ctl = world.own_daemon()
    work = Folders(world)
    output = ctl.json('start', 'n', *work.options(), '--max-events', '5', code=(0, 6))['session']['output']
    work.make(3)
    await_lines(output, 3)
    daemon.stop(signal.SIGKILL)
    part, = rows.parts(output)
    with open(part, 'ab') as file:
        file.write(b''.join(line + b'\n' for line in lines(output)[:2]))
    daemon.recover()
    equal(status_of(ctl, 'n'), None, 'the session')
    check(any('session n does not go on: max_events: it had reached its limit' in line
              for line in daemon.tail(20)), *daemon.tail(20))
    equal(daemon.notes('running') + daemon.notes('recover'), [], 'notes that are left')
    equal(len(rows.read(output, 'vfs')), 5, 'rows')
