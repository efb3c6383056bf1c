import BLEProtocol
import Dispatch
import Glibc
import Synchronization

@testable import BLELinux

/// A kernel in memory, for the system calls of the driver: descriptors and their readiness, management, HCI and L2CAP
/// sockets, over controllers that hear each other.
///
/// It does as the machine's kernel was seen to do, at the speed of a function call, and fails where a test says.
/// Nothing in it waits but `epoll_wait`: when all threads that were started on it are there, and nothing is ready, it
/// is idle, and a test may let time go on.
final class FakeKernel: Sendable {
    private let state: Mutex<FakeState>

    /// Adapters by their number have names; some things of a program are known by these, so no two tests have the same.
    private static let kernels = Atomic<Int>(0)

    let central: UInt16
    let peripheral: UInt16

    /// More turns without a rest than anything takes.
    private static let patience = 20_000

    /// Two adapters that are on and hear each other.
    init(_ prepare: (inout FakeState) -> Void = { _ in }) {
        // The whole sweeps make more kernels than there are numbers: those of the first are free again by then.
        let number = 100 + 2 * (Self.kernels.wrappingAdd(1, ordering: .relaxed).oldValue % 32_000)
        (central, peripheral) = (UInt16(number), UInt16(number + 1))
        var state = FakeState()
        for number in [central, peripheral] {
            let address = BluetoothAddress(rawValue: 0x00AA_0100_0000 | UInt64(number), kind: .public)
            state.adapters[number] = FakeAdapter(number: number, address: address)
        }
        state.links["/proc/self/ns/pid"] = "pid:[4026531836]"
        state.files["/proc/1/comm"] = Array("init\n".utf8)
        prepare(&state)
        self.state = Mutex(state)
    }

    var kernel: Kernel { Kernel(substitute: self) }

    func name(_ number: UInt16) -> String { "hci\(number)" }

    /// How many advertisement monitors the central's adapter has; `nil` while it isn't there.
    var monitors: Int? { with { [central] in $0.adapters[central]?.monitors.count } }

    /// Reads or changes what the kernel has; whoever waits for that is woken.
    @discardableResult
    func with<Value: Sendable>(_ body: (inout FakeState) -> Value) -> Value {
        let (value, due, woken, idle) = state.withLock { state in
            let value = body(&state)
            let due = state.moments.filter { $0.calls <= 0 }
            state.moments.removeAll { $0.calls <= 0 }
            let (woken, idle) = state.settle()
            return (value, due, woken, idle)
        }
        for moment in due { moment.body() }
        for semaphore in woken { semaphore.signal() }
        for continuation in idle { continuation.resume() }
        return value
    }

    /// Returns when all threads wait and nothing is ready.
    func idle() async {
        await withCheckedContinuation { continuation in
            with { $0.idle.append(continuation) }
        }
    }

    /// Has the management sockets lose events, among which is what the body does, and notice the loss.
    func lose(on number: UInt16, _ body: @Sendable (inout FakeState) -> Void) async {
        with { state in
            state.unheard(body)
            state.tellOfDevice(number)
        }
        await idle()
    }

    /// What is open, by kind; to be empty in the end.
    var leftovers: [String] {
        with { state in
            var left = state.objects.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.kind)" }
            if state.isSpinning { left.append("a thread that spins") }
            if state.threads > 0 { left.append("\(state.threads) threads") }
            return left
        }
    }
}

// MARK: - Waiting

extension FakeState {
    /// Wakes those for whom something is ready; whoever waits for idleness, where nothing is.
    fileprivate mutating func settle() -> (woken: [DispatchSemaphore], idle: [CheckedContinuation<Void, Never>]) {
        var woken: [DispatchSemaphore] = []
        while true {
            for (set, semaphore) in waiting where !ready(in: set).isEmpty {
                waiting[set] = nil
                woken.append(semaphore)
            }
            guard threads == waiting.count else { return (woken, []) }
            if !release() { break }
        }
        defer { (idle, turns) = ([], 0) }
        return (woken, idle)
    }

    /// What is ready in a set.
    func ready(in set: Int32) -> [(token: UInt64, readiness: Readiness)] {
        guard case .readinessSet(let members)? = objects[set]?.kind else { return [] }
        return members.sorted { $0.value.token < $1.value.token }.compactMap { descriptor, member in
            let now = readiness(of: descriptor).intersection(member.interest.union([.error, .hangUp]))
            return now.isEmpty ? nil : (member.token, now)
        }
    }

    func readiness(of descriptor: Int32) -> Readiness {
        guard let object = objects[descriptor] else { return [] }
        var readiness: Readiness = object.inbox.isEmpty ? [] : .readable
        if object.error != 0 { readiness.insert(.error) }
        if object.isHungUp { readiness.formUnion([.hangUp, .writable]) }
        switch object.kind {
        case .counter(let count): if count > 0 { readiness.insert(.readable) }
        case .hci: readiness.insert(.writable)
        case .l2cap(let socket):
            switch socket.phase {
            case .listening(let backlog): if !backlog.isEmpty { readiness.insert(.readable) }
            case .connected(let link) where !socket.isSecuring:
                if isHalfFree(link) { readiness.insert(.writable) }
            case .fresh, .connecting, .connected, .dead: break
            }
        case .readinessSet, .file, .name: break
        }
        return readiness
    }

    /// As many datagrams as the kernel's own queue takes.
    private static let room = 76

    /// Whether a socket takes another datagram. Source: kernel, `net/core/sock.c`, `sock_alloc_send_pskb`.
    func hasRoom(_ link: FakeLink) -> Bool { backlog(of: link) < Self.room }

    /// Whether a socket is said to be writable. Source: kernel, `include/net/sock.h`, `sock_writeable`.
    private func isHalfFree(_ link: FakeLink) -> Bool { backlog(of: link) < Self.room / 2 }

    private func backlog(of link: FakeLink) -> Int { link.far.flatMap { objects[$0]?.inbox.count } ?? 0 }
}

extension FakeKernel {
    func wait(_ set: Int32, isLook: Bool, into ready: inout [(token: UInt64, readiness: Readiness)]) -> Int32 {
        while true {
            let semaphore = DispatchSemaphore(value: 0)
            let outcome: (error: Int32?, ready: [(token: UInt64, readiness: Readiness)]) = with { state in
                let now = state.ready(in: set)
                if now.isEmpty {
                    if !isLook { state.waiting[set] = semaphore }
                    return (nil, [])
                }
                if let error = state.enter(.epollWait) { return (error, []) }
                state.turns += 1
                if state.turns > Self.patience {
                    state.isSpinning = true
                    return (-EBADF, [])
                }
                return (nil, Array(now.prefix(state.isCutShort ? 1 : 64)))
            }
            if let error = outcome.error { return error }
            if !outcome.ready.isEmpty {
                ready = outcome.ready
                return Int32(outcome.ready.count)
            }
            if isLook {
                ready = []
                return 0
            }
            semaphore.wait()
        }
    }

    func startThread(named name: String, _ body: @escaping @Sendable () -> Void) -> Int32 {
        let error = with { state -> Int32? in
            let error = state.enter(.threadStart)
            if error == nil { state.threads += 1 }
            return error
        }
        if let error { return error }
        let isStuck = with { state in
            guard state.stuckThreads[name] != nil else { return false }
            state.stuckThreads[name]?.append(body)
            // It waits in the kernel.
            state.threads -= 1
            return true
        }
        if isStuck { return 0 }
        let box = Box(body)
        do throws(SystemError) {
            try BLELinux.startThread(named: name) { [self] in
                box.run()
                with { $0.threads -= 1 }
            }
        } catch {
            with { $0.threads -= 1 }
            return -error.rawValue
        }
        return 0
    }

    /// The threads with a name return from the kernel.
    func unstick(_ name: String) {
        let bodies = with { $0.stuckThreads.removeValue(forKey: name) }
        for body in bodies ?? [] { _ = startThread(named: name, body) }
    }

    /// Lets go of what a thread works on before the thread counts as ended.
    private final class Box: Sendable {
        private struct Job { var body: (@Sendable () -> Void)? }

        private let job: Mutex<Job>

        init(_ body: @escaping @Sendable () -> Void) { job = Mutex(Job(body: body)) }

        func run() {
            let body = job.withLock { $0.body.take() }
            body?()
        }
    }
}
