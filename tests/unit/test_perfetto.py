#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""iotracectl export --perfetto: slices, tracks, counters and flows are those of the rows, in bounded memory.

Usage: test_perfetto.py IOTRACECTL"""
import os
import random
import re
import sys
import tempfile

sys.dont_write_bytecode = True

import export_trace  # noqa: E402
import perfetto_reader  # noqa: E402
from export_trace import MONO, make  # noqa: E402

NAMES_MAX, TRACKS_MAX, LANES_MAX, DISKS_MAX, BOOTTIME, REALTIME = 1 << 16, 1 << 16, 4096, 1024, 6, 1
ROWS_THAT_FILL = 220_000  # the window in which rows are put in order
MOST_MEMORY, MORE_MEMORY = 160 << 10, 24 << 10  # KiB, and by how much three times the rows may take more


def plain(cell):
    """A name as it was before it was written into CSV."""
    return cell and re.sub(r'\\x([0-7][0-9a-f])', lambda match: chr(int(match[1], 16)), cell)


def equal(got, wanted, what):
    assert got == wanted, '%s: %r, and not %r' % (what, got, wanted)


def rows_of(chance):
    vfs = [{'operation': chance.choice(('READ', 'WRITE', 'OPEN', 'FSYNC')), 'pid': str(chance.randrange(1, 4)),
            'tid': str(chance.randrange(1, 9)), 'size': str(chance.randrange(1, 100000)), 'offset': str(chance.randrange(1 << 50)),
            'bytes_completed': str(chance.randrange(1, 100000)), 'errno': chance.choice('00005'),
            'latency_ns': str(chance.choice((0, chance.randrange(10 ** 6)))), 'filename': chance.choice(('', '/srv/\u00e9', r'/a\x2cb')),
            'flow': chance.choice(('', str(chance.randrange(1, 50)))), 'mono_ns': str(MONO + chance.randrange(10 ** 8))}
           for _ in range(3000)]
    block = [{'operation': chance.choice(('READ', 'WRITE', 'FLUSH')), 'pid': str(chance.randrange(1, 4)),
              'sector': str(chance.randrange(1 << 40)), 'size': str(512 * chance.randrange(1, 100)),
              'disk': 'sd' + chance.choice('abc'), 'error': chance.choice('0005'), 'latency_ms': '%.6f' % (5 * chance.random()),
              'queue_latency_ms': '%.6f' % chance.random(), 'flow': chance.choice(('', str(chance.randrange(1, 50)))),
              'mono_ns': str(MONO + chance.choice((0, 2 * 10 ** 9)) + chance.randrange(3 * 10 ** 8))} for _ in range(2000)]
    net = [{'operation': 'SEND', 'size': '10', 'bytes_completed': '7', 'latency_ns': '1000', 'error_code': '0', 'tid': '1',
            'pid': '1', 'mono_ns': str(MONO + 10 ** 7 * i)} for i in range(10)]
    return {'vfs': vfs, 'block': block, 'net': net}


def number(text):
    return int(text or 0)


def wanted_of(streams):
    wanted = []
    for stream, rows in streams.items():
        for row in rows:
            disk = stream == 'block'
            took = sum(round(float(row[name]) * 1e6) for name in ('queue_latency_ms', 'latency_ms')) if disk else \
                number(row['latency_ns'])
            failed = row.get('errno', row.get('error', row.get('error_code'))) != '0'
            arguments = {'file': plain(row.get('filename')), 'bytes asked for': number(row['size']), 'failed': int(failed),
                         'bytes done': 0 if failed else number(row.get('bytes_completed', row['size']))}
            if disk:
                arguments.update(pid=number(row['pid']))
            arguments = {key: value for key, value in arguments.items() if value}
            if stream != 'net':
                arguments['offset'] = number(row['sector']) * 512 if disk else number(row['offset'])
            wanted.append((row['disk'] if disk else (number(row['pid']), number(row['tid'])), number(row['mono_ns']),
                           number(row['mono_ns']) + took, stream, row['operation'], sorted(arguments.items()),
                           row.get('flow') or None))
    return wanted


def slices(module, client, work):
    """Each row is a slice on the track that it is of, however they overlap, with its arguments; and flows join the same."""
    streams = rows_of(random.Random(2))
    out = os.path.join(work, 'out')
    trace = make(os.path.join(work, 'trace'), cache=[{'operation': 'HIT'}], **streams)
    document = client.json('export', trace, out, '--perfetto')
    with open(out, 'rb') as file:
        reading = perfetto_reader.Reading(module, file.read())
    wanted = wanted_of(streams)
    equal(len(reading.slices), len(wanted), 'slices')
    by_flow = {}
    # What begins and ends at the same time on one track stands in any order.
    key = lambda one: (str(one[0]), *one[1:5], str(one[5]), bool(one[6]))  # noqa: E731
    found = [(one.track, one.begin, one.end, one.category, one.name, sorted(one.arguments.items()),
              one.flows[0] if one.flows else None) for one in reading.slices]
    for got, real in zip(sorted(found, key=key), sorted(wanted, key=key)):
        equal(got[:6], real[:6], 'slice')
        equal(bool(got[6]), bool(real[6]), 'flow')
        if real[6]:
            by_flow.setdefault(real[6], set()).add(got[6])
    assert all(len(numbers) == 1 for numbers in by_flow.values()), by_flow
    equal(len(set.union(*by_flow.values())), len(by_flow), 'flows')
    counters(reading, streams['block'])
    equal(reading.clocks[BOOTTIME], min(one.begin for one in reading.slices), 'time of the trace')
    equal(reading.clocks[REALTIME], 1700086400 * 10 ** 9, 'time of the day')
    equal({name: one['rows'] for name, one in document['operations'].items()},
          {name: len(rows) for name, rows in streams.items()}, 'rows')
    equal(document['operations']['vfs']['bytes'], sum(number(row['bytes_completed']) for row in streams['vfs'] if row['errno'] == '0'),
          'bytes')
    equal({track.thread.thread_name for track in reading.tracks.values() if track.HasField('thread')}, {'cat'}, 'threads')


def counters(reading, rows):
    for disk in ('sda', 'sdb', 'sdc'):
        own = [row for row in rows if row['disk'] == disk]
        depth, level = [], 0
        begins = [one.begin for one in reading.slices if one.track == disk]
        ends = [one.end for one in reading.slices if one.track == disk]
        # An end comes before a begin at the same time.
        for time, step in sorted([(time, 1) for time in begins] + [(time, -1) for time in ends]):
            level += step
            depth.append((time, level))
        equal(reading.counters[disk + ' queue depth'], depth, 'queue depth')
        for word in ('read', 'write'):
            values = reading.counters['%s %s per second' % (disk, word)]
            done = sum(number(row['size']) for row in own if row['operation'].lower() == word and row['error'] == '0')
            equal(perfetto_reader.transferred(values), done, 'bytes of %s' % word)
            equal(values[-1][1], 0, 'at the end')
            assert any(value == 0 for _, value in values[:-1]), 'nothing between two times'


def many(module, client, work):
    """More names, threads and overlapping operations than are known at once."""
    rows = ({'filename': '/f%d' % i, 'tid': str(i), 'pid': str(i // 2), 'latency_ns': '10', 'size': '1', 'bytes_completed': '1'}
            for i in range(2 * NAMES_MAX + 100))
    out = os.path.join(work, 'many.out')
    client.json('export', make(os.path.join(work, 'many'), vfs=rows), out, '--perfetto')
    with open(out, 'rb') as file:
        reading = perfetto_reader.Reading(module, file.read())
    equal([(one.arguments['file'], one.track) for one in reading.slices],
          [('/f%d' % i, (i // 2, i)) for i in range(2 * NAMES_MAX + 100)], 'slices')
    equal(reading.sequences[1].cleared, 3, 'how often names were forgotten')
    for name, what, streams in (
            ('lanes', 'more than %d operations' % LANES_MAX,
             {'vfs': ({'latency_ns': str(10 ** 12)} for _ in range(LANES_MAX + 1))}),
            ('disks', 'more than %d disks' % DISKS_MAX, {'block': ({'disk': 'd%d' % i} for i in range(DISKS_MAX + 1))}),
            ('threads', 'more than %d threads' % TRACKS_MAX,
             {'vfs': ({'tid': str(i), 'latency_ns': str(10 ** 12)} for i in range(TRACKS_MAX + 1))})):
        err = client.run(1, 'export', make(os.path.join(work, name), **streams), os.path.join(work, 'none'), '--perfetto')[1]
        assert what in err, err
    strange = [{'mono_ns': str((1 << 64) - 2)}, {'latency_ns': str((1 << 64) - 1), 'pid': str((1 << 64) - 1)},
               {'filename': '/' + '\u00e9' * 5000 + '\x1b', 'command': '', 'operation': 'x' * 10000}]
    client.run(0, 'export', make(os.path.join(work, 'strange'), vfs=strange), os.path.join(work, 'strange.out'), '--perfetto')
    with open(os.path.join(work, 'strange.out'), 'rb') as file:
        equal(len(perfetto_reader.Reading(module, file.read()).slices), 3, 'slices')
    assert os.listdir(work).count('none') == 0


def memory(_, client, work):
    """What is held does not grow with the trace, whatever new is in it."""
    with open(client.program, 'rb') as file:
        if b'__asan_init' in file.read():
            return  # AddressSanitizer keeps what was freed
    most = []
    for times in (1, 3):
        rows = ({'filename': '/folder/file-%d' % i, 'tid': str(i % 100000), 'pid': str(i % 50000), 'latency_ns': '10', 'size': '1',
                 'bytes_completed': '1', 'flow': str(i)} for i in range(times * ROWS_THAT_FILL))
        trace = make(os.path.join(work, 'memory%d' % times), vfs=rows)
        most.append(client.memory('export', trace, os.path.join(work, 'memory%d.out' % times), '--perfetto'))
    assert most[1] < min(MOST_MEMORY, most[0] + MORE_MEMORY), 'KiB for %d rows and three times as many: %s' % (ROWS_THAT_FILL, most)


def main():
    module = perfetto_reader.decoder()
    client = export_trace.Client(sys.argv[1])
    for test in (slices, many, memory):
        with tempfile.TemporaryDirectory() as work:
            if module:
                test(module, client, work)


main()
