import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// A central that pairs anew, or another device that claims its address, gets no weaker bond, nor one in place of a
/// bond that can't be read.
@Suite(.timeLimit(.minutes(10))) struct ReplacedBondTests {
    private static func description(_ pairing: PairingAnswers) -> LocalPeripheral {
        LocalPeripheral(name: "Lock", pairing: pairing) {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([42]), access: .encrypted)
            }
        }
    }

    /// An authenticated bond of an adapter with a central.
    private static func bond(of adapter: SimulatedAdapter, with central: SimulatedAdapter) -> Bond {
        var bond = Bond.planted(7, with: central.address)
        bond.adapter = adapter.address
        bond.encryptionKeys = bond.encryptionKeys.map { key in
            var key = key
            key.kind = 3
            return key
        }
        return bond
    }

    /// What the peripheral was told, and how often its adapter was given the keys of bonds.
    private struct Outcome {
        let paired = Recorder<Bond?>()
        let failures = Recorder<BLEError>()
        let restorations = Recorder<Int>()
    }

    /// Has a central pair with a peripheral, behind a change of the store whose bonds its adapter has got.
    private func pair(
        _ answers: PairingAnswers = PairingAnswers(),
        store: PeerStore,
        _ change: @escaping @Sendable (_ far: SimulatedAdapter, _ near: SimulatedAdapter) async throws -> Void
    ) async throws -> Outcome {
        let outcome = Outcome()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let puppet = PuppetRadio(far)
            let peripheral = try await Central.open(.radio(near), store: .inMemory()).peripheral(far.address)
            try await Self.description(answers).run(on: .radio(puppet), store: store, warning: { _ in }) { server in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await event in server.centralEvents {
                            switch event {
                            case .paired(_, let bond): outcome.paired.add(bond)
                            case .pairingFailed(_, let error): outcome.failures.add(error)
                            case .connected, .disconnected: break
                            }
                        }
                    }
                    try await time.sleep(for: .seconds(1))
                    try await change(far, near)
                    _ = try? await peripheral.withLink { link in
                        try await link.pair(answers: answers)
                        try await time.sleep(for: .seconds(1))
                    }
                    try await time.sleep(for: .seconds(1))
                    outcome.restorations.add(puppet.restorations)
                    group.cancelAll()
                }
            }
        }
        return outcome
    }

    @Test func `just works replaces no authenticated bond that the adapter doesn't know of`() async throws {
        let store = PeerStore.inMemory()
        let former = Recorder<Bond>()
        let outcome = try await pair(store: store) { far, near in
            former.add(Self.bond(of: far, with: near))
            // As by another program that shares the store.
            store.remember(Self.bond(of: far, with: near))
        }
        #expect(outcome.paired.all.isEmpty && outcome.failures.all.map(\.pairingFailure) == [.wouldWeakenBond])
        #expect(outcome.restorations.all == [2], "the adapter has the former keys again")
        let kept = try #require(former.all.first)
        #expect(store.bonds(with: kept.peer) == [kept])
    }

    @Test func `a passkey replaces a bond as before`() async throws {
        let store = PeerStore.inMemory()
        let former = Recorder<Bond>()
        let outcome = try await pair(.passkey(624_813), store: store) { far, near in
            former.add(Self.bond(of: far, with: near))
            store.remember(Self.bond(of: far, with: near))
        }
        #expect(outcome.paired.all.count == 1 && outcome.failures.all.isEmpty && outcome.restorations.all == [1])
        let replaced = try #require(former.all.first)
        #expect(store.bonds(with: replaced.peer).count == 1 && store.bonds(with: replaced.peer) != [replaced])
    }

    @Test(arguments: [false, true])
    func `a bond in a file that is refused is replaced by none that may be weaker, neither then nor later`(
        isAuthenticated: Bool
    ) async throws {
        try await StoreChild.with { child in
            let folder = child.folder
            let store = PeerStore(folder: folder) { _ in }
            let (former, files) = (Recorder<Bond>(), Recorder<String>())
            let answers = isAuthenticated ? PairingAnswers.passkey(624_813) : PairingAnswers()
            let outcome = try await pair(answers, store: store) { far, near in
                let bond = Self.bond(of: far, with: near)
                former.add(bond)
                let other = PeerStore(folder: folder) { _ in }
                other.remember(bond)
                await other.flush()
                let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                let name = try #require(names.first { $0.hasSuffix(".json") })
                files.add("\(folder)/\(name)")
                try #require(chmod("\(folder)/\(name)", 0o660) == 0)
            }
            let (kept, file) = (try #require(former.all.first), try #require(files.all.first))
            #expect(outcome.paired.all.count == (isAuthenticated ? 1 : 0))
            #expect(outcome.failures.all.map(\.code) == (isAuthenticated ? [] : [.systemFailure]))
            #expect(outcome.failures.all.allSatisfy { $0.cause.contains(file) && !$0.isFinal })
            try #require(chmod(file, 0o600) == 0)
            await store.flush()
            #expect((store.bonds(with: kept.peer) == [kept]) == !isAuthenticated)
        }
    }

    @Test func `the adapter gets the keys of a bond again whose central has failed to pair anew, not of a stranger`()
        async throws
    {
        let known = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        let stranger = BluetoothAddress(rawValue: 0xC4F2_171A_1DBC, kind: .random)
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter())
            let store = PeerStore.inMemory()
            store.remember(.planted(1, with: known))
            let description = Self.description(PairingAnswers())
            try await description.run(on: .radio(puppet), store: store, warning: { _ in }) { _ in
                #expect(puppet.restorations == 1)
                for (central, count) in [(stranger, 1), (known, 2)] {
                    puppet.tellPairingReceiver(.failed(central, .pairingFailed(by: central, .timedOut)))
                    try await time.sleep(for: .seconds(1))
                    #expect(puppet.restorations == count)
                }
            }
        }
    }
}
