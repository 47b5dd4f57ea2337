# SPDX-License-Identifier: GPL-2.0-or-later
"""
load.py FILE RATE SYNC: reads and writes of one byte, each at an offset of its own, counted.

Prints READY, waits for a line, then works at RATE operations per second (0: as fast as it can)
until SIGTERM, and prints how many there were. Their offsets are 0, 1, 2 and so on: what is lost or
there twice shows. With SYNC, fdatasync after so many.
"""
import os
import signal
import sys
import time

BATCH = 200


def work(descriptor, rate, sync, ended):
    done, start = 0, time.monotonic()
    while not ended:
        for offset in range(done, done + BATCH, 2):
            os.pread(descriptor, 1, offset)
            os.pwrite(descriptor, b'x', offset + 1)
        done += BATCH
        if sync and done % sync < BATCH:
            os.fdatasync(descriptor)
        ahead = done / rate - (time.monotonic() - start) if rate else 0
        if ahead > 0:
            time.sleep(ahead)
    return done


def main():
    path, rate, sync = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.write(1, b'READY\n')
    os.read(0, 1)
    os.write(1, b'%d\n' % work(descriptor, rate, sync, ended))


if __name__ == '__main__':
    main()
