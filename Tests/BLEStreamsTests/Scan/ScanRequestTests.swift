import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// One scan of the radio serves all consumers.
@Suite struct ScanRequestTests {
    private static func options(
        _ services: [BluetoothUUID],
        isActive: Bool = false,
        reportsDuplicates: Bool = false
    ) -> ScanBroker.Options {
        ScanBroker.Options(services: services, isActive: isActive, reportsDuplicates: reportsDuplicates)
    }

    @Test func `nobody needs no scan`() { #expect(ScanBroker.request(for: []) == nil) }

    @Test func `what any consumer looks for is looked for, once`() {
        let request = ScanBroker.request(for: [
            Self.options([.battery, .heartRate]), Self.options([.battery]),
        ])
        #expect(request == ScanRequest(services: [.heartRate, .battery], isActive: false, reportsDuplicates: false))
    }

    @Test func `one consumer that looks for everything is enough for a scan without a filter`() {
        let (everything, some) = (Self.options([]), Self.options([.battery]))
        for options in [[everything, some], [some, everything], [everything]] {
            #expect(ScanBroker.request(for: options)?.services == [])
        }
        #expect(ScanBroker.request(for: [some])?.services == [.battery])
    }

    @Test func `one consumer that needs scan responses, or each advertisement, is enough for both`() {
        let modest = Self.options([.battery])
        let active = ScanBroker.request(for: [modest, Self.options([.battery], isActive: true)])
        #expect(active?.isActive == true && active?.reportsDuplicates == false)
        let eager = ScanBroker.request(for: [Self.options([.battery], reportsDuplicates: true), modest])
        #expect(eager?.isActive == false && eager?.reportsDuplicates == true)
    }
}
