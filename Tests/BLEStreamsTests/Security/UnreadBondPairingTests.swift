import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// A peripheral whose bond can't be read is not taken for one without a bond.
@Suite(.timeLimit(.minutes(10))) struct UnreadBondPairingTests {
    /// What is refused, since other users may write to it.
    enum Refused: CaseIterable, Sendable {
        case folder
        case file
    }

    @Test(arguments: Refused.allCases)
    func `it is not paired anew, neither by a call nor by itself, and its bond is used once it can be read`(
        refused: Refused
    ) async throws {
        try await StoreChild.with { child in
            let folder = child.folder
            try await SecurityOnDemandTests.withVault { bench in
                let before = PeerStore(folder: folder) { _ in }
                let first = try await Central.open(.radio(bench.centralAdapter), store: before)
                let address = bench.peripheralAdapter.address
                try await first.peripheral(address).withLink { try await $0.pair() }
                await before.flush()
                let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                let name = try #require(names.first { $0.hasSuffix(".json") })
                let path = refused == .folder ? folder : "\(folder)/\(name)"

                // As after a restart of the machine.
                bench.centralAdapter.forgetBonds()
                try #require(chmod(path, refused == .folder ? 0o777 : 0o660) == 0)
                let store = PeerStore(folder: folder) { _ in }
                let next = try await Central.open(.radio(bench.centralAdapter), store: store)
                let peripheral = next.peripheral(address)
                let error = await bleError { try await peripheral.withLink { try await $0.pair() } }
                #expect(error?.code == .systemFailure && error?.operation == "pair", "\(error as Any)")
                #expect(error?.pairingFailure == nil && error?.isFinal == false)
                #expect(error?.cause.contains(path) == true && error?.remedy.contains("chmod") == true)
                _ = await bleError {
                    try await peripheral.withLink(pairing: PairingAnswers()) { link in
                        _ = try await link.read(SecurityOnDemandTests.secret)
                    }
                }

                try #require(chmod(path, refused == .folder ? 0o700 : 0o600) == 0)
                try await peripheral.withLink { link in
                    #expect(link.security.isEncrypted, "with the keys of the first pairing")
                    try await link.expect(SecurityOnDemandTests.secret, reads: [42])
                }
            }
        }
    }

    @Test func `it is not paired anew for a higher level either, where the adapter still has its keys`() async throws {
        try await StoreChild.with { child in
            let folder = child.folder
            try await SecurityOnDemandTests.withVault { bench in
                let store = PeerStore(folder: folder) { _ in }
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                try await peripheral.withLink { link in
                    try await link.pair()
                    await store.flush()
                    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                    let name = try #require(names.first { $0.hasSuffix(".json") })
                    let file = "\(folder)/\(name)"
                    bench.peripheralAdapter.settings.pairing = .showsPasskey(SecurityOnDemandTests.passkey)
                    let answers = PairingAnswers.passkey(SecurityOnDemandTests.passkey)

                    try #require(chmod(file, 0o660) == 0)
                    let error = await bleError { try await link.secure(to: .authenticated, answers: answers) }
                    #expect(error?.code == .systemFailure && error?.isFinal == false, "\(error as Any)")
                    #expect(error?.cause.contains(file) == true && link.security.level == .encrypted)

                    try #require(chmod(file, 0o600) == 0)
                    #expect(try central.bonds.map(\.isAuthenticated) == [false])
                    try await link.secure(to: .authenticated, answers: answers)
                    #expect(link.security.level == .secureConnections)
                }
                #expect(try central.bonds.map(\.isAuthenticated) == [true])
            }
        }
    }

    /// A radio during whose pairings a file becomes one that is refused.
    private struct RefusingRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let file: String

        func pair(
            with peer: BluetoothAddress,
            asking interview: PairingInterview,
            result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
        ) -> RadioActivity {
            chmod(file, 0o660)
            return radio.pair(with: peer, asking: interview, result: result)
        }
    }

    @Test func `no bond is stored in a file that is refused since the pairing began, neither then nor later`()
        async throws
    {
        try await StoreChild.with { child in
            let folder = child.folder
            try await SecurityOnDemandTests.withVault { bench in
                let address = bench.peripheralAdapter.address
                var other = Bond.planted(1, with: address)
                other.adapter = BluetoothAddress(rawValue: 0x0102_0304_0506, kind: .public)
                let store = PeerStore(folder: folder) { _ in }
                store.remember(other)
                await store.flush()
                let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                let name = try #require(names.first { $0.hasSuffix(".json") })
                let file = "\(folder)/\(name)"
                let radio = RefusingRadio(radio: bench.centralAdapter, file: file)
                let peripheral = try await Central.open(.radio(radio), store: store).peripheral(address)
                let error = await bleError { try await peripheral.withLink { try await $0.pair() } }
                #expect(error?.code == .systemFailure && error?.pairingFailure == nil, "\(error as Any)")
                #expect(error?.isFinal == false && error?.cause.contains(file) == true)
                try #require(chmod(file, 0o600) == 0)
                await store.flush()
                #expect(store.bonds(with: address) == [other])
            }
        }
    }

    /// As a program that lacks a permission finds it, which often may not read the files either.
    private struct ForbiddenRadio: RelayingRadio {
        static let refusal = BLEError(
            .permissionDenied,
            operation: "pair",
            object: "on hci0",
            cause: "this program may not pair",
            remedy: "Permit it."
        )
        let radio: SimulatedAdapter
        var pairingObstacle: BLEError? { Self.refusal }
    }

    @Test func `a program that may not pair at all is told that, and not to mend its files first`() async throws {
        try await StoreChild.with { child in
            let folder = child.folder
            try await SecurityOnDemandTests.withVault { bench in
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try #require(chmod(folder, 0o777) == 0)
                let store = PeerStore(folder: folder) { _ in }
                let central = try await Central.open(.radio(ForbiddenRadio(radio: bench.centralAdapter)), store: store)
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                let error = await bleError { try await peripheral.withLink { try await $0.pair() } }
                #expect(error?.code == .permissionDenied && error?.remedy == ForbiddenRadio.refusal.remedy)
                try #require(chmod(folder, 0o700) == 0)
            }
        }
    }
}
