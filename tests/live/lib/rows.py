# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of a trace, read as anyone would read them."""
import calendar
import csv
import functools
import gzip
import io
import json
import os
import re
import time

from lib.registry import Failure

FOLDERS = {'vfs': 'fs', 'block': 'ds', 'cache': 'cache', 'net': 'nw', 'conn': 'nw_conn', 'epoll': 'nw_epoll',
           'sockopt': 'nw_sockopt', 'drop': 'nw_drop', 'pagefault': 'pagefault', 'iouring': 'iouring'}
FIRST = 'timestamp,operation,pid,tid,command'.split(',')
LAST = 'ppid,uid,cgroup_id,cpu_id,mono_ns'.split(',')
SEGMENT = re.compile(r'^(\w+)_(\d{6})\.(csv|jsonl)(\.gz)?$')


def segments(output, stream):
    """Closed ones, without the .gz that may come at any time."""
    folder = os.path.join(output, FOLDERS[stream])
    if not os.path.isdir(folder):
        return []
    names = {name.removesuffix('.gz') for name in os.listdir(folder) if SEGMENT.match(name)}
    return [os.path.join(folder, name) for name in sorted(names)]


def parts(output):
    """Segments that are still being written."""
    return [os.path.join(folder, name) for folder, _, names in os.walk(output)
            for name in names if name.endswith('.part') and not name.endswith('.gz.part')]


def content(path):
    """The text of a segment, compressed meanwhile or not."""
    path = path.removesuffix('.gz')
    try:
        with open(path, 'rb') as file:
            return file.read()
    except FileNotFoundError:
        with gzip.open(path + '.gz', 'rb') as file:
            return file.read()


DEVICE = re.compile(r'(\d+):0{0,2}(\d+)')


def plain(cell):
    """The cell as tests name its value: cells are written so that nobody takes a text for something else. Numbers among texts
    begin with '#', no flag at all is NONE, the minor number of a device has three digits, and the first byte of a name that
    looks like a value is escaped."""
    if cell[:1] == '#':
        return cell[1:]
    if cell == 'NONE':
        return '0'
    if '|#0x' in cell:
        return cell.replace('|#0x', '|0x')
    device = DEVICE.fullmatch(cell)
    return '%s:%s' % device.groups() if device else cell


def parse_json(text):
    """As CSV has it: what is unknown is empty, all else is text."""
    return [{key: '' if value is None else plain(str(value)) for key, value in json.loads(line).items()}
            for line in text.decode('utf-8').splitlines()]


def parse(path, text=None):
    """Each row as a dictionary, shared by all callers, who must not change it; every row must have every column of the header."""
    return parsed(path, content(path) if text is None else text)


@functools.lru_cache(maxsize=16)  # account.py and the test read the same files
def parsed(path, text):
    if text and not text.endswith(b'\n'):
        raise Failure('%s ends within a row' % path, repr(text[-200:]))
    if '.jsonl' in path:
        return parse_json(text)
    lines = csv.reader(io.StringIO(text.decode('utf-8'), newline=''), strict=True)
    header = next(lines, None)
    if header is None:
        raise Failure('%s has no header' % path)
    rows = []
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise Failure('%s:%d: %d fields, %d columns' % (path, number, len(line), len(header)),
                          repr(line))
        # Most cells have none of the marks of plain().
        rows.append(dict(zip(header, [plain(cell) if '#' in cell or ':' in cell or cell == 'NONE' else cell for cell in line])))
    return rows


def read(output, stream):
    rows = []
    for path in segments(output, stream):
        rows += parse(path)
    return rows


def real_time(row):
    """The timestamp in nanoseconds since 1970."""
    seconds, fraction = row['timestamp'].split('.')
    return whole_seconds(seconds) * 10**9 + int(fraction)


@functools.lru_cache(maxsize=64)  # most rows are of the same few
def whole_seconds(text):
    return calendar.timegm(time.strptime(text, '%Y-%m-%d %H:%M:%S'))


def manifest(output):
    path = os.path.join(output, 'manifest.json')
    if not os.path.exists(path):
        raise Failure('no manifest.json in %s' % output)
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def walk(value):
    """Every dictionary inside a JSON value."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)


def escape(data):
    """Bytes as cells have them: what is not UTF-8, controls, the backslash, marks between fields, quotes and a space at the end
    of a name as \\xNN."""
    text = data.decode('utf-8', 'surrogateescape')
    out = []
    for char in text:
        code = ord(char)
        if 0xdc80 <= code <= 0xdcff:
            out.append('\\x%02x' % (code - 0xdc00))
        elif code < 0x20 or code == 0x7f or char in '\\,;|"':
            out.append('\\x%02x' % code)
        else:
            out.append(char)
    return re.sub(' (?=/|$)', r'\\x20', ''.join(out).replace(' ->', ' -\\x3e'))
