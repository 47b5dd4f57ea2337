# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads of this process that count themselves: each at an offset of its own, 0, 1, 2 and so on."""
import json
import mmap
import os
import re

from lib import account, rows
from lib.registry import check, equal

# Asked for at the end of an empty file; no other read passes the filter. Two processes of the suite run tests beside each other;
# those of the second record reads of any process, and so have a size above the first's.
SIZE = (513 if os.environ.get('IOTRACER_BESIDE') else 512) << 20
SPACE = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # never touched, so it costs nothing
OPTIONS = ('--vfs', '--operation', 'READ', '--pid', os.getpid(), '--min-size', SIZE)
CSV = re.compile(r'^\w+_(\d{6})\.(csv|jsonl)$')


def deep(path):
    """A path of three thousand bytes below this one: rows that fill buffers and queues soon."""
    folder = os.path.join(path, *['d' * 250 for _ in range(12)])
    os.makedirs(folder)
    return os.path.join(folder, 'file')


class Reads:
    def __init__(self, path):
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.done = 0

    def go(self, count):
        for offset in range(self.done, self.done + count):
            os.preadv(self.descriptor, [SPACE], offset)
        self.done += count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)


def files(output, stream='vfs', part=False):
    """
    Paths of the segments in their order, without the .gz that may come at any time; with those
    being written, when asked for.
    """
    folder = os.path.join(output, rows.FOLDERS[stream])
    names = sorted({name.removesuffix('.gz') for name in os.listdir(folder)})
    return [os.path.join(folder, name) for name in names
            if CSV.match(name[:-5] if part and name.endswith('.part') else name)]


def being_written(output):
    """Whether a segment is; the table of cgroups may be as long as the session runs."""
    return len(files(output, part=True)) > len(files(output))


def row_list(path):
    if '.jsonl' in path:
        return [json.loads(line) for line in rows.content(path).splitlines()]
    return rows.parse(path)


def offsets(paths):
    return [int(row['offset']) for path in paths for row in row_list(path)]


def all_there(output, done, lost=0):
    """Every read is one row, but for those lost; and each row's time lies within its segment."""
    found = offsets(files(output))
    equal(len(found), len(set(found)), 'rows, and different ones')
    equal(len(found), done - lost, 'rows in the files')
    if not lost:
        equal(sorted(found), list(range(done)), 'offsets')
    within(output)


def within(output):
    """Rows, sizes and times of each segment are those of the manifest."""
    document = rows.manifest(output)
    for segment in account.segment_list(document):
        if 'stream' not in segment:
            continue  # a snapshot, or the table of cgroups
        path = os.path.join(output, segment['path'])
        there = row_list(path)
        equal(segment['rows'], len(there), 'rows of ' + path)
        equal(segment['bytes'], len(rows.content(path)), 'bytes of ' + path)
        for key, column, kind in (('mono_ns', 'mono_ns', int), ('time', 'timestamp', str)):
            told = [segment.get('first_' + key), segment.get('last_' + key)]
            if key == 'mono_ns':
                told = [segment.get('first_mono_ns'), segment.get('last_mono_ns')]
            values = [kind(row[column]) for row in there]
            if values:
                equal(told, [min(values), max(values)], 'times of %s (%s)' % (path, key))
    return document


def total_size(output):
    return sum(len(rows.content(path)) for stream in rows.FOLDERS
               if os.path.isdir(os.path.join(output, rows.FOLDERS[stream]))
               for path in files(output, stream, part=True))


def check_balanced(document, what):
    """emitted = written + lost, and nothing else."""
    for one in account.balanced(document, what).values():
        check(not one.get('pending'), what, one)
