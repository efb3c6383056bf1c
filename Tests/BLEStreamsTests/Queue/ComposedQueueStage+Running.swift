import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams

extension ComposedQueueStage {
    /// Plays all; returns how each command has ended.
    func run(on radio: ComposedQueueRadio) async throws -> [String] {
        let central = try await Central.open(.radio(radio))
        let peripheral = central.peripheral(ComposedQueueRadio.peer)
        return try await withThrowingTaskGroup(of: [String].self) { group in
            let (queues, opened) = AsyncStream.makeStream(of: CommandQueue.self)
            group.addTask { [self] in
                for await queue in queues { return await ends(of: queue) }
                return []
            }
            let scope = Task(executorPreference: time) { [self] in
                let body: @Sendable (CommandQueue) async throws -> Void = { [self] queue in
                    opened.yield(queue)
                    try await follow(queue)
                }
                switch play.source {
                case .link: try await peripheral.withLink { try await $0.withQueue { try await body($0) } }
                case .peripheral: try await peripheral.withQueue { try await body($0) }
                case .session(let pause):
                    var plan = Session.Plan(peripheral)
                    plan.reconnecting = .constant(.microseconds(pause))
                    try await central.withSession(plan) { try await body($0.queue) }
                }
            }
            let alarm = time.schedule(after: .microseconds(play.isCancelled ? play.ends : 1 << 40)) { scope.cancel() }
            _ = try? await scope.value
            opened.finish()
            alarm.cancel()
            return try await group.next() ?? []
        }
    }

    /// Keeps the queue open until its end, and notes its progress.
    private func follow(_ queue: CommandQueue) async throws {
        let progress = queue.progress
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                for try await report in progress {
                    self.progress.add("\(now) \(report.command ?? "") \(report.phase)")
                }
            }
            defer { group.cancelAll() }
            try await time.sleep(for: .microseconds(play.ends) - time.now)
        }
    }

    private func ends(of queue: CommandQueue) async -> [String] {
        let handles = play.handles.map { decorate(queue, by: $0) }
        return await withTaskGroup(of: (Int, String).self) { group in
            for (number, command) in play.commands.enumerated() {
                group.addTask { [self] in
                    await work(for: command.begins - now)
                    return (number, await end(of: command, in: handles[command.handle]))
                }
            }
            var ends = play.commands.map { _ in "" }
            for await (number, text) in group { ends[number] = text }
            return ends
        }
    }

    private func end(of command: ComposedQueuePlay.Command, in queue: CommandQueue) async -> String {
        let (work, priority) = (self.command(command.work), CommandQueue.Priority(rawValue: command.priority))
        let deadline = command.deadline.map { Duration.microseconds($0) }
        let result: Result<Void, any Error>
        if command.way == .enqueue {
            let handle = queue.enqueue(work, priority: priority, deadline: deadline)
            if command.isCancelled <= now { handle.cancel() }
            let alarm = time.schedule(after: .microseconds(max(0, command.isCancelled - now))) { handle.cancel() }
            defer { alarm.cancel() }
            do { result = .success(try await handle.value) } catch { result = .failure(error) }
        } else {
            let task = Task(executorPreference: time) {
                if command.way == .run { return try await queue.run(work, priority: priority, deadline: deadline) }
                return try await queue.run(work, replacing: .activeFlow, priority: priority, deadline: deadline)
            }
            if command.isCancelled <= now { task.cancel() }
            let alarm = time.schedule(after: .microseconds(max(0, command.isCancelled - now))) { task.cancel() }
            defer { alarm.cancel() }
            result = await task.result
        }
        switch result {
        case .success: return "\(now) done"
        case .failure(let error): return "\(now) \(ComposedQueuePlay.text(of: error))"
        }
    }
}
