# SPDX-License-Identifier: GPL-2.0-or-later
"""The self-test of `doctor`: what it says of the hooks, and that it does not disturb sessions."""
import json
import os
import socket
import threading
import time

from lib.ctl import own
from lib.registry import check, equal, test, wait_for
from test_snapshot import children

COMMAND = 'iotr-selftest'
FAMILIES = {'vfs', 'epoll', 'sockopt', 'conn', 'net', 'pagefault'}  # all of whose operations are tried
LATEST = 3  # seconds, as `doctor` promises, beside what other programs take


def operations(checks):
    return {one['check']: one for one in checks if '.' in one['check']}


def self_test(checks):
    one, = [one for one in checks if one['check'] == 'self-test']
    return one


def verdicts(checks):
    """The self-test ends in time, or says that it was cut short, as an emulated machine may be too slow."""
    if self_test(checks)['ok']:
        equal([name for name, one in operations(checks).items() if one.get('test') == 'none'], [],
              'hooks that gave no row')
    return {name: one.get('test') for name, one in operations(checks).items()}


def left(world):
    return [name for name in os.listdir(os.path.join(world.daemon.folder, 'state')) if 'self' in name]


@test
def every_hook(world):
    begin = time.monotonic()
    checks = world.ctl.json('doctor')['checks']
    took = time.monotonic() - begin
    found = verdicts(checks)
    if self_test(checks)['ok']:
        check(took < 4 * LATEST, 'doctor took %.1f s' % took)
        silent = [name for name, one in operations(checks).items()
                  if one['ok'] and one['test'] != 'rows' and name.split('.')[0] in FAMILIES]
        equal(silent, [], 'operations that were not tried')
    for name, one in operations(checks).items():
        equal('test' in one, one['ok'] or one.get('test') == 'none', '%s: a hook, and a test' % name)
        equal(one.get('rows', 0) > 0, one.get('test') == 'rows', '%s: rows' % name)
    equal(found['block.SECURE_ERASE'], 'untried', 'what would destroy data')
    equal([one['ok'] for one in checks if one['check'] == 'dirtier'], [True], 'hooks that tell whose is what is written back')
    equal(left(world), [], 'files that it left behind')


@test
def in_words(world):
    lines = world.ctl.exits(0, 'doctor').stdout.splitlines()
    read, = [line for line in lines if ' vfs.READ ' in line]
    check(' rows ' in read or ' row ' in read or not self_test(world.ctl.json('doctor')['checks'])['ok'],
          'the line of an operation', read)
    erase, = [line for line in lines if ' block.SECURE_ERASE ' in line]
    check(' not tried ' in erase, 'the line of an operation', erase)


@test
def beside_sessions(world):
    """A session loses nothing while two ask at once, and one that wants every process sees the test."""
    path = os.path.join(world.make('beside'), 'file')
    answers = []
    with world.session('--vfs', '--pid', os.getpid(), '--operation', 'WRITE') as mine, \
            world.session('--vfs', '--command', COMMAND) as theirs:
        threads = [threading.Thread(target=lambda: answers.append(world.ctl.json('doctor')))
                   for _ in range(2)]
        for thread in threads:
            thread.start()
        written = 0
        with open(path, 'wb', buffering=0) as file:
            while written < 1000 or any(thread.is_alive() for thread in threads):
                file.write(b'x')
                written += 1
                time.sleep(0.0005)
        for thread in threads:
            thread.join()
    equal(len([row for row in own(mine.rows(), os.getpid()) if row['filename'] == path]), written,
          'rows of the session')
    seen = theirs.rows()
    check(seen, 'the self-test in a session of its own')
    equal({row['command'] for row in seen}, {COMMAND}, 'command names')
    equal(len(answers), 2, 'answers')
    for one in answers:
        verdicts(one['checks'])


@test
def asked_and_left(world):
    """A client that goes away does not end the test of another, nor leave one behind."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(world.daemon.socket)
        peer.sendall(json.dumps({'method': 'io.iotracer.Doctor'}).encode() + b'\0')
        wait_for('the test to be under way', lambda: children(world.daemon.process.pid))
    verdicts(world.ctl.json('doctor')['checks'])
    equal(left(world), [], 'files that it left behind')
