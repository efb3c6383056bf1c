public import BLEProtocol

/// Something that a peripheral doesn't do as it was declared; ``Link/verify(against:writing:timeout:)`` finds it.
public struct VerificationFinding: Hashable, Sendable {
    /// What can be done with a value.
    public enum Operation: String, Hashable, Sendable {
        /// Reading it.
        case read
        /// Writing it.
        case write
        /// Having it notified, or indicated.
        case subscribe
    }

    /// What is wrong.
    public enum Kind: Hashable, Sendable {
        /// The declared service, characteristic or descriptor isn't there. Where the descriptor is 2902, values are declared
        /// to be notified or indicated, and nothing is there to subscribe with.
        case missing
        /// The service doesn't include this other one, as it is declared to.
        case missingInclude(BluetoothUUID)
        /// The characteristic or descriptor is there, in a declared service, and not declared.
        case undeclared
        /// The characteristic says that it can do something else than is declared.
        case otherProperties(declared: CharacteristicProperties, found: CharacteristicProperties)
        /// A descriptor that nobody can write has another value than is declared.
        case otherValue(declared: [UInt8], found: [UInt8])
        /// What is declared, and what the link is secure enough for, was refused.
        case refused(Operation, ATTError)
        /// What is declared to take a more secure link was done without it.
        case permitted(Operation)
        /// There was no answer, or the link was lost; nothing behind it could be looked at.
        case failed(Operation, cause: String)
    }

    /// What is wrong.
    public var kind: Kind

    /// The service.
    public var service: BluetoothUUID

    /// The characteristic; `nil` where it is the service itself.
    public var characteristic: BluetoothUUID?

    /// The descriptor; `nil` where it is the service, or the characteristic and its value.
    public var descriptor: BluetoothUUID?

    /// The handle of what is there, or would be; `nil` where it is missing.
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

extension VerificationFinding: CustomStringConvertible {
    /// One line: `service 180D, characteristic 2A37 at 0x0010: subscribing was refused: Unlikely Error (0x0E)`.
    public var description: String {
        var place = "service \(service)"
        if let characteristic { place += ", characteristic \(characteristic)" }
        if let descriptor { place += ", descriptor \(descriptor)" }
        if let handle { place += " at \(handle.hexadecimal)" }
        return "\(place): \(kind)"
    }
}

extension VerificationFinding.Kind: CustomStringConvertible {
    /// What is wrong, in words: `reading was refused: Read Not Permitted (0x02)`.
    public var description: String {
        switch self {
        case .missing: "it is missing"
        case .missingInclude(let uuid): "it doesn't include service \(uuid)"
        case .undeclared: "it is not declared"
        case .otherProperties(let declared, let found): "it is declared as \(declared), and says \(found)"
        case .otherValue(let declared, let found):
            "its value is not the declared one: \(found.count) octets, declared \(declared.count)"
        case .refused(let operation, let error): "\(operation.gerund) was refused: \(error)"
        case .permitted(let operation):
            "\(operation.gerund) was permitted on a link that is less secure than is declared"
        case .failed(let operation, let cause): "\(operation.gerund) failed, and ended the verification: \(cause)"
        }
    }
}

extension VerificationFinding.Operation {
    fileprivate var gerund: String {
        switch self {
        case .read: "reading"
        case .write: "writing"
        case .subscribe: "subscribing"
        }
    }
}
