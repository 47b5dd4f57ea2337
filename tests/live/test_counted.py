# SPDX-License-Identifier: GPL-2.0-or-later
"""What is missing is counted: each operation either has a row or is counted as lost."""
import ctypes
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from lib.registry import check, equal, test, wait_for
from lib.world import find_key

LIBC = ctypes.CDLL(None, use_errno=True)
THREADS, ROUNDS = 5000, 20
KEEP = []  # memory that Python must not free, as it is unmapped already


@test(host_only=True)
def crowd(world):
    """More threads in system calls at once than there are slots for calls in flight, so that they evict each other."""
    with world.session('--vfs', '--net', '--command', 'iotr-trigger', '--operation', 'UNLINK,RECEIVE',
                       lossless=False) as session:
        done = subprocess.run([world.trigger.program, '--count', str(THREADS), 'crowd', world.make('crowd')], check=True,
                              stdout=subprocess.PIPE, text=True)
    threads = int(done.stdout)
    equal({stream: account['emitted'] for stream, account in session.accounts.items()},
          {'vfs': threads * ROUNDS, 'net': threads * (ROUNDS + 1)}, 'calls with a row, or lost')


def cold(content):
    """Memory with that content that a BPF program cannot read, as it may not fault: a page of a file that is not mapped yet."""
    with tempfile.TemporaryFile() as file:
        file.write(content.ljust(mmap.PAGESIZE, b'\0'))
        file.flush()
        memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    memory.madvise(mmap.MADV_DONTNEED)
    return memory


def address(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


@test
def offset(world):
    """sendfile's offset lies in memory that a BPF program cannot read before the call: the row has it all the same."""
    path = os.path.join(world.make('offset'), 'file')
    with open(path, 'wb') as file:
        file.write(bytes(100))
    near, far = socket.socketpair()
    start = cold(struct.pack('q', 30))
    at = address(start)
    start.madvise(mmap.MADV_DONTNEED)
    with open(path, 'rb') as file, world.session('--vfs', '--pid', os.getpid(), '--path', path) as session:
        equal(LIBC.sendfile(near.fileno(), file.fileno(), ctypes.c_void_p(at), ctypes.c_size_t(10)), 10, 'sendfile')
    far.close()
    near.close()
    equal([(row['operation'], row['offset'], row['bytes_completed']) for row in session.rows()
           if row['operation'] != 'CLOSE'], [('SENDFILE', '30', '10')], 'rows')


@test
def clone(world):
    """The same of the argument of FICLONERANGE."""
    path = os.path.join(world.make('clone'), 'file')
    with open(path, 'wb') as file:
        file.write(bytes(8192))
    with open(path, 'rb') as source, open(path + '2', 'wb') as target:
        what = cold(struct.pack('qQQQ', source.fileno(), 4096, 4096, 0))
        at = address(what)
        what.madvise(mmap.MADV_DONTNEED)
        with world.session('--vfs', '--pid', os.getpid(), '--operation', 'COPY_FILE_RANGE', '--path', path) as session:
            LIBC.ioctl(target.fileno(), ctypes.c_ulong(0x4020940d), ctypes.c_void_p(at))  # FICLONERANGE
        equal([(row['filename'], row['fd'], row['size'], row['offset']) for row in session.rows()],
              [(path, str(source.fileno()), '4096', '4096')], 'rows')


def interrupted_open(path):
    """Opens a FIFO with a path that is unmapped while the call waits; a signal ends the call."""
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    memory.write(os.fsencode(path) + b'\0')
    at, tids = address(memory), []

    def begin():
        tids.append(threading.get_native_id())
        LIBC.open(ctypes.c_void_p(at), os.O_RDONLY)
    thread = threading.Thread(target=begin)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    thread.start()
    wait_for('an open that waits', lambda: tids and asleep_in(tids[0], '2'))
    LIBC.munmap(ctypes.c_void_p(at), mmap.PAGESIZE)
    signal.pthread_kill(thread.ident, signal.SIGUSR1)
    thread.join()
    signal.signal(signal.SIGUSR1, before)
    return memory


def asleep_in(tid, call):
    with open('/proc/self/task/%d/syscall' % tid, encoding='ascii') as file:
        return file.read().split()[0] in (call, '257')


@test
def name(world):
    """A path that cannot be read at the end of its call is a lost name, and a lost row for a session with --path."""
    path = os.path.join(world.make('name'), 'fifo')
    os.mkfifo(path)
    session = world.session('--vfs', '--pid', os.getpid(), '--operation', 'OPEN', '--errors', lossless=False)
    within = world.session('--vfs', '--pid', os.getpid(), '--operation', 'OPEN', '--errors', '--path',
                           os.path.dirname(path), lossless=False)
    with session, within:
        KEEP.append(interrupted_open(path))
    equal([(row['errno'], row['filename']) for row in session.rows() if row['errno'] == '4'], [('4', '')], 'rows')
    equal(session.accounts['vfs']['lost']['names'], 1, 'names that were lost')
    equal((within.rows(), within.accounts['vfs']['lost']['unmatched']), ([], 1), 'rows in the folder, and those lost')


@test
def straddling(world):
    """A path whose second page a program cannot read when the call begins is read when it ends, and passes --path."""
    path = os.path.join(world.make('straddling'), 'folder')
    text = os.fsencode(path) + b'\0'
    with tempfile.TemporaryFile() as file:
        file.write(bytes(mmap.PAGESIZE - 8) + text + bytes(mmap.PAGESIZE))
        file.flush()
        memory = mmap.mmap(file.fileno(), 2 * mmap.PAGESIZE)
    at = address(memory) + mmap.PAGESIZE - 8
    ctypes.string_at(at, len(text))
    memory.madvise(mmap.MADV_DONTNEED, mmap.PAGESIZE, mmap.PAGESIZE)
    with world.session('--vfs', '--pid', os.getpid(), '--operation', 'MKDIR', '--path', os.path.dirname(path)) as session:
        equal(LIBC.mkdir(ctypes.c_void_p(at), 0o755), 0, 'mkdir')
    equal([row['filename'] for row in session.rows()], [path], 'folders that were made')


@test
def bad_name(world):
    """A path that the kernel could not read either is no lost name."""
    with world.session('--vfs', '--pid', os.getpid(), '--operation', 'UNLINK') as session:
        LIBC.unlink(ctypes.c_void_p(8))
    equal([(row['errno'], row['filename']) for row in session.rows()], [('14', '')], 'rows')


@test
def timeout(world):
    """select's timeout lies in memory that a program can only read when the kernel has changed it: it is counted as lost."""
    time = cold(struct.pack('qq', 0, 1000))
    at = address(time)
    time.madvise(mmap.MADV_DONTNEED)
    with world.session('--epoll', '--pid', os.getpid(), '--operation', 'SELECT', lossless=False) as session:
        LIBC.syscall(23, 0, None, None, None, ctypes.c_void_p(at))
    equal([row['timeout_ms'] for row in session.rows('epoll')], [''], 'timeouts')
    equal(session.accounts['epoll']['lost']['names'], 1, 'rows without an argument')


@test
def submissions(world):
    """A libaio operation that lies in memory which a program cannot read has no row, and is counted as lost."""
    path = os.path.join(world.make('submit'), 'file')
    with open(path, 'wb') as file:
        file.write(bytes(4096))
    context, events, buffer = ctypes.c_ulong(), ctypes.create_string_buffer(32), ctypes.create_string_buffer(16)
    equal(LIBC.syscall(206, 8, ctypes.byref(context)), 0, 'io_setup')
    with open(path, 'rb') as file:
        control = cold(struct.pack('QIIHhIQQqQII', 0, 0, 0, 0, 0, file.fileno(), ctypes.addressof(buffer), 16, 0, 0, 0, 0))
        at = address(control)
        array = (ctypes.c_void_p * 1)(at)
        control.madvise(mmap.MADV_DONTNEED)
        with world.session('--vfs', '--pid', os.getpid(), '--operation', 'READ,DIO_READ', lossless=False) as session:
            equal(LIBC.syscall(209, context, ctypes.c_long(1), array), 1, 'io_submit')
            equal(LIBC.syscall(208, context, ctypes.c_long(1), ctypes.c_long(1), events, None), 1, 'io_getevents')
    LIBC.syscall(207, context)
    rows = [row for row in session.rows() if row['filename'] == path]
    equal((rows, session.accounts['vfs']['lost']['unmatched']), ([], 1), 'rows, and operations lost')


READS = '''
import os, sys, time
file, end = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), time.monotonic() + 6
os.write(file, bytes(4096))
while time.monotonic() < end:
    for _ in range(1000):
        os.pread(file, 1, 0)
'''

WRITES = '''
import os, sys, time
file, end = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), time.monotonic() + 6
while time.monotonic() < end:
    os.pwrite(file, b'x', 0)
    os.fdatasync(file)
'''


@test(host_only=True)
def interrupts(world):
    """Pages that are read while interrupts end the writeback of others: both change the same counters, and none is missed."""
    folder = world.make('interrupts')
    world.ctl.json('start', 'interrupts', '--cache', '--path', folder, '--flight-recorder', '1M')
    running = [subprocess.Popen([sys.executable, '-c', code, os.path.join(folder, str(number))])
               for number, code in enumerate((READS, READS, WRITES, WRITES))]
    for one in running:
        one.wait()
    account = find_key(world.ctl.json('stop', 'interrupts'), 'streams')['cache']
    lost = sum(account['lost'][cause] for cause in ('ring', 'queue', 'disk', 'unmatched'))
    check(account['emitted'] > 100000, 'too little happened', account)
    equal(account['emitted'], account['kept'] + account['overwritten'] + lost, 'pages counted, and rows with those lost')


@test
def many_submissions(world):
    """More operations in one io_submit than programs look at: each has a row or is counted as lost."""
    count, path = 1100, os.path.join(world.make('many'), 'file')
    with open(path, 'wb') as file:
        file.write(bytes(4096))
    context, events, buffer = ctypes.c_ulong(), ctypes.create_string_buffer(32 * count), ctypes.create_string_buffer(1)
    equal(LIBC.syscall(206, count, ctypes.byref(context)), 0, 'io_setup')
    with open(path, 'rb') as file:
        control = struct.pack('QIIHhIQQqQII', 0, 0, 0, 0, 0, file.fileno(), ctypes.addressof(buffer), 1, 0, 0, 0, 0)
        controls = ctypes.create_string_buffer(control * count, len(control) * count)
        array = (ctypes.c_void_p * count)(*range(ctypes.addressof(controls), ctypes.addressof(controls) +
                                                 len(control) * count, len(control)))
        with world.session('--vfs', '--pid', os.getpid(), '--operation', 'READ', lossless=False) as session:
            equal(LIBC.syscall(209, context, ctypes.c_long(count), array), count, 'io_submit')
            for _ in range(2):
                equal(LIBC.syscall(208, context, ctypes.c_long(550), ctypes.c_long(550), events, None), 550,
                      'io_getevents')
    LIBC.syscall(207, context)
    rows = [row for row in session.rows() if row['filename'] == path]
    equal((len(rows), session.accounts['vfs']['lost']['unmatched']), (1024, count - 1024), 'rows, and operations lost')
