public import BLEProtocol
import BLERadio
public import BLEStreams
import Synchronization

/// The device's side of MCUmgr's image management, with two slots in memory where a device on Zephyr has flash.
///
/// Use it to test update programs, or for a gateway that a phone updates. It supports image upload, erase and state,
/// slot information, parameters and reset, and answers all other requests with "not supported".
public final class MCUmgrFirmwareReceiver: Sendable {
    private struct Slot {
        var octets: [UInt8]
        var image: MCUbootImage?
        var isConfirmed = false
        var isPending = false
        var isPermanent = false
    }

    private struct Upload {
        var size: Int
        var hash: [UInt8]
        var octets: [UInt8] = []
    }

    private struct State {
        var running: Slot
        var other: Slot?
        var upload: Upload?
        var restarts = 0
    }

    private let capacity: Int
    private let bufferCount: Int
    private let bufferSize: Int
    private let state: Mutex<State>

    /// Describes a device.
    ///
    /// - Parameters:
    ///   - running: the image that runs initially.
    ///   - capacity: the size of a slot in octets.
    ///   - bufferCount: how many requests it can buffer.
    ///   - bufferSize: the largest request in octets.
    public init(running: [UInt8] = [], capacity: Int = 1 << 20, bufferCount: Int = 5, bufferSize: Int = 2048) {
        self.capacity = capacity
        self.bufferCount = bufferCount
        self.bufferSize = bufferSize
        state = Mutex(State(running: Slot(octets: running, image: MCUbootImage(running), isConfirmed: true)))
    }

    /// The service to offer.
    public var service: LocalService {
        LocalService(MCUmgrExchange.service) {
            LocalCharacteristic(MCUmgrExchange.characteristic, [.writeWithoutResponse, .notify], value: .dynamic)
        }
    }

    /// The running image.
    public var runningImage: [UInt8] { state.withLock { $0.running.octets } }

    /// Whether the running image survives the next reset.
    public var isConfirmed: Bool { state.withLock { $0.running.isConfirmed } }

    /// The number of resets.
    public var restarts: Int { state.withLock { $0.restarts } }

    /// Serves until the server stops or the task is cancelled. A reset drops the central's link.
    ///
    /// A central that asks for more than it takes, although it was told how many requests are buffered, loses its link:
    /// no other one waits for it.
    public func run(on server: PeripheralServer) async throws {
        var reassemblers: [ConnectedCentral: MCUmgrReassembler] = [:]
        for try await write in server.writes(to: MCUmgrExchange.characteristic) {
            let central = write.central
            guard write.acceptInTime() else { continue }
            for request in reassemblers[central, default: MCUmgrReassembler()].append(write.value) {
                guard case .success(let request) = request, let answer = answer(to: request) else { continue }
                do {
                    try send(answer, to: central, by: server)
                } catch let error as BLEError where error.code == .overflow {
                    central.disconnect()
                } catch is BLEError {
                    // The central has left, or is not subscribed.
                }
                // It is written: a read of it is answered as not supported.
                guard request.operation == .write, request.command == .reset else { continue }
                restart()
                // The answer is sent before the link is dropped.
                try await server.timeline.clock.sleep(for: .milliseconds(250))
                central.disconnect()
            }
            // State of centrals that have left is discarded.
            let present = Set(server.centrals)
            reassemblers = reassemblers.filter { present.contains($0.key) }
        }
    }

    /// How many parts of an answer there may be for each request that is buffered, and for how many requests.
    private static let (partsOfAnswer, mostRequests) = (64, 1024)

    /// Sends an answer in parts that fit the link, without waiting for its central.
    private func send(_ answer: MCUmgrMessage, to central: ConnectedCentral, by server: PeripheralServer) throws {
        let buffer = BufferPolicy.fail(min(max(1, bufferCount), Self.mostRequests) * Self.partsOfAnswer)
        var rest = answer.encoded[...]
        while !rest.isEmpty {
            let part = rest.prefix(central.maximumValueLength)
            try server.notify(part, of: MCUmgrExchange.characteristic, to: central, buffer: buffer)
            rest = rest.dropFirst(part.count)
        }
    }

    /// Acts as the boot loader: runs the pending image, and reverts one that was not confirmed.
    private func restart() {
        state.withLock { state in
            state.restarts += 1
            state.upload = nil
            guard var other = state.other, other.isPending || !state.running.isConfirmed else { return }
            other.isConfirmed = other.isPermanent || !other.isPending
            (other.isPending, other.isPermanent) = (false, false)
            (state.other, state.running) = (state.running, other)
        }
    }

    // MARK: - Requests

    private func answer(to request: MCUmgrMessage) -> MCUmgrMessage? {
        guard let operation = request.operation.response else { return nil }
        let body: CBORValue =
            switch (request.operation, request.command) {
            case (.read, .parameters):
                .map(["buf_size": .integer(bufferSize), "buf_count": .integer(bufferCount)])
            case (.read, .slotInfo): slotInfo
            case (.read, .imageState): states
            case (.write, .imageState): mark(request.body)
            case (.write, .imageUpload): upload(request.body)
            case (.write, .imageErase): erase(request.body)
            case (.write, .reset): .map([])
            default: .map(["rc": .integer(8)])
            }
        return MCUmgrMessage(
            operation,
            request.command,
            sequence: request.sequence,
            version: request.version,
            body: request.version == 0 ? Self.original(body) : body
        )
    }

    /// An answer in the original protocol, which has no failures of a group: a client would take one for a success.
    ///
    /// Source: Zephyr, `img_mgmt_translate_error_code`.
    private static func original(_ body: CBORValue) -> CBORValue {
        guard let failure = body["err"]?["rc"]?.integer else { return body }
        let code =
            switch failure {
            case 9, 28: 6
            case 14, 20, 21, 22: 3
            default: 1
            }
        return .map(["rc": .integer(code)])
    }

    private var slotInfo: CBORValue {
        let slots = (0...1).map { CBORValue.map(["slot": .integer($0), "size": .integer(capacity)]) }
        return .map(["images": .array([.map(["image": .integer(0), "slots": .array(slots)])])])
    }

    private var states: CBORValue {
        state.withLock { state in
            let slots = [state.running, state.other].enumerated().compactMap { number, slot -> CBORValue? in
                guard let slot, let image = slot.image else { return nil }
                var members = [CBORValue.Member(.text("slot"), .integer(number))]
                members.append(.init(.text("version"), .text(image.version)))
                if let hash = image.hash { members.append(.init(.text("hash"), .bytes(hash))) }
                let flags = [
                    ("bootable", true), ("pending", slot.isPending), ("confirmed", slot.isConfirmed),
                    ("active", number == 0), ("permanent", slot.isPermanent),
                ]
                members += flags.map { .init(.text($0.0), .bool($0.1)) }
                return .map(members)
            }
            return .map(["images": .array(slots)])
        }
    }

    private func mark(_ request: CBORValue) -> CBORValue {
        let isForGood = request["confirm"]?.bool ?? false
        let hash = request["hash"]?.bytes
        let failure: Int? = state.withLock { state in
            if hash == nil || hash == state.running.image?.hash {
                guard isForGood else { return 33 }
                state.running.isConfirmed = true
            } else if hash == state.other?.image?.hash, state.other != nil {
                state.other?.isPending = true
                state.other?.isPermanent = isForGood
            } else {
                return 8
            }
            return nil
        }
        return failure.map(Self.failure) ?? states
    }

    private func upload(_ request: CBORValue) -> CBORValue {
        guard let offset = request["off"]?.integer, let data = request["data"]?.bytes else { return Self.failure(20) }
        return state.withLock { state in
            if offset == 0 {
                guard let size = request["len"]?.integer else { return Self.failure(21) }
                guard size <= capacity else { return Self.failure(30) }
                let hash = request["sha"]?.bytes ?? []
                if let upload = state.upload, upload.hash == hash, !hash.isEmpty, !upload.octets.isEmpty {
                    return .map(["off": .integer(upload.octets.count)])
                }
                guard state.other?.isPending != true else { return Self.failure(28) }
                // On a trial, the other slot has the image to return to.
                guard state.running.isConfirmed else { return Self.failure(9) }
                guard data.count >= 32 else { return Self.failure(22) }
                guard data.prefix(4).elementsEqual([0x3D, 0xB8, 0xF3, 0x96]) else { return Self.failure(23) }
                // It is there already: the answer to its last part may have been lost.
                if let other = state.other, SHA256.hash(other.octets) == hash {
                    return .map(["off": .integer(size), "match": .bool(true)])
                }
                state.upload = Upload(size: size, hash: hash)
            }
            // As on Zephyr, a part of an upload that is complete or was never begun is answered with the first octet.
            guard var upload = state.upload else { return .map(["off": .integer(0)]) }
            guard offset == upload.octets.count else { return .map(["off": .integer(upload.octets.count)]) }
            guard offset + data.count <= upload.size else { return Self.failure(31) }
            upload.octets += data
            state.upload = upload
            guard upload.octets.count == upload.size else { return .map(["off": .integer(upload.octets.count)]) }
            state.upload = nil
            let isRight = upload.hash.isEmpty || SHA256.hash(upload.octets) == upload.hash
            // No boot loader checks the octets: a damaged image would be listed, and could be started.
            state.other = isRight ? Slot(octets: upload.octets, image: MCUbootImage(upload.octets)) : nil
            return .map(["off": .integer(upload.size), "match": .bool(isRight)])
        }
    }

    private func erase(_ request: CBORValue) -> CBORValue {
        let slot = request["slot"]?.integer ?? 1
        guard (0...1).contains(slot) else { return Self.failure(14) }
        return state.withLock { state in
            // On a trial, the other slot has the image to return to.
            guard slot == 1, state.running.isConfirmed, state.other?.isPending != true else { return Self.failure(9) }
            (state.other, state.upload) = (nil, nil)
            return .map([])
        }
    }

    private static func failure(_ code: Int) -> CBORValue {
        .map(["err": .map(["group": .integer(1), "rc": .integer(code)])])
    }
}
