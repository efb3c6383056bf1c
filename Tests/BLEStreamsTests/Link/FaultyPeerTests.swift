import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Peers that do less than they should, and what the library makes of it.
@Suite(.timeLimit(.minutes(10))) struct FaultyPeerTests {
    private func onLink(
        _ faults: [Fault] = [],
        _ body: @escaping @Sendable (Link, Bench) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            for fault in faults { bench.air.faults.add(fault) }
            try await bench.peripheral.withLink { link in try await body(link, bench) }
        }
    }

    // MARK: - Exchange MTU

    @Test func `a peer that never answers Exchange MTU is used with 23`() async throws {
        try await onLink([.swallow(.opcode(0x02))]) { link, bench in
            #expect(link.mtu == 23 && bench.time.now < .seconds(6))
            try await link.expect(Bench.long, reads: Bench.longValue)
            #expect(bench.sent(by: .central).count { $0.first == 0x02 } == 1)
        }
    }

    @Test(
        arguments: [
            [0x01, 0x02, 0x00, 0x00, 0x06], [0x01, 0x02, 0x00, 0x00, 0x0E], [0x01, 0x02, 0x00, 0x00, 0x80], [0x03],
            [0x03, 0x17], [0x03, 0x05, 0x02, 0x00],
        ] as [[UInt8]]
    )
    func `a peer that refuses Exchange MTU, or answers it with nonsense, is used with 23`(answer: [UInt8]) async throws
    {
        try await onLink([.replace(.opcode(0x03), with: answer)]) { link, _ in
            #expect(link.mtu == 23)
        }
    }

    @Test func `the answer to Exchange MTU counts also when it comes too late`() async throws {
        try await onLink([.delay(.opcode(0x03), by: .seconds(8))]) { link, bench in
            #expect(link.mtu == 23)
            try await link.expect(Bench.readable, reads: [1, 2, 3])
            try await bench.time.sleep(for: .seconds(8))
            #expect(link.mtu == 517 && link.ignoredPDUs == 0)
            try await link.expect(Bench.long, reads: Bench.longValue)
        }
    }

    @Test func `a link whose peer answers Exchange MTU with half an error ends, and the next one is made`() async throws
    {
        try await Bench.run { bench in
            bench.air.faults.add(.replace(.opcode(0x03), with: [0x01, 0x02]).times(1))
            let error = await bleError { try await bench.peripheral.withLink { _ in } }
            #expect(error?.code == .protocolViolation && error?.operation == "connect", "\(error as Any)")
            try await bench.time.sleep(for: .seconds(3))
            #expect(bench.centralAdapter.activity.isIdle, "\(bench.centralAdapter.activity)")
            #expect(bench.central.leftovers.isEmpty, "\(bench.central.leftovers)")
            try await bench.peripheral.withLink { link in try await link.expect(Bench.readable, reads: [1, 2, 3]) }
        }
    }

    // MARK: - Discovery

    @Test(arguments: [0x0E, 0x11, 0x80, 0xFE] as [UInt8])
    func `a descriptor walk that meets a transient error fails, and the next one finds the rest`(
        code: UInt8
    ) async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            bench.air.faults.add(
                .replace(.opcode(0x05), with: [0x01, 0x04, 0x01, 0x00, code]).times(1)
            )
            try await bench.peripheral.withLink { link in
                let error = await bleError { for try await _ in link.notifications(of: Bench.notifying) {} }
                #expect(error?.attError?.rawValue == code)
                let values = try await link.notifications(of: Bench.notifying).collect(3)
                #expect(values.count == 3)
            }
        }
    }

    // MARK: - Time

    @Test func `a request's limit covers the switching on, the write and the answer together`() async throws {
        try await onLink { link, bench in
            _ = try await link.discover()
            bench.air.faults.add(.delay(.opcode(0x13), by: .seconds(2)))
            let begin = bench.time.now
            let error = await bleError {
                _ = try await link.request([1], to: Bench.readable, answeredOn: Bench.notifying, timeout: .seconds(5))
            }
            #expect(error?.code == .timedOut && error?.operation == "request" && error?.elapsed == .seconds(5))
            #expect(bench.time.now - begin == .seconds(5))
        }
    }

    @Test(arguments: 0...4)
    func `a limit covers waiting in line`(operation: Int) async throws {
        try await onLink { link, bench in
            _ = try await link.discover()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await link.exclusively { _ in try await bench.time.sleep(for: .seconds(20)) } }
                try await bench.time.sleep(for: .seconds(1))
                let begin = bench.time.now
                let error = await bleError {
                    let limit = Duration.seconds(3)
                    switch operation {
                    case 0: _ = try await link.read(Bench.readable, timeout: limit)
                    case 1: try await link.write([1], to: Bench.readable, timeout: limit)
                    case 2: try await link.write([1], to: Bench.readable, .withoutResponse, timeout: limit)
                    case 3:
                        _ = try await link.request([1], to: Bench.readable, answeredOn: Bench.notifying, timeout: limit)
                    default: _ = try await link.readAll(Bench.readable, timeout: limit)
                    }
                }
                #expect(error?.code == .timedOut && bench.time.now - begin == .seconds(3))
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    @Test func `a limit covers all PDUs of a long read`() async throws {
        try await onLink([.replace(.opcode(0x03), with: [0x03, 0x17, 0x00])]) { link, bench in
            _ = try await link.discover()
            // 19 answers.
            bench.air.faults.add(.delay(.readResponses, by: .seconds(1)))
            bench.air.faults.add(.delay(.opcode(0x0D), by: .seconds(1)))
            let begin = bench.time.now
            let error = await bleError { _ = try await link.read(Bench.long, timeout: .seconds(5)) }
            #expect(error?.code == .timedOut && bench.time.now - begin == .seconds(5))
        }
    }

    // MARK: - Words

    @Test func `a time limit is told once`() async throws {
        try await onLink([.swallow(.opcode(0x0B))]) { link, _ in
            let error = try #require(await bleError { _ = try await link.read(Bench.readable, timeout: .seconds(3)) })
            #expect("\(error)".components(of: "3.0 seconds") == 2, "\(error)")
        }
        try await Bench.run { bench in
            bench.air.faults.add(.ignoreConnections)
            let error = try #require(
                await bleError { try await bench.peripheral.withLink(timeout: .seconds(7)) { _ in } }
            )
            #expect("\(error)".components(of: "7.0 seconds") == 2, "\(error)")
        }
    }

    @Test func `a handle that isn't there is not called a change of the services`() async throws {
        try await onLink { link, _ in
            let error = await bleError { _ = try await link.read(.handle(0x9999)) }
            #expect(error?.attError == .invalidHandle && error?.remedy.contains("changed") == false)
            #expect(error?.remedy.contains("Check the handle") == true)
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `what asks for more security than a link has is not answered with the pairing that has been`(
        isEncrypted: Bool,
        isWritten: Bool
    ) async throws {
        let security = LinkSecurity(isEncrypted: isEncrypted, isAuthenticated: false, keySize: isEncrypted ? 16 : 0)
        try await ScriptedLink.run { time in
            [
                ScriptedLink(time, security: security) { request in
                    switch request[0] {
                    case 0x02: [(.zero, [0x03, 0x05, 0x02])]
                    default: [(.zero, [0x01, request[0], request[1], request[2], 0x05])]
                    }
                }
            ]
        } _: { link, _ in
            let error = await bleError {
                if isWritten { try await link.write([1], to: .handle(5)) } else { _ = try await link.read(.handle(5)) }
            }
            #expect(error?.attError == .insufficientAuthentication)
            #expect(error?.remedy.contains("Pair with the peripheral first") == !isEncrypted)
            #expect(error?.cause.contains("unauthenticated keys") == isEncrypted)
        }
    }

    @Test func `a command that can neither make nor end its link says so, and what can`() async throws {
        try await onLink { link, bench in
            try await link.run(.connect)
            let ending = await bleError { try await link.run(.disconnect) }
            #expect(ending?.code == .notSupported && ending?.remedy.contains("Peripheral.withQueue") == true)
            #expect(ending?.cause == "the command was given a link to run on, which it can neither make nor end")
            // Lost within the command, and before it.
            let within = await bleError {
                try await link.run(
                    .block("lose the link") { _ in
                        bench.air.faults.add(.dropLink(after: .zero))
                        try await bench.time.sleep(for: .seconds(1))
                    }.then(.connect)
                )
            }
            #expect(within?.code == .notSupported && within?.operation == "connect")
            let before = await bleError { try await link.run(.connect) }
            #expect(before?.code == .disconnected && before?.remedy.contains("ble notify") == false)
        }
    }
}

extension String {
    /// Into how many pieces a text divides it.
    fileprivate func components(of text: String) -> Int {
        var (count, rest) = (1, self[...])
        while let range = rest.firstRange(of: text) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
