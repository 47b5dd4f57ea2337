# SPDX-License-Identifier: GPL-2.0-or-later
"""Function level, in virtual machines whose clock counts instructions: what a row costs, and how long the daemon lets wait."""
import os
import subprocess

from lib.programs import HERE
from lib.table import BARS, note

GUEST = '/opt/iotracer-bench'
FUNCTION_LEVEL = ('6.1', '6.12')  # kernels that have it
KERNELS = ('5.10', *FUNCTION_LEVEL, 'newest')


def command(world, kernel, here):
    words = [os.path.join(HERE, '..', 'vm', 'exec'), '--icount', '--add', '%s:%s/tests' % (HERE, GUEST)]
    words += ['--add', '%s:%s/tests/' % (os.path.join(HERE, '..', 'live', 'lib', 'fd_store.py'), GUEST)]
    build = world.build
    for path in (build.daemon, build.ctl, build.pread, build.empty, build.empty_object, build.least_object):
        words += ['--add', '%s:%s/build/%s' % (path, GUEST, os.path.relpath(path, build.folder))]
    return words + [kernel, 'PYTHONDONTWRITEBYTECODE=1 %s/tests/run --build %s/build --rounds 3 %s'
                    % (GUEST, GUEST, here)]


def part(world):
    for kernel in KERNELS:
        part_on(world, kernel, 'function-here', 'iotracer')


def moments(world):
    for kernel in FUNCTION_LEVEL:
        part_on(world, kernel, 'moments-here', '')


def part_on(world, kernel, here, judged):
    """Runs a part in the machine; bars of what begins with `judged` count here, too."""
    print('\nFunction level, kernel %s in a virtual machine: a nanosecond of its clock is an instruction'
          % kernel, flush=True)
    done = subprocess.run(command(world, kernel, here), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**os.environ, 'IOTRACER_VM_TIMEOUT': '1800'}, check=False)
    text = done.stdout.replace('\r', '')
    for line in text.partition('\nload at the end')[0].partition('load ')[2].partition('\n')[2].splitlines():
        print('  ' + line)
        if '(bar ' in line and line.startswith('  ' + judged):
            BARS.append('function level, %s: %s' % (kernel, line.strip()))
    if done.returncode:
        note('missing: the machine ended with %d: %s' % (
            done.returncode, (done.stderr.strip().splitlines() or [''])[0]))
        BARS.append('function level, %s: not measured' % kernel)
