# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes traces of given rows, for tests of what exports them; and tells what the client does."""
import json
import os
import subprocess
import sys

import make_trace

MONO = 1_000_000_000_000
SAME = {'timestamp': '2023-11-15 22:13:20.000000000', 'pid': '100', 'tid': '101', 'command': 'cat', 'uid': '0', 'ppid': '1',
        'cgroup_id': '77', 'cpu_id': '0'}
DEFAULTS = {'vfs': {'operation': 'READ', 'filename': '/srv/file', 'latency_ns': '1000', 'errno': '0', 'return_value': '0'},
            'block': {'operation': 'READ', 'disk': 'sda', 'device': '8:1', 'latency_ms': '0.001000', 'error': '0'}}


def make(folder, **streams):
    """A trace with these rows of each stream: dictionaries of the columns that are not as usual."""
    listed, described = [], {}
    for stream, given in streams.items():
        columns = make_trace.golden(stream, '.csv')[0].rstrip('\n').split(',')
        name = '%s/%s_000001.csv' % (make_trace.FOLDERS[stream], make_trace.FOLDERS[stream])
        os.makedirs(os.path.join(folder, os.path.dirname(name)))
        usual = {**SAME, **DEFAULTS.get(stream, {})}
        usual, place = [usual.get(column, '') for column in columns], {column: at for at, column in enumerate(columns)}
        with open(os.path.join(folder, name), 'wb') as file:
            file.write((','.join(columns) + '\n').encode())
            rows = 0
            for row in given:
                cells = usual.copy()
                cells[place['mono_ns']] = str(MONO + 1000 * rows)
                for column, cell in row.items():
                    if column in place:
                        cells[place[column]] = cell
                file.write((','.join(cells) + '\n').encode())
                rows += 1
            size = file.tell()
        listed.append({'stream': stream, 'path': name, 'state': 'closed', 'rows': rows, 'bytes': size,
                       'first_mono_ns': 0, 'last_mono_ns': 1 << 60})
        described[stream] = {'folder': make_trace.FOLDERS[stream], 'columns': [{'name': one} for one in columns],
                             'emitted': rows, 'written': rows, 'lost': {}, 'removed': 0}
    with open(os.path.join(folder, 'manifest.json'), 'w', encoding='utf-8') as file:
        json.dump({'schema_version': 2, 'session': 'made', 'level': 'tracepoint', 'state': 'ended',
                   'host': {'name': 'host', 'kernel': '6.1.0'}, 'started': '2023-11-15 22:13:19.000000000',
                   'ended': '2023-11-15 22:13:21.000000000', 'streams': described, 'losses': [], 'segments': listed}, file)
    return folder

MEASURE = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, '/dev/null', 1, 0)])
_, status, usage = os.wait4(process, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)
"""


class Client:
    def __init__(self, program):
        self.program = program

    def run(self, code, *words, stdout=subprocess.PIPE):
        words = [self.program, *map(str, words)]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE) as process:
            out, err = process.communicate(timeout=250)
        codes = code if isinstance(code, tuple) else (code,)
        assert process.returncode in codes, '%s: exit %d, not %s\n%s' % (words, process.returncode, code, err.decode())
        return (out or b'').decode(errors='surrogateescape'), err.decode()

    def memory(self, *words):
        """KiB that a successful call had at most. A program begins with the most of who started it, so that is a small one."""
        done = subprocess.run([sys.executable, '-c', MEASURE, self.program, *words], check=True, capture_output=True, text=True)
        return int(done.stdout)

    def json(self, *words):
        return json.loads(self.run(0, *words, '--json')[0])
