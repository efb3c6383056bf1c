import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// Links that are up, and turn out to be of no use before anybody has them.
@Suite(.timeLimit(.minutes(10))) struct UnsettledLinkTests {
    /// An adapter that can't be given the keys of bonds.
    private struct ForgetfulRadio: IdleRadio {
        let radio: SimulatedAdapter

        var timeline: any Timeline { radio.timeline }

        func connect(
            to peer: BluetoothAddress,
            result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
        ) -> RadioActivity { radio.connect(to: peer, result: result) }

        func restore(
            _ bonds: [Bond],
            result: @escaping @Sendable (Result<Void, BLEError>) -> Void
        ) -> RadioActivity {
            timeline.schedule(after: .zero) {
                result(.failure(BLEError(.permissionDenied, operation: "restore", cause: "it takes no keys")))
            }
        }
    }

    /// A link that ends as soon as the MTU is agreed on.
    private func endingLink() -> FakeLink {
        let link = FakeLink(answers: [.sent])
        link.whileSending = { [weak link] in
            link?.whileSending = nil
            // Exchange MTU Response.
            link?.receive([0x03, 0x05, 0x02])
            link?.end()
        }
        return link
    }

    @Test func `a link that ends as it settles is not said to be up behind its end`() async throws {
        let link = endingLink()
        let central = try await Central.open(.radio(FakeRadio(link)))
        try await central.peripheral(link.peer).withLink { _ in }
        #expect(central.core.states.isEmpty)
    }

    @Test func `a link that ends as it settles is not counted among those that are up`() async throws {
        let (link, page) = (endingLink(), MetricsPage())
        let central = try await Central.open(.radio(FakeRadio(link)).reporting(to: page))
        try await central.peripheral(link.peer).withLink { _ in }
        let lines = page.text.split(separator: "\n").filter { $0.hasPrefix("ble_links{") }
        #expect(lines == [#"ble_links{peripheral="C4:F2:17:1A:1D:BB"} 0"#])
    }

    @Test func `a limit that passes while a link is prepared is not said to be that of an absent peripheral`()
        async throws
    {
        try await Bench.run { bench in
            bench.air.faults.add(.swallow(.opcode(0x02)))
            let error = await bleError { try await bench.peripheral.withLink(timeout: .seconds(3)) { _ in } }
            #expect(error?.code == .timedOut && error?.operation == "connect" && error?.elapsed == .seconds(3))
            #expect(error?.cause.contains("accepted the connection") == true, "\(error as Any)")
            #expect(error?.remedy.contains("allow more time") == true)
            try await bench.time.sleep(for: .seconds(3))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a limit that passes before its turn on the radio names those that have theirs`() async throws {
        try await Bench.run { bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<Connector.width {
                    let address = BluetoothAddress(rawValue: 0xC0DE_0000_1000 + UInt64(number), kind: .random)
                    let absent = bench.central.peripheral(address)
                    group.addTask { try await absent.withLink(timeout: .seconds(60)) { _ in } }
                }
                try await bench.time.sleep(for: .seconds(1))
                let error = await bleError { try await bench.peripheral.withLink(timeout: .seconds(3)) { _ in } }
                #expect(error?.code == .timedOut && error?.operation == "connect" && error?.elapsed == .seconds(3))
                #expect(error?.cause.contains("connecting to 16 other peripherals") == true, "\(error as Any)")
                #expect(error?.remedy.contains("allow more time") == true)
                try await bench.peripheral.withLink(timeout: .seconds(10)) { link in
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                }
                group.cancelAll()
            }
        }
    }

    /// With one more than there are turns, each has to make room again and again.
    @Test func `of absent ones that take turns with the radio, none that has had its turn names the others`()
        async throws
    {
        try await Bench.run { bench in
            let errors = await withTaskGroup(of: BLEError?.self) { group in
                for number in 0...Connector.width {
                    let address = BluetoothAddress(rawValue: 0xC0DE_0000_1000 + UInt64(number), kind: .random)
                    let absent = bench.central.peripheral(address)
                    group.addTask { await bleError { try await absent.withLink(timeout: .seconds(12)) { _ in } } }
                }
                return await group.reduce(into: [BLEError?]()) { $0.append($1) }
            }
            #expect(errors.count == Connector.width + 1)
            for error in errors { #expect(error?.cause.contains("did not accept a connection") == true) }
        }
    }

    @Test func `a limit that passes while the previous link is closing names that link`() async throws {
        try await VirtualTime.run { time in
            // One that doesn't end when it is told to.
            let link = FakeLink(answers: [.sent])
            link.whileSending = { [weak link] in
                link?.whileSending = nil
                // Exchange MTU Response.
                link?.receive([0x03, 0x05, 0x02])
            }
            let central = try await Central.open(.radio(FakeRadio(link, on: time)))
            let peripheral = central.peripheral(link.peer)
            try await peripheral.withLink { _ in }
            let error = await bleError { try await peripheral.withLink(timeout: .seconds(3)) { _ in } }
            #expect(error?.code == .timedOut && error?.operation == "connect" && error?.elapsed == .seconds(3))
            #expect(error?.cause.contains("the previous link to it is still closing") == true, "\(error as Any)")
            link.end()
        }
    }

    @Test func `a link that has ended is not said to be closing`() {
        let board = ConnectionBoard(KnownIdentities())
        let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        board.set(.connected, of: address)
        board.set(.disconnected(nil), of: address)
        board.set(.disconnecting, of: address) { true }
        #expect(board.current(address) == .disconnected(nil))
        let isDown = Flag()
        board.whenDown(address) { isDown.set() }
        #expect(isDown.isSet)
    }

    @Test func `the end of a link is told under each address of its peripheral, also if its key is forgotten before`()
        throws
    {
        let key = try #require(SecretKey(octets: (0..<16).map { UInt8($0) }))
        let peer = BluetoothAddress(rawValue: 0xC0_0000_0000_01, kind: .random)
        let alias = key.privateAddress(1)
        let identities = KnownIdentities()
        identities.renew([Bond(peer: peer, adapter: peer, identityKey: key)])
        let board = ConnectionBoard(identities)
        board.set(.connected, of: alias)
        board.set(.disconnecting, of: peer)
        #expect(board.current(alias) == .disconnecting)
        let isDown = Flag()
        board.whenDown(alias) { isDown.set() }
        identities.renew([])
        #expect(identities.identity(of: alias) == alias)
        #expect(!isDown.isSet)
        board.set(.disconnected(nil), of: peer)
        #expect(isDown.isSet && board.isEmpty)
    }

    @Test func `the end of a link is told under each address of its peripheral, also if its key is replaced before`()
        throws
    {
        let peer = BluetoothAddress(rawValue: 0xC0_0000_0000_01, kind: .random)
        let (first, second) = (Bond.planted(1, with: peer), Bond.planted(2, with: peer))
        let alias = try #require(first.identityKey).privateAddress(1)
        let replacements: [(KnownIdentities) -> Void] = [{ $0.add(second) }, { $0.renew([second]) }]
        for replace in replacements {
            let identities = KnownIdentities()
            identities.add(first)
            let board = ConnectionBoard(identities)
            board.set(.connected, of: alias)
            board.set(.disconnecting, of: peer)
            let isDown = Flag()
            board.whenDown(alias) { isDown.set() }
            replace(identities)
            #expect(identities.identity(of: alias) == alias)
            board.set(.disconnected(nil), of: peer)
            #expect(isDown.isSet && board.isEmpty)
        }
    }

    @Test func `of the keys that are forgotten only the latest tell of an end: programs pair and unpair for months`()
        throws
    {
        let identities = KnownIdentities()
        let aliases = try (0...KnownIdentities.maximumFormer).map { number -> BluetoothAddress in
            let octets = [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 7, count: 14)
            let key = try #require(SecretKey(octets: octets))
            let peer = BluetoothAddress(rawValue: 0xC0_0000_0000_00 + UInt64(number), kind: .random)
            identities.renew([Bond(peer: peer, adapter: peer, identityKey: key)])
            return key.privateAddress(1)
        }
        identities.renew([])
        #expect(!identities.mayHaveOthers(aliases[0]))
        #expect(aliases.dropFirst().allSatisfy { identities.mayHaveOthers($0) })
    }

    @Test func `a link that can't be encrypted is said to be closed first, and to be down when it is`() async throws {
        try await Bench.run { bench in
            let store = PeerStore.inMemory()
            let first = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await first.peripheral(bench.peripheralAdapter.address).withLink { try await $0.pair() }
            bench.centralAdapter.forgetBonds()
            let central = try await Central.open(.radio(ForgetfulRadio(radio: bench.centralAdapter)), store: store)
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            let states = Recorder<(state: Peripheral.ConnectionState, links: Int)>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await state in peripheral.connectionStates {
                        states.add((state, bench.centralAdapter.activity.links.count))
                    }
                }
                try await bench.time.sleep(for: .seconds(1))
                for _ in 0..<2 {
                    let error = await bleError { try await peripheral.withLink { _ in } }
                    #expect(error?.code == .permissionDenied || error?.code == .securityFailed, "\(error as Any)")
                }
                try await bench.time.sleep(for: .seconds(10))
                group.cancelAll()
            }
            let words = states.all.map { "\($0.state), \($0.links)" }
            #expect(
                states.all.map { "\($0.state)".prefix(9) }
                    == ["disconnec", "connectin", "disconnec", "disconnec", "connectin", "disconnec", "disconnec"],
                "\(words)"
            )
            // Whoever hears that there is no link finds none.
            #expect(
                states.all.allSatisfy { if case .disconnected = $0.state { $0.links == 0 } else { true } },
                "\(words)"
            )
        }
    }
}
