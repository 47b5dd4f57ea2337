#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""iotracectl export: what it writes of given rows, what it refuses, and what it leaves behind.

Usage: test_export.py IOTRACECTL"""
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import export_trace  # noqa: E402
from export_trace import MONO, make  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
FIO_HEAD, FIO_NAME_MAX, FIO_FILES_MAX, FIO_OPEN_MAX = 'fio version 3 iolog\n', 255, 1 << 18, 256
OTF2_OPEN_MAX, OTF2_TRACKS_MAX = 1024, 1 << 14


def equal(got, wanted, what):
    assert got == wanted, '%s: %r, and not %r' % (what, got, wanted)


def fio_of(client, work, name, *options, **streams):
    """The lines of a log, without its first, and the document."""
    out = os.path.join(work, name + '.log')
    document = client.json('export', make(os.path.join(work, name), **streams), out, '--fio', *options)
    with open(out, encoding='utf-8') as file:
        text = file.read()
    assert text.startswith(FIO_HEAD), text[:100]
    equal(document['bytes'], len(text.encode()), 'bytes')
    return text[len(FIO_HEAD):].splitlines(), document


def read(offset, size, **columns):
    return {'offset': str(offset), 'size': '70000', 'bytes_completed': str(size), **columns}


def fio_lines(client, work):
    """Each operation with its time, in the order in which they began; what cannot be replayed is counted."""
    rows = [read(4096, 100, mono_ns=str(MONO + 5_000_000)), read(0, 7, operation='WRITE', filename='/srv/b'),
            read(8, 9, operation='DIO_WRITE', mono_ns=str(MONO + 2_500)),
            read(8, 10, operation='DIO_READ', mono_ns=str(MONO + 3_999)),
            {'operation': 'FSYNC', 'mono_ns': str(MONO + 4_000)}, {'operation': 'FDATASYNC', 'mono_ns': str(MONO + 6_000_000)},
            {'operation': 'OPEN'}, {'operation': 'CLOSE'}, {'offset': '0', 'size': '5', 'errno': '5'}, read(0, 0),
            read('', 5), read(0, 5, filename=''), read(0, 5, filename='pipe:[7]'), read(0, 1 << 32)]
    lines, document = fio_of(client, work, 'lines', vfs=rows)
    equal(lines, ['1 /srv/b add', '1 /srv/b open', '1 /srv/b write 0 7', '2 /srv/file add', '2 /srv/file open',
                  '2 /srv/file write 8 9', '3 /srv/file read 8 10', '4 /srv/file sync 0 0', '5000 /srv/file read 4096 100',
                  '6000 /srv/file datasync 0 0', '6000 /srv/b close', '6000 /srv/file close'], 'lines')
    equal(document['operations'], {'read': {'rows': 2, 'bytes': 110}, 'write': {'rows': 2, 'bytes': 16},
                                   'sync': {'rows': 1, 'bytes': 0}, 'datasync': {'rows': 1, 'bytes': 0},
                                   'trim': {'rows': 0, 'bytes': 0}}, 'operations')
    equal((document['rows'], document['files'], list(document['left_out'].values())), (14, 2, [2, 2, 4]), 'counts')


def fio_disks(client, work):
    rows = [{'sector': '8', 'size': '4096'}, {'operation': 'WRITE', 'sector': '0', 'size': '512', 'disk': 'cciss!c0d0'},
            {'operation': 'DISCARD', 'sector': '16', 'size': '1024'}, {'operation': 'FLUSH', 'size': '0'},
            {'sector': '0', 'size': '512', 'error': '5'}, {'sector': str(1 << 60), 'size': '512'},
            *({'sector': '0', 'size': '512', 'disk': disk} for disk in (
                '../etc/passwd', '..!etc!passwd', 'x!..!..!etc!passwd', r'\x2e\x2e!etc!passwd', r'x\x2f..\x2f..\x2fetc\x2fpasswd', 'a!.!b',
                r'x\x21..\x21..\x21etc', r'a\x00b', '!etc', 'a!'))]
    lines, document = fio_of(client, work, 'disks', '--trim', block=rows)
    equal([line for line in lines if line.split()[2] not in ('add', 'open', 'close')],
          ['1 /dev/sda read 4096 4096', '2 /dev/cciss/c0d0 write 0 512', '3 /dev/sda trim 8192 1024', '4 /dev/sda sync 0 0'],
          'lines')
    equal(list(document['left_out'].values()), [0, 1, 11], 'left out')
    # Without the option there are none, as the fio of Debian 12 does not do them.
    lines = client.run(0, 'export', os.path.join(work, 'disks'), '-', '--fio')
    assert ' trim ' not in lines[0] and '1 rows, discards, which fio 3.33' in lines[1], lines
    only = make(os.path.join(work, 'trims'), block=[rows[2]])
    assert '--trim' in client.run(1, 'export', only, os.path.join(work, 'trims.log'), '--fio')[1]
    equal(client.json('export', only, os.path.join(work, 'trims.log'), '--fio', '--trim')['operations']['trim'],
          {'rows': 1, 'bytes': 1024}, 'discards')
    # fio cannot open a folder, which databases synchronise.
    lines, document = fio_of(client, work, 'folder', vfs=[read(0, 5), {'operation': 'FSYNC', 'filename': '/srv'}, {'operation': 'FSYNC'}])
    equal((len(lines), document['files'], document['left_out']['folders and files that are only synchronised']), (5, 1, 1), 'folder')
    both = make(os.path.join(work, 'both'), vfs=[read(0, 5)], block=rows)
    equal(client.json('export', both, os.path.join(work, 'v'), '--fio')['rows'], 1, 'rows of vfs, which is taken first')
    equal(client.json('export', both, os.path.join(work, 'b'), '--fio', '--block')['rows'], 16, 'rows of block')
    assert '--fio: choose one' in client.run(2, 'export', both, os.path.join(work, 'n'), '--fio', '--all')[1]


def names_of(lines):
    return [line.split(' ')[1] for line in lines if line.endswith(' add')]


def own_names(out):
    """What the folder beside a log has: the files, and the list of them."""
    folder = out + '.files'
    with open(os.path.join(folder, 'names.csv'), encoding='utf-8') as file:
        listed = dict(line.rstrip('\n').split(',') for line in file.readlines()[1:])
    equal(sorted([*listed, 'names.csv']), sorted(os.listdir(folder)), 'files in the folder')
    return {os.path.join(folder, name): path for name, path in listed.items()}


def fio_names(client, work):
    """A name is the file's own; where a log cannot have it, one in a folder beside the log leads to it."""
    plain = {r'/a\x2cb': '/a,b', r'/a\x5cx20b': r'/a\x20b', '/\u00e9': '/\u00e9', r'/\x41': '/A', r'/\xff': '/\udcff',
             '/' + 'l' * (FIO_NAME_MAX - 1): '/' + 'l' * (FIO_NAME_MAX - 1)}
    other = {'/a b': '/a b', r'/a\x0a1\x20x': '/a\n1 x', '/a\x1b[31m': '/a\x1b[31m', '/' + 'l' * FIO_NAME_MAX: '/' + 'l' * FIO_NAME_MAX}
    rows = [read(0, 1, filename=name) for name in [*plain, *other, '/a/../b', '/a//b', r'/\x2e\x2e/b', r'/a\x00b']]
    out = os.path.join(work, 'names.log')
    document = client.json('export', make(os.path.join(work, 'names'), vfs=rows), out, '--fio')
    with open(out, encoding='utf-8', errors='surrogateescape') as file:
        names = names_of(file.read().splitlines())
    own = own_names(out)
    equal(names, [*plain.values(), *own], 'names')
    equal([os.readlink(name) for name in own], list(other.values()), 'where they lead')
    equal((document['files'], document['named'], document['left_out']['no offset, or no path that fio takes']), (10, 4, 4), 'counts')
    # On stdout there is no folder for them, nor where something has its name.
    out, err = client.run(0, 'export', os.path.join(work, 'names'), '-', '--fio')
    equal(len(names_of(out.splitlines())), len(plain), 'names on stdout')
    assert '8 rows, no offset, or no path' in err, err
    os.unlink(os.path.join(work, 'names.log'))
    assert 'exists' in client.run(1, 'export', os.path.join(work, 'names'), os.path.join(work, 'names.log'), '--fio')[1]
    assert not os.path.exists(os.path.join(work, 'names.log'))
    # The folder of the log has a name that logs cannot have: the log is replayed in the folder where it was made.
    os.mkdir(os.path.join(work, 'a b'))
    subprocess.run([client.program, 'export', '../names', 'log', '--fio'], check=True, capture_output=True, cwd=os.path.join(work, 'a b'))
    with open(os.path.join(work, 'a b', 'log'), encoding='utf-8', errors='surrogateescape') as file:
        equal(names_of(file.read().splitlines())[len(plain):], ['log.files/%d' % number for number in range(1, 5)], 'names')


def fio_identity(client, work):
    """A file is one by device and inode, whatever its name is, until it is removed."""
    def row(name, inode, operation='WRITE', **columns):
        return {**read(0, 10, operation=operation, filename=name), 'inode': str(inode), 'device': '8:1', **columns}

    def names(name, rows):
        out = os.path.join(work, name + '.log')
        lines, _ = fio_of(client, work, name, vfs=rows)
        order = names_of(lines)
        own = own_names(out) if os.path.exists(out + '.files') else {}
        used = [order.index(line.split(' ')[1]) for line in lines if ' write ' in line or ' read ' in line]
        return used, [own.get(one, one) if not os.path.islink(one) else os.readlink(one) for one in order], \
            [one in own for one in order]

    equal(names('deleted', [row('/t', 1), row('/t', 1, 'UNLINK'), row('/t (deleted)', 1, 'READ'), row('/t (deleted)', 1)]),
          ([0, 0, 0], ['/t'], [True]), 'a file that was removed')
    equal(os.stat(os.path.join(work, 'deleted.log.files/1')).st_size, 10, 'bytes that can be read')
    equal(names('renamed', [row('/a', 1), {'operation': 'RENAME', 'filename': '/a -> /b'}, row('/b', 1, 'READ')]),
          ([0, 0], ['/b'], [False]), 'a file that was renamed')
    equal(names('unseen', [row('/a', 1), row('/b', 1), row('/a', 2)]), ([0, 0, 1], ['/b', '/a'], [False, False]),
          'a file that was renamed without a row, and another of its name')
    equal(names('again', [row('/a', 1), row('/a', 1, 'UNLINK'), row('/a', 2), row('/a (deleted)', 2), row('/a', 3)]),
          ([0, 1, 1, 2], ['/a', '/a', '/a'], [True, True, False]), 'a file that was made again')
    equal(names('inode', [row('/a', 1), row('/a', 1, 'UNLINK'), row('/b', 1), row('/b', 1, 'UNLINK'), row('/b', 1)]),
          ([0, 1, 2], ['/a', '/b', '/b'], [True, True, False]), 'an inode that is used again')
    equal(names('over', [row('/f', 1), row('/f.new', 2), {'operation': 'RENAME', 'filename': '/f.new -> /f'}, row('/f', 2, 'READ')]),
          ([0, 1, 1], ['/f', '/f'], [True, False]), 'a file that another took the name of')
    equal(names('exchange', [row('/a', 1), row('/b', 2), {'operation': 'RENAME', 'filename': '/a -> /b', 'flags': 'RENAME_EXCHANGE'},
                             row('/a', 2), row('/b', 1)]), ([0, 1, 1, 0], ['/b', '/a'], [False, False]), 'files that change places')
    equal(names('link', [row('/a', 1), {'operation': 'LINK', 'filename': '/a -> /b'}, row('/a', 1, 'UNLINK'), row('/b', 1)]),
          ([0, 0], ['/b'], [False]), 'a file with two names')
    equal(names('unnamed', [row('/d/#7 (deleted)', 7), row('/d/f', 7)]), ([0, 0], ['/d/f'], [False]), 'a file that got its name later')
    equal(names('failed', [row('/a', 1), row('/a', 1, 'UNLINK', errno='13'), row('/a', 1)]), ([0, 0], ['/a'], [False]), 'not removed')
    equal(names('devices', [row('/a', 1), row('/b', 1, device='8:2')]), ([0, 1], ['/a', '/b'], [False, False]), 'two devices')
    equal(names('rest', [row('/a', '', device=''), row('/a', 1), row('/a', '', device='')]), ([0, 0, 0], ['/a'], [False]), 'unknown')


def fio_many(client, work):
    rows = [read(0, 1, filename='/f%d' % (number % 300)) for number in range(1000)]
    lines, _ = fio_of(client, work, 'many', vfs=rows)
    is_open, most = set(), 0
    for line in lines:
        _, name, what = line.split(' ')[:3]
        if what == 'open':
            assert name not in is_open, line
            is_open.add(name)
        elif what == 'close':
            is_open.remove(name)
        elif what == 'read':
            assert name in is_open, line
        most = max(most, len(is_open))
    equal((most, is_open, len(lines) > 2000), (FIO_OPEN_MAX, set(), True), 'files that are open at once')
    rows = (read(0, 1, filename='/f%d' % number) for number in range(FIO_FILES_MAX + 1))
    _, err = client.run(1, 'export', make(os.path.join(work, 'too-many'), vfs=rows), os.path.join(work, 'too-many.log'), '--fio')
    assert 'more than %d files' % FIO_FILES_MAX in err, err
    torn = make(os.path.join(work, 'torn'), vfs=[read(0, 1)])
    os.unlink(os.path.join(torn, 'fs', 'fs_000001.csv'))
    _, err = client.run(1, 'export', torn, os.path.join(work, 'torn.log'), '--fio')
    assert 'fs/fs_000001.csv: it is missing' in err, 'why no row can be replayed: ' + err


def fio_runs(client, work):
    """fio does what the rows say, as fast as it can."""
    if not shutil.which('fio'):
        return
    files = os.path.join(work, 'files')
    os.mkdir(files)
    rows = [read(7 * number, 1 + 10 * number, operation='WRITE', filename=files + r'/a\x2c%d' % (number % 300))
            for number in range(600)]
    rows += [read(number, 1, filename=files + r'/a\x2c%d' % number) for number in range(300)]
    rows += [{'operation': 'FSYNC', 'filename': files + r'/a\x2c0'}] * 3
    _, document = fio_of(client, work, 'runs', vfs=rows)
    done = subprocess.run(['fio', '--name=replay', '--read_iolog=' + os.path.join(work, 'runs.log'), '--ioengine=psync',
                           '--replay_no_stall=1', '--output-format=json'], check=True, capture_output=True, text=True, cwd=work)
    job = json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]
    equal(job['error'], 0, 'error of fio')
    for word in ('read', 'write', 'sync'):
        equal((job[word]['total_ios'], job[word].get('io_bytes', 0)), tuple(document['operations'][word].values()), word)
    equal((job['write']['total_ios'], job['write']['io_bytes']), (600, sum(1 + 10 * number for number in range(600))), 'writes')
    equal(os.stat(files + '/a,299').st_size, 7 * 599 + 1 + 10 * 599, 'size of a file')


def otf2_read(folder):
    """Events by location, in their order: begins and completes with the names that they refer to."""
    import otf2
    from otf2 import events
    found = {}
    with otf2.reader.open(os.path.join(folder, 'traces.otf2')) as trace:
        equal(trace.timer_resolution, 10 ** 9, 'ticks a second')
        for location, event in trace.events:
            one = found.setdefault((location.group.name, location.name, location), [])
            if isinstance(event, events.IoOperationBegin):
                attributes = {attribute.name: value for attribute, value in (event.attributes or {}).items()}
                one.append(('begin', event.time, event.handle.file.name, str(event.mode).rsplit('.', 1)[-1], event.bytes_request,
                            event.matching_id, attributes))
            else:
                assert isinstance(event, events.IoOperationComplete), event
                one.append(('end', event.time, event.handle.file.name, None, event.bytes_result, event.matching_id, None))
        for location in trace.definitions.locations:
            equal(location.number_of_events, len(found[(location.group.name, location.name, location)]), 'events of a location')
            equal(location.group.system_tree_parent.name, 'host', 'machine')
    return found


def otf2_printed(folder):
    """What otf2-print shows: the number of events; it has nothing to complain of."""
    done = subprocess.run(['otf2-print', os.path.join(folder, 'traces.otf2')], check=True, capture_output=True, text=True)
    equal(done.stderr, '', 'complaints of otf2-print')
    return done.stdout.count('IO_OPERATION_')


def otf2_made(rows):
    """Of each operation of these rows: location, begin, end, file, mode, bytes asked for and done, offset."""
    words = {'READ': 'READ', 'WRITE': 'WRITE', 'DIO_READ': 'READ', 'DIO_WRITE': 'WRITE', 'FSYNC': 'FLUSH', 'FLUSH': 'FLUSH'}
    made = []
    for row in rows:
        disk, begin, failed = 'disk' in row, int(row['mono_ns']), row.get('errno', row.get('error', '0')) != '0'
        took = sum(round(float(row[name]) * 1e6) for name in ('queue_latency_ms', 'latency_ms')) if disk else \
            int(row['latency_ns'])
        made.append((row['disk'] if disk else 'cat ' + row['tid'], begin, begin + took,
                     '/dev/' + row['disk'] if disk else row['filename'], words[row['operation']], int(row['size']),
                     0 if failed else int(row['size' if disk else 'bytes_completed']),
                     int(row['sector']) * 512 if disk else int(row['offset'])))
    return sorted(made)


def otf2_exported(found):
    """The same of what was read from an archive, whose events must be in the order of time and paired."""
    exported = []
    for (group, name, _), events in found.items():
        assert group == 'disks' or group.startswith('cat '), group
        equal([event[1] for event in events], sorted(event[1] for event in events), 'times of ' + name)
        begun = {}
        for kind, time, file, mode, size, number, attributes in events:
            if kind == 'begin':
                assert number not in begun, number
                begun[number] = (time, file, mode, size, attributes)
                assert (group == 'disks') == ('process' in attributes), attributes
            else:
                start, begun_file, mode, asked, attributes = begun.pop(number)
                equal(file, begun_file, 'file')
                exported.append((name, start, time, file, mode, asked, size, attributes['offset']))
        equal(begun, {}, 'what does not end')
    return sorted(exported)


def otf2_rows(client, work):
    """Every operation with its bytes, whichever overlap, whatever CPU they end on."""
    chance = random.Random(1)
    vfs = [{'operation': chance.choice(('READ', 'WRITE', 'DIO_READ', 'DIO_WRITE', 'FSYNC')), 'size': '100000',
            'offset': str(chance.randrange(1 << 50)), 'bytes_completed': str(chance.randrange(100000)),
            'pid': str(chance.randrange(5)), 'tid': str(chance.randrange(30)), 'errno': chance.choice('00005'),
            'latency_ns': str(chance.randrange(1000000)), 'filename': '/srv/\u00e9%d' % chance.randrange(50),
            'cpu_id': str(chance.randrange(8)), 'mono_ns': str(MONO + chance.randrange(10 ** 7))} for _ in range(3000)]
    block = [{'operation': chance.choice(('READ', 'WRITE', 'FLUSH')), 'size': str(512 * chance.randrange(100)),
              'sector': str(chance.randrange(1 << 40)), 'disk': 'sd' + chance.choice('abc'), 'error': chance.choice('0005'),
              'latency_ms': '%.6f' % chance.random(), 'queue_latency_ms': '%.6f' % chance.random(),
              'cpu_id': str(chance.randrange(8)), 'mono_ns': str(MONO + chance.randrange(10 ** 7))} for _ in range(2000)]
    out = os.path.join(work, 'archive')
    others = [{'operation': 'OPEN', 'mono_ns': str(MONO)}]
    document = client.json('export', make(os.path.join(work, 'otf2'), vfs=vfs + others, block=block), out, '--otf2')
    made = otf2_made(vfs + block)
    exported = otf2_exported(otf2_read(out))
    equal(len(exported), len(made), 'operations')
    equal([pair for pair in zip(exported, made) if pair[0] != pair[1]][:3], [], 'operations that differ')
    equal(otf2_printed(out), 2 * len(made), 'events that are printed')
    for word in ('read', 'write', 'flush'):
        of_word = [one for one in made if one[4] == word.upper()]
        equal(document['operations'][word], {'rows': len(of_word), 'bytes': sum(one[6] for one in of_word)}, word)
    equal((document['left_out'], document['late'], document['files']), ({'other operations': 1}, 0, 53), 'counts')
    equal(os.stat(out).st_mode & 0o777, 0o700, 'mode')
    # Numbers that no clock has.
    strange = [{**vfs[0], 'mono_ns': str((1 << 64) - 2)}, {**vfs[1], 'latency_ns': str((1 << 64) - 1)}, {**vfs[2], 'filename': '',
               'command': 'ab\x1b' + '\u00e9' * 40}]
    client.run(0, 'export', make(os.path.join(work, 'strange'), vfs=strange), os.path.join(work, 'strange.otf2'), '--otf2')
    equal(otf2_printed(os.path.join(work, 'strange.otf2')), 6, 'events')
    equal(len(otf2_read(os.path.join(work, 'strange.otf2'))), 3, 'locations')


def otf2_names(client, work):
    """A name is as it was before it was written into CSV, where UTF-8 can have it."""
    names = {r'/d\x20/x\x2cy\x3bz': '/d /x,y;z', r'/a\x5cb': '/a\\b', r'/\xc3\xa9': '/\u00e9', '/\u00e9': '/\u00e9',
             r'/e\x1b\xff': r'/e\x1b\xff'}
    rows = [{**read(0, 10, filename=name), 'command': r'a\x2cb'} for name in names]
    out = os.path.join(work, 'names.otf2')
    client.run(0, 'export', make(os.path.join(work, 'names'), vfs=rows), out, '--otf2')
    found = otf2_read(out)
    equal({event[2] for events in found.values() for event in events}, set(names.values()), 'names')
    equal([key[:2] for key in found], [('a,b 100', 'a,b 101')], 'thread')


def otf2_many(client, work):
    """More threads than are written to at once: those that were quiet go on in a further location."""
    rows = [{**read(0, 10, tid=str(number % (OTF2_OPEN_MAX + 100))), 'size': '70000', 'mono_ns': str(MONO + 10 ** 6 * number)}
            for number in range(1500)]
    out = os.path.join(work, 'many.otf2')
    document = client.json('export', make(os.path.join(work, 'many'), vfs=rows), out, '--otf2')
    assert document['locations'] > OTF2_OPEN_MAX + 100, document
    equal(len(otf2_exported(otf2_read(out))), 1500, 'operations')
    for name, what, given in (
            ('under-way', 'more than %d threads have I/O under way' % OTF2_OPEN_MAX,
             ({**row, 'latency_ns': str(10 ** 12)} for row in rows)),
            ('files', 'more than %d files' % FIO_FILES_MAX, (read(0, 1, filename='/f%d' % i) for i in range(FIO_FILES_MAX + 1))),
            ('threads', 'more than %d threads' % OTF2_TRACKS_MAX,
             ({**rows[0], 'tid': str(i), 'latency_ns': '0', 'mono_ns': str(MONO + i)} for i in range(OTF2_TRACKS_MAX + 1)))):
        before = sorted([*os.listdir(work), name])
        err = client.run(1, 'export', make(os.path.join(work, name), vfs=given), os.path.join(work, name + '.otf2'), '--otf2')[1]
        assert what in err, err
        equal(sorted(os.listdir(work)), before, 'files')


def interrupted(client, work):
    """What has begun is removed."""
    trace = make(os.path.join(work, 'trace'), vfs=(read(0, 10, filename='/f%d' % (i % 1000)) for i in range(200000)))
    for option in ('--fio', '--otf2'):
        with subprocess.Popen([client.program, 'export', trace, os.path.join(work, 'out'), option], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while option == '--otf2' and len(os.listdir(work)) == 1 and process.poll() is None:
                time.sleep(0.001)
            time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            err = process.communicate()[1]
        equal(process.returncode != 0, True, 'exit code')
        assert option == '--fio' or err.endswith('out: interrupted, and removed\n'), err
        equal(os.listdir(work), ['trace'], 'files')


def refused(client, work):
    """What is there stays, and nothing is left behind by what failed."""
    trace, out = make(os.path.join(work, 'trace'), vfs=[read(0, 5)] * 5000, cache=[{}]), os.path.join(work, 'mine')
    other = make(os.path.join(work, 'other'), cache=[{'operation': 'HIT'}])
    nothing = make(os.path.join(work, 'nothing'), vfs=[read(0, 0)])
    with open(out, 'w', encoding='utf-8') as file:
        file.write('mine')
    os.symlink('nowhere', os.path.join(work, 'link'))
    before = sorted(os.listdir(work))
    for target in (out, os.path.join(work, 'link'), trace):
        assert target + ' exists' in client.run(1, 'export', trace, target, '--fio')[1]
    with open(out, encoding='utf-8') as file:
        equal(file.read(), 'mine', 'what was there')
    new = os.path.join(work, 'new')
    for code, words, said in (
            (2, (trace, new), 'give a format'), (2, (trace, '--fio'), 'an argument is missing'),
            (2, (trace, '-', '--fio', '--json'), 'name a file'), (2, (trace, new, '--fio', '--since', 'never'), 'no time'),
            (1, (work, new, '--fio'), 'manifest.json: it does not exist'), (1, (other, new, '--fio'), 'none of the streams'),
            (1, (nothing, new, '--fio'), 'no row can be replayed'), (1, (trace, new + '/x', '--fio'), 'No such file')):
        assert said in client.run(code, 'export', *words)[1], said
    with open('/dev/full', 'w', encoding='utf-8') as full:
        err = client.run(1, 'export', trace, '-', '--fio', stdout=full)[1]
    equal(err, 'iotracectl: standard output: No space left on device\n', 'a full disk')
    ours, theirs = os.pipe()
    os.close(ours)
    err = client.run(1, 'export', trace, '-', '--fio', stdout=theirs)[1]
    os.close(theirs)
    equal(err, 'iotracectl: standard output: Broken pipe\n', 'a reader that is gone')
    equal(sorted(os.listdir(work)), before, 'files')


def formats(client, work):
    """The same of CSV and JSON lines, compressed or not, running or ended; and what is damaged is told."""
    texts = set()
    for name, options in (('csv', ()), ('gz', ('--gzip',)), ('jsonl', ('--format', 'jsonl')), ('running', ('--running',)),
                          ('old', ('--schema', '1'))):
        folder = os.path.join(work, name)
        subprocess.run([sys.executable, os.path.join(HERE, 'make_trace.py'), folder, *options], check=True)
        texts.add(client.run(0, 'export', folder, '-', '--fio')[0])
    equal(len(texts), 1, 'different logs')
    assert '/home/user/file read 0 4096\n' in texts.pop()
    os.truncate(os.path.join(work, 'gz/fs/fs_000001.csv.gz'), 300)
    out, err = client.run(1, 'export', os.path.join(work, 'gz'), '-', '--fio')
    assert 'fs_000001.csv.gz' in err or 'gzip data end too early' in err, err
    assert ' read 0 4096\n' in out, out


def main():
    client = export_trace.Client(sys.argv[1])
    tests = [fio_lines, fio_disks, fio_names, fio_identity, fio_many, fio_runs, refused, formats]
    # The library is optional to a build, and the tools that read what it writes are packages of the tests.
    built = 'without the library' not in client.run((1, 2), 'export', HERE, HERE, '--otf2')[1]
    if built and importlib.util.find_spec('otf2') and shutil.which('otf2-print'):
        tests += [otf2_rows, otf2_names, otf2_many, interrupted]
    for test in tests:
        with tempfile.TemporaryDirectory() as work:
            try:
                test(client, work)
            except AssertionError as error:
                sys.exit('%s: %s' % (test.__name__, error))


main()
