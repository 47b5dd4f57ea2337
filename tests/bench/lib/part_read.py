# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows a second that a core reads back: what sums up a trace, shows it, and holds it against another one. The rows are the same
again and again, so that most come late to `show`, which puts them in order."""
import json
import os
import resource
import shutil
import subprocess
import time

from lib import part_pipeline
from lib.table import Table, bar

ROWS = 4000000
VERBS = (('summary', 1), ('show', 1), ('compare', 2))


def make(world, words):
    """The folder of a trace, as the pipeline writes it."""
    part_pipeline.run([part_pipeline.program(world), '--rows', str(ROWS), '--folder', world.folder, '--keep', *words])
    folder = os.path.join(world.folder, 'bench_pipeline', '00')
    path = os.path.join(folder, 'manifest.json')
    with open(path, encoding='utf-8') as file:
        manifest = json.load(file)
    manifest['streams']['vfs']['emitted'] = ROWS  # which nobody counted
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(manifest, file)
    return folder


def pack(folder):
    """The same as the service leaves it after a while."""
    for name in os.listdir(os.path.join(folder, 'fs')):
        subprocess.run(['gzip', os.path.join(folder, 'fs', name)], check=True)


def read(world, verb, folders):
    """Rows a second of CPU time, and of time."""
    words = [world.build.ctl, verb, *(['--csv'] if verb == 'show' else []), *folders]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    elapsed, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = ROWS * len(folders)
    return rows / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), rows / elapsed


def part(world):
    table = Table('Reading %d rows of vfs back; best of %d runs' % (ROWS, world.repeats), 'files', 'verb', 'rows/s of a core', 'rows/s')
    slowest = {}
    for files, words in (('CSV', []), ('CSV, compressed', []), ('JSON lines', ['--format', 'jsonl'])):
        folder = make(world, words)
        if 'compressed' in files:
            pack(folder)
        for verb, count in VERBS:
            core, rate = max(read(world, verb, [folder] * count) for _ in range(world.repeats))
            slowest[verb] = min(core, slowest.get(verb, core))
            table.add(files, verb, core, rate)
    shutil.rmtree(os.path.join(world.folder, 'bench_pipeline'))
    table.show()
    bar('rows a second of a core, summary of any files', slowest['summary'], '>=', 1e6)
