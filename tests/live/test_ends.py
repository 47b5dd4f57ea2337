# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts and ends that go wrong: what is left behind, and what is on the disk after a power failure."""
import glob
import gzip
import os
import shutil
import signal
import subprocess

from lib import account, reads, rows
from lib.match import complete
from lib.registry import check, equal, test, wait_for
from test_disk_start import GOES_ON, begin


def threads(daemon):
    return len(os.listdir('/proc/%d/task' % daemon.process.pid))


def descriptors(daemon):
    return len(os.listdir('/proc/%d/fd' % daemon.process.pid))


@test(host_only=True)
def folder_is_removed(world):
    """A session whose folder was deleted ends, and leaves neither a thread nor descriptors behind."""
    daemon, client = world.own_daemon(fresh=True)

    def run():
        folder = world.path('gone')
        client.json('start', 'gone', *reads.OPTIONS, '--output', folder, code=(0, 6))
        with reads.Reads(world.path('file')) as load:
            load.go(10)
        shutil.rmtree(folder)
        client.json('stop', 'gone')

    run()
    wait_for('the first session to end',
             lambda: any('its manifest is not written' in line for line in daemon.tail(50)), daemon.tail)
    before = None

    def steady():
        nonlocal before
        last, before = before, (threads(daemon), descriptors(daemon))
        return last == before

    wait_for('threads to end', steady, pause=0.5)
    for _ in range(5):
        run()
    wait_for('nothing of them to be left', lambda: (threads(daemon), descriptors(daemon)) <= before,
             lambda: (before, threads(daemon), descriptors(daemon)))


@test(host_only=True)
def killed_at_the_start(world):
    """SIGKILL while the folder of a session is still empty: it is removed, unless somebody else has put something there."""
    daemon, client = world.faulty_daemon()
    link, linked = world.path('link'), world.make('linked')
    os.symlink(linked, link)
    default = os.path.join(daemon.folder, 'log', 'default')
    os.makedirs(default, exist_ok=True)
    named, used, there = os.path.join(link, 'named'), world.path('used'), world.make('there')
    daemon.order('made %s/2' % default, 'made %s/named' % linked, 'made %s' % used, 'stall %s' % there)
    begin(world, client, 'default', *reads.OPTIONS)
    for path in (named, used):
        begin(world, client, os.path.basename(path), *reads.OPTIONS, '--output', path)
    begin(world, client, 'there', *reads.OPTIONS, '--output', there)
    wait_for('folders', lambda: os.path.exists(named) and os.path.exists(used) and os.listdir(default))
    world.command('touch', os.path.join(used, 'mine'))
    daemon.stop(signal.SIGKILL)
    daemon.order()
    daemon.start()
    wait_for('the end of recovery', lambda: not daemon.notes('running') and not daemon.notes('recover'), daemon.tail)
    check(not os.path.lexists(named), 'the folder is left', os.listdir(os.path.dirname(named)))
    equal(os.listdir(default), [], 'folders below the log folder')
    equal((os.listdir(used), os.listdir(there)), (['mine'], []), 'folders that were not made for it, or are used')
    equal(client.json('list')['sessions'], [], 'sessions')
    with world.session(*reads.OPTIONS, ctl=client, name='named', output=named):
        pass


@test(host_only=True)
def killed_after_snapshot(world):
    """SIGKILL as soon as `snapshot` has answered: the manifest describes the new file, not the one that it replaced."""
    daemon, client = world.own_daemon()
    output = world.path('trace')
    client.json('start', 'snapped', *GOES_ON, '--output', output, code=(0, 6))
    client.json('snapshot', 'system', 'snapped')
    for _ in range(3):
        client.json('snapshot', 'system', 'snapped')
        daemon.stop(signal.SIGKILL)
        equal(client.json('verify', output, code=6)['problems'], [], 'what verify finds')
        daemon.recover()
        client.verified(output)
        output = client.json('list')['sessions'][0]['output']
        client.json('snapshot', 'system', 'snapped')
    client.json('stop', 'snapped')


class Device:
    """A file system whose power can be cut: a copy of its image is what is on the disk at that moment."""

    def __init__(self, world):
        world.need('mkfs.ext4', 'losetup')
        self.world, self.path, self.image = world, world.make('ext4'), world.path('image')
        with open(self.image, 'wb') as file:
            file.truncate(64 << 20)
        world.command('mkfs.ext4', '-q', self.image)
        self.mount(self.image, self.path)

    def mount(self, image, path):
        done = self.world.command('losetup', '-f', '--show', image)
        self.world.later('losetup', '-d', done.stdout.strip())
        self.world.command('mount', done.stdout.strip(), path)
        self.world.later('umount', '-l', path)

    def cut(self):
        """The folder as it is found after the power failure."""
        image, path = self.world.path('image'), self.world.make('after')
        subprocess.run(['cp', '--sparse=always', self.image, image], check=True)
        self.mount(image, path)
        return path


@test(host_only=True)
def power_fails_after_snapshot(world):
    """A snapshot that was answered for is on the disk, complete and under its name."""
    disk = Device(world)
    _, client = world.own_daemon()
    done = client.json('snapshot', '--root', '/usr/share', '--output', os.path.join(disk.path, 'snap'))
    after = disk.cut()
    files = [file['path'] for file in done['snapshots']]
    check(len(files) >= 4, 'files', files)
    for file in files:
        path = os.path.join(after, 'snap', file)
        check(os.path.exists(path), 'not there: %s' % file)
        content = gzip.open(path).read() if path.endswith('.gz') else open(path, 'rb').read()
        with open(os.path.join(disk.path, 'snap', file), 'rb') as there:
            whole = gzip.decompress(there.read()) if path.endswith('.gz') else there.read()
        equal(len(content), len(whole), 'bytes of %s' % file)
    client.verified(os.path.join(after, 'snap'))


@test(host_only=True)
def power_fails_after_compression(world):
    """The uncompressed segment is only removed when its .gz is on the disk under its name."""
    disk = Device(world)
    _, client = world.own_daemon()
    output = os.path.join(disk.path, 'trace')
    with world.session(*reads.OPTIONS, ctl=client, output=output) as session:
        with reads.Reads(world.path('file')) as load:
            for _ in range(2):
                load.go(5000)
                wait_for('the rows to be in the file', lambda: account.streams(session.status())['vfs']['written'] == load.done)
                client.json('rotate')
            wait_for('the segments to be compressed', lambda: not glob.glob(output + '/fs/*.csv'))
            after = disk.cut()
            there = sum(len(reads.row_list(path)) for path in reads.files(os.path.join(after, 'trace')))
            equal(there, load.done, 'rows after the power failure')


def end_while_recording(world, number):
    daemon, client = world.own_daemon()
    session = world.session('--vfs', '--command', 'iotr-trigger', ctl=client).start()
    _, expected = world.trigger.run('write', world.path('work'))
    code = daemon.stop(number)
    equal(code, 0, 'exit status of the daemon')
    equal(rows.parts(session.output), [], 'segments not closed')
    accounts = account.balanced(account.manifest_true(session.output), 'manifest')
    equal(len(session.rows()), accounts['vfs']['written'], 'rows in the files')
    complete(world.level, expected, session.rows())


@test
def terminated(world):
    """SIGTERM while it records: every row is written."""
    end_while_recording(world, signal.SIGTERM)


@test(host_only=True)
def interrupted(world):
    end_while_recording(world, signal.SIGINT)
