#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a trace of vfs of ten seconds: reads, writes and a few fsyncs by three commands, the same for the same seed."""
import argparse
import json
import os
import random

GOLDEN = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'golden', 'vfs.csv')
SECOND = 10**9
BEGIN = 5 * SECOND


def row(columns, values):
    begin = values.pop('begin')
    seconds, part = divmod(begin - BEGIN, SECOND)
    cells = {'timestamp': '2026-11-20 10:00:%02d.%09d' % (seconds, part), 'mono_ns': begin, 'errno': 0, 'return_value': 0, 'ppid': 1,
             'uid': 0, 'cgroup_id': 7, 'cpu_id': 0, 'device': '254:001', **values}
    return ','.join(str(cells.get(name, '')) for name in columns)


def rows(columns, options):
    chance = random.Random(options.seed)
    kinds = [('READ', options.reads, 9.0, 'reader'), ('WRITE', 2000, 10.0, 'writer'), ('FSYNC', options.syncs, 14.0, 'writer')]
    if options.extra:
        kinds.append(('UNLINK', 500, 9.0, options.extra))
    for number, (operation, count, scale, command) in enumerate(kinds):
        for _ in range(count):
            latency = chance.lognormvariate(scale, 0.8) * (options.slower if operation == 'READ' else 1)
            failed = operation == 'WRITE' and chance.random() < options.errors
            yield row(columns, {'begin': BEGIN + chance.randrange(10 * SECOND), 'operation': operation, 'pid': 100 * options.seed + number,
                                'tid': 1, 'command': command, 'latency_ns': int(latency), 'errno': 28 if failed else 0,
                                'filename': '/srv/%s/%d' % (command, chance.randrange(4))})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder')
    parser.add_argument('--seed', type=int, required=True)
    parser.add_argument('--reads', type=int, default=5000)
    parser.add_argument('--slower', type=float, default=1, help='reads take so many times as long')
    parser.add_argument('--errors', type=float, default=0.01, help='share of writes that fail')
    parser.add_argument('--syncs', type=int, default=20)
    parser.add_argument('--lost', type=int, default=0, help='so many rows more were lost')
    parser.add_argument('--extra', help='a command that removes files')
    options = parser.parse_args()
    with open(GOLDEN, encoding='utf-8') as file:
        columns = file.readline().rstrip('\n').split(',')
    lines = sorted(rows(columns, options))
    text = '\n'.join([','.join(columns), *lines, ''])
    os.makedirs(os.path.join(options.folder, 'fs'))
    with open(os.path.join(options.folder, 'fs/fs_000001.csv'), 'w', encoding='utf-8') as file:
        file.write(text)
    stream = {'folder': 'fs', 'columns': [{'name': name} for name in columns], 'emitted': len(lines) + options.lost,
              'written': len(lines), 'lost': {'queue': options.lost}, 'removed': 0}
    segment = {'stream': 'vfs', 'path': 'fs/fs_000001.csv', 'state': 'closed', 'rows': len(lines), 'bytes': len(text),
               'first_mono_ns': 0, 'last_mono_ns': 1 << 60}
    losses = [{'stream': 'vfs', 'cause': 'queue', 'rows': options.lost, 'from': '2026-11-20 10:00:01.000000000',
               'to': '2026-11-20 10:00:02.000000000'}] if options.lost else []
    manifest = {'schema_version': 3, 'session': 'compared', 'level': 'tracepoint', 'state': 'ended', 'host': {'kernel': '6.1.0'},
                'started': '2026-11-20 10:00:00.000000000', 'ended': '2026-11-20 10:00:10.000000000', 'streams': {'vfs': stream},
                'segments': [segment], 'losses': losses,
                'definition': {'streams': ['vfs'], 'commands': [options.extra] if options.extra else []}}
    with open(os.path.join(options.folder, 'manifest.json'), 'w', encoding='utf-8') as file:
        json.dump(manifest, file)


if __name__ == '__main__':
    main()
