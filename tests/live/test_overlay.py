# SPDX-License-Identifier: GPL-2.0-or-later
"""overlayfs: rows have the file that the program sees, not the one in the layer below."""
import os

from lib.registry import Skip, check, equal, test


def stacked(world):
    """Mounts an overlay whose layers are in another file system; returns its path."""
    base = world.tmpfs(4 << 20)
    folders = [os.path.join(base, name) for name in ('lower', 'upper', 'work')]
    for folder in folders:
        os.mkdir(folder)
    merged = world.make('merged')
    done = world.command('mount', '-t', 'overlay', 'none', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % tuple(folders),
                         merged, check=False)
    if done.returncode:
        raise Skip('no overlayfs: %s' % done.stderr.strip())
    world.later('umount', '-l', merged)
    return merged


@test
def by_path(world):
    """Where the level tells which inode a path leads to, it is the stacked file system's."""
    merged = stacked(world)
    number = os.stat(merged).st_dev
    device = '%d:%d' % (os.major(number), os.minor(number))
    names = [os.path.join(merged, name) for name in ('folder', 'link', 'moved')]
    operations = ('MKDIR', 'SYMLINK', 'SETATTR', 'RENAME', 'UNLINK', 'RMDIR')
    with world.session('--vfs', '--pid', os.getpid(), '--operation', ','.join(operations)) as session:
        os.mkdir(names[0])
        os.symlink('nowhere', names[1])
        inodes = [str(os.lstat(name).st_ino) for name in names[:2]]
        os.chmod(names[0], 0o700)
        os.rename(names[1], names[2])
        os.unlink(names[2])
        os.rmdir(names[0])
    rows = session.rows()
    equal([row['operation'] for row in rows], list(operations), 'operations')
    if world.level == 'function':
        equal({row['device'] for row in rows}, {device}, 'device')
        equal([row['inode'] for row in rows], inodes + [inodes[0], inodes[1], inodes[1], inodes[0]], 'inodes')
    check(all(row['device'] in ('', device) for row in rows), 'devices', [row['device'] for row in rows])
