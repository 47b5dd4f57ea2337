# SPDX-License-Identifier: GPL-2.0-or-later
"""record: a command and its descendants, from their first instruction to their last."""
import os

from lib import account, rows
from lib.match import complete
from lib.registry import check, equal, test
from lib.trigger import Expected


def record(world, *command, code=0, streams=('--vfs',)):
    output = world.path('record')
    world.ctl.exits(code, 'record', *streams, '--output', output, '--', *command)
    account.balanced(account.manifest_true(output), 'manifest')
    equal(rows.parts(output), [], 'segments not closed')
    return rows.read(output, 'vfs')


@test
def command(world):
    folder = world.make('work')
    found = record(world, world.trigger.program, '--expect', folder + '.expect', 'read', folder)
    complete(world.level, Expected(folder + '.expect'), found)
    opened = [row['filename'] for row in found
              if row['operation'] == 'OPEN' and row['command'] == 'iotr-trigger']
    check(any('ld.so' in name for name in opened[:3]), 'the first file opened is not ld.so.cache',
          *opened[:5])
    strangers = {row['command'] for row in found} - {'iotr-trigger', 'iotracectl'}
    equal(strangers, set(), 'commands of others')


@test
def grandchildren(world):
    folder = world.make('work')
    script = """sh -c '"$0" --expect "$1.expect" write "$1" & wait' "$0" "$1"; :"""
    found = record(world, 'sh', '-c', script, world.trigger.program, folder)
    complete(world.level, Expected(folder + '.expect'), found)
    check(len({row['pid'] for row in found}) >= 3, 'three generations',
          {(row['pid'], row['command']) for row in found})


@test
def exit_code(world):
    record(world, 'sh', '-c', 'exit 7', code=7)
    record(world, 'sh', '-c', 'exit 0', code=0)
    record(world, 'sh', '-c', 'kill -9 $$', code=137)


@test
def not_there(world):
    done = world.ctl.run('record', '--vfs', '--output', world.path('record'), '--',
                         '/nowhere/at/all')
    check(done.returncode not in (0, 2, 3), 'exit %d' % done.returncode, done.stderr)
    check('/nowhere/at/all' in done.stderr, 'stderr does not say what failed', done.stderr)


@test
def nothing_left(world):
    """Neither a session nor a change of the command's world."""
    mark = os.path.join(world.make('work'), 'mark')
    record(world, 'sh', '-c', 'pwd > %s; echo $0 >> %s' % (mark, mark))
    with open(mark, encoding='utf-8') as file:
        equal(file.read().splitlines(), [os.getcwd(), 'sh'], 'working directory and name')
    names = [one['name'] for one in rows.walk(world.ctl.json('list')) if 'name' in one]
    equal([name for name in names if not name.startswith('live')], [], 'sessions left')


@test(host_only=True)
def snapshots(world):
    """Also the trace of a very short command has its snapshots of the machine and of the processes."""
    for number in range(5):
        output = world.path('record-%d' % number)
        done = world.ctl.exits(0, 'record', '--vfs', '--snapshot-system', 'on', '--snapshot-process', '5m',
                               '--output', output, '--', 'true')
        taken = {one['kind'] for one in rows.manifest(output)['snapshots'] if one.get('path')}
        check({'system', 'process'} <= taken, 'snapshots', taken, done.stderr)
        check('snapshot' not in done.stderr, 'a snapshot is reported as missing', done.stderr)
