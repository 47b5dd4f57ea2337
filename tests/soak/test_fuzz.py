# SPDX-License-Identifier: GPL-2.0-or-later
"""Random bytes and randomly changed messages, beside a session that must lose nothing."""
import json
import socket
import time

from lib.registry import check, test, wait_for

import ground

PATIENCE = 30
METHODS = ('Start', 'Stop', 'List', 'Status', 'Rotate', 'Streams', 'Doctor', 'Tail', 'Reload')
KEYS = ('name', 'streams', 'output', 'pids', 'tree', 'commands', 'uids', 'devices', 'operations',
        'min_latency_ns', 'min_size', 'errors', 'duration_ns', 'nonsense')
VALUES = (None, True, -1, 0, 1 << 63, 1e308, '', 'x' * 300, '../..', 'a\0b', [], {},
          ['vfs'], ['vfs', 7], [[]], ['-'] * 2000, {'a': {'b': {}}})


def message(random):
    """A call of an existing method with absurd values."""
    keys = random.sample(KEYS, random.randrange(4))
    parameters = {key: random.choice(VALUES) for key in keys}
    # Not a call that would start a session or stop the witness.
    call = {'method': 'io.iotracer.' + random.choice(METHODS), 'parameters': parameters}
    if call['method'].endswith('.Start'):
        parameters['streams'] = random.choice((['nothing'], 7, ['vfs', None]))
    if random.random() < 0.2:
        call[random.choice(('more', 'oneway', 'upgrade', 'extra'))] = random.choice(VALUES)
    return bytearray(json.dumps(call).encode() + b'\0')


def spoil(random, data):
    for _ in range(random.randrange(1, 4)):
        position = random.randrange(len(data))
        kind = random.randrange(3)
        if kind == 0:
            data[position] = random.randrange(256)
        elif kind == 1:
            del data[position:position + random.randrange(20)]
        else:
            data[position:position] = random.randbytes(random.randrange(20))
        if not data:
            data = bytearray(b'\0')
    return data


def shot(random):
    kind = random.randrange(4)
    if kind == 0:
        return random.randbytes(random.randrange(1, 5000))
    data = message(random)
    return bytes(data if kind == 1 else spoil(random, data))


def fire(world, path, seconds):
    """Sends messages until the time is over; returns the numbers of connections and messages."""
    peers, sent = 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(PATIENCE)
            peer.connect(path)
            peers += 1
            try:
                for _ in range(world.random.randrange(1, 6)):
                    peer.sendall(shot(world.random))
                    sent += 1
                if world.random.random() < 0.5:
                    peer.sendall(b'\0')
                    peer.recv(65536)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the daemon closes the connection after a bad message
    return peers, sent


@test
def messages(world):
    daemon, ctl = ground.begin(world)
    witness = ground.Witness(world, ctl)
    ctl.json('streams')  # is answered when all programs are loaded, which have descriptors too
    fire(world, daemon.socket, 1)
    descriptors, memory = ground.descriptors(daemon.process.pid), ground.heap(daemon.process.pid)
    peers, sent = fire(world, daemon.socket, world.amounts['fuzz'])
    check(daemon.alive(), 'the daemon died', *daemon.tail())
    names = [one['name'] for one in ctl.json('list')['sessions']]
    check(names == ['witness'], 'sessions after the fuzzing', names)
    # A busy daemon may still have to see that the last peers have gone.
    wait_for('descriptors to be closed', lambda: ground.descriptors(daemon.process.pid) <= descriptors + 2)
    growth = ground.heap(daemon.process.pid) - memory
    check(growth < 4096, 'memory grew by %d KiB' % growth)
    ground.note('%d connections, %d messages, %d KiB more memory; the witness: %d rows'
                % (peers, sent, growth, witness.end()))
