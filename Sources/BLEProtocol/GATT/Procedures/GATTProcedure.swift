/// A GATT procedure: requests out, answers in, until it has its result.
///
/// A procedure is a value without a bearer: ``GATTClient`` sends what a step requests and passes the answer to the
/// procedure. An error thrown ends it; a failure from outside (a timeout, the link's end) ends it without a call.
package protocol GATTProcedure: Sendable {
    associatedtype Success: Sendable

    /// Whether the procedure is one command: it is sent beside the queue, and ends when the radio has taken it.
    static var isCommand: Bool { get }

    /// The handles that its requests name; none for a search, which is correct whatever the handles mean.
    var handles: [UInt16] { get }

    /// The type of the attributes whose values it reads, at any handle; `nil` if it names handles, or searches.
    var attributeType: BluetoothUUID? { get }

    /// Whether doing it twice has the same effect as doing it once, as reading does.
    static var isRepeatable: Bool { get }

    /// The first step, when the procedure's turn has come.
    mutating func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Success>

    /// The next step, after the answer to the last step's request.
    mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<Success>

    /// The request to send after the procedure failed or was cancelled; its answer is awaited and ignored. `isSent`
    /// says whether the radio took the last request.
    func cleanUp(isSent: Bool) -> GATTRequest?

    // The steps without the type of the success. They are requirements, so that each procedure has its own: calling the
    // generic ones through an existential asks the runtime for the metadata of every type in them, each time.

    /// ``start(_:)``, as the machine calls it.
    mutating func erasedStart(_ context: GATTContext) -> GATTErasedStep

    /// ``received(_:_:)``, as the machine calls it.
    mutating func erasedReceived(_ answer: GATTAnswer, _ context: GATTContext) -> GATTErasedStep
}

extension GATTProcedure {
    package static var isCommand: Bool { false }

    package var handles: [UInt16] { [] }

    package var attributeType: BluetoothUUID? { nil }

    package static var isRepeatable: Bool { false }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<Success>
    {
        preconditionFailure("\(Self.self) sends no request, so it gets no answer")
    }

    package func cleanUp(isSent: Bool) -> GATTRequest? { nil }
}

/// What a procedure does next.
package enum GATTStep<Success: Sendable>: Sendable {
    /// Send the request and pass its answer to the procedure.
    case request(GATTRequest)
    /// Send the command and end; only if ``GATTProcedure/isCommand``.
    case command([UInt8])
    /// End.
    case finished(Success)

    /// Send the request and pass its answer to the procedure.
    package static func send(_ request: some ATTRequest) -> Self { .request(GATTRequest(request)) }
}

/// The state of the bearer that a procedure may use.
package struct GATTContext: Hashable, Sendable {
    /// ATT_MTU in force.
    package var mtu: Int
    /// The value to offer in Exchange MTU.
    package var maximumMTU: Int
    /// Whether an exchange has taken place.
    package var isMTUExchanged: Bool
    /// Whether the server may keep writes that an earlier program has prepared.
    package var mayKeepWrites: Bool

    package init(mtu: Int, maximumMTU: Int, isMTUExchanged: Bool, mayKeepWrites: Bool = false) {
        self.mtu = mtu
        self.maximumMTU = maximumMTU
        self.isMTUExchanged = isMTUExchanged
        self.mayKeepWrites = mayKeepWrites
    }
}

/// A request as octets, with the means to recognise its answer.
package struct GATTRequest: Hashable, Sendable {
    package let pdu: [UInt8]
    package let opcode: ATTOpcode
    package let responseOpcode: ATTOpcode

    /// The one attribute that it names; `nil` if it names none, several or a range.
    private let handle: UInt16?
    /// Whether the response begins with that handle too; if it doesn't, it answers another request.
    private let isRepeated: Bool

    package init<Request: ATTRequest>(_ request: Request) {
        pdu = request.encoded
        opcode = Request.opcode
        responseOpcode = Request.Response.opcode
        isRepeated = false
        switch Request.opcode {
        case .readRequest, .readBlobRequest, .writeRequest, .prepareWriteRequest: handle = pdu.handle(at: 1)
        default: handle = nil
        }
    }

    /// A request for the attribute at one handle, if there is one; all its answers repeat that handle.
    package init(findingInformationAt handle: UInt16) {
        let request = ATTFindInformationRequest(startHandle: handle, endHandle: handle)
        pdu = request.encoded
        opcode = ATTFindInformationRequest.opcode
        responseOpcode = ATTFindInformationResponse.opcode
        self.handle = handle
        isRepeated = true
    }
}

extension GATTRequest {
    /// The relation of the peer's response to a request.
    package enum Relation: Hashable, Sendable {
        /// It is the answer.
        case answer
        /// An error for the right kind of request and another attribute: the answer to another request, or from a
        /// server that is careless about the handle.
        case perhaps
        /// It answers something else.
        case foreign
    }

    /// Whether a response answers the request, by its opcode, and by the handle if the request names one.
    ///
    /// An error for a range or for several attributes may name any of them, and many servers name another one than the
    /// specification requires; for these the opcode alone decides. Handle 0 means that the server names none.
    /// Source: Core Specification, Vol 3, Part F, 3.4.1.1.
    package func relation(to pdu: [UInt8]) -> Relation {
        switch pdu.first {
        case responseOpcode.rawValue:
            return isRepeated && pdu.handle(at: 2) != handle ? .foreign : .answer
        case ATTOpcode.errorResponse.rawValue:
            guard pdu.count >= 2, pdu[1] == opcode.rawValue else { return .foreign }
            guard let handle, let told = pdu.handle(at: 2) else { return .answer }
            return told == handle || told == 0 ? .answer : .perhaps
        default:
            return .foreign
        }
    }
}

extension [UInt8] {
    /// The handle that begins at an octet; `nil` if there are too few octets.
    fileprivate func handle(at offset: Int) -> UInt16? {
        count >= offset + 2 ? UInt16(self[offset]) | UInt16(self[offset + 1]) << 8 : nil
    }
}

/// The answer to a request: the response that belongs to it, or an error.
package struct GATTAnswer: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// A PDU with the right opcode, not decoded any further.
        case response(ArraySlice<UInt8>)
        case error(ATTErrorResponse)
    }

    package var content: Content

    /// ATT_MTU for the answer: the smallest in force since the request was sent.
    package var mtu: Int

    /// The smallest ATT_MTU by which the peer may have cut the answer. A value that fills it may be longer.
    package var leastMTU: Int

    /// Makes an answer; without `leastMTU` the peer has the same ATT_MTU.
    package init(_ content: Content, mtu: Int, leastMTU: Int? = nil) {
        self.content = content
        self.mtu = mtu
        self.leastMTU = leastMTU ?? mtu
    }

    /// The decoded response; throws if it is malformed, and the peer's error if there is one.
    package func response<Request: ATTRequest>(to request: Request.Type) throws(GATTFailure) -> Request.Response {
        let pdu = try success()
        do throws(ATTDecodingError) {
            return try Request.Response(decoding: pdu)
        } catch {
            throw .malformedResponse(error)
        }
    }

    /// The octets of the response; throws the peer's error if there is one.
    @discardableResult
    package func success() throws(GATTFailure) -> ArraySlice<UInt8> {
        switch content {
        case .response(let pdu): return pdu
        case .error(let error): throw .attribute(error.error, handle: error.handle)
        }
    }

    /// The peer's error, if the answer is one.
    package var error: ATTError? {
        guard case .error(let response) = content else { return nil }
        return response.error
    }
}

// MARK: - Without the type of the success

/// A step without the type of the success.
package enum GATTErasedStep: Sendable {
    case request(GATTRequest)
    case command([UInt8])
    case ended(Result<GATTSuccess, GATTFailure>)

    init<Success>(_ step: GATTStep<Success>) {
        self =
            switch step {
            case .request(let request): .request(request)
            case .command(let pdu): .command(pdu)
            case .finished(let value): .ended(.success(GATTSuccess(value)))
            }
    }
}

extension GATTProcedure {
    package mutating func erasedStart(_ context: GATTContext) -> GATTErasedStep {
        do throws(GATTFailure) { return GATTErasedStep(try start(context)) } catch { return .ended(.failure(error)) }
    }

    package mutating func erasedReceived(_ answer: GATTAnswer, _ context: GATTContext) -> GATTErasedStep {
        do throws(GATTFailure) { return GATTErasedStep(try received(answer, context)) } catch {
            return .ended(.failure(error))
        }
    }
}
