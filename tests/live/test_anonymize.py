# SPDX-License-Identifier: GPL-2.0-or-later
"""Anonymised sessions: no name in the clear in files, manifest, status, tail and notes; and the key of the hashes."""
import json
import os
import re
import select
import shutil
import signal
import subprocess

from lib import account, peculiar, rows
from lib.anonymized import HASH, UID, anonymize, both, clear_words, contents, found
from lib.registry import PATIENCE, check, equal, test
from lib.sockets import spawn

TEXTS = {'command', 'filename', 'source_addr', 'dest_addr', 'local_addr', 'remote_addr', 'option_value'}


@test
def no_name(world):
    """None in any stream or in the manifest, though all of them are in the trace in the clear."""
    hidden, clear = both(world)
    marked = {stream for stream in rows.FOLDERS
              if any(peculiar.MARK in row['command'] + row.get('filename', '') +
                     row.get('local_addr', '') for row in rows.read(clear, stream))}
    check({'vfs', 'net', 'conn', 'epoll', 'sockopt', 'cache', 'pagefault'} <= marked,
          'streams that the names are in', marked)
    drops = [row for row in rows.read(clear, 'drop')
             if row['dest_addr'] == peculiar.IPV4 and row['packet_size'] == '0']
    check(drops, 'no segment was sent again')
    equal(found(hidden, clear_words()), [], 'names in the clear')


@test
def same_rows(world):
    """Each row is what `iotracectl anonymize` makes of the same row of a session in the clear."""
    hidden, clear = both(world)
    out, _ = anonymize(world, clear)
    equal(found(out, clear_words()), [], 'names in the clear')
    for stream in rows.FOLDERS:
        one, other = [[line for path in rows.segments(folder, stream) for line in rows.content(path).splitlines()]
                      for folder in (hidden, out)]
        check(one == other, 'rows of %s' % stream, *[pair for pair in zip(one, other)
                                                     if pair[0] != pair[1]][:3], len(one), len(other))
    account.manifest_true(out)
    world.ctl.exits(0, 'verify', out)
    world.ctl.exits(0, 'verify', hidden)


@test
def shape(world):
    """What stays: depth, arrows, marks, extensions, identity; and numbers, where they are numbers."""
    hidden, clear = both(world)
    names, extensions = {}, {}
    for stream in rows.FOLDERS:
        for before, after in zip(rows.read(clear, stream), rows.read(hidden, stream)):
            for column in before:
                if column not in TEXTS | {'timestamp'}:
                    equal(after[column], before[column], '%s.%s' % (stream, column))
            if before.get('filename'):
                equal(after['filename'].count('/'), before['filename'].count('/'), before['filename'])
                equal(after['filename'].count(' -> '), before['filename'].count(' -> '), before)
                compare(before['filename'], after['filename'], names)
            compare(before['command'], after['command'], names)
    for name, extension in peculiar.NAMES.items():
        if extension is not None:
            extensions[name] = names[rows.escape(name.encode())]
            check(extensions[name].endswith(extension) and extensions[name].count('.') ==
                  extension.count('.'), 'extension of %r' % name, extensions[name])
    equal(len(set(names.values())), len(names), 'different names with the same hash')
    values = {(row['option_name'], row['option_value']) for row in rows.read(hidden, 'sockopt')}
    check({('SO_RCVBUF', '4242'), ('TCP_CONGESTION', 'reno')} <= values, 'values of options', values)
    kinds = {row['local_addr'].partition('.')[2] for row in rows.read(hidden, 'conn')}
    check({'loopback', 'sock'} <= kinds, 'kinds of addresses', kinds)


def compare(before, after, names):
    split = re.compile(r' -> | \(deleted\)$|/')
    for one, other in zip(split.split(before), split.split(after)):
        check(one in ('', '.', '..', '...') and one == other or HASH.fullmatch(other), before, after)
        equal(names.setdefault(one, other), other, 'one name, two hashes: %r' % one)


@test(host_only=True)
def live(world):
    """tail and status have no more names than the files; the name that a session is reached by stays."""
    pid, release, result = spawn(peculiar.work(world.make(peculiar.MARK + 'tail'), UID))
    with world.session('--vfs', '--pid', '%d,%d' % (pid, os.getpid()), '--anonymize') as session:
        tail = subprocess.Popen(world.ctl.command('tail', session.name, '--json'), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        world.undo.callback(tail.kill)
        knock(tail)
        os.write(release, b'\n')
        with os.fdopen(result) as file:
            check(not json.load(file)['failure'], 'the process failed')
        os.waitpid(pid, 0)
        equal(session.status()['sessions'][0]['anonymize'], True, 'status')
    text, _ = tail.communicate(timeout=PATIENCE)
    live_rows = [json.loads(line) for line in text.splitlines()]
    names = {row['columns']['filename'] or '' for row in live_rows if 'columns' in row}
    check(len(names) > 10, 'rows of tail', text[:400])
    check(peculiar.MARK not in text, 'a name in the clear', text[:400])
    check(names <= {row['filename'] for row in session.rows()}, 'other names than in the files')


def knock(tail):
    """Makes rows until the tail has one."""
    while not select.select([tail.stdout], [], [], 0.02)[0]:
        os.path.exists('/' + peculiar.MARK + '/knock')


@test(host_only=True)
def filters(world):
    """Filters hold names, too, which status and manifest show as hashes."""
    name = peculiar.MARK + '-comm'
    with world.session('--vfs', '--command', name, '--anonymize', name=peculiar.MARK) as session:
        shown = session.status()['sessions'][0]
        equal(shown['name'], peculiar.MARK, 'name in status')
        check(HASH.fullmatch(shown['filters']['commands'][0]), 'filters in status', shown['filters'])
    equal(found(session.output, clear_words()), [], 'names in the clear')
    manifest = rows.manifest(session.output)
    equal(manifest['anonymized'], True, 'anonymized')
    equal(manifest['definition']['filters'], shown['filters'], 'filters of status and manifest')


@test(host_only=True)
def key_file(world):
    """The host's key is made once, and refused when it is damaged, or when others may read it."""
    daemon, ctl = world.own_daemon()
    path = os.path.join(daemon.folder, 'state', 'anonymize.key')
    equal(os.stat(path).st_mode & 0o777, 0o600, 'mode')
    with open(path, 'rb') as file:
        first = file.read()
    check(re.fullmatch(rb'[0-9a-f]{64}\n', first), 'the key', first)

    def refused(word):
        done = ctl.exits(1, 'start', '--vfs', '--anonymize=host', '--output', world.path('trace'))
        check(word in done.stderr and 'anonymize.key' in done.stderr, 'stderr', done.stderr)

    os.chmod(path, 0o640)
    refused('mode 0640')
    os.chmod(path, 0o600)
    with open(path, 'wb') as file:
        file.write(first[:-10])
    refused('damaged')
    os.unlink(path)
    ctl.exits((0, 6), 'start', '--vfs', '--anonymize=host', '--output', world.path('trace'))
    ctl.exits(0, 'stop', '--all')
    with open(path, 'rb') as file:
        check(file.read() not in (b'', first), 'a new key')


def hash_of(output, name):
    """The hash in all rows of a command that has one name only, of whatever stream."""
    hashes = {row['command'] for stream in ('vfs', 'pagefault') for row in rows.read(output, stream)}
    equal(len(hashes), 1, 'hashes of the command %s' % name)
    return hashes.pop()


@test(host_only=True)
def key_of_session(world):
    """A hash found in one session is in no other; the host's key, when asked for, joins them; a key goes with its session."""
    daemon, ctl = world.own_daemon()
    options = ('--vfs', '--pagefault', '--command', 'joiner', '--compress', 'none')
    kinds = {'a': '--anonymize', 'b': '--anonymize=session', 'c': '--anonymize=host', 'd': '--anonymize=host'}
    outputs = {name: [world.path('trace')] for name in kinds}

    def play():
        script = os.path.join(world.make('bin'), 'joiner')
        shutil.copy('/bin/ls', script)
        subprocess.run([script, '/'], stdout=subprocess.DEVNULL, check=True)

    for name, kind in kinds.items():
        ctl.exits((0, 6), 'start', name, *options, kind, '--output', outputs[name][0])
    notes = {os.path.basename(path)[0]: path for path in daemon.notes('running')}
    keys = {}
    for name, path in notes.items():
        equal(os.stat(path).st_mode & 0o777, 0o600, 'mode of the note')
        with open(path, encoding='utf-8') as file:
            keys[name] = json.load(file).get('anonymize_key')
    check(keys['a'] and keys['b'] and keys['a'] != keys['b'] and not keys['c'] and not keys['d'], 'keys', keys)
    play()
    daemon.stop(signal.SIGTERM)
    daemon.recover()
    for one in ctl.json('list')['sessions']:
        outputs[one['name']].append(one['output'])
    play()
    ctl.exits(0, 'stop', '--all')
    hashes = {name: {hash_of(output, 'joiner') for output in outputs[name]} for name in kinds}
    equal([len(one) for one in hashes.values()], [1] * 4, 'hashes over the restart')
    check(hashes['c'] == hashes['d'], 'the key of the host', hashes)
    equal(len(set.union(*hashes.values())), 3, 'different hashes')
    equal(daemon.notes('running') + daemon.notes('recover'), [], 'notes with keys')
    found_keys = [path for path, text in contents(os.path.join(daemon.folder, 'state'))
                  if keys['a'].encode() in text or keys['b'].encode() in text]
    equal(found_keys, [], 'where the keys still are')
    ctl.exits(2, 'start', '--vfs', '--anonymize=nobody')


@test(host_only=True)
def killed(world):
    """After SIGKILL of the daemon no name is in what it left, and none where the session goes on."""
    daemon, ctl = world.own_daemon()
    output = world.path('trace')
    ctl.exits((0, 6), 'start', 'a-' + peculiar.MARK, '--vfs', '--uid', UID, '--command', peculiar.MARK,
              '--anonymize', '--output', output)
    daemon.stop(signal.SIGKILL)
    os.unlink(os.path.join(output, 'manifest.json'))
    daemon.recover()
    again = ctl.json('list')['sessions'][0]
    equal(again['anonymize'], True, 'the session that goes on')
    ctl.exits(0, 'stop', '--all')
    for folder in (output, again['output']):
        equal(found(folder, clear_words()), [], 'names in the clear')
        equal(rows.manifest(folder)['anonymized'], True, 'anonymized')
