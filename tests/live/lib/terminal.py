# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal of any size that a program runs in, as tmux shows it."""
import os
import shlex
import subprocess

from lib.registry import wait_for


class Terminal:
    """with Terminal(world, ['iotracectl', 'top'], 80, 24) as terminal: terminal.lines()"""

    def __init__(self, world, command, columns, lines):
        world.need('tmux')
        self.socket, self.raw, self.code = world.path('tmux'), world.path('raw'), world.path('code')
        # The shell waits until what it prints is recorded, and tells the exit code when the program has ended.
        script = 'trap : INT; tmux -S %s wait go; %s; echo $? >%s; sleep 60' % (
            shlex.quote(self.socket), shlex.join(map(str, command)), shlex.quote(self.code))
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', columns, '-y', lines, 'sh', '-c', script)
        self.tmux('set', '-g', 'status', 'off')
        self.resize(columns, lines)
        self.tmux('pipe-pane', 'cat >%s' % shlex.quote(self.raw))
        self.tmux('wait-for', '-S', 'go')

    def tmux(self, *args):
        command = ['tmux', '-u', '-S', self.socket, *map(str, args)]
        environment = {**os.environ, 'LC_ALL': 'C.UTF-8', 'TERM': 'xterm-256color'}
        environment.pop('TMUX', None)
        return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True, timeout=60).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux('kill-server')

    def resize(self, columns, lines):
        self.tmux('resize-window', '-x', columns, '-y', lines)

    def keys(self, *keys):
        self.tmux('send-keys', *keys)

    def lines(self):
        return self.tmux('capture-pane', '-p').split('\n')[:-1]

    def shows(self, *texts):
        """Waits until all of these are on the screen; returns its lines."""
        wait_for('%r on the screen' % (texts,), lambda: all(one in '\n'.join(self.lines()) for one in texts),
                 self.lines, pause=0.05)
        return self.lines()

    def written(self):
        """All bytes that the program has sent to the terminal."""
        with open(self.raw, 'rb') as file:
            return file.read()

    def exit_code(self):
        wait_for('the end of the program', lambda: os.path.exists(self.code) and os.path.getsize(self.code),
                 self.lines, pause=0.05)
        with open(self.code, encoding='ascii') as file:
            return int(file.read())
