import BLEProtocol
import BLEStreams

/// One test of everything that a peripheral promises.
struct Verification {
    private let link: Link
    private let writing: Bool
    private let timeout: Duration?
    private var findings: [Link.VerificationFinding] = []

    /// The attribute under test.
    private struct Place {
        var service: BluetoothUUID
        var characteristic: BluetoothUUID?
        var descriptor: BluetoothUUID?
        var handle: UInt16?
    }

    /// The link was lost.
    private struct Over: Error {}

    init(link: Link, writing: Bool, timeout: Duration?) {
        self.link = link
        self.writing = writing
        self.timeout = timeout
    }

    mutating func run(
        _ services: [PromisedService],
        in database: GATTDatabase
    ) async throws -> [Link.VerificationFinding] {
        do {
            var rest = database.services
            for service in services {
                let place = Place(service: service.uuid)
                let index = rest.firstIndex { $0.uuid == service.uuid && $0.isPrimary == service.isPrimary }
                guard let index else {
                    note(.missing, place)
                    continue
                }
                try await verify(service, rest.remove(at: index))
            }
        } catch is Over {
            // The last finding reports it.
        }
        return findings
    }

    private mutating func note(_ kind: Link.VerificationFinding.Kind, _ place: Place) {
        findings.append(
            Link.VerificationFinding(
                kind,
                service: place.service,
                characteristic: place.characteristic,
                descriptor: place.descriptor,
                handle: place.handle
            )
        )
    }

    // MARK: - Presence

    private mutating func verify(_ promised: PromisedService, _ found: GATTService) async throws {
        var included = found.includedServices.map(\.uuid)
        for uuid in promised.includes {
            guard let index = included.firstIndex(of: uuid) else {
                note(.missingInclude(uuid), Place(service: promised.uuid, handle: found.handle))
                continue
            }
            included.remove(at: index)
        }
        var rest = found.characteristics
        for characteristic in promised.characteristics {
            var place = Place(service: promised.uuid, characteristic: characteristic.uuid)
            guard let index = rest.firstIndex(where: { $0.uuid == characteristic.uuid }) else {
                note(.missing, place)
                continue
            }
            let match = rest.remove(at: index)
            place.handle = match.valueHandle
            try await verify(characteristic, match, place)
        }
        for other in rest {
            note(.undeclared, Place(service: promised.uuid, characteristic: other.uuid, handle: other.valueHandle))
        }
    }

    private mutating func verify(
        _ promised: PromisedCharacteristic,
        _ found: Characteristic,
        _ place: Place
    ) async throws {
        if promised.properties != found.properties {
            note(.otherProperties(declared: promised.properties, found: found.properties), place)
        }
        // A property that it doesn't even claim is already reported as missing.
        if found.properties.contains(.read) {
            let octets = try await read(promised.read, place)
            if writing, found.properties.contains(.write), let octets { try await write(octets, promised.write, place) }
        }
        try await verify(promised.descriptors, found, place)
        guard found.clientConfiguration != nil else { return }
        for (property, indications) in [(Characteristic.Properties.notify, false), (.indicate, true)]
        where promised.properties.contains(property) && found.properties.contains(property) {
            let (link, timeout) = (link, timeout)
            try await attempt(.subscribe, promised.subscribing, place) {
                try await link.subscribeBriefly(to: found, indications: indications, timeout: timeout)
            }
        }
    }

    private mutating func verify(
        _ promised: [PromisedDescriptor],
        _ found: Characteristic,
        _ place: Place
    ) async throws {
        var place = place
        var rest = found.descriptors
        for descriptor in promised {
            place.descriptor = descriptor.uuid
            guard let index = rest.firstIndex(where: { $0.uuid == descriptor.uuid }) else {
                place.handle = nil
                note(.missing, place)
                continue
            }
            place.handle = rest.remove(at: index).handle
            let octets = try await read(descriptor.read, place)
            if let octets, let declared = descriptor.value, declared != octets {
                note(.otherValue(declared: declared, found: octets), place)
            }
        }
        for other in rest {
            place.descriptor = other.uuid
            place.handle = other.handle
            note(.undeclared, place)
        }
    }

    // MARK: - Behaviour

    /// Reads a value if it is promised to be readable; returns the octets if that succeeds.
    private mutating func read(_ promise: Promise, _ place: Place) async throws -> [UInt8]? {
        guard let handle = place.handle else { return nil }
        let (link, timeout) = (link, timeout)
        return try await attempt(.read, promise, place) {
            Array(try await link.read(.handle(handle), timeout: timeout))
        }
    }

    private mutating func write(_ octets: [UInt8], _ promise: Promise, _ place: Place) async throws {
        guard let handle = place.handle else { return }
        let (link, timeout) = (link, timeout)
        try await attempt(.write, promise, place) {
            try await link.write(octets, to: .handle(handle), timeout: timeout)
        }
    }

    /// Attempts a promised operation, and notes a deviation.
    @discardableResult
    private mutating func attempt<Output>(
        _ operation: Link.VerificationFinding.Operation,
        _ promise: Promise,
        _ place: Place,
        _ body: () async throws -> Output
    ) async throws -> Output? {
        if case .nothing = promise { return nil }
        do {
            let output = try await body()
            if case .on(let requirement) = promise, !link.security.satisfies(requirement) {
                note(.permitted(operation), place)
            }
            return output
        } catch let error as BLEError {
            if let answer = error.attError {
                if !isExpected(answer, promise) { note(.refused(operation, answer), place) }
                return nil
            }
            // A failed pairing or changed services are not deviations.
            guard [.disconnected, .timedOut, .protocolViolation].contains(error.code) else { throw error }
            note(.failed(operation, cause: error.cause), place)
            throw Over()
        }
    }

    /// Whether this refusal is expected on a link like this one.
    private func isExpected(_ error: ATTError, _ promise: Promise) -> Bool {
        let security = link.security
        switch (error, promise) {
        case (.insufficientAuthorization, .on(let requirement)): return requirement.needsAuthorization
        case (.insufficientAuthorization, _): return true
        case (.insufficientAuthentication, .on(let requirement)), (.insufficientEncryption, .on(let requirement)),
            (.encryptionKeySizeTooShort, .on(let requirement)):
            return !security.satisfies(requirement)
        case (.insufficientAuthentication, _), (.insufficientEncryption, _), (.encryptionKeySizeTooShort, _):
            return !security.isAuthenticated
        default: return false
        }
    }
}

extension LinkSecurity {
    /// Whether a link like this is as secure as required.
    fileprivate func satisfies(_ requirement: AccessRequirement) -> Bool {
        if requirement.needsEncryption, !isEncrypted || keySize < requirement.minimumKeySize { return false }
        return isAuthenticated || !requirement.needsAuthentication
    }
}
