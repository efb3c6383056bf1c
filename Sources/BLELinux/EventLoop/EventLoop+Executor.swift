/// Runs tasks on the thread on which their answers arrive: they continue without a thread switch.
extension EventLoop: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        enqueueTask(UnownedJob(job))
    }
}
