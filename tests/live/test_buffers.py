# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory for rows on their way: rings between kernel and daemon, queues before a session's disk."""
import contextlib
import os

from lib import account, reads, rows
from lib.registry import check, equal, test, wait_for
from test_disk_start import Frozen
from test_keep import MIB, config

RING = '27'  # BPF_MAP_TYPE_RINGBUF


def ring_sizes(pid):
    """Sizes of the rings of BPF that a process has open."""
    sizes = []
    for name in os.listdir('/proc/%d/fdinfo' % pid):
        with contextlib.suppress(FileNotFoundError), open('/proc/%d/fdinfo/%s' % (pid, name), encoding='ascii') as file:
            facts = dict(line.split(':', 1) for line in file if ':' in line)
            if facts.get('map_type', '').strip() == RING:
                sizes.append(int(facts['max_entries']))
    return sizes


@test(host_only=True)
def buffers(world):
    """
    Buffers have the sizes of the configuration, after a reload those of the new one, or that of the session's option:
    what waits for a disk that does not answer is lost beyond them, and only then.
    """
    path, disk = config(world, '[Buffers]\nRingSize=2M\nQueueSize=1M\n'), Frozen(world)
    daemon, client = world.own_daemon('--config', path)
    check(2 * MIB in ring_sizes(daemon.process.pid), 'no ring of 2 MiB', ring_sizes(daemon.process.pid))
    sessions = {name: world.session(*reads.OPTIONS, *options, name=name, ctl=client, lossless=False,
                                    output=os.path.join(disk.path, name))
                for name, options in (('configured', ()), ('given', ('--queue-size', '1M')), ('reloaded', ()))}
    with reads.Reads(reads.deep(world.path('deep'))) as load:
        sessions['configured'].start()
        with open(path, 'w', encoding='ascii') as file:
            file.write('[Buffers]\nRingSize=2M\nQueueSize=64M\n')
        client.exits(0, 'reload')
        sessions['reloaded'].start()
        sessions['given'].start()
        disk.freeze()
        for _ in range(30):
            load.go(200)
        wait_for('rows to be lost', lambda: all(lost(sessions[name]) for name in ('configured', 'given')))
        disk.thaw()
        ends = {name: account.streams(session.stop())['vfs'] for name, session in sessions.items()}
    for name, one in ends.items():
        equal((one['emitted'], one['lost']['ring'], one['lost']['queue'] > 0), (load.done, 0, name != 'reloaded'), name)
        equal(one['emitted'], one['written'] + sum(one['lost'].values()), name)
    equal(rows.manifest(sessions['given'].output)['definition']['queue_size'], MIB, 'in the manifest')


def lost(session):
    return account.streams(session.status())['vfs']['lost']['queue']
