# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine that is measured on, and what else runs on it."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import time

TAXING = re.compile(r'sys_enter|sys_exit|sys_pread64')
PATIENCE = 60


def read(path, default=''):
    try:
        with open(path, errors='replace') as file:
            return file.read()
    except OSError:
        return default


def describe():
    found = re.search(r'model name\s*: (.*)', read('/proc/cpuinfo'))
    memory = re.search(r'MemTotal:\s*(\d+)', read('/proc/meminfo'))
    uname = os.uname()
    print('kernel   %s %s' % (uname.release, uname.machine))
    print('CPUs     %d x %s' % (os.cpu_count(), found[1] if found else 'unknown'))
    print('memory   %d MiB' % (int(memory[1]) // 1024 if memory else 0))
    print('load     %s' % ' '.join(read('/proc/loadavg').split()[:3]), flush=True)


def cpus():
    """A CPU for the program that makes I/O and one for the recorder; the same if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[0]


@contextlib.contextmanager
def bpf_statistics():
    """Lets the kernel count how long BPF programs run, which costs each run some tens of nanoseconds."""
    path = '/proc/sys/kernel/bpf_stats_enabled'
    before = read(path)
    with open(path, 'w', encoding='ascii') as file:
        file.write('1')
    try:
        yield
    finally:
        with open(path, 'w', encoding='ascii') as file:
            file.write(before)


def programs():
    """BPF programs of the machine as bpftool shows them, by id, with what was counted of them; none without bpftool."""
    if not shutil.which('bpftool'):
        return {}
    done = subprocess.run(['bpftool', '-j', 'prog', 'show'], capture_output=True, text=True, check=False)
    return {one['id']: one for one in json.loads(done.stdout or '[]') if 'id' in one}


def mount_tracing():
    """Peers look for tracefs and debugfs; mounted in a namespace of our own, where they are not there."""
    for kind, path in (('debugfs', '/sys/kernel/debug'), ('tracefs', '/sys/kernel/tracing')):
        if os.path.isdir(path) and not os.listdir(path):
            subprocess.run(['mount', '-t', kind, kind, path], check=False, stderr=subprocess.DEVNULL)


def links():
    """BPF links of the machine as bpftool shows them, None without bpftool."""
    if not shutil.which('bpftool'):
        return None
    done = subprocess.run(['bpftool', '-j', 'link', 'list'], capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout or '[]')
    except ValueError:
        return []
    return [link for link in found if 'id' in link]


def taxes():
    """Number of BPF links that add to the cost of the system calls that are measured."""
    return sum(1 for link in links() or [] if TAXING.search(json.dumps(link)))


def await_quiet(patience=PATIENCE):
    """Waits until no other program traces system calls; False if one goes on."""
    end = time.monotonic() + patience
    while taxes():
        if time.monotonic() > end:
            return False
        time.sleep(1)
    return True


def take_precedence(nice):
    """Raises the priority of this process and of all that it starts."""
    os.setsid()  # the kernel shares CPUs among sessions first
    try:
        with open('/proc/self/autogroup', 'w') as file:
            file.write(str(nice))
    except OSError:
        pass
    os.nice(nice)
