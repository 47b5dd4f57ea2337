# SPDX-License-Identifier: GPL-2.0-or-later
"""
Programs of other authors, recorded and traced with strace at the same time: each system call that names a file, or does
the same by a descriptor, has as many rows as strace shows calls, with the same errors.
"""
import collections
import errno
import os
import re
import sys

from lib import account, rows
from lib.registry import Skip, check, equal, register

# The operations, and the system calls that they are made of, by strace's names.
CALLS = {
    'OPEN': 'open creat openat openat2 open_by_handle_at open_tree memfd_create',
    'GETATTR': 'stat lstat fstat newfstatat statx',
    'SETATTR': 'chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat',
    'CHDIR': 'chdir fchdir',
    'UNLINK': 'unlink unlinkat',
    'RMDIR': 'rmdir',
    'MKDIR': 'mkdir mkdirat',
    'RENAME': 'rename renameat renameat2',
    'LINK': 'link linkat',
    'SYMLINK': 'symlink symlinkat',
    'TRUNCATE': 'truncate ftruncate',
    'MKNOD': 'mknod mknodat',
    'ACCESS': 'access faccessat faccessat2',
    'READLINK': 'readlink readlinkat',
    'GETXATTR': 'getxattr lgetxattr fgetxattr getxattrat',
    'SETXATTR': 'setxattr lsetxattr fsetxattr setxattrat',
    'LISTXATTR': 'listxattr llistxattr flistxattr listxattrat',
    'REMOVEXATTR': 'removexattr lremovexattr fremovexattr removexattrat',
    'STATFS': 'statfs fstatfs',
    'MOUNT': 'mount move_mount pivot_root mount_setattr',
    'UMOUNT': 'umount umount2',
}
# Where an error has two names, strace's.
NAMES = {**errno.errorcode, errno.EOPNOTSUPP: 'EOPNOTSUPP', errno.EDEADLK: 'EDEADLK'}
OPERATION_OF = {call: operation for operation, calls in CALLS.items() for call in calls.split()}
# Calls of strace's class that the README says have no row.
ROWLESS = set('''execve execveat getcwd chroot acct swapon swapoff quotactl uselib inotify_add_watch fanotify_mark
name_to_handle_at fspick fsconfig'''.split())
# Calls that do by a descriptor what others do by a path.
BY_DESCRIPTOR = '''open_by_handle_at memfd_create fstat fchmod fchown fchdir ftruncate fgetxattr fsetxattr flistxattr
fremovexattr fstatfs'''.split()
LINE = re.compile(r'(\d+) +(\w+)\(.*\) += (\S+)(?: (E[A-Z0-9]+))?')
UNFINISHED, RESUMED = re.compile(r'(\d+ .*) <unfinished \.\.\.>$'), re.compile(r'(\d+) +<\.\.\. \w+ resumed>(.*)')

SHELL = r'''
mkdir -p a/b/c a/d && cd a && echo one > f && ln f g && ln -s f h && readlink h && readlink f; mv f b/f; mv -T d b/d
mkdir b; mkfifo p; chmod 600 g p b/f; chown 1:1 g; chown -h 1:1 h; touch -h -d 2001-01-01 h; touch new; rmdir b; rmdir b/d
[ -x g ]; [ -w nothing ]; stat -f . nothing; truncate -s 100 g; truncate -s 5 new; df . ; ls -laR ..; cd nothing
mkdir m && mount -t tmpfs none m && mount -o remount,ro m && mkdir m/x; umount m; umount m; rm -r . ../a/b nothing; rm -rf b
'''
XATTRS = r'''
import os
open("f", "w").close()
os.symlink("f", "l")
def attempt(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except OSError:
        pass
with open("f") as file:
    for one in ("f", "l", file.fileno(), "nothing"):
        for follow in (True, False):
            if not follow and isinstance(one, int):
                continue
            attempt(os.setxattr, one, "user.a", b"value", follow_symlinks=follow)
            attempt(os.getxattr, one, "user.a", follow_symlinks=follow)
            attempt(os.listxattr, one, follow_symlinks=follow)
            attempt(os.removexattr, one, "user.a", follow_symlinks=follow)
            attempt(os.removexattr, one, "user.a", follow_symlinks=follow)
'''
# Makes every system call there may be; those with MARK as the last argument the kernel is told not to carry out.
EVERY = r'''
import ctypes, struct
MARK, PR_SET_SECCOMP, FILTER, ALLOW, ERRNO = 0x5eccde, 22, 2, 0x7fff0000, 0x50000
program = b''.join(struct.pack('<HBBI', *one) for one in (
    (0x20, 0, 0, 16 + 5 * 8),  # load the sixth argument
    (0x15, 0, 1, MARK),        # skip one unless equal
    (0x06, 0, 0, ERRNO | 38), (0x06, 0, 0, ALLOW)))
code = ctypes.create_string_buffer(program, len(program))
rules = ctypes.create_string_buffer(struct.pack('<H6xQ', 4, ctypes.addressof(code)), 16)
libc = ctypes.CDLL(None, use_errno=True)
long = ctypes.c_long
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, FILTER, rules) == 0, ctypes.get_errno()
for number in set(range(600)) - {335, 336}:  # the kernel's own, of uprobes
    assert libc.syscall(long(number), long(0), long(0), long(0), long(0), long(0), long(MARK)) == -1
'''
GIT = '''git init -q . && echo 1 > a && mkdir -p b/c && echo 2 > b/c/d && git add . &&
git -c user.name=x -c user.email=x@x commit -q -m x && git mv a z && git status && git log -p --stat && git gc -q'''
PROGRAMS = {
    'cp': ['cp', '-a', '/usr/include/linux', 'copy'],
    'cp_nothing': ['cp', '-a', '/nowhere/at/all', 'copy'],
    # Folders, files and links, of which there are some dozens in each of these.
    'tar': ['sh', '-c', 'tar cf t /etc/alternatives /etc/default /etc/systemd 2>/dev/null; mkdir out; tar xf t -C out; '
            'rm -rf out; tar tf nothing'],
    'find': ['find', '/etc', '/usr/include', '-newer', '/etc/passwd', '-ls'],
    'python': ['python3', '-c', 'import json, http.client, tempfile; tempfile.TemporaryDirectory().cleanup()'],
    'shell': ['sh', '-c', SHELL],
    'xattrs': ['python3', '-c', XATTRS],
    'git': ['sh', '-c', GIT],
    'du': ['du', '-a', '/usr/include'],
}
NEEDS = {'git': ['git'], 'xattrs': ['python3'], 'python': ['python3']}


def name_of(number):
    return NAMES.get(number, number) if number else None


def calls_of(path):
    """Lines of calls that ended; lines that strace split, as another thread came between, are joined."""
    begun = {}
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        for line in map(str.rstrip, file):
            unfinished, resumed = UNFINISHED.match(line), RESUMED.match(line)
            if unfinished:
                begun[line.split()[0]] = unfinished.group(1)
            elif resumed:
                yield begun.pop(resumed.group(1)) + resumed.group(2)
            elif not re.match(r'\d+ +(\+\+\+|---) ', line):
                yield line


def traced(path):
    """What strace saw: how many times each call came, with which error; and the threads that it saw."""
    counts, threads = collections.Counter(), set()
    for line in calls_of(path):
        found = LINE.match(line)
        check(found, 'a line of strace that is not understood', line)
        thread, call, _, error = found.groups()
        if call == 'unlinkat' and 'AT_REMOVEDIR' in line:
            call = 'rmdir'
        threads.add(thread)
        counts[call, error] += 1
    return counts, threads


def run(world, command):
    """Rows and calls of a program, which works in a folder of its own."""
    log, output, folder = world.path('strace'), world.path('record'), world.make('work')
    classes = ','.join(['%file', *('?' + call for call in BY_DESCRIPTOR)])
    world.ctl.run('record', '--vfs', '--pseudo-fs', '--output', output, '--', 'sh', '-c', 'cd "$0" && exec "$@"', folder,
                  'strace', '-f', '-s', '0', '-o', log, '-e', 'trace=' + classes, '--', *command)
    if not os.path.exists(log) or not os.path.getsize(log):
        raise Skip('strace cannot trace here')
    account.balanced(account.manifest_true(output), 'manifest')
    calls, threads = traced(log)
    # strace does not show what its child does before it executes the program.
    return calls, [row for row in rows.read(output, 'vfs') if row['tid'] in threads and row['command'] != 'strace']


def known(calls):
    equal(sorted({call for call, _ in calls} - set(OPERATION_OF) - ROWLESS), [], 'calls that are not known here')


def whole_class(world):
    """Every call that strace counts among those on files is either an operation or listed as none."""
    world.need('strace')
    log = world.path('strace')
    world.command('strace', '-o', log, '-f', '-e', 'trace=%file', sys.executable, '-c', EVERY)
    calls, _ = traced(log)
    calls = [one for one in calls if not one[0].startswith('syscall_')]  # strace knows no call of that number
    check(len(calls) > 50, 'few calls', calls)
    known(calls)


def agree(world, name):
    world.need('strace', *NEEDS.get(name, []))
    calls, found = run(world, PROGRAMS[name])
    known(calls)
    due, got = collections.Counter(), collections.Counter()
    for (call, error), count in calls.items():
        if call in OPERATION_OF:
            due[OPERATION_OF[call], error] += count
    for row in found:
        if row['operation'] in CALLS:
            got[row['operation'], name_of(int(row['errno']))] += 1
    check(sum(due.values()) > 20, 'the program did little', due)
    equal(sorted('%s %s: %d' % (*key, count) for key, count in got.items() if count),
          sorted('%s %s: %d' % (*key, count) for key, count in due.items() if count), 'rows by operation and error')


def register_all():
    register('strace.whole_class', whole_class)
    for name in PROGRAMS:
        register('strace.' + name, lambda world, name=name: agree(world, name))
