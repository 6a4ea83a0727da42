"""Prints the thread-local variables of the ULT in spin_here(), which has an identity of its own."""
import gdb

before = gdb.selected_thread()
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    while frame and frame.name() != "spin_here":
        frame = frame.older()
    if frame:
        frame.select()
        print("own_number %s, errno %s" % (gdb.parse_and_eval("own_number"), gdb.parse_and_eval("errno")))
before.switch()
