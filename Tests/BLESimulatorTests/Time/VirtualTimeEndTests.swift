import BLERadio
import BLESimulator
import Testing

@Suite(.timeLimit(.minutes(10))) struct VirtualTimeEndTests {
    @Test func `cancelling a task ends its sleep at once`() async throws {
        try await VirtualTime.run { time in
            let log = Log<String>()
            await withTaskGroup { group in
                group.addTask {
                    do {
                        try await time.sleep(for: .seconds(1000))
                        log.append("slept")
                    } catch is CancellationError {
                        log.append("cancelled at \(time.now)")
                    } catch {
                        log.append("\(error)")
                    }
                }
                group.addTask { try? await time.sleep(for: .seconds(1)) }
                _ = await group.next()
                group.cancelAll()
            }
            #expect(log.values == ["cancelled at 1.0 seconds"])
        }
    }

    @Test func `a cancelled task does not fall asleep`() async throws {
        try await VirtualTime.run { time in
            await withTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await time.sleep(for: .seconds(1)) }
                    #expect(time.now == .zero)
                }
            }
        }
    }

    @Test func `cancelling the caller cancels the body`() async throws {
        await withThrowingTaskGroup { group in
            let (started, signal) = AsyncStream<Void>.makeStream()
            group.addTask {
                try await VirtualTime.run(limit: .seconds(Int64.max / 2)) { time in
                    signal.finish()
                    while true { try await time.sleep(for: .seconds(1)) }
                }
            }
            for await _ in started {}
            group.cancelAll()
            let result = await group.nextResult()
            #expect(throws: CancellationError.self) { try result?.get() }
        }
    }

    @Test func `a body that waits for what can never come is cancelled, and the seed is named`() async throws {
        let error = await #expect(throws: VirtualTimeError.self) {
            try await VirtualTime.run(seed: 42, patience: .milliseconds(50)) { time in
                try await time.sleep(for: .seconds(3))
                let (stream, _) = AsyncThrowingStream<Int, any Error>.makeStream()
                for try await _ in stream {}
                try Task.checkCancellation()
            }
        }
        #expect(error?.kind == .stalled)
        #expect(error?.seed == 42)
        #expect(error?.elapsed == .seconds(3))
        #expect(error?.bodyError is CancellationError)
        #expect(error.map { "\($0)" }?.contains("seed 42") == true)
    }

    /// A simulated device may have failed, so that a scan for it waits for ever: nobody else tells.
    @Test func `a stalled run says where the error of a child is`() async throws {
        let error = await #expect(throws: VirtualTimeError.self) {
            try await VirtualTime.run(patience: .milliseconds(50)) { _ in
                try await withThrowingTaskGroup { group in
                    group.addTask { throw DeviceFailure() }
                    let (stream, _) = AsyncThrowingStream<Int, any Error>.makeStream()
                    for try await _ in stream {}
                    try Task.checkCancellation()
                }
            }
        }
        #expect(error.map { "\($0)" }?.contains("`try await group.next()`") == true)
    }

    @Test func `a body that lets time pass for ever is given up at the limit, and may clean up`() async throws {
        let cleaned = Log<Duration>()
        let timers = Log<RadioActivity>()
        let error = await #expect(throws: VirtualTimeError.self) {
            try await VirtualTime.run(limit: .seconds(60)) { time in
                do {
                    while true { try await time.sleep(for: .seconds(1)) }
                } catch {
                    await withCheckedContinuation { done in
                        timers.append(time.schedule(after: .seconds(5)) { done.resume() })
                    }
                    cleaned.append(time.now)
                    throw error
                }
            }
        }
        #expect(error?.kind == .limitReached)
        #expect(error?.bodyError is CancellationError)
        #expect(cleaned.values == [.seconds(65)])
    }

    /// A stream of ticks uses real time unless it is told otherwise: the virtual clock runs past it.
    @Test func `a run that waits beyond its limit says how a stream of ticks gets the clock`() async throws {
        let error = await #expect(throws: VirtualTimeError.self) {
            try await VirtualTime.run(limit: .seconds(600)) { time in
                try await withThrowingTaskGroup { group in
                    group.addTask { while true { try await time.sleep(for: .seconds(1)) } }
                    let (ticks, _) = AsyncThrowingStream<Int, any Error>.makeStream()
                    for try await _ in ticks {}
                    try Task.checkCancellation()
                }
            }
        }
        #expect(error?.kind == .limitReached)
        #expect(error.map { "\($0)" }?.contains("pass the `timeline` to `interval` and `timer`") == true)
    }

    /// The body may end before anybody waits for its verdict, or just then.
    @Test func `a body that ends at once ends its run, always`() async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<2500 {
                        let value = try await VirtualTime.run { _ in number }
                        #expect(value == number)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `jobs that run for ever without time passing are found`() async throws {
        let error = await #expect(throws: VirtualTimeError.self) {
            try await VirtualTime.run(patience: .milliseconds(20)) { _ in
                while !Task.isCancelled { await Task.yield() }
            }
        }
        #expect(error?.kind == .spinning)
    }

    @Test func `a body that does not end when cancelled stops the process and names the seed`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await VirtualTime.run(seed: 77, patience: .milliseconds(20)) { _ in
                try await withCheckedThrowingContinuation { (never: CheckedContinuation<Void, any Error>) in
                    forgotten.append(never)
                }
            }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("seed 77"))
    }

    @Test(arguments: [false, true])
    func `a link that is up at the end keeps nothing of the world`(isClosing: Bool) async throws {
        let kept = try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            let listener = sensor.listen { _ in }
            let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))) { _ in }
            let links = Log<any ATTLink>()
            let attempt = phone.connect(to: sensor.address) { result in
                if case .success(let link) = result { links.append(link) }
            }
            try await time.sleep(for: .seconds(1))
            for activity in [listener, advertisement, attempt] { activity.cancel() }
            let link = try #require(links.values.first)
            let recorder = LinkRecorder { [link] _ in link.disconnect() }
            link.start(recorder)
            if isClosing { link.disconnect() }
            return Kept(recorder: recorder)
        }
        #expect(kept.recorder == nil)
    }

    @Test func `the clock stands still while the main actor works`() async throws {
        try await VirtualTime.run { time in
            let fired = Log<Duration>()
            let timer = time.schedule(after: .nanoseconds(1)) { fired.append(time.now) }
            for _ in 0..<20 {
                await time.holding { await MainActor.run { #expect(time.now == .zero) } }
            }
            #expect(fired.values.isEmpty)
            timer.cancel()
        }
    }

    @Test func `a body that is away on the main actor is waited for`() async throws {
        let value = try await VirtualTime.run(patience: .seconds(10)) { _ in
            await MainActor.run { 5 }
        }
        #expect(value == 5)
    }
}

/// An object of a world that is over.
private struct Kept: Sendable {
    weak let recorder: LinkRecorder?
}

/// What a simulated device throws.
private struct DeviceFailure: Error {}

/// Keeps a continuation that nobody resumes.
private let forgotten = Log<CheckedContinuation<Void, any Error>>()
