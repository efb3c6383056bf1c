import BLEProtocol
import BLERadio
import BLESimulator
import Dispatch
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// A central that connects again before the end of its former link is known here: one that was switched off and on
/// again within the link's supervision timeout.
@Suite(.timeLimit(.minutes(10))) struct LinksOfOneCentralTests {
    /// Service Changed lies behind the Generic Access service: its value at 8, its configuration at 9.
    private static let subscribing: [UInt8] = [0x12, 0x09, 0x00, 0x02, 0x00]
    private static let unsubscribing: [UInt8] = [0x12, 0x09, 0x00, 0x00, 0x00]
    private static let asking: [UInt8] = [0x0A, 0x09, 0x00]

    /// An encrypted link that ends when the test says so; all of them come from one central, whatever its address.
    private final class Twin: ATTLink {
        static let central = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

        private let state = Mutex<(receiver: (any ATTLinkReceiver)?, sent: [[UInt8]])>((nil, []))

        let peer: BluetoothAddress
        let local: BluetoothAddress? = nil
        let maximumPDUSize = 672
        let isResumed = false
        let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)

        init(_ peer: BluetoothAddress = Twin.central) { self.peer = peer }

        /// What the server has sent.
        var sent: [[UInt8]] { state.withLock { $0.sent } }

        func start(_ receiver: any ATTLinkReceiver) { state.withLock { $0.receiver = receiver } }

        func send(_ pdu: [UInt8]) -> SendResult {
            state.withLock { $0.sent.append(pdu) }
            return .sent
        }

        func receive(_ pdu: [UInt8]) {
            let time = ReceptionTime(sinceEpoch: .seconds(1_700_000_000), source: .simulation)
            state.withLock { $0.receiver }?.linkReceived(ReceivedPDUs(pdu, time: time))
        }

        func end(_ reason: DisconnectReason = DisconnectReason(.closedByPeer)) {
            let last = state.withLock { $0.receiver.take() }
            last?.linkEnded(reason)
        }

        func disconnect() { end(DisconnectReason(.closedLocally)) }

        func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }
    }

    /// Serves a peripheral whose radio hands out the links that a test makes.
    private static func serve(
        pairing: PairingAnswers? = nil,
        store: PeerStore = .inMemory(),
        _ body: @escaping @Sendable (PeripheralServer, PuppetRadio, PeerStore, VirtualTime) async throws -> Void
    ) async throws {
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter())
            let served = LocalPeripheral(name: "Twice", pairing: pairing) {
                LocalService(BluetoothUUID(0xD000)) {
                    LocalCharacteristic(BluetoothUUID(0xD001), [.read], value: .stored([1]))
                }
            }
            try await served.run(on: .radio(puppet), store: store, warning: { _ in }) { server in
                try await body(server, puppet, store, time)
            }
        }
    }

    @Test func `what it configures on the newer link outlives the end of the older one`() async throws {
        try await Self.serve { _, puppet, store, time in
            let (older, newer) = (Twin(), Twin())
            puppet.tellListener(.accepted(older))
            puppet.tellListener(.accepted(newer))
            newer.receive(Self.subscribing)
            try await time.sleep(for: .seconds(5))
            older.end()
            // The newer link is up: this is what a program that is killed leaves.
            let kept = store.record(of: Twin.central).served?.configurations
            #expect(kept == [ServedRecord.Configuration(valueHandle: 8, value: 2)])
            newer.receive(Self.unsubscribing)
            newer.end()
            #expect(store.record(of: Twin.central).served == nil)
        }
    }

    @Test func `the newer link begins with what it has just configured on the older one`() async throws {
        try await Self.serve { _, puppet, _, _ in
            let (older, newer) = (Twin(), Twin())
            puppet.tellListener(.accepted(older))
            older.receive(Self.subscribing)
            puppet.tellListener(.accepted(newer))
            newer.receive(Self.asking)
            #expect(newer.sent.contains([0x0B, 0x02, 0x00]))
            older.end()
            newer.end()
        }
    }

    @Test func `a pairing is told of the newer link`() async throws {
        try await Self.serve { server, puppet, _, time in
            let named = Recorder<Int>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await event in server.centralEvents {
                        switch event {
                        case .paired(let central, _), .pairingFailed(let central, _): named.add(central.id)
                        case .connected, .disconnected: break
                        }
                    }
                }
                try await time.sleep(for: .seconds(1))
                puppet.tellListener(.accepted(Twin()))
                puppet.tellListener(.accepted(Twin()))
                puppet.tellPairingReceiver(.paired(Twin.central, nil))
                puppet.tellPairingReceiver(.failed(Twin.central, .pairingFailed(by: Twin.central, .refused)))
                try await time.sleep(for: .seconds(1))
                #expect(server.centrals.map(\.id) == [0, 1])
                #expect(named.all == [1, 1])
                group.cancelAll()
            }
        }
    }

    /// The kernel names a central by its identity once it knows that, and a reception that begins anew asks it who is
    /// connected.
    @Test func `a pairing is told by the identity too that the central has sent on its link`() async throws {
        let identity = BluetoothAddress(rawValue: 0xC4F2_171A_1DCC, kind: .random)
        let bond = Bond.planted(1, with: identity)
        try await Self.serve { server, puppet, store, time in
            let told = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await event in server.centralEvents {
                        switch event {
                        case .paired(let central, _): told.add("\(central) paired")
                        case .pairingFailed(let central, _): told.add("\(central) failed")
                        case .connected, .disconnected: break
                        }
                    }
                }
                try await time.sleep(for: .seconds(1))
                puppet.tellListener(.accepted(Twin()))
                puppet.tellPairingReceiver(.paired(Twin.central, bond))
                puppet.tellPairingReceiver(.failed(identity, .pairingFailed(by: identity, .refused)))
                puppet.tellPairingReceiver(.paired(identity, bond))
                try await time.sleep(for: .seconds(1))
                #expect(told.all == ["paired", "failed", "paired"].map { "\(Twin.central) \($0)" })
                #expect(store.bonds(with: identity).count == 1)
                group.cancelAll()
            }
        }
    }

    @Test func `a central keeps what it has configured though it leaves before its bond is stored`() async throws {
        let identity = BluetoothAddress(rawValue: 0xC4F2_171A_1DCC, kind: .random)
        let bond = Bond.planted(1, with: identity)
        let alias = try #require(bond.identityKey).privateAddress(1)
        try await StoreChild.with { child in
            try await Self.serve(store: PeerStore(folder: child.folder) { _ in }) { _, puppet, store, time in
                let link = Twin(alias)
                puppet.tellListener(.accepted(link))
                try await time.sleep(for: .seconds(1))
                link.receive(Self.subscribing)
                let mayRead = DispatchSemaphore(value: 0)
                store.perform(on: time) { mayRead.wait() }
                puppet.tellPairingReceiver(.paired(alias, bond))
                link.end()
                mayRead.signal()
                try await time.sleep(for: .seconds(1))
                #expect(store.bonds(with: identity) == [bond])
                let kept = store.record(of: identity).served?.configurations
                #expect(kept == [ServedRecord.Configuration(valueHandle: 8, value: 2)])
            }
        }
    }

    @Test func `what a central configures is kept once it has paired for a bond that may replace the former one`()
        async throws
    {
        var authenticated = Bond.planted(1, with: Twin.central)
        authenticated.encryptionKeys = authenticated.encryptionKeys.map { key in
            var key = key
            key.kind = 3
            return key
        }
        let former = authenticated
        try await Self.serve { _, puppet, store, time in
            store.remember(former)
            let link = Twin()
            puppet.tellListener(.accepted(link))
            puppet.tellPairingReceiver(.paired(Twin.central, Bond.planted(2, with: Twin.central)))
            link.receive(Self.subscribing)
            try await time.sleep(for: .seconds(5))
            #expect(store.record(of: Twin.central).served == nil && store.bonds(with: Twin.central) == [former])
            puppet.tellPairingReceiver(.paired(Twin.central, former))
            try await time.sleep(for: .seconds(5))
            let kept = store.record(of: Twin.central).served?.configurations
            #expect(kept == [ServedRecord.Configuration(valueHandle: 8, value: 2)])
            link.end()
        }
    }

    @Test func `nothing is kept of what a central configures that pairs without a bond`() async throws {
        try await Self.serve { _, puppet, store, time in
            let link = Twin()
            puppet.tellListener(.accepted(link))
            link.receive(Self.subscribing)
            puppet.tellPairingReceiver(.paired(Twin.central, nil))
            try await time.sleep(for: .seconds(5))
            #expect(store.record(of: Twin.central).isEmpty)
            link.end()
            #expect(store.record(of: Twin.central).isEmpty)
            let next = Twin()
            puppet.tellListener(.accepted(next))
            next.receive(Self.asking)
            #expect(next.sent.contains([0x0B, 0x00, 0x00]))
            next.end()
        }
    }

    @Test func `the end of the older link withdraws no question of the newer one's pairing`() async throws {
        let answers = Recorder<PairingQuestion.Answer>()
        let (decisions, user) = AsyncStream<Bool>.makeStream()
        let compares: @Sendable (UInt32) async -> Bool = { _ in
            for await isSame in decisions { return isSame }
            return false
        }
        try await Self.serve(pairing: PairingAnswers(compares: compares)) { server, puppet, _, time in
            let (older, newer) = (Twin(), Twin())
            puppet.tellListener(.accepted(older))
            puppet.tellListener(.accepted(newer))
            let interview = server.visits.reception.interview?(Twin.central)
            interview?.ask(.comparison(1)) { answers.add($0) }
            try await time.sleep(for: .seconds(1))
            older.end()
            try await time.sleep(for: .seconds(1))
            user.yield(true)
            try await time.sleep(for: .seconds(1))
            #expect(answers.all == [.accept])
            newer.end()
        }
    }
}
