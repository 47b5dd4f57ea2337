# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF maps of a daemon, by their names."""
import ctypes
import errno
import os
import struct

from lib.registry import check

LIBC = ctypes.CDLL(None, use_errno=True)
BPF = 321  # the system call, on x86-64
LOOKUP_ELEM, GET_NEXT_KEY, GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 1, 4, 14, 15


def bpf(command, words, allowed=0):
    """The system call, with so many 64-bit words of its attributes; below 0 if it fails with the error that is allowed."""
    attributes = struct.pack('<%dQ' % len(words), *words)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = LIBC.syscall(BPF, command, buffer, len(attributes))
    check(result >= 0 or ctypes.get_errno() == allowed, 'bpf(%d): %s' % (command, os.strerror(ctypes.get_errno())))
    return result


def map_of(daemon, name):
    """A descriptor of the daemon's map."""
    folder = '/proc/%d/fdinfo' % daemon.process.pid
    for entry in os.listdir(folder):
        with open(os.path.join(folder, entry), encoding='ascii') as file:
            ids = [int(line.split()[1]) for line in file if line.startswith('map_id:')]
        if not ids:
            continue
        fd, info = bpf(GET_FD_BY_ID, [ids[0]]), ctypes.create_string_buffer(40)
        bpf(OBJ_GET_INFO_BY_FD, [len(info) << 32 | fd, ctypes.addressof(info)])  # struct bpf_map_info has the name at 24
        if info.raw[24:40].rstrip(b'\0').decode() == name:
            return fd
        os.close(fd)
    raise AssertionError('no map %s' % name)


def number(fd):
    """The first element of an array of 64-bit numbers."""
    key, value = ctypes.c_uint32(0), ctypes.c_int64()
    bpf(LOOKUP_ELEM, [fd, ctypes.addressof(key), ctypes.addressof(value), 0])
    return value.value


def entries(fd):
    """How many entries a hash map has whose keys are 64-bit numbers."""
    key, count, before = ctypes.c_uint64(), 0, 0
    while bpf(GET_NEXT_KEY, [fd, before, ctypes.addressof(key)], errno.ENOENT) == 0:
        count, before = count + 1, ctypes.addressof(key)
    return count
