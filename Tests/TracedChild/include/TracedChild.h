#pragma once

// A program that is stopped, or lied to, at one of its system calls.
//
// The program says where counting begins, by a signal SIGWINCH to itself, which does nothing else. From there on the
// system calls of all its threads are counted, from 1.
struct traced_child_plan {
    // Before this system call it is killed; 0: it isn't.
    int killed_before;
    // This system call that has to do with files, counted alone, is not made, and fails; 0: none.
    int failing;
    // What it fails with: ENOSPC.
    int error;
    // No file may grow beyond this; negative: as it is outside.
    long largest_file;
    // Its umask.
    int mask;
    // Its standard error goes to this descriptor; negative: as it is outside.
    int errors;
};

struct traced_child_end {
    // How many system calls were counted, and how many of them have to do with files.
    int calls, file_calls;
    // As waitpid() says it.
    int status;
    // Why it could not be followed, as an errno; else 0.
    int failure;
    // The system call that was not made; negative: none.
    long failed_call;
};

// Runs a program to its end. The words end with NULL. Blocks, on a thread of its own: no other child is waited for.
struct traced_child_end traced_child_run(char *const words[], struct traced_child_plan plan);
