# SPDX-License-Identifier: GPL-2.0-or-later
"""An iotracerd in folders of its own, and what it uses of the machine."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

from lib.machine import read
from lib.programs import Missing

PATIENCE = 900
LAST = 61  # seconds until the last program that stands in for those on functions is detached: daemon/probes/handover.c
TICK = 1e9 / os.sysconf('SC_CLK_TCK')
MIB = 1 << 20


class Daemon:
    def __init__(self, world, cpus=()):
        self.build, self.level = world.build, world.level
        self.cpus = ','.join(map(str, cpus or [world.other_cpu]))
        self.folder = os.path.join(world.folder, 'daemon')
        self.socket = os.path.join(self.folder, 'run', 'io.iotracer')
        self.process, self.count = None, 0

    def command(self):
        command = ['taskset', '-c', self.cpus, self.build.daemon, '--level', self.level]
        for name in ('runtime', 'log', 'state'):
            path = os.path.join(self.folder, 'run' if name == 'runtime' else name)
            os.makedirs(path, exist_ok=True)
            command += ['--%s-dir' % name, path]
        return command

    def __enter__(self):
        command = self.command()
        os.makedirs(os.path.join(self.folder, 'out'), exist_ok=True)
        with open(os.path.join(self.folder, 'daemon.log'), 'ab') as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while self.ctl('list', check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Missing('iotracerd does not run: see %s/daemon.log' % self.folder)
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command_of(self, *arguments):
        return [self.build.ctl, '--socket', self.socket, *arguments]

    def ctl(self, *arguments, check=True):
        done = subprocess.run(self.command_of(*arguments), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False)
        if check and done.returncode not in (0, 6):
            raise Missing('iotracectl %s: %s' % (arguments[0], done.stderr.split('\n')[0]))
        return done

    def json(self, *arguments):
        return json.loads(self.ctl(*arguments, '--json').stdout)

    def checks(self):
        return {check['check']: check['detail'] for check in self.json('doctor')['checks']}

    @contextlib.contextmanager
    def session(self, *options, compress='none', folder=None):
        """Its rows lie in a folder of the daemon's, or in that one."""
        session = Session(self, 'bench%d' % self.count, folder or os.path.join(self.folder, 'out'))
        self.count += 1
        self.ctl('start', session.name, *options, '--compress', compress, '--no-snapshots', '--output',
                 session.output)
        try:
            yield session
        finally:
            session.stop()
            shutil.rmtree(session.output, ignore_errors=True)

    def load(self):
        """Has all programs loaded, which goes on behind a start otherwise, and would count as a cost of rows."""
        with self.session('--all'):
            pass

    # ---- what it uses ----

    def proc(self, *names):
        return '/proc/%d/%s' % (self.process.pid, '/'.join(names))

    def cpu_ns(self):
        """Of all its threads, those that have ended too."""
        fields = read(self.proc('stat')).rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK

    def thread_cpu_ns(self):
        """By thread: number, and ns in user and in kernel mode."""
        found = {}
        for tid in os.listdir(self.proc('task')):
            fields = read(self.proc('task', tid, 'stat')).rpartition(')')[2].split()
            if fields:  # it has not ended since
                found[int(tid)] = (int(fields[11]) * TICK, int(fields[12]) * TICK)
        return found

    def resident(self):
        """Resident bytes: without what is mapped of BPF maps, and of them."""
        own = maps = 0
        where = ''
        for line in read(self.proc('smaps')).splitlines():
            found = re.match(r'[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)', line)
            if found:
                where = found[1]
            elif line.startswith('Rss:'):
                size = int(line.split()[1]) * 1024
                maps, own = (maps + size, own) if 'bpf-map' in where else (maps, own + size)
        return own, maps

    def descriptors(self):
        """What the kernel says of each of its descriptors."""
        for number in os.listdir(self.proc('fdinfo')):
            yield dict(line.split(':', 1) for line in read(self.proc('fdinfo', number)).splitlines()
                       if ':' in line)

    def await_detached(self):
        """Until none of its programs is attached: hooks stay for some seconds after a session."""
        end = time.monotonic() + PATIENCE
        while any('link_type' in info for info in self.descriptors()) and time.monotonic() < end:
            time.sleep(0.1)

    def bpf_ns(self):
        """Run time of its BPF programs while the kernel counted it: see machine.bpf_statistics()."""
        return sum({info['prog_id']: int(info['run_time_ns']) for info in self.descriptors()
                    if 'run_time_ns' in info}.values())

    def locked(self):
        """Bytes that the kernel holds for its maps and for its programs."""
        sizes = {}
        for info in self.descriptors():
            for kind in ('map_id', 'prog_id'):
                if kind in info and 'memlock' in info:
                    sizes[kind, info[kind].strip()] = int(info['memlock'])
        return [sum(size for (kind, _), size in sizes.items() if kind == wanted)
                for wanted in ('map_id', 'prog_id')]


class Session:
    def __init__(self, daemon, name, folder):
        self.daemon, self.name = daemon, name
        self.output = os.path.join(folder, name)
        self.final = None

    def account(self, status, stream):
        return status['sessions'][0]['streams'][stream]

    def status(self, stream='vfs'):
        return self.account(self.daemon.json('status', self.name), stream)

    def await_functions(self):
        """Until system calls are seen on their functions, where they are to be: at first, other programs stand in for those."""
        end = time.monotonic() + PATIENCE
        while 'stand_in' in self.daemon.json('status', self.name)['sessions'][0] and time.monotonic() < end:
            time.sleep(0.2)
        if self.daemon.checks()['level'] == 'function':
            time.sleep(LAST)

    def stop(self, stream='vfs'):
        """The last account of a stream, all rows being on disk."""
        if not self.final:
            self.final = self.daemon.json('stop', self.name)
        return self.account(self.final, stream) if stream in self.final['sessions'][0]['streams'] else None

    def is_compressed(self):
        """Whether the manifest of the session, which has ended, tells that all of its segments are compressed."""
        with open(os.path.join(self.output, 'manifest.json'), encoding='ascii') as file:
            return all(one['state'] == 'compressed' for one in json.load(file)['segments'])

    def await_compressed(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not self.is_compressed():
            time.sleep(0.2)

    def await_written(self, stream='vfs'):
        """Until every row that has been emitted is either written or lost; others follow all the time."""
        end, due = time.monotonic() + PATIENCE, self.status(stream)['emitted']
        while time.monotonic() < end:
            one = self.status(stream)
            if one['written'] + sum(one['lost'].values()) >= due:
                return
            time.sleep(0.2)
