# SPDX-License-Identifier: GPL-2.0-or-later
"""Live views on terminals of several sizes, with names that are not fit for one."""
import json
import os
import signal
import subprocess
import sys

from lib.registry import check, equal, test, wait_for
from lib.terminal import Terminal

SIZES = ((40, 10), (80, 24), (200, 50))
ESCAPES = 'evil\x1b[2J\x1b]0;title\x07\x9b31m'.encode('latin-1')  # clears, sets the title, is no UTF-8
WIDE = 'wide-\u6f22\u5b57-\u540d'

READER = r'''
import os, sys, time
files = [os.open(os.fsencode(path), os.O_RDONLY) for path in sys.argv[1:]]
while True:
    for file in files:
        os.pread(file, 4096, 0)
    time.sleep(0.005)
'''


class Reader:
    """A process that reads files again and again."""

    def __init__(self, world, *names):
        self.folder = os.fsencode(world.make('names'))
        paths = [os.path.join(self.folder, os.fsencode(name)) for name in names]
        for path in paths:
            with open(path, 'wb') as file:
                file.write(bytes(4096))
        self.process = subprocess.Popen([sys.executable, '-c', READER, *paths])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def top(self, world, *options):
        return world.ctl.command('top', '--vfs', '--pid', self.process.pid, '--operation', 'READ', '--interval',
                                 '200ms', *options)


def fits(lines, columns, height):
    """The picture ends with the line of keys, which the screen's last line is."""
    equal(len(lines), height, 'lines')
    check('q quit' in lines[-1], 'keys in the last line', *lines)
    check(all(len(line) <= columns for line in lines), 'columns', *lines)


@test(host_only=True)
def top(world):
    """Every size, also one that is taken while it runs; keys; names that would do something to the terminal."""
    with Reader(world, ESCAPES, WIDE, 'plain') as reader, \
            Terminal(world, reader.top(world), *SIZES[0]) as terminal:
        for columns, height in SIZES:
            terminal.resize(columns, height)
            heads = ('ROWS/S', 'COMMAND', 'PROCESS', 'FILE')[::1 if columns >= 100 else 3]
            lines = terminal.shows('plain', WIDE[-4:], *heads)
            wanted = [line for line in lines if 'q quit' in line]
            check(len(wanted) == 1, 'one line of keys', *lines)
            fits(lines, columns, height)
        terminal.keys('/')
        terminal.keys('plain', 'Enter')
        terminal.shows('only: plain')
        lines = terminal.lines()
        check(not any(WIDE[-2:] in line for line in lines), 'what is filtered out', *lines)
        terminal.keys('p')
        terminal.shows('PAUSED')
        terminal.keys('s')
        terminal.shows('sort:rows')
        terminal.keys('q')
        equal(terminal.exit_code(), 0, 'exit code')
        written = terminal.written()
    for raw in (b'\x1b]0;title', b'\x9b31m', b'evil\x1b'):
        check(raw not in written, 'raw name', raw)
    check(b'evil' in written, 'the name that is shown', written[-2000:])


def page(terminal, wanted=None):
    """The files of the lines between the heads and the keys; waits until the first is the wanted one."""
    def files():
        return [line.split('/')[-1].strip() for line in terminal.lines()[2:-1]]
    if wanted is not None:
        wait_for('%s in the first line' % wanted, lambda: files()[0] == wanted, terminal.lines, pause=0.05)
    return files()


@test(host_only=True)
def scrolling(world):
    """Every line can be reached, by one and by pages, and nothing beyond the first and the last."""
    names = ['file-%02d' % number for number in range(30)]
    with Reader(world, *names) as reader, Terminal(world, reader.top(world, '--by', 'file'), 80, 12) as terminal:
        terminal.shows(' 30 files')
        terminal.keys('p')
        terminal.shows('PAUSED')
        every = page(terminal)
        room = len(every)
        equal(room, 9, 'lines of a page')
        terminal.keys('Up', 'PPage', 'Home', 'Down')
        equal(page(terminal, every[1])[:-1], every[1:], 'one line further')
        terminal.keys('Up')
        equal(page(terminal, every[0]), every, 'and back')
        while len(every) < 30:
            before = page(terminal)
            terminal.keys('NPage')
            wait_for('another page', lambda: page(terminal) != before, terminal.lines, pause=0.05)  # pylint: disable=cell-var-from-loop
            every += [name for name in page(terminal) if name not in every]
        equal(sorted(every), names, 'files of all pages')
        equal(page(terminal), every[-room:], 'the last page is full')
        terminal.keys('NPage', 'Down', 'Up')
        equal(page(terminal, every[-room - 1]), every[-room - 1:-1], 'one line back from the last page')
        terminal.keys('PPage')
        page(terminal, every[-2 * room - 1])
        terminal.keys('Home')
        equal(page(terminal, every[0]), every[:room], 'the first page')
        terminal.keys('NPage')
        page(terminal, every[room])
        # A filter begins at the first line again, and the screen may become so high that there is nothing to scroll.
        terminal.keys('/', 'file-0')
        terminal.shows('filter: file-0_')
        equal(page(terminal, next(name for name in every if name < 'file-1')), [name for name in every if name < 'file-1'][:9],
              'what is filtered')
        terminal.keys('Escape')
        terminal.shows('q quit')
        page(terminal, every[0])
        terminal.keys('NPage')
        page(terminal, every[room])
        terminal.resize(80, 40)
        terminal.shows('q quit', every[0], every[-1])
        equal(page(terminal, every[0])[:30], every, 'all at once')


@test(host_only=True)
def grouping(world):
    """b goes through all that can be summed up by, and comes back; each has columns of its own."""
    with Reader(world, 'plain') as reader, Terminal(world, reader.top(world), 100, 24) as terminal:
        terminal.shows('by:all', 'plain')
        for by, head, shown in (('process', 'PROCESS', str(reader.process.pid)), ('file', 'FILE', 'plain'),
                                ('directory', 'DIRECTORY', os.fsdecode(reader.folder)[-20:]), ('device', 'DEVICE', ':'),
                                ('unit', 'UNIT', ''), ('container', 'CONTAINER', ''), ('operation', 'OPERATION', 'vfs.READ'),
                                ('all', 'COMMAND', 'plain')):
            terminal.keys('b')
            lines = terminal.shows('by:' + by, head, shown)
            wait_for('a line of ' + by, lambda: 'ROWS/S' in terminal.lines()[1] and terminal.lines()[2].strip(), terminal.lines,
                     pause=0.05)
            fits(lines, 100, 24)
        # It goes on when it was held, as there is nothing by another sum to show.
        terminal.keys('p')
        terminal.shows('PAUSED')
        terminal.keys('b')
        lines = terminal.shows('by:process', 'PROCESS')
        check('PAUSED' not in lines[-1], 'it goes on', *lines)
        for order in ('rows', 'latency', 'bytes'):
            terminal.keys('s')
            terminal.shows('sort:' + order)


@test(host_only=True)
def filtering(world):
    """A filter can be mended while it is typed, and Esc takes it away, with it or after it."""
    with Reader(world, 'plain', WIDE) as reader, Terminal(world, reader.top(world), 100, 24) as terminal:
        terminal.shows('plain', WIDE)
        terminal.keys('/')
        terminal.shows('filter: _', 'Esc: none')
        terminal.keys('plaxx')
        lines = terminal.shows('filter: plaxx_')
        check(not any('plain' in line for line in lines[:-1]), 'what is filtered out', *lines)
        terminal.keys('BSpace', 'BSpace', 'q')
        terminal.shows('filter: plaq_')
        terminal.keys('BSpace')
        terminal.shows('filter: pla_', 'plain')
        terminal.keys('BSpace', 'BSpace', 'BSpace', 'BSpace')
        terminal.shows('filter: _', 'plain', WIDE)
        terminal.keys(WIDE[-1])
        wait_for('only the wide name', lambda: not any('plain' in line for line in terminal.lines()), terminal.lines, pause=0.05)
        terminal.keys('BSpace')
        terminal.shows('filter: _', 'plain', WIDE)
        terminal.keys('plain', 'Escape')
        lines = terminal.shows('q quit', 'plain', WIDE)
        check('only:' not in lines[-1], 'no filter', *lines)
        terminal.keys('/')
        terminal.keys('plain', 'Enter')
        terminal.shows('only: plain')
        terminal.keys('/')
        terminal.shows('filter: plain_')
        terminal.keys('Escape')
        lines = terminal.shows('q quit', 'plain', WIDE)
        check('only:' not in lines[-1], 'no filter', *lines)


@test(host_only=True)
def latency(world):
    """Histograms without rows: buckets add up to what was timed, and no session is there."""
    with Reader(world, 'plain'):
        view = subprocess.Popen(world.ctl.command('top', '--latency', '--interval', '200ms', '--json'),
                                stdout=subprocess.PIPE, text=True)
        timed = {}
        while not timed:
            reply = json.loads(view.stdout.readline())['all']
            timed = reply['read']['application']['latency'] or {}
        for layer in ('vfs', 'cache', 'filesystem', 'device'):  # those of vfs are the application's
            equal(['latency' in reply[flow][layer] for flow in ('read', 'write')], [layer != 'vfs'] * 2, 'latencies of ' + layer)
        equal(world.ctl.json('list')['sessions'], [], 'sessions')
        view.send_signal(signal.SIGINT)
        view.communicate()
        equal(sum(one['operations'] for one in timed['histogram']), timed['timed'], 'operations in buckets')
        check(all(one['from_ns'] < one['to_ns'] for one in timed['histogram']), 'buckets', timed)
        with Terminal(world, world.ctl.command('top', '--latency', '--interval', '200ms'), 80, 24) as terminal:
            fits(terminal.shows('application read: ', ' #', 'q quit'), 80, 24)
            terminal.resize(80, 70)
            terminal.shows('application read: ', 'cache read: ', 'filesystem write: ', 'device write: ')
            terminal.resize(40, 10)
            terminal.shows('application read: ', ' #', 'q quit')
    for options in (['--vfs'], ['--errors'], ['--by', 'file']):
        world.ctl.exits(2, 'top', '--latency', *options)


@test(host_only=True)
def no_flicker(world):
    """What has not changed is not written again, nor is the screen cleared."""
    with Terminal(world, world.ctl.command('status', '--watch=100ms'), 80, 24) as terminal:
        fits(terminal.shows('iotracerd', 'q quit'), 80, 24)
        terminal.shows('up ')
        begun = len(terminal.written())
        terminal.resize(40, 10)
        terminal.shows('q quit')
        fits(terminal.lines(), 40, 10)
        terminal.resize(80, 24)
        terminal.shows('iotracerd', 'q quit')
        whole = terminal.written()[begun:]
        begun += len(whole)
        terminal.shows('up ')
        check(b'\x1b[2J' not in terminal.written()[begun:], 'clearing of the screen')
        terminal.keys('C-c')
        equal(terminal.exit_code(), 0, 'exit code')


@test(host_only=True)
def error_stays(world):
    """An error is printed on the terminal as it was before."""
    with Terminal(world, world.ctl.command('status', 'nobody', '--watch'), 80, 24) as terminal:
        equal(terminal.exit_code(), 5, 'exit code')
        terminal.shows("there is no session 'nobody'")


@test(host_only=True)
def dumb(world):
    """A terminal that cannot move its cursor, and none: lines."""
    with Reader(world, 'plain') as reader, \
            Terminal(world, ['env', 'TERM=dumb', *reader.top(world)], 80, 24) as terminal:
        terminal.shows('plain')
        check(b'\x1b' not in terminal.written(), 'escape sequences', terminal.written())
