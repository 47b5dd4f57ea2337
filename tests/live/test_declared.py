# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that files declare, over reloads and the daemon's ends."""
import os
import signal

from lib import rows
from lib.registry import check, equal, test, wait_for
from test_go_on import Folders, await_lines, definition, status_of


class Files:
    """The folder with the files of a daemon."""

    def __init__(self, world, daemon, ctl):
        config = daemon.options[daemon.options.index('--config') + 1]
        self.folder, self.ctl = os.path.join(os.path.dirname(config), 'sessions.d'), ctl
        os.makedirs(self.folder, exist_ok=True)
        world.later('rm', '-rf', self.folder)

    def write(self, name, *lines):
        with open(os.path.join(self.folder, name + '.session'), 'w', encoding='utf-8') as file:
            file.write('\n'.join(['[Session]', 'vfs=yes', 'no-snapshots=yes', *lines]) + '\n')

    def remove(self, name):
        os.remove(os.path.join(self.folder, name + '.session'))

    def reload(self, code=0):
        return self.ctl.exits(code, 'reload')

    def runs(self, name):
        return wait_for(name + ' to run', lambda: (one := status_of(self.ctl, name)) and one['state'] == 'running' and one)


@test(host_only=True)
def kept_true(world):
    """A reload starts, changes without a gap, and stops; a killed daemon goes on; a file that has gone is the end."""
    daemon, ctl = world.own_daemon()
    files, work, output = Files(world, daemon, ctl), Folders(world), world.path('kept')
    base = ('path=' + work.path, 'output=' + output)
    files.write('d', *base, 'operation=MKDIR')
    files.reload()
    first = files.runs('d')
    check(first['declared'] and os.path.dirname(first['output']) == output, 'where it writes', first)
    work.make(50)
    files.write('d', *base, 'operation=MKDIR,RMDIR')
    files.reload()
    work.make(50)
    wait_for('the new filter', lambda: len(status_of(ctl, 'd')['filters']['operations']) == 2)
    os.rmdir(os.path.join(work.path, '0'))
    await_lines(first['output'], 101)
    files.write('bad', 'path=here')
    check('bad.session:4: path=here: write a path that begins with /' in files.reload(1).stderr, 'the error is not told')
    equal(files.runs('d')['output'], first['output'], 'where it goes on')
    files.remove('bad')

    daemon.stop(signal.SIGKILL)
    daemon.recover()
    second = files.runs('d')
    equal(definition(second['output'])['resumes'], first['output'], 'what it goes on with')
    work.make(10)
    await_lines(second['output'], 10)
    files.reload()
    equal(files.runs('d')['output'], second['output'], 'after a reload that changes nothing')

    daemon.stop(signal.SIGTERM)
    files.remove('d')
    daemon.recover()
    wait_for('its end', lambda: not [one for one in ctl.json('list')['sessions'] if one['state'] != 'ended'])
    for one in (first['output'], second['output']):
        ctl.verified(one)
    equal([[row['operation'] for row in rows.read(one, 'vfs')] for one in (first['output'], second['output'])],
          [['MKDIR'] * 100 + ['RMDIR'], ['MKDIR'] * 10], 'rows')


@test(host_only=True)
def starts_with_the_daemon(world):
    """What is declared starts with the daemon also when it did not run; a stop holds until then."""
    daemon, ctl = world.own_daemon()
    files, work = Files(world, daemon, ctl), Folders(world)
    files.write('s', 'path=' + work.path, 'flight-recorder=1M')
    files.reload()
    files.runs('s')
    ctl.exits(0, 'stop', 's')
    daemon.stop(signal.SIGTERM)
    daemon.recover()
    files.runs('s')
    work.make(5)
    wait_for('rows', lambda: status_of(ctl, 's')['streams']['vfs']['kept'] == 5)
    files.remove('s')
    files.reload()
    wait_for('its end', lambda: not status_of(ctl, 's'))
