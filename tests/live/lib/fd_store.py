# SPDX-License-Identifier: GPL-2.0-or-later
"""What systemd does for a service with FileDescriptorStoreMax=: descriptors that wait for its next start."""
import contextlib
import os
import socket
import subprocess
import threading

FIRST = 3  # SD_LISTEN_FDS_START


class FdStore:
    def __init__(self, path):
        self.path, self.kept, self.listener, self.passed = path, {}, None, threading.Event()
        if os.path.exists(path):
            os.unlink(path)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.notify.bind(path)

    def listen(self):
        """Takes what comes in a thread, as a daemon waits for room when ten messages are not read."""
        self.listener = threading.Thread(target=self.take_on, daemon=True)
        self.listener.start()

    def take_on(self):
        while (fields := self.take()):
            if 'BARRIER' in fields:
                self.passed.set()

    def barrier(self):
        """Until the thread has taken all that has come."""
        self.passed.clear()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b'BARRIER=1', self.path)
        self.passed.wait()

    def close(self):
        if self.listener:
            self.notify.shutdown(socket.SHUT_RDWR)
            self.listener.join()
        self.notify.close()
        for name in list(self.kept):
            self.drop(name)

    def drop(self, name):
        if name in self.kept:
            os.close(self.kept.pop(name))

    def empty(self, name):
        """Takes what waits in a socket's queue."""
        with socket.socket(fileno=os.dup(self.kept[name])) as queue:
            queue.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    queue.recv(1)

    def start(self, command, **options):
        """A process that gets what is kept, as systemd passes it."""
        names, fds = list(self.kept), [os.dup(fd) for fd in self.kept.values()]
        environment = dict(os.environ, NOTIFY_SOCKET=self.path)
        if names:
            environment.update(LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES=':'.join(names))
        # Away from where they go to, so that none is overwritten on its way there.
        high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
        places = ' '.join('%d<&%d %d<&-' % (FIRST + i, fd, fd) for i, fd in enumerate(high))
        line = 'LISTEN_PID=$$ exec %s "$@" %s' % ('env', places)
        try:
            return subprocess.Popen(['bash', '-c', line, 'env', *command], pass_fds=high, env=environment, **options)
        finally:
            for fd in fds + high:
                os.close(fd)

    def take(self, timeout=None):
        """The next message, whose descriptors are kept. None: none came in time."""
        self.notify.settimeout(timeout)
        try:
            data, fds, _, _ = socket.recv_fds(self.notify, 4096, 16)
        except (TimeoutError, BlockingIOError):
            return None
        fields = dict(line.partition('=')[::2] for line in data.decode().splitlines())
        if 'FDSTOREREMOVE' in fields:
            self.drop(fields['FDNAME'])
        if 'FDSTORE' in fields:
            self.drop(fields['FDNAME'])
            self.kept[fields['FDNAME']], = fds
        return fields

    def take_all(self):
        while self.take(0) is not None:
            pass
