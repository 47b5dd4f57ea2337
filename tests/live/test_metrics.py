# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Prometheus and node exporter read what the daemon tells of itself."""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from lib import reads
from lib.registry import Skip, check, equal, test, wait_for

PROGRAMS = ('prometheus', 'prometheus-node-exporter', 'promtool')
RULES = os.path.join(os.path.dirname(__file__), '..', '..', 'packaging', 'prometheus', 'iotracer.rules.yml')


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def get(port, path):
    with urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path), timeout=10) as answer:
        return answer.read().decode()


def answers(port, path):
    try:
        return get(port, path)
    except (urllib.error.URLError, ConnectionError):
        return None


def run(world, *command):
    """A program that is there until the test ends."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.undo.callback(program.wait)
    world.undo.callback(program.kill)
    return program


def configure(daemon, ctl, lines):
    with open(daemon.options[daemon.options.index('--config') + 1], 'a', encoding='ascii') as file:
        file.write('[Metrics]\n' + lines)
    ctl.exits(0, 'reload')


def query(port, expression):
    """Values by their labels but for those that Prometheus adds."""
    found = json.loads(get(port, '/api/v1/query?' + urllib.parse.urlencode({'query': expression})))['data']['result']
    return {tuple(sorted((key, value) for key, value in one['metric'].items() if key not in ('__name__', 'instance'))):
            float(one['value'][1]) for one in found}


@test(host_only=True)
def scraped(world):
    """By the listener and by the file: the same numbers, which are those of status; the alert rules are taken."""
    for program in PROGRAMS:
        if not shutil.which(program):
            raise Skip('there is no ' + program)
    daemon, ctl = world.own_daemon(fresh=True)
    folder, ours, exporter, prometheus = world.make('textfile'), free_port(), free_port(), free_port()
    configure(daemon, ctl, 'Listen=127.0.0.1:%d\nTextFile=%s/iotracer.prom\nInterval=1s\n' % (ours, folder))
    run(world, 'prometheus-node-exporter', '--collector.disable-defaults', '--collector.textfile',
        '--collector.textfile.directory=' + folder, '--web.listen-address=127.0.0.1:%d' % exporter)
    config = world.path('prometheus.yml')
    with open(config, 'w', encoding='ascii') as file:
        json.dump({'global': {'scrape_interval': '250ms', 'scrape_timeout': '250ms', 'evaluation_interval': '250ms'},
                   'rule_files': [os.path.abspath(RULES)],
                   'scrape_configs': [{'job_name': name, 'static_configs': [{'targets': ['127.0.0.1:%d' % port]}]}
                                      for name, port in (('iotracer', ours), ('node', exporter))]}, file)
    run(world, 'prometheus', '--config.file=' + config, '--storage.tsdb.path=' + world.make('tsdb'),
        '--web.listen-address=127.0.0.1:%d' % prometheus)
    wait_for('Prometheus', lambda: answers(prometheus, '/-/ready'))
    linted = subprocess.run(['promtool', 'check', 'metrics'], input=get(ours, '/metrics'), capture_output=True, text=True,
                            check=False)
    equal((linted.returncode, linted.stderr), (0, ''), 'promtool check metrics')
    with reads.Reads(world.path('file')) as load, world.session(*reads.OPTIONS, ctl=ctl) as session:
        load.go(100)
        series = {(('job', job), ('session', session.name)): 100.0 for job in ('iotracer', 'node')}
        wait_for('the rows of the session', lambda: query(prometheus, 'iotracer_session_rows_total') == series,
                 lambda: query(prometheus, 'iotracer_session_rows_total'))
        equal(query(prometheus, 'iotracer_lost_rows_total{stream="vfs"} > 0'), {}, 'rows lost')
        equal(query(prometheus, 'iotracer_sessions{state="running",by="client"}'),
              {(('by', 'client'), ('job', job), ('state', 'running')): 1.0 for job in ('iotracer', 'node')}, 'sessions')
    sums = {(('job', job), ('stream', 'vfs')): 100.0 for job in ('iotracer', 'node')}
    wait_for('the end of the session', lambda: not query(prometheus, 'iotracer_session_rows_total'))
    equal(query(prometheus, 'iotracer_rows_total{stream="vfs"}'), sums, 'rows of all sessions')
    groups = json.loads(get(prometheus, '/api/v1/rules'))['data']['groups']
    wrong = [rule for group in groups for rule in group['rules'] if rule['health'] == 'err']
    check(len(groups) == 1 and not wrong, 'the alert rules', wrong or groups)
    configure(daemon, ctl, 'Listen=off\n')
    check(answers(ours, '/metrics') is None, 'it listens still')


@test(host_only=True)
def ends_at_once(world):
    """Visitors who hold all connections, and a folder that is not there, do not keep the daemon from ending its sessions."""
    daemon, ctl = world.own_daemon(fresh=True)
    port = free_port()
    configure(daemon, ctl, 'Listen=127.0.0.1:%d\nTextFile=%s/nowhere/x.prom\nInterval=1s\n' % (port, world.folder))
    wait_for('its log', lambda: any('x.prom is not written: ' in line for line in daemon.tail(20)), daemon.tail)
    held = [socket.create_connection(('127.0.0.1', port)) for _ in range(10)]
    with reads.Reads(world.path('file')) as load:
        session = world.session(*reads.OPTIONS, ctl=ctl)
        session.start()
        load.go(100)
        equal(daemon.stop(signal.SIGTERM), 0, 'exit status')
    for one in held:
        one.close()
    reads.all_there(session.output, load.done)


SLOW = """
import socket, sys, time
held, begun = [], time.monotonic()
while time.monotonic() - begun < %d:
    one = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    one.send(b'GET /met')
    held.append(one)
    time.sleep(float(sys.argv[2]))
print(len(held), flush=True)
time.sleep(1000)
"""


@test(host_only=True)
def crowded(world):
    """A user who comes again and again, says little and stays, by the second or by the millisecond, keeps nobody out."""
    daemon, ctl = world.own_daemon(fresh=True)
    port = free_port()
    configure(daemon, ctl, 'Listen=127.0.0.1:%d\n' % port)
    for seconds, pause in ((8, 0.4), (4, 0.002)):
        slow = subprocess.Popen(['/usr/bin/python3', '-c', SLOW % seconds, str(port), str(pause)], user=54321, group=54321,
                                extra_groups=[], stdout=subprocess.PIPE, cwd='/')
        world.undo.callback(slow.wait)
        world.undo.callback(slow.kill)
        longest = 0
        while not select.select([slow.stdout], [], [], 0)[0]:
            begun = time.monotonic()
            with urllib.request.urlopen('http://127.0.0.1:%d/metrics' % port, timeout=20) as reply:
                check(b'iotracer_info' in reply.read(), 'no metrics')
            longest = max(longest, time.monotonic() - begun)
            time.sleep(0.05)
        check(longest < 2, 'one answer took %.1f s' % longest)
        ctl.exits(0, 'list')
        slow.kill()
