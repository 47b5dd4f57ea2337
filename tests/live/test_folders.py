# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that the daemon, as root, writes into a user's folder: only there, and readable for nobody else."""
import os
import shutil
import signal
import stat
import time

from lib.member import Member, open_folder
from lib.registry import check, equal, test, wait_for

USER = Member(54321)


def start(ctl, output, *options):
    return ctl.json('start', 's', '--vfs', '--pid', os.getpid(), '--output', output, *options, code=(0, 6))


def work(folder, count=20):
    """Rows of the session."""
    for number in range(count):
        os.mkdir(os.path.join(folder, 'made-%d' % number))
        os.rmdir(os.path.join(folder, 'made-%d' % number))


def wait_compressed(output, everything=False):
    """Waits until some file is compressed, or all are."""
    enough = all if everything else any
    folder = os.path.join(output, 'fs')
    wait_for('compressed files', lambda: enough(name.endswith('.gz') for name in os.listdir(folder)))


def secret(above, *names):
    """Makes a folder that only root may write, with files in it; returns its path and their contents."""
    path = os.path.join(above, 'secret')
    os.mkdir(path, 0o700)
    for name in names:
        with open(os.path.join(path, name), 'w', encoding='ascii') as file:
            file.write('as it was\n')
    return path, contents(path)


def contents(path):
    found = {}
    for name in os.listdir(path):
        with open(os.path.join(path, name), 'rb') as file:
            found[name] = file.read()
    return found


@test(host_only=True)
def snapshot_links(world):
    """Symbolic links in place of the folders of snapshots: nothing is written or replaced where they lead."""
    _, ctl = world.own_daemon()
    above = open_folder(world)
    target, before = secret(above, 'process_snap_000001.csv', 'device_spec.txt')
    for number, folder in enumerate(('process', 'system_spec', 'filesystem_snapshot')):
        output = USER.folder(above, 'out-%d' % number)
        start(ctl, output)
        USER.do('os.symlink(sys.argv[1], sys.argv[2])', target, os.path.join(output, folder))
        done = ctl.run('snapshot', 's', '--root', '/etc', '--depth', '1')
        ctl.run('stop', 's')
        equal(contents(target), before, 'the folder that %s leads to' % folder)
        check(done.returncode != 0 and folder in done.stdout + done.stderr, 'the error does not name the folder', done)


@test(host_only=True)
def groups(world):
    """A set-group-ID bit or a default ACL on the folder lets nobody else read what root writes."""
    _, ctl = world.own_daemon()
    above = open_folder(world)
    output = USER.folder(above, 'out', 0o2770)
    if shutil.which('setfacl'):
        world.command('setfacl', '-d', '-m', 'u:%d:rwx' % USER.uid, output)
    start(ctl, output, '--format', 'jsonl')
    work(above)
    ctl.exits(0, 'rotate', 's')
    ctl.exits(0, 'snapshot', 's', '--root', '/etc', '--depth', '1')
    wait_compressed(output)
    ctl.exits(0, 'stop', 's')
    wait_compressed(output, everything=True) # nothing changes any more
    for folder, folders, files in os.walk(output):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            equal((status.st_uid, status.st_gid, oct(status.st_mode & 0o7777)),
                  (0, 0, oct(0o750 if stat.S_ISDIR(status.st_mode) else 0o640)), path)
    told = USER.do('''
for folder, folders, files in os.walk(sys.argv[1]):
    for name in folders + files:
        path = os.path.join(folder, name)
        if os.access(path, os.R_OK) or os.access(path, os.W_OK):
            print(path)
''', output)
    equal(told.split(), [], 'what the user may read or write')


@test(host_only=True)
def fifos(world):
    """A FIFO in place of a segment blocks neither the compression of other sessions' files nor the daemon's end."""
    daemon, ctl = world.own_daemon()
    above = open_folder(world)
    output = USER.folder(above, 'out')
    start(ctl, output)
    work(above)
    USER.do('''
os.chdir(sys.argv[1])
os.rename('fs', 'before')
os.mkdir('fs')
os.mkfifo('fs/fs_000001.csv')
''', output)
    ctl.exits(0, 'rotate', 's')
    other = world.session('--vfs', '--pid', os.getpid(), ctl=ctl).start()
    work(above)
    other.stop()
    wait_compressed(other.output)
    begun = time.monotonic()
    equal(daemon.stop(signal.SIGTERM), 0, 'the daemon\'s end')
    check(time.monotonic() - begun < 60, 'the end took %d s' % (time.monotonic() - begun))


@test(host_only=True)
def endless_manifest(world):
    """A FIFO in place of an ended session's manifest is neither read nor written by the next daemon."""
    daemon, ctl = world.own_daemon()
    above = open_folder(world)
    output = USER.folder(above, 'out')
    start(ctl, output)
    work(above)
    daemon.stop(signal.SIGKILL)
    USER.do('''
os.chdir(sys.argv[1])
os.rename('manifest.json', 'before')
os.mkfifo('manifest.json')
''', output)
    daemon.recover()
    check(stat.S_ISFIFO(os.lstat(os.path.join(output, 'manifest.json')).st_mode), 'the FIFO is gone')
    equal(daemon.stop(signal.SIGTERM), 0, 'the daemon\'s end')
