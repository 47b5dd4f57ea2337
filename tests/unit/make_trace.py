#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the folder of a trace from the golden rows of all streams, for tests of what reads traces."""
import argparse
import gzip
import json
import os

GOLDEN = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'golden')
FOLDERS = {'vfs': 'fs', 'block': 'ds', 'epoll': 'nw_epoll', 'sockopt': 'nw_sockopt', 'drop': 'nw_drop',
           'iouring': 'iouring', 'net': 'nw', 'conn': 'nw_conn', 'cache': 'cache', 'pagefault': 'pagefault'}
CGROUPS = 'cgroup_id,path,unit,container_id,pod_uid,first_seen,last_seen\n' \
          '77,/system.slice/cron.service,cron.service,,,2023-11-15 22:13:19.000000000,2023-11-15 22:13:21.000000000\n'
LOSS = {'stream': 'vfs', 'cause': 'ring', 'rows': 3, 'from': '2023-11-15 22:13:20.000000000',
        'to': '2023-11-15 22:13:21.000000000'}


def golden(stream, ending):
    with open(os.path.join(GOLDEN, stream + ending), encoding='utf-8', newline='') as file:
        return file.read().splitlines(keepends=True)


def write(folder, name, text, packed):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with (gzip.open if packed else open)(path, 'wb') as file:
        file.write(text.encode())


def rows_of(stream, options):
    """Without those that are 1 in every byte, whose time is far away."""
    header = [] if options.format == 'jsonl' else golden(stream, '.csv')[:1]
    rows = golden(stream, '.jsonl') if options.format == 'jsonl' else golden(stream, '.csv')[1:]
    return header, [row for row in rows if '2023-' in row] * options.times


def segments(folder, stream, options):
    """Two files of a stream: each half of its rows. The second may still be written to."""
    header, rows = rows_of(stream, options)
    half, listed = len(rows) // 2, []
    for number, part in ((1, rows[:half]), (2, rows[half:])):
        name = '%s/%s_%06d.%s' % (FOLDERS[stream], FOLDERS[stream], number, options.format)
        text = ''.join(header + part)
        being_written = options.running and number == 2
        write(folder, name + ('.part' if being_written else '.gz' if options.gzip else ''),
              text + (rows[0][:20] if being_written else ''), options.gzip and not being_written)
        entry = {'stream': stream, 'path': name, 'state': 'open' if being_written else 'closed', 'rows': len(part),
                 'bytes': len(text.encode())}
        if part:
            entry.update(first_mono_ns=0, last_mono_ns=1 << 60)
        listed.append(entry)
    return listed, len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder')
    parser.add_argument('--format', choices=('csv', 'jsonl'), default='csv')
    parser.add_argument('--gzip', action='store_true')
    parser.add_argument('--running', action='store_true')
    parser.add_argument('--times', type=int, default=1, help='each row so often')
    parser.add_argument('--schema', type=int, default=3)
    options = parser.parse_args()
    streams, listed = {}, []
    for stream, folder in FOLDERS.items():
        columns = golden(stream, '.csv')[0].rstrip('\n').split(',')
        entries, rows = segments(options.folder, stream, options)
        lost = LOSS['rows'] if stream == LOSS['stream'] else 0
        streams[stream] = {'folder': folder, 'columns': [{'name': name} for name in columns], 'emitted': rows + lost,
                           'written': rows, 'lost': {'ring': lost, 'names': 0}, 'removed': 0}
        listed += entries
    write(options.folder, 'cgroups/cgroups.csv' + ('.part' if options.running else ''), CGROUPS, False)
    manifest = {'schema_version': options.schema, 'session': 'golden', 'level': 'tracepoint',
                'state': 'running' if options.running else 'ended', 'host': {'name': 'host', 'kernel': '6.1.0'},
                'started': '2023-11-15 22:13:19.000000000', 'streams': streams, 'losses': [LOSS], 'segments': listed}
    if not options.running:
        manifest['ended'] = '2023-11-15 22:13:21.000000000'
    write(options.folder, 'manifest.json', json.dumps(manifest, indent=1), False)


if __name__ == '__main__':
    main()
