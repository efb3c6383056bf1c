import BLEProtocol
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// Services that change while nothing can be written, or before that was looked at, of peripherals without a hash: the
/// file still has the former ones, and nothing tells the next link that these are wrong.
@Suite(.timeLimit(.minutes(10))) struct UnwrittenChangeTests {
    /// With a long UUID: the first answer about services doesn't have it.
    private static func service(_ characteristics: LocalCharacteristic...) -> LocalService {
        LocalService("7A1C0010-5F2B-4C8E-9D3A-6B70E14F2C55") { for one in characteristics { one } }
    }

    private static let value = LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([1, 2, 3]))
    private static let other = LocalCharacteristic(Bench.readOnly, [.read], value: .stored([7]))

    /// Reads on one link while nothing can be written, and on two links once that is possible again.
    private static func expectRightHandles(
        of peripheral: Peripheral,
        _ store: PeerStore,
        _ child: StoreChild,
        _ bench: Bench
    ) async throws {
        for round in 1...3 {
            if round == 2 { try child.freeDisk() }
            try await peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                #expect(link.servicesAreRemembered == (round == 3))
            }
            await bench.time.holding { await store.flush() }
        }
    }

    @Test func `a change that a bonded peripheral has told is known on its next link`() async throws {
        try await StoreChild.with { child in
            let serve = Bench.changing(to: [Self.service(Self.other, Self.value)])
            let description = LocalPeripheral(name: "Bench") { Self.service(Self.value, Self.other) }
            try await Bench.run(description: description, serve: serve) { bench in
                bench.air.faults.add(Self.withoutHash)
                let store = PeerStore(folder: child.folder) { _ in }
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                try await peripheral.withLink { try await $0.pair() }
                try await peripheral.withLink { link in
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                    await bench.time.holding { await store.flush() }
                    try child.fillDisk()
                    var changes = link.serviceChanges.makeAsyncIterator()
                    try await link.write([0xFF], to: Bench.readable)
                    _ = try await changes.next()
                    _ = try await link.discover()
                }
                await bench.time.holding { await store.flush() }
                try await Self.expectRightHandles(of: peripheral, store, child, bench)
            }
        }
    }

    /// What becomes of the link on which the peripheral tells of the change.
    enum Telling: CaseIterable {
        /// It is lost while the services are discovered anew.
        case linkIsLost
        /// It ends before the program asks for any service.
        case nobodyAsks
    }

    @Test(arguments: Telling.allCases)
    func `a change that was told, and not looked at before the link ended, is known on the next one`(
        _ telling: Telling
    ) async throws {
        let serve = Bench.changing(to: [Self.service(Self.other, Self.value)])
        let description = LocalPeripheral(name: "Bench") { Self.service(Self.value, Self.other) }
        try await Bench.run(description: description, serve: serve) { bench in
            bench.air.faults.add(Self.withoutHash)
            let central = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            try await peripheral.withLink { try await $0.pair() }
            try await peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                try await bench.time.sleep(for: .seconds(2))
                // Read By Group Type: the beginning of a discovery.
                if telling == .linkIsLost { bench.air.faults.add(.dropLink(insteadOf: .opcode(0x10))) }
                if telling == .nobodyAsks { bench.air.faults.add(.dropLink(insteadOf: .indications)) }
                try await link.write([0xFF], to: Bench.readable)
                try await bench.time.sleep(for: .seconds(5))
            }
            if telling == .nobodyAsks {
                try await peripheral.withLink { _ in try await bench.time.sleep(for: .seconds(5)) }
            }
            let confirmations = bench.sent(by: .central).count { $0 == [0x1E] }
            #expect(confirmations == 1)
            try await peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                #expect(!link.servicesAreRemembered)
            }
            try await peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                #expect(link.servicesAreRemembered)
            }
        }
    }

    /// Lets no peripheral have a hash.
    private static let withoutHash = Fault.replace(.where { $0.first == 0x08 && $0.suffix(2) == [0x2A, 0x2B] }) { pdu in
        Array(pdu.dropLast(2)) + [0xEF, 0xBE]
    }

    @Test func `a change that was found out is known on the next link`() async throws {
        try await StoreChild.with { child in
            let store = PeerStore(folder: child.folder) { _ in }
            try await VirtualTime.run { time in
                let air = SimulatedAir(time)
                let (far, near) = (air.adapter(), air.adapter())
                let central = try await Central.open(.radio(near), store: store)
                let (first, second) = (Self.service(Self.value, Self.other), Self.service(Self.other, Self.value))
                for (round, services) in [first, second, second].enumerated() {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        // It says that it stays as it is.
                        let device = LocalPeripheral(name: "Static") {
                            LocalService(.genericAttribute)
                            services
                        }
                        group.addTask { try await device.run(on: far) }
                        try await central.peripheral(far.address).withLink { link in
                            if round == 1 {
                                var changes = link.serviceChanges.makeAsyncIterator()
                                _ = try? await link.read(Bench.readable)
                                #expect(try await changes.next() != nil)
                            }
                            try await link.expect(Bench.readable, reads: [1, 2, 3])
                        }
                        group.cancelAll()
                    }
                    await time.holding { await store.flush() }
                    if round == 0 { try child.fillDisk() }
                }
            }
        }
    }

    @Test func `what can't be written is not remembered of each peripheral that is met for the first time`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: StoreChild.other))
            // A program that has stopped while it wrote, and a full disk.
            let lock = open("\(child.folder)/.lock", O_RDWR | O_CLOEXEC)
            try #require(flock(lock, LOCK_EX) == 0)
            let store = PeerStore(folder: child.folder, patience: .milliseconds(1)) { _ in
            } onLock: { _ in
            }
            for isLocked in [true, false] {
                for number: UInt64 in 1...20 {
                    let device = BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random)
                    store.remember(ServicesRecord(databaseHash: Data(), services: []), of: device)
                }
                await store.flush()
                #expect(store.changedPeers.isEmpty)
                guard isLocked else { break }
                close(lock)
                try child.fillDisk()
            }
        }
    }

    @Test func `where no file can be read, it is not remembered of ever more peripherals`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: StoreChild.other))
            // The store refuses that folder.
            try #require(chmod(child.folder, 0o777) == 0)
            let store = PeerStore(folder: child.folder, strangers: 8) {}
            for number: UInt64 in 1...20 {
                let device = BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random)
                store.remember(ServicesRecord(databaseHash: Data(), services: []), of: device)
            }
            await store.flush()
            #expect(store.changedPeers.count <= 8)
        }
    }
}
