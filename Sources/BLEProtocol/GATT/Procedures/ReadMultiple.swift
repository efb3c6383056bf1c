/// Reads two or more values in one answer, one after another; the caller knows the length of all but the last.
///
/// The answer is cut at ATT_MTU - 1 octets, without an indication. Source: Core Specification, Vol 3, Part G, 4.8.4.
package struct ReadMultiple: GATTProcedure {
    package static let isRepeatable = true

    package let handles: [UInt16]

    /// Takes at least two handles, and at most 11, as many as fit an ATT_MTU of 23.
    package init(handles: [UInt16]) {
        precondition((2...11).contains(handles.count), "Read Multiple takes 2 to 11 handles")
        self.handles = handles
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[UInt8]> {
        .send(ATTReadMultipleRequest(handles: handles))
    }

    package func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<[UInt8]> {
        .finished(Array(try answer.response(to: ATTReadMultipleRequest.self).values))
    }
}

/// Reads two or more values of any length in one answer; the last ones are cut or omitted if they don't fit.
///
/// A value at the end of an answer that fills ATT_MTU may be cut, whatever its length says: some servers count the
/// octets that fit. Source: Core Specification, Vol 3, Part G, 4.8.5.
package struct ReadMultipleVariable: GATTProcedure {
    package struct Value: Hashable, Sendable {
        package var value: [UInt8]
        /// Whether the attribute's value is longer, or may be.
        package var isCut: Bool

        package init(value: [UInt8], isCut: Bool) {
            self.value = value
            self.isCut = isCut
        }
    }

    package static let isRepeatable = true

    package let handles: [UInt16]

    /// Takes at least two handles, and at most 11, as many as fit an ATT_MTU of 23.
    package init(handles: [UInt16]) {
        precondition((2...11).contains(handles.count), "Read Multiple Variable takes 2 to 11 handles")
        self.handles = handles
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[Value]> {
        .send(ATTReadMultipleVariableRequest(handles: handles))
    }

    package func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<[Value]> {
        .finished(try Self.values(of: try answer.success(), cutBy: answer.leastMTU))
    }

    /// The values in an answer.
    ///
    /// - Parameter leastMTU: the smallest ATT_MTU by which the peer may have cut it.
    package static func values(of pdu: ArraySlice<UInt8>, cutBy leastMTU: Int) throws(GATTFailure) -> [Value] {
        let isFull = pdu.count >= leastMTU
        var values = try entries(of: pdu, isFull: isFull).map { entry in
            Value(value: Array(entry.value.prefix(ATTLimits.maximumValueLength)), isCut: entry.isCut)
        }
        // Source: Zephyr, `att.c`, `read_vl_cb`.
        if isFull, let last = values.indices.last { values[last].isCut = true }
        return values
    }

    /// The entries of an answer; one that fills ATT_MTU may end between the two octets of a length.
    private static func entries(
        of pdu: ArraySlice<UInt8>,
        isFull: Bool
    ) throws(GATTFailure) -> [ATTReadMultipleVariableResponse.Entry] {
        do throws(ATTDecodingError) {
            return try ATTReadMultipleVariableResponse(decoding: pdu).entries
        } catch {
            // Source: NimBLE, `ble_att_svr.c`, `ble_att_svr_build_read_mult_rsp_var`.
            guard isFull, error.reason == .truncated else { throw .malformedResponse(error) }
            return try entries(of: pdu.dropLast(), isFull: false)
        }
    }
}
