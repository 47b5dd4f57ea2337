# SPDX-License-Identifier: GPL-2.0-or-later
"""A process whose reads are numbered by their offsets, and which tells how many it has done."""
import mmap
import os
import struct
import subprocess
import sys
import time

from lib.registry import PATIENCE, check

PROGRAM = r'''
import mmap, os, struct, sys
file = os.open(sys.argv[1], os.O_RDONLY)
done = mmap.mmap(os.open(sys.argv[2], os.O_RDWR), 8)
number = 0
while True:
    line = sys.stdin.readline()
    if not line:
        break
    for _ in range(int(line)):
        os.pread(file, 1, number)
        number += 1
        struct.pack_into('<Q', done, 0, number)
    print(number, flush=True)
'''


class Numbered:
    """with Numbered(world) as reads: reads.do(1000); then reads.done() is 1000."""

    def __init__(self, world):
        folder = world.make('numbered')
        self.file, state = os.path.join(folder, 'file'), os.path.join(folder, 'done')
        for path in (self.file, state):
            with open(path, 'wb') as file:
                file.write(bytes(8))
        self.state = os.open(state, os.O_RDONLY)
        self.counter = mmap.mmap(self.state, 8, prot=mmap.PROT_READ)
        self.process = subprocess.Popen([sys.executable, '-c', PROGRAM, self.file, state], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.counter.close()
        os.close(self.state)

    def options(self):
        """Of a session that records these reads and nothing else."""
        return ['--vfs', '--pid', self.pid, '--operation', 'READ']

    def begin(self, count):
        self.process.stdin.write('%d\n' % count)
        self.process.stdin.flush()

    def wait(self):
        return int(self.process.stdout.readline())

    def do(self, count):
        self.begin(count)
        return self.wait()

    def done(self):
        return struct.unpack_from('<Q', self.counter)[0]

    def reach(self, number):
        end = time.monotonic() + PATIENCE
        while self.done() < number:
            check(time.monotonic() < end and self.process.poll() is None, 'the reads do not go on')
            time.sleep(0.002)

    def of(self, rows):
        """The numbers of rows, in their order; reads of other files are left out."""
        return [int(row['offset']) for row in rows if row['filename'] == self.file]
