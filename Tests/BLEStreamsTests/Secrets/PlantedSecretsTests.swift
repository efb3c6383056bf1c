import BLEProtocol
import BLERadio
import Foundation
import RadioDoubles
import Testing

@testable import BLESimulator
@testable import BLEStreams

/// Whoever prints, interpolates or dumps what holds a key or a passkey, or an error, sees neither.
@Suite(.timeLimit(.minutes(10))) struct PlantedSecretsTests {
    private static let peer = StoreChild.peer

    /// A question or an answer, whichever way it came.
    private static let interviews: [any Sendable] = [
        PairingQuestion.comparison(Planted.passkey),
        PairingQuestion.display(Planted.passkey, typed: 3),
        PairingQuestion.Answer.passkey(Planted.passkey),
        PairingAnswers.passkey(Planted.passkey),
        PairingInterview(.keyboardOnly) { _, reply in reply(.passkey(Planted.passkey)) },
        PairingReception(.keyboardOnly) { _ in
            PairingInterview(.keyboardOnly) { _, reply in reply(.passkey(Planted.passkey)) }
        },
        PairingManner.showsPasskey(Planted.passkey),
    ]

    private static func keys() throws -> [any Sendable] {
        let bond = Bond.planted(1, with: peer)
        let record = PeerRecord(bonds: [BondRecord(bond)])
        return [
            bond, bond.encryptionKeys, bond.encryptionKeys[0].value,
            try #require(SigningKey(octets: Planted.octets())),
            record, BondRecord(bond), BondRecord(bond).encryptionKeys, PeerFile(record, of: peer), BondFile([bond]),
            try #require(BluetoothdBonds("[LongTermKey]\nKey=5EC2E74B1E557A0D5162738495A6B700\n")),
            SimulatedKey(7, isAuthenticated: true), SimulatedKey(bond.encryptionKeys[0]),
        ]
    }

    @Test func `the search finds what is not hidden, in every form`() {
        let octets = Planted.octets()
        let hex = octets.map { String($0, radix: 16).count < 2 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
        let texts: [Any] = [
            octets, octets.reversed() as [UInt8], hex.joined(), hex.joined(separator: " ").uppercased(),
            hex.joined(separator: ":"), octets.map { "0x" + String($0, radix: 16) }.joined(separator: ", "),
            UInt64(0x5EC2_E74B_1E55_7A0D),
        ]
        for text in texts { #expect(Planted.shown(by: text) == ["key"], "\(text)") }
        for text: Any in [Planted.passkey, "0\(Planted.passkey)", ["code": 730_914]] {
            #expect(Planted.shown(by: text) == ["passkey"], "\(text)")
        }
        #expect(Planted.shown(by: Planted.value) == ["value"])
        #expect(Planted.shown(by: "0624812 is longer, and 5ec2e74b shorter").isEmpty)
        #expect(
            SimulatedKey.mark == Planted.mark.reduce(0) { $0 << 8 | UInt64($1) },
            "the simulator's keys are found too"
        )
    }

    @Test func `nothing that holds a key or a passkey shows it`() throws {
        for value in try Self.interviews + Self.keys() {
            #expect(Planted.shown(by: value).isEmpty, "\(type(of: value))")
        }
    }

    @Test func `no store shows its keys, with and without a folder, before they are written and after`() async throws {
        try await StoreChild.with { child in
            for store in [PeerStore.inMemory(), PeerStore(folder: child.folder)] {
                store.remember(.planted(1, with: Self.peer))
                #expect(Planted.shown(by: store).isEmpty && Planted.shown(by: store.record(of: Self.peer)).isEmpty)
                await store.flush()
                #expect(Planted.shown(by: store).isEmpty)
            }
        }
    }

    @Test func `no error of a pairing shows the passkey that was wrong, nor the right one`() async throws {
        let errors = Recorder<any Error>()
        try await Bench.run { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Planted.passkey)
            for answers in [
                PairingAnswers.passkey(Planted.otherPasskey), .passkey(1_000_000 + Planted.passkey), .init(),
            ] {
                do {
                    try await bench.peripheral.withLink { try await $0.pair(answers: answers) }
                } catch {
                    errors.add(error)
                }
            }
            try await bench.peripheral.withLink { link in
                try await link.pair(answers: .passkey(Planted.passkey))
                let bonds = try bench.central.bonds
                for value: Any in [link, bench.central, bench.peripheral, bonds, link.security] {
                    #expect(Planted.shown(by: "\(value) \(String(reflecting: value))").isEmpty, "\(type(of: value))")
                }
            }
        }
        #expect(errors.all.count == 3)
        for error in errors.all { #expect(Planted.shown(by: error).isEmpty, "\(type(of: error))") }
    }

    @Test func `no error of an operation shows the value that was to be written`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let long = Array(repeatElement(Planted.value, count: 100).joined())
                for (value, characteristic) in [(long, Bench.readable), (Planted.value, BluetoothUUID(0xDEAD))] {
                    let error = await #expect(throws: (any Error).self) {
                        try await link.write(value, to: characteristic)
                    }
                    if let error { #expect(Planted.shown(by: error).isEmpty) }
                }
            }
        }
    }

    @Test func `no warning about a damaged file shows what is in it`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: Self.peer))
            let path = "\(child.folder)/C4-F2-17-1A-1D-BB-random.json"
            var octets = try Data(contentsOf: URL(filePath: path))
            octets.removeLast(3)
            try octets.write(to: URL(filePath: path))
            let warnings = Recorder<BLEError>()
            #expect(PeerStore(folder: child.folder) { warnings.add($0) }.bonds(with: Self.peer).isEmpty)
            #expect(warnings.all.count == 1 && Planted.shown(by: warnings.all).isEmpty)
            // Its keys are Base64 there.
            let key = try #require(String(data: Data(Planted.octets(1)).base64EncodedData(), encoding: .utf8))
            #expect(String(decoding: octets, as: UTF8.self).contains(key) && !"\(warnings.all)".contains(key))
        }
    }

    @Test func `a capture has what was read and written, nobody else reads it, and no key is in it`() async throws {
        try await StoreChild.with { child in
            let parent = URL(filePath: child.folder).deletingLastPathComponent().path()
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            let path = "\(parent)/walk.btsnoop"
            try await Bench.run { bench in
                bench.peripheralAdapter.settings.pairing = .showsPasskey(Planted.passkey)
                let capture = try TrafficCapture(file: path)
                let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
                try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                    try await link.pair(answers: .passkey(Planted.passkey))
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                }
                try await capture.close()
            }
            let octets = try Data(contentsOf: URL(filePath: path))
            #expect(octets.contains([0x0B, 1, 2, 3]), "the answer to the read")
            #expect(!octets.contains(Planted.mark) && !octets.contains(Planted.mark.reversed()))
            #expect(Planted.found(in: String(decoding: octets, as: UTF8.self)).isEmpty)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
    }
}

extension Data {
    fileprivate func contains(_ part: some Collection<UInt8>) -> Bool { firstRange(of: Data(part)) != nil }
}
