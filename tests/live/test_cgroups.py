# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of cgroups: what the numbers in rows stand for, also of those that vanished."""
import csv
import io
import os
import re
import shlex
import signal
import subprocess

from lib import rows
from lib.anonymized import HASH
from lib.ctl import Ctl
from lib.daemon import Daemon
from lib.registry import check, equal, test, wait_for
import test_filter_cgroup

TABLE = 'cgroups/cgroups.csv'
COLUMNS = 'cgroup_id,path,unit,container_id,pod_uid,first_seen,last_seen'.split(',')
CONTAINER = '5f' * 32
POD = '9b4f8a52-1c3d-4e5f-8a6b-7c8d9e0f1a2b'
UNIT = 'iotr-test@%d.service' % os.getpid()
# Opens a file within the cgroup, and is gone.
BRIEFLY = 'echo $$ > "$1/cgroup.procs" && exec cat "$2" > /dev/null'


def table(output, name=TABLE):
    """By number. The file is read anew, whatever was read of it before."""
    with open(os.path.join(output, name), encoding='utf-8', newline='') as file:
        found = list(csv.DictReader(io.StringIO(file.read())))
    check(found, 'the table is empty')
    equal(list(found[0]), COLUMNS, 'columns')
    equal([int(row['cgroup_id']) for row in found], sorted({int(row['cgroup_id']) for row in found}), 'numbers')
    return {row['cgroup_id']: row for row in found}


def entry(output):
    """What the manifest says of the table."""
    found = [one for one in rows.manifest(output)['snapshots'] if one['kind'] == 'cgroups']
    equal(len(found), 1, 'tables in the manifest')
    return found[0]


def briefly(world, cgroups, path, name):
    """A cgroup that lives as long as a process that opens a file in it; its number, and the file."""
    folder = cgroups.make(path)
    number = str(os.stat(folder).st_ino)
    target = test_filter_cgroup.file(world, name)
    subprocess.run(['sh', '-c', BRIEFLY, 'sh', folder, target], check=True)
    os.rmdir(folder)
    return number, target


def rows_of(output, target):
    return [row for row in rows.read(output, 'vfs') if row['filename'] == target and row['command'] == 'cat']


@test
def joined(world):
    """
    A cgroup that lived as long as one command is in the table, with its path, unit, container and pod; and so is one that
    was there before. Each row's number is in the table.
    """
    cgroups = test_filter_cgroup.Cgroups(world)
    top = cgroups.named()
    before = os.stat(cgroups.make(top + '/before')).st_ino
    with world.session('--vfs') as one:
        number, target = briefly(world, cgroups, top + '/' + UNIT, 'brief')
        inside, _ = briefly(world, cgroups, '%s/kubepods/burstable/pod%s/%s' % (top, POD, CONTAINER), 'inside')
    known = table(one.output)
    opened = rows_of(one.output, target)
    equal({row['cgroup_id'] for row in opened}, {number}, 'cgroup in the rows of the command')
    row = known[number]
    equal((row['path'], row['unit'], row['container_id'], row['pod_uid']), ('/%s/%s' % (top, UNIT), UNIT, '', ''), 'unit')
    check(row['first_seen'] <= opened[0]['timestamp'] <= row['last_seen'], 'times', row, opened[0])
    row = known[inside]
    equal((row['unit'], row['container_id'], row['pod_uid']), ('', CONTAINER, POD), 'container')
    row, root = known[str(before)], known['1']
    equal(row['path'], '/%s/before' % top, 'path of one that was there')
    equal((row['first_seen'], row['last_seen']), (root['first_seen'], root['last_seen']), 'as long as the session')
    equal(root['path'], '/', 'the root')
    missing = {row['cgroup_id'] for row in rows.read(one.output, 'vfs')} - set(known)
    equal(missing, set(), 'numbers in rows that are not in the table')
    told = entry(one.output)
    equal((told['path'], told['rows'], told['complete'], told['skipped']), (TABLE, len(known), True, 0), 'manifest')
    world.ctl.exits(0, 'verify', one.output)


@test(host_only=True)
def many(world):
    """Cgroups that are made and removed as fast as can be, and hostile names; a limit of storage leaves most of them out."""
    cgroups = test_filter_cgroup.Cgroups(world)
    top = cgroups.make(cgroups.named())
    numbers = {}
    limit = 1 << 20
    with (world.session('--vfs', '--pid', os.getpid()) as one,
          world.session('--vfs', '--pid', os.getpid(), '--keep-size', limit) as small):
        for name in (b'a,b', b'"q".service', b'\xff\x01', b'\\x2d.scope', b' -> ', b'...'):
            folder = os.path.join(top.encode(), name)
            os.mkdir(folder)
            numbers[str(os.stat(folder).st_ino)] = name
            os.rmdir(folder)
        for i in range(10000):
            folder = os.path.join(top, 'n%d' % i)
            os.mkdir(folder)
            numbers[str(os.stat(folder).st_ino)] = b'n%d' % i
            os.rmdir(folder)
    known = table(one.output)
    told = entry(one.output)
    for number, name in numbers.items():
        if number not in known and 'too fast' in told.get('message', ''):
            continue  # a busy machine, and the table says so
        equal(known[number]['path'].split('/')[-1], rows.escape(name), 'name')
        check(known[number]['last_seen'] < known['1']['last_seen'], 'it is gone', known[number])
    told = entry(small.output)
    check(told['bytes'] <= limit // 8 and not told['complete'], 'a table at its limit', told)
    equal(told['rows'], len(table(small.output)), 'cgroups')
    check(told['skipped'] > told['rows'], 'those beyond the limit', told)


@test(host_only=True)
def while_it_runs(world):
    """The table is there from soon after the start, is renewed, and gets its name at the end; verify knows that."""
    cgroups = test_filter_cgroup.Cgroups(world)
    with world.session('--vfs', '--pid', os.getpid()) as one:
        part = TABLE + '.part'
        wait_for('a table', lambda: os.path.exists(os.path.join(one.output, part)))
        number = str(os.stat(cgroups.make(cgroups.named())).st_ino)
        wait_for('the new cgroup', lambda: number in table(one.output, part))
        said = world.ctl.exits(6, 'verify', one.output)
        check('cgroups' not in said.stdout + said.stderr, 'what verify says', said.stdout, said.stderr)
    equal(os.listdir(os.path.join(one.output, 'cgroups')), ['cgroups.csv'], 'files')
    with open(os.path.join(one.output, TABLE), 'a', encoding='ascii') as file:
        file.write('x\n')
    said = world.ctl.exits(1, 'verify', one.output)
    check(TABLE + ': its size or SHA-256' in said.stdout + said.stderr, 'a damaged table', said.stdout, said.stderr)


@test(host_only=True)
def anonymised(world):
    """Hashed when recorded, and the same when hashed later: the hash of a unit is that of its name in the path."""
    cgroups = test_filter_cgroup.Cgroups(world)
    top = cgroups.named('q0z9')
    cgroups.make(top)
    key = os.path.join(world.daemon.folder, 'state', 'anonymize.key')
    with world.session('--vfs', '--pid', os.getpid(), '--anonymize=host') as hidden, \
            world.session('--vfs', '--pid', os.getpid()) as clear:
        number, _ = briefly(world, cgroups, top + '/' + UNIT, 'hidden')
        inside, _ = briefly(world, cgroups, '%s/docker-%s.scope' % (top, CONTAINER), 'hidden')
    out = world.path('anonymised')
    world.ctl.exits(0, 'anonymize', clear.output, out, '--key', key)
    for output in (hidden.output, out):
        known = table(output)
        row = known[number]
        check(re.fullmatch('/(%s)/(%s)' % (HASH.pattern, HASH.pattern), row['path']), 'path', row)
        equal(row['unit'], row['path'].split('/')[-1], 'unit')
        check(re.fullmatch('[a-z2-7]{16}', known[inside]['container_id']), 'container', known[inside])
        with open(os.path.join(output, TABLE), encoding='ascii') as file:
            text = file.read()
        check(not re.search('q0z9|iotr-test|' + CONTAINER, text), 'names in the clear', text)
        world.ctl.exits(0, 'verify', output)
    columns = COLUMNS[:5]
    later, then = table(out)[number], table(hidden.output)[number]
    equal([later[name] for name in columns], [then[name] for name in columns], 'hashed later')


@test(host_only=True)
def after_a_crash(world):
    """The table of a daemon that was killed is found again, and listed."""
    daemon, client = world.own_daemon()
    cgroups = test_filter_cgroup.Cgroups(world)
    output = world.path('killed')
    client.json('start', 'killed', '--vfs', '--pid', os.getpid(), '--output', output, code=(0, 6))
    wait_for('a table', lambda: os.path.exists(os.path.join(output, TABLE + '.part')))
    number, _ = briefly(world, cgroups, cgroups.named(), 'killed')
    wait_for('the cgroup', lambda: number in table(output, TABLE + '.part'))
    daemon.stop(signal.SIGKILL)
    daemon.recover()
    check(number in table(output), 'it is not in the table')
    told = entry(output)
    equal((told['path'], told['complete'], told['recovered']), (TABLE, False, True), 'manifest')
    equal(told['rows'], len(table(output)), 'rows')
    said = world.ctl.run('verify', output)
    check('cgroups' not in said.stdout + said.stderr, 'what verify says', said.stdout, said.stderr)


@test(host_only=True)
def dumped(world):
    """A dump of a flight recorder has the cgroups of its rows."""
    cgroups = test_filter_cgroup.Cgroups(world)
    world.ctl.json('start', 'flying', '--vfs', '--flight-recorder', '64M', '--pid', os.getpid(), code=(0, 6))
    world.undo.callback(world.ctl.run, 'stop', 'flying')
    number, _ = briefly(world, cgroups, cgroups.named(), 'dumped')
    output = world.path('dump')
    world.ctl.json('dump', 'flying', '--output', output)
    check(number in table(output), 'it is not in the table')
    equal(entry(output)['complete'], True, 'complete')
    world.ctl.exits(0, 'verify', output)


@test(host_only=True)
def not_mounted(world):
    """Where cgroup v2 is not mounted, there is no table, and the manifest says why; all else is as ever."""
    program = world.path('iotracerd')
    with open(program, 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\nexec unshare --mount sh -c \'umount -l "$0" && exec "$@"\' %s %s "$@"\n' %
                   (shlex.quote(test_filter_cgroup.mounted()), shlex.quote(world.daemon_program)))
    os.chmod(program, 0o755)
    folder = world.make('daemon')
    daemon = Daemon(program, folder, 'tracepoint').start()
    world.undo.callback(daemon.stop)
    client = Ctl(world.ctl_program, daemon.socket)
    output = world.path('bare')
    client.json('start', 'bare', '--vfs', '--pid', os.getpid(), '--output', output)
    client.run('stop', 'bare')
    told = entry(output)
    check(told['path'] is None and 'not mounted' in told['message'], 'manifest', told)
    check(not os.path.exists(os.path.join(output, 'cgroups')), 'there is a folder')
    world.ctl.exits(0, 'verify', output)
    check(daemon.process.poll() is None, 'the daemon died')
