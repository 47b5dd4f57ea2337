# SPDX-License-Identifier: GPL-2.0-or-later
"""record: a command and its descendants, from their first instruction to their last."""
import json
import os
import signal
import subprocess

from lib import account, rows
from lib.match import complete
from lib.registry import check, equal, test, wait_for
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


LINGERS = 'sh -c \'sleep %s; echo late > "$0"\' "$0" > /dev/null 2>&1 &'


def left_running(world, verb, *options):
    """The verb with a command whose child goes on behind it; how it ended, and the child's number."""
    path = world.path('late')
    return world.ctl.run(verb, *options, '--', 'sh', '-c', LINGERS % 3 + ' echo $! > "$0.pid"', path), path


def children_of(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as file:
        return file.read().split()


def names_left(done, path):
    with open(path + '.pid', encoding='utf-8') as file:
        child = file.read().strip()
    check('%s sh' % child in done.stderr and 'still run' in done.stderr, 'the child is not named', child, done.stderr)
    check('--wait' in done.stderr, 'no advice', done.stderr)
    check(not os.path.exists(path), 'the verb waited for the child')
    return int(child)


@test(host_only=True)
def child_goes_on(world):
    """A child that outlives the command is named, its rows are not there, and it is left alone."""
    output = world.path('record')
    done, path = left_running(world, 'record', '--vfs', '--output', output)
    names_left(done, path)
    equal(done.returncode, 0, 'exit code')
    check(not [row for row in rows.read(output, 'vfs') if row['filename'] == path], 'rows of what came later')
    wait_for('what the child writes', lambda: os.path.exists(path))


@test(host_only=True)
def child_goes_on_json(world):
    path = world.path('late')
    done = world.ctl.run('record', '--json', '--vfs', '--output', world.path('record'), '--', 'sh', '-c',
                         'setsid sleep 1 > /dev/null 2>&1 & echo $! > "$0"', path)
    with open(path, encoding='utf-8') as file:
        child = int(file.read())
    equal([one['pid'] for one in json.loads(done.stdout)['still_running']], [child], 'processes that still run')


@test(host_only=True)
def waits_for_all(world):
    """--wait: rows of what goes on behind the command are there, also of a grandchild whose parents have ended."""
    output, path = world.path('record'), world.path('late')
    script = '(%s exit) & exit 3' % (LINGERS % 1)
    done = world.ctl.exits(3, 'record', '--vfs', '--wait', '--output', output, '--', 'sh', '-c', script, path)
    check('still run' not in done.stderr, 'something is said to run', done.stderr)
    written = [row for row in rows.read(output, 'vfs') if row['filename'] == path and row['operation'] == 'WRITE']
    equal(len(written), 1, 'writes of the grandchild')


@test(host_only=True)
def wait_ends_with_signal(world):
    """A signal ends the waiting, not the recording's good end."""
    output, mark = world.path('record'), world.path('mark')
    script = 'sleep 60 > /dev/null 2>&1 & echo $! > "$0"'
    with subprocess.Popen(world.ctl.command('record', '--vfs', '--wait', '--output', output, '--', 'sh', '-c', script,
                                            mark), stderr=subprocess.PIPE, text=True) as process:
        wait_for('the command', lambda: os.path.exists(mark) and os.path.getsize(mark))
        with open(mark, encoding='utf-8') as file:
            child = file.read().strip()
        wait_for('the command to end', lambda: children_of(process.pid) == [child])
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    os.kill(int(child), signal.SIGKILL)
    check('%s sleep' % child in said, 'the child is not named', said)
    account.balanced(account.manifest_true(output), 'manifest')


@test(host_only=True)
def amplification_names_children(world):
    done, path = left_running(world, 'amplification')
    names_left(done, path)
    check('counted' in done.stderr, 'what is not seen', done.stderr)
