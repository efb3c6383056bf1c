import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Which advertisements filters of several kinds let through.
@Suite(.timeLimit(.minutes(10))) struct ScanFilterTests {
    private static func report(_ fields: [UInt8], rssi: Int8? = -60) -> AdvertisingReport {
        AdvertisingReport(
            address: BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random),
            rssi: rssi,
            isConnectable: true,
            data: AdvertisingData(bytes: fields),
            time: ReceptionTime(sinceEpoch: .zero, source: .reading)
        )
    }

    private func lets(_ filters: [ScanFilter], _ report: AdvertisingReport) -> Bool {
        let matcher = ScanCriteria(filters)
        return matcher.matchesSignal(of: report) && matcher.matchesContent(of: report)
    }

    @Test func `data of one of several manufacturers, from its beginning`() {
        let filters: [ScanFilter] = [.manufacturer(0x004C, dataPrefix: [2, 21]), .manufacturer(0x0059)]
        #expect(lets(filters, Self.report([5, 0xFF, 0x4C, 0x00, 2, 21])))
        #expect(lets(filters, Self.report([7, 0xFF, 0x4C, 0x00, 2, 21, 1, 2])))
        #expect(lets(filters, Self.report([3, 0xFF, 0x59, 0x00])))
        // Another kind, cut short, another company, and a company that is cut in two.
        for fields: [UInt8] in [
            [5, 0xFF, 0x4C, 0x00, 2, 20], [4, 0xFF, 0x4C, 0x00, 2], [3, 0xFF, 0x00, 0x4C],
            [2, 0xFF, 0x59], [1, 0xFF], [3, 0x16, 0x59, 0x00], [],
        ] {
            #expect(!lets(filters, Self.report(fields)), "\(fields)")
        }
        // The second of two fields.
        #expect(lets(filters, Self.report([3, 0xFF, 0x01, 0x00, 3, 0xFF, 0x59, 0x00])))
    }

    @Test func `a signal of at least so much, which one without a strength has not`() {
        let filters: [ScanFilter] = [.rssi(atLeast: -70)]
        #expect(lets(filters, Self.report([])) && lets(filters, Self.report([], rssi: -70)))
        #expect(!lets(filters, Self.report([], rssi: -71)) && !lets(filters, Self.report([], rssi: nil)))
        // A level that no radio reports lets nothing through, and is no error.
        #expect(!lets([.rssi(atLeast: 200)], Self.report([], rssi: 127)))
    }

    /// A scan reports the name without the blanks around it; the device's documentation may have them.
    @Test func `a name matches with the blanks that it has on air, and without them`() {
        func named(_ name: String) -> AdvertisingReport {
            Self.report([UInt8(name.utf8.count + 1), 0x09] + Array(name.utf8))
        }
        for filter: ScanFilter in [.name("Pump "), .name("Pump"), .namePrefix("Pump "), .namePrefix("Pump")] {
            #expect(lets([filter], named("Pump ")), "\(filter)")
        }
        #expect(lets([.name(" Pump")], named(" Pump")) && lets([.namePrefix(" P")], named(" Pump")))
        #expect(!lets([.name("Pump ")], named("Pump")) && !lets([.name("Pump  ")], named("Pump ")))
        #expect(!lets([.namePrefix("Pump ")], named("Pumps ")))
    }
}
