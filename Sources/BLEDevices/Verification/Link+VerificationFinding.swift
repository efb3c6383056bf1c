public import BLEProtocol
public import BLEStreams

extension Link {
    /// A deviation of a peripheral from its declaration, found by ``Link/verify(against:writing:timeout:)``.
    public struct VerificationFinding: Hashable, Sendable {
        /// An operation on a value.
        public enum Operation: String, Hashable, Sendable {
            /// Reading it.
            case read
            /// Writing it.
            case write
            /// Subscribing to its notifications or indications.
            case subscribe
        }

        /// The kind of deviation.
        public enum Kind: Hashable, Sendable {
            /// The declared service, characteristic or descriptor is missing. If the descriptor is 2902, the
            /// characteristic is declared to notify or indicate but has no descriptor to subscribe with.
            case missing
            /// The service doesn't include this other service as declared.
            case missingInclude(BluetoothUUID)
            /// The characteristic or descriptor exists in a declared service but is not declared.
            case undeclared
            /// The characteristic's properties differ from the declared ones.
            case otherProperties(declared: Characteristic.Properties, found: Characteristic.Properties)
            /// A read-only descriptor has a value other than declared.
            case otherValue(declared: [UInt8], found: [UInt8])
            /// The peripheral refused a declared operation for which the link is secure enough.
            case refused(Operation, ATTError)
            /// The peripheral permitted an operation that is declared to require a more secure link.
            case permitted(Operation)
            /// There was no answer, or the link was lost; the rest could not be verified.
            case failed(Operation, cause: String)
        }

        /// The kind of deviation.
        public var kind: Kind

        /// The service.
        public var service: BluetoothUUID

        /// The characteristic; `nil` if the finding concerns the service itself.
        public var characteristic: BluetoothUUID?

        /// The descriptor; `nil` if the finding concerns the service, or the characteristic and its value.
        public var descriptor: BluetoothUUID?

        /// The handle; `nil` if the attribute is missing.
        public var handle: UInt16?

        /// Makes a finding.
        public init(
            _ kind: Kind,
            service: BluetoothUUID,
            characteristic: BluetoothUUID? = nil,
            descriptor: BluetoothUUID? = nil,
            handle: UInt16? = nil
        ) {
            self.kind = kind
            self.service = service
            self.characteristic = characteristic
            self.descriptor = descriptor
            self.handle = handle
        }
    }
}

extension Link.VerificationFinding: CustomStringConvertible {
    /// One line: `service 180D, characteristic 2A37 at 0x0010: subscribing was refused: Unlikely Error (0x0E)`.
    public var description: String {
        var place = "service \(service)"
        if let characteristic { place += ", characteristic \(characteristic)" }
        if let descriptor { place += ", descriptor \(descriptor)" }
        if let handle { place += " at \(handle.hexadecimal)" }
        return "\(place): \(kind)"
    }
}

extension Link.VerificationFinding.Kind: CustomStringConvertible {
    /// The deviation in words: `reading was refused: Read Not Permitted (0x02)`.
    public var description: String {
        switch self {
        case .missing: "it is missing"
        case .missingInclude(let uuid): "it doesn't include service \(uuid)"
        case .undeclared: "it is not declared"
        case .otherProperties(let declared, let found): "it is declared as \(declared), but has \(found)"
        case .otherValue(let declared, let found):
            "its value is not the declared one: \(found.count) octets, declared \(declared.count)"
        case .refused(let operation, let error): "\(operation.gerund) was refused: \(error)"
        case .permitted(let operation):
            "\(operation.gerund) was permitted on a link that is less secure than declared"
        case .failed(let operation, let cause): "\(operation.gerund) failed and ended the verification: \(cause)"
        }
    }
}

extension Link.VerificationFinding.Operation {
    fileprivate var gerund: String {
        switch self {
        case .read: "reading"
        case .write: "writing"
        case .subscribe: "subscribing"
        }
    }
}
