public import BLEProtocol
public import BLEStreams
import Synchronization

/// The device's side of the plain update protocol: receives firmware from a central. See
/// ``FirmwareUpdateFlow/PlainProfile``.
///
/// ```swift
/// let receiver = PlainFirmwareReceiver(model: 7, capacity: 1 << 20)
/// try await LocalPeripheral(name: "Updatable") { receiver.service }.run(on: adapter) { server in
///     try await receiver.run(on: server)
/// }
/// ```
///
/// It keeps the image in memory; ``image`` holds it once it is complete and its hash is correct. Of several connected
/// centrals, it takes the image of the one that has announced it last, and refuses what the others send.
public final class PlainFirmwareReceiver: Sendable {
    private struct State {
        var status: PlainUpdateStatus
        var size = 0
        var hash: [UInt8] = []
        var octets: [UInt8] = []
        var image: [UInt8]?
        var granted = 0
        /// Whose image it is: what others send meanwhile is no part of it.
        weak var sender: ConnectedCentral?
    }

    private let profile: FirmwareUpdateFlow.PlainProfile
    private let window: Int
    private let state: Mutex<State>

    /// Describes a device.
    ///
    /// - Parameters:
    ///   - model: the device's model; an image for another one is refused.
    ///   - capacity: the largest image, in octets.
    ///   - window: how many octets may be sent without a new status; it notifies one after half of them.
    ///   - profile: the UUIDs.
    public init(
        model: UInt16,
        capacity: Int,
        window: Int = 16_384,
        profile: FirmwareUpdateFlow.PlainProfile = .standard
    ) {
        self.profile = profile
        self.window = max(1, window)
        let capacity = UInt32(clamping: capacity)
        state = Mutex(State(status: PlainUpdateStatus(state: .idle, model: model, capacity: capacity)))
    }

    /// The service to offer.
    public var service: LocalService {
        LocalService(profile.service) {
            LocalCharacteristic(profile.status, [.read, .notify], value: .dynamic)
            LocalCharacteristic(profile.control, [.write], value: .dynamic)
            LocalCharacteristic(profile.data, [.write, .writeWithoutResponse], value: .dynamic)
        }
    }

    /// The last firmware received, complete and verified; `nil` if there is none yet.
    public var image: [UInt8]? { state.withLock { $0.image } }

    /// The current status.
    public var status: PlainUpdateStatus { state.withLock { $0.status } }

    /// Serves until the server stops or the task is cancelled.
    public func run(on server: PeripheralServer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await read in server.reads(of: self.profile.status) { try read.respond(self.status.encoded) }
            }
            group.addTask {
                for try await write in server.writes(to: self.profile.control) {
                    let isTaken = self.command(write.value, by: write.central, of: server)
                    if isTaken { write.accept() } else { write.reject(.valueNotAllowed) }
                    if isTaken { try await self.tell(server, write.central) }
                }
            }
            group.addTask {
                for try await write in server.writes(to: self.profile.data) {
                    guard self.isSender(write.central, of: server) else {
                        write.reject(.valueNotAllowed)
                        continue
                    }
                    guard write.acceptInTime() else { continue }
                    if self.take(write.value) { try await self.tell(server, write.central) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func tell(_ server: PeripheralServer, _ central: ConnectedCentral) async throws {
        do {
            try await server.notify(status.encoded, of: profile.status, to: central)
        } catch is BLEError {
            // The central has left, or is not subscribed.
        }
    }

    /// Whether a central sends the image: the one that has announced it or, when that one has left, the next one that
    /// goes on with it.
    private func isSender(_ central: ConnectedCentral, of server: PeripheralServer) -> Bool {
        state.withLock { state in
            if let sender = state.sender {
                if sender === central { return true }
                if server.centrals.contains(sender) { return false }
            }
            state.sender = central
            return true
        }
    }

    /// Whether the octets are a command that this central may give.
    private func command(_ octets: [UInt8], by central: ConnectedCentral, of server: PeripheralServer) -> Bool {
        var reader = ByteReader(octets)
        switch reader.uint8() {
        case 1:
            guard let size = reader.uint32(), let model = reader.uint16(), let hash = reader.bytes(32), reader.isAtEnd
            else { return false }
            begin(Int(size), model, Array(hash), central)
        case 2 where reader.isAtEnd:
            guard isSender(central, of: server) else { return false }
            state.withLock { state in
                if state.status.state == .receiving { state.status.state = .idle }
                state.octets = []
            }
        default: return false
        }
        return true
    }

    private func begin(_ size: Int, _ model: UInt16, _ hash: [UInt8], _ central: ConnectedCentral) {
        state.withLock { state in
            state.sender = central
            state.status.image = Array(hash.prefix(4))
            state.status.failure = .none
            (state.size, state.hash, state.octets) = (size, hash, [])
            (state.status.offset, state.granted) = (0, min(window, size))
            state.status.window = UInt32(clamping: state.granted)
            if size > state.status.capacity {
                fail(.tooLarge, &state)
            } else if model != state.status.model {
                fail(.wrongModel, &state)
            } else {
                state.status.state = .receiving
            }
        }
    }

    /// Handles a part; returns whether to notify a status.
    private func take(_ part: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.status.state == .receiving else { return false }
            state.octets += part.prefix(state.size - state.octets.count)
            let count = state.octets.count
            state.status.offset = UInt32(clamping: count)
            if count == state.size {
                state.status.window = 0
                if SHA256.hash(state.octets) == state.hash {
                    state.status.state = .complete
                    state.image = state.octets
                } else {
                    fail(.wrongHash, &state)
                }
                state.octets = []
                return true
            }
            guard state.granted - count <= window / 2, state.granted < state.size else {
                state.status.window = UInt32(clamping: state.granted - count)
                return false
            }
            state.granted = min(state.size, count + window)
            state.status.window = UInt32(clamping: state.granted - count)
            return true
        }
    }

    private func fail(_ failure: PlainUpdateStatus.Failure, _ state: inout State) {
        state.status.state = .failed
        state.status.failure = failure
    }
}
