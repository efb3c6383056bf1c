import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// A link under a private address, whose identity a bond reveals while somebody waits for a link to that identity.
@Suite(.timeLimit(.minutes(10))) struct RevealedLinkTests {
    private typealias State = Peripheral.ConnectionState

    @Test func `an attempt to connect by the identity doesn't tell its end as that of the link`() async throws {
        try await PrivateNamesTests.run(isPaired: false) { bench, found, known in
            async let foundStates = found.connectionStates.take(until: bench.time.after(.seconds(30))).collect()
            async let knownStates = known.connectionStates.take(until: bench.time.after(.seconds(30))).collect()
            try await bench.time.sleep(for: .seconds(1))
            async let failure = bleError { try await known.withLink(timeout: .seconds(10)) { _ in } }
            try await bench.time.sleep(for: .seconds(1))
            try await found.withLink { link in
                #expect(!known.mayHave(found.address))
                try await link.pair()
                #expect(known.mayHave(found.address))
                try await bench.time.sleep(for: .seconds(15))
                for name in [found, known] {
                    #expect(try await name.connectionStates.first() == .connected, "\(name)")
                }
            }
            #expect(await failure?.code == .timedOut)
            let closed = State.disconnected(DisconnectReason(.closedLocally))
            let states: [State] = [.disconnected(nil), .connecting, .connected, .disconnecting, closed]
            #expect(try await foundStates == states)
            #expect(try await knownStates == states)
        }
    }

    @Test func `who comes then shares the link, whichever address is asked for`() async throws {
        try await PrivateNamesTests.run(isPaired: false) { bench, found, known in
            async let failure = bleError { try await known.withLink(timeout: .seconds(20)) { _ in } }
            try await bench.time.sleep(for: .seconds(1))
            try await found.withLink { link in
                try await link.pair()
                for name in [found, known] {
                    try await name.withLink(timeout: .seconds(5)) { other in
                        #expect(other.bearer === link.bearer, "\(name)")
                    }
                }
                try await bench.time.sleep(for: .seconds(25))
            }
            #expect(await failure?.code == .timedOut)
        }
    }

    @Test func `of a link and an attempt the link counts, whichever address is asked for`() throws {
        let peer = BluetoothAddress(rawValue: 0xC0_0000_0000_01, kind: .random)
        let key = try #require(SecretKey(octets: (0..<16).map { UInt8($0) }))
        // The order of the entries differs from one pair of addresses to the other.
        for number in UInt64(1)...16 {
            let alias = key.privateAddress(number)
            let identities = KnownIdentities()
            let board = ConnectionBoard(identities)
            board.set(.connecting, of: peer)
            board.set(.connected, of: alias)
            identities.add(Bond(peer: peer, adapter: peer, identityKey: key))
            for address in [peer, alias, key.privateAddress(number + 100)] {
                #expect(board.current(address) == .connected)
            }
            board.revealed(peer)
            board.set(.disconnected(nil), of: alias)
            #expect(board.isEmpty)
        }
    }
}
