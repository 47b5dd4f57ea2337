# SPDX-License-Identifier: GPL-2.0-or-later
"""--device: files on a disk, also where they have another device number, and operations that have no device."""
import os

from lib.mapped import PAGE, File
from lib.registry import Skip, check, equal, test
from lib.world import find_key


def btrfs(world, disks):
    world.need('mkfs.btrfs')
    devices, folder = [world.loop(256 << 20) for _ in range(disks)], world.make('btrfs')
    world.command('mkfs.btrfs', '-q', '-f', *devices)
    world.command('btrfs', 'device', 'scan', *devices, check=False)
    if world.command('mount', '-t', 'btrfs', devices[0], folder, check=False).returncode:
        raise Skip('btrfs cannot be mounted')
    world.later('umount', '-l', folder)
    return devices, folder


def rows_with(world, device, folder):
    """READ rows of a file there, and of one beside it, which is on another disk."""
    files = [File(os.path.join(folder, 'there'), 4), File(world.path('beside'), 4)]
    try:
        with world.session('--vfs', '--pid', os.getpid(), '--operation', 'READ', '--device', device) as session:
            for file in files:
                os.pread(file.fd, PAGE, 0)
    finally:
        for file in files:
            os.close(file.fd)
    equal([row['filename'] for row in session.rows()], [files[0].path], 'rows with --device %s' % device)


@test
def disk_below(world):
    devices, folder = btrfs(world, 1)
    rows_with(world, devices[0], folder)


@test
def disks_below(world):
    """A file system on several disks is on each of them."""
    devices, folder = btrfs(world, 2)
    for device in devices:
        rows_with(world, device, folder)


@test
def told(world):
    """
    The tracepoint level does not see the device of a path, and neither level that of a path that leads nowhere: `start`
    says which of the operations that were asked for are missing.
    """
    number = os.stat(world.folder).st_dev
    device = '%d:%d' % (os.major(number), os.minor(number))
    everywhere = {'OPEN', 'GETATTR', 'MKDIR', 'UNLINK'}
    unseen = {'ACCESS', 'MOUNT', 'UMOUNT'}
    for operations, options, tracepoint, function in (
            ('MKDIR,UNLINK,READ', (), {'MKDIR', 'UNLINK'}, set()),
            ('OPEN,GETATTR,READ', (), {'OPEN', 'GETATTR'}, set()),
            ('OPEN,GETATTR,READ,MKDIR,UNLINK', ('--errors',), everywhere, everywhere),
            ('READ,STATFS,ACCESS,MOUNT,UMOUNT', (), {*unseen, 'STATFS'}, unseen),
            ('READ,FSYNC', ('--errors',), set(), set())):
        with world.session('--vfs', '--pid', os.getpid(), '--device', device, '--operation', operations,
                           *options) as session:
            pass
        missing = {one['operation']: one['reason'] for one in find_key(session.started, 'missing') or []}
        equal(set(missing) & {*everywhere, *unseen, 'READ', 'FSYNC', 'RENAME', 'STATFS'},
              tracepoint if world.level == 'tracepoint' else function, 'operations that are missing')
        for name in {'OPEN', 'GETATTR'} & set(missing):
            check('where it fails' in missing[name], 'reason', name, missing[name])
    with world.session('--vfs', '--pid', os.getpid(), '--operation', 'MKDIR') as session:
        os.mkdir(world.path('made'))
    check(len(session.rows()) == 1 and 'by path' not in str(session.started), 'without --device', session.started)
