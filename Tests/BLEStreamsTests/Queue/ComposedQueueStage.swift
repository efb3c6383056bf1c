import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Synchronization

/// A queue played by the library.
final class ComposedQueueStage: Sendable {
    let time: VirtualTime
    let play: ComposedQueuePlay
    let steps = Recorder<String>()
    let progress = Recorder<String>()
    private let timers = Mutex<[RadioActivity]>([])
    private let failures = Mutex<[Int: Int]>([:])

    init(_ play: ComposedQueuePlay, _ time: VirtualTime) { (self.play, self.time) = (play, time) }

    var now: Int { Int(time.now / .microseconds(1)) }

    /// Lets time pass, cancelled or not.
    func work(for microseconds: Int) async {
        guard microseconds > 0 else { return }
        await withCheckedContinuation { continuation in
            let timer = time.schedule(after: .microseconds(microseconds)) { continuation.resume() }
            timers.withLock { $0.append(timer) }
        }
    }

    private func step(_ number: Int, _ body: () async throws -> Void) async throws {
        steps.add("\(now) \(number)")
        do {
            try await body()
            steps.add("\(now) \(number) done")
        } catch {
            steps.add("\(now) \(number) \(ComposedQueuePlay.text(of: error))")
            throw error
        }
    }

    private func failsAgain(_ number: Int, times: Int) -> Bool {
        failures.withLock { failures in
            failures[number, default: 0] += 1
            return failures[number, default: 0] <= times
        }
    }

    // MARK: - Commands

    static func policy(_ pause: Int, _ attempts: Int) -> RetryPolicy {
        .constant(.microseconds(pause), attempts: attempts)
    }

    func command(_ work: ComposedWork) -> CommandBlock<Void> {
        switch work {
        case .connect(let limit): .connect(timeout: .microseconds(limit))
        case .disconnect: .disconnect
        case .retry(let pause, let attempts, let work): command(work).retry(Self.policy(pause, attempts))
        case .timeout(let limit, let work): command(work).timeout(.microseconds(limit))
        case .group(_, let members):
            .group(work.name) { for member in members { command(member) } }
        case .resuming(_, let pause, let attempts, let inner):
            CommandBlock(work.name) { context in
                let inner = self.command(inner)
                try await context.resuming(Self.policy(pause, attempts)) { try await inner.run(in: context) }
            }
        default: CommandBlock(work.name) { try await self.perform(work, in: $0) }
        }
    }

    private func perform(_ work: ComposedWork, in context: CommandContext) async throws {
        switch work {
        case .pause(let number, let duration):
            try await step(number) { try await time.sleep(for: .microseconds(duration)) }
        case .stubborn(let number, let duration): try await step(number) { await self.work(for: duration) }
        case .failure(let number, let isFinal, let times):
            try await step(number) {
                guard failsAgain(number, times: times) else { return }
                var error = BLEError(.malformedValue, operation: "\(number)", cause: "chance says so")
                error.isFinal = isFinal
                throw error
            }
        case .write(let number, let delay):
            try await step(number) { try await context.write(UInt32(delay).octets, to: ComposedQueueRadio.answering) }
        case .report(let number): context.begin("\(number)")
        case .reconnect(let number, let pause, let attempts):
            try await step(number) { try await context.reconnect(Self.policy(pause, attempts)) }
        default: break
        }
    }

    func decorate(_ queue: CommandQueue, by decorations: [ComposedQueuePlay.Decoration]) -> CommandQueue {
        decorations.reduce(queue) { queue, decoration in
            switch decoration {
            case .connecting(let limit, let after): queue.connecting(timeout: .microseconds(limit), then: after)
            case .authorizing(let rule, let work): queue.authorizing(rule, with: command(work))
            case .retrying(let pause, let attempts): queue.retrying(Self.policy(pause, attempts))
            case .timingOut(let limit): queue.timingOut(after: .microseconds(limit))
            case .around(let before, let after):
                queue.decorated(by: Around(time: time, before: before, after: after))
            }
        }
    }

    private struct Around: CommandQueue.Decorator {
        let time: VirtualTime
        let before: Int
        let after: Int

        func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
            try await time.sleep(for: .microseconds(before))
            let output = try await command.run(in: context)
            try await time.sleep(for: .microseconds(after))
            return output
        }
    }
}

/// A radio that makes links when a play says so.
final class ComposedQueueRadio: IdleRadio {
    static let answering = BluetoothUUID(0xA001)
    static let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    private let time: VirtualTime
    private let connections: [ComposedQueuePlay.Connection]
    private let count = Mutex(0)
    let log = Recorder<String>()

    var timeline: any Timeline { time }

    init(_ play: ComposedQueuePlay, _ time: VirtualTime) { (connections, self.time) = (play.connections, time) }

    func note(_ text: String) { log.add("\(Int(time.now / .microseconds(1))) \(text)") }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let connection = connections[(number - 1) % connections.count]
        note("connect")
        let timer = time.schedule(after: .microseconds(connection.after)) { [self] in
            if connection.fails {
                return result(.failure(BLEError(.connectionFailed, operation: "connect", cause: "chance says so")))
            }
            note("up")
            result(.success(ComposedQueueLink(time, connection.lifetime) { [self] in note("down") }))
        }
        return RadioActivity { timer.cancel() }
    }
}

/// A link that is lost after some time, whose peer answers each write when that says so.
private final class ComposedQueueLink: ATTLink {
    private struct State {
        var receiver: (any ATTLinkReceiver)?
        var timers: [RadioActivity] = []
    }

    private let time: VirtualTime
    private let lifetime: Int
    private let ended: @Sendable () -> Void
    private let state = Mutex(State())

    let peer = ComposedQueueRadio.peer
    let local: BluetoothAddress? = nil
    let maximumPDUSize = 672
    let isResumed = false
    let security = LinkSecurity.none

    init(_ time: VirtualTime, _ lifetime: Int, _ ended: @escaping @Sendable () -> Void) {
        (self.time, self.lifetime, self.ended) = (time, lifetime, ended)
    }

    private func later(_ delay: Int, _ body: @escaping @Sendable (ComposedQueueLink) -> Void) {
        let timer = time.schedule(after: .microseconds(delay)) { [weak self] in self.map(body) }
        state.withLock { $0.timers.append(timer) }
    }

    func start(_ receiver: any ATTLinkReceiver) {
        state.withLock { $0.receiver = receiver }
        later(lifetime) { $0.end(DisconnectReason(.supervisionTimeout)) }
    }

    private func end(_ reason: DisconnectReason) {
        let (receiver, timers) = state.withLock { state in
            defer { state.timers = [] }
            return (state.receiver.take(), state.timers)
        }
        guard let receiver else { return }
        for timer in timers { timer.cancel() }
        ended()
        receiver.linkEnded(reason)
    }

    func disconnect() { end(DisconnectReason(.closedLocally)) }

    func send(_ pdu: [UInt8]) -> SendResult {
        guard let answer = Self.answer(to: pdu) else { return .sent }
        later(pdu[0] == 0x12 ? Int(UInt32(octets: pdu[3...])) : 0) { link in
            let received = ReceivedPDU(bytes: answer, time: link.time.wallTime)
            link.state.withLock { $0.receiver }?.linkReceived(ReceivedPDUs([received]))
        }
        return .sent
    }

    func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }

    private static func answer(to request: [UInt8]) -> [UInt8]? {
        let start = request.count > 2 ? Int(request[1]) | Int(request[2]) << 8 : 0
        let type = request.count > 6 ? Int(request[5]) | Int(request[6]) << 8 : 0
        switch request[0] {
        case 0x02: return [0x03, 0x05, 0x02]
        case 0x08 where type == 0x2803 && start <= 2: return [0x09, 7, 2, 0, 0x0A, 3, 0, 0x01, 0xA0]
        case 0x10 where type == 0x2800 && start <= 1: return [0x11, 6, 1, 0, 3, 0, 0x00, 0xA0]
        case 0x12: return [0x13]
        case 0x1E, 0x52: return nil
        default: return [0x01, request[0], request[1], request.count > 2 ? request[2] : 0, 0x0A]
        }
    }
}
