# SPDX-License-Identifier: GPL-2.0-or-later
"""An iotracerd by hand, in folders of its own."""
import contextlib
import glob
import os
import signal
import socket
import subprocess
import time

from lib import sanitizers, varlink
from lib.registry import PATIENCE, Failure, check, wait_for


class Daemon:
    def __init__(self, program, folder, level='auto', options=(), preload=None):
        self.preload = preload
        self.program, self.folder, self.level, self.options = program, folder, level, options
        self.socket = os.path.join(folder, 'run', 'io.iotracer')
        self.log = os.path.join(folder, 'daemon.log')
        self.process = None

    def command(self):
        where = lambda name: os.path.join(self.folder, name)
        for name in ('run', 'log', 'state'):
            os.makedirs(where(name), exist_ok=True)
        if '--config' not in self.options:
            self.options = ('--config', self.write_config(where('iotracerd.conf')), *self.options)
        return [self.program, '--runtime-dir', where('run'), '--log-dir', where('log'),
                '--state-dir', where('state'), '--level', self.level, *self.options]

    @staticmethod
    def write_config(path):
        """No snapshots but where a test asks for them: each takes three processes to make."""
        with open(path, 'w', encoding='ascii') as file:
            file.write('[Snapshots]\nSystem=off\nProcess=off\nFilesystem=off\n')
        return path

    def start(self, loaded=True):
        """Until it answers and, where it is to be `loaded`, has all of its programs."""
        command = self.command()
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, env=self.environment())
        self.wait_ready()
        if loaded:
            self.wait_loaded()
        return self

    def wait_loaded(self):
        """What it says of its hooks it says when all programs are loaded."""
        varlink.ask(self.socket, 'Streams', patience=PATIENCE * 10)

    def recover(self):
        """Starts the daemon again; returns when it has recovered the files of the sessions that ran before."""
        before = set(self.notes('running'))
        self.start()
        wait_for('the end of recovery', lambda: not before & set(self.notes('running')) and
                 not self.notes('recover'), self.tail)
        return self

    def environment(self):
        if not self.preload:
            return None
        preloaded = ' '.join([*sanitizers.runtime(self.program), self.preload])
        return dict(os.environ, LD_PRELOAD=preloaded, IOTR_FAULTS=self.faults)

    @property
    def faults(self):
        return os.path.join(self.folder, 'faults')

    def order(self, *lines):
        """What tests/live/faults.c is to do from now on."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.faults + '.told')
        with open(self.faults + '.new', 'w', encoding='ascii') as file:
            file.write(''.join('%s\n' % line for line in lines))
        os.rename(self.faults + '.new', self.faults)

    def did(self, what, path):
        """How often it has done so to what is below the path, since it was last ordered."""
        try:
            with open(self.faults + '.told', encoding='utf-8', errors='surrogateescape') as file:
                return sum(line.startswith('%s %s' % (what, path)) for line in file)
        except FileNotFoundError:
            return 0

    def wait_ready(self):
        """Waits for PATIENCE seconds from when it last used the CPU: a busy machine takes long to load the programs."""
        end, used = time.monotonic() + PATIENCE, 0
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failure('the daemon ended with %d while starting' % self.process.returncode,
                              *self.tail())
            if self.answers():
                return
            if used != (used := self.cpu_time()):
                end = time.monotonic() + PATIENCE
            time.sleep(0.05)
        raise Failure('the daemon did not open its socket', *self.tail())

    def cpu_time(self):
        """CPU time of the daemon in clock ticks; 0 when it has ended."""
        try:
            with open('/proc/%d/stat' % self.process.pid, encoding='ascii') as file:
                return sum(map(int, file.read().rpartition(')')[2].split()[11:13]))
        except OSError:
            return 0

    def answers(self):
        with socket.socket(socket.AF_UNIX) as peer:
            try:
                peer.connect(self.socket)
                return True
            except OSError:
                return False

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def notes(self, kind):
        """Notes in the state folder: of sessions that are `running`, or that it has to `recover` after a crash."""
        return glob.glob(os.path.join(self.folder, 'state', kind, '*.json'))

    def tail(self, lines=15):
        try:
            with open(self.log, errors='replace') as file:
                return file.read().splitlines()[-lines:]
        except OSError:
            return []

    def stop(self, number=signal.SIGTERM):
        """Sends the signal; returns the exit status."""
        if not self.alive():
            return self.process.returncode if self.process else None
        self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure('the daemon did not end after signal %d' % number,
                          *self.tail()) from None

    def stop_cleanly(self):
        code = self.stop()
        check(code == 0, 'the daemon ended with %s after SIGTERM' % code, *self.tail())
