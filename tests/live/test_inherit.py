# SPDX-License-Identifier: GPL-2.0-or-later
"""What a daemon has loaded goes on to the next one of its service, which the service manager keeps it for."""
import ctypes
import os
import signal
import socket
import struct

from lib import rows
from lib.ctl import Ctl
from lib.kept import HOOKS, PROGRAMS, Kept
from lib.reader import Reader, judge_rows
from lib.registry import check, equal, test, wait_for

OWN = 2  # programs that each daemon loads itself: those that tell of cgroups


def made(output):
    """Names of the folders that the rows tell of, in their order."""
    return [os.path.basename(row['filename']) for row in rows.read(output, 'vfs')]


@test(host_only=True)
def kept(world):
    """
    Sessions go on with the same programs over a SIGTERM and a SIGKILL, and see nothing of what was in the maps: filters of
    sessions that have gone, or rows of before. No read is seen twice, and what was not seen lies in the gap that the manifest
    tells. Where nothing is kept, all is loaded anew.
    """
    daemon = Kept(world.daemon_program, world.make('daemon'), 'tracepoint')
    world.undo.callback(daemon.store.close)
    world.undo.callback(daemon.stop)
    ctl = Ctl(world.ctl_program, daemon.start().socket)
    loaded, work = daemon.programs(), world.make('work')
    check(len(loaded) > 50, 'programs', *loaded)
    path, reads = world.path('read'), []
    with open(path, 'wb') as file:
        file.write(b'x')
    ctl.json('start', 'gone', '--all', '--command', 'nobody', '--uid', '54321', code=(0, 6))
    outputs = [ctl.json('start', 'on', '--vfs', '--path', work, '--operation', 'MKDIR', code=(0, 6))['session']['output']]
    reads.append(ctl.json('start', 'reads', '--vfs', '--path', path, '--operation', 'READ', code=(0, 6))['session']['output'])
    reader = Reader(world, path)
    for count, number in enumerate((signal.SIGTERM, signal.SIGKILL)):
        os.mkdir(os.path.join(work, 'seen%d' % count))
        if not count:
            ctl.exits(0, 'stop', 'gone')
        else:
            wait_for('the row', lambda: ctl.json('status', 'on')['sessions'][0]['streams']['vfs']['written'] == 1)
            wait_for('it to be in a file', lambda: any(os.path.getsize(path) > 300 for path in rows.parts(outputs[-1])))
        equal(daemon.stop(number), 0 if number == signal.SIGTERM else -number, 'exit status')
        os.mkdir(os.path.join(work, 'unseen%d' % count))
        daemon.recover()
        equal(len(loaded - daemon.programs()), OWN, 'programs that were loaded anew')
        outputs.append(ctl.json('status', 'on')['sessions'][0]['output'])
        if not count:
            reads.append(ctl.json('status', 'reads')['sessions'][0]['output'])
            wait_for('rows', lambda: ctl.json('status', 'reads')['sessions'][0]['streams']['vfs']['written'])
            reader.end()
            ctl.exits(0, 'stop', 'reads')
            judge_rows(reader, reads)
    os.mkdir(os.path.join(work, 'seen2'))
    ctl.exits(0, 'stop', 'on')
    equal([made(output) for output in outputs], [['seen0'], ['seen1'], ['seen2']], 'rows')
    for output in outputs:
        ctl.verified(output)
    equal(daemon.stop(), 0, 'exit status')
    daemon.store.empty(PROGRAMS)  # as by a daemon that was killed while it took them
    daemon.start()
    check(not daemon.programs() & loaded, 'programs of before')


def begun(world):
    """A daemon whose programs are kept, and its control."""
    daemon = Kept(world.daemon_program, world.make('daemon'), 'tracepoint')
    world.undo.callback(daemon.store.close)
    world.undo.callback(daemon.stop)
    return daemon, Ctl(world.ctl_program, daemon.start().socket)


def again(daemon):
    """Starts it, until its own programs are kept in place of those that it was handed."""
    before = os.fstat(daemon.store.kept[PROGRAMS])
    daemon.start()
    wait_for('its own programs to be kept', lambda: not os.path.samestat(before, os.fstat(daemon.store.kept[PROGRAMS])))


def goes_on(world, daemon, ctl, name):
    """Whatever it was handed, it starts, makes rows, and ends at SIGTERM."""
    again(daemon)
    output = ctl.json('start', name, '--vfs', '--operation', 'MKDIR', '--pid', os.getpid(), code=(0, 6))['session']['output']
    path = world.path(name)
    os.mkdir(path)
    ctl.exits(0, 'stop', name)
    equal(made(output), [os.path.basename(path)], 'rows')
    equal(daemon.stop(), 0, 'exit status')


@test(host_only=True)
def not_a_queue(world):
    """A socket under their names whose other end is closed, or another file: the programs are loaded anew."""
    daemon, ctl = begun(world)
    for number, name in enumerate((PROGRAMS, HOOKS)):
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            equal(daemon.stop(), 0, 'exit status')
            ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
            theirs.close()
            daemon.store.drop(name)
            daemon.store.kept[name] = ours.detach()
            goes_on(world, daemon, ctl, 'socket%d%d' % (number, kind))
    daemon.store.drop(PROGRAMS)
    daemon.store.kept[PROGRAMS] = os.open('/dev/zero', os.O_RDONLY)
    goes_on(world, daemon, ctl, 'zeros')


HEAD, ENTRY, BATCH = struct.Struct('<II'), struct.Struct('<I60s'), 128  # see daemon/probes/bequest.c
HASH, SYS_BPF = 1, 321


def forged_map():
    """A hash table of one entry."""
    attributes = ctypes.create_string_buffer(struct.pack('<5I', HASH, 4, 4, 1, 0), 128)
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, 0, attributes, 128)
    check(fd >= 0, 'no map', os.strerror(ctypes.get_errno()))
    return fd


def exchange(store, wanted):
    """What waits in the queue is put into another one, with a forged map for each entry that is wanted."""
    with socket.socket(fileno=os.dup(store.kept[PROGRAMS])) as queue:
        queue.setblocking(False)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        names, exchanged = [], []
        while True:
            try:
                data, fds, _, _ = socket.recv_fds(queue, 1 << 16, BATCH)
            except BlockingIOError:
                break
            for number in range(len(fds)):
                owner, name = ENTRY.unpack_from(data, HEAD.size + number * ENTRY.size)
                names.append(name.rstrip(b'\0').decode())
                if wanted(owner, names[-1]):
                    os.close(fds[number])
                    fds[number] = forged_map()
                    exchanged.append(names[-1])
            socket.send_fds(ours, [data], fds)
            for fd in fds:
                os.close(fd)
    ours.close()
    store.drop(PROGRAMS)
    store.kept[PROGRAMS] = theirs.detach()
    check(exchanged, 'nothing was exchanged', *names)


@test(host_only=True)
def forged(world):
    """Maps of another type under true names, of all, of one, or in place of programs: none of them is used."""
    daemon, ctl = begun(world)
    for number, wanted in enumerate((lambda owner, name: True, lambda owner, name: name == 'names',
                                     lambda owner, name: name == '.bss', lambda owner, name: name == 'row_ring/0',
                                     lambda owner, name: name == 'own_processes', lambda owner, name: 'sys_' in name)):
        equal(daemon.stop(), 0, 'exit status')
        exchange(daemon.store, wanted)
        goes_on(world, daemon, ctl, 'forged%d' % number)
        again(daemon)
