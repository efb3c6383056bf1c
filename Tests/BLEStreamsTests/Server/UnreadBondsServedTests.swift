import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// Files that can't be read when a peripheral begins to be served, or when their central connects.
@Suite(.timeLimit(.minutes(10))) struct UnreadBondsServedTests {
    @Test func `the adapter gets the bonds of files that could not be read at first once they can be, each once`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: StoreChild.peer), .planted(2, with: StoreChild.other))
            let folder = child.folder
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
            try #require(names.count == 2)
            for name in names { try #require(chmod("\(folder)/\(name)", 0o660) == 0) }
            try await VirtualTime.run { time in
                let puppet = PuppetRadio(SimulatedAir(time).adapter())
                let store = PeerStore(folder: folder) { _ in }
                try await Bench.description.run(on: .radio(puppet), store: store, warning: { _ in }) { _ in
                    try await time.sleep(for: .seconds(600))
                    #expect(puppet.restorations == 1)
                    for (index, name) in names.enumerated() {
                        try #require(chmod("\(folder)/\(name)", 0o600) == 0)
                        try await time.sleep(for: .seconds(120))
                        #expect(puppet.restorations == 2 + index)
                    }
                    try await time.sleep(for: .seconds(600))
                    #expect(puppet.restorations == 3)
                }
            }
        }
    }

    @Test func `the adapter gets the bonds of files that can be read at first, but not when it is given them`()
        async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: StoreChild.peer))
            let folder = child.folder
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
            let name = try #require(names.first)
            let file = "\(folder)/\(name)"
            var description = Bench.description
            description.resuming = .exponential()
            let served = description
            try await VirtualTime.run { time in
                let adapter = SimulatedAir(time).adapter()
                let puppet = PuppetRadio(adapter)
                let store = PeerStore(folder: folder) { _ in }
                adapter.powerOff()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await served.run(on: .radio(puppet), store: store, warning: { _ in }) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                    // It is given them when it is on.
                    try await time.sleep(for: .seconds(10))
                    #expect(puppet.restorations == 0)
                    try #require(chmod(file, 0o660) == 0)
                    adapter.powerOn()
                    try await time.sleep(for: .seconds(600))
                    #expect(puppet.restorations == 1)
                    try #require(chmod(file, 0o600) == 0)
                    try await time.sleep(for: .seconds(120))
                    #expect(puppet.restorations == 2)
                    group.cancelAll()
                }
            }
        }
    }

    @Test(arguments: [BLEError.Code.systemFailure, .securityFailed])
    func `an adapter that takes no bonds for a reason that may pass gets them later`(code: BLEError.Code) async throws {
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter())
            puppet.obstacleToBonds = BLEError(code, operation: "restore bonds", object: "of hci0", cause: "refused")
            try await Bench.description.run(on: puppet, warning: { _ in }) { _ in
                try await time.sleep(for: .seconds(30))
                #expect(puppet.restorations == 1)
                puppet.obstacleToBonds = nil
                try await time.sleep(for: .seconds(600))
                #expect(puppet.restorations == (code == .systemFailure ? 2 : 1))
            }
        }
    }

    /// A peripheral and a central whose link is encrypted.
    private struct Scene: Sendable {
        /// Client Characteristic Configurations of the bench.
        static let notifying: UInt8 = 0x15
        static let counter: UInt8 = 0x20

        let time: VirtualTime
        let near: SimulatedAdapter
        let far: SimulatedAdapter
        let folder: String
        let store: PeerStore
        let told = Recorder<Bool>()

        init(_ time: VirtualTime, folder: String) {
            let air = SimulatedAir(time)
            (near, far) = (air.adapter(), air.adapter())
            let encrypted = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
            air.setSecurity(encrypted, between: near, and: far)
            self.time = time
            self.folder = folder
            store = PeerStore(folder: folder) { _ in }
        }

        /// Makes the central's file refused, since others may write to it, or good again.
        func setRefused(_ isRefused: Bool) async throws {
            await store.flush()
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            let file = try #require(names.filter { $0.hasSuffix(".json") }.first)
            try #require(chmod("\(folder)/\(file)", isRefused ? 0o660 : 0o600) == 0)
        }

        func connected(_ body: (RawCentral) async throws -> Void) async throws {
            try await RawCentral.connected(from: near, to: far.address, body)
            try await time.sleep(for: .seconds(5))
        }

        /// Configures what notifies, or the counter.
        func configure(_ bits: UInt8, at handle: UInt8 = Self.notifying, of central: RawCentral) async {
            let answer = await central.ask([0x12, handle, 0x00, bits, 0x00])
            #expect(answer == [0x13])
        }

        /// Expects what is configured of that.
        func expect(_ bits: UInt8, at handle: UInt8 = Self.notifying, of central: RawCentral) async {
            let answer = await central.ask([0x0A, handle, 0x00])
            #expect(answer == [0x0B, bits, 0x00])
        }
    }

    /// Serves a central that has subscribed on an earlier link, and whose file is refused then.
    private static func serve(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "served-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await VirtualTime.run { time in
            let scene = Scene(time, folder: folder)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let store = scene.store
                    try await Bench.description.run(on: .radio(scene.far), store: store, warning: { _ in }) { server in
                        for try await change in server.subscriptions() { scene.told.add(change.isSubscribed) }
                    }
                }
                try await scene.connected { await scene.configure(0x01, of: $0) }
                try await scene.setRefused(true)
                try await body(scene)
                group.cancelAll()
            }
        }
    }

    @Test func `what a central has configured outlives a link at whose beginning its file can't be read`()
        async throws
    {
        try await Self.serve { scene in
            for bits: UInt8 in [0x00, 0x01] {
                try await scene.connected { await scene.expect(bits, of: $0) }
                try await scene.setRefused(false)
            }
        }
    }

    @Test func `what a central has configured outlives also several links on which its file can't be read`()
        async throws
    {
        try await Self.serve { scene in
            try await scene.connected { await scene.configure(0x01, at: Scene.counter, of: $0) }
            // What it has configured since then is known here, and is not all.
            try await scene.connected { central in
                await scene.expect(0x01, at: Scene.counter, of: central)
                await scene.expect(0x00, of: central)
            }
            try await scene.setRefused(false)
            try await scene.connected { central in
                await scene.expect(0x01, at: Scene.counter, of: central)
                await scene.expect(0x01, of: central)
            }
        }
    }

    @Test(arguments: [false, true])
    func `what a central switches off where its file can't be read stays off`(isReadAgain: Bool) async throws {
        try await Self.serve { scene in
            try await scene.connected { central in
                await scene.configure(0x00, of: central)
                guard isReadAgain else { return }
                try await scene.setRefused(false)
                try await scene.time.sleep(for: .seconds(120))
                await scene.expect(0x00, of: central)
            }
            // Otherwise there is no file any more.
            if !isReadAgain { try await scene.setRefused(false) }
            try await scene.connected { await scene.expect(0x00, of: $0) }
        }
    }

    @Test func `what a central configures is stored soon also where its file could not be read at first`()
        async throws
    {
        try await Self.serve { scene in
            try await scene.connected { central in
                await scene.configure(0x01, at: Scene.counter, of: central)
                try await scene.setRefused(false)
                try await scene.time.sleep(for: .seconds(5))
                await scene.store.flush()
                let stored = PeerStore(folder: scene.folder).record(of: scene.near.address).served?.configurations
                #expect(stored?.map(\.valueHandle) == [0x14, 0x1F])
            }
        }
    }

    @Test func `what a central has configured holds again on its link once its file can be read`() async throws {
        try await Self.serve { scene in
            try await scene.connected { central in
                try await scene.time.sleep(for: .seconds(600))
                #expect(scene.told.all == [true, false])
                try await scene.setRefused(false)
                try await scene.time.sleep(for: .seconds(120))
                #expect(scene.told.all == [true, false, true])
                await scene.expect(0x01, of: central)
            }
            // It is kept from then on.
            try await scene.connected { await scene.expect(0x01, of: $0) }
            #expect(scene.told.all == [true, false, true, false, true, false])
        }
    }
}
