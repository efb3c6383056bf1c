extension GATTDatabase {
    /// Builds the tree from flat lists, and mends what bad devices get wrong: services are put in order, and what
    /// belongs to no service is left out.
    init(services found: [GATTService], included: [GATTService.Inclusion], characteristics: [Characteristic]) {
        services = Self.inOrder(found)
        var index = 0
        for include in included.sorted(by: { $0.handle < $1.handle }) {
            guard moveIndex(&index, toServiceOf: include.handle) else { continue }
            services[index].includedServices.append(include)
        }
        index = 0
        for characteristic in characteristics.sorted(by: { $0.handle < $1.handle }) {
            guard moveIndex(&index, toServiceOf: characteristic.handle) else { continue }
            var kept = characteristic
            kept.endHandle = min(kept.endHandle, services[index].endHandle)
            guard kept.valueHandle <= kept.endHandle else { continue }
            services[index].characteristics.append(kept)
        }
    }

    /// Services ascending by handle, each one once; one that reaches into the next is cut there.
    static func inOrder(_ found: [GATTService]) -> [GATTService] {
        var services: [GATTService] = []
        for service in found.sorted(by: { $0.handle < $1.handle }) where services.last?.handle != service.handle {
            if let last = services.indices.last, services[last].endHandle >= service.handle {
                services[last].endHandle = service.handle - 1
            }
            services.append(service)
        }
        return services
    }

    /// Puts descriptors, ascending by handle, under the characteristics to which they belong.
    mutating func add(_ descriptors: [Descriptor]) {
        var rest = descriptors[...]
        for service in services.indices {
            for index in services[service].characteristics.indices {
                let characteristic = services[service].characteristics[index]
                rest = rest.drop { $0.handle <= characteristic.valueHandle }
                let own = rest.prefix { $0.handle <= characteristic.endHandle }
                services[service].characteristics[index].descriptors += own
                rest = rest.dropFirst(own.count)
            }
        }
    }

    /// The ranges after characteristic values in which descriptors may be, ascending.
    var descriptorRanges: [ClosedRange<UInt16>] {
        services.flatMap(\.characteristics).filter { $0.valueHandle < $0.endHandle }
            .map { $0.valueHandle + 1...$0.endHandle }
    }

    /// Continues at the service that holds a handle after its declaration; `false` if none does. Handles must ascend.
    private func moveIndex(_ index: inout Int, toServiceOf handle: UInt16) -> Bool {
        while index < services.count, services[index].endHandle < handle { index += 1 }
        return index < services.count && services[index].handle < handle
    }
}
