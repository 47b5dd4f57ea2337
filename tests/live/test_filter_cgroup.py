# SPDX-License-Identifier: GPL-2.0-or-later
"""--cgroup and --unit: rows of processes in a cgroup and those below, and of no others."""
import contextlib
import os
import subprocess

from lib.registry import PATIENCE, Skip, check, equal, test, wait_for

WAIT = 'echo $$ > %s/cgroup.procs; read line; exec cat %s > /dev/null'


def mounted():
    """Mount point of cgroup v2."""
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        for line in file:
            if ' - cgroup2 ' in line:
                return line.split()[4]
    raise Skip('cgroup v2 is not mounted')


class Cgroups:
    """Cgroups of a test, which end with it."""

    def __init__(self, world):
        self.world, self.mount = world, mounted()

    def make(self, path):
        full = self.mount
        for name in path.split('/'):
            full = os.path.join(full, name)
            if not os.path.isdir(full):
                os.mkdir(full)
                self.world.undo.callback(self.remove, full)
        return full

    def remove(self, path):
        def gone():
            """Removes a cgroup, whose processes may still be ending."""
            with contextlib.suppress(OSError):
                os.rmdir(path)
            return not os.path.isdir(path)
        wait_for('the end of ' + path, gone)

    def named(self, name='iotr'):
        return '%s-%d-%d' % (name, os.getpid(), next(self.world.numbers))


def reader(cgroup, path):
    """A shell in the cgroup that waits, and then executes cat of the file."""
    return subprocess.Popen(['sh', '-c', WAIT % (cgroup, path)], stdin=subprocess.PIPE)


def wait_inside(processes, places):
    """Waits until each process is in its cgroup."""
    def inside(process, place):
        with open(os.path.join(place, 'cgroup.procs'), encoding='ascii') as file:
            return str(process.pid) in file.read().split()
    wait_for('processes in their cgroups', lambda: all(map(inside, processes, places)))


def go(*processes):
    for process in processes:
        process.communicate(b'\n', timeout=PATIENCE)


def file(world, name):
    path = os.path.join(world.make('cgroup'), name)
    with open(path, 'wb') as out:
        out.write(b'x' * 10)
    return path


def read_files(session):
    """Names of what was read, but for libraries."""
    return sorted(os.path.basename(row['filename']) for row in session.rows()
                  if row['operation'] == 'READ' and 'cgroup-' in row['filename'] and row['bytes_completed'] != '0')


@test
def below(world):
    """A cgroup, one below it, and one beside it."""
    cgroups = Cgroups(world)
    name = cgroups.named()
    places = [cgroups.make(path) for path in (name, name + '/deep/deeper', name + '-not')]
    files = [file(world, 'file%d' % i) for i in range(3)]
    processes = [reader(*pair) for pair in zip(places, files)]
    wait_inside(processes, places)
    ids = {str(os.stat(place).st_ino) for place in places[:2]}
    ways = [places[0], '/' + name, name]
    with world.session('--vfs', '--cgroup', ways[0]) as one, world.session('--vfs', '--cgroup', ways[1]) as two, \
            world.session('--vfs', '--cgroup', ways[2], '--errors') as three:
        go(*processes)
    for session in (one, two):
        equal({row['cgroup_id'] for row in session.rows()}, ids, 'cgroups')
        equal(read_files(session), ['file0', 'file1'], 'files')
    check(all(int(row['errno']) for row in three.rows()), 'rows that did not fail')


@test
def several(world):
    """Of a list any; a session without the filter has all."""
    cgroups = Cgroups(world)
    places = [cgroups.make(cgroups.named()) for _ in range(3)]
    files = [file(world, 'file%d' % i) for i in range(3)]
    processes = [reader(*pair) for pair in zip(places, files)]
    wait_inside(processes, places)
    with world.session('--vfs', '--cgroup', places[0], '--cgroup', places[2]) as some, \
            world.session('--vfs', '--command', 'cat') as every:
        go(*processes)
    equal(read_files(some), ['file0', 'file2'], 'files of two cgroups')
    equal(read_files(every), ['file0', 'file1', 'file2'], 'files of all')


@test
def moved(world):
    """A process that moves is judged by the cgroup that it is in at each operation."""
    cgroups = Cgroups(world)
    place, home = cgroups.make(cgroups.named()), own(cgroups)
    path = file(world, 'file')
    fd = os.open(path, os.O_RDONLY)
    with world.session('--vfs', '--cgroup', place, '--operation', 'READ') as session:
        os.pread(fd, 1, 0)
        enter(place)
        os.pread(fd, 2, 0)
        enter(home)
        os.pread(fd, 3, 0)
    os.close(fd)
    equal([row['size'] for row in session.rows() if row['filename'] == path], ['2'], 'sizes of reads')


def own(cgroups):
    with open('/proc/self/cgroup', encoding='utf-8') as table:
        path = [line for line in table if line.startswith('0::')][0][3:].strip()
    return cgroups.mount + path


def enter(place):
    with open(os.path.join(place, 'cgroup.procs'), 'w', encoding='utf-8') as out:
        out.write(str(os.getpid()))


@test
def unit(world):
    """A unit that runs, one that starts later, one that is restarted; and another one, which is not asked for."""
    cgroups = Cgroups(world)
    here, later, other = (cgroups.named() + '.service' for _ in range(3))
    files = [file(world, 'file%d' % i) for i in range(5)]
    places = [cgroups.make(here), None, None, cgroups.make(other), None]
    processes = [reader(places[0], files[0])]
    with world.session('--vfs', '--unit', here, '--unit', later[:-len('.service')]) as session:
        places[1] = cgroups.make(cgroups.named('slice') + '/' + later)
        processes.append(reader(places[1], files[1]))
        go(*processes)
        for process in processes:
            process.wait()
        cgroups.remove(places[1])
        places[2] = cgroups.make(later)
        more = [reader(places[2], files[2]), reader(places[3], files[3])]
        places[4] = cgroups.make(os.path.join(later, 'payload'))
        more.append(reader(places[4], files[4]))
        go(*more)
    equal(read_files(session), ['file0', 'file1', 'file2', 'file4'], 'files')


@test
def block(world):
    """Block requests are judged by the process that submitted them."""
    cgroups = Cgroups(world)
    places = [cgroups.make(cgroups.named()) for _ in range(2)]
    loop = world.loop()
    script = 'echo $$ > %s/cgroup.procs; exec dd if=%s of=/dev/null bs=64k count=1 skip=%d iflag=direct status=none'
    with world.session('--block', '--device', loop, '--cgroup', places[0]) as session:
        for number, place in enumerate(places):
            world.command('sh', '-c', script % (place, loop, number))
    rows = session.rows('block')
    equal({row['cgroup_id'] for row in rows}, {str(os.stat(places[0]).st_ino)}, 'cgroups')
    equal(sum(int(row['size']) for row in rows), 65536, 'bytes')


@test
def refused(world):
    mounted()
    for words, what in ((['--cgroup', '/no/such'], 'no cgroup'), (['--cgroup', '/..'], '..'),
                        (['--unit', 'a/b'], 'not the name'), (['--unit', 'a.timer'], 'no processes')):
        done = world.ctl.exits((1, 2), 'start', 'x', '--vfs', *words)
        check(what in done.stderr, '%s: the reason is not told' % words, done.stderr)
