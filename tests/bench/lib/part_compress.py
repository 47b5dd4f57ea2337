# SPDX-License-Identifier: GPL-2.0-or-later
"""Compression of closed files: rows a second of one core, and bytes a row, for real rows."""
import glob
import os
import shutil
import subprocess

from lib.daemon import Daemon
from lib.programs import Missing
from lib.table import Table, bar, note

SHIPPED = 4  # COMPRESS_LEVEL of daemon/pipeline/compress.h
LEVELS = (1, SHIPPED, 6, 9)
SOURCES = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..', '..'))
COMPILE = 'for turn in 1 2 3 4 5; do for file in "$0"/common/*.c; do gcc -O2 -D_GNU_SOURCE -DIOTRACER_VERSION=x -I "$0"/common ' \
          '-I /usr/include/json-c -c "$file" -o /dev/null; done; done'


def workloads(world):
    """Commands by name."""
    found = {'a build': ['sh', '-c', COMPILE, SOURCES],
             'a walk': ['find', '/usr', '-xdev', '-printf', '%s\n']}
    if shutil.which('fio'):
        found['random direct I/O'] = [
            'fio', '--name=random', '--directory=' + world.folder, '--rw=randrw', '--bs=4k',
            '--size=64m', '--direct=1', '--ioengine=libaio', '--iodepth=8', '--io_size=128m']
    else:
        note('fio is not installed: no random direct I/O')
    return found


def squeeze(world, level, path):
    done = subprocess.run([os.path.join(world.build.bench, 'bench_compress'), str(level), path],
                          text=True, capture_output=True, check=False)
    if done.returncode:
        raise Missing('bench_compress: ' + done.stderr.strip())
    words = done.stdout.split()
    return dict(zip(words[::2], map(float, words[1::2])))


def measure(world, table, what, path):
    """Rows a second at the level that is shipped."""
    shipped = None
    for level in LEVELS:
        runs = [squeeze(world, level, path) for _ in range(3)]
        best = min(runs, key=lambda run: run['cpu'])
        speed = best['rows'] / best['cpu']
        table.add(what, level, int(best['rows']), best['text'] / best['rows'],
                  best['packed'] / best['rows'], best['text'] / best['packed'], speed)
        if level == SHIPPED:
            shipped = speed
    return shipped


def part(world):
    table = Table('Compression, one core; level %d is shipped' % SHIPPED, 'rows of', 'level', 'rows',
                  'text B/row', 'gzip B/row', 'ratio', 'rows/s')
    slowest = []
    with Daemon(world) as daemon:
        for name, command in workloads(world).items():
            output = os.path.join(world.folder, 'compress')
            subprocess.run(daemon.command_of('record', '--vfs', '--block', '--compress', 'none',
                                             '--output', output, '--', *command),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            for stream in ('fs', 'ds'):
                path = max(glob.glob(os.path.join(output, stream, '*.csv')), key=os.path.getsize)
                if os.path.getsize(path) > 1 << 18:
                    slowest.append(measure(world, table, '%s, %s' % (name, stream), path))
            shutil.rmtree(output)
    table.show()
    bar('slowest of them', min(slowest, default=None), '>=', 500000.0, ' rows/s')
