# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that start on a disk that does not answer: no other client waits for it."""
import os
import signal
import subprocess
import time

from lib import reads
from lib.registry import check, equal, test, wait_for
from test_disk import answers_soon


GOES_ON = ('--vfs', '--operation', 'READ', '--min-size', reads.SIZE)  # a session of processes does not


class Frozen:
    """A file system on which nothing can be made as long as it is frozen."""

    def __init__(self, world):
        world.need('mkfs.ext4', 'fsfreeze')
        device = world.loop(32 << 20)
        self.world, self.path, self.is_frozen = world, world.make('ext4'), False
        world.command('mkfs.ext4', '-q', device)
        world.command('mount', device, self.path)
        world.later('umount', '-l', self.path)

    def freeze(self):
        self.world.command('fsfreeze', '-f', self.path)
        self.is_frozen = True
        self.world.undo.callback(self.thaw)  # before any daemon is waited for

    def thaw(self):
        if self.is_frozen:
            self.world.command('fsfreeze', '-u', self.path)
        self.is_frozen = False


def state_of(client, name):
    """State of the session; None: there is no such session."""
    found = [one['state'] for one in client.json('list')['sessions'] if one['name'] == name]
    return found[0] if found else None


def in_background(world, client, *args):
    process = subprocess.Popen(client.command(*args), stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    world.undo.callback(process.communicate)
    world.undo.callback(process.kill)
    return process


def begin(world, client, name, *options):
    """Begins a start that waits for the disk."""
    process = in_background(world, client, 'start', name, *options)
    wait_for('%s to be starting' % name, lambda: state_of(client, name) == 'starting')
    return process


def ends(process, code, words=''):
    out, err = process.communicate(timeout=60)
    equal(process.returncode, code, 'exit code, with %s' % (out + err))
    check(words in out + err, words, out, err)


def others_work(world, client):
    """While the disk does not answer, other clients are answered, and a session on another disk loses nothing."""
    with reads.Reads(world.path('file')) as load:
        with world.session(*reads.OPTIONS, ctl=client) as good:
            for verb in ('list', 'status', 'doctor'):
                answers_soon(client, verb)
            load.go(100)
    reads.all_there(good.output, load.done)


@test(host_only=True)
def frozen(world):
    """Two starts wait for the disk; then one session runs, and the other's folder is refused with its reason."""
    disk, (daemon, client) = Frozen(world), world.own_daemon()
    full, output = os.path.join(disk.path, 'full'), os.path.join(disk.path, 'trace')
    os.makedirs(os.path.join(full, 'something'))
    disk.freeze()
    waiting = begin(world, client, 'late', *reads.OPTIONS, '--duration', '1h', '--output', output)
    refused = begin(world, client, 'full', *reads.OPTIONS, '--output', full)
    others_work(world, client)
    check('late' in client.exits(1, 'start', 'late', '--vfs').stderr, 'stderr does not name the session')
    client.exits(5, 'rotate', 'late')
    client.exits(5, 'tail', 'late')
    check('starting' in client.exits(0, 'status', 'late').stdout, 'status does not show the state')
    equal((waiting.poll(), refused.poll()), (None, None), 'exit codes of what waits')
    disk.thaw()
    ends(refused, 1, 'must be empty')
    ends(waiting, 0, output)
    with reads.Reads(world.path('file')) as load:
        load.go(100)
        status, = client.json('status', 'late')['sessions']
        check(status['remaining']['duration_ns'] > 3590 * 10**9, 'its duration counts from the request', status)
        client.json('stop', 'late')
    reads.all_there(output, load.done)
    client.verified(output)
    equal((daemon.notes('running'), client.json('list')['sessions']), ([], []), 'what is left')
    equal(os.listdir(full), ['something'], 'folder that was refused')


@test(host_only=True)
def stopped(world):
    """
    `stop` of a session that waits to start: the start fails at once, the stop waits for the disk, and nothing is left.
    A client that disconnects from its start stops it, too.
    """
    disk, (daemon, client) = Frozen(world), world.own_daemon(fresh=True)
    named = os.path.join(disk.path, 'trace')
    os.symlink(disk.path, os.path.join(daemon.folder, 'log', 'default'))
    disk.freeze()
    waiting = [begin(world, client, 'named', '--vfs', '--output', named), begin(world, client, 'default', '--vfs')]
    gone = begin(world, client, 'gone', '--vfs', '--anonymize', '--output', os.path.join(disk.path, 'gone'))
    stopping = [in_background(world, client, 'stop', name) for name in ('named', 'default')]
    gone.kill()
    for process in waiting:
        ends(process, 1, 'stopped before it had begun')
    for name in ('named', 'default', 'gone'):
        wait_for('%s to be ending' % name, lambda name=name: state_of(client, name) == 'ending')
    others_work(world, client)
    equal([process.poll() for process in stopping], [None, None], 'exit codes of what waits')
    disk.thaw()
    for process in stopping:
        ends(process, 0, 'stopped')
    wait_for('all to be gone', lambda: not client.json('list')['sessions'])
    equal(daemon.notes('running'), [], 'notes')
    made = {name: os.listdir(os.path.join(disk.path, name))
            for name in set(os.listdir(disk.path)) - {'lost+found'}}
    check(set(made) <= {'trace', 'gone'} and not any(made.values()), 'what is left', made)
    with world.session(*reads.OPTIONS, ctl=client, name='named', output=named):
        pass


def end_meanwhile(world, daemon):
    """Ends the daemon meanwhile. Its process is only gone when the disk answers."""
    world.without_sanitizers('the search for leaks at the end waits for each thread, and one hangs with its disk')
    daemon.process.send_signal(signal.SIGTERM)
    wait_for('the daemon to let go', lambda: not os.path.exists(daemon.socket), daemon.tail)
    wait_for('its main thread to end', lambda: main_thread(daemon) == 'Z', daemon.tail)


def main_thread(daemon):
    with open('/proc/%d/stat' % daemon.process.pid, encoding='ascii') as file:
        return file.read().rsplit(')', 1)[1].split()[0]


@test(host_only=True)
def restart(world):
    """
    After a restart the daemon is ready and other sessions go on; the one on the disk goes on when it answers, also after
    a second restart.
    """
    disk, (daemon, client) = Frozen(world), world.own_daemon()
    output, good = os.path.join(disk.path, 'trace'), world.path('good')
    for name, folder in (('late', output), ('good', good)):
        client.json('start', name, *GOES_ON, '--output', folder, code=(0, 6))
    daemon.stop(signal.SIGKILL)
    disk.freeze()
    before = time.monotonic()
    daemon.start()
    took = time.monotonic() - before
    equal([state_of(client, name) for name in ('late', 'good')], ['starting', 'running'], 'states')
    others_work(world, client)
    check(took < 60, 'the daemon took %.1f s' % took)
    end_meanwhile(world, daemon)
    disk.thaw()
    equal(daemon.process.wait(60), 0, 'exit code')
    disk.freeze()
    daemon.start()
    equal([state_of(client, name) for name in ('late', 'good')], ['starting', 'running'], 'states')
    disk.thaw()
    wait_for('it to go on', lambda: state_of(client, 'late') == 'running')
    wait_for('recovery', lambda: not daemon.notes('recover'))
    ends_well(world, client, output, good)
    equal((daemon.notes('running'), daemon.notes('recover')), ([], []), 'notes')


def ends_well(world, client, *outputs):
    with reads.Reads(world.path('file')) as load:
        load.go(100)
        for session in client.json('stop', '--all')['sessions']:
            check(os.path.dirname(session['output']) in outputs, session['output'])
            reads.all_there(session['output'], load.done)
    for output in outputs:
        client.verified(output)
