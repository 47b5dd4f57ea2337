# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests work with: the programs, a daemon that they share, folders, and what undoes all that they change."""
import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile

from lib.ctl import Ctl, Session
from lib.daemon import Daemon
from lib.kept import Kept
from lib.registry import PATIENCE, Failure, Skip
from lib.sanitizers import Sanitizers
from lib.trigger import Trigger


class World:
    def __init__(self, daemon, ctl, trigger, level, installed=False, sanitized=False, emulated=False):
        self.daemon_program, self.ctl_program = daemon, ctl
        self.level_asked, self.installed, self.emulated = level, installed, emulated
        self.trigger = Trigger(trigger)
        # Not below /tmp where that is a tmpfs: direct I/O and block devices need a real one.
        self.folder = tempfile.mkdtemp(prefix='iotracer-live-', dir='/var/tmp')
        self.sanitizers = Sanitizers(os.path.join(self.folder, 'sanitizers')) if sanitized else None
        self.numbers = itertools.count(1)
        self.undo = contextlib.ExitStack()
        self.end = contextlib.ExitStack()
        self.shared = self.faulty = self.spare = None
        self.counting = None  # what layers.py keeps here

    # One daemon for all tests that do not need their own.

    @property
    def daemon(self):
        if self.shared is None or not self.shared.alive():
            self.shared = self.new_daemon()
        return self.shared

    @property
    def ctl(self):
        return self.client(self.daemon.socket)

    def client(self, socket):
        return Ctl(self.ctl_program, socket, direct=self.emulated)

    @property
    def level(self):
        """function or tracepoint, as the daemon has it."""
        if self.level_asked != 'auto':
            return self.level_asked
        if not hasattr(self, 'level_found'):
            self.level_found = self.find_level()
        return self.level_found

    def refused(self):
        """Why the kernel has no such level, or None."""
        if self.level_asked != 'function':
            return None
        try:
            self.ctl  # starts the daemon that all tests share
        except Failure as failure:
            if any('no function level' in str(line) for line in failure.lines):
                return str(failure.lines[-1])
        return None

    def find_level(self):
        with self.session('--vfs', '--pid', os.getpid(), name='level') as session:
            pass
        return find_key(session.started, 'level') or 'tracepoint'

    def new_daemon(self, *options, level=None, preload=None, loaded=True):
        folder = self.path('daemon')
        os.makedirs(folder)
        level = level or self.level_asked
        if level == 'function' and not options and not preload:  # it takes longest to load, so tests restart this one
            return Kept(self.daemon_program, folder, level).start(loaded)
        return Daemon(self.daemon_program, folder, level, options, preload).start(loaded)

    def own_daemon(self, *options, fresh=False, loaded=True):
        """
        A daemon that a test may stop, kill and look into, and a client of it. It runs at the tracepoint level, which
        loads faster; these tests do not depend on the level. As loading takes longer than most of them, a daemon that
        a test leaves alive and without sessions is handed on to the next one, and where all tests run at that level, the one
        that they share is such a one. One with options, or a `fresh` one, is neither: its log, limits and memory are the
        test's own. It need not be `loaded` for a test that can wait for the programs it uses, and ends before all others are.
        """
        fresh = fresh or bool(options)
        daemon = None if fresh else self.taken()
        if daemon is None:
            daemon = self.new_daemon(*options, level='tracepoint', loaded=loaded)
        ctl = self.client(daemon.socket)
        self.undo.push(lambda kind, *_: self.hand_on(daemon) if kind is None and not fresh else daemon.stop())
        return daemon, ctl

    def unused(self, daemon):
        return daemon is not None and daemon.alive() and not self.client(daemon.socket).ask('List')['sessions']

    def taken(self):
        """A daemon that is nobody else's from now on, or None."""
        if self.level_asked == 'tracepoint' and self.unused(self.shared):
            daemon, self.shared = self.shared, None
        else:
            daemon, self.spare = self.spare, None
        return daemon if self.unused(daemon) else None

    def hand_on(self, daemon):
        if self.level_asked == 'tracepoint' and self.shared is None and self.unused(daemon):
            self.shared = daemon
        elif self.spare is None and self.unused(daemon):
            self.spare = daemon
        else:
            daemon.stop()

    def faulty_daemon(self):
        """A daemon that tests share, whose disk and clock behave as daemon.order() says."""
        library = os.path.join(os.path.dirname(self.trigger.program), 'iotr-faults.so')
        if not os.path.exists(library):
            raise Skip('%s is not there' % library)
        if self.faulty is None or not self.faulty.alive():
            preload = self.path('faults.so')
            os.symlink(library, preload)  # a name with a space in it cannot be preloaded
            self.faulty = self.new_daemon(level='tracepoint', preload=preload)
        self.undo.callback(self.faulty.order)
        return self.faulty, self.client(self.faulty.socket)

    # Names that are not in use yet.

    def path(self, name):
        return os.path.join(self.folder, '%s-%d' % (name, next(self.numbers)))

    def make(self, name):
        path = self.path(name)
        os.makedirs(path)
        return path

    def session(self, *options, name=None, ctl=None, output=None, lossless=True):
        name = name or 'live-%d' % next(self.numbers)
        return Session(ctl or self.ctl, name, output or self.path('trace'), options, lossless)

    # Programs, devices and mounts of the machine.

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                raise Skip('%s is not installed' % program)

    def without_sanitizers(self, why):
        """For tests that can say nothing of programs with sanitizers."""
        if self.sanitizers:
            raise Skip('with sanitizers ' + why)

    def measures_memory(self):
        """For tests that judge how much memory a program takes."""
        self.without_sanitizers('the memory of a program is theirs, too')

    def command(self, *args, check=True):
        done = subprocess.run([str(arg) for arg in args], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        if check and done.returncode:
            raise Failure('%s: exit %d' % (' '.join(map(str, args)), done.returncode),
                          *(done.stdout + done.stderr).splitlines()[-5:])
        return done

    def later(self, *args):
        """A command that undoes something when the test is over."""
        self.undo.callback(self.command, *args, check=False)

    def at_the_end(self, *args):
        """The same when all tests are over."""
        self.end.callback(self.command, *args, check=False)

    def loop(self, size=64 << 20, partitions=False):
        """A loop device over a sparse file."""
        self.need('losetup')
        image = self.path('image')
        with open(image, 'wb') as file:
            file.truncate(size)
        done = self.command('losetup', *(['-P'] if partitions else []), '-f', '--show', image,
                            check=False)
        if done.returncode:
            raise Skip('no loop device: %s' % done.stderr.strip())
        device = done.stdout.strip()
        self.later('losetup', '-d', device)
        return device

    def tmpfs(self, size):
        path = self.make('tmpfs')
        self.command('mount', '-t', 'tmpfs', '-o', 'size=%d' % size, 'none', path)
        self.later('umount', '-l', path)
        return path

    def stop(self):
        """Undoes all that is left to undo, and ends the daemons."""
        self.undo.close()
        self.end.close()
        for daemon in (self.shared, self.faulty, self.spare):
            if daemon is not None:
                daemon.stop()
        self.shared = self.faulty = self.spare = None

    def close(self, keep=False):
        """`keep`: the folder is not removed, and its path is printed."""
        if keep:
            print('# %s' % self.folder)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def find_key(value, key):
    """The first value of a key anywhere in a JSON document."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            found = find_key(inner, key)
            if found is not None:
                return found
    return None


def device_number(path):
    number = os.stat(path).st_rdev
    return '%d:%d' % (os.major(number), os.minor(number))
