"""One rank of a NCCL program: `python nccl_rank.py RANK RANKS ACTION`, under the preload library.

Calls NCCL and the CUDA runtime as a C program would. The unique id goes over stdout and stdin as hexadecimal
digits; an action's result is a JSON line.
"""

import ctypes
import json
import sys
import threading

INT8, INT32, INT64, HALF, FLOAT, DOUBLE = 0, 2, 4, 6, 7, 8
SUM, PROD, MAX, MIN, AVG = range(5)
IN_PROGRESS = 7
TYPES = {INT8: ctypes.c_int8, INT32: ctypes.c_int32, INT64: ctypes.c_int64, HALF: ctypes.c_uint16,
         FLOAT: ctypes.c_float, DOUBLE: ctypes.c_double}
STREAM = None

lib = ctypes.CDLL(None)


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint),
                ("blocking", ctypes.c_int), ("rest", ctypes.c_char * 128)]


lib.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
lib.ncclCommInitRankConfig.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int, ctypes.c_void_p]
for name in ("ncclAllReduce", "ncclReduceScatter"):
    getattr(lib, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                                   ctypes.c_void_p, ctypes.c_void_p]
for name in ("ncclAllGather", "ncclAlltoAll"):
    getattr(lib, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                                   ctypes.c_void_p, ctypes.c_void_p]
for name in ("ncclSend", "ncclRecv"):
    getattr(lib, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                                   ctypes.c_void_p, ctypes.c_void_p]
lib.ncclBroadcast.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                              ctypes.c_void_p, ctypes.c_void_p]
lib.ncclCommSplit.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
lib.ncclGetErrorString.restype = ctypes.c_char_p


def check(result):
    if result != 0:
        raise RuntimeError(lib.ncclGetErrorString(result).decode())


class Buffer:
    """Device memory of numbers of one type."""

    def __init__(self, kind, numbers):
        self.kind, self.count, self.address = kind, len(numbers), ctypes.c_void_p()
        self.values = (TYPES[kind] * len(numbers))(*numbers)
        check(lib.cudaMalloc(ctypes.byref(self.address), ctypes.sizeof(self.values)))
        check(lib.cudaMemcpy(self.address, self.values, ctypes.c_size_t(ctypes.sizeof(self.values)), 1))

    def read(self):
        check(lib.cudaMemcpy(self.values, self.address, ctypes.c_size_t(ctypes.sizeof(self.values)), 2))
        return list(self.values)


class Rank:
    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.comm = rank, ranks, ctypes.c_void_p()
        self.id = UniqueId()
        if rank == 0:
            check(lib.ncclGetUniqueId(ctypes.byref(self.id)))
            print(bytes(self.id).hex(), flush=True)
        else:
            self.id = UniqueId.from_buffer_copy(bytes.fromhex(sys.stdin.readline().strip()))
        check(lib.cudaSetDevice(rank))

    def join(self):
        check(lib.ncclCommInitRank(ctypes.byref(self.comm), self.ranks, self.id, self.rank))

    def reduce(self, kind, operation, numbers):
        buffer = Buffer(kind, numbers)
        check(lib.ncclAllReduce(buffer.address, buffer.address, buffer.count, kind, operation, self.comm, STREAM))
        return buffer.read()

    def state(self):
        result = ctypes.c_int()
        check(lib.ncclCommGetAsyncError(self.comm, ctypes.byref(result)))
        return result.value


def reductions(me):
    me.join()
    own = [me.rank + 1, -me.rank, 10]
    yield {"sum": me.reduce(INT64, SUM, own), "min": me.reduce(INT32, MIN, own), "max": me.reduce(INT8, MAX, own),
           "prod": me.reduce(DOUBLE, PROD, own), "avg": me.reduce(FLOAT, AVG, own)}


def collectives(me):
    me.join()
    own, all_of_them = Buffer(INT32, [10 + me.rank, 20 + me.rank]), Buffer(INT32, [0] * (2 * me.ranks))
    check(lib.ncclAllGather(own.address, all_of_them.address, 2, INT32, me.comm, STREAM))
    gathered = all_of_them.read()
    check(lib.ncclBroadcast(own.address, own.address, 2, INT32, 1, me.comm, STREAM))
    broadcast = own.read()
    parts, part = Buffer(INT32, list(range(me.ranks))), Buffer(INT32, [0])
    check(lib.ncclReduceScatter(parts.address, part.address, 1, INT32, SUM, me.comm, STREAM))
    swapped = Buffer(INT32, [0] * me.ranks)
    mine = Buffer(INT32, [10 * me.rank + peer for peer in range(me.ranks)])
    check(lib.ncclAlltoAll(mine.address, swapped.address, 1, INT32, me.comm, STREAM))
    after, before = (me.rank + 1) % me.ranks, (me.rank - 1) % me.ranks
    give, take = Buffer(INT64, [100 + me.rank]), Buffer(INT64, [0])
    lib.ncclGroupStart()
    check(lib.ncclSend(give.address, 1, INT64, after, me.comm, STREAM))
    check(lib.ncclRecv(take.address, 1, INT64, before, me.comm, STREAM))
    check(lib.ncclGroupEnd())
    yield {"gathered": gathered, "broadcast": broadcast, "scattered": part.read(), "swapped": swapped.read(),
           "received": take.read()}


def split(me):
    """Even and odd ranks part, in reverse order; the last one stays alone."""
    me.join()
    part = ctypes.c_void_p()
    color = -1 if me.rank == me.ranks - 1 else me.rank % 2
    check(lib.ncclCommSplit(me.comm, color, -me.rank, ctypes.byref(part), None))
    if color < 0:
        yield {"part": part.value}
        return
    rank, ranks = ctypes.c_int(), ctypes.c_int()
    check(lib.ncclCommUserRank(part, ctypes.byref(rank)))
    check(lib.ncclCommCount(part, ctypes.byref(ranks)))
    me.comm = part
    yield {"rank": rank.value, "ranks": ranks.value, "sum": me.reduce(INT32, SUM, [me.rank])}


def memory(me):
    free, after, total = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_size_t()
    check(lib.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)))
    me.join()
    check(lib.cudaMemGetInfo(ctypes.byref(after), ctypes.byref(total)))
    check(lib.ncclCommDestroy(me.comm))
    back = ctypes.c_size_t()
    check(lib.cudaMemGetInfo(ctypes.byref(back), ctypes.byref(total)))
    yield {"taken": free.value - after.value, "left": free.value - back.value}


def without_waiting(me):
    """A communicator that does not block, whose last rank comes when it is told to."""
    config = Config(size=ctypes.sizeof(Config), blocking=0)
    if me.rank == me.ranks - 1:
        yield {"told": sys.stdin.readline().strip()}
    first = lib.ncclCommInitRankConfig(ctypes.byref(me.comm), me.ranks, me.id, me.rank, ctypes.byref(config))
    if me.rank == 0:
        yield {"first": first, "state": me.state()}
    while me.state() == IN_PROGRESS:
        pass
    yield {"sum": me.reduce(INT32, SUM, [1])}


def missing(me):
    """Rank 1 never takes part; rank 0's work does not end until it aborts."""
    me.join()
    if me.rank == 1:
        yield {"joined": True}
        sys.stdin.readline()
        return
    buffer, event = Buffer(INT32, [5]), ctypes.c_void_p()
    check(lib.cudaEventCreate(ctypes.byref(event)))
    check(lib.ncclAllReduce(buffer.address, buffer.address, 1, INT32, SUM, me.comm, STREAM))
    check(lib.cudaEventRecord(event, STREAM))
    yield {"query": lib.cudaEventQuery(event), "state": me.state()}
    waiter = threading.Thread(target=lambda: check(lib.cudaDeviceSynchronize()))
    waiter.start()
    sys.stdin.readline()
    yield {"query": lib.cudaEventQuery(event), "state": me.state(), "waits": waiter.is_alive()}
    check(lib.ncclCommAbort(me.comm))
    waiter.join()
    yield {"query": lib.cudaEventQuery(event)}


def bereaved(me):
    """Rank 1 is killed while rank 0 waits for it."""
    me.join()
    yield {"joined": True}
    if me.rank == 1:
        threading.Event().wait()
    buffer = Buffer(INT32, [5])
    check(lib.ncclAllReduce(buffer.address, buffer.address, 1, INT32, SUM, me.comm, STREAM))
    while me.state() == 0:
        pass
    yield {"state": me.state(), "pending": lib.cudaStreamQuery(STREAM),
           "next": lib.ncclAllReduce(buffer.address, buffer.address, 1, INT32, SUM, me.comm, STREAM)}
    check(lib.ncclCommAbort(me.comm))
    yield {"pending": lib.cudaStreamQuery(STREAM)}


def disagreeing(me):
    me.join()
    buffer = Buffer(INT32, [1, 2])
    check(lib.ncclAllReduce(buffer.address, buffer.address, 1 + me.rank, INT32, SUM, me.comm, STREAM))
    buffer.read()
    yield {"state": me.state()}


def one_process(me):
    """All ranks of a node in one thread."""
    comms = (ctypes.c_void_p * 3)()
    check(lib.ncclCommInitAll(comms, 3, None))
    buffers = []
    lib.ncclGroupStart()
    for device in range(3):
        check(lib.cudaSetDevice(device))
        buffers.append(Buffer(INT32, [device + 1]))
        check(lib.ncclAllReduce(buffers[-1].address, buffers[-1].address, 1, INT32, SUM,
                                ctypes.c_void_p(comms[device]), STREAM))
    check(lib.ncclGroupEnd())
    sums = []
    for device in range(3):
        check(lib.cudaSetDevice(device))
        sums += buffers[device].read()
    yield {"sums": sums}


def main():
    rank, ranks, action = int(sys.argv[1]), int(sys.argv[2]), globals()[sys.argv[3]]
    for answer in action(Rank(rank, ranks)):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
