#define _GNU_SOURCE
#include "TracedChild.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct run {
    char *const *words;
    struct traced_child_plan plan;
    struct traced_child_end end;
    int is_counting;
    // The thread whose system call was put aside, until it leaves it.
    pid_t lied_to;
    // The thread in which libdispatch counts those that run, once a second: it ends the program when it can't.
    pid_t monitor;
};

static const long file_calls[] = {
#ifdef SYS_open
    SYS_open, SYS_mkdir, SYS_rename, SYS_unlink, SYS_link, SYS_stat, SYS_lstat,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
    SYS_openat, SYS_mkdirat, SYS_write, SYS_read, SYS_fsync, SYS_close, SYS_renameat, SYS_renameat2, SYS_unlinkat,
    SYS_linkat, SYS_fstat, SYS_statx, SYS_flock, SYS_fchmod, SYS_getdents64, SYS_lseek, SYS_faccessat,
};

static int is_file_call(long number) {
    for (size_t index = 0; index < sizeof file_calls / sizeof *file_calls; index++)
        if (file_calls[index] == number) return 1;
    return 0;
}

// At the entry of a system call: has the kernel make none.
static int skip_call(pid_t thread) {
#if defined(__x86_64__)
    return ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, orig_rax), -1L) == 0;
#elif defined(__aarch64__)
    int none = -1;
    struct iovec part = {&none, sizeof none};
    return ptrace(PTRACE_SETREGSET, thread, 0x404 /* NT_ARM_SYSTEM_CALL */, &part) == 0;
#else
    errno = ENOSYS;
    return 0;
#endif
}

// At its exit: what it answers.
static int answer_call(pid_t thread, long answer) {
#if defined(__x86_64__)
    return ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, rax), answer) == 0;
#elif defined(__aarch64__)
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &all) != 0) return 0;
    registers.regs[0] = (unsigned long)answer;
    return ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &all) == 0;
#else
    return 0;
#endif
}

static void become(const struct run *run) {
    umask(run->plan.mask);
    if (run->plan.errors >= 0) dup2(run->plan.errors, STDERR_FILENO);
    if (run->plan.largest_file >= 0) {
        struct rlimit limit = {run->plan.largest_file, run->plan.largest_file};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // LeakSanitizer would trace the process at its end, and can't while this one does. Nothing else reads the variable.
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(126);
    raise(SIGSTOP);
    execve(run->words[0], run->words, environ);
    _exit(127);
}

// A thread that goes with its process, which another one of its threads has ended, can be neither asked nor changed any
// more: that is an end like any other.
static void note_failure(struct run *run) {
    if (errno != ESRCH) run->end.failure = errno;
}

// Whether the call is the program's own: libdispatch looks into a file of `/proc` now and then.
static int is_own(struct run *run, pid_t thread, const struct __ptrace_syscall_info *call) {
    if (call->entry.nr == SYS_openat) {
        const long path = ptrace(PTRACE_PEEKDATA, thread, call->entry.args[1], 0);
        if (memcmp(&path, "/proc/", 6) == 0) run->monitor = thread;
    }
    if (thread != run->monitor) return 1;
    if (call->entry.nr == SYS_close) run->monitor = 0;
    return 0;
}

// A thread is about to make a system call, or has made one; 0 where it was killed.
static int at_call(struct run *run, pid_t child, pid_t thread) {
    struct __ptrace_syscall_info call;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) <= 0) {
        note_failure(run);
        return errno == ESRCH;
    }
    if (call.op == PTRACE_SYSCALL_INFO_EXIT && thread == run->lied_to) {
        run->lied_to = 0;
        if (!answer_call(thread, -(long)run->plan.error)) note_failure(run);
    }
    if (call.op != PTRACE_SYSCALL_INFO_ENTRY || !run->is_counting) return 1;
    run->end.calls++;
    if (run->end.calls == run->plan.killed_before) {
        kill(child, SIGKILL);
        return 0;
    }
    if (is_own(run, thread, &call) && is_file_call((long)call.entry.nr) && ++run->end.file_calls == run->plan.failing) {
        run->end.failed_call = (long)call.entry.nr;
        run->lied_to = thread;
        if (!skip_call(thread)) note_failure(run);
    }
    return 1;
}

static void follow(struct run *run, pid_t child) {
    int status;
    // Of this thread's children only: the process has others, whom somebody else waits for.
    const int options = __WALL | __WNOTHREAD;
    if (waitpid(child, &status, options) != child || !WIFSTOPPED(status)) {
        run->end.failure = WIFEXITED(status) && WEXITSTATUS(status) == 126 ? EPERM : ECHILD;
        return;
    }
    long wanted = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, 0, wanted) != 0) run->end.failure = errno;
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    for (;;) {
        pid_t thread = waitpid(-1, &status, options);
        if (thread < 0 && errno == EINTR) continue;
        if (thread < 0) return;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == child) run->end.status = status;
            continue;
        }
        int number = WSTOPSIG(status), is_event = status >> 16 != 0, passed_on = 0;
        if (number == (SIGTRAP | 0x80)) {
            if (!at_call(run, child, thread)) {
                kill(child, SIGKILL);
                continue;
            }
        } else if (number == SIGWINCH) {
            run->is_counting = 1;
        } else if (!is_event && number != SIGSTOP && number != SIGTRAP) {
            passed_on = number;
        }
        ptrace(PTRACE_SYSCALL, thread, 0, passed_on);
    }
}

static void *start(void *argument) {
    struct run *run = argument;
    pid_t child = fork();
    if (child == 0) become(run);
    if (child < 0) run->end.failure = errno;
    else follow(run, child);
    return NULL;
}

struct traced_child_end traced_child_run(char *const words[], struct traced_child_plan plan) {
    struct run run = {.words = words, .plan = plan, .end = {.failed_call = -1}};
    pthread_t thread;
    // A process is followed by one thread.
    int failure = pthread_create(&thread, NULL, start, &run);
    if (failure == 0) failure = pthread_join(thread, NULL);
    if (failure != 0) run.end.failure = failure;
    return run.end;
}
