# SPDX-License-Identifier: GPL-2.0-or-later
"""Peers that show what a stream shows: bpftrace scripts with as many of its columns as possible, perf for system calls."""
import os
import shutil

PAIR = '''
BEGIN { system("touch %%s"); }
tracepoint:syscalls:sys_enter_%(call)s { @start[tid] = nsecs; %(note)s }
tracepoint:syscalls:sys_exit_%(call)s /@start[tid]/ {
    printf("%%%%llu %%%%d %%%%d %%%%s %%%%d %%%%d %%%%d %(format)s\\n", nsecs, tid, pid, comm, uid, args->ret,
           nsecs - @start[tid]%(values)s);
    delete(@start[tid]);
}
'''


def of_calls(*calls):
    """A script that prints a row for each of the system calls, with up to three of their arguments."""
    parts = []
    for call, arguments in calls:
        names = ['@%s_%s[tid]' % (call, one) for one in arguments]
        parts.append(PAIR % {
            'call': call, 'note': ' '.join('%s = (uint64)args->%s;' % pair for pair in zip(names, arguments)),
            'format': ' '.join('%%%%d' for _ in names), 'values': ''.join(', ' + name for name in names)})
    begin = parts[0].split('\n')[1]
    return '\n'.join([begin] + [part.replace(begin, '') for part in parts])


SCRIPTS = {
    'vfs': of_calls(('pread64', ('fd', 'count', 'pos'))),
    'net': of_calls(('sendto', ('fd', 'len', 'flags')), ('recvfrom', ('fd', 'size', 'flags'))),
    'conn': of_calls(('socket', ('family', 'type', 'protocol')), ('connect', ('fd', 'addrlen')),
                     ('accept4', ('fd', 'flags')), ('close', ('fd',))),
    'epoll': of_calls(('epoll_wait', ('epfd', 'maxevents', 'timeout'))),
    'sockopt': of_calls(('getsockopt', ('fd', 'level', 'optname'))),
    'cache': '''
BEGIN { system("touch %s"); }
tracepoint:filemap:mm_filemap_get_pages {
    printf("%%llu %%d %%d %%s %%d %%d %%llu %%llu %%llu\\n", nsecs, tid, pid, comm, uid, args->s_dev, args->i_ino,
           args->index, args->last_index);
}
''',
    'pagefault': '''
BEGIN { system("touch %s"); }
tracepoint:exceptions:page_fault_user {
    printf("%%llu %%d %%d %%s %%d %%llx %%llx %%d\\n", nsecs, tid, pid, comm, uid, args->address, args->ip,
           args->error_code);
}
''',
    'iouring': '''
BEGIN { system("touch %s"); }
tracepoint:io_uring:io_uring_submit_req { @start[args->req] = nsecs; @opcode[args->req] = args->opcode; }
tracepoint:io_uring:io_uring_complete /@start[args->req]/ {
    printf("%%llu %%d %%d %%s %%d %%d %%llu %%d %%d\\n", nsecs, tid, pid, comm, uid, @opcode[args->req],
           args->user_data, args->res, nsecs - @start[args->req]);
    delete(@start[args->req]); delete(@opcode[args->req]);
}
''',
}

# Of perf trace, which knows system calls alone.
CALLS = {'vfs': 'pread64', 'net': 'sendto,recvfrom', 'conn': 'socket,connect,accept4,close',
         'epoll': 'epoll_wait', 'sockopt': 'getsockopt', 'iouring': 'io_uring_enter'}

# Programs that are made for one thing, and hook functions of the kernel.
OF_FUNCTIONS = ('tcpconnect.bt', 'tcpaccept.bt', 'tcpretrans.bt', 'tcpdrop.bt', 'tcpconnect-bpfcc', 'tcpretrans-bpfcc',
                'cachestat-bpfcc')

LOSSY = '''
import ctypes, socket, struct, time
# A filter that takes nothing: the sender tries again.
code = struct.pack('HBBI', 6, 0, 0, 0)
text = ctypes.create_string_buffer(code)
program = struct.pack('HL', 1, ctypes.addressof(text))
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen(16)
pairs = []
for _ in range(10):
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    server.setsockopt(socket.SOL_SOCKET, 26, program)
    client.send(b'x')
    pairs.append((client, server))
time.sleep(2)
'''


def not_runnable():
    """Peers that cannot be measured: name and reason."""
    kprobes = os.path.exists('/sys/kernel/tracing/kprobe_events')
    for name in OF_FUNCTIONS:
        if not shutil.which(name):
            yield name, 'not installed'
        elif not kprobes:
            yield name, 'the kernel has no kprobes'
