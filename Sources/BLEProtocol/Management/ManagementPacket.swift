/// One packet of the management socket: a command to the kernel, or an answer or event from it.
///
/// A header of six octets precedes the parameters: the code, the controller's index and the number of octets that
/// follow, each 16 bits, least significant octet first. One packet is one datagram.
/// Source: BlueZ, doc/mgmt-protocol.rst, "Packet Structures".
package struct ManagementPacket: Hashable, Sendable {
    /// The opcode of a command or the code of an event.
    package var code: UInt16
    package var index: ManagementIndex
    package var parameters: ArraySlice<UInt8>

    package init(code: UInt16, index: ManagementIndex, parameters: ArraySlice<UInt8> = []) {
        self.code = code
        self.index = index
        self.parameters = parameters
    }

    /// Decodes a datagram without copying; its length field must agree with its length.
    package init(decoding datagram: [UInt8]) throws(ManagementDecodingError) {
        var reader = ByteReader(datagram)
        guard let code = reader.uint16(), let index = reader.uint16(), let length = reader.uint16() else {
            throw ManagementDecodingError(.frame, field: "header")
        }
        let parameters = reader.rest()
        guard parameters.count == Int(length) else { throw ManagementDecodingError(.frame, field: "length") }
        self.init(code: code, index: ManagementIndex(rawValue: index), parameters: parameters)
    }

    /// The datagram; parameters of more than 65,535 octets are a programming error.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 6 + parameters.count)
        precondition(parameters.count <= 0xFFFF, "a management packet holds 65,535 octets of parameters at most")
        writer.uint16(code)
        writer.uint16(index.rawValue)
        writer.uint16(UInt16(parameters.count))
        writer.append(parameters)
        return writer.bytes
    }
}

extension ManagementPacket: CustomStringConvertible, CustomReflectable {
    /// The fields of the header; the parameters may be keys and are not shown.
    package var description: String {
        "code 0x\(String(code, radix: 16)), \(index), \(parameters.count) octets of parameters"
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
