import BLERadio
import BLESimulator
import Foundation
import Testing

@testable import BLEStreams

@Suite struct CentralScopeTests {
    enum Ending: CaseIterable { case returns, fails, isCancelled }

    @Test(arguments: Ending.allCases)
    func `links are down and subscriptions off when the scope is over`(_ ending: Ending) async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            let (received, isReceiving) = AsyncStream<Void>.makeStream()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    try? await Central.with(.radio(bench.centralAdapter)) { central in
                        let peripheral = central.peripheral(bench.peripheralAdapter.address)
                        let values = peripheral.stream { $0.notifications(of: Bench.notifying) }
                        for try await _ in values {
                            isReceiving.finish()
                            switch ending {
                            case .returns: return
                            case .fails: throw Stage.failure
                            case .isCancelled: break
                            }
                        }
                    }
                    #expect(bench.centralAdapter.activity.isIdle)
                    #expect(bench.writes.last == [0, 0])
                }
                for await _ in received {}
                if ending == .isCancelled { group.cancelAll() }
            }
        }
    }

    @Test func `without a scope a link goes down after the stream has ended`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            _ = try await bench.peripheral.stream { $0.notifications(of: Bench.notifying) }.first()
            #expect(!bench.centralAdapter.activity.isIdle)
            try await bench.time.sleep(for: .seconds(5))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `what was learned is on the disk when the scope is over`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "scope-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await Bench.run { bench in
            let store = PeerStore(folder: folder)
            try await Central.with(.radio(bench.centralAdapter), store: store) { central in
                central.core.store.update(bench.peripheralAdapter.address) { $0.bonds = [] }
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.contains { $0.hasSuffix(".json") })
        }
    }

    @Test func `a link that is still in use is waited for no longer than five seconds`() async throws {
        try await Bench.run { bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (up, isUp) = AsyncStream<Void>.makeStream()
                let end = try await Central.with(.radio(bench.centralAdapter)) { central in
                    group.addTask {
                        try await central.peripheral(bench.peripheralAdapter.address).withLink { _ in
                            isUp.finish()
                            try await bench.time.sleep(for: .seconds(60))
                        }
                    }
                    for await _ in up {}
                    return bench.time.now
                }
                #expect(bench.time.now - end == .seconds(5))
                group.cancelAll()
            }
        }
    }

    @Test func `it takes what a central is opened with, whether or not it waits for the adapter`() async throws {
        try await Bench.run { bench in
            let address = bench.peripheralAdapter.address
            let check = { @Sendable (central: Central) async throws in
                let link = try await central.peripheral(address).withLink { try await $0.conditions() }
                #expect(link.interval == .milliseconds(125))
                #expect(central.core.preferences.answers(for: address) != nil)
            }
            let choice = AdapterChoice.radio(bench.centralAdapter)
            let (slow, answers) = (ConnectionParameters.lowPower, PairingAnswers())
            try await Central.with(choice, parameters: slow, pairing: answers, recovery: .none) {
                try await check($0)
            }
            try await Central.with(choice, parameters: slow, pairing: answers, recovery: .none, waitingFor: nil) {
                try await check($0)
            }
        }
    }
}
