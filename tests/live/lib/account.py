# SPDX-License-Identifier: GPL-2.0-or-later
"""Loss is never silent: emitted = written + lost, and the files hold what was written."""
import contextlib
import hashlib
import os
import time

from lib import rows
from lib.registry import check, equal
from lib.xxh128 import xxh128


MOMENT = 10  # seconds; a busy machine is slow

# How often the kernel said that it left out a program, over the sessions of the test that runs.
missed = [0]


def total(lost):
    """Lost rows. Names are left out: the rows that lack them are there."""
    return sum(value for key, value in lost.items() if key != 'names') if isinstance(lost, dict) else lost


def streams(document):
    """The accounts of a status or manifest: {stream: {emitted, written, lost}}."""
    for value in rows.walk(document):
        inner = value.get('streams')
        if isinstance(inner, dict) and inner and all(
                isinstance(one, dict) and 'emitted' in one for one in inner.values()):
            return inner
    found = {}
    for value in rows.walk(document):
        if 'emitted' in value and 'written' in value:
            found[value.get('stream') or value.get('flag') or str(len(found))] = value
    return found


def balanced(document, where):
    accounts = streams(document)
    check(accounts, 'no account of emitted, written and lost in %s' % where, str(document)[:400])
    for name, one in accounts.items():
        pending = one.get('pending', 0)  # rows in rings and queues, while the session runs
        check(one['emitted'] == one['written'] + total(one['lost']) + pending,
              '%s, stream %s: emitted is not written + lost' % (where, name), one)
    return accounts


def size(folder):
    """Bytes of all files in the folder, as retention counts them; files may be removed meanwhile."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(at, name)).st_size
    return total


def checksum(entry):
    """Of the text, as the manifest has it: of a segment, or of a snapshot. None while it is written."""
    return entry.get('xxh128') or entry.get('sha256')


def checksum_true(entry, text, path):
    if 'xxh128' in entry:
        equal(entry['xxh128'], xxh128(text), 'XXH128 of %s in the manifest' % path)
    else:
        equal(entry['sha256'], hashlib.sha256(text).hexdigest(), 'SHA-256 of %s in the manifest' % path)


def stored_true(output, segment):
    """What the manifest says of the bytes of a compressed file."""
    if segment.get('state') == 'compressed':
        with open(os.path.join(output, segment['path']), 'rb') as file:
            equal(segment['stored_sha256'], hashlib.sha256(file.read()).hexdigest(), 'stored SHA-256 of ' + segment['path'])


def segment_list(document):
    return [value for value in rows.walk(document) if ('xxh128' in value or 'sha256' in value) and 'rows' in value]


def find_segment(output, segment):
    """The segment's path, without the .gz that it may have; None when there is no such file."""
    for key in ('path', 'file', 'name'):
        if key in segment:
            path = os.path.join(output, segment[key]).removesuffix('.gz')
            for ending in ('', '.gz'):
                if os.path.exists(path + ending):
                    return path
    return None


def segment_path(output, segment):
    path = find_segment(output, segment)
    check(path, 'the manifest names a segment that does not exist', segment)
    return path


def settled(output):
    """The manifest and its segments, once it shows the files that were removed or compressed, which it does a moment later."""
    end = time.monotonic() + MOMENT
    while True:
        document = rows.manifest(output)
        segments = segment_list(document)
        gone = any(one.get('state') != 'removed' and checksum(one) and not find_segment(output, one) for one in segments)
        if not gone or time.monotonic() > end:
            return document, segments
        time.sleep(0.05)


def segment_true(output, segment):
    path = segment_path(output, segment)
    text = rows.content(path)
    checksum_true(segment, text, path)
    stored_true(output, segment)
    equal(segment['bytes'], len(text), 'bytes of %s in the manifest' % path)
    equal(segment['rows'], len(rows.parse(path)), 'rows of %s in the manifest' % path)
    return path


def manifest_true(output):
    """What the manifest says of each file is true, and it names all files."""
    document, segments = settled(output)
    for one in segments:
        check('stored_sha256' not in one or one['state'] == 'compressed', 'stored_sha256 of what is not compressed', one)
    named = {segment_true(output, one) for one in segments if checksum(one) and one.get('state') != 'removed'}
    there = {path for stream in rows.FOLDERS for path in rows.segments(output, stream)}
    equal(sorted(there - named), [], 'segments that the manifest does not name')
    return document


def losses_timed(document):
    """Each loss of the manifest has a time: its list adds up."""
    for name, one in streams(document).items():
        for cause in ('ring', 'queue', 'disk', 'unmatched'):
            lost = one['lost'][cause]
            timed = sum(entry['rows'] for entry in document['losses']
                        if (entry['stream'], entry['cause']) == (name, cause))
            equal(timed, lost, 'rows of %s lost in %s that have a time' % (name, cause))


def session_true(output, final):
    """After the end of a session: status, manifest and files tell the same."""
    equal(rows.parts(output), [], 'segments not closed')
    accounts = balanced(final, 'status')
    missed[0] += sum(one.get('missed', 0) for one in accounts.values())
    document = manifest_true(output)
    told = balanced(document, 'manifest')
    losses_timed(document)
    for name, one in accounts.items():
        for key in ('emitted', 'written'):
            equal(told.get(name, {}).get(key), one[key], 'manifest, %s %s' % (name, key))
        if name in rows.FOLDERS:
            equal(len(rows.read(output, name)), one['written'] - one['removed'],
                  'rows in the files of %s' % name)
    return accounts
