import BLEStreams
import Campaigns

/// Lets a device run its previous image: a trial of the new one is ended by a reset, since its boot loader returns from
/// what was not confirmed.
struct RollBackFlow: BLEStreams.Command {
    /// That of the Simple Management Protocol; the text is a UUID.
    private static let characteristic =
        BluetoothUUID("DA2E7828-FBCE-4E01-AE9E-261174997C48") ?? BluetoothUUID(0)
    private static let patience = Duration.seconds(10)
    /// The most resets: one begins a trial that is pending, one ends it.
    private static let resets = 3

    var name: String { "roll back" }

    /// How the boot loader names the new image.
    let hash: [UInt8]

    /// - Returns: `updated` if the device has confirmed the new image; otherwise `rolledBack`.
    func run(in context: CommandContext) async throws -> CampaignOutcome {
        for _ in 0...Self.resets {
            let images = try await context.resuming(.exponential(attempts: 8)) { try await self.images(context) }
            guard let running = images.images.first(where: \.isActive) else {
                return .failed("the device lists no active image")
            }
            if running.hash == hash, running.isConfirmed { return .updated }
            let isPending = images.images.contains { $0.isPending }
            if running.hash != hash, running.isConfirmed, !isPending { return .rolledBack }
            try await reset(context)
        }
        return .failed("the device doesn't return to its previous image")
    }

    private func images(_ context: CommandContext) async throws -> DeviceImages {
        try await context.subscribe(to: Self.characteristic)
        defer { context.unsubscribe(from: Self.characteristic) }
        try await context.write(Self.request(.read, group: 1, id: 0), to: Self.characteristic, .withoutResponse)
        var answer: [UInt8] = []
        while true {
            let (value, _) = try await context.value(timeout: Self.patience)
            answer += value
            guard answer.count >= 8 else { continue }
            let length = Int(answer[2]) << 8 | Int(answer[3])
            guard answer.count >= 8 + length else { continue }
            guard let images = DeviceImages(cbor: answer[8..<8 + length]) else {
                throw Unreadable()
            }
            return images
        }
    }

    /// Resets the device, and returns when it has dropped the link.
    private func reset(_ context: CommandContext) async throws {
        context.begin("reset")
        do {
            try await context.subscribe(to: Self.characteristic)
            try await context.write(Self.request(.write, group: 0, id: 5), to: Self.characteristic, .withoutResponse)
            while true { _ = try await context.value(timeout: Self.patience) }
        } catch let error as BLEError where error.code == .disconnected || error.code == .timedOut {
            return
        }
    }

    private enum Operation: UInt8 {
        case read = 0
        case write = 2
    }

    /// A request without members: a header of eight octets, and an empty map.
    private static func request(_ operation: Operation, group: UInt8, id: UInt8) -> [UInt8] {
        [operation.rawValue, 0, 0, 1, 0, group, 1, id, 0xA0]
    }

    /// The device's answer is no list of images.
    struct Unreadable: Error, CustomStringConvertible {
        var description: String { "the device's list of images can't be read" }
    }
}
