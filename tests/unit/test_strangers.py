#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that somebody made up, for every verb that reads traces: a manifest with one member of another type ends none of them by
a signal or an endless run, a terminal gets no control characters of theirs, and time grows with the number of segments.

Usage: test_strangers.py IOTRACECTL"""
import copy
import json
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from export_trace import make  # noqa: E402

OTHERS = (None, True, -1, 1 << 63, 1e300, '', 'x' * 300, [], [[]], {}, {'rows': 1}, [None], ['x'], [{'stream': 7}])
SECONDS = 20
MANY = 60_000


def verbs(trace, other, out):
    yield ('summary', trace)
    yield ('summary', trace, '--json')
    yield ('verify', trace)
    yield ('show', trace)
    yield ('show', trace, '--csv')
    yield ('show', trace, '--json')
    yield ('compare', other, trace)
    yield ('traces', os.path.dirname(trace))
    yield ('report', trace, '-o', os.path.join(out, 'report'))
    yield ('anonymize', trace, os.path.join(out, 'anonymous'))
    for option in ('--fio', '--perfetto', '--otf2'):
        yield ('export', trace, os.path.join(out, option[2:]), option)


def clean(out):
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)


def full_manifest(folder):
    """A trace whose manifest has each list that readers look at."""
    make(folder, vfs=[{'offset': '0', 'size': '5', 'bytes_completed': '5'}], block=[{'sector': '0', 'size': '512'}])
    path = os.path.join(folder, 'manifest.json')
    with open(path, encoding='utf-8') as file:
        manifest = json.load(file)
    stamps = {'from': '2023-11-15 22:13:20.000000000', 'to': '2023-11-15 22:13:21.000000000'}
    manifest['streams']['vfs'].update(lost={'ring': 1, 'names': 1}, emitted=2, missed=1, unfollowed=1, forgotten=1)
    manifest.update(losses=[{'stream': 'vfs', 'cause': 'ring', 'rows': 1, **stamps}], gaps=[{'reason': 'restart', **stamps}],
                    lacking=[{'stream': 'vfs', 'what': 'names', 'reason': 'late', **stamps}],
                    missing=[{'stream': 'vfs', 'operation': 'READ', 'hook': 'x', 'reason': 'none'}],
                    snapshots=[{'kind': 'process', 'path': 'process/process_snap_000001.csv', 'rows': 1, 'bytes': 1,
                                'state': 'closed', 'taken': stamps['from'], 'sha256': 'x'}],
                    filters={'paths': ['/srv'], 'pids': [1]}, definition={'name': 'made', 'streams': ['vfs']},
                    limits={'max_size': 5}, anonymized=False, clock={'realtime_ns': 1, 'monotonic_ns': 1, 'boottime_ns': 1})
    manifest['segments'][0].update(xxh128='0' * 32, stored_sha256='0' * 64)
    return path, manifest


def places(value, way=()):
    """Where each member of a document stands."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*way, key)
        yield from places(member, (*way, key))


def changed(manifest, way, value):
    manifest = copy.deepcopy(manifest)
    at = manifest
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    return manifest


def wrong_types(client, work):
    """One member of the manifest is of another type: some types of each in turn for the verbs, or, with EVERY_VERB, all for all."""
    good, out = os.path.join(work, 'good'), os.path.join(work, 'out')
    make(good, vfs=[{'offset': '0', 'size': '5', 'bytes_completed': '5'}])
    trace = os.path.join(work, 'traces', 'made')
    path, manifest = full_manifest(trace)
    every = os.environ.get('EVERY_VERB')
    ways = [way for way in places(manifest) if not ('columns' in way and len(way) > 5 and way[-2] > 1)]
    tried = [(way, value) for way in ways for value in OTHERS][::1 if every else 3]
    for number, (way, value) in enumerate(tried):
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(changed(manifest, way, value), file)
        clean(out)
        chosen = list(verbs(trace, good, out))
        for words in chosen if every else [chosen[(number + number // len(chosen)) % len(chosen)]]:
            done = subprocess.run([client, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
            assert done.returncode in (0, 1, 2, 6), ('%s: exit %d with %s = %r' % (words, done.returncode, way, value), done.stderr)
            assert b'runtime error' not in done.stderr and b'Sanitizer' not in done.stderr, (words, way, value, done.stderr)
    assert len(tried) > 500, len(tried)


OURS = re.compile(rb'\x1b\[(?:0|1|31|32)?m|\r?\x1b\[K|\r\n')
UGLY = '\x1b]0;x\x07\x1b[2J\x7f\u009b31m\r\t'


def on_terminal(words):
    """What a terminal gets of both streams."""
    got = b''
    pid, fd = pty.fork()
    if not pid:
        os.environ.update(TERM='xterm', LC_ALL='C.UTF-8', PAGER='cat', LESS='R')
        os.execv(words[0], words)
    try:
        while (piece := os.read(fd, 65536)):
            got += piece
    except OSError:
        pass # the other end is closed
    os.waitpid(pid, 0)
    os.close(fd)
    return got


def ugly_manifest(value, way=()):
    if isinstance(value, dict):
        return {key: ugly_manifest(member, (*way, key)) for key, member in value.items()}
    if isinstance(value, list):
        return [ugly_manifest(member, (*way, at)) for at, member in enumerate(value)]
    needed = {'state', 'path', 'stream', 'folder', 'level', 'from', 'to', 'kind', 'started', 'ended', 'taken'}
    if isinstance(value, str) and way[-1] not in needed and 'columns' not in way:
        return value + UGLY
    return value


def terminals(client, work):
    good, out, trace = (os.path.join(work, name) for name in ('good', 'out', 'traces/made'))
    path, manifest = full_manifest(trace)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(ugly_manifest(manifest), file)
    for name, text in (('fs/fs_000001.csv', ('cat', '/srv/file')), ('ds/ds_000001.csv', ('cat', 'sda'))):
        name = os.path.join(trace, name)
        with open(name, encoding='utf-8', newline='') as file:
            rows = file.read()
        for word in text:
            rows = rows.replace(word, '"%s,""%s"' % (word, UGLY.replace('\n', '')))
        with open(name, 'w', encoding='utf-8', newline='') as file:
            file.write(rows)
        for segment in manifest['segments']:
            if trace + '/' + segment['path'] == name:
                segment['bytes'] = len(rows.encode())
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(ugly_manifest(manifest), file)
    make(good, vfs=[{'offset': '0', 'size': '5', 'bytes_completed': '5'}])
    shown = b''
    for more in ((), ('--json',)):
        for words in verbs(trace, good, out):
            if '--json' in words:
                continue
            clean(out)
            got = on_terminal([client, *words, *more])
            shown += got if words[0] == 'show' else b''
            rest = OURS.sub(b'', got)
            bad = re.search(rb'[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]', rest)
            assert not bad, (words, more, rest[max(bad.start() - 80, 0):bad.end() + 20])
    assert shown.count(b'/srv/file') >= 3, shown[-2000:]


def seconds(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def many_segments(client, work):
    """Six times as many segments take six times as long, not thirty-six times."""
    took = []
    for count in (MANY // 6, MANY):
        trace = os.path.join(work, str(count))
        make(trace, vfs=[])
        with open(os.path.join(trace, 'manifest.json'), encoding='utf-8') as file:
            manifest = json.load(file)
        one = manifest['segments'][0]
        for number in range(2, count + 1):
            path = 'fs/fs_%06d.csv' % number
            os.link(os.path.join(trace, one['path']), os.path.join(trace, path))
            manifest['segments'].append({**one, 'path': path})
        with open(os.path.join(trace, 'manifest.json'), 'w', encoding='utf-8') as file:
            json.dump(manifest, file)
        took.append(min(seconds([client, 'show', trace, '--limit', '1']) for _ in range(2)))
    assert took[1] < 10 * took[0], took


def main():
    for test in (terminals, many_segments, wrong_types):
        with tempfile.TemporaryDirectory() as work:
            try:
                test(os.path.realpath(sys.argv[1]), work)
            except AssertionError as error:
                sys.exit('%s: %s' % (test.__name__, error))


main()
