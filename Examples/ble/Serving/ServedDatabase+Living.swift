import BLEStreams
import Synchronization

extension ServedDatabase {
    func live(_ server: PeripheralServer, _ diary: ServeDiary) async throws {
        let steps = Steps()
        // A central that is slow to take a value doesn't delay anybody's write.
        let changes = Changes()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await change in server.subscriptions() { try diary.note(change) }
            }
            group.addTask {
                // A command that is slow for one central doesn't delay the others.
                try await withThrowingDiscardingTaskGroup { answers in
                    for try await request in server.reads() {
                        answers.addTask { try await answer(request, steps, diary) }
                    }
                }
            }
            group.addTask {
                for try await request in server.writes() {
                    request.accept()
                    try diary.written(request.value, request)
                    if told[request.characteristic] != nil { changes.add(request.characteristic) }
                }
            }
            group.addTask {
                for await _ in changes.bells {
                    while let id = changes.next() {
                        if let octets = server.value(of: .id(id)) { try await tell(octets, id, server) }
                    }
                }
            }
            for (id, source) in sources where told[id] != nil || source.grows {
                group.addTask { try await follow(id, source, steps, server, diary) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func answer(_ request: PeripheralServer.ReadRequest, _ steps: Steps, _ diary: ServeDiary) async throws {
        let id = request.characteristic
        guard let source = sources[id] else { return request.reject(refusals[id] ?? .readNotPermitted) }
        do {
            let octets = try await source.octets(step: steps.count(of: id))
            try request.respond(octets)
            try diary.read(octets, request)
        } catch let error as BLEError {
            request.reject(.unlikely)
            try diary.unavailable(id, error)
        } catch {
            // It ends while a command runs: a request that nobody answers would look like a mistake of this program.
            request.reject(.unlikely)
            throw error
        }
    }

    /// Checks for a new value at each interval, and sends it to subscribers.
    private func follow(
        _ id: String,
        _ source: ValueSource,
        _ steps: Steps,
        _ server: PeripheralServer,
        _ diary: ServeDiary
    ) async throws {
        guard let interval = source.interval else { return }
        var last: [UInt8]?
        var hasFailed = false
        while true {
            try await Task.sleep(for: interval)
            await steps.advance(id)
            // Don't run a command if nobody is connected.
            guard told[id] != nil, source.grows || !server.centrals.isEmpty else { continue }
            let octets: [UInt8]
            do {
                octets = try await source.octets(step: steps.count(of: id))
                hasFailed = false
            } catch let error as BLEError {
                if !hasFailed { try diary.unavailable(id, error) }
                hasFailed = true
                continue
            }
            if source.grows || (last != nil && last != octets) { try await tell(octets, id, server) }
            last = octets
        }
    }

    private func tell(_ octets: [UInt8], _ id: String, _ server: PeripheralServer) async throws {
        guard let properties = told[id] else { return }
        if properties.contains(.notify) { try await server.notify(octets, of: .id(id)) }
        if properties.contains(.indicate) { try await server.indicate(octets, of: .id(id)) }
    }
}

/// The values that were written and are not sent to subscribers yet: each once, since only its newest octets matter.
private final class Changes: Sendable {
    /// An element for values that were added since the last one.
    let bells: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private let waiting = Mutex<[String]>([])

    init() { (bells, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func add(_ id: String) {
        waiting.withLock { if !$0.contains(id) { $0.append(id) } }
        bell.yield()
    }

    func next() -> String? { waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}

/// How often each value has changed by itself.
private actor Steps {
    private var counts: [String: UInt64] = [:]

    func count(of id: String) -> UInt64 { counts[id] ?? 0 }

    func advance(_ id: String) { counts[id, default: 0] &+= 1 }
}

extension ValueSource {
    /// Whether it changes with time.
    fileprivate var grows: Bool { if case .count = self { true } else { false } }
}
