# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon is killed at any time: files stay readable, nothing is left in the kernel, and the next daemon works."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

from lib import account, rows
from lib.load import Load
from lib.registry import check, equal, test, wait_for

import ground

SETTLED = 3  # seconds
ID = re.compile(r'^(prog|map)_id:\s*(\d+)$', re.MULTILINE)


def kernel_objects(pid):
    """What the daemon has in the kernel: {('prog', 12), ('map', 7), ...}."""
    found = set()
    for path in glob.glob('/proc/%d/fdinfo/*' % pid):
        try:
            with open(path, encoding='ascii') as file:
                found.update((kind, int(number)) for kind, number in ID.findall(file.read()))
        except OSError:
            continue
    return found


def in_kernel():
    found = set()
    for kind in ('prog', 'map'):
        done = subprocess.run(['bpftool', '--json', kind, 'list'], capture_output=True, check=True)
        found.update((kind, one['id']) for one in json.loads(done.stdout))
    return found


def kernel_clean(objects, killed):
    """
    The kernel frees the programs and maps of the process a moment later. The test does not look sooner: bpftool, when it
    asks for an array of programs just then, keeps the kernel from emptying it, so that its programs stay for longer.
    """
    if not shutil.which('bpftool'):
        return
    check(objects, 'the daemon has no programs and no maps')
    time.sleep(max(0, killed / 10**9 + SETTLED - time.monotonic()))
    wait_for('the kernel to free what the daemon had', lambda: not objects & in_kernel(),
             lambda: sorted(objects & in_kernel()), pause=SETTLED)


def rotate_until(ctl, ended):
    while not ended.wait(0.05):
        ctl.run('rotate')


def kill_in_midst(world, daemon, ctl):
    """
    Three sessions under load, then SIGKILL: the folders of those that will go on, the one of the
    witness, when it was, and what the daemon had in the kernel.
    """
    folders = [world.path('trace') for _ in range(3)]
    witness = Load(world, rate=2000)
    ctl.json('start', 'files', '--vfs', '--output', folders[0])
    ctl.json('start', 'both', '--vfs', '--block', '--output', folders[1])
    ctl.json('start', 'witness', '--vfs', '--pid', witness.pid, '--operation', 'READ,WRITE',
             '--output', folders[2])
    objects, ended = kernel_objects(daemon.process.pid), threading.Event()
    rotator = threading.Thread(target=rotate_until, args=(ctl, ended))
    rotator.start()
    witness.go()
    time.sleep(world.random.uniform(0.0, 1.5))
    daemon.process.send_signal(signal.SIGKILL)
    killed = time.monotonic_ns()
    daemon.process.wait()
    ended.set()
    rotator.join()
    witness.kill()
    return folders[:2], folders[2], killed, objects


def judge_part(path):
    """Judges the end of a segment that was being written."""
    lines, rest = ground.cut(path)
    if not lines:
        return 'without a header'
    ground.judge_lines(path, lines)
    return 'within their last row' if rest else 'at a whole row'


def judge(folder, seen):
    """Judges what a killed daemon left of one session, before its recovery."""
    closed = ground.closed(folder)
    for path in closed:
        ground.whole(path)
    for path in rows.parts(folder):
        seen[judge_part(path)] += 1
    named = [one for one in account.segment_list(rows.manifest(folder)) if one['state'] != 'open'
             and account.checksum(one)]
    for one in named:
        ground.segment_true(folder, one)
    seen['closed'] += len(closed)
    seen['unnamed'] += len(closed) - len(named)


def judge_recovered(ctl, folder):
    ctl.verified(folder)
    gap, = rows.manifest(folder)['gaps']
    equal(gap['reason'], 'crash', 'reason of the gap')
    # The session that goes on has its folder below.
    equal([path for path in rows.parts(folder) if os.path.dirname(os.path.dirname(path)) == folder], [],
          'segments not closed')


def judge_witness(folder, killed):
    """Its operations up to a second before the kill, each once and in order: the milliseconds lost."""
    found = rows.read(folder, 'vfs')
    offsets = [int(row['offset']) for row in found]
    equal(sorted(offsets), list(range(len(offsets))), 'numbers of the operations of the witness')
    if not found:
        return 0
    lost = killed - max(int(row['mono_ns']) for row in found)
    check(lost < 10**9, 'rows of %d ms were lost' % (lost // 10**6))
    return lost // 10**6


def stop_resumed(ctl, folders):
    """The sessions went on by themselves; their later folders are below the first."""
    for name in ('files', 'both'):
        output = ctl.json('stop', name)['sessions'][0]['output']
        check(os.path.dirname(output) in folders, 'it went on in ' + output)
        ctl.verified(output)


def next_records(world, ctl):
    load = Load(world, rate=5000)
    session = world.session('--vfs', '--pid', load.pid, '--operation', 'READ,WRITE', ctl=ctl,
                            lossless=False).start()
    load.go()
    time.sleep(0.2)
    done = load.end()
    session.running = False
    one = ground.trace_true(session.output, ctl.json('stop', session.name))['vfs']
    equal(one['emitted'], done, 'operations that the next daemon recorded')
    shutil.rmtree(session.output, ignore_errors=True)


@test
def under_load(world):
    """SIGKILL again and again, on the same folders."""
    daemon, ctl = ground.begin(world)
    for _ in range(os.cpu_count()):
        Load(world, rate=10000, sync=20000).go()
    seen, lost = collections.Counter(), []
    for _ in range(world.amounts['kills']):
        folders, witness, killed, objects = kill_in_midst(world, daemon, ctl)
        for folder in (*folders, witness):
            judge(folder, seen)
        daemon.recover()
        for folder in (*folders, witness):
            judge_recovered(ctl, folder)
        lost.append(judge_witness(witness, killed))
        stop_resumed(ctl, folders)
        for folder in (*folders, witness):
            shutil.rmtree(folder, ignore_errors=True)
        next_records(world, ctl)
        kernel_clean(objects, killed)
    ground.note('rows of %d ms were lost at most, of %d ms in the middle'
                % (max(lost), sorted(lost)[len(lost) // 2]))
    ground.note('%d kills, %d closed segments whole, %d of them not yet in a manifest'
                % (world.amounts['kills'], seen.pop('closed'), seen.pop('unnamed')))
    ground.note('segments being written ended: '
                + ', '.join('%d %s' % (count, how) for how, count in sorted(seen.items())))
    if not shutil.which('bpftool'):
        ground.note('bpftool is not installed: nobody looked for what stays in the kernel')
