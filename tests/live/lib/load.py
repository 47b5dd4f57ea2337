# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that does operation 0, 1, 2 and so on, as their offsets say."""
import os
import subprocess
import sys

from lib.registry import PATIENCE, equal

LOAD = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), 'load.py')


class Load:
    """One process of load.py; what it did is in `done` after its end."""

    def __init__(self, world, rate=0, sync=0):
        self.path = world.path('load')
        self.process = subprocess.Popen(
            [sys.executable, '-S', LOAD, self.path, str(rate), str(sync)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        world.undo.callback(self.kill)
        self.pid, self.done = self.process.pid, None
        equal(self.process.stdout.readline(), b'READY\n', 'begin of the load')

    def go(self):
        self.process.stdin.write(b'\n')
        self.process.stdin.flush()
        return self

    def end(self):
        self.process.terminate()
        out, _ = self.process.communicate(timeout=PATIENCE)
        equal(self.process.returncode, 0, 'exit status of the load')
        self.done = int(out)
        return self.done

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
