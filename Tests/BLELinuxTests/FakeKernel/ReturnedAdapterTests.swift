import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// An adapter that was removed, and is there again and on before the program has read that, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct ReturnedAdapterTests {
    private let run = FakeRun(kernel: FakeKernel())

    private var kernel: FakeKernel { run.kernel }

    /// The number that it gets.
    private var next: UInt16 { kernel.central + 1000 }

    private func replug() { kernel.replug(as: next) }

    private func failures(_ events: FakeRun.Collector<ScanEvent>) -> [BLEError] {
        events.all.compactMap { if case .failed(let error) = $0 { error } else { nil } }
    }

    @Test(arguments: [true, false], [true, false])
    func `a scan doesn't take that for another program's, and the next one is on it`(
        _ isActive: Bool,
        _ reportsDuplicates: Bool
    ) async throws {
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let request = ScanRequest(isActive: isActive, reportsDuplicates: reportsDuplicates)
        let scan = radio.scan(request) { events.add($0) }
        await kernel.idle()
        replug()
        await kernel.idle()
        #expect(failures(events).map(\.code) == [.adapterNotFound], "\(failures(events))")
        kernel.with { $0.peers[.example] = FakePeer(address: .example) }
        try await run.hear(radio, request)
        let monitors = kernel.with { [next] in $0.adapters[next]?.monitors }
        #expect(monitors == [1])
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `an attempt to connect doesn't go on there, where the keys of bonds are missing`() async throws {
        let radio = try run.radio()
        let attempts = FakeRun.Collector<Result<any ATTLink, BLEError>>()
        let attempt = radio.connect(to: .example) { attempts.add($0) }
        await kernel.idle()
        #expect(attempts.all.isEmpty)
        replug()
        await kernel.idle()
        let failure = attempts.all.first?.failure
        #expect(failure?.code == .adapterNotFound && failure?.isFinal == false, "\(String(describing: failure))")
        #expect(failure?.operation == "connect" && failure?.cause.contains("is there again") == true)
        attempt.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [EPIPE, ENODEV])
    func `a scan by HCI doesn't ask for a permission then`(_ error: Int32) async throws {
        kernel.with { $0.isAdministrator = false }
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest()) { events.add($0) }
        await kernel.idle()
        kernel.with { state in
            for (descriptor, object) in state.objects where object.hci?.hearsScans == true {
                state.objects[descriptor]?.error = error
                state.objects[descriptor]?.isHungUp = true
            }
        }
        await kernel.idle()
        let failure = failures(events).first
        #expect(failure?.code == .adapterNotFound && failure?.isFinal == false, "\(String(describing: failure))")
        #expect(failure?.cause.contains("is there again") == true && failure?.remedy.isEmpty == false)
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    // MARK: - What begins at that moment

    /// Something that a program begins.
    enum Work: CaseIterable {
        case scan, passiveScan, advertisement, advertisementWithInterval

        fileprivate func begin(on radio: LinuxRadio) -> RadioActivity {
            switch self {
            case .scan: radio.scan(ScanRequest()) { _ in }
            case .passiveScan: radio.scan(ScanRequest(isActive: false)) { _ in }
            case .advertisement: radio.advertise(AdvertiseRequest([.localName("n")])) { _ in }
            case .advertisementWithInterval:
                radio.advertise(
                    AdvertiseRequest([.localName("n")], interval: .milliseconds(100) ... .milliseconds(150))
                ) { _ in }
            }
        }
    }

    /// How the adapter is there again.
    enum Return: CaseIterable {
        case sameNumber, otherNumber
        /// With the same number, and once more before the program has read of the first time.
        case twice
        /// With the same number, and the socket has no room for the kernel's events of that.
        case unheard
    }

    /// Begins it, replugs the adapter after so many system calls, and ends it.
    ///
    /// - Parameter calls: `nil`: the adapter is not replugged.
    /// - Returns: how many calls there were before it was ended.
    private static func run(_ work: Work, replugging calls: Int?, _ how: Return) async throws -> Int {
        let run = FakeRun(kernel: FakeKernel())
        let kernel = run.kernel
        let next = how == .otherNumber ? kernel.central + 1000 : kernel.central
        let radio = try run.radio()
        await kernel.idle()
        let before = kernel.with { $0.calls.values.reduce(0, +) }
        let replug: @Sendable () -> Void = {
            for _ in 0..<(how == .twice ? 2 : 1) { kernel.replug(as: next, isHeard: how != .unheard) }
        }
        if let calls { kernel.with { $0.moments.append((calls, replug)) } }
        let activity = work.begin(on: radio)
        _ = await kernel.run(run.timeline, within: .seconds(60)) { false }
        let after = kernel.with { $0.calls.values.reduce(0, +) }
        activity.cancel()
        _ = await kernel.run(run.timeline, within: .seconds(60)) { false }
        let (instances, monitors) = kernel.with { state in
            let adapter = state.adapters[calls == nil ? kernel.central : next]
            return (adapter?.instances.keys.sorted(), adapter?.monitors)
        }
        #expect(instances == [], "replugged \(calls ?? 0) calls on")
        // The first one is another program's.
        #expect(monitors == (calls == nil ? [] : [1]), "replugged \(calls ?? 0) calls on")
        withExtendedLifetime(radio) {}
        return after - before
    }

    @Test(arguments: Work.allCases, Return.allCases)
    func `what begins at that moment leaves nothing on the adapter when it has ended`(
        _ work: Work,
        _ how: Return
    ) async throws {
        let count = try await Self.run(work, replugging: nil, how)
        for calls in 1...count { _ = try await Self.run(work, replugging: calls, how) }
    }

    @Test(arguments: Work.allCases, [true, false])
    func `what has run until then removes nothing of another program's, though the number is the same`(
        _ work: Work,
        _ isHeard: Bool
    ) async throws {
        let radio = try run.radio()
        let activity = work.begin(on: radio)
        await kernel.idle()
        kernel.replug(as: kernel.central, advertising: 5, isHeard: isHeard)
        await kernel.idle()
        activity.cancel()
        await kernel.idle()
        let (instances, monitors) = kernel.with { [number = kernel.central] state in
            (state.adapters[number]?.instances.keys.sorted(), state.adapters[number]?.monitors)
        }
        #expect(instances == [5] && monitors == [1])
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: Work.allCases)
    func `nor does it where one reading of the socket ends between the adapter's power-off and its removal`(
        _ work: Work
    ) async throws {
        for count in ReceiveBuffer.slots - 5..<ReceiveBuffer.slots {
            let run = FakeRun(kernel: FakeKernel())
            let kernel = run.kernel
            let radio = try run.radio()
            let activity = work.begin(on: radio)
            await kernel.idle()
            kernel.with { [number = kernel.central] state in
                for _ in 0..<count { state.tellOfDevice(number) }
                // Those of an adapter that is unplugged are not told.
                state.adapters[number]?.instances = [:]
            }
            kernel.replug(as: kernel.central, advertising: 5)
            await kernel.idle()
            activity.cancel()
            await kernel.idle()
            let (instances, monitors) = kernel.with { [number = kernel.central] state in
                (state.adapters[number]?.instances.keys.sorted(), state.adapters[number]?.monitors)
            }
            #expect(instances == [5] && monitors == [1], "behind \(count) others")
            withExtendedLifetime(radio) {}
        }
    }
}

extension FakeKernel {
    /// Unplugs the adapter, and plugs it in under a number, where another program's monitor is at once.
    ///
    /// - Parameters:
    ///   - instance: an advertisement that the other program has there, too.
    ///   - isHeard: whether management sockets have room for the kernel's events of that.
    func replug(as next: UInt16, advertising instance: UInt8? = nil, isHeard: Bool = true) {
        with { [number = central] state in
            if isHeard { return Self.replug(number, as: next, advertising: instance, &state) }
            state.unheard { Self.replug(number, as: next, advertising: instance, &$0) }
            state.tellOfDevice(next)
        }
    }

    private static func replug(
        _ number: UInt16,
        as next: UInt16,
        advertising instance: UInt8?,
        _ state: inout FakeState
    ) {
        guard let address = state.adapters[number]?.address else { return }
        state.unplug(number)
        state.adapters[next] = FakeAdapter(number: next, address: address)
        state.adapters[next]?.monitors = [1]
        state.tell(next, 0x04, [])
        guard let instance else { return }
        state.adapters[next]?.instances[instance] = .init(flags: 0, data: [])
        state.tell(next, 0x23, [instance])
    }
}
