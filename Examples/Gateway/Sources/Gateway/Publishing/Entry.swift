/// What waits in the spool: a topic and a JSON object.
struct Entry {
    var topic: String
    var members: JSONText

    /// The octets of a record: the length of the topic in two octets, the topic, the object.
    var encoded: [UInt8] {
        let topic = Array(topic.utf8.prefix(Int(UInt16.max)))
        return [UInt8(topic.count >> 8), UInt8(topic.count & 0xFF)] + topic + members.octets
    }

    /// The topic, and the object with more members at its end; `nil` if the octets are no record.
    static func decoded(_ octets: [UInt8], adding members: [(String, JSONText)]) -> (topic: String, payload: [UInt8])? {
        guard octets.count >= 4 else { return nil }
        let start = 2 + (Int(octets[0]) << 8 | Int(octets[1]))
        guard start + 2 <= octets.count, octets.last == UInt8(ascii: "}") else { return nil }
        let topic = String(decoding: octets[2..<start], as: UTF8.self)
        var payload = Array(octets[start..<(octets.count - 1)])
        let added = JSONText.object(members).octets.dropFirst()
        if payload.count > 1 { payload.append(UInt8(ascii: ",")) }
        payload += added
        return (topic, payload)
    }
}
