# SPDX-License-Identifier: GPL-2.0-or-later
"""An iotracerd whose descriptors a stand-in for the service manager keeps over its next start."""
import contextlib
import glob

from lib.daemon import Daemon
from lib.fd_store import FdStore
from lib.registry import wait_for

PROGRAMS, HOOKS = 'iotracer-programs', 'iotracer-hooks'  # names of what is kept


class Kept(Daemon):
    def __init__(self, program, folder, level):
        super().__init__(program, folder, level)
        self.store = FdStore(folder + '.notify')
        self.store.listen()

    def start(self, loaded=True):
        command = self.command()
        with open(self.log, 'ab') as log:
            self.process = self.store.start(command, stdin=-3, stdout=log, stderr=log)
        self.wait_ready()
        if loaded:
            self.wait_loaded()
            wait_for('the programs to be kept', lambda: PROGRAMS in self.store.kept, self.tail)
        return self

    def stop(self, *number):
        status = super().stop(*number)
        self.store.barrier()
        return status

    def numbers(self, key, chosen=lambda lines: True):
        """Those that the kernel tells under a key of each of its descriptors that has one, and is chosen."""
        found = set()
        for path in glob.glob('/proc/%d/fdinfo/*' % self.process.pid):
            lines = {}
            with contextlib.suppress(FileNotFoundError), open(path, encoding='ascii') as file:
                lines = {name: value.strip() for name, _, value in (line.partition(':') for line in file)}
            if key in lines and chosen(lines):
                found.add(int(lines[key]))
        return found

    def programs(self):
        return self.numbers('prog_id', lambda lines: 'link_id' not in lines)

    def hooks(self):
        return self.numbers('link_id')

    def function_hooks(self):
        return self.numbers('link_id', lambda lines: lines['link_type'] == 'tracing')
