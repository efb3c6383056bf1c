internal import BLEProtocol

/// Selects the PDUs that a fault applies to.
///
/// `.notifications`, `.writeRequests(to: 0x0011)`, `.opcode(0x0B)`, `.any.sent(by: .peripheral)`, `.where { … }`.
public struct PDUFilter: Sendable {
    private let matches: @Sendable ([UInt8]) -> Bool
    private let sender: LinkRole?

    private init(sender: LinkRole? = nil, _ matches: @escaping @Sendable ([UInt8]) -> Bool) {
        self.sender = sender
        self.matches = matches
    }

    /// Every PDU.
    public static let any = PDUFilter { _ in true }

    /// PDUs with this opcode (Core Specification, Vol 3, Part F, 3.4.8).
    public static func opcode(_ opcode: UInt8) -> PDUFilter { PDUFilter { $0.first == opcode } }

    /// PDUs with this opcode followed directly by this handle, as in reads, writes and notifications.
    public static func opcode(_ opcode: UInt8, handle: UInt16) -> PDUFilter {
        PDUFilter {
            $0.count >= 3 && $0[0] == opcode && UInt16($0[1]) | UInt16($0[2]) << 8 == handle
        }
    }

    /// PDUs for which the closure returns true. It gets the octets, opcode first; it must not block or call the air,
    /// which is carrying the PDU.
    public static func `where`(_ matches: @escaping @Sendable ([UInt8]) -> Bool) -> PDUFilter {
        PDUFilter(matches)
    }

    /// The same PDUs, but only those sent by one side.
    public func sent(by sender: LinkRole) -> PDUFilter { PDUFilter(sender: sender, matches) }

    func matches(_ pdu: [UInt8], from role: LinkRole) -> Bool {
        (sender == nil || sender == role) && matches(pdu)
    }
}

extension PDUFilter {
    /// Requests of any kind, which a server must answer.
    public static let requests = PDUFilter { $0.kind == .request }
    /// Responses of any kind, errors included.
    public static let responses = PDUFilter { $0.kind == .response }
    /// Error responses.
    public static let errorResponses = opcode(ATTOpcode.errorResponse.rawValue)
    /// Read requests.
    public static let readRequests = opcode(ATTOpcode.readRequest.rawValue)
    /// Read requests for one attribute.
    public static func readRequests(of handle: UInt16) -> PDUFilter {
        opcode(ATTOpcode.readRequest.rawValue, handle: handle)
    }
    /// Read responses.
    public static let readResponses = opcode(ATTOpcode.readResponse.rawValue)
    /// Write requests: writes with response, including subscriptions.
    public static let writeRequests = opcode(ATTOpcode.writeRequest.rawValue)
    /// Write requests to one attribute.
    public static func writeRequests(to handle: UInt16) -> PDUFilter {
        opcode(ATTOpcode.writeRequest.rawValue, handle: handle)
    }
    /// Write responses.
    public static let writeResponses = opcode(ATTOpcode.writeResponse.rawValue)
    /// Write commands: writes without response.
    public static let writeCommands = opcode(ATTOpcode.writeCommand.rawValue)
    /// Notifications.
    public static let notifications = opcode(ATTOpcode.handleValueNotification.rawValue)
    /// Indications.
    public static let indications = opcode(ATTOpcode.handleValueIndication.rawValue)
    /// Confirmations of indications.
    public static let confirmations = opcode(ATTOpcode.handleValueConfirmation.rawValue)
}

extension [UInt8] {
    fileprivate var kind: ATTOpcode.Kind? { first.map { ATTOpcode(rawValue: $0).kind } }
}
