import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Scans with raw HCI packets, of a program that may not use the management socket, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FakeHCIScanTests {
    private let run = FakeRun(kernel: FakeKernel { $0.isAdministrator = false })

    private var kernel: FakeKernel { run.kernel }
    private var isScanning: Bool { kernel.with { $0.adapters[kernel.central]?.isScanningByHCI == true } }

    /// Does something that the scan's socket has no room to hear of.
    private static func unheard(_ state: inout FakeState, _ body: (inout FakeState) -> Void) {
        let deaf = state.objects.filter { $0.value.hci?.hearsScans == true }
        state.unheard(by: Set(deaf.keys), body)
    }

    /// The end of a command that doesn't concern a scan.
    private static let otherCommand: [UInt8] = [4, 0x0E, 4, 1, 0x06, 0x04, 0]

    @Test func `a scan goes on though it missed that another program has ended it`() async throws {
        let radio = try run.radio()
        let scan = radio.scan(ScanRequest()) { _ in }
        await kernel.idle()
        #expect(isScanning)
        kernel.with { state in
            Self.unheard(&state) { $0.hciCommand(0x200C, [0, 0], on: kernel.central) }
            state.tellRaw(kernel.central, Self.otherCommand, scans: true)
        }
        await kernel.idle()
        #expect(!isScanning)
        let isBack = await kernel.run(run.timeline, within: .seconds(60)) { isScanning }
        #expect(isBack)
        scan.cancel()
        await kernel.idle()
        #expect(!isScanning)
        withExtendedLifetime(radio) {}
    }

    @Test func `it goes on where no event comes behind the missing one`() async throws {
        let radio = try run.radio()
        let scan = radio.scan(ScanRequest()) { _ in }
        await kernel.idle()
        kernel.with { state in
            for _ in 0..<ReceiveBuffer.slots { state.tellRaw(kernel.central, Self.otherCommand, scans: true) }
            Self.unheard(&state) { $0.hciCommand(0x200C, [0, 0], on: kernel.central) }
        }
        await kernel.idle()
        #expect(!isScanning)
        let isBack = await kernel.run(run.timeline, within: .seconds(60)) { isScanning }
        #expect(isBack)
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [false, true])
    func `a scan without duplicates hears again whoever it has heard before`(isActive: Bool) async throws {
        kernel.with { $0.peers[.example] = FakePeer(address: .example) }
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest(isActive: isActive, reportsDuplicates: false)) { events.add($0) }
        for times in 1...3 {
            let isHeard = await kernel.run(run.timeline, within: .seconds(60)) {
                events.all.filter { if case .reports = $0 { true } else { false } }.count >= times
            }
            #expect(isHeard, "for the \(times). time")
            kernel.with { $0.hearEverywhere() }
        }
        scan.cancel()
        await kernel.idle()
        #expect(!isScanning)
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [false, true])
    func `a scan fails when its adapter is switched off, also if it is on again at once`(_ isBack: Bool) async throws {
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest()) { events.add($0) }
        await kernel.idle()
        #expect(isScanning)
        kernel.with { state in
            state.switchOff(kernel.central, by: nil)
            guard isBack else { return }
            state.adapters[kernel.central]?.settings.insert(.powered)
            state.tell(kernel.central, 0x06, [1, 0, 0, 0])
        }
        await kernel.idle()
        let failures = events.all.compactMap { if case .failed(let error) = $0 { error.code } else { nil } }
        #expect(failures == [.adapterPoweredOff])
        // The place of the scan is free again.
        let next = radio.scan(ScanRequest()) { _ in }
        await kernel.idle()
        #expect(isScanning == isBack)
        next.cancel()
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `a scan that is cancelled just as the controller is told to begin leaves none behind`() async throws {
        kernel.with { $0.adapters[kernel.central]?.silent = [0x2041] }
        let radio = try run.radio()
        let scan = radio.scan(ScanRequest()) { _ in }
        await kernel.idle()
        kernel.with { state in
            state.adapters[kernel.central]?.silent = []
            // What another thread does between the decision and the command.
            state.beforeCommand = (0x2042, { scan.cancel() })
            // The end of the command that was not answered: it has set the parameters.
            state.tellRaw(kernel.central, [4, 0x0E, 4, 1, 0x41, 0x20, 0], scans: true)
        }
        await kernel.idle()
        #expect(kernel.with { $0.beforeCommand == nil })
        #expect(!isScanning)
        withExtendedLifetime(radio) {}
    }

    private static func failures(_ events: [ScanEvent]) -> [BLEError] {
        events.compactMap { if case .failed(let error) = $0 { error } else { nil } }
    }

    @Test(arguments: [0x1002, 0x2041, 0x2042] as [UInt16])
    func `a scan whose command is never answered fails, and names it`(_ opcode: UInt16) async throws {
        kernel.with { $0.adapters[kernel.central]?.silent = [opcode] }
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest()) { events.add($0) }
        let isTold = await kernel.run(run.timeline, within: .seconds(60)) { !Self.failures(events.all).isEmpty }
        #expect(isTold)
        let failure = Self.failures(events.all).first
        #expect(failure?.code == .timedOut && failure?.operation == "scan" && failure?.remedy.isEmpty == false)
        #expect(failure?.cause.contains("HCI command 0x\(String(opcode, radix: 16))") == true)
        // The place of the scan is free again.
        kernel.with { $0.adapters[kernel.central]?.silent = [] }
        let next = radio.scan(ScanRequest()) { _ in }
        await kernel.idle()
        #expect(isScanning)
        next.cancel()
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `a scan whose commands are answered goes on, however long nobody is heard`() async throws {
        let radio = try run.radio()
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest()) { events.add($0) }
        let hasFailed = await kernel.run(run.timeline, within: .seconds(60)) { !Self.failures(events.all).isEmpty }
        #expect(!hasFailed && isScanning)
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    /// After how many system calls it goes off: at each step from the first way to scan to the second one.
    @Test(arguments: 0..<24)
    func `a scan whose adapter goes off while it begins asks for no permission`(_ calls: Int) async throws {
        let radio = try run.radio()
        await kernel.idle()
        let events = FakeRun.Collector<ScanEvent>()
        kernel.with { state in
            state.moments.append((calls, { [kernel] in kernel.with { $0.switchOff(kernel.central, by: nil) } }))
        }
        let scan = radio.scan(ScanRequest()) { events.add($0) }
        await kernel.idle()
        let isOff = kernel.with { $0.adapters[kernel.central]?.isUp == false }
        let failures = events.all.compactMap { if case .failed(let error) = $0 { error.code } else { nil } }
        #expect(failures == (isOff ? [.adapterPoweredOff] : []))
        scan.cancel()
        withExtendedLifetime(radio) {}
    }
}
