import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// Bonds that can't be read when a peripheral begins to be served.
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
}
