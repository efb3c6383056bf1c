/// Tasks on the thread on which their answers arrive: they go on without a change of thread.
extension EventLoop: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        enqueueTask(UnownedJob(job))
    }
}
