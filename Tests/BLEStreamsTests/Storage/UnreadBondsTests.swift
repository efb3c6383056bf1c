import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// Bonds in files that can't be read are not taken for none.
@Suite(.timeLimit(.minutes(10))) struct UnreadBondsTests {
    private static let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    private static let other = BluetoothAddress(rawValue: 0xC4F2_171A_1DBC, kind: .random)

    /// A central whose store has two bonds, and the paths of the folder and of the first bond's file.
    private func withBonds(
        _ body: (_ central: Central, _ folder: String, _ file: String) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let before = PeerStore(folder: folder)
            before.remember(.planted(1, with: Self.peer))
            before.remember(.planted(2, with: Self.other))
            await before.flush()
            let file = "\(folder)/C4-F2-17-1A-1D-BB-random.json"
            try #require(FileManager.default.fileExists(atPath: file))
            let central = try await Central.open(
                .radio(SimulatedAir().adapter()),
                store: PeerStore(folder: folder) { _ in }
            )
            try await body(central, folder, file)
        }
    }

    @Test func `a folder that is refused is named each time`() async throws {
        try await withBonds { central, folder, _ in
            try #require(chmod(folder, 0o777) == 0)
            for _ in 1...2 {
                let error = #expect(throws: BLEError.self) { try central.bonds }
                #expect(error?.code == .systemFailure && error?.operation == "list bonds")
                #expect(error?.cause == "not all bonds could be read: \(folder): other users may write to it")
                #expect(error?.remedy.isEmpty == false)
            }
        }
    }

    @Test func `a folder that has been mended is named no more, and one that is refused again is`() async throws {
        try await withBonds { central, folder, _ in
            try #require(chmod(folder, 0o777) == 0)
            #expect(throws: BLEError.self) { try central.bonds }
            try #require(chmod(folder, 0o700) == 0)
            #expect(try central.bonds.count == 2)
            try #require(chmod(folder, 0o777) == 0)
            #expect(throws: BLEError.self) { try central.bonds }
        }
    }

    @Test func `a file that is refused is named, whatever the others have`() async throws {
        try await withBonds { central, folder, file in
            try #require(chmod(folder, 0o777) == 0)
            #expect(throws: BLEError.self) { try central.bonds }
            try #require(chmod(folder, 0o700) == 0)
            try #require(chmod(file, 0o660) == 0)
            for _ in 1...2 {
                let error = #expect(throws: BLEError.self) { try central.bonds }
                #expect(error?.cause == "not all bonds could be read: \(file): other users may write to it")
            }
            try #require(chmod(file, 0o600) == 0)
            #expect(try central.bonds.map(\.peer) == [Self.peer, Self.other])
        }
    }

    @Test func `what only other users could read, and what was damaged and is set aside, hides no other bond`()
        async throws
    {
        try await withBonds { central, _, file in
            try #require(chmod(file, 0o644) == 0)
            #expect(try central.bonds.count == 2)
            try Data("{".utf8).write(to: URL(filePath: file))
            #expect(try central.bonds.map(\.peer) == [Self.other])
        }
    }

    @Test(arguments: [false, true])
    func `a bond in a file that is refused is not replaced by an adopted one, neither then nor later`(
        replacing: Bool
    ) async throws {
        try await withBonds { central, _, file in
            let third = BluetoothAddress(rawValue: 0xC4F2_171A_1DBD, kind: .random)
            try #require(chmod(file, 0o660) == 0)
            let error = await bleError {
                try await central.adopt([.planted(3, with: third), .planted(3, with: Self.peer)], replacing: replacing)
            }
            #expect(error?.code == .systemFailure && error?.operation == "adopt", "\(error as Any)")
            #expect(error?.cause.contains(file) == true && error?.remedy.hasSuffix(" Then adopt again.") == true)
            try #require(chmod(file, 0o600) == 0)
            // Writes what is left for later.
            await central.core.store.flush()
            #expect(try central.bonds == [.planted(1, with: Self.peer), .planted(2, with: Self.other)])
        }
    }

    @Test func `a private address, whose identity may be in a file that is refused, is not said to have no bond`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: Self.peer))
            let folder = child.folder
            let file = "\(folder)/C4-F2-17-1A-1D-BB-random.json"
            try await VirtualTime.run { time in
                let store = PeerStore(folder: folder) { _ in }
                let central = try await Central.open(.radio(SimulatedAir(time).adapter()), store: store)
                let hidden = central.peripheral(BluetoothAddress(rawValue: 0x4AF2_171A_1DBB, kind: .random))
                try #require(hidden.address.subkind == .resolvablePrivate && chmod(file, 0o660) == 0)
                let error = await bleError { try await hidden.unpair() }
                #expect(error?.code == .systemFailure && error?.operation == "unpair", "\(error as Any)")
                #expect(error?.cause.contains(file) == true && error?.remedy.contains("chmod") == true)
                try #require(chmod(file, 0o600) == 0)
                let missing = await bleError { try await hidden.unpair() }
                #expect(missing?.code == .notFound)
            }
        }
    }
}
