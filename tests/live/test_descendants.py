# SPDX-License-Identifier: GPL-2.0-or-later
"""--tree: descendants that live when the session begins, those born later, and more than there is room for."""
import ctypes
import os
import subprocess

from lib import account, rows
from lib.maps import bpf, map_of
from lib.registry import PATIENCE, check, equal, test, wait_for
from lib.world import find_key


def family(world, path, count):
    """Its children read 1 byte, 2 bytes and so on of the path, when a line tells them to (family.c)."""
    program = os.path.join(os.path.dirname(world.trigger.program), 'iotr-family')
    return subprocess.Popen([program, path, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def sizes_of(session, path):
    return sorted(int(row['size']) for row in session.rows() if row['filename'] == path and row['operation'] == 'READ')


@test
def alive(world):
    """Descendants that live before the session, those born as it begins, and their own, each by its read."""
    path, count = os.path.join(world.make('family'), 'file'), 200
    with open(path, 'wb') as file:
        file.write(b'x' * 1000)
    expected = sorted([*range(1, count + 1), *range(count + 4, 2 * count + 1, 4)])
    for wait in ('ready', 'born'):
        parent = family(world, path, count)
        pid = parent.stdout.readline().decode().strip()
        if wait == 'ready':
            parent.stdout.readline()
        session = world.session('--vfs', '--pid', pid, '--tree').start()
        if wait == 'born':
            parent.stdout.readline()
        parent.communicate(b'\n', timeout=PATIENCE)
        equal(parent.returncode, 0, 'exit status of the family')
        session.stop()
        equal(sizes_of(session, path), expected, 'reads of descendants, %s when it began' % wait)


def others_followed(world, daemon, count):
    """Fills the map of followed processes with so many that do not exist, until the test ends."""
    fd = map_of(daemon, 'accept_pid')
    world.undo.callback(os.close, fd)
    keys = (ctypes.c_uint32 * count)(*range(1 << 23, (1 << 23) + count))
    values = (ctypes.c_uint64 * count)(*[1 << 63] * count)
    batch = [0, 0, ctypes.addressof(keys), ctypes.addressof(values), fd << 32 | count, 0, 0]
    bpf(26, batch)  # BPF_MAP_UPDATE_BATCH
    world.undo.callback(lambda: bpf(27, batch) and keys)  # BPF_MAP_DELETE_BATCH; the lambda keeps the keys alive


def uptime(client):
    """Seconds since the daemon started."""
    return client.ask('Status')['uptime']


def closed_in(manifest):
    """The manifest, when a file of rows is closed."""
    return any(account.checksum(one) for one in account.segment_list(manifest)) and manifest


@test
def without_room(world):
    """Processes for which there is no room are counted, and verify says that the trace is not complete."""
    path, count = os.path.join(world.make('family'), 'file'), 120
    with open(path, 'wb') as file:
        file.write(b'x' * 1000)
    daemon, client = world.own_daemon()
    others_followed(world, daemon, 65536 - 50)
    parent = family(world, path, count)
    pid = parent.stdout.readline().decode().strip()
    parent.stdout.readline()
    session = world.session('--vfs', '--pid', pid, '--tree', '--rotate-interval', '1s', ctl=client).start()
    living = session.status()
    seen = uptime(client)
    wait_for('the next count, which is made once a second', lambda: uptime(client) >= seen + 3)
    parent.communicate(b'\n', timeout=PATIENCE)
    equal(parent.returncode, 0, 'exit status of the family')
    running = wait_for('a manifest with a file that is closed', lambda: closed_in(rows.manifest(session.output)))
    session.stop()
    missing = count + count // 4 - len(sizes_of(session, path))
    check(missing > 0, 'there was room for all')
    told = [find_key(document, 'unfollowed') for document in
            (living, session.final, running, rows.manifest(session.output))]
    equal(told, [missing] * 4, 'processes not followed, in status, at the end, and in the manifest meanwhile and at the end')
    client.exits(1, 'verify', session.output, '--strict')
    with open(daemon.log, encoding='utf-8') as file:
        check('no room to follow more' in file.read(), 'nothing in the log')
