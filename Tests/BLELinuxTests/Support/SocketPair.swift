import BLEProtocol
import BLERadio
import Glibc
import RadioDoubles
import Synchronization

@testable import BLELinux

/// Two sockets that carry datagrams to each other in order, as L2CAP's do.
struct SocketPair: ~Copyable {
    let near: SharedDescriptor
    let far: SharedDescriptor

    init() throws {
        let numbers = try Self.numbers()
        near = SharedDescriptor(FileDescriptor(owning: numbers.near))
        far = SharedDescriptor(FileDescriptor(owning: numbers.far))
    }

    /// Two such sockets that nobody owns yet.
    static func numbers() throws -> (near: Int32, far: Int32) {
        var numbers: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try systemCall { socketpair(AF_UNIX, type, 0, &numbers) }
        return (numbers[0], numbers[1])
    }
}

/// The radio behind a link of these tests: it notes what is asked of it.
final class FakeEnvironment: EnvironmentWithoutController {
    let timeline: any Timeline
    let isAdapterUp: Bool
    private let dropped = Mutex<[BluetoothAddress]>([])
    private let raising = Mutex<(@Sendable (Result<Bond?, BLEError>) -> Void)?>(nil)
    private let securityWatchers = Mutex<[BluetoothAddress: @Sendable (BLEError?) -> Void]>([:])

    private let keyLevels = Mutex<LinkSecurity.Level?>(nil)
    private let keyWatchers = Mutex<[@Sendable () -> Void]>([])

    init(isAdapterUp: Bool = true, _ timeline: any Timeline = PatientTimeline()) {
        (self.isAdapterUp, self.timeline) = (isAdapterUp, timeline)
    }

    /// Whom it was told to drop.
    var drops: [BluetoothAddress] { dropped.withLock { $0 } }

    func drop(_ peer: BluetoothAddress, _ result: @escaping @Sendable (Bool) -> Void) {
        dropped.withLock { $0.append(peer) }
        result(true)
    }

    func readRSSI(of peer: BluetoothAddress, _ result: @escaping @Sendable (Int8?) -> Void) { result(-60) }

    func watchSecurity(
        of peer: BluetoothAddress,
        _ failed: @escaping @Sendable (BLEError?) -> Void
    ) -> RadioActivity {
        securityWatchers.withLock { $0[peer] = failed }
        return RadioActivity { [self] in securityWatchers.withLock { $0[peer] = nil } }
    }

    func pairAnew(
        with peer: BluetoothAddress,
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        _ result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        raising.withLock { $0 = result }
        return RadioActivity {}
    }

    func hasKey(of peer: BluetoothAddress) -> Bool { keyLevels.withLock { $0 != nil } }

    func keyLevel(of peer: BluetoothAddress) -> LinkSecurity.Level? { keyLevels.withLock { $0 } }

    func observeKeys(of peer: BluetoothAddress, _ made: @escaping @Sendable () -> Void) -> RadioActivity {
        keyWatchers.withLock { $0.append(made) }
        return RadioActivity {}
    }

    /// A key of this level was made.
    func tellKey(of level: LinkSecurity.Level) {
        keyLevels.withLock { $0 = level }
        for made in keyWatchers.withLock({ $0 }) { made() }
    }

    /// Ends the pairing for better keys that was begun last.
    func endRaising(with outcome: Result<Bond?, BLEError>) { raising.withLock { $0.take() }?(outcome) }

    /// Who is told that a peer's wish to encrypt its link came to nothing.
    var watched: [BluetoothAddress: @Sendable (BLEError?) -> Void] { securityWatchers.withLock { $0 } }
}

extension SocketLink {
    /// A link over one end of a pair.
    convenience init(
        testing socket: SharedDescriptor,
        loop: EventLoop,
        environment: FakeEnvironment = FakeEnvironment()
    ) {
        self.init(
            socket,
            peer: .example,
            local: nil,
            isResumed: false,
            loop: loop,
            environment: environment
        )
    }
}

extension BluetoothAddress {
    static let example = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
}
