# SPDX-License-Identifier: GPL-2.0-or-later
"""FUSE that passes reads and writes on to a backing file: rows have the file that the program opened."""
import ctypes
import mmap
import os
import stat
import struct

from lib import fuse
from lib.registry import Skip, check, equal, test

PAGE = 4096
SIZE = 16 * PAGE
OPEN, RELEASE, FLUSH, FILE = 14, 18, 25, 3
INIT_EXT, PASSTHROUGH, FOPEN_PASSTHROUGH = 1 << 30, 1 << 5, 1 << 7
BACKING_OPEN = 0x4010e501


class Mount(fuse.Mount):
    """Its only file is `name`, whose data are those of the file at the path `below`."""

    def __init__(self, world, path, name, below):
        self.name, self.below, self.refused = name, os.open(below, os.O_RDWR), None
        super().__init__(world, path)

    def attributes(self, node):
        if node != FILE:
            return fuse.attributes(node)
        return struct.pack('<6Q10I', node, SIZE, SIZE // 512, 0, 0, 0, 0, 0, 0, stat.S_IFREG | 0o666, 1, 0, 0, 0, PAGE, 0)

    def answer(self, operation, node, body):
        if operation == fuse.INIT:
            return struct.pack('<IIIIHHIIHHII', 7, 40, 0, INIT_EXT, 0, 0, PAGE, 1, 0, 0, PASSTHROUGH, 1) + bytes(24)
        if operation == fuse.GETATTR:
            return struct.pack('<QII', 0, 0, 0) + self.attributes(node)
        if operation == fuse.LOOKUP and body.rstrip(b'\0').decode() == self.name:
            return struct.pack('<QQQQII', FILE, 0, 0, 0, 0, 0) + self.attributes(FILE)
        if operation == OPEN:
            number = ctypes.CDLL(None, use_errno=True).ioctl(self.device, BACKING_OPEN, struct.pack('<iIQ', self.below, 0, 0))
            if number < 0:
                self.refused = os.strerror(ctypes.get_errno())
                return ctypes.get_errno()
            return struct.pack('<QIi', 0, FOPEN_PASSTHROUGH, number)
        if operation in (RELEASE, FLUSH):
            return b''
        return super().answer(operation, node, body)


@test
def one_name(world):
    below, path = world.path('below'), world.make('fuse')
    with open(below, 'wb') as file:
        file.write(b'x' * SIZE)
    os.sync()
    mount = Mount(world, path, 'seen', below)
    seen = os.path.join(path, 'seen')
    try:
        os.close(os.open(seen, os.O_RDWR))
    except OSError as error:
        raise Skip('no passthrough of FUSE: %s' % (mount.refused or error)) from error
    number = os.stat(seen).st_dev
    device = '%d:%d' % (os.major(number), os.minor(number))
    streams = ('vfs', 'cache', 'pagefault', 'block')
    with world.session(*('--' + stream for stream in streams), '--path', path) as session:
        file = os.open(seen, os.O_RDWR)
        os.pwrite(file, b'y' * SIZE, 0)
        os.pread(file, PAGE, 0)
        with mmap.mmap(file, SIZE) as mapping:
            check(mapping[PAGE], 'a page of zeros')
        os.fsync(file)
        os.close(file)
        os.sync()
    for stream in streams:
        rows = [row for row in session.rows(stream) if row['operation'] in
                ('READ', 'WRITE', 'HIT', 'DIRTY', 'WRITEBACK_START', 'WRITEBACK_END', 'FAULT')]
        check(rows, 'no rows in %s' % stream)
        equal({row['filename'] for row in rows}, {seen}, 'names in %s' % stream)
        equal({row['inode'] for row in rows}, {str(FILE)}, 'inodes in %s' % stream)
        if stream != 'block':
            equal({row['device'] for row in rows}, {device}, 'devices in %s' % stream)
