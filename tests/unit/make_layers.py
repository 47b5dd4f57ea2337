#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the folder of a trace in which each byte passes several layers: calls, io_uring, pages, a disk made of another, and that.
Usage: make_layers.py FOLDER [STREAM...]"""
import json
import os
import sys

GOLDEN = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'golden')
FOLDERS = {'vfs': 'fs', 'block': 'ds', 'iouring': 'iouring', 'cache': 'cache'}
MIB = 1 << 20
BEGIN_NS = 10**9


def columns_of(stream):
    with open(os.path.join(GOLDEN, stream + '.csv'), encoding='utf-8') as file:
        return file.readline().rstrip('\n').split(',')


def rows():
    """Stream, operation, command, and what else the row has. A work reads and writes 2 MiB of a file, of which 1 MiB is of
    io_uring, and copies a further MiB of a file to another; the latter is written back by the kernel."""
    for name in ('READ', 'WRITE'):
        for turn in range(2):
            yield 'vfs', name, 'work', {'filename': '/srv/a', 'size': MIB, 'bytes_completed': MIB, 'latency_ns': 500,
                                        'errno': 0, 'fs_type': 'ext4'}
        for disk, leaf in (('dm-0', 0), ('sda', 1)):
            yield 'block', name, 'work', {'filename': '/srv/a', 'size': 2 * MIB, 'disk': disk, 'latency_ms': '7.000000',
                                          'device': '252:000' if leaf == 0 else '8:000', 'leaf': leaf, 'error': 0}
    yield 'iouring', 'READ', 'work', {'filename': '/srv/a', 'length': MIB, 'result': MIB, 'latency_ms': '0.001000'}
    yield 'vfs', 'COPY_FILE_RANGE', 'work', {'filename': '/srv/c', 'size': MIB, 'bytes_completed': MIB, 'latency_ns': 0,
                                             'errno': 0}
    yield 'vfs', 'READDIR', 'work', {'filename': '/srv', 'size': 4096, 'bytes_completed': 4000, 'latency_ns': 1, 'errno': 0}
    for name in ('HIT', 'DIRTY', 'WRITEBACK_START', 'WRITEBACK_END', 'EVICT'):
        yield 'cache', name, 'work', {'filename': '/srv/a', 'count': 2 * MIB // 4096, 'inode': 5, 'flow': 1}
    yield 'block', 'WRITE', 'kworker/u4:1', {'filename': '/srv/b', 'size': MIB, 'disk': 'sda', 'device': '8:000', 'leaf': 1,
                                             'latency_ms': '0.500000', 'error': 0, 'pid': 9}


def main():
    folder, wanted = sys.argv[1], sys.argv[2:] or list(FOLDERS)
    streams, segments = {}, []
    for stream in wanted:
        columns, lines = columns_of(stream), []
        for of, operation, command, more in rows():
            row = {'timestamp': '2026-11-20 10:00:00.000000000', 'operation': operation, 'pid': 7, 'tid': 7, 'command': command,
                   'ppid': 1, 'uid': 0, 'cgroup_id': 3, 'cpu_id': 0, 'mono_ns': BEGIN_NS, **more}
            if of == stream:
                lines.append(','.join(str(row.get(name, '')) for name in columns))
        name = f'{FOLDERS[stream]}/{FOLDERS[stream]}_000001.csv'
        text = '\n'.join([','.join(columns), *lines, ''])
        os.makedirs(os.path.join(folder, FOLDERS[stream]))
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(text)
        streams[stream] = {'folder': FOLDERS[stream], 'columns': [{'name': one} for one in columns], 'emitted': len(lines),
                           'written': len(lines), 'lost': {}, 'removed': 0}
        segments.append({'stream': stream, 'path': name, 'state': 'closed', 'rows': len(lines), 'bytes': len(text),
                         'first_mono_ns': BEGIN_NS, 'last_mono_ns': BEGIN_NS})
    manifest = {'schema_version': 3, 'session': 'layers', 'level': 'tracepoint', 'state': 'ended',
                'host': {'name': 'host', 'kernel': '6.1.0'}, 'started': '2026-11-20 10:00:00.000000000',
                'ended': '2026-11-20 10:00:01.000000000', 'streams': streams, 'segments': segments}
    with open(os.path.join(folder, 'manifest.json'), 'w', encoding='utf-8') as file:
        json.dump(manifest, file)


if __name__ == '__main__':
    main()
