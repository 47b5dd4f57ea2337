# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads whose rows must all be there, but for the times when nothing was recorded."""
import calendar
import subprocess
import sys
import time

from lib import rows
from lib.registry import PATIENCE, check, equal

READER = """
import os, sys, threading, time
fd, over = os.open(sys.argv[1], os.O_RDONLY), []
threading.Thread(target=lambda: over.append(sys.stdin.read()), daemon=True).start()
offset = 0
while not over:
    before = time.time_ns()
    os.pread(fd, 1, offset)
    print(before, time.time_ns())
    offset += 1
    time.sleep(0.002)
"""


class Reader:
    """
    Reads a byte at one offset after the other, and notes when, in ns since 1970. It is a process of its own, as who is connected
    to the daemon is not recorded.
    """

    def __init__(self, world, path):
        self.notes = world.path('reads')
        with open(self.notes, 'w', encoding='ascii') as notes:
            self.process = subprocess.Popen([sys.executable, '-c', READER, path], stdin=subprocess.PIPE, stdout=notes)
        world.undo.callback(self.process.kill)

    def end(self):
        self.process.stdin.close()
        check(self.process.wait(PATIENCE) == 0, 'who reads ended with %s' % self.process.returncode)
        with open(self.notes, encoding='ascii') as notes:
            self.reads = [tuple(map(int, line.split())) for line in notes]


def nanoseconds(text):
    """Since 1970, of a time as manifests have it."""
    whole, _, part = text.partition('.')
    return calendar.timegm(time.strptime(whole, '%Y-%m-%d %H:%M:%S')) * 10 ** 9 + int(part)


def judge_rows(reader, outputs):
    """Each read is one row, but those while nothing was recorded, as the manifests say."""
    found, gaps = [], []
    for output in outputs:
        found += [int(row['offset']) for row in rows.read(output, 'vfs')]
        gaps += [(nanoseconds(one['from']), nanoseconds(one['to'])) for one in rows.manifest(output).get('gaps', [])]
    equal(len(found), len(set(found)), 'offsets, of which none is there twice')
    missing = [times for offset, times in enumerate(reader.reads) if offset not in set(found)]
    outside = [times for times in missing if not any(begin <= times[1] and times[0] <= end for begin, end in gaps)]
    check(not outside, '%d reads without a row, of which %d when something was recorded' % (len(missing), len(outside)),
          gaps, *outside[:5])
    check(len(missing) < len(reader.reads) and all(any(end < times[0] for times in reader.reads) for _, end in gaps),
          'rows behind each gap')
