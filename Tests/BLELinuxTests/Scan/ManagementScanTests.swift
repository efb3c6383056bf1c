import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A scan over the management socket, with the test as the kernel.
@Suite(.timeLimit(.minutes(10))) struct ManagementScanTests {
    /// Read Advertisement Monitor Features: nothing supported, 32 handles, 16 patterns, those in use.
    private static func features(supported: UInt8 = 0, inUse: [UInt8] = []) -> [UInt8] {
        [supported, 0, 0, 0, 0, 0, 0, 0, 32, 0, 16, UInt8(inUse.count), 0] + inUse.flatMap { [$0, 0] }
    }

    private func scan(
        _ request: ScanRequest,
        on kernel: KernelDouble,
        beside hasNeighbour: Bool = false
    ) -> ManagementScan {
        let place = ScanPlace(
            loop: kernel.loop,
            timeline: kernel.timeline,
            adapter: { nil },
            leftovers: Leftovers(folder: nil, boot: "a"),
            hasNeighbour: { hasNeighbour }
        )
        let sink = EventSink<ScanEvent> { _ in }
        let scan = ManagementScan(request, management: kernel.management, place: place, sink: sink) { _ in }
        kernel.loop.enqueue { scan.begin() }
        return scan
    }

    /// Ends the discoveries of a turn, behind each of which others may go first.
    private func takeTurn(_ kernel: KernelDouble) async throws {
        for round in 1...DiscoveryMachine.roundsOfTurn {
            #expect(try await kernel.answer(with: [6])?.opcode == .startDiscovery)
            try kernel.tellThatDiscoveryEnded()
            if round == DiscoveryMachine.roundsOfTurn { return }
            // Its answer is behind the end.
            let (heard, hear) = AsyncStream<Void>.makeStream()
            kernel.management.submit(ManagementReadInformation()) { _ in hear.finish() }
            #expect(try await kernel.answer(.failed)?.opcode == .readInformation)
            for await _ in heard {}
            kernel.timeline.fire(DiscoveryMachine.courtesy)
        }
    }

    @Test func `beside a neighbour it rests, listens by a monitor meanwhile, and discovers again`() async throws {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel, beside: true)
        try await takeTurn(kernel)
        #expect(try await kernel.answer(with: Self.features())?.opcode == .readMonitorFeatures)
        #expect(try await kernel.answer(with: [1, 0])?.opcode == .addPatternsMonitor)
        kernel.timeline.fire(DiscoveryMachine.rest)
        let next = await [kernel.next(), kernel.next()].compactMap { $0?.opcode }
        #expect(Set(next) == [.removeMonitor, .startDiscovery])
        scan.cancel()
    }

    @Test func `alone it discovers again at once`() async throws {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel)
        for _ in 0..<3 {
            #expect(try await kernel.answer(with: [6])?.opcode == .startDiscovery)
            try kernel.tellThatDiscoveryEnded()
        }
        #expect(await kernel.next()?.opcode == .startDiscovery)
        scan.cancel()
    }

    @Test func `whether another program discovers or the controller is busy is learned from a stop of no type`()
        async throws
    {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel)
        for status in [ManagementStatus.rejected, .invalidParameters] {
            #expect(try await kernel.answer(.busy)?.opcode == .startDiscovery)
            let stop = try await kernel.answer(status)
            #expect(stop == KernelDouble.Command(opcode: .stopDiscovery, parameters: [0]))
            // Its answer is behind that one.
            let (heard, hear) = AsyncStream<Void>.makeStream()
            kernel.management.submit(ManagementReadInformation()) { _ in hear.finish() }
            #expect(try await kernel.answer(.failed)?.opcode == .readInformation)
            for await _ in heard {}
            kernel.timeline.fire(DiscoveryMachine.retryDelay)
        }
        // This one is shared until it ends.
        try kernel.tellThatDiscoveryEnded()
        #expect(await kernel.next()?.opcode == .startDiscovery)
        scan.cancel()
    }

    @Test func `where the controller looks at patterns itself, it rests without a monitor`() async throws {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel, beside: true)
        try await takeTurn(kernel)
        #expect(try await kernel.answer(with: Self.features(supported: 1))?.opcode == .readMonitorFeatures)
        kernel.timeline.fire(DiscoveryMachine.rest)
        #expect(await kernel.next()?.opcode == .startDiscovery)
        scan.cancel()
    }

    @Test(arguments: [ScanRequest(), ScanRequest(isActive: false)])
    func `a monitor that another program takes away is added again`(_ request: ScanRequest) async throws {
        let kernel = try KernelDouble()
        let scan = scan(request, on: kernel)
        #expect(try await kernel.answer(with: Self.features())?.opcode == .readMonitorFeatures)
        #expect(try await kernel.answer(with: [7, 0])?.opcode == .addPatternsMonitor)
        if request.isActive { #expect(try await kernel.answer(with: [6])?.opcode == .startDiscovery) }
        try kernel.tell(0x2C, [7, 0])
        #expect(try await kernel.answer(with: Self.features())?.opcode == .readMonitorFeatures)
        #expect(try await kernel.answer(with: [8, 0])?.opcode == .addPatternsMonitor)
        kernel.loop.enqueue { scan.cancel() }
        // Whether or not the answer was there first.
        let last = request.isActive ? await [kernel.next(), kernel.next()] : [await kernel.next()]
        #expect(last.contains(.init(opcode: .removeMonitor, parameters: [8, 0])))
    }
}
