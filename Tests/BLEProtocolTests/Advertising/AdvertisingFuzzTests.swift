import Testing

@testable import BLEProtocol

@Suite struct AdvertisingFuzzTests {
    private static let seeds = [
        "020106 0303 0d18 0909 42756d626c654852", "04ff 4c0001 0516 0d18 0102 020aec 0319c103 0512 0600 800c",
        "0d17 060504030201 161514131211 0718 bb1d1a17f2c4 021c02 032701 01 031a a000 052f 00000001",
        "1107 1bc5d5a50200469ae111b78d60b4452d 0505 78563412 0424 c2ba 61 0314 0d18 0620 78563412 aa",
    ]

    /// Asks for everything, and checks what must hold for any octets.
    private func read(_ advertisement: AdvertisingData) -> Bool {
        let structures = Array(advertisement)
        let size = structures.reduce(0) { $0 + 2 + $1.data.count }
        let services = advertisement.serviceUUIDs
        let fields: [Any?] = [
            advertisement.flags, advertisement.localName, advertisement.shortenedLocalNameOctets, advertisement.uri,
            advertisement.txPower, advertisement.appearance, advertisement.advertisingInterval,
            advertisement.solicitedServiceUUIDs, advertisement.description,
        ]
        return size <= advertisement.bytes.count && Set(services).count == services.count
            && services.allSatisfy(advertisement.lists)
            && advertisement.serviceData.allSatisfy { advertisement.serviceData(for: $0.service) != nil }
            && advertisement.manufacturerData.allSatisfy { advertisement.manufacturerData(for: $0.company) != nil }
            && fields.count == 9
    }

    @Test(arguments: UInt64(0)..<4) func `no octets trap the parser`(seed: UInt64) {
        var source = FuzzSource(seed: seed)
        for round in 0..<5000 {
            let octets =
                round.isMultiple(of: 2)
                ? source.octets(upTo: 80)
                : source.mutated(WireText.octets(Self.seeds[round / 2 % Self.seeds.count]))
            let holds = read(AdvertisingData(bytes: octets))
            if !holds { Issue.record("seed \(seed), round \(round): \(WireText.text(octets))") }
        }
    }

    @Test(arguments: UInt64(0)..<2) func `what was walked and written again is the same`(seed: UInt64) throws {
        var source = FuzzSource(seed: seed)
        for _ in 0..<2000 {
            let octets = source.mutated(WireText.octets(Self.seeds[Int(seed)]))
            let fields = AdvertisingData(bytes: octets).map { AdvertisingData.Field.raw($0.type, $0.data) }
            let written = try AdvertisingData(fields, limit: 1000).bytes
            if !octets.starts(with: written) { Issue.record("\(WireText.text(octets))") }
        }
    }
}
