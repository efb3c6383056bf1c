import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite(.serialized, .enabled(if: KernelLab.isHere, KernelLab.absence), .timeLimit(.minutes(10)))
struct KernelScanTests {
    /// The first report of a device, or why there is none.
    private func report(of address: BluetoothAddress, in events: Events<ScanEvent>) async throws -> AdvertisingReport {
        let found = await events.first { event -> Result<AdvertisingReport, BLEError>? in
            switch event {
            case .started, .dropped: nil
            case .failed(let error): .failure(error)
            case .reports(let reports): reports.first { $0.address == address }.map { .success($0) }
            }
        }
        return try #require(found).get()
    }

    @Test(arguments: [ScanRequest(), ScanRequest(reportsDuplicates: false), ScanRequest(isActive: false)])
    func `finds peripherals with their strength and what they advertise`(_ request: ScanRequest) async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let scan = Events { radio.scan(request, events: $0) }
        guard case .started = await scan.next() else {
            Issue.record("the scan did not start")
            return
        }

        let near = try await report(of: KernelLab.near, in: scan)
        #expect(near.rssi == -48)
        #expect(near.isConnectable)
        #expect(near.time.source == .kernel)
        #expect(near.has(Array("Lab Heart".utf8)))

        let far = try await report(of: KernelLab.far, in: scan)
        #expect(far.rssi == -87)
        #expect(!far.isConnectable)
        scan.activity.cancel()
    }

    @Test func `goes on after the ten seconds that the kernel gives a discovery`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let ends = Events<Bool> { yield in
            radio.management?.observe { events in
                for event in events {
                    if case .discovering(_, let isOn) = event.event { yield(isOn) }
                }
            } ?? RadioActivity {}
        }
        let scan = Events { radio.scan(ScanRequest(reportsDuplicates: false), events: $0) }
        #expect(await ends.next { !$0 } == false)
        #expect(await ends.next { $0 } == true)
        _ = try await report(of: KernelLab.near, in: scan)
        scan.activity.cancel()
        #expect(await ends.next { !$0 } == false)
    }

    @Test func `goes on after a connection has ended its discovery`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let scan = Events { radio.scan(ScanRequest(), events: $0) }
        _ = try await report(of: KernelLab.near, in: scan)
        let near = try KernelLab.near
        let connection = Events { radio.connect(to: near, result: $0) }
        let link = try #require(await connection.next()).get()
        // NEAR is silent while it is connected.
        for _ in 0..<20 { _ = try await report(of: KernelLab.far, in: scan) }
        link.disconnect()
    }

    @Test func `a second scan at the same time fails, and one after the first does not`() async throws {
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let first = Events { radio.scan(ScanRequest(), events: $0) }
        let second = Events { radio.scan(ScanRequest(), events: $0) }
        guard case .failed(let error) = await second.next() else {
            Issue.record("the second scan was taken")
            return
        }
        #expect(error.code == .busy)
        first.activity.cancel()
        let third = Events { radio.scan(ScanRequest(), events: $0) }
        guard case .started = await third.next() else {
            Issue.record("the third scan did not start")
            return
        }
    }

    @Test func `uses another program's discovery, and its own when that ends`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let other = try LinuxRadio(adapter: KernelLab.central)
        let foreign = Events { other.scan(ScanRequest(reportsDuplicates: false), events: $0) }
        _ = try await report(of: KernelLab.near, in: foreign)

        let scan = Events { radio.scan(ScanRequest(reportsDuplicates: false), events: $0) }
        _ = try await report(of: KernelLab.near, in: scan)
        foreign.activity.cancel()
        // Each discovery reports a device once: there are others after that one.
        for _ in 0..<2 { _ = try await report(of: KernelLab.far, in: scan) }
    }
}

extension AdvertisingReport {
    /// Whether the data has these octets somewhere.
    func has(_ octets: [UInt8]) -> Bool {
        data.bytes.indices.contains { data.bytes[$0...].starts(with: octets) }
    }
}
