# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits, rotation and formats: what a session leaves in its folder."""
import os
import select
import shlex
import socket
import subprocess
import time

from lib import account, reads, rows
from lib.registry import check, equal, test, wait_for
from lib.world import find_key


def state(session):
    return find_key(session.status(), 'state')


def wait_ended(session):
    wait_for('the session to end by itself', lambda: state(session) == 'ended')


def end(session, reason):
    """The last status of a session that ended by itself; the list shows it until it has been asked for."""
    wait_ended(session)
    listed = [one for one in session.ctl.ask('List')['sessions'] if one['name'] == session.name]
    equal([one['reason'] for one in listed], [reason], 'reason in the list')
    final = session.stop()
    equal(find_key(final, 'reason'), reason, 'reason in the status')
    document = rows.manifest(session.output)
    equal((document['state'], document['reason']), ('ended', reason), 'end in the manifest')
    equal(rows.parts(session.output), [], 'files being written')
    return account.streams(final)['vfs']


@test
def max_events(world):
    """As many rows as the limit, and none that came later."""
    with reads.Reads(world.path('file')) as load:
        session = world.session(*reads.OPTIONS, '--max-events', 1000).start()
        world.undo.callback(session.ctl.run, 'stop', session.name)
        load.go(5000)
        one = end(session, 'max-events')
    equal((one['emitted'], one['written']), (1000, 1000), 'emitted and written')
    equal(reads.offsets(reads.files(session.output)), list(range(1000)), 'the rows are the first')
    check(any('%s ends: max-events' % session.name in line for line in world.daemon.tail(40)),
          'the log does not say so', *world.daemon.tail(5))


@test
def max_events_of_all_streams(world):
    """The limit counts the rows of all streams together."""
    with reads.Reads(world.path('file')) as load, socket.socket() as peer:
        session = world.session(*reads.OPTIONS[:-2], '--operation', 'SET', '--sockopt',
                                '--max-events', 300).start()
        world.undo.callback(session.ctl.run, 'stop', session.name)
        for _ in range(300):
            load.go(1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        wait_ended(session)
        accounts = account.streams(session.stop())
    equal(sum(one['written'] for one in accounts.values()), 300, 'rows of both streams')
    check(all(one['written'] > 50 for one in accounts.values()), 'rows of each', accounts)


@test(host_only=True)
def max_size(world):
    """All files together never exceed the limit, headers included, with rotation or without."""
    limit = 300000
    with reads.Reads(world.path('file')) as load:
        session = world.session(*reads.OPTIONS, '--max-size', limit, '--rotate-size', '64K',
                                lossless=False).start()
        world.undo.callback(session.ctl.run, 'stop', session.name)
        load.go(5000)
        one = end(session, 'max-size')
    size = reads.total_size(session.output)
    check(limit - 1000 < size <= limit, 'bytes in the files: %d' % size)
    equal(one['emitted'], one['written'] + account.total(one['lost']), 'emitted')
    reads.within(session.output)


@test(host_only=True)
def record_ends(world):
    """`record` waits for its command's end, also when a limit has ended the session."""
    output = world.path('trace')
    ended = '%s | grep -q "^limited: ended"' % shlex.join(world.ctl.command('status', 'limited'))
    done = world.ctl.exits(3, 'record', '--vfs', '--name', 'limited', '--max-events', 5, '--output', output, '--', 'sh',
                           '-c', 'ls /usr/bin >/dev/null; until %s; do :; done; exit 3' % ended)
    check('Traceback' not in done.stderr, done.stderr)
    equal(sum(len(reads.row_list(path)) for path in reads.files(output)), 5, 'rows')


@test(host_only=True)
def rotate_size(world):
    """No file is larger; no row is lost, twice or split; all streams begin anew together."""
    with reads.Reads(world.path('file')) as load:
        with world.session(*reads.OPTIONS, '--block', '--rotate-size', '64K') as session:
            load.go(4000)
    paths = reads.files(session.output)
    check(len(paths) > 8, 'segments', paths)
    sizes = [len(rows.content(path)) for path in paths]
    check(max(sizes) <= 65536 and min(sizes[:-1]) > 64000, 'sizes', sizes)
    reads.all_there(session.output, load.done)


@test(host_only=True)
def rotate_interval(world):
    """Files rotate at the interval while there are rows; without rows there are no further files."""
    def closed():
        return len(reads.files(session.output)) if not reads.being_written(session.output) else 0
    with reads.Reads(world.path('file')) as load:
        with world.session(*reads.OPTIONS, '--rotate-interval', '100ms') as session:
            for number in range(1, 5):
                load.go(50)
                wait_for('the file to be closed', lambda: closed() >= number)
            wait_for('all to be written', lambda: account.streams(session.status())['vfs']['written']
                     == load.done and closed())
            quiet = len(reads.files(session.output))
            check(quiet >= 4, 'segments', quiet)
            time.sleep(0.4)
            equal(len(reads.files(session.output)), quiet, 'segments after a while')
            load.go(1)
    equal(len(reads.files(session.output)), quiet + 1, 'segments in the end')
    reads.all_there(session.output, load.done)


@test(host_only=True)
def rotation_off(world):
    """With rotation off there is one file, and the definition says so."""
    with reads.Reads(world.path('file')) as load:
        with world.session(*reads.OPTIONS, '--rotate-size', 'off', '--rotate-interval',
                           'off') as session:
            load.go(10)
    definition = rows.manifest(session.output)['definition']
    equal((definition['rotate_size'], definition['rotate_interval_ns']), (0, 0), 'in the manifest')


@test(host_only=True)
def rotation_by_default(world):
    with world.session(*reads.OPTIONS) as session:
        equal(find_key(session.started, 'rotate_size'), 128 << 20, 'size')
        equal(find_key(session.started, 'rotate_interval_ns'), 24 * 3600 * 10**9, 'interval')


@test(host_only=True)
def refused(world):
    """Values that are too small are refused, and the message has the smallest one that is allowed."""
    for option, value, word in (('--max-size', '63K', '64 KiB'), ('--max-size', '0', 'range'),
                                ('--max-events', '0', 'range'), ('--max-events', 'x', 'number'),
                                ('--rotate-size', '1', '64 KiB'),
                                ('--rotate-interval', '99ms', '100ms'),
                                ('--rotate-interval', '5', 'duration'),
                                ('--format', 'xml', 'jsonl')):
        done = world.ctl.exits(2, 'start', 'none', '--vfs', option, value)
        check(option in done.stderr and word in done.stderr, done.stderr)


@test(host_only=True)
def quiet_stream(world):
    """A row is in its file soon, though rows of another stream come all the time."""
    with reads.Reads(world.path('file')) as load, socket.socket() as peer:
        with world.session(*reads.OPTIONS[:-2], '--sockopt', '--operation', 'SET',
                           lossless=False) as session:
            part = os.path.join(session.output, 'nw_sockopt', 'nw_sockopt_000001.csv.part')
            header = os.path.getsize(part)
            load.go(3000)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            begin = time.monotonic()
            wait_for('the row', lambda: load.go(300) or os.path.getsize(part) > header, pause=0)
            took = time.monotonic() - begin
    check(took < 10, 'it took %.2f s' % took)  # 0.2 s on an idle machine


def as_text(value):
    return '' if value is None else value if isinstance(value, str) else str(value)


def same_rows(csv_rows, json_rows):
    """Both formats tell the same; milliseconds keep their decimals in CSV only."""
    equal(len(json_rows), len(csv_rows), 'rows')
    for one, other in zip(csv_rows, json_rows):
        equal(list(other), list(one), 'keys')
        for key, text in one.items():
            value = other[key]
            if isinstance(value, float):
                check(float(text) == value, key, text, value)
            else:
                equal(rows.plain(as_text(value)), text, key)


@test
def jsonl(world):
    """The same rows with types, beside a session that writes CSV."""
    options = ('--vfs', '--block', '--command', 'iotr-trigger')
    with world.session(*options) as plain:
        with world.session(*options, '--format', 'jsonl') as typed:
            for name in ('read', 'rename', 'mmap', 'open'):
                world.trigger.run(name, world.path('work'))
    names = [os.path.basename(path) for path in reads.files(typed.output)]
    equal(names, ['fs_000001.jsonl'], 'files')
    equal(rows.manifest(typed.output)['format'], 'jsonl', 'format in the manifest')
    typed_rows = [row for path in reads.files(typed.output) for row in reads.row_list(path)]
    key = lambda row: int(row['mono_ns'])
    first, last = key(typed_rows[0]), key(typed_rows[-1])
    both = [row for row in plain.rows() if first <= key(row) <= last]
    same_rows(sorted(both, key=key), sorted(typed_rows, key=key))
    check(any(row['mmap_prot'] for row in typed_rows), 'no row of a mapping')
    check(all(isinstance(row['pid'], int) for row in typed_rows), 'pids are no numbers')
    reads.within(typed.output)


@test(host_only=True)
def jsonl_tail(world):
    """`tail` prints columns, also when the files are JSON lines."""
    with reads.Reads(world.path('file')) as load:
        with world.session(*reads.OPTIONS, '--format', 'jsonl') as session:
            process = ctl_tail(session)
            wait_for('the view to open', lambda: opened(load, process))
            line = process.stdout.readline()
            process.kill()
            process.wait()
    check(b'"operation"' in line and b'READ' in line, line)


def ctl_tail(session):
    return subprocess.Popen(session.ctl.command('tail', session.name, '--json'),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def opened(load, process):
    load.go(1)
    return bool(select.select([process.stdout], [], [], 0.05)[0])
