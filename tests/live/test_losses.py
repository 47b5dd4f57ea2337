# SPDX-License-Identifier: GPL-2.0-or-later
"""A loss has a time: in the log, in status and in the manifest."""
import signal
import time

from lib import account, reads, rows
from lib.registry import check, equal, test, wait_for
from lib.world import find_key

ROWS = 300000  # more than the rings of a daemon that is stopped can hold


def overflow(daemon, load, count=ROWS):
    """Stops the daemon while rows come; returns from when to when, by CLOCK_MONOTONIC."""
    begin = time.monotonic_ns()
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        load.go(count)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    return begin, time.monotonic_ns()


def told(losses, begin, end):
    """Rows by cause; each entry must lie in the time of the loss. Rows left in the ring may overflow the queue, too."""
    rows_by = dict.fromkeys(('ring', 'queue', 'disk', 'unmatched'), 0)
    for one in losses:
        equal(one['stream'], 'vfs', 'stream')
        check(one['rows'] > 0 and one['from_mono_ns'] <= one['to_mono_ns'] and one['from'] <= one['to'], one)
        check(one['from_mono_ns'] > begin - 5e9 and one['to_mono_ns'] < end + 10e9, one, begin, end)
        rows_by[one['cause']] += one['rows']
    return rows_by


def rows_of(lost):
    """Lost rows by cause, without lost names, whose rows are there."""
    return {cause: count for cause, count in lost.items() if cause != 'names'}


def all_told(status, losses, load):
    """Whether each of the reads was kept or lost, and all that were lost stand in the list."""
    one, = account.streams(status).values()
    kept, lost = (sum(one.get(key, 0) for key in ('written', 'kept', 'overwritten')), account.total(one['lost']))
    return lost and kept + lost == one['emitted'] == load.done and sum(entry['rows'] for entry in losses) == lost


@test(host_only=True)
def ring(world):
    daemon, ctl = world.own_daemon(fresh=True)
    with reads.Reads(world.path('file')) as load:
        with world.session(*reads.OPTIONS, ctl=ctl, lossless=False) as session:
            load.go(10)
            begin, end = overflow(daemon, load)
            wait_for('all losses in status', lambda: all_told(
                status := session.status(), find_key(status, 'losses'), load))
            wait_for('all losses in the manifest', lambda: all_told(
                session.status(), rows.manifest(session.output)['losses'], load))
            load.go(10)
        lost = rows_of(session.accounts['vfs']['lost'])
    check(lost['ring'] > 0, 'nothing was lost', session.accounts)
    equal(told(rows.manifest(session.output)['losses'], begin, end), lost, 'rows of the list in the manifest')
    equal(told(find_key(session.final, 'losses'), begin, end), lost, 'rows of the list in status')
    lines = [line for line in daemon.tail(100)
             if 'rows of vfs were lost between 20' in line and line.endswith(', cause: ring')]
    check(lines and all('session %s: ' % session.name in line for line in lines), daemon.tail())
    equal(sum(int(line.split(session.name + ': ')[1].split()[0]) for line in lines), lost['ring'], 'rows in the log')
    losses = ctl.json('verify', session.output, code=1)['losses']
    check(any('vfs: %d rows are missing, lost in: ring, between 20' % lost['ring'] in one['what'] for one in losses), losses)


@test(host_only=True)
def flight_recorder(world):
    """The losses of a flight recorder are in status and in the manifest of a dump."""
    daemon, ctl = world.own_daemon(fresh=True)
    with reads.Reads(world.path('file')) as load:
        ctl.json('start', 'flight', *reads.OPTIONS, '--flight-recorder', '1M')
        begin, end = overflow(daemon, load)
        wait_for('all losses in status', lambda: all_told(
            status := ctl.json('status', 'flight'), find_key(status, 'losses'), load))
        output = world.path('dump')
        ctl.json('dump', 'flight', '--output', output)
        definition = rows.manifest(output)['definition']['dump']
        final = ctl.json('stop', 'flight')
    lost = rows_of(find_key(final, 'streams')['vfs']['lost'])
    equal(told(definition['losses'], begin, end), lost, 'rows of the list in the dump')
    equal(told(find_key(final, 'losses'), begin, end), lost, 'rows of the list in status')
    ctl.exits(0, 'verify', output)  # the dump itself is complete
