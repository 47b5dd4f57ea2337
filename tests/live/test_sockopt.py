# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of sockets: each by its number, with the value as it was offered or returned."""
import re

from lib.calls import filtered, judged
from lib.registry import check, equal, test

SCRIPT = r'''
import errno
SETSOCKOPT, GETSOCKOPT = 54, 55
LEVELS = {1: 'SOL_SOCKET', 0: 'IPPROTO_IP', 6: 'IPPROTO_TCP', 17: 'IPPROTO_UDP',
          41: 'IPPROTO_IPV6'}

def hexed(data):
    return '0x' + data[:64].hex() if data else None

def as_int(data):
    return int.from_bytes(data[:4], 'little', signed=len(data) >= 4) if data else None

def as_natural(data):
    return int.from_bytes(data[:8], 'little') if data else None

def as_time(data):
    return '%d.%06d' % struct.unpack('<qq', data[:16]) if data else None

def as_linger(data):
    return '%d:%d' % struct.unpack('<ii', data[:8]) if data else None

def as_text(data):
    return data.split(b'\0')[0].decode() or None

def columns(fd, level, name, value, **more):
    return dict(fd=fd, level=LEVELS.get(level, level), option_name=name, option_value=value, **more)

def put(fd, level, number, name, data, shown, length=None, pointer=None):
    buffer = ctypes.create_string_buffer(data, max(1, len(data)))
    return row('SET', SETSOCKOPT, fd, level, number, buffer if pointer is None else pointer,
               len(data) if length is None else length, **columns(fd, level, name, shown))

def get(fd, level, number, name, show, room=256, pointer=None, length=None):
    """`show` makes text of the bytes that were returned."""
    buffer, size = ctypes.create_string_buffer(max(1, room)), ctypes.c_int(room)
    def value(result):
        return show(buffer.raw[:min(size.value, room)]) if result == 0 else None
    return row('GET', GETSOCKOPT, fd, level, number, buffer if pointer is None else pointer,
               size if length is None else length, **columns(fd, level, name, value))

def number(value):
    return struct.pack('<i', value)

tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
tcp6 = socket.socket(socket.AF_INET6)
T, U, V = tcp.fileno(), udp.fileno(), tcp6.fileno()
'''

# Of every option the number, the name and how its value is shown.
SOCKET = '''
1 DEBUG int, 2 REUSEADDR int, 3 TYPE int, 4 ERROR int, 5 DONTROUTE int, 6 BROADCAST int,
7 SNDBUF int, 8 RCVBUF int, 9 KEEPALIVE int, 10 OOBINLINE int, 11 NO_CHECK int, 12 PRIORITY int,
13 LINGER linger, 14 BSDCOMPAT int, 15 REUSEPORT int, 16 PASSCRED int, 17 PEERCRED hex,
18 RCVLOWAT int, 19 SNDLOWAT int, 20 RCVTIMEO_OLD time, 21 SNDTIMEO_OLD time,
22 SECURITY_AUTHENTICATION any, 23 SECURITY_ENCRYPTION_TRANSPORT any,
24 SECURITY_ENCRYPTION_NETWORK any, 25 BINDTODEVICE text, 26 ATTACH_FILTER hex,
27 DETACH_FILTER any, 28 PEERNAME hex, 29 TIMESTAMP_OLD int, 30 ACCEPTCONN int, 31 PEERSEC text,
32 SNDBUFFORCE int, 33 RCVBUFFORCE int, 34 PASSSEC int, 35 TIMESTAMPNS_OLD int, 36 MARK natural,
37 TIMESTAMPING_OLD any, 38 PROTOCOL int, 39 DOMAIN int, 40 RXQ_OVFL int, 41 WIFI_STATUS int,
42 PEEK_OFF int, 43 NOFCS int, 44 LOCK_FILTER int, 45 SELECT_ERR_QUEUE int, 46 BUSY_POLL int,
47 MAX_PACING_RATE natural, 48 BPF_EXTENSIONS int, 49 INCOMING_CPU int, 50 ATTACH_BPF int,
51 ATTACH_REUSEPORT_CBPF hex, 52 ATTACH_REUSEPORT_EBPF int, 53 CNX_ADVICE int, 55 MEMINFO hex,
56 INCOMING_NAPI_ID natural, 57 COOKIE natural, 59 PEERGROUPS hex, 60 ZEROCOPY int, 61 TXTIME hex,
62 BINDTOIFINDEX int, 63 TIMESTAMP_NEW int, 64 TIMESTAMPNS_NEW int, 65 TIMESTAMPING_NEW any,
66 RCVTIMEO_NEW time, 67 SNDTIMEO_NEW time, 68 DETACH_REUSEPORT_BPF any, 69 PREFER_BUSY_POLL int,
70 BUSY_POLL_BUDGET int, 71 NETNS_COOKIE natural, 72 BUF_LOCK int, 73 RESERVE_MEM int,
74 TXREHASH int, 75 RCVMARK int, 76 PASSPIDFD int, 77 PEERPIDFD int, 78 DEVMEM_LINEAR any,
79 DEVMEM_DMABUF any, 80 DEVMEM_DONTNEED hex, 82 RCVPRIORITY int, 83 PASSRIGHTS int, 84 INQ int'''
TCP = '''
1 NODELAY int, 2 MAXSEG int, 3 CORK int, 4 KEEPIDLE int, 5 KEEPINTVL int, 6 KEEPCNT int,
7 SYNCNT int, 8 LINGER2 int, 9 DEFER_ACCEPT int, 10 WINDOW_CLAMP int, 11 INFO hex,
12 QUICKACK int, 13 CONGESTION text, 14 MD5SIG hex, 16 THIN_LINEAR_TIMEOUTS int,
17 THIN_DUPACK int, 18 USER_TIMEOUT int, 19 REPAIR int, 20 REPAIR_QUEUE int,
21 QUEUE_SEQ natural, 22 REPAIR_OPTIONS hex, 23 FASTOPEN int, 24 TIMESTAMP natural,
25 NOTSENT_LOWAT natural, 26 CC_INFO hex, 27 SAVE_SYN int, 28 SAVED_SYN hex,
29 REPAIR_WINDOW hex, 30 FASTOPEN_CONNECT int, 31 ULP text, 32 MD5SIG_EXT hex,
33 FASTOPEN_KEY none, 34 FASTOPEN_NO_COOKIE int, 35 ZEROCOPY_RECEIVE hex, 36 INQ int,
37 TX_DELAY int, 38 AO_ADD_KEY hex, 39 AO_DEL_KEY hex, 40 AO_INFO hex, 41 AO_GET_KEYS hex,
42 AO_REPAIR hex, 43 IS_MPTCP int, 44 RTO_MAX_MS int, 45 RTO_MIN_US int, 46 DELACK_MAX_US int'''
SHOW = {'int': 'as_int', 'natural': 'as_natural', 'time': 'as_time', 'linger': 'as_linger',
        'text': 'as_text', 'hex': 'hexed', 'none': 'lambda data: None',
        'any': 'lambda data: (as_int if len(data) in (1, 4) else hexed)(data)'}


def table(text, prefix):
    return [(int(number), prefix + name, show) for number, name, show in
            (entry.split() for entry in text.replace('\n', ' ').split(','))]


def calls(world, lines, *options):
    script = lines if isinstance(lines, str) else '\n'.join(lines)
    session, noted = judged(world, SCRIPT + script, options, 'sockopt')
    return session.rows('sockopt'), noted


def every(level, options):
    """Each option read, and set to a value that most refuse."""
    for number, name, show in options:
        function = SHOW[show]
        yield 'get(T, %d, %d, %r, %s)' % (level, number, name, function)
        if show not in ('text', 'none'):
            yield 'put(T, %d, %d, %r, b"\\1" * 16, (%s)(b"\\1" * 16))' % (
                level, number, name, function if show != 'time' else 'hexed')


def sets_differ(noted):
    results = {one['return_value'] for one in noted if one['operation'] == 'GET'}
    check(0 in results and results - {0}, 'some are known to the kernel, some not', results)


@test
def socket_options(world):
    """Every option of SOL_SOCKET, read and set."""
    _, noted = calls(world, list(every(1, table(SOCKET, 'SO_'))))
    sets_differ(noted)


@test
def tcp_options(world):
    _, noted = calls(world, list(every(6, table(TCP, 'TCP_'))))
    sets_differ(noted)


@test
def unnamed(world):
    """Options and levels without a name are shown by their number."""
    calls(world, r'''
for level, option in ((1, 54), (1, 85), (1, -1), (1, 0x7fffffff), (6, 0), (6, 15), (6, 47), (6, 999),
                      (0, 999), (41, 1000), (17, 2), (2, 1), (255, 1), (263, 3), (-1, 4), (77777, -7)):
    get(T, level, option, option, hexed)
    put(T, level, option, option, number(5), 5)
''')


@test
def integers(world):
    """What was set is what is read, but for what the kernel makes of it."""
    rows, noted = calls(world, r'''
put(T, 1, 2, 'SO_REUSEADDR', number(1), 1)
get(T, 1, 2, 'SO_REUSEADDR', as_int)
put(T, 1, 8, 'SO_RCVBUF', number(5000), 5000)
get(T, 1, 8, 'SO_RCVBUF', as_int)
put(T, 6, 1, 'TCP_NODELAY', number(1), 1)
get(T, 6, 1, 'TCP_NODELAY', as_int)
put(U, 1, 42, 'SO_PEEK_OFF', number(-1), -1)
put(U, 17, 103, 'UDP_SEGMENT', number(1400), 1400)
put(T, 0, 1, 'IP_TOS', number(16), 16)
put(T, 0, 1, 'IP_TOS', b'\x08', 8)
get(T, 0, 1, 'IP_TOS', as_int)
get(T, 0, 1, 'IP_TOS', as_int, room=1)
put(V, 41, 26, 'IPV6_V6ONLY', number(1), 1)
get(V, 41, 26, 'IPV6_V6ONLY', as_int)
put(T, 1, 36, 'SO_MARK', b'\xff\xff\xff\xff', 4294967295)
get(T, 1, 36, 'SO_MARK', as_natural)
put(T, 1, 47, 'SO_MAX_PACING_RATE', struct.pack('<Q', 1 << 40), 1 << 40)
get(T, 1, 47, 'SO_MAX_PACING_RATE', as_natural)
get(T, 1, 47, 'SO_MAX_PACING_RATE', as_natural, room=4)
get(T, 1, 57, 'SO_COOKIE', as_natural)
put(T, 1, 2, 'SO_REUSEADDR', number(1) + b'behind it', 1)
get(T, 1, 3, 'SO_TYPE', as_int, room=0)
''')
    values = [row['option_value'] for row in rows]
    equal(values[:6] + values[9:14], ['1', '1', '5000', '10000', '1', '1', '8', '8', '8', '1', '1'],
          'values')
    equal({one['return_value'] for one in noted}, {0}, 'results')


@test
def structures(world):
    """Times, linger, text, and all others in hex."""
    rows, _ = calls(world, r'''
for option, name in ((20, 'SO_RCVTIMEO_OLD'), (21, 'SO_SNDTIMEO_OLD'), (66, 'SO_RCVTIMEO_NEW'),
                     (67, 'SO_SNDTIMEO_NEW')):
    put(T, 1, option, name, struct.pack('<qq', 3, 500000), '3.500000')
    get(T, 1, option, name, as_time)
put(T, 1, 20, 'SO_RCVTIMEO_OLD', struct.pack('<qq', -1, 1), '-1.000001')
put(T, 1, 20, 'SO_RCVTIMEO_OLD', struct.pack('<qq', 1, 1000000), hexed(struct.pack('<qq', 1, 1000000)))
put(T, 1, 20, 'SO_RCVTIMEO_OLD', b'12345678', hexed(b'12345678'))
put(T, 1, 13, 'SO_LINGER', struct.pack('<ii', 1, 30), '1:30')
get(T, 1, 13, 'SO_LINGER', as_linger)
put(T, 1, 13, 'SO_LINGER', b'1234567', hexed(b'1234567'))
put(T, 6, 13, 'TCP_CONGESTION', b'reno', 'reno')
get(T, 6, 13, 'TCP_CONGESTION', as_text)
put(T, 6, 13, 'TCP_CONGESTION', b'a,"b\x01\xff', 'a\\x2c\\x22b\\x01\\xff')
put(T, 6, 31, 'TCP_ULP', b'nonesuch\0behind', 'nonesuch')
put(T, 1, 25, 'SO_BINDTODEVICE', b'lo\0', 'lo')
get(T, 1, 25, 'SO_BINDTODEVICE', as_text)
put(T, 1, 25, 'SO_BINDTODEVICE', b'\0', None)
put(T, 1, 25, 'SO_BINDTODEVICE', b'x' * 300, 'x' * 64)
get(T, 6, 11, 'TCP_INFO', hexed)
put(T, 0, 35, 'IP_ADD_MEMBERSHIP', socket.inet_aton('239.1.2.3') + bytes(4), '0xef01020300000000')
put(T, 1, 26, 'SO_ATTACH_FILTER', bytes(range(100)), hexed(bytes(range(64))))
one, other = socket.socketpair()
get(one.fileno(), 1, 17, 'SO_PEERCRED', lambda data: hexed(struct.pack('<iII', os.getpid(), os.getuid(),
                                                                     os.getgid())))
''')
    equal([row['option_value'] for row in rows[:4]], ['3.500000'] * 4, 'times')


@test
def keys(world):
    """The values of options that are keys are not recorded."""
    calls(world, r'''
key = b'0123456789abcdef'
put(T, 6, 33, 'TCP_FASTOPEN_KEY', key, None)
get(T, 6, 33, 'TCP_FASTOPEN_KEY', lambda data: None)
put(T, 282, 1, 1, key * 3, None)
put(T, 279, 1, 1, key, None)
put(T, 132, 23, 23, bytes(8) + key, None)
''')


@test
def refused(world):
    """Bad descriptors, pointers and lengths: each call has a row, with the values that can be read."""
    _, noted = calls(world, r'''
put(-1, 1, 2, 'SO_REUSEADDR', number(1), 1)
put(999, 1, 2, 'SO_REUSEADDR', number(1), 1)
put(0, 1, 2, 'SO_REUSEADDR', number(1), 1)
put(T, 1, 2, 'SO_REUSEADDR', b'', None, pointer=BAD, length=4)
put(T, 1, 2, 'SO_REUSEADDR', b'', None, pointer=0, length=4)
put(T, 1, 2, 'SO_REUSEADDR', b'', None, pointer=0xffffffff81000000 - (1 << 64), length=64)
put(T, 1, 2, 'SO_REUSEADDR', number(1), None, length=-1)
put(T, 1, 2, 'SO_REUSEADDR', number(1), None, length=0)
put(T, 1, 2, 'SO_REUSEADDR', number(1), 1, length=2)
get(-1, 1, 2, 'SO_REUSEADDR', as_int)
get(T, 1, 2, 'SO_REUSEADDR', as_int, pointer=BAD)
get(T, 1, 2, 'SO_REUSEADDR', as_int, length=BAD)
get(T, 1, 2, 'SO_REUSEADDR', as_int, length=0)
get(T, 1, 2, 'SO_REUSEADDR', as_int, room=-1)
get(T, 1, 2, 'SO_REUSEADDR', as_int, pointer=0xffffffff81000000 - (1 << 64))
long = ctypes.create_string_buffer(number(1) + bytes(96), 100)
row('SET', SETSOCKOPT, T, 1, 2, long, 0x7fffffff, **columns(T, 1, 'SO_REUSEADDR', 1))
row('SET', SETSOCKOPT, T, 1, 13, long, 0x7fffffff, **columns(T, 1, 'SO_LINGER', '1:0'))
''')
    equal([one['return_value'] for one in noted],
          [-9, -9, -88, -14, -14, -14, -22, -22, -22, -9, -14, -14, -14, -22, -14, 0, 0], 'results')


@test
def filters(world):
    script = SCRIPT + r'''
call(SETSOCKOPT, T, 1, 2, ctypes.create_string_buffer(number(1), 4), 4)
call(GETSOCKOPT, T, 1, 2, ctypes.create_string_buffer(4), ctypes.c_int(4))
call(SETSOCKOPT, -1, 1, 2, BAD, 4)
'''
    filtered(world, 'sockopt', script, [
        (['--operation', 'GET'], ['GET']), (['--errors'], ['SET']), (['--min-latency', '10s'], []),
        (['--vfs', '--min-size', '1'], []), (['--vfs', '--device', '1:2'], []), ([], ['SET', 'GET', 'SET'])])


@test
def header(world):
    """The columns stand in the order that is promised."""
    rows, _ = calls(world, 'get(T, 1, 3, "SO_TYPE", as_int)')
    equal(','.join(list(rows[0])[5:-5]), 'fd,level,option_name,option_value,return_value', 'columns')
    check(re.fullmatch(r'\d+', rows[0]['option_value']), 'the type of a socket')
