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

    @Test func `what a central has configured outlives a link at whose beginning its file can't be read`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "served-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let encrypted = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
            air.setSecurity(encrypted, between: near, and: far)
            let store = PeerStore(folder: folder) { _ in }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Bench.description.run(on: .radio(far), store: store, warning: { _ in }) { server in
                        for try await _ in server.centralEvents {}
                    }
                }
                for round in 0..<3 {
                    try await RawCentral.connected(from: near, to: far.address) { central in
                        if round == 0 {
                            // Service Changed lies behind the Generic Access service: its configuration at 9.
                            let answer = await central.ask([0x12, 0x09, 0x00, 0x02, 0x00])
                            #expect(answer == [0x13])
                        }
                        let answer = await central.ask([0x0A, 0x09, 0x00])
                        #expect(answer == [0x0B, round == 1 ? 0x00 : 0x02, 0x00])
                    }
                    try await time.sleep(for: .seconds(5))
                    await store.flush()
                    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                    let file = try #require(names.filter { $0.hasSuffix(".json") }.first)
                    // Others may write to it, so it is refused.
                    try #require(chmod("\(folder)/\(file)", round == 0 ? 0o660 : 0o600) == 0)
                }
                group.cancelAll()
            }
        }
    }
}
