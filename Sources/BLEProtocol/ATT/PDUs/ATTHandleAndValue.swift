/// A PDU that is a handle and, up to its end, a value.
package protocol ATTHandleAndValue: ATTPDU {
    var handle: UInt16 { get }
    var value: ArraySlice<UInt8> { get }

    init(handle: UInt16, value: ArraySlice<UInt8>)
}

extension ATTHandleAndValue {
    package init(parameters: inout ATTParameterReader) throws(ATTDecodingError) {
        self.init(handle: try parameters.uint16(), value: parameters.rest())
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(handle)
        writer.append(value)
    }

    package var parameterCount: Int { 2 + value.count }
}
