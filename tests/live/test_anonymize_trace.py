# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces anonymised afterwards, and snapshots, then or at once: the same hashes, and no file of unknown columns."""
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

from lib import account, peculiar, rows
from lib.anonymized import HASH, anonymize, both, clear_words, contents, found, hashed_path, key
from lib.registry import Skip, check, equal, test, wait_for
from lib.xxh128 import xxh128
import test_filter_cgroup

GROUP = 'anonymize'


@test(host_only=True)
def compressed(world):
    """A segment of gzip becomes one of gzip, with the same rows."""
    _, clear = both(world)
    plain, _ = anonymize(world, clear)
    packed = world.path('packed')
    shutil.copytree(clear, packed)
    manifest = rows.manifest(packed)
    for segment in manifest['segments']:
        path = os.path.join(packed, segment['path'])
        with open(path, 'rb') as file, gzip.open(path + '.gz', 'wb') as target:
            target.write(file.read())
        os.unlink(path)
        segment.update(path=segment['path'] + '.gz', state='compressed',
                       stored_bytes=os.path.getsize(path + '.gz'))
    write_manifest(packed, manifest)
    out, _ = anonymize(world, packed)
    world.ctl.exits(0, 'verify', out)
    for segment in rows.manifest(out)['segments']:
        path = os.path.join(out, segment['path'])
        equal(segment['stored_bytes'], os.path.getsize(path), 'stored_bytes of ' + path)
        equal(rows.content(path), rows.content(os.path.join(plain, segment['path'][:-3])), path)


def write_manifest(folder, manifest):
    with open(os.path.join(folder, 'manifest.json'), 'w', encoding='utf-8') as file:
        json.dump(manifest, file)


@test(host_only=True)
def refusals(world):
    """What `anonymize` refuses: it tells the reason, and leaves nothing in the output folder."""
    hidden, clear = both(world)

    def refused(word, folder, *options, out=None):
        out = out or world.path('anonymised')
        done = world.ctl.exits((1, 2), 'anonymize', '--json', folder, out, *(options or ('--key', key(world))))
        check(word in done.stderr, 'stderr', done.stderr)
        equal(json.loads(done.stdout)['error'], 'io.iotracer.Failed', 'an error as a document')
        left = [path for path, _ in contents(out)] if os.path.isdir(out) else []
        equal([path for path in left if not path.endswith('stays')], [], 'files written')

    refused('anonymised already', hidden)
    refused('No such file', world.path('nothing'))
    refused('not a trace', world.make('empty'))
    refused('key', clear, '--key', world.path('nokey'))
    full = world.make('full')
    with open(os.path.join(full, 'stays'), 'w', encoding='utf-8'):
        pass
    refused('not empty', clear, out=full)
    for damage in (b'a,b\n', b'"', b'2026-01-01 00:00:00.000000000,READ\n'):
        damaged = world.path('damaged')
        shutil.copytree(clear, damaged)
        with open(rows.segments(damaged, 'vfs')[0], 'ab') as file:
            file.write(damage)
        refused('differs from its manifest', damaged)
    linked = world.path('linked')
    shutil.copytree(clear, linked)
    path = rows.segments(linked, 'vfs')[0]
    os.rename(path, linked + '.csv')
    os.symlink(linked + '.csv', path)
    refused('differs from its manifest', linked)
    manifest = rows.manifest(clear)
    for change in ({'path': '../../etc/passwd'}, {'path': '/etc/passwd'}, {'path': 'fs/../../x.csv'},
                   {'stream': 'bogus'}, {'state': 'bogus'}, {'rows': 'many'}):
        hostile = world.path('hostile')
        shutil.copytree(clear, hostile)
        write_manifest(hostile, dict(manifest, segments=[dict(manifest['segments'][0], **change)]))
        refused('differs from its manifest', hostile)
    column = world.path('column')
    shutil.copytree(clear, column)
    rename_column(column)
    refused("'novelty'", column)


def rename_column(folder):
    """A stream with a column that this version does not know, all else being true."""
    manifest = rows.manifest(folder)
    manifest['streams']['vfs']['columns'][5]['name'] = 'novelty'
    for segment in manifest['segments']:
        if segment['stream'] == 'vfs':
            path = os.path.join(folder, segment['path'])
            text = rows.content(path).replace(b',filename,', b',novelty,', 1)
            with open(path, 'wb') as file:
                file.write(text)
            segment.update(bytes=len(text), xxh128=xxh128(text))
    write_manifest(folder, manifest)


@test(host_only=True)
def left_out(world):
    """Files that the manifest does not know stay behind, and are told of."""
    _, clear = both(world)
    folder = world.path('more')
    shutil.copytree(clear, folder)
    for name in ('notes.txt', 'fs/fs_000009.csv', 'fs/other'):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write('secret\n')
    out, done = anonymize(world, folder)
    for name in ('notes.txt', 'fs/fs_000009.csv', 'fs/other'):
        check(name in done.stderr, '%s is not told of' % name, done.stderr)
        check(not os.path.exists(os.path.join(out, name)), '%s was copied' % name)
    os.rename(os.path.join(folder, 'notes.txt'), os.path.join(folder, 'odd\udcff'))
    again = world.path('anonymised')
    told = world.ctl.json('anonymize', folder, again, '--key', key(world))
    equal(sorted(told['left_out']), ['fs/fs_000009.csv', 'fs/other', r'odd\xff'], 'left out')
    equal(told['rows'], sum(one['rows'] for one in rows.manifest(clear)['segments']), 'rows')


SNAPSHOTS = {
    'filesystem_snapshot/filesystem_snap_000001.csv.gz':
        'snapshot_timestamp,path,type,size,creation_time,modification_time,access_time,inode,device,links\n'
        't,/,directory,1,,t,t,2,8:1,20\nt,"/q0z9, ""a""/b.txt",file,1,,t,t,3,8:1,1\n',
    'process/process_snap_000001.csv':
        'timestamp,pid,ppid,name,cmdline,vms_kb,rss_kb,creation_time,cpu_5s,cpu_2m,cpu_1h,status,uid,cgroup\n'
        't,1,0,q0z9,/bin/q0z9 --a b.txt,1,1,t,0,0,0,S,0,/system.slice/q0z9.service\n',
    'system_spec/device_spec.txt': 'host q0z9\n',
}


@test(host_only=True)
def snapshots(world):
    """
    Snapshots that are tables are anonymised, also one of an earlier version, which has fewer columns; one without
    columns is left out, also of the manifest.
    """
    _, clear = both(world)
    folder = world.path('snapped')
    shutil.copytree(clear, folder)
    manifest = rows.manifest(folder)
    manifest['snapshots'].append({'kind': 'process', 'path': None, 'message': 'q0z9 hangs'})
    for path, text in {**SNAPSHOTS, 'process/other': 'q0z9'}.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with (gzip.open if path.endswith('.gz') else open)(full, 'wb') as file:
            file.write(text.encode())
        if path in SNAPSHOTS:
            manifest['snapshots'].append({'path': path, 'rows': text.count('\n') - 1, 'bytes': len(text),
                                          'sha256': hashlib.sha256(text.encode()).hexdigest()})
    write_manifest(folder, manifest)
    out = world.path('anonymised')
    told = world.ctl.json('anonymize', folder, out, '--key', key(world))
    equal(sorted(told['left_out']), ['process/other', 'system_spec/device_spec.txt'], 'left out')
    equal(found(out, [peculiar.MARK]), [], 'names in the clear')
    files, processes = [rows.parse(os.path.join(out, path), rows.content(os.path.join(out, path)))
                        for path in list(SNAPSHOTS)[:2]]
    equal(files[0]['path'], '/', 'the root')
    check(re.fullmatch(r'/[a-z2-7]{16}/[a-z2-7]{16}\.txt', files[1]['path']), files[1])
    one = processes[0]
    check(re.fullmatch(r'[a-z2-7]{16}', one['cmdline']), one)
    check(re.fullmatch(r'/[a-z2-7]{16}\.slice/[a-z2-7]{16}\.service', one['cgroup']), one)
    names = {row['filename'].split('/')[-1] for row in rows.read(out, 'vfs')}
    check(one['name'] in names, 'the name of a process and that of a file with it', one['name'])
    kept = rows.manifest(out)['snapshots']
    equal([entry['path'] for entry in kept], ['cgroups/cgroups.csv', None, *list(SNAPSHOTS)[:2]],
          'snapshots in the manifest')
    for entry in kept[2:]:
        path = os.path.join(out, entry['path'])
        equal(entry['sha256'], hashlib.sha256(rows.content(path)).hexdigest(), 'SHA-256 of ' + path)
        equal(entry['stored_bytes'], os.path.getsize(path), 'size of ' + path)
    with open(os.path.join(folder, 'process/process_snap_000001.csv'), 'a', encoding='ascii') as file:
        file.write('x\n')
    done = world.ctl.exits(1, 'anonymize', folder, world.path('anonymised'), '--key', key(world))
    check('differs from its manifest' in done.stderr, 'a damaged snapshot', done.stderr)


OPENER = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, bytes.fromhex('%s'))
while print(flush=True) or sys.stdin.readline():
    open(sys.argv[1]).close()
"""


def opener(world, path):
    """A process whose command, arguments and cgroup hold the mark, and which opens the file when told to."""
    try:
        cgroup = test_filter_cgroup.Cgroups(world).make(peculiar.MARK + '.slice')
    except (Skip, OSError):
        cgroup = None  # the mark is in its other names
    process = subprocess.Popen([sys.executable, '-c', OPENER % peculiar.COMMAND.encode().hex(), path],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    world.undo.callback(process.wait)
    world.undo.callback(process.kill)
    if cgroup:
        with open(cgroup + '/cgroup.procs', 'w', encoding='ascii') as file:
            file.write(str(process.pid))
    process.stdout.readline()
    return process


def name_machine(world):
    """Makes a mount and a network link with the mark, if possible; returns whether there is the mount."""
    folder = world.make(peculiar.MARK + ' mount')
    mounted = not world.command('mount', '-t', 'tmpfs', peculiar.MARK + '/source', folder, check=False).returncode
    if mounted:
        world.later('umount', folder)
    if shutil.which('ip') and not world.command('ip', 'link', 'add', peculiar.MARK + '-1', 'type', 'dummy',
                                                check=False).returncode:
        world.later('ip', 'link', 'delete', peculiar.MARK + '-1')
    return mounted


def taken(session):
    return all(one['state'] == 'done' for one in session.status()['sessions'][0]['snapshots'].values())


def snapshots_hidden(output, pid):
    """No name in any of the three; the rows of files, and of the process."""
    files, processes = [rows.parse(os.path.join(output, path), rows.content(os.path.join(output, path)))
                        for path in list(SNAPSHOTS)[:2]]
    for row in files:
        check(hashed_path(row['path']), 'path', row)
    for row in processes:
        check(HASH.fullmatch(row['name']) and (not row['cmdline'] or HASH.fullmatch(row['cmdline'])) and
              hashed_path(row['cgroup']), 'process', row)
    with open(os.path.join(output, 'system_spec', 'device_spec.json'), encoding='utf-8') as file:
        facts = json.load(file)
    check(HASH.fullmatch(facts['host']), 'host', facts['host'])
    for link in facts['links']:
        check(HASH.fullmatch(link['name']), 'link', link)
    for mount in facts['file_systems']:
        check(hashed_path(mount['path']), 'mount', mount)
        check(mount['source'] in (mount['type'], 'none') or
              hashed_path('/' + mount['source'].lstrip('/')), 'source', mount)
    equal(found(output, clear_words()), [], 'names in the clear')
    document = account.manifest_true(output)
    told = [entry['kind'] for entry in document['snapshots'] if entry['kind'] != 'cgroups']
    equal((document['anonymized'], len(told)), (True, 4), 'manifest')
    return files, [row for row in processes if row['pid'] == str(pid)][0]


@test
def own_snapshots(world):
    """Those of a session, and those that are asked for: no name, and the hashes of the rows."""
    root = world.make(peculiar.MARK + ' root')
    path = os.path.join(root, 'lib' + peculiar.MARK + '.so.6')
    open(path, 'wb').close()
    mounted = name_machine(world)
    process = opener(world, path)
    with world.session('--vfs', '--pid', process.pid, '--anonymize=host', '--snapshot-system', 'on', '--snapshot-process',
                       '1h', '--snapshot-filesystem', '1h', '--snapshot-root', root,
                       name='s-' + peculiar.MARK) as session:
        process.stdin.write(b'\n')
        process.stdin.flush()
        process.stdout.readline()
        wait_for('the snapshots', lambda: taken(session), lambda: [session.status()])
    files, one = snapshots_hidden(session.output, process.pid)
    opened = [row for row in session.rows() if row['operation'] == 'OPEN' and row['filename'].endswith('.so')][0]
    equal([row['path'] for row in files if row['type'] == 'file'], [opened['filename']], 'the file')
    equal(one['name'], opened['command'], 'the command')
    world.ctl.exits(0, 'verify', session.output)
    asked = world.ctl.json('snapshot', '--root', root, '--anonymize=host', '--output', world.path('snap'))['output']
    again, other = snapshots_hidden(asked, process.pid)
    equal([row['path'] for row in again], [row['path'] for row in files], 'files of both')
    for column in ('name', 'cmdline', 'cgroup'):
        equal(other[column], one[column], column)
    clear = world.ctl.json('snapshot', '--root', root, '--output', world.path('snap'))['output']
    marked = {path[len(clear) + 1:] for path, text in contents(clear) if peculiar.MARK.encode() in text}
    equal(set(list(SNAPSHOTS)[:2]) - marked, set(), 'tables that the names are in')
    check(not mounted or 'system_spec/device_spec.txt' in marked, 'the mount is not told of', marked)
    later, _ = anonymize(world, clear)
    equal(found(later, clear_words()), [], 'names in the clear in what was anonymised later')
    world.ctl.exits(0, 'verify', later)


@test(host_only=True)
def snapshots_of_session(world):
    """Snapshots of a session are anonymised if its rows are, on schedule and on demand, and so are messages of failures."""
    gone = '/' + peculiar.MARK + '/gone'
    with world.session('--vfs', '--pid', os.getpid(), '--anonymize', '--snapshot-filesystem', '1h', '--snapshot-root',
                       gone, name='f-' + peculiar.MARK) as session:
        for options in ((), ('--anonymize',)):
            world.ctl.exits(0, 'snapshot', 'process', session.name, *options)
        def failed():
            shown = session.status()['sessions'][0]['snapshots']['filesystem']
            return shown['state'] == 'failed' and shown
        shown = wait_for('a failure', failed)
        check(HASH.fullmatch(shown['message']), 'message in status', shown)
    equal(found(session.output, clear_words()), [], 'names in the clear')
    equal(len(os.listdir(os.path.join(session.output, 'process'))), 2, 'snapshots of processes')
    definition = rows.manifest(session.output)['definition']
    check(hashed_path(definition['snapshot_root']), 'root in the manifest', definition)
    with world.session('--vfs', '--pid', os.getpid()) as clear:
        done = world.ctl.exits(1, 'snapshot', 'process', clear.name, '--anonymize')
        check('in the clear' in done.stderr, 'why it was refused', done.stderr)
        equal(os.path.exists(os.path.join(clear.output, 'process')), False, 'a snapshot')
