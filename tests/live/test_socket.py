# SPDX-License-Identifier: GPL-2.0-or-later
"""The socket of the daemon: bad messages, very many connections, and what is recorded of who is connected."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

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


@test
def connected(world):
    """A process is recorded while it is connected to the daemon, as before and after."""
    path = os.path.join(world.make('client'), 'file')
    with open(path, 'wb') as file:
        file.write(b'x' * 100)
    with world.session('--vfs', '--path', os.path.dirname(path), '--operation', 'READ') as session:
        fd = os.open(path, os.O_RDONLY)
        os.pread(fd, 1, 0)
        with peer_of(world.daemon) as peer:
            check(b'parameters' in call(peer, b'{"method":"io.iotracer.List"}\0'), 'no answer')
            os.pread(fd, 2, 0)
        os.pread(fd, 3, 0)
        os.close(fd)
    equal([row['size'] for row in session.rows()], ['1', '2', '3'], 'sizes of reads')


def listed_by(world, program):
    """Rows of the program while it asks for a list, and how much of what it did is left out."""
    def left_out():
        return json.loads(world.ctl.exits(0, 'status', '--json').stdout)['own']['operations']

    with world.session('--vfs', '--command', 'iotracectl') as session:
        before = left_out()
        subprocess.run([program, '--socket', world.ctl.socket, 'list'], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
        after = left_out()
        done = left_out()
    return len(session.rows()), 2 * after - before - done  # less what the last question for it adds itself


@test(host_only=True)
def own_program(world):
    """What iotracectl does while it is connected is in no row but counted; of a copy under the same name everything is told."""
    copy = os.path.join(world.make('copy'), 'iotracectl')
    shutil.copy(world.ctl_program, copy)
    of_copy, own = listed_by(world, copy)[1], listed_by(world, world.ctl_program)[1]
    check(own > of_copy and abs(of_copy) < own / 2, 'operations that are left out, of the copy and of the program', of_copy, own)
    with subprocess.Popen([world.ctl_program, '--socket', world.ctl.socket, 'top'], stdout=subprocess.DEVNULL) as top:
        wait_for('it to be left out', lambda: json.loads(
            world.ctl.exits(0, 'status', '--json').stdout)['own']['processes'] >= 3)
        top.terminate()


KEEPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>
int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect"), r = real(fd, address, size);
	if (r == 0 && fork() == 0)
		for (;;)
			pause();
	return r;
}
"""


def child_of(pid):
    for entry in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/environ' % entry, 'rb') as file:
                if int(entry) != pid and b'IOTRACER_KEEPS=1' in file.read().split(b'\0'):
                    return int(entry)
        except OSError:
            pass
    return None


@test(host_only=True)
def numbers_used_again(world):
    """A process that gets the number of an iotracectl which has ended is recorded, though a child keeps the connection."""
    if not shutil.which('cc'):
        raise Skip('no compiler')
    folder = world.make('again')
    library = os.path.join(folder, 'keeps.so')
    subprocess.run(['cc', '-shared', '-fPIC', '-x', 'c', '-', '-o', library], input=KEEPS, text=True, check=True)
    path = os.path.join(folder, 'file')
    with open(path, 'wb') as file:
        file.write(b'x' * 100)
    with world.session('--vfs', '--path', path, '--operation', 'READ') as session:
        one = subprocess.Popen([world.ctl_program, '--socket', world.ctl.socket, 'list'], stdout=subprocess.DEVNULL,
                               env=dict(os.environ, LD_PRELOAD=library, IOTRACER_KEEPS='1'))
        equal(one.wait(), 0, 'exit status')
        child = child_of(one.pid)
        check(child, 'nobody keeps the connection')
        world.undo.callback(os.kill, child, signal.SIGKILL)
        world.ctl.exits(0, 'list')
        for _ in range(1000):
            with open('/proc/sys/kernel/ns_last_pid', 'w', encoding='ascii') as last:
                last.write(str(one.pid - 1))
            pid = os.fork()
            if not pid:
                if os.getpid() == one.pid:
                    with open(path, 'rb', buffering=0) as file:
                        file.read(7)
                os._exit(0)
            os.waitpid(pid, 0)
            if pid == one.pid:
                break
        equal(pid, one.pid, 'the number is not to be had')
    equal([row['size'] for row in session.rows()], ['7'], 'reads of the next process with that number')
