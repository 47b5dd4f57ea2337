# SPDX-License-Identifier: GPL-2.0-or-later
"""
Segments that TCP sends again: two network namespaces on one cable, of which one is deaf to some
addresses. What the rows count is held against the namespaces' own counters.
"""
import contextlib
import os
import time

from lib.calls import Caller, real_time
from lib.registry import Skip, check, equal, test

NOBODY = 65534
SCRIPT = r'''
import time
HERE, THERE = %(here)r, %(there)r

def enter(name):
    """Sockets made from now on are of this namespace."""
    fd = os.open('/run/netns/' + name, os.O_RDONLY)
    assert call(308, fd, 0) == 0
    os.close(fd)

def counter(name):
    """How many segments a namespace says it sent again, without those that it could not send."""
    enter(name)
    return count('snmp', 'Tcp:', 'RetransSegs') - count('netstat', 'TcpExt:', 'TCPRetransFail')

def count(table, group, key):
    with open('/proc/self/net/' + table, encoding='ascii') as file:
        head, values = [line.split() for line in file if line.startswith(group)]
    return int(values[head.index(key)])

def listen(family, address):
    enter(THERE)
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    return server, server.getsockname()[1]

def client(family, address, port, uid=0, wait=True):
    enter(HERE)
    os.seteuid(uid)
    one = socket.socket(family)
    os.seteuid(0)
    one.settimeout(20)
    one.setblocking(wait)
    one.connect_ex((address, port))
    return one

def note(one, version, source, dest, port, state, size, uid=0):
    NOTED.append({'uid': uid, 'protocol': 'TCP', 'ip_version': version, 'source_addr': source,
                  'dest_addr': dest, 'source_port': one.getsockname()[1], 'dest_port': port,
                  'tcp_state': state, 'packet_size': size, 'segments': 1})

def syn(source, dest, port):
    """A SYN as the network would bring it from a machine that does not listen for the answer."""
    tcp = struct.pack('!HHIIHHHH', 4711, port, 1, 0, 5 << 12 | 2, 1000, 0, 0)
    ends = socket.inet_aton(source) + socket.inet_aton(dest)
    words = struct.unpack('!16H', ends + struct.pack('!HH', 6, len(tcp)) + tcp)
    total = sum(words)
    total = (total & 0xffff) + (total >> 16)
    total = ~((total & 0xffff) + (total >> 16)) & 0xffff
    tcp = tcp[:16] + struct.pack('!H', total) + tcp[18:]
    ip = struct.pack('!BBHHHBBH', 0x45, 0, 40, 7, 0, 64, 6, 0) + ends
    enter(HERE)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.sendto(ip + tcp, (dest, 0))
    raw.close()
'''
SYN = r'''
for family, version, source, dest, uid in (
        (socket.AF_INET, 4, '10.213.7.1', '10.213.7.99', 0),
        (socket.AF_INET6, 6, 'fd13:7::1', 'fd13:7::99', 65534)):
    one = client(family, dest, 81, uid, wait=False)
    note(one, version, source, dest, 81, 'SYN_SENT', 0, uid)
    CLIENTS.append(one)
'''
DATA = r'''
for family, version, source, dest, bound, uid in (
        (socket.AF_INET, 4, '10.213.7.1', '10.213.7.2', '10.213.7.2', 65534),
        (socket.AF_INET6, 6, 'fd13:7::1', 'fd13:7::2', 'fd13:7::2', 0),
        (socket.AF_INET6, 4, '10.213.7.1', '10.213.7.2', '::ffff:10.213.7.2', 0)):
    server, port = listen(family, bound)
    one = client(family, bound, port, uid)
    note(one, version, source, dest, port, 'ESTABLISHED', 1000 + len(CLIENTS), uid)
    CLIENTS.append(one)
    SERVERS.append(server)
for net in ('10.213.7.2/24', 'fd13:7::2/64'):
    assert os.system('ip -n %s addr del %s dev cable' % (THERE, net)) == 0
for number, one in enumerate(CLIENTS):
    assert one.send(bytes(1000 + number)) == 1000 + number
'''
ANSWER = r'''
server, port = listen(socket.AF_INET, '10.213.7.2')
SERVERS.append(server)
syn('10.213.7.77', '10.213.7.2', port)
NOTED.append({'uid': 0, 'protocol': 'TCP', 'ip_version': 4, 'source_addr': '10.213.7.2',
              'dest_addr': '10.213.7.77', 'source_port': port, 'dest_port': 4711,
              'tcp_state': 'NEW_SYN_RECV', 'packet_size': 0, 'segments': 1})
'''
SEVERAL = r'''
server, port = listen(socket.AF_INET, '10.213.7.2')
one = client(socket.AF_INET, '10.213.7.2', port)
note(one, 4, '10.213.7.1', '10.213.7.2', port, 'ESTABLISHED', 0)
CLIENTS.append(one)
SERVERS.append(server)
peer = server.accept()[0]
peer.settimeout(20)
def command(words):
    assert os.system('ip -n %s %s' % (THERE, words)) == 0
for _ in range(3):
    command('addr del 10.213.7.2/24 dev cable')
    sent = one.send(bytes(60000))
    before, late = counter(HERE), time.monotonic() + 20
    while counter(HERE) < before + 2 and time.monotonic() < late:
        time.sleep(0.01)
    command('addr add 10.213.7.2/24 dev cable')
    got = 0
    while got < sent:
        got += len(peer.recv(100000))
peer.close()
'''
BEGIN = 'CLIENTS, SERVERS = [], []\nBEGIN = time.monotonic_ns()\n'
END = r'''
end = time.monotonic() + 30
while counter(HERE) + counter(THERE) < %(least)d and time.monotonic() < end:
    time.sleep(0.05)
for one in CLIENTS:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    one.close()
for one in SERVERS:
    one.close()
NOTED.append({'counted': counter(HERE) + counter(THERE), 'within': [BEGIN, time.monotonic_ns()]})
'''


def network(world):
    """Names of two namespaces, joined by a cable; addresses that nobody has are known to both."""
    world.need('ip')
    here, there = ['iotracer-%d-%s' % (os.getpid(), name) for name in ('here', 'there')]
    world.command('modprobe', 'veth', check=False)
    for name in (here, there):
        if world.command('ip', 'netns', 'add', name, check=False).returncode:
            raise Skip('no network namespaces')
        world.later('ip', 'netns', 'del', name)
    done = world.command('ip', '-n', here, 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name',
                         'cable', 'netns', there, check=False)
    if done.returncode:
        raise Skip('no veth: %s' % done.stderr.strip())
    for name, last in ((here, 1), (there, 2)):
        run = lambda *words, name=name: world.command('ip', '-n', name, *words)
        run('link', 'set', 'cable', 'address', '02:00:00:00:00:%02x' % last, 'up')
        run('addr', 'add', '10.213.7.%d/24' % last, 'dev', 'cable')
        run('addr', 'add', 'fd13:7::%d/64' % last, 'dev', 'cable', 'nodad')
    for name, others, last in ((here, (2, 99), 2), (there, (1, 77), 1)):
        for other in others:
            for address in ('10.213.7.%d' % other, 'fd13:7::%d' % other):
                world.command('ip', '-n', name, 'neigh', 'replace', address, 'lladdr',
                              '02:00:00:00:00:%02x' % last, 'nud', 'permanent', 'dev', 'cable')
    return {'here': here, 'there': there}


def run_all(world, script, least, *sessions):
    """What was noted of each connection, what the kernel counted, and the network's rows of each session."""
    names = network(world)
    caller = Caller(SCRIPT % names + BEGIN + script + END % {'least': least})
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(world.session('--drop', *options)) for options in sessions]
        noted = caller.go()
    last = noted.pop()
    ports = {(one['source_addr'], one['source_port']) for one in noted}
    return noted, last, [[row for row in session.rows('drop')
                          if (row['source_addr'], int(row['source_port'])) in ports] for session in sessions]


def run(world, script, least, *options):
    noted, last, (rows,) = run_all(world, script, least, options)
    return noted, rows, last


def judge(noted, rows, last):
    """Every column; rows for each connection; as many as the kernel counted."""
    head = {'operation': 'TCP_RETRANSMIT', 'pid': '0', 'tid': '0', 'command': '', 'ppid': '0',
            'cgroup_id': ''}
    wanted = [{**head, **{name: str(value) for name, value in one.items()}} for one in noted]
    seen = [{name: value for name, value in row.items()
             if name not in ('timestamp', 'mono_ns', 'cpu_id')} for row in rows]
    strange = [row for row in seen if row not in wanted]
    check(not strange, 'rows that are not as they must be', *strange[:5])
    for one in wanted:
        check(one in seen, 'no row of a connection', one)
    equal(sum(int(row['segments']) for row in rows), last['counted'], 'segments, and what the kernel counted')
    offset = time.time_ns() - time.monotonic_ns()
    for row in rows:
        check(last['within'][0] <= int(row['mono_ns']) <= last['within'][1], 'time', row['mono_ns'])
        check(abs(real_time(row) - int(row['mono_ns']) - offset) < 10**9, 'timestamp', row['timestamp'])
        check(0 <= int(row['cpu_id']) < os.cpu_count(), 'cpu_id', row['cpu_id'])


@test
def syn(world):
    """A SYN that nobody answers."""
    judge(*run(world, SYN, 4))


@test
def data(world):
    """Segments of connections whose peer has gone deaf."""
    judge(*run(world, DATA, 9))


@test(host_only=True)
def several(world):
    """What is sent again when the peer hears again: a buffer may be of several segments, which the kernel counts one by one."""
    _, rows, last = run(world, SEVERAL, 3)
    equal(sum(int(row['segments']) for row in rows), last['counted'], 'segments, and what the kernel counted')
    check(any(int(row['segments']) > 1 for row in rows), 'a row of several segments', [row['segments'] for row in rows])
    for row in rows:
        segments = int(row['segments'])
        check(segments == 1 or int(row['packet_size']) > 1000 * (segments - 1), 'bytes of a row', row)


@test
def answer(world):
    """The answer to a SYN whose sender is deaf."""
    judge(*run(world, ANSWER, 1))


@test
def uid(world):
    """The owner of the socket decides."""
    noted, rows, _ = run(world, SYN, 2, '--uid', str(NOBODY))
    root, nobody = [[row for row in rows if row['source_addr'] == one['source_addr']] for one in noted]
    equal(root, [], 'rows of another user')
    equal({row['uid'] for row in nobody}, {str(NOBODY)}, 'users')


@test
def without_process(world):
    """Filters on what rows of drop do not have (process, device, latency, size of a SYN) let no row through."""
    beside = '--vfs'  # alone, drop is refused what none of its rows can pass
    filters = ([beside, '--pid', os.getpid()], [beside, '--command', 'python3'], [beside, '--device', '1:2'],
               ['--min-size', '1'], [beside, '--min-latency', '1ns'], [beside, '--errors'], [])
    _, _, found = run_all(world, SYN, 2, *filters)
    check(found.pop(), 'no rows at all')
    for options, rows in zip(filters, found):
        equal(rows, [], 'rows with %s' % options)
