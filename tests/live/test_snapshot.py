# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots: what they say is true, and they disturb nothing."""
import contextlib
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import test_filter_cgroup
from lib import account, ctl, rows
from lib.registry import Skip, check, equal, test, wait_for

WALK = 'filesystem_snapshot/filesystem_snap_000001.csv.gz'
PROCESSES = 'process/process_snap_000001.csv'
FILE_COLUMNS = ('snapshot_timestamp,path,type,size,creation_time,modification_time,access_time,inode,'
                'device,links').split(',')
PROCESS_COLUMNS = ('timestamp,pid,ppid,name,cmdline,vms_kb,rss_kb,creation_time,cpu_5s,cpu_2m,cpu_1h,status,'
                   'uid,cgroup,cgroup_id,namespace_pid').split(',')
TIME = re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}$')


def usual_daemon(world):
    """A daemon that takes snapshots as it does without a configuration."""
    config = world.path('config')
    open(config, 'w', encoding='ascii').close()
    return world.own_daemon('--config', config, loaded=False)


def taken(world, *args, client=None):
    """The folder, and by kind what the reply says."""
    reply = (client or world.ctl).json('snapshot', *args)
    return reply['output'], {one['kind']: one for one in reply['snapshots']}


def files(world, root, *args, client=None):
    output, told = taken(world, 'filesystem', '--root', root, '--output', world.path('snap'), *args,
                         client=client)
    found = rows.parse(os.path.join(output, WALK))
    equal((told['filesystem']['rows'], told['filesystem']['skipped']), (len(found), 0), 'rows and skipped in the reply')
    return found


def paths(found):
    return sorted(row['path'] for row in found)


def kinds_of(status):
    return {kind: one['state'] for kind, one in status['sessions'][0]['snapshots'].items()}


def halves(output):
    """Files of snapshots that are not finished."""
    return [os.path.join(folder, name) for folder, _, names in os.walk(output)
            for name in names if name.endswith('.part')]


def made_by(daemon, session):
    """Rows of the daemon itself, and of the process that it has a snapshot taken by."""
    return [row for row in session.rows() if str(daemon.process.pid) in (row['pid'], row['ppid'])]


@test
def session(world):
    """Taken at the start, in the session's folder and manifest; none of it is a row."""
    daemon, client = usual_daemon(world)
    with world.session('--vfs', '--snapshot-root', world.make('tree'), ctl=client, lossless=False) as one:
        wait_for('all three to be done',
                 lambda: list(kinds_of(one.status()).values()) == ['done'] * 3)
    document = account.manifest_true(one.output)
    equal(sorted(entry['path'] for entry in document['snapshots']),
          ['cgroups/cgroups.csv', WALK, PROCESSES, 'system_spec/device_spec.json', 'system_spec/device_spec.txt'],
          'snapshots in the manifest')
    equal([entry for entry in document['snapshots'] if not entry['complete']], [], 'incomplete ones')
    equal(made_by(daemon, one)[:3], [], 'rows that snapshots made')
    check(not daemon.process.poll(), 'the daemon died')


@test
def processes(world):
    """Every process once, with its bytes; threads are none."""
    name, argument = b'n\xff,"\n', b'a\xfe,"b'
    code = ('import ctypes,sys,threading,time\n'
            'ctypes.CDLL(None).prctl(15, bytes.fromhex("%s"))\n'
            'threading.Thread(target=time.sleep, args=(999,), daemon=True).start()\n'
            'print(flush=True); time.sleep(999)' % name.hex())
    child = subprocess.Popen([sys.executable.encode(), b'-c', code.encode(), argument],
                             stdout=subprocess.PIPE)
    world.undo.callback(child.wait)
    world.undo.callback(child.kill)
    child.stdout.readline()
    ended = subprocess.Popen(['true'])  # a zombie until it is waited for
    world.undo.callback(ended.wait)
    wait_for('a zombie', lambda: state_of(ended.pid) == 'Z')
    known = listed()
    output, told = taken(world, 'process', '--output', world.path('snap'))
    known &= listed()
    found = rows.parse(os.path.join(output, PROCESSES))
    equal(told['process']['rows'], len(found), 'rows in the reply')
    equal(list(found[0]), PROCESS_COLUMNS, 'columns')
    pids = [int(row['pid']) for row in found]
    equal(pids, sorted(set(pids)), 'pids')
    row = one_of(found, child.pid)
    equal(row['name'], rows.escape(name), 'name')
    check(row['cmdline'].endswith(' ' + rows.escape(argument)), 'command line', row['cmdline'])
    equal((row['ppid'], row['uid'], row['status']), (str(os.getpid()), '0', 'sleeping'), 'parent, user, status')
    near(row['vms_kb'], int(status_of(child.pid, 'VmSize')), 'vms_kb')
    near(row['rss_kb'], int(status_of(child.pid, 'VmRSS')), 'rss_kb')
    check(TIME.match(row['creation_time']) and TIME.match(row['timestamp']), 'times', row)
    check(row['creation_time'] < row['timestamp'], 'born after the snapshot', row)
    with open('/proc/%d/cgroup' % child.pid, encoding='ascii') as file:
        cgroup = [line[3:] for line in file.read().split('\n') if line.startswith('0::')]
    equal(row['cgroup'], (cgroup or [''])[0], 'cgroup')
    equal(row['namespace_pid'], numbers_of(child.pid)[-1], 'number in its PID namespace')
    equal(one_of(found, ended.pid)['status'], 'zombie', 'status of a zombie')
    thread = one_of(found, 2)
    equal((thread['name'], thread['cmdline'], thread['vms_kb']), ('kthreadd', '', '0'), 'kernel thread')
    check(not known - set(pids) - {1}, 'processes that are not told of', *known - set(pids))


@test
def namespaces(world):
    """Processes of a PID namespace, and of one within it, have the number that they know themselves by."""
    # unshare complains of how it ended, in the middle of other output.
    outer = subprocess.Popen(['unshare', '--pid', '--fork', 'unshare', '--pid', '--fork', 'sleep', '999'],
                             stderr=subprocess.DEVNULL)
    world.undo.callback(outer.wait)
    world.undo.callback(outer.kill)
    wait_for('both namespaces', lambda: len(descendants(outer.pid)) == 2 and
             command_of(descendants(outer.pid)[-1]) == 'sleep')
    middle, inner = descendants(outer.pid)
    world.undo.callback(os.kill, inner, signal.SIGKILL)
    output, _ = taken(world, 'process', '--output', world.path('snap'))
    found = rows.parse(os.path.join(output, PROCESSES))
    for pid, levels in (outer.pid, 1), (middle, 2), (inner, 3):
        numbers = numbers_of(pid)
        equal(len(numbers), levels, 'PID namespaces of %d' % pid)
        equal(one_of(found, pid)['namespace_pid'], numbers[-1], 'number in its PID namespace')


@test
def cgroup_numbers(world):
    """The number of a process's cgroup is that of the folder which its path leads to."""
    cgroups = test_filter_cgroup.Cgroups(world)
    path = cgroups.make(cgroups.named())
    child = subprocess.Popen(['sleep', '999'])
    world.undo.callback(child.wait)
    world.undo.callback(child.kill)
    with open(os.path.join(path, 'cgroup.procs'), 'w', encoding='ascii') as file:
        file.write(str(child.pid))
    output, _ = taken(world, 'process', '--output', world.path('snap'))
    row = one_of(rows.parse(os.path.join(output, PROCESSES)), child.pid)
    equal(row['cgroup_id'], str(os.stat(path).st_ino), 'number of the cgroup')
    check(path.endswith(row['cgroup']), 'path of the cgroup', path, row['cgroup'])


def descendants(pid):
    """Children of the process, and theirs."""
    below = [int(child) for child in children(pid)]
    return below + [one for child in below for one in descendants(child)]


def numbers_of(pid):
    """The process's numbers in the PID namespace of the reader, and in those within it that it is in."""
    with open('/proc/%d/status' % pid, encoding='ascii', errors='replace') as file:
        return next(line.split()[1:] for line in file if line.startswith('NSpid:'))


def command_of(pid):
    with open('/proc/%d/comm' % pid, encoding='utf-8') as file:
        return file.read().strip()


def listed():
    """Processes that live now, without process 1, which a hardened kernel hides from BPF programs."""
    return {int(name) for name in os.listdir('/proc') if name.isdigit()}


def state_of(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii', errors='replace') as file:
        return file.read().rsplit(')', 1)[1].split()[0]


def status_of(pid, key):
    with open('/proc/%d/status' % pid, encoding='utf-8', errors='replace') as file:
        return re.search(r'^%s:\s*(\d+)' % key, file.read(), re.M).group(1)


def one_of(found, pid):
    mine = [row for row in found if row['pid'] == str(pid)]
    equal(len(mine), 1, 'rows of process %d' % pid)
    return mine[0]


def near(text, expected, what):
    """Judges that two sizes are close: the kernel counts pages on each CPU, and adds them up now and then."""
    check(abs(int(text) - expected) <= 1024 + expected // 4, what, 'expected %d' % expected, 'got %s' % text)


@test
def system(world):
    output, _ = taken(world, 'system', '--output', world.path('snap'))
    with open(os.path.join(output, 'system_spec', 'device_spec.json'), encoding='utf-8') as file:
        facts = json.load(file)
    with open(os.path.join(output, 'system_spec', 'device_spec.txt'), encoding='utf-8') as file:
        text = file.read()
    equal(facts['host'], os.uname().nodename, 'host')
    equal(facts['kernel']['release'], os.uname().release, 'kernel')
    equal(facts['cpu']['threads'], os.sysconf('SC_NPROCESSORS_ONLN'), 'threads')
    memory = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    check(abs(facts['memory']['total_bytes'] - memory) < memory / 10, 'memory', facts['memory'], memory)
    roots = [one for one in facts['file_systems'] if one['path'] == '/']
    stat = os.statvfs('/')
    equal(len(roots), 1, 'root file systems')
    equal(roots[0]['total_bytes'], stat.f_blocks * stat.f_frsize, 'size of the root file system')
    check({'name': 'lo'}.items() <= [one for one in facts['links'] if one['name'] == 'lo'][0].items(), 'lo')
    for part in ('os', 'machine', 'swap', 'gpus', 'disks', 'country', 'time_zone'):
        check(part in facts and part in text, 'no %s' % part)
    for name in os.listdir('/sys/block'):
        with open('/sys/block/%s/size' % name, encoding='ascii') as file:
            size = int(file.read()) * 512
        if size and not name.startswith(('loop', 'ram', 'zram')):
            disk = [one for one in facts['disks'] if one['name'] == name]
            equal([one['size_bytes'] for one in disk], [size], 'size of %s' % name)
    check(os.uname().release in text, 'the text has no kernel')


@test
def tree(world):
    """Every file once, with what stat(1) says."""
    root = world.make('tree')
    odd = b'odd \xff\xfe\n\\,"name'
    with open(os.path.join(os.fsencode(root), odd), 'wb') as file:
        file.write(b'x' * 4321)
    os.makedirs(os.path.join(root, 'a/b/c/d'))
    os.symlink('/', os.path.join(root, 'a', 'root'))
    os.link(os.path.join(os.fsencode(root), odd), os.path.join(os.fsencode(root), b'a', b'linked'))
    os.mkfifo(os.path.join(root, 'a', 'fifo'))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.bind(os.path.join(root, 's'))
    found = files(world, root, '--depth', '3')
    equal(list(found[0]), FILE_COLUMNS, 'columns')
    below = ['', '/a', '/a/b', '/a/b/c', '/a/fifo', '/a/linked', '/a/root', '/s']
    equal(paths(found), sorted([root + path for path in below] + [rows.escape(os.fsencode(root) + b'/' + odd)]),
          'paths')
    by_path = {row['path']: row for row in found}
    equal({path: by_path[root + path]['type'] for path in ('', '/a/fifo', '/a/root', '/s', '/a/linked')},
          {'': 'directory', '/a/fifo': 'fifo', '/a/root': 'symlink', '/s': 'socket', '/a/linked': 'file'},
          'types')
    stat, row = os.stat(root + '/a/linked'), by_path[root + '/a/linked']
    equal((row['size'], row['inode'], row['links']), ('4321', str(stat.st_ino), '2'), 'size, inode, links')
    equal(row['device'], '%d:%d' % (os.major(stat.st_dev), os.minor(stat.st_dev)), 'device')
    for column, ns in (('modification_time', stat.st_mtime_ns), ('access_time', stat.st_atime_ns)):
        expected = time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(ns // 10**9)) + '.%09d' % (ns % 10**9)
        equal(row[column], expected, column)
    check(not row['creation_time'] or row['creation_time'] <= row['modification_time'], 'creation', row)


@test(host_only=True)
def deep(world):
    """A path that is longer than PATH_MAX."""
    root = world.make('tree')
    back, name, levels = os.getcwd(), 'd' * 20, 300
    os.chdir(root)
    for _ in range(levels):
        os.mkdir(name)
        os.chdir(name)
    os.chdir(back)
    world.later('rm', '-rf', root)
    found = files(world, root, '--depth', '10000')
    equal(len(found), levels + 1, 'rows')
    equal(max(len(row['path']) for row in found), len(root) + levels * len('/' + name), 'longest path')
    equal(len(files(world, root, '--depth', '0')), 1, 'rows at depth 0')
    equal(len(files(world, root, '--depth', '1')), 2, 'rows at depth 1')


@test(host_only=True)
def mounts(world):
    """Bind mounts are walked once, also in a loop; other file systems are neither walked nor accessed."""
    root = world.make('tree')
    for name in ('a/in', 'b', 'tmpfs', 'fuse'):
        os.makedirs(os.path.join(root, name))
    os.mkdir(root + '/a/in/loop')
    open(root + '/a/in/f', 'w', encoding='ascii').close()
    for source, target in ((root + '/a', root + '/b'), (root, root + '/a/in/loop')):
        world.command('mount', '--bind', source, target)
        world.later('umount', '-l', target)
    world.command('mount', '-t', 'tmpfs', 'none', root + '/tmpfs')
    world.later('umount', '-l', root + '/tmpfs')
    hang(world, root + '/fuse')
    found = paths(files(world, root, '--depth', '100'))
    equal(len([path for path in found if path.endswith('/in/f')]), 1, 'ways to a file')
    equal(len(found), len(set(found)), 'paths told twice')
    check(not [path for path in found if '/tmpfs' in path or '/fuse' in path], 'other file systems', *found)


def hang(world, path):
    """Mounts a FUSE file system that never answers; returns whether that is possible."""
    try:
        descriptor = os.open('/dev/fuse', os.O_RDWR)
    except OSError:
        return False
    world.undo.callback(os.close, descriptor)
    data = 'fd=%d,rootmode=40000,user_id=0,group_id=0' % descriptor
    if ctypes.CDLL(None, use_errno=True).mount(b'hung', path.encode(), b'fuse', 0, data.encode()):
        return False
    world.later('umount', '-l', path)
    return True


@test(host_only=True)
def hung_root(world):
    """A root that does not answer: the client can cancel the snapshot at once, and the daemon can end."""
    daemon, client = world.own_daemon(fresh=True)
    root = world.make('hung')
    if not hang(world, root):
        raise Skip('no FUSE')
    process = subprocess.Popen(client.command('snapshot', 'filesystem', '--root', root))
    wait_for('a process to take it', lambda: children(daemon.process.pid))
    client.exits(0, 'list')
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait()
    wait_for('the end of its process', lambda: not children(daemon.process.pid))
    # Earlier than the 15 s after which a snapshot gives up.
    check(time.monotonic() - begin < 12, 'the end took %.1f s' % (time.monotonic() - begin))
    with world.session('--vfs', '--pid', os.getpid(), '--snapshot-filesystem', '1h', '--snapshot-root', root,
                       ctl=client) as one:
        wait_for('it to run', lambda: kinds_of(one.status()) == {'filesystem': 'running'})
        one.stop()
    entry, = (one for one in rows.manifest(one.output)['snapshots'] if one['kind'] == 'filesystem')
    equal((entry['path'], entry['message']), (None, 'the session ended before'), 'files of the cancelled snapshot')


def children(pid):
    found = []
    for task in os.listdir('/proc/%d/task' % pid):
        # A thread may have ended meanwhile.
        with contextlib.suppress(OSError), open('/proc/%d/task/%s/children' % (pid, task), encoding='ascii') as file:
            found += file.read().split()
    return found


@test
def stop_cancels(world):
    """The end of a session cancels its snapshot of files, and leaves no unfinished file."""
    one = world.session('--vfs', '--pid', os.getpid(), '--snapshot-filesystem', '1h', '--snapshot-root', '/',
                        '--snapshot-depth', '65535').start()
    wait_for('it to run', lambda: kinds_of(one.status()).get('filesystem') in ('running', 'done'))
    one.stop()
    wait_for('the unfinished file to be removed', lambda: not halves(os.path.join(one.output, 'filesystem_snapshot')))
    entry = rows.manifest(one.output)['snapshots'][0]
    equal(entry['kind'], 'filesystem', 'kind')
    check(entry['complete'] or entry['message'] == 'the session ended before', 'entry', entry)


@test(host_only=True)
def repeats(world):
    """On schedule, each with a number of its own."""
    with world.session('--vfs', '--pid', os.getpid(), '--snapshot-process', '1s', '--snapshot-filesystem', '1s',
                       '--snapshot-root', world.make('tree')) as one:
        second = {'process/process_snap_000002.csv', 'filesystem_snapshot/filesystem_snap_000002.csv.gz'}
        told = lambda document: {entry['path'] for entry in document.get('snapshots', [])}
        wait_for('a second one of each', lambda: second <= told(rows.manifest(one.output)))
    check(second <= told(account.manifest_true(one.output)), 'snapshots in the manifest at the end')


@test(host_only=True)
def shares(world):
    """CPU shares of a busy process, of an idle one, and of one that is younger than the window."""
    busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    idle = subprocess.Popen(['sleep', '999'])
    for process in (busy, idle):
        world.undo.callback(process.wait)
        world.undo.callback(process.kill)
    with world.session('--vfs', '--pid', os.getpid(), '--snapshot-process', '1h') as one:
        wait_for('the first', lambda: kinds_of(one.status()) == {'process': 'done'})
        time.sleep(1)
        before, begin = cpu_of(busy.pid), time.monotonic()
        time.sleep(5)
        used = 100 * (cpu_of(busy.pid) - before) / (time.monotonic() - begin)
        young = subprocess.Popen(['sleep', '999'])
        world.undo.callback(young.wait)
        world.undo.callback(young.kill)
        taken(world, 'process', one.name)
    first = rows.parse(os.path.join(one.output, PROCESSES))
    second = rows.parse(os.path.join(one.output, 'process/process_snap_000002.csv'))
    equal(one_of(first, busy.pid)['cpu_5s'], '', 'share before there are any')
    share = float(one_of(second, busy.pid)['cpu_5s'])
    check(2 <= share <= 101 and abs(share - used) < 40, 'share of the busy one', share, used)
    check(float(one_of(second, idle.pid)['cpu_5s']) < 1, 'share of the idle one')
    equal(one_of(second, young.pid)['cpu_5s'], '', 'share of the young one')
    equal(one_of(second, busy.pid)['cpu_1h'], '', 'share over an hour')


def cpu_of(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        words = file.read().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


@test(host_only=True)
def full_disk(world):
    root, place = world.make('tree'), world.tmpfs(64 << 10)
    for number in range(3000):
        name = os.urandom(60).hex() + str(number)
        open(os.path.join(root, name), 'w', encoding='ascii').close()
    output = os.path.join(place, 'snap')
    done = world.ctl.exits(1, 'snapshot', 'filesystem', '--root', root, '--output', output)
    check('No space left' in done.stderr, 'why', done.stderr)
    equal(os.listdir(output), [], 'left over')


@test(host_only=True)
def bad_roots(world):
    fifo = world.path('fifo')
    os.mkfifo(fifo)
    for root, why in ((world.path('nowhere'), 'No such file'), ('/etc/passwd', 'not a folder'),
                      (fifo, 'not a folder'), ('/proc', 'pseudo file system'), ('/dev/null', 'not a folder')):
        done = world.ctl.exits(1, 'snapshot', 'filesystem', '--root', root)
        check(why in done.stderr and root in done.stderr, 'why %s was refused' % root, done.stderr)
    done = world.ctl.exits(6, 'snapshot', 'all', '--root', fifo, '--output', world.path('snap'))
    check('not a folder' in done.stderr, 'what is missing', done.stderr)
    for args in (['--depth', 'x'], ['--depth', '65536'], ['--depth', '-1'], ['nonsense', 'name'],
                 ['name', '--output', '/tmp/x'], ['--root', '']):
        world.ctl.exits(2, 'snapshot', *args)
    world.ctl.exits(5, 'snapshot', 'process', 'nobody')
    world.ctl.exits(1, 'snapshot', 'process', '--output', '/etc')
    for args in (['--snapshot-process', '1ms'], ['--snapshot-filesystem', 'x'], ['--snapshot-system', 'maybe'],
                 ['--snapshot-depth', '65536']):
        world.ctl.exits(2, 'start', '--vfs', *args)
    folder = os.path.join(world.daemon.folder, 'log', 'snapshots')
    equal([name for name in os.listdir(folder) if not os.listdir(os.path.join(folder, name))], [],
          'empty folders')


@test(host_only=True)
def alone(world):
    """Without a session: a folder of its own, with a manifest."""
    output, told = taken(world, '--root', world.make('tree'))
    check(output.startswith(os.path.join(world.daemon.folder, 'log', 'snapshots') + '/'), 'place', output)
    equal(sorted(told), ['filesystem', 'process', 'system'], 'kinds')
    equal(len(account.manifest_true(output)['snapshots']), 4, 'files in the manifest')
    equal(halves(output), [], 'not whole')
    document = world.ctl.json('verify', output, '--strict')
    equal((document['segments'], document['snapshots'], document['notes']), (0, 4, []), 'what verify reads')
    with open(os.path.join(output, PROCESSES), 'a', encoding='ascii') as file:
        file.write('x\n')
    world.ctl.exits(1, 'verify', output)


@test(host_only=True)
def verified(world):
    """verify checks snapshots: one that was changed, one that is missing, and one that the manifest does not know."""
    with world.session('--vfs', '--compress', 'none', '--pid', os.getpid(), ctl=world.ctl) as one:
        taken(world, 'all', one.name, '--root', world.make('tree'))
    said = world.ctl.exits(0, 'verify', one.output)
    check('note' not in said.stdout + said.stderr, 'notes', said.stdout, said.stderr)
    with open(os.path.join(one.output, PROCESSES), 'a', encoding='ascii') as file:
        file.write('x\n')
    os.remove(os.path.join(one.output, WALK))
    open(os.path.join(one.output, 'process', 'other.csv'), 'w', encoding='ascii').close()
    said = world.ctl.exits(1, 'verify', one.output)
    for words in (PROCESSES + ': its size or SHA-256', WALK + ': it is missing', 'process/other.csv: note'):
        check(words in said.stdout + said.stderr, words, said.stdout, said.stderr)


@test(host_only=True)
def daemon_killed(world):
    """When the daemon is killed, the process of its snapshot ends, too, and removes its unfinished file."""
    daemon, client = world.own_daemon()
    output = world.path('snap')
    process = subprocess.Popen(client.command('snapshot', 'filesystem', '--depth', '65535', '--output', output),
                               stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    world.undo.callback(process.wait)
    world.undo.callback(process.kill)
    wait_for('a file that is being written', lambda: os.path.exists(output) and halves(output))
    taker = children(daemon.process.pid)
    daemon.stop(signal.SIGKILL)
    wait_for('the end of the other process', lambda: not any(os.path.exists('/proc/' + pid) for pid in taker))
    equal(halves(output), [], 'left over')


@test(host_only=True)
def configured(world):
    """The configuration decides which snapshots are taken, unless Start says otherwise."""
    config, root = world.path('config'), world.make('tree')
    open(os.path.join(root, 'f'), 'w', encoding='ascii').close()
    with open(config, 'w', encoding='ascii') as file:
        file.write('[Snapshots]\nSystem=off\nProcess=off\nFilesystem=30m\nRoot=%s\nDepth=0\nCountry=CH\n' % root)
    _, client = world.own_daemon('--config', config)
    with world.session('--vfs', '--pid', os.getpid(), ctl=client) as one:
        wait_for('it to be done', lambda: kinds_of(one.status()) == {'filesystem': 'done'})
    equal(paths(rows.parse(os.path.join(one.output, WALK))), [root], 'paths')
    with world.session('--vfs', '--pid', os.getpid(), '--no-snapshots', '--snapshot-system', 'on', ctl=client) as one:
        wait_for('it to be done', lambda: kinds_of(one.status()) == {'system': 'done'})
    with open(os.path.join(one.output, 'system_spec', 'device_spec.json'), encoding='utf-8') as file:
        equal(json.load(file)['country'], 'CH', 'country')


@test(host_only=True)
def beside_rows(world):
    """A session under load loses no row during a snapshot, and records nothing that the snapshot does."""
    folder = world.path('work')
    with world.session('--vfs', lossless=False) as one:
        process = world.trigger.begin('count', folder, '--count', '20000')
        process.stdin.write(b'\n')
        process.stdin.flush()
        output, _ = taken(world, 'all', '--root', '/usr/share', '--depth', '2')
        world.trigger.go(process, 'count', folder)
        output2, _ = taken(world, 'process', one.name)
    found = one.rows()
    equal(made_by(world.daemon, one)[:3], [], 'rows of snapshots')
    equal([row for row in found if row['filename'].startswith((output, output2))][:3], [], 'rows about them')
    equal(one.accounts['vfs']['lost'], dict.fromkeys(one.accounts['vfs']['lost'], 0), 'rows lost')
    check(ctl.own(found, process.pid), 'no rows at all')
