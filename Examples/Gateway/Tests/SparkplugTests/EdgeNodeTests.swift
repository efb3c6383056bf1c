import Testing

@testable import Sparkplug

@Suite("An edge node")
struct EdgeNodeTests {
    private static let names = SparkplugNames(group: "plant", node: "hall")
    private static let hosted = SparkplugNames(group: "plant", node: "hall", primaryHost: "scada")
    private static let command = "spBv1.0/plant/NCMD/hall"
    private static let state = "spBv1.0/STATE/scada"

    /// A node with the certificates that it owes to the hosts.
    private func born(_ names: SparkplugNames = names, birth: UInt8 = 0) -> EdgeNode {
        var node = EdgeNode(names, birth: birth)
        connect(&node)
        _ = node.certificates(at: 1)
        return node
    }

    private func connect(_ node: inout EdgeNode) {
        _ = node.connecting(at: 1)
        node.connected()
        for topic in [Self.command, Self.state] { node.subscribed(to: topic) }
    }

    private func temperature(_ value: Double, at time: UInt64 = 5) -> SparkplugMetric {
        SparkplugMetric("Temperature", .double(value), at: time, unit: "°C")
    }

    private func send(_ record: EdgeRecord, _ node: inout EdgeNode, isHistorical: Bool = false) -> [SparkplugMessage] {
        node.messages(for: record, isHistorical: isHistorical, at: 9)
    }

    private func short(_ messages: [SparkplugMessage]) -> [String] {
        messages.map { message in
            let path = message.topic.split(separator: "/").dropFirst(2).joined(separator: "/")
            return "\(message.payload.sequence.map { "\($0)" } ?? "-") \(path.replacing("/hall", with: ""))"
        }
    }

    private func rebirth(_ isWanted: Bool = true) -> [UInt8] {
        SparkplugPayload(metrics: [SparkplugMetric("Node Control/Rebirth", .boolean(isWanted), at: 1)]).encoded
    }

    @Test("is born once its subscriptions are confirmed, with the number of its will")
    func birth() {
        var node = EdgeNode(Self.names, birth: 255)
        let (will, number) = node.connecting(at: 3)
        let births = SparkplugMetric("bdSeq", .unsigned(255), at: 3)
        #expect(number == 255)
        #expect(will == SparkplugMessage("spBv1.0/plant/NDEATH/hall", .init(timestamp: 3, metrics: [births])))
        node.connected()
        #expect(!node.isReady)
        #expect(node.certificates(at: 4).isEmpty)
        node.subscribed(to: Self.command)
        let certificates = node.certificates(at: 4)
        let metrics = [
            SparkplugMetric("bdSeq", .unsigned(255), at: 4),
            SparkplugMetric("Node Control/Rebirth", .boolean(false), at: 4),
            SparkplugMetric("Records/dropped", .unsigned(0), at: 4),
        ]
        let payload = SparkplugPayload(timestamp: 4, metrics: metrics, sequence: 0)
        #expect(certificates == [SparkplugMessage("spBv1.0/plant/NBIRTH/hall", payload)])
        #expect(node.certificates(at: 5).isEmpty)
        node.interrupted()
        #expect(node.connecting(at: 6).birth == 0)
    }

    @Test("declares a device's metrics before it sends them, and again when one is new or of another type")
    func declarations() {
        var node = born()
        #expect(short(send(.online("t"), &node)) == ["1 DBIRTH/t"])
        #expect(send(.online("t"), &node).isEmpty)
        let first = send(.values("t", [temperature(20)]), &node)
        #expect(short(first) == ["2 DBIRTH/t", "3 DDATA/t"])
        #expect(first[0].payload.metrics.map(\.value) == [.null(.double)])
        #expect(first[1].payload.metrics == [temperature(20)])
        #expect(short(send(.values("t", [temperature(21)]), &node)) == ["4 DDATA/t"])
        let other = SparkplugMetric("Battery Level", .double(80), at: 6)
        let second = send(.values("t", [other]), &node)
        #expect(short(second) == ["5 DBIRTH/t", "6 DDATA/t"])
        #expect(second[0].payload.metrics.map(\.value) == [.double(21), .null(.double)])
        let word = SparkplugMetric("Temperature", .string("open circuit"), at: 7)
        #expect(short(send(.values("t", [word]), &node)) == ["7 DBIRTH/t", "8 DDATA/t"])
    }

    @Test("says once that a device is gone, and declares it again when it is back, with its last values")
    func deaths() {
        var node = born()
        _ = send(.values("t", [temperature(20)]), &node)
        #expect(short(send(.offline("t"), &node)) == ["3 DDEATH/t"])
        #expect(send(.offline("t"), &node).isEmpty)
        #expect(send(.offline("nobody"), &node).isEmpty)
        let back = send(.online("t"), &node)
        #expect(short(back) == ["4 DBIRTH/t"])
        #expect(back[0].payload.metrics == [temperature(20)])
    }

    @Test("makes up for lost records: whoever is gone dies, whoever is there is born, and nobody twice")
    func losses() {
        var node = born()
        _ = send(.values("a", [temperature(20)]), &node)
        _ = send(.online("b"), &node)
        _ = send(.offline("d"), &node)
        let messages = node.makeUp(for: ["b", "c"], at: 9)
        #expect(short(messages) == ["4 DDEATH/a", "5 DBIRTH/c"])
        let more = node.makeUp(for: ["b", "c"], at: 9)
        #expect(more.isEmpty)
        // The record may come yet: the states were taken after the records were read.
        let late = send(.offline("a"), &node) + send(.online("c"), &node)
        #expect(late.isEmpty)
    }

    @Test("marks what is from before the connection, and ends the devices of an earlier start")
    func history() {
        var node = born()
        let old = send(.values("t", [temperature(20)]), &node, isHistorical: true)
        #expect(old.last?.payload.metrics.map(\.isHistorical) == [true])
        #expect(short(send(.started, &node)) == ["3 DDEATH/t"])
        #expect(send(.started, &node).isEmpty)
        _ = send(.online("t"), &node)
        // A certificate tells the present.
        #expect(send(.values("t", [temperature(21)]), &node).last?.payload.metrics == [temperature(21)])
    }

    @Test("is born again when a host asks for it, with all devices that are there")
    func rebirths() {
        var node = born(birth: 7)
        _ = send(.values("a", [temperature(20)]), &node)
        _ = send(.values("b", [temperature(21)]), &node)
        _ = send(.offline("a"), &node)
        #expect(node.received(Self.command, rebirth(false)) == nil)
        #expect(node.received(Self.command, [0xFF]) == nil)
        #expect(node.received("spBv1.0/plant/NCMD/other", rebirth()) == nil)
        #expect(node.certificates(at: 9).isEmpty)
        #expect(node.received(Self.command, rebirth()) == nil)
        let certificates = node.certificates(at: 9)
        #expect(short(certificates) == ["0 NBIRTH", "1 DBIRTH/b"])
        #expect(certificates[0].payload.metrics.first?.value == .unsigned(7))
        #expect(short(send(.values("b", [temperature(22)]), &node)) == ["2 DDATA/b"])
    }

    @Test("declares everything again on a new connection, and counts from 0")
    func reconnecting() {
        var node = born()
        _ = send(.values("t", [temperature(20)]), &node)
        node.interrupted()
        #expect(!node.isReady)
        #expect(node.certificates(at: 9).isEmpty)
        connect(&node)
        let certificates = node.certificates(at: 9)
        #expect(short(certificates) == ["0 NBIRTH", "1 DBIRTH/t"])
        #expect(certificates[0].payload.metrics.first?.value == .unsigned(1))
        #expect(certificates[1].payload.metrics == [temperature(20)])
    }

    @Test("counts its messages from 0 to 255 and from 0 again")
    func sequence() {
        var node = born()
        var (last, count): (UInt8, Int) = (0, 0)
        for _ in 0..<600 {
            for message in send(.values("t", [temperature(20)]), &node) {
                #expect(message.payload.sequence == last &+ 1)
                last = message.payload.sequence ?? 0
                count += 1
            }
        }
        #expect(count == 601, "and the birth of the device")
    }

    @Test("waits for its primary host, and leaves when that is gone")
    func primaryHost() {
        var node = EdgeNode(Self.hosted, birth: 0)
        #expect(Self.hosted.subscriptions == [Self.command, Self.state])
        connect(&node)
        #expect(!node.isReady)
        func say(_ text: String) -> EdgeNode.Request? { node.received(Self.state, Array(text.utf8)) }
        for text in [
            "", "ONLINE", #"{"online":true}"#, #"{"online":"yes","timestamp":1}"#, #"{"online":true,"timestamp":-1}"#,
        ] {
            #expect(say(text) == nil)
            #expect(!node.isReady)
        }
        #expect(say(#"{"online":false,"timestamp":10}"#) == nil)
        #expect(!node.isReady)
        #expect(say(#"{"online":true,"timestamp":20}"#) == nil)
        #expect(short(node.certificates(at: 1)) == ["0 NBIRTH"])
        // The will of a connection that the host has replaced.
        #expect(say(#"{"online":false,"timestamp":10}"#) == nil)
        #expect(node.isReady)
        #expect(say(#"{"online":false,"timestamp":20}"#) == .leave)
        #expect(!node.isReady)
    }

    @Test("leaves when its primary host is gone, though a host had asked for a birth that has not been sent yet")
    func rebirthBeforeTheEnd() {
        var node = EdgeNode(Self.hosted, birth: 0)
        connect(&node)
        func say(_ text: String) -> EdgeNode.Request? { node.received(Self.state, Array(text.utf8)) }
        #expect(say(#"{"online":true,"timestamp":10}"#) == nil)
        #expect(short(node.certificates(at: 1)) == ["0 NBIRTH"])
        #expect(node.received(Self.command, rebirth()) == nil)
        // Both have come together.
        #expect(say(#"{"online":false,"timestamp":20}"#) == .leave)
        node.interrupted()
        connect(&node)
        #expect(say(#"{"online":false,"timestamp":20}"#) == nil, "nobody knows it now")
    }
}
