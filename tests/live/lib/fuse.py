# SPDX-License-Identifier: GPL-2.0-or-later
"""A FUSE file system that lets everybody do everything, so that what is refused was refused by the kernel."""
import ctypes
import errno
import os
import stat
import struct
import threading

from lib.registry import Skip

LOOKUP, FORGET, GETATTR, MKDIR, STATFS, INIT, OPENDIR, READDIR, BATCH_FORGET = 1, 2, 3, 9, 17, 26, 27, 28, 42
HEADER, ROOT, FOLDER = struct.Struct('<IIQQIIII'), 1, 2
INSIDE = 'hidden-name'


def attributes(node):
    return struct.pack('<6Q10I', node, 0, 0, 0, 0, 0, 0, 0, 0, stat.S_IFDIR | 0o777, 2, 0, 0, 0, 4096, 0)


class Mount:
    """Mounted by root at the path, without allow_other unless options say so; a folder is in it."""

    def __init__(self, world, path, options=''):
        self.asked = [] # (operation, uid) of requests about what is in it
        try:
            self.device = os.open('/dev/fuse', os.O_RDWR)
        except OSError as error:
            raise Skip('no FUSE') from error
        data = 'fd=%d,rootmode=40000,user_id=0,group_id=0%s' % (self.device, options)
        if ctypes.CDLL(None, use_errno=True).mount(b'tried', path.encode(), b'fuse', 0, data.encode()):
            raise Skip('FUSE cannot be mounted')
        world.later('umount', '-l', path)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError:
                return
            _, operation, unique, node, uid, *_ = HEADER.unpack_from(request)
            if operation in (FORGET, BATCH_FORGET):
                continue
            if operation in (LOOKUP, MKDIR, OPENDIR):
                self.asked.append((operation, uid))
            answer = self.answer(operation, node, request[HEADER.size:])
            error = -answer if isinstance(answer, int) else 0
            body = b'' if isinstance(answer, int) else answer
            os.write(self.device, struct.pack('<IiQ', 16 + len(body), error, unique) + body)

    @staticmethod
    def answer(operation, node, body):
        """Bytes, or an errno."""
        if operation == INIT:
            return struct.pack('<IIIIHHIIHHI', 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0) + bytes(28)
        if operation == GETATTR:
            return struct.pack('<QII', 0, 0, 0) + attributes(node)
        if operation == LOOKUP:
            if body.rstrip(b'\0').decode() != INSIDE:
                return errno.ENOENT
            return struct.pack('<QQQQII', FOLDER, 0, 0, 0, 0, 0) + attributes(FOLDER)
        if operation == OPENDIR:
            return struct.pack('<QII', 0, 0, 0)
        if operation == READDIR:
            if node != ROOT or struct.unpack_from('<QQ', body)[1]:
                return b''
            name = INSIDE.encode()
            return struct.pack('<QQII', FOLDER, 1, len(name), stat.S_IFDIR >> 12) + name + bytes(-len(name) % 8)
        if operation == STATFS:
            return bytes(80)
        return errno.EROFS if operation == MKDIR else errno.ENOSYS
