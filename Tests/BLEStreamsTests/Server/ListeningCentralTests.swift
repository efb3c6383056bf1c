import BLERadio
import BLESimulator
import BLEStreams
import Foundation
import Testing

/// A central that is bonded and only listens: nothing that it sends tells the server how the link is protected.
@Suite(.timeLimit(.minutes(10))) struct ListeningCentralTests {
    private static let secret = BluetoothUUID(0xF101)
    private static let open = BluetoothUUID(0xF102)
    private static let description = LocalPeripheral(name: "Discreet") {
        LocalService(BluetoothUUID(0xF100)) {
            LocalCharacteristic(secret, [.notify, .indicate], access: .encrypted)
            LocalCharacteristic(open, [.notify])
        }
    }

    /// The handle of a characteristic's configuration, least significant octet first.
    private static func configuration(of uuid: BluetoothUUID, _ bench: Bench) async throws -> [UInt8] {
        try await bench.peripheral.withLink { link in
            let found = try #require(try await link.discover().characteristic(uuid)?.clientConfiguration).handle
            return [UInt8(truncatingIfNeeded: found), UInt8(found >> 8)]
        }
    }

    private static func pair(_ bench: Bench) async throws {
        try await pair(bench.centralAdapter, bench.peripheralAdapter)
    }

    private static func pair(_ central: SimulatedAdapter, _ peripheral: SimulatedAdapter) async throws {
        try await reply { finish in
            central.pair(with: peripheral.address, asking: .justWorks) { outcome in
                finish(outcome.map { _ in })
            }
        }
    }

    /// Connects, pairs, subscribes to a characteristic, and disconnects when the closure has returned.
    private static func paired(
        _ bench: Bench,
        subscribing uuid: BluetoothUUID,
        _ body: @escaping @Sendable (RawCentral) async throws -> Void
    ) async throws {
        let configuration = try await configuration(of: uuid, bench)
        try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
            try await pair(bench)
            let answer = await central.ask([0x12] + configuration + [0x01, 0x00])
            #expect(answer == [0x13])
            try await body(central)
        }
    }

    @Test func `it is notified as soon as the link is encrypted, without a PDU from it`() async throws {
        let told = Recorder<BLEError.Code?>()
        try await Bench.run(description: Self.description) { server, bench in
            while true {
                for outcome in try await server.notify([42], of: Self.secret) { told.add(outcome.error?.code) }
                for central in server.centrals {
                    do {
                        try await server.notify([43], of: Self.secret, to: central)
                    } catch let error as BLEError { told.add(error.code) }
                }
                try await bench.time.sleep(for: .seconds(1))
            }
        } _: { bench in
            let address = bench.peripheralAdapter.address
            try await Self.paired(bench, subscribing: Self.secret) { _ in }
            try await bench.time.sleep(for: .seconds(3))
            bench.air.clearTrace()
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                // It isn't safe enough yet, and the program is told.
                try await bench.time.sleep(for: .seconds(3))
                #expect(bench.sent(by: .peripheral).isEmpty)
                #expect(told.all.suffix(2) == [.permissionDenied, .permissionDenied])
                try await central.encrypt()
                let first = await central.next()
                #expect(first?.last == 42 || first?.last == 43)
                let second = await central.next()
                #expect(second?.first == 0x1B)
            }
            #expect(bench.sent(by: .central).isEmpty)
        }
    }

    @Test func `what it had subscribed to is told at once if its link was encrypted before it was served`() async throws
    {
        let told = Recorder<Duration>()
        let begin = Recorder<Duration>()
        try await Bench.run(description: Self.description) { server, bench in
            for try await change in server.subscriptions(of: Self.secret) where change.isSubscribed {
                told.add(bench.time.now)
            }
        } _: { bench in
            let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
            bench.air.setSecurity(security, between: bench.centralAdapter, and: bench.peripheralAdapter)
            let configuration = try await Self.configuration(of: Self.secret, bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                let answer = await central.ask([0x12] + configuration + [0x01, 0x00])
                #expect(answer == [0x13])
            }
            try await bench.time.sleep(for: .seconds(3))
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { _ in
                begin.add(bench.time.now)
                try await bench.time.sleep(for: .seconds(10))
            }
        }
        #expect(told.all.count == 2)
        let (first, last) = (try #require(begin.all.first), try #require(told.all.last))
        #expect(last - first < .seconds(1))
    }

    @Test(arguments: [true, false])
    func `the program is told of what it had subscribed to when it may send that`(encrypts: Bool) async throws {
        let told = Recorder<String>()
        try await Bench.run(description: Self.description) { server, bench in
            // The second loop begins when it is connected already.
            for start in [Duration.zero, .seconds(10)] {
                try await bench.time.sleep(for: start)
                for try await change in server.subscriptions(of: Self.secret) where change.isSubscribed {
                    do {
                        try await server.send([42], of: Self.secret, to: change.central)
                        told.add("sent")
                    } catch let error as BLEError { told.add("\(error.code)") }
                    if told.all.count > 1 { break }
                }
            }
        } _: { bench in
            let address = bench.peripheralAdapter.address
            try await Self.paired(bench, subscribing: Self.secret) { central in
                let first = await central.next()
                #expect(first?.last == 42)
            }
            try await bench.time.sleep(for: .seconds(3))
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                try await bench.time.sleep(for: .seconds(1))
                #expect(told.all == ["sent"])
                if encrypts { try await central.encrypt() }
                try await bench.time.sleep(for: .seconds(30))
            }
        }
        #expect(told.all == (encrypts ? ["sent", "sent", "sent"] : ["sent", "permissionDenied", "permissionDenied"]))
    }

    @Test func `what it had subscribed to is kept when it leaves without another PDU`() async throws {
        try await Bench.run(description: Self.description) { bench in
            let configuration = try await Self.configuration(of: Self.open, bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                // First it subscribes, then the two pair, and nothing more is said.
                let answer = await central.ask([0x12] + configuration + [0x01, 0x00])
                #expect(answer == [0x13])
                try await Self.pair(bench)
            }
            try await bench.time.sleep(for: .seconds(3))
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                let kept = await central.ask([0x0A] + configuration)
                #expect(kept == [0x0B, 0x01, 0x00])
            }
        }
    }

    /// A copy of the files, taken while the link is up, is what a killed program or a lost power leaves.
    @Test func `what it had subscribed to long before it paired outlives a program that is killed`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "paired-late-\(UUID())").path
        let left = folder + ".left"
        defer { for path in [folder, left] { try? FileManager.default.removeItem(atPath: path) } }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            for round in 0..<2 {
                let store = PeerStore(folder: round == 0 ? folder : left)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await Self.description.run(on: .radio(far), store: store) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                    try await RawCentral.connected(from: near, to: far.address) { central in
                        // The configuration of Service Changed.
                        if round == 0 {
                            let answer = await central.ask([0x12, 0x09, 0x00, 0x02, 0x00])
                            #expect(answer == [0x13])
                            // The user is asked.
                            try await time.sleep(for: .seconds(20))
                            try await Self.pair(near, far)
                            try await time.sleep(for: .seconds(5))
                            await store.flush()
                            try? FileManager.default.copyItem(atPath: folder, toPath: left)
                        } else {
                            let answer = await central.ask([0x0A, 0x09, 0x00])
                            #expect(answer == [0x0B, 0x02, 0x00])
                        }
                    }
                    group.cancelAll()
                }
            }
        }
    }

    @Test func `without a key it must pair, with one it must encrypt`() async throws {
        try await Bench.run(description: Self.description) { bench in
            let configuration = try await Self.configuration(of: Self.secret, bench)
            let address = bench.peripheralAdapter.address
            for error in [ATTError.insufficientAuthentication, .insufficientEncryption] {
                try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                    let answer = await central.ask([0x12] + configuration + [0x01, 0x00])
                    #expect(answer == [0x01, 0x12] + configuration + [error.rawValue])
                    if error == .insufficientAuthentication { try await Self.pair(bench) }
                }
                try await bench.time.sleep(for: .seconds(3))
            }
        }
    }

    @Test func `a peripheral's wish to encrypt that comes to nothing is told to the central's program`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "wish-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let puppet = PuppetRadio(far)
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: folder) { warnings.add($0) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Self.description.run(on: puppet) }
                let central = try await Central.open(.radio(near), store: store)
                try await central.peripheral(far.address).withLink { link in
                    // It has no key: the Security Request leads to nothing, and the link goes on as it was.
                    let asked = Recorder<Bool>()
                    try #require(puppet.links.first).encrypt { result in asked.add((try? result.get()) != nil) }
                    try await time.sleep(for: .seconds(1))
                    #expect(asked.all == [false] && !link.security.isEncrypted)
                }
                await store.flush()
                #expect(warnings.all.map(\.code) == [.securityFailed])
                #expect(warnings.all.first?.object.contains("\(far.address)") == true)
                #expect(warnings.all.first?.remedy.isEmpty == false)
                group.cancelAll()
            }
        }
    }

    @Test func `a pairing that fails is told to the peripheral's program`() async throws {
        let warnings = Recorder<BLEError>()
        try await Bench.run(description: Self.description, warnings: warnings) { server, _ in
            for try await _ in server.centralEvents {}
        } _: { bench in
            bench.peripheralAdapter.settings.acceptsPairing = false
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { _ in
                let error = await bleError { try await Self.pair(bench) }
                #expect(error?.code == .securityFailed)
                try await bench.time.sleep(for: .seconds(1))
            }
            #expect(warnings.all.map(\.code) == [.securityFailed])
            #expect(warnings.all.first?.object.contains("\(bench.centralAdapter.address)") == true)
        }
    }
}

/// Waits for what a radio tells through a closure.
private func reply(
    _ start: (@escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity
) async throws {
    let held = Recorder<RadioActivity>()
    try await withCheckedThrowingContinuation { continuation in
        held.add(start { continuation.resume(with: $0) })
    }
}
