# SPDX-License-Identifier: GPL-2.0-or-later
"""A process whose every name holds a mark, and which leaves that mark in every stream."""
import ctypes
import mmap
import os
import select
import socket
import struct

from lib import uring
from lib.mapped import File, Mapping
from lib.registry import wait_for

MARK = 'q0z9'  # no hash has a 0, 1, 8 or 9
COMMAND = MARK + ',"c"\\ \n.sh'
ABSTRACT = '\0' + MARK + '/abs,tract'
IPV4 = '127.77.66.55'
DEVICE = MARK + 'dev0'
LIBC = ctypes.CDLL(None, use_errno=True)
SET_NAME, SET_SECUREBITS, NO_SETUID_FIXUP = 15, 28, 4
REFUSE_ALL = struct.pack('HBBI', 6, 0, 0, 0)  # a classic filter that returns 0

# Names, and the extension that each keeps.
NAMES = {
    MARK: '', '.' + MARK: '', '.' + MARK + '.txt': '.txt', MARK + '.tar.gz': '.tar.gz',
    'lib' + MARK + '.so.6': '.so', 'john.' + MARK: '', MARK + '.john': '', MARK + '.TXT': '.txt',
    MARK + ' space, "quoted".csv': '.csv', MARK + '\\backslash': '', MARK + ' -> arrow': None,
    MARK + ' (deleted)': None, MARK + '\n\t\x7f.log': '.log', MARK + '\u00e9\u4e2d.db': '.db',
    MARK + '.' + 'x' * (255 - 5): '', MARK + 'y' * (255 - 8) + '.gz': '.gz', MARK + '.': '',
    '...' + MARK: '', MARK + '.nginx.service': '.service',
}


def become(uid):
    """Becomes the user, with all capabilities, and takes a command name with the mark."""
    LIBC.prctl(SET_SECUREBITS, NO_SETUID_FIXUP, 0, 0, 0)
    os.setresuid(uid, uid, -1)
    LIBC.prctl(SET_NAME, COMMAND.encode(), 0, 0, 0)


def files(folder):
    raw = os.fsencode(folder) + b'/' + MARK.encode() + b'\xff\x80'
    for name in [os.path.join(folder, name) for name in NAMES] + [raw]:
        with open(name, 'wb') as file:
            file.write(b'x' * 100)
    inner = os.path.join(folder, MARK + 'd', MARK + 'e')
    os.makedirs(inner)
    os.rename(raw, os.path.join(inner, MARK + ' renamed'))
    os.symlink('../' + MARK + '/./target', os.path.join(folder, MARK + 'link'))
    os.link(os.path.join(folder, MARK), os.path.join(folder, MARK + 'hard'))
    with open(os.path.join(folder, MARK + 'gone'), 'wb') as file:
        os.unlink(file.name)
        file.write(b'y')
    os.stat(inner + '/.././/' + MARK + 'e/')
    os.chdir(inner)


def pages(folder):
    """Makes rows of block, cache, pagefault and iouring."""
    file = File(os.path.join(folder, MARK + 'pages.bin'), 16)
    os.pread(file.fd, 4096, 0)
    file.drop()
    with Mapping(file.fd, 16, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        mapping.read(3)
        mapping.write(5)
    try:
        with uring.Ring() as ring:
            buffer = ctypes.create_string_buffer(4096)
            ring.one('READ', fd=file.fd, addr=ring.keep(buffer), length=4096, off=0)
            ring.one('OPENAT', fd=-100, addr=ring.keep(uring.text(folder + '/' + MARK)))
    except OSError as error:
        if not uring.missing(error):
            raise


def local(folder):
    path = os.path.join(folder, MARK + '.sock')
    listener, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    client.bind(ABSTRACT)
    client.connect(path)
    listener.accept()
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as relative:
        relative.bind(MARK + 'relative')


def internet():
    for family, host in ((socket.AF_INET, IPV4), (socket.AF_INET6, '::1')):
        listener, client = socket.socket(family), socket.socket(family)
        listener.bind((host, 0))
        listener.listen()
        client.connect(listener.getsockname())
        server, _ = listener.accept()
        client.sendall(b'hello')
        server.recv(5)
        waiter = select.epoll()
        waiter.register(server, select.EPOLLOUT)
        waiter.poll(0)
    with socket.socket() as one:
        for level, option, value in (
                (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, DEVICE.encode()),
                (socket.IPPROTO_TCP, 13, MARK.encode()), (socket.IPPROTO_TCP, 13, b'reno'),
                (socket.SOL_SOCKET, socket.SO_RCVBUF, struct.pack('i', 4242)),
                (socket.IPPROTO_IP, 32, socket.inet_aton(IPV4))):
            try:
                one.setsockopt(level, option, value)
            except OSError:
                pass


def deaf():
    """Connects to a listener whose socket filter drops the SYN, which is sent again after a second."""
    listener, client = socket.socket(), socket.socket()
    listener.bind((IPV4, 0))
    program = ctypes.create_string_buffer(REFUSE_ALL)
    listener.setsockopt(socket.SOL_SOCKET, 26, struct.pack('HxxxxxxP', 1, ctypes.addressof(program)))
    listener.listen()
    client.setblocking(False)
    client.connect_ex(listener.getsockname())
    return listener, client


def sent_again(client):
    """How many segments of the connection were sent again."""
    return struct.unpack_from('I', client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0]


def work(folder, uid):
    """A function for lib.sockets.spawn()."""
    def run(_):
        become(uid)
        kept = deaf()
        files(folder)
        pages(folder)
        local(folder)
        internet()
        wait_for('a segment to be sent again', lambda: sent_again(kept[1]))
        for one in kept:
            one.close()
    return run
