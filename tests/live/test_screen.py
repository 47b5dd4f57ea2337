# SPDX-License-Identifier: GPL-2.0-or-later
"""Live views on terminals of several sizes, with names that are not fit for one."""
import json
import os
import signal
import subprocess
import sys

from lib.registry import check, equal, test
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


@test(host_only=True)
def latency(world):
    """Histograms without rows: buckets add up to what was timed, and no session is there."""
    with Reader(world, 'plain'):
        view = subprocess.Popen(world.ctl.command('top', '--latency', '--interval', '200ms', '--json'),
                                stdout=subprocess.PIPE, text=True)
        timed = {}
        while not timed:
            timed = json.loads(view.stdout.readline())['all']['read']['application']['latency'] or {}
        equal(world.ctl.json('list')['sessions'], [], 'sessions')
        view.send_signal(signal.SIGINT)
        view.communicate()
        equal(sum(one['operations'] for one in timed['histogram']), timed['timed'], 'operations in buckets')
        check(all(one['from_ns'] < one['to_ns'] for one in timed['histogram']), 'buckets', timed)
        with Terminal(world, world.ctl.command('top', '--latency', '--interval', '200ms'), 80, 24) as terminal:
            fits(terminal.shows('application read: ', ' #', 'q quit'), 80, 24)
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
