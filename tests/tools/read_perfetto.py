#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""read_perfetto.py IOTRACECTL ENGINE DIR: has Perfetto's own trace processor load what was exported for it, as
ui.perfetto.dev does, and compares what SQL tells of slices, flows and counters with the rows."""
import collections
import json
import os
import random
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'unit'))
import export_trace  # noqa: E402

ROWS = 20000
PIECE_NS = 100_000_000  # bytes a second are the mean of so long
NAMES = ('plain', 'two  words', r'a\x2cb', 'ä', r'\x22quoted\x22', '%s', "it's", '99', 'null', 'x' * 200)
MONO = export_trace.MONO

QUERIES = {
    'complaints': "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
    'slices': """SELECT category, name, ts, dur, EXTRACT_ARG(arg_set_id, 'debug.file'), EXTRACT_ARG(arg_set_id, 'debug.offset'),
        EXTRACT_ARG(arg_set_id, 'debug.bytes done') FROM slice""",
    'threads': """SELECT pid, tid, thread.name, COUNT(*) FROM slice JOIN thread_track ON track_id = thread_track.id
        JOIN thread USING (utid) JOIN process USING (upid) GROUP BY 1, 2, 3""",
    'overlaps': """SELECT COUNT(*) FROM (SELECT ts, MAX(ts + dur) OVER (PARTITION BY track_id ORDER BY ts, id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM slice) WHERE ts < reached""",
    'flows': """SELECT call.ts, request.ts FROM flow JOIN slice AS call ON slice_out = call.id
        JOIN slice AS request ON slice_in = request.id WHERE call.category = 'vfs' AND request.category = 'block'""",
    'counters': """SELECT counter_track.name, ts, CAST(value AS INT) FROM counter
        JOIN counter_track ON track_id = counter_track.id ORDER BY counter.id""",
}


def rows(chance):
    """Calls of some threads, also at the same time, and requests of two disks, of which every second one is of a call."""
    vfs, block = [], []
    for number in range(ROWS):
        begin, pid = MONO + chance.randrange(3 * 10 ** 9), chance.randrange(1, 5)
        where = {'pid': str(pid), 'tid': str(10 * pid + chance.randrange(3)), 'command': 'ab%d' % pid}
        operation = chance.choice(('READ', 'WRITE', 'FSYNC'))
        flow = {'flow': str(number + 1)} if number % 2 else {}
        moved = {} if operation == 'FSYNC' else {'size': '8192', 'offset': str(chance.randrange(1 << 50)),
                                                 'bytes_completed': str(chance.randrange(1, 8192))}
        vfs.append({**where, **moved, **flow, 'operation': operation, 'mono_ns': str(begin), 'filename': '/' + chance.choice(NAMES),
                    'latency_ns': str(chance.randrange(1, 10 ** 7))})
        if number % 4 > 1:
            continue
        block.append({**where, **flow, 'operation': chance.choice(('READ', 'WRITE')), 'size': str(512 * chance.randrange(1, 100)),
                      'sector': str(chance.randrange(1 << 30)), 'disk': chance.choice(('sda', 'sdb')),
                      'mono_ns': str(begin + 1 + number % 7), 'latency_ms': '%.6f' % (chance.randrange(1, 5 * 10 ** 6) / 1e6),
                      'queue_latency_ms': '%.6f' % (chance.randrange(1000) / 1e6)})
    return vfs, block


def name_of(text):
    """A name as it was before bytes of it became escapes of CSV, for which the format has no need."""
    return re.sub(r'\\x([0-9a-f]{2})', lambda byte: chr(int(byte[1], 16)), text)


def took(row):
    if 'latency_ns' in row:
        return int(row['latency_ns'])
    return sum(round(float(row[name]) * 1e6) for name in ('latency_ms', 'queue_latency_ms'))


def slices_of(vfs, block):
    made = [('vfs', row['operation'], int(row['mono_ns']), took(row), name_of(row['filename']), int(row['offset'])
             if 'offset' in row else None, int(row['bytes_completed']) if 'offset' in row else None) for row in vfs]
    made += [('block', row['operation'], int(row['mono_ns']), took(row), None, int(row['sector']) * 512, int(row['size']))
             for row in block]
    return collections.Counter(made)


def counters_of(block):
    """The depth after each change; bytes a second after each tenth of a second with another."""
    told = {}
    for disk in ('sda', 'sdb'):
        mine = [row for row in block if row['disk'] == disk]
        changes = collections.Counter()
        for row in mine:
            changes[int(row['mono_ns'])] += 1
            changes[int(row['mono_ns']) + took(row)] -= 1
        depth, depths = 0, {}
        for at, change in sorted(changes.items()):
            depth += change
            depths[at] = depth
        told[disk + ' queue depth'] = depths
        for word in ('READ', 'WRITE'):
            pieces = collections.Counter()
            for row in mine:
                if row['operation'] == word:
                    pieces[(int(row['mono_ns']) + took(row)) // PIECE_NS] += int(row['size'])
            told['%s %s per second' % (disk, word.lower())] = {
                piece * PIECE_NS: size * (10 ** 9 // PIECE_NS) for piece, size in pieces.items()}
    return told


def ask(engine, path):
    script = os.path.join(HERE, 'perfetto_sql.mjs')
    done = subprocess.run(['node', script, engine, path], input=json.dumps(list(QUERIES.values())), text=True, capture_output=True,
                          timeout=120, check=False)
    if done.returncode:
        raise ValueError(done.stderr)
    return dict(zip(QUERIES, json.loads(done.stdout)))


def differ(what, got, wanted):
    if got != wanted:
        here = list((got - wanted).items())[:3], list((wanted - got).items())[:3]
        raise ValueError('%s: only there %s, only in the rows %s' % (what, *here))


def check(client, engine, folder):
    vfs, block = rows(random.Random(1))
    path = os.path.join(folder, 'trace.perfetto')
    client.run(0, 'export', export_trace.make(os.path.join(folder, 'exported'), vfs=vfs, block=block), path, '--perfetto')
    got = ask(engine, path)
    if got['complaints'] or got['overlaps'] != [[0]]:
        raise ValueError('it complains of %s; %s slices overlap' % (got['complaints'], got['overlaps']))
    differ('slices', collections.Counter((*one[:5], *(None if value is None else int(value) for value in one[5:]))
                                         for one in got['slices']), slices_of(vfs, block))
    threads = collections.Counter((int(row['pid']), int(row['tid']), row['command']) for row in vfs)
    differ('threads', collections.Counter({tuple(one[:3]): one[3] for one in got['threads']}), threads)
    calls = {row['flow']: int(row['mono_ns']) for row in vfs if 'flow' in row}
    differ('flows', collections.Counter(map(tuple, got['flows'])),
           collections.Counter((calls[row['flow']], int(row['mono_ns'])) for row in block if 'flow' in row))
    counters = collections.defaultdict(dict)
    for name, at, value in got['counters']:
        counters[name][at] = value  # what comes last at a time is what holds
    for name, wanted in counters_of(block).items():
        # Where nothing was done, a rate of 0 is told.
        mine = {at: value for at, value in counters.pop(name).items() if value or 'depth' in name}
        differ(name, collections.Counter(mine), collections.Counter(wanted))
    if counters:
        raise ValueError('there are other counters: %s' % list(counters))


def main():
    program, engine, folder = sys.argv[1:]
    what, begin = 'every slice, flow and counter', time.monotonic()
    try:
        check(export_trace.Client(program), engine, folder)
        print('ok tools.perfetto: %s (%.1f s)' % (what, time.monotonic() - begin))
    except (AssertionError, ValueError, KeyError) as error:
        print('not ok tools.perfetto: %s\n# %s' % (what, str(error)[:600].replace('\n', '\n# ')))


if __name__ == '__main__':
    main()
