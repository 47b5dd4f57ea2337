# SPDX-License-Identifier: GPL-2.0-or-later
"""Users without an account: processes that run with uids which no account has."""
import os
import shutil
import subprocess
import tempfile

from lib.ctl import Ctl
from lib.daemon import Daemon
from lib.registry import PATIENCE, Failure


class Member:
    def __init__(self, uid, gid=None, groups=()):
        self.uid, self.gid, self.groups = uid, gid or uid, list(groups)

    def options(self):
        return {'user': self.uid, 'group': self.gid, 'extra_groups': self.groups}

    def run(self, *args, **options):
        """Runs a command as the user; returns the finished process, with text of both outputs."""
        return subprocess.run([str(arg) for arg in args], stdin=subprocess.DEVNULL, text=True, capture_output=True,
                              timeout=PATIENCE, check=False, cwd='/', **self.options(), **options)

    def do(self, script, *args):
        """Runs Python code as the user, which must succeed."""
        done = self.run('/usr/bin/python3', '-c', 'import os, sys\n' + script, *args)
        if done.returncode:
            raise Failure('as user %d: %s' % (self.uid, script), *done.stderr.splitlines()[-5:])
        return done.stdout

    def folder(self, above, name, mode=0o750):
        path = os.path.join(above, name)
        os.mkdir(path)
        os.chown(path, self.uid, self.gid)
        os.chmod(path, mode)
        return path


def open_folder(world):
    """A folder that every user may search, unlike that of the other tests."""
    path = tempfile.mkdtemp(prefix='iotracer-open-', dir='/var/tmp')
    os.chmod(path, 0o755)
    world.later('rm', '-rf', path)
    return path


class GroupDaemon(Daemon):
    """A daemon for which the groups of the roles have these numbers, whatever groups the machine has."""

    def __init__(self, world, above, gid, read_gid):
        folder = os.path.join(above, 'daemon')
        os.mkdir(folder, 0o755)
        super().__init__(world.daemon_program, folder, 'tracepoint')
        self.groups = os.path.join(above, 'group')
        with open('/etc/group', encoding='utf-8') as file:
            lines = [line for line in file if not line.startswith(('iotracer:', 'iotracer-read:'))]
        with open(self.groups, 'w', encoding='utf-8') as file:
            file.writelines(lines + ['iotracer:x:%d:\n' % gid, 'iotracer-read:x:%d:\n' % read_gid])

    def command(self):
        return ['unshare', '-m', 'sh', '-c', 'umask 022; mount --bind "$0" /etc/group && exec "$@"', self.groups,
                *super().command()]


class MemberCtl:
    """iotracectl as a member runs it."""

    def __init__(self, member, program, daemon):
        self.member, self.program, self.socket = member, program, daemon.socket

    def exits(self, code, *args):
        done = self.member.run(self.program, '--socket', self.socket, *args)
        codes = code if isinstance(code, tuple) else (code,)
        if done.returncode not in codes:
            raise Failure('iotracectl %s: exit %d' % (' '.join(map(str, args)), done.returncode), done.stdout,
                          *done.stderr.splitlines())
        return done


def with_members(world, gid, *members, read_gid=54499):
    """
    An open folder, a daemon there that the group may control and another one look at, its control as root and as each of
    the members.
    """
    above = open_folder(world)
    daemon = GroupDaemon(world, above, gid, read_gid).start()
    world.undo.callback(daemon.stop)
    program = os.path.join(above, 'iotracectl')
    shutil.copy(world.ctl_program, program)
    return above, daemon, Ctl(world.ctl_program, daemon.socket), *[MemberCtl(one, program, daemon) for one in members]
