# SPDX-License-Identifier: GPL-2.0-or-later
"""Files page by page: which pages are in the page cache, and mappings whose pages a test touches one by one."""
import ctypes
import mmap
import os

PAGE = 4096
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long)
LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
LIBC.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
LIBC.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
for CALL in (LIBC.pread, LIBC.pwrite):
    CALL.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)


class Mapping:
    """with Mapping(fd, pages) as m: m.read(3); m.write(4)"""

    def __init__(self, fd, pages, protection=mmap.PROT_READ, flags=mmap.MAP_SHARED):
        self.length = pages * PAGE
        self.address = LIBC.mmap(None, self.length, protection, flags, fd, 0)
        if self.address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), 'mmap')

    def read(self, page):
        return ctypes.c_ubyte.from_address(self.address + page * PAGE).value

    def write(self, page):
        ctypes.c_ubyte.from_address(self.address + page * PAGE).value = 7

    def advise(self, advice):
        return LIBC.madvise(self.address, self.length, advice)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        LIBC.munmap(self.address, self.length)


class File:
    """A file of whole pages, written back and, unless `warm`, not in the page cache."""

    def __init__(self, path, pages, warm=False):
        self.path, self.pages = path, pages
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        for _ in range(pages):
            os.write(self.fd, b'x' * PAGE)
        os.fsync(self.fd)
        status = os.fstat(self.fd)
        self.inode, self.number = status.st_ino, status.st_dev
        self.device = '%d:%d' % (os.major(self.number), os.minor(self.number))
        if not warm:
            self.drop()

    def drop(self):
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def resident(self):
        """Numbers of the pages that are in the page cache."""
        state = ctypes.create_string_buffer(self.pages)
        with Mapping(self.fd, self.pages) as mapping:
            LIBC.mincore(mapping.address, mapping.length, state)
        return {page for page in range(self.pages) if state.raw[page] & 1}

    def of(self, rows, *operations):
        return [row for row in rows if row['inode'] == str(self.inode) and
                row['device'] == self.device and (not operations or row['operation'] in operations)]
