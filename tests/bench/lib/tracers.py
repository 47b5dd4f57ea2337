# SPDX-License-Identifier: GPL-2.0-or-later
"""All tracers of a workload: context managers that yield the words to put before its command."""
import contextlib
import os
import shutil
import signal
import subprocess
import time

from lib.programs import Missing

PATIENCE = 60
RING_PAGES = 4096  # for all rows of a sample: to lose one is cheaper than to write it

PREAD_SCRIPT = '''
BEGIN { system("touch %s"); }
tracepoint:syscalls:sys_enter_pread64 {
    @start[tid] = nsecs; @size[tid] = args->count; @offset[tid] = args->pos;
}
tracepoint:syscalls:sys_exit_pread64 /@start[tid]/ {
    printf("%%d %%d %%s %%d %%d %%d %%d\\n", tid, pid, comm, @size[tid], @offset[tid], args->ret,
           nsecs - @start[tid]);
    delete(@start[tid]); delete(@size[tid]); delete(@offset[tid]);
}
'''

BLOCK_SCRIPT = '''
BEGIN { system("touch %s"); }
tracepoint:block:block_rq_issue {
    @start[args->dev, args->sector] = nsecs; @pid[args->dev, args->sector] = pid;
    @comm[args->dev, args->sector] = comm;
}
tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ {
    printf("%%llu %%s %%d %%d %%s %%d %%d %%d\\n", nsecs, @comm[args->dev, args->sector],
           @pid[args->dev, args->sector], args->dev, args->rwbs, args->sector,
           args->nr_sector * 512, nsecs - @start[args->dev, args->sector]);
    delete(@start[args->dev, args->sector]); delete(@pid[args->dev, args->sector]);
    delete(@comm[args->dev, args->sector]);
}
'''


def require(program):
    if not shutil.which(program):
        raise Missing('%s is not installed' % program)


def words_on(cpu, *words):
    return ['taskset', '-c', str(cpu), *words]


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def nothing():
    yield []


@contextlib.contextmanager
def without(daemon, tracer=nothing):
    """Another tracer, or none, when the hooks of the daemon have gone: they stay for some seconds after a session."""
    daemon.await_detached()
    with tracer() as words:
        yield words


@contextlib.contextmanager
def programs_of(world, hooks, path):
    """Programs of an object that are on the hooks of that name."""
    process = subprocess.Popen([world.build.empty, hooks, path], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        if process.stdout.readline() != 'ready\n':
            raise Missing(process.stderr.read().strip())
        yield []
    finally:
        process.communicate('')


def empty_programs(world, hooks):
    """Programs that do nothing: bench_empty.bpf.c."""
    return programs_of(world, hooks, world.build.empty_object)


def least_programs(world, hooks):
    """Programs that do little more than what every row of a pread takes: bench_least.bpf.c."""
    return programs_of(world, hooks, world.build.least_object)


@contextlib.contextmanager
def layers(world):
    """Counts by layer, without a daemon."""
    if not os.access(world.build.layers, os.X_OK):
        raise Missing('%s is not there' % world.build.layers)
    process = subprocess.Popen([world.build.layers], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        if process.stdout.readline() != 'ready\n':
            raise Missing(process.stderr.read().strip())
        process.stdin.write('attach\n')
        process.stdin.flush()
        if process.stdout.readline() != 'attach\n':
            raise Missing(process.stderr.read().strip())
        yield []
    finally:
        process.communicate('')


@contextlib.contextmanager
def sampled_out(daemon, stream):
    """A session with --sample of so large an N that no event is drawn."""
    with daemon.session('--' + stream, '--sample', stream + '=1000000000') as session:
        session.await_functions()
        yield []


@contextlib.contextmanager
def iotracer(daemon, stream, lost):
    """Adds to `lost` what the session lost."""
    with daemon.session('--' + stream) as session:
        session.await_functions()
        yield []
        lost.append(sum(session.stop(stream)['lost'].values()))


@contextlib.contextmanager
def sessions(daemon, count, *options):
    """So many sessions of vfs at once, all with these options."""
    with contextlib.ExitStack() as all_of_them:
        begun = [all_of_them.enter_context(daemon.session('--vfs', *options)) for _ in range(count)]
        begun[-1].await_functions()
        yield []


@contextlib.contextmanager
def bpftrace(world, script):
    require('bpftrace')
    mark = os.path.join(world.folder, 'bpftrace-runs')
    process = subprocess.Popen(words_on(world.other_cpu, 'bpftrace', '--unsafe', '-e', script % mark),
                               env={**os.environ, 'BPFTRACE_PERF_RB_PAGES': str(RING_PAGES)}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(mark):
            if process.poll() is not None or time.monotonic() > deadline:
                raise Missing('bpftrace: ' + (process.stderr.read().splitlines() or ['no answer'])[-1])
            time.sleep(0.1)
        time.sleep(1)  # what follows BEGIN is attached after it has run
        os.remove(mark)
        yield []
    finally:
        end(process)
        process.stderr.close()


@contextlib.contextmanager
def in_front(world, program, *arguments):
    """A tracer that starts what it watches."""
    require(program)
    yield words_on(world.other_cpu, program, *arguments)


@contextlib.contextmanager
def blktrace(world, device):
    require('blktrace')
    process = subprocess.Popen(words_on(world.other_cpu, 'blktrace', '-d', device, '-D', world.folder,
                                        '-o', 'blktrace'),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(1)
        if process.poll() is not None:
            raise Missing((process.stderr.read().strip().splitlines() or ['it ended'])[0])
        yield []
    finally:
        end(process)
        process.stderr.close()
