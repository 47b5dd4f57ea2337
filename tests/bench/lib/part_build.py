# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording everything takes from a build of this project."""
import os
import shutil
import subprocess
import time

from lib import tracers
from lib.daemon import Daemon
from lib.programs import HERE, Missing
from lib.table import Table, bar, median

SOURCES = os.path.realpath(os.path.join(HERE, '..', '..'))
ROUNDS = 3


def build(world):
    """Seconds of a build from nothing, without the tests."""
    folder = os.path.join(world.folder, 'build')
    run = lambda *words: subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, check=False)
    done = run('cmake', '-S', SOURCES, '-B', folder, '-DIOTRACER_TESTS=OFF')
    if done.returncode:
        raise Missing('cmake: ' + (done.stderr.strip().splitlines() or ['?'])[-1])
    begin = time.monotonic()
    done = run('cmake', '--build', folder, '-j%d' % os.cpu_count())
    took = time.monotonic() - begin
    shutil.rmtree(folder, ignore_errors=True)
    if done.returncode:
        raise Missing('the build failed: ' + (done.stderr.strip().splitlines() or ['?'])[-1])
    return took


def part(world):
    tracers.require('cmake')
    plain, traced, rows, lost = [], [], 0, 0
    with Daemon(world) as daemon:
        build(world)  # the first build brings the sources into the page cache
        for _ in range(min(world.rounds, ROUNDS)):
            plain.append(build(world))
            with daemon.session('--all') as session:
                traced.append(build(world))
                session.stop()
                accounts = session.final['sessions'][0]['streams'].values()
                rows += sum(one['written'] for one in accounts)
                lost += sum(sum(one['lost'].values()) for one in accounts)
    table = Table('Build of this project, seconds, %d times' % len(plain), '', 'least', 'median')
    table.add('untraced', min(plain), median(plain))
    table.add('recorded, --all', min(traced), median(traced))
    table.add('rows of a build', rows // len(traced), None)
    table.show()
    bar('wall time of a build with --all, of untraced', min(traced) / min(plain), '<=', 1.10, 'x')
    bar('rows lost', lost, '<=', 0)
