import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite(.serialized, .enabled(if: KernelLab.isHere, KernelLab.absence), .timeLimit(.minutes(10)))
struct KernelConnectTests {
    @Test func `connects by address and exchanges PDUs`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let (link, receiver) = try await radio.openLink(to: KernelLab.near)
        #expect(try link.peer == KernelLab.near)
        #expect(link.local == radio.adapter.facts?.address)
        #expect(!link.isResumed)
        #expect(link.maximumPDUSize == 672)
        #expect(link.security == .none)

        // Exchange MTU: 517 offered, the peer's answer opens with opcode 3.
        #expect(link.send([0x02, 0x05, 0x02]) == .sent)
        #expect(await receiver.next() == .received([0x03, 0x05, 0x02]))
        #expect(receiver.times.first?.source == .kernel)

        let strength = Events<Int8?> { yield in
            link.readRSSI(yield)
            return RadioActivity {}
        }
        #expect(await strength.next() == -48)

        link.disconnect()
        #expect(link.send([0x0A, 0x03, 0x00]) == .ended)
        #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
        #expect(link.security == .none)
    }

    @Test(
        .disabled(if: KernelFaults.killsWhoClosesDeadSockets, KernelLab.closingFault),
        arguments: [
            ("0x13", DisconnectReason.Kind.closedByPeer),
            ("0x15", .closedByPeer),
            ("0x08", .supervisionTimeout),
            ("0x05", .authenticationFailed),
            ("0x3e", .failedToEstablish),
        ]
    )
    func `tells why the peer ended the link`(_ reason: String, _ kind: DisconnectReason.Kind) async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let (link, receiver) = try await radio.openLink(to: KernelLab.near)
        try KernelLab.peer("drop \(reason)")
        #expect(await receiver.untilEnd().reason?.kind == kind)
        #expect(link.send([0x02, 0x17, 0x00]) == .ended)
    }

    @Test(.disabled(if: KernelFaults.killsWhoClosesDeadSockets, KernelLab.closingFault))
    func `a link that is lost without a word ends by the supervision timeout`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let (_, receiver) = try await radio.openLink(to: KernelLab.near)
        try KernelLab.peer("lose")
        #expect(await receiver.untilEnd().reason?.kind == .supervisionTimeout)
    }

    @Test(.disabled(if: KernelFaults.killsWhoClosesDeadSockets, KernelLab.closingFault))
    func `PDUs that came before the end are delivered before it`() async throws {
        let peripherals = try Peripherals()
        try peripherals.tell("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let near = try KernelLab.near
        let result = Events { radio.connect(to: near, result: $0) }
        let link = try #require(await result.next()).get()
        // Not started: the answers wait in the kernel, and the end comes behind them.
        for _ in 0..<5 { #expect(link.send([0x0A, 0xFF, 0xFF]) == .sent) }
        #expect(link.send([0x02, 0x05, 0x02]) == .sent)
        _ = try peripherals.line { $0.contains(" mtu ") }
        try peripherals.tell("drop")

        let receiver = LinkRecorder()
        link.start(receiver)
        let (pdus, reason) = await receiver.untilEnd()
        #expect(pdus == Array(repeating: [0x01, 0x0A, 0xFF, 0xFF, 0x01], count: 5) + [[0x03, 0x05, 0x02]])
        #expect(reason?.kind == .closedByPeer)
    }

    @Test func `a peer that is connected already is busy`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let (link, receiver) = try await radio.openLink(to: KernelLab.near)
        let error = await radio.failureToConnect(to: try KernelLab.near)
        #expect(error?.code == .busy)
        #expect(error?.systemError == 16)
        link.disconnect()
        _ = await receiver.untilEnd()
    }

    @Test func `a cancelled attempt leaves the adapter free at once`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        try KernelLab.peer("advertise off")
        let near = try KernelLab.near
        let first = Events { radio.connect(to: near, result: $0) }
        let absent = Events { radio.connect(to: KernelLab.absent, result: $0) }
        // Both wait in the kernel once this has come back to the loop.
        _ = await Events<Bool> { yield in
            radio.loop.enqueue { yield(true) }
            return RadioActivity {}
        }.next()
        first.activity.cancel()
        absent.activity.cancel()
        try KernelLab.peer("advertise on")
        let (link, receiver) = try await radio.openLink(to: near)
        link.disconnect()
        _ = await receiver.untilEnd()
    }

    @Test func `an attempt for an absent peer does not hold up another one`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let absent = Events { radio.connect(to: KernelLab.absent, result: $0) }
        let (link, receiver) = try await radio.openLink(to: KernelLab.near)
        link.disconnect()
        _ = await receiver.untilEnd()
        absent.activity.cancel()
    }

    /// The pattern of the README: connects to what the scan has just found, while the scan goes on.
    ///
    /// The controller reports nobody twice in a discovery, and a discovery lasts ten seconds.
    @Test func `connecting to what a scan has found takes no longer than without the scan`() async throws {
        try KernelLab.peer("reset")
        let (radio, near, clock) = (try LinuxRadio(adapter: KernelLab.central), try KernelLab.near, ContinuousClock())
        func connect() async throws -> Duration {
            let begin = clock.now
            let (link, receiver) = try await radio.openLink(to: near)
            let taken = clock.now - begin
            // What has received nothing must not be closed on Linux 6.1.
            #expect(link.send([0x02, 0x05, 0x02]) == .sent)
            _ = await receiver.next()
            link.disconnect()
            _ = await receiver.untilEnd()
            return taken
        }
        let alone = try await connect()
        let scan = Events { radio.scan(ScanRequest(reportsDuplicates: false), events: $0) }
        var beside: [Duration] = []
        while beside.count < 3, let event = await scan.next() {
            guard case .reports(let reports) = event, reports.contains(where: { $0.address == near }) else { continue }
            beside.append(try await connect())
        }
        scan.activity.cancel()
        print("connecting while scanning: \(beside), alone \(alone)")
        #expect(beside.count == 3 && beside.allSatisfy { $0 < .seconds(6) })
    }

    @Test func `a link that the kernel has kept is resumed`() async throws {
        try KernelLab.peer("reset")
        try await KernelLab.asNobody {
            // Without the capability the kernel keeps the connection for two seconds.
            let unprivileged = try LinuxRadio(adapter: KernelLab.central)
            for isResumed in [false, true] {
                let (link, receiver) = try await unprivileged.openLink(to: KernelLab.near)
                #expect(link.isResumed == isResumed)
                #expect(link.send([0x02, 0x05, 0x02]) == .sent)
                #expect(await receiver.next() == .received([0x03, 0x05, 0x02]))
                link.disconnect()
                #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
            }
        }
    }

    @Test(.disabled(if: KernelFaults.killsWhoClosesDeadSockets, KernelLab.closingFault))
    func `a link that the kernel has kept ends where it can be ended, and there is a new one`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        for _ in 0..<5 {
            try await KernelLab.asNobody {
                let unprivileged = try LinuxRadio(adapter: KernelLab.central)
                let (link, receiver) = try await unprivileged.openLink(to: KernelLab.near)
                link.disconnect()
                #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
            }
            #expect(try radio.hasLink(to: KernelLab.near))
            let (link, receiver) = try await radio.openLink(to: KernelLab.near)
            #expect(!link.isResumed)
            // It isn't the former one, which would end now.
            #expect(link.send([0x02, 0x05, 0x02]) == .sent)
            #expect(await receiver.next() == .received([0x03, 0x05, 0x02]))
            link.disconnect()
            #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
        }
    }

    @Test func `what was sent last arrives before the link is dropped`() async throws {
        let peripherals = try Peripherals()
        try peripherals.tell("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let handle = try peripherals.handle(of: "b1e50010")
        for round in UInt8(0)..<5 {
            let (link, receiver) = try await radio.openLink(to: KernelLab.near)
            for count in UInt8(0)..<10 {
                #expect(link.send([0x52, UInt8(handle & 0xFF), UInt8(handle >> 8), round, count]) == .sent)
            }
            link.disconnect()
            _ = await receiver.untilEnd()
            var writes = 0
            _ = try peripherals.line { line in
                if line.contains(" write ") { writes += 1 }
                return line.contains(" disconnected ")
            }
            #expect(writes == 10)
        }
    }
}

extension LinuxRadio {
    /// Connects, and starts the link.
    func openLink(
        to peer: @autoclosure () throws -> BluetoothAddress
    ) async throws -> (link: any ATTLink, receiver: LinkRecorder) {
        let peer = try peer()
        let result = Events { self.connect(to: peer, result: $0) }
        let link = try #require(await result.next()).get()
        let receiver = LinkRecorder()
        link.start(receiver)
        return (link, receiver)
    }

    /// Why a connection is not made; `nil` where it is.
    func failureToConnect(to peer: BluetoothAddress) async -> BLEError? {
        let result = Events { self.connect(to: peer, result: $0) }
        switch await result.next() {
        case .failure(let error): return error
        case .success(let link):
            link.disconnect()
            return nil
        case nil: return nil
        }
    }
}
