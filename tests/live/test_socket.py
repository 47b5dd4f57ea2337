# SPDX-License-Identifier: GPL-2.0-or-later
"""The socket of the daemon: bad messages, very many connections, and what is recorded of who is connected."""
import json
import os
import socket
import subprocess
import time

from lib.hooks import targets
from lib.match import complete
from lib.registry import PATIENCE, Skip, check, equal, test, wait_for


def call(peer, message):
    """A reply, or b'' when the daemon hung up."""
    reply = b''
    try:
        peer.sendall(message)
        while not reply.endswith(b'\0'):
            part = peer.recv(65536)
            if not part:
                break
            reply += part
    except OSError:
        pass
    return reply


def peer_of(daemon):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(PATIENCE)
    peer.connect(daemon.socket)
    return peer


BAD = [
    b'not json\0', b'\0', b'{}\0', b'[]\0', b'{"method":1}\0', b'\xff\xfe\0', b'{"method":null}\0',
    b'{"method":"io.iotracer.Nonsense"}\0', b'{"method":"io.iotracer.Start"}\0',
    b'{"method":"io.iotracer.Start","parameters":7}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":"vfs"}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"pids":["x"]}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"pids":[-1]}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"name":"a/b"}}\0',
    b'{"method":"io.iotracer.Start","parameters":{"streams":["vfs"],"nonsense":1}}\0',
    b'{"method":"io.iotracer.Stop","parameters":{"name":"nobody"}}\0',
    b'{"method":"io.iotracer.Status","parameters":{"name":5}}\0',
    b'[' * 100000 + b'\0', b'{"method":"' + b'x' * (2 << 20) + b'"}\0',
    b'{"method":"io.iotracer.Status","parameters":{"name":"' + b'\\u0000' * 1000 + b'"}}\0',
]


@test(host_only=True)
def bad_messages(world):
    """Nothing that comes in stops the daemon or disturbs a session."""
    with world.session('--vfs', '--command', 'iotr-trigger') as session:
        for message in BAD:
            with peer_of(world.daemon) as peer:
                reply = call(peer, message)
            check(b'error' in reply or not reply, 'bad message was taken', message[:100], reply[:200])
        with peer_of(world.daemon) as peer:
            peer.sendall(b'{"method":"io.iotr')
        _, expected = world.trigger.run('read', world.path('work'))
    complete(world.level, expected, session.rows())


@test(host_only=True)
def half_sent(world):
    """A message in pieces is a message; two in one piece are two."""
    message = b'{"method":"org.varlink.service.GetInfo"}\0'
    with peer_of(world.daemon) as peer:
        for index in range(len(message) - 1):
            peer.sendall(message[index:index + 1])
        reply = json.loads(call(peer, message[-1:])[:-1])
        check('io.iotracer' in reply['parameters']['interfaces'], 'interfaces', reply)
        peer.sendall(message + message)
        text = b''
        while text.count(b'\0') < 2:
            part = peer.recv(65536)
            check(part, 'the daemon hung up')
            text += part


def connections(world, daemon, count):
    """So many of root's, of which none says anything."""
    peers = []
    world.undo.callback(lambda: [peer.close() for peer in peers])
    while len(peers) < count:
        try:
            peers.append(peer_of(daemon))
        except BlockingIOError:  # more wait to be accepted than the kernel lets
            time.sleep(0.01)
    return peers


@test(host_only=True)
def crowd(world):
    """A thousand connections: those that have been idle longest are closed, and as many as may be there are served."""
    daemon, client = world.own_daemon()
    with world.session('--vfs', '--command', 'iotr-trigger', ctl=client) as session:
        peers = connections(world, daemon, 1000)
        _, expected = world.trigger.run('read', world.path('work'))
        for peer in peers[:-64]:
            equal(peer.recv(1), b'', 'what a closed connection receives')
        for peer in peers[-64:]:
            reply = call(peer, b'{"method":"io.iotracer.List"}\0')
            check(b'parameters' in reply, 'a connection is not served', reply)
        client.exits(0, 'list')
    complete(world.level, expected, session.rows())


@test(host_only=True)
def crowd_of_the_busy(world):
    """Connections with a call in progress stay; when all have one, a further connection is refused with an error."""
    daemon, client = world.own_daemon()
    with world.session('--vfs', '--command', 'nobody', ctl=client) as session:
        peers = connections(world, daemon, 64)
        message = '{"method":"io.iotracer.Tail","more":true,"parameters":{"name":"%s"}}\0' % session.name
        for peer in peers:
            peer.sendall(message.encode())
        wait_for('all connections to have a call in progress', lambda: client.run('list').returncode != 0)
        with peer_of(daemon) as late:
            check(b'TooManyConnections' in late.recv(4096), 'the one that is too many is not told')
        for peer in peers:
            peer.close()
        wait_for('room for another', lambda: not client.run('list').returncode)


@test(host_only=True)
def stalled_reader(world):
    """A client that asks and never reads does not hold up the others."""
    with peer_of(world.daemon) as peer:
        peer.setblocking(False)
        try:
            for _ in range(20000):
                peer.send(b'{"method":"io.iotracer.Streams"}\0')
        except OSError:
            pass
        world.ctl.exits(0, 'list')
    world.ctl.exits(0, 'list')


@test(host_only=True)
def strangers(world):
    """Users other than root and the members of the group may not connect."""
    code = ('import socket,sys\ns=socket.socket(socket.AF_UNIX)\ntry:\n s.connect(sys.argv[1])\n'
            ' s.sendall(b\'{"method":"io.iotracer.List"}\\0\')\n r=s.recv(9999)\n'
            'except PermissionError:\n sys.exit(4)\nsys.exit(4 if b"ermission" in r or not r else 0)')
    os.chmod(world.folder, 0o755)
    python = '/usr/bin/python3'
    if not os.path.exists(python):
        raise Skip('no python3 that any user may run')
    done = subprocess.run([python, '-c', code, world.daemon.socket], user=65534, group=65534,
                          extra_groups=[], timeout=PATIENCE, check=False)
    equal(done.returncode, 4, 'what a stranger met')


def sockets(daemon):
    """How many sockets the daemon has open."""
    return sum(target.startswith('socket:') for target in targets(daemon))


@test
def numbers_used_again(world):
    """A process is recorded again after it has disconnected from the daemon, once its last connection is closed."""
    path = os.path.join(world.make('client'), 'file')
    with open(path, 'wb') as file:
        file.write(b'x' * 100)
    with world.session('--vfs', '--path', os.path.dirname(path), '--operation', 'READ') as session:
        fd = os.open(path, os.O_RDONLY)
        os.pread(fd, 1, 0)
        for _ in range(2):
            with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
                for one in (first, second):
                    one.connect(world.ctl.socket)
                    check(b'parameters' in call(one, b'{"method":"io.iotracer.List"}\0'), 'no answer')
                os.pread(fd, 2, 0)
                both = sockets(world.daemon)
                second.close()
                wait_for('one to have gone', lambda: sockets(world.daemon) == both - 1)
                os.pread(fd, 3, 0)
            wait_for('the other to have gone', lambda: sockets(world.daemon) == both - 2)
            world.ctl.exits(0, 'list')  # the daemon has handled the disconnection
            os.pread(fd, 4, 0)
        os.close(fd)
    equal([row['size'] for row in session.rows()], ['1', '4', '4'], 'sizes of reads while it was no client')
