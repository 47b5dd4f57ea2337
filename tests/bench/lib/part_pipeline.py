# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows from a ring to CSV files without BPF: how many a second, and where their time goes."""
import contextlib
import functools
import glob
import os
import re
import shutil
import subprocess

from lib import part_compress, tracers
from lib.daemon import Daemon
from lib.part_row import Variant, measure, show
from lib.programs import Missing
from lib.table import Table, bar, note

ROWS = 6000000  # of all sessions together
SESSIONS = (1, 8, 64)
MANY = 8  # sessions whose cost is held against that of one
REJECTING = 64
# Stage of a sample of the profile, by its symbol; the first pattern that matches.
STAGES = (
    ('checksum', r'XXH'),
    ('kernel, above all write(2)', r'\[k\]'),
    ('CSV', r'csv_|cells_|cell_|format_|digits_|write_(cells|file|result|new_result)|fill_|keep_(task|columns|flags)'),
    ('ring, names, router', r'ring_read|read_record|router_|describe_|names?_|table_|take_row|resolve|count$'),
    ('queue', r'queue_|runs_|shared_'),
    ('writer', r'sink_|writer_|write_|accept_|segment_'),
    ('copies', r'mem(move|cpy|pcpy)'),
)


OWN = ('kernel, above all write(2)', 'checksum')  # what no two sessions can share, as each has files of its own


def program(world):
    return os.path.join(world.build.bench, 'bench_pipeline')


def command(world, sessions):
    return [program(world), '--rows', str(ROWS // sessions), '--sessions', str(sessions), '--folder', world.folder]


def run(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing((done.stderr.strip().splitlines() or ['exit %d' % done.returncode])[-1])
    found = done.stdout.split()
    return dict(zip(found[::2], map(float, found[1::2])))


def rates(world):
    table = Table('From ring to CSV, all sessions wanting every row; best of %d runs' % world.repeats, 'sessions',
                  'rows/s', 'and closed', 'lost', 'B/row', 'consumer, ns/row', 'writers', 'both')
    best = {}
    for sessions in SESSIONS:
        runs = [run(command(world, sessions)) for _ in range(world.repeats)]
        one = best[sessions] = max(runs, key=lambda found: found['rate'])
        table.add(str(sessions), one['rate'], one['closed'], int(max(found['lost'] for found in runs)), one['bytes'],
                  one['consumer'], one['writers'], one['consumer'] + one['writers'])
    table.show()
    for sessions in SESSIONS:
        bar('rows a second to files, %d sessions' % sessions, best[sessions]['rate'], '>=', 3e6)
    bar('CPU of a row from ring to closed file with its checksum', both(best[1]), '<=', 250.0, ' ns')
    bar('CPU of a row that %d sessions want, over that of one session' % MANY, MANY * both(best[MANY]) / both(best[1]),
        '<=', 1.3)


def both(found):
    """CPU time in ns of a row in one session."""
    return found['consumer'] + found['writers']


def compressed(world):
    """All of a row's way: of the best run, and of the file that the last one left."""
    found = min((run([*command(world, 1), '--keep']) for _ in range(world.repeats)), key=both)
    folder = os.path.join(world.folder, 'bench_pipeline')
    path, = glob.glob(os.path.join(folder, '*', 'fs', '*.csv'))
    packed = min((part_compress.squeeze(world, part_compress.SHIPPED, path) for _ in range(world.repeats)),
                 key=lambda one: one['cpu'])
    shutil.rmtree(folder)
    own, more = both(found), 1e9 * packed['cpu'] / packed['rows']
    table = Table('From ring to compressed file, one session, CPU', 'ring to closed file, ns/row', 'compression', 'ratio',
                  'both')
    table.add('%.1f' % own, more, packed['text'] / packed['packed'], own + more)
    table.show()
    bar('CPU of a row from ring to compressed file', own + more, '<=', 550.0, ' ns')


def stage_of(line):
    return next((stage for stage, pattern in STAGES if re.search(pattern, line)), 'other')


def profile(world, sessions):
    """CPU time in ns of each stage, of a row in one session."""
    data, shares = os.path.join(world.folder, 'pipeline.data'), {}
    found = run(['perf', 'record', '-q', '-e', 'cpu-clock', '-F', '4000', '-o', data, *command(world, sessions)])
    lines = subprocess.run(['perf', 'report', '-i', data, '--stdio', '--no-children', '--sort', 'symbol'],
                           capture_output=True, text=True, check=False).stdout
    for share, line in re.findall(r'^ +([0-9.]+)% +(\[.*)$', lines, re.M):
        stage = stage_of(line)
        shares[stage] = shares.get(stage, 0) + float(share)
    return {stage: share / 100 * both(found) for stage, share in shares.items()}


def profiles(world):
    if not shutil.which('perf'):
        note('perf is not installed: no profile')
        return
    one, many = profile(world, 1), profile(world, MANY)
    total = sum(one.values())
    table = Table('%d sessions over 1: where the time of a row goes, ns' % MANY, '', '1 session', '%d, each' % MANY,
                  'over 1')
    for stage in sorted(one, key=one.get, reverse=True):
        table.add(stage, one[stage], many.get(stage, 0.0), MANY * many.get(stage, 0.0) / one[stage])
    table.add('all', total, sum(many.values()), MANY * sum(many.values()) / total)
    table.show()
    own = sum(many.get(stage, 0.0) for stage in OWN)
    note('%s, which each session has for bytes of its own: %.1f ns; %d times that over all of one: %.2f' %
         (' and '.join(OWN), own, MANY, MANY * own / total))


@contextlib.contextmanager
def rejecting(daemon):
    """Sessions of the event that filter by a process which makes none."""
    with contextlib.ExitStack() as sessions:
        for number in range(REJECTING):
            sessions.enter_context(daemon.session('--vfs', '--pid', str(1 + number % 2)))
        yield []


def rejected(world):
    with Daemon(world) as daemon:
        variants = [Variant('untraced', tracers.nothing),
                    Variant('empty pair', functools.partial(tracers.empty_programs, world, 'tracepoint')),
                    Variant('rejected', functools.partial(rejecting, daemon))]
        measure(world, variants)
    added = show('An event that the filters of %d sessions reject: pread of 1 byte' % REJECTING, variants)
    cost = added.get('rejected')
    bar('events a second of one CPU, their calls not counted, rejected by %d sessions' % REJECTING,
        1e9 / cost if cost else None, '>=', 3e6)


def part(world):
    rates(world)
    compressed(world)
    profiles(world)
    rejected(world)
