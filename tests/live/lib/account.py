# SPDX-License-Identifier: GPL-2.0-or-later
"""Loss is never silent: emitted = written + lost, and the files hold what was written."""
import contextlib
import hashlib
import os

from lib import rows
from lib.registry import Failure, check, equal


# How often the kernel said that it left out a program, over the sessions of the test that runs.
missed = [0]


def total(lost):
    return sum(lost.values()) if isinstance(lost, dict) else lost


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
        pending = one.get('pending', 0)  # on their way, while the session runs
        check(one['emitted'] == one['written'] + total(one['lost']) + pending,
              '%s, stream %s: emitted is not written + lost' % (where, name), one)
    return accounts


def size(folder):
    """Of all files, as retention counts them; some may go meanwhile."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(at, name)).st_size
    return total


def segment_list(document):
    return [value for value in rows.walk(document) if 'sha256' in value and 'rows' in value]


def segment_path(output, segment):
    for key in ('path', 'file', 'name'):
        if key in segment:
            path = os.path.join(output, segment[key]).removesuffix('.gz')
            for ending in ('', '.gz'):
                if os.path.exists(path + ending):
                    return path
    raise Failure('the manifest names a segment that is not there', segment)


def segment_true(output, segment):
    path = segment_path(output, segment)
    text = rows.content(path)
    check(segment['sha256'] == hashlib.sha256(text).hexdigest(),
          'SHA-256 of %s is not that of the manifest' % path)
    equal(segment['bytes'], len(text), 'bytes of %s in the manifest' % path)
    equal(segment['rows'], len(rows.parse(path)), 'rows of %s in the manifest' % path)
    return path


def manifest_true(output):
    """Everything the manifest says of the files is so, and it names them all."""
    document = rows.manifest(output)
    named = {segment_true(output, one) for one in segment_list(document)
             if one['sha256'] and one.get('state') != 'removed'}
    there = {path for stream in rows.FOLDERS for path in rows.segments(output, stream)}
    equal(sorted(there - named), [], 'segments that the manifest does not name')
    return document


def session_true(output, final):
    """After the end of a session: status, manifest and files tell the same."""
    equal(rows.parts(output), [], 'segments not closed')
    accounts = balanced(final, 'status')
    missed[0] += sum(one.get('missed', 0) for one in accounts.values())
    told = balanced(manifest_true(output), 'manifest')
    for name, one in accounts.items():
        for key in ('emitted', 'written'):
            equal(told.get(name, {}).get(key), one[key], 'manifest, %s %s' % (name, key))
        if name in rows.FOLDERS:
            equal(len(rows.read(output, name)), one['written'] - one['removed'],
                  'rows in the files of %s' % name)
    return accounts
