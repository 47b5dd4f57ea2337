# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a trace as storage systems leave it, with hostile names in it, and counts what is in it."""
import json
import os
import random
from collections import defaultdict

GOLDEN = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'golden')
FOLDERS = {'vfs': 'fs', 'block': 'ds'}
HOSTILE = '</script><img src=x onerror=alert(1)>'
HOSTILE_COMMAND = '<b>&\\x22\'</b>'
#           command, writes of calls, their size, requests of a disk for each write, share of reads from the disk
SYSTEMS = [('postgres', 900, 8192, 2, 0.5), ('etcd', 400, 2300, 3, 0), ('redis-server', 150, 600, 4, 0),
           ('minio', 600, 65536, 1, 0.9), ('dd', 80, 1 << 20, 1, 1), (HOSTILE_COMMAND, 9, 4096, 1, 1)]
FLOW_OF = {('vfs', 'READ'): 'call_read', ('vfs', 'WRITE'): 'call_write', ('block', 'READ'): 'disk_read',
           ('block', 'WRITE'): 'disk_write'}
BEGIN_NS = 5_000_000_000_000
SPAN_NS = 20_000_000_000


class Storage:
    def __init__(self):
        self.random = random.Random(16)
        self.rows = defaultdict(list)
        self.sums = defaultdict(lambda: {'operations': 0, 'bytes': 0})  # by command and flow
        self.in_flight_ns = 0
        with open(os.path.join(GOLDEN, 'vfs.csv'), encoding='utf-8') as file:
            vfs = file.readline().rstrip('\n').split(',')
        with open(os.path.join(GOLDEN, 'block.csv'), encoding='utf-8') as file:
            self.columns = {'vfs': vfs, 'block': file.readline().rstrip('\n').split(',')}
        for at, (command, *how) in enumerate(SYSTEMS):
            self.run(command, 100 + at, *how)

    def add(self, stream, operation, command, pid, begin_ns, size, **more):
        seconds, part = divmod(begin_ns - BEGIN_NS, 10**9)
        row = {'timestamp': f'2026-11-20 10:00:{seconds:02d}.{part:09d}', 'operation': operation, 'pid': pid, 'tid': pid,
               'command': command, 'size': size, 'ppid': 1, 'uid': 0, 'cgroup_id': 7, 'cpu_id': 0, 'mono_ns': begin_ns, **more}
        self.rows[stream].append(','.join(str(row.get(name, '')) for name in self.columns[stream]))
        flow = self.sums[command, FLOW_OF[stream, operation]]
        flow['operations'] += 1
        flow['bytes'] += size

    def call(self, operation, command, pid, size):
        begin = BEGIN_NS + self.random.randrange(SPAN_NS)
        latency = int(self.random.lognormvariate(9 if operation == 'READ' else 10.5, 1.1))
        name = HOSTILE if command == HOSTILE_COMMAND else f'/srv/{command}/{self.random.randrange(9)}'
        self.add('vfs', operation, command, pid, begin, size, filename=name, bytes_completed=size, latency_ns=latency,
                 errno=0, return_value=size, device='254:001')
        return begin

    def request(self, operation, command, pid, begin, size):
        latency, queued = int(self.random.lognormvariate(13.5, 0.8)), self.random.randrange(9000)
        disk = self.random.choice(('vda', 'nvme0n1'))
        self.in_flight_ns += latency
        self.add('block', operation, command, pid, begin, size, disk=disk, device='254:000' if disk == 'vda' else '259:000',
                 latency_ms=f'{latency / 1e6:.6f}', queue_latency_ms=f'{queued / 1e6:.6f}', error=0)

    def run(self, command, pid, writes, size, times, from_disk):
        for _ in range(writes):
            begin = self.call('WRITE', command, pid, size)
            for _ in range(times):
                self.request('WRITE', command, pid, begin, (size + 4095) // 4096 * 4096)
            begin = self.call('READ', command, pid, size)
            if self.random.random() < from_disk:
                self.request('READ', command, pid, begin, (size + 4095) // 4096 * 4096)

    def write(self, folder, **more):
        streams, segments = {}, []
        for stream, rows in self.rows.items():
            name = f'{FOLDERS[stream]}/{FOLDERS[stream]}_000001.csv'
            text = '\n'.join([','.join(self.columns[stream]), *rows, ''])
            os.makedirs(os.path.join(folder, FOLDERS[stream]))
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text)
            lost = 12 if stream == 'vfs' else 0
            streams[stream] = {'folder': FOLDERS[stream], 'columns': [{'name': one} for one in self.columns[stream]],
                               'emitted': len(rows) + lost, 'written': len(rows), 'lost': {'ring': lost, 'names': 0}, 'removed': 0}
            segments.append({'stream': stream, 'path': name, 'state': 'closed', 'rows': len(rows), 'bytes': len(text),
                             'first_mono_ns': BEGIN_NS, 'last_mono_ns': BEGIN_NS + SPAN_NS})
        manifest = {'schema_version': 3, 'session': '<i>storage</i>', 'level': 'tracepoint', 'state': 'ended',
                    'host': {'name': 'host', 'kernel': '6.1.0'}, 'started': '2026-11-20 10:00:00.000000000',
                    'ended': '2026-11-20 10:00:20.000000000', 'streams': streams, 'segments': segments,
                    'definition': {'streams': list(streams), 'output': HOSTILE},
                    'losses': [{'stream': 'vfs', 'cause': 'ring', 'rows': 12, 'from': '2026-11-20 10:00:03.000000000',
                                'to': '2026-11-20 10:00:04.000000000'}], **more}
        with open(os.path.join(folder, 'manifest.json'), 'w', encoding='utf-8') as file:
            json.dump(manifest, file)
