# SPDX-License-Identifier: GPL-2.0-or-later
"""Compression of closed files, from disk to disk: CPU and bytes of a row, for real rows."""
import glob
import os
import shutil
import subprocess

from lib.daemon import Daemon
from lib.programs import Missing
from lib.table import Table, bar, note

SHIPPED = 1  # COMPRESS_LEVEL of daemon/pipeline/storage/compress.h
LEVELS = (0, SHIPPED, 2, 3)
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
    """CPU of a row at the level that is shipped, in ns."""
    shipped = None
    for level in LEVELS:
        runs = [squeeze(world, level, path) for _ in range(3)]
        best = min(runs, key=lambda run: run['cpu'])
        cost = 1e9 * best['cpu'] / best['rows']
        table.add(what, level, int(best['rows']), best['text'] / best['rows'],
                  best['packed'] / best['rows'], best['text'] / best['packed'], cost, 1e9 * best['wall'] / best['rows'])
        if level == SHIPPED:
            shipped = cost
    return shipped


def part(world):
    table = Table('Compression, one core; level %d is shipped' % SHIPPED, 'rows of', 'level', 'rows',
                  'text B/row', 'gzip B/row', 'ratio', 'CPU, ns/row', 'in all, ns/row')
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
    bar('CPU of a row, slowest of them, with read, SHA-256 and write', max(slowest, default=None), '<=', 300.0, ' ns')
