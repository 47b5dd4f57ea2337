# SPDX-License-Identifier: GPL-2.0-or-later
"""verify: a good trace passes in any folder, and every kind of damage is found."""
import gzip
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess

from lib import account, rows
from lib.registry import check, equal, test, wait_for

FIRST, SECOND = 'fs/fs_000001.csv', 'fs/fs_000002.csv'


def record(world):
    """A trace of two segments and more, with names that need quotes."""
    if not hasattr(world, 'verify_trace'):
        folder = world.make('work')
        with world.session('--vfs', '--compress', 'none', '--block', '--pid', os.getpid()) as session:
            for part in range(2):
                for number in range(40):
                    path = os.path.join(folder, 'a,"%d"' % number)
                    with open(path, 'wb') as file:
                        file.write(b'x' * 100)
                    os.rename(path, path + ',')
                if not part:
                    world.ctl.json('rotate', session.name)
        world.verify_trace = session.output
    return world.verify_trace


def copy(world):
    folder = world.path('copy')
    shutil.copytree(record(world), folder)
    return folder


def verify(world, folder, *options, code=0):
    """The JSON document of verify, which must have all its lists."""
    found = world.ctl.json('verify', folder, *options, code=code)
    equal(found['complete'], code == 0, 'complete')
    return found


def path_of(folder, name):
    return os.path.join(folder, *name.split('/'))


def change(folder, name, how):
    """Rewrites a file; `how` takes and returns bytes."""
    path = path_of(folder, name)
    with open(path, 'rb') as file:
        before = file.read()
    after = how(before)
    check(after != before, 'the test changed nothing in ' + name)
    with open(path, 'wb') as file:
        file.write(after)


def edit(folder, how):
    """Changes the manifest as an object."""
    def rewrite(text):
        document = json.loads(text)
        how(document)
        return json.dumps(document).encode()
    change(folder, 'manifest.json', rewrite)


def segment(document, name=FIRST):
    return next(one for one in document['segments'] if one['path'] == name)


def found(world, folder, name, *words, options=()):
    """Fails verify, with a line that names the file and says so."""
    document = verify(world, folder, *options, code=1)
    kinds = ['problems', 'losses'] + (['caveats'] if options else [])
    told = [one['file'] + ': ' + one['what'] for kind in kinds for one in document[kind]]
    for word in words:
        check(any(one.startswith(name) and word in one for one in told),
              'nothing says of %s: %s' % (name, word), *told)


def compress(path, cut=None):
    with open(path, 'rb') as file:
        packed = gzip.compress(file.read())
    with open(path + '.gz', 'wb') as file:
        file.write(packed[:cut])
    os.unlink(path)


@test(host_only=True)
def good(world):
    """A good trace passes where it was written and elsewhere, also with --strict."""
    folder = record(world)
    there = verify(world, folder, '--strict')
    equal([there[kind] for kind in ('problems', 'losses', 'caveats', 'notes')], [[], [], [], []], 'what is told')
    equal(there['rows'], sum(len(rows.read(folder, stream)) for stream in ('vfs', 'block')), 'rows')
    verify(world, copy(world), '--strict')
    done = world.ctl.exits(0, 'verify', folder)
    check('complete' in done.stdout, done.stdout)


@test(host_only=True)
def compressed(world):
    """Files that a user compressed with gzip: some or all, in one member or several."""
    folder = copy(world)
    subprocess.run(['gzip', path_of(folder, FIRST)], check=True)
    verify(world, folder, '--strict')
    with open(path_of(folder, SECOND), 'rb') as file:
        text = file.read()
    with open(path_of(folder, SECOND) + '.gz', 'wb') as file:
        for at in range(0, len(text), 1000):
            file.write(gzip.compress(text[at:at + 1000]))
    os.unlink(path_of(folder, SECOND))
    verify(world, folder, '--strict')


@test(host_only=True)
def damaged(world):
    """One byte, one row, one file."""
    for name, how, words in (
            ('flipped', lambda text: text[:-200] + bytes([text[-200] ^ 1]) + text[-199:],
             ['XXH128']),
            ('row removed', lambda text: text[:text.rindex(b'\n', 0, -1) + 1],
             ['rows', 'bytes', 'XXH128']),
            ('row doubled', lambda text: text + text[text.rindex(b'\n', 0, -1) + 1:], ['more than']),
            ('field added', lambda text: text.replace(b',READ,', b',READ,,', 1)
             if b',READ,' in text else text.replace(b',OPEN,', b',OPEN,,', 1), ['columns']),
            ('header', lambda text: text.replace(b'timestamp', b'timestamq', 1), ['header']),
            ('cut', lambda text: text[:-5], ['within a row', 'bytes']),
            ('empty', lambda text: b'', ['rows', 'bytes', 'XXH128', 'header']),
            ('zeros', lambda text: text[:-500] + bytes(500), ['XXH128'])):
        folder = copy(world)
        change(folder, FIRST, how)
        found(world, folder, FIRST, *words)
        check(name, name)


def flip(world, folder, name, places):
    """Each of these bits of the file, one after the other; in the end the file is as it was."""
    with open(path_of(folder, name), 'rb') as file:
        content = file.read()
    for at, bit in places(len(content)):
        with open(path_of(folder, name), 'wb') as file:
            file.write(content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1:])
        found(world, folder, FIRST, '')
    with open(path_of(folder, name), 'wb') as file:
        file.write(content)
    verify(world, folder, '--strict')


def anywhere(size):
    draw = random.Random(size)
    return [(draw.randrange(size), draw.randrange(8)) for _ in range(50)]


@test(host_only=True)
def flipped(world):
    """Any bit, wherever it is in the text."""
    flip(world, copy(world), FIRST, anywhere)


@test(host_only=True)
def flipped_compressed(world):
    """Any bit of the .gz, also those of its header that no reader of gzip looks at."""
    with world.session('--vfs', '--pid', os.getpid()) as session:
        for number in range(200):
            os.access(world.path('file%d' % number), os.F_OK)
    wait_for('gzip', lambda: rows.manifest(session.output)['segments'][0]['state'] == 'compressed')
    folder = world.path('copy')
    shutil.copytree(session.output, folder)
    flip(world, folder, FIRST + '.gz', anywhere)
    flip(world, folder, FIRST + '.gz', lambda _: [(at, bit) for at in range(10) for bit in range(8)])
    edit(folder, lambda document: segment(document, FIRST + '.gz').update(stored_sha256='0' * 64))
    found(world, folder, FIRST, 'as it is stored')
    edit(folder, lambda document: former(document, folder))
    verify(world, folder, '--strict')


def former(document, folder):
    """Makes it one of version 1, whose segments have a SHA-256 of their text."""
    document['schema_version'] = 1
    for one in document['segments']:
        del one['xxh128']
        one.pop('stored_sha256', None)
        one['sha256'] = hashlib.sha256(rows.content(path_of(folder, one['path']))).hexdigest()


@test(host_only=True)
def former_version(world):
    """What the version before wrote is read as it was then, damage as well; anonymised, it is of this version."""
    folder = copy(world)
    edit(folder, lambda document: former(document, folder))
    verify(world, folder, '--strict')
    anonymized = world.path('anonymized')
    world.ctl.json('anonymize', folder, anonymized)
    verify(world, anonymized, '--strict')
    account.manifest_true(anonymized)
    equal(rows.manifest(anonymized)['schema_version'], 2, 'version')
    change(folder, FIRST, lambda text: text[:-200] + bytes([text[-200] ^ 1]) + text[-199:])
    found(world, folder, FIRST, 'SHA-256')


@test(host_only=True)
def replaced(world):
    """Segments that are missing, or are no regular files."""
    folder = copy(world)
    path = path_of(folder, FIRST)
    os.unlink(path)
    found(world, folder, FIRST, 'missing')
    os.mkfifo(path)
    found(world, folder, FIRST, 'not a regular file')
    os.unlink(path)
    os.symlink('/etc/passwd', path)
    found(world, folder, FIRST, 'symbolic link')
    shutil.rmtree(path_of(folder, 'fs'))
    os.symlink(record(world) + '/fs', path_of(folder, 'fs'))
    found(world, folder, 'fs', 'not a folder')


@test(host_only=True)
def bad_gzip(world):
    for cut, word in ((-1, 'too early'), (-9, 'too early'), (100, 'too early'), (0, 'too early')):
        folder = copy(world)
        compress(path_of(folder, FIRST), cut)
        found(world, folder, FIRST, word)
    folder = copy(world)
    compress(path_of(folder, FIRST))
    change(folder, FIRST + '.gz', lambda data: data[:-6] + b'xx' + data[-4:])
    found(world, folder, FIRST, 'damaged')


@test(host_only=True)
def bomb(world):
    """A .gz that unpacks to a gigabyte is read no further than the size in the manifest."""
    folder = copy(world)
    os.unlink(path_of(folder, FIRST))
    with open(path_of(folder, FIRST) + '.gz', 'wb') as file:
        file.write(gzip.compress(b'\n' * (1 << 20), 1) * 1024)
    found(world, folder, FIRST, 'more than')
    check(verify(world, folder, code=1)['bytes'] < 10 << 20, 'the bomb was unpacked')


@test(host_only=True)
def no_rows(world):
    """A stream without rows as JSON lines is an empty file, whose .gz is valid."""
    with world.session('--vfs', '--drop', '--format', 'jsonl', '--pid', os.getpid()) as session:
        os.listdir('/var/tmp')
    packed = path_of(session.output, 'nw_drop/nw_drop_000001.jsonl.gz')
    wait_for('the file without rows to be compressed', lambda: os.path.exists(packed))
    subprocess.run(['gzip', '-t', packed], check=True)
    with gzip.open(packed) as file:
        equal(file.read(), b'', 'text')
    verify(world, session.output, '--strict')


def within(limit, command):
    """Runs verify with a limit of its address space in bytes, its libraries included."""
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    equal(done.returncode, 0, 'exit code within %d MiB: %s' % (limit >> 20, done.stderr[-500:]))


@test(host_only=True)
def large_manifest(world):
    """A manifest of 100,000 segments takes less memory than two times its text."""
    world.measures_memory()
    folder, after = copy(world), world.path('anonymized')

    def grow(document):
        one = segment(document)
        document['segments'] += [dict(one, path='fs/fs_%06d.csv' % number, state='removed', rows=0)
                                 for number in range(1000, 101000)]
    edit(folder, grow)
    size = os.path.getsize(path_of(folder, 'manifest.json'))
    check(size > 24 << 20, 'size of the manifest', size)
    limit = (64 << 20) + 2 * size
    within(limit, world.ctl.command('verify', folder))
    within(limit, world.ctl.command('anonymize', folder, after))
    with open(path_of(after, 'manifest.json'), 'rb') as file:
        document = json.load(file)
    check(document['anonymized'], 'it is not')
    equal(len(document['segments']), len(rows.manifest(folder)['segments']), 'segments')
    world.ctl.exits(0, 'verify', after)


def drop(document):
    document['segments'] = [one for one in document['segments'] if one['path'] != FIRST]


@test(host_only=True)
def edited_manifest(world):
    """Counts, sums, times and states that are not those of the files."""
    def set_(key, value, name=FIRST):
        return lambda document: segment(document, name).__setitem__(key, value)
    for how, name, word in (
            (set_('rows', 1), FIRST, 'rows'), (set_('rows', 1), 'manifest.json', 'vfs'),
            (set_('bytes', 1 << 62), FIRST, 'bytes'), (set_('xxh128', '0' * 32), FIRST, 'XXH128'),
            (set_('xxh128', None), FIRST, 'no checksum'), (set_('sha256', '0' * 64), FIRST, 'SHA-256'),
            (set_('first_mono_ns', (1 << 62)), FIRST, 'mono_ns'), (set_('state', 'open'), FIRST, 'ended'),
            (set_('last_mono_ns', 1), FIRST, 'mono_ns'), (set_('state', 'removed'), FIRST, 'removed'),
            (set_('path', SECOND), 'manifest.json', 'twice'), (drop, 'manifest.json', 'vfs'),
            (lambda document: document['streams']['vfs'].update(emitted=1), 'manifest.json', 'emitted'),
            (lambda document: document['streams']['vfs']['lost'].update(ring=7), 'manifest.json',
             'emitted'),
            (lambda document: document['streams']['vfs'].update(written=9), 'manifest.json', 'vfs'),
            (lambda document: document['losses'].append({'stream': 'vfs', 'cause': 'ring', 'rows': 1}),
             'manifest.json', 'list of losses')):
        folder = copy(world)
        edit(folder, how)
        found(world, folder, name, word)


@test(host_only=True)
def hostile_manifest(world):
    """A manifest with absurd values: verify reports them, and does not act on them."""
    for path in ('/etc/passwd', '../fs/fs_000001.csv', 'fs/../../x.csv', 'fs/.csv', 'fs/a/b.csv', 'fs/',
                 '', 'ds/fs_000001.csv', 'fs/' + 'x' * 5000 + '.csv', 'fs/x.txt', 7, None):
        folder = copy(world)
        edit(folder, lambda document, path=path: segment(document).update(path=path))
        found(world, folder, 'manifest.json')
    for key in ('rows', 'bytes', 'first_mono_ns'):
        for value in (-1, 1 << 63, 1 << 80, 1.5, 'x', [], {}):
            folder = copy(world)
            edit(folder, lambda document, key=key, value=value: segment(document).update({key: value}))
            found(world, folder, 'manifest.json')
    for how in (lambda document: document.pop('segments'), lambda document: document.pop('streams'),
                lambda document: document.update(segments={}), lambda document: document.update(streams=[]),
                lambda document: document.update(segments=[1, None, [], {}]),
                lambda document: document.update(state='odd'),
                lambda document: document.update(schema_version=4),
                lambda document: document.update(schema_version=0),
                lambda document: document['streams']['vfs'].update(columns=[]),
                lambda document: document['streams']['vfs'].update(folder='..'),
                lambda document: document['streams']['vfs'].update(lost=[])):
        folder = copy(world)
        edit(folder, how)
        found(world, folder, 'manifest.json')
    for content in (b'', b'{', b'[]', b'null', b'{"a":' * 100000, b'\0' * 100, b'{}' * 2):
        folder = copy(world)
        change(folder, 'manifest.json', lambda _, content=content: content)
        found(world, folder, 'manifest.json')
    with open(path_of(folder, 'manifest.json'), 'wb') as file:
        file.truncate(1 << 40)
    found(world, folder, 'manifest.json', '1 GiB')
    with open(path_of(folder, 'manifest.json'), 'wb') as file:
        file.truncate(1 << 29)
    found(world, folder, 'manifest.json', '16 MiB')
    os.unlink(path_of(folder, 'manifest.json'))
    os.mkfifo(path_of(folder, 'manifest.json'))
    found(world, folder, 'manifest.json', 'not a regular file')


@test(host_only=True)
def fuzzed(world):
    """Changes of single bytes: verify always ends in time, and always finds a change of the rows."""
    folder, chance = copy(world), random.Random(1)
    for name in ('manifest.json', FIRST) * 40:
        with open(path_of(folder, name), 'rb') as file:
            whole = file.read()
        at = chance.randrange(len(whole))
        changed = bytearray(whole)
        changed[at:at + chance.choice((0, 1, 1, 5))] = chance.randbytes(chance.choice((1, 1, 3)))
        with open(path_of(folder, name), 'wb') as file:
            file.write(changed)
        code = world.ctl.run('verify', folder).returncode
        check(code in (0, 1, 6), 'exit %d with byte %d of %s changed' % (code, at, name))
        check(code == 1 or name != FIRST or changed == whole, 'not found: byte %d' % at)
        with open(path_of(folder, name), 'wb') as file:
            file.write(whole)


@test(host_only=True)
def losses(world):
    """Rows that the manifest counts as lost: the trace is not complete, and verify says how many, where and why."""
    def lose(document):
        document['streams']['vfs']['emitted'] += 12
        document['streams']['vfs']['lost'].update(ring=7, disk=5)
        document['losses'] = [
            {'stream': 'vfs', 'cause': cause, 'rows': lost, 'from': begin, 'to': end}
            for cause, lost, begin, end in (('ring', 4, '10:00', '10:01'), ('ring', 3, '09:00', '09:01'),
                                            ('disk', 5, '11:00', '11:01'))]

    def gap(document):
        document['gaps'] = [{'from': 'then', 'to': 'now', 'reason': 'crash'}]

    def unknown(document):
        document['streams']['vfs']['emitted_unknown'] = True

    for how, *words in ((lose, 'vfs: 7 rows are missing, lost in: ring, between 09:00 and 10:01', 'vfs: 5 rows are missing, lost in: disk'),
                        (gap, 'nothing was recorded from then to now: crash'),
                        (unknown, 'vfs: a crash lost an unknown number of rows')):
        folder = copy(world)
        edit(folder, how)
        found(world, folder, 'manifest.json', *words)
        equal(verify(world, folder, code=1)['problems'], [], 'problems')
        said = world.ctl.exits(1, 'verify', folder).stdout
        check('not complete' in said and ('12 rows lost' in said) == (how is lose), said)


@test(host_only=True)
def caveats(world):
    """Lost names, rows that retention removed, and programs that the kernel left out pass, but not with --strict."""
    def name(document):
        document['streams']['vfs']['lost']['names'] = 3
        document['losses'] = [{'stream': 'vfs', 'cause': 'names', 'rows': 3, 'from': 'then', 'to': 'now'}]

    def remove(document):
        one = segment(document)
        one['state'] = 'removed'
        document['streams']['vfs']['removed'] = one['rows']

    for how, word in ((name, 'lost in 3 rows'), (remove, 'keep within limits'),
                      (lambda document: document['streams']['vfs'].update(missed=3), '3 times')):
        folder = copy(world)
        edit(folder, how)
        if how is remove:
            os.unlink(path_of(folder, FIRST))
        verify(world, folder)
        found(world, folder, '', word, options=['--strict'])


@test(host_only=True)
def strangers(world):
    """Files that the manifest does not know are named, but are no failure."""
    folder = copy(world)
    for name in ('fs/fs_000009.csv', 'notes.txt'):
        with open(path_of(folder, name), 'w', encoding='ascii'):
            pass
    os.mkdir(path_of(folder, 'other'))
    os.symlink('/', path_of(folder, 'link'))
    told = {one['file'] for one in verify(world, folder)['notes']}
    equal(told, {'fs/fs_000009.csv', 'notes.txt', 'other', 'link'}, 'files that are named')


@test(host_only=True)
def running(world):
    """Of a session that runs, closed files are checked, and the exit code says that it is not complete yet."""
    with world.session('--vfs', '--pid', os.getpid()) as session:
        os.listdir('/var/tmp')
        world.ctl.json('rotate', session.name)
        os.listdir('/var/tmp')

        def noted():
            done = world.ctl.run('verify', session.output, '--json')
            return any(one['file'].startswith('fs/fs_') for one in json.loads(done.stdout)['notes'])
        wait_for('a word of the file that is being written', noted)
        equal(verify(world, session.output, code=6)['problems'], [], 'problems')
    verify(world, session.output)


@test(host_only=True)
def any_byte(world):
    """A document is one whatever the files are called."""
    folder = copy(world)
    odd = folder + '\udcff\n'
    os.rename(folder, odd)
    with open(path_of(odd, 'fs/odd\udcfe'), 'w', encoding='ascii'):
        pass
    done = subprocess.run(world.ctl.command('verify', odd, '--json'), capture_output=True, check=True)
    document = json.loads(done.stdout)
    equal(document['path'], folder + r'\xff\x0a', 'path')
    equal([note['file'] for note in document['notes']], [r'fs/odd\xfe'], 'notes')


@test(host_only=True)
def nothing(world):
    """Without a folder or a trace verify fails with an error."""
    done = subprocess.run(world.ctl.command('verify', '--json', world.path('nowhere\udcff')), capture_output=True,
                          check=False)
    equal(done.returncode, 1, 'exit code')
    message = json.loads(done.stdout)['parameters']['message']
    check('nowhere\\xff' in message and 'No such file' in message, 'an error as a document', message)
    done = world.ctl.exits(1, 'verify', world.make('empty'))
    check('not a trace' in done.stdout, done.stdout)
    world.ctl.exits(2, 'verify')
    world.ctl.exits(2, 'verify', 'one', 'two')
