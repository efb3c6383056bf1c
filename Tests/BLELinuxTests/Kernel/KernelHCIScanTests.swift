import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Beside no other test: what another scan has begun is shared, and this one can't end it.
@Suite(.serialized, .enabled(if: KernelLab.isHere, KernelLab.absence), .timeLimit(.minutes(10)))
struct KernelHCIScanTests {
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

    @Test(arguments: [ScanRequest(), ScanRequest(isActive: false)])
    func `scans by HCI where the management socket may not be used`(_ request: ScanRequest) async throws {
        try KernelLab.peer("reset")
        let radio = try await KernelLab.without(capabilities: [KernelLab.networkAdministration]) {
            try LinuxRadio(adapter: KernelLab.central)
        }
        let scan = Events { radio.scan(request, events: $0) }
        guard case .started = await scan.next() else {
            Issue.record("the scan did not start")
            return
        }
        var near = try await report(of: KernelLab.near, in: scan)
        #expect(near.rssi == -48)
        #expect(near.isConnectable)
        #expect(near.time.source == .kernel)
        // Appearance comes in the scan response. What another scan was doing just now may be heard first.
        while request.isActive, !near.has([0x03, 0x19, 0x41, 0x03]) {
            near = try await report(of: KernelLab.near, in: scan)
        }
        #expect(near.has(Array("Lab Heart".utf8)))
        #expect(try await !report(of: KernelLab.far, in: scan).isConnectable)

        // A connection takes the scan away; it comes back.
        let (link, receiver) = try await radio.openLink(to: KernelLab.near)
        for _ in 0..<20 { _ = try await self.report(of: KernelLab.far, in: scan) }
        link.disconnect()
        _ = await receiver.untilEnd()
        scan.activity.cancel()
    }
}
