import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import Synchronization
import TestBroker
import Testing

@testable import Gateway

/// Commands that are carried out, or wait, when the gateway stops.
@Suite(
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(5))
)
struct StoppedCommandsTests {
    @Test func `one that waits for another is answered before the gateway leaves the broker`() async throws {
        let permission = Configuration.Permission(peripheral: "s0", operations: ["connect"], characteristics: [])
        let world = try await SharedWorld(gateways: 1, sensors: 1, permissions: [permission])
        world.air.faults.add(.neverEstablish(), between: world.adapters[0], and: world.sensors[0])
        // One runs, as many as may wait do, and the last one is refused: then all have come.
        let commands = (1...258).map { #"{"id":\#($0),"peripheral":"s0","op":"connect"}"# }
        let answers = try await Self.answers(world, commands, stopAfter: "too many commands wait")
        #expect(answers.count == commands.count, "\(answers.last ?? "")")
    }

    /// Its octets are read and hashed while the peripherals' sessions end.
    @Test func `so is an update that reads its image`() async throws {
        let permission = Configuration.Permission(peripheral: "s0", operations: ["update"], characteristics: [])
        let device = MCUmgrFirmwareReceiver(running: TestImage.octets(1, size: 2000))
        let world = try await SharedWorld(gateways: 1, sensors: 1, firmware: [device], permissions: [permission])
        let hash = try TestImage.place(TestImage.octets(2, size: 1_000_000), in: world.folder)
        let commands = (1...2).map { #"{"id":\#($0),"peripheral":"s0","op":"update","image":"\#(hash)"}"# }
        let answers = try await Self.answers(world, commands, stopAfter: #""code":"busy""#)
        #expect(answers.count == 2 && answers.last?.contains(#""code":"ended""#) == true, "\(answers)")
    }

    /// Sends commands, stops the gateway at a reply, and returns all replies that come before it is offline.
    private static func answers(
        _ world: SharedWorld,
        _ commands: [String],
        stopAfter words: String
    ) async throws -> [String] {
        let asker = Asker(world.broker, "g0/command")
        let answers = Mutex<[String]>([])
        try await world.run(isSharing: false) {
            while let message = await world.collector.next() {
                if message.topic == "g0/state/s0", !message.payload.contains("not followed") { break }
            }
            await asker.run { _ in
                for command in commands { asker.send(command) }
                while let message = await world.collector.next(), message.payload != "offline" {
                    guard message.topic == asker.replies else { continue }
                    answers.withLock { $0.append(message.payload) }
                    if message.payload.contains(words) { world.stop(0) }
                }
            }
        }
        return answers.withLock { $0 }
    }
}
