"""Python's multiprocessing, with fork, on a module that uses Weft.

usage: multiprocessing_test.py LIBRARY

LIBRARY is user.c as a shared library. Processes are made from the thread that initialised Weft, which is its
primary ULT, and from another thread, with units alive that the children do not have.
"""
import ctypes
import multiprocessing
import sys
import threading

FORKED = -1  # found out below
user = None


def load(path):
    library = ctypes.CDLL(path)
    library.user_sum_of_squares.argtypes = [ctypes.c_size_t]
    library.user_sum_of_squares.restype = ctypes.c_long
    return library


def expected(n):
    return sum(i * i for i in range(n))


def check(condition, what):
    if not condition:
        print(f"multiprocessing_test: {what}", file=sys.stderr)
        sys.exit(1)


def work(n):
    """Runs in a worker process of a Pool, and in a Process."""
    check(user.user_ensure(2) == 0, "user_ensure in a child")
    return user.user_sum_of_squares(n)


def one_process(n, running, queue):
    # From the primary ULT the runtime goes on; from a thread that is none of Weft's it does not.
    check(bool(user.user_running()) == running, f"running in the child: wanted {running}")
    released = user.user_release()
    check(released != 0, "a unit that stayed behind cannot be joined")
    queue.put((work(n), work(2 * n), released))


def nested(n, queue):
    check(user.user_ensure(2) == 0, "user_ensure")
    inner = multiprocessing.Process(target=one_process_inside, args=(n, queue))
    inner.start()
    inner.join()
    check(inner.exitcode == 0, f"the inner process: {inner.exitcode}")


def one_process_inside(n, queue):
    queue.put(work(n))


def processes(running):
    queue = multiprocessing.SimpleQueue()
    check(user.user_hold() == 0, "user_hold")
    for n in (1, 10, 300):
        process = multiprocessing.Process(target=one_process, args=(n, running, queue))
        process.start()
        sum_here = user.user_sum_of_squares(n)
        check(sum_here == expected(n), f"the parent goes on: {sum_here} for {n}")
        process.join()
        check(process.exitcode == 0, f"Process: {process.exitcode}")
        first, second, released = queue.get()
        check(first == expected(n) and second == expected(2 * n), "Process: the sum")
        check(released == FORKED, f"Process: join said {released}")
    process = multiprocessing.Process(target=nested, args=(50, queue))
    process.start()
    process.join()
    check(process.exitcode == 0 and queue.get() == expected(50), "nested processes")
    check(user.user_release() == 0, "user_release")


def pools(running=True):
    numbers = list(range(1, 200))
    for size in (1, 3):
        with multiprocessing.Pool(size) as pool:
            results = [pool.map_async(work, numbers, chunksize=7) for _ in range(3)]
            sum_here = user.user_sum_of_squares(100) if running else expected(100)
            check(sum_here == expected(100), f"the parent goes on beside a pool: {sum_here}")
            for result in results:
                check(result.get() == [expected(n) for n in numbers], "Pool: the sums")
            pool.close()
            pool.join()


def everything(running):
    processes(running)
    pools()


def main():
    global user, FORKED
    multiprocessing.set_start_method("fork")
    user = load(sys.argv[1])
    FORKED = user.user_error_forked()
    check(user.user_start(2) == 0, "user_start")
    everything(running=True)
    failed = []

    def in_thread():
        try:
            everything(running=False)
        except SystemExit:
            failed.append(1)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    check(not failed, "from a thread")
    check(user.user_stop() == 0, "user_stop")
    # The process has no runtime now, and each child starts its own.
    pools(running=False)
    print("ok")


main()
