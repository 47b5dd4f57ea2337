# SPDX-License-Identifier: GPL-2.0-or-later
"""Killed at any instant: files stay readable, the kernel is clean, the next one works."""
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
from lib.registry import check, equal, test

import ground

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


def kernel_clean(objects):
    """Programs and maps go with the process; the kernel frees them a moment later."""
    if not shutil.which('bpftool'):
        return
    check(objects, 'the daemon has no programs and no maps')
    end = time.monotonic() + 10
    while True:
        left = objects & in_kernel()
        if not left:
            return
        check(time.monotonic() < end, 'left in the kernel', sorted(left))
        time.sleep(0.2)


def rotate_until(ctl, ended):
    while not ended.wait(0.05):
        ctl.run('rotate')


def kill_in_midst(world, daemon, ctl):
    """
    Three sessions under load, then SIGKILL: the folders of those that will go on, the one of the
    witness, its load, and when it was.
    """
    folders = [world.path('trace') for _ in range(3)]
    witness = ground.Load(world, rate=2000)
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
    kernel_clean(objects)
    return folders[:2], folders[2], killed


def judge_part(path):
    """How a segment that was being written ends."""
    lines, rest = ground.cut(path)
    if not lines:
        return 'without a header'
    ground.judge_lines(path, lines)
    return 'within their last row' if rest else 'at a whole row'


def judge(folder, seen):
    """What a killed daemon left of one session, before anybody set it right."""
    closed = ground.closed(folder)
    for path in closed:
        ground.whole(path)
    for path in rows.parts(folder):
        seen[judge_part(path)] += 1
    named = [one for one in account.segment_list(rows.manifest(folder)) if one['state'] != 'open'
             and one['sha256']]
    for one in named:
        ground.segment_true(folder, one)
    seen['closed'] += len(closed)
    seen['unnamed'] += len(closed) - len(named)


def recovered(daemon):
    """The next daemon, once it has set right what was left."""
    daemon.start()
    end = time.monotonic() + 60
    while glob.glob(os.path.join(daemon.folder, 'state', 'recover', '*.json')):
        check(time.monotonic() < end, 'recovery does not end', *daemon.tail())
        time.sleep(0.02)


def complete(ctl, folder):
    document = ctl.json('verify', folder)
    equal(document['problems'], [], 'what verify finds in ' + folder)


def judge_recovered(ctl, folder):
    complete(ctl, folder)
    gap, = rows.manifest(folder)['gaps']
    equal(gap['reason'], 'crash', 'reason of the gap')
    equal(glob.glob(folder + '/*/*.part'), [], 'segments not closed')


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
        complete(ctl, output)


def next_records(world, ctl):
    load = ground.Load(world, rate=5000)
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
        ground.Load(world, rate=10000, sync=20000).go()
    seen, lost = collections.Counter(), []
    for _ in range(world.amounts['kills']):
        folders, witness, killed = kill_in_midst(world, daemon, ctl)
        for folder in (*folders, witness):
            judge(folder, seen)
        recovered(daemon)
        for folder in (*folders, witness):
            judge_recovered(ctl, folder)
        lost.append(judge_witness(witness, killed))
        stop_resumed(ctl, folders)
        for folder in (*folders, witness):
            shutil.rmtree(folder, ignore_errors=True)
        next_records(world, ctl)
    ground.note('rows of %d ms were lost at most, of %d ms in the middle'
                % (max(lost), sorted(lost)[len(lost) // 2]))
    ground.note('%d kills, %d closed segments whole, %d of them not yet in a manifest'
                % (world.amounts['kills'], seen.pop('closed'), seen.pop('unnamed')))
    ground.note('segments being written ended: '
                + ', '.join('%d %s' % (count, how) for how, count in sorted(seen.items())))
    if not shutil.which('bpftool'):
        ground.note('bpftool is not installed: nobody looked for what stays in the kernel')
