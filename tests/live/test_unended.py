# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace that ends with calls in flight: how many, and which is oldest."""
import ctypes
import fcntl
import os
import subprocess
import sys
import time

from lib import rows, uring
from lib.registry import check, equal, test, wait_for

LOCKS = ('import fcntl, os, sys; file = os.open(sys.argv[1], os.O_RDWR); print(flush=True); sys.stdin.readline(); '
         'print(flush=True); fcntl.flock(file, fcntl.LOCK_EX)')


def hanging(world, *options):
    """A session in which a process waits in flock(2), and still does when it ends; its manifest, number and file."""
    path = world.path('locked')
    with open(path, 'w', encoding='utf-8') as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with subprocess.Popen([sys.executable, '-c', LOCKS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            process.stdout.readline()
            try:
                with world.session('--vfs', '--pid', process.pid, *options) as session:
                    process.stdin.write('\n')
                    process.stdin.flush()
                    process.stdout.readline()
                    wait_for('the call', lambda: waits(process.pid))
            finally:  # else nobody could wait for the process
                fcntl.flock(holder, fcntl.LOCK_UN)
    return session, process.pid, path


def waits(pid):
    time.sleep(0.2)
    with open('/proc/%d/wchan' % pid, encoding='ascii') as file:
        return 'lock' in file.read()


@test(host_only=True)
def call(world):
    """A call that hangs is named in manifest, status and by `verify`, with its process, its file, and since when."""
    before = time.time()
    session, pid, path = hanging(world)
    entry, = rows.manifest(session.output)['in_flight']
    equal((entry['stream'], entry['count']), ('vfs', 1), 'what is in flight')
    oldest = entry['oldest']
    equal((oldest['operation'], oldest['pid'], oldest['tid'], oldest['filename']), ('FLOCK', pid, pid, path), 'the oldest')
    check(oldest['command'].startswith('python'), 'command', oldest)
    since = time.time() - time.monotonic() + oldest['since_mono_ns'] / 1e9
    check(before - 1 < since < time.time() + 1, 'since', oldest, before)
    equal(session.final['sessions'][0]['in_flight'], [entry], 'status')
    said = world.ctl.exits(0, 'verify', session.output).stdout
    words = '1 operation was in flight at its end, and has no row; the oldest: FLOCK of %s by %s (%d)' % (
        path, oldest['command'], pid)
    check(words in said, 'not said', words, said)
    check('with 1 in flight at its end' in said.splitlines()[-1], 'last line', said)
    equal(world.ctl.json('verify', session.output)['in_flight'], 1, 'in JSON')


@test(host_only=True)
def none(world):
    with world.session('--vfs', '--pid', os.getpid()) as session:
        os.stat('/')
    check('in_flight' not in rows.manifest(session.output), 'something is in flight', rows.manifest(session.output))


@test(host_only=True)
def anonymized(world):
    session, _, path = hanging(world, '--anonymize')
    with open(os.path.join(session.output, 'manifest.json'), encoding='utf-8') as file:
        text = file.read()
    check('FLOCK' in text and os.path.basename(path) not in text, 'a name in the clear', text)


@test(host_only=True)
def uring_request(world):
    """The same of a request of io_uring."""
    ring, time_of = uring.need(8), ctypes.create_string_buffer(16)
    ctypes.c_uint64.from_buffer(time_of).value = 3600
    with world.session('--iouring', '--pid', os.getpid(), '--no-snapshots') as session:
        for _ in range(3):
            ring.push('TIMEOUT', addr=uring.address(time_of), length=1)
        ring.enter()
    ring.close()
    entry, = rows.manifest(session.output)['in_flight']
    equal((entry['stream'], entry['count']), ('iouring', 3), 'what is in flight')
    equal((entry['oldest']['operation'], entry['oldest']['pid']), ('TIMEOUT', os.getpid()), 'the oldest')


@test(host_only=True)
def waits_of_sockets(world):
    """The same of a call of another stream, which is in a table of its own."""
    script = 'import select, sys; print(flush=True); sys.stdin.readline(); print(flush=True); select.epoll().poll(60)'
    with subprocess.Popen([sys.executable, '-c', script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        process.stdout.readline()
        with world.session('--epoll', '--pid', process.pid) as session:
            process.stdin.write('\n')
            process.stdin.flush()
            process.stdout.readline()
            time.sleep(0.5)
        process.kill()
    entry, = rows.manifest(session.output)['in_flight']
    equal((entry['stream'], entry['count'], entry['oldest']['pid']), ('epoll', 1, process.pid), 'what is in flight')


@test(host_only=True)
def of_a_session_before(world):
    """What was in flight at the end of a session is not of the next one, which has its place."""
    hanging(world)
    with world.session('--vfs', '--pid', os.getpid()) as session:
        os.stat('/')
    check('in_flight' not in rows.manifest(session.output), 'something is in flight', rows.manifest(session.output))
