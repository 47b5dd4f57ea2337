# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots: files beside find(1) and gzip(1) on one CPU, processes, and the sampler's readings."""
import contextlib
import os
import re
import subprocess

from lib.programs import PATIENCE, Missing
from lib.table import Table, bar, median

FOLDERS, FILES = 1000, 200
PROCESSES = 1000
TICK = 2.5  # seconds between the sampler's readings
# What the columns of a snapshot have, as far as find knows it.
FORMAT = '%p,%y,%s,%B@,%T@,%A@,%i,%D,%n\\n'


def make_tree(folder):
    for number in range(FOLDERS):
        below = os.path.join(folder, 'group-%02d' % (number % 20), 'some_folder_%04d' % number)
        os.makedirs(below)
        for file in range(FILES):
            os.close(os.open(os.path.join(below, 'some_file_name_%04d.txt' % file), os.O_CREAT | os.O_WRONLY))


def run(world, *command):
    """What it printed, and user and system seconds of it and its children."""
    before = os.times()
    done = subprocess.run(['taskset', '-c', str(world.cpu), *map(str, command)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    after = os.times()
    if done.returncode:
        raise Missing(done.stderr.strip() or 'exit %d' % done.returncode)
    return done.stdout, (after.children_user + after.children_system
                         - before.children_user - before.children_system)


def take(world, *arguments):
    output = os.path.join(world.folder, 'snapshot')
    os.makedirs(output, exist_ok=True)
    return run(world, os.path.join(world.build.bench, 'bench_snapshot'), *arguments, output)


def files(world):
    tree = os.path.join(world.folder, 'tree')
    make_tree(tree)
    peers = {'snapshot': lambda: take(world, 'filesystem', tree, 9)}
    for level in (1, 6):
        command = "find '%s' -xdev -printf '%s' | gzip -%d >/dev/null" % (tree, FORMAT, level)
        peers['find -printf | gzip -%d' % level] = lambda command=command: run(world, 'sh', '-c', command)
    rates = {name: [] for name in peers}
    for _ in range(1 + world.rounds):
        for name, peer in peers.items():
            rates[name].append((FOLDERS * (FILES + 1) + 21) / peer()[1])
    table = Table('Files a second of CPU, warm, of one CPU', '', 'least', 'median', 'most')
    for name, found in rates.items():
        table.add(name, min(found[1:]), median(found[1:]), max(found[1:]))
    table.show()
    mine = median(rates['snapshot'][1:])
    bar('files a second', mine, '>=', 200000)
    bar('files a second, over find and gzip -1', mine / median(rates['find -printf | gzip -1'][1:]), '>=', 1.0)


@contextlib.contextmanager
def crowd():
    sleepers = [subprocess.Popen(['sleep', '9999']) for _ in range(PROCESSES)]
    try:
        yield
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()


def processes(world):
    table = Table('Processes, %d and those of the machine' % PROCESSES, '', 'least', 'median', 'most')
    found = []
    with crowd():
        for _ in range(world.rounds):
            said = take(world, 'process')[0]
            found.append([float(one) for one in re.search(
                r'tasks cpu (\S+)\nrows \S+ seconds (\S+) cpu (\S+)', said).groups()])
    readings, wall, cpu = ([1000 * row[i] for row in found] for i in range(3))
    for name, values in (('reading of all tasks, CPU, ms', readings), ('the rest, CPU, ms', cpu),
                         ('the rest, ms', wall)):
        table.add(name, min(values), median(values), max(values))
    table.show()
    bar('snapshot of processes, CPU', median(readings) + median(cpu), '<=', 20.0, ' ms')
    bar('sampler, of one CPU', median(readings) / (1000 * TICK) * 100, '<=', 0.1, ' %')


def part(world):
    files(world)
    processes(world)
