# SPDX-License-Identifier: GPL-2.0-or-later
"""`iotr-layers`, which prints the counts of I/O by layer, beside known I/O on disks of our own."""
import contextlib
import json
import os
import subprocess
import time

from lib import account
from lib.forked import forked
from lib.registry import PATIENCE, Failure, Skip, check, equal
from lib.world import device_number

PAGE = 4096
LAYERS = ('app_read', 'app_write', 'app_sync', 'device_read', 'device_write', 'device_flush', 'device_discard', 'map_read',
          'map_write', 'cache_hit', 'cache_miss', 'cache_readahead', 'cache_dirtied', 'cache_folios', 'loop_read',
          'loop_write', 'stacked_read', 'stacked_write', 'fs_read', 'fs_write', 'fs_metadata_read', 'fs_metadata_write',
          'fs_journal_write')
DEVICES = ('device_read', 'device_write', 'device_flush')
# Words of /sys/block/DISK/stat: requests, and sectors where they are counted.
STAT = {'device_read': (0, 2), 'device_write': (4, 6), 'device_flush': (15, None)}


class Counting:
    """
    The program that counts, which a test looks at between two readings. All tests share one, as loading it takes longer
    than they do: it is attached while one of them counts, and what it has counted before is none of that test's.
    """

    def __init__(self, world):
        program = os.path.join(os.path.dirname(world.trigger.program), 'iotr-layers')
        # What file systems write for themselves is known by functions and types that the kernel has when it is loaded.
        world.command('modprobe', '-a', 'xfs', 'btrfs', check=False)
        self.process = subprocess.Popen([program, '--level', world.level], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        world.end.callback(self.end)
        if self.process.stdout.readline() != 'ready\n':
            raise Failure('iotr-layers does not count')

    def ask(self, line):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def attach(self, wanted):
        line = 'attach' if wanted else 'detach'
        equal(self.ask(line), line + '\n', 'what iotr-layers answers')

    def begin(self):
        self.before, self.missed = {}, 0
        self.attach(True)
        self.before = {identity(one): one for one in self.read()}
        self.missed = self.last['missed']

    def read(self):
        """Accounts that have counted something since begin()."""
        self.last = json.loads(self.ask(''))
        account.missed[0] += self.last['missed'] - self.missed
        accounts = [since(self.before.get(identity(one)), one) for one in self.last['accounts']]
        return [one for one in accounts if any(map(any, (one[layer] for layer in LAYERS)))]

    def of(self, **wanted):
        """The sums of accounts with these members: of each layer, operations, bytes and errors."""
        accounts = [one for one in self.read() if all(one[name] == value for name, value in wanted.items())]
        return {layer: tuple(map(sum, zip((0, 0, 0), *(one[layer] for one in accounts)))) for layer in LAYERS}

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def identity(one):
    """Of an account: its place, which is used again when its process has ended, and whose it is."""
    return one['index'], one['process'], one['device']


def since(then, now):
    """What an account has counted between two readings; `then` is None if it was not there."""
    if then is None:
        return now
    less = lambda one, other: [b - a for a, b in zip(one, other)]
    sums = {layer: less(then[layer], now[layer]) for layer in LAYERS}
    if sums['cache_hit'][0] < 0:  # as the program has it of an account that is new: a miss is taken off before its read's hits come
        sums['cache_hit'][:2] = 0, 0
    buckets = {layer: less(then['latency'][layer], found) for layer, found in now['latency'].items()}
    latency = {layer: took - then['latency_ns'][layer] for layer, took in now['latency_ns'].items()}
    return {**now, **sums, 'latency': buckets, 'latency_ns': latency}


@contextlib.contextmanager
def counting(world):
    if world.counting is None or world.counting.process.poll() is not None:
        world.counting = Counting(world)
    world.counting.begin()
    try:
        yield world.counting
    finally:
        world.counting.attach(False)


def run(code, *arguments):
    """Runs Python code as a process of its own, and returns its pid."""
    pid = forked('import os, mmap, socket, sys\n' + code, *arguments)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if ended:
        raise Failure('exit %d of' % ended, code)
    return pid


def memory_disk(world, size=128 << 20):
    """A loop device over a file in memory: what reaches it reaches no other disk."""
    world.need('losetup')
    image = os.path.join(world.tmpfs(size + (1 << 20)), 'image')
    with open(image, 'wb') as file:
        file.truncate(size)
    done = world.command('losetup', '-f', '--show', image, check=False)
    if done.returncode:
        raise Skip('no loop device: %s' % done.stderr.strip())
    world.later('losetup', '-d', done.stdout.strip())
    world.command('sh', '-c', 'udevadm settle --timeout=30 2>/dev/null || :')
    return done.stdout.strip()


def mounted(world, device, kind, *make):
    """A folder with a new file system of that kind."""
    world.need(make[0])
    world.command(*make, device)
    folder = world.make(kind)
    done = world.command('mount', '-t', kind, '-o', 'noatime', device, folder, check=False)
    if done.returncode:
        raise Skip('no %s: %s' % (kind, done.stderr.strip()))
    world.later('umount', folder)
    world.command('sync', '-f', folder)
    return folder


def ext4(world, device):
    # Nothing is left for the kernel to initialise while a test counts.
    return mounted(world, device, 'ext4', 'mkfs.ext4', '-q', '-F', '-b', PAGE, '-E', 'lazy_itable_init=0,lazy_journal_init=0')


def disk_counts(device):
    with open('/sys/block/%s/stat' % os.path.basename(device), encoding='ascii') as file:
        words = [int(word) for word in file.read().split()]
    return {layer: (words[at], words[sectors] * 512 if sectors else 0) for layer, (at, sectors) in STAT.items()
            if at < len(words)}


def both_counts(count, device):
    """What the disk has counted, and what all accounts have of it: at a time at which no request ended, whoever's it was."""
    while True:
        disk = disk_counts(device)
        sums = count.of(device=device_number(device))
        time.sleep(0.1)  # a request's end is told to the one before the other
        if disk_counts(device) == disk:
            return disk, {layer: sums[layer][:2] for layer in disk}


def as_the_disk(count, device, before, barriers=1):
    """
    What all accounts have of the device is what its driver counted since both_counts() returned `before`. Requests that only
    ask for a flush are writes to the driver; there are at most `barriers`: sync(1) makes one if it finds all written.
    """
    less = lambda now, then: {layer: tuple(b - a for a, b in zip(then[layer], now[layer])) for layer in now}
    did, counted = map(less, both_counts(count, device), before)
    empty = min(max(did['device_write'][0] - counted['device_write'][0], 0), barriers)
    did['device_write'] = (did['device_write'][0] - empty, did['device_write'][1])
    equal(counted, did, 'what the disk did')
