/// Tasks on the thread on which their answers arrive: they go on without a change of thread.
extension EventLoop: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Holds the loop until the job is done.
        enqueue { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
