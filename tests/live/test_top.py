# SPDX-License-Identifier: GPL-2.0-or-later
"""`top`, against a process whose reads are counted."""
import json
import os
import signal
import subprocess

from lib.numbered import Numbered
from lib.registry import check, equal, test


def sessions(world):
    return [one['name'] for one in world.ctl.json('list')['sessions'] if one['name'].startswith('top-')]


@test
def sums(world):
    """Each read is counted in one interval only; the session of `top` ends with it."""
    count = 5000
    with Numbered(world) as reads:
        view = subprocess.Popen(world.ctl.command('top', *reads.options(), '--interval', '200ms', '--json'),
                                stdout=subprocess.PIPE, text=True)
        json.loads(view.stdout.readline())
        equal(len(sessions(world)), 1, 'sessions of the view')
        reads.begin(count)
        rows = data = 0
        while rows < count:
            picture = json.loads(view.stdout.readline())
            check(picture['whole'], 'rows are left out', picture)
            for one in picture['top']:
                if one.get('path') == reads.file:
                    rows, data = rows + one['rows'], data + one['read_bytes']
                    equal((one['pid'], one['operation']), (reads.pid, 'READ'), 'of the reads')
                    check(0 < one['latency_ns'] <= one['latency_max_ns'], 'latencies', one)
        for _ in range(2):
            equal(json.loads(view.stdout.readline())['rows'], 0, 'rows after the last')
        view.send_signal(signal.SIGINT)
        view.communicate()
    # The file has eight bytes, so that is how many reads found one.
    equal((rows, data, view.returncode), (count, 8, 0), 'reads, bytes and exit code')
    equal(sessions(world), [], 'sessions when the view is closed')


@test
def by_one(world):
    """Reads summed up by each of what they can be summed up by: all of them are in one group of the right name."""
    with Numbered(world) as reads:
        status = os.stat(reads.file)
        number = '%d:%d' % (os.major(status.st_dev), os.minor(status.st_dev))
        device = os.path.basename(os.path.realpath('/sys/dev/block/' + number)) \
            if os.path.exists('/sys/dev/block/' + number) else number
        expected = {'process': ('pid', reads.pid), 'file': ('path', reads.file), 'operation': ('operation', 'READ'),
                    'directory': ('path', os.path.dirname(reads.file)), 'device': ('name', device),
                    'unit': ('rows', 1000), 'container': ('rows', 1000)}
        options = [*reads.options(), '--path', reads.file, '--interval', '100ms', '--json']
        views = {by: subprocess.Popen(world.ctl.command('top', *options, '--by', by), stdout=subprocess.PIPE, text=True)
                 for by in expected}
        for view in views.values():
            view.stdout.readline()  # it runs
        reads.do(1000)
        for by, view in views.items():
            rows, names = 0, set()
            while rows < 1000:
                for one in json.loads(view.stdout.readline())['top']:
                    rows += one['rows']
                    names.add(one.get(expected[by][0]))
                    check('read_bytes' in one and one['stream'] == 'vfs' and 'latency_ns' in one, 'sums', one)
            if expected[by][0] != 'rows':
                equal(names, {expected[by][1]}, 'groups by ' + by)
            equal(rows, 1000, 'rows by ' + by)
            view.send_signal(signal.SIGINT)
            view.communicate()


@test(host_only=True)
def ends(world):
    """`top` ends when somebody stops its session; the output is a table without escape sequences."""
    with Numbered(world) as reads:
        view = subprocess.Popen(world.ctl.command('top', *reads.options(), '--interval', '100ms'),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        output = view.stdout.readline()
        world.ctl.exits(0, 'stop', *sessions(world))
        output += view.stdout.read()
        equal((view.wait(60), view.stderr.read()), (0, ''), 'exit code and stderr')
    check('ROWS/S' in output and '\033' not in output, 'the picture', output)


@test(host_only=True)
def refused(world):
    for args in (['--sort', 'size'], ['--by', 'inode'], ['--lines', '0'], ['--interval', '1ms'], ['--operation', 'NONE'],
                 ['--output', '/x'], ['name']):
        world.ctl.exits(2, 'top', '--vfs', *args)
    equal(sessions(world), [], 'sessions')
