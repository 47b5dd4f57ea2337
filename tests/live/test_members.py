# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of the group: through the daemon they can read and write nothing that they could not by themselves."""
import json
import os
import signal
import socket
import stat
import subprocess

from lib import rows
from lib.fuse import INSIDE, Mount
from lib.member import Member, open_folder, with_members
from lib.registry import check, equal, test, wait_for

READERS = 54400  # of traces, who control the daemon
LOOKERS = 54410
ANN, BEN = Member(54401, groups=[READERS]), Member(54402, groups=[READERS])
OTHER = Member(54403)
LOOKER = Member(54411, groups=[LOOKERS])
STREAM = ('--vfs', '--command', 'worker')


def work(folder):
    """Makes rows of a session with STREAM."""
    pid = os.fork()
    if not pid:
        with open('/proc/self/comm', 'w', encoding='ascii') as file:
            file.write('worker')
        for number in range(20):
            os.mkdir(os.path.join(folder, 'made-%d' % number))
            os.rmdir(os.path.join(folder, 'made-%d' % number))
        os._exit(0)
    os.waitpid(pid, 0)


def made(above, name):
    path = os.path.join(above, name)
    os.mkdir(path)
    return path


def everything(folder):
    for above, folders, files in os.walk(folder):
        for name in folders + files:
            yield os.path.join(above, name)


def owned(folder, uid, gid):
    """Files as the user would have made them."""
    for path in everything(folder):
        status = os.lstat(path)
        equal((status.st_uid, status.st_gid, oct(status.st_mode & 0o7777)),
              (uid, gid, oct(0o750 if stat.S_ISDIR(status.st_mode) else 0o640)), path)


def compressed(folder):
    names = os.listdir(os.path.join(folder, 'fs'))
    return names and all(name.endswith('.gz') for name in names)


@test(host_only=True)
def refused(world):
    """No folder is made or written where the member may not, and the error says which right is missing."""
    above, daemon, root, ann = with_members(world, READERS, ANN)
    closed, drop = os.path.join(above, 'closed'), os.path.join(above, 'cron.d')
    os.mkdir(closed, 0o700)
    os.mkdir(drop, 0o755)
    os.mkdir(os.path.join(closed, 'open'), 0o777)
    root.exits((0, 6), 'start', 'flight', *STREAM, '--flight-recorder', '16M')
    for verb in (['start', 's', *STREAM], ['snapshot', 'system'], ['dump', 'flight']):
        for path, wrong in ((os.path.join(drop, 'new'), 'may not write in ' + drop),
                            (os.path.join(closed, 'new'), 'may not look into ' + closed),
                            (os.path.join(closed, 'open', 'new'), 'may not look into ' + closed),
                            (drop, 'cannot be written')):
            done = ann.exits(1, *verb, '--output', path)
            check(path in done.stderr and wrong in done.stderr, verb, done.stderr)
    equal(os.listdir(drop) + os.listdir(os.path.join(closed, 'open')), [], 'what was made')
    equal(os.listdir(closed), ['open'], 'what was made')


@test(host_only=True)
def of_root(world):
    """What root has mounted by FUSE for itself alone is closed to the member by way of the daemon, too."""
    path = made(open_folder(world), 'mounted')
    mount = Mount(world, path)
    above, _, root, ann = with_members(world, READERS, ANN)
    home = ANN.folder(above, 'home', 0o700)
    check(ANN.run('ls', path).returncode, 'the kernel lets him in')
    equal(os.listdir(path), [INSIDE], 'what root sees')
    root.exits((0, 6), 'start', 'flight', *STREAM, '--flight-recorder', '16M')
    mount.asked.clear()
    for verb in (['start', 's', *STREAM], ['snapshot', 'system'], ['dump', 'flight']):
        ann.exits(1, *verb, '--output', path + '/new')
    for number, within in enumerate(('', '/' + INSIDE)):
        output = os.path.join(home, 'snap-%d' % number)
        ann.exits((0, 1, 6), 'snapshot', 'filesystem', '--root', path + within, '--depth', '5', '--output', output)
        for file in everything(output) if os.path.isdir(output) else ():
            check(os.path.isdir(file) or b'%s/%s' % (path.encode(), INSIDE.encode()) not in rows.content(file) or
                  within, 'names that he may not see', file)
    equal(mount.asked, [], 'what reached the file system')


@test(host_only=True)
def open_to_all(world):
    """What root has mounted by FUSE with allow_other is the member's to look at, as whom the file system sees him."""
    path = made(open_folder(world), 'mounted')
    mount = Mount(world, path, ',allow_other')
    above, _, _, ann = with_members(world, READERS, ANN)
    output = os.path.join(ANN.folder(above, 'home', 0o700), 'snap')
    mount.asked.clear()
    ann.exits((0, 6), 'snapshot', 'filesystem', '--root', path, '--depth', '5', '--output', output)
    text = b''.join(rows.content(file) for file in everything(os.path.join(output, 'filesystem_snapshot')))
    check(INSIDE.encode() in text, 'the snapshot', text)
    equal({uid for _, uid in mount.asked}, {ANN.uid}, 'users of the requests')


@test(host_only=True)
def daemons_own(world):
    """By way of /proc/self a path leads to nothing that the daemon has open."""
    above, daemon, root, ann = with_members(world, READERS, ANN)
    closed = made(above, 'closed')
    os.chmod(closed, 0o700)
    output = os.path.join(closed, 'open')
    root.exits((0, 6), 'start', 's', *STREAM, '--output', output)
    work(above)
    os.chmod(output, 0o777)
    mine = [number for number in os.listdir('/proc/%d/fd' % daemon.process.pid)
            if os.readlink('/proc/%d/fd/%s' % (daemon.process.pid, number)) == output]
    check(mine, 'the daemon has the folder not open')
    for number in mine:
        ann.exits(1, 'start', 'new', *STREAM, '--output', '/proc/self/fd/%s/new' % number)
    check(not os.path.exists(output + '/new'), 'it was made')


@test(host_only=True)
def own_folder(world):
    """The member owns all files: segments, compressed ones, snapshots, dumps, manifests; also after a restart."""
    above, daemon, root, ann = with_members(world, READERS, ANN)
    home = ANN.folder(above, 'home', 0o700)
    secret = os.path.join(above, 'secret')
    os.mkdir(secret, 0o700)
    os.mkdir(os.path.join(secret, 'hidden-name'))
    one, snap, dump = (os.path.join(home, name) for name in ('one', 'snap', 'dump'))
    ann.exits((0, 6), 'start', 's', *STREAM, '--output', one)
    ann.exits((0, 6), 'start', 'flight', *STREAM, '--flight-recorder', '16M')
    work(above)
    ann.exits(0, 'rotate', 's')
    ann.exits((0, 6), 'snapshot', 's', '--root', above, '--depth', '5')
    ann.exits((0, 6), 'snapshot', 'all', '--root', above, '--depth', '5', '--output', snap)
    ann.exits(0, 'dump', 'flight', '--output', dump)
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    work(above)
    daemon.stop(signal.SIGTERM)
    daemon.recover()
    work(above)
    ann.exits(0, 'stop', 's')
    later = sorted(os.path.join(one, name) for name in os.listdir(one) if name[:2] == '20')
    equal(len(later), 2, 'folders of the session that went on')
    wait_for('compressed files', lambda: compressed(later[-1]))
    owned(home, ANN.uid, ANN.gid)
    for path in [dump, snap, later[-1]]:
        check(rows.manifest(path)['owner_uid'] == ANN.uid, path)
    for folder in (one, snap):
        text = b''.join(rows.content(path) for path in everything(os.path.join(folder, 'filesystem_snapshot')))
        check(b'/secret,' in text and b'hidden-name' not in text, 'names that he may not see', text)
    for path in (later[-1], dump):
        root.exits(0, 'verify', path)
    ANN.do('import shutil; shutil.rmtree(sys.argv[1])', one)
    check(not os.path.exists(one), 'it cannot be removed by him')
    equal(daemon.notes('running'), [], 'notes')


@test(host_only=True)
def log_folder(world):
    """In the log folder the group may read traces, and only root may write them; only root may read key and notes."""
    above, daemon, root, ann = with_members(world, READERS, ANN)
    started = json.loads(ann.exits((0, 6), 'start', 's', *STREAM, '--json').stdout)['session']
    work(above)
    ann.exits(0, 'rotate', 's')
    ann.exits((0, 6), 'snapshot', 's', '--root', above, '--depth', '1')
    work(above)
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    ann.exits(0, 'stop', 's')
    folder = os.path.dirname(started['output'])
    wait_for('compressed files', lambda: all(compressed(os.path.join(folder, name)) for name in os.listdir(folder)
                                             if os.listdir(os.path.join(folder, name, 'fs'))))
    owned(os.path.join(daemon.folder, 'log'), 0, READERS)
    ann.exits((0, 1), 'verify', started['output'])
    equal(OTHER.run('ls', os.path.join(daemon.folder, 'log')).returncode, 2, 'what others may')
    state = os.path.join(daemon.folder, 'state')
    for path in [*everything(state)]:
        status = os.lstat(path)
        equal((status.st_uid, status.st_mode & 0o077), (0, 0), path)


@test(host_only=True)
def roles(world):
    """Who may read lists and looks, is told which role all else takes, and changes nothing; others cannot connect."""
    above, daemon, root, ann, looker, other = with_members(world, READERS, ANN, LOOKER, OTHER, read_gid=LOOKERS)
    home = LOOKER.folder(above, 'home', 0o700)
    ann.exits((0, 6), 'start', 's', *STREAM)
    for verb in (['list'], ['status', 's'], ['streams'], ['version']):
        looker.exits(0, *verb)
    before = [json.loads(root.exits(0, 'status', '--json').stdout)['sessions'][0][key] for key in ('filters', 'output')]
    control = (['start', 'own', '--vfs', '--output', os.path.join(home, 'own')], ['stop', 's'], ['stop', '--all'],
               ['rotate', 's'], ['set', 's', '--errors'], ['dump', 's'], ['reload'], ['doctor'], ['amplification'],
               ['snapshot', 'system', '--output', os.path.join(home, 'snap')], ['top', '--json'],
               ['record', '--vfs', '--output', os.path.join(home, 'record'), '--', 'true'])
    for verb in control:
        done = looker.exits(4, *verb)
        for told in ('\'control\'', 'group iotracer.'):
            check(told in done.stderr, verb, done.stderr)
    equal([json.loads(root.exits(0, 'status', '--json').stdout)['sessions'][0][key] for key in ('filters', 'output')],
          before, 'the session that runs')
    equal(os.listdir(home), [], 'what was made')
    sees_rows(looker, above)
    check(LOOKER.run('ls', before[1]).returncode == 2, 'the trace is the control group\'s alone')
    for verb in (['list'], *control):
        done = other.exits(4, *verb)
        check('iotracer-read' in done.stderr, verb, done.stderr)
    ann.exits(0, 'stop', 's')


def sees_rows(looker, above):
    """What is worked while the looker's tail runs is shown by it."""
    command = [looker.program, '--socket', looker.socket, 'tail', 's']
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd='/', **looker.member.options()) as tail:
        try:
            os.set_blocking(tail.stdout.fileno(), False)
            seen = []

            def shown():
                work(above)
                seen.append(tail.stdout.read() or b'')  # None: nothing is there yet
                return b'made-' in b''.join(seen)
            wait_for('rows', shown, pause=0.2)
        finally:
            tail.terminate()


@test(host_only=True)
def crowd(world):
    """A member with many idle connections locks out neither root nor another member."""
    _, daemon, root, ann, ben = with_members(world, READERS, ANN, BEN)
    pid = os.fork()
    if not pid:
        os.setgroups(ANN.groups)
        os.setgid(ANN.gid)
        os.setuid(ANN.uid)
        peers = [socket.socket(socket.AF_UNIX) for _ in range(64)]
        for peer in peers:
            peer.connect(daemon.socket)
        signal.pause()
    world.undo.callback(os.waitpid, pid, 0)
    world.undo.callback(os.kill, pid, signal.SIGKILL)
    wait_for('the crowd', lambda: len(os.listdir('/proc/%d/fd' % pid)) >= 64)
    for who in (root, ben, ann):
        who.exits(0, 'list')
