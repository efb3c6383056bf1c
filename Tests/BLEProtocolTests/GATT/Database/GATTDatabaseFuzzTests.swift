import Testing

@testable import BLEProtocol

@Suite struct GATTDatabaseFuzzTests {
    @Test(arguments: 0..<100)
    func `a tree of any lists is in order, apart and within its services`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        func range() -> ClosedRange<UInt16> {
            let start = max(1, generator.handle())
            return start...max(start, generator.handle())
        }
        let services = (0..<10).map { _ in
            let range = range()
            return GATTService(uuid: BluetoothUUID(0x1800), handle: range.lowerBound, endHandle: range.upperBound)
        }
        let included = (0..<5).map { _ in
            GATTService.Inclusion(uuid: BluetoothUUID(0x1800), handle: range().lowerBound, startHandle: 1, endHandle: 2)
        }
        var ends: Set<UInt16> = []
        for _ in 0..<40 { ends.insert(range().lowerBound) }
        let starts = ends.sorted()
        let characteristics = zip(starts, starts.dropFirst()).compactMap { start, next -> Characteristic? in
            guard next - start > 1 else { return nil }
            return Characteristic(
                uuid: BluetoothUUID(0x2A00),
                properties: [],
                handle: start,
                valueHandle: start + 1,
                endHandle: next - 1
            )
        }
        var database = GATTDatabase(services: services, included: included, characteristics: characteristics)
        let descriptors = database.descriptorRanges.map {
            Descriptor(uuid: BluetoothUUID(0x2902), handle: $0.lowerBound)
        }
        database.add(descriptors)

        var last = 0
        for service in database.services {
            #expect(last < Int(service.handle) && service.handle <= service.endHandle)
            last = Int(service.handle)
            for characteristic in service.characteristics {
                #expect(last < Int(characteristic.handle) && characteristic.handle < characteristic.valueHandle)
                #expect(characteristic.valueHandle <= characteristic.endHandle)
                #expect(characteristic.endHandle <= service.endHandle)
                #expect(characteristic.descriptors.map(\.handle).allSatisfy { $0 > characteristic.valueHandle })
                last = Int(characteristic.endHandle)
            }
            last = Int(service.endHandle)
            let references = service.includedServices.map(\.handle)
            #expect(references.allSatisfy { service.handle < $0 && $0 <= service.endHandle })
        }
        let found = database.services.flatMap(\.characteristics).flatMap(\.descriptors)
        #expect(found == descriptors)
    }
}
